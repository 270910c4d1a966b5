// SPDX-License-Identifier: GPL-3.0-or-later
/* Is the greatest load of a split that worked out by hand? Are blocks and ideals those of the
 * rules? Does the dynamic program find what a search of all contiguous splits finds? */
#include "base/rng.h"
#include "baselines/baselines.h"
#include "baselines/partitioners/blocks.h"
#include "sim/engine/sim.h"
#include "sim/graph/op.h"
#include "tests/support/problems.h"
#include "tests/support/status.h"

enum { SEEDS = 300, MAX_CLASSES = 6, ROOMY = 1 << 30 };

static emp_sim_result simulate(const emp_problem *problem, const emp_device_id *device)
{
    OWN_SIM        sim = NULL;
    emp_sim_result result;

    MUST(emp_sim_create(&sim, problem, &why));
    MUST(emp_sim_run(sim, device, &result, &why));
    return result;
}

static emp_status place(const emp_problem *problem, const char *options,
                        emp_device_id *device, emp_error *err)
{
    const emp_method_params  params = {.seed = 1, .threads = 1, .options = options};
    const emp_method        *type = &emp_method_dp_contiguous;
    const emp_owned_decision candidate = {.device_of_op = device};
    void                    *state = NULL;
    int32_t                  count = 0;
    emp_status               st = emp_method_create(&state, type, problem, &params, err);

    if (st == EMP_OK) st = emp_method_ask(type, state, &candidate, 1, &count, err);
    if (st == EMP_OK) cr_assert_eq(count, 1);
    if (st == EMP_OK) emp_problem_legalize(problem, device);
    if (state != NULL) emp_method_destroy(type, state);
    return st;
}

/* A diamond: 0 -> 1, 2 -> 3, and 0 -> 3. */
static const stated_op diamond[] = {
    {.gpu_us = 10, .cpu_us = 100, .copy_us = 1, .bytes = 5},
    {.gpu_us = 20, .cpu_us = 200, .copy_us = 2, .bytes = 6},
    {.gpu_us = 30, .cpu_us = 300, .copy_us = 3, .bytes = 7},
    {.gpu_us = 40, .cpu_us = 400, .copy_us = 4, .bytes = 8}};
static const stated_edge diamond_edges[] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 3}};

/* gpu:0 has 0 and 1: 30, and copies of both out, 1 + 2; gpu:1 has 2 and 3: 70, and both in. The CPU pays no copies; gpu:0
 * brings 0 in once for its two readers, and 3 is read by none. With latency 0 and 1 take 30 and copies 1 + 2, then 2 and
 * 3 copies 1 + 2 and 70. GPUs have room for 14 bytes or more. */
