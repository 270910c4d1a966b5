/** \file search/method.h
 * A placement method: every baseline and every learner is one const emp_method.
 *
 * Ask and tell. The caller (run/loop.c) owns the loop, hence the budget, the log
 * and the best so far, identical for all methods:
 *
 *     EMP_TRY(emp_method_create(&state, type, problem, &params, err));
 *     while (evaluations < budget) {
 *         EMP_TRY(emp_method_ask(type, state, candidates, max, &count, err));
 *         if (count == 0) break;                          // nothing more to propose
 *         score all candidates, in parallel;
 *         EMP_TRY(emp_method_tell(type, state, scores, count, err));
 *     }
 *     emp_method_destroy(type, state);
 *
 * A candidate is a decision (sim/problem/problem.h) with the arrays that the run decides. A method that
 * decides only devices leaves the others as they are.
 *
 * A batch may have up to EMP_MAX_BATCH candidates; they are scored in parallel and passed
 * to tell() in order. Same problem, params and scores give the same candidates on any thread count.
 */
#ifndef EMP_SEARCH_METHOD_H
#define EMP_SEARCH_METHOD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/collections.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/options.h"
#include "sim/problem/problem.h"
#include "sim/rules/rules.h"

/* Weights: what a learner carries from graph to graph, apart from any state of it. A method
 * with list_weights() has some.
 *
 *     emp_weights w = {0};
 *     emp_method_take_weights(&w, method, state, err);    a copy of a state's weights
 *     params.weights = &w;                                a new state begins with them
 *     emp_weights_clear(&w);
 *
 * Two lists are of the same networks if the names, types and sizes of their arrays agree. */

enum { EMP_WEIGHTS_NAME_BYTES = 64, EMP_WEIGHTS_TEXT_BYTES = 256 };

/** Most values of an array. */
#define EMP_WEIGHTS_MOST (INT64_C(1) << 27)

/** Zero-initialise. */
typedef struct {
    char method[EMP_WEIGHTS_NAME_BYTES];
    char preset[EMP_WEIGHTS_NAME_BYTES];  /**< "" = none */
    char options[EMP_WEIGHTS_TEXT_BYTES]; /**< with which they were trained; "" = none */
    char tasks[EMP_WEIGHTS_TEXT_BYTES];   /**< on which, in words */
    int64_t         evaluations;          /**< scored while they were trained */
    int32_t         array_count;
    emp_named_array array[EMP_MAX_NAMED_ARRAYS]; /**< names and values are owned */
    emp_arrays      memory;
} emp_weights;

/** Adds an array of zeros. \retval EMP_EINVAL  Too many arrays or values, or a name that is
 * empty, too long or there already. \retval EMP_ENOMEM */
emp_status emp_weights_add(emp_weights *weights, const char *name, emp_array_type type,
                           int64_t count, emp_error *err);

/** Copies the values of \a arrays; weights without arrays get theirs first.
 * \retval EMP_EINVAL  They are of other networks; the message says how. \retval EMP_ENOMEM */
emp_status emp_weights_take(emp_weights *weights, const emp_named_array *arrays,
                            int32_t count, emp_error *err);

/** The reverse: \a arrays get the values. \retval EMP_EINVAL  As emp_weights_take(). */
emp_status emp_weights_give(const emp_weights *weights, const emp_named_array *arrays,
                            int32_t count, emp_error *err);

/** Says how they were trained: with the preset and options (NULL is none) and, beside what
 * \a before (NULL is nothing) was trained, with so many evaluations. */
void emp_weights_describe(emp_weights *weights, const char *preset, const char *options,
                          const emp_weights *before, int64_t evaluations);

/** Adds "nmt:layers=2 on k40x2" to the tasks, as far as there is room. */
void emp_weights_add_task(emp_weights *weights, const char *workload,
                          const char *machine);

/** Whether \a arrays, of the same networks, hold the same bits. */
bool emp_weights_equal(const emp_weights *weights, const emp_named_array *arrays);

