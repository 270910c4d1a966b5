// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/transformer/tape.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* ---- lifecycle ---- */

emp_status emp_tape_init(emp_tape *t, const emp_transformer_step *step, emp_error *err)
{
    *t = (emp_tape){.err = err, .step = step, .latest = EMP_TAPE_NONE};
    t->status = emp_graph_builder_create(&t->builder, err);
    return t->status;
}

void emp_tape_clear(emp_tape *t)
{
    emp_graph_builder_destroy(t->builder);
    emp_strmap_clear(&t->weight_of_name);
    emp_arena_clear(&t->names);
    emp_free(t->note);
    emp_free(t->weight);
    emp_free(t->mark);
    emp_free(t->segment);
    emp_free(t->gradient);
    *t = (emp_tape){0};
}

void emp_tape_fail(emp_tape *t, emp_status status)
{
    if (t->status == EMP_OK) t->status = status;
}

bool emp_tape_is_ok(const emp_tape *t) { return t->status == EMP_OK; }

bool emp_tape_is_training(const emp_tape *t) { return t->step->phase == EMP_PHASE_TRAIN; }

emp_dtype emp_cache_dtype_of(int32_t word)
{
    enum { GGML_Q4_0 = 2, GGML_Q8_0 = 8 };
    const emp_dtype types[] = {EMP_DTYPE_NONE, EMP_DTYPE_FLOAT8_E4M3,
                               emp_dtype_of_ggml(GGML_Q8_0),
                               emp_dtype_of_ggml(GGML_Q4_0)};

    return types[word];
}

emp_status emp_tape_finish(emp_tape *t, emp_graph **out)
{
    *out = NULL;
    if (emp_tape_is_ok(t)) t->status = emp_graph_builder_finish(t->builder, out, t->err);
    return t->status;
}

static void fail_memory(emp_tape *t, const char *what)
{
    if (emp_tape_is_ok(t))
        t->status = emp_error_set(t->err, EMP_ENOMEM, __FILE__, __LINE__, "%s", what);
}

/* ---- names and units ---- */

int32_t emp_tape_unit(emp_tape *t) { return ++t->unit_count; }

const char *emp_tape_join_names(emp_tape *t, const char *a, const char *b)
{
    size_t first = strlen(a), second = strlen(b);
    char  *name = emp_arena_alloc(&t->names, first + second + 1);

    if (name == NULL) {
        fail_memory(t, "names of a transformer");
        return "";
    }
    memcpy(name, a, first);
    memcpy(name + first, b, second + 1);
    return name;
}

/* ---- ops ---- */

/* An op whose name has no round. */
static emp_port add_op(emp_tape *t, const char *type, const char *name, int32_t unit,
                       const emp_op_attrs *attrs, const emp_port *inputs, int32_t count)
{
    emp_op_attrs given = attrs != NULL ? *attrs : (emp_op_attrs){0};
    emp_op_id    op = -1;

    given.colocation = unit;
    given.level = t->level;
    if (!emp_tape_is_ok(t)) return EMP_TAPE_NONE;
    t->status = emp_graph_builder_add(t->builder, name, type, &given, inputs, count, NULL,
                                      0, &op, t->err);
    return emp_tape_is_ok(t) ? (emp_port){op, 0} : EMP_TAPE_NONE;
}

/* The name of an op in the round of those that follow. */
static const char *name_in_round(emp_tape *t, const char *name)
{
    char round[24];

    if (t->round == 0) return name;
    snprintf(round, sizeof round, EMP_TAPE_ROUND "%d", t->round);
    return emp_tape_join_names(t, name, round);
}

emp_port emp_tape_op(emp_tape *t, const char *type, const char *name, int32_t unit,
                     const emp_op_attrs *attrs, const emp_port *inputs, int32_t count)
{
    emp_port port = add_op(t, type, name_in_round(t, name), unit, attrs, inputs, count);

    if (count > 0) t->latest = port;
    return port;
}

