// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of tables of layers.
#include "tests/graphs/import/read_memory.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return read_memory_fuzz(bytes, size, emp_layers_options, emp_layers_read);
}
