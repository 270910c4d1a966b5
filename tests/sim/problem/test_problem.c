// SPDX-License-Identifier: GPL-3.0-or-later
/* Do problems know who leads a class and where it may go, and do variants leave the original
 * unchanged? Problems are random; a second implementation of the rules is beside them.
 * Units of a pipeline follow one another on each device. */
#include "base/rng.h"
#include "sim/problem/problem.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/sim/graph/kit.h"
#include "tests/support/problems.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

enum { SEEDS = 60 };

TestSuite(problem, .fini = expect_all_freed);
TestSuite(variant, .fini = expect_all_freed);

/* The kinds that the class of an op allows, from all of its live members. */
static uint32_t kinds_of(const emp_graph *g, int32_t class)
{
    uint32_t kinds = EMP_KIND_CPU | EMP_KIND_GPU;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (g->op[op].colocation_class == class && !g->op[op].is_folded)
            kinds &= g->op[op].kinds;
    return kinds | EMP_KIND_CPU;
}

/* The first op of the class that runs, or else its first op. */
static emp_op_id leader_of(const emp_graph *g, int32_t class)
{
    emp_op_id first = -1;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (g->op[op].colocation_class != class) continue;
        if (!g->op[op].is_folded) return op;
        if (first < 0) first = op;
    }
    return first;
}

Test(problem, knows_leaders_and_kinds_of_its_classes)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        OWN_TASK    r;
        OWN_PROBLEM p = NULL;
        random_problem_create(&r, seed);
        const emp_graph *g = r.graph;
        ASSERT_OK(emp_problem_create(&p, g, r.machine, &r.problem->runtime, "w", NULL));
        for (int32_t c = 0; c < g->class_count; c++) {
            cr_expect_eq(p->kinds_of_class[c], kinds_of(g, c), SEED);
            cr_expect_eq(p->leader_of_class[c], leader_of(g, c), SEED);
        }
        for (emp_op_id op = 0; op < g->op_count; op++)
            cr_expect_eq(p->class_of_op[op],
                         g->op[op].is_folded ? -1 : g->op[op].colocation_class);
        cr_expect_str_eq(p->workload, "w");
    }
}

/* Each op by itself: the device of its leader, or the CPU of that device's host. */
static emp_device_id legal_device(const emp_problem *p, const emp_device_id *proposed,
                                  emp_op_id op)
{
    const emp_graph *g = p->graph;
    int32_t class = g->op[op].colocation_class;

    if (g->op[op].is_folded) return proposed[op];
    emp_device_id device = proposed[leader_of(g, class)];
    return kinds_of(g, class) & EMP_KIND_GPU ? device : p->machine->device[device].host;
}

Test(problem, makes_placements_legal_as_stated_and_leaves_legal_ones)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        OWN_TASK r;
        emp_rng  rng;
        emp_rng_init(&rng, seed, 1, 0);
        random_problem_create_hosts(&r, seed);
        const emp_problem          *p = r.problem;
        size_t                      count = (size_t)p->graph->op_count;
        OWN_EMP_FREE emp_device_id *proposed = EMP_NEW_ARRAY(emp_device_id, count);
        OWN_EMP_FREE emp_device_id *legal = EMP_NEW_ARRAY(emp_device_id, count);
        for (size_t op = 0; op < count; op++)
            legal[op] = proposed[op] =
                (emp_device_id)emp_rng_below(&rng, (uint32_t)p->machine->device_count);
        emp_problem_legalize(p, legal);
        for (size_t op = 0; op < count; op++)
            cr_expect_eq(legal[op], legal_device(p, proposed, (emp_op_id)op),
                         "seed %d, op %zu", (int)seed, op);
        memcpy(proposed, legal, count * sizeof *legal);
        emp_problem_legalize(p, legal);
        cr_expect_arr_eq(legal, proposed, count * sizeof *legal);
    }
}

/* Where a class may be by itself decides; the engine refuses what is not allowed. */
Test(problem, gives_ops_the_memory_that_the_context_of_a_gpu_leaves)
{
    const int64_t context_bytes = INT64_C(1) << 20;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        OWN_TASK    r;
        OWN_PROBLEM p = NULL;
        random_problem_create(&r, seed);
        emp_runtime runtime = r.problem->runtime;
        runtime.rules = EMP_RULES_EVENTS;
        runtime.events.gpu_context_bytes = context_bytes;
        ASSERT_OK(emp_problem_create(&p, r.graph, r.machine, &runtime, "w", &err));
        for (int32_t d = 0; d < r.machine->device_count; d++) {
            const emp_device *device = &r.machine->device[d];
            const int64_t     least = device->memory_bytes / 8 < context_bytes
                                          ? device->memory_bytes / 8
                                          : context_bytes;
            cr_expect_eq(p->machine->device[d].memory_bytes,
                         device->memory_bytes -
                             (device->kind == EMP_DEVICE_GPU ? least : 0));
        }
        cr_expect_eq(p->machine->hash, r.machine->hash);
    }
}

