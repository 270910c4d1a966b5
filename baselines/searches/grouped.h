/** \file baselines/searches/grouped.h
 * What searches share whose placement is a device for each of some groups of ops.
 *
 * A method's state begins with its emp_grouped, so that emp_grouped_metrics() serves it.
 */
#ifndef EMP_BASELINES_SEARCHES_GROUPED_H
#define EMP_BASELINES_SEARCHES_GROUPED_H

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
    int64_t            groups_hash;  /**< own_hash, or that of a restored state */
    int32_t            sample_count; /**< of the last ask */
    emp_method_metric  metric[EMP_GROUPED_METRICS];
} emp_grouped;

/** Rows of a method's options; \a at is the emp_grouped_options in its struct \a type. */
#define EMP_GROUPED_OPTIONS(type, at)                                  \
    EMP_WORD_OPTION("groups", type, at.kind, EMP_CLASS_GROUPING_WORDS, \
                    "how groups are made; colocrl: by its rules",      \
                    EMP_CLASS_GROUPS_METIS),                           \
        EMP_INTEGER_OPTION("count", type, at.count, 1, 1 << 14, "groups at most", 24)

/** \a problem is borrowed. \retval EMP_ENOMEM, and those of class_groups.h */
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

#endif /* EMP_BASELINES_SEARCHES_GROUPED_H */
