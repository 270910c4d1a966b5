/** \file bench/micro/plain.h
 * A problem as the rules of the profile `ideal` need it, in plain arrays that say nothing
 * of the engine's: folded ops are gone, the rest is numbered topologically, and an op has
 * one time per kind of device. What the oracle's peers read.
 */
#ifndef EMP_BENCH_MICRO_PLAIN_H
#define EMP_BENCH_MICRO_PLAIN_H

#include <stdio.h>

#include "sim/problem/problem.h"

/** What output 0 of an op is. */
typedef enum {
    EMP_PLAIN_NEW,
    EMP_PLAIN_SHARES_INPUT,
    EMP_PLAIN_NO_BYTES
} emp_plain_first;

/** Rows begin at input, output, follower and end where the next op's begin. */
typedef struct {
    emp_time_ns     gpu_ns, cpu_ns; /**< from its start to its end */
    int64_t         workspace_bytes, persistent_bytes;
    int32_t         input, output, follower;
    int32_t         missing; /**< inputs and control inputs */
    emp_plain_first first;
} emp_plain_op;

typedef struct {
    int64_t bytes, buffer_copy_bytes; /**< whole granules */
    int64_t copy_bytes;               /**< what moves */
    int32_t producer, reader;         /**< readers' row */
    bool    on_host;
} emp_plain_tensor;

/** One end of an edge: the op or the tensor at the other end. */
typedef struct {
    int32_t id;
    bool    on_host; /**< read in host memory, wherever the reader is */
} emp_plain_edge;

typedef struct {
    emp_time_ns latency_ns;
    double      ns_per_byte;
    int32_t     link_count;
    int32_t     link[EMP_MAX_ROUTE];
} emp_plain_route;

typedef struct {
    int32_t           op_count, tensor_count, edge_count, control_count;
    int32_t           device_count, link_count;
    int32_t           host[EMP_MAX_DEVICES]; /**< [device] a CPU; its own of a CPU */
    emp_op_id        *id_of_op;
    emp_plain_op     *op;       /**< [op + 1] */
    emp_plain_tensor *tensor;   /**< [tensor + 1] */
    emp_plain_edge   *input;    /**< tensors */
    emp_plain_edge   *reader;   /**< ops, by graph id and input */
    int32_t          *follower; /**< ops that wait by control edges, by graph id */
    emp_plain_route   route[EMP_MAX_DEVICES][EMP_MAX_DEVICES];
} emp_plain;

/** O(V + E). \retval EMP_EUNSUPPORTED  The problem's runtime has other rules. */
emp_status emp_plain_create(emp_plain **out, const emp_problem *problem, emp_error *err);
void       emp_plain_destroy(emp_plain *plain);

/** Memory in which an op on \a device reads \a edge. */
static inline int32_t emp_plain_memory_read(const emp_plain *p, emp_plain_edge edge,
                                            int32_t device)
{
    return edge.on_host ? p->host[device] : device;
}

static inline bool emp_plain_is_cpu(const emp_plain *p, int32_t device)
{
    return p->host[device] == device;
}

/** Writes a placed problem for the peers in other languages: lines of whole numbers,
 * which bench/micro/README.md describes. */
void emp_plain_write(const emp_plain *plain, const emp_device_id *device_of_op,
                     FILE *stream);

#endif /* EMP_BENCH_MICRO_PLAIN_H */
