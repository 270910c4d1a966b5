// SPDX-License-Identifier: GPL-3.0-or-later
/* Scotch 7 is multi-threaded and by default neither deterministic nor confined to one
 * random stream: every call gets a context of its own with one thread, its own generator
 * and the deterministic option, which also makes calls safe from several threads. */
#define _POSIX_C_SOURCE 200809L
#include "sim/partition/scotch_cut.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <scotch.h> /* uses stdint.h without including it */

#include "base/mem.h"

_Static_assert(sizeof(SCOTCH_Num) >= sizeof(int32_t),
               "Scotch must hold our 32-bit numbers");

enum {
    POWER_SCALE = 100,   /* power of the strongest device */
    DISTANCE_SCALE = 4,  /* distance of the nearest pair of devices ... */
    DISTANCE_LIMIT = 64, /* ... and the most of any pair: times all traffic, below 2^31 */
    SAMPLE_BYTES = 1 << 20,
    ARCHITECTURE_BYTES = 1 << 15 /* of the description of EMP_MAX_DEVICES devices */
};
static const double load_imbalance = 0.05; /* Scotch's customary tolerance */

/* Scotch reports through these three functions, which a program may define itself. Ours
 * keep the message for emp_error instead of printing it. */
static _Thread_local char scotch_message[200];

void SCOTCH_errorProg(const char *const program) { (void)program; }

void SCOTCH_errorPrint(const char *const format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(scotch_message, sizeof scotch_message, format, args);
    va_end(args);
}

void SCOTCH_errorPrintW(const char *const format, ...) { (void)format; }

#define TRY_SCOTCH(call)                                                     \
    do {                                                                     \
        if ((call) != 0)                                                     \
            EMP_FAIL(EMP_EEXTERNAL, "Scotch, %d vertices into %d parts: %s", \
                     g->vertex_count, part_count, scotch_message);           \
    } while (0)

/* A copy in Scotch's integers. */
static SCOTCH_Num *copy_to_num(const int32_t *value, int32_t count)
{
    SCOTCH_Num *copy = EMP_NEW_ARRAY(SCOTCH_Num, (size_t)count);

    for (int32_t i = 0; copy != NULL && i < count; i++) copy[i] = value[i];
    return copy;
}

/* Domains of an architecture form a binary tree, numbered as a heap: node n splits into
 * 2n and 2n + 1. Neighbouring devices share a subtree, and the halves are about equally
 * strong: Scotch bisects badly into very unequal parts. */
static void number_domains(const double *power, int32_t first, int32_t end, int32_t node,
                           int32_t *domain)
{
    double  total = 0.0, left;
    int32_t middle = first + 1;

    if (end - first == 1) {
        domain[first] = node;
        return;
    }
    for (int32_t p = first; p < end; p++) total += power[p];
    for (left = power[first];
         middle < end - 1 && left + 0.5 * power[middle] < 0.5 * total;)
        left += power[middle++];
    number_domains(power, first, middle, 2 * node, domain);
    number_domains(power, middle, end, 2 * node + 1, domain);
}

static double transfer_s(const emp_partition_target *target, int32_t p, int32_t q)
{
    const emp_route *route =
        &target->machine->route[target->device[p]][target->device[q]];

    return route->latency_s + SAMPLE_BYTES / route->bytes_per_s;
}

/* Writes the "deco 0" description: per part its number, power and domain, then the lower
 * triangle of the distances. */
static void write_architecture(const emp_partition_target *target, FILE *file)
{
    int32_t domain[EMP_MAX_DEVICES], last_domain = 0;
    double  strongest = 0.0, nearest_s = INFINITY;

    number_domains(target->power, 0, target->count, 1, domain);
    for (int32_t p = 0; p < target->count; p++) {
        strongest = fmax(strongest, target->power[p]);
        last_domain = domain[p] > last_domain ? domain[p] : last_domain;
        for (int32_t q = 0; q < p; q++)
            nearest_s = fmin(nearest_s, transfer_s(target, p, q));
    }
    fprintf(file, "deco 0\n%d %d\n", target->count, last_domain);
    for (int32_t p = 0; p < target->count; p++) {
        double power = fmax(1.0, round(POWER_SCALE * target->power[p] / strongest));
        fprintf(file, "%d %.0f %d\n", p, power, domain[p]);
    }
    for (int32_t p = 1; p < target->count; p++) {
        for (int32_t q = 0; q < p; q++) {
            double distance =
                round(DISTANCE_SCALE * transfer_s(target, p, q) / nearest_s);
            fprintf(file, "%.0f ", fmin(distance, DISTANCE_LIMIT));
        }
        fputc('\n', file);
    }
}

static emp_status load_architecture(SCOTCH_Arch *arch, const emp_partition_graph *g,
                                    const emp_partition_target *target, emp_error *err)
{
    emp_status    st = EMP_OK;
    const int32_t part_count = target->count;
    FILE         *file = fmemopen(NULL, ARCHITECTURE_BYTES, "w+");

    if (file == NULL) EMP_FAIL(EMP_ENOMEM, "description of %d devices", target->count);
    write_architecture(target, file);
    rewind(file);
    TRY_SCOTCH(SCOTCH_archLoad(arch, file));

cleanup:
    if (file != NULL) fclose(file);
    return st;
}

