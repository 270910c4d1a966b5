// SPDX-License-Identifier: GPL-3.0-or-later
/* Scotch 7 is multi-threaded and by default neither deterministic nor confined to one
 * random stream: every call gets a context of its own with one thread, its own generator
 * and the deterministic option, which also makes calls safe from several threads. */
#define _POSIX_C_SOURCE 200809L
#include "search/partition/scotch_cut.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <scotch.h> /* uses stdint.h without including it */

#include "base/arrays.h"
#include "base/work/stage.h"
#include "search/partition/scotch_arch.h"

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

static emp_status tell_result(int result, const emp_partition_graph *g,
                              int32_t part_count, emp_error *err)
{
    if (result == 0) return EMP_OK;
    return EMP_ERROR(EMP_EEXTERNAL, "Scotch, %d vertices into %d parts: %s",
                     g->vertex_count, part_count, scotch_message);
}

/* The status of a call of Scotch. */
#define STATUS(call) tell_result((call), g, part_count, err)

/* A copy in Scotch's integers. */
static SCOTCH_Num *copy_to_num(emp_arrays *arrays, const int32_t *value, int32_t count)
{
    SCOTCH_Num *copy = EMP_ADD_ARRAY(arrays, SCOTCH_Num, (size_t)count);

    for (int32_t i = 0; copy != NULL && i < count; i++) copy[i] = value[i];
    return copy;
}

static emp_status load_architecture(SCOTCH_Arch *arch, const emp_partition_graph *g,
                                    const emp_partition_target *target, emp_error *err)
{
    const int32_t part_count = target->count;
    FILE         *file = fmemopen(NULL, EMP_SCOTCH_ARCH_BYTES, "w+");

    if (file == NULL)
        return EMP_ERROR(EMP_ENOMEM, "description of %d devices", target->count);
    emp_scotch_arch_write(target, file);
    rewind(file);
    emp_status st = STATUS(SCOTCH_archLoad(arch, file));
    fclose(file);
    return st;
}

/* What is asked of Scotch: the parts of a target, or as many equal ones. */
typedef struct {
    const emp_partition_target *target; /* NULL = equal parts */
    int32_t                     part_count;
    emp_scotch_options          options;
    uint64_t                    seed;
} request;

/* All parts at the same distance, as strong as those of the target. */
static emp_status make_complete(SCOTCH_Arch *arch, const emp_partition_graph *g,
                                const emp_partition_target *target, emp_error *err)
{
    const int32_t part_count = target->count;
    int32_t       power[EMP_MAX_DEVICES];
    SCOTCH_Num    weight[EMP_MAX_DEVICES];

    emp_scotch_arch_powers(target, power);
    for (int32_t p = 0; p < part_count; p++) weight[p] = power[p];
    return STATUS(SCOTCH_archCmpltw(arch, part_count, weight));
}

static emp_status make_architecture(SCOTCH_Arch *arch, const emp_partition_graph *g,
                                    const request *r, emp_error *err)
{
    const int32_t part_count = r->part_count;

    if (r->target == NULL) return STATUS(SCOTCH_archCmplt(arch, part_count));
    return r->options.architecture == EMP_SCOTCH_COMPLETE
               ? make_complete(arch, g, r->target, err)
               : load_architecture(arch, g, r->target, err);
}

static SCOTCH_Num flags_of(emp_scotch_strategy strategy)
{
    static const SCOTCH_Num flags[] = {[EMP_SCOTCH_QUALITY] = SCOTCH_STRATQUALITY,
                                       [EMP_SCOTCH_DEFAULT] = SCOTCH_STRATDEFAULT,
                                       [EMP_SCOTCH_SPEED] = SCOTCH_STRATSPEED,
                                       [EMP_SCOTCH_BALANCE] = SCOTCH_STRATBALANCE};

    return flags[strategy];
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

    EMP_TRY(
        STATUS(SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1)));
    EMP_TRY(STATUS(SCOTCH_contextRandomClone(&context)));
    SCOTCH_contextRandomSeed(&context, (SCOTCH_Num)(r->seed % INT_MAX));
    SCOTCH_contextRandomReset(&context);
    EMP_TRY(STATUS(SCOTCH_contextThreadSpawn(&context, 1, NULL)));
    EMP_TRY(STATUS(SCOTCH_contextBindGraph(&context, graph, &bound)));
    EMP_TRY(make_architecture(&arch, g, r, err));
    EMP_TRY(STATUS(SCOTCH_stratGraphMapBuild(&strategy, flags_of(r->options.strategy),
                                             part_count, r->options.imbalance)));
    EMP_TRY(STATUS(SCOTCH_graphMapFixed(&bound, &arch, &strategy, part)));

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
    emp_arrays    arrays = {0};
    SCOTCH_Num   *row = copy_to_num(&arrays, g->row, g->vertex_count + 1);
    SCOTCH_Num   *neighbor = copy_to_num(&arrays, g->neighbor, arc_count);
    SCOTCH_Num   *load = copy_to_num(&arrays, g->load, g->vertex_count);
    SCOTCH_Num   *traffic = copy_to_num(&arrays, g->traffic, arc_count);
    SCOTCH_Num   *part = EMP_ADD_ARRAY(&arrays, SCOTCH_Num, (size_t)g->vertex_count);

    SCOTCH_graphInit(&graph);
    if (arrays.is_short)
        EMP_FAIL(EMP_ENOMEM, "Scotch graph of %d vertices", g->vertex_count);
    EMP_TRY(STATUS(SCOTCH_graphBuild(&graph, 0, g->vertex_count, row, NULL, load, NULL,
                                     arc_count, neighbor, traffic)));
    /* Part 0 is the CPU: without it in the target, no vertex is bound to it. */
    for (int32_t v = 0; v < g->vertex_count; v++) part[v] = g->is_cpu_only[v] ? 0 : -1;
    const char *before = emp_stage_set("partitioning by Scotch");
    st = map_in_context(&graph, g, r, part, err);
    (void)emp_stage_set(before);
    EMP_TRY(st);
    for (int32_t v = 0; v < g->vertex_count; v++) part_of_vertex[v] = (int32_t)part[v];

cleanup:
    SCOTCH_graphExit(&graph);
    emp_arrays_clear(&arrays);
    return st;
}

emp_status emp_scotch_map(const emp_partition_graph  *graph,
                          const emp_partition_target *target, const void *options,
                          uint64_t seed, int32_t *part_of_vertex, emp_error *err)
{
    const request r = {target, target->count, *(const emp_scotch_options *)options, seed};

    return cut(graph, &r, part_of_vertex, err);
}

emp_status emp_scotch_parts(const emp_partition_graph *graph, int32_t part_count,
                            double imbalance, uint64_t seed, int32_t *part_of_vertex,
                            emp_error *err)
{
    const request r = {NULL, part_count, {.imbalance = imbalance}, seed};

    return cut(graph, &r, part_of_vertex, err);
}
