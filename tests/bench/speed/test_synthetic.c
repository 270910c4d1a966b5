// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the oracle's peers right, and the graphs of the benchmark what they claim? */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "bench/micro/oracle.h"
#include "bench/micro/synthetic.h"
#include "bench/micro/textbook.h"
#include "sim/engine/sim.h"
#include "tests/sim/engine/random_problem.h"

typedef struct {
    emp_graph     *graph;
    emp_machine   *machine;
    emp_problem   *problem;
    emp_device_id *device_of_op;
} bench_case;

static void setup(bench_case *c, int32_t op_count, uint64_t seed)
{
    emp_error   err = {0};
    emp_runtime ideal;

    cr_assert_eq(emp_machine_load(&c->machine, "k40x4", &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_runtime_init(&ideal, "ideal", &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_synthetic_graph(&c->graph, op_count, seed, &err), EMP_OK, "%s",
                 err.msg);
    cr_assert_eq(
        emp_problem_create(&c->problem, c->graph, c->machine, &ideal, "synthetic", &err),
        EMP_OK, "%s", err.msg);
    emp_synthetic_vary_costs(c->problem, seed);
    c->device_of_op = EMP_NEW_ARRAY(emp_device_id, (size_t)op_count);
}

static void teardown(bench_case *c)
{
    emp_free(c->device_of_op);
    emp_problem_destroy(c->problem);
    emp_machine_destroy(c->machine);
    emp_graph_destroy(c->graph);
}

static void compare(const bench_case *c, emp_sim *sim, emp_textbook *book)
{
    emp_error           err = {0};
    emp_sim_result      want = {0};
    emp_textbook_result got;

    cr_assert_eq(emp_sim_run(sim, c->device_of_op, &want, &err), EMP_OK, "%s", err.msg);
    emp_textbook_run(book, c->device_of_op, &got);
    cr_expect_eq(got.step_time_ns, want.step_time_ns,
                 "%d ops: %" PRId64 " ns, oracle %" PRId64, c->graph->op_count,
                 got.step_time_ns, want.step_time_ns);
    for (int32_t d = 0; d < want.device_count; d++) {
        cr_expect_eq(got.peak_bytes[d], want.peak_bytes[d],
                     "%d ops, device %d: %" PRId64 " bytes, oracle %" PRId64,
                     c->graph->op_count, d, got.peak_bytes[d], want.peak_bytes[d]);
    }
}

Test(textbook, equals_the_oracle_on_synthetic_graphs)
{
    static const int32_t sizes[] = {2, 3, 33, 500, 2001, 10000};

    for (int32_t i = 0; i < 6; i++) {
        bench_case    c;
        emp_sim      *sim = NULL;
        emp_textbook *book = NULL;
        setup(&c, sizes[i], (uint64_t)i);
        cr_assert_eq(emp_sim_create(&sim, c.problem, NULL), EMP_OK);
        cr_assert_eq(emp_textbook_create(&book, c.problem, NULL), EMP_OK);
        for (int32_t kind = 0; kind < EMP_PLACE_COUNT; kind++) {
            for (uint32_t draw = 0; draw < 5; draw++) {
                emp_synthetic_place(c.device_of_op, sizes[i], c.machine,
                                    (emp_synthetic_kind)kind, 1, draw);
                compare(&c, sim, book);
            }
        }
        emp_textbook_destroy(book);
        emp_sim_destroy(sim);
        teardown(&c);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Times are small whole numbers, so that many events are simultaneous. */
static void compare_random(void (*create)(task *, uint64_t))
{
    emp_runtime ideal;

    cr_assert_eq(emp_runtime_init(&ideal, "ideal", NULL), EMP_OK);
    for (uint64_t seed = 0; seed < 500; seed++) {
        task          r;
        emp_rng       rng;
        emp_sim      *sim = NULL;
        emp_textbook *book = NULL;
        create(&r, seed);
        emp_rng_init(&rng, seed, 1, 0);
        r.problem->runtime = ideal;
        cr_assert_eq(emp_sim_create(&sim, r.problem, NULL), EMP_OK);
        cr_assert_eq(emp_textbook_create(&book, r.problem, NULL), EMP_OK);
        for (int k = 0; k < 3; k++) {
            bench_case c = {r.graph, r.machine, r.problem, r.device_of_op};
            compare(&c, sim, book);
            random_problem_place(&r, &rng);
        }
        emp_textbook_destroy(book);
        emp_sim_destroy(sim);
        task_destroy(&r);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(textbook, equals_the_oracle_on_random_problems)
{
    compare_random(random_problem_create);
}

Test(textbook, equals_the_oracle_on_several_hosts)
{
    compare_random(random_problem_create_hosts);
}

Test(textbook, refuses_other_rules)
{
    bench_case    c;
    emp_textbook *book = NULL;
    emp_error     err = {0};

    setup(&c, 8, 1);
    c.problem->runtime.events.serial_issue = true;
    cr_expect_eq(emp_textbook_create(&book, c.problem, &err), EMP_EUNSUPPORTED);
    cr_expect_null(book);
    cr_expect_not_null(strstr(err.msg, "ideal"), "%s", err.msg);
    teardown(&c);
}

Test(textbook, refuses_collectives)
{
    task          r;
    emp_textbook *book = NULL;
    emp_error     err = {0};

    random_problem_create_collectives(&r, 1);
    cr_assert_eq(emp_runtime_init(&r.problem->runtime, "ideal", NULL), EMP_OK);
    cr_expect_eq(emp_textbook_create(&book, r.problem, &err), EMP_EUNSUPPORTED);
    cr_expect_null(book);
    cr_expect_not_null(strstr(err.msg, "collectives"), "%s", err.msg);
    task_destroy(&r);
}

/* ---- graphs and placements ---- */

Test(synthetic, has_the_size_and_degree_that_were_asked_for)
{
    static const int32_t sizes[] = {2, 7, 64, 1000, 10000, 82944};

    for (int32_t i = 0; i < 6; i++) {
        emp_graph *g = NULL;
        cr_assert_eq(emp_synthetic_graph(&g, sizes[i], 1, NULL), EMP_OK);
        cr_expect_eq(g->op_count, sizes[i]);
        cr_expect_eq(g->tensor_count, sizes[i]);
        double degree = (double)g->edge_count / g->op_count;
        if (sizes[i] >= 10000) cr_expect_float_eq(degree, 1.64, 0.02, "%g", degree);
        emp_graph_destroy(g);
    }
}

Test(synthetic, is_a_training_graph)
{
    emp_graph *g = NULL;
    int32_t    most_readers = 0, activations = 0;

    cr_assert_eq(emp_synthetic_graph(&g, 10000, 1, NULL), EMP_OK);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t readers = g->consumer_offset[op + 1] - g->consumer_offset[op];
        if (readers > most_readers) most_readers = readers;
        cr_expect_eq(g->output_offset[op + 1] - g->output_offset[op], 1);
        for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
            emp_op_id from = g->tensor[g->input[i]].producer;
            cr_expect_lt(from, op, "an edge runs backwards");
            activations += from == g->op_count - 1 - op;
        }
    }
    cr_expect_gt(most_readers, 100, "no hub: %d readers", most_readers);
    cr_expect_gt(activations, 4000, "only %d activations", activations);
    emp_graph_destroy(g);
}

Test(synthetic, depends_on_the_seed_alone)
{
    emp_graph *g[3] = {NULL};

    for (int i = 0; i < 3; i++)
        cr_assert_eq(emp_synthetic_graph(&g[i], 3000, i < 2 ? 7 : 8, NULL), EMP_OK);
    cr_expect_eq(g[0]->hash, g[1]->hash);
    cr_expect_neq(g[0]->hash, g[2]->hash);
    for (int i = 0; i < 3; i++) emp_graph_destroy(g[i]);
}

Test(synthetic, refuses_a_graph_of_one_op)
{
    emp_graph *g = NULL;
    emp_error  err = {0};

    cr_expect_eq(emp_synthetic_graph(&g, 1, 1, &err), EMP_EINVAL);
    cr_expect_null(g);
}

enum { OPS = 5000, DEVICES = 5 };

static int32_t count_devices(const emp_device_id *device_of_op)
{
    bool    is_used[EMP_MAX_DEVICES] = {0};
    int32_t used = 0;

    for (int32_t op = 0; op < OPS; op++) {
        cr_assert(device_of_op[op] >= 0 && device_of_op[op] < EMP_MAX_DEVICES);
        is_used[device_of_op[op]] = true;
    }
    for (int32_t d = 0; d < EMP_MAX_DEVICES; d++) used += is_used[d];
    return used;
}

/* Ops whose neighbour, or whose mirror, is elsewhere. */
static int32_t count_breaks(const emp_device_id *device_of_op, bool by_mirror)
{
    int32_t breaks = 0;

    for (int32_t op = 0; op < OPS / 2 - 1; op++) {
        int32_t other = by_mirror ? OPS - 1 - op : op + 1;
        breaks += device_of_op[op] != device_of_op[other];
    }
    return breaks;
}

Test(synthetic, placements_are_what_they_are_called)
{
    static emp_device_id d[OPS], other[OPS];
    emp_machine         *m = NULL;

    cr_assert_eq(emp_machine_load(&m, "k40x4", NULL), EMP_OK);
    cr_assert_eq(m->device_count, DEVICES);
    emp_synthetic_place(d, OPS, m, EMP_PLACE_GPU, 1, 0);
    cr_expect_eq(count_devices(d), 1);
    cr_expect_eq(d[0], 1);
    emp_synthetic_place(d, OPS, m, EMP_PLACE_PIPELINE, 1, 0);
    cr_expect_eq(count_devices(d), DEVICES - 1);
    cr_expect_eq(count_breaks(d, false), DEVICES - 2);
    cr_expect_eq(count_breaks(d, true), 0);
    emp_synthetic_place(d, OPS, m, EMP_PLACE_GROUPS, 1, 0);
    cr_expect_eq(count_devices(d), DEVICES);
    cr_expect(count_breaks(d, false) < EMP_SYNTHETIC_GROUPS);
    cr_expect(count_breaks(d, false) > EMP_SYNTHETIC_GROUPS / 2);
    cr_expect_eq(count_breaks(d, true), 0);
    emp_synthetic_place(d, OPS, m, EMP_PLACE_RANDOM, 1, 0);
    cr_expect_gt(count_breaks(d, false), OPS / 3);
    emp_synthetic_place(other, OPS, m, EMP_PLACE_RANDOM, 1, 0);
    cr_expect_arr_eq(d, other, sizeof d);
    emp_synthetic_place(other, OPS, m, EMP_PLACE_RANDOM, 1, 1);
    cr_expect_arr_neq(d, other, sizeof d);
    emp_machine_destroy(m);
}

Test(synthetic, a_pipeline_is_on_the_gpus_of_all_hosts)
{
    static emp_device_id d[OPS];
    emp_machine         *m = NULL;

    cr_assert_eq(emp_machine_load(&m, "k40x4x2", NULL), EMP_OK);
    emp_synthetic_place(d, OPS, m, EMP_PLACE_PIPELINE, 1, 0);
    cr_expect_eq(count_devices(d), 8);
    for (int32_t op = 0; op < OPS; op++)
        cr_assert_eq(m->device[d[op]].kind, EMP_DEVICE_GPU);
    emp_machine_destroy(m);
}

/* ---- memory ---- */

static emp_status create_textbook(emp_graph **graph, emp_problem **problem,
                                  emp_textbook **book, const emp_machine *machine,
                                  const emp_runtime *runtime)
{
    EMP_CHECK(emp_synthetic_graph(graph, 20, 1, NULL));
    EMP_CHECK(emp_problem_create(problem, *graph, machine, runtime, "synthetic", NULL));
    return emp_textbook_create(book, *problem, NULL);
}

Test(textbook, survives_every_allocation_failure)
{
    emp_machine *machine = NULL;
    emp_runtime  ideal;
    long         allowed = 0;

    cr_assert_eq(emp_machine_load(&machine, "k40x4", NULL), EMP_OK);
    cr_assert_eq(emp_runtime_init(&ideal, "ideal", NULL), EMP_OK);
    const long before = emp_mem_live_blocks();
    for (emp_status st = EMP_ENOMEM; st != EMP_OK; allowed++) {
        emp_graph    *graph = NULL;
        emp_problem  *problem = NULL;
        emp_textbook *book = NULL;
        emp_mem_fail_after(allowed);
        st = create_textbook(&graph, &problem, &book, machine, &ideal);
        emp_mem_fail_after(-1);
        cr_assert(st == EMP_OK || st == EMP_ENOMEM, "after %ld: %s", allowed,
                  emp_status_str(st));
        emp_textbook_destroy(book);
        emp_problem_destroy(problem);
        emp_graph_destroy(graph);
        cr_assert_eq(emp_mem_live_blocks(), before, "leak after %ld allocations",
                     allowed);
    }
    cr_expect_gt(allowed, 40);
    emp_machine_destroy(machine);
}

static emp_oracle_params small_bench(void)
{
    return (emp_oracle_params){.size = {20, 31},
                               .size_count = 2,
                               .placements = 1u << EMP_PLACE_GROUPS,
                               .series = 1u << EMP_SERIES_IDEAL | 1u << EMP_SERIES_TF |
                                         1u << EMP_SERIES_TEXTBOOK,
                               .repeats = 2,
                               .seed = 1};
}

/* Every seventh, because each try loads a machine file. */
static void survive_failures(emp_oracle_params params)
{
    static emp_oracle_report report;
    long                     allowed = 0;

    for (emp_status st = EMP_ENOMEM; st != EMP_OK; allowed += 7) {
        emp_mem_fail_after(allowed);
        st = emp_oracle_measure(&report, &params, NULL);
        emp_mem_fail_after(-1);
        cr_assert_eq(emp_mem_live_blocks(), 0, "leak after %ld allocations", allowed);
    }
    cr_expect_eq(report.row_count, 2);
}

Test(bench, survives_allocation_failures)
{
    static const char *const source = "giph:v=15,alpha=0.2,seed=7";
    emp_oracle_params        params = small_bench();

    params.repeats = 1;
    survive_failures(params);
    params.size_count = 1;
    params.source = &source;
    params.source_count = 1;
    params.series |= 1u << EMP_SERIES_IDEAL_LEVELS;
    params.has_bottom_levels = true;
    survive_failures(params);
}

/* ---- the benchmark ---- */

Test(bench, measures_what_was_asked_for)
{
    static emp_oracle_report report;
    emp_oracle_params        params = small_bench();
    emp_error                err = {0};

    params.threads = 2;
    params.series |= 1u << EMP_SERIES_IDEAL_LEVELS | 1u << EMP_SERIES_TF_LEVELS;
    cr_assert_eq(emp_oracle_measure(&report, &params, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(report.row_count, 2);
    for (int32_t i = 0; i < 2; i++) {
        const emp_oracle_row *row = &report.row[i];
        cr_expect_eq(row->op_count, params.size[i]);
        cr_expect_eq(row->disagreements, 0);
        cr_expect_null(row->source);
        cr_expect(row->events_per_op >= 2.0);
        cr_expect_gt(row->speedup.count, 0);
        for (int32_t s = 0; s < EMP_SERIES_COUNT; s++) {
            bool is_asked = params.series >> s & 1u;
            cr_expect_eq(row->ns_per_op[s].count, is_asked ? 2 : 0);
            cr_expect_eq(row->ratio[s].count, is_asked ? 2 : 0);
        }
    }
}

static int32_t count_run_ops(const char *source)
{
    emp_graph *graph = NULL;
    int32_t    count = 0;

    cr_assert_eq(emp_graph_load(&graph, source, NULL), EMP_OK);
    for (emp_op_id op = 0; op < graph->op_count; op++) count += !graph->op[op].is_folded;
    emp_graph_destroy(graph);
    return count;
}

/* Their ops have equal times, so that many events are simultaneous. */
Test(bench, measures_the_graphs_that_are_named)
{
    static emp_oracle_report report;
    static const char *const sources[] = {"rnnlm:steps=3", "inception_v3"};
    emp_oracle_params        params = small_bench();
    emp_error                err = {0};

    params.size_count = 1;
    params.source = sources;
    params.source_count = 2;
    params.placements = (1u << EMP_PLACE_COUNT) - 1;
    params.series |= 1u << EMP_SERIES_IDEAL_LEVELS | 1u << EMP_SERIES_TF_LEVELS;
    params.has_bottom_levels = true;
    cr_assert_eq(emp_oracle_measure(&report, &params, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(report.row_count, 3 * EMP_PLACE_COUNT);
    cr_expect_null(report.row[EMP_PLACE_COUNT - 1].source);
    for (int32_t i = EMP_PLACE_COUNT; i < report.row_count; i++) {
        const emp_oracle_row *row = &report.row[i];
        cr_expect_str_eq(row->source, sources[i / EMP_PLACE_COUNT - 1]);
        cr_expect_eq(row->op_count, count_run_ops(row->source));
        cr_expect_eq(row->disagreements, 0, "%s, placement %d: %d", row->source,
                     row->placement, row->disagreements);
        cr_expect_eq(row->ratio[EMP_SERIES_IDEAL_LEVELS].count, 2);
    }
}

static char *csv_of(const emp_oracle_report *report)
{
    emp_sheet sheet;
    char     *text = NULL;
    size_t    size = 0;
    FILE     *stream = open_memstream(&text, &size);

    cr_assert_not_null(stream);
    emp_oracle_tabulate(&sheet, report);
    cr_assert_eq(emp_sheet_print(stream, &sheet, EMP_SHEET_CSV, NULL), EMP_OK);
    emp_sheet_clear(&sheet);
    fclose(stream);
    return text;
}

/* Others run the rules of ideal, also where that is not asked for. */
Test(bench, compares_step_times_without_ideal)
{
    static emp_oracle_report report;
    emp_oracle_params        params = small_bench();
    emp_error                err = {0};

    params.series = 1u << EMP_SERIES_TF | 1u << EMP_SERIES_TEXTBOOK;
    params.size_count = 1;
    cr_assert_eq(emp_oracle_measure(&report, &params, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(report.row[0].disagreements, 0);
    cr_expect_eq(report.row[0].ratio[EMP_SERIES_TF].count, 0);
    char *csv = csv_of(&report);
    cr_expect_not_null(strstr(csv, ",,,,,"), "the textbook's events are not known: %s",
                       csv);
    free(csv);
}

Test(bench, ends_after_a_round_when_interrupted)
{
    static emp_oracle_report report;
    atomic_int               stop = 1;
    emp_oracle_params        params = small_bench();

    params.stop = &stop;
    cr_expect_eq(emp_oracle_measure(&report, &params, NULL), EMP_EINTERRUPTED);
    cr_expect_eq(report.row_count, 0);
}
