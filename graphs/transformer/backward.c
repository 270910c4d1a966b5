// SPDX-License-Identifier: GPL-3.0-or-later
/* The way back over the notes of the forward pass: the last op first. Gradients that meet are added
 * one by one, as PyTorch does it. The op of NAME has its gradients in NAME/grad..., in its unit. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/transformer/tape.h"

/* The weight behind a copy from its home, or x itself. */
static emp_port held_behind(const emp_tape *t, emp_port x)
{
    if (!emp_tape_is_ok(t) || t->step->home == EMP_HOME_READER || x.op < 0 ||
        strcmp(emp_graph_builder_type(t->builder, x.op), "Stream") != 0)
        return x;
    return emp_graph_builder_input(t->builder, x.op, 0);
}

emp_port emp_tape_stream_back(emp_tape *t, emp_port weight)
{
    const char *name = emp_graph_builder_name(t->builder, weight.op);

    return emp_tape_stream(t, emp_tape_join_names(t, name, "/back"), weight,
                           emp_graph_builder_attrs(t->builder, weight.op)->colocation);
}

/* Streams the weights that a note reads anew: the copies of the forward pass are gone by then. */
static void stream_again(emp_tape *t, emp_note *note)
{
    for (int32_t i = 0; i < note->input_count; i++) {
        const emp_port weight = held_behind(t, note->input[i]);
        if (!emp_tape_is_ok(t) || weight.op == note->input[i].op) continue;
        note->input[i] = emp_tape_stream_back(t, weight);
    }
}

/* Adds a gradient to what is known of a tensor or a weight. */
static void give(emp_tape *t, const emp_note *note, emp_port to, emp_port gradient)
{
    char name[EMP_TAPE_NAME_BYTES];

    to = held_behind(t, to);
    if (!emp_tape_is_ok(t) || to.op < 0 || gradient.op < 0) return;
    emp_port *known = &t->gradient[to.op];
    if (known->op >= 0) {
        emp_port terms[2] = {*known, gradient};
        int      used =
            snprintf(name, sizeof name, "%s/grad_sum_%d", note->name, (int)gradient.op);
        if (gradient.index > 0 && used > 0 && (size_t)used < sizeof name)
            snprintf(name + used, sizeof name - (size_t)used, "_%d", (int)gradient.index);
        *known = emp_tape_op(t, "Add", name, note->unit, NULL, terms, 2);
    } else {
        *known = gradient;
    }
}

/* An op of the way back, named after the note. */
static emp_port back(emp_tape *t, const emp_note *note, const char *leaf,
                     const char *type, const emp_op_attrs *attrs, const emp_port *inputs,
                     int32_t count)
{
    return emp_tape_op(t, type, emp_tape_join_names(t, note->name, leaf), note->unit,
                       attrs, inputs, count);
}

static emp_port output_of(emp_port op, int32_t index)
{
    return op.op < 0 ? op : (emp_port){op.op, index};
}

/* ---- products ---- */

/* [..., size] as [tokens, size], which products need. */
static emp_port as_matrix(emp_tape *t, const emp_note *note, const char *leaf, emp_port x)
{
    emp_shape shape = emp_tape_shape(t, x);

    if (shape.rank <= 2) return x;
    int64_t      last = shape.dim[shape.rank - 1];
    emp_op_attrs attrs = {.has_shape = true,
                          .shape = EMP_SHAPE(emp_shape_elements(&shape) / last, last)};
    return back(t, note, leaf, "View", &attrs, &x, 1);
}

static void linear_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    emp_op_attrs across = {.transpose_a = true, .dtype = t->step->dtype};
    emp_op_attrs plain = {.dtype = t->step->dtype};
    emp_port     d = as_matrix(t, note, "/grad_rows", dy);
    emp_port     x = as_matrix(t, note, "/input_rows", note->input[0]);

    give(t, note, note->input[0],
         back(t, note, "/grad_input", "MatMul", &plain, (emp_port[]){d, note->input[1]},
              2));
    give(t, note, note->input[1],
         back(t, note, "/grad_weight", "MatMul", &across, (emp_port[]){d, x}, 2));
    if (note->input_count > 2)
        give(t, note, note->input[2],
             back(t, note, "/grad_bias", "BiasAddGrad", &plain, &d, 1));
}

