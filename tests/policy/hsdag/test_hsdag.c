// SPDX-License-Identifier: GPL-3.0-or-later
/* HSDAG: groups that are components of best edges, sets that are trees, and rewards of the paper. */
#include "policy/hsdag/hsdag.h"
#include "tests/support/methods.h"
#include "tests/support/problems.h"
#include "tests/support/status.h"

enum { LAYERS = 12, MAX_OPS = 128, SAMPLES = 5, RANDOM_GRAPHS = 300, MOST = 40 };

#define SMALL "width=24,samples=5,groups_per_device=2"

/* ---- pooling ---- */

typedef struct {
    emp_hsdag_graph   graph, groups;
    emp_hsdag_scratch scratch;
    emp_real          score[MOST * MOST];
    emp_arrays        arrays;
} pooling;

static void create_random(pooling *p, uint32_t number)
{
    bool    edge[MOST][MOST] = {{false}};
    emp_rng rng;

    emp_rng_init(&rng, 11, number, 0);
    *p = (pooling){.graph.node_count = 1 + (int32_t)emp_rng_below(&rng, MOST)};
    int32_t n = p->graph.node_count, edges = (int32_t)emp_rng_below(&rng, 2 * MOST);
    for (int32_t i = 0; i < edges; i++) {
        uint32_t u = emp_rng_below(&rng, (uint32_t)n),
                 v = emp_rng_below(&rng, (uint32_t)n);
        if (u != v) edge[u][v] = edge[v][u] = true;
    }
    emp_hsdag_graph_allocate(&p->graph, n, MOST * MOST, &p->arrays);
    emp_hsdag_graph_allocate(&p->groups, n, MOST * MOST, &p->arrays);
    emp_hsdag_scratch_allocate(&p->scratch, n, MOST * MOST, &p->arrays);
    cr_assert(!p->arrays.is_short);
    for (int32_t u = 0; u < n; u++) {
        p->graph.devices[u] = number % 2 == 0 ? 7 : (uint64_t[]){1, 6, 7}[u % 3];
        for (int32_t v = 0; v < n; v++) {
            if (!edge[u][v]) continue;
            p->score[p->graph.edge_count] = (emp_real)emp_rng_below(&rng, 4); /* ties */
            p->graph.node[p->graph.edge_count++] = v;
        }
        p->graph.first[u + 1] = p->graph.edge_count;
    }
}

/* Labels that spread over best edges; of graphs where all devices are allowed. */
static void expect_components(const pooling *p, const int32_t *group)
{
    const emp_hsdag_graph *g = &p->graph;
    int32_t                label[MOST], best[MOST];

    for (int32_t v = 0; v < g->node_count; v++) {
        label[v] = best[v] = v;
        emp_real top = -1;
        for (int32_t e = g->first[v]; e < g->first[v + 1]; e++)
            if (p->score[e] > top) top = p->score[e], best[v] = g->node[e];
    }
    for (int round = 0; round < MOST; round++) {
        for (int32_t v = 0; v < g->node_count; v++) {
            int32_t low = label[v] < label[best[v]] ? label[v] : label[best[v]];
            label[v] = label[best[v]] = low;
        }
    }
    for (int32_t u = 0; u < g->node_count; u++)
        for (int32_t v = 0; v < g->node_count; v++)
            cr_assert_eq(group[u] == group[v], label[u] == label[v], "%d and %d", u, v);
}

static bool is_edge(const emp_hsdag_graph *g, int32_t u, int32_t v)
{
    for (int32_t e = g->first[u]; e < g->first[u + 1]; e++)
        if (g->node[e] == v) return true;
    return false;
}

