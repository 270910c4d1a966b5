/** \file parallel/schedule.h
 * The order in which the stages of a pipeline go through their passes.
 *
 * A chunk is a part of the model on one stage: pp of them, or pp x vp where each stage has several, or 2 pp where
 * micro-batches enter from both ends. A pass waits for that of the neighbouring chunk, and otherwise a stage follows its
 * list.
 */
#ifndef EMP_PARALLEL_SCHEDULE_H
#define EMP_PARALLEL_SCHEDULE_H

#include "parallel/degrees.h"

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

#endif /* EMP_PARALLEL_SCHEDULE_H */
