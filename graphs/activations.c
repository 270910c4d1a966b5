// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/activations.h"

#include "base/mem.h"

static bool is_loss(const emp_graph *g, emp_op_id op)
{
    int32_t first = g->output_offset[op];

    return g->is_target[op] && first < g->output_offset[op + 1] &&
           emp_dtype_is_float(g->tensor[first].dtype) && !g->tensor[first].is_ref &&
           emp_shape_is_known(g->tensor[first].shape) &&
           emp_shape_elements(g->tensor[first].shape) == 1;
}

/* Marks the ops that the losses need. */
static void mark_forward(const emp_graph *g, bool *is_forward)
{
    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        emp_op_id op = g->topo[i];
        is_forward[op] = is_forward[op] || is_loss(g, op);
        for (int32_t k = g->input_offset[op];
             is_forward[op] && k < g->input_offset[op + 1]; k++)
            is_forward[g->tensor[g->input[k]].producer] = true;
    }
}

/* The tensor whose buffer this one is. */
static emp_tensor_id buffer_of(const emp_graph *g, emp_tensor_id tensor)
{
    for (;;) {
        emp_op_id op = g->tensor[tensor].producer;
        if (!g->op[op].is_alias || tensor != g->output_offset[op]) return tensor;
        tensor = g->input[g->input_offset[op]];
    }
}

static bool is_made(const emp_graph *g, emp_op_id op)
{
    return !g->op[op].is_folded &&
           !(g->op[op].flags & (EMP_OP_IS_VARIABLE | EMP_OP_FEED | EMP_OP_IS_CONST));
}

emp_status emp_graph_activation_bytes(int64_t *bytes, const emp_graph *step,
                                      emp_error *err)
{
    emp_status st = EMP_OK;
    bool      *is_forward = NULL, *is_counted = NULL;

    *bytes = 0;
    EMP_TRY(EMP_ALLOC(is_forward, (size_t)step->op_count));
    EMP_TRY(EMP_ALLOC(is_counted, (size_t)step->tensor_count + 1));
    if (step->stated != NULL) goto cleanup;
    mark_forward(step, is_forward);
    for (emp_op_id op = 0; op < step->op_count; op++) {
        if (is_forward[op] || step->op[op].cost->kernels == 0) continue;
        for (int32_t k = step->input_offset[op]; k < step->input_offset[op + 1]; k++) {
            emp_tensor_id tensor = buffer_of(step, step->input[k]);
            emp_op_id     maker = step->tensor[tensor].producer;
            if (is_counted[tensor] || !is_forward[maker] || !is_made(step, maker))
                continue;
            is_counted[tensor] = true;
            *bytes += step->tensor[tensor].bytes;
        }
    }

cleanup:
    emp_free(is_forward);
    emp_free(is_counted);
    return st;
}
