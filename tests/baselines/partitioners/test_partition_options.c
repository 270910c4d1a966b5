// SPDX-License-Identifier: GPL-3.0-or-later
/* The meaning of the options of graph partitioners: the architecture that Scotch is given, METIS's
 * two constraints, what ops cost and how strong devices count; and that equal seeds give equal
 * placements with all of them. */

#include "baselines/baselines.h"
#include "run/methods.h"
#include "search/partition/scotch_cut.h"
#include "tests/baselines/fixture.h"
#include "tests/support/status.h"

/* A CPU with a twentieth of a GPU's power, and two pairs of GPUs. 1 MiB takes 105 us within a
 * pair (10 GB/s), 525 us between pairs (2 GB/s, 0.7 us latency) and 2100 us to the CPU. */
static fixture *create_machine(void)
{
    fixture *f = fixture_create(4);

    f->machine->device[0].peak_flops_per_s = 0.05e12;
    for (int32_t a = 0; a <= 4; a++) {
        for (int32_t b = 0; b <= 4; b++) {
            emp_route *r = &f->machine->route[a][b];
            bool       is_pair = a > 0 && b > 0 && (a - 1) / 2 == (b - 1) / 2;
            r->latency_s = is_pair ? 0.1424e-6 : 0.712e-6;
            r->bytes_per_s = a == 0 || b == 0 ? 0.5e9 : is_pair ? 10e9 : 2e9;
        }
    }
    return f;
}

/* Edges that must cross keep off the slow border between the pairs; where all distances are 1 it
 * need not. */
Test(scotch, complete_architecture_knows_no_slow_links)
{
    OWN_FIXTURE   f = create_machine();
    emp_device_id machine[FIXTURE_MAX_OPS], complete[FIXTURE_MAX_OPS];
    int32_t       slow[2] = {0, 0};

    for (int32_t i = 0; i < 100; i++) {
        fixture_op(f, NULL, 1000);
        for (int32_t k = 1; k <= 3 && k * k <= i; k++) fixture_edge(f, i - k * k, i);
    }
    const emp_problem *problem = fixture_problem(f);
    for (uint64_t seed = 0; seed < 8; seed++) {
        fixture_place(&emp_method_mincut, problem, seed, NULL, machine);
        fixture_place(&emp_method_mincut, problem, seed, "arch=complete", complete);
        for (int32_t i = 0; i < f->edge_count; i++) {
            slow[0] += (machine[f->from[i]] - 1) / 2 != (machine[f->to[i]] - 1) / 2;
            slow[1] += (complete[f->from[i]] - 1) / 2 != (complete[f->to[i]] - 1) / 2;
        }
    }
    cr_expect_lt(slow[0], slow[1], "%d edges over slow links, %d when they are as others",
                 slow[0], slow[1]);
}

Test(partition_graph, memory_is_variables_and_all_outputs)
{
    OWN_FIXTURE f = fixture_create(2);
    int32_t     memory[2];

    fixture_op(f, NULL, 30);
    fixture_op(f, NULL, 7);
    fixture_op(f, NULL, 5);
    fixture_colocate(f, 2, 0);
    f->op[2].persistent_bytes = 100;
    const emp_problem   *problem = fixture_problem(f);
    emp_partition_graph *g = NULL;
    MUST(emp_partition_graph_create(&g, problem, true, NULL));
    MUST(emp_partition_graph_memory(g, problem, memory, NULL));
    cr_expect_eq(memory[0], 1 + 30 + 5 + 100);
    cr_expect_eq(memory[1], 1 + 7);
    emp_partition_graph_destroy(g);
}

/* Three ops of 1, 2 and 5 ms, 8, 1 and 1 GFLOP; the last can only run on the CPU, in 4 ms. */
static fixture *create_three_ops(void)
{
    fixture *f = fixture_create(1);

    for (int32_t i = 0; i < 3; i++) fixture_op(f, NULL, 0);
    f->gpu_cost[0].compute_ns = 1000000;
    f->gpu_cost[1].compute_ns = 1500000;
    f->gpu_cost[1].issue_ns = 500000;
    f->cost[0].flops = 8e9;
    f->cost[1].flops = f->cost[2].flops = 1e9;
    fixture_cpu_only(f, 2);
    f->machine->device[0].peak_flops_per_s = 0.1e12; /* a tenth of the GPU */
    return f;
}

/* Ops that both can run take 3 ms on the GPU and 8 on the CPU. */
Test(partition_graph, measured_power_is_the_speed_on_the_ops)
{
    OWN_FIXTURE          f = create_three_ops();
    const emp_problem   *problem = fixture_problem(f);
    emp_partition_params params = {.with_cpu = true, .power = EMP_POWER_MEASURED};
    emp_partition_target target;
    emp_partition_graph *g = NULL;

    MUST(emp_partition_target_init(&target, f->machine, true, "x", NULL));
    cr_expect_float_eq(target.power[0], 0.1 / 1.1, 1e-12);
    emp_partition_target_measure(&target, problem);
    cr_expect_float_eq(target.power[0], 0.375 / 1.375, 1e-12);
    cr_expect_float_eq(target.power[1], 1.0 / 1.375, 1e-12);
    MUST(emp_partition_graph_create_with(&g, problem, &params, NULL));
    cr_expect_float_eq((double)(g->load[2] - 1) / (g->load[0] - 1), 4 * 0.375, 1e-5);
    emp_partition_graph_destroy(g);
}

