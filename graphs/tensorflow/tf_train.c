// SPDX-License-Identifier: GPL-3.0-or-later
/* Variables and their Saver; optimizers: slots, hyperparameters, dense and sparse updates; clipping. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/tensorflow/tf_loop.h"
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_train.h"

/* Variables, their initialisers, and how they are saved and restored. */

/* ---- initialisers ------------------------------------------------------------------ */

static emp_port random_values(emp_tf *tf, const char *type, const char *full,
                              const emp_shape *shape)
{
    emp_port     sizes = emp_tf_dims(tf, full, "shape", shape);
    emp_op_attrs attrs = {.dtype = EMP_DTYPE_FLOAT};
    bool         is_uniform = strcmp(type, "RandomUniform") == 0;
    emp_port     low = emp_tf_float(tf, full, is_uniform ? "min" : "mean", 0.0);
    emp_port     high = emp_tf_float(tf, full, is_uniform ? "max" : "stddev", 1.0);
    const char  *outer = emp_tf_reenter(tf, emp_tf_join(tf, full, "/", ""));
    emp_port     values = emp_tf_op(tf, type, NULL, &attrs, &sizes, 1);
    emp_port     scale = is_uniform ? emp_tf_op2(tf, "Sub", "sub", high, low) : high;

    values = emp_tf_op2(tf, "Mul", "mul", values, scale);
    emp_tf_leave(tf, outer);
    return emp_tf_emit(tf, full, "Add", NULL, EMP_TF_PORTS(values, low));
}

static emp_port initial_value(emp_tf *tf, emp_dtype dtype, const emp_shape *shape,
                              emp_tf_initializer initializer)
{
    switch (initializer) {
    case EMP_TF_INIT_ZEROS: return emp_tf_filled(tf, "zeros", dtype, *shape, 0);
    case EMP_TF_INIT_ONES: return emp_tf_filled(tf, "ones", dtype, *shape, 1);
    case EMP_TF_INIT_UNIFORM:
        return random_values(tf, "RandomUniform", emp_tf_unique(tf, "random_uniform"),
                             shape);
    case EMP_TF_INIT_NORMAL:
        return random_values(tf, "TruncatedNormal", emp_tf_unique(tf, "truncated_normal"),
                             shape);
    case EMP_TF_INIT_CONST:
    case EMP_TF_INIT_VALUE: break;
    }
    return emp_tf_const(tf, NULL, "Const", dtype, *shape, NULL, 0);
}

/* ---- variables --------------------------------------------------------------------- */

emp_tf_variable emp_tf_get_variable(emp_tf *tf, const char *name, emp_dtype dtype,
                                    emp_shape shape, emp_tf_initializer initializer,
                                    bool is_trainable)
{
    const char *full = emp_tf_unique_in(tf, "", name);
    const char *outer = emp_tf_reenter(tf, emp_tf_join(tf, full, "/", ""));
    emp_port    value;

    emp_tf_loop_set_outside(tf, true);
    if (initializer == EMP_TF_INIT_VALUE) {
        value = emp_tf_const(tf, NULL, "initial_value", dtype, shape, NULL, 0);
    } else {
        const char *inner = emp_tf_enter(tf, "Initializer");
        value = initial_value(tf, dtype, &shape, initializer);
        emp_tf_leave(tf, inner);
    }
    emp_op_attrs    attrs = {.dtype = dtype, .shape = shape, .has_shape = true};
    emp_tf_variable variable = {
        .name = full, .shape = shape, .dtype = dtype, .is_trainable = is_trainable};
    variable.ref = emp_tf_emit(tf, full, "VariableV2", &attrs, NULL, 0);
    variable.assign = emp_tf_op2(tf, "Assign", NULL, variable.ref, value).op;
    variable.read = emp_tf_op1(tf, "Identity", "read", variable.ref);
    emp_tf_leave(tf, outer);
    emp_tf_loop_set_outside(tf, false);
    emp_tf_add_variable(tf, &variable);
    return variable;
}

emp_tf_variable emp_tf_weights(emp_tf *tf, const char *name, emp_shape shape,
                               emp_tf_initializer initializer)
{
    return emp_tf_get_variable(tf, name, EMP_DTYPE_FLOAT, shape, initializer, true);
}

