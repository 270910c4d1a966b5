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
} emp_stack;

/** The full name of a module of the layer; in the tape's arena. */
const char *emp_stack_name(emp_stack *s, const char *module);
/** The same with a leaf behind it. */
const char *emp_stack_leaf(emp_stack *s, const char *module, const char *leaf);
/** The full name of a module whose pattern has a star for \a part: "mlp.*_proj". */
const char *emp_stack_part(emp_stack *s, const char *pattern, const char *part);
/** The model's norm, with that full name. */
emp_port emp_stack_norm(emp_stack *s, const char *name, emp_port x);
/** The model's activation. */
emp_port emp_stack_activate(emp_stack *s, const char *name, emp_port x);

/** Attention of [tokens, hidden], with its projections (attention.c, latent.c). */
emp_port emp_stack_attention(emp_stack *s, emp_port x);
emp_port emp_stack_latent_attention(emp_stack *s, emp_port x);
emp_port emp_stack_compressed_attention(emp_stack *s, emp_port x); /* compressed.c */
/** Mixers that scan (scan.c). */
emp_port emp_stack_delta_rule(emp_stack *s, emp_port x);
emp_port emp_stack_state_space(emp_stack *s, emp_port x);
/** What attention gives, [tokens, heads x value size], by its gate of \a x. */
emp_port emp_stack_gate(emp_stack *s, emp_port y, emp_port x);
/** Has the layer's indexer, if it has one, choose the keys that attention sees, for its input and the latent vector of
 * its queries (sparse.c). */
void emp_stack_choose(emp_stack *s, emp_port x, emp_port latent);
/** What an indexer's heads choose; without \a weights each for itself. Keys stand for \a stride tokens. */
emp_port emp_stack_select(emp_stack *s, emp_port q, emp_port k, emp_port weights,
                          int32_t stride);
/** The attention itself: q [batch, new, heads, size], k and v likewise. Where there is a cache, it
 * takes k and v, and \a v with op -1 stands for the first \a value_size columns of k. */
emp_port emp_stack_attend(emp_stack *s, emp_port q, emp_port k, emp_port v,
                          int64_t value_size);
/** Trains what has chosen keys stand for \a stride tokens each, if the layer has done it, by attention of q to k. */
void emp_stack_train_choice(emp_stack *s, emp_port q, emp_port k, int32_t stride);
/** The same without a cache. */
emp_port emp_stack_attend_to(emp_stack *s, emp_port q, emp_port k, emp_port v,
                             int32_t unit);
/** True if the step writes a cache. */
bool emp_stack_has_cache(const emp_stack *s);
/** Keys that stand for \a stride tokens each, of all tokens of a sequence. */
int64_t emp_stack_cached(const emp_stack *s, int64_t stride);
/** Writes x [batch, new, ...] into a cache of so many \a rows a sequence; the cache behind the write. */
emp_port emp_stack_cache(emp_stack *s, const char *leaf, emp_port x, int64_t rows,
                         int32_t unit);
/** Tokens of a sequence that a round computes: all of a step, unless prompts have micro-batches. */
int64_t emp_stack_new_tokens(const emp_stack *s);
/** The same of all sequences. */
int64_t emp_stack_tokens(const emp_stack *s);
/** A view of [tokens, heads x size] as [batch, new, heads, size], with that full name. */
emp_port emp_stack_by_heads(emp_stack *s, const char *name, emp_port x, int64_t heads,
                            int64_t size);

/** The feed-forward layer (feed_forward.c). \a residual is what the layer's norms have not yet
 * seen, which Gemma 4's router reads. */
emp_port emp_stack_feed_forward(emp_stack *s, emp_port x, emp_port residual);

/** The layer of number s->layer, and its mixer (layer.c). */
emp_port emp_stack_layer(emp_stack *s, emp_port x);
emp_port emp_stack_mix(emp_stack *s, emp_port x);

/** Residual connections that are no plain sums (streams.c): embeddings as streams, layers between streams, and the one
 * stream that the head reads; and likewise of attention residuals. */
emp_port emp_stack_streams(emp_stack *s, emp_port x);
emp_port emp_stack_streams_layer(emp_stack *s, emp_port x);
emp_port emp_stack_join_streams(emp_stack *s, emp_port x);
emp_port emp_stack_blocks_layer(emp_stack *s, emp_port x);
emp_port emp_stack_join_blocks(emp_stack *s, emp_port x);

#endif /* EMP_GRAPHS_TRANSFORMER_STACK_H */
