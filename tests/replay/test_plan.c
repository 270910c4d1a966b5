// SPDX-License-Identifier: GPL-3.0-or-later
/* Plans say what the simulator says of a placement: what moves, and which ops cost; their
 * text form comes back as it was, and nothing else is taken for it. */
#include "graphs/workloads/workloads.h"
#include "replay/planner/planner.h"
#include "sim/engine/sim.h"
#include "tests/replay/fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/status.h"

EMP_OWNS(emp_replay_plan, emp_replay_plan_destroy)
#define OWN_PLAN EMP_OWNER(emp_replay_plan)

TestSuite(plan, .init = scratch_create, .fini = scratch_remove);

Test(plan, as_many_copies_of_as_many_bytes_as_the_simulator_counts)
{
    for (int32_t seed = 0; seed < 3; seed++) {
        OWN_TASK       f;
        OWN_SIM        sim = NULL;
        emp_sim_result r;
        int64_t        bytes = 0;

        replay_fixture_create(&f, REPLAY_SMALL_NMT, seed);
        OWN_PLAN plan = replay_fixture_plan(&f);
        MUST(emp_sim_create(&sim, f.problem, &why));
        MUST(emp_sim_run(sim, f.device_of_op, &r, &why));
        for (int32_t c = 0; c < plan->copy_count; c++) bytes += plan->copy[c].bytes;
        cr_expect_eq(plan->copy_count, r.transfer_count);
        cr_expect_eq(bytes, r.traffic_bytes);
        cr_expect_gt(plan->copy_count, 100);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static void expect_kernels(const char *spec)
{
    task f;

    replay_fixture_create(&f, spec, -2);
    for (emp_op_id op = 0; op < f.graph->op_count; op++) {
        const emp_op *o = &f.graph->op[op];
        emp_kernel    k = emp_kernel_of_op(f.graph, op);
        if (o->is_folded || o->cost->op_class == EMP_OP_KERNELLESS) continue;
        cr_expect_neq(k.kind, EMP_KERNEL_NOTHING, "%s", f.graph->name[op]);
        if (o->cost->op_class == EMP_OP_GEMM || o->cost->op_class == EMP_OP_CONV)
            cr_expect_float_eq(emp_kernel_flops(&k) / o->cost->flops, 1.0, 1e-9, "%s",
                               f.graph->name[op]);
    }
    emp_replay_plan_destroy(replay_fixture_plan(&f)); /* which checks it */
    task_destroy(&f);
}

Test(plan, every_op_that_costs_has_a_kernel)
{
    static const char *const networks[] = {"inception_v3", "resnet",
                                           "rnnlm",        "nmt:layers=2",
                                           "nmt:layers=4", "nmt:layers=8"};

    for (size_t i = 0; i < COUNT(networks); i++) expect_kernels(networks[i]);
}

Test(plan, windows_and_strides_are_found_from_shapes)
{
    task f;
    int  convs = 0, pools = 0, found = 0;

    replay_fixture_create(&f, "inception_v3", -2);
    for (emp_op_id op = 0; op < f.graph->op_count; op++) {
        emp_kernel  k = emp_kernel_of_op(f.graph, op);
        const char *name = f.graph->name[op];
        if (strcmp(name, "InceptionV3/InceptionV3/Conv2d_1a_3x3/Conv2D") == 0) {
            found++;
            cr_expect_eq(k.size[EMP_CONV_KH], 3);
            cr_expect_eq(k.size[EMP_CONV_SH], 2);
            cr_expect_eq(k.size[EMP_CONV_PH], 0, "VALID");
        }
        if (k.kind == EMP_KERNEL_CONV) convs++;
        if (k.kind != EMP_KERNEL_POOL) continue;
        pools++;
        int64_t side = k.size[EMP_POOL_KH];
        cr_expect(side == 3 || side == 5 || side == 8, "%s: %d", name, (int)side);
    }
    cr_expect_eq(found, 1);
    cr_expect_gt(convs, 100);
    cr_expect_gt(pools, 20);
    task_destroy(&f);
}

/* ---- files ---- */

Test(plan, comes_back_from_its_file)
{
    task             f;
    emp_replay_plan *loaded = NULL;

    replay_fixture_create(&f, REPLAY_SMALL_NMT, 1);
    emp_replay_plan *plan = replay_fixture_plan(&f);
    plan->origin.predicted_s = 0.25;
    MUST(emp_replay_plan_save(scratch_path("plan.txt"), plan, &why));
    MUST(emp_replay_plan_load(&loaded, scratch_path("plan.txt"), &why));
    cr_expect_eq(emp_replay_plan_hash(loaded), emp_replay_plan_hash(plan));
    cr_expect_eq(loaded->origin.graph_hash, f.graph->hash);
    cr_expect_eq(loaded->origin.predicted_s, 0.25);
    cr_expect_eq(loaded->reuse_inputs, plan->reuse_inputs);
    cr_expect_str_eq(loaded->origin.workload, REPLAY_SMALL_NMT);
    for (int32_t op = 0; op < plan->op_count; op++) {
        cr_assert_str_eq(loaded->op[op].name, plan->op[op].name);
        cr_assert_str_eq(loaded->op[op].type, plan->op[op].type);
    }
    emp_replay_plan_destroy(loaded);
    emp_replay_plan_destroy(plan);
    task_destroy(&f);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static char *text;

static size_t write_small_plan(void)
{
    task   f;
    size_t size;

    replay_fixture_create(&f, "rnnlm:layers=1,units=4,batch=2,steps=1,vocab=8,sampled=0",
                          0);
    emp_replay_plan *plan = replay_fixture_plan(&f);
    MUST(emp_replay_plan_save(scratch_path("plan.txt"), plan, &why));
    emp_replay_plan_destroy(plan);
    task_destroy(&f);
    text = scratch_read("plan.txt", &size);
    return size;
}

Test(plan, half_a_file_is_refused)
{
    size_t size = write_small_plan();

    for (size_t cut = 0; cut < size; cut += size / 97) {
        emp_replay_plan *plan = NULL;
        scratch_write("half.txt", text, cut);
        MUST_FAIL(emp_replay_plan_load(&plan, scratch_path("half.txt"), &why),
                  EMP_EFORMAT, "half.txt");
        cr_assert_null(plan);
    }
    free(text);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Names and origins: an executor does the same whatever they are. */
static bool is_in_name(const char *at)
{
    static const char *const origins[] = {"workload ",  "machine ", "runtime ",
                                          "placement ", "graph ",   "predicted_s "};
    const char              *line = at;
    int                      word = 0;

    while (line > text && line[-1] != '\n') line--;
    for (const char *c = line; c < at; c++) word += *c == ' ';
    for (size_t i = 0; i < COUNT(origins); i++)
        if (strncmp(line, origins[i], strlen(origins[i])) == 0) return true;
    return (strncmp(line, "op ", 3) == 0 && (word == 1 || word == 2)) ||
           (strncmp(line, "device ", 7) == 0 && word == 1);
}

/* The last digits of 17 may name the same number. */
static bool is_beyond_a_double(const char *at)
{
    int digits = 0;

    while (at > text && ((at[-1] >= '0' && at[-1] <= '9') || at[-1] == '.'))
        digits += *--at != '.';
    return digits >= 15;
}

/* A digit changed anywhere is seen, or makes another plan, if it is in no name. */
Test(plan, a_changed_digit_is_seen)
{
    size_t           size = write_small_plan();
    int              seen = 0, tried = 0;
    emp_replay_plan *plan = NULL;

    MUST(emp_replay_plan_load(&plan, scratch_path("plan.txt"), &why));
    uint64_t hash = emp_replay_plan_hash(plan);
    emp_replay_plan_destroy(plan);
    for (size_t at = 0; at < size; at += 7) {
        if (text[at] < '0' || text[at] > '9' || is_in_name(&text[at]) ||
            is_beyond_a_double(&text[at]))
            continue;
        char kept = text[at];
        text[at] = kept == '9' ? '0' : (char)(kept + 1);
        scratch_write("changed.txt", text, size);
        text[at] = kept;
        tried++;
        if (emp_replay_plan_load(&plan, scratch_path("changed.txt"), NULL) == EMP_OK) {
            cr_expect_neq(emp_replay_plan_hash(plan), hash, "%.40s", &text[at]);
            emp_replay_plan_destroy(plan);
        } else {
            seen++;
        }
    }
    cr_expect_gt(tried, 400);
    cr_expect_gt(seen, tried / 3, "%d of %d", seen, tried);
    free(text);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(plan, counts_beyond_the_file_ask_for_no_memory)
{
    static const char greedy[] =
        "emplace-replay-plan-1\nworkload w\nmachine m\nruntime r\nplacement p\n"
        "graph 0123456789abcdef\npredicted_s -1\nreuse_inputs 1\n"
        "counts 1 90000000 90000000 90000000 90000000 90000000 900000000\n";
    emp_replay_plan *plan = NULL;

    scratch_write("greedy.txt", greedy, sizeof greedy - 1);
    MUST_FAIL(emp_replay_plan_load(&plan, scratch_path("greedy.txt"), &why), EMP_EFORMAT,
              "more than the file holds");
}

Test(plan, a_kernel_beyond_its_tensors_is_refused)
{
    task f;

    replay_fixture_create(&f, REPLAY_SMALL_NMT, 0);
    emp_replay_plan *plan = replay_fixture_plan(&f);
    for (int32_t op = 0; op < plan->op_count; op++) {
        emp_kernel *k = &plan->op[op].kernel;
        if (k->kind != EMP_KERNEL_PRODUCT) continue;
        k->size[EMP_PRODUCT_N]++;
        break;
    }
    MUST_FAIL(emp_replay_plan_check(plan, &why), EMP_EFORMAT, "MatMul");
    emp_replay_plan_destroy(plan);
    task_destroy(&f);
}

/* Replay executes TensorFlow's ops, in fp32. */
Test(plan, ops_without_a_kernel_are_named)
{
    static const char *const cases[][2] = {
        {"transformer:layers=1,dtype=fp32", "has no kernel for"},
        {"transformer:layers=1,dtype=bf16", "bfloat16"},
        {"bert:layers=1,dtype=fp32", "attention.self"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        OWN_TASK         f;
        emp_replay_plan *plan = NULL;
        replay_fixture_create(&f, cases[i][0], 0);
        MUST_FAIL(emp_replay_plan_from_problem(&plan, f.problem, f.device_of_op, &why),
                  EMP_EUNSUPPORTED, cases[i][1]);
        cr_expect_null(plan);
    }
}

/* Kernels that 16 floats in each operand suffice for: three inputs, two outputs. */
static const struct {
    emp_kernel kernel;
    bool       reads_floats; /* an input of a float is too short */
} kernel_cases[] = {
    {{EMP_KERNEL_NOTHING, 0, {0}}, false},
    {{EMP_KERNEL_PRODUCT, 3, {4, 4, 4, 1, 0, 1}}, true},
    {{EMP_KERNEL_CONV, 6, {1, 2, 2, 2, 1, 1, 2, 2, 2, 1, 1, 0, 0}}, true},
    {{EMP_KERNEL_MAP, 2, {16}}, false},
    {{EMP_KERNEL_REDUCE, 1, {16, 4}}, true},
    {{EMP_KERNEL_MOVE, 1, {4, 4, 1}}, true},
    {{EMP_KERNEL_LOOKUP, 0, {4, 4}}, true},
    {{EMP_KERNEL_SCATTER, 1, {4, 4, 1, 1, 2}}, true},
    {{EMP_KERNEL_FILL, 1, {0}}, false},
    {{EMP_KERNEL_SOFTMAX, 1, {4, 4}}, true},
    {{EMP_KERNEL_NORM, 1, {2, 4, 2}}, true},
    {{EMP_KERNEL_POOL, 7, {1, 2, 2, 4, 2, 2, 2, 2, 1, 1}}, true},
    {{EMP_KERNEL_UPDATE, 1, {16, 1, 1}}, true},
    {{EMP_KERNEL_HOST, 0, {1}}, false},
};

Test(plan, kernels_stay_within_what_they_read)
{
    for (size_t i = 0; i < COUNT(kernel_cases); i++) {
        const emp_kernel *k = &kernel_cases[i].kernel;
        OWN_PLAN          p = replay_fixture_kernel(k, 16);
        MUST(emp_replay_plan_check(p, &why));
        p->op[1].kernel.variant++; /* the last one there is */
        cr_expect_eq(emp_replay_plan_check(p, NULL), EMP_EFORMAT, "kernel %zu", i);
        p->op[1].kernel.variant = 255;
        MUST_FAIL(emp_replay_plan_check(p, &why), EMP_EFORMAT, "variant 255");
        p->op[1].kernel.variant = k->variant;
        p->copy[0].bytes = sizeof(float);
        MUST_FAIL(emp_replay_plan_check(p, &why), EMP_EFORMAT, "longer than");
        for (int32_t n = 0; n < 3; n++) p->input[n].bytes = sizeof(float);
        cr_expect_eq(emp_replay_plan_check(p, NULL),
                     kernel_cases[i].reads_floats ? EMP_EFORMAT : EMP_OK, "kernel %zu",
                     i);
    }
}

Test(plan, survives_every_allocation_failure)
{
    OWN_TASK f;
    OWN_PLAN plan = NULL;

    replay_fixture_create(&f, REPLAY_SMALL_NMT, 0);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_replay_plan_from_problem(&plan, f.problem, f.device_of_op, NULL),
        cr_assert_null(plan));
}
