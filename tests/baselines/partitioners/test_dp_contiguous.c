// SPDX-License-Identifier: GPL-3.0-or-later
/* Is the greatest load of a split that worked out by hand? Are blocks and ideals those of the
 * rules? Does the dynamic program find what a search of all contiguous splits finds? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "baselines/baselines.h"
#include "baselines/partitioners/blocks.h"
#include "sim/engine/sim.h"
#include "sim/graph/op.h"
#include "tests/support/problems.h"

enum { SEEDS = 300, MAX_CLASSES = 6, ROOMY = 1 << 30 };

static emp_sim_result simulate(const emp_problem *problem, const emp_device_id *device)
{
    emp_sim       *sim = NULL;
    emp_sim_result result;
    emp_error      err = {0};

    cr_assert_eq(emp_sim_create(&sim, problem, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_sim_run(sim, device, &result, &err), EMP_OK, "%s", err.msg);
    emp_sim_destroy(sim);
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

/* ---- by hand ---- */

/* A diamond: 0 -> 1, 2 -> 3, and 0 -> 3. */
static const stated_op diamond[] = {
    {.gpu_us = 10, .cpu_us = 100, .copy_us = 1, .bytes = 5},
    {.gpu_us = 20, .cpu_us = 200, .copy_us = 2, .bytes = 6},
    {.gpu_us = 30, .cpu_us = 300, .copy_us = 3, .bytes = 7},
    {.gpu_us = 40, .cpu_us = 400, .copy_us = 4, .bytes = 8}};
static const stated_edge diamond_edges[] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 3}};

