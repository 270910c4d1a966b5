// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/problem/join_classes.h"

#include "base/disjoint.h"
#include "base/mem.h"

/* Numbers classes by their first ops, as on a new graph. */
static void renumber(emp_graph *g, int32_t *parent, int32_t *number_of_root)
{
    int32_t count = 0;

    for (int32_t c = 0; c < g->class_count; c++) number_of_root[c] = -1;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t root = emp_disjoint_root(parent, g->op[op].colocation_class);
        if (number_of_root[root] < 0) number_of_root[root] = count++;
        g->op[op].colocation_class = number_of_root[root];
    }
    g->class_count = count;
}

emp_status emp_graph_join_classes(emp_graph *g, const int32_t *set_of_op, emp_error *err)
{
    emp_status   st = EMP_OK;
    const size_t classes = (size_t)g->class_count, ops = (size_t)g->op_count;
    int32_t     *parent = NULL, *number_of_root = NULL, *class_of_set = NULL;

    EMP_TRY(EMP_ALLOC(parent, classes));
    EMP_TRY(EMP_ALLOC(number_of_root, classes));
    EMP_TRY(EMP_ALLOC(class_of_set, ops));
    emp_disjoint_init(parent, g->class_count);
    for (size_t s = 0; s < ops; s++) class_of_set[s] = -1;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t set = set_of_op[op], its_class = g->op[op].colocation_class;
        if (set < 0) continue;
        if (class_of_set[set] < 0) class_of_set[set] = its_class;
        emp_disjoint_join(parent, class_of_set[set], its_class);
    }
    renumber(g, parent, number_of_root);

cleanup:
    emp_free(parent);
    emp_free(number_of_root);
    emp_free(class_of_set);
    return st;
}
