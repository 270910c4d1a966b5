// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/ranks/deal.h"

#include <stdlib.h>

#include "base/mem.h"
#include "run/ranks/ranks.h"

static emp_status emp_ranks_excuse(emp_status st, const emp_ranks *ranks,
                                   const atomic_int *stop, emp_error *err);

/** From another rank to rank 0. It has no padding, whose bytes would be sent unset. */
typedef struct {
    int64_t done; /* -1: none */
    int32_t was_there;
    int16_t is_end, is_over; /* no answer is wanted; no rank gets another piece */
} request;

static const emp_piece none = {.number = -1};

/* Until all others have ended. */
static emp_status hand_out(int32_t *done_count, const emp_ranks *ranks,
                           const emp_deal *deal, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    from, next = 0, here = ranks->count - 1;
    bool       is_over = false;
    request    r;

    while (here > 0) {
        from = EMP_ANY_RANK;
        EMP_CHECK(ranks->receive(&from, &r, sizeof r, err));
        is_over =
            is_over || r.is_over != 0 || st != EMP_OK || emp_stop_is_set(deal->stop);
        if (r.is_end != 0) {
            here--;
        } else {
            const bool is_left = !is_over && next < deal->count;
            EMP_CHECK(ranks->send(from, is_left ? &deal->piece[next++] : &none,
                                  sizeof none, err));
        }
        if (r.done < 0) continue;
        ++*done_count;
        if (deal->on_done != NULL && st == EMP_OK)
            st = deal->on_done(deal->context, r.done, r.was_there != 0, err);
    }
    return st;
}

/* Each request has an answer, except when its rank ends. */
static emp_status ask(emp_piece *piece, const emp_ranks *ranks, const request *r,
                      emp_error *err)
{
    int32_t dealer = 0;

    EMP_CHECK(ranks->send(dealer, r, sizeof *r, err));
    return ranks->receive(&dealer, piece, sizeof *piece, err);
}

emp_status emp_deal_take(emp_piece *piece, const emp_ranks *ranks, int64_t done,
                         bool was_there, emp_error *err)
{
    const request r = {.done = done, .was_there = was_there};

    return ask(piece, ranks, &r, err);
}

emp_status emp_deal_end(const emp_ranks *ranks, int64_t done, bool was_there,
                        emp_error *err)
{
    const request r = {.done = done, .was_there = was_there, .is_over = true};
    emp_piece     piece;

    return ask(&piece, ranks, &r, err);
}

/* Rank 0 learns of a stop by what is not done. */
static emp_status work(const emp_ranks *ranks, const emp_deal *deal, emp_error *err)
{
    const emp_status st = deal->work(deal->context, err);
    const request    r = {.done = -1,
                          .is_end = true,
                          .is_over = st != EMP_OK || emp_stop_is_set(deal->stop)};

    EMP_CHECK(ranks->send(0, &r, sizeof r, err));
    return st == EMP_EINTERRUPTED ? EMP_OK : st;
}

static emp_status share(const emp_ranks *ranks, const emp_deal *deal, emp_error *err)
{
    int32_t done_count = 0, is_whole;

    EMP_CHECK(ranks->agree(EMP_OK, err));
    const emp_status st = ranks->rank == 0 ? hand_out(&done_count, ranks, deal, err)
                                           : work(ranks, deal, err);
    EMP_CHECK(ranks->agree(st, err));
    is_whole = done_count == deal->count;
    EMP_CHECK(ranks->broadcast(0, &is_whole, sizeof is_whole, err));
    return is_whole != 0 ? EMP_OK : EMP_EINTERRUPTED;
}

emp_status emp_deal_share(const emp_ranks *ranks, const emp_deal *deal, emp_error *err)
{
    return emp_ranks_excuse(share(ranks, deal, err), ranks, deal->stop, err);
}

/* Interprets the status of an exchange with others: after a stop rank 0 does not wait for ranks that have
 * gone, and that is no failure.
 * \return EMP_EINTERRUPTED and an empty err then; else st. */
static emp_status emp_ranks_excuse(emp_status st, const emp_ranks *ranks,
                                   const atomic_int *stop, emp_error *err)
{
    if (st != EMP_EEXTERNAL || ranks->rank > 0 || !emp_stop_is_set(stop)) return st;
    if (err != NULL) *err = (emp_error){0};
    return EMP_EINTERRUPTED;
}

/* all: room for a flag of each rank. */
static emp_status ask_all(int32_t *all, const emp_ranks *ranks, int32_t is_stopped,
                          emp_error *err)
{
    EMP_CHECK(ranks->agree(EMP_OK, err));
    EMP_CHECK(ranks->gather(&is_stopped, all, sizeof is_stopped, err));
    for (int32_t i = 0; i < ranks->count; i++)
        if (all[i] != 0) return EMP_EINTERRUPTED;
    return EMP_OK;
}

emp_status emp_ranks_go_on(const emp_ranks *ranks, const atomic_int *stop, emp_status st,
                           emp_error *err)
{
    const bool has_failed = st != EMP_OK && st != EMP_EINTERRUPTED;
    const bool is_stopped = st == EMP_EINTERRUPTED || emp_stop_is_set(stop);

    if (has_failed) return ranks != NULL ? ranks->agree(st, err) : st;
    if (ranks == NULL) return is_stopped ? EMP_EINTERRUPTED : EMP_OK;
    int32_t *all = EMP_NEW_ARRAY(int32_t, (size_t)ranks->count);
    if (all == NULL)
        return ranks->agree(EMP_ERROR(EMP_ENOMEM, "%d ranks", ranks->count), err);
    st = emp_ranks_excuse(ask_all(all, ranks, is_stopped, err), ranks, stop, err);
    emp_free(all);
    return st;
}

int32_t emp_ranks_count(void)
{
    /* Set by Open MPI; by MPICH and its relatives. */
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        long        count = text != NULL ? strtol(text, NULL, 10) : 0;
        if (count > 1 && count <= INT32_MAX) return (int32_t)count;
    }
    return 1;
}
