// SPDX-License-Identifier: GPL-3.0-or-later
/* Queries of <emplace/machine.h> and <emplace/problem.h>, the streams of <emplace/random.h> from any word on, and the
 * version. */
#include <emplace/api.h>
#include <emplace/random.h>
#include <stddef.h>

#include "base/random.h"
#include "sim/cost/cost.h"
#include "sim/machine/machine.h"
#include "sim/problem/problem.h"

/* ---- machines ---- */

static bool machine_has(const emp_machine *machine, emp_device_id device)
{
    return machine != NULL && device >= 0 && device < machine->device_count;
}

int32_t emp_machine_device_count(const emp_machine *machine)
{
    return machine != NULL ? machine->device_count : 0;
}

const char *emp_machine_device_name(const emp_machine *machine, emp_device_id device)
{
    return machine_has(machine, device) ? machine->device[device].name : NULL;
}

emp_device_kind emp_machine_device_kind(const emp_machine *machine, emp_device_id device)
{
    return machine_has(machine, device) ? machine->device[device].kind : EMP_DEVICE_CPU;
}

int64_t emp_machine_device_memory_bytes(const emp_machine *machine, emp_device_id device)
{
    return machine_has(machine, device) ? machine->device[device].memory_bytes : 0;
}

emp_time_ns emp_machine_copy_time_ns(const emp_machine *machine, emp_device_id from,
                                     emp_device_id to, int64_t bytes)
{
    if (!machine_has(machine, from) || !machine_has(machine, to)) return -1;
    const emp_route *route = &machine->route[from][to];
    if (route->link_count == 0 || bytes < 0) return 0;
    return emp_ns_of_seconds(route->latency_s + (double)bytes / route->bytes_per_s);
}

/* ---- problems ---- */

emp_status emp_problem_load(emp_problem **out, const char *source,
                            const char *machine_name, const char *runtime_name,
                            emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_graph   *graph = NULL;
    emp_machine *machine = NULL;
    emp_runtime *runtime = NULL;

    EMP_NEED(out);
    *out = NULL;
    EMP_TRY(emp_graph_load(&graph, source, err));
    EMP_TRY(emp_machine_load(&machine, machine_name, err));
    if (runtime_name == NULL) runtime_name = emp_graph_default_runtime(graph);
    EMP_TRY(emp_runtime_load(&runtime, runtime_name, err));
    EMP_TRY(emp_problem_create(out, graph, machine, runtime, source, err));
    (*out)->loaded_graph = graph;
    (*out)->loaded_machine = machine;
    graph = NULL;
    machine = NULL;

cleanup:
    emp_runtime_destroy(runtime);
    emp_machine_destroy(machine);
    emp_graph_destroy(graph);
    return st;
}

const emp_graph *emp_problem_graph(const emp_problem *problem)
{
    return problem != NULL ? problem->graph : NULL;
}

const emp_machine *emp_problem_machine(const emp_problem *problem)
{
    return problem != NULL ? problem->machine : NULL;
}

static bool has_op(const emp_problem *problem, emp_op_id op)
{
    return problem != NULL && op >= 0 && op < problem->graph->op_count;
}

static bool has_device(const emp_problem *problem, emp_device_id device)
{
    return device >= 0 && device < problem->machine->device_count;
}

bool emp_problem_allows(const emp_problem *problem, emp_op_id op, emp_device_id device)
{
    if (!has_op(problem, op) || !has_device(problem, device)) return false;
    const int32_t class = problem->class_of_op[op];
    if (class < 0) return true;
    if (problem->sequence != NULL && problem->sequence->stand_in[device] != device)
        return false;
    return problem->kinds_of_class[class] >> problem->machine->device[device].kind & 1u;
}

int32_t emp_problem_class_count(const emp_problem *problem)
{
    return problem != NULL ? problem->graph->class_count : 0;
}

int32_t emp_problem_class_of_op(const emp_problem *problem, emp_op_id op)
{
    return has_op(problem, op) ? problem->class_of_op[op] : -1;
}

/* ---- random streams ---- */

void emp_random_words(uint32_t *word, int64_t count, uint64_t seed, uint32_t stream,
                      uint32_t substream, uint64_t first)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint64_t       number = first / 4;
    uint32_t       block[4], used = (uint32_t)(first % 4);

    if (word == NULL) return;
    for (int64_t i = 0; i < count; number++, used = 0) {
        const uint32_t counter[4] = {(uint32_t)number, (uint32_t)(number >> 32), stream,
                                     substream};
        emp_philox_block(block, key, counter);
        while (used < 4 && i < count) word[i++] = block[used++];
    }
}

/* ---- version ---- */

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

const char *emp_version(void)
{
    return TEXT(EMP_VERSION_MAJOR) "." TEXT(EMP_VERSION_MINOR) "." TEXT(
        EMP_VERSION_PATCH);
}
