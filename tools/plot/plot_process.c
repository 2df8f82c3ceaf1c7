/* SPDX-License-Identifier: Apache-2.0
 * The process that draws sends pieces of the file, each with its length before
 * it, then a length of 0 and what became of the picture. Only the command
 * writes.
 */
#include "tools/plot/plot_process.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/child.h"
#include "base/error.h"
#include "base/writer.h"

enum { PIECE_BYTES = 65536 };

typedef struct drawing {
    const plot_page *page;
    plot_draw draw;
    void *context;
} drawing;

/* ---- the process that draws ---------------------------------------------- */

static bool send_piece(void *to, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    while (n > 0) {
        const uint32_t piece = n < PIECE_BYTES ? (uint32_t)n : PIECE_BYTES;
        if (!vly_child_send(*(const int *)to, &piece, sizeof piece) ||
            !vly_child_send(*(const int *)to, at, piece))
            return false;
        at += piece;
        n -= piece;
    }
    return true;
}

static void work(void *context, int out)
{
    const drawing *asked = context;
    const uint32_t end = 0;
    vly_error error = VLY_ERROR_INIT;
    plot_figure figure = {0};
    vly_status status = VLY_OK;
    VLY_TRY(plot_figure_init(&figure, asked->page, send_piece, &out, &error));
    /* fontconfig retries for ever if it gets no memory at all */
    (void)plot_text_width(&figure, 8, "0");
    vly_child_unwind();
    VLY_TRY(asked->draw(&figure, asked->context, &error));
    VLY_TRY(plot_figure_write(&figure, &error));
out:
    plot_figure_deinit(&figure);
    error.status = status;
    (void)vly_child_send(out, &end, sizeof end);
    (void)vly_child_send(out, &error, sizeof error);
}

/* ---- the command --------------------------------------------------------- */

/* False if the child ended before it reported that the picture is complete. The
 * writer keeps its first error and returns it when it is closed. */
static bool receive(const vly_child *child, vly_writer *writer, vly_error *told)
{
    static unsigned char piece[PIECE_BYTES];
    uint32_t n = 0;
    while (vly_child_receive(child, &n, sizeof n) && n <= sizeof piece) {
        if (n == 0)
            return vly_child_receive(child, told, sizeof *told);
        if (!vly_child_receive(child, piece, n))
            return false;
        (void)vly_writer_bytes(writer, piece, n, NULL);
    }
    return false;
}

static vly_status crashed(const char *path, int end, vly_error *error)
{
    const int number = WIFSIGNALED(end) ? WTERMSIG(end) : 0;
    const bool endless = number == SIGPROF || number == SIGALRM;
    return vly_fail(error, VLY_E_NOMEM,
                    "%s: cannot be drawn: cairo or a library of its fonts %s "
                    "(%s %d), as where memory runs out",
                    path, endless ? "found no end" : "crashed",
                    number != 0 ? "signal" : "exit code",
                    number != 0 ? number : WEXITSTATUS(end));
}

vly_status plot_process(const plot_page *page, plot_draw draw, void *context,
                        vly_error *error)
{
    drawing asked = {.page = page, .draw = draw, .context = context};
    vly_child child;
    vly_error told = VLY_ERROR_INIT;
    vly_writer *writer = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(plot_page_check(page, error));
    VLY_TRY(vly_writer_open(page->path, true, &writer, error));
    VLY_TRY(vly_child_begin(&child, page->path, "cairo", work, &asked, error));
    const bool whole = receive(&child, writer, &told);
    const int end = vly_child_stop(&child, !whole);
    if (!whole)
        VLY_TRY(crashed(page->path, end, error));
    told.message[sizeof told.message - 1] = '\0';
    if (told.status != VLY_OK)
        VLY_TRY(vly_fail(error, told.status < 0 ? told.status : VLY_E_IO, "%s",
                         told.message));
    status = vly_writer_close(writer, error);
    writer = NULL;
out:
    vly_writer_abandon(writer);
    return status;
}
