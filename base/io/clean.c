// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/io/clean.h"

#include <stdio.h>

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
