// SPDX-License-Identifier: GPL-3.0-or-later
/* The expert's rules on names, and what they make of small models of each family. */
#include "baselines/baselines.h"
#include "sim/graph/op.h"
#include "tests/baselines/fixture.h"
#include "tests/support/status.h"

/* clang-format off */
static const struct {
    const char *name;
    emp_role    role;
    int32_t     cell;
} role_cases[] = {
    {"encoder/rnn/rnn/multi_rnn_cell/cell_1/basic_lstm_cell/MatMul_3", EMP_ROLE_CELL, 1},
    {"decoder/step/step/attention/attention/multi_rnn_cell/cell_12/basic_lstm_cell/Sigmoid", EMP_ROLE_CELL, 12},
    {"gradients/encoder/rnn/rnn/multi_rnn_cell/cell_0/basic_lstm_cell/Mul_1_grad/Reshape", EMP_ROLE_CELL, 0},
    {"Adam/update_decoder/step/attention/multi_rnn_cell/cell_7/basic_lstm_cell/kernel/ApplyAdam", EMP_ROLE_CELL, 7},
    {"encoder/rnn/multi_rnn_cell/cell_1/basic_lstm_cell/kernel/Adam_1", EMP_ROLE_CELL, 1},
    {"encoder/rnn/rnn/multi_rnn_cell/cell_1_39/add", EMP_ROLE_CELL, 1},
    {"emb_src", EMP_ROLE_EMBEDDING, -1},
    {"emb_tgt/Adam", EMP_ROLE_EMBEDDING, -1},
    {"decoder/embedding_lookup", EMP_ROLE_EMBEDDING, -1},
    {"gradients/embedding_lookup_grad/Reshape", EMP_ROLE_EMBEDDING, -1},
    {"Adam/update_emb_src/ScatterAdd", EMP_ROLE_EMBEDDING, -1},
    {"decoder/step/step/attention/bahdanau_attention_3/Tanh", EMP_ROLE_OUTPUT, -1},
    {"gradients/decoder/BahdanauAttention/memory_layer/Tensordot/MatMul_grad/MatMul_1", EMP_ROLE_OUTPUT, -1},
    {"decoder/memory_layer/kernel/read", EMP_ROLE_OUTPUT, -1},
    {"Adam/update_softmax_w/ApplyAdam", EMP_ROLE_OUTPUT, -1},
    {"SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits", EMP_ROLE_OUTPUT, -1},
    {"gradients/AddN_134", EMP_ROLE_NONE, -1},
    {"clip_by_global_norm/mul_3", EMP_ROLE_NONE, -1},
    {"global_norm/L2Loss_2", EMP_ROLE_NONE, -1},
    {"gradients/MatMul_grad/MatMul_1", EMP_ROLE_NONE, -1},
    {"decoder/unstack", EMP_ROLE_NONE, -1},
    {"member/cell_x/MatMul", EMP_ROLE_NONE, -1}, /* "emb" inside a word, no number */
    {"a/cell_99999999999999999999/b", EMP_ROLE_NONE, -1},
};
/* clang-format on */

Test(expert, roles_of_names)
{
    for (size_t i = 0; i < COUNT(role_cases); i++) {
        int32_t cell = -2;
        cr_expect_eq(emp_role_of_name(role_cases[i].name, &cell), role_cases[i].role,
                     "%s", role_cases[i].name);
        cr_expect_eq(cell, role_cases[i].cell, "%s: cell %d", role_cases[i].name, cell);
    }
}

Test(expert, finds_the_forward_op_of_a_gradient)
{
    const char *forward = NULL;
    const char *name = "gradients/decoder/step/Mul_3_grad/tuple/group_deps";

    cr_assert_eq(emp_forward_of_gradient(name, &forward), strlen("decoder/step/Mul_3"));
    cr_expect_eq(strncmp(forward, "decoder/step/Mul_3", 18), 0);
    cr_expect_eq(emp_forward_of_gradient("gradients/AddN_3", &forward), 0);
    cr_expect_eq(emp_forward_of_gradient("layer/x_grad/mul", &forward), 0);
    cr_expect_eq(emp_forward_of_gradient("gradients", &forward), 0);
}

static emp_device_id device_of(const fixture *f, const emp_device_id *device,
                               const char *name)
{
    for (emp_op_id op = 0; op < f->op_count; op++) {
        if (strcmp(f->graph->name[op], name) == 0) return device[op];
    }
    cr_assert_fail("no op %s", name);
    return -1;
}

