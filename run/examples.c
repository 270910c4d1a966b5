// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/examples.h"

#include "base/mem.h"

static emp_status make_one(emp_examples *e, const emp_problem *problem,
                           const emp_run_params *params, emp_error *err)
{
    emp_record *record = &e->record[e->count++];

    EMP_CHECK(emp_run(record, problem, params, err));
    if (params->stop != NULL && *params->stop != 0)
        return EMP_ERROR(EMP_EINTERRUPTED, "interrupted while %s looked for examples",
                         params->method->name);
    if (!record->is_feasible)
        return EMP_ERROR(EMP_EINFEASIBLE,
                         "%s has found nothing for %s on %s that fits in memory; imitate "
                         "another method",
                         params->method->name, problem->workload, problem->machine->name);
    e->proposal[e->count - 1] =
        (emp_proposal){record->device_of_op, record->level_of_op, record->leader_of_op};
    return EMP_OK;
}

emp_status emp_examples_make(emp_examples *examples, const emp_problem *const *problem,
                             int32_t count, const emp_run_params *params, emp_error *err)
{
    EMP_CHECK(EMP_ALLOC(examples->record, (size_t)count));
    EMP_CHECK(EMP_ALLOC(examples->proposal, (size_t)count));
    for (int32_t i = 0; i < count; i++)
        EMP_CHECK(make_one(examples, problem[i], params, err));
    return EMP_OK;
}

void emp_examples_clear(emp_examples *examples)
{
    for (int32_t i = 0; i < examples->count; i++) emp_record_clear(&examples->record[i]);
    emp_free(examples->record);
    emp_free(examples->proposal);
    *examples = (emp_examples){0};
}
