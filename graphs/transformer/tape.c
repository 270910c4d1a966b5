// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/transformer/tape.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* ---- lifecycle ---- */

emp_status emp_tape_init(emp_tape *t, const emp_transformer_step *step, emp_error *err)
{
    *t = (emp_tape){.err = err, .step = step};
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
    emp_free(t->gradient);
    *t = (emp_tape){0};
}

void emp_tape_fail(emp_tape *t, emp_status status)
{
    if (t->status == EMP_OK) t->status = status;
}

bool emp_tape_is_ok(const emp_tape *t) { return t->status == EMP_OK; }

bool emp_tape_is_training(const emp_tape *t) { return t->step->phase == EMP_PHASE_TRAIN; }

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

emp_port emp_tape_op(emp_tape *t, const char *type, const char *name, int32_t unit,
                     const emp_op_attrs *attrs, const emp_port *inputs, int32_t count)
{
    char round[24];

    if (t->round == 0) return add_op(t, type, name, unit, attrs, inputs, count);
    snprintf(round, sizeof round, EMP_TAPE_ROUND "%d", t->round);
    return add_op(t, type, emp_tape_join_names(t, name, round), unit, attrs, inputs,
                  count);
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

emp_port emp_tape_weight_of(emp_tape *t, const char *name, emp_shape shape, int32_t unit,
                            emp_weight_kind kind)
{
    int32_t known = emp_strmap_get(&t->weight_of_name, name, strlen(name));

    if (!emp_tape_is_ok(t)) return EMP_TAPE_NONE;
    if (known >= 0) return (emp_port){t->weight[known].variable, 0};
    emp_error *err = t->err;
    emp_tape_fail(t, EMP_GROW(t->weight, t->weight_count + 1, t->weight_capacity));
    if (!emp_tape_is_ok(t)) return EMP_TAPE_NONE;
    emp_op_attrs attrs = {
        .dtype = type_of_weight(t, name, &shape), .has_shape = true, .shape = shape};
    emp_port port = add_op(t, weight_type(t, kind), name, unit, &attrs, NULL, 0);
    if (!emp_tape_is_ok(t)) return EMP_TAPE_NONE;
    const char *kept = emp_graph_builder_name(t->builder, port.op);
    emp_tape_fail(t, emp_strmap_set(&t->weight_of_name, kept, strlen(kept),
                                    t->weight_count, t->err));
    t->weight[t->weight_count++] = (emp_tape_weight){port.op, unit, kind};
    return port;
}

int32_t emp_tape_unit_of(const emp_tape *t, const char *weight)
{
    int32_t known = emp_strmap_get(&t->weight_of_name, weight, strlen(weight));

    return known < 0 ? -1 : t->weight[known].unit;
}

/* ---- notes ---- */

emp_note *emp_tape_note(emp_tape *t, emp_note_kind kind, const char *name, int32_t unit,
                        emp_port output, const emp_port *inputs, int32_t count)
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
                       .input_count = count};
    for (int32_t i = 0; i < count; i++) note->input[i] = inputs[i];
    return note;
}
