// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/device_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "graphs/import/import.h"
#include "run/sheet/manifest.h"

/* An op with a path: its module is the first `length` bytes of its name. */
typedef struct {
    const char   *name;
    size_t        length;
    emp_device_id device;
} entry;

typedef struct {
    const emp_named_placement *placement;
    entry                     *entry; /* sorted; one a module once they are joined */
    int32_t                    count;
} device_map;

bool cli_device_map_is_for(const char *spec) { return emp_import_is_pytorch(spec); }

/* By path, dots before all else, so that what is within a module follows it. */
static int compare(const void *a, const void *b)
{
    const entry *x = (const entry *)a, *y = (const entry *)b;
    size_t       length = x->length < y->length ? x->length : y->length;

    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)x->name[i], d = (unsigned char)y->name[i];
        if (c == d) continue;
        if (c == '.') return -1;
        if (d == '.') return 1;
        return c < d ? -1 : 1;
    }
    if (x->length != y->length) return x->length < y->length ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool is_same_module(const entry *a, const entry *b)
{
    return a->length == b->length && memcmp(a->name, b->name, a->length) == 0;
}

/* Whether b is within the module of a. */
static bool is_within(const entry *a, const entry *b)
{
    return b->length > a->length && b->name[a->length] == '.' &&
           memcmp(a->name, b->name, a->length) == 0;
}

static emp_status collect(device_map *map, emp_error *err)
{
    const emp_named_placement *p = map->placement;

    EMP_CHECK(EMP_ALLOC(map->entry, (size_t)p->op_count));
    for (int32_t op = 0; op < p->op_count; op++) {
        const char *slash = strrchr(p->op_name[op], '/');
        if (slash == NULL || slash == p->op_name[op]) continue;
        map->entry[map->count++] = (entry){
            p->op_name[op], (size_t)(slash - p->op_name[op]), p->device_of_op[op]};
    }
    if (map->count == 0)
        return EMP_ERROR(
            EMP_EINVAL,
            "a device_map names modules, and no op of the graph names its module; "
            "export it with scripts/export/export_torch.py");
    qsort(map->entry, (size_t)map->count, sizeof *map->entry, compare);
    return EMP_OK;
}

/* Leaves one entry a module. */
static emp_status join_ops(device_map *map, emp_error *err)
{
    int32_t kept = 0;

    for (int32_t i = 1; i < map->count; i++) {
        entry *last = &map->entry[kept], *next = &map->entry[i];
        if (!is_same_module(last, next)) {
            map->entry[++kept] = *next;
        } else if (last->device != next->device) {
            return EMP_ERROR(
                EMP_EINVAL,
                "no device_map has this placement: of the module %.*s, %s is on %s "
                "and %s on %s",
                (int)last->length, last->name, last->name,
                map->placement->device_name[last->device], next->name,
                map->placement->device_name[next->device]);
        }
    }
    map->count = kept + 1;
    return EMP_OK;
}

/* Drops what is within a module all of which is on one device. A module with parts elsewhere keeps its entry,
 * and so do all of its parts. */
static void drop_parts(device_map *map)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < map->count;) {
        int32_t end = i + 1;
        bool    is_whole = true;
        for (; end < map->count && is_within(&map->entry[i], &map->entry[end]); end++)
            is_whole = is_whole && map->entry[end].device == map->entry[i].device;
        map->entry[kept++] = map->entry[i];
        i = is_whole ? end : i + 1;
    }
    map->count = kept;
}

static bool is_cpu(const char *device) { return strncmp(device, "cpu:", 4) == 0; }

/* Paths come from files: printable ASCII, in which Python takes two characters otherwise. */
static void print_path(FILE *stream, const entry *e)
{
    fputc('"', stream);
    for (size_t i = 0; i < e->length; i++) {
        if (e->name[i] == '"' || e->name[i] == '\\') fputc('\\', stream);
        fputc(e->name[i], stream);
    }
    fputc('"', stream);
}

static void print_device(FILE *stream, const char *device)
{
    if (is_cpu(device))
        fputs("\"cpu\"", stream);
    else
        fprintf(stream, "\"cuda:%s\"", device + strcspn(device, ":") + 1);
}

static emp_status print(FILE *stream, const void *what, emp_error *err)
{
    const device_map *map = (const device_map *)what;

    (void)err;
    fputs("\"\"\"The device of each module of a PyTorch model. With this file as "
          "placement.py:\n\n"
          "    import accelerate, placement\n"
          "    model = accelerate.dispatch_model(model, "
          "device_map=placement.DEVICE_MAP)\n\n"
          "Gradients are computed where the module is. Modules without parameters may be "
          "left out.\n"
          "\"\"\"\n# made by: ",
          stream);
    for (const char *c = emp_manifest_get().command; *c != '\0'; c++)
        fputc((unsigned char)*c < ' ' ? ' ' : *c, stream);
    fputs("\n\nDEVICE_MAP = {\n", stream);
    for (int32_t i = 0; i < map->count; i++) {
        fputs("    ", stream);
        print_path(stream, &map->entry[i]);
        fputs(": ", stream);
        print_device(stream, map->placement->device_name[map->entry[i].device]);
        fputs(",\n", stream);
    }
    fputs("}\n", stream);
    return EMP_OK;
}

emp_status cli_device_map_write(const char *path, const emp_named_placement *placement,
                                emp_error *err)
{
    emp_status st = EMP_OK;
    device_map map = {.placement = placement};
    int32_t    hosts = 0;

    for (emp_device_id d = 0; d < placement->device_count; d++)
        hosts += is_cpu(placement->device_name[d]);
    if (hosts > 1)
        EMP_FAIL(EMP_EINVAL, "a device_map is of one computer, and %s has %d",
                 placement->machine, hosts);
    EMP_TRY(collect(&map, err));
    EMP_TRY(join_ops(&map, err));
    drop_parts(&map);
    EMP_TRY(emp_atomic_file_write(path, print, &map, err));

cleanup:
    emp_free(map.entry);
    return st;
}
