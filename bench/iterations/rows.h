/** \file bench/iterations/rows.h
 * Measured iterations of training on several GPUs, a row each, as tables of two forms:
 *
 *  - of layers that were measured one by one: columns id, cluster, model, global_batch, microbatch,
 *    stages, replicas, layers_per_stage ("12,14"), devices and iteration_s, perhaps peak_bytes,
 *    formula_s and formula_peak_bytes. `devices` has stages parted by ";", replicas of a stage by "+",
 *    each GPU*COUNT, the GPUs of a host that share all layers; or "all GPU*COUNT";
 *  - of transformers of given sizes: hidden, layers, heads, seq, tp, dp, pp, microbatch, microbatches,
 *    iteration_ms, perhaps billions.
 *
 * Fields may be empty where a column may be left out.
 */
#ifndef EMP_BENCH_ITERATIONS_ROWS_H
#define EMP_BENCH_ITERATIONS_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text/csv.h"

enum { EMP_ITERATION_STAGES_MAX = 64, EMP_ITERATION_REPLICAS_MAX = 1024 };

/** GPUs that share all layers of a stage. */
typedef struct {
    char    gpu[32];
    int32_t count;
} emp_tensor_group;

typedef struct {
    const char       *id, *cluster, *model; /**< borrowed from the table */
    int32_t           global_batch, micro_batch, stages, replicas, micro_batches;
    int32_t           layers_of_stage[EMP_ITERATION_STAGES_MAX];
    emp_tensor_group *group; /**< [stage * replicas + replica]; NULL of transformers */
    int32_t           hidden, heads, sequence, tensor_parallel; /**< of transformers */
    int32_t           layers;
    double            measured_s;
    double measured_peak_bytes, formula_s, formula_peak_bytes; /**< NaN = not given */
} emp_iteration;

/** Zero-initialise; emp_iterations_clear() releases it, also after a failure. */
typedef struct {
    emp_csv        csv;
    bool           are_transformers;
    emp_iteration *row;
    int32_t        count;
} emp_iterations;

/** Reads a table from memory; \a path is for messages. O(size).
 * \retval EMP_EFORMAT  The message names the file, the row and what is wrong. \retval EMP_ENOMEM */
emp_status emp_iterations_parse(emp_iterations *out, const char *bytes, size_t size,
                                const char *path, emp_error *err);

void emp_iterations_clear(emp_iterations *iterations);

#endif /* EMP_BENCH_ITERATIONS_ROWS_H */
