// SPDX-License-Identifier: GPL-3.0-or-later
/* What today's tools do with unlike GPUs, which know memory and no times: blocks (blocks.h) in
 * topological order, as layers follow each other.
 *
 * `memory-split` gives each GPU a share of the bytes that is its share of all GPUs' memory, as
 * llama.cpp splits layers. `first-fit` fills the first GPU, then the next one, and gives the rest to
 * the CPU, as accelerate does with device_map="auto". Bytes are those of variables and of a part
 * of all results: results of the backward pass are soon released. */
#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/partitioners/blocks.h"

typedef struct {
    double results;
} options;

/* What is placed, in bytes. */
typedef struct {
    const emp_machine *machine;
    int32_t            gpu_count;
    emp_device_id      gpu[EMP_MAX_DEVICES];
    emp_blocks         blocks;
    double            *bytes; /* [block] */
    emp_device_id     *device_of_block;
} split;

static double memory_of(const split *s, int32_t gpu)
{
    return (double)s->machine->device[s->gpu[gpu]].memory_bytes;
}

static emp_status weigh_blocks(split *s, const emp_problem *problem, double results,
                               emp_error *err)
{
    const emp_graph *g = problem->graph;

    EMP_CHECK(EMP_ALLOC(s->bytes, (size_t)s->blocks.count));
    EMP_CHECK(EMP_ALLOC(s->device_of_block, (size_t)s->blocks.count));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t block = s->blocks.block_of_op[op];
        if (block < 0) continue;
        s->bytes[block] += (double)g->op[op].persistent_bytes;
        for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++)
            s->bytes[block] += results * (double)g->tensor[t].bytes;
    }
    return EMP_OK;
}

/* A block goes where its middle is. */
static void split_by_memory(split *s)
{
    double  all_bytes = 0.0, all_memory = 0.0, before = 0.0, until = memory_of(s, 0);
    int32_t gpu = 0;

    for (int32_t b = 0; b < s->blocks.count; b++)
        if (s->blocks.block[b].has_gpu) all_bytes += s->bytes[b];
    for (int32_t i = 0; i < s->gpu_count; i++) all_memory += memory_of(s, i);
    for (int32_t b = 0; b < s->blocks.count; b++) {
        s->device_of_block[b] = 0;
        if (!s->blocks.block[b].has_gpu) continue;
        double middle = before + s->bytes[b] / 2.0;
        while (gpu < s->gpu_count - 1 && middle * all_memory > until * all_bytes)
            until += memory_of(s, ++gpu);
        s->device_of_block[b] = s->gpu[gpu];
        before += s->bytes[b];
    }
}

static void fill_in_order(split *s)
{
    double  used = 0.0;
    int32_t gpu = 0;

    for (int32_t b = 0; b < s->blocks.count; b++) {
        s->device_of_block[b] = 0;
        if (!s->blocks.block[b].has_gpu) continue;
        while (gpu < s->gpu_count && used + s->bytes[b] > memory_of(s, gpu)) {
            used = 0.0;
            gpu++;
        }
        if (gpu == s->gpu_count) continue;
        s->device_of_block[b] = s->gpu[gpu];
        used += s->bytes[b];
    }
}

static emp_status place(const emp_method *type, const emp_problem *problem,
                        const emp_method_params  *params,
                        const emp_owned_decision *proposal, emp_error *err)
{
    emp_status st = EMP_OK;
    options    o;
    split      s = {.machine = problem->machine};

    EMP_TRY(emp_method_options_parse(&o, type, params, err));
    s.gpu_count = emp_machine_list(problem->machine, EMP_DEVICE_GPU, s.gpu);
    if (s.gpu_count == 0)
        EMP_FAIL(EMP_EUNSUPPORTED, "method %s: machine %s has no GPU", type->name,
                 problem->machine->name);
    EMP_TRY(emp_blocks_init(&s.blocks, problem, err));
    EMP_TRY(weigh_blocks(&s, problem, o.results, err));
    type == &emp_method_memory_split ? split_by_memory(&s) : fill_in_order(&s);
    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        int32_t block = s.blocks.block_of_op[op];
        proposal->device_of_op[op] = block < 0 ? 0 : s.device_of_block[block];
    }

cleanup:
    emp_free(s.bytes);
    emp_free(s.device_of_block);
    emp_blocks_clear(&s.blocks);
    return st;
}

static const emp_option option_list[] = {
    EMP_REAL_OPTION("results", options, results, 0, 1,
                    "part of all results that counts beside variables", 0.5),
    EMP_NO_OPTION};

const emp_method emp_method_memory_split = {
    .options = option_list,
    .name = "memory-split",
    .description =
        "contiguous parts in proportion to the GPUs' memory, as llama.cpp splits",
    .advice = "a comparison with tools that know memory alone",
    .place = place,
};

const emp_method emp_method_first_fit = {
    .options = option_list,
    .name = "first-fit",
    .description =
        "one GPU full after the other, the rest on the CPU, as accelerate does",
    .advice = "a comparison with tools that fill devices in order",
    .place = place,
};
