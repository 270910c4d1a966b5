// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/problem/placement.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/strmap.h"
#include "sim/problem/split.h"

static const char format_name[] = "emplace-placement-1";

/* {"cpu:0": [names], "gpu:0": [names], ...}; NULL when memory is out. */
static json_t *devices_to_json(const emp_problem   *problem,
                               const emp_device_id *device_of_op)
{
    const emp_graph *g = problem->graph;
    json_t          *devices = json_object();
    bool             ok = devices != NULL;

    for (emp_device_id d = 0; ok && d < problem->machine->device_count; d++) {
        json_t *names = json_array();
        ok = names != NULL;
        for (emp_op_id op = 0; ok && op < g->op_count; op++) {
            if (device_of_op[op] != d) continue;
            ok = json_array_append_new(names, json_string_nocheck(g->name[op])) == 0;
        }
        /* takes the reference even when it fails; a NULL fails */
        if (json_object_set_new(devices, problem->machine->device[d].name, names) != 0)
            ok = false;
    }
    if (!ok) json_decref(devices);
    return ok ? devices : NULL;
}

static emp_status write_json(const char *path, const json_t *root, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_atomic_file file = {0};

    EMP_TRY(emp_atomic_file_open(&file, path, err));
    if (json_dumpf(root, file.stream, JSON_INDENT(1) | JSON_PRESERVE_ORDER) != 0 &&
        !ferror(file.stream)) { /* else commit says why */
        EMP_FAIL(EMP_EINVAL, "%s cannot be written: a name in it is not valid UTF-8",
                 path);
    }
    fputc('\n', file.stream);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

emp_status emp_placement_save(const char *path, const emp_problem *problem,
                              const emp_device_id *device_of_op, double step_time_s,
                              emp_error *err)
{
    emp_status st = EMP_OK;
    json_t    *root = NULL, *devices = NULL;

    for (emp_op_id op = 0; op < problem->graph->op_count; op++) {
        if (device_of_op[op] < 0 || device_of_op[op] >= problem->machine->device_count) {
            EMP_FAIL(EMP_EINVAL, "op '%s' is on device %d of 0..%d",
                     problem->graph->name[op], device_of_op[op],
                     problem->machine->device_count - 1);
        }
    }
    devices = devices_to_json(problem, device_of_op);
    if (devices == NULL)
        EMP_FAIL(EMP_ENOMEM, "placement of %d ops", problem->graph->op_count);
    json_t *time = step_time_s >= 0.0 ? json_real(step_time_s) : json_null();
    root = json_pack("{s:s, s:o, s:o, s:o, s:O}", "format", format_name, "workload",
                     json_string_nocheck(problem->workload), "machine",
                     json_string_nocheck(problem->machine->name), "step_time_s", time,
                     "devices", devices);
    if (root == NULL)
        EMP_FAIL(EMP_ENOMEM, "placement of %d ops", problem->graph->op_count);
    EMP_TRY(write_json(path, root, err));

cleanup:
    json_decref(root);
    json_decref(devices);
    return st;
}

static emp_status index_names(emp_strmap *map, const emp_graph *g, emp_error *err)
{
    for (emp_op_id op = 0; op < g->op_count; op++) {
        EMP_CHECK(emp_strmap_set(map, g->name[op], strlen(g->name[op]), op, err));
    }
    return EMP_OK;
}

static emp_status place_names(emp_device_id *device_of_op, const char *path,
                              const emp_strmap *op_of_name, emp_device_id device,
                              const char *device_name, const json_t *names,
                              emp_error *err)
{
    size_t        i;
    const json_t *entry;

    if (!json_is_array(names)) {
        return EMP_ERROR(EMP_EFORMAT, "%s: device '%s' has no list of ops", path,
                         device_name);
    }
    json_array_foreach(names, i, entry)
    {
        const char *name = json_string_value(entry);
        if (name == NULL) {
            return EMP_ERROR(EMP_EFORMAT, "%s: entry %zu of device '%s' is no op name",
                             path, i, device_name);
        }
        emp_op_id op = emp_strmap_get(op_of_name, name, strlen(name));
        if (op < 0)
            return EMP_ERROR(EMP_EFORMAT, "%s: the graph has no op '%s'", path, name);
        if (device_of_op[op] >= 0) {
            return EMP_ERROR(EMP_EFORMAT, "%s: op '%s' is placed twice", path, name);
        }
        device_of_op[op] = device;
    }
    return EMP_OK;
}

static emp_status place_all(emp_device_id *device_of_op, const char *path,
                            const emp_problem *problem, const emp_strmap *op_of_name,
                            json_t *devices, emp_error *err)
{
    const emp_graph *g = problem->graph;
    const char      *name;
    json_t          *names;

    for (emp_op_id op = 0; op < g->op_count; op++) device_of_op[op] = -1;
    json_object_foreach(devices, name, names)
    {
        emp_device_id device = emp_machine_find(problem->machine, name);
        bool          is_unused = json_is_array(names) && json_array_size(names) == 0;
        if (device < 0 && is_unused) continue;
        if (device < 0) {
            return EMP_ERROR(EMP_EFORMAT, "%s: machine '%s' has no device '%s'", path,
                             problem->machine->name, name);
        }
        EMP_CHECK(place_names(device_of_op, path, op_of_name, device, name, names, err));
    }
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (device_of_op[op] < 0) {
            return EMP_ERROR(EMP_EFORMAT, "%s: op '%s' is not placed", path, g->name[op]);
        }
    }
    return EMP_OK;
}

emp_status emp_placement_load(emp_device_id *device_of_op, const char *path,
                              const emp_problem *problem, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_strmap   op_of_name = {0};
    json_error_t why;
    json_t      *root = json_load_file(path, JSON_REJECT_DUPLICATES, &why);

    if (root == NULL && json_error_code(&why) == json_error_cannot_open_file) {
        EMP_FAIL(EMP_EIO, "%s: %s", path, strerror(errno));
    }
    if (root == NULL)
        EMP_FAIL(EMP_EFORMAT, "%s:%d: no placement file: %s", path, why.line, why.text);
    if (emp_split_is(root)) {
        EMP_TRY(emp_split_place(device_of_op, path, problem, root, err));
        goto cleanup;
    }
    const char *format = json_string_value(json_object_get(root, "format"));
    if (format == NULL || strcmp(format, format_name) != 0) {
        EMP_FAIL(EMP_EFORMAT, "%s: no placement file: its format is '%s', not '%s'", path,
                 format == NULL ? "" : format, format_name);
    }
    json_t *devices = json_object_get(root, "devices");
    if (!json_is_object(devices))
        EMP_FAIL(EMP_EFORMAT, "%s: the key devices is missing", path);
    EMP_TRY(index_names(&op_of_name, problem->graph, err));
    EMP_TRY(place_all(device_of_op, path, problem, &op_of_name, devices, err));

cleanup:
    emp_strmap_clear(&op_of_name);
    json_decref(root);
    return st;
}
