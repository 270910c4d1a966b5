// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* CPU sets */
#include "replay/cpu/cores.h"

#include <sched.h>
#include <string.h>

static int32_t list_usable(int16_t usable[CPU_SETSIZE], cpu_set_t *set)
{
    int32_t count = 0;

    CPU_ZERO(set);
    if (sched_getaffinity(0, sizeof *set, set) != 0) CPU_SET(0, set);
    for (int32_t core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET((size_t)core, set)) usable[count++] = (int16_t)core;
    }
    return count;
}

static void take_next(emp_cpu_cores *cores, int32_t device, int32_t wanted,
                      const int16_t *usable, int32_t usable_count, int32_t *next)
{
    int32_t count = wanted < usable_count ? wanted : usable_count;

    if (count > EMP_REPLAY_MAX_CORES) count = EMP_REPLAY_MAX_CORES;
    for (int32_t i = 0; i < count; i++)
        cores->core[device][i] = usable[(*next)++ % usable_count];
    cores->count[device] = count;
}

static emp_status take_given(emp_cpu_cores *cores, int32_t device, const char *name,
                             const emp_replay_options *o, const cpu_set_t *set,
                             const int16_t *usable, int32_t usable_count, emp_error *err)
{
    for (int32_t i = 0; i < o->core_count[device]; i++) {
        int16_t core = o->core[device][i];
        if (core >= CPU_SETSIZE || !CPU_ISSET((size_t)core, set))
            return EMP_ERROR(
                EMP_EINVAL,
                "core %d of %s is not there for this program; it has %d, from %d to "
                "%d",
                core, name, usable_count, usable[0], usable[usable_count - 1]);
        cores->core[device][i] = core;
    }
    cores->count[device] = o->core_count[device];
    return EMP_OK;
}

emp_status emp_cpu_cores_choose(emp_cpu_cores *cores, const emp_replay_plan *plan,
                                const emp_replay_options *options, const bool *is_wanted,
                                emp_error *err)
{
    cpu_set_t set;
    int16_t   usable[CPU_SETSIZE];
    int32_t   usable_count = list_usable(usable, &set), next = 0;

    memset(cores, 0, sizeof *cores);
    for (int is_cpu = 0; is_cpu < 2; is_cpu++) {
        for (int32_t d = 0; d < plan->device_count; d++) {
            const emp_replay_device *device = &plan->device[d];
            if (!is_wanted[d] && options->core_count[d] > 0)
                return EMP_ERROR(EMP_EINVAL,
                                 "%s is a GPU here, and --cores is of groups "
                                 "of cores",
                                 device->name);
            if (device->is_cpu != (is_cpu == 1) || !is_wanted[d]) continue;
            if (options->core_count[d] > 0)
                EMP_CHECK(take_given(cores, d, device->name, options, &set, usable,
                                     usable_count, err));
            else
                take_next(cores, d, device->cores, usable, usable_count, &next);
        }
    }
    return EMP_OK;
}

int32_t emp_cpu_core_count(void)
{
    cpu_set_t set;
    int16_t   usable[CPU_SETSIZE];

    return list_usable(usable, &set);
}

emp_status emp_cpu_pin(pthread_t thread, const int32_t *core, int32_t count,
                       emp_error *err)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (int32_t i = 0; i < count; i++) CPU_SET((size_t)core[i], &set);
    int code = pthread_setaffinity_np(thread, sizeof set, &set);
    if (code != 0)
        return EMP_ERROR(EMP_EUNSUPPORTED, "core %d is gone: %s", core[0],
                         strerror(code));
    return EMP_OK;
}
