// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the requests of `emplace serve`, up to the answer: each line that is taken
// for a request gets one line back. Problem 1 is loaded, so that rows are scored and explained.
#define _GNU_SOURCE /* memmem */
#include <stdlib.h>
#include <string.h>

#include "cli/serve/desk.h"
#include "tests/support/fuzz_file.h"

static const char load[] =
    "{\"do\":\"load\",\"graph\":\"giph:v=4,alpha=0.5,seed=1\",\"machine\":"
    "\"giph:devices=3,seed=1\",\"runtime\":\"edges\"}";

/* Whether the desk has the small problem, whose rows have few numbers, as its first one. */
static bool loads_first(cli_desk *desk)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *out = open_memstream(&text, &size);

    if (out == NULL) abort();
    if (cli_desk_answer(desk, load, sizeof load - 1, false, out) != CLI_DESK_ANSWERED)
        abort();
    fclose(out);
    const bool is_first = strstr(text, "\"problem\":1,") != NULL;
    free(text);
    return is_first;
}

/* The desk of all inputs; another one after an input has dropped the problem. */
static cli_desk *get_desk(void)
{
    static cli_desk *desk;

    if (desk != NULL && loads_first(desk)) return desk;
    cli_desk_destroy(desk);
    if (cli_desk_create(&desk, 2, INT64_MAX / 2, NULL) != EMP_OK || !loads_first(desk))
        abort();
    return desk;
}

static void answer(cli_desk *desk, const char *line, size_t length)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *out = open_memstream(&text, &size);

    if (out == NULL) abort();
    if (cli_desk_answer(desk, line, length, false, out) == CLI_DESK_RUNS) abort();
    fclose(out);
    if (size > 0 && memchr(text, '\n', size) != text + size - 1) abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *at = (const char *)bytes, *end = at + size;

    /* Requests that load files or a large graph would test their readers, which have drivers of their own. */
    if (size == 0 || memmem(bytes, size, "load", 4) != NULL) return 0;
    cli_desk *desk = get_desk();
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        if (stop > at) answer(desk, at, (size_t)(stop - at));
        at = stop + 1;
    }
    return 0;
}
