// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the likeliest placement fit after it is mended, where a move of nodes can make it fit? And is
 * it left alone where it fits, or nothing helps? */
#include "policy/go/go.h"

#include "tests/support/problems.h"
#include "tests/support/status.h"

enum { LAYERS = 12, NODES = 6, MOST_OPS = 256, DEVICES = 3 };

#define SMALL "width=8,heads=2,hidden=8,type_width=4,segment=8,max_devices=3,max_nodes=6"

static task             h;
static emp_node_graph  *nodes;
static emp_transferable features;
static emp_go_fit       fit;
static uint8_t          choice[NODES], before[NODES];
static emp_real         p[NODES * DEVICES];

/* All nodes are on device 1, and device 2 is the likelier of the others; memory is unlimited. */
static void set_up(void)
{
    hand_graph_comb(&h, LAYERS);
    MUST(emp_node_graph_create(&nodes, h.problem, NODES, &why));
    MUST(emp_transferable_init(&features, nodes, h.problem, &why));
    cr_assert_eq(nodes->node_count, NODES);
    for (int32_t i = 0; i < nodes->node_count; i++) {
        choice[i] = before[i] = 1;
        p[i * DEVICES] = (emp_real)0.1;
        p[i * DEVICES + 1] = (emp_real)0.6;
        p[i * DEVICES + 2] = (emp_real)0.3;
    }
    /* the likeliest to go */
    p[4 * DEVICES + 1] = (emp_real)0.46;
    p[4 * DEVICES + 2] = (emp_real)0.44;
    MUST(emp_go_fit_init(&fit, nodes, &features, h.problem, DEVICES, &why));
    cr_assert_eq(emp_go_fit_mend(&fit, choice, p), 0.0);
}

static void tear_down(void)
{
    emp_go_fit_clear(&fit);
    emp_transferable_clear(&features);
    emp_node_graph_destroy(nodes);
    task_destroy(&h);
    expect_all_freed();
}

TestSuite(go_fit, .init = set_up, .fini = tear_down);

static void allow(int32_t device, int64_t bytes)
{
    h.machine->device[device].memory_bytes = bytes;
}

static int32_t moved(void)
{
    int32_t count = 0;

    for (int32_t i = 0; i < nodes->node_count; i++) count += choice[i] != before[i];
    return count;
}

Test(go_fit, what_fits_is_left_alone)
{
    cr_expect_eq(moved(), 0);
    allow(1, fit.room.peak_bytes[1]);
    cr_expect_eq(emp_go_fit_mend(&fit, choice, p), 0.0);
    cr_expect_eq(moved(), 0);
}

Test(go_fit, what_no_runtime_checks_is_left_alone)
{
    allow(1, 1);
    h.problem->runtime.check_memory = false;
    cr_expect_eq(emp_go_fit_mend(&fit, choice, p), 0.0);
    cr_expect_eq(moved(), 0);
}

/* Less than any node holds is missing, so that each move would do. */
Test(go_fit, the_likeliest_move_that_helps_is_made)
{
    allow(1, fit.room.peak_bytes[1] - 1);
    cr_expect_eq(emp_go_fit_mend(&fit, choice, p), 0.0);
    cr_expect_eq(moved(), 1);
    cr_expect_eq(choice[4], 2);
    cr_expect_leq(fit.room.peak_bytes[1], h.machine->device[1].memory_bytes);
}

Test(go_fit, nodes_move_until_it_fits)
{
    allow(1, fit.room.peak_bytes[1] / 2);
    cr_expect_eq(emp_go_fit_mend(&fit, choice, p), 0.0);
    cr_expect_geq(moved(), 2);
    cr_expect_leq(fit.room.peak_bytes[1], h.machine->device[1].memory_bytes);
    for (int32_t i = 0; i < nodes->node_count; i++) cr_expect_neq(choice[i], 0);
}

/* Nothing may be smaller elsewhere than here. */
Test(go_fit, a_move_that_only_shifts_the_lack_is_none)
{
    const int64_t peak_bytes = fit.room.peak_bytes[1];

    for (int32_t d = 0; d < DEVICES; d++) allow(d, d == 1 ? peak_bytes - 1 : 1);
    cr_expect_gt(emp_go_fit_mend(&fit, choice, p), 0.0);
    cr_expect_eq(moved(), 0);
}

Test(go_fit, of_the_method_is_its_first_proposal)
{
    emp_device_id           storage[2][MOST_OPS];
    emp_owned_decision      candidate[2] = {{.device_of_op = storage[0]},
                                            {.device_of_op = storage[1]}};
    const emp_method_params params = {
        .seed = 7, .threads = 1, .preset = "paper", .options = SMALL ",fit=1"};
    void   *state = NULL;
    int32_t count = 0;

    for (int32_t d = 1; d < DEVICES; d++) allow(d, fit.room.peak_bytes[1] * 3 / 4);
    cr_assert_leq(h.graph->op_count, MOST_OPS);
    MUST(emp_method_create(&state, &emp_method_go, h.problem, &params, &why));
    MUST(emp_method_go.ask(state, candidate, 2, &count, &why));
    emp_problem_legalize(h.problem, storage[0]);
    cr_expect_eq(emp_room_missing(&fit.room, storage[0]), 0.0);
    emp_method_destroy(&emp_method_go, state);
}
