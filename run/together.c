// SPDX-License-Identifier: GPL-3.0-or-later
/* What ranks exchange in each turn of the loop. All that is added, is added in order of
 * ranks, so that every rank gets the same bits however slow another is. */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "run/loop_internal.h"

/* Gradients are exchanged and added in pieces of that size from each rank. */
enum { PIECE_BYTES = 1 << 18 };

emp_status emp_run_agree(const emp_run_state *run, emp_status st, emp_error *err)
{
    return run->ranks != NULL ? run->ranks->agree(st, err) : st;
}

int32_t emp_run_batch_limit(const emp_run_state *run)
{
    int32_t limit = EMP_MAX_BATCH;

    if (run->ranks != NULL && !run->params->is_async) limit *= run->ranks->count;
    return limit < EMP_MAX_TOLD ? limit : EMP_MAX_TOLD;
}

/* Room for a piece of every rank. */
static emp_status reserve(emp_run_state *run, emp_error *err)
{
    if (run->exchange == NULL)
        run->exchange =
            EMP_NEW_ARRAY(unsigned char, (size_t)run->ranks->count *PIECE_BYTES);
    if (run->exchange == NULL)
        return EMP_ERROR(EMP_ENOMEM, "gradients of %d ranks", run->ranks->count);
    return EMP_OK;
}

emp_status emp_run_share_end(const emp_run_state *run, emp_run_end *end, emp_error *err)
{
    emp_status  st = EMP_OK;
    emp_run_end all[EMP_MAX_TOLD];

    if (run->ranks == NULL) goto cleanup;
    EMP_TRY(run->ranks->gather(end, all, sizeof *end, err));
    end->is_late = all[0].is_late;
    for (int32_t i = 0; i < run->ranks->count; i++) end->is_stopped |= all[i].is_stopped;

cleanup:
    return st;
}

int32_t emp_run_share_of(const emp_run_state *run, int32_t room, int32_t *own)
{
    *own = room;
    if (run->ranks != NULL)
        *own = room / run->ranks->count +
               (run->ranks->rank < room % run->ranks->count ? 1 : 0);
    return room;
}

emp_status emp_run_share_scores(emp_run_state *run, int32_t own, emp_error *err)
{
    typedef struct {
        int32_t   count;
        emp_score score[EMP_MAX_BATCH];
    } block;
    emp_status st = EMP_OK;
    block      mine = {.count = own};
    block     *all = NULL;

    run->first = 0;
    run->count = run->own = own;
    if (run->ranks == NULL) goto cleanup;
    EMP_TRY(reserve(run, err));
    all = (block *)run->exchange;
    memcpy(mine.score, run->score, (size_t)own * sizeof *run->score);
    EMP_TRY(run->ranks->gather(&mine, all, sizeof mine, err));
    run->count = 0;
    for (int32_t i = 0; i < run->ranks->count; i++) {
        if (i == run->ranks->rank) run->first = run->count;
        run->own_of[i] = all[i].count;
        memcpy(&run->score[run->count], all[i].score,
               (size_t)all[i].count * sizeof *run->score);
        run->count += all[i].count;
    }

cleanup:
    return st;
}

/* By way of exchange[], where it stays until the next call. */
emp_status emp_run_share_best(emp_run_state *run, int32_t i, emp_candidate *candidate,
                              emp_error *err)
{
    emp_status      st = EMP_OK;
    size_t          bytes = (size_t)run->record->op_count * sizeof(emp_device_id);
    int32_t         owner = 0, k = i;
    emp_sim_result *result;

    if (run->ranks == NULL) {
        *candidate = (emp_candidate){run->candidate[i], &run->result[i]};
        goto cleanup;
    }
    while (k >= run->own_of[owner]) k -= run->own_of[owner++];
    result = (emp_sim_result *)run->exchange;
    if (owner == run->ranks->rank) {
        *result = run->result[k];
        memcpy(run->record->device_of_op, run->candidate[k], bytes);
    }
    EMP_TRY(run->ranks->broadcast(owner, result, sizeof *result, err));
    EMP_TRY(run->ranks->broadcast(owner, run->record->device_of_op, bytes, err));
    *candidate = (emp_candidate){run->record->device_of_op, result};

cleanup:
    return st;
}