/* A client with a CPU, and two servers with a CPU and a GPU each, on links of 1 GB/s and 10 us. */
#define HOST(name) \
    "  - {name: " name ", parent: network, bandwidth: 1 GB/s, latency: 10 us}\n"

static const char client_machine[] =
    "description: a client and two servers\nnodes:\n  - {name: network}\n" HOST("client")
        HOST("server-0") HOST("server-1") "devices:\n"
                                          "  - {model: ryzen-16, at: client}\n"
                                          "  - {model: ryzen-16, at: server-0}\n"
                                          "  - {model: rtx3090, at: server-0}\n"
                                          "  - {model: ryzen-16, at: server-1}\n"
                                          "  - {model: rtx3090, at: server-1}\n";

/* A task on it, and the machine as it is without the runtime's hops. */
static emp_machine *create_on_client_machine(task *t, const char *runtime)
{
    char         path[SCRATCH_PATH_BYTES];
    emp_machine *m = NULL;

    scratch_create();
    scratch_write_text(path, sizeof path, "client.yaml", client_machine);
    task_create(t, "giph", path, runtime);
    ASSERT_OK(emp_machine_load(&m, path, &err));
    scratch_remove();
    return m;
}

enum { CLIENT, SERVER_0, GPU_0, SERVER_1, GPU_1 };

Test(problem, copies_to_other_hosts_take_the_hop_of_the_runtime)
{
    OWN_TASK    t;
    OWN_MACHINE m = create_on_client_machine(&t, "exo");

    for (int32_t a = 0; a < m->device_count; a++) {
        for (int32_t b = 0; b < m->device_count; b++) {
            const bool       crosses = m->device[a].host != m->device[b].host;
            const emp_route *r = &t.problem->machine->route[a][b];
            cr_expect_eq(emp_problem_hop_s(t.problem, a, b) > 0.0, crosses);
            cr_expect_float_eq(r->latency_s - m->route[a][b].latency_s,
                               crosses ? 0.5e-3 : 0.0, 1e-12);
            cr_expect_eq(r->bytes_per_s, m->route[a][b].bytes_per_s);
        }
    }
}

/* llama.cpp: a tensor from server to server is read by the client and written on, so it takes both ways, one after the
 * other, and the hop at its end. The client itself needs no hop. */
Test(problem, a_client_stands_between_servers)
{
    OWN_TASK    t;
    OWN_MACHINE m = create_on_client_machine(&t, "llama-cpp");
    const emp_route(*route)[EMP_MAX_DEVICES] = t.problem->machine->route;
    const double one = m->route[CLIENT][GPU_0].latency_s, hop = 8.7e-3;

    cr_expect_float_eq(route[CLIENT][GPU_0].latency_s, one + hop, 1e-12);
    cr_expect_float_eq(route[GPU_0][CLIENT].latency_s, one, 1e-12);
    cr_expect_float_eq(route[GPU_0][SERVER_0].latency_s,
                       m->route[GPU_0][SERVER_0].latency_s, 1e-12);
    cr_expect_float_eq(route[GPU_0][GPU_1].latency_s, 2 * one + hop, 1e-12);
    cr_expect_float_eq(route[CLIENT][GPU_1].bytes_per_s, 1e9, 1.0);
    cr_expect_float_eq(route[GPU_0][GPU_1].bytes_per_s, 0.5e9, 1.0);
    /* the PCIe links of both cards, and both ways of three hosts but what only begins or ends there */
    cr_expect_eq(route[GPU_0][GPU_1].link_count,
                 m->route[GPU_0][CLIENT].link_count + m->route[CLIENT][GPU_1].link_count);
}

