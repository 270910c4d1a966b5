// SPDX-License-Identifier: GPL-3.0-or-later
/* From tokens through embeddings and layers to logits and a loss. */
#include "graphs/transformer/model.h"

#include <emplace/problem.h>
#include <stdio.h>

#include "base/mem.h"
#include "graphs/transformer/stack.h"

enum { BATCH_MAX = 1 << 20, SEQUENCE_MAX = 1 << 24, ROUNDS_MAX = 4096 };

static int64_t transformer_tokens(const emp_transformer_step *step)
{
    return step->phase == EMP_PHASE_DECODE ? step->batch : step->batch * step->sequence;
}

/* ---- what cannot be built ---- */

/* Micro-batches read what those before them have left in caches of keys and values. */
static emp_status check_rounds(const emp_transformer_model *m,
                               const emp_transformer_step *step, emp_error *err)
{
    const int64_t rounds = emp_transformer_rounds(step);

    if (step->micro_batch == 0) return EMP_OK;
    if (step->phase != EMP_PHASE_PREFILL || m->is_encoder)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "micro-batches are of prompts that a decoder reads: ubatch needs "
            "phase=prefill");
    if (rounds > ROUNDS_MAX)
        return EMP_ERROR(EMP_EINVAL, "%lld micro-batches, at most %d are possible",
                         (long long)rounds, ROUNDS_MAX);
    if (rounds == 1) return EMP_OK;
    if (!emp_transformer_has_plain_keys(m))
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "the model has latent, compressed or chosen keys, or scans: its "
                         "prompts are read whole, with ubatch=0");
    return EMP_OK;
}

/* Checks the tokens that an encoder beside a decoder reads. */
static emp_status check_source(const emp_transformer_model *m,
                               const emp_transformer_step *step, emp_error *err)
{
    const emp_transformer_model *e = m->encoder;

    if (e == NULL && step->source > 0)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "source is the number of tokens that an encoder reads for a "
                         "decoder, and the model is one stack of layers: seq is for it");
    if (e == NULL) return EMP_OK;
    if (step->source < 1 || step->source > SEQUENCE_MAX)
        return EMP_ERROR(EMP_EINVAL, "an encoder that reads %lld tokens, must be 1 to %d",
                         (long long)step->source, SEQUENCE_MAX);
    if (step->batch * step->source > INT32_MAX)
        return EMP_ERROR(EMP_EINVAL, "%lld x %lld tokens, at most %d are possible",
                         (long long)step->batch, (long long)step->source, INT32_MAX);
    if (e->sound_size > 0 && step->source != e->positions)
        return EMP_ERROR(EMP_EINVAL,
                         "an encoder of %lld tokens, but it hears %d of them, always",
                         (long long)step->source, e->positions);
    if (e->position_rows > 0 && e->positions > 0 && step->source > e->positions)
        return EMP_ERROR(EMP_EINVAL, "an encoder of %lld tokens, but it has %d positions",
                         (long long)step->source, e->positions);
    return EMP_OK;
}

static emp_status check_step(const emp_transformer_model *m,
                             const emp_transformer_step *step, emp_error *err)
{
    if (step->batch < 1 || step->batch > BATCH_MAX)
        return EMP_ERROR(EMP_EINVAL, "a batch of %lld sequences, must be 1 to %d",
                         (long long)step->batch, BATCH_MAX);
    if (step->sequence < 1 || step->sequence > SEQUENCE_MAX)
        return EMP_ERROR(EMP_EINVAL, "sequences of %lld tokens, must be 1 to %d",
                         (long long)step->sequence, SEQUENCE_MAX);
    if (transformer_tokens(step) > INT32_MAX)
        return EMP_ERROR(EMP_EINVAL, "%lld x %lld tokens, at most %d are possible",
                         (long long)step->batch, (long long)step->sequence, INT32_MAX);
    if (m->position_rows > 0 && m->positions > 0 && step->sequence > m->positions)
        return EMP_ERROR(EMP_EINVAL,
                         "sequences of %lld tokens, but the model has %d positions",
                         (long long)step->sequence, m->positions);
    EMP_CHECK(check_source(m, step, err));
    if (m->is_encoder && step->phase == EMP_PHASE_DECODE)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "an encoder writes no tokens; its phases are train and prefill");
    if (!m->has_head && m->pooled_classes == 0 && step->phase == EMP_PHASE_TRAIN)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "the model has no head, and so no loss to train by; its phase is "
            "prefill");
    if (step->updates_on_host &&
        (step->phase != EMP_PHASE_TRAIN || step->update != EMP_UPDATE_ADAM))
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "update=host keeps the states of Adam on a host: it needs "
                         "phase=train and optimizer=adam");
    if (step->recomputes && step->phase != EMP_PHASE_TRAIN)
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "checkpointing=1 runs layers again for their gradients: it needs "
            "phase=train");
    if (step->caches_on_host && (step->phase == EMP_PHASE_TRAIN || m->is_encoder))
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "cache=host keeps keys and values on a host: it needs "
                         "phase=prefill or phase=decode, and a model that has a cache");
    if (step->cache_dtype != EMP_DTYPE_NONE &&
        (step->phase == EMP_PHASE_TRAIN || m->is_encoder))
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "cache_dtype is of cached keys and values: it needs "
                         "phase=prefill or phase=decode, and a model that has a cache");
    if (step->home == EMP_HOME_ANY && step->phase == EMP_PHASE_TRAIN)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "home=any is for phase=prefill and phase=decode; weights that "
                         "are trained have home=device or home=host");
    if (step->home == EMP_HOME_HOST && step->phase == EMP_PHASE_TRAIN &&
        !step->updates_on_host)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "home=host leaves the weights of a training step on a host, "
                         "which updates them: it needs update=host");
    return check_rounds(m, step, err);
}

