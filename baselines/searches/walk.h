/** \file baselines/searches/walk.h
 * A walk over placements: one where it stands, and a batch of moves (moves.h) away from it
 * with each ask. The method decides about them: local search, annealing, MCMC.
 *
 *     first ask:  the start itself      first tell:  emp_walk_begin()
 *     ask:        emp_walk_ask()        tell:        emp_walk_metropolis(), or
 *                                                    emp_walk_step() to a sample
 *
 * All samples of a batch are one move away from the same placement. Each is accepted or
 * not beside the one accepted before it, as if it came by itself; the walk then goes on from
 * the last. That is exact for batches of one, and nearly so when few are accepted.
 *
 * A method's state begins with its walk, so that emp_walk_metrics() serves it.
 *
 * A sample costs one copy of a placement and O(group); samples are not kept but drawn
 * again, by number, when the walk goes there.
 */
#ifndef EMP_BASELINES_SEARCHES_WALK_H
#define EMP_BASELINES_SEARCHES_WALK_H

#include "search/method.h"
#include "search/moves.h"

enum { EMP_WALK_ARRAYS = 9, EMP_WALK_METRICS = 4 };

typedef enum {
    EMP_START_GPU, /**< all on the first */
    EMP_START_RANDOM,
    EMP_START_SPLIT /**< the method dp-contiguous, order=either */
} emp_walk_start;

typedef enum {
    EMP_LEVELS_BOTTOM, /**< by bottom levels (search/order.h) */
    EMP_LEVELS_EVEN    /**< all alike: first come, first served */
} emp_walk_levels;

typedef enum {
    EMP_FUSED_ALL, /**< every op joins its readers where that is legal */
    EMP_FUSED_NONE
} emp_walk_fused;

typedef struct {
    emp_move_options moves;
    int32_t          samples; /**< placements of a batch */
    emp_walk_start   start;
    double order; /**< share of moves that change the order, where it is decided */
    emp_walk_levels levels; /**< where the order begins, likewise */
    double          fusion; /**< share of moves that change the fusion, likewise */
    emp_walk_fused  fused;  /**< where it begins, likewise */
} emp_walk_options;

/** Rows of a method's options; \a at is the emp_walk_options in its struct \a type. */
#define EMP_WALK_OPTIONS(type, at, moved, most)                                       \
    EMP_INTEGER_OPTION("samples", type, at.samples, 1, EMP_MAX_BATCH,                 \
                       "placements a batch", 4),                                      \
        EMP_WORD_OPTION("start", type, at.start, "gpu|random|split",                  \
                        "where the walk begins: all on the first GPU, at random, or " \
                        "where dp-contiguous ends",                                   \
                        EMP_START_GPU),                                               \
        EMP_MOVE_OPTIONS(type, at.moves, moved, most)

/** Further rows, of a method that decides the order and the fusion, too. */
#define EMP_WALK_ORDER_OPTION(type, at)                                                \
    EMP_REAL_OPTION("order", type, at.order, 0, 1,                                     \
                    "share of moves that change the order, where it is decided", 0.5), \
        EMP_WORD_OPTION("levels", type, at.levels, "bottom|even",                      \
                        "where the order begins, where it is decided: longest way to " \
                        "the end first, or first come, first served",                  \
                        EMP_LEVELS_BOTTOM),                                            \
        EMP_REAL_OPTION("fusion", type, at.fusion, 0, 1,                               \
                        "share of moves that change the fusion, where it is decided",  \
                        0.3),                                                          \
        EMP_WORD_OPTION("fused", type, at.fused, "all|none",                           \
                        "where the fusion begins, where it is decided: all ops that "  \
                        "may fuse do, or none does",                                   \
                        EMP_FUSED_ALL)

/** The state in a checkpoint beside the arrays. */
typedef struct {
    int64_t is_new;  /**< the next sample is where the walk stands: not yet scored */
    int64_t drafted; /**< moves in all, also those that are no samples */
} emp_walk_progress;

