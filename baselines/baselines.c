// SPDX-License-Identifier: GPL-3.0-or-later
#include "baselines/baselines.h"

static const emp_method *const table[] = {
#define X(name) &emp_method_##name,
    EMP_BASELINE_LIST(X)
#undef X
};

const emp_method *const *emp_baselines(int32_t *count)
{
    *count = (int32_t)(sizeof table / sizeof table[0]);
    return table;
}