emp_tf_variable emp_tf_global_step(emp_tf *tf)
{
    return emp_tf_get_variable(tf, "global_step", EMP_DTYPE_INT64, EMP_SHAPE_SCALAR,
                               EMP_TF_INIT_VALUE, false);
}

/* ---- init and Saver ---------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const emp_tf_variable *)a)->name, ((const emp_tf_variable *)b)->name);
}

static emp_port save_all(emp_tf *tf, emp_port file, const emp_tf_variable *variable,
                         int32_t count, emp_port *inputs)
{
    const char *save = emp_tf_unique(tf, "SaveV2");

    inputs[0] = file;
    inputs[1] = emp_tf_string(tf, save, "tensor_names", EMP_SHAPE(count));
    inputs[2] = emp_tf_string(tf, save, "shape_and_slices", EMP_SHAPE(count));
    for (int32_t i = 0; i < count; i++) inputs[3 + i] = variable[i].ref;
    return emp_tf_emit(tf, save, "SaveV2", NULL, inputs, count + 3);
}

static emp_port restore(emp_tf *tf, emp_port file, const emp_tf_variable *variable)
{
    const char  *full = emp_tf_unique(tf, "RestoreV2");
    emp_port     names = emp_tf_string(tf, full, "tensor_names", EMP_SHAPE(1));
    emp_port     slices = emp_tf_string(tf, full, "shape_and_slices", EMP_SHAPE(1));
    emp_op_attrs attrs = {.dtype = variable->dtype};

    return emp_tf_emit(tf, full, "RestoreV2", &attrs, EMP_TF_PORTS(file, names, slices));
}

/* Variables by name: one SaveV2 for all, a RestoreV2 and an Assign each. */
static void add_saver(emp_tf *tf, const emp_tf_variable *variable, int32_t count,
                      emp_port *ports, emp_op_id *assigns)
{
    const char *outer = emp_tf_enter(tf, "save");
    emp_port    file = emp_tf_string(tf, NULL, "Const", EMP_SHAPE_SCALAR);
    emp_port    saved = save_all(tf, file, variable, count, ports);

    emp_tf_begin_controls(tf, &saved.op, 1);
    emp_tf_op1(tf, "Identity", "control_dependency", file);
    emp_tf_end_controls(tf);
    for (int32_t i = 0; i < count; i++) ports[i] = restore(tf, file, &variable[i]);
    for (int32_t i = 0; i < count; i++) {
        assigns[i] = emp_tf_op2(tf, "Assign", NULL, variable[i].ref, ports[i]).op;
    }
    emp_tf_group(tf, "restore_all", assigns, count);
    emp_tf_leave(tf, outer);
}

void emp_tf_add_init_and_saver(emp_tf *tf, bool with_saver)
{
    emp_status       st = EMP_OK;
    emp_error       *err = tf->err;
    size_t           count = (size_t)tf->variable_count;
    emp_tf_variable *sorted = EMP_NEW_ARRAY(emp_tf_variable, count);
    emp_port        *ports = EMP_NEW_ARRAY(emp_port, count + 3);
    emp_op_id       *assigns = EMP_NEW_ARRAY(emp_op_id, count);

    if (sorted == NULL || ports == NULL || assigns == NULL) {
        EMP_FAIL(EMP_ENOMEM, "saving %zu variables", count);
    }
    if (!emp_tf_is_ok(tf)) goto cleanup;
    for (size_t i = 0; i < count; i++) assigns[i] = tf->variable[i].assign;
    emp_tf_group(tf, "init", assigns, tf->variable_count);
    if (with_saver) {
        memcpy(sorted, tf->variable, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, compare_names);
        add_saver(tf, sorted, tf->variable_count, ports, assigns);
    }

cleanup:
    emp_free(sorted);
    emp_free(ports);
    emp_free(assigns);
    emp_tf_fail(tf, st);
}

enum { MAX_SLOTS = 2, MAX_HYPER = 4, MAX_INPUTS = 12 };

