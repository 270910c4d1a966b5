// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/import/targets.h"

#include "base/mem.h"

typedef struct {
    const emp_graph *graph;
    bool            *is_target;
    int32_t          count;
} marker;

/* Marks the op that a name, perhaps with a port, means; unknown ones are not counted. */
static emp_op_id mark_name(marker *m, emp_slice name)
{
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] == ':') name.size = i;
    }
    if (name.size > 0 && name.data[0] == '^')
        name = (emp_slice){name.data + 1, name.size - 1};
    for (emp_op_id op = 0; op < m->graph->op_count; op++) {
        if (!emp_slice_is(name, m->graph->name[op])) continue;
        m->count += !m->is_target[op];
        m->is_target[op] = true;
        return op;
    }
    return -1;
}

emp_status emp_targets_parse(const emp_graph *graph, const char *list, bool *is_target,
                             emp_error *err)
{
    emp_status  st = EMP_OK;
    marker      m = {graph, is_target, 0};
    const char *at = list;

    while (*at != '\0') {
        emp_slice name = {at, strcspn(at, ",")};
        if (name.size > 0 && mark_name(&m, name) < 0)
            EMP_FAIL(EMP_EINVAL, "the target \"%.*s\" is no op of this graph",
                     EMP_SLICE_ARG(name));
        at += name.size;
        at += *at == ',';
    }
    if (m.count == 0)
        EMP_FAIL(EMP_EINVAL, "the list of targets \"%s\" names no op", list);

cleanup:
    return st;
}

static emp_status visit_train_op(void *context, emp_slice name, emp_error *err)
{
    (void)err; /* a name that leads nowhere leaves the search to the other rules */
    (void)mark_name((marker *)context, name);
    return EMP_OK;
}

/* Ops that change variables in a step. Assign initialises and restores; where an
 * optimizer uses it, the train op waits for it. */
static bool is_update(const emp_graph *g, emp_op_id op)
{
    uint32_t flags = g->op[op].flags;

    if (flags & EMP_OP_IS_OPTIMIZER) return true;
    return (flags & EMP_OP_UPDATES_REF) &&
           strcmp(g->type_name[g->type[op]], "Assign") != 0;
}

static bool is_sink(const emp_graph *g, emp_op_id op)
{
    return g->consumer_offset[g->output_offset[op]] ==
               g->consumer_offset[g->output_offset[op + 1]] &&
           g->control_out_offset[op] == g->control_out_offset[op + 1];
}

/* Marks the updates, and the sinks behind them: the op that a training loop runs comes
 * after all updates. */
static emp_status mark_updates(marker *m, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = m->graph;
    bool            *is_behind = EMP_NEW_ARRAY(bool, (size_t)g->op_count);

    if (is_behind == NULL) EMP_FAIL(EMP_ENOMEM, "marks of %d ops", g->op_count);
    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        bool      updates = is_update(g, op), behind = false;
        for (int32_t k = g->input_offset[op]; k < g->input_offset[op + 1]; k++)
            behind = behind || is_behind[g->tensor[g->input[k]].producer];
        for (int32_t k = g->control_offset[op]; k < g->control_offset[op + 1]; k++)
            behind = behind || is_behind[g->control[k]];
        is_behind[op] = updates || behind;
        if (updates || (behind && is_sink(g, op))) {
            m->is_target[op] = true;
            m->count++;
        }
    }

cleanup:
    emp_free(is_behind);
    return st;
}

/* A scalar that nobody reads, and that is computed and not just a variable's value. */
static bool is_loss(const emp_graph *g, emp_op_id op)
{
    if (!is_sink(g, op) || g->input_offset[op] == g->input_offset[op + 1] ||
        g->output_offset[op] == g->output_offset[op + 1] ||
        strncmp(g->name[op], "gradients/", 10) == 0)
        return false;
    const emp_tensor *out = &g->tensor[g->output_offset[op]];
    return out->dtype == EMP_DTYPE_FLOAT && out->shape.rank == 0 && !out->is_ref &&
           !g->tensor[g->input[g->input_offset[op]]].is_ref;
}

emp_status emp_targets_find(const emp_graph *graph, emp_message_file *file,
                            emp_slice meta, bool *is_target, emp_error *err)
{
    emp_status st = EMP_OK;
    marker     m = {graph, is_target, 0};

    if (meta.data != NULL)
        EMP_TRY(emp_container_each_train_op(file, meta, visit_train_op, &m, err));
    if (m.count > 0) return EMP_OK;
    EMP_TRY(mark_updates(&m, err));
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        if (m.count > 0 ? is_loss(graph, op) : is_sink(graph, op)) is_target[op] = true;
    }

cleanup:
    return st;
}
