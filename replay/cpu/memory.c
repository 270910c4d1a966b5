// SPDX-License-Identifier: GPL-3.0-or-later
#define _DEFAULT_SOURCE /* sysconf() of physical pages */
#include "replay/cpu/memory.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

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
