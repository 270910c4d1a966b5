/** \file replay/result.h
 * What a replay measured, and its plain text file.
 *
 * Where the step did not fit in a device's memory there are no times: is_feasible is
 * false and the verdict says what asked for how much.
 */
#ifndef EMP_REPLAY_RESULT_H
#define EMP_REPLAY_RESULT_H

#include "replay/plan/plan.h"

enum { EMP_REPLAY_TEXT_BYTES = 128, EMP_REPLAY_NAME_BYTES = 256 };

typedef struct {
    char    name[32];
    char    runs_on[EMP_REPLAY_TEXT_BYTES]; /**< "core 1", "GPU 0: NVIDIA H200" */
    double  busy_s;      /**< of a step, mean: kernels; cores: core time / cores */
    int64_t peak_bytes;  /**< most in use at once, as the simulator counts */
    int64_t reach_bytes; /**< end of the highest buffer: with what lies between */
    int64_t memory_bytes;
} emp_replay_device_result;

/** Zero-initialise; emp_replay_result_clear() releases the arrays. */
typedef struct {
    emp_replay_origin origin;
    uint64_t          plan_hash;
    char              backend[16];
    char    products[EMP_REPLAY_TEXT_BYTES]; /**< who multiplies matrices on cores */
    int32_t device_count;
    emp_replay_device_result device[EMP_REPLAY_MAX_DEVICES];

    bool    is_feasible;
    int32_t oom_device; /**< -1 = none */
    int64_t oom_bytes;  /**< asked for */
    int64_t oom_in_use; /**< there before */
    char    oom_op[EMP_REPLAY_NAME_BYTES];

    int32_t warmup, step_count;
    double *step_s;                  /**< [step_count] in the order in which they ran */
    double  median_s, low_s, high_s; /**< low, high: quartiles */
    int64_t traffic_bytes, transfer_count;
    bool    keeps_rates; /**< copies took no less time than the plan's routes say */

    bool    is_checked;
    int64_t checked_reads;  /**< buffers whose content was compared with its producer's */
    int32_t verified_ops;   /**< products and convolutions compared with a reference */
    double  verified_error; /**< largest difference, of the sum of absolute terms */

    int32_t op_count, copy_count;
    float  *op_s;   /**< [op] median time from the start of its first task to the end of
                       its last; 0 where it takes none, -1 = not timed */
    float  *copy_s; /**< [copy] likewise */
} emp_replay_result;

/** Room for the arrays; the rest is zero, the step feasible. \retval EMP_ENOMEM */
emp_status emp_replay_result_init(emp_replay_result *result, int32_t steps, int32_t ops,
                                  int32_t copies, emp_error *err);
void       emp_replay_result_clear(emp_replay_result *result);

/** Median and quartiles of step_s; 0 without steps. \retval EMP_ENOMEM */
emp_status emp_replay_result_summarize(emp_replay_result *result, emp_error *err);

/** Quantile \a share of \a count values, which it sorts; linear between neighbours. */
double emp_replay_quantile(double *values, int32_t count, double share);

/** Writes by a temporary file and a rename; loading checks that the file is whole. */
emp_status emp_replay_result_save(const char *path, const emp_replay_result *result,
                                  emp_error *err);
emp_status emp_replay_result_load(emp_replay_result *result, const char *path,
                                  emp_error *err);

/** For people, a few lines. */
void emp_replay_result_print(FILE *stream, const emp_replay_result *result);

#endif /* EMP_REPLAY_RESULT_H */
