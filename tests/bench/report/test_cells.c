// SPDX-License-Identifier: GPL-3.0-or-later
/* Is every op in the cell where it belongs? A small translation model whose layers and
 * steps are known; a model that is not unrolled; names by hand. */
#include "baselines/baselines.h"
#include "bench/report/cells.h"
#include "tests/support/problems.h"
#include "tests/test.h"

enum { STEPS = 4, LAYERS = 3 };

static const char nmt[] = "nmt:layers=3,steps=4,units=16,vocab=100,batch=4";

static task      m;
static emp_cells c;

static void tear_down(void)
{
    emp_cells_clear(&c);
    task_destroy(&m);
    expect_all_freed();
}

TestSuite(cells, .fini = tear_down);

/* As people place it. */
static void place_by_expert(void)
{
    const emp_method_params  params = {.seed = 1, .threads = 1};
    const emp_owned_decision own = {.device_of_op = m.device_of_op};
    void                    *state = NULL;
    int32_t                  count = 0;

    ASSERT_OK(emp_method_create(&state, &emp_method_expert, m.problem, &params, &err));
    ASSERT_OK(emp_method_ask(&emp_method_expert, state, &own, 1, &count, &err));
    cr_assert_eq(count, 1);
    emp_method_destroy(&emp_method_expert, state);
}

static void create(void)
{
    ASSERT_OK(emp_cells_create(&c, m.problem, m.device_of_op, &err));
}

static int32_t find_row(const char *name)
{
    for (int32_t r = 0; r < c.row_count; r++)
        if (strcmp(c.row_name[r], name) == 0) return r;
    cr_assert_fail("no row %s", name);
    return -1;
}

static int32_t sum_of(int32_t row, emp_cells_pass pass, int32_t step)
{
    int32_t sum = 0;

    for (int32_t d = 0; d < c.device_count; d++)
        sum += emp_cells_at(&c, row, pass, step)[d];
    return sum;
}

static void expect_all_counted(void)
{
    int32_t cells = 0, ops = 0;

    for (int32_t r = 0; r < c.row_count; r++)
        for (int32_t p = 0; p < EMP_CELLS_PASSES; p++)
            for (int32_t s = 0; s <= c.step_count; s++)
                cells += sum_of(r, (emp_cells_pass)p, s);
    for (emp_op_id op = 0; op < m.graph->op_count; op++)
        ops += !m.graph->op[op].is_folded;
    cr_expect_eq(cells, ops);
}

/* All ops of a row's steps are on one device, forward and backward, and there are some at
 * every step. */
static void expect_one_device(int32_t row)
{
    int32_t device = -1;

    for (int32_t s = 0; s < STEPS; s++) {
        for (int32_t p = 0; p <= EMP_CELLS_BACKWARD; p++) {
            const int32_t *count = emp_cells_at(&c, row, (emp_cells_pass)p, s);
            cr_expect_gt(sum_of(row, (emp_cells_pass)p, s), 5, "%s, step %d",
                         c.row_name[row], s);
            for (int32_t d = 0; d < c.device_count; d++) {
                if (count[d] == 0) continue;
                if (device < 0) device = d;
                cr_expect_eq(d, device, "%s, step %d on two devices", c.row_name[row], s);
            }
        }
    }
}

Test(cells, layers_of_the_expert_have_one_colour_each)
{
    static const char rows[] =
        "softmax, attention, decoder layer 3, decoder layer 2, decoder layer 1, decoder "
        "embedding, encoder layer 3, encoder layer 2, encoder layer 1, right to left, "
        "encoder layer 1, left to right, encoder embedding, other ops, ";
    char names[1024] = "";

    task_create(&m, nmt, "k40x4", "tf-r1.3");
    place_by_expert();
    create();
    cr_assert_eq(c.step_count, STEPS);
    for (int32_t r = 0; r < c.row_count; r++) {
        strcat(strcat(names, c.row_name[r]), ", ");
        if (strstr(c.row_name[r], "layer") != NULL) expect_one_device(r);
    }
    cr_expect_str_eq(names, rows);
    expect_all_counted();
    cr_expect_gt(sum_of(find_row("encoder layer 2"), EMP_CELLS_UPDATE, STEPS), 0);
}

