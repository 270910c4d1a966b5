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

#include "sim/problem/placement_rules.h"

#define EMP_PLACEMENT_FORMAT "emplace-placement-1"

/** A placement by names, as files hold it. Everything is borrowed. */
typedef struct {
    const char          *workload, *machine;
    uint64_t             run; /**< a number of the run that found it; 0: none is said */
    double               step_time_s; /**< below 0: it does not fit in memory */
    int32_t              device_count, op_count;
    const char          *device_name[EMP_MAX_DEVICES];
    const char *const   *op_name;      /**< [op] */
    const emp_device_id *device_of_op; /**< [op] */
    const uint8_t       *level_of_op;  /**< [op]; NULL: first come, first served */
    const emp_op_id     *leader_of_op; /**< [op]; NULL: no op is fused */
} emp_named_placement;

/** The names of a placement of the problem, without levels and leaders; they must stay while they are used. */
emp_named_placement emp_placement_name(const emp_problem   *problem,
                                       const emp_device_id *device_of_op,
                                       double               step_time_s);

/** Writes a placement file, whole or not at all. O(V).
 * \retval EMP_EINVAL  An op is on no device, or a name is no UTF-8; the message says which. */
emp_status emp_placement_write(const char *path, const emp_named_placement *placement,
                               emp_error *err);

/** The run that a placement file names; 0 if it is no such file or names none. */
uint64_t emp_placement_run(const char *path);

/** Fills device_of_op[op_count] from a file, or from a split of an instance (split.h). A file
 * lists ops by their devices, as above, or has rules for those that it does not list
 * (placement_rules.h), in JSON or YAML. A split may leave out what its colour class places.
 * \param report  What is odd about rules; NULL is fine.
 * \retval EMP_EIO      No such file.
 * \retval EMP_EFORMAT  Not such a file, an unknown op or device, or ops left out; the message
 *                      names it, or the first op and how many. */
emp_status emp_placement_read(emp_device_id *device_of_op, const char *path,
                              const emp_problem *problem, emp_placement_report *report,
                              emp_error *err);

/** Fills level_of_op[op_count] from a placement file, and says whether it has levels.
 * \retval EMP_EIO, EMP_EFORMAT, EMP_ENOMEM  As emp_placement_read(). */
emp_status emp_placement_read_levels(uint8_t *level_of_op, bool *has_levels,
                                     const char *path, const emp_graph *graph,
                                     emp_error *err);

/** Fills leader_of_op[op_count] from a placement file, and says whether it has leaders. Whether
 * their sets are legal is for emp_fusion_check() to say.
 * \retval EMP_EIO, EMP_EFORMAT, EMP_ENOMEM  As emp_placement_read(). */
emp_status emp_placement_read_leaders(emp_op_id *leader_of_op, bool *has_leaders,
                                      const char *path, const emp_graph *graph,
                                      emp_error *err);

/** What a placement was made for, as its file says; "" = it does not. */
typedef struct {
    char workload[256], machine[64];
} emp_placement_origin;

/** \retval EMP_EIO, EMP_EFORMAT, EMP_ENOMEM  As emp_placement_read(). */
emp_status emp_placement_read_origin(emp_placement_origin *origin, const char *path,
                                     emp_error *err);

#endif /* EMP_SIM_PROBLEM_PLACEMENT_H */
