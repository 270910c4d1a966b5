// SPDX-License-Identifier: GPL-3.0-or-later
/* The promises of each classical method: known cuts, the CPU's ops on the CPU,
 * equal results for equal seeds, one proposal or unlimited ones, and no leak when an
 * allocation fails. */
#include <pthread.h>

#include "baselines/baselines.h"
#include "run/methods.h"
#include "tests/baselines/fixture.h"
#include "tests/support/methods.h"

enum { CLIQUE = 12, MANY = 1024 };

/* Cliques in a chain, each linked to the next by one edge of the same bytes. */
static fixture *create_chain_of_cliques(int32_t clique_count, int32_t gpu_count)
{
    fixture *f = fixture_create(gpu_count);

    for (int32_t i = 0; i < clique_count; i++) {
        emp_op_id first = fixture_clique(f, CLIQUE, 1000);
        if (i > 0) fixture_edge(f, first - 1, first + CLIQUE - 1);
    }
    return f;
}

static int32_t count_cut_edges(const fixture *f, const emp_device_id *device_of_op)
{
    int32_t cut = 0;

    for (int32_t i = 0; i < f->edge_count; i++)
        cut += device_of_op[f->from[i]] != device_of_op[f->to[i]];
    return cut;
}

/* For graphs as wide as a tangle: dp-contiguous takes one order of them, and has tests of its own. */
static const char *options_for_wide(const emp_method *type)
{
    return type == &emp_method_dp_contiguous ? "order=one" : NULL;
}

Test(partitioners, cut_a_chain_of_cliques_at_its_links)
{
    const emp_method *types[] = {&emp_method_mincut, &emp_method_metis};
    emp_device_id     device[FIXTURE_MAX_OPS];

    for (int i = 0; i < 6; i++) {
        const int32_t gpus = 2 << i / 2;
        OWN_FIXTURE   f = create_chain_of_cliques(gpus, gpus);
        fixture_place(types[i % 2], fixture_problem(f), 7, NULL, device);
        cr_expect_eq(count_cut_edges(f, device), gpus - 1, "%s cuts %d of %d",
                     types[i % 2]->name, count_cut_edges(f, device), gpus - 1);
        for (emp_op_id op = 0; op < f->op_count; op++) cr_expect_geq(device[op], 1);
    }
}

Test(partitioners, without_the_cpu_only_what_must_stays_there)
{
    const emp_method *types[] = {&emp_method_mincut, &emp_method_metis};
    OWN_FIXTURE       f = create_chain_of_cliques(2, 2);
    emp_device_id     device[FIXTURE_MAX_OPS];

    fixture_cpu_only(f, 3);
    fixture_cpu_only(f, CLIQUE + 3);
    fixture_colocate(f, 5, 3); /* shares the fate of op 3 */
    const emp_problem *problem = fixture_problem(f);
    for (size_t t = 0; t < 2; t++) {
        fixture_place(types[t], problem, 7, NULL, device);
        for (emp_op_id op = 0; op < f->op_count; op++) {
            bool is_host = op == 3 || op == 5 || op == CLIQUE + 3;
            cr_expect_eq(device[op] == 0, is_host, "%s: op %d on %d", types[t]->name, op,
                         device[op]);
        }
    }
}

/* Without CPUs, scotch is mincut by definition, and metis with cpu=1 is metis. */
Test(partitioners, a_forbidden_cpu_has_no_part)
{
    static const struct {
        const emp_method *method, *other;
        const char       *options;
    } cases[] = {{&emp_method_scotch, &emp_method_mincut, NULL},
                 {&emp_method_metis, &emp_method_metis, "cpu=1"}};
    OWN_FIXTURE   f = create_chain_of_cliques(3, 2);
    emp_device_id device[FIXTURE_MAX_OPS], other[FIXTURE_MAX_OPS];

    fixture_cpu_only(f, 3); /* stays */
    (void)fixture_problem(f);
    MUST(emp_problem_forbid_cpus(f->problem, NULL, &why));
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture_place(cases[i].method, f->problem, 7, cases[i].options, device);
        fixture_place(cases[i].other, f->problem, 7, NULL, other);
        for (emp_op_id op = 0; op < f->op_count; op++) {
            cr_expect_eq(device[op], other[op], "%s: op %d", cases[i].method->name, op);
            cr_expect_eq(device[op] == 0, op == 3, "%s: op %d", cases[i].method->name,
                         op);
        }
    }
}

