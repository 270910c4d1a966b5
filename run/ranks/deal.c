// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/ranks/deal.h"

/** From another rank to rank 0. It has no padding, whose bytes would be sent unset. */
typedef struct {
    int64_t done; /* -1: none */
    int32_t was_there;
    int16_t is_end, is_over; /* no answer is wanted; nobody gets another piece */
} request;

static const emp_piece none = {.number = -1};

static bool was_stopped(const emp_deal *deal)
{
    return deal->stop != NULL && *deal->stop != 0;
}

static emp_status receive(int32_t *from, request *r, const emp_ranks *ranks,
                          const emp_deal *deal, emp_error *err)
{
    *from = EMP_ANY_RANK;
    const emp_status st = ranks->receive(from, r, sizeof *r, err);
    return st != EMP_OK && was_stopped(deal) ? EMP_EINTERRUPTED : st;
}

/* Until all others have ended. EMP_EINTERRUPTED: after a stop they have gone without a word. */
static emp_status hand_out(int32_t *done_count, const emp_ranks *ranks,
                           const emp_deal *deal, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    from, next = 0, here = ranks->count - 1;
    bool       is_over = false;
    request    r;

    while (here > 0) {
        EMP_CHECK(receive(&from, &r, ranks, deal, err));
        is_over = is_over || r.is_over != 0 || st != EMP_OK || was_stopped(deal);
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

emp_status emp_deal_take(emp_piece *piece, const emp_ranks *ranks, int64_t done,
                         bool was_there, emp_error *err)
{
    const request r = {.done = done, .was_there = was_there};
    int32_t       dealer = 0;

    EMP_CHECK(ranks->send(dealer, &r, sizeof r, err));
    return ranks->receive(&dealer, piece, sizeof *piece, err);
}

/* Rank 0 learns of a stop by what is not done. */
static emp_status work(const emp_ranks *ranks, const emp_deal *deal, emp_error *err)
{
    const emp_status st = deal->work(deal->context, err);
    const request    r = {
           .done = -1, .is_end = true, .is_over = st != EMP_OK || was_stopped(deal)};

    EMP_CHECK(ranks->send(0, &r, sizeof r, err));
    return st == EMP_EINTERRUPTED ? EMP_OK : st;
}

emp_status emp_deal_share(const emp_ranks *ranks, const emp_deal *deal, emp_error *err)
{
    emp_status st;
    int32_t    done_count = 0, is_whole;

    EMP_CHECK(ranks->agree(EMP_OK, err));
    if (ranks->rank == 0) {
        st = hand_out(&done_count, ranks, deal, err);
        if (st == EMP_EINTERRUPTED) return st;
    } else {
        st = work(ranks, deal, err);
    }
    EMP_CHECK(ranks->agree(st, err));
    is_whole = done_count == deal->count;
    EMP_CHECK(ranks->broadcast(0, &is_whole, sizeof is_whole, err));
    return is_whole != 0 ? EMP_OK : EMP_EINTERRUPTED;
}
