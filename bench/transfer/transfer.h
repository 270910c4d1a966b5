/** \file bench/transfer/transfer.h
 * What transfer is worth: a learner is trained on some tasks and then places others, beside
 * itself untrained, searches with equal samples, and methods that need one.
 *
 * For each target, training and number of samples:
 *
 *     trained      the learner begins with the weights; one sample is zero-shot
 *     untrained    the same learner begins with those that its seed draws
 *     random, anneal
 *     anneal from trained    annealing starts at the trained learner's placement of the least budget
 *     anneal from m-sct      annealing starts at m-SCT's
 *     anneal from the best proposed      annealing starts at the best of the following
 *     anneal from frequencies     annealing starts where a table of what was imitated has most ops
 *                                 of each kind (emp_frequencies_place()); one sample is the table alone
 *     m-sct, m-etf, heft, metis, scotch, mincut, acyclic, expert     one sample
 *
 * N_eq is how many samples annealing needs to be as good as the trained learner with the least
 * budget (its median over seeds).
 */
#ifndef EMP_BENCH_TRANSFER_TRANSFER_H
#define EMP_BENCH_TRANSFER_TRANSFER_H

#include "bench/trials/statistics.h"
#include "run/jobs/jobs.h"
#include "run/sheet/sheet.h"

enum { EMP_SPLIT_TASKS = 12 /**< most of either side */ };

/** The tasks that a learner is trained on, and those that it has never seen (splits.c). */
typedef struct {
    const char *name, *description;
    const char *training_runtime, *target_runtime;
    int32_t     training_count, target_count;
    emp_task    training[EMP_SPLIT_TASKS], target[EMP_SPLIT_TASKS];
} emp_split;

/** \retval EMP_EINVAL  There is no such split; the message lists what there is. */
emp_status emp_split_find(const emp_split **split, const char *name, emp_error *err);

enum {
    EMP_TRANSFER_BUDGETS = 6,
    EMP_TRANSFER_TRAININGS = 16,
    EMP_TRANSFER_IMITATED = 256
};

typedef struct {
    const emp_task *task; /**< NULL: over all targets of the split, ratios alone */
    const char     *arm;
    const char     *method; /**< the learner; NULL of other arms */
    int64_t         budget; /**< samples; 1 of methods that propose once */
    emp_summary     step_s; /**< over trainings or seeds; infinite: it does not fit */
    emp_ratio       ratio;  /**< of the median to the best of those that propose once */
    double          equal;  /**< N_eq; NaN where it is not asked, infinite: not within the
                                 largest budget */
} emp_transfer_row;

typedef struct {
    const emp_split  *split;
    int64_t           training_budget;
    char              imitated[EMP_TRANSFER_IMITATED]; /**< "refine:1000:300", or "" */
    int32_t           trainings;
    int32_t           row_count;
    emp_transfer_row *row;
} emp_transfer_table;

typedef struct {
    const char *split;
    const char *methods; /**< learners, comma-separated */
    const char *preset;  /**< of them, or NULL */
    const char *options; /**< likewise */
    /** Evaluations of a training, at least 1; after imitation 0 is possible, too. */
    int64_t training_budget;
    const char
        *imitate; /**< OPTIONAL. A method whose placements are imitated first ... */
    const char *imitation_options; /**< ... with these options, or NULL ... */
    int64_t imitation_budget; /**< ... the best after so many evaluations a task ... */
    int64_t imitation_rounds; /**< ... in so many steps a task */
    bool    has_frequencies;  /**< also place by a table of what is imitated */
    int32_t trainings;        /**< of each learner, and seeds of all others */
    int64_t budget[EMP_TRANSFER_BUDGETS]; /**< ascending */
    int32_t budget_count;
    emp_jobs_params jobs; /**< weights lie in its folder, too */
} emp_transfer_params;

/** Trains, places and compares. Weights of an equal training that are in the folder are read.
 * \retval EMP_EINVAL       An unknown split or method, networks that do not fit a target, or
 *                          frequencies without imitation.
 * \retval EMP_EUNSUPPORTED A method without weights, or one that cannot imitate.
 * \retval EMP_EINTERRUPTED \a stop was set, or there are shards; there is no table. */
emp_status emp_transfer_make(emp_transfer_table **out, const emp_transfer_params *params,
                             emp_error *err);
void       emp_transfer_destroy(emp_transfer_table *table);

/** Writes the table. \retval EMP_ENOMEM */
emp_status emp_transfer_print(FILE *out, const emp_transfer_table *table,
                              emp_sheet_format format, emp_error *err);

enum { EMP_FREQUENCY_TENTHS = 10 };

/** Places the target by the table of the examples. A kind of op that the examples lack is taken for one of
 * the nearest tenth, and a type that they lack goes where most ops are. The placement is legal.
 *
 * \param[out] device_of_op  [target's op]
 * \param      problem       [count] what the examples place
 * O(V + E) of all graphs, and devices for each kind of op.
 * \retval EMP_ENOMEM */
emp_status emp_frequencies_place(emp_device_id *device_of_op, const emp_problem *target,
                                 const emp_problem *const *problem,
                                 const emp_owned_decision *example, int32_t count,
                                 emp_error *err);

#endif /* EMP_BENCH_TRANSFER_TRANSFER_H */
