// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of runtime profiles.
#include "sim/runtime/runtime.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_runtime *runtime = NULL;

    (void)emp_runtime_load(&runtime, fuzz_file(bytes, size), NULL);
    emp_runtime_destroy(runtime);
    return 0;
}
