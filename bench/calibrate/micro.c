// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/calibrate/micro.h"

#include <stdio.h>

#include "base/mem.h"
#include "bench/calibrate/micro_work.h"

/* One benchmark: what is built, of which sizes, how often. */
struct entry {
    const char     *name;
    emp_micro_work *build;
    int64_t         size[8];
    int32_t         repeats;
};

/* Of size: whether devices work at once, because it is built twice, for both groups, or by itself. */
enum { AT_ONCE = 7, TWICE = 1, ITSELF = 2 };

/* ---- the lists --------------------------------------------------------------------- */

enum { KIB = 1 << 10, MIB = 1 << 20 };

static const struct entry of_cores[] = {
    {"product 128x128x128", emp_micro_products, {128, 128, 128}, 200},
    {"product 384x384x384", emp_micro_products, {384, 384, 384}, 40},
    {"product 1024x1024x1024", emp_micro_products, {1024, 1024, 1024}, 8},
    {"product 16x1536x768", emp_micro_products, {16, 1536, 768}, 50},
    {"product 48x1536x768", emp_micro_products, {48, 1536, 768}, 50},
    {"product 48x768x1536 B'", emp_micro_products, {48, 768, 1536, 0, 1}, 50},
    {"product 48x96x96", emp_micro_products, {48, 96, 96}, 400},
    {"product 640x6000x256", emp_micro_products, {640, 6000, 256}, 10},
    {"product 256x6000x640 A'", emp_micro_products, {256, 6000, 640, 1, 0}, 10},
    {"10 products 768x1536x48 A', sum", emp_micro_summed_products, {768, 1536, 48}, 10},
    {"conv 3x3 48", emp_micro_convolutions, {4, 40, 48, 3, 48, 1, 0}, 20},
    {"conv 3x3 48 input", emp_micro_convolutions, {4, 40, 48, 3, 48, 1, 1}, 20},
    {"conv 3x3 48 filter", emp_micro_convolutions, {4, 40, 48, 3, 48, 1, 2}, 20},
    {"conv 3x3 160", emp_micro_convolutions, {4, 16, 160, 3, 160, 1, 0}, 20},
    {"conv 3x3 160 filter", emp_micro_convolutions, {4, 16, 160, 3, 160, 1, 2}, 20},
    {"conv 5x5/2 24", emp_micro_convolutions, {4, 64, 24, 5, 40, 2, 0}, 20},
    {"add 24 Ki", emp_micro_additions, {24 * KIB}, 400},
    {"add 512 Ki", emp_micro_additions, {512 * KIB}, 60},
    {"add 5 Mi", emp_micro_additions, {5 * MIB}, 10},
    {"inverse 64 Ki", emp_micro_inverses, {64 * KIB}, 200},
    {"inverse 5 Mi", emp_micro_inverses, {5 * MIB}, 12},
    {"logarithm 64 Ki", emp_micro_logarithms, {64 * KIB}, 100},
    {"logarithm 5 Mi", emp_micro_logarithms, {5 * MIB}, 8},
    {"sum of columns", emp_micro_sums, {1500, 1500, 0}, 40},
    {"sum of rows", emp_micro_sums, {1500, 1500, 1}, 40},
    {"transpose", emp_micro_transpositions, {1500, 1500}, 30},
    {"concat", emp_micro_joints, {500, 1500}, 40},
    {"concat small", emp_micro_joints, {48, 768}, 100},
    {"max pool", emp_micro_pools, {4, 48, 96, 3, 2, 0}, 60},
    {"max pool gradient", emp_micro_pools, {4, 48, 96, 3, 2, 1}, 20},
    {"average pool gradient", emp_micro_pools, {4, 24, 256, 3, 1, 2}, 20},
    {"batch norm", emp_micro_norms, {4, 48, 96, 0}, 60},
    {"batch norm gradient", emp_micro_norms, {4, 48, 96, 1}, 40},
    {"softmax", emp_micro_softmaxes, {300, 6000, 0}, 12},
    {"softmax with loss", emp_micro_softmaxes, {300, 6000, 1}, 10},
    {"descent", emp_micro_updates, {2 * MIB, 0}, 20},
    {"Adam", emp_micro_updates, {2 * MIB, 1}, 10},
    {"chain of 400", emp_micro_chain, {EMP_MICRO_FIRST, 0}, 400},
    {"chain of 400 without work", emp_micro_chain, {EMP_MICRO_FIRST, 1}, 400},
    {"chain of 400 on the host", emp_micro_chain, {EMP_MICRO_HOST, 0}, 400},
    {"one op", emp_micro_chain, {EMP_MICRO_FIRST, 0}, 0},
    {"copies of 4 KiB",
     emp_micro_crossings,
     {KIB, EMP_MICRO_FIRST, EMP_MICRO_SECOND, 1},
     100},
    {"copies of 1 MiB",
     emp_micro_crossings,
     {256 * KIB, EMP_MICRO_FIRST, EMP_MICRO_SECOND, 1},
     20},
    {"copies of 16 MiB",
     emp_micro_crossings,
     {4 * MIB, EMP_MICRO_FIRST, EMP_MICRO_SECOND, 1},
     4},
    {"copies from and to the host",
     emp_micro_crossings,
     {256 * KIB, EMP_MICRO_HOST, EMP_MICRO_FIRST, 1},
     20},
    {"copies both ways at once",
     emp_micro_crossings,
     {256 * KIB, EMP_MICRO_FIRST, EMP_MICRO_SECOND, 2, [AT_ONCE] = ITSELF},
     20},
    {"product 384x384x384, both",
     emp_micro_products,
     {384, 384, 384, [AT_ONCE] = TWICE},
     40},
    {"product 48x1536x768, both",
     emp_micro_products,
     {48, 1536, 768, [AT_ONCE] = TWICE},
     50},
    {"conv 3x3 48, both",
     emp_micro_convolutions,
     {4, 40, 48, 3, 48, 1, 0, [AT_ONCE] = TWICE},
     20},
    {"add 24 Ki, both", emp_micro_additions, {24 * KIB, [AT_ONCE] = TWICE}, 400},
    {"add 512 Ki, both", emp_micro_additions, {512 * KIB, [AT_ONCE] = TWICE}, 60},
    {"add 5 Mi, both", emp_micro_additions, {5 * MIB, [AT_ONCE] = TWICE}, 10},
    {"logarithm 64 Ki, both", emp_micro_logarithms, {64 * KIB, [AT_ONCE] = TWICE}, 100},
    {"Adam, both", emp_micro_updates, {2 * MIB, 1, [AT_ONCE] = TWICE}, 10},
    {"copies of 4 KiB, busy",
     emp_micro_busy_copies,
     {KIB, 128, 100, [AT_ONCE] = ITSELF},
     200},
    {"copies of 1 MiB, busy",
     emp_micro_busy_copies,
     {256 * KIB, 128, 150, [AT_ONCE] = ITSELF},
     40},
    {"host beside a group", emp_micro_busy_host, {128, [AT_ONCE] = ITSELF}, 300},
};

