// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of measured placements.
#include "bench/validate/validate.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_validation_record record = {0};

    (void)emp_validation_record_load(&record, fuzz_file(bytes, size), NULL);
    emp_validation_record_clear(&record);
    return 0;
}
