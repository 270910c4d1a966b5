// SPDX-License-Identifier: GPL-3.0-or-later
/* Scotch 7 is multi-threaded and by default neither deterministic nor confined to one
 * random stream: every call gets a context of its own with one thread, its own generator
 * and the deterministic option, which also makes calls safe from several threads. */
#define _POSIX_C_SOURCE 200809L
#include "search/partition/scotch_cut.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <scotch.h> /* uses stdint.h without including it */

#include "base/mem.h"
#include "base/work.h"

enum {
    POWER_SCALE = 100,   /* power of the strongest device */
    DISTANCE_SCALE = 4,  /* distance of the nearest pair of devices ... */
    DISTANCE_LIMIT = 64, /* ... and the most of any pair: times all traffic, below 2^31 */
    SAMPLE_BYTES = 1 << 20
};

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

/* Fills power [part] with whole numbers, 1 .. 100. */
static void scotch_arch_powers(const emp_partition_target *target, int32_t *power)
{
    double strongest = 0.0;

    for (int32_t p = 0; p < target->count; p++)
        strongest = fmax(strongest, target->power[p]);
    for (int32_t p = 0; p < target->count; p++)
        power[p] = (int32_t)fmax(1.0, round(POWER_SCALE * target->power[p] / strongest));
}

void emp_scotch_arch_write(const emp_partition_target *target, FILE *file)
{
    int32_t power[EMP_MAX_DEVICES], domain[EMP_MAX_DEVICES], last_domain = 0;
    double  nearest_s = INFINITY;

    scotch_arch_powers(target, power);
    number_domains(target->power, 0, target->count, 1, domain);
    for (int32_t p = 0; p < target->count; p++) {
        last_domain = domain[p] > last_domain ? domain[p] : last_domain;
        for (int32_t q = 0; q < p; q++)
            nearest_s = fmin(nearest_s, transfer_s(target, p, q));
    }
    fprintf(file, "deco 0\n%d %d\n", target->count, last_domain);
    for (int32_t p = 0; p < target->count; p++)
        fprintf(file, "%d %d %d\n", p, power[p], domain[p]);
    for (int32_t p = 1; p < target->count; p++) {
        for (int32_t q = 0; q < p; q++) {
            double distance =
                round(DISTANCE_SCALE * transfer_s(target, p, q) / nearest_s);
            fprintf(file, "%.0f ", fmin(distance, DISTANCE_LIMIT));
        }
        fputc('\n', file);
    }
}

_Static_assert(sizeof(SCOTCH_Num) >= sizeof(int32_t),
               "Scotch must hold our 32-bit numbers");

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

/* The request to Scotch: the parts of a target, or as many equal ones. */
typedef struct {
    const emp_partition_target *target; /* NULL = equal parts */
    int32_t                     part_count;
    emp_scotch_options          options;
    uint64_t                    seed;
    const atomic_int           *stop;
} request;

/* A cut that is ready to be made. It has copies of all that it is made from. */
typedef struct {
    int32_t        vertex_count, part_count;
    SCOTCH_Num    *part; /* [vertex] the result; what is fixed before, else -1 */
    SCOTCH_Context context;
    SCOTCH_Graph   graph, bound; /* bound: the graph in that context */
    SCOTCH_Arch    arch;
    SCOTCH_Strat   strategy;
    emp_arrays     arrays;
    int            result;
    char           said[sizeof scotch_message];
} mapping;

static emp_status tell_result(int result, const mapping *m, const char *said,
                              emp_error *err)
{
    if (result == 0) return EMP_OK;
    return EMP_ERROR(EMP_EEXTERNAL, "Scotch, %d vertices into %d parts: %s",
                     m->vertex_count, m->part_count, said);
}

#define STATUS(call) tell_result((call), m, scotch_message, err)

/* ---- what is cut ---- */

/* A copy in Scotch's integers. */
static SCOTCH_Num *copy_to_num(emp_arrays *arrays, const int32_t *value, int32_t count)
{
    SCOTCH_Num *copy = EMP_ADD_ARRAY(arrays, SCOTCH_Num, (size_t)count);

    for (int32_t i = 0; copy != NULL && i < count; i++) copy[i] = value[i];
    return copy;
}

static emp_status build_graph(mapping *m, const emp_partition_graph *g, emp_error *err)
{
    const int32_t arc_count = g->row[g->vertex_count];
    SCOTCH_Num   *row = copy_to_num(&m->arrays, g->row, g->vertex_count + 1);
    SCOTCH_Num   *neighbor = copy_to_num(&m->arrays, g->neighbor, arc_count);
    SCOTCH_Num   *load = copy_to_num(&m->arrays, g->load, g->vertex_count);
    SCOTCH_Num   *traffic = copy_to_num(&m->arrays, g->traffic, arc_count);

    m->part = EMP_ADD_ARRAY(&m->arrays, SCOTCH_Num, (size_t)g->vertex_count);
    if (m->arrays.is_short)
        return EMP_ERROR(EMP_ENOMEM, "Scotch graph of %d vertices", g->vertex_count);
    /* Part 0 is the CPU: without it in the target, no vertex is bound to it. */
    for (int32_t v = 0; v < g->vertex_count; v++) m->part[v] = g->is_cpu_only[v] ? 0 : -1;
    return STATUS(SCOTCH_graphBuild(&m->graph, 0, g->vertex_count, row, NULL, load, NULL,
                                    arc_count, neighbor, traffic));
}

/* ---- what it is cut for ---- */

