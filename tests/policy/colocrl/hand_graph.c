// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/policy/colocrl/hand_graph.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/policy/hdp/small_problem.h"

enum { MAX_INPUTS = 16 };

void hand_graph_begin(hand_graph *h)
{
    emp_error err = {0};

    memset(h, 0, sizeof *h);
    small_machine_init(&h->machine);
    cr_assert_eq(emp_graph_builder_create(&h->builder, &err), EMP_OK, "%s", err.msg);
}

emp_op_id hand_graph_add(hand_graph *h, const char *name, const char *type,
                         const emp_op_id *inputs, int32_t count)
{
    emp_error    err = {0};
    emp_op_id    op = -1;
    emp_port     port[MAX_INPUTS];
    size_t       length = strlen(name);
    bool         is_image = length >= 5 && strcmp(name + length - 5, "image") == 0;
    emp_op_attrs attrs = {.dtype = EMP_DTYPE_FLOAT,
                          .strides = {1, 1, 1, 1},
                          .ksize = {1, 2, 2, 1},
                          .padding_is_same = true};

    attrs.has_shape = count == 0;
    if (count == 0 && is_image)
        attrs.shape = EMP_SHAPE(3, 3, 3, 3);
    else if (count == 0 && strcmp(type, "VariableV2") == 0)
        attrs.shape = EMP_SHAPE(16, 16);
    else if (count == 0)
        attrs.shape = EMP_SHAPE(8, 16);
    cr_assert_leq(count, MAX_INPUTS);
    for (int32_t i = 0; i < count; i++) port[i] = (emp_port){inputs[i], 0};
    cr_assert_eq(emp_graph_builder_add(h->builder, name, type, &attrs, port, count, NULL,
                                       0, &op, &err),
                 EMP_OK, "%s: %s", name, err.msg);
    return op;
}

emp_op_id hand_graph_op(hand_graph *h, const char *name, const char *type,
                        emp_op_id input)
{
    return hand_graph_add(h, name, type, &input, input < 0 ? 0 : 1);
}

void hand_graph_finish(hand_graph *h)
{
    emp_error         err = {0};
    const emp_runtime runtime = {.name = "ideal"};

    emp_graph_builder_set_target(h->builder, emp_graph_builder_op_count(h->builder) - 1);
    cr_assert_eq(emp_graph_builder_finish(h->builder, &h->graph, &err), EMP_OK, "%s",
                 err.msg);
    emp_graph_builder_destroy(h->builder);
    h->builder = NULL;
    cr_assert_eq(
        emp_problem_create(&h->problem, h->graph, &h->machine, &runtime, "hand", &err),
        EMP_OK, "%s", err.msg);
}

void hand_graph_clear(hand_graph *h)
{
    emp_problem_destroy(h->problem);
    emp_graph_destroy(h->graph);
}

void hand_graph_comb(hand_graph *h, int32_t layers)
{
    char      name[64];
    emp_op_id before;

    hand_graph_begin(h);
    before = hand_graph_op(h, "in", "Placeholder", -1);
    for (int32_t i = 0; i < layers; i++) {
        snprintf(name, sizeof name, "w_%d", i);
        emp_op_id variable = hand_graph_op(h, name, "VariableV2", -1);
        snprintf(name, sizeof name, "read_%d", i);
        emp_op_id read = hand_graph_op(h, name, "Identity", variable);
        snprintf(name, sizeof name, "product_%d", i);
        emp_op_id product =
            hand_graph_add(h, name, "MatMul", (const emp_op_id[]){before, read}, 2);
        snprintf(name, sizeof name, "relu_%d", i);
        before = hand_graph_op(h, name, "Relu", product);
        snprintf(name, sizeof name, "reader_%d", i);
        hand_graph_op(h, name, "Relu", before);
    }
    hand_graph_op(h, "end", "Relu", before); /* the last layer too has two readers */
    hand_graph_finish(h);
}