emp_port emp_tape_constant(emp_tape *t, const char *name, const int64_t *values,
                           int32_t count)
{
    emp_op_id    there = emp_graph_builder_find(t->builder, name, strlen(name));
    emp_op_attrs attrs = {.dtype = EMP_DTYPE_INT32,
                          .has_shape = true,
                          .shape = EMP_SHAPE(count),
                          .value = values,
                          .value_count = count};

    if (emp_tape_is_ok(t) && there >= 0) return (emp_port){there, 0};
    return add_op(t, "Const", name, 0, &attrs, NULL, 0);
}

emp_port emp_tape_factor(emp_tape *t, const char *name)
{
    int64_t      one = 1;
    emp_op_attrs attrs = {.dtype = t->step->dtype,
                          .has_shape = true,
                          .value = &one,
                          .shape = EMP_SHAPE_SCALAR,
                          .value_count = 1};

    if (!emp_tape_is_ok(t)) return EMP_TAPE_NONE;
    emp_op_id there = emp_graph_builder_find(t->builder, name, strlen(name));
    return there >= 0 ? (emp_port){there, 0}
                      : emp_tape_op(t, "Const", name, 0, &attrs, NULL, 0);
}

emp_port emp_tape_axis(emp_tape *t, int64_t axis)
{
    char name[16];

    snprintf(name, sizeof name, "axis_%d", (int)axis);
    return emp_tape_constant(t, name, &axis, 1);
}

emp_port emp_tape_placeholder(emp_tape *t, const char *name, emp_dtype dtype,
                              emp_shape shape)
{
    emp_op_attrs attrs = {.dtype = dtype, .has_shape = true, .shape = shape};

    return emp_tape_op(t, "Placeholder", name, 0, &attrs, NULL, 0);
}

emp_shape emp_tape_shape(const emp_tape *t, emp_port port)
{
    if (!emp_tape_is_ok(t)) return EMP_SHAPE_UNKNOWN;
    return emp_graph_builder_output(t->builder, port)->shape;
}

int64_t emp_tape_size(const emp_tape *t, emp_port port, int32_t dim)
{
    emp_shape shape = emp_tape_shape(t, port);
    int32_t   at = dim < 0 ? shape.rank + dim : dim;

    return at >= 0 && at < shape.rank ? shape.dim[at] : 1;
}

/* A view is where its tensor is. */
static int32_t unit_of(emp_tape *t, emp_port x)
{
    if (!emp_tape_is_ok(t)) return 0;
    int32_t unit = emp_graph_builder_attrs(t->builder, x.op)->colocation;

    return unit > 0 ? unit : emp_tape_unit(t);
}

/* ---- weights ---- */

static emp_dtype type_of_weight(emp_tape *t, const char *name, const emp_shape *shape)
{
    emp_dtype dtype = t->step->dtype;

    if (t->types != NULL)
        emp_tape_fail(t, t->types->find(t->types->context, name, shape, &dtype, t->err));
    return dtype;
}

static const char *weight_type(const emp_tape *t, emp_weight_kind kind)
{
    if (kind == EMP_WEIGHT_FIXED) return "Buffer";
    return emp_tape_is_training(t) ? "VariableV2" : "Weights";
}

/* The type of matrices that have a home of their own. */
static const char *homed_type(const emp_tape *t)
{
    return t->step->home == EMP_HOME_HOST ? "HostWeights" : "AnyWeights";
}

static emp_port weight_of(emp_tape *t, const char *name, const char *type,
                          emp_shape shape, int32_t unit, emp_weight_kind kind)
{
    int32_t known = emp_strmap_get(&t->weight_of_name, name, strlen(name));

    if (!emp_tape_is_ok(t)) return EMP_TAPE_NONE;
    if (known >= 0) return (emp_port){t->weight[known].variable, 0};
    emp_error *err = t->err;
    emp_tape_fail(t, EMP_GROW(t->weight, t->weight_count + 1, t->weight_capacity));
    if (!emp_tape_is_ok(t)) return EMP_TAPE_NONE;
    emp_op_attrs attrs = {
        .dtype = type_of_weight(t, name, &shape), .has_shape = true, .shape = shape};
    emp_port port = add_op(t, type, name, unit, &attrs, NULL, 0);
    if (!emp_tape_is_ok(t)) return EMP_TAPE_NONE;
    const char *kept = emp_graph_builder_name(t->builder, port.op);
    emp_tape_fail(t, emp_strmap_set(&t->weight_of_name, kept, strlen(kept),
                                    t->weight_count, t->err));
    t->weight[t->weight_count++] = (emp_tape_weight){port.op, unit, kind};
    return port;
}