/* What comes from outside needs no gradient. */
static bool is_given(const emp_tape *t, emp_port x)
{
    return emp_tape_is_ok(t) &&
           strcmp(emp_graph_builder_type(t->builder, x.op), "Placeholder") == 0;
}

static void convolution_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    const emp_port x = note->input[0], w = note->input[1];
    emp_op_attrs   of_input = note->attrs, of_weight = note->attrs;

    of_input.has_shape = of_weight.has_shape = true;
    of_input.shape = emp_tape_shape(t, x);
    of_weight.shape = emp_tape_shape(t, w);
    if (!is_given(t, x))
        give(t, note, x,
             back(t, note, "/grad_input", "ConvGradInput", &of_input, (emp_port[]){dy, w},
                  2));
    give(t, note, w,
         back(t, note, "/grad_weight", "ConvGradFilter", &of_weight, (emp_port[]){x, dy},
              2));
    emp_port rows[2] = {dy, emp_tape_constant(t, "axes_0_2", (int64_t[]){0, 2}, 2)};
    give(t, note, note->input[2], back(t, note, "/grad_bias", "Sum", NULL, rows, 2));
}

/* Adds rows into a tensor of the size of the table. */
static emp_port add_rows(emp_tape *t, const emp_note *note, const char *leaf, emp_port dy,
                         emp_port rows, int64_t table_rows)
{
    char name[32];
    snprintf(name, sizeof name, "rows_%lld", (long long)table_rows);
    emp_port     in[3] = {dy, rows, emp_tape_constant(t, name, &table_rows, 1)};
    emp_op_attrs attrs = {.dtype = t->step->dtype};

    return back(t, note, leaf, "UnsortedSegmentSum", &attrs, in, 3);
}

static void lookup_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    give(t, note, note->input[0],
         add_rows(t, note, "/grad", dy, note->input[1],
                  emp_tape_size(t, note->input[0], 0)));
}

/* ---- norms and element-wise ops ---- */

static void fused_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    emp_port in[EMP_TAPE_INPUTS + 1] = {dy};

    for (int32_t i = 0; i < note->input_count; i++) in[1 + i] = note->input[i];
    emp_port d =
        back(t, note, "/grad", note->gradient, &note->attrs, in, note->input_count + 1);
    for (int32_t i = 0; i < note->input_count; i++)
        give(t, note, note->input[i], output_of(d, i));
}

bool emp_tape_keeps_result(const char *gradient)
{
    static const char *const of_result[] = {"ReluGrad", "TanhGrad", "SigmoidGrad",
                                            "LogSoftmaxGrad"};

    for (size_t i = 0; i < sizeof of_result / sizeof of_result[0]; i++)
        if (strcmp(gradient, of_result[i]) == 0) return true;
    return false;
}

static void map_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    emp_port result = {note->op, 0};
    bool     of_result = emp_tape_keeps_result(note->gradient) && !t->step->is_frozen;
    emp_port in[2] = {dy, of_result ? result : note->input[0]};

    give(t, note, note->input[0], back(t, note, "/grad", note->gradient, NULL, in, 2));
}

static void rotary_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    give(t, note, note->input[0],
         back(t, note, "/grad", "RotaryEmbedding", NULL, &dy, 1));
}

/* A gradient summed over the sizes along which the input was broadcast. */
static emp_port reduced(emp_tape *t, const emp_note *note, const char *leaf, emp_port d,
                        emp_port input)
{
    emp_shape    want = emp_tape_shape(t, input), have = emp_tape_shape(t, d);
    emp_op_attrs keep = {.keep_dims = true};

    if (!emp_tape_is_ok(t) || emp_shape_equal(&want, &have)) return d;
    if (want.rank == 1) return back(t, note, leaf, "BiasAddGrad", NULL, &d, 1);
    emp_port in[2] = {d, emp_tape_axis(t, have.rank - 1)};
    return back(t, note, leaf, "Sum", &keep, in, 2);
}

/* True if no gradient flows to a port, because nothing trains it. */
static bool is_fixed(const emp_tape *t, emp_port port)
{
    const char *type = emp_graph_builder_type(t->builder, port.op);

    return strcmp(type, "Buffer") == 0 || strcmp(type, "Const") == 0;
}

