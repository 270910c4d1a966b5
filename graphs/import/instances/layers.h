/** \file graphs/import/instances/layers.h
 * Measured layers of models on GPUs: a table with a row for a layer, or for a run of layers that are
 * alike. Columns are parted by tabs or commas, and found by their names:
 *
 *     model  gpu      tp  microbatch  layer_first  layer_last  fwd_s  bwd_s  update_s  params
 *     OPT    RTX4090  1   2           1            24          0.009  0.023  0.005     12596224
 *     act_out_elems  act_stored_elems
 *     2097152        90181632
 *
 * (Both header lines are one, and so are both rows.) Times are in seconds of a micro-batch. act_out_elems
 * and act_stored_elems count the elements of one sequence: what the layer passes on, and what it keeps
 * for the backward pass. All sizes belong to one GPU of a group that shares each layer, whose
 * size is tp. layer_first, layer_last, fwd_s and bwd_s are needed. An empty size is 0. A column that is
 * left out stands for "", 1 and 0. More columns are allowed; `table` tells apart several measurements
 * of one layer.
 *
 * Threads. Immutable after reading.
 */
#ifndef EMP_GRAPHS_IMPORT_INSTANCES_LAYERS_H
#define EMP_GRAPHS_IMPORT_INSTANCES_LAYERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text/csv.h"
#include "graphs/import/proto/wire.h"

/* In which order a stage of a pipeline does its work.
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

/** The most layers of a model. */
enum { EMP_LAYERS_MAX = 4096 };

/** The longest time and the largest number of elements that a row may have. */
#define EMP_LAYER_SECONDS_MAX  1e3
#define EMP_LAYER_ELEMENTS_MAX 1e12

/** A layer on one GPU of a group. */
typedef struct {
    double  forward_s, backward_s, update_s;
    int64_t parameters, output_elements, stored_elements;
} emp_layer;

/** A measured row. Texts are borrowed from the table. */
typedef struct {
    const char *table, *model, *gpu;
    int32_t     tensor_parallel, micro_batch;
} emp_layer_key;

typedef struct {
    emp_layer_key key;
    int32_t       first, last;
    emp_layer     layer;
} emp_layer_row;

/** Zero-initialise; emp_layer_table_clear() releases it, also after a failure. */
typedef struct {
    emp_csv        csv;
    emp_layer_row *row;
    int32_t        row_count;
} emp_layer_table;

/** Reads a table from memory; \a path is for messages. O(size).
 * \retval EMP_EFORMAT  The message names the file, the row and the column. \retval EMP_ENOMEM */
emp_status emp_layer_table_parse(emp_layer_table *t, emp_slice file, const char *path,
                                 emp_error *err);

void emp_layer_table_clear(emp_layer_table *t);

/** Whether a row is of \a key; a text that is NULL there, or a number that is 0, is of any. */
bool emp_layer_row_is(const emp_layer_row *row, const emp_layer_key *key);

/** The layers of a model, from layer 0 on. The first of several rows for one layer counts.
 * \param[out] layers  [*count] the caller's, to be released by emp_free().
 * \retval EMP_EINVAL  There is no such layer, or one is missing; the message names both.
 * \retval EMP_ENOMEM */
emp_status emp_layer_table_select(emp_layer **layers, int32_t *count,
                                  const emp_layer_table *t, const emp_layer_key *key,
                                  emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_INSTANCES_LAYERS_H */