/* For each row the step that has something on device 2. */
static int32_t marked_step(const char *name, emp_cells_pass pass)
{
    int32_t row = find_row(name), marked = -1;

    for (int32_t s = 0; s <= c.step_count; s++) {
        if (emp_cells_at(&c, row, pass, s)[2] == 0) continue;
        cr_expect_eq(marked, -1, "%s is marked twice", name);
        marked = s;
    }
    return marked;
}

#define DECODER "decoder/step/step/attention/attention/multi_rnn_cell/"

/* One matrix product a step: number 2 is of the third. Three sigmoids a step: number 5 is the third of the
 * second step. Its gradient, and of another layer. The layer that reads from right to left begins at the last
 * word. */
Test(cells, ops_are_at_the_step_that_their_number_says)
{
    static const struct {
        const char    *op, *row;
        emp_cells_pass pass;
        int32_t        step;
    } cases[] = {
        {DECODER "cell_0/basic_lstm_cell/MatMul_2", "decoder layer 1", EMP_CELLS_FORWARD,
         2},
        {DECODER "cell_1/basic_lstm_cell/Sigmoid_5", "decoder layer 2", EMP_CELLS_FORWARD,
         1},
        {"gradients/" DECODER "cell_2/basic_lstm_cell/Sigmoid_3_grad/SigmoidGrad",
         "decoder layer 3", EMP_CELLS_BACKWARD, 1},
        {"encoder/bidirectional_rnn/bw/bw/multi_rnn_cell/cell_0/basic_lstm_cell/MatMul",
         "encoder layer 1, right to left", EMP_CELLS_FORWARD, STEPS - 1}};

    task_create(&m, nmt, "k40x4", "tf-r1.3");
    for (int i = 0; i < 4; i++) {
        emp_op_id op = emp_graph_find(m.graph, cases[i].op);
        cr_assert_geq(op, 0, "%s", cases[i].op);
        m.device_of_op[op] = 2;
    }
    create();
    for (int i = 0; i < 4; i++)
        cr_expect_eq(marked_step(cases[i].row, cases[i].pass), cases[i].step, "%s",
                     cases[i].row);
    cr_expect_eq(marked_step("encoder layer 2", EMP_CELLS_FORWARD), -1);
}

Test(cells, other_models_have_a_row_a_scope)
{
    task_create(&m, "inception_v3", "k40x4", "tf-r1.3");
    create();
    cr_expect_eq(c.step_count, 0);
    int32_t first = find_row("Conv2d_1a_3x3"), last = find_row("Mixed_7c");
    cr_expect_lt(first, last, "rows are in the order of the graph");
    for (int32_t p = 0; p < EMP_CELLS_PASSES; p++)
        cr_expect_gt(sum_of(first, (emp_cells_pass)p, 0), 0);
    expect_all_counted();
}

Test(cells, every_allocation_may_fail)
{
    task_create(&m, nmt, "k40x4", "tf-r1.3");
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_cells_create(&c, m.problem, m.device_of_op, NULL), emp_cells_clear(&c));
}

Test(op_place, names_are_unwrapped)
{
    static const struct {
        const char    *name;
        bool           is_split; /* encoder and decoder are distinguished */
        emp_cells_pass pass;
        const char    *row;
    } cases[] = {{"Adam/update_encoder/rnn/multi_rnn_cell/cell_1/lstm/kernel/Mul", true,
                  EMP_CELLS_UPDATE, "encoder layer 2"},
                 {"emb_tgt/Adam_1", true, EMP_CELLS_UPDATE, "decoder embedding"},
                 {"Adamant/cell_1/x", false, EMP_CELLS_FORWARD, "layer 2"},
                 {"gradients/AddN_26", true, EMP_CELLS_BACKWARD, "other ops"}};
    char         name[3 * EMP_OP_NAME_BYTES];
    emp_op_place p;

    for (int i = 0; i < 4; i++) {
        emp_op_place_read(&p, cases[i].name, cases[i].is_split);
        cr_expect_eq(p.pass, cases[i].pass, "%s", cases[i].name);
        cr_expect_str_eq(p.row, cases[i].row, "%s", cases[i].name);
    }
    emp_op_place_read(&p, "a/cell_1_12/b_3/MatMul_99999999999", false);
    cr_expect_str_eq(p.like, "a/cell_1/b/MatMul_99999999999");
    cr_expect_eq(p.number, 12);
    cr_expect_str_eq(p.row, "layer 2");
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    emp_op_place_read(&p, name, false);
    cr_expect_eq(strlen(p.forward), EMP_OP_NAME_BYTES - 1);
}