static void add_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    give(t, note, note->input[0], dy);
    if (emp_tape_is_ok(t) && !is_fixed(t, note->input[1]))
        give(t, note, note->input[1], reduced(t, note, "/grad_1", dy, note->input[1]));
}

static void mul_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    static const char *const product[2] = {"/grad_0", "/grad_1"};
    static const char *const sum[2] = {"/grad_0_sum", "/grad_1_sum"};

    if (!emp_tape_is_ok(t)) return;
    if (!t->step->is_frozen && !is_fixed(t, note->input[0]) &&
        !is_fixed(t, note->input[1])) {
        emp_port in[3] = {dy, note->input[0], note->input[1]};
        emp_port both = back(t, note, "/grad", "MulGrad", NULL, in, 3);
        for (int32_t i = 0; i < 2; i++)
            give(t, note, note->input[i],
                 reduced(t, note, sum[i], output_of(both, i), note->input[i]));
        return;
    }
    for (int32_t i = 0; i < 2; i++) {
        if (!emp_tape_is_ok(t) || is_fixed(t, note->input[i])) continue;
        emp_port in[2] = {dy, note->input[1 - i]};
        emp_port d = back(t, note, product[i], "Mul", NULL, in, 2);
        give(t, note, note->input[i], reduced(t, note, sum[i], d, note->input[i]));
    }
}

static void cast_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    emp_op_attrs attrs = {.dtype = EMP_DTYPE_FLOAT};

    if (!emp_tape_is_ok(t)) return;
    attrs.dtype = emp_graph_builder_output(t->builder, note->input[0])->dtype;
    give(t, note, note->input[0], back(t, note, "/grad", "Cast", &attrs, &dy, 1));
}

/* ---- views ---- */

static void view_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    emp_op_attrs attrs = {.dtype = t->step->dtype,
                          .has_shape = true,
                          .shape = emp_tape_shape(t, note->input[0])};

    give(t, note, note->input[0], back(t, note, "/grad", "View", &attrs, &dy, 1));
}

/* At the first piece all others have their gradients: one concat gives the gradient of the whole. */
static void pieces_back(emp_tape *t, int32_t number)
{
    const emp_note first = t->note[number];
    emp_port       in[EMP_TAPE_INPUTS + 1];
    int32_t        count = 0;

    if (first.first_piece != number) return;
    for (int32_t i = 0; i < first.piece_count && count < EMP_TAPE_INPUTS; i++) {
        const emp_note *piece = &t->note[number + i];
        emp_port        d = t->gradient[piece->op], whole = {piece->op, 0};
        in[count++] =
            d.op >= 0 ? d : back(t, piece, "/grad", "ZerosLike", NULL, &whole, 1);
    }
    in[count] = emp_tape_axis(t, emp_tape_shape(t, first.input[0]).rank - 1);
    give(t, &first, first.input[0],
         back(t, &first, "/grad_all", "ConcatV2", NULL, in, count + 1));
}

static void slice_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    const int64_t before = note->first_column, size = emp_tape_size(t, dy, 1);
    const int64_t after = emp_tape_size(t, note->input[0], 1) - before - size;
    const int64_t pads[4] = {0, 0, before, after};
    emp_port      in[2] = {dy};

    in[1] = emp_tape_constant(t, emp_tape_join_names(t, note->name, "/pads"), pads, 4);
    give(t, note, note->input[0], back(t, note, "/grad", "Pad", NULL, in, 2));
}

static void join_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    static const char *const leaves[2] = {"/grad_0", "/grad_1"};

    for (int32_t i = 0; i < 2; i++) {
        emp_op_attrs attrs = {.dtype = t->step->dtype,
                              .has_shape = true,
                              .shape = emp_tape_shape(t, note->input[i])};
        give(t, note, note->input[i], back(t, note, leaves[i], "View", &attrs, &dy, 1));
    }
}

static void spread_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    emp_op_attrs keep = {.keep_dims = true};
    emp_port     in[2] = {dy, emp_tape_axis(t, emp_tape_shape(t, dy).rank - 2)};

    give(t, note, note->input[0], back(t, note, "/grad", "Sum", &keep, in, 2));
}

/* ---- attention and experts ---- */