/* Studies that change links time the routes of a copy again: hops and both ways through a client stay. */
Test(problem, changed_links_keep_what_the_runtime_adds)
{
    OWN_TASK     t;
    OWN_MACHINE  m = create_on_client_machine(&t, "llama-cpp");
    OWN_MACHINE  changed = emp_machine_copy(t.problem->machine);
    const double one = m->route[CLIENT][GPU_0].latency_s, hop = 8.7e-3;

    ASSERT_OK(emp_problem_time_routes(t.problem, changed, &err));
    for (int32_t i = 0; i < m->device_count * m->device_count; i++) {
        const int32_t    from = i / m->device_count, to = i % m->device_count;
        const emp_route *a = &t.problem->machine->route[from][to];
        const emp_route *b = &changed->route[from][to];
        cr_expect(from == to ||
                      (a->latency_s == b->latency_s && a->bytes_per_s == b->bytes_per_s &&
                       a->link_count == b->link_count),
                  "from %d to %d", from, to);
    }
    emp_problem_scale_latencies(t.problem, changed, 0.5);
    cr_expect_float_eq(changed->route[GPU_0][GPU_1].latency_s, one + hop, 1e-12);
    cr_expect_float_eq(changed->route[GPU_0][CLIENT].latency_s, one / 2, 1e-12);
    for (int32_t l = 0; l < changed->link_count; l++) changed->link[l].latency_s = 0.0;
    ASSERT_OK(emp_problem_time_routes(t.problem, changed, &err));
    cr_expect_gt(one, 0.0);
    cr_expect_float_eq(changed->route[GPU_0][GPU_1].latency_s, hop, 1e-12);
    cr_expect_float_eq(changed->route[GPU_0][GPU_1].bytes_per_s, 0.5e9, 1.0);
}

static int64_t kept_of(const char *ops, const char *machine, emp_device_id device)
{
    emp_graph_builder *b = kit_begin();
    OWN_MACHINE        m = NULL;
    OWN_PROBLEM        p = NULL;
    emp_runtime        runtime;

    kit_ops(b, ops);
    OWN_GRAPH g = kit_finish(b);
    ASSERT_OK(emp_machine_load(&m, machine, &err));
    ASSERT_OK(emp_runtime_init(&runtime, "torch-eager", &err));
    ASSERT_OK(emp_problem_create(&p, g, m, &runtime, "w", &err));
    const int64_t kept =
        m->device[device].memory_bytes - p->machine->device[device].memory_bytes;
    return kept;
}

/* Only where a graph has collectives, and GPUs to have them with. */
Test(problem, keeps_the_buffers_of_collectives)
{
    const char   *reduce = "x = f[64]; y = _c10d_functional.all_reduce x";
    const char   *add = "x = f[64]; y = aten.relu.default x";
    const int64_t mib = 1 << 20;

    cr_expect_eq(kept_of(reduce, "dgx-h100", 2), (723 + 688) * mib);
    cr_expect_eq(kept_of(add, "dgx-h100", 2), 723 * mib);
    cr_expect_eq(kept_of(reduce, "h200x1", 1), 723 * mib);
    cr_expect_eq(kept_of(reduce, "dgx-h100", 0), 0, "a CPU");
}

Test(problem, forbids_cpus_to_what_gpus_can_do)
{
    int32_t moved = 0, kept_in_all = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        task         r;
        emp_problem *p = NULL;
        int32_t      kept = 0, expected = 0;
        random_problem_create(&r, seed);
        const emp_graph *g = r.graph;
        ASSERT_OK(emp_problem_create(&p, g, r.machine, &r.problem->runtime, "w", NULL));
        emp_status st = emp_problem_forbid_cpus(p, &kept, NULL);
        bool       has_gpus = emp_machine_count(r.machine, EMP_DEVICE_GPU) > 0;
        cr_assert_eq(st, has_gpus ? EMP_OK : EMP_EINVAL);
        memset(r.device_of_op, 0, (size_t)g->op_count * sizeof *r.device_of_op);
        emp_problem_legalize(p, r.device_of_op);
        for (emp_op_id op = 0; has_gpus && op < g->op_count; op++) {
            bool has_gpu = (kinds_of(g, g->op[op].colocation_class) & EMP_KIND_GPU) != 0;
            if (g->op[op].is_folded) continue;
            cr_expect_eq(emp_problem_allows(p, op, 0), !has_gpu);
            emp_device_kind kind = r.machine->device[r.device_of_op[op]].kind;
            cr_expect_eq(kind, has_gpu ? EMP_DEVICE_GPU : EMP_DEVICE_CPU);
            expected += !has_gpu;
            moved += has_gpu;
        }
        cr_expect_eq(kept, expected, SEED);
        kept_in_all += kept;
        emp_problem_destroy(p);
        task_destroy(&r);
    }
    cr_expect_gt(moved, 0);
    cr_expect_gt(kept_in_all, 0);
}

