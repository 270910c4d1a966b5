// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/traces/execution.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/import/notes/readers.h"

enum { TENSOR_PARTS = 6 };

static const int64_t BYTES_MAX = INT64_C(1000000000000);

bool emp_execution_is(const emp_json *root)
{
    return emp_json_string(emp_json_get(root, "schema")) != NULL &&
           emp_json_is(emp_json_get(root, "nodes"), EMP_JSON_ARRAY);
}

/* ---- tensors ---- */

static bool is_tensor(const emp_json *value)
{
    const emp_json *part = emp_json_first(value);

    if (!emp_json_is(value, EMP_JSON_ARRAY) || emp_json_count(value) < TENSOR_PARTS)
        return false;
    for (int32_t i = 0; i < TENSOR_PARTS - 1; i++, part = emp_json_next(part))
        if (!emp_json_is(part, EMP_JSON_INTEGER)) return false;
    return emp_json_is(part, EMP_JSON_STRING);
}

static emp_status add_tensor(emp_execution *trace, const emp_json *value, emp_error *err)
{
    int64_t         part[TENSOR_PARTS - 1];
    const emp_json *v = emp_json_first(value);

    for (int32_t i = 0; i < TENSOR_PARTS - 1; i++, v = emp_json_next(v))
        part[i] = emp_json_integer(v);
    if (part[3] < 0 || part[4] < 0 || (part[4] > 0 && part[3] > BYTES_MAX / part[4]))
        return EMP_ERROR(EMP_EFORMAT,
                         "tensor %" PRId64 " has %" PRId64 " elements of %" PRId64
                         " bytes, of at most %" PRId64 " bytes in all",
                         part[0], part[3], part[4], BYTES_MAX);
    EMP_CHECK(EMP_GROW(trace->tensor, trace->tensor_count + 1, trace->tensor_capacity));
    trace->tensor[trace->tensor_count++] =
        (emp_execution_tensor){part[1], part[3] * part[4]};
    return EMP_OK;
}

/* The tensors among values, and those in lists among them. */
static emp_status add_tensors(emp_execution *trace, const emp_json *values,
                              emp_error *err)
{
    for (const emp_json *v = emp_json_first(values); v != NULL; v = emp_json_next(v)) {
        if (is_tensor(v)) {
            EMP_CHECK(add_tensor(trace, v, err));
            continue;
        }
        if (!emp_json_is(v, EMP_JSON_ARRAY)) continue;
        for (const emp_json *item = emp_json_first(v); item != NULL;
             item = emp_json_next(item))
            if (is_tensor(item)) EMP_CHECK(add_tensor(trace, item, err));
    }
    return EMP_OK;
}

/* ---- operators ---- */

/* "inputs" or "outputs" of either schema. */
static const emp_json *values_of(const emp_json *node, const char *key)
{
    const emp_json *list = emp_json_get(node, key);

    return emp_json_is(list, EMP_JSON_OBJECT) ? emp_json_get(list, "values") : list;
}

static int64_t record_of(const emp_json *node)
{
    const emp_json *record = emp_json_get(node, "rf_id");
    const emp_json *attrs = emp_json_get(node, "attrs");

    for (const emp_json *a = emp_json_first(attrs); record == NULL && a != NULL;
         a = emp_json_next(a)) {
        const char *name = emp_json_string(emp_json_get(a, "name"));
        if (name != NULL && strcmp(name, "rf_id") == 0) record = emp_json_get(a, "value");
    }
    return emp_json_is(record, EMP_JSON_INTEGER) ? emp_json_integer(record) : -1;
}

static emp_status read_node(emp_execution *trace, const emp_json *node, emp_error *err)
{
    emp_execution_op *op = &trace->op[trace->op_count];

    *op = (emp_execution_op){.record = record_of(node), .first = trace->tensor_count};
    if (op->record < 0) return EMP_OK;
    EMP_CHECK(add_tensors(trace, values_of(node, "inputs"), err));
    op->input_count = trace->tensor_count - op->first;
    EMP_CHECK(add_tensors(trace, values_of(node, "outputs"), err));
    op->output_count = trace->tensor_count - op->first - op->input_count;
    trace->op_count++;
    return EMP_OK;
}

static int by_record(const void *a, const void *b)
{
    const emp_execution_op *x = (const emp_execution_op *)a;
    const emp_execution_op *y = (const emp_execution_op *)b;

    if (x->record != y->record) return x->record < y->record ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

emp_status emp_execution_read(emp_execution *out, const emp_json *root, emp_error *err)
{
    const emp_json *nodes = emp_json_get(root, "nodes");
    int32_t         i = 0;

    *out = (emp_execution){0};
    EMP_CHECK(EMP_ALLOC(out->op, (size_t)emp_json_count(nodes)));
    for (const emp_json *v = emp_json_first(nodes); v != NULL;
         v = emp_json_next(v), i++) {
        emp_error  reason = {0};
        emp_status st = read_node(out, v, &reason);
        if (st != EMP_OK) return EMP_ERROR(st, "nodes[%d]: %s", i, reason.msg);
    }
    qsort(out->op, (size_t)out->op_count, sizeof *out->op, by_record);
    return EMP_OK;
}

void emp_execution_clear(emp_execution *trace)
{
    emp_free(trace->op);
    emp_free(trace->tensor);
    *trace = (emp_execution){0};
}

const emp_execution_op *emp_execution_find(const emp_execution *trace, int64_t record)
{
    int32_t low = 0, high = trace->op_count;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (trace->op[middle].record < record)
            low = middle + 1;
        else
            high = middle;
    }
    return low < trace->op_count && trace->op[low].record == record ? &trace->op[low]
                                                                    : NULL;
}
