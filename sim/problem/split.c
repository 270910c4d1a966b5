// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/problem/split.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

typedef struct {
    const char        *path;
    const emp_problem *problem;
    const emp_strmap  *op_of_name;
    emp_device_id     *device_of_op;
} reader;

bool emp_split_is(const emp_json *root)
{
    return emp_json_is(emp_json_get(root, "fpgas"), EMP_JSON_ARRAY) &&
           emp_json_is(emp_json_get(root, "cpus"), EMP_JSON_ARRAY);
}

static emp_status find_op(emp_op_id *op, const reader *r, const emp_json *id,
                          const char *list, emp_error *err)
{
    char name[48];

    *op = -1;
    if (!emp_json_is(id, EMP_JSON_INTEGER))
        return EMP_ERROR(EMP_EFORMAT, "%s: \"%s\" has a node that is no whole number",
                         r->path, list);
    snprintf(name, sizeof name, "gradients/node%" PRId64, emp_json_integer(id));
    *op = emp_strmap_get(r->op_of_name, name, strlen(name));
    const char *forward = name + strlen("gradients/");
    if (*op < 0) *op = emp_strmap_get(r->op_of_name, forward, strlen(forward));
    if (*op < 0)
        return EMP_ERROR(EMP_EFORMAT, "%s: the graph has no op '%s'", r->path, forward);
    return EMP_OK;
}

static emp_status place_nodes(reader *r, const emp_json *nodes, emp_device_id device,
                              const char *list, emp_error *err)
{
    emp_op_id op;

    if (!emp_json_is(nodes, EMP_JSON_ARRAY))
        return EMP_ERROR(EMP_EFORMAT, "%s: an entry of \"%s\" has no list \"nodes\"",
                         r->path, list);
    for (const emp_json *id = emp_json_first(nodes); id != NULL; id = emp_json_next(id)) {
        EMP_CHECK(find_op(&op, r, id, list, err));
        if (r->device_of_op[op] >= 0)
            return EMP_ERROR(EMP_EFORMAT, "%s: op '%s' is placed twice", r->path,
                             r->problem->graph->name[op]);
        r->device_of_op[op] = device;
    }
    return EMP_OK;
}

static emp_status place_kind(reader *r, const emp_json *root, const char *list,
                             emp_device_kind kind, emp_error *err)
{
    const emp_machine *m = r->problem->machine;
    const emp_json    *entries = emp_json_get(root, list);
    const emp_json    *entry = emp_json_first(entries);

    for (emp_device_id d = 0; d < m->device_count && entry != NULL; d++) {
        if (m->device[d].kind != kind) continue;
        EMP_CHECK(place_nodes(r, emp_json_get(entry, "nodes"), d, list, err));
        entry = emp_json_next(entry);
    }
    if (entry != NULL)
        return EMP_ERROR(
            EMP_EFORMAT, "%s: \"%s\" has %d entries; machine '%s' has %d such devices",
            r->path, list, emp_json_count(entries), m->name, emp_machine_count(m, kind));
    return EMP_OK;
}

static emp_status place_rest(reader *r, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = r->problem->graph;
    emp_device_id   *device_of_class = NULL;

    EMP_TRY(EMP_ALLOC(device_of_class, (size_t)g->class_count));
    for (int32_t c = 0; c < g->class_count; c++) device_of_class[c] = -1;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (r->device_of_op[op] >= 0)
            device_of_class[g->op[op].colocation_class] = r->device_of_op[op];
    }
    for (emp_op_id op = 0; op < g->op_count; op++) {
        emp_device_id device = device_of_class[g->op[op].colocation_class];
        if (device < 0)
            EMP_FAIL(EMP_EFORMAT, "%s: op '%s' is not placed", r->path, g->name[op]);
        if (r->device_of_op[op] < 0) r->device_of_op[op] = device;
    }

cleanup:
    emp_free(device_of_class);
    return st;
}

emp_status emp_split_place(emp_device_id *device_of_op, const char *path,
                           const emp_problem *problem, const emp_strmap *op_of_name,
                           const emp_json *root, emp_error *err)
{
    reader r = {path, problem, op_of_name, device_of_op};

    EMP_CHECK(place_kind(&r, root, "fpgas", EMP_DEVICE_GPU, err));
    EMP_CHECK(place_kind(&r, root, "cpus", EMP_DEVICE_CPU, err));
    return place_rest(&r, err);
}
