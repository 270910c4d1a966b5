// SPDX-License-Identifier: GPL-3.0-or-later
/* Names of methods from outside, and what such methods share. */
#include "run/outside/outside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io/input.h"
#include "base/text/number.h"
#include "run/outside/outside_internal.h"

enum { MOST_METHODS = 16, NAME_BYTES = 256, TIMEOUT_S = 60, LONGEST_TIMEOUT_S = 86400 };

/* ---- names ---- */

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_library(const char *name)
{
    const size_t length = strlen(name);

    return length > 3 && strcmp(name + length - 3, ".so") == 0;
}

bool emp_outside_is_name(const char *name)
{
    return begins_with(name, "cmd:") || begins_with(name, "socket:") || is_library(name);
}

static emp_status check_name(const char *name, emp_error *err)
{
    char *end = NULL;

    if (strlen(name) >= NAME_BYTES)
        return EMP_ERROR(EMP_EINVAL,
                         "the name of method \"%.40s...\" has %d characters at most",
                         name, NAME_BYTES - 1);
    if (begins_with(name, "socket:")) {
        const long number = strtol(name + strlen("socket:"), &end, 10);
        if (number < 3 || number > 1 << 20 || *end != '\0')
            return EMP_ERROR(EMP_EINVAL,
                             "method \"%s\" names no descriptor; socket:5 would", name);
    } else if (!begins_with(name, "cmd:") && access(name, R_OK) != 0) {
        return EMP_ERROR(EMP_EIO, "method %s: %s", name, strerror(errno));
    }
    return EMP_OK;
}

/* The library, or the files that a command names, stay what they are. */
static void keep_files(const char *name)
{
    static const char blanks[] = " \t\n";
    char              word[NAME_BYTES];

    if (is_library(name)) emp_input_keep(name);
    if (!begins_with(name, "cmd:")) return;
    for (const char *at = name + strlen("cmd:"); *(at += strspn(at, blanks)) != '\0';) {
        const size_t length = strcspn(at, blanks);
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        emp_input_keep(word);
        at += length;
    }
}

emp_status emp_outside_find(const emp_method **method, const char *name, emp_error *err)
{
    static emp_method found[MOST_METHODS];
    static char       name_of[MOST_METHODS][NAME_BYTES];
    static int32_t    count;

    for (int32_t i = 0; i < count; i++) {
        *method = &found[i];
        if (strcmp(name_of[i], name) == 0) return EMP_OK;
    }
    *method = NULL;
    EMP_CHECK(check_name(name, err));
    if (count == MOST_METHODS)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "method %s is one from outside too many; a process has %d", name,
                         MOST_METHODS);
    snprintf(name_of[count], NAME_BYTES, "%s", name);
    found[count] = is_library(name) && !begins_with(name, "cmd:") ? emp_outside_plugin
                                                                  : emp_outside_lines;
    found[count].name = name_of[count];
    *method = &found[count++];
    keep_files(name);
    return EMP_OK;
}

/* ---- what they share ---- */

static emp_status read_timeout(double *timeout_s, const char *options, emp_error *err)
{
    static const char key[] = "timeout=";

    *timeout_s = TIMEOUT_S;
    for (const char *at = options; at != NULL && *at != '\0';) {
        char *end = NULL;
        if (begins_with(at, key)) {
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
