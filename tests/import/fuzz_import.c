// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the readers; -DEMP_FUZZ=ON with clang builds it, and it takes a
// folder of graph files to start from.
#include <stdint.h>

#include "tests/import/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size > 0) (void)sample_read((const char *)bytes, size);
    return 0;
}