Test(partitioners, parts_follow_the_power_of_devices)
{
    const emp_method *types[] = {&emp_method_scotch, &emp_method_metis};
    const char       *options[] = {NULL, "cpu=1"};
    OWN_FIXTURE       f = fixture_create(2);
    emp_device_id     device[FIXTURE_MAX_OPS];

    for (int32_t i = 0; i < 99; i++) { /* a chain can be cut anywhere */
        fixture_op(f, NULL, 100);
        if (i > 0) fixture_edge(f, i - 1, i);
    }
    f->machine->device[0].peak_flops_per_s = 0.25e12; /* 1 : 4 : 4, so 11 of 99 */
    const emp_problem *problem = fixture_problem(f);
    for (size_t t = 0; t < 2; t++) {
        int32_t count[3] = {0};
        fixture_place(types[t], problem, 7, options[t], device);
        for (int32_t i = 0; i < 99; i++) count[device[i]]++;
        cr_expect(count[0] >= 9 && count[0] <= 13, "%s: %d on the CPU", types[t]->name,
                  count[0]);
        cr_expect(abs(count[1] - count[2]) <= 5, "%s: %d and %d on the GPUs",
                  types[t]->name, count[1], count[2]);
    }
}

/* Two pairs of GPUs; links between pairs are ten times slower. A ring of four cliques
 * with two heavy links: the heavy links must not cross the slow border. */
Test(partitioners, scotch_keeps_heavy_traffic_on_fast_links)
{
    OWN_FIXTURE   f = fixture_create(4);
    emp_device_id device[FIXTURE_MAX_OPS];
    emp_op_id     first[4];

    for (int32_t a = 1; a <= 4; a++) {
        for (int32_t b = 1; b <= 4; b++) {
            if ((a - 1) / 2 != (b - 1) / 2) f->machine->route[a][b].bytes_per_s = 1e9;
        }
    }
    for (int32_t i = 0; i < 4; i++) first[i] = fixture_clique(f, CLIQUE, 10000);
    const int heavy[2][2] = {{0, 2}, {1, 3}}, light[2][2] = {{0, 1}, {2, 3}};
    for (int32_t i = 0; i < 2; i++) {
        for (int32_t k = 0; k < 6; k++) /* six edges */
            fixture_edge(f, first[heavy[i][0]] + k, first[heavy[i][1]] + k);
        fixture_edge(f, first[light[i][0]], first[light[i][1]]);
    }
    fixture_place(&emp_method_mincut, fixture_problem(f), 7, NULL, device);
    for (int32_t i = 0; i < 2; i++) {
        emp_device_id a = device[first[heavy[i][0]]], b = device[first[heavy[i][1]]];
        cr_expect_eq((a - 1) / 2, (b - 1) / 2, "clique %d on %d, clique %d on %d",
                     heavy[i][0], a, heavy[i][1], b);
    }
}

Test(partitioners, one_gpu_takes_everything)
{
    const emp_method  *types[] = {&emp_method_mincut, &emp_method_metis};
    OWN_FIXTURE        f = create_chain_of_cliques(2, 1);
    const emp_problem *problem = fixture_problem(f);
    emp_device_id      device[FIXTURE_MAX_OPS];

    for (size_t t = 0; t < 2; t++) {
        fixture_place(types[t], problem, 7, NULL, device);
        for (emp_op_id op = 0; op < f->op_count; op++) cr_expect_eq(device[op], 1);
    }
}

enum { TANGLE = 120, SMALL_TANGLE = 24 };

/* A random graph, on which many cuts are about as good. */
static fixture *create_tangle(int32_t gpu_count, int32_t op_count)
{
    fixture *f = fixture_create(gpu_count);
    uint32_t x = 1;

    for (int32_t i = 0; i < op_count; i++) {
        fixture_op(f, NULL, 100 + 7 * i % 50);
        for (int32_t k = 0; i > 0 && k < 3; k++) {
            x = x * 1664525u + 1013904223u;
            fixture_edge(f, (int32_t)((x >> 8) % (uint32_t)i), i);
        }
    }
    return f;
}

