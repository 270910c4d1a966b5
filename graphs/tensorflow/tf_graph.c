// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/tensorflow/tf_graph.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

emp_status emp_tf_init(emp_tf *tf, emp_error *err)
{
    *tf = (emp_tf){.err = err, .scope = ""};
    tf->status = emp_graph_builder_create(&tf->builder, err);
    return tf->status;
}

/* Names that only the construction needs: those of ops are the builder's. */
static void forget_names(emp_tf *tf)
{
    emp_arena_clear(&tf->names);
    emp_strmap_clear(&tf->times_asked);
    emp_strmap_clear(&tf->group_of_key);
    tf->scope = "";
}

emp_status emp_tf_finish(emp_tf *tf, emp_graph **out)
{
    *out = NULL;
    if (tf->status == EMP_OK) {
        forget_names(tf);
        tf->status = emp_graph_builder_finish(tf->builder, out, tf->err);
    }
    return tf->status;
}

void emp_tf_clear(emp_tf *tf)
{
    emp_graph_builder_destroy(tf->builder);
    forget_names(tf);
    emp_free(tf->control_buffer);
    emp_free(tf->input_buffer);
    emp_free(tf->variable);
    *tf = (emp_tf){0};
}

void emp_tf_fail(emp_tf *tf, emp_status status)
{
    if (tf->status == EMP_OK) tf->status = status;
}

bool emp_tf_is_ok(const emp_tf *tf) { return tf->status == EMP_OK; }

static void out_of_memory(emp_tf *tf, const char *what)
{
    emp_tf_fail(tf, emp_error_set(tf->err, EMP_ENOMEM, __FILE__, __LINE__, "%s", what));
}

/* ---- names and scopes -------------------------------------------------------------- */

const char *emp_tf_join(emp_tf *tf, const char *a, const char *b, const char *c)
{
    size_t na = strlen(a), nb = strlen(b), nc = strlen(c);
    char  *text = (char *)emp_arena_alloc(&tf->names, na + nb + nc + 1);

    if (text == NULL) {
        out_of_memory(tf, "names of ops");
        return "";
    }
    memcpy(text, a, na);
    memcpy(text + na, b, nb);
    memcpy(text + na + nb, c, nc);
    return text;
}

const char *emp_tf_number(emp_tf *tf, const char *format, int32_t number)
{
    char text[64];

    snprintf(text, sizeof text, format, number);
    return emp_tf_join(tf, text, "", "");
}

static void set_times_asked(emp_tf *tf, const char *name, int32_t times)
{
    emp_tf_fail(tf, emp_strmap_set(&tf->times_asked, name, strlen(name), times, tf->err));
}

/* Graph.unique_name(): the n-th wish for a name gets the suffix "_n", or the next one
 * that is free. */
const char *emp_tf_unique_in(emp_tf *tf, const char *scope, const char *leaf)
{
    const char *name = emp_tf_join(tf, scope, leaf, "");

    if (!emp_tf_is_ok(tf)) return "";
    int32_t times = emp_strmap_get(&tf->times_asked, name, strlen(name));
    if (times < 0) {
        set_times_asked(tf, name, 1);
        return name;
    }
    set_times_asked(tf, name, times + 1);
    do {
        char suffix[16];
        snprintf(suffix, sizeof suffix, "_%d", times++);
        name = emp_tf_join(tf, scope, leaf, suffix);
    } while (emp_tf_is_ok(tf) &&
             emp_strmap_get(&tf->times_asked, name, strlen(name)) >= 0);
    set_times_asked(tf, name, 1);
    return name;
}

const char *emp_tf_unique(emp_tf *tf, const char *leaf)
{
    return emp_tf_unique_in(tf, tf->scope, leaf);
}

const char *emp_tf_enter(emp_tf *tf, const char *leaf)
{
    return emp_tf_reenter(tf, emp_tf_join(tf, emp_tf_unique(tf, leaf), "/", ""));
}

const char *emp_tf_reenter(emp_tf *tf, const char *scope)
{
    const char *previous = tf->scope;

    tf->scope = scope;
    return previous;
}

void emp_tf_leave(emp_tf *tf, const char *previous) { tf->scope = previous; }

