// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/named_array.h"

#include <stdint.h>

size_t emp_array_type_bytes(emp_array_type type)
{
    static const size_t bytes[] = {[EMP_ARRAY_UINT8] = sizeof(uint8_t),
                                   [EMP_ARRAY_INT32] = sizeof(int32_t),
                                   [EMP_ARRAY_INT64] = sizeof(int64_t),
                                   [EMP_ARRAY_FLOAT] = sizeof(float),
                                   [EMP_ARRAY_DOUBLE] = sizeof(double)};

    return bytes[type];
}
