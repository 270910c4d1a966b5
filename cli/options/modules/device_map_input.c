// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/modules/device_map_input.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "base/text/whole_file.h"
#include "cli/cli.h"
#include "cli/options/modules/device_map_file.h"
#include "cli/options/modules/layers.h"

enum { MOST_BYTES = 1 << 24, NOWHERE = -1 };

typedef struct {
    const emp_problem *problem;
    const char        *path;
    cli_map_file       map;
    emp_device_id     *device_of_entry;
    bool              *is_used; /* [entry] an op is of it */
    bool              *is_told; /* [op] its module places it */
    emp_device_id     *device_of_op;
} reader;

/* ---- devices ---- */

static emp_device_id find_device(const emp_machine *m, int32_t gpu)
{
    char name[32] = "cpu:0";

    if (gpu != CLI_MAP_CPU) snprintf(name, sizeof name, "gpu:%d", gpu);
    for (emp_device_id d = 0; d < m->device_count; d++)
        if (strcmp(m->device[d].name, name) == 0) return d;
    return NOWHERE;
}

static emp_status find_devices(reader *r, emp_error *err)
{
    const emp_machine *m = r->problem->machine;

    if (emp_machine_count(m, EMP_DEVICE_CPU) > 1)
        return EMP_ERROR(EMP_EINVAL, "%s: a device_map is of one computer, and %s has %d",
                         r->path, m->name, emp_machine_count(m, EMP_DEVICE_CPU));
    EMP_CHECK(EMP_ALLOC(r->device_of_entry, (size_t)r->map.count));
    for (int32_t i = 0; i < r->map.count; i++) {
        const cli_map_entry *e = &r->map.entry[i];
        r->device_of_entry[i] = find_device(m, e->gpu);
        if (r->device_of_entry[i] == NOWHERE)
            return EMP_ERROR(
                EMP_EINVAL, "%s:%d: machine %s has no cuda:%d; it has %d GPU%s", r->path,
                e->line, m->name, e->gpu, emp_machine_count(m, EMP_DEVICE_GPU),
                emp_units_plural(emp_machine_count(m, EMP_DEVICE_GPU)));
    }
    return EMP_OK;
}

/* ---- ops with a module ---- */

static emp_status place_modules(reader *r, emp_error *err)
{
    const emp_graph *g = r->problem->graph;

    EMP_CHECK(EMP_ALLOC(r->is_used, (size_t)r->map.count));
    EMP_CHECK(EMP_ALLOC(r->is_told, (size_t)g->op_count));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        size_t  length = cli_path_length(g->name[op], r->problem->workload);
        int32_t entry = cli_map_file_find(&r->map, g->name[op], length);
        r->device_of_op[op] = entry < 0 ? NOWHERE : r->device_of_entry[entry];
        r->is_told[op] = entry >= 0;
        if (entry >= 0) r->is_used[entry] = true;
    }
    return EMP_OK;
}

/* A model has modules without ops, such as a dropout that does nothing. */
static emp_status check_modules(const reader *r, emp_error *err)
{
    const cli_map_entry *first = NULL;
    int32_t              idle = 0;

    for (int32_t i = 0; i < r->map.count; i++)
        if (!r->is_used[i] && idle++ == 0) first = &r->map.entry[i];
    if (idle == r->map.count)
        return EMP_ERROR(EMP_EFORMAT, "%s: no module of it has an op in %s", r->path,
                         r->problem->workload);
    if (idle > 0)
        cli_warn("%s: %d of %d modules %s no op in %s: the first is \"%.*s\" in line %d",
                 r->path, idle, r->map.count, idle == 1 ? "has" : "have",
                 r->problem->workload, (int)first->length, first->module, first->line);
    return EMP_OK;
}

/* ---- the others ---- */

/* An input that its module places, else any that has a device. */
static emp_device_id device_of_inputs(const reader *r, emp_op_id op)
{
    const emp_graph *g = r->problem->graph;
    emp_device_id    any = NOWHERE;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++) {
        emp_op_id producer = g->tensor[g->input[i]].producer;
        if (r->is_told[producer]) return r->device_of_op[producer];
        if (any == NOWHERE) any = r->device_of_op[producer];
    }
    for (int32_t i = g->control_offset[op];
         any == NOWHERE && i < g->control_offset[op + 1]; i++)
        any = r->device_of_op[g->control[i]];
    return any;
}

static emp_device_id device_of_readers(const reader *r, emp_op_id op)
{
    const emp_graph *g = r->problem->graph;

    for (int32_t t = g->output_offset[op]; t < g->output_offset[op + 1]; t++) {
        for (int32_t i = g->consumer_offset[t]; i < g->consumer_offset[t + 1]; i++)
            if (r->device_of_op[g->consumer[i]] != NOWHERE)
                return r->device_of_op[g->consumer[i]];
    }
    return NOWHERE;
}

/* By their inputs from the first op on, then by their readers from the last. What is left touches no
 * module. */
static int32_t place_others(reader *r)
{
    const emp_graph *g = r->problem->graph;
    int32_t          count = 0;

    for (int32_t i = 0; i < g->op_count; i++) {
        emp_op_id op = g->topo[i];
        if (r->is_told[op]) continue;
        r->device_of_op[op] = device_of_inputs(r, op);
        count++;
    }
    for (int32_t i = g->op_count - 1; i >= 0; i--) {
        emp_op_id op = g->topo[i];
        if (r->device_of_op[op] == NOWHERE)
            r->device_of_op[op] = device_of_readers(r, op);
    }
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (r->device_of_op[op] == NOWHERE) r->device_of_op[op] = r->device_of_entry[0];
    return count;
}

static emp_status load(reader *r, emp_error *err)
{
    const int32_t ops = r->problem->graph->op_count;

    EMP_CHECK(find_devices(r, err));
    EMP_CHECK(place_modules(r, err));
    EMP_CHECK(check_modules(r, err));
    const int32_t others = place_others(r);
    if (others > 0)
        cli_warn("%s: %d of %d ops name no module of it, and go where their inputs are",
                 r->path, others, ops);
    return EMP_OK;
}

emp_status cli_device_map_load(emp_device_id *device_of_op, const char *path,
                               const emp_problem *problem, emp_error *err)
{
    emp_status st = EMP_OK;
    reader     r = {.problem = problem, .path = path, .device_of_op = device_of_op};
    char      *bytes = NULL;
    size_t     size = 0;

    EMP_TRY(emp_whole_file_load(&bytes, &size, path, MOST_BYTES, err));
    EMP_TRY(cli_map_file_parse(&r.map, bytes, size, path, err));
    EMP_TRY(load(&r, err));

cleanup:
    emp_free(bytes);
    emp_free(r.device_of_entry);
    emp_free(r.is_used);
    emp_free(r.is_told);
    cli_map_file_clear(&r.map);
    return st;
}