/* What is asked of Scotch: the parts of a target, or as many equal ones. */
typedef struct {
    const emp_partition_target *target; /* NULL = equal parts */
    int32_t                     part_count;
    double                      imbalance;
    uint64_t                    seed;
} request;

static emp_status make_architecture(SCOTCH_Arch *arch, const emp_partition_graph *g,
                                    const request *r, emp_error *err)
{
    emp_status    st = EMP_OK;
    const int32_t part_count = r->part_count;

    if (r->target != NULL)
        EMP_TRY(load_architecture(arch, g, r->target, err));
    else
        TRY_SCOTCH(SCOTCH_archCmplt(arch, part_count));

cleanup:
    return st;
}

/* Maps under a context of its own; part holds the fixed parts, -1 elsewhere. */
static emp_status map_in_context(SCOTCH_Graph *graph, const emp_partition_graph *g,
                                 const request *r, SCOTCH_Num *part, emp_error *err)
{
    emp_status     st = EMP_OK;
    const int32_t  part_count = r->part_count;
    SCOTCH_Context context;
    SCOTCH_Graph   bound;
    SCOTCH_Arch    arch;
    SCOTCH_Strat   strategy;

    SCOTCH_contextInit(&context);
    SCOTCH_graphInit(&bound);
    SCOTCH_archInit(&arch);
    SCOTCH_stratInit(&strategy);

    TRY_SCOTCH(SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1));
    TRY_SCOTCH(SCOTCH_contextRandomClone(&context));
    SCOTCH_contextRandomSeed(&context, (SCOTCH_Num)(r->seed % INT_MAX));
    SCOTCH_contextRandomReset(&context);
    TRY_SCOTCH(SCOTCH_contextThreadSpawn(&context, 1, NULL));
    TRY_SCOTCH(SCOTCH_contextBindGraph(&context, graph, &bound));
    EMP_TRY(make_architecture(&arch, g, r, err));
    TRY_SCOTCH(SCOTCH_stratGraphMapBuild(&strategy, SCOTCH_STRATQUALITY, part_count,
                                         r->imbalance));
    TRY_SCOTCH(SCOTCH_graphMapFixed(&bound, &arch, &strategy, part));

cleanup:
    SCOTCH_stratExit(&strategy);
    SCOTCH_archExit(&arch);
    SCOTCH_graphExit(&bound);
    SCOTCH_contextExit(&context);
    return st;
}

static emp_status cut(const emp_partition_graph *g, const request *r,
                      int32_t *part_of_vertex, emp_error *err)
{
    emp_status    st = EMP_OK;
    const int32_t part_count = r->part_count, arc_count = g->row[g->vertex_count];
    SCOTCH_Graph  graph;
    SCOTCH_Num   *row = copy_to_num(g->row, g->vertex_count + 1);
    SCOTCH_Num   *neighbor = copy_to_num(g->neighbor, arc_count);
    SCOTCH_Num   *load = copy_to_num(g->load, g->vertex_count);
    SCOTCH_Num   *traffic = copy_to_num(g->traffic, arc_count);
    SCOTCH_Num   *part = EMP_NEW_ARRAY(SCOTCH_Num, (size_t)g->vertex_count);

    SCOTCH_graphInit(&graph);
    if (!row || !neighbor || !load || !traffic || !part)
        EMP_FAIL(EMP_ENOMEM, "Scotch graph of %d vertices", g->vertex_count);
    TRY_SCOTCH(SCOTCH_graphBuild(&graph, 0, g->vertex_count, row, NULL, load, NULL,
                                 arc_count, neighbor, traffic));
    /* Part 0 is the CPU: without it in the target, no vertex is bound to it. */
    for (int32_t v = 0; v < g->vertex_count; v++) part[v] = g->is_cpu_only[v] ? 0 : -1;
    EMP_TRY(map_in_context(&graph, g, r, part, err));
    for (int32_t v = 0; v < g->vertex_count; v++) part_of_vertex[v] = (int32_t)part[v];

cleanup:
    SCOTCH_graphExit(&graph);
    emp_free(row);
    emp_free(neighbor);
    emp_free(load);
    emp_free(traffic);
    emp_free(part);
    return st;
}

emp_status emp_scotch_map(const emp_partition_graph  *graph,
                          const emp_partition_target *target, uint64_t seed,
                          int32_t *part_of_vertex, emp_error *err)
{
    const request r = {target, target->count, load_imbalance, seed};

    return cut(graph, &r, part_of_vertex, err);
}

emp_status emp_scotch_parts(const emp_partition_graph *graph, int32_t part_count,
                            double imbalance, uint64_t seed, int32_t *part_of_vertex,
                            emp_error *err)
{
    const request r = {NULL, part_count, imbalance, seed};

    return cut(graph, &r, part_of_vertex, err);
}
