// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* memrchr() */
/* Where a lower bound comes from, and what would lower it, for people and as JSON. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/options.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/report/report.h"
#include "sim/bounds/paths/model.h"
#include "sim/graph/op.h"

enum { LISTED = 10, LAYER_WIDTH = 36, CHANGE_WIDTH = 45 };
/* A change of less of the bound is none: refuted times are found to 0.4 %. */
static const double LEAST_CHANGE = 5e-3;

static const char *const lemma_key[] = {EMP_BOUND_LEMMA_LIST(EMP_LIST_SECOND)};
static const char *const lemma_words[] = {EMP_BOUND_LEMMA_LIST(EMP_LIST_THIRD)};
static const char *const part_key[] = {EMP_BOUND_PART_LIST(EMP_LIST_SECOND)};
static const char *const change_key[] = {EMP_BOUNDS_CHANGE_LIST(EMP_LIST_SECOND)};
static const char *const change_words[] = {EMP_BOUNDS_CHANGE_LIST(EMP_LIST_THIRD)};
static const char *const resource_key[EMP_BOUND_RESOURCES] = {
    [EMP_BOUND_THREAD] = "host_threads",
    [EMP_BOUND_STREAM] = "gpu_kernels",
    [EMP_BOUND_CORES] = "cpu_cores"};
static const char *const resource_words[EMP_BOUND_RESOURCES] = {
    [EMP_BOUND_THREAD] = "host threads",
    [EMP_BOUND_STREAM] = "GPU kernels",
    [EMP_BOUND_CORES] = "CPU cores"};

/* ---- ops by type, layer and part ---- */

/* Ops of one type in one name scope, and what they do. */
struct group {
    int32_t        type;
    const char    *layer;
    size_t         length;
    emp_bound_part part;
    int32_t        count;
    double         ns;
};

static struct group group_of(const emp_graph *g, const emp_bound_share *share)
{
    struct group group = {.type = g->type[share->op], .part = share->part};

    group.length = emp_forward_of_gradient(g->name[share->op], &group.layer);
    if (group.length == 0) {
        group.layer = g->name[share->op];
        group.length = strlen(group.layer);
    }
    const char *slash = memrchr(group.layer, '/', group.length);
    if (slash != NULL) group.length = (size_t)(slash - group.layer);
    group.count = 1;
    group.ns = share->ns;
    return group;
}

static int compare_names(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    const size_t        length = x->length < y->length ? x->length : y->length;
    const int           order = memcmp(x->layer, y->layer, length);

    if (x->type != y->type) return x->type < y->type ? -1 : 1;
    if (x->part != y->part) return x->part < y->part ? -1 : 1;
    if (order != 0) return order;
    return x->length < y->length ? -1 : x->length > y->length;
}

static int compare_times(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
    return compare_names(a, b);
}

/* The groups of all shares, the longest first; NULL when out of memory. */
static struct group *group_shares(const emp_graph *g, const emp_bound_shares *shares,
                                  int32_t *count)
{
    struct group *group = emp_calloc((size_t)shares->count, sizeof *group);

    *count = 0;
    if (group == NULL) return NULL;
    for (int32_t i = 0; i < shares->count; i++) group[i] = group_of(g, &shares->share[i]);
    qsort(group, (size_t)shares->count, sizeof *group, compare_names);
    for (int32_t i = 0; i < shares->count; i++) {
        struct group *last = *count > 0 ? &group[*count - 1] : NULL;
        if (last != NULL && compare_names(last, &group[i]) == 0) {
            last->ns += group[i].ns;
            last->count++;
        } else {
            group[(*count)++] = group[i];
        }
    }
    qsort(group, (size_t)*count, sizeof *group, compare_times);
    return group;
}

/* ---- JSON ---- */

static json_t *json_groups(const emp_graph *g, const emp_bounds_why *why)
{
    json_t       *all = json_array();
    int32_t       count = 0;
    struct group *group = group_shares(g, &why->shares, &count);

    for (int32_t i = 0; i < count; i++)
        json_array_append_new(
            all, json_pack("{s:s, s:s%, s:s, s:i, s:f}", "type",
                           g->type_name[group[i].type], "layer", group[i].layer,
                           group[i].length, "part", part_key[group[i].part], "count",
                           group[i].count, "seconds", group[i].ns * 1e-9));
    emp_free(group);
    return all;
}