/* ---- weights that have a home of their own ---- */

/* An element of x, which reaches another memory when x is done. */
static emp_port mark(emp_tape *t, emp_port x)
{
    emp_op_attrs attrs = {
        .dtype = t->step->dtype, .has_shape = true, .shape = EMP_SHAPE(1)};

    if (!emp_tape_is_ok(t) || x.op < 0) return EMP_TAPE_NONE;
    const char *name =
        emp_tape_join_names(t, emp_graph_builder_name(t->builder, x.op), "/mark");
    emp_op_id there = emp_graph_builder_find(t->builder, name, strlen(name));
    if (there >= 0) return (emp_port){there, 0};
    return add_op(t, "View", name, unit_of(t, x), &attrs, &x, 1);
}

/* The mark that a weight waits for before it leaves its home. */
static emp_port turn_of(emp_tape *t)
{
    const int32_t at = t->mark_count - 1 - t->step->ahead;

    if (t->step->ahead == 0) return mark(t, t->latest);
    return at >= 0 ? t->mark[at] : EMP_TAPE_NONE;
}

emp_port emp_tape_stream(emp_tape *t, const char *name, emp_port x, int32_t unit)
{
    const char *streamed = name_in_round(t, emp_tape_join_names(t, name, "/stream"));

    if (!emp_tape_is_ok(t)) return EMP_TAPE_NONE;
    emp_op_id there = emp_graph_builder_find(t->builder, streamed, strlen(streamed));
    if (there >= 0) return (emp_port){there, 0};
    emp_port in[2] = {x, turn_of(t)};
    return add_op(t, "Stream", streamed, unit, NULL, in, in[1].op >= 0 ? 2 : 1);
}

void emp_tape_stage(emp_tape *t, emp_port x)
{
    emp_error *err = t->err;

    const bool streams = t->step->home != EMP_HOME_READER || t->step->caches_on_host;

    if (!emp_tape_is_ok(t) || !streams || t->step->ahead == 0) return;
    emp_tape_fail(t, EMP_GROW(t->mark, t->mark_count + 1, t->mark_capacity));
    if (!emp_tape_is_ok(t)) return;
    t->mark[t->mark_count++] = mark(t, x);
}

emp_port emp_tape_weight_of(emp_tape *t, const char *name, emp_shape shape, int32_t unit,
                            emp_weight_kind kind)
{
    if (t->step->home == EMP_HOME_READER || shape.rank < 2 || kind != EMP_WEIGHT_TRAINED)
        return weight_of(t, name, weight_type(t, kind), shape, unit, kind);
    int32_t own = emp_tape_unit(t);
    return emp_tape_stream(t, name, weight_of(t, name, homed_type(t), shape, own, kind),
                           own);
}

emp_port emp_tape_table(emp_tape *t, const char *name, emp_shape shape, int32_t unit)
{
    const char *type = t->step->home == EMP_HOME_READER
                           ? weight_type(t, EMP_WEIGHT_TRAINED)
                           : homed_type(t);

    return weight_of(t, name, type, shape, unit, EMP_WEIGHT_TRAINED);
}

int32_t emp_tape_unit_of(const emp_tape *t, const char *weight)
{
    int32_t known = emp_strmap_get(&t->weight_of_name, weight, strlen(weight));

    return known < 0 ? -1 : t->weight[known].unit;
}

/* ---- notes ---- */

