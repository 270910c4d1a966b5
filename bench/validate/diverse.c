// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/validate/diverse.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/rng.h"
#include "search/groups/class_groups.h"

enum kind { CHUNKS, BLOCKS, PARTS, MIXED };

/* A turn through the list; each next turn draws anew, and has other chunks. */
static const struct {
    enum kind kind;
    int32_t   count; /* blocks, parts; hundredths of 64 blocks that move in mixed ones */
} turn[] = {{CHUNKS, 2}, {PARTS, 3},   {BLOCKS, 8},    {MIXED, 5},
            {PARTS, 6},  {BLOCKS, 16}, {BLOCKS, 64},   {PARTS, 4},
            {MIXED, 15}, {PARTS, 8},   {BLOCKS, 4096}, {BLOCKS, 256},
            {MIXED, 30}, {CHUNKS, 6},  {PARTS, 24},    {BLOCKS, 1024}};
enum {
    TURN = sizeof turn / sizeof *turn,
    MIXED_BLOCKS = 64,
    MOST_PARTS = 32,
    STREAM = 0x76616c
};
static const double parts_imbalance = 2.0;

struct deal {
    const emp_problem *problem;
    emp_rng            rng;
    int32_t            gpu_count;
    emp_device_id      gpu[EMP_MAX_DEVICES];
};

/* ---- a machine to deal on ---------------------------------------------------------- */

/* About the constants of one core of a server; only how they compare matters. */
static const double plain_flops_per_s = 60e9, plain_bytes_per_s = 10e9,
                    plain_link_bytes_per_s = 5e9, plain_kernel_s = 5e-6;
enum { TILE = 64 };

static void make_plain(emp_device *d)
{
    d->has_core = false;
    d->peak_flops_per_s = plain_flops_per_s;
    d->memory_bytes_per_s = d->core_bytes_per_s = plain_bytes_per_s;
    d->gemm_base_s = d->kernel_minimum_s = plain_kernel_s;
    d->gemm_per_k_s = 0.0;
    d->gemm_per_wave_s = 2.0 * TILE * TILE / plain_flops_per_s;
    d->multiprocessors = d->split_limit = 1;
    d->gemm_tile_rows = d->conv_tile_rows = TILE;
    d->gemm_skinny_factor = d->conv_factor = d->scaling_exponent = 1.0;
    for (int32_t w = 0; w < 3; w++)
        d->conv_window_factor[w] = d->conv_filter_factor[w] = 1.0;
    d->gemm_skinny_limit = 0;
    d->cores = d->bandwidth_cores = 1;
    d->clock_hz = 1e9;
    d->gemm_core_flops_per_s = d->conv_core_flops_per_s = plain_flops_per_s;
}

emp_machine *emp_diverse_machine(const emp_machine *machine)
{
    emp_machine *m = emp_machine_copy(machine);

    if (m == NULL) return NULL;
    for (int32_t d = 0; d < m->device_count; d++) make_plain(&m->device[d]);
    for (int32_t l = 0; l < m->link_count; l++) {
        m->link[l].bytes_per_s = plain_link_bytes_per_s;
        m->link[l].latency_s = 0.0;
    }
    emp_machine_time_routes(m);
    return m;
}

/* ---- placements -------------------------------------------------------------------- */

static emp_device_id any_gpu(struct deal *d)
{
    return d->gpu[emp_rng_below(&d->rng, (uint32_t)d->gpu_count)];
}

/* The device of a block; the ops of blocks are neighbours in topological order. */
static emp_device_id deal_block(struct deal *d, enum kind kind, int32_t count,
                                int32_t block)
{
    if (kind == CHUNKS) return d->gpu[block % d->gpu_count];
    if (kind == BLOCKS) return any_gpu(d);
    if (emp_rng_below(&d->rng, 100) >= (uint32_t)count) return -1;
    return (emp_device_id)emp_rng_below(&d->rng,
                                        (uint32_t)d->problem->machine->device_count);
}

/* The GPU of each part of METIS's. */
static emp_status deal_parts(struct deal *d, int32_t count, uint64_t seed,
                             emp_device_id *device_of_op, emp_error *err)
{
    emp_status              st = EMP_OK;
    const emp_graph        *g = d->problem->graph;
    int32_t                 part_count = 0;
    emp_device_id           gpu_of_part[MOST_PARTS];
    int32_t                *part_of_class = NULL;
    emp_class_groups_params how = {.kind = EMP_CLASS_GROUPS_METIS,
                                   .count = count,
                                   .imbalance = parts_imbalance,
                                   .seed = seed};

    EMP_TRY(EMP_ALLOC(part_of_class, (size_t)g->class_count));
    EMP_TRY(emp_class_groups(part_of_class, &part_count, d->problem, &how, err));
    for (int32_t i = 0; i < count; i++) gpu_of_part[i] = any_gpu(d);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t part = part_of_class[g->op[op].colocation_class];
        device_of_op[op] = part < 0 ? 0 : gpu_of_part[part];
    }

cleanup:
    emp_free(part_of_class);
    return st;
}

static void deal_blocks(struct deal *d, enum kind kind, int32_t count,
                        const emp_device_id *base, emp_device_id *device_of_op)
{
    const emp_graph *g = d->problem->graph;
    int32_t          blocks = kind == MIXED ? MIXED_BLOCKS : count, at = 0;

    for (int32_t b = 0; b < blocks; b++) {
        emp_device_id device = deal_block(d, kind, count, b);
        int32_t       end = (int32_t)((int64_t)g->op_count * (b + 1) / blocks);
        for (; at < end; at++)
            device_of_op[g->topo[at]] = device < 0 ? base[g->topo[at]] : device;
    }
}

static void name_it(char *name, enum kind kind, int32_t count, int32_t round)
{
    if (kind == CHUNKS)
        snprintf(name, EMP_DIVERSE_NAME_BYTES, "chunks %d", count);
    else if (kind == BLOCKS)
        snprintf(name, EMP_DIVERSE_NAME_BYTES, "blocks %d #%d", count, round);
    else if (kind == PARTS)
        snprintf(name, EMP_DIVERSE_NAME_BYTES, "parts %d #%d", count, round);
    else
        snprintf(name, EMP_DIVERSE_NAME_BYTES, "mixed %d %% #%d", count, round);
}

emp_status emp_diverse_placement(emp_device_id     *device_of_op,
                                 char               name[EMP_DIVERSE_NAME_BYTES],
                                 const emp_problem *problem, const emp_device_id *base,
                                 int32_t index, uint64_t seed, emp_error *err)
{
    struct deal d = {.problem = problem};
    int32_t     round = index / TURN;
    enum kind   kind = turn[index % TURN].kind;
    int32_t     count = turn[index % TURN].count;

    d.gpu_count = emp_machine_list(problem->machine, EMP_DEVICE_GPU, d.gpu);
    if (d.gpu_count == 0)
        return EMP_ERROR(EMP_EINVAL, "machine %s has no GPU to deal ops to",
                         problem->machine->name);
    if (kind == CHUNKS) count += 7 * round;
    emp_rng_init(&d.rng, seed, STREAM, (uint32_t)index);
    if (kind == PARTS)
        EMP_CHECK(deal_parts(&d, count, seed + (uint64_t)index, device_of_op, err));
    else
        deal_blocks(&d, kind, count, base, device_of_op);
    emp_problem_legalize(problem, device_of_op);
    name_it(name, kind, count, round);
    return EMP_OK;
}
