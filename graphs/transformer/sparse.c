// SPDX-License-Identifier: GPL-3.0-or-later
/* Indexers: small heads that choose the keys which attention sees (DeepSeek-V3.2, MiniMax-M3). Their keys have a cache of
 * their own. A loss of their own trains them: they pass no gradient to the layers before (DeepSeek-V3.2, section 2.1.1). */
#include "graphs/transformer/stack.h"

static const char *name_of(emp_stack *s, const char *leaf)
{
    return emp_stack_leaf(s, s->m->names.indexer, leaf);
}

static emp_port by_heads(emp_stack *s, const char *leaf, emp_port x, int64_t heads)
{
    return emp_tape_view(
        s->t, name_of(s, leaf), x,
        EMP_SHAPE(s->t->step->batch, emp_stack_new_tokens(s), heads, s->m->index.size));
}

static emp_port turn(emp_stack *s, const char *leaf, emp_port x)
{
    return emp_tape_map(s->t, name_of(s, leaf), "RotaryEmbedding", NULL, x);
}

emp_port emp_stack_select(emp_stack *s, emp_port q, emp_port k, emp_port weights,
                          int32_t stride)
{
    const emp_transformer_indexer *c = &s->m->index;
    int32_t                        unit = emp_tape_unit(s->t);
    emp_op_attrs                   attrs = {.dtype = s->t->step->dtype,
                                            .is_causal = true,
                                            .chosen = c->chosen,
                                            .block = c->block,
                                            .stride = stride};
    emp_port                       in[3] = {q, k, weights};

    if (emp_stack_has_cache(s)) {
        emp_port keys =
            emp_stack_cache(s, ".index_cache", k, emp_stack_cached(s, stride), unit);
        if (s->t->step->phase == EMP_PHASE_DECODE) in[1] = keys;
    }
    for (int32_t i = 0; i < 3; i++) s->index[i] = in[i];
    return emp_tape_op(s->t, "SelectKeys", name_of(s, "select"), unit, &attrs, in,
                       weights.op >= 0 ? 3 : 2);
}

void emp_stack_train_choice(emp_stack *s, emp_port q, emp_port k, int32_t stride)
{
    emp_op_attrs attrs = {.dtype = s->t->step->dtype,
                          .is_causal = true,
                          .chosen = s->m->index.chosen,
                          .block = s->m->index.block,
                          .stride = stride};

    if (s->m->layer[s->layer].indexer != EMP_INDEXER_OWN) return;
    emp_tape_train_choice(s->t, name_of(s, "select"), emp_tape_unit(s->t), &attrs,
                          s->index, s->chosen, q, k);
}

/* Queries of the latent vector of queries, one key a token with a layer norm, and a weight a head. */
static emp_port choose_lightning(emp_stack *s, emp_port x, emp_port latent)
{
    const emp_transformer_indexer *c = &s->m->index;
    int64_t                        all = (int64_t)c->heads * c->size;

    emp_port q = emp_tape_linear(s->t, name_of(s, "wq_b"), latent, all, false);
    q = turn(s, "q_rotary", by_heads(s, "q", q, c->heads));
    emp_port k = emp_tape_linear(s->t, name_of(s, "wk"), x, c->size, false);
    k = emp_tape_norm(s->t, name_of(s, "k_norm"), "LayerNorm", k, true, true);
    k = turn(s, "k_rotary", by_heads(s, "k", k, 1));
    emp_port w = emp_tape_linear(s->t, name_of(s, "weights_proj"), x, c->heads, false);
    return emp_stack_select(s, q, k, w, 1);
}

/* Queries and one key a token of the layer's input, both with norms. */
static emp_port choose_blocks(emp_stack *s, emp_port x)
{
    const emp_transformer_indexer *c = &s->m->index;
    int64_t                        all = (int64_t)c->heads * c->size;

    emp_port q = by_heads(
        s, "q", emp_tape_linear(s->t, name_of(s, "q_proj"), x, all, false), c->heads);
    emp_port k = by_heads(
        s, "k", emp_tape_linear(s->t, name_of(s, "k_proj"), x, c->size, false), 1);
    q = emp_tape_norm(s->t, name_of(s, "q_norm"), "RMSNorm", q, true, false);
    k = emp_tape_norm(s->t, name_of(s, "k_norm"), "RMSNorm", k, true, false);
    return emp_stack_select(s, turn(s, "q_rotary", q), turn(s, "k_rotary", k),
                            EMP_TAPE_NONE, 1);
}

void emp_stack_choose(emp_stack *s, emp_port x, emp_port latent)
{
    const emp_indexer kind = s->m->layer[s->layer].indexer;

    if (kind == EMP_INDEXER_NONE) s->chosen = EMP_TAPE_NONE;
    if (kind != EMP_INDEXER_OWN) return; /* or what an earlier layer has chosen */
    x = emp_tape_detach(s->t, name_of(s, "input"), x);
    if (latent.op >= 0) latent = emp_tape_detach(s->t, name_of(s, "latent"), latent);
    s->chosen =
        s->m->index.block > 1 ? choose_blocks(s, x) : choose_lightning(s, x, latent);
}
