/** \file sim/problem/placement.h
 * Placement files: JSON that names each op and its device, or rules by names.
 *
 *     {"format": "emplace-placement-1", "workload": "nmt:layers=2", "machine": "k40x2",
 *      "step_time_s": 1.09, "devices": {"cpu:0": ["global_step", ...], "gpu:0": [...]},
 *      "levels": {"3": ["loss", ...], ...}, "leaders": {"loss": ["mul", ...], ...}}
 *
 * Levels are there if the order was decided, too (emp_decision); an op that none lists has
 * level 0. Leaders are there if the fusion was; an op that none lists leads itself.
 */
#ifndef EMP_SIM_PROBLEM_PLACEMENT_H
#define EMP_SIM_PROBLEM_PLACEMENT_H

#include "sim/problem/problem.h"

#define EMP_PLACEMENT_FORMAT "emplace-placement-1"

/*
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

/** The oddities of a placement file that was read, for a warning. Zero-initialise. */
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

/** A decision by names, as files hold it. Names and arrays are borrowed. */
typedef struct {
    emp_decision_origin origin;
    int32_t             device_count, op_count;
    const char         *device_name[EMP_MAX_DEVICES];
    const char *const  *op_name; /**< [op] */
    const emp_graph    *graph;   /**< OPTIONAL. With these ops, for their bytes */
    emp_decision        decision;
} emp_named_placement;

/** The names of a decision on the problem; they must stay while they are used. */
emp_named_placement emp_placement_name(const emp_problem  *problem,
                                       const emp_decision *decision, double step_time_s);

/** Writes a placement file, whole or not at all. O(V).
 * \retval EMP_EINVAL  An op is on no device, or a name is no UTF-8; the message says which. */
emp_status emp_placement_write(const char *path, const emp_named_placement *placement,
                               emp_error *err);

/** A placement file in memory. Its bytes are parsed once; what it was made for is known at once, what it
 * decides once there is a problem. */
typedef struct emp_placement_file emp_placement_file;

/** Parses a placement file, as above, or a split of an instance (split.h). It may have rules for ops that
 * it does not list (below), in JSON or YAML.
 * \param[out] out  The caller's, who destroys it; NULL after a failure.
 * \param path      For messages; borrowed.
 * \retval EMP_EFORMAT  Not such a file. \retval EMP_ENOMEM */
emp_status emp_placement_file_parse(emp_placement_file **out, const char *bytes,
                                    size_t size, const char *path, emp_error *err);
void       emp_placement_file_destroy(emp_placement_file *file); /**< NULL is allowed. */

/** Borrowed from the file. */
const emp_decision_origin *emp_placement_file_origin(const emp_placement_file *file);

/** Makes the decision of the file, with levels and leaders if it has them. Devices and leaders need not
 * be legal. A split may leave out what its colour class places. O(V rules).
 * \param[out] decision  Clear it afterwards, also after a failure.
 * \param report  What is odd about rules; NULL is fine.
 * \retval EMP_EFORMAT  An unknown op, device or level, one that is given twice, or ops left out; the
 *                      message names it, or the first op and how many. \retval EMP_ENOMEM */
emp_status emp_placement_file_decide(emp_owned_decision       *decision,
                                     const emp_placement_file *file,
                                     const emp_problem        *problem,
                                     emp_placement_report *report, emp_error *err);

/** Loads a file, packed by gzip or not, parses it and decides. \retval EMP_EIO  It cannot be read. */
emp_status emp_placement_read(emp_owned_decision *decision, const char *path,
                              const emp_problem *problem, emp_placement_report *report,
                              emp_error *err);

/** The run that a placement file names; 0 if it is no such file or names none. */
uint64_t emp_placement_run(const char *path);

#endif /* EMP_SIM_PROBLEM_PLACEMENT_H */