/* The inputs of the update op in order: v variable, 0 1 slots, p q powers of beta, a b c
 * d hyperparameters, g gradient, i its indices (sparse updates only). */
typedef struct {
    const char        *scope;
    const char        *slot[MAX_SLOTS];
    emp_tf_initializer slot_init[MAX_SLOTS];
    const char        *hyper[MAX_HYPER];
    double             hyper_value[MAX_HYPER];
    const char        *apply, *sparse_apply;
    const char        *inputs;
} rule;

static const rule rules[] = {
    [EMP_TF_SGD] = {.scope = "GradientDescent",
                    .hyper = {"learning_rate"},
                    .hyper_value = {1.0},
                    .apply = "ApplyGradientDescent",
                    .inputs = "vag"},
    [EMP_TF_MOMENTUM] = {.scope = "Momentum",
                         .slot = {"Momentum"},
                         .slot_init = {EMP_TF_INIT_ZEROS},
                         .hyper = {"learning_rate", "momentum"},
                         .hyper_value = {0.1, 0.9},
                         .apply = "ApplyMomentum",
                         .sparse_apply = "SparseApplyMomentum",
                         .inputs = "v0agib"},
    [EMP_TF_ADAGRAD] = {.scope = "Adagrad",
                        .slot = {"Adagrad"},
                        .slot_init = {EMP_TF_INIT_CONST},
                        .hyper = {"learning_rate"},
                        .hyper_value = {0.2},
                        .apply = "ApplyAdagrad",
                        .sparse_apply = "SparseApplyAdagrad",
                        .inputs = "v0agi"},
    [EMP_TF_RMSPROP] = {.scope = "RMSProp",
                        .slot = {"RMSProp", "RMSProp_1"},
                        .slot_init = {EMP_TF_INIT_ONES, EMP_TF_INIT_ZEROS},
                        .hyper = {"learning_rate", "decay", "momentum", "epsilon"},
                        .hyper_value = {0.045, 0.9, 0.9, 1.0},
                        .apply = "ApplyRMSProp",
                        .sparse_apply = "SparseApplyRMSProp",
                        .inputs = "v01abcdgi"},
    [EMP_TF_ADAM] = {.scope = "Adam",
                     .slot = {"Adam", "Adam_1"},
                     .slot_init = {EMP_TF_INIT_ZEROS, EMP_TF_INIT_ZEROS},
                     .hyper = {"learning_rate", "beta1", "beta2", "epsilon"},
                     .hyper_value = {0.001, 0.9, 0.999, 1e-8},
                     .apply = "ApplyAdam",
                     .inputs = "v01pqabcdg"},
    [EMP_TF_FUSED_ADAM] = {.scope = "Adam",
                           .slot = {"Adam", "Adam_1"},
                           .slot_init = {EMP_TF_INIT_ZEROS, EMP_TF_INIT_ZEROS},
                           .apply = "FusedAdam",
                           .inputs = "v01g"},
};

/* A variable to train, its gradient, its slots. */
typedef struct {
    emp_tf_variable variable;
    emp_tf_grad     grad;
    emp_tf_variable slot[MAX_SLOTS];
} trained;

typedef struct {
    const rule     *rule;
    emp_port        hyper[MAX_HYPER];
    emp_tf_variable power[2]; /**< Adam's beta1_power, beta2_power */
    trained        *item;
    int32_t         count;
    emp_op_id      *updates; /**< [count + 2] */
} trainer;

/* ---- clipping ---------------------------------------------------------------------- */

static emp_port global_norm(emp_tf *tf, const trainer *t, emp_port *losses)
{
    const char *outer = emp_tf_enter(tf, "global_norm");

    for (int32_t i = 0; i < t->count; i++) {
        losses[i] = emp_tf_op1(tf, "L2Loss", NULL, t->item[i].grad.values);
    }
    emp_port norm = emp_tf_stack(tf, NULL, losses, t->count, 0);
    norm = emp_tf_reduce_all(tf, "Sum", NULL, norm);
    norm = emp_tf_op2(tf, "Mul", "mul", norm, emp_tf_float(tf, NULL, "Const", 2.0));
    norm = emp_tf_op1(tf, "Sqrt", "global_norm", norm);
    emp_tf_leave(tf, outer);
    return norm;
}

