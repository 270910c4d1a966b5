/** \file replay/plan/options.h
 * How a plan is executed.
 */
#ifndef EMP_REPLAY_PLAN_OPTIONS_H
#define EMP_REPLAY_PLAN_OPTIONS_H

#include <stdatomic.h>

#include "replay/plan/plan.h"

/** For tests: breaks one dependency, to show that a checked run sees it. */
typedef struct {
    int32_t early_op;    /**< does not wait for its input early_input; -1 = none */
    int32_t early_input; /**< counted from 0 */
    int32_t lost_tensor; /**< whose buffer is freed one reader too soon; -1 = none */
} emp_replay_fault;

typedef struct {
    int32_t warmup, steps; /**< steps that are not counted, and that are */
    bool    is_checked;    /**< poison, checksums and reference results; slow */
    bool    is_timed;      /**< one more step, in which every op is timed */
    bool    keeps_rates;   /**< copies take no less time than the plan's routes say */
    int64_t host_bytes;    /**< of this computer's memory, for all devices that lie in it;
                              0 = what is available */
    /** Cores of each device that is a group of them; a count of 0 = chosen by the
     * backend. */
    int32_t core_count[EMP_REPLAY_MAX_DEVICES];
    int16_t core[EMP_REPLAY_MAX_DEVICES][EMP_REPLAY_MAX_CORES];
    /** Which of the computer's GPUs a GPU of the plan is; -1 = by its number, modulo those
     * that there are. */
    int32_t physical[EMP_REPLAY_MAX_DEVICES];

    const atomic_int *stop; /**< nonzero: end early; NULL = never */
    void (*progress)(void *context, int32_t done, int32_t count); /**< or NULL */
    void            *progress_context;
    emp_replay_fault fault;
} emp_replay_options;

/** Two warm-up steps, five that count, nothing else. */
emp_replay_options emp_replay_options_default(void);

/** Parses "gpu:0=2,3 gpu:1=4-7" (cores; groups are parted by blanks) into
 * \a options. \retval EMP_EINVAL  The message names the part. */
emp_status emp_replay_options_cores(emp_replay_options    *options,
                                    const emp_replay_plan *plan, const char *text,
                                    emp_error *err);

/** Parses "gpu:0=1 gpu:1=1" (GPUs of the computer). \retval EMP_EINVAL */
emp_status emp_replay_options_gpus(emp_replay_options    *options,
                                   const emp_replay_plan *plan, const char *text,
                                   emp_error *err);

#endif /* EMP_REPLAY_PLAN_OPTIONS_H */
