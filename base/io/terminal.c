// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* fopencookie() */
#include "base/io/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/io/clean.h"

/* The one stream that is cleaned. It has no descriptor of its own. */
static struct {
    FILE    *stream;
    int      file;
    uint16_t before;
} cleaned;

static bool write_all(int file, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t count = write(file, text, length);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        text += count;
        length -= (size_t)count;
    }
    return true;
}

static ssize_t write_clean(void *cookie, const char *text, size_t length)
{
    enum { PIECE_BYTES = 1024 };
    char   clean[EMP_CLEAN_GROWTH * PIECE_BYTES + 1];
    size_t done = 0;

    (void)cookie;
    while (done < length) {
        size_t piece = length - done < PIECE_BYTES ? length - done : PIECE_BYTES;
        size_t size = emp_text_clean(clean, text + done, piece, true, &cleaned.before);
        if (!write_all(cleaned.file, clean, size)) return 0; /* an error of the stream */
        done += piece;
    }
    return (ssize_t)length;
}

FILE *emp_terminal_open(int file)
{
    cleaned.stream =
        fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_clean});
    cleaned.file = file;
    cleaned.before = 0;
    if (cleaned.stream != NULL) setvbuf(cleaned.stream, NULL, _IOLBF, BUFSIZ);
    return cleaned.stream;
}

bool emp_terminal_is_drawn_on(int file)
{
    const char *kind = getenv("TERM");

    return isatty(file) == 1 && (kind == NULL || strcmp(kind, "dumb") != 0);
}

emp_terminal_size emp_terminal_size_of(FILE *stream)
{
    int            file = stream == cleaned.stream ? cleaned.file : fileno(stream);
    struct winsize size = {0};

    if (file < 0 || isatty(file) != 1 || ioctl(file, TIOCGWINSZ, &size) != 0)
        return (emp_terminal_size){0};
    return (emp_terminal_size){size.ws_col, size.ws_row};
}
