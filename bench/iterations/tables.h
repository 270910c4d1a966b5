/** \file bench/iterations/tables.h
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
#ifndef EMP_BENCH_ITERATIONS_TABLES_H
#define EMP_BENCH_ITERATIONS_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
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

/* Measurements of a network are two tables:
 *
 *  - fits: columns scope, zone_from, zone_to, gpu_from, gpus_from, gpu_to, gpus_to, c2, c1, c0,
 *    max_bytes_per_s. So many GPUs of a host send together at c2 x^2 + c1 x + c0 GB/s in all, with x =
 *    log2(bytes / 1e6), and at most at the greatest rate. Rows of scope "inter" within a zone count, and
 *    the first of them;
 *  - collectives: columns gpu, op, dtype, gpus, bytes, us, of one host. Rows of dtype "float" count.
 *    Between two sizes the logarithm of the time is linear in the logarithm of the size. */

typedef struct emp_network emp_network;

/** A network of which nothing is known. \param[out] out  The caller's. \retval EMP_ENOMEM */
emp_status emp_network_create(emp_network **out, emp_error *err);
/** NULL is allowed. */
void emp_network_destroy(emp_network *network);

/** Adds a table of fits. \retval EMP_EFORMAT  The message names the file and the row. */
emp_status emp_network_add_fits(emp_network *network, const char *bytes, size_t size,
                                const char *path, emp_error *err);
/** Adds a table of collectives. \retval EMP_EFORMAT  Likewise. */
emp_status emp_network_add_collectives(emp_network *network, const char *bytes,
                                       size_t size, const char *path, emp_error *err);

/** Seconds in which the GPUs of one host send that many bytes, all in all, to the GPUs of another. A pair
 * that was measured only the other way round takes as long, and one that was not measured with so many
 * GPUs takes as long as with the most that were. O(fits).
 * \retval EMP_EUNSUPPORTED  The network has no pair of such GPUs. */
emp_status emp_network_send(double *seconds, const emp_network *network,
                            const emp_tensor_group *from, const emp_tensor_group *to,
                            double bytes, emp_error *err);

/** Seconds in which the GPUs of a host gather that many bytes, the whole. 0 with one GPU, and without a
 * table of collectives. O(rows). \retval EMP_EUNSUPPORTED  The table has no such GPUs. */
emp_status emp_network_gather(double *seconds, const emp_network *network,
                              const emp_tensor_group *group, double bytes,
                              emp_error *err);

#endif /* EMP_BENCH_ITERATIONS_TABLES_H */
