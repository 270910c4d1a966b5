// SPDX-License-Identifier: GPL-3.0-or-later
/* Is the engine equal to a plain textbook simulator, whatever the graph, the machine, the
 * runtime's switches and the placement? */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "graphs/load.h"
#include "sim/engine/sim.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/expect.h"
#include "tests/support/plain/textbook.h"
#include "tests/support/scratch.h"

enum { PROBLEMS = 1000, PLACEMENTS = 3 };

static void expect_equal(const emp_sim_result *got, const emp_sim_result *want,
                         int number)
{
    cr_expect_eq(got->step_time_ns, want->step_time_ns,
                 "case %d: step time %" PRId64 ", textbook %" PRId64, number,
                 got->step_time_ns, want->step_time_ns);
    for (int d = 0; d < want->device_count; d++) {
        cr_expect_eq(got->peak_bytes[d], want->peak_bytes[d],
                     "case %d: peak of device %d: %" PRId64 ", textbook %" PRId64, number,
                     d, got->peak_bytes[d], want->peak_bytes[d]);
        cr_expect_eq(got->busy_ns[d], want->busy_ns[d], "case %d: busy time of device %d",
                     number, d);
    }
    cr_expect_eq(got->traffic_bytes, want->traffic_bytes, "case %d: traffic", number);
    cr_expect_eq(got->transfer_count, want->transfer_count, "case %d: transfers", number);
    cr_expect_eq(got->event_count, want->event_count,
                 "case %d: events %" PRId64 ", %" PRId64, number, got->event_count,
                 want->event_count);
    cr_expect_eq(got->fingerprint, want->fingerprint, "case %d: fingerprint", number);
    cr_expect_eq(got->is_feasible, want->is_feasible, "case %d: feasible", number);
    cr_expect_eq(got->oom_device, want->oom_device, "case %d: device out of memory",
                 number);
    cr_expect_eq(got->oom_op, want->oom_op, "case %d: op out of memory", number);
    cr_expect_eq(got->oom_bytes, want->oom_bytes, "case %d: bytes asked for", number);
    cr_expect_eq(got->oom_at_ns, want->oom_at_ns, "case %d: time out of memory", number);
}

/* Runs specialised for a profile and traced ones, which also have a fingerprint. */
static void compare_decision(emp_sim *sim, const emp_problem *problem,
                             const emp_decision *decision, int number)
{
    emp_sim_result got = {0}, want;
    emp_error      err = {0};

    textbook_run(problem, decision, &want);
    cr_assert_eq(emp_sim_trace_decision(sim, decision, NULL, &got, &err), EMP_OK,
                 "case %d: %s", number, err.msg);
    expect_equal(&got, &want, number);
    want.fingerprint = 0;
    cr_assert_eq(emp_sim_run_decision(sim, decision, &got, &err), EMP_OK, "case %d: %s",
                 number, err.msg);
    expect_equal(&got, &want, number);
}

/* First come, first served; and by levels that are drawn: of 2, 8 and 64. */
static void compare(emp_sim *sim, const emp_problem *problem,
                    const emp_device_id *device_of_op, int number)
{
    const int32_t ops = problem->graph->op_count;
    uint8_t      *level = EMP_NEW_ARRAY(uint8_t, (size_t)ops);
    emp_rng       rng;

    compare_decision(sim, problem, &(emp_decision){.device_of_op = device_of_op}, number);
    emp_rng_init(&rng, (uint64_t)number, 2, 0);
    for (uint32_t levels = 2; levels <= EMP_LEVELS; levels *= levels == 2 ? 4 : 8) {
        for (emp_op_id op = 0; op < ops; op++)
            level[op] = (uint8_t)emp_rng_below(&rng, levels);
        compare_decision(
            sim, problem,
            &(emp_decision){.device_of_op = device_of_op, .level_of_op = level}, number);
    }
    emp_free(level);
}

static void compare_random(void (*create)(task *, uint64_t))
{
    int64_t transfers = 0, infeasible = 0;

    for (int seed = 0; seed < PROBLEMS; seed++) {
        task      r;
        emp_sim  *sim = NULL;
        emp_error err = {0};
        emp_rng   rng;
        create(&r, (uint64_t)seed);
        emp_rng_init(&rng, (uint64_t)seed, 1, 0);
        cr_assert_eq(emp_sim_create(&sim, r.problem, &err), EMP_OK, "seed %d: %s", seed,
                     err.msg);
        for (int k = 0; k < PLACEMENTS; k++) {
            emp_sim_result got = {0};
            compare(sim, r.problem, r.device_of_op, seed);
            cr_assert_eq(emp_sim_run(sim, r.device_of_op, &got, &err), EMP_OK);
            transfers += got.transfer_count;
            infeasible += !got.is_feasible;
            random_problem_place(&r, &rng);
        }
        emp_sim_destroy(sim);
        task_destroy(&r);
    }
    /* the cases are worth something */
    cr_expect_gt(transfers, 10 * PROBLEMS);
    cr_expect_gt(infeasible, PROBLEMS / 10);
    cr_expect_eq(emp_mem_live_blocks(), 0);
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
static void compare_workloads(const char *machine_name, int workload_count)
{
    static const char *const specs[] = {"nmt:layers=2,steps=6", "rnnlm:steps=5",
                                        "inception_v3", "resnet:depth=50"};
    static const char *const runtimes[] = {"tf-r1.3", "ideal"};
    emp_machine             *machine = NULL;

    ASSERT_OK(emp_machine_load(&machine, machine_name, &err));
    for (int i = 0; i < workload_count; i++) {
        emp_graph *step = NULL;
        ASSERT_OK(emp_source_load(&step, NULL, NULL, specs[i], &err));
        emp_device_id *device = EMP_NEW_ARRAY(emp_device_id, (size_t)step->op_count);
        for (int k = 0; k < 2; k++) {
            emp_runtime  runtime;
            emp_problem *problem = NULL;
            emp_sim     *sim = NULL;
            ASSERT_OK(emp_runtime_init(&runtime, runtimes[k], &err));
            ASSERT_OK(
                emp_problem_create(&problem, step, machine, &runtime, specs[i], &err));
            ASSERT_OK(emp_sim_create(&sim, problem, &err));
            for (int32_t chunk = 1; chunk < step->op_count; chunk *= 9) {
                for (emp_op_id op = 0; op < step->op_count; op++) {
                    device[op] = op / chunk % machine->device_count;
                }
                emp_problem_legalize(problem, device);
                compare(sim, problem, device, i);
            }
            emp_sim_destroy(sim);
            emp_problem_destroy(problem);
        }
        emp_free(device);
        emp_graph_destroy(step);
    }
    emp_machine_destroy(machine);
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

/* Writes a machine of some hosts on one network, each with as many GPUs. */
static void write_hosts(const char *name, int hosts, int gpus)
{
    FILE *file = fopen(scratch_path(name), "w");

    cr_assert_not_null(file);
    fprintf(file, "description: %d hosts of %d GPUs\nnodes:\n  - {name: net}\n", hosts,
            gpus);
    for (int h = 0; h < hosts; h++) {
        fprintf(file,
                "  - {name: host:%d, parent: net, bandwidth: 1 GB/s, latency: 25 us}\n",
                h);
    }
    fprintf(file, "devices:\n");
    for (int h = 0; h < hosts; h++) {
        fprintf(file,
                "  - {model: haswell-18, at: host:%d}\n"
                "  - {model: k40, count: %d, at: host:%d, bandwidth: 10 GB/s, latency: "
                "10 us}\n",
                h, gpus, h);
    }
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