/* ---- control dependencies ---------------------------------------------------------- */

void emp_tf_begin_controls(emp_tf *tf, const emp_op_id *ops, int32_t count)
{
    assert(tf->control_count < EMP_TF_MAX_CONTROLS);
    tf->controls[tf->control_count++] = (emp_tf_control){
        .ops = ops,
        .count = count,
        .first_inside = emp_graph_builder_op_count(tf->builder),
    };
}

void emp_tf_end_controls(emp_tf *tf) { tf->control_count--; }

static bool reads(const emp_port *inputs, int32_t count, emp_op_id op)
{
    for (int32_t i = 0; i < count; i++) {
        if (inputs[i].op == op) return true;
    }
    return false;
}

static bool waits_already(const emp_tf_control *block, const emp_port *inputs,
                          int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (inputs[i].op >= block->first_inside) return true;
    }
    return false;
}

static void reserve_controls(emp_tf *tf, int32_t capacity)
{
    emp_error *err = tf->err;

    tf->status = EMP_GROW(tf->control_buffer, capacity, tf->control_capacity);
}

/* Collects what an op with these inputs has to wait for; returns how many. */
static int32_t collect_controls(emp_tf *tf, const emp_port *inputs, int32_t count)
{
    int32_t total = 0;

    for (int32_t c = 0; c < tf->control_count; c++) {
        const emp_tf_control *block = &tf->controls[c];
        if (waits_already(block, inputs, count)) continue;
        reserve_controls(tf, total + block->count);
        if (!emp_tf_is_ok(tf)) return 0;
        for (int32_t i = 0; i < block->count; i++) {
            if (!reads(inputs, count, block->ops[i])) {
                tf->control_buffer[total++] = block->ops[i];
            }
        }
    }
    return total;
}

/* ---- one device for all iterations of an op ---------------------------------------- */

/* The n-th op of each iteration. */
static int32_t forward_group(emp_tf *tf)
{
    emp_tf_loop *loop = tf->loop;
    int32_t      number = loop->first_group + loop->op_count++;

    if (number > tf->group_count) tf->group_count = number;
    return number;
}

static int32_t colocation_of(emp_tf *tf, const char *full_name)
{
    if (tf->loop != NULL && tf->loop->iteration > 0)
        return tf->loop->is_outside ? 0 : forward_group(tf);
    if (tf->twin.key == NULL) return 0;
    size_t      length = strlen(full_name);
    const char *rest = tf->twin.skip < length ? full_name + tf->twin.skip : "";
    const char *key = emp_tf_join(tf, tf->twin.key, "/", rest);
    int32_t     group = emp_strmap_get(&tf->group_of_key, key, strlen(key));
    if (group > 0) return group;
    emp_tf_fail(tf, emp_strmap_set(&tf->group_of_key, key, strlen(key), ++tf->group_count,
                                   tf->err));
    return tf->group_count;
}

emp_tf_twin emp_tf_loop_twin(emp_tf *tf, emp_op_id like, const char *part, int32_t output,
                             size_t skip)
{
    emp_tf_twin         before = tf->twin;
    const emp_op_attrs *attrs = emp_graph_builder_attrs(tf->builder, like);
    char                key[64];

    tf->twin = (emp_tf_twin){.skip = skip};
    if (attrs->colocation == 0 && !attrs->is_constant) return before;
    /* An invariant's Enter is no part of an iteration: it goes by itself. */
    snprintf(key, sizeof key, "%s%d %s %d", attrs->is_constant ? "Enter " : "",
             attrs->is_constant ? like : attrs->colocation, part, output);
    tf->twin.key = emp_tf_join(tf, key, "", "");
    return before;
}

/* ---- tensors that stacks keep ------------------------------------------------------ */

/* Whether a loop made it, other than what all iterations share. */
static bool is_of_an_iteration(const emp_tf *tf, emp_op_id op)
{
    const char *type = emp_graph_builder_type(tf->builder, op);
    bool        is_inside = false;

    for (int32_t i = 0; i < tf->loop_count; i++)
        is_inside |= tf->loops[i].begin <= op && op < tf->loops[i].end;
    return is_inside && strcmp(type, "Const") != 0 && strcmp(type, "Enter") != 0;
}

