/** \file replay/execute.h
 * Executes a placed training step with real work and real dependencies, so that its time
 * can be measured. The rules follow a dataflow executor (docs/simulator.md has
 * the model of one), with real costs:
 *
 * - An op is ready when all that it reads lies in the memory where it reads it and all
 *   that it waits for is done. A device serves ready ops first come first served: a group
 *   of cores with a thread per core, which run ops side by side or cut one into tasks when
 *   there are more cores than ops; a queue device by a thread that enqueues them.
 * - An op on cores is done when it has run, on a queue device when it is enqueued.
 * - A tensor read in another memory is copied there once its producer is done; the
 *   backend's copy queues move it, and its readers are told when it is there.
 * - Outputs are allocated when the op begins, in the pool of their memory; inputs are
 *   released when it is done. The last release frees a buffer. Output 0 may take over the
 *   buffer of an input that no other op needs.
 *
 * An allocation that a device's memory cannot hold ends the step: a verdict, no error.
 *
 *     emp_replay *replay = NULL;
 *     EMP_TRY(emp_replay_create(&replay, plan, &emp_replay_cpu, &options, err));
 *     EMP_TRY(emp_replay_run(replay, &result, err));
 *     emp_replay_destroy(replay);
 *
 * It never looks into sim/engine: what is simulated and what is measured are independent.
 *
 * Threads. An emp_replay is confined to one thread, and has its own.
 */
#ifndef EMP_REPLAY_EXECUTE_H
#define EMP_REPLAY_EXECUTE_H

#include "replay/backend.h"
#include "replay/result.h"

typedef struct emp_replay emp_replay;

/** Part of an op on a core. */
typedef struct {
    int32_t op;
    int64_t start_ns, end_ns;
} emp_replay_slice;

/** The times of one core. */
typedef struct {
    int32_t           device, core; /**< core: 0 .. of this device */
    int32_t           count;
    emp_replay_slice *slice; /**< [count] in order */
} emp_replay_lane;

/** The bytes in use of a memory, after a change. */
typedef struct {
    int64_t at_ns, bytes;
} emp_replay_level;

typedef struct {
    int32_t           count;
    emp_replay_level *level; /**< [count] in order */
} emp_replay_levels;

/** The step that was timed. Times are ns since it began. */
typedef struct {
    emp_replay_times times; /**< of ops of queue devices, and of copies */
    int64_t         *issue_start_ns, *issue_end_ns; /**< [op] of queue devices; 0: none */
    int64_t          step_ns;
    int32_t          lane_count;
    emp_replay_lane *lane;
    emp_replay_levels levels[EMP_REPLAY_MAX_DEVICES]; /**< [memory] */
    bool              is_queue[EMP_REPLAY_MAX_DEVICES];
} emp_replay_timeline;

/** Reserves memory, sets variables up and starts threads. \a plan, \a options and
 * \a backend are borrowed and must outlive it.
 * \retval EMP_EUNSUPPORTED  A device is not there.
 * \retval EMP_ENOMEM        This computer has not as much memory as the step needs. */
emp_status emp_replay_create(emp_replay **out, const emp_replay_plan *plan,
                             const emp_replay_backend *backend,
                             const emp_replay_options *options, emp_error *err);

/** Warm-up and measured steps. \a result is initialised; filled on success only, also
 * when memory does not suffice. Once.
 * \retval EMP_EINTERRUPTED  options->stop was set. */
emp_status emp_replay_run(emp_replay *replay, emp_replay_result *result, emp_error *err);

/** After a run with options->is_timed; borrowed until destroy. */
const emp_replay_timeline *emp_replay_get_timeline(const emp_replay *replay);

void emp_replay_destroy(emp_replay *replay);

/** Nanoseconds since an arbitrary fixed moment; never goes back. */
int64_t emp_replay_now_ns(void);

/** By a temporary file and a rename. \retval EMP_EIO  The message names the file. */
emp_status emp_replay_trace_write(const char *path, const emp_replay_plan *plan,
                                  const emp_replay_timeline *timeline, emp_error *err);

#endif /* EMP_REPLAY_EXECUTE_H */
