// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/sim/cost/one_op.h"

#undef NDEBUG
#include <assert.h>

#include "sim/graph/graph_builder.h"

emp_graph *one_op_graph(const emp_op_cost *cost)
{
    emp_graph_builder *b = NULL;
    emp_graph         *g = NULL;
    emp_op_attrs       attrs = {0};
    emp_op_id          op;

    emp_status st = emp_graph_builder_create(&b, NULL);
    if (st == EMP_OK)
        st = emp_graph_builder_add(b, "op", "NoOp", &attrs, NULL, 0, NULL, 0, &op, NULL);
    if (st == EMP_OK) st = emp_graph_builder_finish(b, &g, NULL);
    assert(st == EMP_OK);
    emp_graph_builder_destroy(b);
    *emp_graph_own_cost(g, op) = *cost;
    g->op[op].is_folded = false;
    return g;
}