static emp_port push_and_pop(emp_tf *tf, emp_port port)
{
    const char *name = emp_graph_builder_name(tf->builder, port.op);
    const char *outer = emp_tf_reenter(tf, "");

    emp_tf_loop_twin(tf, port.op, "push", port.index, EMP_TF_ANY_NAME);
    emp_port popped =
        emp_tf_op1(tf, "Identity", emp_tf_join(tf, name, "/StackPushV2", ""), port);
    emp_tf_loop_twin(tf, port.op, "pop", port.index, EMP_TF_ANY_NAME);
    popped = emp_tf_op1(tf, "Identity",
                        emp_tf_join(tf, "gradients/", name, "_grad/StackPopV2"), popped);
    emp_tf_leave(tf, outer);
    return popped;
}

static emp_port pop(emp_tf *tf, emp_port port)
{
    const emp_tf_stacks stacks = tf->stacks;
    const emp_tf_twin   twin = tf->twin;

    if (port.op < 0 || port.op >= stacks.forward_count ||
        !is_of_an_iteration(tf, port.op))
        return port;
    emp_port *popped = &stacks.popped[stacks.first_output[port.op] + port.index];
    if (popped->op < 0) {
        tf->stacks = (emp_tf_stacks){0}; /* the push reads the tensor itself */
        *popped = push_and_pop(tf, port);
        tf->stacks = stacks;
        tf->twin = twin;
    }
    return *popped;
}

/* ---- ops --------------------------------------------------------------------------- */

/* The inputs with those popped that stacks keep; NULL = no memory. */
static const emp_port *pop_inputs(emp_tf *tf, const emp_port *inputs, int32_t count)
{
    emp_error *err = tf->err;

    if (tf->stacks.forward_count == 0) return inputs;
    tf->status = EMP_GROW(tf->input_buffer, count, tf->input_capacity);
    if (!emp_tf_is_ok(tf)) return NULL;
    for (int32_t i = 0; i < count; i++) tf->input_buffer[i] = pop(tf, inputs[i]);
    return tf->input_buffer;
}

emp_port emp_tf_emit(emp_tf *tf, const char *full_name, const char *type,
                     const emp_op_attrs *attrs, const emp_port *inputs, int32_t count)
{
    static const emp_op_attrs none = {0};
    emp_op_id                 op = -1;

    if (!emp_tf_is_ok(tf)) return EMP_TF_NONE;
    inputs = pop_inputs(tf, inputs, count);
    if (!emp_tf_is_ok(tf)) return EMP_TF_NONE;
    int32_t control_count = collect_controls(tf, inputs, count);
    if (!emp_tf_is_ok(tf)) return EMP_TF_NONE;
    emp_op_attrs own = attrs == NULL ? none : *attrs;
    own.colocation = colocation_of(tf, full_name);
    if (!emp_tf_is_ok(tf)) return EMP_TF_NONE;
    tf->status = emp_graph_builder_add(tf->builder, full_name, type, &own, inputs, count,
                                       tf->control_buffer, control_count, &op, tf->err);
    return emp_tf_is_ok(tf) ? (emp_port){op, 0} : EMP_TF_NONE;
}

emp_port emp_tf_op(emp_tf *tf, const char *type, const char *name,
                   const emp_op_attrs *attrs, const emp_port *inputs, int32_t count)
{
    return emp_tf_emit(tf, emp_tf_unique(tf, name == NULL ? type : name), type, attrs,
                       inputs, count);
}

emp_port emp_tf_op1(emp_tf *tf, const char *type, const char *name, emp_port x)
{
    return emp_tf_op(tf, type, name, NULL, &x, 1);
}

emp_port emp_tf_op2(emp_tf *tf, const char *type, const char *name, emp_port x,
                    emp_port y)
{
    return emp_tf_op(tf, type, name, NULL, EMP_TF_PORTS(x, y));
}

emp_port emp_tf_placeholder(emp_tf *tf, const char *name, emp_dtype dtype,
                            emp_shape shape)
{
    emp_op_attrs attrs = {.dtype = dtype, .shape = shape, .has_shape = true};

    return emp_tf_op(tf, "Placeholder", name, &attrs, NULL, 0);
}

