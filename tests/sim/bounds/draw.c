// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/sim/bounds/draw.h"

#include "tests/sim/engine/random_problem.h"
#include "tests/support/best_placement.h"
#include "tests/support/branch_bound.h"

enum {
    MOST_BOUND =
        1
        << 24, /* problems of 12 classes on 4 devices are solved by branch and bound ... */
    MOST_STEPS = 3000, /* ... if it needs no more steps */
    NEAR_OPS = 8
};

/* ---- of any rules ---- */

/* Sets any rules of docs/simulator.md, with constants as small as the problem's. */
static void set_rules(emp_runtime *rt, uint64_t seed)
{
    rt->rules = (emp_rules)(seed % 2 == 0 ? 0 : seed / 2 % EMP_RULES_COUNT);
    switch (rt->rules) {
    case EMP_RULES_PLACETO:
        rt->placeto =
            (emp_runtime_placeto){.op_gap_s = (double)(seed % 5) * 1e-9,
                                  .bus_bytes_per_s = 1e9 * (double)(1 + seed % 97),
                                  .bus_gap_s = (double)(seed % 3) * 1e-9,
                                  .early_release_s = 1e-9};
        break;
    case EMP_RULES_BAECHI:
        rt->baechi = (emp_runtime_baechi){.byte_s = 1e-12 * (double)(1 + seed % 301),
                                          .transfer_s = (double)(seed % 7) * 1e-9,
                                          .control_bytes = (int64_t)(seed % 6)};
        break;
    case EMP_RULES_MSR_LATENCY:
    case EMP_RULES_MSR_LOAD:
        rt->msr.host_bytes_per_s = 1e9 * (double)(1 + seed % 53);
        break;
    default: break;
    }
}

/* Classes that must be on a GPU: where all may be on the CPU few bounds bind. */
static void pin_to_gpus(task *r, uint64_t seed)
{
    emp_rng rng;

    emp_rng_init(&rng, seed, 2, 0);
    if (emp_machine_count(r->machine, EMP_DEVICE_GPU) == 0) return;
    for (int32_t c = 0; c < r->graph->class_count; c++)
        if ((r->problem->kinds_of_class[c] & EMP_KIND_GPU) && emp_rng_below(&rng, 4) > 0)
            r->problem->kinds_of_class[c] = EMP_KIND_GPU;
}

void draw_problem(task *r, uint64_t seed)
{
    if (seed % 3 == 0)
        random_problem_create_hosts(r, seed);
    else
        random_problem_create(r, seed);
    set_rules(&r->problem->runtime, seed);
    if (seed % 5 < 2) random_problem_part(r, seed);
    if (seed % 4 != 0) pin_to_gpus(r, seed);
}

/* A random placement with classes on GPUs that must be there. */
void draw_placement(task *r, emp_rng *rng)
{
    const emp_problem *p = r->problem;
    emp_device_id      gpu[EMP_MAX_DEVICES];
    uint32_t           gpus = 0;

    random_problem_place(r, rng);
    for (emp_device_id d = 0; d < r->machine->device_count; d++)
        if (r->machine->device[d].kind == EMP_DEVICE_GPU) gpu[gpus++] = d;
    for (emp_op_id op = 0; op < r->graph->op_count; op++) {
        int32_t class = r->graph->op[op].colocation_class;
        emp_device_id d = r->device_of_op[p->leader_of_class[class]];
        if (p->kinds_of_class[class] & EMP_KIND_CPU) continue;
        if (r->machine->device[d].kind == EMP_DEVICE_CPU)
            d = gpu[emp_rng_below(rng, gpus)];
        r->device_of_op[op] = d;
        r->device_of_op[p->leader_of_class[class]] = d;
    }
}

emp_time_ns draw_best(const emp_problem *problem)
{
    const int64_t count = best_placement_count(problem, MOST_BOUND);

    if (problem->runtime.rules != EMP_RULES_EVENTS)
        return count <= DRAW_MOST_TRIED ? best_placement_find(problem) : -1;
    if (count > MOST_BOUND) return -1;
    branch_bound_result r = branch_bound_solve(problem, MOST_STEPS);
    return r.is_exact ? r.best_ns : -1;
}

