/** \file run/ranks/deal.h
 * Rank 0 hands out pieces of work, and the other ranks do them. Who is done asks for the next, so
 * that fast ranks do more. All ranks have the same list of pieces and know them by number.
 *
 *     static emp_status work(void *context, emp_error *err)      on all ranks but 0
 *     {
 *         emp_piece piece = {.number = -1};
 *         for (;;) {
 *             EMP_CHECK(emp_deal_take(&piece, ranks, piece.number, false, err));
 *             if (piece.number < 0) return EMP_OK;
 *             ...
 *         }
 *     }
 *     EMP_TRY(emp_deal_share(ranks, &deal, err));                on all ranks
 */
#ifndef EMP_RUN_RANKS_DEAL_H
#define EMP_RUN_RANKS_DEAL_H

#include <stdatomic.h>

#include "base/work.h"
#include "run/ranks/ranks.h"

/** A piece of work. */
typedef struct {
    int64_t  number;   /**< in the list; -1: none */
    uint64_t identity; /**< OPTIONAL hash of what it is: lists that differ are noticed */
} emp_piece;

/** Work that is shared. */
typedef struct {
    /** For rank 0: [count], in the order in which they are handed out. */
    const emp_piece *piece;
    int32_t          count;
    /** For rank 0, OPTIONAL: a rank has done a piece, or found that it was done before. After a
     * failure nothing more is handed out. */
    emp_status (*on_done)(void *context, int64_t number, bool was_there, emp_error *err);
    /** For the others: takes pieces and does them, until there are none. EMP_EINTERRUPTED: it was
     * stopped. */
    emp_status (*work)(void *context, emp_error *err);
    void             *context;
    const atomic_int *stop; /**< OPTIONAL: set to hand out nothing more */
} emp_deal;

/** Collective: does all pieces.
 * \retval EMP_EINTERRUPTED  A rank was stopped before all were done.
 * \retval EMP_EELSEWHERE    Another rank has failed. Else the status of \a on_done or \a work. */
emp_status emp_deal_share(const emp_ranks *ranks, const emp_deal *deal, emp_error *err);

/** Another rank than 0, within \a work: asks for a piece. Several threads may do so, one at a time.
 * \param[in] done       The number of a piece that the thread has done; -1: none.
 * \param[in] was_there  That piece was done before. */
emp_status emp_deal_take(emp_piece *piece, const emp_ranks *ranks, int64_t done,
                         bool was_there, emp_error *err);

/** Like emp_deal_take(), for a thread that wants no more: no rank gets another piece. */
emp_status emp_deal_end(const emp_ranks *ranks, int64_t done, bool was_there,
                        emp_error *err);

/* Stops of work that ranks share. A signal comes to ranks at different moments, or to only one of
 * them. A rank that went on or ended by its own flag would wait for ever for the others: so they
 * ask each other. */

/** Collective, with ranks: all go on with what comes next, or none does.
 * \param[in] ranks  NULL: there are no others.
 * \param[in] st     What this rank has so far; also those call that have failed.
 * \retval EMP_OK            No rank has failed, and none was stopped.
 * \retval EMP_EINTERRUPTED  A rank was stopped: by \a st or by its flag.
 * \retval EMP_EELSEWHERE    Another rank has failed. Else \a st. */
emp_status emp_ranks_go_on(const emp_ranks *ranks, const atomic_int *stop, emp_status st,
                           emp_error *err);

#endif /* EMP_RUN_RANKS_DEAL_H */