emp_op_id emp_tf_group(emp_tf *tf, const char *name, const emp_op_id *ops, int32_t count)
{
    emp_tf_begin_controls(tf, ops, count);
    emp_port group = emp_tf_op(tf, "NoOp", name, NULL, NULL, 0);
    emp_tf_end_controls(tf);
    return group.op;
}

/* ---- constants --------------------------------------------------------------------- */

emp_port emp_tf_const(emp_tf *tf, const char *parent, const char *leaf, emp_dtype dtype,
                      emp_shape shape, const int64_t *values, int32_t count)
{
    emp_op_attrs attrs = {.dtype = dtype,
                          .shape = shape,
                          .has_shape = true,
                          .value = values,
                          .value_count = count};
    const char  *scope = parent == NULL ? tf->scope : emp_tf_join(tf, parent, "/", "");

    return emp_tf_emit(tf, emp_tf_unique_in(tf, scope, leaf), "Const", &attrs, NULL, 0);
}

emp_port emp_tf_int(emp_tf *tf, const char *parent, const char *leaf, int64_t value)
{
    return emp_tf_const(tf, parent, leaf, EMP_DTYPE_INT32, EMP_SHAPE_SCALAR, &value, 1);
}

emp_port emp_tf_float(emp_tf *tf, const char *parent, const char *leaf, double value)
{
    int64_t truncated = (int64_t)value;

    return emp_tf_const(tf, parent, leaf, EMP_DTYPE_FLOAT, EMP_SHAPE_SCALAR, &truncated,
                        1);
}

emp_port emp_tf_string(emp_tf *tf, const char *parent, const char *leaf, emp_shape shape)
{
    return emp_tf_const(tf, parent, leaf, EMP_DTYPE_STRING, shape, NULL, 0);
}

emp_port emp_tf_ints(emp_tf *tf, const char *parent, const char *leaf,
                     const int64_t *values, int32_t count)
{
    return emp_tf_const(tf, parent, leaf, EMP_DTYPE_INT32, EMP_SHAPE(count), values,
                        count);
}

emp_port emp_tf_dims(emp_tf *tf, const char *parent, const char *leaf,
                     const emp_shape *shape)
{
    return emp_tf_ints(tf, parent, leaf, shape->dim, shape->rank);
}

/* ---- what is known ----------------------------------------------------------------- */

emp_shape emp_tf_shape(const emp_tf *tf, emp_port port)
{
    if (!emp_tf_is_ok(tf)) return EMP_SHAPE_SCALAR;
    return emp_graph_builder_output(tf->builder, port)->shape;
}

emp_dtype emp_tf_dtype(const emp_tf *tf, emp_port port)
{
    if (!emp_tf_is_ok(tf)) return EMP_DTYPE_FLOAT;
    return emp_graph_builder_output(tf->builder, port)->dtype;
}

void emp_tf_hide_shape(emp_tf *tf, emp_port port)
{
    if (!emp_tf_is_ok(tf)) return;
    assert(tf->hidden_count < EMP_TF_MAX_HIDDEN);
    tf->hidden[tf->hidden_count++] = port;
}

void emp_tf_set_target(emp_tf *tf, emp_op_id op)
{
    if (emp_tf_is_ok(tf)) emp_graph_builder_set_target(tf->builder, op);
}

bool emp_tf_shape_is_static(const emp_tf *tf, emp_port port)
{
    for (int32_t i = 0; i < tf->hidden_count; i++) {
        if (tf->hidden[i].op == port.op && tf->hidden[i].index == port.index)
            return false;
    }
    emp_shape shape = emp_tf_shape(tf, port);
    return emp_shape_is_known(&shape);
}

void emp_tf_add_variable(emp_tf *tf, const emp_tf_variable *variable)
{
    emp_error *err = tf->err;

    if (!emp_tf_is_ok(tf)) return;
    tf->status = EMP_GROW(tf->variable, tf->variable_count + 1, tf->variable_capacity);
    if (emp_tf_is_ok(tf)) tf->variable[tf->variable_count++] = *variable;
}
