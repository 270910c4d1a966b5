// SPDX-License-Identifier: GPL-3.0-or-later
#define _DEFAULT_SOURCE
#include "tests/support/fuzz_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In memory where that can be: a disk would take most of the time. */
static char in_memory[] = "/dev/shm/emplace-fuzz-XXXXXX";
static char on_disk[] = P_tmpdir "/emplace-fuzz-XXXXXX";

static const char *path; /* one of the two; NULL: not made yet */

static void remove_file(void) { remove(path); }

static void make_file(void)
{
    int descriptor = mkstemp(in_memory);

    path = descriptor >= 0 ? in_memory : on_disk;
    if (descriptor < 0) descriptor = mkstemp(on_disk);
    if (descriptor < 0) abort();
    close(descriptor);
    atexit(remove_file);
}

const char *fuzz_file(const uint8_t *bytes, size_t size)
{
    if (path == NULL) make_file();
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
    return path;
}

char *fuzz_text(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);

    if (text == NULL) abort();
    memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}
