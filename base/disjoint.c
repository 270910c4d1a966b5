// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/disjoint.h"

void emp_disjoint_init(int32_t *parent, int32_t n)
{
    for (int32_t i = 0; i < n; i++) parent[i] = i;
}

int32_t emp_disjoint_root(int32_t *parent, int32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

bool emp_disjoint_join(int32_t *parent, int32_t one, int32_t other)
{
    int32_t a = emp_disjoint_root(parent, one), b = emp_disjoint_root(parent, other);

    parent[a > b ? a : b] = a > b ? b : a;
    return a != b;
}