/* into[i] <- block 0 [i] + block 1 [i] + ..., in this order. */
#define ADD(type)                                                                      \
    do {                                                                               \
        type       *sum = (type *)into;                                                \
        const type *block = (const type *)blocks;                                      \
        memcpy(sum, block, count * sizeof *sum);                                       \
        for (int32_t r = 1; r < ranks; r++) {                                          \
            for (size_t i = 0; i < count; i++) sum[i] += block[(size_t)r * count + i]; \
        }                                                                              \
    } while (0)

static void add_blocks(emp_array_type type, void *into, const void *blocks, size_t count,
                       int32_t ranks)
{
    switch (type) {
    case EMP_ARRAY_INT32: ADD(int32_t); return;
    case EMP_ARRAY_INT64: ADD(int64_t); return;
    case EMP_ARRAY_FLOAT: ADD(float); return;
    case EMP_ARRAY_DOUBLE: ADD(double); return;
    }
}

/* O(ranks) bytes a value to every rank, O(1) memory. */
static emp_status add_over_ranks(emp_run_state *run, const emp_named_array *array,
                                 emp_error *err)
{
    const size_t size = emp_array_type_bytes(array->type), most = PIECE_BYTES / size;

    for (size_t at = 0; at < array->count; at += most) {
        size_t count = array->count - at < most ? array->count - at : most;
        char  *piece = (char *)array->values + at * size;
        EMP_CHECK(run->ranks->gather(piece, run->exchange, count * size, err));
        add_blocks(array->type, piece, run->exchange, count, run->ranks->count);
    }
    return EMP_OK;
}

emp_status emp_run_tell(emp_run_state *run, emp_error *err)
{
    const emp_placer_type    *method = run->params->method;
    const emp_placer_sharing *sharing = method->sharing;
    emp_named_array           array[EMP_MAX_NAMED_ARRAYS];
    int32_t                   count;

    if (run->ranks == NULL) return method->tell(run->placer, run->score, run->count, err);
    EMP_CHECK(sharing->backward(run->placer, run->score, run->count, run->first, run->own,
                                err));
    count = sharing->list_gradient(run->placer, array);
    for (int32_t i = 0; i < count; i++) EMP_CHECK(add_over_ranks(run, &array[i], err));
    sharing->step(run->placer);
    return EMP_OK;
}

emp_status emp_run_share_metrics(emp_run_state *run, double *value, emp_error *err)
{
    emp_status               st = EMP_OK;
    const emp_placer_metric *metric = NULL;
    int32_t                  count = emp_run_metrics(run, &metric), sharers = 0;
    const double            *all;

    for (int32_t i = 0; i < count; i++) value[i] = metric[i].value;
    if (run->ranks == NULL || count == 0) goto cleanup;
    all = (const double *)run->exchange;
    EMP_TRY(run->ranks->gather(value, run->exchange, (size_t)count * sizeof *value, err));
    memset(value, 0, (size_t)count * sizeof *value);
    for (int32_t r = 0; r < run->ranks->count; r++) {
        if (run->own_of[r] == 0) continue;
        sharers++;
        for (int32_t i = 0; i < count; i++) value[i] += all[r * count + i];
    }
    for (int32_t i = 0; i < count; i++) value[i] /= sharers;

cleanup:
    return st;
}

emp_status emp_run_check_values(const emp_run_state *run, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_named_array array[EMP_MAX_NAMED_ARRAYS];
    uint64_t        hash = EMP_HASH_SEED, all[EMP_MAX_TOLD];
    int32_t         count;

    if (run->ranks == NULL) goto cleanup;
    count = run->params->method->sharing->list_values(run->placer, array);
    for (int32_t i = 0; i < count; i++) {
        hash = emp_hash_bytes(hash, array[i].values,
                              array[i].count * emp_array_type_bytes(array[i].type));
    }
    EMP_TRY(run->ranks->gather(&hash, all, sizeof hash, err));
    for (int32_t r = 1; r < run->ranks->count; r++) {
        if (all[r] == all[0]) continue;
        EMP_FAIL(
            EMP_EEXTERNAL,
            "rank %d has other parameters than rank 0: all need the same program and "
            "CPUs with the same instruction set, or --async",
            r);
    }

cleanup:
    return st;
}