/* ---- embeddings ---- */

static emp_port look_up(emp_stack *s, const char *module, int64_t rows, int64_t size,
                        emp_port numbers)
{
    const char   *name = emp_tape_join_names(s->t, module, ".weight");
    const int32_t known = s->m->encoder != NULL ? emp_tape_unit_of(s->t, name) : -1;
    int32_t       unit = known >= 0 ? known : emp_tape_unit(s->t);
    emp_port      table = emp_tape_table(s->t, name, EMP_SHAPE(rows, size), unit);

    /* the encoder may have read the same table */
    if (known >= 0) module = emp_tape_join_names(s->t, module, "/decoder");
    return emp_tape_lookup(s->t, module, table, numbers, unit);
}

/* Rows of a table that nothing trains. */
static emp_port look_up_fixed(emp_stack *s, const char *module, int64_t rows,
                              int64_t size, emp_port numbers, emp_weight_kind kind)
{
    int32_t      unit = emp_tape_unit(s->t);
    emp_op_attrs attrs = {.dtype = s->t->step->dtype};
    emp_port     in[2] = {EMP_TAPE_NONE, numbers};

    in[0] = emp_tape_weight_of(s->t, emp_tape_join_names(s->t, module, ".weight"),
                               EMP_SHAPE(rows, size), unit, kind);
    return emp_tape_op(s->t, "Gather", module, unit, &attrs, in, 2);
}

/* Embeddings of each layer: of the token, and of its embedding (Gemma 4). */
static void embed_layers(emp_stack *s, emp_port ids, emp_port x)
{
    int64_t     size = (int64_t)s->m->layer_embedding * s->m->layer_count;
    const char *prefix = "model.per_layer_model_projection";

    emp_port by_token =
        look_up(s, "model.embed_tokens_per_layer", s->m->layer_embedding_rows, size, ids);
    emp_port by_state = emp_tape_linear(s->t, prefix, x, size, false);
    int64_t  rows = emp_tape_size(s->t, x, 0) * s->m->layer_count;
    emp_port cut = emp_tape_view(s->t, emp_tape_join_names(s->t, prefix, "/rows"),
                                 by_state, EMP_SHAPE(rows, s->m->layer_embedding));
    cut = emp_stack_norm(s, "model.per_layer_projection_norm", cut);
    cut = emp_tape_view(s->t, emp_tape_join_names(s->t, prefix, "/all"), cut,
                        EMP_SHAPE(emp_tape_size(s->t, x, 0), size));
    s->embeddings =
        emp_tape_add(s->t, emp_tape_join_names(s->t, prefix, "/add"), by_token, cut);
}

/* A name outside of all modules. */
static const char *scoped(emp_stack *s, const char *name)
{
    return emp_tape_join_names(s->t, s->scope, name);
}

