// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/device_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/cli.h"
#include "graphs/load.h"
#include "graphs/sources.h"
#include "graphs/transformer/parts.h"
#include "run/sheet/sheet.h"
#include "sim/problem/problem.h"

size_t cli_path_length(const char *op_name, const char *spec)
{
    size_t length = strcspn(op_name, "/");

    return op_name[length] == '/' || emp_source_has_prefix(spec, "hf") ? length : 0;
}

static bool is_part(const char *part, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(part, word, length) == 0;
}

static bool is_layer_number(const char *part, size_t length)
{
    return length > 0 && strspn(part, "0123456789") >= length;
}

size_t cli_layer_length(const char *path, size_t length)
{
    size_t layer = 0;

    for (size_t from = 0; from < length;) {
        size_t end = from;
        while (end < length && path[end] != '.') end++;
        if (is_part(path + from, end - from, "experts")) break;
        if (is_layer_number(path + from, end - from)) layer = end;
        from = end + 1;
    }
    return layer;
}

void cli_layers_mark_cpu(bool *is_cpu_class, const emp_graph *g)
{
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (!g->op[op].is_folded && (g->op[op].kinds & EMP_KIND_GPU) == 0)
            is_cpu_class[g->op[op].colocation_class] = true;
}

emp_status cli_layers_join(emp_graph *g, const char *spec, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_strmap layers = {0};
    int32_t   *set_of_op = NULL, count = 0;
    bool      *is_cpu_class = NULL;

    EMP_TRY(EMP_ALLOC(set_of_op, (size_t)g->op_count));
    EMP_TRY(EMP_ALLOC(is_cpu_class, (size_t)g->class_count));
    cli_layers_mark_cpu(is_cpu_class, g);
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const char *name = g->name[op];
        size_t      length = cli_layer_length(name, cli_path_length(name, spec));
        set_of_op[op] = -1;
        if (length == 0 || is_cpu_class[g->op[op].colocation_class]) continue;
        set_of_op[op] = emp_strmap_get(&layers, name, length);
        if (set_of_op[op] >= 0) continue;
        set_of_op[op] = count++;
        EMP_TRY(emp_strmap_set(&layers, name, length, set_of_op[op], err));
    }
    if (count == 0)
        EMP_FAIL(
            EMP_EINVAL,
            "--whole-layers is for PyTorch models and configs, and no op of %s names "
            "a numbered layer, such as model.layers.0",
            spec);
    EMP_TRY(emp_graph_join_classes(g, set_of_op, err));

cleanup:
    emp_strmap_clear(&layers);
    emp_free(set_of_op);
    emp_free(is_cpu_class);
    return st;
}

/* An op with a path: its module is the first `length` bytes of its name. */
typedef struct {
    const char   *name;
    size_t        length;
    emp_device_id device;
    bool          is_parameter; /* of the module, which is where its parameters are */
    bool          is_split; /* the placement has weights of it on other devices, too */
} entry;

typedef struct {
    const emp_named_placement *placement;
    entry                     *entry; /* sorted; one a module once they are joined */
    int32_t                    count;
} device_map;

static bool is_cpu(const char *device) { return strncmp(device, "cpu:", 4) == 0; }

bool cli_device_map_is_for(const char *spec)
{
    const emp_source_format *format = emp_source_format_of(spec);

    return emp_source_has_prefix(spec, "hf") ||
           (format != NULL && format->read == emp_pytorch_read);
}

static bool is_number(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9') return false;
    return length > 0;
}

/* Numbers by their value, before all else. */
static int compare_parts(const char *a, size_t a_length, const char *b, size_t b_length)
{
    bool   is_a_number = is_number(a, a_length), is_b_number = is_number(b, b_length);
    size_t length = a_length < b_length ? a_length : b_length;
    int    order;

    if (is_a_number != is_b_number) return is_a_number ? -1 : 1;
    if (is_a_number && a_length != b_length) return a_length < b_length ? -1 : 1;
    order = memcmp(a, b, length);
    if (order != 0) return order;
    return a_length == b_length ? 0 : a_length < b_length ? -1 : 1;
}

static size_t part_end(const entry *e, size_t from)
{
    while (from < e->length && e->name[from] != '.') from++;
    return from;
}

