/** \file sim/explain/explain_internal.h
 * A traced run as arrays, and what each file of the module offers the others.
 */
#ifndef EMP_SIM_EXPLAIN_EXPLAIN_INTERNAL_H
#define EMP_SIM_EXPLAIN_EXPLAIN_INTERNAL_H

#include "sim/explain/explain.h"

/** The kinds of events that make an op ready. */
typedef enum {
    EMP_EXPLAIN_BY_NOTHING, /**< it never waited, or never got ready */
    EMP_EXPLAIN_BY_OP,      /**< ready_by: the op that was done */
    EMP_EXPLAIN_BY_COPY,    /**< ... the copy that was delivered */
    EMP_EXPLAIN_BY_CLIENT,  /**< ... the copy for which the client waited */
    EMP_EXPLAIN_BY_MESSAGE  /**< ... the op of which a message said that it was done */
} emp_explain_trigger;

/** An op in the run; times -1 = not reported. */
typedef struct {
    emp_device_id       device;
    emp_explain_trigger trigger;
    int32_t             ready_by;
    emp_time_ns         ready_ns;
    emp_time_ns         issued_ns, issue_start_ns; /**< with a host thread only */
    emp_time_ns         queued_ns; /**< end of all that was queued on its GPU by then */
    emp_time_ns         data_ns;   /**< when its outputs in GPU memory are computed */
    emp_op_id           data_op;   /**< by this op's kernel; -1 = by none */
    int32_t             last_run;  /**< -1 = none */
} emp_explain_op;

/** A stretch in which an op runs. */
typedef struct {
    emp_op_id     op;
    emp_device_id device;
    emp_time_ns   start_ns, end_ns;
    int32_t       previous; /**< of the same op, or -1 */
} emp_explain_run;

typedef struct {
    emp_tensor_id tensor;
    emp_device_id from, to; /**< memories */
    int32_t       next;     /**< copy of the same tensor, or -1 */
    emp_time_ns   told_ns, requested_ns, start_ns, end_ns;
    emp_device_id computed_on; /**< the end whose queue is the longer */
    emp_time_ns   computed_ns; /**< when the compute that it waits for is done */
    emp_time_ns   stream_ns;   /**< when its stream lets it go */
} emp_explain_copy;

/** The changes of memory at which a device reaches its peak or the first allocation does not fit. They are counted
 * from 0, and -1 is none. */
typedef struct {
    const emp_problem *problem; /**< borrowed */
    const emp_sim     *sim;     /**< borrowed; it runs */
    int64_t            change_count;
    int64_t            peak_bytes[EMP_MAX_DEVICES], peak_change[EMP_MAX_DEVICES];
    int64_t            oom_change;
    int64_t *workspace_change; /**< [op] gave it its workspace; with a host thread only */
    int32_t *part_count;       /**< [op] times that the run reported */
} emp_explain_moments;

/** Prepares a run. The caller clears \a m, also after a failure. \retval EMP_ENOMEM */
emp_status emp_explain_moments_init(emp_explain_moments *m, const emp_problem *problem,
                                    const emp_sim *sim, emp_error *err);
void       emp_explain_moments_clear(emp_explain_moments *m);
/** Notes that a part of an op has run, and that a device's memory has changed. */
void emp_explain_note_part(emp_explain_moments *m, emp_op_id op, emp_device_id device);
void emp_explain_note_change(emp_explain_moments *m, emp_device_id device);

typedef struct {
    const emp_problem   *problem;
    const emp_device_id *device_of_op;
    const uint8_t       *level_of_op; /* NULL: first come, first served */
    emp_explain_moments *moments; /**< borrowed; NULL: changes of memory are not noted */
    emp_sim_result       result;
    emp_time_ns          send_ns, receive_ns, poll_ns, step_ns;
    emp_explain_op      *op;         /**< [op] */
    int32_t             *first_copy; /**< [tensor], or -1 */
    int32_t              copy_count, copy_limit;
    emp_explain_copy    *copy;
    int32_t              run_count, run_limit;
    emp_explain_run     *run;
} emp_explain_schedule;

/** A GPU that is driven by a host thread. */
bool emp_explain_has_host_thread(const emp_problem *problem, emp_device_id device);

/** When the waiting ops are notified that the op is done. */
emp_time_ns emp_explain_told_ns(const emp_explain_schedule *s, emp_op_id op);

/** The first op that is fused into another one; -1: there is none. Steps with fused ops have no path. */
emp_op_id emp_explain_find_fused(const emp_problem  *problem,
                                 const emp_decision *decision);

/** Runs \a sim once and notes what happens, in the arrays of the run before if there was one. */
emp_status emp_explain_record(emp_explain_schedule *s, emp_sim *sim, emp_error *err);
void       emp_explain_schedule_clear(emp_explain_schedule *s);

/** Fills cause_ns, cause_count and segments.
 * \retval EMP_EUNSUPPORTED  The schedule has holes. */
emp_status emp_explain_find_path(emp_explanation *why, const emp_explain_schedule *s,
                                 emp_error *err);
/** Fills the list of the segments that last longest. \retval EMP_ENOMEM */
emp_status emp_explain_find_worst(emp_explanation *why, const emp_explain_schedule *s,
                                  emp_error *err);
/** Fills busy_ns and idle_ns of all devices.
 * \retval EMP_EUNSUPPORTED  The schedule has holes. */
emp_status emp_explain_find_idle(emp_explanation *why, const emp_explain_schedule *s,
                                 emp_error *err);
/** Fills the scopes and, of each device, what its ops take. \retval EMP_ENOMEM */
emp_status emp_explain_find_tallies(emp_explanation *why, const emp_explain_schedule *s,
                                    emp_error *err);
/** Runs \a sim a second time and fills the memories. \retval EMP_ENOMEM, EMP_EUNSUPPORTED */
emp_status emp_explain_find_memory(emp_explanation *why, const emp_explain_moments *m,
                                   const emp_decision *decision, emp_sim *sim,
                                   emp_error *err);

/** The one sentence about profiles that cannot be explained. */
emp_status emp_explain_refuse(const emp_problem *problem, emp_error *err);

#endif /* EMP_SIM_EXPLAIN_EXPLAIN_INTERNAL_H */
