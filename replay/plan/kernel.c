// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/plan/kernel.h"

#include <string.h>

static const struct {
    const char *name;
    int32_t     size_count, variant_count;
} kinds[EMP_KERNEL_KINDS] = {
#define X(id, name, sizes, variants) {name, sizes, variants},
    EMP_KERNEL_LIST(X)
#undef X
};

const char *emp_kernel_name(emp_kernel_kind kind) { return kinds[kind].name; }

int32_t emp_kernel_size_count(emp_kernel_kind kind) { return kinds[kind].size_count; }

int32_t emp_kernel_variant_count(emp_kernel_kind kind)
{
    return kinds[kind].variant_count;
}

bool emp_kernel_find(const char *name, emp_kernel_kind *kind)
{
    for (int i = 0; i < EMP_KERNEL_KINDS; i++) {
        if (strcmp(kinds[i].name, name) != 0) continue;
        *kind = (emp_kernel_kind)i;
        return true;
    }
    return false;
}

double emp_kernel_flops(const emp_kernel *k)
{
    const int64_t *s = k->size;

    if (k->kind == EMP_KERNEL_PRODUCT)
        return 2.0 * (double)s[EMP_PRODUCT_M] * (double)s[EMP_PRODUCT_N] *
               (double)s[EMP_PRODUCT_K] * (double)s[EMP_PRODUCT_BATCH];
    if (k->kind != EMP_KERNEL_CONV) return 0.0;
    return 2.0 * (double)s[EMP_CONV_N] * (double)s[EMP_CONV_OH] * (double)s[EMP_CONV_OW] *
           (double)s[EMP_CONV_F] * (double)s[EMP_CONV_KH] * (double)s[EMP_CONV_KW] *
           (double)s[EMP_CONV_C];
}

double emp_kernel_terms(const emp_kernel *kernel)
{
    const int64_t *s = kernel->size;

    if (kernel->kind == EMP_KERNEL_PRODUCT) return (double)s[EMP_PRODUCT_K];
    switch (kernel->variant & EMP_CONV_DIRECTION) {
    case EMP_CONV_FORWARD:
        return (double)(s[EMP_CONV_KH] * s[EMP_CONV_KW] * s[EMP_CONV_C]);
    case EMP_CONV_INPUT: return (double)(s[EMP_CONV_KH] * s[EMP_CONV_KW] * s[EMP_CONV_F]);
    default: return (double)(s[EMP_CONV_N] * s[EMP_CONV_OH] * s[EMP_CONV_OW]);
    }
}
