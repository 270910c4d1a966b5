// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* dladdr, PATH_MAX */
#include "sim/machine/machine.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* ---- the data folder ---- */

/* Fills the folder of the file at \a path, links followed. */
static bool find_folder(char folder[PATH_MAX], const char *path)
{
    if (realpath(path, folder) == NULL) return false;
    char *slash = strrchr(folder, '/');
    if (slash == NULL) return false;
    *slash = '\0';
    return true;
}

/* Whether installed data are at \a relative to a folder. */
static bool try_data(char *path, size_t size, const char *folder, const char *relative)
{
    char machines[PATH_MAX];

    int length = snprintf(machines, sizeof machines, "%s/%s/machines", folder, relative);
    if (length >= (int)sizeof machines || access(machines, R_OK) != 0) return false;
    return snprintf(path, size, "%s/%s", folder, relative) < (int)size;
}

/* Installed data are beside the folder of the shared library, or of the program. */
static bool find_installed(char *path, size_t size)
{
    static const char here = 0; /* of this library, or of the program */
    const char       *module[] = {NULL, "/proc/self/exe"};
    char              folder[PATH_MAX];
    Dl_info           info;

    if (dladdr(&here, &info) != 0 && strchr(info.dli_fname, '/') != NULL)
        module[0] = info.dli_fname;
    for (int i = 0; i < 2; i++) {
        if (module[i] == NULL || !find_folder(folder, module[i])) continue;
        if (try_data(path, size, folder, EMP_DATA_FROM_LIBRARY)) return true;
        if (try_data(path, size, folder, EMP_DATA_FROM_PROGRAM)) return true;
    }
    return false;
}

void emp_data_folder(char *path, size_t size, const char *folder)
{
    const char *data = getenv("EMPLACE_DATA");

    if (data != NULL && *data != '\0')
        snprintf(path, size, "%s", data);
    else if (!find_installed(path, size))
        snprintf(path, size, "%s", EMP_DATA_DIR);
    size_t used = strlen(path);
    snprintf(path + used, size - used, "/%s", folder);
}

enum {
    MOST_NAMES = sizeof((emp_data_names){0}.name) / sizeof((emp_data_names){0}.name[0]),
    NAME_BYTES = sizeof((emp_data_names){0}.name[0])
};

static int compare_names(const void *a, const void *b)
{
    return strcmp((const char *)a, (const char *)b);
}

/* The name of NAME.yaml; false: the file is none, or the name is too long. */
static bool cut_name(char name[NAME_BYTES], const char *file)
{
    static const char ending[] = ".yaml";
    size_t            length = strlen(file), cut = length - strlen(ending);

    if (length <= strlen(ending) || cut >= NAME_BYTES || file[0] == '.') return false;
    if (strcmp(file + cut, ending) != 0) return false;
    snprintf(name, NAME_BYTES, "%.*s", (int)cut, file);
    return true;
}

void emp_names_find(emp_data_names *names, const char *path)
{
    DIR                 *files = opendir(path);
    const struct dirent *file;

    names->count = 0;
    if (files == NULL) return;
    while (names->count < MOST_NAMES && (file = readdir(files)) != NULL)
        names->count += cut_name(names->name[names->count], file->d_name);
    closedir(files);
    qsort(names->name, (size_t)names->count, sizeof names->name[0], compare_names);
}

void emp_data_find(emp_data_names *names, const char *folder)
{
    char path[PATH_MAX];

    emp_data_folder(path, sizeof path, folder);
    emp_names_find(names, path);
}

void emp_data_list(char *text, size_t size, const char *folder)
{
    emp_data_names names;
    size_t         used = 0;

    text[0] = '\0';
    emp_data_find(&names, folder);
    for (int32_t i = 0; i < names.count; i++) {
        const bool is_full = used + strlen(names.name[i]) + sizeof ", , ..." > size;
        used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? "" : ", ",
                                 is_full ? "..." : names.name[i]);
        if (is_full) return;
    }
}

/* ---- a machine that is there ---- */

emp_machine *emp_machine_copy(const emp_machine *machine)
{
    emp_machine *copy = EMP_NEW(emp_machine);

    if (copy == NULL) return NULL;
    *copy = *machine;
    copy->text = NULL;
    for (emp_device_id d = 0; d < copy->device_count; d++)
        emp_tables_hold(copy->device[d].tables);
    return copy;
}

void emp_machine_destroy(emp_machine *machine)
{
    if (machine == NULL) return;
    for (emp_device_id d = 0; d < machine->device_count; d++)
        emp_tables_release(machine->device[d].tables);
    emp_free(machine->text);
    emp_free(machine);
}

const emp_device *emp_machine_first(const emp_machine *machine, emp_device_kind kind)
{
    for (int32_t i = 0; i < machine->device_count; i++) {
        if (machine->device[i].kind == kind) return &machine->device[i];
    }
    return NULL;
}

const emp_machine_model *emp_machine_first_model(const emp_machine *machine,
                                                 emp_device_kind    kind)
{
    const emp_device *first = emp_machine_first(machine, kind);

    return first == NULL ? NULL : &machine->model[first->model];
}

int32_t emp_machine_count(const emp_machine *machine, emp_device_kind kind)
{
    int32_t count = 0;

    for (int32_t i = 0; i < machine->device_count; i++)
        count += machine->device[i].kind == kind;
    return count;
}

