/* SPDX-License-Identifier: Apache-2.0
 * Unix-domain sockets through which a run is controlled: where they lie, who
 * may use them. Used by both ends.
 */
#ifndef VOLLEY_TOOLS_CONTROL_SOCKET_H
#define VOLLEY_TOOLS_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include <volley/plugin.h>

/* Longest path of a socket, with the final 0. */
enum { CONTROL_PATH_BYTES = sizeof(((struct sockaddr_un *)0)->sun_path) };

/* Longest line of a request and of an answer, with its line break. */
enum { CONTROL_LINE_BYTES = 1024, CONTROL_ANSWER_BYTES = 1 << 16 };

/* The folder of this user's sockets: $XDG_RUNTIME_DIR/volley, or, where that is
 * not set or no folder of the user's, /tmp/volley-UID. make: it is made if it
 * is missing, mode 0700. Errors  E_INVALID too long; E_IO it is a link, of
 * another user, open to others, or cannot be made */
vly_status control_folder(bool make, char *folder, size_t capacity,
                          vly_error *error);
/* folder/PID.sock. Errors  as above */
vly_status control_path(bool make, int64_t pid, char *path, size_t capacity,
                        vly_error *error);
/* Where the run with that number listens: as control_path without making
 * anything, and for root the folder of the process's user, if it is another's.
 * Errors  as control_path */
vly_status control_find(int64_t pid, char *path, size_t capacity,
                        vly_error *error);
/* Could a socket be made there? Nothing is made.
 * Errors  E_INVALID too long, or something else stands there; E_IO */
vly_status control_check(const char *path, vly_error *error);
/* A socket that listens, not blocking. */
typedef struct control_listener {
    int fd;
    char path[CONTROL_PATH_BYTES];
    dev_t device; /* of its file, to know it again */
    ino_t inode;
} control_listener;

/* Mode 0600. What a killed run left there is removed. The name is there only
 * while somebody listens.
 * Errors  as control_check; E_IO another process listens there */
vly_status control_listen(const char *path, control_listener *listener,
                          vly_error *error);
/* Closes it and removes its file, unless another has taken its place. */
void control_unlisten(control_listener *listener);
/* Does not block. */
/* Errors  E_INVALID nobody listens there, or not a process of this user (root
 * may connect to anybody's); E_IO */
vly_status control_connect(const char *path, int *fd, vly_error *error);
/* Is the process at the other end of this user, or root? */
bool control_peer_allowed(int fd);
/* Does a run that was killed lie there? Then it is removed. */
bool control_remove_stale(const char *path);

#endif
