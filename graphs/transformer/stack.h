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
/** The attention itself: q [batch, new, heads, size], k and v likewise. Where there is a cache, it
 * takes k and v, and \a v with op -1 stands for the first \a value_size columns of k. */
emp_port emp_stack_attend(emp_stack *s, emp_port q, emp_port k, emp_port v,
                          int64_t value_size);
/** Tokens of a sequence that a step computes. */
int64_t emp_stack_new_tokens(const emp_stack *s);

/** The feed-forward layer (feed_forward.c). \a residual is what the layer's norms have not yet
 * seen, which Gemma 4's router reads. */
emp_port emp_stack_feed_forward(emp_stack *s, emp_port x, emp_port residual);

/** The layer of number s->layer (layer.c). */
emp_port emp_stack_layer(emp_stack *s, emp_port x);

#endif /* EMP_GRAPHS_TRANSFORMER_STACK_H */
