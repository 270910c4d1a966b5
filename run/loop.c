// SPDX-License-Identifier: GPL-3.0-or-later
/* The loop around every method, as search/method.h draws it. */
#include "run/loop.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/work.h"
#include "run/loop_internal.h"
#include "run/sheet/sheet.h"

static void begin_keeping(emp_run_state *run)
{
    if (run->params->keeping == NULL || run->is_keeping) return;
    atomic_fetch_add(run->params->keeping, 1);
    run->is_keeping = true;
}

static void end_keeping(emp_run_state *run)
{
    if (run->is_keeping) atomic_fetch_sub(run->params->keeping, 1);
    run->is_keeping = false;
}

/* ---- the loop ---- */

/* Metrics belong to a tell. */
static emp_status log_batch(emp_run_state *run, bool is_told, emp_error *err)
{
    const emp_method_metric *metric = NULL;
    int32_t       best = emp_run_find_best(run), count = emp_run_metrics(run, &metric);
    emp_candidate candidate = {0};
    double        value[EMP_MAX_METRICS];

    for (int32_t i = 0; i < count; i++) value[i] = is_told ? metric[i].value : NAN;
    if (best >= 0) candidate = (emp_candidate){&run->candidate[best], &run->result[best]};
    return emp_run_log(run, best >= 0 ? &candidate : NULL, value, err);
}

static emp_status end_without_batch(emp_run_state *run)
{
    run->is_untold = true;
    run->count = 0;
    return EMP_OK;
}

/* A run that can be resumed asks for its last batch once more. For other methods the batch counts,
 * and nothing is learned from it. */
static emp_status end_with_batch(emp_run_state *run, emp_error *err)
{
    if (run->params->checkpoint.path != NULL) return end_without_batch(run);
    run->is_untold = true;
    return log_batch(run, false, err);
}

/* EMP_EINTERRUPTED: in the middle of it; nothing is logged. */
static emp_status make_batch(emp_run_state *run, int32_t max, bool *is_scored,
                             emp_error *err)
{
    const emp_method *method = run->params->method;

    EMP_CHECK(emp_run_ask(run, max, &run->count, err));
    if (run->count == 0) return EMP_OK;
    EMP_CHECK(emp_run_score(run, run->count, err));
    *is_scored = true;
    for (int32_t i = 0; run->params->runners_up != NULL && i < run->count; i++)
        EMP_CHECK(emp_runners_up_note(run->params->runners_up, &run->candidate[i],
                                      &run->result[i], err));
    EMP_CHECK(emp_method_tell(method, run->placer, run->score, run->count, err));
    return log_batch(run, true, err);
}

emp_status emp_run_batch(emp_run_state *run, int32_t max, emp_error *err)
{
    emp_error        why = {0};
    bool             is_scored = false;
    const emp_status st = make_batch(run, max, &is_scored, &why);

    if (st == EMP_EINTERRUPTED && emp_stop_is_set(run->params->stop))
        return is_scored ? end_with_batch(run, err) : end_without_batch(run);
    if (st != EMP_OK && err != NULL && err->status == EMP_OK) *err = why;
    return st;
}

/* Results from before the failure of a method from outside stay. */
static emp_status end_failed(emp_run_state *run, emp_status st)
{
    if (run->params->method->is_outside && run->record->evaluations > 0)
        emp_run_log_end(run, "failure");
    return st;
}

/* It has nothing more to propose, or no more time. */
static const char *why_nothing_came(const emp_run_state *run)
{
    if (run->is_untold) return "interrupt";
    return emp_run_end_now(run).is_late ? "budget" : "method";
}

static emp_status run_loop(emp_run_state *run, emp_error *err)
{
    int32_t room;

    while ((room = emp_run_room(run, emp_run_end_now(run), 0)) > 0) {
        const emp_status st = emp_run_batch(run, room, err);
        if (st != EMP_OK) return end_failed(run, st);
        if (run->count == 0) {
            emp_run_log_end(run, why_nothing_came(run));
            break;
        }
        begin_keeping(run);
        EMP_CHECK(emp_run_checkpoint_save_if_due(run, err));
        emp_run_report(run);
    }
    return EMP_OK;
}

