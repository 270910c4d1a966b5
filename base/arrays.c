// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/arrays.h"

#include <stdint.h>

#include "base/mem.h"

enum { HEAD_BYTES = 64 }; /* keeps the alignment of large blocks */

void *emp_arrays_add(emp_arrays *arrays, size_t count, size_t size)
{
    bool   is_endless = size != 0 && count > SIZE_MAX / 4 / size;
    void **block = is_endless ? NULL : emp_calloc(1, HEAD_BYTES + count * size);

    if (block == NULL) {
        arrays->is_short = true;
        return NULL;
    }
    *block = arrays->newest;
    arrays->newest = block;
    return (char *)block + HEAD_BYTES;
}

void emp_arrays_clear(emp_arrays *arrays)
{
    while (arrays->newest != NULL) {
        void *block = arrays->newest;
        arrays->newest = *(void **)block;
        emp_free(block);
    }
    arrays->is_short = false;
}