static json_t *json_path(const emp_graph *g, const emp_bounds_why *why)
{
    json_t *all = json_array();

    for (int32_t i = 0; i < why->shares.count; i++) {
        const emp_bound_share *share = &why->shares.share[i];
        json_array_append_new(all, json_pack("{s:s, s:s, s:f}", "op", g->name[share->op],
                                             "part", part_key[share->part], "seconds",
                                             share->ns * 1e-9));
    }
    return all;
}

static json_t *json_resources(const emp_bounds_why *why)
{
    json_t *o = json_object();

    for (int32_t r = 0; r < EMP_BOUND_RESOURCES; r++)
        json_object_set_new(o, resource_key[r], json_real(why->weight[r]));
    return o;
}

static json_t *json_why(const emp_problem *problem, const emp_bounds_why *why)
{
    if (why->lemma == EMP_BOUND_BY_NONE) return json_null();
    json_t *o =
        json_pack("{s:s, s:b, s:f, s:o}", "lemma", lemma_key[why->lemma], "refuted",
                  why->is_refuted, "proven_s", (double)why->value_ns * 1e-9, "ops",
                  json_groups(problem->graph, why));

    if (why->lemma == EMP_BOUND_BY_PATH)
        json_object_set_new(o, "path", json_path(problem->graph, why));
    if (why->lemma == EMP_BOUND_BY_AREA || why->lemma == EMP_BOUND_BY_WINDOW)
        json_object_set_new(o, "resources", json_resources(why));
    if (why->lemma == EMP_BOUND_BY_AREA)
        json_object_set_new(o, "memory_s", json_real(why->rent_ns * 1e-9));
    if (why->lemma == EMP_BOUND_BY_WINDOW || why->lemma == EMP_BOUND_BY_QUEUE) {
        json_object_set_new(o, "from_start_s", json_real(why->window.before * 1e-9));
        json_object_set_new(o, "before_end_s", json_real(why->window.after * 1e-9));
    }
    return o;
}

/* Below 0: the bound is lower. 0 without a bound. */
static double change_frac(emp_time_ns now_ns, emp_time_ns changed_ns)
{
    return now_ns > 0 ? (double)changed_ns / (double)now_ns - 1.0 : 0.0;
}

static json_t *json_changes(const emp_bounds *now, const emp_bounds_changes *changes)
{
    json_t *all = json_array();

    for (int32_t i = 0; i < changes->count; i++) {
        const emp_bounds *b = &changes->changed[i].bounds;
        json_array_append_new(
            all,
            json_pack("{s:s, s:f, s:f, s:f, s:f}", "change",
                      change_key[changes->changed[i].change], "lower_bound_s",
                      (double)b->best_ns * 1e-9, "change_frac",
                      change_frac(now->best_ns, b->best_ns), "lower_bound_gpu_kernels_s",
                      (double)b->gpu_kernels_ns * 1e-9, "change_gpu_kernels_frac",
                      change_frac(now->gpu_kernels_ns, b->gpu_kernels_ns)));
    }
    return all;
}

json_t *cli_bound_why_json(const emp_problem *problem, const emp_bounds *now,
                           const emp_bounds_why *all, const emp_bounds_why *gpus,
                           const emp_bounds_changes *changes)
{
    return json_pack("{s:o, s:o, s:o}", "lower_bound", json_why(problem, all),
                     "lower_bound_gpu_kernels", json_why(problem, gpus), "changes",
                     json_changes(now, changes));
}

/* ---- text ---- */

static const char *seconds(double ns, char text[EMP_UNITS_TEXT_BYTES])
{
    return emp_units_format_seconds(ns * 1e-9, text, EMP_UNITS_TEXT_BYTES);
}

static void print_resources(const emp_bounds_why *why)
{
    char text[EMP_UNITS_TEXT_BYTES];

    printf("  The work is priced by");
    for (int32_t r = 0, printed = 0; r < EMP_BOUND_RESOURCES; r++) {
        if (why->weight[r] < 5e-4) continue;
        printf("%s %s %s", printed++ > 0 ? "," : "", resource_words[r],
               emp_units_format_percent(why->weight[r], text, sizeof text));
    }
    printf(".\n");
    if (why->lemma == EMP_BOUND_BY_AREA && fabs(why->rent_ns) >= 1.0)
        printf("  Memory adds %s.\n", seconds(why->rent_ns, text));
}