/* ---- before and after it ---- */

static emp_status check_params(const emp_run_params *params, emp_error *err)
{
    const emp_method *method = params->method;

    if (params->budget_evaluations <= 0 && !(params->budget_s > 0) &&
        !(params->budget_cpu_s > 0) && method->uses_budget) {
        return EMP_ERROR(EMP_EINVAL, "method %s needs a budget in evaluations or seconds",
                         method->name);
    }
    if (params->placer.preset != NULL && method->presets == NULL) {
        return EMP_ERROR(EMP_EINVAL, "method %s has no presets, not \"%s\"", method->name,
                         params->placer.preset);
    }
    if (params->weights != NULL && !emp_method_has_weights(method))
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "method %s has no weights to keep; \"emplace methods\" says "
                         "which methods do",
                         method->name);
    if (params->budget_cpu_s > 0 && (params->placer.threads > 1 || params->ranks != NULL))
        return EMP_ERROR(
            EMP_EINVAL, "a budget in CPU seconds is one of a single thread; this run has "
                        "several threads or ranks");
    if (params->budget_cpu_s > 0 && method->is_outside)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "method %s runs outside this process, whose CPU seconds are "
                         "counted; give it evaluations or seconds",
                         method->name);
    if (params->budget_cpu_s > 0 && params->checkpoint.path != NULL)
        return EMP_ERROR(EMP_EINVAL,
                         "a run with a budget in CPU seconds has no checkpoint");
    return emp_run_check_ranks(params, err);
}

static emp_status prepare_record(emp_record *record, const emp_problem *problem,
                                 int32_t decides, emp_error *err)
{
    const emp_machine *machine = problem->machine;

    record->op_name = problem->graph->name;
    record->machine_text = machine->text;
    record->device_count = machine->device_count;
    for (int32_t i = 0; i < record->device_count; i++) {
        snprintf(record->device_name[i], sizeof record->device_name[i], "%s",
                 machine->device[i].name);
    }
    return emp_decision_init(&record->decision, problem->graph->op_count, decides, err);
}

static emp_status prepare_times(emp_run_state *run, emp_error *err)
{
    const size_t ops = (size_t)run->problem->graph->op_count;

    if (!run->params->method->needs_times) return EMP_OK;
    for (int32_t i = 0; i < run->batch_limit; i++) {
        run->times[i].start_ns = EMP_ADD_ARRAY(&run->arrays, emp_time_ns, ops);
        run->times[i].end_ns = EMP_ADD_ARRAY(&run->arrays, emp_time_ns, ops);
    }
    if (run->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "times of %zu ops in %d candidates", ops,
                         run->batch_limit);
    return EMP_OK;
}

/* A record with a part of the options could not be distinguished from another run's. */
static emp_status check_options(const char *options, emp_error *err)
{
    const size_t length = options == NULL ? 0 : strlen(options);

    if (length < EMP_RECORD_TEXT_BYTES) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "the options have %zu characters, and a record has room for %d; "
                     "leave out options that have their defaults",
                     length, EMP_RECORD_TEXT_BYTES - 1);
}

