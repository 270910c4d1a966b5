/** \file parallel/serving/serve.h
 * A model that is served by many GPUs: the time of a token or of prompts, the memory of the rank that needs most, and how many
 * sequences fit.
 *
 * A rank's share of the model (heads, inner sizes and rows of the vocabulary over tp, experts over ep) is built as a graph by
 * graphs/transformer, and its ops cost what sim/cost says: with tp=1 a step is the one that `emplace simulate hf:` predicts. Between
 * ops stand the collectives of the cluster. A decode step with a pipeline has min(pp, batch) groups of sequences under way, so
 * that a token takes the sum of all stages, or the longest stage for each group, whichever is longer.
 *
 *     emp_serving_case c = {&spec, cluster, &degrees, 32, memory_bytes};
 *     EMP_TRY(emp_serving_predict(&step, &c, err));
 *     printf("%g tokens a second, at most %d sequences\n", step.tokens_per_s, step.most);
 */
#ifndef EMP_PARALLEL_SERVING_SERVE_H
#define EMP_PARALLEL_SERVING_SERVE_H

#include "parallel/spec.h"
#include "sim/machine/cluster/cluster.h"

/** Sequences at most, and where a spec does not say it, as of `hf:`. */
enum { EMP_SERVING_BATCH_MAX = 1 << 20, EMP_SERVING_BATCH_DEFAULT = 8 };

/** The share of a GPU's memory that servers take: the rest is for CUDA graphs and gaps between allocations. Assumed, between
 * vLLM's customary 0.9 and all. */
#define EMP_SERVING_SHARE 0.95

/** Bytes of a GPU for weights, caches and activations: that share, less what the process needs. */
double emp_serving_room(const emp_cluster *cluster);

/** The words of emp_serving_goal. */
#define EMP_SERVING_GOAL_WORDS "step-time|batch|tokens"
typedef enum {
    EMP_SERVING_STEP,  /**< the shortest step of the spec's batch */
    EMP_SERVING_BATCH, /**< the most sequences that fit */
    EMP_SERVING_TOKENS /**< the most tokens a second, each way with the largest batch that fits */
} emp_serving_goal;

/** Borrowed. */
typedef struct {
    const emp_parallel_spec *spec; /**< of a model that is served */
    const emp_cluster       *cluster;
    const emp_degrees       *degrees;
    int32_t                  batch;        /**< sequences of all replicas */
    double                   memory_bytes; /**< of a GPU, for tensors; 0 = any */
    emp_serving_goal         goal;         /**< that a pipeline's layers are cut for */
} emp_serving_case;

typedef struct {
    double
           step_s; /**< decode: until each sequence has one token more; prefill: until all prompts are read; infinite: it does not fit */
    double tokens_per_s; /**< that are written or read, of all replicas together */
    double exposed_s;    /**< of step_s, of the longest stage: collectives and messages */
    /** of the rank that needs most: in all, and of that weights, cached keys and values, and activations */
    double peak_bytes, weight_bytes, cache_bytes, activation_bytes;
    double
        host_bytes; /**< of its weights, those that stay in host memory, in whole GiB */
    int32_t peak_stage;
    int32_t stage_layers[EMP_CHUNKS_MAX]; /**< [pp] */
    int32_t
        most; /**< sequences of all replicas that fit without weights on the host; 0 = none */
} emp_serving_step;

/** Predicts a step. Where it needs more than `memory_bytes` and the spec has no home=device, the GPUs leave weights in host
 * memory and read them over their links. O(layers).
 * \retval EMP_EINVAL        Degrees that do not divide, or more GPUs than there are; the message says what would do.
 * \retval EMP_EUNSUPPORTED  A part of the model that nothing is known of. \retval EMP_EIO, EMP_ENOMEM */
emp_status emp_serving_predict(emp_serving_step *out, const emp_serving_case *c,
                               emp_error *err);

/* ---- every way to serve a model on so many GPUs ---- */

enum { EMP_SERVING_WHY_BYTES = EMP_ERROR_MSG_BYTES };

typedef struct {
    emp_degrees      degrees;
    emp_serving_step step;
    int32_t          batch;                      /**< sequences of all replicas */
    char             why[EMP_SERVING_WHY_BYTES]; /**< it fails; "" = it does not */
} emp_serving_way;

/** Zero-initialise; emp_serving_ways_clear() releases it, also after a failure. */
typedef struct {
    emp_serving_way *row; /**< feasible ones first, the best by the goal before others */
    int32_t          count, feasible, capacity;
    double           memory_bytes; /**< emp_serving_room() */
} emp_serving_ways;

/** Tries tp, pp, dp and ep, unless the spec decides them. O(ways x layers).
 * \retval EMP_EINVAL  No degrees fit so many GPUs; the message says why.
 * \retval EMP_EUNSUPPORTED, EMP_EIO, EMP_ENOMEM  As emp_serving_predict(). */
emp_status emp_serving_ways_find(emp_serving_ways *out, const emp_parallel_spec *spec,
                                 const emp_cluster *cluster, int32_t gpus,
                                 emp_serving_goal goal, emp_error *err);

void emp_serving_ways_clear(emp_serving_ways *ways);

/** The command of vLLM 0.27 that serves the model in this way; \a total_bytes is the memory of a GPU. Where replicas share no
 * experts the command is of one of them, and a comment behind it says so.
 * \retval EMP_EUNSUPPORTED  vLLM cannot; the message says what. */
emp_status emp_serving_vllm(char *text, size_t size, const emp_parallel_spec *spec,
                            const emp_serving_way *way, double total_bytes,
                            emp_error *err);

/* ---- cuts of layers into stages that follow one another (stages.c) ---- */

/** The cost of layers [first, first + count) as one stage, above zero; INFINITY: they do not fit. */
typedef double (*emp_stage_cost)(const void *context, int32_t first, int32_t count);

/** Finds the cut whose costliest stage costs least, and among such cuts one whose squared costs have the least sum. Each stage
 * has one layer at least and about three times the mean at most. O(layers^2).
 * \param[out] stage_layers  [stages]; untouched where no cut fits.
 * \param[out] fits          False: no cut does.
 * \retval EMP_ENOMEM */
emp_status emp_stages_cut(int32_t *stage_layers, bool *fits, int32_t layers,
                          int32_t stages, emp_stage_cost cost, const void *context,
                          emp_error *err);

#endif /* EMP_PARALLEL_SERVING_SERVE_H */
