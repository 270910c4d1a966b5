// SPDX-License-Identifier: GPL-3.0-or-later
/* Functions that methods from outside share: their options, how long they wait, how they fail, what they may answer. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text/units.h"
#include "base/work.h"
#include "run/outside/outside.h"

enum { TIMEOUT_S = 60, LONGEST_TIMEOUT_S = 86400 };

static emp_status read_timeout(double *timeout_s, const char *options, emp_error *err)
{
    static const char key[] = "timeout=";

    *timeout_s = TIMEOUT_S;
    for (const char *at = options; at != NULL && *at != '\0';) {
        char *end = NULL;
        if (strncmp(at, key, strlen(key)) == 0) {
            *timeout_s = emp_number_parse(at + strlen(key), &end);
            if (!(*timeout_s > 0 && *timeout_s <= LONGEST_TIMEOUT_S) ||
                (*end != ',' && *end != '\0'))
                return EMP_ERROR(EMP_EINVAL,
                                 "\"%s\" has no timeout above 0 and up to %d seconds", at,
                                 LONGEST_TIMEOUT_S);
        }
        at = strchr(at, ',');
        if (at != NULL) at++;
    }
    return EMP_OK;
}

emp_status emp_outsider_init(emp_outsider *outsider, const emp_problem *problem,
                             const emp_method_params *params, emp_error *err)
{
    outsider->problem = problem;
    outsider->name = params->type->name;
    outsider->address = (const char *)params->type->own;
    outsider->deadline_s = params->deadline_s;
    outsider->stop = params->stop;
    return read_timeout(&outsider->timeout_s, params->options, err);
}

emp_channel_wait emp_outsider_wait(const emp_outsider *outsider)
{
    double until_s = emp_clock_now_s() + outsider->timeout_s;

    if (outsider->deadline_s > 0 && outsider->deadline_s < until_s)
        until_s = outsider->deadline_s;
    return (emp_channel_wait){until_s, outsider->stop};
}

emp_status emp_outsider_fail(const emp_outsider *outsider, emp_status st,
                             const emp_error *why, emp_error *err)
{
    const bool is_late =
        outsider->deadline_s > 0 && emp_clock_now_s() >= outsider->deadline_s;

    if (st == EMP_EEXTERNAL && is_late) return EMP_OK;
    return EMP_ERROR(st, "method %s: %s", outsider->name, why->msg);
}

emp_status emp_outsider_check(const emp_outsider *outsider, int32_t number,
                              const emp_device_id *device_of_op, emp_error *err)
{
    const emp_graph *graph = outsider->problem->graph;
    const int32_t    devices = outsider->problem->machine->device_count;

    for (emp_op_id op = 0; op < graph->op_count; op++) {
        if (device_of_op[op] >= 0 && device_of_op[op] < devices) continue;
        return EMP_ERROR(
            EMP_EFORMAT,
            "its placement %d has op \"%s\" on device %d; there are devices 0 "
            "to %d",
            number, graph->name[op], device_of_op[op], devices - 1);
    }
    return EMP_OK;
}