/* tf.clip_by_global_norm(): grad * clip * min(1 / norm, 1 / clip) */
static void clip(emp_tf *tf, trainer *t, double clip_norm)
{
    emp_port *losses = EMP_NEW_ARRAY(emp_port, (size_t)t->count);

    if (losses == NULL) {
        emp_tf_fail(tf, emp_error_set(tf->err, EMP_ENOMEM, __FILE__, __LINE__,
                                      "norms of %d gradients", t->count));
        return;
    }
    emp_port    norm = global_norm(tf, t, losses);
    const char *outer = emp_tf_enter(tf, "clip_by_global_norm");
    emp_port    by_norm = emp_tf_x_op(tf, "RealDiv", "truediv", 1.0, norm);
    emp_port    by_clip = emp_tf_float(tf, NULL, "Const", 1.0);
    by_clip = emp_tf_op_y(tf, "RealDiv", "truediv", by_clip, clip_norm);
    emp_port scale = emp_tf_op2(tf, "Minimum", NULL, by_norm, by_clip);
    scale = emp_tf_x_op(tf, "Mul", "mul", clip_norm, scale);
    for (int32_t i = 0; i < t->count; i++) {
        emp_port *values = &t->item[i].grad.values;
        *values = emp_tf_op2(tf, "Mul", "mul", *values, scale);
        *values = emp_tf_op1(tf, "Identity",
                             emp_tf_number(tf, "clip_by_global_norm/_%d", i), *values);
    }
    emp_tf_leave(tf, outer);
    emp_free(losses);
}

/* ---- updates ----------------------------------------------------------------------- */

static void create_slots(emp_tf *tf, trainer *t, emp_tf_optimizer optimizer)
{
    if (optimizer == EMP_TF_ADAM) {
        for (int32_t i = 0; i < 2; i++) {
            t->power[i] = emp_tf_get_variable(tf, i == 0 ? "beta1_power" : "beta2_power",
                                              EMP_DTYPE_FLOAT, EMP_SHAPE_SCALAR,
                                              EMP_TF_INIT_VALUE, false);
        }
    }
    for (int32_t i = 0; i < t->count; i++) {
        const emp_tf_variable *variable = &t->item[i].variable;
        for (int32_t s = 0; s < MAX_SLOTS && t->rule->slot[s] != NULL; s++) {
            t->item[i].slot[s] = emp_tf_get_variable(
                tf, emp_tf_join(tf, variable->name, "/", t->rule->slot[s]),
                variable->dtype, variable->shape, t->rule->slot_init[s], false);
        }
    }
}

/* Rows that were looked up twice are summed first. */
static emp_tf_grad sum_duplicates(emp_tf *tf, emp_tf_grad grad)
{
    emp_tf_range first = {.begin = 0, .end = 1, .shrink = true};
    emp_port     unique = emp_tf_op1(tf, "Unique", NULL, grad.indices);
    emp_port     count = emp_tf_op1(tf, "Shape", NULL, unique);

    count = emp_tf_strided_slice(tf, count, first);
    emp_port segments = {unique.op, 1};
    return (emp_tf_grad){
        .values = emp_tf_op(tf, "UnsortedSegmentSum", NULL, NULL,
                            EMP_TF_PORTS(grad.values, segments, count)),
        .indices = unique,
    };
}

/* moment = beta * moment, everywhere; then moment[indices] += delta. */
static emp_port decay_and_scatter(emp_tf *tf, const emp_tf_variable *moment,
                                  emp_port beta, emp_port indices, emp_port delta)
{
    emp_port decayed = emp_tf_op2(tf, "Mul", "mul", moment->read, beta);
    decayed = emp_tf_op2(tf, "Assign", NULL, moment->ref, decayed);
    emp_tf_begin_controls(tf, &decayed.op, 1);
    emp_port result = emp_tf_op(tf, "ScatterAdd", NULL, NULL,
                                EMP_TF_PORTS(moment->ref, indices, delta));
    emp_tf_end_controls(tf);
    return result;
}