Test(placers, equal_seeds_give_equal_placements)
{
    OWN_FIXTURE              f = create_tangle(4, TANGLE);
    const emp_problem       *problem = fixture_problem(f);
    emp_device_id            device[FIXTURE_MAX_OPS], again[FIXTURE_MAX_OPS];
    int32_t                  count;
    const emp_method *const *types = emp_baselines(&count);
    size_t                   bytes = (size_t)f->op_count * sizeof device[0];

    for (int32_t t = 0; t < count; t++) {
        const char *options = options_for_wide(types[t]);
        fixture_place(types[t], problem, 3, options, device);
        for (int i = 0; i < 5; i++) {
            fixture_place(&emp_method_scotch, problem, 100 + (uint64_t)i, NULL, again);
            fixture_place(types[t], problem, 3, options, again);
            cr_expect_eq(memcmp(device, again, bytes), 0, "%s differs", types[t]->name);
        }
    }
}

struct job {
    const emp_method  *type;
    const emp_problem *problem;
    emp_device_id      device[FIXTURE_MAX_OPS];
};

static void *run_job(void *argument)
{
    struct job *job = argument;

    fixture_place(job->type, job->problem, 3, NULL, job->device);
    return NULL;
}

Test(placers, concurrent_calls_give_the_same_placements)
{
    const emp_method *types[] = {&emp_method_scotch, &emp_method_metis,
                                 &emp_method_m_sct};
    enum { THREADS = 9, TYPES = COUNT(types) };
    OWN_FIXTURE        f = create_tangle(4, TANGLE);
    const emp_problem *problem = fixture_problem(f);
    size_t             bytes = (size_t)f->op_count * sizeof(emp_device_id);
    struct job         jobs[THREADS];
    pthread_t          thread[THREADS];

    for (size_t i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){.type = types[i % TYPES], .problem = problem};
        cr_assert_eq(pthread_create(&thread[i], NULL, run_job, &jobs[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        cr_expect_eq(memcmp(jobs[i].device, jobs[i % TYPES].device, bytes), 0, "call %zu",
                     i);
    }
}

Test(placers, all_but_searches_propose_once)
{
    OWN_FIXTURE              f = create_chain_of_cliques(2, 2);
    const emp_problem       *problem = fixture_problem(f);
    const long               own = emp_mem_live_blocks();
    int32_t                  type_count;
    const emp_method *const *types = emp_baselines(&type_count);
    emp_device_id            device[2][FIXTURE_MAX_OPS];
    const emp_owned_decision candidates[2] = {{.device_of_op = device[0]},
                                              {.device_of_op = device[1]}};
    const emp_score          score[2] = {{.step_time_s = 1.0, .is_feasible = true},
                                         {.step_time_s = 2.0, .is_feasible = true}};

    for (int32_t t = 0; t < type_count; t++) {
        void *state =
            method_begin(types[t], problem, (emp_method_params){.seed = 1, .threads = 1});
        int32_t count = method_ask(types[t], state, candidates, 2);
        cr_expect(count == 1 || (count == 2 && types[t]->uses_budget), "%s",
                  types[t]->name);
        MUST(emp_method_tell(types[t], state, score, count, NULL));
        count = method_ask(types[t], state, candidates, 2);
        cr_expect_eq(count > 0, types[t]->uses_budget, "%s", types[t]->name);
        emp_method_destroy(types[t], state);
        cr_assert_eq(emp_mem_live_blocks(), own, "%s leaks", types[t]->name);
    }
}

Test(single, puts_every_op_on_one_device)
{
    OWN_FIXTURE        f = create_chain_of_cliques(2, 2);
    const emp_problem *problem = fixture_problem(f);
    emp_device_id      device[FIXTURE_MAX_OPS];

    fixture_place(&emp_method_cpu, problem, 1, NULL, device);
    for (emp_op_id op = 0; op < f->op_count; op++) cr_expect_eq(device[op], 0);
    fixture_place(&emp_method_gpu, problem, 1, NULL, device);
    for (emp_op_id op = 0; op < f->op_count; op++) cr_expect_eq(device[op], 1);
}

/* MANY candidates of the random method for a problem, in batches of 7. */
static void draw_many(const emp_problem *problem, uint64_t seed, const char *options,
                      emp_device_id (*device)[FIXTURE_MAX_OPS])
{
    emp_owned_decision candidates[MANY];
    void              *state =
        method_begin(&emp_method_random, problem,
                     (emp_method_params){.seed = seed, .threads = 1, .options = options});

    for (size_t i = 0; i < MANY; i++)
        candidates[i] = (emp_owned_decision){.device_of_op = device[i]};
    for (int32_t i = 0; i < MANY;)
        i += method_ask(&emp_method_random, state, &candidates[i],
                        MANY - i < 7 ? MANY - i : 7);
    emp_method_destroy(&emp_method_random, state);
}

static emp_device_id draws[MANY][FIXTURE_MAX_OPS], other_draws[MANY][FIXTURE_MAX_OPS];

/* Pearson's statistic against uniform counts. */
static double chi_square(const int32_t *count, int32_t bins, double expected)
{
    double sum = 0.0;

    for (int32_t i = 0; i < bins; i++)
        sum += ((double)count[i] - expected) * ((double)count[i] - expected) / expected;
    return sum;
}

Test(random, is_uniform_over_devices_and_pairs_of_ops)
{
    OWN_FIXTURE f = create_tangle(3, TANGLE);
    int32_t     count[4] = {0}, pair[16] = {0};

    draw_many(fixture_problem(f), 5, NULL, draws);
    for (size_t i = 0; i < MANY; i++) {
        for (emp_op_id op = 0; op < 120; op++) count[draws[i][op]]++;
        for (emp_op_id op = 0; op + 1 < 120; op += 2)
            pair[4 * draws[i][op] + draws[i][op + 1]]++;
    }
    /* 99.99 % quantiles of chi-square with 3 and 15 degrees of freedom: 21.1 and 44.3. */
    cr_expect_lt(chi_square(count, 4, MANY * 120 / 4.0), 21.1);
    cr_expect_lt(chi_square(pair, 16, MANY * 60 / 16.0), 44.3);
}

Test(random, depends_on_the_seed_but_not_on_the_batch)
{
    OWN_FIXTURE        f = create_tangle(3, TANGLE);
    const emp_problem *problem = fixture_problem(f);
    emp_device_id      first[FIXTURE_MAX_OPS];
    size_t             bytes = 120 * sizeof first[0];

    draw_many(problem, 5, NULL, draws);
    draw_many(problem, 6, NULL, other_draws);
    fixture_place(&emp_method_random, problem, 5, NULL, first); /* a batch of one */
    cr_expect_eq(memcmp(first, draws[0], bytes), 0);
    for (size_t i = 0; i < MANY; i++)
        cr_expect_neq(memcmp(draws[i], other_draws[i], bytes), 0);
    cr_expect_neq(memcmp(draws[0], draws[1], bytes), 0);
}

Test(random, groups_move_together)
{
    OWN_FIXTURE f = create_tangle(3, TANGLE);
    int32_t     group_count = 0;

    fixture_colocate(f, 7, 2);
    draw_many(fixture_problem(f), 5, "groups=6", draws);
    for (emp_op_id op = 0; op < 120; op++) {
        bool is_new = true;
        for (emp_op_id before = 0; before < op && is_new; before++) {
            is_new = false;
            for (size_t i = 0; i < MANY && !is_new; i++)
                is_new = draws[i][op] != draws[i][before];
        }
        group_count += is_new;
    }
    cr_expect_eq(group_count, 6, "%d sets of ops always share a device", group_count);
    cr_expect_eq(draws[0][7], draws[0][2], "a class is in one group");
}

Test(placers, wrong_options_are_named)
{
    static const char *const cases[][3] = {
        {"cpu", "groups=3", "groups=3"},
        {"heft", "groups=3", "groups=3"},
        {"random", "group=3", "\"groups\""},
        {"random", "groups=-1", "groups is -1"},
        {"random", "groups", "groups has no value"},
        {"anneal", "moves=edges", "ops|groups|mixed"},
        {"ce", "rate=20", "5 % is 0.05"},
        {"mcmc", "coarsest=9,finest=8", "finest=8"},
        {"refine", "coarsest=30,finest=20", "finest=20"},
        {"brkga", "elite=0.5,mutants=0.5", "0.5"},
        {"scotch", "arch=tleaf", "machine|complete"},
        {"scotch", "imbalance=0", "0.001..1"},
        {"scotch", "costs=time_ns", "time|flops|grappler"},
        {"mincut", "strategy=best", "quality|default|speed|balance"},
        {"mincut", "power=", "peak|measured"},
        {"metis", "cpu=1,cpu=2", "cpu is 2"},
        {"metis", "strategy=quality", "recursive|kway"},
        {"metis", "memory_imbalance=0.05", "memory=1"},
        {"metis", "cuts=0", "1..1000"},
        {"metis", "imbalance=50", "5 % is 0.05"},
        {"acyclic", "units=ops", "groups|classes"},
        {"acyclic", "imbalance=-1", "0..1"}};
    fixture           *f = create_chain_of_cliques(2, 2);
    const emp_problem *problem = fixture_problem(f);

    for (size_t i = 0; i < COUNT(cases); i++) {
        const emp_method       *type = NULL;
        const emp_method_params params = {.options = cases[i][1]};
        void                   *state = NULL;
        MUST(emp_method_find(&type, cases[i][0], &why));
        MUST_FAIL(emp_method_create(&state, type, problem, &params, &why), EMP_EINVAL,
                  cases[i][2]);
        cr_expect_null(state);
    }
    fixture_destroy(f);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(placers, take_the_defaults_that_they_list)
{
    OWN_FIXTURE              f = create_chain_of_cliques(2, 2);
    const emp_problem       *problem = fixture_problem(f);
    int32_t                  count;
    const emp_method *const *types = emp_baselines(&count);

    for (int32_t t = 0; t < count; t++) {
        for (const emp_option *o = types[t]->options; o != NULL && o->name != NULL; o++) {
            char  value[EMP_OPTION_TEXT_BYTES], option[2 * EMP_OPTION_TEXT_BYTES];
            void *state = NULL;
            emp_option_write_default(value, o, 0);
            snprintf(option, sizeof option, "%s=%s", o->name, value);
            const emp_method_params params = {.seed = 1, .threads = 1, .options = option};
            cr_expect_eq(emp_method_create(&state, types[t], problem, &params, &why),
                         EMP_OK, "%s: %s", types[t]->name, why.msg);
            emp_method_destroy(types[t], state);
        }
    }
}

/* Schedulers and the dynamic program take long on wide graphs, and METIS and Scotch on large ones. */
Test(placers, end_when_their_caller_is_to_stop)
{
    static const char *const names[] = {"heft",          "peft",   "etf",
                                        "critical-path", "m-topo", "m-etf",
                                        "dp-contiguous", "metis"};
    const atomic_int         stop = 1;
    OWN_FIXTURE              f = create_chain_of_cliques(2, 2);
    const emp_problem       *problem = fixture_problem(f);
    const long               own = emp_mem_live_blocks();
    emp_device_id            device[FIXTURE_MAX_OPS];

    for (size_t i = 0; i < COUNT(names); i++) {
        const emp_method *type = NULL;
        MUST(emp_method_find(&type, names[i], &why));
        const emp_method_params params = {.seed = 1, .threads = 1, .stop = &stop};
        cr_expect_eq(type->place(type, problem, &params,
                                 &(emp_owned_decision){.device_of_op = device}, NULL),
                     EMP_EINTERRUPTED, "%s", type->name);
        cr_expect_eq(emp_mem_live_blocks(), own, "%s leaks", type->name);
    }
}

static emp_status init_nothing(void *state, const emp_problem *problem,
                               const emp_method_params *params, emp_error *err)
{
    (void)state, (void)problem, (void)params, (void)err;
    cr_assert_fail("a state of 0 bytes is not for init()");
    return EMP_OK;
}

Test(placers, state_without_a_size_is_refused)
{
    const emp_method        type = {.name = "forgetful", .init = init_nothing};
    const emp_method_params params = {.threads = 1};
    OWN_FIXTURE             f = create_chain_of_cliques(2, 2);
    void                   *state = NULL;

    MUST_FAIL(emp_method_create(&state, &type, fixture_problem(f), &params, &why),
              EMP_EINVAL, "forgetful");
    cr_expect_null(state);
}

Test(placers, survive_every_allocation_failure)
{
    fixture                 *f = create_tangle(2, SMALL_TANGLE);
    const emp_problem       *problem = fixture_problem(f);
    int32_t                  count;
    const emp_method *const *types = emp_baselines(&count);

    for (int32_t t = 0; t < count; t++) {
        const emp_method_params params = {
            .seed = 1, .threads = 1, .options = options_for_wide(types[t])};
        void *state = NULL;
        SURVIVES_EVERY_ALLOCATION_FAILURE(
            emp_method_create(&state, types[t], problem, &params, NULL),
            cr_assert_null(state, "%s", types[t]->name));
        emp_method_destroy(types[t], state);
    }
    fixture_destroy(f);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
