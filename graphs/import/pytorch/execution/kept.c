// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/pytorch/execution/kept.h"

#include <string.h>

#include "base/mem.h"
#include "graphs/import/pytorch/calls.h"

/* Whether an op reads an operand as weights: not element by element. */
static bool reads_weights(const emp_aten_op *op)
{
    switch (op->type->work) {
    case EMP_WORK_CONVOLUTION: return op->type->part == EMP_PART_FORWARD;
    case EMP_WORK_PRODUCT:
    case EMP_WORK_LOOKUP:
    case EMP_WORK_RECURRENT:
    case EMP_WORK_NORM: return true;
    default: return false;
    }
}

/* What the calls do with the placeholders' memory. */
static void find_roles(emp_torch_program *p, const emp_torch_calls *c, bool *is_written,
                       bool *is_weight)
{
    for (int32_t i = 0; i < p->node_count; i++) {
        const emp_aten_op     *op = c->op_of[i];
        emp_torch_walk         at = {0};
        const emp_torch_value *v;
        if (op == NULL || op->type == NULL) continue;
        while ((v = emp_torch_next_tensor(p, &p->node[i], &at)) != NULL) {
            emp_torch_node *owner = &p->node[c->owner[v->node]];
            if (owner->what != EMP_TORCH_PLACEHOLDER) continue;
            if (v->key != NULL && strncmp(v->key, "running_", 8) == 0)
                owner->role = EMP_TORCH_BUFFER;
            is_written[c->owner[v->node]] |= emp_torch_writes(c, i, at.argument);
            is_weight[c->owner[v->node]] |= reads_weights(op);
        }
    }
    for (int32_t i = 0; i < p->node_count; i++)
        if (p->node[i].what == EMP_TORCH_PLACEHOLDER && is_written[i] &&
            p->node[i].role != EMP_TORCH_BUFFER)
            p->node[i].role = is_weight[i] ? EMP_TORCH_PARAMETER : EMP_TORCH_STATE;
}

emp_status emp_torch_kept_find(emp_torch_program *p, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_torch_calls calls = {0};
    bool           *is_written = NULL, *is_weight = NULL;

    EMP_TRY(emp_torch_calls_init(&calls, p, err));
    EMP_TRY(EMP_ALLOC(is_written, (size_t)p->node_count));
    EMP_TRY(EMP_ALLOC(is_weight, (size_t)p->node_count));
    find_roles(p, &calls, is_written, is_weight);

cleanup:
    emp_free(is_written);
    emp_free(is_weight);
    emp_torch_calls_clear(&calls);
    return st;
}