Test(expert, keeps_language_models_and_convolutions_on_one_gpu)
{
    emp_device_id device[FIXTURE_MAX_OPS];

    for (int family = 0; family < 2; family++) {
        OWN_FIXTURE f = fixture_create(4);
        emp_op_id   first = fixture_clique(f, 8, 10);
        f->op[first].persistent_bytes = INT64_C(1) << 40; /* fitting is not asked */
        const emp_problem *problem = fixture_problem(f);
        if (family == 0)
            f->graph->name[first] = "rnn/multi_rnn_cell/cell_1/MatMul";
        else
            f->cost[first].op_class = EMP_OP_CONV;
        fixture_place(&emp_method_expert, problem, 1, NULL, device);
        for (emp_op_id op = 0; op < 8; op++) cr_expect_eq(device[op], 1);
    }
}

/* variable -> read -> layer, per layer of a chain; then gradients back and updates. */
static fixture *create_unknown_model(int32_t layers, int64_t variable_bytes)
{
    static char names[16][4][48];
    fixture    *f = fixture_create(4);
    emp_op_id   variable[16], read[16], last;

    for (int32_t k = 0; k < layers; k++) {
        const char *format[] = {"w%d", "w%d/read", "block%d/mul",
                                "gradients/block%d/mul_grad/mul"};
        for (int32_t i = 0; i < 4; i++) snprintf(names[k][i], 48, format[i], k);
        variable[k] = fixture_op(f, names[k][0], 8);
        f->op[variable[k]].flags = EMP_OP_IS_VARIABLE;
        f->op[variable[k]].persistent_bytes = variable_bytes;
        read[k] = fixture_op(f, names[k][1], 8);
        fixture_edge(f, variable[k], read[k]);
        fixture_colocate(f, read[k], variable[k]);
    }
    last = fixture_op(f, "input", 8);
    for (int32_t k = 0; k < layers; k++) {
        emp_op_id layer = fixture_op(f, names[k][2], 8);
        fixture_edge(f, last, layer);
        fixture_edge(f, read[k], layer);
        last = layer;
    }
    for (int32_t k = layers - 1; k >= 0; k--) {
        emp_op_id gradient = fixture_op(f, names[k][3], 8);
        emp_op_id update = fixture_op(f, NULL, 0);
        f->op[update].flags = EMP_OP_UPDATES_REF | EMP_OP_IS_OPTIMIZER;
        fixture_edge(f, last, gradient);
        fixture_edge(f, gradient, update);
        fixture_colocate(f, update, variable[k]);
        last = gradient;
    }
    return f;
}

Test(expert, cuts_an_unknown_model_into_layers_only_if_it_must)
{
    enum { LAYERS = 12 };
    emp_device_id device[FIXTURE_MAX_OPS];
    fixture      *f = create_unknown_model(LAYERS, (1 << 30) / LAYERS);

    fixture_place(&emp_method_expert, fixture_problem(f), 1, NULL, device);
    for (emp_op_id op = 0; op < f->op_count; op++) cr_expect_eq(device[op], 1);
    fixture_destroy(f);

    f = create_unknown_model(LAYERS, (1 << 30) / LAYERS + 1);
    fixture_place(&emp_method_expert, fixture_problem(f), 1, NULL, device);
    for (int32_t k = 0; k < LAYERS; k++) {
        const char   *format[] = {"w%d", "w%d/read", "gradients/block%d/mul_grad/mul"};
        char          name[48];
        emp_device_id layer;
        snprintf(name, sizeof name, "block%d/mul", k);
        layer = device_of(f, device, name);
        cr_expect_eq(layer, 1 + (k + 1) * 4 / (LAYERS + 1), "layer %d on %d", k, layer);
        for (size_t i = 0; i < 3; i++) {
            snprintf(name, sizeof name, format[i], k);
            cr_expect_eq(device_of(f, device, name), layer, "%s on %d, its layer on %d",
                         name, device_of(f, device, name), layer);
        }
    }
    fixture_destroy(f);
}

Test(expert, needs_a_gpu)
{
    OWN_FIXTURE             f = fixture_create(0);
    const emp_method_params params = {0};
    void                   *state = NULL;

    fixture_clique(f, 3, 1);
    MUST_FAIL(
        emp_method_create(&state, &emp_method_expert, fixture_problem(f), &params, &why),
        EMP_EUNSUPPORTED, "test0");
}

Test(expert, survives_every_allocation_failure)
{
    const emp_method_params params = {0};
    fixture                *f = create_unknown_model(8, 1 << 30);
    const emp_problem      *problem = fixture_problem(f);
    void                   *state = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_method_create(&state, &emp_method_expert, problem, &params, NULL),
        cr_assert_null(state));
    emp_method_destroy(&emp_method_expert, state);
    fixture_destroy(f);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