/* Each is long beside what issuing its ops takes, but for those that measure just that, and takes
 * at most 5 GiB of memory. */
static const struct entry of_gpus[] = {
    {"product 64x256x256", emp_micro_products, {64, 256, 256}, 200},
    {"product 256x256x256", emp_micro_products, {256, 256, 256}, 100},
    {"product 1024x1024x1024", emp_micro_products, {1024, 1024, 1024}, 40},
    {"product 2048x2048x2048", emp_micro_products, {2048, 2048, 2048}, 10},
    {"product 4096x4096x4096", emp_micro_products, {4096, 4096, 4096}, 3},
    {"product 64x4096x1024", emp_micro_products, {64, 4096, 1024}, 50},
    {"product 128x4096x2048", emp_micro_products, {128, 4096, 2048}, 50},
    {"product 64x1024x4096 B'", emp_micro_products, {64, 1024, 4096, 0, 1}, 50},
    {"product 512x32000x1024", emp_micro_products, {512, 32000, 1024}, 5},
    {"product 1024x4096x64 A'", emp_micro_products, {1024, 4096, 64, 1, 0}, 50},
    {"10 products 1024x4096x64 A', sum", emp_micro_summed_products, {1024, 4096, 64}, 10},
    {"conv 3x3 64", emp_micro_convolutions, {32, 56, 64, 3, 64, 1, 0}, 10},
    {"conv 3x3 64 input", emp_micro_convolutions, {32, 56, 64, 3, 64, 1, 1}, 10},
    {"conv 3x3 64 filter", emp_micro_convolutions, {32, 56, 64, 3, 64, 1, 2}, 10},
    {"conv 3x3 256", emp_micro_convolutions, {32, 14, 256, 3, 256, 1, 0}, 20},
    {"conv 3x3 256 input", emp_micro_convolutions, {32, 14, 256, 3, 256, 1, 1}, 20},
    {"conv 3x3 256 filter", emp_micro_convolutions, {32, 14, 256, 3, 256, 1, 2}, 20},
    {"conv 1x1 512", emp_micro_convolutions, {32, 28, 512, 1, 256, 1, 0}, 20},
    {"conv 1x1 512 input", emp_micro_convolutions, {32, 28, 512, 1, 256, 1, 1}, 20},
    {"conv 1x1 512 filter", emp_micro_convolutions, {32, 28, 512, 1, 256, 1, 2}, 20},
    {"conv 1x1 256", emp_micro_convolutions, {32, 14, 256, 1, 1024, 1, 0}, 20},
    {"conv 1x1 256 filter", emp_micro_convolutions, {32, 14, 256, 1, 1024, 1, 2}, 20},
    {"conv 5x5 64", emp_micro_convolutions, {32, 35, 64, 5, 96, 1, 0}, 10},
    {"conv 5x5 64 input", emp_micro_convolutions, {32, 35, 64, 5, 96, 1, 1}, 10},
    {"conv 5x5 64 filter", emp_micro_convolutions, {32, 35, 64, 5, 96, 1, 2}, 10},
    {"conv 3x3/2 128", emp_micro_convolutions, {32, 57, 128, 3, 128, 2, 0}, 10},
    {"conv 3x3/2 128 input", emp_micro_convolutions, {32, 57, 128, 3, 128, 2, 1}, 10},
    {"conv 3x3/2 128 filter", emp_micro_convolutions, {32, 57, 128, 3, 128, 2, 2}, 10},
    {"conv 7x7/2 3", emp_micro_convolutions, {32, 225, 3, 7, 64, 2, 0}, 10},
    {"add 64 Ki", emp_micro_additions, {64 * KIB}, 400},
    {"add 4 Mi", emp_micro_additions, {4 * MIB}, 40},
    {"add 64 Mi", emp_micro_additions, {64 * MIB}, 4},
    {"logarithm 4 Mi", emp_micro_logarithms, {4 * MIB}, 40},
    {"sum of columns", emp_micro_sums, {8192, 4096, 0}, 10},
    {"sum of rows", emp_micro_sums, {8192, 4096, 1}, 10},
    {"transpose", emp_micro_transpositions, {8192, 4096}, 10},
    {"concat", emp_micro_joints, {4096, 2048}, 20},
    {"max pool", emp_micro_pools, {32, 112, 64, 3, 2, 0}, 10},
    {"max pool gradient", emp_micro_pools, {32, 112, 64, 3, 2, 1}, 10},
    {"average pool gradient", emp_micro_pools, {32, 35, 288, 3, 1, 2}, 10},
    {"batch norm", emp_micro_norms, {32, 56, 256, 0}, 10},
    {"batch norm gradient", emp_micro_norms, {32, 56, 256, 1}, 10},
    {"softmax", emp_micro_softmaxes, {2560, 32000, 0}, 5},
    {"softmax with loss", emp_micro_softmaxes, {2560, 32000, 1}, 4},
    {"descent", emp_micro_updates, {16 * MIB, 0}, 20},
    {"Adam", emp_micro_updates, {16 * MIB, 1}, 8},
    {"chain of 400", emp_micro_chain, {EMP_MICRO_FIRST, 0}, 400},
    {"chain of 400 without work", emp_micro_chain, {EMP_MICRO_FIRST, 1}, 400},
    {"one op", emp_micro_chain, {EMP_MICRO_FIRST, 0}, 0},
    {"copies of 4 KiB",
     emp_micro_crossings,
     {KIB, EMP_MICRO_HOST, EMP_MICRO_FIRST, 1, 1},
     100},
    {"copies of 1 MiB",
     emp_micro_crossings,
     {256 * KIB, EMP_MICRO_HOST, EMP_MICRO_FIRST, 1, 1},
     20},
    {"copies of 16 MiB",
     emp_micro_crossings,
     {4 * MIB, EMP_MICRO_HOST, EMP_MICRO_FIRST, 1, 1},
     4},
    {"copies of 128 MiB",
     emp_micro_crossings,
     {32 * MIB, EMP_MICRO_HOST, EMP_MICRO_FIRST, 1, 1},
     4},
};

