// SPDX-License-Identifier: GPL-3.0-or-later
/* Variables, their initialisers, and how they are saved and restored. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graphs/tensorflow/tf_loop.h"
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_train.h"

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
