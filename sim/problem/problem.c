// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/problem/problem.h"

#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "sim/problem/sequence.h"

/* Folded ops run nowhere, so they bind nobody. The CPU, the last resort of soft
 * placement, runs every op. */
static void find_classes(emp_problem *p)
{
    const emp_graph *g = p->graph;

    for (int32_t c = 0; c < g->class_count; c++) {
        p->kinds_of_class[c] = EMP_KIND_CPU | EMP_KIND_GPU;
        p->leader_of_class[c] = -1;
    }
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t c = g->op[op].colocation_class;
        if (p->leader_of_class[c] < 0) p->leader_of_class[c] = op;
        p->class_of_op[op] = g->op[op].is_folded ? -1 : c;
        if (!g->op[op].is_folded) p->kinds_of_class[c] &= g->op[op].kinds;
    }
    for (int32_t c = 0; c < g->class_count; c++) p->kinds_of_class[c] |= EMP_KIND_CPU;
}

emp_status emp_problem_create(emp_problem **out, const emp_graph *graph,
                              const emp_machine *machine, const emp_runtime *runtime,
                              const char *workload, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_problem *p = NULL;

    EMP_NEED(out);
    *out = NULL;
    EMP_NEED(graph);
    EMP_NEED(machine);
    EMP_NEED(runtime);
    EMP_NEED(workload);
    p = EMP_NEW(emp_problem);
    if (p == NULL) EMP_FAIL(EMP_ENOMEM, "problem");
    p->graph = graph;
    p->machine = machine;
    p->runtime = *runtime;
    emp_text_copy(p->workload, sizeof p->workload, workload, strlen(workload));
    EMP_TRY(EMP_ALLOC(p->kinds_of_class, (size_t)graph->class_count));
    EMP_TRY(EMP_ALLOC(p->leader_of_class, (size_t)graph->class_count));
    EMP_TRY(EMP_ALLOC(p->class_of_op, (size_t)graph->op_count));
    EMP_TRY(emp_cost_table_create(&p->costs, graph, machine, runtime, err));
    find_classes(p);
    *out = p;
    p = NULL;

cleanup:
    emp_problem_destroy(p);
    return st;
}

void emp_problem_destroy(emp_problem *problem)
{
    if (problem == NULL) return;
    emp_cost_table_destroy(problem->costs);
    emp_free(problem->kinds_of_class);
    emp_free(problem->leader_of_class);
    emp_free(problem->class_of_op);
    emp_sequence_destroy(problem->sequence);
    emp_free(problem);
}

emp_status emp_problem_forbid_cpus(emp_problem *problem, int32_t *kept_count,
                                   emp_error *err)
{
    const emp_graph *g = problem->graph;
    int32_t          kept = 0;

    if (emp_machine_count(problem->machine, EMP_DEVICE_GPU) == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "CPUs cannot be forbidden on machine %s, which has no GPU",
                         problem->machine->name);
    for (int32_t c = 0; c < g->class_count; c++)
        if (problem->kinds_of_class[c] & EMP_KIND_GPU)
            problem->kinds_of_class[c] &= ~(uint32_t)EMP_KIND_CPU;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t c = problem->class_of_op[op];
        kept += c >= 0 && (problem->kinds_of_class[c] & EMP_KIND_CPU) != 0;
    }
    if (kept_count != NULL) *kept_count = kept;
    return EMP_OK;
}

bool emp_problem_has_choice(const emp_problem *problem)
{
    const int32_t cpus = emp_machine_count(problem->machine, EMP_DEVICE_CPU);
    const int32_t gpus = emp_machine_count(problem->machine, EMP_DEVICE_GPU);

    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        const int32_t class = problem->class_of_op[op];
        if (class < 0) continue;
        const uint32_t kinds = problem->kinds_of_class[class];
        if ((kinds & EMP_KIND_CPU ? cpus : 0) + (kinds & EMP_KIND_GPU ? gpus : 0) > 1)
            return true;
    }
    return false;
}

static emp_problem_shortage compare(const emp_problem *p, uint32_t kinds)
{
    emp_problem_shortage s = {.kinds = kinds};

    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        const int32_t class = p->class_of_op[op];
        if (class >= 0 && (p->kinds_of_class[class] & ~kinds) == 0)
            s.held_bytes += p->graph->op[op].persistent_bytes;
    }
    for (emp_device_id d = 0; d < p->machine->device_count; d++) {
        const bool is_gpu = p->machine->device[d].kind == EMP_DEVICE_GPU;
        if (kinds & (is_gpu ? EMP_KIND_GPU : EMP_KIND_CPU))
            s.memory_bytes += p->machine->device[d].memory_bytes;
    }
    return s;
}

emp_problem_shortage emp_problem_find_shortage(const emp_problem *problem)
{
    static const uint32_t sets[] = {EMP_KIND_GPU, EMP_KIND_CPU,
                                    EMP_KIND_GPU | EMP_KIND_CPU};

    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const emp_problem_shortage s = compare(problem, sets[i]);
        if (s.held_bytes > s.memory_bytes) return s;
    }
    return (emp_problem_shortage){0};
}

/* Of the same host if it has one. */
static emp_device_id gpu_near(const emp_machine *m, emp_device_id cpu)
{
    emp_device_id first = -1;

    for (emp_device_id d = 0; d < m->device_count; d++) {
        if (m->device[d].kind != EMP_DEVICE_GPU) continue;
        if (m->device[d].host == cpu) return d;
        if (first < 0) first = d;
    }
    return first;
}

/* The device itself, if the class may be there. */
static emp_device_id allowed_near(const emp_problem *p, int32_t class,
                                  emp_device_id      device)
{
    const emp_machine *m = p->machine;
    uint32_t           kinds = p->kinds_of_class[class];

    if ((kinds & EMP_KIND_GPU) == 0) return m->device[device].host;
    if ((kinds & EMP_KIND_CPU) != 0 || m->device[device].kind == EMP_DEVICE_GPU)
        return device;
    return gpu_near(m, device);
}

void emp_problem_legalize(const emp_problem *problem, emp_device_id *device_of_op)
{
    if (problem == NULL || device_of_op == NULL) return;
    const emp_machine *m = problem->machine;

    /* A leader has the lowest id of its class, so it is settled before its members. */
    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        int32_t c = problem->class_of_op[op];
        if (c < 0) continue;
        emp_device_id device = device_of_op[problem->leader_of_class[c]];
        bool          is_device = device >= 0 && device < m->device_count;
        device_of_op[op] = is_device ? allowed_near(problem, c, device) : device;
    }
    if (problem->sequence != NULL) emp_sequence_project(problem, device_of_op);
}

emp_time_ns emp_problem_op_time_ns(const emp_problem *problem, emp_op_id op,
                                   emp_device_id device)
{
    if (problem == NULL || op < 0 || op >= problem->graph->op_count) return 0;
    if (device < 0 || device >= problem->machine->device_count) return 0;
    const emp_cost_table *costs = problem->costs;
    size_t                row = emp_cost_row(costs, device, op);
    if (problem->machine->device[device].kind == EMP_DEVICE_GPU)
        return costs->gpu[row].compute_ns;
    return costs->cpu[row].compute_ns;
}
