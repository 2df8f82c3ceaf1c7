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

/* The folder of this user's sockets: $XDG_RUNTIME_DIR/volley, or, if that
 * variable is not set or does not name a folder of the user, /tmp/volley-UID.
 * make: create it if it is missing, mode 0700.
 * Errors  E_INVALID too long; E_IO it is a link, of another user, open to other
 * users, or cannot be created */
vly_status control_folder(bool make, char *folder, size_t capacity,
                          vly_error *error);
/* folder/PID.sock. Errors  as above */
vly_status control_path(bool make, int64_t pid, char *path, size_t capacity,
                        vly_error *error);
/* The socket on which the run with that number listens: as control_path, but
 * nothing is created. Root gets the folder of the process's user.
 * Errors  as control_path */
vly_status control_find(int64_t pid, char *path, size_t capacity,
                        vly_error *error);
/* Checks whether a socket can be created at the path. Nothing is created.
 * Errors  E_INVALID too long, or a file that is not a socket; E_IO */
vly_status control_check(const char *path, vly_error *error);
/* A listening, non-blocking socket. */
typedef struct control_listener {
    int fd;
    char path[CONTROL_PATH_BYTES];
    dev_t device; /* of its file, to recognize it */
    ino_t inode;
} control_listener;

/* Mode 0600. A socket that a killed run left there is removed. The name exists
 * only while a process listens.
 * Errors  as control_check; E_IO another process listens there */
vly_status control_listen(const char *path, control_listener *listener,
                          vly_error *error);
/* Closes it and removes its file, unless another socket has taken its place. */
void control_unlisten(control_listener *listener);
/* Does not block. */
/* Errors  E_INVALID no process listens there, or not a process of this user
 * (root may connect to every user's); E_IO */
vly_status control_connect(const char *path, int *fd, vly_error *error);
/* Is the process at the other end of this user, or root? */
bool control_peer_allowed(int fd);
/* Is the socket there of a killed run? Then it is removed. */
bool control_remove_stale(const char *path);

#endif