/* Adam has no sparse kernel: Python spells it out, over the whole table. */
static emp_op_id adam_sparse(emp_tf *tf, const trainer *t, const trained *item,
                             emp_tf_grad grad)
{
    emp_port lr = t->hyper[0], beta1 = t->hyper[1], beta2 = t->hyper[2];
    emp_port rest = emp_tf_x_op(tf, "Sub", "sub", 1.0, t->power[1].read);
    emp_port rate = emp_tf_op2(tf, "Mul", "mul", lr, emp_tf_op1(tf, "Sqrt", NULL, rest));
    rest = emp_tf_x_op(tf, "Sub", "sub", 1.0, t->power[0].read);
    rate = emp_tf_op2(tf, "RealDiv", "truediv", rate, rest);

    rest = emp_tf_x_op(tf, "Sub", "sub", 1.0, beta1);
    emp_port delta = emp_tf_op2(tf, "Mul", "mul", grad.values, rest);
    emp_port m = decay_and_scatter(tf, &item->slot[0], beta1, grad.indices, delta);

    emp_port square = emp_tf_op2(tf, "Mul", "mul", grad.values, grad.values);
    rest = emp_tf_x_op(tf, "Sub", "sub", 1.0, beta2);
    delta = emp_tf_op2(tf, "Mul", "mul", square, rest);
    emp_port v = decay_and_scatter(tf, &item->slot[1], beta2, grad.indices, delta);

    emp_port root = emp_tf_op1(tf, "Sqrt", NULL, v);
    emp_port step = emp_tf_op2(tf, "Mul", "mul", rate, m);
    root = emp_tf_op2(tf, "Add", "add", root, t->hyper[3]);
    step = emp_tf_op2(tf, "RealDiv", "truediv", step, root);
    emp_port update = emp_tf_op2(tf, "AssignSub", NULL, item->variable.ref, step);
    return emp_tf_group(tf, "group_deps", (emp_op_id[]){update.op, m.op, v.op}, 3);
}

static emp_op_id sgd_sparse(emp_tf *tf, const trainer *t, const trained *item)
{
    emp_port step = emp_tf_op2(tf, "Mul", "mul", item->grad.values, t->hyper[0]);

    return emp_tf_op(tf, "ScatterSub", NULL, NULL,
                     EMP_TF_PORTS(item->variable.ref, item->grad.indices, step))
        .op;
}

/* The update op with the inputs that the rule lists. */
static emp_op_id apply(emp_tf *tf, const trainer *t, const trained *item,
                       const char *type, emp_tf_grad grad)
{
    emp_port inputs[MAX_INPUTS];
    int32_t  count = 0;

    for (const char *c = t->rule->inputs; *c != '\0'; c++) {
        switch (*c) {
        case 'v': inputs[count++] = item->variable.ref; break;
        case '0':
        case '1': inputs[count++] = item->slot[*c - '0'].ref; break;
        case 'p':
        case 'q': inputs[count++] = t->power[*c - 'p'].read; break;
        case 'g': inputs[count++] = grad.values; break;
        case 'i':
            if (grad.indices.op >= 0) inputs[count++] = grad.indices;
            break;
        default: inputs[count++] = t->hyper[*c - 'a']; break;
        }
    }
    return emp_tf_op(tf, type, NULL, NULL, inputs, count).op;
}

static emp_op_id update(emp_tf *tf, const trainer *t, const trained *item,
                        emp_tf_optimizer optimizer)
{
    const char *outer =
        emp_tf_enter(tf, emp_tf_join(tf, "update_", item->variable.name, ""));
    emp_op_id op = -1;

    if (item->grad.indices.op < 0) {
        op = apply(tf, t, item, t->rule->apply, item->grad);
    } else if (optimizer == EMP_TF_SGD) {
        op = sgd_sparse(tf, t, item);
    } else {
        emp_tf_grad grad = sum_duplicates(tf, item->grad);
        op = optimizer == EMP_TF_ADAM ? adam_sparse(tf, t, item, grad)
                                      : apply(tf, t, item, t->rule->sparse_apply, grad);
    }
    emp_tf_leave(tf, outer);
    return op;
}

