// SPDX-License-Identifier: GPL-3.0-or-later
/* The optimizer's step: it begins when all gradients are there, as `optimizer.step()` behind
 * `loss.backward()` does, so that all of them are held at once. */
#include <string.h>

#include "base/mem.h"
#include "graphs/transformer/tape.h"

/* A float32 state of a weight. */
static emp_port state_of(emp_tape *t, const emp_tape_weight *w, const char *leaf)
{
    const char  *name = emp_graph_builder_name(t->builder, w->variable);
    emp_op_attrs attrs = {.dtype = EMP_DTYPE_FLOAT,
                          .has_shape = true,
                          .shape = emp_tape_shape(t, (emp_port){w->variable, 0})};

    return emp_tape_op(t, "VariableV2", emp_tape_join_names(t, name, leaf), w->unit,
                       &attrs, NULL, 0);
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
    emp_port in[5] = {
        {w->variable, 0}, state_of(t, w, "/exp_avg"), state_of(t, w, "/exp_avg_sq")};
    int32_t count = 3;

    if (t->step->has_master && t->step->dtype != EMP_DTYPE_FLOAT)
        in[count++] = state_of(t, w, "/master");
    in[count++] = gradient;
    add_update(t, w, "AdamW", in, count, barrier);
}

static emp_port learning_rate(emp_tape *t)
{
    int64_t      one = 1;
    emp_op_attrs attrs = {.dtype = t->step->dtype,
                          .has_shape = true,
                          .value = &one,
                          .shape = EMP_SHAPE_SCALAR,
                          .value_count = 1};

    if (!emp_tape_is_ok(t)) return EMP_TAPE_NONE;
    emp_op_id there = emp_graph_builder_find(t->builder, "learning_rate", 13);
    return there >= 0 ? (emp_port){there, 0}
                      : emp_tape_op(t, "Const", "learning_rate", 0, &attrs, NULL, 0);
}

static void update_sgd(emp_tape *t, const emp_tape_weight *w, emp_port gradient,
                       emp_op_id barrier)
{
    emp_port in[3] = {{w->variable, 0}, learning_rate(t), gradient};

    add_update(t, w, "ApplyGradientDescent", in, 3, barrier);
}

/* An op that waits for all gradients. */
static emp_op_id add_barrier(emp_tape *t)
{
    emp_op_id  barrier = -1;
    emp_op_id *last = EMP_NEW_ARRAY(emp_op_id, (size_t)t->weight_count);
    int32_t    count = 0;

    if (last == NULL) {
        emp_tape_fail(t, emp_error_set(t->err, EMP_ENOMEM, __FILE__, __LINE__,
                                       "gradients of %d weights", t->weight_count));
        return -1;
    }
    for (int32_t i = 0; i < t->weight_count; i++) {
        emp_port d = t->gradient[t->weight[i].variable];
        bool     is_new = d.op >= 0;
        for (int32_t k = count - 1; is_new && k >= 0 && k >= count - 3; k--)
            is_new =
                last[k] != d.op; /* an op gives the gradients of a weight and its bias */
        if (is_new) last[count++] = d.op;
    }
    emp_tape_fail(t, emp_graph_builder_add(t->builder, "optimizer", "NoOp",
                                           &(emp_op_attrs){0}, NULL, 0, last, count,
                                           &barrier, t->err));
    emp_free(last);
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
        if (is_adam && w.kind == EMP_WEIGHT_TRAINED)
            update_adam(t, &w, d, barrier);
        else
            update_sgd(t, &w, d, barrier);
    }
}