/* Notes an op for the way back; NULL: out of memory, or no backward pass follows. */
static emp_note *tape_note(emp_tape *t, emp_note_kind kind, const char *name,
                           int32_t unit, emp_port output, const emp_port *inputs,
                           int32_t count)
{
    emp_error *err = t->err;

    if (!emp_tape_is_ok(t) || !emp_tape_is_training(t)) return NULL;
    emp_tape_fail(t, EMP_GROW(t->note, t->note_count + 1, t->note_capacity));
    if (!emp_tape_is_ok(t)) return NULL;
    emp_note *note = &t->note[t->note_count++];
    *note = (emp_note){.kind = kind,
                       .name = emp_tape_join_names(t, name, ""),
                       .unit = unit,
                       .op = output.op,
                       .input_count = count,
                       .stage = t->mark_count};
    for (int32_t i = 0; i < count; i++) note->input[i] = inputs[i];
    return note;
}

/* Ops of the forward pass. */

/* ---- products with weights ---- */

static emp_port product(emp_tape *t, const char *name, emp_port x, emp_port weight,
                        emp_port bias, int32_t unit)
{
    emp_port     in[3] = {x, weight, bias};
    int32_t      count = bias.op >= 0 ? 3 : 2;
    emp_op_attrs attrs = {.dtype = t->step->dtype};
    emp_port     y = emp_tape_op(t, "Linear", name, unit, &attrs, in, count);

    (void)tape_note(t, EMP_NOTE_LINEAR, name, unit, y, in, count);
    return y;
}

emp_port emp_tape_linear(emp_tape *t, const char *name, emp_port x, int64_t size,
                         bool has_bias)
{
    int32_t  unit = emp_tape_unit(t);
    emp_port w = emp_tape_weight_of(t, emp_tape_join_names(t, name, ".weight"),
                                    EMP_SHAPE(size, emp_tape_size(t, x, -1)), unit,
                                    EMP_WEIGHT_TRAINED);
    emp_port b = EMP_TAPE_NONE;

    if (has_bias)
        b = emp_tape_weight_of(t, emp_tape_join_names(t, name, ".bias"), EMP_SHAPE(size),
                               unit, EMP_WEIGHT_TRAINED);
    return product(t, name, x, w, b, unit);
}

emp_port emp_tape_linear_by(emp_tape *t, const char *name, emp_port x, emp_port weight,
                            int32_t unit)
{
    return product(t, name, x, weight, EMP_TAPE_NONE, unit);
}

emp_port emp_tape_convolution(emp_tape *t, const char *name, emp_port x, int64_t size,
                              int32_t taps, int32_t stride)
{
    int32_t      unit = emp_tape_unit(t);
    emp_port     in[3] = {x};
    emp_op_attrs attrs = {.dtype = t->step->dtype,
                          .strides = {stride},
                          .pads = {taps / 2},
                          .pads_after = {taps / 2}};

    in[1] = emp_tape_weight_of(t, emp_tape_join_names(t, name, ".weight"),
                               EMP_SHAPE(size, emp_tape_size(t, x, 1), taps), unit,
                               EMP_WEIGHT_TRAINED);
    in[2] = emp_tape_weight_of(t, emp_tape_join_names(t, name, ".bias"), EMP_SHAPE(size),
                               unit, EMP_WEIGHT_TRAINED);
    emp_port  y = emp_tape_op(t, "Conv", name, unit, &attrs, in, 3);
    emp_note *note = tape_note(t, EMP_NOTE_CONVOLUTION, name, unit, y, in, 3);
    if (note != NULL) note->attrs = attrs;
    return y;
}

emp_port emp_tape_lookup(emp_tape *t, const char *name, emp_port table, emp_port rows,
                         int32_t unit)
{
    emp_port     in[2] = {table, rows};
    emp_op_attrs attrs = {.dtype = t->step->dtype};
    emp_port     y = emp_tape_op(t, "Gather", name, unit, &attrs, in, 2);

    (void)tape_note(t, EMP_NOTE_LOOKUP, name, unit, y, in, 2);
    return y;
}

/* ---- norms and element-wise ops ---- */

static emp_port binary(emp_tape *t, const char *name, const char *type,
                       emp_note_kind kind, emp_port x, emp_port y, int32_t unit)
{
    emp_port in[2] = {x, y};
    emp_port z = emp_tape_op(t, type, name, unit, NULL, in, 2);

    (void)tape_note(t, kind, name, unit, z, in, 2);
    return z;
}

