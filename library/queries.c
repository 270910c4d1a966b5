// SPDX-License-Identifier: GPL-3.0-or-later
/* Queries of <emplace/graph.h>, <emplace/machine.h>, <emplace/problem.h> and <emplace/sim.h>, simulations with the times
 * of ops, the streams of <emplace/random.h> from any word on, and the version. */
#include <emplace/api.h>
#include <emplace/random.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/random.h"
#include "sim/cost/cost.h"
#include "sim/engine/sim.h"
#include "sim/graph/graph.h"
#include "sim/machine/machine.h"
#include "sim/problem/problem.h"

/* ---- graphs ---- */

static bool graph_has_op(const emp_graph *graph, emp_op_id op)
{
    return graph != NULL && op >= 0 && op < graph->op_count;
}

static bool graph_has_tensor(const emp_graph *graph, emp_tensor_id tensor)
{
    return graph != NULL && tensor >= 0 && tensor < graph->tensor_count;
}

int32_t emp_graph_op_count(const emp_graph *graph)
{
    return graph != NULL ? graph->op_count : 0;
}

const char *emp_graph_op_name(const emp_graph *graph, emp_op_id op)
{
    return graph_has_op(graph, op) ? graph->name[op] : NULL;
}

const char *emp_graph_op_type(const emp_graph *graph, emp_op_id op)
{
    return graph_has_op(graph, op) ? graph->type_name[graph->type[op]] : NULL;
}

double emp_graph_op_flops(const emp_graph *graph, emp_op_id op)
{
    return graph_has_op(graph, op) ? graph->op[op].cost->flops : 0.0;
}

int64_t emp_graph_op_persistent_bytes(const emp_graph *graph, emp_op_id op)
{
    return graph_has_op(graph, op) ? graph->op[op].persistent_bytes : 0;
}

bool emp_graph_op_is_folded(const emp_graph *graph, emp_op_id op)
{
    return graph_has_op(graph, op) && graph->op[op].is_folded;
}

/* Row \a op of compressed rows, and its length. */
static const int32_t *row_of(const int32_t *offset, const int32_t *entry, int32_t op,
                             int32_t *count)
{
    *count = offset[op + 1] - offset[op];
    return entry + offset[op];
}

const emp_tensor_id *emp_graph_inputs(const emp_graph *graph, emp_op_id op,
                                      int32_t *count)
{
    if (count == NULL) return NULL;
    *count = 0;
    return graph_has_op(graph, op) ? row_of(graph->input_offset, graph->input, op, count)
                                   : NULL;
}

const emp_op_id *emp_graph_controls(const emp_graph *graph, emp_op_id op, int32_t *count)
{
    if (count == NULL) return NULL;
    *count = 0;
    return graph_has_op(graph, op)
               ? row_of(graph->control_offset, graph->control, op, count)
               : NULL;
}

emp_tensor_id emp_graph_outputs(const emp_graph *graph, emp_op_id op, int32_t *count)
{
    if (count == NULL) return -1;
    *count = 0;
    if (!graph_has_op(graph, op)) return -1;
    *count = graph->output_offset[op + 1] - graph->output_offset[op];
    return *count > 0 ? graph->output_offset[op] : -1;
}

const emp_op_id *emp_graph_order(const emp_graph *graph)
{
    return graph != NULL ? graph->topo : NULL;
}

emp_op_id emp_graph_tensor_producer(const emp_graph *graph, emp_tensor_id tensor)
{
    return graph_has_tensor(graph, tensor) ? graph->tensor[tensor].producer : -1;
}

int64_t emp_graph_tensor_bytes(const emp_graph *graph, emp_tensor_id tensor)
{
    return graph_has_tensor(graph, tensor) ? graph->tensor[tensor].copy_bytes : 0;
}

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

static bool problem_has_op(const emp_problem *problem, emp_op_id op)
{
    return problem != NULL && op >= 0 && op < problem->graph->op_count;
}

static bool problem_has_device(const emp_problem *problem, emp_device_id device)
{
    return device >= 0 && device < problem->machine->device_count;
}

bool emp_problem_allows(const emp_problem *problem, emp_op_id op, emp_device_id device)
{
    if (!problem_has_op(problem, op) || !problem_has_device(problem, device))
        return false;
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
    return problem_has_op(problem, op) ? problem->class_of_op[op] : -1;
}

/* ---- simulations ---- */

emp_status emp_sim_result_create(emp_sim_result **out, emp_error *err)
{
    EMP_NEED(out);
    EMP_CHECK(EMP_ALLOC(*out, 1));
    (*out)->oom_device = -1;
    return EMP_OK;
}

void emp_sim_result_destroy(emp_sim_result *result) { emp_free(result); }

static bool result_has_device(const emp_sim_result *result, emp_device_id device)
{
    return result != NULL && device >= 0 && device < result->device_count;
}

emp_time_ns emp_sim_result_step_time_ns(const emp_sim_result *result)
{
    return result != NULL ? result->step_time_ns : 0;
}

bool emp_sim_result_is_feasible(const emp_sim_result *result)
{
    return result != NULL && result->is_feasible;
}

bool emp_sim_result_oom(const emp_sim_result *result, emp_oom *oom)
{
    if (result == NULL || result->oom_device < 0) return false;
    if (oom != NULL)
        *oom = (emp_oom){result->oom_device, result->oom_op, result->oom_bytes,
                         result->oom_at_ns};
    return true;
}

int64_t emp_sim_result_peak_bytes(const emp_sim_result *result, emp_device_id device)
{
    return result_has_device(result, device) ? result->peak_bytes[device] : 0;
}

emp_time_ns emp_sim_result_busy_ns(const emp_sim_result *result, emp_device_id device)
{
    return result_has_device(result, device) ? result->busy_ns[device] : 0;
}

int64_t emp_sim_result_traffic_bytes(const emp_sim_result *result)
{
    return result != NULL ? result->traffic_bytes : 0;
}

emp_status emp_sim_run_times(emp_sim *sim, const emp_decision *decision,
                             emp_time_ns *start_ns, emp_time_ns *end_ns,
                             emp_sim_result *result, emp_error *err)
{
    EMP_NEED(sim);
    EMP_NEED(decision);
    EMP_NEED(decision->device_of_op);
    EMP_NEED(start_ns);
    EMP_NEED(end_ns);
    EMP_NEED(result);
    return emp_sim_run_timed(sim, decision, &(emp_sim_times){start_ns, end_ns}, result,
                             err);
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
