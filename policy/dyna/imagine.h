/** \file policy/dyna/imagine.h
 * Walks over placements that are imagined: made of moves that the policy chooses and models rate, without the oracle.
 *
 * A walk begins at the parent, the best placement so far. In each step of it the policy chooses
 * EMP_IMAGINED_BLOCK of some random moves, the surrogate estimates them, the policy learns from their
 * ranks, and the walk makes the best one. It ends after its length, or when no move is expected to
 * help. Where it ends, the oracle has not been.
 *
 * The best move of a step is the one with the least estimate, or the one that the judge rates highest
 * (proposer.h): near a good placement the surrogate no longer ranks moves as the oracle does.
 */
#ifndef EMP_POLICY_DYNA_IMAGINE_H
#define EMP_POLICY_DYNA_IMAGINE_H

#include "policy/dyna/proposer.h"
#include "sim/explain/explain.h"
#include "sim/surrogate/surrogate.h"

enum {
    EMP_IMAGINED_BLOCK = 16,   /* moves that are estimated at once */
    EMP_IMAGINED_LONGEST = 16, /* moves of a walk */
    EMP_IMAGINED_KNOWN =
        1 << 14 /* slots for hashes; of two that share one the later stays */
};

typedef enum {
    EMP_IMAGINE_BLIND,    /**< one move by the policy, which no model sees */
    EMP_IMAGINE_ESTIMATE, /**< by the surrogate */
    EMP_IMAGINE_JUDGE     /**< by the judge, who sees the surrogate's estimates */
} emp_imagine_rule;

typedef struct {
    emp_move_options moves;
    int32_t          picks;       /**< moves among which the policy chooses, per step */
    double           temperature; /**< of the policy's softmax */
    double           alike;       /**< share of moves of any group; others go by blame */
    double           elite;       /**< share of estimated moves that count as good */
    double           estimate;    /**< weight of these ranks in the policy's gradient */
    bool             blame;       /**< groups are drawn by blame, and networks see it */
} emp_imagine_options;

typedef struct {
    emp_imagine_rule rule;
    int32_t          count; /**< moves made */
    emp_move         move[EMP_IMAGINED_LONGEST];
    emp_real
        x[EMP_IMAGINED_LONGEST]
         [EMP_JUDGE_INPUTS]; /**< the judge's inputs; the policy's are their first ones */
    double guess_s;          /**< the surrogate's step time at the end; NaN = none */
} emp_imagined_walk;

typedef struct {
    const emp_problem  *problem; /**< borrowed */
    emp_imagine_options options;
    uint64_t            seed;
    emp_moves           moves;
    emp_proposer        proposer;
    emp_sim            *sim; /**< NULL: these rules cannot be explained */
    emp_blamer         *blamer;
    emp_surrogate      *surrogate;          /**< NULL: nothing can be estimated */
    double             *blame_s, *end_frac; /**< [op] */
    emp_device_id      *here;               /**< [op] the parent */
    double              here_s;             /**< its score */
    emp_device_id      *block;              /**< [EMP_IMAGINED_BLOCK][op] */
    int64_t *known; /**< [hash % EMP_IMAGINED_KNOWN] of where the oracle has been, or 0 */
    int64_t  steps; /**< of all walks so far: numbers of random streams */
    uint64_t here_hash;
    double   here_guess_s;
    bool     is_seen; /**< the parent is the one that was traced last */
    double   insight; /**< sum over `blocks` of how well the policy ranks them */
    int32_t  blocks;
} emp_imagination;

/** \a problem is borrowed; \a hidden units a network.
 * \retval EMP_EUNSUPPORTED  No op may run on a GPU. \retval EMP_ENOMEM, and as for emp_moves_init(). */
emp_status emp_imagination_init(emp_imagination *im, const emp_problem *problem,
                                const emp_imagine_options *options, int32_t hidden,
                                uint64_t seed, emp_error *err);
void       emp_imagination_clear(emp_imagination *im); /**< legal after a failed init */

/** Makes levels of groups until \a grown of them are there. \retval EMP_ENOMEM, and as for emp_moves_grow(). */
emp_status emp_imagination_grow(emp_imagination *im, int64_t grown, emp_error *err);

/** Has the oracle trace the parent, if that is new. O(V + E). */
emp_status emp_imagination_see(emp_imagination *im, emp_error *err);

/** Notes that the oracle sees a placement. O(V). */
void emp_imagination_know(emp_imagination *im, const emp_device_id *device_of_op);

/** A log gain as the judge sees it: in fiftieths, within +-3. */
double emp_imagined_units(double log_gain);

/** Imagines a walk of at most \a most moves from the parent, adds to the policy's gradient, and sets \a
 * device_of_op [op] to where it ends, which becomes known. */
emp_status emp_imagine(emp_imagination *im, emp_imagined_walk *walk,
                       emp_imagine_rule rule, int32_t most, emp_device_id *device_of_op,
                       emp_error *err);

#endif /* EMP_POLICY_DYNA_IMAGINE_H */
