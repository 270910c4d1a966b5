// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/bounds/paths/proof.h"

#include <string.h>

#include "base/mem.h"

void emp_proof_clear(emp_proof *proof)
{
    if (proof == NULL) return;
    emp_free(proof->step);
    emp_free(proof->near);
    *proof = (emp_proof){0};
}

static emp_status append_step(emp_proof *proof, emp_proof_step step, emp_error *err)
{
    EMP_CHECK(EMP_GROW(proof->step, proof->count + 1, proof->capacity));
    proof->step[proof->count++] = step;
    return EMP_OK;
}

static emp_status append_near(emp_proof *proof, emp_op_id op, emp_error *err)
{
    EMP_CHECK(EMP_GROW(proof->near, proof->near_count + 1, proof->near_capacity));
    proof->near[proof->near_count++] = op;
    return EMP_OK;
}

void emp_proof_add(emp_proof *proof, emp_proof_step step)
{
    if (proof == NULL || proof->is_short) return;
    if (step.rule == EMP_PROOF_JOIN || step.rule == EMP_PROOF_SEGMENT)
        step.near_count = proof->near_count - step.near;
    proof->is_short = append_step(proof, step, NULL) != EMP_OK;
}

void emp_proof_add_near(emp_proof *proof, emp_op_id op)
{
    if (proof == NULL || proof->is_short) return;
    proof->is_short = append_near(proof, op, NULL) != EMP_OK;
}

emp_proof_mark emp_proof_now(const emp_proof *proof)
{
    if (proof == NULL) return (emp_proof_mark){0};
    return (emp_proof_mark){proof->count, proof->near_count};
}

void emp_proof_take_back(emp_proof *proof, emp_proof_mark to)
{
    if (proof == NULL) return;
    proof->count = to.count;
    proof->near_count = to.near_count;
}

emp_status emp_proof_copy(emp_proof *to, const emp_proof *from, emp_error *err)
{
    emp_proof_clear(to);
    if (from == NULL) return EMP_OK;
    if (from->is_short) return EMP_ERROR(EMP_ENOMEM, "a proof of %d steps", from->count);
    EMP_CHECK(EMP_ALLOC(to->step, (size_t)from->count + 1));
    EMP_CHECK(EMP_ALLOC(to->near, (size_t)from->near_count + 1));
    memcpy(to->step, from->step, (size_t)from->count * sizeof *to->step);
    memcpy(to->near, from->near, (size_t)from->near_count * sizeof *to->near);
    to->count = to->capacity = from->count;
    to->near_count = to->near_capacity = from->near_count;
    return EMP_OK;
}
