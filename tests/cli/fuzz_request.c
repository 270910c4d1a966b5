// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the requests of `emplace serve`, up to the answer: a line that is taken for a
// request gets one line back.
#define _GNU_SOURCE /* memmem */
#include <stdlib.h>
#include <string.h>

#include "cli/serve/desk.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static cli_desk *desk;
    char            *text = NULL;
    size_t           length = 0;
    FILE            *out = open_memstream(&text, &length);

    if (desk == NULL && cli_desk_create(&desk, 2, NULL) != EMP_OK) abort();
    if (out == NULL) abort();
    /* What loads files or a large graph tests their readers, which have drivers of their own. */
    if (memmem(bytes, size, "load", 4) == NULL &&
        cli_desk_answer(desk, (const char *)bytes, size, false, out) == CLI_DESK_RUNS)
        abort();
    fclose(out);
    if (length > 0 && memchr(text, '\n', length) != text + length - 1) abort();
    free(text);
    return 0;
}