int32_t emp_machine_list(const emp_machine *machine, emp_device_kind kind,
                         emp_device_id device[EMP_MAX_DEVICES])
{
    int32_t count = 0;

    for (emp_device_id d = 0; d < machine->device_count; d++)
        if (machine->device[d].kind == kind) device[count++] = d;
    return count;
}

bool emp_machine_is_fitted_to(const emp_machine *machine, const char *cell)
{
    for (int32_t i = 0; i < machine->fitted_count; i++) {
        if (strcmp(machine->fitted_cell[i], cell) == 0) return true;
    }
    return false;
}

emp_device_id emp_machine_find(const emp_machine *machine, const char *name)
{
    if (machine == NULL || name == NULL) return -1;
    for (int32_t i = 0; i < machine->device_count; i++) {
        if (strcmp(machine->device[i].name, name) == 0) return i;
    }
    return -1;
}

/* ---- pictures ---- */

enum { COLOURS = 8 }; /* then they begin anew */

/* Seven colours of Okabe and Ito, and a purple. */
static const char *const device_colours[COLOURS] = {"#56b4e9", "#e69f00", "#009e73",
                                                    "#cc79a7", "#0072b2", "#f0e442",
                                                    "#d55e00", "#882255"};
static const char        cpu_colour[] = "#a3a3a3";

const char *emp_device_colour(const emp_machine *machine, emp_device_id device)
{
    int32_t before = 0; /* GPUs */

    if (machine->device[device].kind == EMP_DEVICE_CPU) return cpu_colour;
    for (emp_device_id d = 0; d < device; d++)
        before += machine->device[d].kind != EMP_DEVICE_CPU;
    return device_colours[before % COLOURS];
}

char emp_device_letter(emp_device_id device)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    return device < (emp_device_id)strlen(letters) ? letters[device] : '+';
}

bool emp_device_is_dark(const emp_machine *machine, emp_device_id device)
{
    long rgb = strtol(emp_device_colour(machine, device) + 1, NULL, 16);
    long r = rgb >> 16 & 255, g = rgb >> 8 & 255, b = rgb & 255;

    return 299 * r + 587 * g + 114 * b < 110000; /* weights of ITU-R BT.601 */
}

/* ---- collectives ---- */

emp_device_list emp_ring_gpus(const emp_machine *machine)
{
    emp_device_list list;

    list.count = emp_machine_list(machine, EMP_DEVICE_GPU, list.id);
    return list;
}

static bool are_near(const emp_machine *m, emp_device_id a, emp_device_id b)
{
    return m->device[a].host == m->device[b].host;
}

emp_link_rate emp_ring_slowest(const emp_machine *machine, const emp_device_list *devices,
                               unsigned pairs)
{
    const emp_device_id *id = devices->id;
    emp_link_rate        slowest = {INFINITY, 0.0};

    for (int32_t i = 0; i < devices->count; i++) {
        for (int32_t k = 0; k < devices->count; k++) {
            const emp_route *route = &machine->route[id[i]][id[k]];
            const bool       is_near = are_near(machine, id[i], id[k]);
            if (route->link_count == 0 ||
                !(pairs & (is_near ? EMP_PAIRS_OF_ONE_HOST : EMP_PAIRS_OF_TWO_HOSTS)))
                continue;
            slowest.bytes_per_s = fmin(slowest.bytes_per_s, route->bytes_per_s);
            slowest.latency_s = fmax(slowest.latency_s, route->latency_s);
        }
    }
    return slowest;
}

bool emp_ring_is_mesh(const emp_machine *machine, const emp_device_list *devices)
{
    const emp_device_id *id = devices->id;
    bool                 is_used[EMP_MAX_LINKS] = {false};

    for (int32_t i = 0; i < devices->count; i++) {
        for (int32_t k = 0; k < devices->count; k++) {
            const emp_route *route = &machine->route[id[i]][id[k]];
            if (!are_near(machine, id[i], id[k])) continue;
            for (int32_t l = 0; l < route->link_count; l++) {
                if (is_used[route->link[l]]) return false;
                is_used[route->link[l]] = true;
            }
        }
    }
    return true;
}

/* How many devices of the list are in each host, by the host's number as a device. */
static void count_by_host(int32_t count[EMP_MAX_DEVICES], const emp_machine *m,
                          const emp_device_list *devices)
{
    for (int32_t d = 0; d < EMP_MAX_DEVICES; d++) count[d] = 0;
    for (int32_t i = 0; i < devices->count; i++) count[m->device[devices->id[i]].host]++;
}

int32_t emp_ring_most_near(const emp_machine *machine, const emp_device_list *devices)
{
    int32_t count[EMP_MAX_DEVICES], most = 0;

    count_by_host(count, machine, devices);
    for (int32_t d = 0; d < EMP_MAX_DEVICES; d++)
        if (count[d] > most) most = count[d];
    return most;
}

int32_t emp_ring_common_near(const emp_machine *machine, const emp_device_list *devices)
{
    int32_t count[EMP_MAX_DEVICES], common = 0;

    count_by_host(count, machine, devices);
    for (int32_t d = 0; d < EMP_MAX_DEVICES; d++) {
        for (int32_t rest = count[d]; rest > 0;) {
            const int32_t next = common % rest;
            common = rest;
            rest = next;
        }
    }
    return common;
}
