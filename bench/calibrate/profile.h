/** \file bench/calibrate/profile.h
 * Times of the kernels of a step, measured where they run: each distinct kernel of a plan is executed among those that
 * make its operands, until its time is known well enough.
 *
 *     emp_profile_params params = {.plan = plan, .device = gpu, .run = run, ...};
 *     EMP_TRY(emp_profile_measure(&profile, &params, err));
 *
 * Kernels are distinct by their *content*: kind, variant, sizes, the bytes and element sizes of operands and results, and
 * whether they run on a GPU. Half of the time goes to whole steps, in which each op finds caches and memory as in a step. Then
 * kernels of which a step has few are executed in rounds: up to EMP_PROFILE_PLACES ops of each, spread over the step, with the
 * ops that make their operands. Where most kernels are known from before there are only such rounds.
 *
 * A time is the mean of its samples, each of which is the median of EMP_PROFILE_STEPS steps, stretched by what the device was
 * busy beyond the sum of medians; so the times of a step's kernels add up to the step. Its interval is 1.96 standard errors, a
 * 95 % interval of the mean.
 */
#ifndef EMP_BENCH_CALIBRATE_PROFILE_H
#define EMP_BENCH_CALIBRATE_PROFILE_H

#include "replay/plan/plan.h"
#include "replay/result.h"
#include "sim/problem/problem.h"

enum {
    EMP_PROFILE_PLACES = 6,  /**< ops of a kernel that are executed */
    EMP_PROFILE_SAMPLES = 8, /**< of a kernel, at least */
    EMP_PROFILE_STEPS = 3,   /**< of a round, after one that does not count */
    EMP_PROFILE_TEXT_BYTES = 96
};

/** Executes a plan: one step that does not count, and EMP_PROFILE_STEPS that do. */
typedef emp_status emp_profile_run(void *context, emp_replay_result *result,
                                   const emp_replay_plan *plan, emp_error *err);

/** A time with its interval. */
typedef struct {
    double  us;            /**< below 0: not measured */
    double  interval_frac; /**< half of it, of the time */
    int32_t samples;
} emp_profile_time;

typedef struct {
    uint64_t         content;
    char             text[EMP_PROFILE_TEXT_BYTES]; /**< "product 64 2048 1024" */
    int32_t          op_count;                     /**< of the step */
    emp_profile_time alone;
    emp_profile_time beside; /**< while another device works on the same kernels */
    bool             is_cached;
} emp_profiled_kernel;

/* Kernels that were measured before, of any graph: a CSV file. */

typedef struct {
    char             hardware[EMP_PROFILE_TEXT_BYTES];
    uint64_t         content;
    char             text[EMP_PROFILE_TEXT_BYTES];
    emp_profile_time alone, beside;
} emp_cached_kernel;

/** Zero-initialise; emp_kernel_cache_clear() releases it. */
typedef struct {
    emp_cached_kernel *kernel;
    int32_t            count, capacity;
} emp_kernel_cache;

/** A file that is not there is an empty cache. \retval EMP_EIO, EMP_EFORMAT, EMP_ENOMEM */
emp_status emp_kernel_cache_load(emp_kernel_cache *cache, const char *path,
                                 emp_error *err);
/** By a temporary file and a rename. */
emp_status emp_kernel_cache_save(const emp_kernel_cache *cache, const char *path,
                                 emp_error *err);
void       emp_kernel_cache_clear(emp_kernel_cache *cache);

typedef struct {
    const emp_replay_plan *plan;        /**< the whole step on one device and its host */
    int32_t                device;      /**< whose kernels count, beside the host's */
    int32_t                neighbour;   /**< works beside it; -1: none does */
    double                 wanted_frac; /**< of intervals, 0.02 */
    double
                      most_steps; /**< all that is executed takes at most so many steps, but for the first round; less if the cache has kernels, to a tenth of it */
    const char       *hardware;   /**< what the cache calls it */
    emp_kernel_cache *cache;      /**< NULL: none. Gets what is measured */
    emp_profile_run  *run;
    void             *context;
    void (*progress)(void  *context,
                     double done_frac); /**< OPTIONAL, of the same context */
} emp_profile_params;

/** Zero-initialise; emp_profile_clear() releases it, also after a failure. */
typedef struct {
    emp_profiled_kernel *kernel;
    int32_t              count;
    int32_t             *kernel_of_op; /**< [op of the plan]; -1: it has none */
    double step_s; /**< the sum of its kernels if most were in the cache; NaN: all were */
    double gap_us; /**< of an op of the device, what the step takes beside its work */
    double spent_steps; /**< what was executed took as long as so many steps */
    int32_t cached_count;
    int32_t open_count; /**< intervals that are wider than wanted */
} emp_profile;

/** \retval EMP_ENOMEM  The step or a part of it does not fit in the devices' memory.
 * \retval EMP_EINTERRUPTED  By run; the cache has the kernels that are known by then.
 * \retval any error of run */
emp_status emp_profile_measure(emp_profile *out, const emp_profile_params *params,
                               emp_error *err);
void       emp_profile_clear(emp_profile *profile);

/** The problem and device models that a file of costs describes. */
typedef struct {
    const emp_problem *problem;
    const char        *gpu_model, *cpu_model; /**< names of device models */
    double             gpu_op_us; /**< what an op takes on the GPU beside its kernel */
    bool
        is_one_hardware; /**< GPUs are cores like the CPU's: a kernel takes as long on either */
} emp_profile_costs;

/** Writes the times as a file for --costs: op,us,model,beside_us,interval_percent,samples, with a line for each op. */
emp_status emp_profile_save(const emp_profile *profile, const emp_replay_plan *plan,
                            const emp_profile_costs *costs, const char *path,
                            emp_error *err);

#endif /* EMP_BENCH_CALIBRATE_PROFILE_H */
