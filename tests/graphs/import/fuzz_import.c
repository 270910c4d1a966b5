// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the readers. Build with clang, -DEMP_FUZZ=ON and
// -DEMP_SANITIZE=address,undefined,fuzzer-no-link; it takes a folder of graph files.
#include <stdint.h>

#include "tests/graphs/import/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size > 0) (void)sample_read((const char *)bytes, size);
    return 0;
}
