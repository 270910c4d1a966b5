// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/tensorflow/tf_loop.h"

#include <assert.h>
#include <string.h>

#include "graphs/tensorflow/tf_ops.h"

static emp_port pass(emp_tf *tf, const char *name, emp_port value)
{
    return emp_tf_op1(tf, "Identity", name, value);
}

void emp_tf_loop_set_outside(emp_tf *tf, bool is_outside)
{
    if (tf->loop != NULL) tf->loop->is_outside = is_outside;
}

/* ---- forward ----------------------------------------------------------------------- */

void emp_tf_loop_open(emp_tf *tf, emp_tf_loop *loop, int32_t steps)
{
    const char *outer = emp_tf_enter(tf, "while");

    *loop = (emp_tf_loop){.scope = tf->scope, .first_group = tf->group_count + 1};
    emp_port zero = emp_tf_int(tf, NULL, "time", 0);
    emp_port limit = emp_tf_int(tf, NULL, "maximum_iterations", steps);
    loop->time = zero;
    loop->limit = emp_tf_op1(tf, "Enter", NULL, limit);
    emp_tf_leave(tf, outer);
    tf->loop = loop;
    assert(tf->loop_count < EMP_TF_MAX_LOOPS);
    emp_tf_loop_range *range = &tf->loops[tf->loop_count++];
    range->begin = range->end = emp_graph_builder_op_count(tf->builder);
}

void emp_tf_loop_close(emp_tf *tf)
{
    if (tf->loop == NULL) return;
    tf->loops[tf->loop_count - 1].end = emp_graph_builder_op_count(tf->builder);
    tf->loop = NULL;
}

/* Enter or NextIteration, and Merge. */
static emp_port merge(emp_tf *tf, bool is_from_outside, emp_port value)
{
    value = emp_tf_op1(tf, is_from_outside ? "Enter" : "NextIteration", NULL, value);
    return pass(tf, "Merge", value);
}

void emp_tf_loop_step(emp_tf *tf)
{
    emp_tf_loop *loop = tf->loop;

    if (loop == NULL) return;
    const char *outer = emp_tf_reenter(tf, loop->scope);
    loop->iteration++;
    loop->op_count = 0;
    emp_port time = merge(tf, loop->iteration == 1, loop->time);
    emp_port less = emp_tf_op2(tf, "Less", NULL, time, loop->limit);
    loop->condition = emp_tf_op1(tf, "LoopCond", NULL, less).op;
    emp_tf_begin_controls(tf, &loop->condition, 1);
    time = pass(tf, "Switch", time);
    emp_tf_end_controls(tf);
    loop->time = emp_tf_op_y(tf, "Add", "add", pass(tf, "Identity", time), 1.0);
    emp_tf_leave(tf, outer);
}

static emp_port choose(emp_tf *tf, bool is_from_outside, emp_port value)
{
    value = merge(tf, is_from_outside, value);
    emp_tf_begin_controls(tf, &tf->loop->condition, 1);
    value = pass(tf, "Switch", value);
    emp_tf_end_controls(tf);
    return value;
}

/* Ops of a part of the model lie in the scope of that part. */
static const char *enter_loop(emp_tf *tf)
{
    return emp_tf_reenter(tf, emp_tf_join(tf, tf->scope, "while/", ""));
}

emp_port emp_tf_loop_carry(emp_tf *tf, emp_port value)
{
    if (tf->loop == NULL) return value;
    const char *outer = enter_loop(tf);
    value = pass(tf, "Identity", choose(tf, tf->loop->iteration == 1, value));
    emp_tf_leave(tf, outer);
    return value;
}

emp_port emp_tf_loop_exit(emp_tf *tf, emp_port value)
{
    if (tf->loop == NULL) return value;
    const char *outer = enter_loop(tf);
    value = emp_tf_op1(tf, "Exit", NULL, choose(tf, false, value));
    emp_tf_leave(tf, outer);
    return value;
}

emp_port emp_tf_loop_invariant(emp_tf *tf, emp_port value)
{
    emp_tf_loop *loop = tf->loop;
    emp_op_attrs constant = {.is_constant = true};

    if (loop == NULL) return value;
    for (int32_t i = 0; i < loop->invariant_count; i++)
        if (loop->outside[i].op == value.op && loop->outside[i].index == value.index)
            return loop->inside[i];
    const char *outer = enter_loop(tf);
    emp_tf_loop_set_outside(tf, true);
    emp_port inside = emp_tf_op(tf, "Enter", NULL, &constant, &value, 1);
    emp_tf_loop_set_outside(tf, false);
    emp_tf_leave(tf, outer);
    assert(loop->invariant_count < EMP_TF_MAX_INVARIANTS);
    loop->outside[loop->invariant_count] = value;
    loop->inside[loop->invariant_count++] = inside;
    return inside;
}

static emp_port access(emp_tf *tf, const char *name, emp_port value)
{
    if (tf->loop == NULL) return value;
    const char *outer = emp_tf_reenter(tf, tf->loop->scope);
    value = pass(tf, name, value);
    emp_tf_leave(tf, outer);
    return value;
}

emp_port emp_tf_loop_read(emp_tf *tf, emp_port value)
{
    return access(tf, "TensorArrayReadV3", value);
}

emp_port emp_tf_loop_write(emp_tf *tf, emp_port value)
{
    return access(tf, "TensorArrayWriteV3", value);
}

/* ---- backward ---------------------------------------------------------------------- */

void emp_tf_loop_set_stacks(emp_tf *tf, const int32_t *first_output, emp_port *popped,
                            int32_t forward_count)
{
    tf->stacks =
        (emp_tf_stacks){first_output, popped, tf->loop_count > 0 ? forward_count : 0};
}

emp_port emp_tf_loop_accumulate(emp_tf *tf, emp_port of, emp_port sum, emp_port grad)
{
    const char *name = emp_graph_builder_name(tf->builder, of.op);
    const char *outer = emp_tf_enter(tf, emp_tf_join(tf, name, "_grad/b_acc", ""));
    emp_tf_twin before = emp_tf_loop_twin(tf, of.op, "sum", 0, strlen(tf->scope));

    if (sum.op < 0) {
        sum = emp_tf_const(tf, NULL, "Const", emp_tf_dtype(tf, grad),
                           emp_tf_shape(tf, grad), NULL, 0);
        sum = emp_tf_op1(tf, "Enter", NULL, sum);
    } else {
        sum = emp_tf_op1(tf, "NextIteration", NULL, sum);
    }
    sum = pass(tf, "Switch", pass(tf, "Merge", sum));
    sum = emp_tf_op2(tf, "Add", NULL, sum, grad);
    tf->twin = before;
    emp_tf_leave(tf, outer);
    return sum;
}
