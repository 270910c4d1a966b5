// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of Chakra's traces.
#include "tests/graphs/import/read_memory.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size > 0 && !emp_chakra_is((emp_slice){(const char *)bytes, size})) return 0;
    return read_memory_fuzz(bytes, size, NULL, emp_chakra_read);
}
