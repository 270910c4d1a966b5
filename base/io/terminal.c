// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* fopencookie() */

#include "base/io/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* In UTF-8 the control characters of 8 bits are the byte 0xC2 and one of 0x80..0x9F. Marks that turn
 * the direction of text, or end a line, are U+2028 to U+202E and U+2066 to U+2069. */
static bool is_control(unsigned char byte, uint16_t before)
{
    if (byte < 0x20 || byte == 0x7f) return true;
    if ((before & 0xff) == 0xc2) return byte >= 0x80 && byte < 0xa0;
    if (before == 0xe280) return byte >= 0xa8 && byte <= 0xae;
    return before == 0xe281 && byte >= 0xa6 && byte <= 0xa9;
}

size_t emp_text_clean(char *clean, const char *text, size_t length, bool is_page,
                      uint16_t *before)
{
    size_t used = 0;

    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)text[i];
        if (!is_control(byte, *before) || (is_page && (byte == '\n' || byte == '\t')))
            clean[used++] = (char)byte;
        else if (byte == '\n')
            used += (size_t)sprintf(clean + used, "\\n");
        else
            used += (size_t)sprintf(clean + used, "\\x%02x", byte);
        *before = (uint16_t)(*before << 8 | byte);
    }
    clean[used] = '\0';
    return used;
}

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