static emp_port look_up_positions(emp_stack *s)
{
    const emp_transformer_model *m = s->m;
    const char                  *module = m->names.positions;
    emp_port at = emp_tape_placeholder(s->t, scoped(s, "position_ids"), EMP_DTYPE_INT32,
                                       EMP_SHAPE(emp_stack_tokens(s)));

    if (m->position_kind == EMP_POSITIONS_LEARNED)
        return look_up(s, module, m->position_rows, m->hidden, at);
    return look_up_fixed(s, module, m->position_rows, m->hidden, at,
                         m->position_kind == EMP_POSITIONS_FROZEN ? EMP_WEIGHT_FROZEN
                                                                  : EMP_WEIGHT_FIXED);
}

/* Frames of sound, two of which become a token. */
static emp_port hear(emp_stack *s)
{
    const emp_transformer_model *m = s->m;
    const char                  *name = m->names.embedding;
    emp_tape                    *t = s->t;
    emp_port                     x =
        emp_tape_placeholder(t, "input_features", t->step->dtype,
                             EMP_SHAPE(t->step->batch, m->sound_size, 2 * s->new_tokens));

    for (int32_t i = 1; i <= 2; i++) {
        const char *module = emp_tape_join_names(t, name, i == 1 ? "1" : "2");
        x = emp_tape_convolution(t, module, x, m->hidden, 3, i);
        x = emp_tape_map(t, emp_tape_join_names(t, module, "/act"), "Gelu", "GeluGrad",
                         x);
    }
    return emp_tape_view(t, emp_tape_join_names(t, name, "/tokens"), x,
                         EMP_SHAPE(emp_stack_tokens(s), m->hidden));
}

static emp_port embed(emp_stack *s)
{
    const emp_transformer_model *m = s->m;
    int64_t                      tokens = emp_stack_tokens(s);
    emp_port                     x;

    if (m->sound_size > 0) {
        x = hear(s);
    } else {
        s->ids = emp_tape_placeholder(s->t, scoped(s, "input_ids"), EMP_DTYPE_INT32,
                                      EMP_SHAPE(tokens));
        x = look_up(s, m->names.embedding, m->vocabulary, m->hidden, s->ids);
    }
    if (m->type_rows > 0) {
        emp_port types = emp_tape_placeholder(s->t, "token_type_ids", EMP_DTYPE_INT32,
                                              EMP_SHAPE(tokens));
        x = emp_tape_add(s->t, "embeddings/add_types", x,
                         look_up(s, m->names.types, m->type_rows, m->hidden, types));
    }
    if (m->position_rows > 0)
        x = emp_tape_add(s->t, scoped(s, "embeddings/add_positions"), x,
                         look_up_positions(s));
    if (m->has_embedding_norm) x = emp_stack_norm(s, m->names.embedding_norm, x);
    if (m->layer_embedding > 0) embed_layers(s, s->ids, x);
    if (m->alternates > 0) return emp_stack_alternates(s, x);
    return m->streams > 0 ? emp_stack_streams(s, x) : x;
}

/* ---- heads ---- */

/* The first or the last tokens of all sequences. */
static emp_port one_of_each(emp_stack *s, const char *name, emp_port x)
{
    return emp_tape_view(s->t, name, x, EMP_SHAPE(s->t->step->batch, s->m->hidden));
}

/* A dense layer, an activation and a norm. */
static emp_port transform(emp_stack *s, emp_port x)
{
    const emp_transformer_names *n = &s->m->names;
    const char                  *name = n->transform;

    x = emp_tape_linear(s->t, emp_tape_join_names(s->t, name, ".dense"), x, s->m->hidden,
                        !s->m->lacks_transform_bias);
    x = emp_stack_activate(s, emp_tape_join_names(s->t, name, "/act"), x);
    return emp_stack_norm(s, emp_tape_join_names(s->t, name, n->transform_norm), x);
}

static emp_port make_logits(emp_stack *s, emp_port x)
{
    const emp_transformer_model *m = s->m;
    const char                  *head = m->names.head;

    if (m->has_head_transform) x = transform(s, x);
    if (m->is_head_tied) {
        const char *table = emp_tape_join_names(s->t, m->names.embedding, ".weight");
        emp_port w = emp_tape_weight_of(s->t, table, EMP_SHAPE(m->vocabulary, m->hidden),
                                        0, EMP_WEIGHT_TRAINED);
        int32_t unit = s->t->step->home == EMP_HOME_READER ? emp_tape_unit_of(s->t, table)
                                                           : emp_tape_unit(s->t);
        x = emp_tape_linear_by(s->t, head, x, w, unit);
        if (m->has_head_bias) {
            emp_port bias =
                emp_tape_weight_of(s->t, emp_tape_join_names(s->t, head, ".bias"),
                                   EMP_SHAPE(m->vocabulary), unit, EMP_WEIGHT_TRAINED);
            x = emp_tape_add(s->t, emp_tape_join_names(s->t, head, "/add_bias"), x, bias);
        }
    } else {
        x = emp_tape_linear(s->t, head, x,
                            m->head_rows > 0 ? m->head_rows : m->vocabulary,
                            m->has_head_bias);
    }
    if (m->has_logit_cap)
        x = emp_tape_map(s->t, emp_tape_join_names(s->t, head, "/cap"), "Tanh",
                         "TanhGrad", x);
    return x;
}

