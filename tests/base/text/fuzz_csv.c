// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the reader of CSV.
#include "base/text/csv.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_csv csv = {0};
    double  real;

    if (emp_csv_parse(&csv, (const char *)bytes, size, "fuzz", NULL) == EMP_OK)
        for (int32_t row = 0; row < csv.row_count; row++)
            (void)emp_csv_real(&real, &csv, row, csv.column_count - 1, NULL);
    emp_csv_clear(&csv);
    return 0;
}
