// SPDX-License-Identifier: GPL-3.0-or-later
#include "replay/plan/options.h"

#include <stdlib.h>
#include <string.h>

enum { HIGHEST = 4095 };

emp_replay_options emp_replay_options_default(void)
{
    emp_replay_options o = {.warmup = 2, .steps = 5, .fault = {-1, 0, -1}};

    for (int32_t d = 0; d < EMP_REPLAY_MAX_DEVICES; d++) o.physical[d] = -1;
    return o;
}

/* The device that a part of the text is about; moves behind its "=". */
static emp_status find_device(const emp_replay_plan *plan, const char **at,
                              int32_t *device, emp_error *err)
{
    size_t length = strcspn(*at, "= ");

    for (*device = 0; *device < plan->device_count; (*device)++) {
        const char *name = plan->device[*device].name;
        if (strlen(name) == length && strncmp(name, *at, length) == 0) break;
    }
    if (*device == plan->device_count)
        return EMP_ERROR(EMP_EINVAL, "the plan has no device \"%.*s\"", (int)length, *at);
    if ((*at)[length] != '=')
        return EMP_ERROR(EMP_EINVAL, "\"%s\": after the device comes =, as in gpu:0=2,3",
                         *at);
    *at += length + 1;
    return EMP_OK;
}

static emp_status parse_number(const char **at, int32_t *number, emp_error *err)
{
    char *end = NULL;
    long  value = strtol(*at, &end, 10);

    if (end == *at || value < 0 || value > HIGHEST)
        return EMP_ERROR(EMP_EINVAL, "\"%s\": a number from 0 to %d is expected", *at,
                         HIGHEST);
    *number = (int32_t)value;
    *at = end;
    return EMP_OK;
}

static emp_status add_cores(emp_replay_options *o, int32_t device, int32_t first,
                            int32_t last, emp_error *err)
{
    for (int32_t core = first; core <= last; core++) {
        if (o->core_count[device] == EMP_REPLAY_MAX_CORES)
            return EMP_ERROR(EMP_EINVAL, "more than %d cores for one device",
                             EMP_REPLAY_MAX_CORES);
        o->core[device][o->core_count[device]++] = (int16_t)core;
    }
    return EMP_OK;
}

emp_status emp_replay_options_cores(emp_replay_options *o, const emp_replay_plan *plan,
                                    const char *text, emp_error *err)
{
    const char *at = text + strspn(text, " ");

    while (*at != '\0') {
        int32_t device, first = 0, last;
        EMP_CHECK(find_device(plan, &at, &device, err));
        o->core_count[device] = 0;
        do {
            EMP_CHECK(parse_number(&at, &first, err));
            last = first;
            if (*at == '-') {
                at++;
                EMP_CHECK(parse_number(&at, &last, err));
            }
            EMP_CHECK(add_cores(o, device, first, last, err));
        } while (*at == ',' && *++at != '\0');
        if (*at != '\0' && *at != ' ')
            return EMP_ERROR(EMP_EINVAL, "\"%s\": groups of cores are parted by blanks",
                             at);
        at += strspn(at, " ");
    }
    return EMP_OK;
}

emp_status emp_replay_options_gpus(emp_replay_options *o, const emp_replay_plan *plan,
                                   const char *text, emp_error *err)
{
    const char *at = text + strspn(text, " ");

    while (*at != '\0') {
        int32_t device = 0;
        EMP_CHECK(find_device(plan, &at, &device, err));
        if (plan->device[device].is_cpu)
            return EMP_ERROR(EMP_EINVAL, "%s is no GPU of the plan",
                             plan->device[device].name);
        EMP_CHECK(parse_number(&at, &o->physical[device], err));
        if (*at != '\0' && *at != ' ')
            return EMP_ERROR(EMP_EINVAL, "\"%s\": GPUs are parted by blanks", at);
        at += strspn(at, " ");
    }
    return EMP_OK;
}