static void fetch(emp_stack *s, emp_port x)
{
    if (emp_tape_is_ok(s->t)) emp_graph_builder_set_target(s->t->builder, x.op);
}

static void add_loss(emp_stack *s, const char *name, const char *labels, emp_port logits)
{
    const bool is_decoder_alone = !s->m->is_encoder && s->m->encoder == NULL;
    emp_port   wanted = emp_tape_placeholder(s->t, labels, EMP_DTYPE_INT32,
                                             EMP_SHAPE(emp_tape_size(s->t, logits, 0)));

    emp_tape_loss(s->t, name, logits, wanted, is_decoder_alone);
}

static void pool(emp_stack *s, emp_port x)
{
    bool        is_training = emp_tape_is_training(s->t);
    const char *pooler = s->m->names.pooler;
    emp_port    y = one_of_each(s, "pooler/first", x);

    if (pooler != NULL) {
        y = emp_tape_linear(s->t, emp_tape_join_names(s->t, pooler, ".dense"), y,
                            s->m->hidden, true);
        y = emp_tape_map(s->t, emp_tape_join_names(s->t, pooler, "/act"), "Tanh",
                         "TanhGrad", y);
    } else {
        y = transform(s, y);
    }
    if (s->m->pooled_classes > 0)
        y = emp_tape_linear(s->t, s->m->pooled_name, y, s->m->pooled_classes, true);
    if (is_training && s->m->pooled_classes > 0)
        add_loss(s, emp_tape_join_names(s->t, s->m->pooled_task, "_loss"),
                 emp_tape_join_names(s->t, s->m->pooled_task, "_label"), y);
    else
        fetch(s, y);
}

/* Tokens are drawn from float32. */
static emp_port sample(emp_stack *s, emp_port logits, const char *type, int32_t unit)
{
    emp_op_attrs attrs = {.dtype = EMP_DTYPE_FLOAT};
    emp_port wide = emp_tape_op(s->t, "Cast", "sample/float", unit, &attrs, &logits, 1);

    return emp_tape_op(s->t, type, "sample", unit, NULL, &wide, 1);
}

static void finish(emp_stack *s, emp_port x)
{
    bool is_training = emp_tape_is_training(s->t);

    emp_tape_stage(s->t, x);
    if (s->m->streams > 0) x = emp_stack_join_streams(s, x);
    if (s->m->alternates > 0) x = emp_stack_join_alternates(s, x);
    if (s->m->residual_block > 0) x = emp_stack_join_blocks(s, x);
    if (s->m->has_final_norm) x = emp_stack_norm(s, s->m->names.final_norm, x);
    if (s->m->has_pooler) pool(s, x);
    if (!s->m->has_head) {
        if (!is_training) fetch(s, x);
        return;
    }
    if (s->t->step->phase == EMP_PHASE_PREFILL && !s->m->is_encoder &&
        s->m->head_rows == 0)
        x = one_of_each(s, "last_tokens", x);
    emp_port logits = make_logits(s, x);
    if (is_training)
        add_loss(s, "loss", "labels", logits);
    else if (s->t->step->samples_on_host)
        fetch(s, sample(s, logits, "SampleToken", -1));
    else if (s->t->step->samples_top_p)
        fetch(s, sample(s, logits, "SampleTopP", emp_tape_unit(s->t)));
    else
        fetch(s, logits);
}

/* ---- all ---- */

static emp_stack stack_of(emp_tape *t, const emp_transformer_model *m, const char *scope)
{
    return (emp_stack){.t = t,
                       .m = m,
                       .layer = -1,
                       .scope = scope,
                       .chosen = EMP_TAPE_NONE,
                       .blocks = EMP_TAPE_NONE,
                       .relative = EMP_TAPE_NONE};
}

