/** \file replay/backend.h
 * What the executor needs of a kind of hardware: memory, queues that do work in order,
 * and copies between memories. One const table per backend; the machine's host CPUs are
 * driven by the executor's own threads (cpu/kernels.h) under every backend.
 *
 * A *queue device* is a GPU: work is enqueued and done later, in order. Every other
 * device is a group of cores. A copy begins when all that was enqueued before at both of
 * its ends is done, as TensorFlow's copy streams do; the backend says when it is there.
 *
 * Threads. open, close, reserve, begin_step, end_step and times are called by one thread,
 * while no step runs; enqueue by one thread per device; the rest by any.
 */
#ifndef EMP_REPLAY_BACKEND_H
#define EMP_REPLAY_BACKEND_H

#include "replay/plan/plan.h"

/** When things happened in a step, in ns since it began. Rows of ops that run on cores
 * are the executor's. */
typedef struct {
    int64_t *op_start_ns, *op_end_ns; /**< [op]; end 0: did not run, or takes no time */
    int64_t *copy_start_ns, *copy_end_ns; /**< [copy] */
} emp_replay_times;

/** The notifications of a backend to the executor, from any thread. */
typedef struct {
    void *executor;
    /** The bytes of a copy are there. */
    void (*copied)(void *executor, int32_t copy);
    /** The step cannot go on. */
    void (*failed)(void *executor, const emp_error *why);
} emp_replay_hooks;

typedef struct {
    const char *name; /**< "cpu", "cuda" */

    /** \a plan, \a options and \a hooks are borrowed until close.
     * \retval EMP_EUNSUPPORTED  The hardware is not there; the message says what is. */
    emp_status (*open)(void **state, const emp_replay_plan *plan,
                       const emp_replay_options *options, const emp_replay_hooks *hooks,
                       emp_error *err);
    void (*close)(void *state); /**< NULL is allowed */

    /** Describes a device for a result file: "cores 0,1", "NVIDIA H200". */
    void (*describe)(const void *state, int32_t device, char *text, size_t size);

    /** A region of that memory of *bytes; the backend releases it. A GPU that has less left
     * gives what it has. Host memory can be read and written by the caller. \retval
     * EMP_ENOMEM  The message says of what. */
    emp_status (*reserve)(void *state, int32_t memory, int64_t *bytes, void **region,
                          emp_error *err);

    bool (*is_queue)(const void *state, int32_t device);

    /** Puts an op at the end of a queue device's queue. */
    emp_status (*enqueue)(void *state, int32_t device, int32_t op,
                          const emp_kernel_call *call, emp_error *err);

    /** Starts a copy of the plan; hooks->copied tells its end. */
    emp_status (*copy)(void *state, int32_t copy, const void *from, void *to,
                       emp_error *err);

    /** Waits until all that a queue device was given is done. */
    emp_status (*drain)(void *state, int32_t device, emp_error *err);

    /** Synchronous access to any memory, for setting up and for checks. */
    emp_status (*read)(void *state, int32_t memory, const void *from, void *to,
                       int64_t bytes, emp_error *err);
    emp_status (*write)(void *state, int32_t memory, void *to, const void *from,
                        int64_t bytes, emp_error *err);

    /** Around each step; \a start_ns is emp_replay_now_ns() of its beginning. With
     * \a is_timed the times of ops on queue devices are wanted. */
    emp_status (*begin_step)(void *state, int64_t start_ns, bool is_timed,
                             emp_error *err);
    /** All that was given is done. */
    emp_status (*end_step)(void *state, emp_error *err);
    /** The times of the last step: copies always, ops of queue devices if it was timed. An op begins
     * when the queue comes to it: on an empty queue the host's launch is part of it. */
    emp_status (*times)(void *state, emp_replay_times *times, emp_error *err);
} emp_replay_backend;

/** Groups of cores for all devices, GPUs included. */
extern const emp_replay_backend emp_replay_cpu;

/** Real GPUs; NULL in a build without CUDA. */
extern const emp_replay_backend *const emp_replay_cuda;

#endif /* EMP_REPLAY_BACKEND_H */