static emp_port cast(emp_tape *t, const char *name, emp_port x, emp_dtype dtype,
                     int32_t unit)
{
    emp_op_attrs attrs = {.dtype = dtype};

    if (t->step->dtype == EMP_DTYPE_FLOAT) return x;
    emp_port y = emp_tape_op(t, "Cast", name, unit, &attrs, &x, 1);
    (void)tape_note(t, EMP_NOTE_CAST, name, unit, y, &x, 1);
    return y;
}

/* x in float32, as models of Hugging Face have logits and what their norms read. */
static emp_port in_float(emp_tape *t, const char *name, emp_port x, int32_t unit)
{
    return cast(t, emp_tape_join_names(t, name, "/float"), x, EMP_DTYPE_FLOAT, unit);
}

/* A norm as transformers trains it, op by op: the gradient of the norm needs its operand in float32, and the gradient of the
 * weight what the norm made, so both are kept. */
static emp_port norm_by_steps(emp_tape *t, const char *name, emp_port x, emp_port weight,
                              bool is_rms, int32_t unit)
{
    const bool   is_wide = t->scales_in_float32 && weight.op >= 0;
    emp_op_attrs attrs = {.dtype = is_wide ? EMP_DTYPE_FLOAT : t->step->dtype};
    const char  *inner = weight.op >= 0 ? emp_tape_join_names(t, name, "/normed") : name;

    x = in_float(t, name, x, unit);
    emp_port  y = emp_tape_op(t, "RMSNorm", inner, unit, &attrs, &x, 1);
    emp_note *note = tape_note(t, EMP_NOTE_FUSED, inner, unit, y, &x, 1);
    if (note != NULL) note->gradient = is_rms ? "RMSNormStepsGrad" : "RMSNormGrad";
    if (weight.op < 0) return y;
    const bool  is_cast = is_wide && t->step->dtype != EMP_DTYPE_FLOAT;
    const char *scaled = is_cast ? emp_tape_join_names(t, name, "/scaled") : name;
    y = binary(t, scaled, "Mul", EMP_NOTE_MUL, y, weight, unit);
    return is_cast ? cast(t, name, y, t->step->dtype, unit) : y;
}

emp_port emp_tape_norm(emp_tape *t, const char *name, const char *type, emp_port x,
                       bool has_weight, bool has_bias)
{
    int32_t      unit = emp_tape_unit(t), count = 1;
    emp_shape    size = EMP_SHAPE(emp_tape_size(t, x, -1));
    emp_port     in[3] = {x};
    emp_op_attrs attrs = {.dtype = t->step->dtype};

    if (has_weight)
        in[count++] = emp_tape_weight_of(t, emp_tape_join_names(t, name, ".weight"), size,
                                         unit, EMP_WEIGHT_TRAINED);
    if (has_bias)
        in[count++] = emp_tape_weight_of(t, emp_tape_join_names(t, name, ".bias"), size,
                                         unit, EMP_WEIGHT_TRAINED);
    /* a layer norm without parameters reads as one with a factor of one */
    if (count == 1 || type[0] == 'R') {
        const bool is_rms = type[0] == 'R';
        type = "RMSNorm";
        if (emp_tape_is_training(t) && !t->step->is_frozen)
            return norm_by_steps(t, name, x, count > 1 ? in[1] : EMP_TAPE_NONE, is_rms,
                                 unit);
    }
    emp_port  y = emp_tape_op(t, type, name, unit, &attrs, in, count);
    emp_note *note = tape_note(t, EMP_NOTE_FUSED, name, unit, y, in, count);
    if (note != NULL) note->gradient = emp_tape_join_names(t, type, "Grad");
    return y;
}

emp_port emp_tape_fused(emp_tape *t, const char *name, const char *type, int32_t unit,
                        const emp_op_attrs *attrs, const emp_port *inputs, int32_t count)
{
    emp_port  y = emp_tape_op(t, type, name, unit, attrs, inputs, count);
    emp_note *note = tape_note(t, EMP_NOTE_FUSED, name, unit, y, inputs, count);

    if (note == NULL) return y;
    note->attrs = *attrs;
    note->gradient = emp_tape_join_names(t, type, "Grad");
    return y;
}

