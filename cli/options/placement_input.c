// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/placement_input.h"

#include <stdio.h>
#include <string.h>

#include "base/io/input.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options/graph_devices.h"
#include "cli/options/modules/device_map_input.h"
#include "graphs/import/node_devices.h"
#include "run/methods.h"
#include "run/store/store.h"

enum { SEARCH_BUDGET = 100 };

static bool is_record(const char *path)
{
    size_t length = strlen(path);

    return length > 3 && strcmp(path + length - 3, ".h5") == 0;
}

/* Graph files and device maps have no order and no fusion, and name no machine. */
static bool has_devices_alone(const char *path)
{
    return cli_device_map_is_named(path) || emp_nodes_syntax_of(path) != EMP_NODES_NONE;
}

/* The best placement of a run, or of its checkpoint. */
static emp_status load_best(emp_device_id *device_of_op, const char *path,
                            const emp_problem *problem, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_record record = {0};

    EMP_TRY(emp_record_load(&record, path, err));
    if (record.graph_hash != problem->graph->hash ||
        record.op_count != problem->graph->op_count) {
        EMP_FAIL(EMP_EINVAL, "%s is of %s, whose graph is not that of %s", path,
                 record.workload, problem->workload);
    }
    for (emp_op_id op = 0; op < record.op_count; op++) {
        device_of_op[op] = record.device_of_op[op];
        if (device_of_op[op] >= 0 && device_of_op[op] < problem->machine->device_count)
            continue;
        EMP_FAIL(EMP_EINVAL, "%s places ops on %s; %s has no device %d", path,
                 record.machine, problem->machine->name, device_of_op[op]);
    }

cleanup:
    emp_record_clear(&record);
    return st;
}

/* Ops that were moved for one reason. */
typedef struct {
    int32_t   count;
    emp_op_id first;
} moved_ops;

static void count_op(moved_ops *moved, emp_op_id op)
{
    if (moved->count++ == 0) moved->first = op;
}

static bool runs_on(const emp_problem *p, emp_op_id op, emp_device_id device)
{
    bool is_gpu = p->machine->device[device].kind == EMP_DEVICE_GPU;

    return (p->graph->op[op].kinds & (is_gpu ? EMP_KIND_GPU : EMP_KIND_CPU)) != 0;
}

static void warn_of_moves(const char *path, const emp_problem *p, const moved_ops *moved,
                          const emp_device_id *asked, const emp_device_id *got,
                          const char *why)
{
    const emp_device *device = p->machine->device;
    emp_op_id         first = moved->first;

    if (moved->count == 0) return;
    cli_warn("%s: %d op%s moved, as %s: the first is '%s', from %s to %s", path,
             moved->count, moved->count == 1 ? " is" : "s are", why,
             p->graph->name[first], device[asked[first]].name, device[got[first]].name);
}

/* Makes it legal, and says what that changes and why. */
static emp_status legalize(emp_device_id *device_of_op, const char *path,
                           const emp_problem *problem, emp_error *err)
{
    emp_status     st = EMP_OK;
    size_t         op_count = (size_t)problem->graph->op_count;
    emp_device_id *asked = EMP_NEW_ARRAY(emp_device_id, op_count);
    moved_ops      cannot_run = {0}, colocated = {0}, forbidden = {0};

    if (asked == NULL) EMP_FAIL(EMP_ENOMEM, "placement of %zu ops", op_count);
    memcpy(asked, device_of_op, op_count * sizeof *asked);
    emp_problem_legalize(problem, device_of_op);
    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        if (asked[op] == device_of_op[op]) continue;
        bool is_cpu = problem->machine->device[asked[op]].kind == EMP_DEVICE_CPU;
        if (!runs_on(problem, op, asked[op]))
            count_op(&cannot_run, op);
        else if (is_cpu && !emp_problem_allows(problem, op, asked[op]))
            count_op(&forbidden, op);
        else
            count_op(&colocated, op);
    }
    warn_of_moves(path, problem, &cannot_run, asked, device_of_op,
                  "there is no kernel for a GPU");
    warn_of_moves(path, problem, &forbidden, asked, device_of_op, "CPUs are forbidden");
    warn_of_moves(path, problem, &colocated, asked, device_of_op,
                  "colocated ops share a device");

cleanup:
    emp_free(asked);
    return st;
}