static void print_groups(const emp_graph *g, const emp_bounds_why *why, bool is_full)
{
    char          time[EMP_UNITS_TEXT_BYTES], name[LAYER_WIDTH + 1];
    int32_t       count = 0;
    struct group *group = group_shares(g, &why->shares, &count);
    const int32_t listed = is_full || count < LISTED ? count : LISTED;
    double        rest_ns = 0.0;

    for (int32_t i = listed; i < count; i++) rest_ns += group[i].ns;
    printf("  %9s %5s %-8s %-17s layer\n", "time", "ops", "for", "type");
    for (int32_t i = 0; i < listed; i++)
        printf("  %9s %5d %-8s %-17.17s %s\n", seconds(group[i].ns, time), group[i].count,
               part_key[group[i].part], g->type_name[group[i].type],
               emp_text_shorten(group[i].layer, group[i].length, LAYER_WIDTH, name));
    if (count > listed)
        printf("  %9s in %d more rows\n", seconds(rest_ns, time), count - listed);
    emp_free(group);
}

static void print_why(const emp_problem *problem, const char *title,
                      const emp_bounds_why *why, bool is_full)
{
    char time[EMP_UNITS_TEXT_BYTES], end[EMP_UNITS_TEXT_BYTES];

    printf("\n%s: %s, %s\n", title, lemma_words[why->lemma],
           seconds((double)why->value_ns, time));
    if (why->is_refuted)
        printf("  By contradiction: in a step that takes less than %s some ops cannot be "
               "on\n  a kind of device, and then it takes %s.\n",
               seconds((double)why->bound_ns, end), time);
    if (why->lemma == EMP_BOUND_BY_WINDOW || why->lemma == EMP_BOUND_BY_QUEUE)
        printf("  The work is inside a window from %s after the start to %s before the "
               "end.\n",
               seconds(why->window.before, time), seconds(why->window.after, end));
    if (why->lemma == EMP_BOUND_BY_AREA || why->lemma == EMP_BOUND_BY_WINDOW)
        print_resources(why);
    print_groups(problem->graph, why, is_full);
}

/* "no change", or by how much. */
static const char *change_of(emp_time_ns now_ns, emp_time_ns changed_ns,
                             char text[EMP_UNITS_TEXT_BYTES])
{
    const double frac = change_frac(now_ns, changed_ns);

    if (fabs(frac) < LEAST_CHANGE) return "no change";
    return emp_units_format_change(frac, text, EMP_UNITS_TEXT_BYTES);
}

void cli_bound_why_print(const emp_problem *problem, const emp_bounds *now,
                         const emp_bounds_why *all, const emp_bounds_why *gpus,
                         const emp_bounds_changes *changes, bool is_full)
{
    char time[EMP_UNITS_TEXT_BYTES], text[EMP_UNITS_TEXT_BYTES];

    if (all->lemma != EMP_BOUND_BY_NONE) print_why(problem, "lower bound", all, is_full);
    if (gpus->lemma != EMP_BOUND_BY_NONE) print_why(problem, "on GPUs", gpus, is_full);
    printf("\nwhat if; each bound is computed again\n%-*s %-18s %s\n", CHANGE_WIDTH, "",
           "lower bound", "on GPUs");
    printf("%-*s %-18s", CHANGE_WIDTH, "now", seconds((double)now->best_ns, time));
    printf(" %s\n", seconds((double)now->gpu_kernels_ns, time));
    for (int32_t i = 0; i < changes->count; i++) {
        const emp_bounds *b = &changes->changed[i].bounds;
        printf("%-*s %-8s %-9s", CHANGE_WIDTH, change_words[changes->changed[i].change],
               seconds((double)b->best_ns, time),
               change_of(now->best_ns, b->best_ns, text));
        printf(" %-8s %s\n", seconds((double)b->gpu_kernels_ns, time),
               change_of(now->gpu_kernels_ns, b->gpu_kernels_ns, text));
    }
}
