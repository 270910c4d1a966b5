// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* CPU sets, sysconf() of physical pages */
#include "replay/cpu/cores.h"

#include <inttypes.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- cores ---- */

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

/* ---- memory ---- */

enum { PATH_BYTES = 4096, FILE_BYTES = PATH_BYTES + 256 };

/* The number behind \a key in a file of lines "key number unit", or the file's only
 * number; below 0: none. */
static int64_t read_number(const char *path, const char *key)
{
    char    line[256];
    int64_t value = -1;
    FILE   *file = fopen(path, "r");

    if (file == NULL) return -1;
    while (value < 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        if (sscanf(line + strlen(key), "%" SCNd64, &value) != 1) value = -1;
    }
    fclose(file);
    return value;
}

static int64_t least_known(int64_t bytes, int64_t other)
{
    return other >= 0 && (bytes < 0 || other < bytes) ? other : bytes;
}

/* ---- control groups ---- */

/* Files of a version of control groups (Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst of Linux). */
typedef struct {
    const char *entry; /* before the path in /proc/self/cgroup */
    const char *folder, *limit, *used, *inactive;
} group_files;

static const group_files versions[] = {
    {"0::", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
    {":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
     "memory.usage_in_bytes", "total_inactive_file "}};

/* Finds the program's group; "" = the root, where /proc does not say. */
static void find_group(char path[PATH_BYTES], const char *root, const group_files *v)
{
    char  name[FILE_BYTES], line[PATH_BYTES];
    FILE *file;

    path[0] = '\0';
    snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
    file = fopen(name, "r");
    while (file != NULL && path[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        const char *entry = strstr(line, v->entry);
        line[strcspn(line, "\n")] = '\0';
        if (entry != NULL) snprintf(path, PATH_BYTES, "%s", entry + strlen(v->entry));
    }
    if (file != NULL) fclose(file);
}

static int64_t number_of(const char *root, const group_files *v, const char *path,
                         const char *file, const char *key)
{
    char name[2 * FILE_BYTES];

    snprintf(name, sizeof name, "%s%s%s/%s", root, v->folder, path, file);
    return read_number(name, key);
}

static int64_t left_in(const char *root, const group_files *v, const char *path)
{
    const int64_t limit = number_of(root, v, path, v->limit, "");
    const int64_t used = number_of(root, v, path, v->used, "");
    const int64_t inactive = number_of(root, v, path, "memory.stat", v->inactive);
    const int64_t held = used - (inactive > 0 && inactive <= used ? inactive : 0);

    if (limit < 0 || used < 0) return -1;
    return limit > held ? limit - held : 0;
}

int64_t emp_cpu_group_bytes(const char *root)
{
    char    path[PATH_BYTES];
    int64_t least = -1;

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        char *end = path;
        find_group(path, root, &versions[i]);
        while (end != NULL) {
            least = least_known(least, left_in(root, &versions[i], path));
            end = strrchr(path, '/');
            if (end != NULL) *end = '\0';
        }
    }
    return least;
}

int64_t emp_cpu_available_bytes(void)
{
    const int64_t kib = read_number("/proc/meminfo", "MemAvailable:");
    int64_t bytes = least_known(kib >= 0 ? kib * 1024 : -1, emp_cpu_group_bytes(""));
    struct rlimit space;

    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        bytes = least_known(bytes, (int64_t)space.rlim_cur / 2);
    if (bytes < 0)
        bytes = (int64_t)sysconf(_SC_PHYS_PAGES) / 2 * (int64_t)sysconf(_SC_PAGESIZE);
    return bytes;
}
