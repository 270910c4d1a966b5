// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/explain/pictures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "base/text/units.h"
#include "sim/machine/machine.h"

enum { DEFAULT_DEPTH = 2, DOT_PASSES = 3 };

struct scope {
    const char *name; /* not terminated */
    int32_t     length;
    int32_t     layer; /* -1 = none */
    int32_t     op_count;
    int64_t     variable_bytes;
};

struct edge {
    int32_t from, to; /* scopes */
    int64_t bytes;
};

struct picture {
    const emp_problem          *problem;
    const emp_device_id        *device_of_op;
    const emp_scope_dot_layers *layers; /* or NULL */
    int32_t                     depth, scope_count, edge_count;
    emp_strmap                  map;
    int32_t                    *scope_of_op; /* -1 = folded */
    struct scope               *scope;       /* [op] at most */
    int32_t                    *on_device;   /* [scope * device_count + device] ops */
    struct edge                *edge;        /* [edge] at most */
    int64_t                     most_bytes;  /* of an edge */
    int64_t                     traffic_bytes;
};

/* How much of an op's name is its scope. */
static int32_t scope_length(const char *name, int32_t depth)
{
    int32_t length = 0;

    for (int32_t i = 0; name[i] != '\0' && depth > 0; i++) {
        if (name[i] != '/') continue;
        length = i;
        depth--;
    }
    return length;
}

static void reset_scopes(struct picture *p)
{
    emp_strmap_clear(&p->map);
    p->map = (emp_strmap){0};
    p->scope_count = 0;
}

static emp_status find_scopes(struct picture *p, int32_t depth, emp_error *err)
{
    const emp_graph *g = p->problem->graph;

    reset_scopes(p);
    p->depth = depth;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        const char *name = g->name[op];
        int32_t     length = scope_length(name, depth);
        p->scope_of_op[op] = -1;
        if (g->op[op].is_folded) continue;
        int32_t scope = emp_strmap_get(&p->map, name, (size_t)length);
        if (scope < 0) {
            scope = p->scope_count;
            EMP_CHECK(emp_strmap_set(&p->map, name, (size_t)length, scope, err));
            p->scope[p->scope_count++] =
                (struct scope){.name = name, .length = length, .layer = -1};
        }
        p->scope_of_op[op] = scope;
        p->scope[scope].op_count++;
        p->scope[scope].variable_bytes += g->op[op].persistent_bytes;
    }
    return EMP_OK;
}

/* A node for each pass of each layer that has ops. */
static void find_passes(struct picture *p)
{
    static const char *const pass_name[DOT_PASSES] = {"forward", "backward", "update"};
    const emp_graph         *g = p->problem->graph;

    p->depth = 0;
    p->scope_count = 0;
    for (int32_t i = 0; i < p->layers->count * DOT_PASSES; i++) {
        int32_t ops = 0;
        for (emp_op_id op = 0; op < g->op_count; op++) {
            if (g->op[op].is_folded || p->layers->layer_of_op[op] != i / DOT_PASSES ||
                p->layers->pass_of_op[op] != i % DOT_PASSES)
                continue;
            struct scope *scope = &p->scope[p->scope_count];
            if (ops++ == 0) {
                const char *name = pass_name[i % DOT_PASSES];
                *scope = (struct scope){.name = name,
                                        .length = (int32_t)strlen(name),
                                        .layer = i / DOT_PASSES};
            }
            p->scope_of_op[op] = p->scope_count;
            scope->op_count++;
            scope->variable_bytes += g->op[op].persistent_bytes;
        }
        p->scope_count += ops > 0;
    }
}

static emp_status find_nodes(struct picture *p, int32_t depth, emp_error *err)
{
    if (p->layers != NULL) {
        for (emp_op_id op = 0; op < p->problem->graph->op_count; op++)
            p->scope_of_op[op] = -1;
        find_passes(p);
        return EMP_OK;
    }
    EMP_CHECK(find_scopes(p, depth > 0 ? depth : DEFAULT_DEPTH, err));
    if (depth == 0 && p->scope_count > EMP_SCOPE_DOT_NODES)
        EMP_CHECK(find_scopes(p, 1, err));
    return EMP_OK;
}

static emp_status count_devices(struct picture *p, emp_error *err)
{
    size_t devices = (size_t)p->problem->machine->device_count;

    EMP_CHECK(EMP_ALLOC(p->on_device, (size_t)p->scope_count * devices));
    for (emp_op_id op = 0; op < p->problem->graph->op_count; op++) {
        size_t scope = (size_t)p->scope_of_op[op];
        if (p->scope_of_op[op] < 0) continue;
        p->on_device[scope * devices + (size_t)p->device_of_op[op]]++;
    }
    return EMP_OK;
}