enum {
    CORE_ENTRIES = sizeof of_cores / sizeof *of_cores,
    GPU_ENTRIES = sizeof of_gpus / sizeof *of_gpus
};
_Static_assert(CORE_ENTRIES <= (int)EMP_MICRO_MOST && GPU_ENTRIES <= (int)EMP_MICRO_MOST,
               "room for all benchmarks");

static const struct {
    const struct entry *entry;
    int32_t             count;
} list[] = {[EMP_MICRO_CORES] = {of_cores, CORE_ENTRIES},
            [EMP_MICRO_GPUS] = {of_gpus, GPU_ENTRIES}};

/* ---- building ---------------------------------------------------------------------- */

static emp_status build_graph(emp_graph **out, const struct entry *e, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_graph *whole = NULL;
    emp_tf     tf;

    EMP_TRY(emp_tf_init(&tf, err));
    e->build(&tf, e->size, e->repeats);
    if (e->size[AT_ONCE] == TWICE) {
        const char *outer = emp_micro_enter(&tf, EMP_MICRO_SECOND);
        e->build(&tf, e->size, e->repeats);
        emp_tf_leave(&tf, outer);
    }
    EMP_TRY(emp_tf_finish(&tf, &whole));
    EMP_TRY(emp_graph_prune(out, whole, err));

cleanup:
    emp_tf_clear(&tf);
    emp_graph_destroy(whole);
    return st;
}