/* ---- where a lemma binds ---- */

/* Eight ops that read what is near; a copy takes as long as one of them or ten. */
static void draw_near_ops(tiny_op *ops, emp_rng *rng)
{
    for (int i = 0; i < NEAR_OPS; i++) {
        int inputs = (int)emp_rng_below(rng, TINY_MAX_INPUTS) + 1;
        ops[i] = (tiny_op){.device = 1,
                           .weight = 1 + (int)emp_rng_below(rng, 30),
                           .is_kernelless = emp_rng_below(rng, 5) == 0,
                           .is_on_host = emp_rng_below(rng, 12) == 0};
        for (; i > 0 && ops[i].input_count < inputs; ops[i].input_count++) {
            uint32_t back = emp_rng_below(rng, i < 4 ? (uint32_t)i : 4u);
            ops[i].input[ops[i].input_count] = i - 1 - (int)back;
        }
        if (i > 0 && emp_rng_below(rng, 4) == 0)
            ops[i].control = 1 + (int)emp_rng_below(rng, (uint32_t)i);
    }
}

static emp_runtime draw_runtime(emp_rng *rng)
{
    emp_runtime runtime =
        emp_rng_below(rng, 4) == 0 ? tiny_list_scheduling() : tiny_serial();
    emp_runtime_events *const rt = &runtime.events;
    bool *const flag[] = {&rt->serial_issue, &rt->drain_copies,    &rt->cpu_pool,
                          &rt->share_copies, &rt->copy_streams,    &rt->shared_links,
                          &rt->reuse_inputs, &rt->control_latency, &rt->release_at_issue};

    for (size_t i = 0; i < COUNT(flag); i++)
        if (emp_rng_below(rng, 5) == 0) *flag[i] = !*flag[i];
    return runtime;
}

/* GPUs of one to three times the time of the first, op by op. */
static void part_gpus(task *t, emp_rng *rng)
{
    emp_cost_table *c = t->problem->costs;

    task_split_columns(t);
    for (int32_t row = c->op_count; row < emp_cost_row_count(c, EMP_DEVICE_GPU); row++) {
        emp_time_ns *ns = &c->gpu[row].compute_ns;
        *ns += *ns * emp_rng_below(rng, 3);
    }
}

void draw_near(task *t, uint64_t seed)
{
    tiny_op ops[NEAR_OPS];
    emp_rng rng;

    emp_rng_init(&rng, seed, 0, 0);
    draw_near_ops(ops, &rng);
    const emp_runtime rt = draw_runtime(&rng);
    task_create_tiny(t, ops, NEAR_OPS, &rt);
    if (emp_rng_below(&rng, 2) == 0) task_split_hosts(t);
    if (seed % 3 == 0) part_gpus(t, &rng);
    for (int32_t c = 0; c < t->graph->class_count; c++)
        if (emp_rng_below(&rng, 12) > 0) t->problem->kinds_of_class[c] = EMP_KIND_GPU;
}

int draw_cell_ops(tiny_op *ops, int cells, bool has_weights, emp_rng *rng)
{
    const bool has_message = cells < DRAW_CELLS && emp_rng_below(rng, 2) == 0;
    const int  first_weight = 10 + (int)emp_rng_below(rng, 50);
    const int  second_weight = 1 + (int)emp_rng_below(rng, 60);
    const bool has_state = cells < DRAW_CELLS && emp_rng_below(rng, 2) == 0;
    const bool is_late = has_state && emp_rng_below(rng, 2) == 0;
    int        count = 0, last, state = 1;

    ops[count++] = (tiny_op){.device = 1, .is_variable = true};
    ops[count++] = (tiny_op){.device = 1, .weight = 1 + (int)emp_rng_below(rng, 4)};
    if (has_state)
        ops[count++] =
            (tiny_op){.device = 1, .weight = 2, .input_count = 1, .input = {state}};
    last = count - 1;
    if (is_late)
        ops[state = count++] = (tiny_op){.device = 1,
                                         .weight = 1 + (int)emp_rng_below(rng, 60),
                                         .input_count = 1,
                                         .input = {1}};
    for (int i = 0; i < cells; i++) {
        int first = count, second = count + 1;
        ops[count++] = (tiny_op){.device = 1,
                                 .weight = first_weight,
                                 .input_count = has_weights ? 2 : 1,
                                 .input = {last, 0}};
        ops[count++] = (tiny_op){.device = 1,
                                 .weight = second_weight,
                                 .input_count = has_state ? 2 : 1,
                                 .input = {last, state}};
        if (has_message)
            ops[count++] =
                (tiny_op){.device = 1, .control = second + 1, .is_kernelless = true};
        ops[count++] = (tiny_op){.device = 1,
                                 .weight = 1 + (int)emp_rng_below(rng, 8),
                                 .input_count = 1,
                                 .input = {first},
                                 .control = (has_message ? second + 1 : second) + 1,
                                 .is_kernelless = emp_rng_below(rng, 2) == 0};
        last = count - 1;
    }
    return count;
}