/* By path, part by part, so that what is within a module follows it. */
static int compare(const void *a, const void *b)
{
    const entry *x = (const entry *)a, *y = (const entry *)b;

    for (size_t i = 0; i < x->length && i < y->length;) {
        size_t x_end = part_end(x, i), y_end = part_end(y, i);
        int    order = compare_parts(x->name + i, x_end - i, y->name + i, y_end - i);
        if (order != 0) return order;
        i = x_end + 1;
    }
    if (x->length != y->length) return x->length < y->length ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool is_same_module(const entry *a, const entry *b)
{
    return a->length == b->length && memcmp(a->name, b->name, a->length) == 0;
}

/* Whether the path of b is the first bytes of the path of a, or goes on from there. */
static bool has_prefix(const entry *b, const entry *a, size_t length)
{
    return b->length >= length && memcmp(a->name, b->name, length) == 0 &&
           (b->length == length || b->name[length] == '.');
}

/* All experts of a layer are one module, whose parameters are in it without modules between. */
static size_t experts_module(const char *name)
{
    static const char word[] = ".experts.";
    const char       *at = strstr(name, word);

    return at != NULL ? (size_t)(at - name) + sizeof word - 2 : 0;
}

/* How the name of a parameter, or of the op that is the module, begins in a graph of a config. Names without
 * a dot are no modules, but for a head. */
static size_t module_of_config(const char *name)
{
    const emp_model_part part = emp_model_part_of(name);

    if (experts_module(name) > 0) return experts_module(name);
    if (part.kind != EMP_PART_OTHER || memchr(name, '.', part.path_length) != NULL)
        return part.path_length;
    return 0;
}

static bool is_parameter(const char *name)
{
    const emp_model_part part = emp_model_part_of(name);

    return name[part.path_length] != '\0' && part.role[0] == '\0' && !part.is_cache;
}

/* For a graph of PyTorch: the text before the last "/". */
static size_t module_of_op(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash != NULL ? (size_t)(slash - name) : 0;
}

size_t cli_module_length(const char *name, const char *spec)
{
    return emp_source_has_prefix(spec, "hf") ? module_of_config(name)
                                             : module_of_op(name);
}

emp_status cli_device_map_check(const emp_named_placement *placement, const char *spec,
                                emp_error *err)
{
    int32_t hosts = 0;

    for (emp_device_id d = 0; d < placement->device_count; d++)
        hosts += is_cpu(placement->device_name[d]);
    if (hosts > 1)
        return EMP_ERROR(EMP_EINVAL, "a device_map is of one computer, and %s has %d",
                         placement->origin.machine, hosts);
    for (int32_t op = 0; op < placement->op_count; op++)
        if (cli_module_length(placement->op_name[op], spec) > 0) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "a device_map names modules, and no op of the graph names its "
                     "module; export it with scripts/export/export_torch.py");
}

static emp_status collect(device_map *map, const char *spec, emp_error *err)
{
    const emp_named_placement *p = map->placement;
    const bool                 is_config = emp_source_has_prefix(spec, "hf");

    EMP_CHECK(EMP_ALLOC(map->entry, (size_t)p->op_count));
    for (int32_t op = 0; op < p->op_count; op++) {
        const char *name = p->op_name[op];
        size_t      length = cli_module_length(name, spec);
        if (length == 0 || (is_config && strchr(name, '/') != NULL)) continue;
        map->entry[map->count++] =
            (entry){.name = name,
                    .length = length,
                    .device = p->decision.device_of_op[op],
                    .is_parameter = is_config && is_parameter(name)};
    }
    qsort(map->entry, (size_t)map->count, sizeof *map->entry, compare);
    return EMP_OK;
}

/* For entries of one module: the most frequent device, or the later one of two that are equally frequent. */
static emp_device_id device_of_most(const entry *e, int32_t count)
{
    int32_t best = -1, best_count = 0;

    for (int32_t i = 0; i < count; i++) {
        int32_t same = 0;
        for (int32_t k = 0; k < count; k++) same += e[k].device == e[i].device;
        if (same >= best_count) best = i, best_count = same;
    }
    return e[best].device;
}

static emp_status refuse(const device_map *map, const entry *a, const entry *b,
                         emp_error *err)
{
    return EMP_ERROR(EMP_EINVAL,
                     "no device_map has this placement: of the module %.*s, %s is on %s "
                     "and %s on %s",
                     (int)a->length, a->name, a->name,
                     map->placement->device_name[a->device], b->name,
                     map->placement->device_name[b->device]);
}

/* Drops ops of a module that has parameters, which place it. Returns how many entries are left. */
static int32_t keep_parameters(entry *e, int32_t count)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < count; i++)
        if (e[i].is_parameter) e[kept++] = e[i];
    return kept > 0 ? kept : count;
}

/* Leaves one entry a module. A step of a config may have the experts of a layer apart, which are one module. They go to
 * the device of most: the time of a search is worth more than a refusal, and the map says where it differs. */
static emp_status join_ops(device_map *map, const char *spec, emp_error *err)
{
    int32_t kept = 0;

    for (int32_t i = 0, end; i < map->count; i = end) {
        for (end = i + 1; end < map->count; end++)
            if (!is_same_module(&map->entry[i], &map->entry[end])) break;
        const int32_t count = keep_parameters(&map->entry[i], end - i);
        entry         own = map->entry[i];
        for (int32_t k = i + 1; k < i + count; k++) {
            const entry *next = &map->entry[k];
            if (own.device == next->device) continue;
            if (!emp_source_has_prefix(spec, "hf")) return refuse(map, &own, next, err);
            own.is_split = true;
        }
        if (own.is_split) own.device = device_of_most(&map->entry[i], count);
        map->entry[kept++] = own;
    }
    map->count = kept;
    return EMP_OK;
}

