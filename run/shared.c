// SPDX-License-Identifier: GPL-3.0-or-later
/* A run that several ranks share: which of them runs which loop. */
#include "run/loop_internal.h"

emp_status emp_run_check_ranks(const emp_run_params *params, emp_error *err)
{
    if (params->is_async && params->ranks == NULL) {
        return EMP_ERROR(
            EMP_EINVAL,
            "asynchronous training needs a parameter server and controllers, at least "
            "2 ranks: mpirun -n 4 emplace train ... --async");
    }
    if (params->ranks == NULL) return EMP_OK;
    if (params->method->learning == NULL || params->method->learning->sharing == NULL) {
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "method %s does not share a run with other ranks; start it without mpirun",
            params->method->name);
    }
    if (params->ranks->count > EMP_MAX_TOLD) {
        return EMP_ERROR(EMP_EUNSUPPORTED, "%d ranks, want at most %d",
                         params->ranks->count, EMP_MAX_TOLD);
    }
    return EMP_OK;
}

emp_status emp_run_agree(const emp_run_state *run, emp_status st, emp_error *err)
{
    return run->ranks != NULL ? run->ranks->agree(st, err) : st;
}

/* Saves what was learned before the others went; \a err already says that they did. */
static emp_status save_alone(emp_run_state *run, emp_error *err)
{
    emp_error  unsaved = {0};
    emp_status st = emp_run_checkpoint_save(run, &unsaved);

    if (st == EMP_OK) return EMP_EEXTERNAL;
    if (err == NULL) return st;
    const emp_error gone = *err;
    *err = (emp_error){0};
    return EMP_ERROR(st, "%s; what was learned since the last checkpoint is lost: %s",
                     gone.msg, unsaved.msg);
}

emp_status emp_run_shared(emp_run_state *run, emp_error *err)
{
    emp_status st;

    run->is_between_updates = true;
    if (!run->params->is_async)
        st = emp_run_together(run, err);
    else
        st = run->is_first ? emp_run_serve(run, err) : emp_run_work(run, err);
    return st == EMP_EEXTERNAL && run->is_between_updates ? save_alone(run, err) : st;
}
