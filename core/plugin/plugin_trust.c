/* SPDX-License-Identifier: Apache-2.0
 * Owner and mode of plugins and their folders.
 */
#include "plugin/plugin_trust.h"

#include <limits.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own_file.h"

vly_plugin_trust vly_plugin_trust_of_process(void)
{
    vly_plugin_trust trust = {.user = geteuid(), .own = geteuid()};
    char path[PATH_MAX];
    struct stat about;
    if (vly_own_path(path, sizeof(path)) && stat(path, &about) == 0)
        trust.own = about.st_uid;
    return trust;
}

vly_status vly_plugin_trust_check(const vly_plugin_trust *trust,
                                  const struct stat *about, const char *what,
                                  vly_error *error)
{
    const bool is_open = (about->st_mode & S_IWOTH) != 0;
    const bool is_sticky =
        S_ISDIR(about->st_mode) && (about->st_mode & S_ISVTX) != 0;
    if (about->st_uid != 0 && about->st_uid != trust->user &&
        about->st_uid != trust->own)
        return vly_fail(error, VLY_E_INVALID,
                        "%sbelongs to user %lu, wanted root, user %lu or the "
                        "owner of volley itself: a plugin could do whatever "
                        "you can",
                        what, (unsigned long)about->st_uid,
                        (unsigned long)trust->user);
    if (is_open && !is_sticky)
        return vly_fail(error, VLY_E_INVALID,
                        "%shas mode %04o, which lets all users change it, "
                        "wanted no write permission for others (chmod o-w)",
                        what, (unsigned)(about->st_mode & 07777));
    return VLY_OK;
}