/* The end of the entries from i on that are of its layer, and whether they are on one device. */
static int32_t end_of_layer(const device_map *map, int32_t i, size_t length,
                            bool *is_whole)
{
    const entry *first = &map->entry[i];
    int32_t      end = i;

    *is_whole = true;
    for (; end < map->count && has_prefix(&map->entry[end], first, length); end++)
        *is_whole = *is_whole && map->entry[end].device == first->device;
    return end;
}

/* A layer adds its parts' outputs to what came in. accelerate takes inputs to the device of a part, but
 * leaves its output there. */
static void warn_of_split_layers(const device_map *map, const char *path)
{
    const entry *split = NULL;
    size_t       split_length = 0;
    int32_t      count = 0;

    for (int32_t i = 0, end; i < map->count; i = end) {
        const entry *e = &map->entry[i];
        size_t       length = cli_layer_length(e->name, e->length);
        bool         is_whole = true;
        end = length == 0 ? i + 1 : end_of_layer(map, i, length, &is_whole);
        if (is_whole || count++ > 0) continue;
        split = e;
        split_length = length;
    }
    if (count > 0)
        cli_warn(
            "%s has %d layer%s on several devices: the first is %.*s. Sums in %s fail "
            "in accelerate, which leaves the output of a part on its device; "
            "--whole-layers keeps layers on one device",
            path, count, emp_units_plural(count), (int)split_length, split->name,
            count == 1 ? "it" : "them");
}

static void warn_of_cpu(const device_map *map, const char *path)
{
    int32_t count = 0;

    for (int32_t i = 0; i < map->count; i++)
        count += is_cpu(map->placement->device_name[map->entry[i].device]);
    if (count > 0)
        cli_warn(
            "%s has %d of %d modules on \"cpu\": accelerate keeps their weights there, "
            "but computes on a GPU, so that the simulated time does not hold; --forbid "
            "cpu keeps modules off the CPU",
            path, count, map->count);
}

/* The end of the entries from i on that have the first bytes of its path. 0: they are on several devices. */
static int32_t end_of_whole(const device_map *map, int32_t i, size_t length)
{
    const entry *first = &map->entry[i];
    int32_t      end = i + 1;

    if (first->is_split && length < first->length) return 0;
    for (; end < map->count && has_prefix(&map->entry[end], first, length); end++)
        if (map->entry[end].device != first->device || map->entry[end].is_split) return 0;
    return end;
}

/* Joins what is on one device under the shortest path that has nothing else in it. A module with parts
 * elsewhere keeps its entry. */
static void join_parts(device_map *map)
{
    int32_t kept = 0;
    entry   last = {.name = ""};

    for (int32_t i = 0; i < map->count;) {
        entry   own = map->entry[i];
        int32_t end = 0;
        size_t  length = 0;
        for (size_t from = 0; end == 0 && from <= own.length; from = length + 1) {
            length = part_end(&own, from);
            if (length == 0 || (i > 0 && has_prefix(&last, &own, length))) continue;
            end = end_of_whole(map, i, length);
        }
        if (end == 0) end = i + 1;
        last = map->entry[end - 1];
        map->entry[kept++] = (entry){.name = own.name,
                                     .length = length,
                                     .device = own.device,
                                     .is_split = own.is_split};
        i = end;
    }
    map->count = kept;
}

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
        fputs(map->entry[i].is_split ? ",  # the placement has some of it elsewhere\n"
                                     : ",\n",
              stream);
    }
    fputs("}\n", stream);
    return EMP_OK;
}

/* Only the dictionary, as infer_auto_device_map() gives it: {"model.layers.0": 0, "lm_head": "cpu"}. */
static emp_status print_json(FILE *stream, const void *what, emp_error *err)
{
    const device_map *map = (const device_map *)what;

    (void)err;
    fputs("{", stream);
    for (int32_t i = 0; i < map->count; i++) {
        const char *device = map->placement->device_name[map->entry[i].device];
        fputs(i > 0 ? ",\n    " : "\n    ", stream);
        print_path(stream, &map->entry[i]);
        if (is_cpu(device))
            fputs(": \"cpu\"", stream);
        else
            fprintf(stream, ": %s", device + strcspn(device, ":") + 1);
    }
    fputs("\n}\n", stream);
    return EMP_OK;
}

emp_status cli_device_map_write(const char *path, const emp_named_placement *placement,
                                const char *spec, emp_error *err)
{
    emp_status st = EMP_OK;
    device_map map = {.placement = placement};

    EMP_TRY(cli_device_map_check(placement, spec, err));
    EMP_TRY(collect(&map, spec, err));
    EMP_TRY(join_ops(&map, spec, err));
    warn_of_split_layers(&map, path);
    warn_of_cpu(&map, path);
    join_parts(&map);
    EMP_TRY(emp_atomic_file_write(
        path, emp_text_ends_in(path, ".json") ? print_json : print, &map, err));

cleanup:
    emp_free(map.entry);
    return st;
}