emp_port emp_tape_map(emp_tape *t, const char *name, const char *type,
                      const char *gradient, emp_port x)
{
    int32_t   unit = emp_tape_unit(t);
    emp_port  y = emp_tape_op(t, type, name, unit, NULL, &x, 1);
    emp_note *note = tape_note(t, EMP_NOTE_SAME, name, unit, y, &x, 1);

    if (note != NULL) note->gradient = gradient;
    return y;
}

emp_port emp_tape_add(emp_tape *t, const char *name, emp_port x, emp_port y)
{
    return binary(t, name, "Add", EMP_NOTE_ADD, x, y, emp_tape_unit(t));
}

emp_port emp_tape_add_to(emp_tape *t, const char *name, emp_port x, emp_port y)
{
    return binary(t, name, "AddN", EMP_NOTE_ADD, x, y, emp_tape_unit(t));
}

emp_port emp_tape_mul(emp_tape *t, const char *name, emp_port x, emp_port y)
{
    return binary(t, name, "Mul", EMP_NOTE_MUL, x, y, emp_tape_unit(t));
}

emp_port emp_tape_scale(emp_tape *t, const char *name, emp_port x, int64_t size,
                        emp_weight_kind kind)
{
    int32_t  unit = emp_tape_unit(t);
    emp_port w = emp_tape_weight_of(t, name, EMP_SHAPE(size), unit, kind);

    return binary(t, emp_tape_join_names(t, name, "/mul"), "Mul", EMP_NOTE_MUL, x, w,
                  unit);
}

emp_port emp_tape_scale_by(emp_tape *t, const char *name, emp_port x, emp_port weight,
                           int32_t unit)
{
    return binary(t, name, "Mul", EMP_NOTE_MUL, x, weight, unit);
}

/* ---- views ---- */

emp_port emp_tape_view(emp_tape *t, const char *name, emp_port x, emp_shape shape)
{
    emp_op_attrs attrs = {.dtype = t->step->dtype, .has_shape = true, .shape = shape};
    int32_t      unit = unit_of(t, x);
    emp_port     y = emp_tape_op(t, "View", name, unit, &attrs, &x, 1);

    (void)tape_note(t, EMP_NOTE_VIEW, name, unit, y, &x, 1);
    return y;
}

void emp_tape_split(emp_tape *t, const char *name, emp_port x, const int64_t *sizes,
                    int32_t count, emp_port *parts)
{
    emp_shape    shape = emp_tape_shape(t, x);
    emp_op_attrs attrs = {.dtype = t->step->dtype, .has_shape = true, .shape = shape};
    int32_t      unit = unit_of(t, x), first = t->note_count;
    char         leaf[16];

    for (int32_t i = 0; i < count; i++) {
        leaf[0] = '/';
        leaf[1] = (char)('0' + i);
        leaf[2] = '\0';
        const char *part = emp_tape_join_names(t, name, leaf);
        attrs.shape.dim[shape.rank > 0 ? shape.rank - 1 : 0] = sizes[i];
        parts[i] = emp_tape_op(t, "View", part, unit, &attrs, &x, 1);
        emp_note *note = tape_note(t, EMP_NOTE_PIECE, part, unit, parts[i], &x, 1);
        if (note == NULL) continue;
        note->first_piece = first;
        note->piece_count = count;
    }
}

emp_port emp_tape_slice(emp_tape *t, const char *name, emp_port x, int64_t first,
                        int64_t size)
{
    emp_op_attrs attrs = {.dtype = t->step->dtype,
                          .has_shape = true,
                          .shape = EMP_SHAPE(emp_tape_size(t, x, 0), size)};
    int32_t      unit = unit_of(t, x);
    emp_port     y = emp_tape_op(t, "View", name, unit, &attrs, &x, 1);
    emp_note    *note = tape_note(t, EMP_NOTE_SLICE, name, unit, y, &x, 1);

    if (note != NULL) note->first_column = first;
    return y;
}