/** The hash of the method's name and all values; never 0. */
uint64_t emp_weights_hash(const emp_weights *weights);

void emp_weights_clear(emp_weights *weights); /**< legal after a failure */

/* The score of one candidate, and the two orders of scores that methods use. */

/** The oracle's score of one candidate. */
typedef struct {
    double step_time_s; /**< also set when out of memory: the time it would have taken */
    bool   is_feasible; /**< false: out of memory */
    double overflow_frac; /**< memory that was missing, over a device's own, summed over
                               devices; 0 when it fits, or unknown */
    /* Known of the method's own candidates, until tell() returns; NULL of other ranks'. */
    const emp_sim_result *result;         /**< peaks and busy times of devices */
    const emp_time_ns *start_ns, *end_ns; /**< [op] NULL unless the method needs them; 0
                                               of what is folded away */
} emp_score;

/** The score of a simulated step. \a times is OPTIONAL; both are borrowed. */
emp_score emp_score_of(const emp_problem *problem, const emp_sim_result *result,
                       const emp_sim_times *times);

/** Candidates that fit in memory come before others, then the shorter step; false for equals. */
static inline bool emp_score_is_better(const emp_score *score, const emp_score *than)
{
    if (score->is_feasible != than->is_feasible) return score->is_feasible;
    return score->step_time_s < than->step_time_s;
}

/** Step time, and more for what does not fit: twice the time, and as much again for every
 * tenth of a device's memory that is missing. So a walk that begins where nothing fits
 * finds the way out. */
static inline double emp_penalized_s(const emp_score *score)
{
    return score->is_feasible ? score->step_time_s
                              : score->step_time_s * (2.0 + 10.0 * score->overflow_frac);
}

enum {
    EMP_MAX_BATCH = 64,        /* candidates of one ask */
    EMP_MAX_TOLD = 1024,       /* scores of one update that ranks share */
    EMP_ADVICE_CHARACTERS = 62 /* most of an advice: it is a line with a name */
};

typedef struct {
    /** Set by emp_method_create(). A method whose tables are several finds its own here. */
    const struct emp_method *type;
    uint64_t                 seed;
    int32_t                  ranks; /**< programs that share a run, if more than 1 */
    int32_t     rank;    /**< of this program among those that share a run: each draws its
                         own candidates from the same first state; 0 also when alone */
    int32_t     threads; /**< for the method's own work; results do not depend on it */
    int64_t     budget_evaluations; /**< of the whole run, for schedules; 0 = unknown */
    const char *preset;         /**< of methods that have presets ("paper"), or NULL */
    const char *options;        /**< "key=value,key=value" for the method, or NULL */
    int32_t     decides;        /**< mask of emp_decides; 0 = devices only */
    const emp_device_id *start; /**< [op] OPTIONAL, legal; where a method with `has_start`
                                     begins; borrowed */
    const emp_weights   *weights; /**< OPTIONAL; with which a learner begins; borrowed */
    double deadline_s; /**< when the run ends, by emp_clock_now_s(); 0 = never. For a
                            method that waits for other programs */
    /** OPTIONAL; borrowed. Once set, the run is to end: a method whose ask, tell or imitation takes long
     * then returns EMP_EINTERRUPTED. NULL where ranks share a run, which end together. */
    const atomic_int *stop;
    /** OPTIONAL. Takes a sentence about the result that its user must know. */
    void (*warn)(void *context, const char *sentence);
    void *warn_context;
} emp_method_params;

/** A number that a method reports with each tell (loss, baseline, entropy, ...). */
typedef struct {
    const char *name; /**< static storage */
    double      value;
} emp_method_metric;

/** A method proposes once, by place(), or by ask() and tell(). All else is OPTIONAL: 0 or NULL says that the
 * method has no such thing. */