/* The memory in which an op reads or holds something, by its device. */
static emp_device_id memory_of(const struct picture *p, emp_op_id op, bool is_on_host)
{
    emp_device_id device = p->device_of_op[op];

    return is_on_host ? p->problem->machine->device[device].host : device;
}

/* One record per data edge, in the order in which the oracle looks at readers. */
static void list_edges(struct picture *p, uint64_t *seen)
{
    const emp_graph *g = p->problem->graph;

    for (emp_op_id op = 0; op < g->op_count; op++) {
        int32_t first = g->input_offset[op];
        for (int32_t i = first; i < g->input_offset[op + 1]; i++) {
            const emp_tensor *t = &g->tensor[g->input[i]];
            if (p->scope_of_op[op] < 0 || p->scope_of_op[t->producer] < 0) continue;
            emp_device_id home = memory_of(p, t->producer, t->on_host);
            emp_device_id to =
                memory_of(p, op, emp_op_reads_on_host(&g->op[op], i - first));
            bool is_there = emp_runtime_events_of(&p->problem->runtime)->share_copies &&
                            (seen[g->input[i]] >> to & 1u) != 0;
            seen[g->input[i]] |= UINT64_C(1) << to;
            p->edge[p->edge_count++] =
                (struct edge){p->scope_of_op[t->producer], p->scope_of_op[op],
                              home == to || is_there ? 0 : t->copy_bytes};
        }
    }
}

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static emp_status find_edges(struct picture *p, emp_error *err)
{
    emp_status st = EMP_OK;
    int32_t    count = 0;
    uint64_t  *seen = NULL;

    EMP_TRY(EMP_ALLOC(p->edge, (size_t)p->problem->graph->edge_count));
    EMP_TRY(EMP_ALLOC(seen, (size_t)p->problem->graph->tensor_count));
    list_edges(p, seen);
    qsort(p->edge, (size_t)p->edge_count, sizeof *p->edge, compare_edges);
    for (int32_t i = 0; i < p->edge_count; i++) {
        if (count > 0 && compare_edges(&p->edge[count - 1], &p->edge[i]) == 0) {
            p->edge[count - 1].bytes += p->edge[i].bytes;
        } else {
            p->edge[count++] = p->edge[i];
        }
    }
    p->edge_count = count;
    for (int32_t i = 0; i < count; i++) {
        p->traffic_bytes += p->edge[i].bytes;
        if (p->edge[i].bytes > p->most_bytes) p->most_bytes = p->edge[i].bytes;
    }
cleanup:
    emp_free(seen);
    return st;
}

static void write_text(FILE *file, const char *text, int32_t length)
{
    for (int32_t i = 0; i < length; i++) {
        if (text[i] == '"' || text[i] == '\\') fputc('\\', file);
        fputc(text[i], file);
    }
}

/* One colour, or a stripe for each device. */
static void write_fill(FILE *file, const struct picture *p, int32_t scope)
{
    int32_t devices = p->problem->machine->device_count, stripes = 0;
    int32_t count = p->scope[scope].op_count, left = count;

    fputs("fillcolor=\"", file);
    for (emp_device_id d = 0; d < devices && left > 0; d++) {
        int32_t here = p->on_device[scope * devices + d];
        if (here == 0) continue;
        left -= here;
        fprintf(file, "%s%s", stripes++ > 0 ? ":" : "",
                emp_device_colour(p->problem->machine, d));
        if (left > 0) fprintf(file, ";%.4f", fmax((double)here / count, 1e-4));
    }
    fprintf(file, "\" style=%s", stripes > 1 ? "striped" : "filled");
}

static void write_scopes(FILE *file, const struct picture *p)
{
    char text[32];

    for (int32_t i = 0; i < p->scope_count; i++) {
        const struct scope *s = &p->scope[i];
        if (s->layer >= 0 && (i == 0 || p->scope[i - 1].layer != s->layer)) {
            const char *name = p->layers->name[s->layer];
            fprintf(file, "  subgraph cluster_layer%d {\n    label=\"", s->layer);
            write_text(file, name, (int32_t)strlen(name));
            fputs("\"\n    rank=same\n", file);
        }
        fprintf(file, "  s%d [label=\"", i);
        write_text(file, s->length > 0 ? s->name : "(top)",
                   s->length > 0 ? s->length : 5);
        fprintf(file, "\\n%d op%s", s->op_count, emp_units_plural(s->op_count));
        if (s->variable_bytes > 0) {
            fprintf(file, ", %s of variables",
                    emp_units_format_bytes(s->variable_bytes, text, sizeof text));
        }
        fputs("\" ", file);
        write_fill(file, p, i);
        fputs("]\n", file);
        if (s->layer >= 0 &&
            (i + 1 == p->scope_count || p->scope[i + 1].layer != s->layer))
            fputs("  }\n", file);
    }
}