static emp_status load_architecture(mapping *m, const emp_partition_target *target,
                                    emp_error *err)
{
    FILE *file = fmemopen(NULL, EMP_SCOTCH_ARCH_BYTES, "w+");

    if (file == NULL)
        return EMP_ERROR(EMP_ENOMEM, "description of %d devices", target->count);
    emp_scotch_arch_write(target, file);
    rewind(file);
    emp_status st = STATUS(SCOTCH_archLoad(&m->arch, file));
    fclose(file);
    return st;
}

/* All parts at the same distance, as strong as the target's. */
static emp_status make_complete(mapping *m, const emp_partition_target *target,
                                emp_error *err)
{
    int32_t    power[EMP_MAX_DEVICES];
    SCOTCH_Num weight[EMP_MAX_DEVICES];

    scotch_arch_powers(target, power);
    for (int32_t p = 0; p < target->count; p++) weight[p] = power[p];
    return STATUS(SCOTCH_archCmpltw(&m->arch, target->count, weight));
}

static emp_status make_architecture(mapping *m, const request *r, emp_error *err)
{
    if (r->target == NULL) return STATUS(SCOTCH_archCmplt(&m->arch, r->part_count));
    return r->options.architecture == EMP_SCOTCH_COMPLETE
               ? make_complete(m, r->target, err)
               : load_architecture(m, r->target, err);
}

/* ---- how ---- */

static SCOTCH_Num flags_of(emp_scotch_strategy strategy)
{
    static const SCOTCH_Num flags[] = {[EMP_SCOTCH_QUALITY] = SCOTCH_STRATQUALITY,
                                       [EMP_SCOTCH_DEFAULT] = SCOTCH_STRATDEFAULT,
                                       [EMP_SCOTCH_SPEED] = SCOTCH_STRATSPEED,
                                       [EMP_SCOTCH_BALANCE] = SCOTCH_STRATBALANCE};

    return flags[strategy];
}

static emp_status make_context(mapping *m, uint64_t seed, emp_error *err)
{
    EMP_CHECK(STATUS(
        SCOTCH_contextOptionSetNum(&m->context, SCOTCH_OPTIONNUMDETERMINISTIC, 1)));
    EMP_CHECK(STATUS(SCOTCH_contextRandomClone(&m->context)));
    SCOTCH_contextRandomSeed(&m->context, (SCOTCH_Num)(seed % INT_MAX));
    SCOTCH_contextRandomReset(&m->context);
    EMP_CHECK(STATUS(SCOTCH_contextThreadSpawn(&m->context, 1, NULL)));
    return STATUS(SCOTCH_contextBindGraph(&m->context, &m->graph, &m->bound));
}

/* ---- the cut ---- */

static void destroy(void *task)
{
    mapping *m = task;

    SCOTCH_stratExit(&m->strategy);
    SCOTCH_archExit(&m->arch);
    SCOTCH_graphExit(&m->bound);
    SCOTCH_contextExit(&m->context);
    SCOTCH_graphExit(&m->graph);
    emp_arrays_clear(&m->arrays);
    emp_free(m);
}

static emp_status create(mapping **out, const emp_partition_graph *g, const request *r,
                         emp_error *err)
{
    emp_status st = EMP_OK;
    mapping   *m = *out = EMP_NEW(mapping);

    if (m == NULL) return EMP_ERROR(EMP_ENOMEM, "cut by Scotch");
    m->vertex_count = g->vertex_count;
    m->part_count = r->part_count;
    SCOTCH_contextInit(&m->context);
    SCOTCH_graphInit(&m->graph);
    SCOTCH_graphInit(&m->bound);
    SCOTCH_archInit(&m->arch);
    SCOTCH_stratInit(&m->strategy);
    EMP_TRY(build_graph(m, g, err));
    EMP_TRY(make_context(m, r->seed, err));
    EMP_TRY(make_architecture(m, r, err));
    EMP_TRY(STATUS(SCOTCH_stratGraphMapBuild(&m->strategy, flags_of(r->options.strategy),
                                             r->part_count, r->options.imbalance)));

cleanup:
    if (st != EMP_OK) destroy(m);
    return st;
}

static void map(void *task)
{
    mapping *m = task;

    m->result = SCOTCH_graphMapFixed(&m->bound, &m->arch, &m->strategy, m->part);
    if (m->result != 0) memcpy(m->said, scotch_message, sizeof m->said);
}

static emp_status cut(const emp_partition_graph *g, const request *r,
                      int32_t *part_of_vertex, emp_error *err)
{
    mapping *m;

    EMP_CHECK(create(&m, g, r, err));
    const char *before = emp_stage_set("partitioning by Scotch");
    const bool  is_done = emp_apart_run(&(emp_apart){m, map, destroy}, r->stop);
    (void)emp_stage_set(before);
    if (!is_done) return EMP_ERROR(EMP_EINTERRUPTED, "interrupted");
    const emp_status st = tell_result(m->result, m, m->said, err);
    for (int32_t v = 0; st == EMP_OK && v < g->vertex_count; v++)
        part_of_vertex[v] = (int32_t)m->part[v];
    destroy(m);
    return st;
}

emp_status emp_scotch_map(const emp_partition_graph  *graph,
                          const emp_partition_target *target, const void *options,
                          uint64_t seed, const atomic_int *stop, int32_t *part_of_vertex,
                          emp_error *err)
{
    const request r = {target, target->count, *(const emp_scotch_options *)options, seed,
                       stop};

    return cut(graph, &r, part_of_vertex, err);
}

emp_status emp_scotch_parts(const emp_partition_graph *graph, int32_t part_count,
                            double imbalance, uint64_t seed, const atomic_int *stop,
                            int32_t *part_of_vertex, emp_error *err)
{
    const request r = {NULL, part_count, {.imbalance = imbalance}, seed, stop};

    return cut(graph, &r, part_of_vertex, err);
}
