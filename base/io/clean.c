// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/io/clean.h"

#include <stdio.h>

/* In UTF-8 the control characters of 8 bits are the byte 0xC2 and one of 0x80..0x9F. */
static bool is_control(unsigned char byte, unsigned char before)
{
    return byte < 0x20 || byte == 0x7f || (before == 0xc2 && byte >= 0x80 && byte < 0xa0);
}

size_t emp_text_clean(char *clean, const char *text, size_t length, bool is_page,
                      unsigned char *before)
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
        *before = byte;
    }
    clean[used] = '\0';
    return used;
}
