// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the tables of measured kernels. The first byte says which kind.
#include <math.h>
#include <stdlib.h>

#include "base/collections.h"
#include "sim/machine/tables/tables.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_csv     csv = {0};
    uint64_t    hash = EMP_HASH_SEED;
    emp_tables *tables = emp_tables_create();

    if (size > 0 && tables != NULL &&
        emp_csv_parse(&csv, (const char *)bytes + 1, size - 1, "input", NULL) == EMP_OK &&
        emp_tables_add(tables, bytes[0] % EMP_TABLE_KINDS, &csv, "input", &hash, NULL) ==
            EMP_OK &&
        tables->gemm[EMP_FORMAT_BF16] != NULL &&
        isnan(emp_grid_at(tables->gemm[EMP_FORMAT_BF16], (double[]){3, 3, 3})))
        abort();
    emp_csv_clear(&csv);
    emp_tables_release(tables);
    return 0;
}
