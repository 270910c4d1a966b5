// SPDX-License-Identifier: GPL-3.0-or-later
/* Is the engine equal to a plain textbook simulator, whatever the graph, the machine, the
 * runtime's switches and the placement? */
#include "tests/sim/engine/random_problem.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

enum { PROBLEMS = 1000, PLACEMENTS = 3 };

TestSuite(engine, .fini = expect_all_freed);

/* First come, first served; and by levels that are drawn: of 2, 8 and 64. */
static void compare(const task *t, emp_sim *sim, int number)
{
    const int32_t         ops = t->graph->op_count;
    OWN_EMP_FREE uint8_t *level = EMP_NEW_ARRAY(uint8_t, (size_t)ops);
    emp_decision          decision = {.device_of_op = t->device_of_op};
    emp_rng               rng;

    task_expect_textbook(t, sim, &decision, number);
    emp_rng_init(&rng, (uint64_t)number, 2, 0);
    decision.level_of_op = level;
    for (uint32_t levels = 2; levels <= EMP_LEVELS; levels *= levels == 2 ? 4 : 8) {
        for (emp_op_id op = 0; op < ops; op++)
            level[op] = (uint8_t)emp_rng_below(&rng, levels);
        task_expect_textbook(t, sim, &decision, number);
    }
}

static void compare_random(void (*create)(task *, uint64_t))
{
    int64_t transfers = 0, infeasible = 0;

    for (int seed = 0; seed < PROBLEMS; seed++) {
        OWN_TASK r;
        emp_rng  rng;
        create(&r, (uint64_t)seed);
        emp_rng_init(&rng, (uint64_t)seed, 1, 0);
        OWN_SIM sim = task_sim(&r);
        for (int k = 0; k < PLACEMENTS; k++) {
            emp_sim_result got = {0};
            compare(&r, sim, seed);
            cr_assert_eq(emp_sim_run(sim, r.device_of_op, &got, NULL), EMP_OK);
            transfers += got.transfer_count;
            infeasible += !got.is_feasible;
            random_problem_place(&r, &rng);
        }
    }
    /* the cases are worth something */
    cr_expect_gt(transfers, 10 * PROBLEMS);
    cr_expect_gt(infeasible, PROBLEMS / 10);
}

Test(engine, equals_the_textbook_simulator) { compare_random(random_problem_create); }

Test(engine, equals_the_textbook_simulator_on_unlike_devices)
{
    compare_random(random_problem_create_unlike);
}

Test(engine, equals_the_textbook_simulator_on_several_hosts)
{
    compare_random(random_problem_create_hosts);
}

Test(engine, equals_the_textbook_simulator_with_collectives)
{
    compare_random(random_problem_create_collectives);
}

/* Real graphs, machines and profiles; ops spread over all devices by chunks of every
 * size. */
static void compare_workloads(const char *machine, int workload_count)
{
    static const char *const specs[] = {"nmt:layers=2,steps=6", "rnnlm:steps=5",
                                        "inception_v3", "resnet:depth=50"};
    static const char *const runtimes[] = {"tf-r1.3", "ideal"};

    for (int i = 0; i < 2 * workload_count; i++) {
        OWN_TASK t;
        task_create(&t, specs[i / 2], machine, runtimes[i % 2]);
        OWN_SIM sim = task_sim(&t);
        for (int32_t chunk = 1; chunk < t.graph->op_count; chunk *= 9) {
            for (emp_op_id op = 0; op < t.graph->op_count; op++)
                t.device_of_op[op] = op / chunk % t.machine->device_count;
            emp_problem_legalize(t.problem, t.device_of_op);
            compare(&t, sim, i);
        }
    }
}

Test(engine, equals_the_textbook_simulator_on_workloads)
{
    compare_workloads("k40x4", 4);
}

Test(engine, equals_the_textbook_simulator_on_workloads_and_several_hosts)
{
    compare_workloads("k40x4x2", 4);
    compare_workloads("k40x7x8", 1);
}

static void write_hosts(const char *name, int hosts, int gpus)
{
    FILE *file = fopen(scratch_path(name), "w");

    cr_assert_not_null(file);
    fprintf(file, "description: %d hosts of %d GPUs\nnodes:\n  - {name: net}\n", hosts,
            gpus);
    for (int h = 0; h < hosts; h++)
        fprintf(file,
                "  - {name: host:%d, parent: net, bandwidth: 1 GB/s, latency: 25 us}\n",
                h);
    fprintf(file, "devices:\n");
    for (int h = 0; h < hosts; h++)
        fprintf(file,
                "  - {model: haswell-18, at: host:%d}\n"
                "  - {model: k40, count: %d, at: host:%d, bandwidth: 10 GB/s, latency: "
                "10 us}\n",
                h, gpus, h);
    cr_assert_eq(fclose(file), 0);
}

/* 64 copy streams: their tree has no leaf to spare. That of 24 servers has, that of 32 has
 * not. */
Test(engine, equals_the_textbook_simulator_with_full_trees, .init = scratch_create,
     .fini = scratch_remove)
{
    write_hosts("24.yaml", 4, 5);
    compare_workloads(scratch_path("24.yaml"), 2);
    write_hosts("32.yaml", 16, 1);
    compare_workloads(scratch_path("32.yaml"), 2);
}