Test(problem, cannot_forbid_cpus_where_nothing_else_is)
{
    OWN_TASK    t = task_chain(16);
    OWN_MACHINE cpu = NULL;
    OWN_PROBLEM p = NULL;

    ASSERT_OK(emp_machine_create(&cpu, "one", 1, 0, 1, &err));
    ASSERT_OK(emp_problem_create(&p, t.graph, cpu, &t.problem->runtime, "w", &err));
    EXPECT_REFUSED(emp_problem_forbid_cpus(p, NULL, &err), EMP_EINVAL,
                   "machine one, which has no GPU");
}

Test(variant, changes_and_goes_back_without_touching_the_original)
{
    OWN_TASK            r;
    emp_problem_variant v = {0};

    random_problem_create(&r, 3);
    const emp_problem *p = r.problem;
    const emp_time_ns  compute_ns = p->costs->gpu[0].compute_ns;
    const int64_t      memory_bytes = p->machine->device[0].memory_bytes;
    cr_assert_eq(emp_problem_variant_init(&v, p, NULL), EMP_OK);
    cr_expect_eq(v.problem.graph, p->graph);
    for (int round = 0; round < 2; round++) {
        cr_expect_eq(v.costs.gpu[0].compute_ns, compute_ns);
        cr_expect_eq(v.problem.machine->device[0].memory_bytes, memory_bytes);
        cr_expect_eq(v.problem.runtime.check_memory, p->runtime.check_memory);
        v.costs.gpu[0].compute_ns += 5;
        v.costs.task_ns[0] += 5;
        v.machine->device[0].memory_bytes += 5;
        v.problem.runtime.check_memory = !v.problem.runtime.check_memory;
        cr_expect_eq(p->costs->gpu[0].compute_ns, compute_ns);
        cr_expect_eq(p->machine->device[0].memory_bytes, memory_bytes);
        emp_problem_variant_restore(&v);
    }
    cr_expect_eq(v.costs.task_ns[0], p->costs->task_ns[0]);
    emp_problem_variant_clear(&v);
}

Test(variant, survives_every_allocation_failure)
{
    OWN_TASK            r;
    emp_problem_variant v = {0};

    random_problem_create(&r, 3);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_problem_variant_init(&v, r.problem, NULL),
                                      emp_problem_variant_clear(&v));
    emp_problem_variant_clear(&v);
}

/* ---- units of a pipeline ---- */

/* Ops 0 to 4 are units; op 5 belongs to unit 2, and op 6 to none. */
enum { UNITS = 5, GUEST = 5, FREE = 6, OPS = 7, DEVICES = 3, CPU = 0 };

static const tiny_op ops[OPS];
static const int32_t class_of_unit[UNITS] = {0, 1, 2, 3, 4};
static const int32_t home_of_class[OPS] = {-1, -1, -1, -1, -1, 2, -1};

static emp_problem *create(task *t)
{
    emp_runtime runtime = tiny_serial();

    task_create_tiny(t, ops, OPS, &runtime);
    cr_assert_eq(t->graph->class_count, OPS);
    ASSERT_OK(
        emp_problem_set_sequence(t->problem, class_of_unit, UNITS, home_of_class, NULL));
    return t->problem;
}

/* A device that comes again has been left before; nothing comes before the CPU. */
static bool is_sequence(const emp_device_id *device)
{
    for (int i = 1; i < UNITS; i++) {
        if (device[i] == device[i - 1]) continue;
        if (device[i] == CPU) return false;
        for (int k = 0; k < i; k++)
            if (device[k] == device[i]) return false;
    }
    return true;
}

