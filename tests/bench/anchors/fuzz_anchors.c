// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for tables of anchors.
#include "bench/anchors/anchors.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_anchors anchors = {0};

    (void)emp_anchors_read(&anchors, "fuzz", (const char *)bytes, size, NULL);
    emp_anchors_clear(&anchors);
    return 0;
}