emp_port emp_tape_concat(emp_tape *t, const char *name, emp_port x, emp_port y)
{
    int32_t  unit = emp_tape_unit(t);
    emp_port in[3] = {x, y, emp_tape_axis(t, emp_tape_shape(t, x).rank - 1)};
    emp_port z = emp_tape_op(t, "ConcatV2", name, unit, NULL, in, 3);

    (void)tape_note(t, EMP_NOTE_JOIN, name, unit, z, in, 2);
    return z;
}

emp_port emp_tape_spread(emp_tape *t, const char *name, emp_port x, int64_t heads)
{
    emp_shape shape = emp_tape_shape(t, x);
    int32_t   unit = unit_of(t, x);

    if (shape.rank >= 2) shape.dim[shape.rank - 2] = heads;
    emp_op_attrs attrs = {.dtype = t->step->dtype, .has_shape = true, .shape = shape};
    emp_port     y = emp_tape_op(t, "View", name, unit, &attrs, &x, 1);
    (void)tape_note(t, EMP_NOTE_SPREAD, name, unit, y, &x, 1);
    return y;
}

/* ---- attention ---- */

emp_port emp_tape_attention(emp_tape *t, const char *name, int32_t unit,
                            const emp_op_attrs *attrs, emp_port q, emp_port k, emp_port v,
                            emp_port chosen, emp_port sinks)
{
    bool        is_sparse = chosen.op >= 0;
    const char *type = is_sparse ? "SparseAttention" : "Attention";
    emp_port    in[5] = {q, k, v};
    int32_t     count = 3;

    if (is_sparse) in[count++] = chosen;
    if (sinks.op >= 0) in[count++] = sinks;
    emp_port  y = emp_tape_op(t, type, name, unit, attrs, in, count);
    emp_note *note = tape_note(t, EMP_NOTE_ATTENTION, name, unit, y, in, count);

    if (note == NULL) return y;
    note->attrs = *attrs;
    note->gradient = is_sparse ? "SparseAttentionGrad" : "AttentionGrad";
    return y;
}

void emp_tape_train_choice(emp_tape *t, const char *name, int32_t unit,
                           const emp_op_attrs *attrs, const emp_port index[3],
                           emp_port chosen, emp_port q, emp_port k)
{
    emp_port  in[6] = {index[0], index[1], q, k, chosen, index[2]};
    int32_t   count = index[2].op >= 0 ? 6 : 5;
    emp_note *note = tape_note(t, EMP_NOTE_CHOICE, name, unit, chosen, in, count);

    if (note != NULL) note->attrs = *attrs;
}

emp_port emp_tape_detach(emp_tape *t, const char *name, emp_port x)
{
    emp_op_attrs attrs = {
        .dtype = t->step->dtype, .has_shape = true, .shape = emp_tape_shape(t, x)};

    if (!emp_tape_is_training(t)) return x;
    return emp_tape_op(t, "View", name, unit_of(t, x), &attrs, &x, 1);
}

/* ---- experts ---- */

emp_port emp_tape_route(emp_tape *t, const char *name, emp_port logits, emp_port bias,
                        int32_t chosen)
{
    int32_t      unit = emp_tape_unit(t);
    emp_op_attrs attrs = {.count = chosen};
    emp_port     in[2] = {logits, bias};
    emp_port     y =
        emp_tape_op(t, "RouteTokens", name, unit, &attrs, in, bias.op >= 0 ? 2 : 1);

    (void)tape_note(t, EMP_NOTE_ROUTE, name, unit, y, in, 2);
    return y;
}

emp_port emp_tape_route_to(emp_tape *t, const char *name, emp_port logits,
                           emp_port numbers, int32_t chosen)
{
    int32_t      unit = emp_tape_unit(t);
    emp_op_attrs attrs = {.count = chosen};
    emp_port     in[2] = {logits, numbers};
    emp_port     y = emp_tape_op(t, "RouteTokens", name, unit, &attrs, in, 2);

    in[1] = EMP_TAPE_NONE;
    (void)tape_note(t, EMP_NOTE_ROUTE, name, unit, y, in, 2);
    return y;
}

