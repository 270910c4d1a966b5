// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of timing files.
#include "run/timing.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_timing timing;

    (void)emp_timing_load(&timing, fuzz_file(bytes, size), NULL);
    emp_timing_clear(&timing);
    return 0;
}
