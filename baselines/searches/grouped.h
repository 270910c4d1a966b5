/** \file baselines/searches/grouped.h
 * Searches over groups: a placement is one device for each group of ops.
 *
 * A method's state begins with its emp_grouped, so that emp_grouped_metrics() serves it.
 */
#ifndef EMP_BASELINES_SEARCHES_GROUPED_H
#define EMP_BASELINES_SEARCHES_GROUPED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "search/groups/class_groups.h"
#include "search/method.h"

enum { EMP_GROUPED_METRICS = 3 };

typedef struct {
    emp_class_grouping kind;
    int32_t            count; /**< groups at most */
} emp_grouped_options;

typedef struct {
    const emp_problem *problem; /**< borrowed */
    int32_t            device_count;
    emp_members        ops; /**< of each group */
    uint64_t           own_hash;
    int64_t            groups_hash;  /**< own_hash, or a restored state's */
    int32_t            sample_count; /**< of the last ask */
    emp_method_metric  metric[EMP_GROUPED_METRICS];
} emp_grouped;

/** Rows of a method's options; \a at is the emp_grouped_options in its struct \a type. */
#define EMP_GROUPED_OPTIONS(type, at)                                  \
    EMP_WORD_OPTION("groups", type, at.kind, EMP_CLASS_GROUPING_WORDS, \
                    "how groups are made; colocrl: by its rules",      \
                    EMP_CLASS_GROUPS_METIS),                           \
        EMP_INTEGER_OPTION("count", type, at.count, 1, 1 << 14, "groups at most", 24)

/** \a problem is borrowed. \retval EMP_ENOMEM, and as for class_groups.h */
emp_status emp_grouped_init(emp_grouped *grouped, const emp_problem *problem,
                            const emp_grouped_options *options,
                            const emp_method_params *params, emp_error *err);
void       emp_grouped_clear(emp_grouped *grouped); /**< legal after a failed init */

/** \retval EMP_EFORMAT  The restored state of \a method is of other groups. */
emp_status emp_grouped_check(const emp_grouped *grouped, const char *method,
                             emp_error *err);
/** Places every op as its group; ops in none go to device 0, from which legalization
 * sends them on. O(V). */
void emp_grouped_place(const emp_grouped *grouped, const int32_t *device_of_group,
                       emp_device_id *device_of_op);
/** Fills cost_s with emp_penalized_s() of each score.
 * \retval EMP_EINVAL  Not as many as were asked for. */
emp_status emp_grouped_begin_tell(emp_grouped *grouped, const emp_score *scores,
                                  int32_t count, double *cost_s, emp_error *err);

/** For the table of a method: its own metric, "mean_cost_s" and "groups". */
const emp_method_metric *emp_grouped_metrics(const void *state, int32_t *count);

/* Proximal policy optimisation (Schulman et al., 2017) of a table of independent choices:
 * p[group][device] = softmax of logits[group][device].
 *
 * With r_k = prod_g p[g][d_kg] / p_old[g][d_kg] of sample k and its advantage A_k, it
 * climbs
 *
 *     J = 1/K sum_k min(r_k A_k, clip(r_k, 1 - c, 1 + c) A_k)
 *
 *     dJ / dlogit[g][d] = 1/K sum_k r_k A_k ([d = d_kg] - p[g][d])
 *
 * where the sum is over the samples whose ratio is not clipped. */

typedef struct {
    int32_t        groups, devices, samples;
    const int32_t *choice;    /**< [sample][group] device */
    const double  *old_log_p; /**< [sample] of the whole placement */
    const double  *advantage; /**< [sample] */
    double         clip;
} emp_ppo_batch;

/** Softmax of a row. */
void emp_ppo_softmax(const double *logits, int32_t devices, double *p);

/** Logarithm of the probability of a placement. O(groups x devices). */
double emp_ppo_log_p(const double *logits, int32_t groups, int32_t devices,
                     const int32_t *choice);

/** J, and its gradient [group][device]. O(samples x groups x devices). */
double emp_ppo_objective(const emp_ppo_batch *batch, const double *logits,
                         double *gradient);

/* The elite of a search: the best placements so far, best first. A placement is an array of
 * choices, such as a device for each group, whose meaning only the owner knows. */

/** A checkpoint keeps count, choice and step_time_s, and width where it changes. */
typedef struct {
    int32_t  capacity, max_width;
    int32_t  width;       /**< choices of a placement, at most max_width */
    int64_t  count;       /**< placements held */
    int32_t *choice;      /**< [elite][width]; room for capacity x max_width */
    double  *step_time_s; /**< [elite], ascending; all differ */
} emp_elites;

/** Room for \a capacity placements of at most \a max_width choices; both at least 1.
 * \retval EMP_ENOMEM */
emp_status emp_elites_init(emp_elites *elites, int32_t capacity, int32_t max_width,
                           emp_error *err);
void       emp_elites_clear(emp_elites *elites); /**< legal after a failed init */

/** Forgets all; the next have \a width choices, at most max_width. */
void emp_elites_restart(emp_elites *elites, int32_t width);

/** Keeps a copy of \a choice if it is among the best. The first of several placements of one
 * step time stays: they are hardly ever two. Returns whether it was kept.
 * O(capacity x width). */
bool emp_elites_keep(emp_elites *elites, const int32_t *choice, double step_time_s);

/** The choices of an elite, of which 0 is the best; valid until another is kept. */
const int32_t *emp_elites_at(const emp_elites *elites, int64_t index);

/** Whether count and width are in range and all choices are in 0 .. \a choices - 1: a
 * restored state may come from anywhere. */
bool emp_elites_are_valid(const emp_elites *elites, int32_t choices);

#endif /* EMP_BASELINES_SEARCHES_GROUPED_H */