emp_port emp_tape_experts(emp_tape *t, const char *name, emp_port rows, emp_port route,
                          int64_t experts, int64_t size, bool has_bias)
{
    int32_t      unit = emp_tape_unit(t), count = 3;
    emp_shape    shape = EMP_SHAPE(experts, size, emp_tape_size(t, rows, -1));
    emp_op_attrs attrs = {.dtype = t->step->dtype, .transpose_b = true};
    emp_port     in[4] = {rows,
                          emp_tape_weight_of(t, emp_tape_join_names(t, name, ".weight"),
                                             shape, unit, EMP_WEIGHT_TRAINED),
                          {route.op, 1}};

    if (has_bias)
        in[count++] =
            emp_tape_weight_of(t, emp_tape_join_names(t, name, ".bias"),
                               EMP_SHAPE(experts, size), unit, EMP_WEIGHT_TRAINED);
    emp_port  y = emp_tape_op(t, "ExpertsMatMul", name, unit, &attrs, in, count);
    emp_note *note = tape_note(t, EMP_NOTE_EXPERTS, name, unit, y, in, count);
    if (note != NULL) note->attrs.shape = shape;
    return y;
}

emp_port emp_tape_combine(emp_tape *t, const char *name, emp_port rows, emp_port route)
{
    return binary(t, name, "CombineExperts", EMP_NOTE_COMBINE, rows, route,
                  emp_tape_unit(t));
}

/* ---- the loss ---- */

/* The losses of rows, whose gradient is that of the logarithms of probabilities, which PyTorch keeps. */
static emp_port losses_of(emp_tape *t, const char *name, emp_port x, emp_port labels,
                          int32_t unit)
{
    const char *softmax = emp_tape_join_names(t, name, "/log_softmax");
    emp_port  in[2] = {emp_tape_op(t, "LogSoftmax", softmax, unit, NULL, &x, 1), labels};
    emp_note *note = tape_note(t, EMP_NOTE_SAME, softmax, unit, in[0], &x, 1);

    if (note != NULL) note->gradient = "LogSoftmaxGrad";
    emp_port losses = emp_tape_op(t, "NllLoss", name, unit, NULL, in, 2);
    note = tape_note(t, EMP_NOTE_LOSS, name, unit, losses, in, 2);
    if (note != NULL) note->gradient = "NllLossGrad";
    return losses;
}

/* The same by one op, whose output 1 is the gradient. */
static emp_port frozen_losses_of(emp_tape *t, const char *name, emp_port x,
                                 emp_port labels, int32_t unit)
{
    emp_port in[2] = {x, labels};
    emp_port losses =
        emp_tape_op(t, "SparseSoftmaxCrossEntropyWithLogits", name, unit, NULL, in, 2);

    (void)tape_note(t, EMP_NOTE_LOSS, name, unit, losses, in, 1);
    return losses;
}

void emp_tape_loss(emp_tape *t, const char *name, emp_port logits, emp_port labels,
                   bool in_float32)
{
    const bool is_frozen = t->step->is_frozen;
    int32_t    unit = emp_tape_unit(t);
    emp_port   x = in_float32 || is_frozen ? in_float(t, name, logits, unit) : logits;
    emp_port   losses = is_frozen ? frozen_losses_of(t, name, x, labels, unit)
                                  : losses_of(t, name, x, labels, unit);
    emp_port   all[2] = {losses, emp_tape_axis(t, 0)};
    emp_port   mean =
        emp_tape_op(t, "Mean", emp_tape_join_names(t, name, "/mean"), unit, NULL, all, 2);

    if (emp_tape_is_ok(t)) emp_graph_builder_set_target(t->builder, mean.op);
}

int64_t emp_transformer_round_tokens(const emp_transformer_step *step)
{
    if (step->phase == EMP_PHASE_DECODE) return 1;
    if (step->micro_batch == 0 || step->micro_batch >= step->batch * step->sequence)
        return step->sequence;
    return step->micro_batch > step->batch ? step->micro_batch / step->batch : 1;
}

int64_t emp_transformer_rounds(const emp_transformer_step *step)
{
    const int64_t tokens = emp_transformer_round_tokens(step);

    if (step->phase == EMP_PHASE_DECODE) return 1;
    return (step->sequence + tokens - 1) / tokens;
}
