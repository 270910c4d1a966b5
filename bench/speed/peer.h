/** \file bench/speed/peer.h
 * Simulators that run as programs of their own: SimGrid in two usages, and Python. Each reads
 * a placed problem from a file and prints its CPU time, which starts when the file is read.
 */
#ifndef EMP_BENCH_SPEED_PEER_H
#define EMP_BENCH_SPEED_PEER_H

#include "sim/problem/problem.h"

typedef enum {
    EMP_PEER_SIMGRID_FIFO, /**< queues in callbacks of completion; the rules of `ideal` */
    EMP_PEER_SIMGRID_DAG,  /**< all activities at once, resources shared fairly */
    EMP_PEER_PYTHON        /**< the rules of `ideal` with heapq */
} emp_peer_kind;

typedef struct {
    double      cpu_s;
    emp_time_ns step_time_ns;
    int64_t     peak_bytes[EMP_MAX_DEVICES]; /**< Python only; else zeros */
} emp_peer_run;

/** NULL, or the sentence that says why the peer cannot run here; static storage. */
const char *emp_peer_absence(emp_peer_kind kind);

/** Runs a step after one to warm up. The runtime of \a problem is `ideal`, and its graph has no
 * collectives. \retval EMP_ENOMEM \retval EMP_EIO \retval EMP_EEXTERNAL */
emp_status emp_peer_measure(emp_peer_run *run, emp_peer_kind kind,
                            const emp_problem *problem, const emp_device_id *device_of_op,
                            emp_error *err);

#endif /* EMP_BENCH_SPEED_PEER_H */
