/** \file bench/micro/peer.h
 * Oracles that run as programs of their own: SimGrid in two usages, and Python. Each gets
 * a placed problem in a file and tells its CPU time, which starts when the file is read.
 */
#ifndef EMP_BENCH_MICRO_PEER_H
#define EMP_BENCH_MICRO_PEER_H

#include "bench/micro/plain.h"

typedef enum {
    EMP_PEER_SIMGRID_FIFO, /**< queues in callbacks of completion; the rules of `ideal` */
    EMP_PEER_SIMGRID_DAG,  /**< all activities at once, resources shared fairly */
    EMP_PEER_PYTHON,       /**< the rules of `ideal` with heapq */
    EMP_PEER_COUNT
} emp_peer_kind;

typedef struct {
    double      cpu_s;
    emp_time_ns step_time_ns;
    int64_t     peak_bytes[EMP_MAX_DEVICES]; /**< Python only; else zeros */
} emp_peer_run;

/** NULL, or the sentence that says why the peer cannot run here; static storage. */
const char *emp_peer_absence(emp_peer_kind kind);

/** Runs a step, after one to warm up. \retval EMP_EIO \retval EMP_EEXTERNAL */
emp_status emp_peer_measure(emp_peer_run *run, emp_peer_kind kind, const emp_plain *plain,
                            const emp_device_id *device_of_op, emp_error *err);

#endif /* EMP_BENCH_MICRO_PEER_H */
