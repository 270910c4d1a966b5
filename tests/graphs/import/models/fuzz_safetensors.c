// SPDX-License-Identifier: GPL-3.0-or-later
// A libFuzzer driver for headers of safetensors files; the data would be a million bytes.
#include "graphs/import/models/safetensors.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    emp_safetensors header = {0};
    emp_shape       shape = EMP_SHAPE(2, 3);
    emp_dtype       dtype = EMP_DTYPE_FLOAT;

    if (emp_safetensors_parse(&header, (const char *)bytes, size, size + 1000000, NULL) ==
        EMP_OK)
        (void)emp_safetensors_find_type(&header, "model.a.weight", &shape, &dtype, NULL);
    emp_safetensors_clear(&header);
    return 0;
}
