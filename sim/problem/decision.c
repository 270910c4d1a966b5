// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/problem/decision.h"

#include <string.h>

#include "base/mem.h"

emp_status emp_decision_init(emp_owned_decision *d, int32_t op_count, int32_t decides,
                             emp_error *err)
{
    *d = (emp_owned_decision){.op_count = op_count};
    EMP_CHECK(EMP_ALLOC(d->device_of_op, (size_t)op_count));
    if (decides & EMP_DECIDES_ORDER)
        EMP_CHECK(EMP_ALLOC(d->level_of_op, (size_t)op_count));
    if (decides & EMP_DECIDES_FUSION)
        EMP_CHECK(EMP_ALLOC(d->leader_of_op, (size_t)op_count));
    emp_decision_reset(d);
    return EMP_OK;
}

void emp_decision_clear(emp_owned_decision *d)
{
    emp_free(d->device_of_op);
    emp_free(d->level_of_op);
    emp_free(d->leader_of_op);
    *d = (emp_owned_decision){0};
}

int32_t emp_decision_decides(const emp_owned_decision *d)
{
    return EMP_DECIDES_DEVICES | (d->level_of_op != NULL ? EMP_DECIDES_ORDER : 0) |
           (d->leader_of_op != NULL ? EMP_DECIDES_FUSION : 0);
}

emp_decision emp_decision_view(const emp_owned_decision *d)
{
    return (emp_decision){d->device_of_op, d->level_of_op, d->leader_of_op};
}

void emp_decision_copy(const emp_owned_decision *to, const emp_owned_decision *from)
{
    const size_t ops = (size_t)from->op_count;

    memcpy(to->device_of_op, from->device_of_op, ops * sizeof *to->device_of_op);
    if (to->level_of_op != NULL && from->level_of_op != NULL)
        memcpy(to->level_of_op, from->level_of_op, ops);
    if (to->leader_of_op != NULL && from->leader_of_op != NULL)
        memcpy(to->leader_of_op, from->leader_of_op, ops * sizeof *to->leader_of_op);
}

void emp_decision_reset(const emp_owned_decision *d)
{
    if (d->level_of_op != NULL) memset(d->level_of_op, 0, (size_t)d->op_count);
    for (emp_op_id op = 0; d->leader_of_op != NULL && op < d->op_count; op++)
        d->leader_of_op[op] = op;
}

bool emp_decision_is_valid(const emp_owned_decision *d, int32_t device_count)
{
    for (emp_op_id op = 0; op < d->op_count; op++) {
        if (d->device_of_op[op] < 0 || d->device_of_op[op] >= device_count) return false;
        if (d->level_of_op != NULL && d->level_of_op[op] >= EMP_LEVELS) return false;
        if (d->leader_of_op != NULL && d->leader_of_op[op] >= d->op_count) return false;
    }
    return true;
}
