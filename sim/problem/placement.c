// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/problem/placement.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/strmap.h"
#include "sim/problem/split.h"

static const char format_name[] = "emplace-placement-1";

/* [ops of each device] */
static bool add_names(json_t **names, const emp_named_placement *p)
{
    for (int32_t op = 0; op < p->op_count; op++) {
        json_t *name = json_string_nocheck(p->op_name[op]);
        if (json_array_append_new(names[p->device_of_op[op]], name) != 0) return false;
    }
    return true;
}

/* {"cpu:0": [names], "gpu:0": [names], ...}; NULL when memory is out. */
static json_t *devices_to_json(const emp_named_placement *p)
{
    json_t *devices = json_object(), *names[EMP_MAX_DEVICES];
    bool    ok = devices != NULL;

    for (emp_device_id d = 0; ok && d < p->device_count; d++) {
        names[d] = json_array();
        /* takes the reference even when it fails; a NULL fails */
        ok = json_object_set_new(devices, p->device_name[d], names[d]) == 0;
    }
    ok = ok && add_names(names, p);
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

emp_named_placement emp_placement_name(const emp_problem   *problem,
                                       const emp_device_id *device_of_op,
                                       double               step_time_s)
{
    const emp_machine  *m = problem->machine;
    emp_named_placement p = {.workload = problem->workload,
                             .machine = m->name,
                             .step_time_s = step_time_s,
                             .device_count = m->device_count,
                             .op_count = problem->graph->op_count,
                             .op_name = problem->graph->name,
                             .device_of_op = device_of_op};

    for (emp_device_id d = 0; d < m->device_count; d++)
        p.device_name[d] = m->device[d].name;
    return p;
}

static json_t *to_json(const emp_named_placement *p)
{
    char    run[24];
    json_t *devices = devices_to_json(p);
    json_t *time = p->step_time_s >= 0.0 ? json_real(p->step_time_s) : json_null();

    snprintf(run, sizeof run, "%016" PRIx64, p->run);
    return json_pack("{s:s, s:o, s:o, s:s*, s:o, s:o}", "format", format_name, "workload",
                     json_string_nocheck(p->workload), "machine",
                     json_string_nocheck(p->machine), "run", p->run != 0 ? run : NULL,
                     "step_time_s", time, "devices", devices);
}

emp_status emp_placement_write(const char *path, const emp_named_placement *p,
                               emp_error *err)
{
    for (int32_t op = 0; op < p->op_count; op++) {
        if (p->device_of_op[op] >= 0 && p->device_of_op[op] < p->device_count) continue;
        return EMP_ERROR(EMP_EINVAL, "op '%s' is on device %d of 0..%d", p->op_name[op],
                         p->device_of_op[op], p->device_count - 1);
    }
    json_t *root = to_json(p);
    if (root == NULL) return EMP_ERROR(EMP_ENOMEM, "placement of %d ops", p->op_count);
    emp_status st = write_json(path, root, err);
    json_decref(root);
    return st;
}

emp_status emp_placement_save(const char *path, const emp_problem *problem,
                              const emp_device_id *device_of_op, double step_time_s,
                              emp_error *err)
{
    const emp_named_placement p = emp_placement_name(problem, device_of_op, step_time_s);

    return emp_placement_write(path, &p, err);
}

uint64_t emp_placement_run(const char *path)
{
    json_t     *root = json_load_file(path, 0, NULL);
    const char *text = json_string_value(json_object_get(root, "run"));
    uint64_t    run = text != NULL ? strtoull(text, NULL, 16) : 0;

    json_decref(root);
    return run;
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
