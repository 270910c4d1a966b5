/** \file parallel/degrees.h
 * How a training step is spread over GPUs: degrees of tensor, pipeline, expert, context and data parallelism, the schedule
 * of micro-batches, recomputation, and which states the replicas share out.
 *
 * Ranks are numbered as Megatron-LM numbers them: tensor first, then context, data, pipeline. Experts of a stage divide
 * the ranks of tensor, context and data anew: expert tensor first, then expert, then the replicas of an expert.
 */
#ifndef EMP_PARALLEL_DEGREES_H
#define EMP_PARALLEL_DEGREES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text/options.h"
#include "graphs/transformer/model.h"

enum {
    EMP_CHUNKS_MAX = 512,
    EMP_STAGES_BYTES = 512,
    EMP_MTP_MAX = 4,
    EMP_RANKS_MAX = 1 << 20,
    EMP_PASSES_MAX = 1 << 22 /**< forward passes of a step on all stages */
};

/** Words of the key `recompute`. */
#define EMP_RECOMPUTE_WORDS "none|selective|full"
typedef enum {
    EMP_RECOMPUTE_NONE,
    EMP_RECOMPUTE_SELECTIVE, /**< the core of attention */
    EMP_RECOMPUTE_FULL       /**< all layers, from their inputs */
} emp_recompute;

/** Words of the keys `home`, `update` and `activations`. */
#define EMP_DEGREE_HOME_WORDS "device|host"

/** Words of the key `attention`. */
#define EMP_ATTENTION_WORDS "fused|unfused"
typedef enum {
    EMP_ATTENTION_FUSED,   /**< flash attention */
    EMP_ATTENTION_UNFUSED, /**< scores of all pairs are written to memory */
} emp_attention_kernel;

/** Words of the key `schedule`. */
#define EMP_ORDER_WORDS "1f1b|interleaved|zero-bubble|dualpipe|gpipe"
typedef enum {
    EMP_ORDER_1F1B,
    EMP_ORDER_INTERLEAVED,
    EMP_ORDER_ZERO_BUBBLE, /**< ZB-H1: gradients of weights fill the bubbles */
    EMP_ORDER_DUALPIPE,    /**< micro-batches from both ends; two copies of the model */
    EMP_ORDER_GPIPE,       /**< all forward passes, then all backward passes */
    EMP_ORDERS
} emp_order_kind;

/** Words of the key `placed`. */
#define EMP_PLACED_WORDS "in-order|balanced"
typedef enum {
    EMP_PLACED_IN_ORDER, /**< experts in their order, as many on each rank */
    EMP_PLACED_BALANCED  /**< so that ranks have about as many tokens */
} emp_placed;

typedef struct {
    int32_t tp, pp, vp, ep, cp, dp; /**< at least 1 */
    int32_t etp;                    /**< tensor parallelism of experts; 0 = 1 */
    int32_t micro_batch;            /**< sequences */
    int32_t micro_batches;          /**< of a replica in a step */
    int32_t sequence;               /**< tokens */
    int32_t sp;                     /**< sequence parallelism beside tp: 0 or 1 */
    int32_t zero; /**< 0: none, 1: optimizer, 2: and gradients, 3: and weights */
    int32_t recompute, schedule;
    int32_t mtp;         /**< layers behind the last one that predict further tokens */
    int32_t attention;   /**< emp_attention_kernel */
    int32_t cuda_graphs; /**< 0 or 1: the host starts no kernels one by one */
    int32_t home; /**< 1: weights and gradients are on the host, and layers stream them */
    int32_t update;      /**< 1: the host keeps and updates the optimizer's states */
    int32_t activations; /**< 1: activations wait on the host for the backward pass */
    int32_t is_fp8;      /**< products of layers in fp8 */
    int32_t overlap_gradients, overlap_parameters, overlap_tp; /**< 0 or 1 */
    int32_t skew; /**< of loads of experts: the greatest over the mean; 0 and 1 = none */
    int32_t redundant;   /**< copies of experts on all ranks of ep together */
    int32_t placed;      /**< emp_placed */
    int32_t first, last; /**< layers of the first and last part; 0 = as the others */
    int32_t
         may_spread; /**< of measured steps, whose recipes do not say it: where layers do not divide,
                     embedding and loss count as one each */
    char stages[EMP_STAGES_BYTES]; /**< layers of each chunk "12,14"; "" = alike */
} emp_degrees;

/** All degrees 1, sp and zero 1, one micro-batch of one sequence. */
emp_degrees emp_degrees_default(void);

/** The keys of a spec. */
extern const emp_option emp_degrees_options[];

/** GPUs that the degrees need. */
static inline int64_t emp_degrees_gpus(const emp_degrees *d)
{
    const double gpus = (double)d->tp * d->pp * d->cp * d->dp;

    return gpus > 1e18 ? INT64_MAX : (int64_t)gpus;
}

/** Completes `etp` and `schedule`, and checks that degrees divide what they divide.
 * \param[out] chunk_layers  Layers of each of pp x vp parts of the model, in its order.
 * \retval EMP_EINVAL  The message names the degree, the size and what would do. */
emp_status emp_degrees_resolve(emp_degrees *d, int32_t chunk_layers[EMP_CHUNKS_MAX],
                               const emp_transformer_model *model, emp_error *err);

/** The same of a model that is served: completes `etp`, and takes tp of more ranks than key-value heads, which ranks then
 * have copies of.
 * \param[out] stage_layers  Layers of each of pp stages; where they do not divide, embedding and head count as one each.
 * \retval EMP_EINVAL, EMP_EUNSUPPORTED  The message names the degree, the size and what would do. */
emp_status emp_degrees_resolve_serving(emp_degrees *d,
                                       int32_t      stage_layers[EMP_CHUNKS_MAX],
                                       const emp_transformer_model *model,
                                       emp_error                   *err);

#endif /* EMP_PARALLEL_DEGREES_H */
