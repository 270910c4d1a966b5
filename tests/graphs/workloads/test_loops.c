// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a translator in while loops the unrolled one with its gradients added in place, at the
 * price of the ops that hand values from iteration to iteration? */
#include "graphs/workloads/workloads.h"
#include "sim/engine/sim.h"
#include "tests/graphs/graphs.h"
#include "tests/support/problems.h"
#include "tests/test.h"

TestSuite(loops, .fini = graph_tear_down);

enum { STEPS = 20, KERNEL_BYTES = 512 * 1024 * 4 };

#define SMALL                                                                     \
    "nmt:layers=1,bidirectional=0,units=256,batch=4,steps=20,vocab=100,per_step_" \
    "softmax=0"

static int32_t count(const emp_graph *g, const char *type, const char *part)
{
    int32_t found = 0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        found += strcmp(emp_graph_op_type(g, op), type) == 0 &&
                 strstr(g->name[op], part) != NULL;
    return found;
}

static emp_sim_result simulate(const char *spec)
{
    OWN_TASK t;

    task_create(&t, spec, "k40x2", "tf-r1.3");
    for (emp_op_id op = 0; op < t.graph->op_count; op++) t.device_of_op[op] = 1;
    emp_problem_legalize(t.problem, t.device_of_op);
    return task_run(&t);
}

Test(loops, have_the_products_of_the_unrolled_model)
{
    static const char *const specs[][2] = {
        {SMALL, SMALL ",dynamic=1"},
        {"nmt:layers=3,units=8,batch=2,steps=4,vocab=20,architecture=gnmt",
         "nmt:layers=3,units=8,batch=2,steps=4,vocab=20,architecture=gnmt,dynamic=1"},
    };

    for (size_t i = 0; i < 2; i++) {
        emp_graph *unrolled = graph_build(specs[i][0]), *loops = graph_build(specs[i][1]);
        cr_expect_eq(count(loops, "MatMul", ""), count(unrolled, "MatMul", ""));
        cr_expect_eq(count(loops, "BatchMatMul", ""), count(unrolled, "BatchMatMul", ""));
        cr_expect_eq(count(loops, "VariableV2", ""), count(unrolled, "VariableV2", ""));
        cr_expect_eq(loops->parameter_count, unrolled->parameter_count);
        cr_expect_eq(loops->unknown_shape_count, unrolled->unknown_shape_count);
        cr_expect_eq(loops->back_edge_count, 0);
    }
}

Test(loops, add_a_gradient_at_every_iteration)
{
    emp_graph *unrolled = graph_build(SMALL), *loops = graph_build(SMALL ",dynamic=1");
    const char kernel[] = "encoder/rnn/rnn/multi_rnn_cell/cell_0/basic_lstm_cell/while/"
                          "Enter_grad/b_acc";

    cr_expect_eq(count(loops, "Add", kernel), STEPS);
    cr_expect_eq(count(loops, "NextIteration", kernel), STEPS - 1);
    cr_expect_eq(count(loops, "Const", kernel), 1, "zeros to start from");
    cr_expect_lt(count(loops, "AddN", ""), count(unrolled, "AddN", ""));
}

/* A stack keeps what a backward iteration reads of its forward one. */
Test(loops, backward_iterations_pop_what_forward_ones_pushed)
{
    emp_graph *g =
        graph_build("nmt:layers=1,bidirectional=0,units=8,batch=2,steps=3,vocab=20,"
                    "per_step_softmax=0,dynamic=1");

    for (emp_op_id op = 0; op < g->op_count; op++) {
        bool is_backward = strncmp(g->name[op], "gradients/", 10) == 0;
        bool is_pop = strstr(g->name[op], "StackPopV2") != NULL;
        for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
            const char *from = g->name[g->tensor[g->input[i]].producer];
            bool        is_cell = strstr(from, "basic_lstm_cell/Sigmoid") != NULL &&
                           strncmp(from, "gradients/", 10) != 0 &&
                           strstr(from, "/Stack") == NULL;
            cr_expect(!is_backward || is_pop || !is_cell, "%s reads %s itself",
                      g->name[op], from);
        }
    }
    cr_expect_eq(count(g, "Identity", "StackPushV2"), count(g, "Identity", "StackPopV2"));
    cr_expect_gt(count(g, "Identity", "cell_0/basic_lstm_cell/Sigmoid/StackPushV2"), 0);
}

