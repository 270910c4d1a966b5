// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of lists of ops.
#include "tests/graphs/import/read_memory.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return read_memory_fuzz(bytes, size, NULL, emp_ops_read);
}
