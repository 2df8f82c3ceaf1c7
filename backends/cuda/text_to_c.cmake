# SPDX-License-Identifier: Apache-2.0
# cmake -DTEXT=file -DNAME=symbol -DOUT=file.c -P: a file as a string of C.
file(READ ${TEXT} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)"
       "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "/* SPDX-License-Identifier: Apache-2.0
 * Made by backends/cuda/text_to_c.cmake.
 */
extern const char ${NAME}[];
const char ${NAME}[] = {
${bytes}0};
")
