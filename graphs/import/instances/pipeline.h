/** \file graphs/import/instances/pipeline.h
 * A training step of measured layers, cut into micro-batches, stages and replicas.
 *
 * For each replica, layer and micro-batch there is a forward op and a backward op:
 *
 *  - the forward op "layer3/micro5" passes the layer's output on, and holds what the backward pass
 *    needs, until that has run;
 *  - the backward op "gradients/layer3/micro5" passes on the gradient of what the layer read;
 *  - "gradients/stage1/sum" takes no time; it waits for all backward ops of the stage;
 *  - with several replicas "gradients/stage1/all_reduce" sums the gradients of all, once all are there;
 *  - "stage1/update" is the optimizer's;
 *  - if replicas share the optimizer's state, "gradients/stage1/reduce_scatter" sums in place of the
 *    all-reduce, each replica updates its part, and "stage1/all_gather" gives all parts to all.
 *
 * A layer's ops share a device, as do those of a stage. Without stages each layer is one by itself,
 * called "layer3". With several replicas names begin with "replica0/". Weights, gradients and the optimizer's
 * state belong to the forward ops of micro-batch 0. A CPU takes EMP_INSTANCE_CPU times as long.
 */
#ifndef EMP_GRAPHS_IMPORT_INSTANCES_PIPELINE_H
#define EMP_GRAPHS_IMPORT_INSTANCES_PIPELINE_H

#include "graphs/import/instances/layers.h"
#include "graphs/import/instances/schedule.h"
#include "sim/graph/graph_builder.h"

/** The layers on a device model. */
typedef struct {
    const char      *gpu;   /**< its name; "" = any */
    const emp_layer *layer; /**< [layer_count] borrowed */
} emp_pipeline_model;

typedef struct {
    const emp_pipeline_model
           *model;       /**< [model_count]; the first is also for GPUs of no name here */
    int32_t model_count; /**< at least 1, at most EMP_STATED_MODELS_MAX */
    int32_t layer_count; /**< at least 1 */
    const int32_t *layers_of_stage; /**< [stage_count], or NULL: each layer is a stage */
    int32_t        stage_count;
    int32_t        sequences; /**< of a micro-batch */
    int32_t        micro_batches, replicas;
    emp_schedule   schedule;
    int32_t        element_bytes,
        state_bytes; /**< of an activation; of a parameter, all in all */
    /** Whether update_s of each layer is that of all that was measured together: layers 0, 1, 2 and the
     * last. A stage takes a part of it, by its parameters. Else it is the layer's. */
    bool is_update_shared;
    /** Whether a replica has only its part of the optimizer's state (ZeRO, stage 1). Parameters and
     * gradients, EMP_PIPELINE_WHOLE_BYTES, are whole. */
    bool is_optimizer_sharded;
} emp_pipeline;

/** A parameter and its gradient in fp32. */
enum { EMP_PIPELINE_WHOLE_BYTES = 8 };

/** Adds the ops of a step. O(replicas layers micro-batches + replicas squared stages).
 * \retval EMP_EINVAL  The stages have not as many layers as there are.
 * \retval EMP_EUNSUPPORTED  More than half a million ops, or an order without stages.
 * \retval EMP_EFORMAT A time or a size that is too large. \retval EMP_ENOMEM */
emp_status emp_pipeline_build(emp_graph_builder *builder, const emp_pipeline *p,
                              emp_error *err);

#endif /* EMP_GRAPHS_IMPORT_INSTANCES_PIPELINE_H */
