/** \file parallel/pipeline.h
 * Pipelines: the order in which their stages go through passes, and a run of it.
 */
#ifndef EMP_PARALLEL_PIPELINE_H
#define EMP_PARALLEL_PIPELINE_H

#include "parallel/work.h"

/* The order in which the stages of a pipeline go through their passes.
 *
 * A chunk is a part of the model on one stage: pp of them, or pp x vp where each stage has several, or 2 pp where
 * micro-batches enter from both ends. A pass waits for that of the neighbouring chunk, and otherwise a stage follows its
 * list. */

typedef enum {
    EMP_TURN_FORWARD,
    EMP_TURN_BACKWARD, /**< only the gradient of the input, where weights are apart */
    EMP_TURN_WEIGHT,
    EMP_TURN_KINDS
} emp_turn_kind;

typedef struct {
    int32_t kind, chunk, micro_batch;
} emp_turn;

/** Zero-initialise; emp_pipeline_order_clear() releases it, also after a failure. */
typedef struct {
    int32_t   stages, chunks, micro_batches;
    bool      has_weights; /**< gradients of weights are passes of their own */
    bool      is_blocking; /**< a sender waits until its message is there */
    int32_t   stage_of[EMP_CHUNKS_MAX];
    int32_t   before[EMP_CHUNKS_MAX], behind[EMP_CHUNKS_MAX]; /**< -1 = none */
    int32_t  *first; /**< [stages + 1] of each stage's tasks */
    emp_turn *task;
    int32_t   count, capacity;
} emp_pipeline_order;

/** The schedule of the degrees. \retval EMP_ENOMEM */
emp_status emp_pipeline_order_create(emp_pipeline_order *out, const emp_degrees *d,
                                     emp_error *err);

/** Reads a schedule of one's own: a YAML file with a list `stages` of texts "F0 F1 B0 W0 B1 W1", a pass and a micro-batch each,
 * and ".1" behind it for the second chunk of the stage.
 * \retval EMP_EFORMAT  The message names the file, the stage and the word, or the pass that is missing. */
emp_status emp_pipeline_order_load(emp_pipeline_order *out, const emp_degrees *d,
                                   const char *path, emp_error *err);

void emp_pipeline_order_clear(emp_pipeline_order *schedule);

/* A run has the passes of a schedule on all ranks, or on one rank of each stage, in nanoseconds.
 *
 * A rank goes through the tasks of its stage, and a task through its parts. A part with a group begins when the last rank of
 * the group has come to it, and ends on all of them at once. The first part of a task waits for the neighbouring chunk's
 * pass of the same micro-batch on the rank with the same place in its stage, and for the message.
 *
 * Where all ranks of a stage do the same for the same time, one of them stands for all: a group's ranks then come to each
 * part at once, so that the part takes its own time only. */

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

#endif /* EMP_PARALLEL_PIPELINE_H */