/* From tokens to what the last layer makes of them. */
static emp_port emit_round(emp_stack *s)
{
    if (s->t->step->phase != EMP_PHASE_TRAIN && !s->m->is_encoder)
        s->positions = emp_tape_placeholder(s->t, "cache_positions", EMP_DTYPE_INT32,
                                            EMP_SHAPE(s->new_tokens));
    emp_port x = embed(s);
    for (s->layer = 0; s->layer < s->m->layer_count && emp_tape_is_ok(s->t); s->layer++) {
        snprintf(s->prefix, sizeof s->prefix, "%s.%d.", s->m->names.layer, s->layer);
        emp_tape_stage(s->t, x);
        emp_tape_begin_segment(s->t, x);
        x = emp_stack_layer(s, x);
        emp_tape_end_segment(s->t);
    }
    s->layer = -1;
    s->prefix[0] = '\0';
    return x;
}

/* Runs the encoder, whose results a decoder then attends to. */
static void encode(emp_stack *decoder)
{
    emp_tape  *t = decoder->t;
    emp_error *err = t->err;
    emp_stack  s = stack_of(t, decoder->m->encoder, "");
    emp_status st = EMP_ALLOC(s.kv, (size_t)s.m->layer_count);

    s.new_tokens = t->step->source;
    emp_tape_fail(t, st);
    emp_port x = emp_tape_is_ok(t) ? emit_round(&s) : EMP_TAPE_NONE;
    if (s.m->has_final_norm) x = emp_stack_norm(&s, s.m->names.final_norm, x);
    emp_free(s.kv);
    decoder->source = x;
    if (t->step->phase == EMP_PHASE_PREFILL)
        decoder->source_positions = emp_tape_placeholder(
            t, "source_positions", EMP_DTYPE_INT32, EMP_SHAPE(t->step->source));
}

static void emit(emp_stack *s)
{
    const int64_t tokens = emp_transformer_round_tokens(s->t->step),
                  rounds = emp_transformer_rounds(s->t->step);
    emp_port x = EMP_TAPE_NONE;

    for (int32_t r = 0; r < rounds && emp_tape_is_ok(s->t); r++) {
        /* all rounds make the same ops, and ops of one kind are where their weights are */
        s->t->unit_count = 0;
        s->t->round = r;
        s->t->level = (uint8_t)(rounds <= EMP_LEVELS ? r : r * EMP_LEVELS / rounds);
        s->next_cache = 0;
        s->first = r * tokens;
        s->new_tokens = r + 1 < rounds || s->t->step->phase == EMP_PHASE_DECODE
                            ? tokens
                            : s->t->step->sequence - s->first;
        if (s->m->encoder != NULL && s->t->step->phase != EMP_PHASE_DECODE) encode(s);
        x = emit_round(s);
    }
    finish(s, x);
    if (!emp_tape_is_training(s->t)) return;
    emp_tape_differentiate(s->t);
    emp_tape_update(s->t);
}

emp_status emp_transformer_graph_create(emp_graph                  **out,
                                        const emp_transformer_model *model,
                                        const emp_transformer_step  *step,
                                        const emp_weight_types *types, emp_error *err)
{
    static const emp_graph_source source_of[] = {
        [EMP_PHASE_TRAIN] = EMP_SOURCE_TRAINING,
        [EMP_PHASE_PREFILL] = EMP_SOURCE_FORWARD,
        [EMP_PHASE_DECODE] = EMP_SOURCE_DECODE,
    };
    emp_status st = EMP_OK;
    emp_tape   t = {0};
    emp_stack  s = stack_of(&t, model, model->encoder != NULL ? "decoder_" : "");

    *out = NULL;
    EMP_TRY(emp_transformer_model_check(model, err));
    EMP_TRY(check_step(model, step, err));
    EMP_TRY(emp_tape_init(&t, step, err));
    if (!step->is_frozen) emp_graph_builder_assume_kernels(t.builder);
    t.types = types;
    t.scales_in_float32 = model->has_wide_norm;
    EMP_TRY(EMP_ALLOC(s.kv, (size_t)model->layer_count));
    emit(&s);
    EMP_TRY(emp_tape_finish(&t, out));
    (*out)->source = source_of[step->phase];

cleanup:
    emp_free(s.kv);
    emp_free(s.cache);
    emp_tape_clear(&t);
    return st;
}