static void attention_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    emp_port in[8] = {dy,
                      note->input[0],
                      note->input[1],
                      note->input[2],
                      {note->op, 0},
                      {note->op, 1},
                      note->input[3],
                      note->input[4]};
    bool     is_sparse = strcmp(note->gradient, "SparseAttentionGrad") == 0;
    int32_t  sinks = is_sparse ? 4 : 3; /* behind the numbers of chosen keys */
    emp_port d =
        back(t, note, "/grad", note->gradient, &note->attrs, in, note->input_count + 3);

    for (int32_t i = 0; i < 3; i++) give(t, note, note->input[i], output_of(d, i));
    if (note->input_count > sinks) give(t, note, note->input[sinks], output_of(d, 3));
}

static void choice_back(emp_tape *t, const emp_note *note)
{
    emp_port d = back(t, note, "/grad", "SelectKeysGrad", &note->attrs, note->input,
                      note->input_count);

    for (int32_t i = 0; i < 2; i++) give(t, note, note->input[i], output_of(d, i));
    if (note->input_count > 5) give(t, note, note->input[5], output_of(d, 2));
}

static void route_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    emp_port in[3] = {dy, note->input[0], {note->op, 1}};

    give(t, note, note->input[0], back(t, note, "/grad", "RouteTokensGrad", NULL, in, 3));
    if (note->input[1].op >= 0)
        give(t, note, note->input[1],
             back(t, note, "/load", "BiasAddGrad", NULL, &note->input[0], 1));
}

static void experts_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    emp_port     rows = note->input[0], numbers = note->input[2];
    emp_op_attrs plain = {.dtype = t->step->dtype};
    emp_op_attrs weight = {
        .dtype = t->step->dtype, .has_shape = true, .shape = note->attrs.shape};

    give(t, note, rows,
         back(t, note, "/grad_input", "ExpertsMatMul", &plain,
              (emp_port[]){dy, note->input[1], numbers}, 3));
    give(t, note, note->input[1],
         back(t, note, "/grad_weight", "ExpertsMatMulGrad", &weight,
              (emp_port[]){rows, dy, numbers}, 3));
    if (note->input_count < 4) return;
    emp_op_attrs flat = {.dtype = EMP_DTYPE_INT32,
                         .has_shape = true,
                         .shape = EMP_SHAPE(emp_tape_size(t, rows, 0))};
    emp_port     list = back(t, note, "/numbers", "View", &flat, &numbers, 1);
    give(t, note, note->input[3],
         add_rows(t, note, "/grad_bias", dy, list, note->attrs.shape.dim[0]));
}

static void combine_back(emp_tape *t, const emp_note *note, emp_port dy)
{
    emp_port in[3] = {dy, note->input[0], note->input[1]};
    emp_port d = back(t, note, "/grad", "CombineExpertsGrad", NULL, in, 3);

    give(t, note, note->input[0], output_of(d, 0));
    give(t, note, note->input[1], output_of(d, 1));
}

/* ---- all ---- */

static void go_back(emp_tape *t, int32_t number)
{
    emp_note note = t->note[number]; /* adding ops adds no notes */
    emp_port dy = t->gradient[note.op];

    if (note.kind == EMP_NOTE_PIECE) {
        pieces_back(t, number);
        return;
    }
    if (note.kind == EMP_NOTE_LOSS) {
        give(t, &note, note.input[0],
             note.gradient == NULL
                 ? (emp_port){note.op, 1}
                 : back(t, &note, "/grad", note.gradient, NULL, note.input, 2));
        return;
    }
    if (note.kind == EMP_NOTE_CHOICE) {
        choice_back(t, &note);
        return;
    }
    if (dy.op < 0) return; /* nothing that is trained depends on it */
    stream_again(t, &note);
    switch (note.kind) {
    case EMP_NOTE_LINEAR: linear_back(t, &note, dy); break;
    case EMP_NOTE_CONVOLUTION: convolution_back(t, &note, dy); break;
    case EMP_NOTE_LOOKUP: lookup_back(t, &note, dy); break;
    case EMP_NOTE_FUSED: fused_back(t, &note, dy); break;
    case EMP_NOTE_SAME:
        if (note.gradient == NULL)
            rotary_back(t, &note, dy);
        else
            map_back(t, &note, dy);
        break;
    case EMP_NOTE_VIEW: view_back(t, &note, dy); break;
    case EMP_NOTE_JOIN: join_back(t, &note, dy); break;
    case EMP_NOTE_SLICE: slice_back(t, &note, dy); break;
    case EMP_NOTE_SPREAD: spread_back(t, &note, dy); break;
    case EMP_NOTE_ADD: add_back(t, &note, dy); break;
    case EMP_NOTE_MUL: mul_back(t, &note, dy); break;
    case EMP_NOTE_ATTENTION: attention_back(t, &note, dy); break;
    case EMP_NOTE_ROUTE: route_back(t, &note, dy); break;
    case EMP_NOTE_EXPERTS: experts_back(t, &note, dy); break;
    case EMP_NOTE_COMBINE: combine_back(t, &note, dy); break;
    case EMP_NOTE_CAST: cast_back(t, &note, dy); break;
    default: break;
    }
}

