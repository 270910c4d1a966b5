// SPDX-License-Identifier: GPL-3.0-or-later
/* Is every op in the cell where it belongs? A small translation model whose layers and
 * steps are known; a model that is not unrolled; names by hand. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "baselines/baselines.h"
#include "bench/report/cells.h"
#include "tests/support/calls.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { STEPS = 4, LAYERS = 3 };

static const char nmt[] = "nmt:layers=3,steps=4,units=16,vocab=100,batch=4";

/* As people place it. */
static void place_by_expert(task *m)
{
    const emp_method_params params = {.seed = 1, .threads = 1};
    void                   *state = NULL;
    int32_t                 count = 0;

    MUST(emp_method_create(&state, &emp_method_expert, m->problem, &params, NULL));
    MUST(emp_method_ask(&emp_method_expert, state,
                        &(emp_owned_decision){.device_of_op = m->device_of_op}, 1, &count,
                        NULL));
    cr_assert_eq(count, 1);
    emp_method_destroy(&emp_method_expert, state);
}

static int32_t find_row(const emp_cells *c, const char *name)
{
    for (int32_t r = 0; r < c->row_count; r++) {
        if (strcmp(c->row_name[r], name) == 0) return r;
    }
    cr_assert_fail("no row %s", name);
    return -1;
}

static int32_t sum_of(const emp_cells *c, int32_t row, emp_pass pass, int32_t step)
{
    int32_t sum = 0;

    for (int32_t d = 0; d < c->device_count; d++)
        sum += emp_cells_at(c, row, pass, step)[d];
    return sum;
}

static void expect_all_counted(const emp_cells *c, const emp_graph *g)
{
    int32_t cells = 0, ops = 0;

    for (int32_t r = 0; r < c->row_count; r++) {
        for (int32_t p = 0; p < EMP_PASS_COUNT; p++) {
            for (int32_t s = 0; s <= c->step_count; s++)
                cells += sum_of(c, r, (emp_pass)p, s);
        }
    }
    for (emp_op_id op = 0; op < g->op_count; op++) ops += !g->op[op].is_folded;
    cr_expect_eq(cells, ops);
}

/* All ops of a row's steps are on one device, forward and backward, and there are some at
 * every step. */
static void expect_one_device(const emp_cells *c, const char *name)
{
    int32_t row = find_row(c, name), device = -1;

    for (int32_t s = 0; s < STEPS; s++) {
        for (int32_t p = 0; p <= EMP_PASS_BACKWARD; p++) {
            const int32_t *count = emp_cells_at(c, row, (emp_pass)p, s);
            cr_expect_gt(sum_of(c, row, (emp_pass)p, s), 5, "%s, step %d", name, s);
            for (int32_t d = 0; d < c->device_count; d++) {
                if (count[d] == 0) continue;
                if (device < 0) device = d;
                cr_expect_eq(d, device, "%s, step %d on two devices", name, s);
            }
        }
    }
}

Test(cells, layers_of_the_expert_have_one_colour_each)
{
    static const char *const rows[] = {"softmax",
                                       "attention",
                                       "decoder layer 3",
                                       "decoder layer 2",
                                       "decoder layer 1",
                                       "decoder embedding",
                                       "encoder layer 3",
                                       "encoder layer 2",
                                       "encoder layer 1, right to left",
                                       "encoder layer 1, left to right",
                                       "encoder embedding",
                                       "other ops"};
    task                     m;
    emp_cells                c = {0};

    task_create(&m, nmt, "k40x4", "tf-r1.3");
    place_by_expert(&m);
    MUST(emp_cells_create(&c, m.problem, m.device_of_op, NULL));
    cr_assert_eq(c.step_count, STEPS);
    cr_assert_eq(c.row_count, (int32_t)(sizeof rows / sizeof *rows));
    for (int32_t r = 0; r < c.row_count; r++) cr_expect_str_eq(c.row_name[r], rows[r]);
    expect_all_counted(&c, m.graph);
    for (int32_t r = 0; r < c.row_count; r++) {
        if (strstr(rows[r], "layer") != NULL) expect_one_device(&c, rows[r]);
    }
    cr_expect_gt(sum_of(&c, find_row(&c, "encoder layer 2"), EMP_PASS_UPDATE, STEPS), 0);
    emp_cells_clear(&c);
    task_destroy(&m);
}

static void move(task *m, const char *name, emp_device_id device)
{
    emp_op_id op = emp_graph_find(m->graph, name);

    cr_assert_geq(op, 0, "%s", name);
    m->device_of_op[op] = device;
}

