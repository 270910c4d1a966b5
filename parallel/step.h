/** \file parallel/step.h
 * A training step on many GPUs: its time, and the memory of the rank that needs most.
 *
 *     emp_degrees d = emp_degrees_default();
 *     d.tp = 2, d.pp = 4, d.micro_batches = 32;
 *     EMP_TRY(emp_parallel_predict(&step, &(emp_parallel){cluster, &model, &d}, NULL, err));
 *     printf("%g s, %g GiB\n", step.step_s, step.peak_bytes / 1073741824.0);
 */
#ifndef EMP_PARALLEL_STEP_H
#define EMP_PARALLEL_STEP_H

#include "parallel/pipeline.h"

typedef struct {
    double step_s;      /**< infinite: it does not fit */
    double pipeline_s;  /**< the passes of all micro-batches */
    double reduce_s;    /**< gradients among replicas, as far as nothing hides them */
    double update_s;    /**< of the weights, with the gradients' norm */
    double gather_s;    /**< the new weights among replicas */
    double bubble_frac; /**< of the pipeline: what the stages wait, on average */
    /** of the stage that works longest: collectives that nothing hides, products, attention, kernels that move data, and what
     * its host takes beyond its GPU */
    double exposed_s, products_s, attention_s, moves_s, host_s;
    double link_s; /**< of that stage: copies to and from the host that no kernel hides */
    double peak_bytes;       /**< allocated, of the rank that needs most */
    double state_bytes;      /**< of that rank: weights, gradients, optimizer */
    double activation_bytes; /**< of that rank, at its peak */
    double host_bytes;       /**< of host memory, of the rank that needs most of it */
    int32_t peak_stage;
    double  parameters; /**< of the model, all ranks together, without replicas */
} emp_parallel_step;

/** A stage of the pipeline: what its first rank works, and what its ranks allocate. */
typedef struct {
    double busy_s, peak_bytes;
} emp_stage_load;

typedef struct {
    bool        all_ranks;     /**< simulate each rank, though they are alike */
    const char *schedule_path; /**< OPTIONAL. A schedule of one's own */
    double
        memory_bytes; /**< of a GPU; a step that needs more, or more of the host than a GPU's share, is not timed. 0 = any */
    emp_stage_load
        *stage; /**< OPTIONAL. [pp] the caller's; times only where the step is timed */
    /** OPTIONAL. Receives the tasks as they were run, [*run_count]; the caller frees them. */
    emp_turn_run **run;
    int32_t       *run_count;
} emp_parallel_options;

/** Whether all groups of each kind lie alike in their domains. Where they do not, all take what the widest takes. */
bool emp_parallel_is_symmetric(const emp_parallel *p);

/** Predicts a step, of which the cluster, the model and the degrees are set. \param options  NULL: one rank of each stage, the schedule of the degrees.
 * \retval EMP_EINVAL        Degrees that do not divide, or more GPUs than there are; the message says what would do.
 * \retval EMP_EUNSUPPORTED  A part of the model or a number format that nothing is known of.
 * \retval EMP_ENOMEM */
emp_status emp_parallel_predict(emp_parallel_step *out, const emp_parallel *p,
                                const emp_parallel_options *options, emp_error *err);

#endif /* EMP_PARALLEL_STEP_H */
