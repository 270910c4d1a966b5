// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plain/plain_step.h"

#undef NDEBUG
#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

static int compare_edges(const void *left, const void *right)
{
    const plain_edge *a = left, *b = right;

    if (a->producer != b->producer) return a->producer < b->producer ? -1 : 1;
    if (a->consumer != b->consumer) return a->consumer < b->consumer ? -1 : 1;
    /* PLAIN_CONTROL, which is -1, comes last as the greatest unsigned number. */
    uint32_t s = (uint32_t)a->tensor, t = (uint32_t)b->tensor;
    return (s > t) - (s < t);
}

static void *new_array(size_t count, size_t size)
{
    void *array = emp_calloc(count, size);

    assert(array != NULL);
    return array;
}

/* Numbers the ops and tensors that are not folded; -1 = folded. */
static void number(plain_step *s, const emp_graph *g, int32_t *new_op,
                   int32_t *new_tensor)
{
    for (emp_op_id op = 0; op < g->op_count; op++) {
        bool is_folded = g->op[op].is_folded;
        new_op[op] = is_folded ? -1 : s->op_count++;
        for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++)
            new_tensor[t] = is_folded ? -1 : s->tensor_count++;
    }
}

static void add_edge(plain_step *s, int32_t producer, int32_t consumer, int32_t tensor)
{
    if (producer < 0 || consumer < 0) return;
    s->edge[s->edge_count++] = (plain_edge){producer, consumer, tensor};
}

static void fill_edges(plain_step *s, const emp_graph *g, const int32_t *new_op,
                       const int32_t *new_tensor)
{
    for (emp_op_id op = 0; op < g->op_count; op++) {
        for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
            emp_tensor_id t = g->input[i];
            add_edge(s, new_op[g->tensor[t].producer], new_op[op], new_tensor[t]);
        }
        for (int32_t i = g->control_offset[op]; i < g->control_offset[op + 1]; i++)
            add_edge(s, new_op[g->control[i]], new_op[op], PLAIN_CONTROL);
    }
    qsort(s->edge, (size_t)s->edge_count, sizeof *s->edge, compare_edges);
    int32_t kept = 0;
    for (int32_t e = 0; e < s->edge_count; e++) {
        if (kept > 0 && compare_edges(&s->edge[kept - 1], &s->edge[e]) == 0) continue;
        s->edge[kept++] = s->edge[e];
    }
    s->edge_count = kept;
}

void plain_step_create(plain_step *step, const emp_problem *p,
                       const emp_device_id *device_of_op)
{
    const emp_graph *g = p->graph;
    const size_t     ops = (size_t)g->op_count, tensors = (size_t)g->tensor_count;
    const int32_t    devices = p->machine->device_count;
    int32_t         *new_op = new_array(ops, sizeof *new_op);
    int32_t         *new_tensor = new_array(tensors, sizeof *new_tensor);
    plain_step       s = {.device_count = devices};

    number(&s, g, new_op, new_tensor);
    s.is_cpu = new_array((size_t)devices, sizeof *s.is_cpu);
    s.cost_ns = new_array(ops * (size_t)devices, sizeof *s.cost_ns);
    s.temporary_bytes = new_array(ops, sizeof *s.temporary_bytes);
    s.persistent_bytes = new_array(ops, sizeof *s.persistent_bytes);
    s.device_of_op = new_array(ops, sizeof *s.device_of_op);
    s.tensor = new_array(tensors, sizeof *s.tensor);
    s.edge = new_array((size_t)(g->edge_count + g->control_edge_count), sizeof *s.edge);

    for (int32_t d = 0; d < devices; d++)
        s.is_cpu[d] = p->machine->device[d].kind == EMP_DEVICE_CPU;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t v = new_op[op];
        if (v < 0) continue;
        for (int32_t d = 0; d < devices; d++) {
            size_t row = emp_cost_row(p->costs, d, op);
            s.cost_ns[v * devices + d] = s.is_cpu[d] ? p->costs->cpu[row].compute_ns
                                                     : p->costs->gpu[row].compute_ns;
        }
        s.temporary_bytes[v] = g->op[op].cost->workspace_bytes;
        s.persistent_bytes[v] = g->op[op].persistent_bytes;
        s.device_of_op[v] = device_of_op[op];
        for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++) {
            s.tensor[new_tensor[t]] =
                (plain_tensor){v, g->tensor[t].bytes, g->tensor[t].copy_bytes};
        }
    }
    fill_edges(&s, g, new_op, new_tensor);
    emp_free(new_op);
    emp_free(new_tensor);
    *step = s;
}

void plain_step_destroy(plain_step *step)
{
    emp_free(step->is_cpu);
    emp_free(step->cost_ns);
    emp_free(step->temporary_bytes);
    emp_free(step->persistent_bytes);
    emp_free(step->device_of_op);
    emp_free(step->tensor);
    emp_free(step->edge);
    *step = (plain_step){0};
}

int64_t plain_step_cost_ns(const plain_step *s, int32_t op)
{
    return s->cost_ns[op * s->device_count + s->device_of_op[op]];
}

int32_t *plain_step_output_rows(const plain_step *s)
{
    int32_t *row = new_array((size_t)s->op_count + 1, sizeof *row);

    for (int32_t t = 0; t < s->tensor_count; t++) row[s->tensor[t].producer + 1]++;
    for (int32_t op = 0; op < s->op_count; op++) row[op + 1] += row[op];
    return row;
}

int32_t *plain_step_edge_rows(const plain_step *s)
{
    int32_t *row = new_array((size_t)s->op_count + 1, sizeof *row);

    for (int32_t e = 0; e < s->edge_count; e++) {
        assert(e == 0 || compare_edges(&s->edge[e - 1], &s->edge[e]) < 0);
        row[s->edge[e].producer + 1]++;
    }
    for (int32_t op = 0; op < s->op_count; op++) row[op + 1] += row[op];
    return row;
}

int64_t plain_scale(int64_t value, int64_t numerator, int64_t denominator)
{
    int64_t whole = value / denominator, rest = value % denominator;

    return whole * numerator + (rest * numerator + denominator / 2) / denominator;
}