void emp_tape_grow_gradients(emp_tape *t)
{
    emp_error    *err = t->err;
    const int32_t count = emp_graph_builder_op_count(t->builder);

    if (!emp_tape_is_ok(t)) return;
    emp_tape_fail(t, EMP_GROW(t->gradient, count, t->gradient_capacity));
    while (emp_tape_is_ok(t) && t->gradient_count < count)
        t->gradient[t->gradient_count++] = EMP_TAPE_NONE;
}

void emp_tape_differentiate(emp_tape *t)
{
    int32_t segment = t->segment_count - 1;

    emp_tape_grow_gradients(t);
    for (int32_t i = t->note_count - 1, stage = -1; i >= 0 && emp_tape_is_ok(t); i--) {
        const emp_port dy = t->gradient[t->note[i].op];
        if (t->note[i].stage != stage && dy.op >= 0) {
            stage = t->note[i].stage;
            emp_tape_stage(t, dy);
        }
        if (segment >= 0 && i == t->segment[segment].end_note - 1)
            emp_tape_recompute(t, &t->segment[segment]);
        go_back(t, i);
        if (segment >= 0 && i == t->segment[segment].first_note)
            emp_tape_hold_input(t, &t->segment[segment--]);
    }
}

/* The optimizer's step: it begins when all gradients are there, as `optimizer.step()` behind
 * `loss.backward()` does, so that all of them are held at once. */

/* A state of a weight: float32 beside a float32 copy of the weight, else of the weight's type, as torch.optim makes it. */
static emp_port state_of(emp_tape *t, const emp_tape_weight *w, int32_t unit,
                         const char *leaf)
{
    const bool is_wide =
        t->step->has_master || t->step->updates_on_host || t->step->is_frozen;
    const char  *name = emp_graph_builder_name(t->builder, w->variable);
    emp_op_attrs attrs = {.dtype = is_wide ? EMP_DTYPE_FLOAT : t->step->dtype,
                          .has_shape = true,
                          .shape = emp_tape_shape(t, (emp_port){w->variable, 0})};

    return emp_tape_op(t, "VariableV2", emp_tape_join_names(t, name, leaf), unit, &attrs,
                       NULL, 0);
}

/* An op that waits for \a barrier and is what a step runs. */
static void add_update(emp_tape *t, const emp_tape_weight *w, const char *type,
                       const emp_port *in, int32_t count, emp_op_id barrier)
{
    const char  *name = emp_graph_builder_name(t->builder, w->variable);
    emp_op_attrs attrs = {.colocation = w->unit,
                          .dtype = type[0] == 'A' && type[1] == 'd' ? EMP_DTYPE_NONE
                                                                    : t->step->dtype};
    emp_op_id    op;

    name = emp_tape_join_names(t, name, "/update");
    if (!emp_tape_is_ok(t)) return;
    t->status = emp_graph_builder_add(t->builder, name, type, &attrs, in, count, &barrier,
                                      1, &op, t->err);
    if (emp_tape_is_ok(t)) emp_graph_builder_set_target(t->builder, op);
}

