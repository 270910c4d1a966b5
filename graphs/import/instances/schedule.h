/** \file graphs/import/instances/schedule.h
 * In which order a stage of a pipeline does its work.
 *
 *  - gpipe: all forward passes, then the backward passes from the last micro-batch on (Huang et al.,
 *    GPipe, NeurIPS 2019);
 *  - 1f1b: stage s of S begins with S - s forward passes at most, then does one backward pass and one
 *    forward pass in turn (Narayanan et al., PipeDream, SOSP 2019).
 *
 * The rule "1f1b" also says when neighbours exchange what, as DeepSpeed's TrainSchedule does
 * (deepspeed/runtime/pipe/schedule.py, 0.15): a stage sends what a pass made at the start of its next
 * step, and there a gradient is sent before an output is received, and received before one is sent.
 */
#ifndef EMP_GRAPHS_IMPORT_INSTANCES_SCHEDULE_H
#define EMP_GRAPHS_IMPORT_INSTANCES_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define EMP_SCHEDULE_WORDS "free|gpipe|1f1b"

typedef enum {
    EMP_SCHEDULE_FREE, /**< what is ready runs, first come, first served */
    EMP_SCHEDULE_GPIPE,
    EMP_SCHEDULE_1F1B
} emp_schedule;

typedef enum {
    EMP_TASK_FORWARD,
    EMP_TASK_BACKWARD,
    EMP_TASK_SEND_OUTPUT, /**< to the next stage, which receives it */
    EMP_TASK_RECEIVE_OUTPUT,
    EMP_TASK_SEND_GRADIENT, /**< to the stage before, which receives it */
    EMP_TASK_RECEIVE_GRADIENT
} emp_task_kind;

typedef struct {
    emp_task_kind kind;
    int32_t       micro_batch;
} emp_task;

/** The most tasks of a stage for each micro-batch. */
enum { EMP_TASKS_PER_MICRO_BATCH = 6 };

/** Lists the passes of a stage in their order. \a schedule is not EMP_SCHEDULE_FREE.
 * \param[out] task  [2 * micro_batches]. O(micro-batches). */
void emp_schedule_list_passes(emp_task *task, emp_schedule schedule, int32_t stage,
                              int32_t stages, int32_t micro_batches);

/** Lists passes and exchanges of the rule 1f1b. \param[out] task  [EMP_TASKS_PER_MICRO_BATCH *
 * micro_batches]. \return Their number. O(micro-batches + stages). */
int32_t emp_schedule_list_tasks(emp_task *task, int32_t stage, int32_t stages,
                                int32_t micro_batches);

#endif /* EMP_GRAPHS_IMPORT_INSTANCES_SCHEDULE_H */
