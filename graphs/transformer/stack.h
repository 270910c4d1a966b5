/** \file graphs/transformer/stack.h
 * The parts of a transformer's graph under construction: what attention, feed-forward layers and
 * the layers around them share. Not for other folders.
 */
#ifndef EMP_GRAPHS_TRANSFORMER_STACK_H
#define EMP_GRAPHS_TRANSFORMER_STACK_H

#include "graphs/transformer/model.h"
#include "graphs/transformer/tape.h"

/** Keys and values of a layer, which a later one may read. */
typedef struct {
    emp_port keys, values;
} emp_stack_kv;

typedef struct {
    emp_tape                    *t;
    const emp_transformer_model *m;
    int32_t                      layer; /**< the one being built; -1 = outside of all */
    char                         prefix[64]; /**< of its modules */
    emp_port                     positions;  /**< in the cache, of the tokens of a step */
    emp_port                     embeddings; /**< of layers, [tokens, layers x size] */
    emp_stack_kv                *kv;         /**< [layer] */
    int64_t                      first,
        new_tokens; /**< of each sequence, that a round computes: the first one, and how many */
    emp_port *cache; /**< as the last round has written them, in the order of the model */
    int32_t   cache_count, cache_capacity, next_cache;
    emp_port  ids;      /**< of the tokens */
    emp_port  blocks;   /**< sums of closed blocks; none: there are none */
    emp_port  chosen;   /**< keys, by numbers; none: all */
    emp_port  index[3]; /**< queries, keys and weights of the heads that chose them */
    const char *
        scope; /**< what names outside of modules begin with: a decoder's beside an encoder */
    emp_port source; /**< what the encoder makes of its tokens, [tokens, hidden] */
    emp_port source_positions; /**< of these tokens, in caches of their keys */
    emp_port
        relative; /**< biases of scores by distance, [1, heads, queries, keys]; none: there are none */
} emp_stack;

/** The full name of a module of the layer; in the tape's arena. */
const char *emp_stack_name(emp_stack *s, const char *module);
/** The same with a leaf behind it. */
const char *emp_stack_leaf(emp_stack *s, const char *module, const char *leaf);
/** The model's norm, with that full name. */
emp_port emp_stack_norm(emp_stack *s, const char *name, emp_port x);
/** The model's activation. */
emp_port emp_stack_activate(emp_stack *s, const char *name, emp_port x);

/** A cache of that name as the last round has left it, of attention's unit; where caches are on a host, what streams from it. */
emp_port emp_stack_kept(emp_stack *s, const char *name, emp_shape shape, int32_t unit);
/** Writes x [batch, new, ...] to the \a positions of a cache of so many rows a sequence. Returns the cache behind the write, or,
 * where caches are on a host, what streams from it: the rows before x, beside which x is on the GPU already. */
emp_port emp_stack_write(emp_stack *s, const char *name, emp_port x, int64_t rows,
                         emp_port positions, int32_t unit);

/** Attention to what the encoder has read. */
emp_port emp_stack_cross_attention(emp_stack *s, emp_port x);
/** Makes the biases of scores that a layer's attention of new tokens to \a keys adds, where the model has them. */
void emp_stack_relate(emp_stack *s, int64_t keys);

/** Attention of [tokens, hidden], with its projections (attention.c). */
emp_port emp_stack_attention(emp_stack *s, emp_port x);
emp_port emp_stack_latent_attention(emp_stack *s, emp_port x);
emp_port emp_stack_compressed_attention(emp_stack *s, emp_port x);
/** Mixers that scan (scan.c). */
emp_port emp_stack_delta_rule(emp_stack *s, emp_port x);
emp_port emp_stack_state_space(emp_stack *s, emp_port x);
emp_port emp_stack_selective(emp_stack *s, emp_port x);
emp_port emp_stack_lightning(emp_stack *s, emp_port x);
emp_port emp_stack_convolution(emp_stack *s, emp_port x);
/** Tokens of all sequences that a round computes. */
int64_t emp_stack_tokens(const emp_stack *s);
/** A view of [tokens, heads x size] as [batch, new, heads, size], with that full name. */
emp_port emp_stack_by_heads(emp_stack *s, const char *name, emp_port x, int64_t heads,
                            int64_t size);

/** The layer of number s->layer, and its mixer (layer.c). */
emp_port emp_stack_layer(emp_stack *s, emp_port x);

/** Residual connections that are no plain sums (layer.c): embeddings as streams, layers between streams, and the one
 * stream that the head reads; and likewise of attention residuals. */
emp_port emp_stack_streams(emp_stack *s, emp_port x);
emp_port emp_stack_alternates(emp_stack *s, emp_port x);
emp_port emp_stack_join_alternates(emp_stack *s, emp_port x);
emp_port emp_stack_join_streams(emp_stack *s, emp_port x);
emp_port emp_stack_join_blocks(emp_stack *s, emp_port x);

/* The graph of a transformer's step.
 *
 *     emp_transformer_model m = {0};
 *     EMP_TRY(emp_transformer_model_init(&m, 32, err));
 *     m.hidden = 4096; ...
 *     emp_transformer_step step = {.phase = EMP_PHASE_DECODE, .batch = 1, .sequence = 512, ...};
 *     EMP_TRY(emp_transformer_graph_create(&graph, &m, &step, NULL, err));
 *
 * The scope of the model. Kernels are fused as in today's runtimes: attention is one kernel that keeps
 * no scores, a norm is one, the update of a weight is one, and the experts of a product are one.
 * A weight, the ops that use it, their gradients, and its update share a device, as in PyTorch.
 * Updates begin when all gradients are there. There is no dropout. Layers may keep only their input and run again.
 *
 * FLOPs. Attention counts the pairs of query and key that its mask leaves; its backward pass
 * computes the scores again and counts 2.5 times the forward pass.
 */

/** Builds the whole graph, its targets marked. O(layers).
 *
 * \param[in] types  The element types of weights by their names, or NULL: all of the step's.
 * \retval EMP_EINVAL        A size out of range, or more tokens than the model has positions for.
 * \retval EMP_EUNSUPPORTED  A phase that the model does not have: an encoder writes no tokens, and
 *                           without a head there is no loss. \retval EMP_ENOMEM */
emp_status emp_transformer_graph_create(emp_graph                  **out,
                                        const emp_transformer_model *model,
                                        const emp_transformer_step  *step,
                                        const emp_weight_types *types, emp_error *err);

#endif /* EMP_GRAPHS_TRANSFORMER_STACK_H */
