// SPDX-License-Identifier: GPL-3.0-or-later
/* A parameter server and its controllers (Mirhoseini et al., ICML 2017, ICLR 2018). Rank 0
 * holds the parameters and makes a step from each gradient as it comes; every other rank
 * has a baseline of its own and works with parameters that may be some steps old.
 *
 *     server                          controller
 *     order, parameters      ->
 *                                     proposes, scores, judges
 *                            <-       report, its best placement, gradient
 *
 * until an order allows no candidate. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "run/loop_internal.h"

enum { SERVER = 0 };

/** What a controller says of a batch. */
typedef struct {
    int32_t        count, best;
    emp_score      score[EMP_MAX_BATCH];
    emp_sim_result result; /**< of the best */
    double         metric[EMP_MAX_METRICS];
} report;

typedef int32_t emp_list(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);

static emp_status send_arrays(const emp_run_state *run, int32_t to, emp_list *list,
                              emp_error *err)
{
    emp_named_array array[EMP_MAX_NAMED_ARRAYS];
    int32_t         count = list(run->placer, array);

    for (int32_t i = 0; i < count; i++) {
        EMP_CHECK(run->ranks->send(to, array[i].values,
                                   array[i].count * emp_array_type_bytes(array[i].type),
                                   err));
    }
    return EMP_OK;
}

static emp_status receive_arrays(const emp_run_state *run, int32_t from, emp_list *list,
                                 emp_error *err)
{
    emp_named_array array[EMP_MAX_NAMED_ARRAYS];
    int32_t         count = list(run->placer, array);

    for (int32_t i = 0; i < count; i++) {
        EMP_CHECK(run->ranks->receive(
            &from, array[i].values, array[i].count * emp_array_type_bytes(array[i].type),
            err));
    }
    return EMP_OK;
}

static size_t placement_bytes(const emp_run_state *run)
{
    return (size_t)run->record->decision.op_count * sizeof(emp_device_id);
}

/* ---- controller ---- */

static int32_t best_of(const emp_score *score, int32_t count)
{
    int32_t best = 0;

    for (int32_t i = 1; i < count; i++) {
        if (emp_score_is_better(&score[i], &score[best])) best = i;
    }
    return best;
}

static void fill_report(const emp_run_state *run, int32_t count, report *r)
{
    const emp_method_metric *metric = NULL;
    int32_t                  metrics = emp_run_metrics(run, &metric);

    memset(r, 0, sizeof *r);
    r->count = count;
    r->best = best_of(run->score, count);
    memcpy(r->score, run->score, (size_t)count * sizeof *run->score);
    emp_run_forget(r->score, count);
    r->result = run->result[r->best];
    for (int32_t i = 0; i < metrics; i++) r->metric[i] = metric[i].value;
}

emp_status emp_run_work(emp_run_state *run, emp_error *err)
{
    const emp_method         *method = run->params->method;
    const emp_method_sharing *sharing = method->learning->sharing;
    const emp_ranks          *ranks = run->ranks;
    int32_t                   server = SERVER, room, count;
    report                    r;

    for (;;) {
        EMP_CHECK(ranks->receive(&server, &room, sizeof room, err));
        if (room == 0) break;
        EMP_CHECK(receive_arrays(run, SERVER, sharing->list_values, err));
        EMP_CHECK(emp_run_ask(run, room, &count, err));
        EMP_CHECK(emp_run_score(run, count, err));
        EMP_CHECK(sharing->backward(run->placer, run->score, count, 0, count, err));
        fill_report(run, count, &r);
        EMP_CHECK(ranks->send(SERVER, &r, sizeof r, err));
        EMP_CHECK(ranks->send(SERVER, run->candidate[r.best].device_of_op,
                              placement_bytes(run), err));
        EMP_CHECK(send_arrays(run, SERVER, sharing->list_gradient, err));
    }
    return EMP_OK;
}

/* ---- server ---- */

/** What the server knows of its controllers. */
typedef struct {
    int32_t  batch;    /**< candidates that a controller proposes if it may */
    int32_t  working;  /**< controllers that have an order */
    int64_t  underway; /**< candidates of these orders */
    int32_t *ordered;  /**< [rank] candidates */
} crew;

static emp_status give_order(emp_run_state *run, crew *c, int32_t to, emp_error *err)
{
    int32_t room = emp_run_room(run, emp_run_end_now(run), c->underway);

    if (room > c->batch) room = c->batch;
    EMP_CHECK(run->ranks->send(to, &room, sizeof room, err));
    c->ordered[to] = room;
    if (room == 0) return EMP_OK;
    EMP_CHECK(
        send_arrays(run, to, run->params->method->learning->sharing->list_values, err));
    c->underway += room;
    c->working++;
    return EMP_OK;
}

/* What only the step knows, the server's own state knows. */
static emp_status log_report(emp_run_state *run, report *r, emp_error *err)
{
    const emp_candidate      best = {&run->candidate[0], &r->result};
    const emp_method_metric *metric = NULL;
    int32_t                  count = emp_run_metrics(run, &metric);

    for (int32_t i = 0; i < count; i++) {
        if (isnan(r->metric[i])) r->metric[i] = metric[i].value;
    }
    return emp_run_log(run, emp_run_find_best(run) >= 0 ? &best : NULL, r->metric, err);
}

/* Waits for a report, and steps. */
static emp_status take_report(emp_run_state *run, crew *c, int32_t *from, emp_error *err)
{
    const emp_method_sharing *sharing = run->params->method->learning->sharing;
    report                    r;

    *from = EMP_ANY_RANK;
    EMP_CHECK(run->ranks->receive(from, &r, sizeof r, err));
    EMP_CHECK(run->ranks->receive(from, run->candidate[0].device_of_op,
                                  placement_bytes(run), err));
    EMP_CHECK(receive_arrays(run, *from, sharing->list_gradient, err));
    c->underway -= c->ordered[*from];
    c->working--;
    run->count = r.count;
    memcpy(run->score, r.score, (size_t)r.count * sizeof *r.score);
    run->is_between_updates = false;
    sharing->step(run->placer);
    EMP_CHECK(log_report(run, &r, err));
    run->is_between_updates = true;
    return EMP_OK;
}

emp_status emp_run_serve(emp_run_state *run, emp_error *err)
{
    emp_status st = EMP_OK;
    crew       c = {.ordered = EMP_NEW_ARRAY(int32_t, (size_t)run->ranks->count)};
    int32_t    from;

    if (c.ordered == NULL) EMP_FAIL(EMP_ENOMEM, "%d controllers", run->ranks->count);
    /* Its own proposal is not scored: it says how large one is. */
    EMP_TRY(emp_run_ask(run, EMP_MAX_BATCH, &c.batch, err));
    for (int32_t to = SERVER + 1; to < run->ranks->count; to++)
        EMP_TRY(give_order(run, &c, to, err));
    while (c.working > 0) {
        EMP_TRY(take_report(run, &c, &from, err));
        EMP_TRY(emp_run_checkpoint_save_if_due(run, err));
        emp_run_report(run);
        EMP_TRY(give_order(run, &c, from, err));
    }

cleanup:
    emp_free(c.ordered);
    return st;
}
