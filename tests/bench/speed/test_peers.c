// SPDX-License-Identifier: GPL-3.0-or-later
/* Do programs that share no line of code with the oracle give its step times, and those that share none with the
 * networks their losses? */
#include <inttypes.h>

#include "base/rng.h"
#include "bench/speed/speed.h"
#include "bench/speed/synthetic.h"
#include "tests/support/problems.h"
#include "tests/test.h"

enum { OPS = 400, GRAPHS = 20, CHAIN = 40 };

static task     c;
static emp_sim *sim;

/* Takes \a graph over. Every other machine has two hosts. If times do not vary, many events are
 * simultaneous. */
static void setup(emp_graph *graph, uint64_t seed, bool times_vary)
{
    emp_runtime ideal;

    c = (task){.graph = graph};
    ASSERT_OK(emp_machine_load(&c.machine, seed % 2 == 0 ? "k40x4" : "k40x4x2", &err));
    ASSERT_OK(emp_runtime_init(&ideal, "ideal", &err));
    task_pose(&c, &ideal, "synthetic");
    if (times_vary) emp_synthetic_vary_costs(c.problem, seed);
    sim = task_sim(&c);
}

static void teardown(void)
{
    emp_sim_destroy(sim);
    task_destroy(&c);
}

static emp_graph *training_graph(uint64_t seed)
{
    emp_graph *g = NULL;

    ASSERT_OK(emp_synthetic_graph(&g, OPS, seed, NULL));
    return g;
}

/* Each op reads the one before it: nothing ever waits for a device or a link. */
static emp_graph *chain(emp_rng *rng)
{
    emp_graph_builder *b = NULL;
    emp_graph         *g = NULL;
    emp_op_attrs       attrs = {.dtype = EMP_DTYPE_FLOAT};

    ASSERT_OK(emp_graph_builder_create(&b, NULL));
    for (int32_t i = 0; i < CHAIN; i++) {
        char      name[16];
        emp_op_id op;
        emp_shape shape = EMP_SHAPE(1 + emp_rng_below(rng, 1 << 20));
        size_t    length = (size_t)snprintf(name, sizeof name, "op%d", i);
        ASSERT_OK(emp_graph_builder_declare(b, name, length, "Layer", 5, &attrs, &shape,
                                            1, &op, NULL));
        if (i > 0)
            ASSERT_OK(emp_graph_builder_connect(b, (emp_port){op - 1, 0}, op, NULL));
    }
    emp_graph_builder_set_target(b, CHAIN - 1);
    ASSERT_OK(emp_graph_builder_finish(b, &g, NULL));
    emp_graph_builder_destroy(b);
    return g;
}

static void skip_without(emp_peer_kind kind)
{
    const char *why = emp_peer_absence(kind);

    if (why != NULL) cr_skip_test("%s", why);
}

static void run_both(emp_peer_kind kind, emp_sim_result *want, emp_peer_run *got)
{
    ASSERT_OK(emp_sim_run(sim, c.device_of_op, want, &err));
    ASSERT_OK(emp_peer_measure(got, kind, c.problem, c.device_of_op, &err));
}

static void expect_close(emp_peer_kind kind, uint64_t seed)
{
    emp_sim_result want = {0};
    emp_peer_run   got = {0};

    run_both(kind, &want, &got);
    double error = fabs((double)(got.step_time_ns - want.step_time_ns));
    cr_expect_leq(error, 1e-3 * (double)want.step_time_ns,
                  "seed %" PRIu64 ": %" PRId64 " ns, oracle %" PRId64, seed,
                  got.step_time_ns, want.step_time_ns);
}

Test(python, equals_the_oracle)
{
    skip_without(EMP_PEER_PYTHON);
    for (int32_t i = 0; i < 2 * EMP_PLACE_COUNT; i++) {
        emp_sim_result want = {0};
        emp_peer_run   got = {0};
        setup(training_graph((uint64_t)i), (uint64_t)i, i < EMP_PLACE_COUNT);
        emp_synthetic_place(c.device_of_op, OPS, c.machine,
                            (emp_synthetic_kind)(i % EMP_PLACE_COUNT), 1, 0);
        run_both(EMP_PEER_PYTHON, &want, &got);
        cr_expect_eq(got.step_time_ns, want.step_time_ns);
        for (int32_t d = 0; d < want.device_count; d++)
            cr_expect_eq(got.peak_bytes[d], want.peak_bytes[d]);
        teardown();
    }
}

/* SimGrid's own rules: fair shares, which are whole when nothing is shared. */
Test(simgrid, equals_the_oracle_where_nothing_contends)
{
    skip_without(EMP_PEER_SIMGRID_DAG);
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        emp_rng rng;
        emp_rng_init(&rng, seed, 0, 0);
        setup(chain(&rng), seed, true);
        for (int32_t op = 0; op < CHAIN; op++)
            c.device_of_op[op] =
                (emp_device_id)emp_rng_below(&rng, (uint32_t)c.machine->device_count);
        expect_close(EMP_PEER_SIMGRID_DAG, seed);
        expect_close(EMP_PEER_SIMGRID_FIFO, seed);
        teardown();
    }
}

/* The driver keeps the lines before devices and links itself, first come first served. */
Test(simgrid, with_queues_equals_the_oracle_where_transfers_wait)
{
    skip_without(EMP_PEER_SIMGRID_FIFO);
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        setup(training_graph(seed), seed, true);
        emp_synthetic_place(c.device_of_op, OPS, c.machine,
                            (emp_synthetic_kind)(seed % EMP_PLACE_COUNT), seed, 0);
        expect_close(EMP_PEER_SIMGRID_FIFO, seed);
        teardown();
    }
}

/* DOPPLER scales columns of nodes that are nearly alike, which leaves much that was rounded. */
static double tolerance_of(const char *network)
{
    return strcmp(network, "doppler") == 0 ? 5e-5 : 1e-5;
}

/* On one thread: PyTorch's wait for each other actively, which takes minutes where other
 * programs run. */
Test(pytorch, loses_as_much)
{
    const emp_speed_params params = {.hidden = {{12}, 1},
                                     .samples = {{1, 3}, 2},
                                     .groups = 8,
                                     .ops = 300,
                                     .nodes = 600, /* the third segment is a part */
                                     .sets = 60,
                                     .steps = 20,
                                     .threads = 1,
                                     .repeats = 4,
                                     .seed = 1};
    emp_speed_table        table;

    ASSERT_OK(emp_speed_policy(&table, &params, &err));
    if (table.sheet.line_count == 6) cr_skip_test("python3-torch is not installed");
    cr_expect_eq(table.sheet.line_count, 12);
    for (int32_t i = 1; i < table.sheet.line_count; i += 2) {
        const emp_value *line = emp_sheet_at(&table.sheet, i, 0);
        const double     difference = line[EMP_SPEED_DIFFERENCE].real;
        cr_expect_str_eq(line[EMP_SPEED_WAY].word, "PyTorch");
        cr_expect_geq(line[EMP_SPEED_ROUNDS].count, 3,
                      "a slow machine makes fewer rounds");
        cr_expect_lt(difference, tolerance_of(line[EMP_SPEED_TASK].word), "%s: %g",
                     line[EMP_SPEED_TASK].word, difference);
    }
    emp_sheet_clear(&table.sheet);
}
