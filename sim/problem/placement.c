// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/problem/placement.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/strmap.h"
#include "base/text/json.h"
#include "base/text/number.h"
#include "sim/problem/split.h"

static const char format_name[] = "emplace-placement-1";

/* "cpu:0": [names] */
static bool print_device(FILE *stream, const emp_named_placement *p, emp_device_id device)
{
    bool is_text, is_first = true;

    fputs("  ", stream);
    is_text = emp_json_write_string(stream, p->device_name[device]);
    fputs(": [", stream);
    for (int32_t op = 0; is_text && op < p->op_count; op++) {
        if (p->device_of_op[op] != device) continue;
        fputs(is_first ? "\n   " : ",\n   ", stream);
        is_text = emp_json_write_string(stream, p->op_name[op]);
        is_first = false;
    }
    fputs(is_first ? "]" : "\n  ]", stream);
    return is_text;
}

static bool print_member(FILE *stream, const char *key, const char *value)
{
    fprintf(stream, " \"%s\": ", key);
    bool is_text = emp_json_write_string(stream, value);
    fputs(",\n", stream);
    return is_text;
}

static bool print_placement(FILE *stream, const emp_named_placement *p)
{
    bool is_text;

    fputs("{\n", stream);
    is_text = print_member(stream, "format", format_name) &&
              print_member(stream, "workload", p->workload) &&
              print_member(stream, "machine", p->machine);
    if (p->run != 0) fprintf(stream, " \"run\": \"%016" PRIx64 "\",\n", p->run);
    fputs(" \"step_time_s\": ", stream);
    if (p->step_time_s >= 0.0)
        emp_number_write(stream, p->step_time_s);
    else
        fputs("null", stream);
    fputs(",\n \"devices\": {", stream);
    for (emp_device_id d = 0; is_text && d < p->device_count; d++) {
        fputs(d == 0 ? "\n" : ",\n", stream);
        is_text = print_device(stream, p, d);
    }
    fputs("\n }\n}\n", stream);
    return is_text;
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

emp_status emp_placement_write(const char *path, const emp_named_placement *p,
                               emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_atomic_file file = {0};

    for (int32_t op = 0; op < p->op_count; op++) {
        if (p->device_of_op[op] >= 0 && p->device_of_op[op] < p->device_count) continue;
        EMP_FAIL(EMP_EINVAL, "op '%s' is on device %d of 0..%d", p->op_name[op],
                 p->device_of_op[op], p->device_count - 1);
    }
    EMP_TRY(emp_atomic_file_open(&file, path, err));
    if (!print_placement(file.stream, p))
        EMP_FAIL(EMP_EINVAL, "%s cannot be written: a name in it is not valid UTF-8",
                 path);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
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
    emp_json_document d = {0};
    uint64_t          run = 0;

    if (emp_json_load(&d, path, NULL) == EMP_OK) {
        const char *text = emp_json_string(emp_json_get(d.root, "run"));
        if (text != NULL) run = strtoull(text, NULL, 16);
    }
    emp_json_clear(&d);
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
                              const char *device_name, const emp_json *names,
                              emp_error *err)
{
    size_t i = 0;

    if (!emp_json_is(names, EMP_JSON_ARRAY)) {
        return EMP_ERROR(EMP_EFORMAT, "%s: device '%s' has no list of ops", path,
                         device_name);
    }
    for (const emp_json *entry = emp_json_first(names); entry != NULL;
         entry = emp_json_next(entry), i++) {
        const char *name = emp_json_string(entry);
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
                            const emp_json *devices, emp_error *err)
{
    const emp_graph *g = problem->graph;

    for (emp_op_id op = 0; op < g->op_count; op++) device_of_op[op] = -1;
    for (const emp_json *names = emp_json_first(devices); names != NULL;
         names = emp_json_next(names)) {
        const char   *name = emp_json_key(names);
        emp_device_id device = emp_machine_find(problem->machine, name);
        bool is_unused = emp_json_is(names, EMP_JSON_ARRAY) && emp_json_count(names) == 0;
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
    emp_status        st = EMP_OK;
    emp_strmap        op_of_name = {0};
    emp_json_document d = {0};

    EMP_TRY(emp_json_load(&d, path, err));
    if (emp_split_is(d.root)) {
        EMP_TRY(emp_split_place(device_of_op, path, problem, d.root, err));
        goto cleanup;
    }
    const char *format = emp_json_string(emp_json_get(d.root, "format"));
    if (format == NULL || strcmp(format, format_name) != 0) {
        EMP_FAIL(EMP_EFORMAT, "%s: no placement file: its format is '%s', not '%s'", path,
                 format == NULL ? "" : format, format_name);
    }
    const emp_json *devices = emp_json_get(d.root, "devices");
    if (!emp_json_is(devices, EMP_JSON_OBJECT))
        EMP_FAIL(EMP_EFORMAT, "%s: the key devices is missing", path);
    EMP_TRY(index_names(&op_of_name, problem->graph, err));
    EMP_TRY(place_all(device_of_op, path, problem, &op_of_name, devices, err));

cleanup:
    emp_strmap_clear(&op_of_name);
    emp_json_clear(&d);
    return st;
}