/* gpu:0 has 0 and 1: 30, and copies of both out, 1 + 2; gpu:1 has 2 and 3: 70, and both in. */
Test(max_load, is_that_worked_out_by_hand)
{
    task p;

    task_create_stated(&p, diamond, 4, diamond_edges, 5, 1, 2, ROOMY, "msr-load");
    emp_sim_result r = simulate(p.problem, (emp_device_id[]){1, 1, 2, 2});
    cr_expect_eq(r.step_time_ns, 73000);
    cr_expect_eq(r.busy_ns[1], 33000);
    cr_expect_eq(r.busy_ns[2], 73000);
    cr_expect_eq(r.peak_bytes[1], 11);
    cr_expect_eq(r.peak_bytes[2], 15);
    /* the CPU pays no copies; gpu:0 brings 0 in once for its two readers, and 3 is read by none */
    r = simulate(p.problem, (emp_device_id[]){0, 1, 1, 1});
    cr_expect_eq(r.step_time_ns, 100000);
    r = simulate(p.problem, (emp_device_id[]){1, 1, 1, 0});
    cr_expect_eq(r.step_time_ns, 400000);
    r = simulate(p.problem, (emp_device_id[]){1, 1, 1, 1});
    cr_expect_eq(r.step_time_ns, 100000);
    task_destroy(&p);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(max_load, knows_the_memory_of_gpus)
{
    task p;

    task_create_stated(&p, diamond, 4, diamond_edges, 5, 1, 2, 14, "msr-load");
    cr_expect(simulate(p.problem, (emp_device_id[]){0, 1, 1, 2}).is_feasible);
    cr_expect_not(simulate(p.problem, (emp_device_id[]){1, 1, 2, 2}).is_feasible);
    cr_expect(simulate(p.problem, (emp_device_id[]){0, 0, 0, 0}).is_feasible);
    task_destroy(&p);
}

/* Latency: 0 and 1 take 30 and copies 1 + 2, then 2 and 3 copies 1 + 2 and 70. */
Test(latency, has_the_stated_copies)
{
    task p;

    task_create_stated(&p, diamond, 4, diamond_edges, 5, 1, 2, ROOMY, "msr-latency");
    cr_expect_eq(simulate(p.problem, (emp_device_id[]){1, 1, 2, 2}).step_time_ns, 106000);
    task_destroy(&p);
}

/* Two GPUs: the cuts are 10 + 1 | 90 + 1, 30 + 3 | 70 + 3, 40 + 4 | 60 + 4, and 60 + 6 | 40 + 6. */
Test(dp_contiguous, cuts_the_diamond_best)
{
    task          p;
    emp_device_id device[4];

    task_create_stated(&p, diamond, 4, diamond_edges, 5, 1, 2, ROOMY, "msr-load");
    cr_assert_eq(place(p.problem, NULL, device, NULL), EMP_OK);
    cr_expect_eq(simulate(p.problem, device).step_time_ns, 64000);
    task_destroy(&p);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* ---- blocks and ideals ---- */

static void expect_blocks(const stated_op *ops, int32_t op_count,
                          const stated_edge *edges, int32_t edge_count,
                          const int32_t *want, int32_t want_count)
{
    task       p;
    emp_blocks b;

    task_create_stated(&p, ops, op_count, edges, edge_count, 1, 2, ROOMY, "msr-load");
    cr_assert_eq(emp_blocks_init(&b, p.problem, NULL), EMP_OK);
    cr_expect_eq(b.count, want_count);
    for (int32_t i = 0; i < op_count; i++)
        cr_expect_eq(b.block_of_op[i], want[i], "op %d: %d", i, b.block_of_op[i]);
    emp_blocks_clear(&b);
    task_destroy(&p);
}

/* Classes 1 (ops 0 and 2) and 2 (ops 1 and 3) wait for each other. */
Test(blocks, join_classes_that_wait_for_each_other)
{
    const stated_op   ops[] = {{.gpu_us = 1, .cpu_us = 1, .color = 1},
                               {.gpu_us = 1, .cpu_us = 1, .color = 2},
                               {.gpu_us = 1, .cpu_us = 1, .color = 1},
                               {.gpu_us = 1, .cpu_us = 1, .color = 2},
                               {.gpu_us = 1, .cpu_us = 1}};
    const stated_edge edges[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};

    expect_blocks(ops, 5, edges, 4, (int32_t[]){0, 0, 0, 0, 1}, 2);
}

/* Weights that cost nothing, 0 and 1, one behind the other, are where op 2 is; op 3 costs nothing
 * but has two neighbours. */
Test(blocks, join_what_costs_nothing_to_its_only_neighbour)
{
    const stated_op   ops[] = {{.copy_us = 9},
                               {.copy_us = 9},
                               {.gpu_us = 1, .cpu_us = 1},
                               {.copy_us = 9},
                               {.gpu_us = 1, .cpu_us = 1}};
    const stated_edge edges[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};

    expect_blocks(ops, 5, edges, 4, (int32_t[]){0, 0, 0, 1, 2}, 3);
}

/* The backward op of class 2 has no forward op: as the mirror image it would come after class 1. */
/* The gradients of a transformer are named after their ops, and share no class with them. */
Test(blocks, have_gradients_with_the_ops_that_they_are_named_after)
{
    static const stated_op   ops[] = {{.name = "a", .gpu_us = 1, .cpu_us = 1},
                                      {.name = "b", .gpu_us = 1, .cpu_us = 1},
                                      {.name = "b/grad_input", .gpu_us = 1, .cpu_us = 1},
                                      {.name = "b/grad_weight", .gpu_us = 1, .cpu_us = 1},
                                      {.name = "a/grad", .gpu_us = 1, .cpu_us = 1},
                                      {.name = "a/gradual", .gpu_us = 1, .cpu_us = 1}};
    static const stated_edge edges[] = {{0, 1}, {1, 2}, {1, 3}, {2, 4}, {0, 4}, {1, 5}};
    task                     p;
    emp_blocks               b;

    task_create_stated(&p, ops, 6, edges, 6, 1, 2, ROOMY, "msr-load");
    cr_assert_eq(emp_blocks_init(&b, p.problem, NULL), EMP_OK);
    cr_expect_eq(b.count, 3);
    cr_expect_eq(b.block_of_op[4], b.block_of_op[0]);
    cr_expect_eq(b.block_of_op[2], b.block_of_op[1]);
    cr_expect_eq(b.block_of_op[3], b.block_of_op[1]);
    cr_expect_lt(b.block_of_op[0], b.block_of_op[1]);
    cr_expect_neq(b.block_of_op[5], b.block_of_op[0]);
    emp_blocks_clear(&b);
    task_destroy(&p);
}

/* Tokens, their table, the lookup, two layers, and the head, which shares the table. */
Test(blocks, have_a_tied_table_with_the_head_and_layers_apart)
{
    static const stated_op ops[] = {
        {.name = "tokens", .gpu_us = 1, .cpu_us = 1},
        {.name = "table", .gpu_us = 1, .cpu_us = 1, .color = 1},
        {.name = "lookup", .gpu_us = 1, .cpu_us = 1, .color = 1},
        {.name = "one", .gpu_us = 1, .cpu_us = 1},
        {.name = "two", .gpu_us = 1, .cpu_us = 1},
        {.name = "head", .gpu_us = 1, .cpu_us = 1, .color = 1}};
    static const stated_edge edges[] = {{0, 2}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {1, 5}};
    task                     p;
    emp_blocks               b;

    task_create_stated(&p, ops, 6, edges, 6, 1, 2, ROOMY, "msr-load");
    cr_assert_eq(emp_blocks_init(&b, p.problem, NULL), EMP_OK);
    cr_expect_eq(b.count, 4);
    cr_expect_eq(b.block_of_op[2], b.block_of_op[5]);
    cr_expect_lt(b.block_of_op[3], b.block_of_op[4]);
    cr_expect_lt(b.block_of_op[4], b.block_of_op[5]);
    emp_blocks_clear(&b);
    task_destroy(&p);
}

Test(blocks, order_lone_backward_ops_as_their_mirror_images)
{
    const stated_op   ops[] = {{.gpu_us = 1, .cpu_us = 1, .color = 1},
                               {"gradients/node1", .gpu_us = 1, .cpu_us = 1, .color = 2},
                               {"gradients/node2", .gpu_us = 1, .cpu_us = 1, .color = 1}};
    const stated_edge edges[] = {{0, 1}, {1, 2}};

    expect_blocks(ops, 3, edges, 2, (int32_t[]){0, 1, 0}, 2);
}

static int32_t count_ideals(const stated_op *ops, int32_t op_count,
                            const stated_edge *edges, int32_t edge_count)
{
    task       p;
    emp_blocks b;
    emp_ideals ideals;
    bool       is_whole;

    task_create_stated(&p, ops, op_count, edges, edge_count, 1, 2, ROOMY, "msr-load");
    cr_assert_eq(emp_blocks_init(&b, p.problem, NULL), EMP_OK);
    cr_assert_eq(emp_ideals_init(&ideals, &is_whole, &b, 1 << 20, NULL), EMP_OK);
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
    emp_blocks_clear(&b);
    task_destroy(&p);
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
    task          p;
    stated_op     ops[20];
    emp_device_id device[20];
    emp_error     err = {0};

    for (int32_t i = 0; i < 20; i++) ops[i] = (stated_op){.gpu_us = 1, .cpu_us = 50};
    task_create_stated(&p, ops, 20, NULL, 0, 1, 2, ROOMY, "msr-load");
    cr_expect_eq(place(p.problem, NULL, device, &err), EMP_EINFEASIBLE);
    cr_expect_not_null(strstr(err.msg, "20 blocks with more than 50000 ideals"), "%s",
                       err.msg);
    cr_expect_eq(place(p.problem, "order=either", device, NULL), EMP_OK);
    cr_expect_eq(simulate(p.problem, device).step_time_ns, 10000);
    cr_expect_eq(place(p.problem, "order=one", device, NULL), EMP_OK);
    cr_expect_eq(simulate(p.problem, device).step_time_ns, 10000);
    cr_expect_eq(place(p.problem, "ideals=2000000", device, NULL), EMP_OK);
    cr_expect_eq(simulate(p.problem, device).step_time_ns, 10000);
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

/* What takes no time takes no memory: it may be put anywhere. */
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

/* The least greatest load of all contiguous splits that fit, by the oracle. */
static emp_time_ns search_all(const draft *d, const emp_problem *problem)
{
    int32_t       devices = d->cpu_count + d->gpu_count, total = 1;
    emp_time_ns   best_ns = INT64_MAX;
    emp_sim      *sim = NULL;
    emp_device_id device_of_op[STATED_MAX_OPS];

    cr_assert_eq(emp_sim_create(&sim, problem, NULL), EMP_OK);
    for (int32_t c = 0; c < d->class_count; c++) total *= devices;
    for (int32_t number = 0; number < total; number++) {
        int32_t device_of_class[MAX_CLASSES], rest = number;
        bool    is_legal = true;
        for (int32_t c = 0; c < d->class_count; c++, rest /= devices)
            device_of_class[c] = rest % devices;
        for (int32_t op = 0; op < d->op_count; op++) {
            device_of_op[op] = device_of_class[d->class_of_op[op]];
            if (device_of_op[op] >= d->cpu_count && d->op[op].is_cpu_only)
                is_legal = false;
        }
        if (!is_legal || !is_contiguous(d, device_of_class)) continue;
        emp_sim_result r;
        cr_assert_eq(emp_sim_run(sim, device_of_op, &r, NULL), EMP_OK);
        if (r.is_feasible && r.step_time_ns < best_ns) best_ns = r.step_time_ns;
    }
    emp_sim_destroy(sim);
    return best_ns;
}

/* Other speeds and memories for each device. */
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
    cr_assert_eq(emp_problem_create(&unlike, p->graph, p->machine, &p->problem->runtime,
                                    "tiny", NULL),
                 EMP_OK);
    emp_problem_destroy(p->problem);
    p->problem = unlike;
}

static void expect_the_best(bool is_unlike)
{
    int32_t split = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        draft         d;
        task          p;
        emp_device_id device[STATED_MAX_OPS];
        emp_error     err = {0};
        draw_draft(&d, seed);
        task_create_stated(&p, d.op, d.op_count, d.edge, d.edge_count, d.cpu_count,
                           d.gpu_count, d.gpu_bytes, "msr-load");
        if (is_unlike) make_unlike(&p, seed);
        cr_assert_eq(place(p.problem, NULL, device, &err), EMP_OK, "%s", err.msg);
        emp_sim_result r = simulate(p.problem, device);
        emp_time_ns    best_ns = search_all(&d, p.problem);
        cr_expect(r.is_feasible, "seed %d", (int)seed);
        cr_expect_eq(r.step_time_ns, best_ns, "seed %d: %lld, not %lld", (int)seed,
                     (long long)r.step_time_ns, (long long)best_ns);
        for (int32_t op = 1; op < d.op_count; op++) {
            if (device[op] == device[0]) continue;
            split++;
            break;
        }
        task_destroy(&p);
    }
    cr_expect_gt(split, SEEDS / 2, "only %d are split at all", split);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(dp_contiguous, finds_the_best_of_all_contiguous_splits) { expect_the_best(false); }

Test(dp_contiguous, finds_the_best_on_heterogeneous_devices) { expect_the_best(true); }

Test(dp_contiguous, survives_every_allocation_failure)
{
    task          p;
    stated_op     ops[12];
    emp_device_id device[12];
    long          allowed = 0, live;
    emp_status    st = EMP_ENOMEM;

    for (int32_t i = 0; i < 12; i++) ops[i] = (stated_op){.gpu_us = 1, .cpu_us = 50};
    task_create_stated(&p, ops, 12, NULL, 0, 1, 2, ROOMY, "msr-load");
    live = emp_mem_live_blocks();
    for (; st != EMP_OK; allowed++) {
        emp_mem_fail_after(allowed);
        st = place(p.problem, NULL, device, NULL);
        emp_mem_fail_after(-1);
        if (st == EMP_OK) break;
        cr_assert_eq(st, EMP_ENOMEM, "after %ld: %s", allowed, emp_status_str(st));
        cr_assert_eq(emp_mem_live_blocks(), live, "leaks after %ld", allowed);
    }
    cr_expect_gt(allowed, 50);
    task_destroy(&p);
}