emp_status emp_run_prepare(emp_run_state *run, emp_error *err)
{
    emp_method_params placer = run->params->placer;

    placer.budget_evaluations = run->params->budget_evaluations;
    placer.ranks = run->ranks != NULL ? run->ranks->count : 1;
    placer.rank = run->ranks != NULL ? run->ranks->rank : 0;
    if (run->ranks == NULL) placer.stop = run->params->stop; /* else all end together */
    if (placer.rank == 0) placer.warn = run->params->warn;
    placer.warn_context = run->params->context;
    if (run->params->budget_s > 0)
        placer.deadline_s = run->start_s + run->params->budget_s;
    run->batch_limit =
        emp_method_batch_limit(run->params->method, run->problem->graph->op_count);
    run->threads = placer.threads < 1 ? 1 : placer.threads;
    if (run->threads > EMP_MAX_BATCH) run->threads = EMP_MAX_BATCH;
    EMP_CHECK(check_options(placer.options, err));
    EMP_CHECK(prepare_record(run->record, run->problem, placer.decides, err));
    for (int32_t i = 0; i < run->batch_limit; i++)
        EMP_CHECK(emp_decision_init(&run->candidate[i], run->problem->graph->op_count,
                                    placer.decides, err));
    EMP_CHECK(prepare_times(run, err));
    /* what a method needs to begin is gone when simulators come */
    EMP_CHECK(
        emp_method_create(&run->placer, run->params->method, run->problem, &placer, err));
    EMP_CHECK(emp_sim_team_create(&run->sims, run->problem, run->threads, err));
    if (run->params->weights == NULL) return EMP_OK;
    return emp_method_check_weights(run->params->method, run->placer, err);
}

static emp_status finish_weights(const emp_run_state *run, emp_error *err)
{
    const emp_method_params *placer = &run->params->placer;
    emp_weights             *weights = run->params->weights;

    if (weights == NULL) return EMP_OK;
    EMP_CHECK(emp_method_take_weights(weights, run->params->method, run->placer, err));
    emp_weights_describe(weights, placer->preset, placer->options, placer->weights,
                         run->record->evaluations);
    emp_weights_add_task(weights, run->problem->workload, run->problem->machine->name);
    return EMP_OK;
}

/* Fills in the facts that are known only at the end of a run. The schedule of its best placement has a fingerprint,
 * which a search goes without. */
static emp_status finish(emp_run_state *run, emp_error *err)
{
    emp_record        *record = run->record;
    const emp_decision found = emp_decision_view(&record->decision);
    emp_sim_result     best;

    if (record->evaluations == 0 && run->is_untold)
        return EMP_ERROR(EMP_EINTERRUPTED, "interrupted in the first batch");
    if (record->evaluations == 0) {
        return EMP_ERROR(EMP_EINFEASIBLE, "method %s proposed no placement",
                         run->params->method->name);
    }
    EMP_CHECK(
        emp_sim_trace_decision(emp_sim_team_first(run->sims), &found, NULL, &best, err));
    record->fingerprint = best.fingerprint;
    if (run->params->best != NULL) *run->params->best = best;
    record->median_s =
        emp_summary_of(record->feasible_s, (size_t)record->feasible_count).median;
    emp_free(record->feasible_s);
    record->feasible_s = NULL;
    return finish_weights(run, err);
}

void emp_run_init(emp_run_state *run, emp_record *record, const emp_problem *problem,
                  const emp_run_params *params)
{
    *run = (emp_run_state){.problem = problem,
                           .params = params,
                           .ranks = params->ranks,
                           .is_first = params->ranks == NULL || params->ranks->rank == 0,
                           .record = record,
                           .start_s = emp_clock_now_s(),
                           .start_cpu_s = NAN};
    emp_run_describe(record, problem, params);
    if (params->placer.threads <= 1 && params->ranks == NULL)
        run->start_cpu_s = emp_clock_thread_s();
}

void emp_run_clear(emp_run_state *run)
{
    emp_method_destroy(run->params->method, run->placer);
    emp_sim_team_destroy(run->sims);
    for (int32_t i = 0; i < EMP_MAX_BATCH; i++) emp_decision_clear(&run->candidate[i]);
    emp_arrays_clear(&run->arrays);
}

