/** \file parallel/work.h
 * The work of one rank for a micro-batch of a part of the model: kernels and collectives in order, with their times, and the
 * bytes that it keeps.
 */
#ifndef EMP_PARALLEL_WORK_H
#define EMP_PARALLEL_WORK_H

#include "parallel/loads.h"
#include "sim/machine/cluster/cluster.h"

/** Ranks that a collective joins. */
typedef enum {
    EMP_GROUP_NONE,
    EMP_GROUP_TENSOR,
    EMP_GROUP_CONTEXT,
    EMP_GROUP_EXPERT_TENSOR,
    EMP_GROUP_EXPERT,
    EMP_GROUP_DATA, /**< replicas and context: all that share dense weights */
    EMP_GROUP_EXPERT_DATA,
    EMP_GROUPS
} emp_group;

/** Members first, first + stride, ... in the numbers of ranks, which fill one domain after another. */
typedef struct {
    int32_t size, stride;
    int32_t domains; /**< that a group touches, at most */
    int32_t near;    /**< members of a group in a domain that it touches, at least */
    bool is_alike;   /**< all groups touch so many domains with so many members in each */
} emp_group_shape;

/** A part of a pass. Where it has a group, its ranks begin and end together; compute and collective overlap. */
typedef struct {
    emp_group group;
    double    collective_s;
    double    compute_s; /**< beside the collective */
    double    weight_s;  /**< gradients of weights, which a schedule may put off */
} emp_segment;

enum { EMP_SEGMENTS_MAX = 96 };

typedef struct {
    int32_t count;
    int32_t launches;             /**< kernels that the host starts */
    double  attention_s, moves_s; /**< of attention's core; of kernels that move data */
    emp_segment segment[EMP_SEGMENTS_MAX];
} emp_segments;

/** The inputs of times: all borrowed. emp_parallel_of() makes one. */
typedef struct {
    const emp_cluster           *cluster;
    const emp_transformer_model *model;
    const emp_degrees           *degrees;
    /** OPTIONAL. [pp] GPUs of each stage, where stages are of several models; links are the cluster's. */
    const emp_cluster *const *stage_cluster;
    const emp_expert_loads
        *loads; /**< OPTIONAL: the loads of experts; else `skew` gives them */
    const double *
        busiest; /**< [layer]: tokens of the busiest rank of ep over the mean; NULL = 1 */
    emp_group_shape shape[EMP_GROUPS];
} emp_parallel;

/** Finds where the groups of each kind lie. O(ranks). */
emp_parallel emp_parallel_of(const emp_cluster           *cluster,
                             const emp_transformer_model *model,
                             const emp_degrees           *degrees);

enum { EMP_SHADOWS_MAX = 16 };

typedef struct {
    double in, out;
} emp_shadow;

/** The work of one layer, or of embedding or head. */
typedef struct {
    emp_segments forward, backward;
    double       dense_parameters, expert_parameters; /**< on a rank */
    double whole_parameters; /**< of dense_parameters: those that each tensor rank has */
    double copy_parameters;  /**< of expert_parameters: those that have copies */
    double activation_bytes; /**< kept of a micro-batch until its backward pass */
    double row_bytes;        /**< of a table: rows that are read of it; 0 = a matrix */
    double input_bytes;      /**< what recomputation keeps instead */
    double transient_bytes;  /**< besides, during the backward pass */
    double
        late_bytes; /**< likewise, when the activations are released: the embedding's */
    /** matrices whose gradient the framework keeps once for each shape, unused, in half precision: the one that counts is
     * added to fp32 within the product */
    emp_shadow shadow[EMP_SHADOWS_MAX];
    int32_t    shadow_count;
} emp_work;

void emp_work_layer(emp_work *w, const emp_parallel *p,
                    const emp_transformer_layer *layer);
void emp_work_embedding(emp_work *w, const emp_parallel *p);
void emp_work_head(emp_work *w, const emp_parallel *p);
/** The join before a layer that predicts a further token: norms of the state and of the next token's embedding, and the product
 * of both. The layer's head is the model's, once more. */
void emp_work_join(emp_work *w, const emp_parallel *p);

/** Seconds of a collective of \a bytes: the whole of a gather, scatter or reduction, the buffer of a rank in an all-to-all.
 * All groups of a kind take what the widest of them takes. O(log points). */
double emp_group_collective_s(const emp_parallel *p, emp_link_kind kind, emp_group group,
                              double bytes);

/** Seconds of a message to the next stage. */
double emp_send_s(const emp_parallel *p, double bytes);

/** Bytes that a stage hands on for each micro-batch. */
double emp_state_bytes(const emp_parallel *p);

/** Seconds of a kernel that moves so many bytes. */
double emp_stream_s(const emp_cluster *cluster, emp_stream_kind kind, double bytes);

/** Seconds of a product or of attention; fp8 where the degrees say so and \a may_be_fp8. */
double emp_kernel_s(const emp_parallel *p, emp_kernel_kind kind, emp_pass pass,
                    emp_kernel_size size, bool may_be_fp8);

#endif /* EMP_PARALLEL_WORK_H */