Test(sequence, every_placement_becomes_one_and_stays)
{
    task         t;
    emp_problem *p = create(&t);
    int          kept = 0;

    for (int number = 0; number < 243; number++) {
        emp_device_id asked[OPS] = {0}, got[OPS], again[OPS];
        for (int i = 0, rest = number; i < UNITS; i++, rest /= DEVICES)
            asked[i] = rest % DEVICES;
        asked[GUEST] = asked[2];
        asked[FREE] = number % DEVICES;
        memcpy(got, asked, sizeof got);
        emp_problem_legalize(p, got);
        cr_assert(is_sequence(got), "placement %d", number);
        cr_expect_eq(got[GUEST], got[2]);
        cr_expect_eq(got[FREE], asked[FREE]);
        if (is_sequence(asked)) cr_expect_eq(memcmp(got, asked, sizeof got), 0);
        kept += is_sequence(asked);
        memcpy(again, got, sizeof again);
        emp_problem_legalize(p, again);
        cr_expect_eq(memcmp(got, again, sizeof got), 0, "placement %d", number);
    }
    cr_expect_gt(kept, 20);
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static void expect(emp_problem *p, const emp_device_id *asked,
                   const emp_device_id *wanted)
{
    emp_device_id got[OPS];

    memcpy(got, asked, sizeof got);
    emp_problem_legalize(p, got);
    for (int i = 0; i < OPS; i++) cr_expect_eq(got[i], wanted[i], "op %d", i);
}

Test(sequence, the_fewest_units_move)
{
    OWN_TASK     t;
    emp_problem *p = create(&t);

    expect(p, (emp_device_id[OPS]){2, 1, 2, 1, 1, 2, 0},
           (emp_device_id[OPS]){2, 2, 2, 1, 1, 2, 0});
    expect(p, (emp_device_id[OPS]){1, 1, 0, 1, 2, 2, 0},
           (emp_device_id[OPS]){1, 1, 1, 1, 2, 2, 0}); /* the guest was elsewhere */
    expect(p, (emp_device_id[OPS]){1, 0, 0, 0, 2, 0, 0},
           (emp_device_id[OPS]){0, 0, 0, 0, 2, 0, 0});
}

/* A CPU and two GPUs of 1 MiB each, of which the second GPU is withheld. */
Test(sequence, has_nothing_on_a_device_that_is_withheld)
{
    OWN_TASK     t;
    emp_problem *p = create(&t);

    cr_expect(emp_problem_allows(p, FREE, 2));
    t.graph->op[FREE].persistent_bytes = 5 << 19;
    cr_expect_eq(emp_problem_find_shortage(p).kinds, 0);
    emp_sequence_withhold(p, 2, 1);
    cr_expect_not(emp_problem_allows(p, FREE, 2));
    cr_expect(emp_problem_allows(p, FREE, 1));
    expect(p, (emp_device_id[OPS]){2, 2, 2, 1, 1, 2, 2},
           (emp_device_id[OPS]){1, 1, 1, 1, 1, 1, 1});
    cr_expect_eq(emp_problem_find_shortage(p).memory_bytes, 2 << 20);
    cr_expect(emp_problem_has_choice(p));
    emp_sequence_withhold(p, 1, 0);
    emp_sequence_withhold(p, 2, 0);
    cr_expect_not(emp_problem_has_choice(p));
}

Test(sequence, is_bounded_and_survives_short_memory)
{
    static int32_t many[EMP_SEQUENCE_UNITS_MAX + 1];
    task           t;
    emp_problem   *p = create(&t);

    EXPECT_REFUSED(emp_problem_set_sequence(p, many, EMP_SEQUENCE_UNITS_MAX + 1,
                                            home_of_class, &err),
                   EMP_EINVAL, "at most 2064 units");
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_problem_set_sequence(p, class_of_unit, UNITS, home_of_class, NULL), (void)0);
    task_destroy(&t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

enum { JOINED = 6 };

/* Ops 0 and 1 are bound already. */
static const tiny_op joined_ops[JOINED] = {{.weight = 1}, {.weight = 1}, {.weight = 1},
                                           {.weight = 1}, {.weight = 1}, {.weight = 1}};

static emp_graph *create_joined(task *t)
{
    emp_runtime runtime = tiny_serial();

    task_create_tiny(t, joined_ops, JOINED, &runtime);
    t->graph->op[1].colocation_class = t->graph->op[0].colocation_class;
    for (emp_op_id op = 2; op < JOINED; op++) t->graph->op[op].colocation_class = op - 1;
    t->graph->class_count = JOINED - 1;
    return t->graph;
}

Test(join_classes, joins_sets_with_what_they_were_bound_to)
{
    static const int32_t set[JOINED] = {-1, 4, -1, 4, 0, 0},
                         want[JOINED] = {0, 0, 1, 0, 2, 2};
    OWN_TASK       t;
    emp_graph     *g = create_joined(&t);
    const uint64_t hash = g->hash;

    cr_assert_eq(emp_graph_join_classes(g, set, NULL), EMP_OK);
    cr_expect_eq(g->class_count, 3);
    for (emp_op_id op = 0; op < JOINED; op++)
        cr_expect_eq(g->op[op].colocation_class, want[op], "op %d", op);
    cr_expect_eq(g->hash, hash);
}

Test(join_classes, changes_nothing_without_sets_or_without_memory)
{
    static const int32_t none[JOINED] = {-1, -1, -1, -1, -1, -1};
    OWN_TASK             t;
    emp_graph           *g = create_joined(&t);

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_graph_join_classes(g, none, NULL),
                                      cr_assert_eq(g->class_count, JOINED - 1));
    cr_expect_eq(g->class_count, JOINED - 1);
    for (emp_op_id op = 0; op < JOINED; op++)
        cr_expect_eq(g->op[op].colocation_class, op < 2 ? 0 : op - 1);
}