emp_status emp_run(emp_record *record, const emp_problem *problem,
                   const emp_run_params *params, emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_run_state *run = EMP_NEW(emp_run_state);

    if (run == NULL) {
        emp_run_describe(record, problem, params);
        return EMP_ERROR(EMP_ENOMEM, "state of a run");
    }
    emp_run_init(run, record, problem, params);
    EMP_TRY(emp_run_agree(run, check_params(params, err), err));
    EMP_TRY(emp_run_agree(run, emp_run_prepare(run, err), err));
    EMP_TRY(emp_run_checkpoint_begin(run, err));
    if (params->checkpoint.path != NULL) begin_keeping(run);
    st = run->ranks == NULL ? run_loop(run, err) : emp_run_shared(run, err);
    if (st != EMP_OK && strcmp(record->stopped_by, "failure") == 0)
        (void)finish(run, NULL);
    EMP_TRY(st);
    if (strcmp(record->stopped_by, "interrupt") == 0)
        EMP_TRY(emp_run_checkpoint_save_last(run, err));
    if (run->is_first || !params->is_async) EMP_TRY(finish(run, err));
    begin_keeping(run);

cleanup:
    emp_run_clear(run); /* which takes its time */
    if (st != EMP_OK) end_keeping(run);
    emp_free(run);
    return st;
}

/* ---- the best distinct placements ---- */

enum { ALIKE_PERCENT = 1 };

/* True if \a a is better than \a b. */
static bool is_better(const emp_runner_up *a, const emp_runner_up *b)
{
    if (a->is_feasible != b->is_feasible) return a->is_feasible;
    return a->step_time_ns < b->step_time_ns;
}

static bool is_alike(const emp_runner_up *a, const emp_runner_up *b)
{
    int64_t different = 0;

    if (a->is_feasible == b->is_feasible && a->step_time_ns == b->step_time_ns)
        return true;
    for (emp_op_id op = 0; op < a->decision.op_count; op++)
        different += a->decision.device_of_op[op] != b->decision.device_of_op[op];
    return 100 * different < (int64_t)ALIKE_PERCENT * a->decision.op_count;
}

static void remove_place(emp_runners_up *r, int32_t place)
{
    emp_decision_clear(&r->place[place].decision);
    for (r->count--; place < r->count; place++) r->place[place] = r->place[place + 1];
    r->place[r->count] = (emp_runner_up){0};
}

/* The place of a newcomer; -1 = it gets none. */
static int32_t find_place(const emp_runners_up *r, const emp_runner_up *newcomer)
{
    int32_t place = 0;

    while (place < r->count && !is_better(newcomer, &r->place[place])) place++;
    if (place == r->limit) return -1;
    for (int32_t i = 0; i < place; i++)
        if (is_alike(&r->place[i], newcomer)) return -1;
    return place;
}

emp_status emp_runners_up_note(emp_runners_up           *runners_up,
                               const emp_owned_decision *decision,
                               const emp_sim_result *result, emp_error *err)
{
    emp_runner_up newcomer = {.decision = *decision,
                              .step_time_ns = result->step_time_ns,
                              .is_feasible = result->is_feasible};
    int32_t       place = find_place(runners_up, &newcomer);

    if (place < 0) return EMP_OK;
    emp_status st = emp_decision_init(&newcomer.decision, decision->op_count,
                                      emp_decision_decides(decision), err);
    if (st != EMP_OK) {
        emp_decision_clear(&newcomer.decision);
        return st;
    }
    emp_decision_copy(&newcomer.decision, decision);
    for (int32_t i = runners_up->count - 1; i >= place; i--)
        if (is_alike(&runners_up->place[i], &newcomer)) remove_place(runners_up, i);
    if (runners_up->count == runners_up->limit)
        remove_place(runners_up, runners_up->limit - 1);
    for (int32_t i = runners_up->count++; i > place; i--)
        runners_up->place[i] = runners_up->place[i - 1];
    runners_up->place[place] = newcomer;
    return EMP_OK;
}

void emp_runners_up_clear(emp_runners_up *runners_up)
{
    while (runners_up->count > 0) remove_place(runners_up, runners_up->count - 1);
}

/* ---- a batch of candidates: room for it, the method's proposals, their scores, one simulator a thread ---- */

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
    int64_t     room = run->ranks != NULL && !run->params->is_async
                           ? emp_run_together_limit(run->ranks, run->batch_limit)
                           : run->batch_limit;

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
