/** \file graphs/import/traces/kineto/kineto.h
 * What PyTorch's profiler (Kineto) writes, in Chrome's format: what the host's threads did,
 * what they asked of the GPUs, and what ran there.
 *
 *     {"deviceProperties": [{"id": 0, "name": "NVIDIA A100", ...}],
 *      "traceEvents": [
 *       {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 10.5,
 *        "dur": 30, "args": {"External id": 2, "Record function id": 5}},
 *       {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7,
 *        "ts": 20, "dur": 6, "args": {"correlation": 99}},
 *       {"ph": "X", "cat": "kernel", "name": "volta_sgemm", "pid": 0, "tid": 7, "ts": 27,
 *        "dur": 140, "args": {"stream": 7, "correlation": 99}}, ...]}
 *
 * Times are in microseconds. The same names come from CUDA and from ROCm ("hipLaunchKernel"),
 * and traces of 2021 have other words for the categories ("Operator", "Kernel"). The file may
 * also be the bare list of events. Events of other categories are skipped.
 */
#ifndef EMP_GRAPHS_IMPORT_TRACES_KINETO_KINETO_H
#define EMP_GRAPHS_IMPORT_TRACES_KINETO_KINETO_H

#include "base/text/json.h"

typedef enum {
    EMP_KINETO_OP,     /**< an operator of PyTorch, on a thread of the host */
    EMP_KINETO_RANGE,  /**< a range that the program names, on a thread */
    EMP_KINETO_CALL,   /**< a call of the GPU's runtime, on a thread */
    EMP_KINETO_KERNEL, /**< on a stream of a GPU */
    EMP_KINETO_COPY,   /**< likewise */
    EMP_KINETO_SET     /**< likewise: memory filled with one byte */
} emp_kineto_kind;

typedef struct {
    emp_kineto_kind kind;
    int32_t         lane;     /**< index into lanes: its thread or its stream */
    const char     *name;     /**< borrowed from the document */
    int64_t         begin_ns; /**< since the first event of the trace */
    int64_t         end_ns;
    int64_t         correlation; /**< shared by a call and what it starts; -1 = none */
    int64_t         record; /**< an operator's number in an execution trace; -1 = none */
} emp_kineto_event;

/** A thread or a stream. */
typedef struct {
    int64_t process; /**< of a stream the GPU's number */
    int64_t number;
    bool    is_stream;
    int32_t index; /**< among the threads, or among the streams */
} emp_kineto_lane;

typedef struct {
    emp_kineto_event *event; /**< by begin, of equal ones the longer first */
    int32_t           event_count;
    emp_kineto_lane  *lane; /**< in the order of the file */
    int32_t           lane_count;
    const char       *gpu_name; /**< of the first GPU; NULL = not said */
} emp_kineto;

/** Reads the events. O(n log n). \a out is zeroed before; emp_kineto_clear() releases it, also
 * after a failure.
 * \retval EMP_EFORMAT       An event without what it must have; the message names the event.
 * \retval EMP_EUNSUPPORTED  More events or lanes than can be read. \retval EMP_ENOMEM */
emp_status emp_kineto_read(emp_kineto *out, const emp_json *root, emp_error *err);

void emp_kineto_clear(emp_kineto *trace);

#endif /* EMP_GRAPHS_IMPORT_TRACES_KINETO_KINETO_H */