typedef struct emp_method {
    const char       *name;        /**< "scotch" */
    const char       *description; /**< one line, with the source */
    const char       *advice;  /**< what to use it for, EMP_ADVICE_CHARACTERS at most */
    const char       *presets; /**< names of its presets, "careful|fast" */
    const emp_option *options; /**< ends with EMP_NO_OPTION */
    int32_t decides;     /**< mask of emp_decides: what it can decide; 0 = devices only */
    bool    uses_budget; /**< all of it; others stop by themselves */
    bool    uses_seed;   /**< false: every seed gives the same placement */
    bool    needs_times; /**< its scores say when ops ran */
    bool    has_start;   /**< it begins where its parameters say */

    /** Fills the only proposal of a method, which need not be legal. A method with it has no state of its
     * own and none of the four functions below. */
    emp_status (*place)(const struct emp_method *type, const emp_problem *problem,
                        const emp_method_params  *params,
                        const emp_owned_decision *proposal, emp_error *err);
    const void *own; /**< for the functions of the method itself */

    size_t state_bytes; /**< of the state, which init() gets zeroed; more than 0 */
    emp_status (*init)(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err);
    /** Writes up to \a max candidates, the caller's, and their number; 0 = done. They need not be legal,
     * as the runner legalizes them. Levels are 0 at first, and ops lead themselves. */
    emp_status (*ask)(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err);
    /** OPTIONAL. */
    emp_status (*tell)(void *state, const emp_score *scores, int32_t count,
                       emp_error *err);
    /** OPTIONAL. Frees what a state owns, also after a failed init(). */
    void (*clear)(void *state);
    /** Metrics of the last tell; sets \a *count. Those that only a learner's step() knows are NaN after
     * its backward(). */
    const emp_method_metric *(*metrics)(const void *state, int32_t *count);

    /** Lists what later asks depend on beyond problem and params, in the method's own memory; without it a
     * run has no checkpoints. Saving reads the values, and resuming writes them into a state that was just
     * created for the same problem and params. Names, types and counts are the same at all times. Called
     * between a tell and an ask; with asks_again also after an ask without a tell, and after an ask or a
     * tell that was stopped. Fills \a arrays and returns their number. */
    int32_t (*list_state)(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);
    /** Creates the parts of a state that the method else creates when it first needs them. Called before
     * the first list_state(). */
    emp_status (*complete)(void *state, emp_error *err);
    /** Once an ask has returned, another one with the same \a max changes nothing that list_state() lists,
     * and asks for the same. So a run that is to end need not tell its last batch. A tell that was stopped
     * has changed nothing of that list. An ask that was stopped may have: the next one goes on from there.
     * Set where a tell takes long. */
    bool asks_again;

    const struct emp_method_learning
        *learning; /**< of a learner; NULL: it has no weights */

    /** Methods that this one has propose in turn, with a NULL behind the last. */
    const struct emp_method *const *members;
    /** The member whose placement is the best so far; NULL: there are no scores yet. */
    const struct emp_method *(*winner)(const void *state);

    /** It is no part of the program, so that a run which it fails in the middle of keeps what was found. */
    bool     is_outside;
    uint64_t code_hash; /**< of the files with its code; 0 if they are not known */
} emp_method;

/** The candidates of one ask at most: EMP_MAX_BATCH, fewer on graphs so large that candidates would take more memory than
 * the graph, and one of a type with place(). */
int32_t emp_method_batch_limit(const emp_method *type, int32_t op_count);

/** These four do what a type's own functions do, on a state that the first allocates and the
 * last frees; NULL is no state. For a type with place() they compute the placement when the
 * state is created, give it once, and learn nothing.
 * \retval EMP_EUNSUPPORTED  The parameters want a decision or have a start or weights that are
 *                           not for the type.
 * \retval EMP_EINVAL        The type has init() and no state_bytes; the weights are of other
 *                           networks; or what its functions say. */
emp_status emp_method_create(void **state, const emp_method *type,
                             const emp_problem *problem, const emp_method_params *params,
                             emp_error *err);
emp_status emp_method_ask(const emp_method *type, void *state,
                          const emp_owned_decision *candidates, int32_t max,
                          int32_t *count, emp_error *err);