/* Also a loop of one iteration enters from outside and leaves to it. */
Test(loops, enter_and_leave)
{
    for (int32_t steps = 1; steps <= 3; steps++) {
        emp_graph *g = graph_build(scratch_print(
            "nmt:layers=1,bidirectional=0,units=8,batch=2,vocab=20,src_steps=%d,"
            "tgt_steps=2,per_step_softmax=0,saver=0,dynamic=1",
            steps));
        /* Loop variables of the encoder: c and h, and the counter, which is not left. */
        cr_expect_eq(count(g, "NextIteration", "encoder/rnn/rnn") -
                         count(g, "NextIteration", "gradients/encoder/rnn/rnn"),
                     2 * steps);
        cr_expect_eq(count(g, "NextIteration", "encoder/rnn/while"), steps - 1);
        cr_expect_eq(count(g, "LoopCond", "encoder"), steps);
    }
}

/* Iteration 1 takes a loop variable from outside, the others from the one before. */
static bool are_twins(const char *type, const char *first)
{
    return strcmp(type, first) == 0 ||
           (strcmp(type, "NextIteration") == 0 && strcmp(first, "Enter") == 0);
}

Test(loops, all_iterations_of_an_op_share_a_device)
{
    emp_graph *g = graph_build("nmt:layers=3,units=8,batch=2,steps=5,vocab=20,dropout=1,"
                               "architecture=gnmt,attention=normed_bahdanau,dynamic=1");
    emp_op_id *first = EMP_NEW_ARRAY(emp_op_id, (size_t)g->op_count + 1);

    for (emp_op_id op = 0; op < g->op_count; op++) first[op] = -1;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t number = g->colocation[op];
        cr_assert_leq(number, g->op_count);
        if (number == 0) continue;
        if (first[number] < 0) first[number] = op;
        emp_op_id twin = first[number];
        cr_expect(are_twins(emp_graph_op_type(g, op), emp_graph_op_type(g, twin)),
                  "%s and %s", g->name[op], g->name[twin]);
        cr_expect_eq(g->op[op].colocation_class, g->op[twin].colocation_class);
    }
    emp_op_id product = emp_graph_find(g, "decoder/cell_2/basic_lstm_cell/MatMul");
    for (int32_t t = 1; t < 5; t++) {
        const char *name = scratch_print("decoder/cell_2/basic_lstm_cell/MatMul_%d", t);
        emp_op_id   other = emp_graph_find(g, name);
        cr_assert(product >= 0 && other >= 0, "%s", name);
        cr_expect_eq(g->op[other].colocation_class, g->op[product].colocation_class);
    }
    emp_free(first);
}

Test(loops, bind_nothing_in_an_unrolled_model)
{
    emp_graph *g = graph_build("nmt:layers=2,units=8,batch=2,steps=3,vocab=20");

    for (emp_op_id op = 0; op < g->op_count; op++)
        cr_expect(g->colocation == NULL || g->colocation[op] == 0, "%s", g->name[op]);
    cr_expect_eq(count(g, "NextIteration", "") + count(g, "LoopCond", ""), 0);
}

/* An unrolled model holds the gradients of all steps until it adds them. Kernels of the second model are short: the
 * host, which has more ops to run, sets the pace. */
Test(loops, hold_no_gradients_of_other_steps_but_take_more_of_the_host)
{
    static const char *const specs[] = {
        SMALL, SMALL ",dynamic=1", "nmt:layers=1,units=16,batch=2,steps=10,vocab=20",
        "nmt:layers=1,units=16,batch=2,steps=10,vocab=20,dynamic=1"};
    emp_sim_result r[4];

    for (int i = 0; i < 4; i++) r[i] = simulate(specs[i]);
    cr_expect_gt(r[0].peak_bytes[1] - r[1].peak_bytes[1],
                 (int64_t)(STEPS - 4) * KERNEL_BYTES, "%lld bytes, unrolled %lld",
                 (long long)r[1].peak_bytes[1], (long long)r[0].peak_bytes[1]);
    cr_expect_gt(r[3].step_time_ns, r[2].step_time_ns);
}