/* Of each row the step that has something on device 2. */
static int32_t marked_step(const emp_cells *c, const char *name, emp_pass pass)
{
    int32_t row = find_row(c, name), marked = -1;

    for (int32_t s = 0; s <= c->step_count; s++) {
        if (emp_cells_at(c, row, pass, s)[2] == 0) continue;
        cr_expect_eq(marked, -1, "%s is marked twice", name);
        marked = s;
    }
    return marked;
}

Test(cells, ops_are_at_the_step_that_their_number_says)
{
    static const char decoder[] = "decoder/step/step/attention/attention/multi_rnn_cell/";
    char              name[256];
    task              m;
    emp_cells         c = {0};

    task_create(&m, nmt, "k40x4", "tf-r1.3");
    /* one matrix product a step: number 2 is of the third */
    snprintf(name, sizeof name, "%scell_0/basic_lstm_cell/MatMul_2", decoder);
    move(&m, name, 2);
    /* three sigmoids a step: number 5 is the third of the second step */
    snprintf(name, sizeof name, "%scell_1/basic_lstm_cell/Sigmoid_5", decoder);
    move(&m, name, 2);
    /* its gradient, and of another layer */
    snprintf(name, sizeof name,
             "gradients/%scell_2/basic_lstm_cell/Sigmoid_3_grad/SigmoidGrad", decoder);
    move(&m, name, 2);
    /* the layer that reads from right to left begins at the last word */
    move(&m,
         "encoder/bidirectional_rnn/bw/bw/multi_rnn_cell/cell_0/basic_lstm_cell/MatMul",
         2);
    MUST(emp_cells_create(&c, m.problem, m.device_of_op, NULL));
    cr_expect_eq(marked_step(&c, "decoder layer 1", EMP_PASS_FORWARD), 2);
    cr_expect_eq(marked_step(&c, "decoder layer 2", EMP_PASS_FORWARD), 1);
    cr_expect_eq(marked_step(&c, "decoder layer 3", EMP_PASS_BACKWARD), 1);
    cr_expect_eq(marked_step(&c, "encoder layer 1, right to left", EMP_PASS_FORWARD),
                 STEPS - 1);
    cr_expect_eq(marked_step(&c, "encoder layer 2", EMP_PASS_FORWARD), -1);
    emp_cells_clear(&c);
    task_destroy(&m);
}

Test(cells, other_models_have_a_row_a_scope)
{
    task      m;
    emp_cells c = {0};

    task_create(&m, "inception_v3", "k40x4", "tf-r1.3");
    MUST(emp_cells_create(&c, m.problem, m.device_of_op, NULL));
    cr_expect_eq(c.step_count, 0);
    int32_t first = find_row(&c, "Conv2d_1a_3x3"), last = find_row(&c, "Mixed_7c");
    cr_expect_lt(first, last, "rows are in the order of the graph");
    for (int32_t p = 0; p < EMP_PASS_COUNT; p++)
        cr_expect_gt(sum_of(&c, first, (emp_pass)p, 0), 0);
    expect_all_counted(&c, m.graph);
    emp_cells_clear(&c);
    task_destroy(&m);
}

Test(cells, every_allocation_may_fail)
{
    task m;

    task_create(&m, nmt, "k40x4", "tf-r1.3");
    emp_cells c = {0};
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_cells_create(&c, m.problem, m.device_of_op, NULL), emp_cells_clear(&c));
    emp_cells_clear(&c);
    task_destroy(&m);
}

Test(op_place, names_are_unwrapped)
{
    emp_op_place p;

    emp_op_place_read(&p, "Adam/update_encoder/rnn/multi_rnn_cell/cell_1/lstm/kernel/Mul",
                      true);
    cr_expect_eq(p.pass, EMP_PASS_UPDATE);
    cr_expect_str_eq(p.row, "encoder layer 2");
    emp_op_place_read(&p, "emb_tgt/Adam_1", true);
    cr_expect_eq(p.pass, EMP_PASS_UPDATE);
    cr_expect_str_eq(p.row, "decoder embedding");
    emp_op_place_read(&p, "Adamant/cell_1/x", false);
    cr_expect_eq(p.pass, EMP_PASS_FORWARD);
    emp_op_place_read(&p, "gradients/AddN_26", true);
    cr_expect_eq(p.pass, EMP_PASS_BACKWARD);
    cr_expect_str_eq(p.row, "other ops");
    emp_op_place_read(&p, "a/cell_1_12/b_3/MatMul_99999999999", false);
    cr_expect_str_eq(p.like, "a/cell_1/b/MatMul_99999999999");
    cr_expect_eq(p.number, 12);
    cr_expect_str_eq(p.row, "layer 2");
    char name[3 * EMP_OP_NAME_BYTES];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    emp_op_place_read(&p, name, false);
    cr_expect_eq(strlen(p.forward), EMP_OP_NAME_BYTES - 1);
}
