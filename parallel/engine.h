/** \file parallel/engine.h
 * The passes of a schedule on all ranks, or on one rank of each stage, in nanoseconds.
 *
 * A rank goes through the tasks of its stage, and a task through its parts. A part with a group begins when the last rank of
 * the group has come to it, and ends on all of them at once. The first part of a task waits for the neighbouring chunk's
 * pass of the same micro-batch on the rank with the same place in its stage, and for the message.
 *
 * Where all ranks of a stage do the same for the same time, one of them stands for all: a group's ranks then come to each
 * part at once, so that the part takes its own time only.
 */
#ifndef EMP_PARALLEL_ENGINE_H
#define EMP_PARALLEL_ENGINE_H

#include "parallel/schedule.h"
#include "parallel/work.h"

typedef struct {
    emp_group group;
    int64_t   ns;
} emp_part;

/** The parts of a pass. */
typedef struct {
    const emp_part *part;
    int32_t         count;
} emp_pass_parts;

typedef struct {
    const emp_pipeline_order *schedule;
    const emp_pass_parts     *pass; /**< [chunk * EMP_TURN_KINDS + kind] */
    int64_t                   send_ns;
    const int64_t             *
        stage_send_ns; /**< OPTIONAL. [stages] from each stage to the next one and back, in place of send_ns */
    int32_t         ranks; /**< of a stage that are simulated; 1 = one stands for all */
    emp_group_shape shape[EMP_GROUPS];
} emp_pipeline;

/** A task as it was run, for pictures. */
typedef struct {
    int32_t rank; /**< stage x ranks + place */
    int32_t kind, chunk, micro_batch;
    int64_t start_ns, end_ns;
} emp_turn_run;

typedef struct {
    int64_t end_ns;  /**< of the last rank of the stage */
    int64_t busy_ns; /**< of its first rank, without waiting */
} emp_stage_end;

/** Runs the pipeline. O(tasks x parts x ranks).
 * \param[out] stage  [stages] the caller's.
 * \param[out] run    [tasks x ranks], or NULL.
 * \retval EMP_EINVAL  The schedule never ends; the message names a stage and the task that waits.
 * \retval EMP_ENOMEM */
emp_status emp_pipeline_run(emp_stage_end *stage, emp_turn_run *run,
                            const emp_pipeline *pipeline, emp_error *err);

#endif /* EMP_PARALLEL_ENGINE_H */
