// SPDX-License-Identifier: GPL-3.0-or-later
#include "search/proposal.h"

#include <string.h>

#include "base/mem.h"

emp_status emp_proposal_init(emp_proposal *p, int32_t op_count, int32_t decides,
                             emp_error *err)
{
    *p = (emp_proposal){0};
    EMP_CHECK(EMP_ALLOC(p->device_of_op, (size_t)op_count));
    if (decides & EMP_DECIDES_ORDER)
        EMP_CHECK(EMP_ALLOC(p->level_of_op, (size_t)op_count));
    if (decides & EMP_DECIDES_FUSION)
        EMP_CHECK(EMP_ALLOC(p->leader_of_op, (size_t)op_count));
    emp_proposal_part(p, op_count);
    return EMP_OK;
}

void emp_proposal_clear(emp_proposal *p)
{
    emp_free(p->device_of_op);
    emp_free(p->level_of_op);
    emp_free(p->leader_of_op);
    *p = (emp_proposal){0};
}

void emp_proposal_copy(const emp_proposal *to, const emp_proposal *from, int32_t op_count)
{
    memcpy(to->device_of_op, from->device_of_op,
           (size_t)op_count * sizeof *to->device_of_op);
    if (to->level_of_op != NULL && from->level_of_op != NULL)
        memcpy(to->level_of_op, from->level_of_op, (size_t)op_count);
    if (to->leader_of_op != NULL && from->leader_of_op != NULL)
        memcpy(to->leader_of_op, from->leader_of_op,
               (size_t)op_count * sizeof *to->leader_of_op);
}

void emp_proposal_part(const emp_proposal *p, int32_t op_count)
{
    for (emp_op_id op = 0; p->leader_of_op != NULL && op < op_count; op++)
        p->leader_of_op[op] = op;
}

void emp_proposal_draw_leaders(emp_op_id *leader_of_op, int32_t op_count, emp_rng *rng)
{
    const double share = emp_rng_uniform(rng);

    for (emp_op_id op = 0; op < op_count; op++)
        leader_of_op[op] = emp_rng_uniform(rng) < share ? EMP_JOINS_READERS : op;
}

bool emp_proposal_is_valid(const emp_proposal *p, int32_t op_count, int32_t device_count)
{
    for (emp_op_id op = 0; op < op_count; op++) {
        if (p->device_of_op[op] < 0 || p->device_of_op[op] >= device_count) return false;
        if (p->level_of_op != NULL && p->level_of_op[op] >= EMP_LEVELS) return false;
        if (p->leader_of_op != NULL && p->leader_of_op[op] >= op_count) return false;
    }
    return true;
}