static void warn_of_rules(const char *path, const emp_placement_report *report)
{
    if (report->idle_count > 0)
        cli_warn("%s: %d rule%s no op: %s", path, report->idle_count,
                 report->idle_count == 1 ? " places" : "s place", report->idle);
}

emp_status cli_placement_load(emp_device_id *device_of_op, const char *path,
                              const emp_problem *problem, emp_error *err)
{
    emp_placement_report report = {0};

    if (is_record(path))
        EMP_CHECK(load_best(device_of_op, path, problem, err));
    else if (cli_device_map_is_named(path))
        EMP_CHECK(cli_device_map_load(device_of_op, path, problem, err));
    else if (emp_nodes_syntax_of(path) != EMP_NODES_NONE)
        EMP_CHECK(cli_graph_devices_load(device_of_op, path, problem, err));
    else
        EMP_CHECK(emp_placement_read(device_of_op, path, problem, &report, err));
    emp_input_keep(path);
    warn_of_rules(path, &report);
    return legalize(device_of_op, path, problem, err);
}

static emp_status load_levels(uint8_t *level_of_op, bool *has_order, const char *path,
                              emp_error *err)
{
    emp_record record = {0};
    emp_status st = emp_record_load(&record, path, err);

    *has_order = st == EMP_OK && record.has_order;
    if (*has_order) memcpy(level_of_op, record.level_of_op, (size_t)record.op_count);
    emp_record_clear(&record);
    return st;
}

emp_status cli_order_load(uint8_t *level_of_op, bool *has_order, const char *path,
                          const emp_problem *problem, emp_error *err)
{
    *has_order = false;
    if (is_record(path)) return load_levels(level_of_op, has_order, path, err);
    if (has_devices_alone(path)) return EMP_OK;
    return emp_placement_read_levels(level_of_op, has_order, path, problem->graph, err);
}

static emp_status load_leaders(emp_op_id *leader_of_op, bool *has_fusion,
                               const char *path, emp_error *err)
{
    emp_record record = {0};
    emp_status st = emp_record_load(&record, path, err);

    *has_fusion = st == EMP_OK && record.has_fusion;
    if (*has_fusion)
        memcpy(leader_of_op, record.leader_of_op,
               (size_t)record.op_count * sizeof *leader_of_op);
    emp_record_clear(&record);
    return st;
}

emp_status cli_leaders_load(emp_op_id *leader_of_op, bool *has_fusion, const char *path,
                            const emp_problem *problem, emp_error *err)
{
    *has_fusion = false;
    if (is_record(path)) return load_leaders(leader_of_op, has_fusion, path, err);
    if (has_devices_alone(path)) return EMP_OK;
    return emp_placement_read_leaders(leader_of_op, has_fusion, path, problem->graph,
                                      err);
}

static emp_status read_record(emp_placement_origin *origin, const char *path,
                              emp_error *err)
{
    emp_status st = EMP_OK;
    emp_record record = {0};

    EMP_TRY(emp_record_load(&record, path, err));
    snprintf(origin->workload, sizeof origin->workload, "%s", record.workload);
    snprintf(origin->machine, sizeof origin->machine, "%s", record.machine);

cleanup:
    emp_record_clear(&record);
    return st;
}

emp_status cli_placement_read_origin(emp_placement_origin *origin, const char *path,
                                     emp_error *err)
{
    if (is_record(path)) return read_record(origin, path, err);
    if (!has_devices_alone(path)) return emp_placement_read_origin(origin, path, err);
    *origin = (emp_placement_origin){0};
    return EMP_OK;
}

emp_status cli_placement_by_method(emp_device_id *device_of_op, bool *is_partial,
                                   const char *method, const cli_run_options *options,
                                   const emp_problem *problem, emp_error *err)
{
    emp_status        st = EMP_OK;
    const emp_method *type = NULL;
    emp_record        record = {0};
    cli_run_options   usual = cli_run_options_default();

    if (options == NULL) options = &usual;
    EMP_TRY(emp_method_find(&type, method, err));
    EMP_TRY(cli_run(&record, NULL, options, problem, type, SEARCH_BUDGET, err));
    memcpy(device_of_op, record.device_of_op,
           (size_t)record.op_count * sizeof *device_of_op);
    if (is_partial != NULL) *is_partial = strcmp(record.stopped_by, "interrupt") == 0;

cleanup:
    emp_record_clear(&record);
    return st;
}
