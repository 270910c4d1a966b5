// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of PlaceBench. One file is both of its tables: each reads its own
// columns.
#include "bench/placebench/placebench.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char    *path = fuzz_file(bytes, size);
    emp_placebench bench = {0};

    (void)emp_placebench_read(&bench, path, path, "/nowhere", NULL);
    emp_placebench_clear(&bench);
    return 0;
}
