// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/features/rows.h"

/* More than one device of the machine may run the class. */
static bool has_choice(const emp_problem *problem, int32_t colocation_class)
{
    uint32_t kinds = problem->kinds_of_class[colocation_class];
    int32_t  choices = 0;

    if (kinds & EMP_KIND_CPU) {
        choices += emp_machine_count(problem->machine, EMP_DEVICE_CPU);
    }
    if (kinds & EMP_KIND_GPU) {
        choices += emp_machine_count(problem->machine, EMP_DEVICE_GPU);
    }
    return choices > 1;
}

int32_t emp_rows_number(const emp_problem *problem, int32_t *row_of_class,
                        emp_op_id *op_of_row)
{
    const emp_graph *g = problem->graph;
    int32_t          count = 0;

    for (int32_t c = 0; c < g->class_count; c++) row_of_class[c] = -1;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t c = g->op[op].colocation_class;
        if (g->op[op].is_folded || row_of_class[c] >= 0 || !has_choice(problem, c))
            continue;
        if (op_of_row != NULL) op_of_row[count] = op;
        row_of_class[c] = count++;
    }
    return count;
}