emp_status emp_method_tell(const emp_method *type, void *state, const emp_score *scores,
                           int32_t count, emp_error *err);
void       emp_method_destroy(const emp_method *type, void *state);

/** Fills a method's own \a options from preset and text of \a params, as its table says;
 * NULL for a method without any.
 * \retval EMP_EINVAL  See emp_options_parse(). */
emp_status emp_method_options_parse(void *options, const emp_method *type,
                                    const emp_method_params *params, emp_error *err);

/* Whether what a restored state holds makes sense: it may come from anywhere (emp_method's list_state()). */

/** Whether a count is one that a run can have come to: more can be added without overflow. */
static inline bool emp_count_is_valid(int64_t count)
{
    return count >= 0 && count <= INT64_C(1) << 53;
}

/** Whether all of \a count choices are in 0 .. \a choices - 1. */
static inline bool emp_choices_are_valid(const int32_t *choice, int64_t count,
                                         int32_t choices)
{
    for (int64_t i = 0; i < count; i++)
        if (choice[i] < 0 || choice[i] >= choices) return false;
    return true;
}

/* The part of a method that only learners have: weights that other graphs can begin with, imitation of examples,
 * and updates that several ranks make together. */

/** How several ranks (run/ranks/ranks.h), each with a state of its own, make one update:
 *
 *     each: backward();  the arrays of list_gradient() are added over ranks;  each: step()
 *
 * tell() is backward() of the state's own candidates, and step(). */
typedef struct {
    /** Leaves the gradient of the state's own part of an update. \a scores has all \a
     * count candidates of it, in order of ranks; from \a first on stand the \a own that
     * were asked of this state last; with none of them it is 0. */
    emp_status (*backward)(void *state, const emp_score *scores, int32_t count,
                           int32_t first, int32_t own, emp_error *err);
    /** Changes the parameters by the gradient. */
    void (*step)(void *state);
    /** As list_state(): what backward() leaves for step(). A sum over ranks is meant, also
     * of integers: a flag is set when it is not 0. */
    int32_t (*list_gradient)(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);
    /** As list_state(): what of later asks and updates step() changes, without what only
     * step() itself reads. */
    int32_t (*list_values)(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);
} emp_method_sharing;

typedef struct emp_method_learning {
    /** OPTIONAL. Lists, as list_state(), what of the state is worth having on another problem:
     * parameters, and the moments of their optimizer. Sizes follow from the options, and at most
     * from the number of devices. A change in what the numbers mean takes another name. There are
     * no arrays where the options make networks that fit only one graph. */
    int32_t (*list_weights)(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS]);
    /** The only options with which list_weights() has arrays, "features=costs"; NULL: it has some with
     * any. */
    const char *weights_options;

    /** OPTIONAL. One supervised step of its weights towards an example, which has
     * all that is decided and is legal; no score is needed. \return through \a loss how far from
     * it the policy was before. Called between a tell and an ask, and before the first ask.
     * EMP_EINTERRUPTED needs no sentence: the weights are as before. */
    emp_status (*imitate)(void *state, const emp_owned_decision *example, double *loss,
                          emp_error *err);

    /** OPTIONAL; without it a run has one rank. */
    const emp_method_sharing *sharing;
} emp_method_learning;

/** Whether the method has weights, with some options at least. */
bool emp_method_has_weights(const emp_method *type);
/** Whether the weights of a state fit another graph. \retval EMP_EUNSUPPORTED  They do not. */
emp_status emp_method_check_weights(const emp_method *type, void *state, emp_error *err);

/** Copies the weights of a state (emp_weights_take()), with the method's name.
 * \retval EMP_EUNSUPPORTED  They fit no other graph. \retval EMP_EINVAL, EMP_ENOMEM */
emp_status emp_method_take_weights(emp_weights *weights, const emp_method *type,
                                   void *state, emp_error *err);

#endif /* EMP_SEARCH_METHOD_H */
