// SPDX-License-Identifier: GPL-3.0-or-later
/* A batch of candidates: whether there is room for one, the method asked for it, and its scores, in parallel, one
 * simulator a thread. */
#include "base/mem.h"
#include "base/work.h"
#include "run/loop_internal.h"

emp_run_end emp_run_end_now(const emp_run_state *run)
{
    const emp_run_params *params = run->params;
    emp_run_end           end = {0};

    if (run->record->evaluations == 0) return end; /* there is to be a placement */
    end.is_stopped = emp_stop_is_set(params->stop);
    end.is_enough =
        run->record->is_feasible && run->record->best_step_time_s <= params->enough_s;
    end.is_late =
        params->budget_s > 0 && emp_clock_now_s() - run->start_s >= params->budget_s;
    if (params->budget_cpu_s > 0 &&
        emp_clock_thread_s() - run->start_cpu_s >= params->budget_cpu_s)
        end.is_late = true;
    return end;
}

/* A run whose budget is used up is whole, whoever wanted it to stop, if its method has learned from
 * all of it. */
int32_t emp_run_room(emp_run_state *run, emp_run_end end, int64_t underway)
{
    emp_record *record = run->record;
    int64_t     left = record->budget_evaluations - record->evaluations - underway;
    int64_t     room = run->batch_limit;

    if (record->budget_evaluations > 0 && left < room) room = left;
    if (end.is_late) room = 0;
    if (end.is_enough && room > 0) {
        emp_run_log_end(run, "gap");
        return 0;
    }
    if (room > 0 && !end.is_stopped) return (int32_t)room;
    emp_run_log_end(run, room == 0 && !run->is_untold ? "budget" : "interrupt");
    return 0;
}

emp_status emp_run_ask(emp_run_state *run, int32_t max, int32_t *count, emp_error *err)
{
    const emp_run_checkpoint *from = &run->params->checkpoint;
    emp_error                 why = {0};

    for (int32_t i = 0; i < max; i++) emp_decision_reset(&run->candidate[i]);
    const emp_status st = emp_method_ask(run->params->method, run->placer, run->candidate,
                                         max, count, &why);
    if (st == EMP_OK || st == EMP_EINTERRUPTED) return st;
    if (st == EMP_EFORMAT && from->is_resumed)
        return EMP_ERROR(st, "%s: %s", from->path, why.msg);
    return EMP_ERROR(st, "%s", why.msg);
}

/* A batch that can be asked for again need not be scored whole, if something was found before. */
static const atomic_int *stop_of(const emp_run_state *run)
{
    const bool has_found = run->record->evaluations > 0;

    if (run->ranks != NULL || !has_found || !run->params->method->asks_again) return NULL;
    return run->params->stop;
}

static emp_status simulate(emp_run_state *run, int32_t count, emp_error *err)
{
    const bool      is_timed = run->params->method->needs_times;
    emp_sim_result *results[EMP_MAX_BATCH];

    for (int32_t i = 0; i < count; i++) results[i] = &run->result[i];
    return emp_sim_team_run_batch(
        run->sims,
        &(emp_sim_team_batch){.decision = run->candidate,
                              .times = is_timed ? run->times : NULL,
                              .stop = stop_of(run)},
        count, results, err);
}

emp_status emp_run_score(emp_run_state *run, int32_t count, emp_error *err)
{
    emp_error  why = {0};
    emp_status st = simulate(run, count, &why);

    if (st == EMP_EINTERRUPTED) return st;
    if (st != EMP_OK)
        return EMP_ERROR(st, "method %s: %s", run->params->method->name, why.msg);
    for (int32_t i = 0; i < count; i++)
        run->score[i] = emp_score_of(run->problem, &run->result[i], &run->times[i]);
    return EMP_OK;
}

void emp_run_forget(emp_score *scores, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        scores[i].result = NULL;
        scores[i].start_ns = scores[i].end_ns = NULL;
    }
}

emp_status emp_run_agree(const emp_run_state *run, emp_status st, emp_error *err)
{
    return run->ranks != NULL ? run->ranks->agree(st, err) : st;
}