/** The costs of the placements that the walk keeps, by emp_penalized_s(). */
typedef struct {
    double here_s, best_s;
} emp_walk_costs;

typedef struct emp_walk emp_walk;
struct emp_walk {
    const emp_problem *problem; /**< borrowed */
    emp_walk_options   options;
    uint64_t           seed;
    emp_moves          moves;
    /** Makes move number \a draft where \a at stands; returns whether it changes anything.
     * Draws it by the number unless a method says else. */
    bool (*make)(emp_walk *walk, int64_t draft, const emp_owned_decision *at);

    emp_walk_progress  at;
    emp_owned_decision here, best; /**< levels and leaders if they are decided */
    emp_walk_costs     cost;
    int64_t            groups_hash;          /**< the moves', or a restored state's */
    int32_t            sample_count;         /**< of the last ask */
    int64_t            draft[EMP_MAX_BATCH]; /**< [sample] its move; -1 = none */
    emp_method_metric  metric[EMP_WALK_METRICS];
};

/** Begins at the start of \a params, or that the options say. \a problem is borrowed.
 * \retval EMP_ENOMEM, and as for emp_moves_init(). */
emp_status emp_walk_init(emp_walk *walk, const emp_problem *problem,
                         const emp_walk_options *options, const emp_method_params *params,
                         emp_error *err);
void       emp_walk_clear(emp_walk *walk); /**< legal after a failed init */

/** \retval EMP_EFORMAT  The restored state of \a method is damaged, or METIS or Scotch makes
 * other groups here. */
emp_status emp_walk_check(const emp_walk *walk, const char *method, emp_error *err);

/** Where the walk stands if that is new, else up to \a max samples; after
 * emp_walk_check(). */
emp_status emp_walk_ask(emp_walk *walk, const char *method,
                        const emp_owned_decision *candidates, int32_t max, int32_t *count,
                        emp_error *err);

/** Begins a tell. Whether the \a count samples are where the walk stands, of which it
 * keeps the cost then. \retval EMP_EINVAL  Not as many as were asked for. */
emp_status emp_walk_begin(emp_walk *walk, const emp_score *scores, int32_t count,
                          bool *is_new, emp_error *err);

/** Accepts samples by emp_accepts(), changes of cost as shares of the last accepted
 * sample's cost, and goes to the last one accepted. Keeps the best of all. Returns how
 * many were accepted. */
int32_t emp_walk_metropolis(emp_walk *walk, const emp_score *scores, int32_t count,
                            double temperature);

/** Keeps a sample as the best if its cost is the lowest so far. */
void emp_walk_keep_best(emp_walk *walk, int32_t sample, double cost_s);
/** Makes a move of a sample seen from where the walk stands; after emp_walk_keep_best(). */
void emp_walk_step(emp_walk *walk, int64_t draft, double cost_s);
/** Goes back to the best. */
void emp_walk_return(emp_walk *walk);

/** Ends a tell: two metrics of the method's own, "here_s" and "best_cost_s". */
void emp_walk_report(emp_walk *walk, emp_method_metric first, emp_method_metric second);
/** For the table of a method. */
const emp_method_metric *emp_walk_metrics(const void *state, int32_t *count);

/** Lists the state that later asks depend on; returns how many, at most EMP_WALK_ARRAYS. */
int32_t emp_walk_list_state(emp_walk *walk, emp_named_array *arrays);

/** Metropolis: whether a change of cost by \a delta is accepted at \a temperature, both in
 * one unit, given \a uniform in [0, 1): if it is no rise, or uniform < exp(-delta /
 * temperature). At temperature 0 no rise is. */
bool emp_accepts(double delta, double temperature, double uniform);

/* refine, for a method that runs it. */

/** Makes \a device_of_op [op] the first start of a refine that was not yet asked, in place of a
 * random placement. It is made legal, and costs no evaluation: the oracle gave it \a score. O(V). */
void emp_refine_begin_at(void *refine, const emp_device_id *device_of_op,
                         const emp_score *score);

#endif /* EMP_BASELINES_SEARCHES_WALK_H */
