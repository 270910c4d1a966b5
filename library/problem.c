// SPDX-License-Identifier: GPL-3.0-or-later
/* Queries of <emplace/problem.h>. */
#include "sim/problem/problem.h"

static bool has_op(const emp_problem *problem, emp_op_id op)
{
    return problem != NULL && op >= 0 && op < problem->graph->op_count;
}

static bool has_device(const emp_problem *problem, emp_device_id device)
{
    return device >= 0 && device < problem->machine->device_count;
}

bool emp_problem_allows(const emp_problem *problem, emp_op_id op, emp_device_id device)
{
    if (!has_op(problem, op) || !has_device(problem, device)) return false;
    const int32_t class = problem->class_of_op[op];
    if (class < 0) return true;
    if (problem->sequence != NULL && problem->sequence->stand_in[device] != device)
        return false;
    return problem->kinds_of_class[class] >> problem->machine->device[device].kind & 1u;
}

int32_t emp_problem_class_count(const emp_problem *problem)
{
    return problem != NULL ? problem->graph->class_count : 0;
}

int32_t emp_problem_class_of_op(const emp_problem *problem, emp_op_id op)
{
    return has_op(problem, op) ? problem->class_of_op[op] : -1;
}
