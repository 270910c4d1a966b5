// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for the tables of rocm-smi and amd-smi.
#include <stdlib.h>

#include "sim/machine/import/import_internal.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static emp_gpu_matrix matrix;
    static emp_gpu_query  query;
    size_t                length = size;
    char                 *text = fuzz_text(bytes, size);

    if (emp_smi_text_clean(text, &length, "text", NULL) == EMP_OK &&
        emp_amd_topology_parse(&matrix, &query, text, length, "text", NULL) == EMP_OK)
        if (matrix.gpu_count < 1 || matrix.gpu_count > EMP_IMPORT_GPUS) abort();
    free(text);
    return 0;
}
