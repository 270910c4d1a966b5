// SPDX-License-Identifier: GPL-3.0-or-later
#define _DEFAULT_SOURCE
#include "tests/support/fuzz_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[] = P_tmpdir "/emplace-fuzz-XXXXXX";

static void remove_file(void) { remove(path); }

const char *fuzz_file(const uint8_t *bytes, size_t size)
{
    static bool is_made;

    if (!is_made) {
        int descriptor = mkstemp(path);
        if (descriptor < 0) abort();
        close(descriptor);
        atexit(remove_file);
        is_made = true;
    }
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
    return path;
}