/* Copies of all that ops make take up to three times as long, so that it matters which of them are copied. */
static void draw_bytes(task *t, emp_rng *rng)
{
    for (emp_tensor_id i = 0; i < t->graph->tensor_count; i++)
        t->graph->tensor[i].copy_bytes *= 1 + emp_rng_below(rng, 3);
}

void draw_cells(task *t, int cells, bool has_weights, uint64_t seed)
{
    tiny_op ops[TINY_MAX_OPS];
    emp_rng rng;

    emp_rng_init(&rng, seed, 0, 0);
    const int         count = draw_cell_ops(ops, cells, has_weights, &rng);
    const emp_runtime rt = emp_rng_below(&rng, 2) ? tiny_serial() : draw_runtime(&rng);
    task_create_tiny(t, ops, count, &rt);
    if (emp_rng_below(&rng, 2) == 0) draw_bytes(t, &rng);
    if (cells == DRAW_CELLS || emp_rng_below(&rng, 3) == 0) task_split_hosts(t);
    for (int32_t c = 0; c < t->graph->class_count; c++)
        if (cells == DRAW_CELLS || emp_rng_below(&rng, 20) > 0)
            t->problem->kinds_of_class[c] = EMP_KIND_GPU;
}

int draw_layer_ops(tiny_op *ops, int layers, emp_rng *rng)
{
    int count = 0, last = 0;

    ops[count++] = (tiny_op){.device = 1, .weight = 1 + (int)emp_rng_below(rng, 60)};
    for (int i = 0; i < layers; i++) {
        const int first = count;
        for (int k = 0; k < 4; k++)
            ops[count++] = (tiny_op){.device = 1,
                                     .weight = 20 + (int)emp_rng_below(rng, 100),
                                     .input_count = 1,
                                     .input = {last}};
        ops[count++] = (tiny_op){.device = 1,
                                 .weight = 1 + (int)emp_rng_below(rng, 8),
                                 .input_count = 2,
                                 .input = {first, first + 1},
                                 .control = first + 2 + 1};
        ops[count++] = (tiny_op){.device = 1,
                                 .input_count = 1,
                                 .input = {first + 4},
                                 .control = first + 3 + 1,
                                 .is_kernelless = emp_rng_below(rng, 2) == 0};
        last = count - 1;
    }
    ops[count++] = (tiny_op){.device = 1,
                             .weight = 50 + (int)emp_rng_below(rng, 250),
                             .input_count = 1,
                             .input = {last}};
    return count;
}

void draw_layers(task *t, uint64_t seed)
{
    tiny_op ops[TINY_MAX_OPS];
    emp_rng rng;

    emp_rng_init(&rng, seed, 3, 0);
    const int         count = draw_layer_ops(ops, 1 + (int)(seed % 2), &rng);
    const emp_runtime rt = emp_rng_below(&rng, 2) ? tiny_serial() : draw_runtime(&rng);
    task_create_tiny(t, ops, count, &rt);
    for (emp_tensor_id i = 0; i < t->graph->tensor_count; i++)
        t->graph->tensor[i].copy_bytes /= 1 << emp_rng_below(&rng, 8);
    for (int32_t c = 0; c < t->graph->class_count; c++)
        t->problem->kinds_of_class[c] = EMP_KIND_GPU;
}