Test(max_load, is_that_worked_out_by_hand)
{
    static const struct {
        const char   *runtime;
        int64_t       gpu_bytes;
        emp_device_id device[4];
        emp_time_ns   step_ns; /* -1: it does not fit */
    } cases[] = {{"msr-load", ROOMY, {1, 1, 2, 2}, 73000},
                 {"msr-load", ROOMY, {0, 1, 1, 1}, 100000},
                 {"msr-load", ROOMY, {1, 1, 1, 0}, 400000},
                 {"msr-load", ROOMY, {1, 1, 1, 1}, 100000},
                 {"msr-load", 14, {0, 1, 1, 2}, 100000},
                 {"msr-load", 14, {1, 1, 2, 2}, -1},
                 {"msr-load", 14, {0, 0, 0, 0}, 1000000},
                 {"msr-latency", ROOMY, {1, 1, 2, 2}, 106000}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        OWN_TASK p;
        task_create_stated(&p, diamond, 4, diamond_edges, 5, 1, 2, cases[i].gpu_bytes,
                           cases[i].runtime);
        const emp_sim_result r = simulate(p.problem, cases[i].device);
        cr_expect_eq(r.is_feasible, cases[i].step_ns >= 0, "case %zu", i);
        if (r.is_feasible) cr_expect_eq(r.step_time_ns, cases[i].step_ns, "case %zu", i);
        if (i == 0) {
            cr_expect(r.busy_ns[1] == 33000 && r.busy_ns[2] == 73000);
            cr_expect(r.peak_bytes[1] == 11 && r.peak_bytes[2] == 15);
        }
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* ---- blocks and ideals ---- */

#define WORK .gpu_us = 1, .cpu_us = 1

/* Blocks of a chain, op by op. Classes that wait for each other are joined (1 has ops 0 and 2, 2 has 1 and 3). Weights
 * that cost nothing, one behind the other, are where their reader is, unless they have two neighbours. A backward op
 * without a forward op is placed as its mirror image, or it would come after class 1. */
Test(blocks, of_chains_are_those_of_the_rules)
{
    static const struct {
        int32_t   count;
        stated_op op[5];
        int32_t   block[5];
    } cases[] = {{5,
                  {{WORK, .color = 1},
                   {WORK, .color = 2},
                   {WORK, .color = 1},
                   {WORK, .color = 2},
                   {WORK}},
                  {0, 0, 0, 0, 1}},
                 {5,
                  {{.copy_us = 9}, {.copy_us = 9}, {WORK}, {.copy_us = 9}, {WORK}},
                  {0, 0, 0, 1, 2}},
                 {3,
                  {{WORK, .color = 1},
                   {"gradients/node1", WORK, .color = 2},
                   {"gradients/node2", WORK, .color = 1}},
                  {0, 1, 0}}};
    static const stated_edge edges[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        OWN_TASK p;
        SCOPED(emp_blocks, emp_blocks_clear) b;
        task_create_stated(&p, cases[i].op, cases[i].count, edges, cases[i].count - 1, 1,
                           2, ROOMY, "msr-load");
        MUST(emp_blocks_init(&b, p.problem, NULL));
        cr_expect_arr_eq(b.block_of_op, cases[i].block,
                         (size_t)cases[i].count * sizeof *b.block_of_op, "case %zu", i);
    }
}

/* The gradients of a transformer are named after their ops, and share no class with them. Tokens, their table and the
 * lookup stand with the head, which shares the table; two layers are apart. */
Test(blocks, have_gradients_and_tied_tables_with_their_ops)
{
    static const stated_op   named[] = {{"a", WORK},
                                        {"b", WORK},
                                        {"b/grad_input", WORK},
                                        {"b/grad_weight", WORK},
                                        {"a/grad", WORK},
                                        {"a/gradual", WORK}};
    static const stated_edge named_edges[] = {{0, 1}, {1, 2}, {1, 3},
                                              {2, 4}, {0, 4}, {1, 5}};
    static const stated_op   tied[] = {{"tokens", WORK},
                                       {"table", WORK, .color = 1},
                                       {"lookup", WORK, .color = 1},
                                       {"one", WORK},
                                       {"two", WORK},
                                       {"head", WORK, .color = 1}};
    static const stated_edge tied_edges[] = {{0, 2}, {1, 2}, {2, 3},
                                             {3, 4}, {4, 5}, {1, 5}};
    task                     p;
    emp_blocks               b;

    task_create_stated(&p, named, 6, named_edges, 6, 1, 2, ROOMY, "msr-load");
    MUST(emp_blocks_init(&b, p.problem, NULL));
    cr_expect_eq(b.count, 3);
    cr_expect_eq(b.block_of_op[4], b.block_of_op[0]);
    cr_expect(b.block_of_op[2] == b.block_of_op[1] &&
              b.block_of_op[3] == b.block_of_op[1]);
    cr_expect_lt(b.block_of_op[0], b.block_of_op[1]);
    cr_expect_neq(b.block_of_op[5], b.block_of_op[0]);
    emp_blocks_clear(&b);
    task_destroy(&p);
    task_create_stated(&p, tied, 6, tied_edges, 6, 1, 2, ROOMY, "msr-load");
    MUST(emp_blocks_init(&b, p.problem, NULL));
    cr_expect_eq(b.count, 4);
    cr_expect_eq(b.block_of_op[2], b.block_of_op[5]);
    cr_expect(b.block_of_op[3] < b.block_of_op[4] && b.block_of_op[4] < b.block_of_op[5]);
    emp_blocks_clear(&b);
    task_destroy(&p);
}

static int32_t count_ideals(const stated_op *ops, int32_t op_count,
                            const stated_edge *edges, int32_t edge_count)
{
    OWN_TASK p;
    SCOPED(emp_blocks, emp_blocks_clear) b;
    emp_ideals ideals;
    bool       is_whole;

    task_create_stated(&p, ops, op_count, edges, edge_count, 1, 2, ROOMY, "msr-load");
    MUST(emp_blocks_init(&b, p.problem, NULL));
    MUST(emp_ideals_init(&ideals, &is_whole, &b, 1 << 20, NULL));
    cr_assert(is_whole);
    int32_t count = ideals.count, most = 0;
    for (int32_t i = 0; i < count; i++) {
        for (int32_t k = ideals.step_offset[i]; k < ideals.step_offset[i + 1]; k++) {
            cr_expect_gt(ideals.step[k].ideal, i, "larger ideals come later");
            if (ideals.step[k].ideal > most) most = ideals.step[k].ideal;
        }
    }
    cr_expect_eq(most, count - 1);
    emp_ideals_clear(&ideals);
    return count;
}

Test(ideals, are_all_there)
{
    stated_op ops[10];

    for (int32_t i = 0; i < 10; i++) ops[i] = (stated_op){.gpu_us = 1, .cpu_us = 1};
    cr_expect_eq(count_ideals(ops, 10, NULL, 0), 1024, "no op waits");
    cr_expect_eq(count_ideals(diamond, 4, diamond_edges, 5), 6);
    /* two chains of five */
    const stated_edge edges[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4},
                                 {5, 6}, {6, 7}, {7, 8}, {8, 9}};
    cr_expect_eq(count_ideals(ops, 10, edges, 8), 36);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(dp_contiguous, gives_up_on_too_many_ideals_in_one_sentence)
{
    static const char *const options[] = {"order=either", "order=one", "ideals=2000000"};
    task                     p;
    stated_op                ops[20];
    emp_device_id            device[20];

    for (int32_t i = 0; i < 20; i++) ops[i] = (stated_op){.gpu_us = 1, .cpu_us = 50};
    task_create_stated(&p, ops, 20, NULL, 0, 1, 2, ROOMY, "msr-load");
    MUST_FAIL(place(p.problem, NULL, device, &why), EMP_EINFEASIBLE, "20 blocks");
    for (int i = 0; i < 3; i++) {
        MUST(place(p.problem, options[i], device, NULL));
        cr_expect_eq(simulate(p.problem, device).step_time_ns, 10000, "%s", options[i]);
    }
    task_destroy(&p);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* ---- all contiguous splits ---- */

typedef struct {
    stated_op   op[STATED_MAX_OPS];
    stated_edge edge[STATED_MAX_EDGES];
    char        name[STATED_MAX_OPS][24];
    int32_t     class_of_op[STATED_MAX_OPS];
    int32_t     class_count, op_count, edge_count, cpu_count, gpu_count;
    int64_t     gpu_bytes;
    bool        has_forward[MAX_CLASSES];
} draft;

static int32_t draw(emp_rng *rng, int32_t bound)
{
    return (int32_t)emp_rng_below(rng, (uint32_t)bound);
}

/* An op that takes no time takes no memory: it may be put anywhere. */
static int32_t draw_op(draft *d, emp_rng *rng, int32_t class, bool is_backward)
{
    int32_t op = d->op_count++, gpu_us = draw(rng, 4) == 0 ? 0 : draw(rng, 30);

    snprintf(d->name[op], sizeof d->name[op], "%snode%d", is_backward ? "gradients/" : "",
             op);
    d->op[op] = (stated_op){.name = d->name[op],
                            .gpu_us = gpu_us,
                            .cpu_us = gpu_us > 0 ? 1 + draw(rng, 200) : 0,
                            .copy_us = draw(rng, 12),
                            .bytes = gpu_us > 0 ? draw(rng, 10) : 0,
                            .color = class + 1,
                            .is_cpu_only = draw(rng, 10) == 0};
    d->class_of_op[op] = class;
    return op;
}

static void draw_edge(draft *d, int32_t from, int32_t to)
{
    d->edge[d->edge_count++] = (stated_edge){from, to};
}

/* Classes of a forward op, a backward op or both; edges of the forward pass, most of them
 * mirrored in the backward pass, and from one pass to the other. */
static void draw_draft(draft *d, uint64_t seed)
{
    emp_rng rng;
    int32_t forward[MAX_CLASSES], backward[MAX_CLASSES];

    *d = (draft){0};
    emp_rng_init(&rng, seed, 0, 0);
    d->class_count = 2 + draw(&rng, MAX_CLASSES - 1);
    d->cpu_count = 1 + draw(&rng, 2);
    d->gpu_count = 1 + draw(&rng, 3);
    d->gpu_bytes = draw(&rng, 2) == 0 ? 1000 : 12 + draw(&rng, 20);
    int32_t kind = draw(&rng, 3); /* inference, training, training with lone gradients */
    for (int32_t c = 0; c < d->class_count; c++) {
        d->has_forward[c] = kind < 2 || draw(&rng, 4) > 0;
        forward[c] = d->has_forward[c] ? draw_op(d, &rng, c, false) : -1;
    }
    for (int32_t c = d->class_count - 1; c >= 0; c--) {
        bool has_backward = !d->has_forward[c] || (kind > 0 && draw(&rng, 4) > 0);
        backward[c] = has_backward ? draw_op(d, &rng, c, true) : -1;
    }
    for (int32_t a = 0; a < d->class_count; a++) {
        if (forward[a] >= 0 && backward[a] >= 0) draw_edge(d, forward[a], backward[a]);
        for (int32_t b = a + 1; b < d->class_count; b++) {
            if (draw(&rng, 2) == 0) continue;
            if (forward[a] >= 0 && forward[b] >= 0) draw_edge(d, forward[a], forward[b]);
            if (backward[a] >= 0 && backward[b] >= 0 && draw(&rng, 4) > 0)
                draw_edge(d, backward[b], backward[a]);
        }
    }
}

/* Whether the devices can be put in an order that no edge of the forward pass, or mirrored edge
 * of a lone backward op, goes against: devices without one into them go first. */
static bool is_contiguous(const draft *d, const int32_t *device_of_class)
{
    uint32_t after[8] = {0}, left = 0xff; /* [device] devices with an edge into it */

    for (int32_t i = 0; i < d->edge_count; i++) {
        int32_t from = d->edge[i].from, to = d->edge[i].to;
        int32_t a = d->class_of_op[from], b = d->class_of_op[to];
        bool    is_back_from = emp_is_gradient_name(d->name[from]);
        bool    is_back_to = emp_is_gradient_name(d->name[to]);
        int32_t first = device_of_class[a], then = device_of_class[b];
        if (first == then || is_back_from != is_back_to) continue;
        if (!is_back_to) after[then] |= 1u << first;
        if (is_back_to && (!d->has_forward[a] || !d->has_forward[b]))
            after[first] |= 1u << then;
    }
    for (int round = 0; round < 8; round++) {
        for (int32_t k = 0; k < 8; k++)
            if (!(after[k] & left)) left &= ~(1u << k);
    }
    return left == 0;
}

/* INT64_MAX: none is legal and fits. */
static emp_time_ns search_all(const draft *d, const emp_problem *problem)
{
    int32_t       devices = d->cpu_count + d->gpu_count, total = 1;
    emp_time_ns   best_ns = INT64_MAX;
    emp_sim      *sim = NULL;
    emp_device_id device_of_op[STATED_MAX_OPS];

    MUST(emp_sim_create(&sim, problem, NULL));
    for (int32_t c = 0; c < d->class_count; c++) total *= devices;
    for (int32_t number = 0; number < total; number++) {
        int32_t device_of_class[MAX_CLASSES], rest = number;
        bool    is_legal = true;
        for (int32_t c = 0; c < d->class_count; c++, rest /= devices)
            device_of_class[c] = rest % devices;
        for (int32_t op = 0; op < d->op_count; op++) {
            device_of_op[op] = device_of_class[d->class_of_op[op]];
            if (!emp_problem_allows(problem, op, device_of_op[op])) is_legal = false;
        }
        if (!is_legal || !is_contiguous(d, device_of_class)) continue;
        emp_sim_result r;
        MUST(emp_sim_run(sim, device_of_op, &r, NULL));
        if (r.is_feasible && r.step_time_ns < best_ns) best_ns = r.step_time_ns;
    }
    emp_sim_destroy(sim);
    return best_ns;
}

static void make_unlike(task *p, uint64_t seed)
{
    static const double factors[] = {1.0, 2.0, 0.5};
    emp_rng             rng;
    emp_problem        *unlike = NULL;

    emp_rng_init(&rng, seed, 1, 0);
    for (emp_device_id d = 0; d < p->machine->device_count; d++) {
        emp_device *device = &p->machine->device[d];
        device->time_factor = factors[draw(&rng, 3)];
        if (device->kind == EMP_DEVICE_GPU) device->memory_bytes += draw(&rng, 3) * 4;
    }
    MUST(emp_problem_create(&unlike, p->graph, p->machine, &p->problem->runtime, "tiny",
                            NULL));
    emp_problem_destroy(p->problem);
    p->problem = unlike;
}

/* True if ops of a block have no kind of device in common. No contiguous split puts them all where they may be. */
static bool has_mixed_block(const emp_problem *problem)
{
    SCOPED(emp_blocks, emp_blocks_clear) b;
    uint32_t kinds[STATED_MAX_OPS];
    bool     is_any = false;

    MUST(emp_blocks_init(&b, problem, NULL));
    for (int32_t i = 0; i < b.count; i++) kinds[i] = EMP_KIND_CPU | EMP_KIND_GPU;
    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        const int32_t block = b.block_of_op[op];
        kinds[block] &= problem->kinds_of_class[problem->class_of_op[op]];
        is_any |= kinds[block] == 0;
    }
    return is_any;
}

/* Returns whether the placement is one of several devices. */
static bool expect_best(const draft *d, const emp_problem *problem, uint64_t seed)
{
    const emp_time_ns best_ns = search_all(d, problem);
    emp_device_id     device[STATED_MAX_OPS];

    if (best_ns == INT64_MAX) {
        MUST_FAIL(place(problem, NULL, device, &why), EMP_EINFEASIBLE, "memory");
        return false;
    }
    MUST(place(problem, NULL, device, &why));
    const emp_sim_result r = simulate(problem, device);
    cr_expect(r.is_feasible, "seed %d", (int)seed);
    cr_expect_eq(r.step_time_ns, best_ns, "seed %d: %lld, not %lld", (int)seed,
                 (long long)r.step_time_ns, (long long)best_ns);
    for (int32_t op = 1; op < d->op_count; op++)
        if (device[op] != device[0]) return true;
    return false;
}

static void expect_the_best(bool is_unlike, bool has_cpus)
{
    int32_t split = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        draft d;
        task  p;
        draw_draft(&d, seed);
        task_create_stated(&p, d.op, d.op_count, d.edge, d.edge_count, d.cpu_count,
                           d.gpu_count, d.gpu_bytes, "msr-load");
        if (is_unlike) make_unlike(&p, seed);
        if (!has_cpus) MUST(emp_problem_forbid_cpus(p.problem, NULL, &why));
        if (!has_mixed_block(p.problem)) split += expect_best(&d, p.problem, seed);
        task_destroy(&p);
    }
    cr_expect_gt(split, has_cpus ? SEEDS / 2 : SEEDS / 5, "only %d are split at all",
                 split);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(dp_contiguous, finds_the_best_of_all_contiguous_splits)
{
    expect_the_best(false, true);
}

Test(dp_contiguous, finds_the_best_on_heterogeneous_devices)
{
    expect_the_best(true, true);
}

Test(dp_contiguous, finds_the_best_where_cpus_are_forbidden)
{
    expect_the_best(false, false);
}

Test(dp_contiguous, survives_every_allocation_failure)
{
    OWN_TASK      p;
    stated_op     ops[12];
    emp_device_id device[12];

    for (int32_t i = 0; i < 12; i++) ops[i] = (stated_op){.gpu_us = 1, .cpu_us = 50};
    task_create_stated(&p, ops, 12, NULL, 0, 1, 2, ROOMY, "msr-load");
    SURVIVES_EVERY_ALLOCATION_FAILURE(place(p.problem, NULL, device, NULL), (void)0);
}
