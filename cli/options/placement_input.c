// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/placement_input.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "run/methods.h"
#include "run/store/store.h"
#include "sim/problem/placement.h"

enum { SEARCH_BUDGET = 100 };

static bool is_record(const char *path)
{
    size_t length = strlen(path);

    return length > 3 && strcmp(path + length - 3, ".h5") == 0;
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

/* Makes it legal, and says so if that changes it. */
static emp_status legalize(emp_device_id *device_of_op, const char *path,
                           const emp_problem *problem, emp_error *err)
{
    emp_status     st = EMP_OK;
    size_t         op_count = (size_t)problem->graph->op_count;
    emp_device_id *asked = EMP_NEW_ARRAY(emp_device_id, op_count);
    emp_op_id      first = -1, moved = 0;

    if (asked == NULL) EMP_FAIL(EMP_ENOMEM, "placement of %zu ops", op_count);
    memcpy(asked, device_of_op, op_count * sizeof *asked);
    emp_problem_legalize(problem, device_of_op);
    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        if (asked[op] == device_of_op[op]) continue;
        if (moved++ == 0) first = op;
    }
    if (moved > 0) {
        const emp_machine *m = problem->machine;
        cli_warn(
            "%s: %d op%s moved, the first is '%s' from %s to %s: ops without a kernel "
            "for their device run on a CPU, and colocated ones together",
            path, moved, moved == 1 ? "" : "s", problem->graph->name[first],
            m->device[asked[first]].name, m->device[device_of_op[first]].name);
    }

cleanup:
    emp_free(asked);
    return st;
}

emp_status cli_placement_load(emp_device_id *device_of_op, const char *path,
                              const emp_problem *problem, emp_error *err)
{
    if (is_record(path))
        EMP_CHECK(load_best(device_of_op, path, problem, err));
    else
        EMP_CHECK(emp_placement_load(device_of_op, path, problem, err));
    return legalize(device_of_op, path, problem, err);
}

static emp_status read_record(cli_placement_origin *origin, const char *path,
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

emp_status cli_placement_read_origin(cli_placement_origin *origin, const char *path,
                                     emp_error *err)
{
    emp_status   st = EMP_OK;
    json_error_t why;
    json_t      *root = NULL;

    if (is_record(path)) return read_record(origin, path, err);
    root = json_load_file(path, 0, &why);
    if (root == NULL) EMP_FAIL(EMP_EFORMAT, "%s:%d: %s", path, why.line, why.text);
    const char *workload = json_string_value(json_object_get(root, "workload"));
    const char *machine = json_string_value(json_object_get(root, "machine"));
    if (workload == NULL || machine == NULL)
        EMP_FAIL(EMP_EFORMAT, "%s: no placement file: it names no workload and machine",
                 path);
    snprintf(origin->workload, sizeof origin->workload, "%s", workload);
    snprintf(origin->machine, sizeof origin->machine, "%s", machine);

cleanup:
    json_decref(root);
    return st;
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
