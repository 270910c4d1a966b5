/** \file sim/problem/placement_rules.h
 * Rules of placement files: which ops go to which device, by their names. The first rule that
 * matches an op decides; the default device takes what no rule matches.
 *
 *     format: "emplace-placement-1"
 *     rules:
 *       - {op: "global_step", device: "cpu:0"}            # this op
 *       - {glob: "*coder_1*", device: "gpu:0"}            # * is any text, ? one character
 *       - {regex: "/cell_[23](_1)?/", device: "gpu:1"}    # POSIX extended, anywhere in the name
 *     default: "gpu:0"
 *
 * A regular expression has no {m,n} and no back-references, whose cost has no bound.
 */
#ifndef EMP_SIM_PROBLEM_PLACEMENT_RULES_H
#define EMP_SIM_PROBLEM_PLACEMENT_RULES_H

#include "sim/problem/problem.h"

enum { EMP_PLACEMENT_MAX_RULES = 1000, EMP_PLACEMENT_PATTERN_BYTES = 1000 };

/** A rule as its file has it; texts are borrowed, NULL = the key is not there. */
typedef struct {
    const char *op, *glob, *regex; /**< just one of them */
    const char *device;
} emp_placement_rule;

typedef struct {
    const emp_placement_rule *rule;
    int32_t                   count;
    const char               *default_device; /**< or NULL */
} emp_placement_rules;

/** What is odd about a placement file that was read, for a warning. Zero-initialise. */
typedef struct {
    int32_t idle_count; /**< rules that place no op */
    char    idle[480];  /**< the first of them: "rule 2 ('x') matches no op" */
} emp_placement_report;

/** Places the ops that are on no device yet (-1). \a path is for messages. O(V rules).
 * \param report  NULL is fine.
 * \retval EMP_EFORMAT  A rule that says not just one pattern and a device of the machine, or ops
 *                      that nothing matches; the message names the rule, or the first op and how
 *                      many.
 * \retval EMP_ENOMEM */
emp_status emp_placement_rules_apply(emp_device_id             *device_of_op,
                                     const emp_placement_rules *rules, const char *path,
                                     const emp_problem    *problem,
                                     emp_placement_report *report, emp_error *err);

/** Whether the glob is the whole of the text. O(glob x text). */
bool emp_glob_matches(const char *glob, const char *text);

#endif /* EMP_SIM_PROBLEM_PLACEMENT_RULES_H */