/* Between layers that do not stand side by side. */
static bool is_far(const struct picture *p, const struct edge *e)
{
    return p->layers != NULL && abs(p->scope[e->from].layer - p->scope[e->to].layer) > 1;
}

static void write_edges(FILE *file, const struct picture *p)
{
    char text[32];

    for (int32_t i = 0; i < p->edge_count; i++) {
        const struct edge *e = &p->edge[i];
        if (e->bytes == 0 && (e->from == e->to || is_far(p, e))) continue;
        fprintf(file, "  s%d -> s%d", e->from, e->to);
        if (e->bytes > 0) {
            fprintf(file, " [label=\"%s\" penwidth=%.2f color=\"#202020\"]",
                    emp_units_format_bytes(e->bytes, text, sizeof text),
                    1.0 + 4.0 * (double)e->bytes / (double)p->most_bytes);
        }
        fputs("\n", file);
    }
}

/* Stacks the layers in their order: edges of the step, which lead up and down, have no say. */
static void write_stack(FILE *file, const struct picture *p)
{
    int32_t last = -1; /* first node of the layer above */

    for (int32_t i = 0; i < p->scope_count; i++) {
        if (i > 0 && p->scope[i - 1].layer == p->scope[i].layer) continue;
        if (last >= 0)
            fprintf(file, "  s%d -> s%d [style=invis constraint=true]\n", last, i);
        last = i;
    }
}

static void write_legend(FILE *file, const struct picture *p)
{
    const emp_machine *m = p->problem->machine;

    fputs("  subgraph cluster_devices {\n    label=\"devices\"\n", file);
    for (emp_device_id d = 0; d < m->device_count; d++) {
        fprintf(file, "    d%d [label=\"", d);
        write_text(file, m->device[d].name, (int32_t)strlen(m->device[d].name));
        fprintf(file, "\" style=filled fillcolor=\"%s\"]\n",
                emp_device_colour(p->problem->machine, d));
    }
    fputs("  }\n", file);
}

static void write_picture(FILE *file, const struct picture *p)
{
    char text[32];

    fputs("digraph step {\n  label=\"", file);
    write_text(file, p->problem->workload, (int32_t)strlen(p->problem->workload));
    fputs(" on ", file);
    write_text(file, p->problem->machine->name,
               (int32_t)strlen(p->problem->machine->name));
    if (p->layers != NULL)
        fputs(", by layers", file);
    else
        fprintf(file, ", scopes to depth %d", p->depth);
    fprintf(file, ", %s between memories\"\n",
            emp_units_format_bytes(p->traffic_bytes, text, sizeof text));
    fputs("  node [shape=box fontname=\"Helvetica\" fontsize=10]\n"
          "  edge [fontname=\"Helvetica\" fontsize=9 color=\"#a0a0a0\"]\n",
          file);
    write_legend(file, p);
    write_scopes(file, p);
    if (p->layers != NULL) {
        write_stack(file, p);
        fputs("  edge [constraint=false]\n", file);
    }
    write_edges(file, p);
    fputs("}\n", file);
}

emp_status emp_scope_dot_write(const char *path, const emp_problem *problem,
                               const emp_device_id *device_of_op, int32_t depth,
                               const emp_scope_dot_layers *layers,
                               emp_scope_dot_summary *summary, emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_atomic_file file = {0};
    size_t          ops = (size_t)problem->graph->op_count;
    struct picture  p = {
         .problem = problem, .device_of_op = device_of_op, .layers = layers};

    EMP_TRY(EMP_ALLOC(p.scope_of_op, ops));
    EMP_TRY(EMP_ALLOC(p.scope, ops));
    EMP_TRY(find_nodes(&p, depth, err));
    EMP_TRY(count_devices(&p, err));
    EMP_TRY(find_edges(&p, err));
    EMP_TRY(emp_atomic_file_open(&file, path, err));
    write_picture(file.stream, &p);
    EMP_TRY(emp_atomic_file_commit(&file, err));
    if (summary != NULL) {
        *summary = (emp_scope_dot_summary){p.depth, p.scope_count, p.edge_count,
                                           p.traffic_bytes};
    }

cleanup:
    emp_atomic_file_abort(&file);
    emp_strmap_clear(&p.map);
    emp_free(p.scope_of_op);
    emp_free(p.scope);
    emp_free(p.on_device);
    emp_free(p.edge);
    return st;
}
