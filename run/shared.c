// SPDX-License-Identifier: GPL-3.0-or-later
/* A run that several ranks share: which of them runs which loop. */
#include <math.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "run/loop_internal.h"

static emp_status emp_run_work(emp_run_state *run, emp_error *err);
static emp_status emp_run_serve(emp_run_state *run, emp_error *err);
static emp_status emp_run_together(emp_run_state *run, emp_error *err);

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
enum { SERVER = 0 };

/** A controller's report on a batch. */
typedef struct {
    int32_t        count, best;
    emp_score      score[EMP_MAX_BATCH];
    emp_sim_result result; /**< of the best */
    double         metric[EMP_MAX_METRICS];
} report;

typedef int32_t emp_list(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);

/* An emp_list of an emp_owned_decision: all that is decided. */
static int32_t list_decision(void *decision, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    const emp_owned_decision *d = decision;
    const size_t              ops = (size_t)d->op_count;
    int32_t                   count = 0;

    arrays[count++] = (emp_named_array){"devices", EMP_ARRAY_INT32, ops, d->device_of_op};
    if (d->level_of_op != NULL)
        arrays[count++] =
            (emp_named_array){"levels", EMP_ARRAY_UINT8, ops, d->level_of_op};
    if (d->leader_of_op != NULL)
        arrays[count++] =
            (emp_named_array){"leaders", EMP_ARRAY_INT32, ops, d->leader_of_op};
    return count;
}

static size_t bytes_of(const emp_named_array *array)
{
    return array->count * emp_array_type_bytes(array->type);
}

static emp_status send_arrays(const emp_ranks *ranks, int32_t to, emp_list *list,
                              void *state, emp_error *err)
{
    emp_named_array array[EMP_MAX_NAMED_ARRAYS];
    int32_t         count = list(state, array);

    for (int32_t i = 0; i < count; i++)
        EMP_CHECK(ranks->send(to, array[i].values, bytes_of(&array[i]), err));
    return EMP_OK;
}

static emp_status receive_arrays(const emp_ranks *ranks, int32_t from, emp_list *list,
                                 void *state, emp_error *err)
{
    emp_named_array array[EMP_MAX_NAMED_ARRAYS];
    int32_t         count = list(state, array);

    for (int32_t i = 0; i < count; i++)
        EMP_CHECK(ranks->receive(&from, array[i].values, bytes_of(&array[i]), err));
    return EMP_OK;
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

/* The loop of a controller: gets parameters, proposes, scores, sends its gradient. */
static emp_status emp_run_work(emp_run_state *run, emp_error *err)
{
    const emp_method         *method = run->params->method;
    const emp_method_sharing *sharing = method->learning->sharing;
    const emp_ranks          *ranks = run->ranks;
    int32_t                   server = SERVER, room, count;
    report                    r;

    for (;;) {
        EMP_CHECK(ranks->receive(&server, &room, sizeof room, err));
        if (room == 0) break;
        EMP_CHECK(receive_arrays(ranks, SERVER, sharing->list_values, run->placer, err));
        EMP_CHECK(emp_run_ask(run, room, &count, err));
        EMP_CHECK(emp_run_score(run, count, err));
        EMP_CHECK(sharing->backward(run->placer, run->score, count, 0, count, err));
        fill_report(run, count, &r);
        EMP_CHECK(ranks->send(SERVER, &r, sizeof r, err));
        EMP_CHECK(
            send_arrays(ranks, SERVER, list_decision, &run->candidate[r.best], err));
        EMP_CHECK(send_arrays(ranks, SERVER, sharing->list_gradient, run->placer, err));
    }
    return EMP_OK;
}

/* ---- server ---- */

/** The server's view of its controllers. */
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
    EMP_CHECK(send_arrays(run->ranks, to,
                          run->params->method->learning->sharing->list_values,
                          run->placer, err));
    c->underway += room;
    c->working++;
    return EMP_OK;
}

/* The server's own state has the values that only the step knows. */
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
    EMP_CHECK(receive_arrays(run->ranks, *from, list_decision, &run->candidate[0], err));
    EMP_CHECK(
        receive_arrays(run->ranks, *from, sharing->list_gradient, run->placer, err));
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

/* The loop of a parameter server: gives controllers parameters, and makes a step from each
 * gradient as it comes. */