static void update_adam(emp_tape *t, const emp_tape_weight *w, emp_port gradient,
                        emp_op_id barrier)
{
    emp_port in[5] = {{w->variable, 0},
                      state_of(t, w, w->unit, "/exp_avg"),
                      state_of(t, w, w->unit, "/exp_avg_sq")};
    int32_t  count = 3;

    if (t->step->has_master && t->step->dtype != EMP_DTYPE_FLOAT)
        in[count++] = state_of(t, w, w->unit, "/master");
    in[count++] = gradient;
    add_update(t, w, "AdamW", in, count, barrier);
}

/* The states are a host's: a gradient goes there, and the weights come back. */
static void update_on_host(emp_tape *t, const emp_tape_weight *w, emp_port gradient,
                           emp_op_id barrier)
{
    const char  *name = emp_graph_builder_name(t->builder, w->variable);
    int32_t      unit = emp_tape_unit(t);
    emp_port     in[4] = {state_of(t, w, unit, "/exp_avg"),
                          state_of(t, w, unit, "/exp_avg_sq"),
                          state_of(t, w, unit, "/master"), gradient};
    emp_op_attrs attrs = {.colocation = unit, .dtype = t->step->dtype};
    emp_op_id    op;

    name = emp_tape_join_names(t, name, "/host_update");
    if (!emp_tape_is_ok(t)) return;
    t->status = emp_graph_builder_add(t->builder, name, "HostAdamW", &attrs, in, 4,
                                      &barrier, 1, &op, t->err);
    if (!emp_tape_is_ok(t)) return;
    emp_port taken[2] = {{w->variable, 0}, {op, 0}};
    add_update(t, w, "TakeWeights", taken, 2, op);
}

static void update_sgd(emp_tape *t, const emp_tape_weight *w, emp_port gradient,
                       emp_op_id barrier)
{
    emp_port in[3] = {{w->variable, 0}, emp_tape_factor(t, "learning_rate"), gradient};

    add_update(t, w, "ApplyGradientDescent", in, 3, barrier);
}

/* An op that waits for all gradients, on a host for their copies. */
static emp_op_id add_barrier(emp_tape *t)
{
    emp_op_id  barrier = -1;
    emp_op_id *last = EMP_NEW_ARRAY(emp_op_id, (size_t)t->weight_count);
    emp_port  *all = EMP_NEW_ARRAY(emp_port, (size_t)t->weight_count);
    int32_t    count = 0, copies = 0;
    bool       is_host = t->step->updates_on_host;

    if (last == NULL || all == NULL) {
        emp_tape_fail(t, emp_error_set(t->err, EMP_ENOMEM, __FILE__, __LINE__,
                                       "gradients of %d weights", t->weight_count));
        goto cleanup;
    }
    for (int32_t i = 0; i < t->weight_count; i++) {
        emp_port d = t->gradient[t->weight[i].variable];
        bool     is_new = d.op >= 0;
        if (is_new && t->weight[i].kind == EMP_WEIGHT_TRAINED) all[copies++] = d;
        for (int32_t k = count - 1; is_new && k >= 0 && k >= count - 3; k--)
            is_new =
                last[k] != d.op; /* an op gives the gradients of a weight and its bias */
        if (is_new) last[count++] = d.op;
    }
    emp_tape_fail(t, emp_graph_builder_add(
                         t->builder, "optimizer", is_host ? "HostBarrier" : "NoOp",
                         &(emp_op_attrs){0}, is_host ? all : NULL, is_host ? copies : 0,
                         last, count, &barrier, t->err));

cleanup:
    emp_free(last);
    emp_free(all);
    return barrier;
}

void emp_tape_update(emp_tape *t)
{
    if (!emp_tape_is_ok(t) || t->gradient == NULL) return;
    bool      is_adam = t->step->update == EMP_UPDATE_ADAM;
    emp_op_id barrier = add_barrier(t);

    for (int32_t i = 0; i < t->weight_count && emp_tape_is_ok(t); i++) {
        const emp_tape_weight w = t->weight[i];
        emp_port              d = t->gradient[w.variable];
        if (w.kind == EMP_WEIGHT_FIXED || d.op < 0) continue;
        if (t->step->updates_on_host && w.kind == EMP_WEIGHT_TRAINED)
            update_on_host(t, &w, d, barrier);
        else if (is_adam && w.kind == EMP_WEIGHT_TRAINED)
            update_adam(t, &w, d, barrier);
        else
            update_sgd(t, &w, d, barrier);
    }
}