/* Adam advances its powers of beta after all updates. */
static int32_t advance_powers(emp_tf *tf, trainer *t)
{
    int32_t total = t->count;

    for (int32_t i = 0; i < 2; i++) {
        emp_tf_begin_controls(tf, t->updates, t->count);
        emp_port power = emp_tf_op2(tf, "Mul", "mul", t->power[i].read, t->hyper[1 + i]);
        power = emp_tf_op2(tf, "Assign", NULL, t->power[i].ref, power);
        emp_tf_end_controls(tf);
        t->updates[total++] = power.op;
    }
    return total;
}

static emp_op_id apply_gradients(emp_tf *tf, trainer *t, emp_tf_optimizer optimizer,
                                 const emp_tf_variable *global_step)
{
    int64_t one = 1;
    int32_t update_count = t->count;

    create_slots(tf, t, optimizer);
    const char *full = emp_tf_unique(tf, t->rule->scope);
    const char *outer = emp_tf_reenter(tf, emp_tf_join(tf, full, "/", ""));
    for (int32_t i = 0; i < MAX_HYPER && t->rule->hyper[i] != NULL; i++) {
        t->hyper[i] = emp_tf_float(tf, NULL, t->rule->hyper[i], t->rule->hyper_value[i]);
    }
    for (int32_t i = 0; i < t->count; i++) {
        t->updates[i] = update(tf, t, &t->item[i], optimizer);
    }
    if (optimizer == EMP_TF_ADAM) update_count = advance_powers(tf, t);
    emp_op_id all = emp_tf_group(tf, "update", t->updates, update_count);
    if (global_step == NULL) {
        emp_tf_leave(tf, outer);
        return all;
    }
    emp_tf_begin_controls(tf, &all, 1);
    emp_port step =
        emp_tf_const(tf, NULL, "value", EMP_DTYPE_INT64, EMP_SHAPE_SCALAR, &one, 1);
    step = emp_tf_emit(tf, full, "AssignAdd", NULL, EMP_TF_PORTS(global_step->ref, step));
    emp_tf_end_controls(tf);
    emp_tf_leave(tf, outer);
    return step.op;
}

/* ---- all together ------------------------------------------------------------------ */

/* Gradients of the loss in all trainable variables; drops variables without any. */
static void collect(emp_tf *tf, trainer *t, emp_port loss, emp_port *xs,
                    emp_tf_grad *grads)
{
    int32_t count = 0;

    for (int32_t i = 0; i < tf->variable_count; i++) {
        if (!tf->variable[i].is_trainable) continue;
        t->item[count].variable = tf->variable[i];
        xs[count++] = tf->variable[i].ref;
    }
    emp_tf_gradients(tf, loss, xs, count, grads);
    for (int32_t i = 0; i < count; i++) {
        if (grads[i].values.op < 0) continue;
        t->item[t->count].variable = t->item[i].variable;
        t->item[t->count++].grad = grads[i];
    }
}

emp_op_id emp_tf_minimize(emp_tf *tf, emp_port loss, const emp_tf_variable *global_step,
                          emp_tf_optimizer optimizer, double clip_norm)
{
    emp_status   st = EMP_OK;
    emp_error   *err = tf->err;
    emp_op_id    train_op = -1;
    size_t       room = (size_t)tf->variable_count;
    trainer      t = {.rule = &rules[optimizer]};
    emp_port    *xs = NULL;
    emp_tf_grad *grads = NULL;

    EMP_TRY(EMP_ALLOC(t.item, room));
    EMP_TRY(EMP_ALLOC(t.updates, room + 2));
    EMP_TRY(EMP_ALLOC(xs, room));
    EMP_TRY(EMP_ALLOC(grads, room));
    if (!emp_tf_is_ok(tf)) goto cleanup;
    collect(tf, &t, loss, xs, grads);
    if (clip_norm > 0.0) clip(tf, &t, clip_norm);
    train_op = apply_gradients(tf, &t, optimizer, global_step);

cleanup:
    emp_free(xs);
    emp_free(grads);
    emp_free(t.item);
    emp_free(t.updates);
    emp_tf_fail(tf, st);
    return train_op;
}