static emp_status emp_run_serve(emp_run_state *run, emp_error *err)
{
    emp_status st = EMP_OK;
    crew       c = {.ordered = EMP_NEW_ARRAY(int32_t, (size_t)run->ranks->count)};
    int32_t    from;

    if (c.ordered == NULL) EMP_FAIL(EMP_ENOMEM, "%d controllers", run->ranks->count);
    /* Its own proposal is not scored: it says how large one is. */
    EMP_TRY(emp_run_ask(run, run->batch_limit, &c.batch, err));
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

/* The loop of ranks that make every step together. Each proposes and scores its own part of
 * a batch, and gets the scores of all. All that is added, is added in order of ranks, so
 * that every rank gets the same bits however slow another is. */
/* Gradients are exchanged and added in pieces of that size from each rank. */
enum { PIECE_BYTES = 1 << 18 };

/** The batch as all ranks know it. */
typedef struct {
    int32_t first, own; /**< scores of this rank: number of the first, how many */
    int32_t own_of[EMP_MAX_TOLD]; /**< [rank] */
    void   *exchange;             /**< owned: room for a piece of every rank */
} batch;

int32_t emp_run_together_limit(const emp_ranks *ranks, int32_t batch_limit)
{
    const int64_t limit = (int64_t)batch_limit * ranks->count;

    return limit < EMP_MAX_TOLD ? (int32_t)limit : EMP_MAX_TOLD;
}

/* All stop if one is asked to, and when the clock of rank 0 says so. */
static emp_status share_end(const emp_run_state *run, emp_run_end *end, emp_error *err)
{
    emp_run_end all[EMP_MAX_TOLD];

    *end = emp_run_end_now(run);
    EMP_CHECK(run->ranks->gather(end, all, sizeof *end, err));
    end->is_late = all[0].is_late;
    end->is_enough = all[0].is_enough;
    for (int32_t i = 0; i < run->ranks->count; i++) end->is_stopped |= all[i].is_stopped;
    return EMP_OK;
}

/* The scores of this rank, score[0] to score[own-1], become the scores of all. */
static emp_status share_scores(emp_run_state *run, batch *b, emp_error *err)
{
    typedef struct {
        int32_t   count;
        emp_score score[EMP_MAX_BATCH];
    } block;
    block  mine = {.count = b->own};
    block *all = (block *)b->exchange;

    memcpy(mine.score, run->score, (size_t)b->own * sizeof *run->score);
    EMP_CHECK(run->ranks->gather(&mine, all, sizeof mine, err));
    run->count = 0;
    for (int32_t i = 0; i < run->ranks->count; i++) {
        if (i == run->ranks->rank) b->first = run->count;
        b->own_of[i] = all[i].count;
        memcpy(&run->score[run->count], all[i].score,
               (size_t)all[i].count * sizeof *run->score);
        if (i != run->ranks->rank) emp_run_forget(&run->score[run->count], all[i].count);
        run->count += all[i].count;
    }
    return EMP_OK;
}

/* into[i] <- block 0 [i] + block 1 [i] + ..., in this order. */
#define ADD(type)                                                       \
    do {                                                                \
        type       *sum = (type *)into;                                 \
        const type *block = (const type *)blocks;                       \
        memcpy(sum, block, count * sizeof *sum);                        \
        for (int32_t r = 1; r < ranks; r++) {                           \
            for (size_t i = 0; i < count; i++)                          \
                sum[i] = (type)(sum[i] + block[(size_t)r * count + i]); \
        }                                                               \
    } while (0)

static void add_blocks(emp_array_type type, void *into, const void *blocks, size_t count,
                       int32_t ranks)
{
    switch (type) {
    case EMP_ARRAY_UINT8: ADD(uint8_t); return;
    case EMP_ARRAY_INT32: ADD(int32_t); return;
    case EMP_ARRAY_INT64: ADD(int64_t); return;
    case EMP_ARRAY_FLOAT: ADD(float); return;
    case EMP_ARRAY_DOUBLE: ADD(double); return;
    }
}

/* O(ranks) bytes a value to every rank, O(1) memory. */
static emp_status add_over_ranks(emp_run_state *run, const batch *b,
                                 const emp_named_array *array, emp_error *err)
{
    const size_t size = emp_array_type_bytes(array->type), most = PIECE_BYTES / size;

    for (size_t at = 0; at < array->count; at += most) {
        size_t count = array->count - at < most ? array->count - at : most;
        char  *piece = (char *)array->values + at * size;
        EMP_CHECK(run->ranks->gather(piece, b->exchange, count * size, err));
        add_blocks(array->type, piece, b->exchange, count, run->ranks->count);
    }
    return EMP_OK;
}

static emp_status tell(emp_run_state *run, const batch *b, emp_error *err)
{
    const emp_method_sharing *sharing = run->params->method->learning->sharing;
    emp_named_array           array[EMP_MAX_NAMED_ARRAYS];
    int32_t                   count;

    EMP_CHECK(
        sharing->backward(run->placer, run->score, run->count, b->first, b->own, err));
    count = sharing->list_gradient(run->placer, array);
    for (int32_t i = 0; i < count; i++) EMP_CHECK(add_over_ranks(run, b, &array[i], err));
    sharing->step(run->placer);
    return EMP_OK;
}

/* Candidate number i of the batch, from the rank that proposed it, to the record of all. */
static emp_status share_best(emp_run_state *run, const batch *b, int32_t i,
                             emp_candidate *candidate, emp_error *err)
{
    emp_owned_decision *best = &run->record->decision;
    emp_named_array     array[EMP_MAX_NAMED_ARRAYS];
    const int32_t       count = list_decision(best, array);
    int32_t             owner = 0;
    emp_sim_result     *result = &run->result[0]; /* its own one has its scores */

    while (i >= b->own_of[owner]) i -= b->own_of[owner++];
    if (owner == run->ranks->rank) {
        *result = run->result[i];
        emp_decision_copy(best, &run->candidate[i]);
    }
    EMP_CHECK(run->ranks->broadcast(owner, result, sizeof *result, err));
    for (int32_t k = 0; k < count; k++)
        EMP_CHECK(
            run->ranks->broadcast(owner, array[k].values, bytes_of(&array[k]), err));
    *candidate = (emp_candidate){best, result};
    return EMP_OK;
}

/* The mean over ranks that proposed something. */
static emp_status share_metrics(emp_run_state *run, const batch *b, double *value,
                                emp_error *err)
{
    const emp_method_metric *metric = NULL;
    int32_t                  count = emp_run_metrics(run, &metric), sharers = 0;
    const double            *all = (const double *)b->exchange;

    for (int32_t i = 0; i < count; i++) value[i] = metric[i].value;
    if (count == 0) return EMP_OK;
    EMP_CHECK(run->ranks->gather(value, b->exchange, (size_t)count * sizeof *value, err));
    memset(value, 0, (size_t)count * sizeof *value);
    for (int32_t r = 0; r < run->ranks->count; r++) {
        if (b->own_of[r] == 0) continue;
        sharers++;
        for (int32_t i = 0; i < count; i++) value[i] += all[r * count + i];
    }
    for (int32_t i = 0; i < count; i++) value[i] /= sharers;
    return EMP_OK;
}

static emp_status log_batch(emp_run_state *run, const batch *b, emp_error *err)
{
    int32_t       best = emp_run_find_best(run);
    emp_candidate candidate = {0};
    double        value[EMP_MAX_METRICS];

    if (best >= 0) EMP_CHECK(share_best(run, b, best, &candidate, err));
    EMP_CHECK(share_metrics(run, b, value, err));
    return emp_run_log(run, best >= 0 ? &candidate : NULL, value, err);
}

static emp_status run_loop(emp_run_state *run, batch *b, emp_error *err)
{
    const int32_t ranks = run->ranks->count, rank = run->ranks->rank;
    emp_run_end   end;
    int32_t       room;

    for (;;) {
        EMP_CHECK(share_end(run, &end, err));
        room = emp_run_room(run, end, 0);
        if (room == 0) break;
        b->own = room / ranks + (rank < room % ranks ? 1 : 0);
        if (b->own > 0) EMP_CHECK(emp_run_ask(run, b->own, &b->own, err));
        EMP_CHECK(emp_run_score(run, b->own, err));
        EMP_CHECK(share_scores(run, b, err));
        if (run->count == 0) {
            emp_run_log_end(run, "method");
            break;
        }
        run->is_between_updates = false;
        EMP_CHECK(tell(run, b, err));
        EMP_CHECK(log_batch(run, b, err));
        run->is_between_updates = true;
        EMP_CHECK(emp_run_checkpoint_save_if_due(run, err));
        emp_run_report(run);
    }
    return EMP_OK;
}

/* Fails on all ranks if the parameters of one differ, in any bit, from the others'. */
static emp_status check_values(const emp_run_state *run, emp_error *err)
{
    emp_named_array array[EMP_MAX_NAMED_ARRAYS];
    uint64_t        hash = EMP_HASH_SEED, all[EMP_MAX_TOLD];
    int32_t         count;

    count = run->params->method->learning->sharing->list_values(run->placer, array);
    for (int32_t i = 0; i < count; i++) {
        hash = emp_hash_bytes(hash, array[i].values, bytes_of(&array[i]));
    }
    EMP_CHECK(run->ranks->gather(&hash, all, sizeof hash, err));
    for (int32_t r = 1; r < run->ranks->count; r++) {
        if (all[r] == all[0]) continue;
        return EMP_ERROR(
            EMP_EEXTERNAL,
            "rank %d has other parameters than rank 0: all need the same program and "
            "CPUs with the same instruction set, or --async",
            r);
    }
    return EMP_OK;
}

/* The loop of a rank that makes each step with all others. */
static emp_status emp_run_together(emp_run_state *run, emp_error *err)
{
    emp_status st = EMP_OK;
    batch      b = {.exchange =
                        EMP_NEW_ARRAY(unsigned char, (size_t)run->ranks->count *PIECE_BYTES)};

    if (b.exchange == NULL)
        EMP_FAIL(EMP_ENOMEM, "gradients of %d ranks", run->ranks->count);
    EMP_TRY(run_loop(run, &b, err));
    run->is_between_updates = false; /* parameters that differ are not to be saved */
    EMP_TRY(emp_run_agree(run, check_values(run, err), err));
    run->is_between_updates = true;

cleanup:
    emp_free(b.exchange);
    return st;
}
