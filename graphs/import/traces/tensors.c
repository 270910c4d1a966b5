// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/traces/step_graph.h"

#include <stdlib.h>

#include "base/mem.h"

static const int64_t BYTES_MAX = INT64_C(1000000000000);

typedef struct {
    emp_step_tensors      *out;
    const emp_traced_step *step;
    const emp_kineto      *trace;
    const emp_execution   *execution;
    int64_t               *storage; /* distinct ones, sorted */
    int32_t                storage_count;
    int32_t               *writer; /* [storage] the last node that wrote it; -1 = none */
    int32_t               *last;   /* [event] of an operator: its last node; -1 = none */
    int32_t               *before; /* [event] its last node so far; -1 = none */
} joiner;

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static emp_status index_storages(joiner *j, emp_error *err)
{
    size_t  count = (size_t)j->execution->tensor_count;
    int32_t kept = 0;

    EMP_CHECK(EMP_ALLOC(j->storage, count));
    EMP_CHECK(EMP_ALLOC(j->writer, count));
    for (size_t i = 0; i < count; i++) j->storage[i] = j->execution->tensor[i].storage;
    qsort(j->storage, count, sizeof *j->storage, by_value);
    for (size_t i = 0; i < count; i++) {
        j->writer[i] = -1;
        if (kept == 0 || j->storage[kept - 1] != j->storage[i])
            j->storage[kept++] = j->storage[i];
    }
    j->storage_count = kept;
    return EMP_OK;
}

static int32_t *writer_of(const joiner *j, int64_t storage)
{
    int64_t *found = bsearch(&storage, j->storage, (size_t)j->storage_count,
                             sizeof *j->storage, by_value);

    return &j->writer[found - j->storage];
}

static emp_status add_read(emp_step_tensors *out, int32_t from, int32_t to,
                           emp_error *err)
{
    EMP_CHECK(EMP_GROW(out->read, out->read_count + 1, out->read_capacity));
    out->read[out->read_count++] = (emp_traced_edge){from, to, false};
    return EMP_OK;
}

/* What ran for an operator: it reads the operator's inputs and what ran for it before; the last
 * one writes the outputs. */
static emp_status join(joiner *j, int32_t i, const emp_execution_op *op, emp_error *err)
{
    const emp_execution_tensor *t = &j->execution->tensor[op->first];
    int32_t                     event = j->step->node[i].op;

    j->out->is_joined[i] = true;
    j->out->joined_count++;
    for (int32_t k = 0; k < op->input_count; k++) {
        int32_t writer = *writer_of(j, t[k].storage);
        if (writer >= 0) EMP_CHECK(add_read(j->out, writer, i, err));
    }
    if (j->before[event] >= 0) EMP_CHECK(add_read(j->out, j->before[event], i, err));
    j->before[event] = i;
    if (j->last[event] != i) return EMP_OK;
    for (int32_t k = op->input_count; k < op->input_count + op->output_count; k++) {
        *writer_of(j, t[k].storage) = i;
        if (j->out->bytes[i] < BYTES_MAX) j->out->bytes[i] += t[k].bytes;
    }
    return EMP_OK;
}

static bool is_activity(const emp_traced_node *node)
{
    return node->kind == EMP_TRACED_GPU && node->op >= 0;
}

static emp_status join_all(joiner *j, emp_error *err)
{
    size_t events = (size_t)j->trace->event_count, nodes = (size_t)j->step->node_count;

    EMP_CHECK(EMP_ALLOC(j->out->is_joined, nodes));
    EMP_CHECK(EMP_ALLOC(j->out->bytes, nodes));
    EMP_CHECK(EMP_ALLOC(j->last, events));
    EMP_CHECK(EMP_ALLOC(j->before, events));
    for (size_t i = 0; i < events; i++) j->last[i] = j->before[i] = -1;
    for (int32_t i = 0; i < j->step->node_count; i++)
        if (is_activity(&j->step->node[i])) j->last[j->step->node[i].op] = i;
    for (int32_t i = 0; i < j->step->node_count; i++) {
        if (!is_activity(&j->step->node[i])) continue;
        int64_t                 record = j->trace->event[j->step->node[i].op].record;
        const emp_execution_op *op = emp_execution_find(j->execution, record);
        if (op != NULL) EMP_CHECK(join(j, i, op, err));
    }
    return EMP_OK;
}

emp_status emp_step_tensors_find(emp_step_tensors *out, const emp_traced_step *step,
                                 const emp_kineto *trace, const emp_execution *execution,
                                 emp_error *err)
{
    emp_status st = EMP_OK;
    joiner     j = {.out = out, .step = step, .trace = trace, .execution = execution};

    *out = (emp_step_tensors){0};
    EMP_TRY(index_storages(&j, err));
    EMP_TRY(join_all(&j, err));

cleanup:
    emp_free(j.storage);
    emp_free(j.writer);
    emp_free(j.last);
    emp_free(j.before);
    return st;
}

void emp_step_tensors_clear(emp_step_tensors *tensors)
{
    emp_free(tensors->is_joined);
    emp_free(tensors->bytes);
    emp_free(tensors->read);
    *tensors = (emp_step_tensors){0};
}
