// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/instances/instance.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"

int64_t emp_instance_ns(double ms) { return llround(ms * 1e6); }

int64_t emp_instance_bytes(double bytes) { return llround(bytes); }

emp_status emp_instance_add(emp_graph_builder *b, const char *name, bool is_backward,
                            const char *type, const emp_stated_op *stated, emp_op_id *op,
                            emp_error *err)
{
    char full[EMP_INSTANCE_NAME_BYTES];

    int length =
        snprintf(full, sizeof full, "%s%s", is_backward ? "gradients/" : "", name);
    if (length >= (int)sizeof full)
        return EMP_ERROR(EMP_EFORMAT, "\"%.80s...\" is too long a name of a node", name);
    emp_status st = emp_graph_builder_state(b, full, type, stated, op, err);
    return st == EMP_EINVAL ? EMP_EFORMAT : st;
}

emp_status emp_instance_set_targets(emp_graph *graph, emp_error *err)
{
    emp_status st = EMP_OK;
    bool      *is_target = EMP_NEW_ARRAY(bool, (size_t)graph->op_count);

    if (is_target == NULL) EMP_FAIL(EMP_ENOMEM, "marks of %d ops", graph->op_count);
    for (emp_op_id op = 0; op < graph->op_count; op++) {
        int32_t first = graph->output_offset[op], end = graph->output_offset[op + 1];
        is_target[op] = graph->consumer_offset[first] == graph->consumer_offset[end];
    }
    emp_graph_set_targets(graph, is_target);

cleanup:
    emp_free(is_target);
    return st;
}