static void expect_group_graph(const pooling *p, const int32_t *group, int32_t groups)
{
    static bool            want[MOST][MOST];
    const emp_hsdag_graph *g = &p->graph;

    memset(want, 0, sizeof want);
    for (int32_t u = 0; u < g->node_count; u++)
        for (int32_t e = g->first[u]; e < g->first[u + 1]; e++)
            want[group[u]][group[g->node[e]]] = group[u] != group[g->node[e]];
    cr_assert_eq(p->groups.node_count, groups);
    for (int32_t a = 0; a < groups; a++) {
        uint64_t devices = 7;
        for (int32_t v = 0; v < g->node_count; v++)
            if (group[v] == a) devices &= g->devices[v];
        cr_assert_eq(p->groups.devices[a], devices);
        cr_assert_neq(devices, 0);
        for (int32_t b = 0; b < groups; b++)
            cr_assert_eq(is_edge(&p->groups, a, b), want[a][b]);
        for (int32_t e = p->groups.first[a] + 1; e < p->groups.first[a + 1]; e++)
            cr_assert_lt(p->groups.node[e - 1], p->groups.node[e]);
    }
}

Test(hsdag_pooling, random_graphs_are_joined_as_by_a_plain_loop)
{
    for (uint32_t i = 0; i < RANDOM_GRAPHS; i++) {
        static pooling p;
        int32_t        group[MOST], groups, lowest = -1;
        uint64_t       allowed[MOST];
        create_random(&p, i);
        groups = emp_hsdag_join(group, allowed, &p.graph, p.score);
        for (int32_t v = 0; v < p.graph.node_count; v++) {
            cr_assert_leq(group[v], lowest + 1, "numbered by lowest nodes");
            if (group[v] > lowest) lowest = group[v];
        }
        cr_assert_eq(lowest + 1, groups);
        if (i % 2 == 0) expect_components(&p, group);
        emp_hsdag_contract(&p.groups, groups, &p.graph, group, &p.scratch);
        expect_group_graph(&p, group, groups);
        emp_arrays_clear(&p.arrays);
    }
}

/* A path of 5 nodes: within r of its end there are r, of its middle 2 r. */
Test(hsdag_pooling, fractal_dimension_is_a_slope)
{
    int32_t               first[] = {0, 1, 3, 5, 7, 8}, node[] = {1, 0, 2, 1, 3, 2, 4, 3};
    int32_t               distance[5], queue[5];
    const emp_hsdag_graph path = {5, 8, first, node, NULL};
    const emp_hsdag_graph pair = {2, 2, (int32_t[]){0, 1, 2}, (int32_t[]){1, 0}, NULL};

    cr_expect_float_eq(emp_hsdag_fractal_dimension(&path, 0, distance, queue), 1, 1e-12);
    cr_expect_float_eq(emp_hsdag_fractal_dimension(&path, 2, distance, queue), 1, 1e-12);
    cr_expect_float_eq(emp_hsdag_fractal_dimension(&pair, 0, distance, queue), 0, 1e-12);
}

/* ---- the method ---- */

static task                     h;
static emp_device_id            storage[SAMPLES][MAX_OPS];
static const emp_owned_decision candidates[SAMPLES] = {{.device_of_op = storage[0]},
                                                       {.device_of_op = storage[1]},
                                                       {.device_of_op = storage[2]},
                                                       {.device_of_op = storage[3]},
                                                       {.device_of_op = storage[4]}};

static void create_problem(void)
{
    hand_graph_comb(&h, LAYERS);
    cr_assert_leq(h.graph->op_count, MAX_OPS);
}

static void destroy_problem(void)
{
    task_destroy(&h);
    expect_all_freed();
}

TestSuite(hsdag, .init = create_problem, .fini = destroy_problem);

static void *create(uint64_t seed, const char *preset, const char *options)
{
    return method_begin(
        &emp_method_hsdag, h.problem,
        (emp_method_params){
            .seed = seed, .threads = 1, .preset = preset, .options = options});
}

static void update(void *state)
{
    emp_score score[SAMPLES];
    int32_t   count = 0;

    MUST(emp_method_hsdag.ask(state, candidates, SAMPLES, &count, NULL));
    cr_assert_eq(count, SAMPLES);
    for (int32_t k = 0; k < count; k++)
        score[k] = (emp_score){.step_time_s = 1.0, .is_feasible = true};
    MUST(emp_method_hsdag.tell(state, score, count, NULL));
}