Test(partition_options, keep_placements_a_function_of_the_seed)
{
    static const char *const cases[][2] = {{"scotch", "arch=complete"},
                                           {"scotch", "strategy=default"},
                                           {"scotch", "strategy=speed"},
                                           {"scotch", "strategy=balance"},
                                           {"scotch", "imbalance=0.2"},
                                           {"scotch", "costs=flops"},
                                           {"scotch", "costs=grappler"},
                                           {"scotch", "power=measured"},
                                           {"mincut", "arch=complete"},
                                           {"mincut", "costs=grappler"},
                                           {"metis", "strategy=kway"},
                                           {"metis", "imbalance=0.1"},
                                           {"metis", "cuts=10"},
                                           {"metis", "memory=1"},
                                           {"metis", "cpu=1,power=measured"},
                                           {"acyclic", "units=classes"},
                                           {"acyclic", "imbalance=0"},
                                           {"acyclic", "costs=flops"}};
    OWN_FIXTURE              f = create_machine();
    emp_device_id            device[FIXTURE_MAX_OPS], again[FIXTURE_MAX_OPS];

    for (int32_t i = 0; i < 120; i++) {
        fixture_op(f, NULL, 100 + 7 * i % 50);
        f->cost[i].flops = 1e6 + 1e5 * (i % 7);
        for (int32_t k = 1; k <= 3 && k * k <= i; k++) fixture_edge(f, i - k * k, i);
    }
    f->machine->device[0].cores = 1;
    f->machine->device[0].clock_hz = 1e9;
    for (int32_t d = 1; d <= 4; d++) f->machine->device[d].memory_bytes_per_s = 1e11;
    const emp_problem *problem = fixture_problem(f);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const emp_method *type = NULL;
        MUST(emp_method_find(&type, cases[i][0], &why));
        fixture_place(type, problem, 3, cases[i][1], device);
        fixture_place(type, problem, 4, cases[i][1], again);
        fixture_place(type, problem, 3, cases[i][1], again);
        cr_expect_eq(memcmp(device, again, (size_t)f->op_count * sizeof *device), 0,
                     "%s, %s", cases[i][0], cases[i][1]);
    }
}

static void keep_sentence(void *context, const char *sentence)
{
    snprintf((char *)context, 256, "%s", sentence);
}

static void place_by_metis(const fixture *f, const char *options, char sentence[256])
{
    const emp_method_params params = {
        .seed = 1, .options = options, .warn = keep_sentence, .warn_context = sentence};
    emp_device_id            device_of_op[FIXTURE_MAX_OPS];
    const emp_owned_decision proposal = {.device_of_op = device_of_op};

    sentence[0] = '\0';
    MUST(emp_method_metis.place(&emp_method_metis, f->problem, &params, &proposal, NULL));
}

/* Two ops for four GPUs leave two of them without any; METIS calls that a success. */
Test(metis, empty_parts_are_a_warning)
{
    fixture *few = fixture_create(4), *many = fixture_create(2);
    char     sentence[256];

    fixture_clique(few, 2, 1 << 20);
    (void)fixture_problem(few);
    place_by_metis(few, NULL, sentence);
    cr_expect_not_null(strstr(sentence,
                              " without ops: its cut has 2 empty parts of 4, as "
                              "there are only 2 ops or sets of colocated ops"),
                       "%s", sentence);
    fixture_clique(many, 40, 1 << 10);
    (void)fixture_problem(many);
    place_by_metis(many, NULL, sentence);
    cr_expect_str_eq(sentence, "");
    fixture_destroy(few);
    fixture_destroy(many);
}

/* One op of a chain has nearly all of the load: METIS puts the whole chain into one part, whichever way it cuts. */
Test(metis, parts_beside_a_heavy_op_are_empty_with_a_warning)
{
    static const char *const options[] = {"strategy=recursive", "strategy=kway"};

    for (size_t i = 0; i < COUNT(options); i++) {
        OWN_FIXTURE f = fixture_create(4);
        char        sentence[256];
        for (int32_t op = 0; op < 16; op++) {
            fixture_op(f, NULL, 1000);
            if (op > 0) fixture_edge(f, op - 1, op);
        }
        f->gpu_cost[5].compute_ns = 1000 * f->gpu_cost[0].compute_ns;
        (void)fixture_problem(f);
        place_by_metis(f, options[i], sentence);
        cr_expect_not_null(strstr(sentence, "as one op has most of the load"), "%s: %s",
                           options[i], sentence);
    }
}