static emp_status build(emp_micro *micro, const struct entry *e,
                        const emp_device_id *device, const emp_machine *machine,
                        const emp_runtime *runtime, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_problem *problem = NULL;

    snprintf(micro->name, sizeof micro->name, "%s", e->name);
    micro->is_shared = e->size[AT_ONCE] != 0;
    EMP_TRY(build_graph(&micro->graph, e, err));
    const emp_graph *g = micro->graph;
    EMP_TRY(EMP_ALLOC(micro->device_of_op, (size_t)g->op_count));
    for (emp_op_id op = 0; op < g->op_count; op++)
        micro->device_of_op[op] = device[emp_micro_device_of(g->name[op])];
    EMP_TRY(emp_problem_create(&problem, g, machine, runtime, e->name, err));
    emp_problem_legalize(problem, micro->device_of_op);

cleanup:
    emp_problem_destroy(problem);
    return st;
}

emp_status emp_micros_build(emp_micro *micro, int32_t *count, emp_micro_set set,
                            const emp_machine *machine, const emp_runtime *runtime,
                            emp_error *err)
{
    const emp_device_id device[] = {emp_machine_find(machine, "cpu:0"),
                                    emp_machine_find(machine, "gpu:0"),
                                    emp_machine_find(machine, "gpu:1")};

    *count = 0;
    if (device[EMP_MICRO_HOST] < 0 || device[EMP_MICRO_FIRST] < 0)
        return EMP_ERROR(EMP_EINVAL, "machine %s needs a CPU and a GPU", machine->name);
    if (set == EMP_MICRO_CORES && device[EMP_MICRO_SECOND] < 0)
        return EMP_ERROR(EMP_EINVAL, "machine %s needs a CPU and two GPUs, as cpu2 has",
                         machine->name);
    for (int32_t i = 0; i < list[set].count; i++) {
        micro[i] = (emp_micro){0};
        *count = i + 1;
        EMP_CHECK(build(&micro[i], &list[set].entry[i], device, machine, runtime, err));
    }
    return EMP_OK;
}

void emp_micros_clear(emp_micro *micro, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        emp_graph_destroy(micro[i].graph);
        emp_free(micro[i].device_of_op);
        micro[i] = (emp_micro){0};
    }
}

emp_status emp_step_predict(emp_sim_result *result, const emp_graph *graph,
                            const emp_device_id *device_of_op, const emp_machine *machine,
                            const emp_runtime *runtime, const char *name, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_problem *problem = NULL;
    emp_sim     *sim = NULL;

    EMP_TRY(emp_problem_create(&problem, graph, machine, runtime, name, err));
    EMP_TRY(emp_sim_create(&sim, problem, err));
    EMP_TRY(emp_sim_run(sim, device_of_op, result, err));

cleanup:
    emp_sim_destroy(sim);
    emp_problem_destroy(problem);
    return st;
}