/* Sets begin where there are no or several predecessors; flows between them form no cycle. */
Test(hsdag, nodes_of_one_predecessor_join_it)
{
    void                   *state = create(1, "paper", SMALL);
    const emp_hsdag_agent  *a = (const emp_hsdag_agent *)state;
    const emp_node_edges   *before = &a->nodes->predecessors;
    const emp_hsdag_coarse *c = &a->coarse;

    cr_expect_lt(c->set_count, a->nodes->node_count);
    for (int32_t v = 0; v < a->nodes->node_count; v++) {
        int32_t set = c->set_of_node[v];
        bool    is_single = before->first[v + 1] - before->first[v] == 1;
        for (int32_t e = before->first[v]; e < before->first[v + 1]; e++) {
            int32_t other = c->set_of_node[before->node[e]];
            cr_expect_leq(other, set, "numbered in topological order");
            cr_expect_eq(other == set, is_single, "node %d", v);
        }
    }
    emp_method_destroy(&emp_method_hsdag, state);
}

Test(hsdag, groups_are_as_few_as_asked_and_share_a_device)
{
    static const struct {
        const char *options;
        int32_t     least, most;
    } want[] = {{"width=8,samples=5,levels=0,groups_per_device=0", 1, 1},
                {"width=8,samples=5,levels=0,groups_per_device=2", 6, 25},
                {"width=8,samples=5,levels=1,groups_per_device=0", 2, 24}};

    for (size_t i = 0; i < COUNT(want); i++) {
        void                  *state = create(2, "paper", want[i].options);
        const emp_hsdag_agent *a = (const emp_hsdag_agent *)state;
        update(state);
        for (int k = 0; k < SAMPLES; k++)
            cr_expect(a->groups[k] >= want[i].least && a->groups[k] <= want[i].most,
                      "%s: %g", want[i].options, a->groups[k]);
        for (int32_t v = 0; v < a->coarse.set_count; v++)
            cr_expect_eq(a->device[(SAMPLES - 1) * a->coarse.set_count + v],
                         a->device_of_group[a->net.group_of_node[v]]);
        emp_method_destroy(&emp_method_hsdag, state);
    }
}

/* All on one device is worth as much as a failure: nothing. */
Test(hsdag, paper_counts_single_devices_as_failures)
{
    void *state = create(5, "paper", "width=8,samples=5,levels=0,groups_per_device=0");
    const emp_hsdag_agent *a = (const emp_hsdag_agent *)state;

    update(state);
    cr_expect_float_eq(a->learner.metric[1].value, 1e-10, 1e-15, "one group a placement");
    emp_method_destroy(&emp_method_hsdag, state);
    state = create(5, "paper", "width=8,samples=5,levels=1,groups_per_device=1");
    a = (const emp_hsdag_agent *)state;
    update(state);
    cr_expect_gt(a->learner.metric[1].value, 0.3);
    emp_method_destroy(&emp_method_hsdag, state);
}

/* An option that is taken and has no effect would seem to have been tried. */
Test(hsdag, options_of_the_other_update_are_refused)
{
    static const char *const cases[][2] = {
        {"paper", "reward=log"},          {"paper", "failure=5"},
        {"paper", "baseline_decay=0.5"},  {"paper", "baseline_first=0"},
        {"paper", "baseline_failures=1"}, {"paper", "updates_failures=7"},
        {"emplace", "discount=0.5"}};
    static const char *const taken[][2] = {
        {"paper", "discount=0.5"},
        {"paper", "update=step,failure=5,baseline_decay=0.5"},
        {"emplace", "failure=5,updates_failures=7"},
        {"emplace", "update=episode,discount=0.5"}};
    emp_hsdag_options options;

    for (size_t i = 0; i < COUNT(cases); i++)
        MUST_FAIL(emp_hsdag_options_parse(&options, cases[i][0], cases[i][1], &why),
                  EMP_EINVAL, "of update=");
    for (size_t i = 0; i < COUNT(taken); i++)
        MUST(emp_hsdag_options_parse(&options, taken[i][0], taken[i][1], &why));
}
