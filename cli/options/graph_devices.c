// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/graph_devices.h"

#include <string.h>

#include "base/strmap.h"
#include "base/text/units.h"
#include "cli/cli.h"
#include "graphs/import/node_devices.h"
#include "sim/machine/queries/device_name.h"

typedef struct {
    const emp_problem *problem;
    emp_device_id     *device_of_op;
    emp_strmap         op_of_name;
    int32_t            unnamed; /* ops without a device */
} reader;

static emp_status place_node(void *context, emp_slice name, emp_slice device,
                             emp_error *err)
{
    reader            *r = (reader *)context;
    const emp_machine *m = r->problem->machine;
    int32_t            op = emp_strmap_get(&r->op_of_name, name.data, name.size);

    if (op < 0) return EMP_OK;
    r->device_of_op[op] = emp_device_name_find(m, device.data, device.size);
    r->unnamed += device.size == 0;
    if (r->device_of_op[op] >= 0) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "op '%.*s' is on \"%.*s\", which fits no device of machine '%s': it "
                     "has %d CPU%s and %d GPU%s",
                     EMP_SLICE_ARG(name), EMP_SLICE_ARG(device), m->name,
                     emp_machine_count(m, EMP_DEVICE_CPU),
                     emp_units_plural(emp_machine_count(m, EMP_DEVICE_CPU)),
                     emp_machine_count(m, EMP_DEVICE_GPU),
                     emp_units_plural(emp_machine_count(m, EMP_DEVICE_GPU)));
}

static emp_status check(const reader *r, const char *path, emp_error *err)
{
    const emp_graph *g = r->problem->graph;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (r->device_of_op[op] < 0)
            return EMP_ERROR(EMP_EINVAL, "%s: there is no op '%s', which a step runs",
                             path, g->name[op]);
    }
    if (r->unnamed == g->op_count)
        return EMP_ERROR(EMP_EINVAL, "%s names no device for any op of the step", path);
    return EMP_OK;
}

emp_status cli_graph_devices_parse(emp_device_id *device_of_op, const char *bytes,
                                   size_t size, const char *path,
                                   const emp_problem *problem, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = problem->graph;
    reader           r = {.problem = problem, .device_of_op = device_of_op};

    for (emp_op_id op = 0; op < g->op_count; op++) {
        device_of_op[op] = -1;
        EMP_TRY(emp_strmap_set(&r.op_of_name, g->name[op], strlen(g->name[op]), op, err));
    }
    EMP_TRY(emp_nodes_each_device_in(bytes, size, path, place_node, &r, err));
    EMP_TRY(check(&r, path, err));
    if (r.unnamed > 0)
        cli_warn(
            "%s: %d of %d ops name no device and go to %s, as TensorFlow puts them", path,
            r.unnamed, g->op_count,
            problem->machine->device[emp_device_name_find(problem->machine, "", 0)].name);

cleanup:
    emp_strmap_clear(&r.op_of_name);
    return st;
}
