// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "bench/plots/runs.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"

static const char RECORD[] = ".h5", CHECKPOINT[] = ".checkpoint.h5",
                  TIMING[] = ".timing.json", REFUSED[] = ".refused.txt",
                  LOCK[] = ".h5.lock";

/* ---- one record ---------------------------------------------------------------------- */

/* run.h5 has its timing in run.timing.json. */
static emp_status find_timing(const emp_report_runs *runs, emp_report_run *run,
                              emp_error *err)
{
    emp_status st = EMP_OK;
    emp_error  why = {0};
    size_t     length = strlen(run->path), size = length + sizeof TIMING;
    char      *path = EMP_NEW_ARRAY(char, size);

    run->timing.elapsed_s = run->timing.cpu_s = NAN;
    if (path == NULL) EMP_FAIL(EMP_ENOMEM, "name of the timing of %s", run->path);
    if (emp_text_ends_in(run->path, RECORD)) length -= strlen(RECORD);
    snprintf(path, size, "%.*s%s", (int)length, run->path, TIMING);
    if (access(path, F_OK) != 0) goto cleanup;
    st = emp_timing_load(&run->timing, path, &why);
    if (st == EMP_OK) goto cleanup;
    if (st == EMP_ENOMEM) EMP_FAIL(st, "%s", why.msg);
    emp_timing_clear(&run->timing);
    run->timing.elapsed_s = run->timing.cpu_s = NAN;
    st = EMP_OK;
    if (runs->warn != NULL) runs->warn("%s", why.msg);

cleanup:
    emp_free(path);
    return st;
}

static void clear_run(emp_report_run *run)
{
    emp_record_clear(&run->record);
    emp_timing_clear(&run->timing);
    emp_free(run->path);
}

static int64_t time_of_change(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0) return 0;
    return (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
}

static emp_status add_file(emp_report_runs *runs, const char *path, emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_report_run run = {.path = emp_strdup(path), .changed_ns = time_of_change(path)};

    if (run.path == NULL) EMP_FAIL(EMP_ENOMEM, "name of %s", path);
    EMP_TRY(emp_record_load(&run.record, path, err));
    if (run.record.evaluations == 0)
        EMP_FAIL(EMP_EFORMAT, "%s has no evaluation yet; leave it out", path);
    EMP_TRY(find_timing(runs, &run, err));
    if (runs->run_count == runs->run_limit) {
        int32_t         limit = runs->run_limit > 0 ? 2 * runs->run_limit : 8;
        emp_report_run *grown = emp_realloc(runs->run, (size_t)limit, sizeof *grown);
        if (grown == NULL) EMP_FAIL(EMP_ENOMEM, "%d runs", limit);
        runs->run = grown;
        runs->run_limit = limit;
    }
    runs->run[runs->run_count++] = run;
    run = (emp_report_run){0};

cleanup:
    clear_run(&run);
    return st;
}

/* ---- a folder ------------------------------------------------------------------------ */

/* Files that runs leave beside their records. */
static bool is_companion(const char *name)
{
    return emp_text_ends_in(name, TIMING) || emp_text_ends_in(name, CHECKPOINT) ||
           emp_text_ends_in(name, REFUSED) || emp_text_ends_in(name, LOCK);
}

static int is_of_interest(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
           !is_companion(entry->d_name);
}

/* Files in a folder that are not records. The one that is reported has the name of a record, if there is one. */
struct skipped {
    int32_t   count;
    bool      has_name;
    emp_error told;
};

static void skip(struct skipped *skipped, const emp_error *why, bool has_name)
{
    if (skipped->count++ == 0 || (has_name && !skipped->has_name)) skipped->told = *why;
    skipped->has_name |= has_name;
}

/* Adds a record; what is none is counted. */
static emp_status add_entry(emp_report_runs *runs, const char *folder, const char *name,
                            struct skipped *skipped, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_error  why = {0};
    size_t     size = strlen(folder) + strlen(name) + 2;
    char      *path = EMP_NEW_ARRAY(char, size);

    if (path == NULL) EMP_FAIL(EMP_ENOMEM, "name of %s", name);
    snprintf(path, size, "%s/%s", folder, name);
    if (emp_text_ends_in(name, RECORD))
        st = add_file(runs, path, &why);
    else
        st = emp_error_set(&why, EMP_EFORMAT, __FILE__, __LINE__, "%s is no run record",
                           path);
    if (st == EMP_ENOMEM) EMP_FAIL(st, "%s", why.msg);
    if (st != EMP_OK) skip(skipped, &why, emp_text_ends_in(name, RECORD));
    st = EMP_OK;

cleanup:
    emp_free(path);
    return st;
}

static void tell_skipped(const emp_report_runs *runs, const char *folder,
                         const struct skipped *skipped)
{
    if (runs->warn == NULL || skipped->count == 0) return;
    if (skipped->count == 1)
        runs->warn("1 file of %s is skipped: %s", folder, skipped->told.msg);
    else
        runs->warn("%d files of %s are skipped: %s; and %d more", skipped->count, folder,
                   skipped->told.msg, skipped->count - 1);
}

static emp_status add_folder(emp_report_runs *runs, const char *folder, emp_error *err)
{
    emp_status      st = EMP_OK;
    struct dirent **entry = NULL;
    struct skipped  skipped = {0};
    int32_t         before = runs->run_count;
    int             count = scandir(folder, &entry, is_of_interest, alphasort);

    if (count < 0) EMP_FAIL(EMP_EIO, "%s cannot be read: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++)
        EMP_TRY(add_entry(runs, folder, entry[i]->d_name, &skipped, err));
    if (runs->run_count == before && skipped.count > 0)
        EMP_FAIL(EMP_EIO, "the folder %s has no run record (*.h5) in it: %s", folder,
                 skipped.told.msg);
    if (runs->run_count == before)
        EMP_FAIL(EMP_EIO, "the folder %s has no run record (*.h5) in it", folder);
    tell_skipped(runs, folder, &skipped);

cleanup:
    for (int i = 0; i < count; i++) free(entry[i]);
    free(entry);
    return st;
}

emp_status emp_report_runs_add(emp_report_runs *runs, const char *path, emp_error *err)
{
    struct stat info;

    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return add_folder(runs, path, err);
    return add_file(runs, path, err);
}

/* ---- order --------------------------------------------------------------------------- */

#define RETURN_ORDER(a, b) \
    if ((a) != (b)) return (a) < (b) ? -1 : 1
#define RETURN_TEXT_ORDER(a, b)         \
    do {                                \
        int order_ = strcmp((a), (b));  \
        if (order_ != 0) return order_; \
    } while (0)

static int compare_problems(const emp_record *a, const emp_record *b)
{
    RETURN_TEXT_ORDER(a->workload, b->workload);
    RETURN_TEXT_ORDER(a->machine, b->machine);
    RETURN_TEXT_ORDER(a->runtime, b->runtime);
    RETURN_ORDER(a->graph_hash, b->graph_hash);
    RETURN_ORDER(a->machine_hash, b->machine_hash);
    RETURN_ORDER(a->runtime_hash, b->runtime_hash);
    RETURN_TEXT_ORDER(a->overrides, b->overrides);
    return 0;
}

static int compare_series(const emp_record *a, const emp_record *b)
{
    RETURN_TEXT_ORDER(a->method, b->method);
    RETURN_TEXT_ORDER(a->preset, b->preset);
    RETURN_TEXT_ORDER(a->options, b->options);
    RETURN_ORDER(a->budget_evaluations, b->budget_evaluations);
    RETURN_ORDER(a->budget_s, b->budget_s);
    RETURN_ORDER(a->budget_cpu_s, b->budget_cpu_s);
    RETURN_ORDER(a->ranks, b->ranks);
    RETURN_ORDER(a->is_async, b->is_async);
    RETURN_ORDER(a->has_order, b->has_order);
    RETURN_ORDER(a->has_fusion, b->has_fusion);
    RETURN_ORDER(a->start_hash, b->start_hash);
    RETURN_ORDER(a->weights_hash, b->weights_hash);
    RETURN_ORDER(a->method_hash, b->method_hash);
    RETURN_TEXT_ORDER(a->version, b->version);
    RETURN_TEXT_ORDER(a->commit, b->commit);
    RETURN_ORDER(a->is_dirty, b->is_dirty);
    return 0;
}

static int compare_seeds(const emp_record *a, const emp_record *b)
{
    RETURN_ORDER(a->seed, b->seed);
    return 0;
}

static bool is_same_run(const emp_record *a, const emp_record *b)
{
    return compare_problems(a, b) == 0 && compare_series(a, b) == 0 &&
           compare_seeds(a, b) == 0;
}

/* Within one run the newer record comes first. */
static int compare_runs(const void *left, const void *right)
{
    const emp_report_run *a = left, *b = right;
    int                   order = compare_problems(&a->record, &b->record);

    if (order == 0) order = compare_series(&a->record, &b->record);
    if (order == 0) order = compare_seeds(&a->record, &b->record);
    if (order != 0) return order;
    RETURN_ORDER(b->changed_ns, a->changed_ns);
    return strcmp(a->path, b->path);
}

/* ---- series and groups --------------------------------------------------------------- */

/* The part of a label that is common to all series. */
static bool is_same_method(const emp_record *a, const emp_record *b)
{
    return strcmp(a->method, b->method) == 0 && strcmp(a->preset, b->preset) == 0 &&
           strcmp(a->options, b->options) == 0 && a->has_order == b->has_order &&
           a->has_fusion == b->has_fusion && a->start_hash == b->start_hash &&
           a->weights_hash == b->weights_hash;
}

/* The method, and what tells it apart from others of the group. */
static void name_series(emp_report_runs *runs, const emp_report_group *g, int32_t series)
{
    emp_report_series *s = &runs->series[series];
    const emp_record  *r = &runs->run[s->first_run].record;
    emp_text           label = {s->label, sizeof s->label, 0};
    bool               has_other_budget = false, has_other_commit = false;
    bool               has_other_code = false;
    char               text[EMP_UNITS_TEXT_BYTES];

    for (int32_t i = g->first_series; i < g->first_series + g->series_count; i++) {
        const emp_record *other = &runs->run[runs->series[i].first_run].record;
        if (i == series || !is_same_method(other, r)) continue;
        has_other_code |= other->method_hash != r->method_hash;
        if (other->method_hash != r->method_hash) continue;
        if (other->budget_evaluations == r->budget_evaluations &&
            other->budget_s == r->budget_s && other->budget_cpu_s == r->budget_cpu_s)
            has_other_commit = true;
        else
            has_other_budget = true;
    }
    emp_text_add(&label, "%s", r->method);
    if (r->preset[0] != '\0') emp_text_add(&label, " %s", r->preset);
    if (r->options[0] != '\0') emp_text_add(&label, " %s", r->options);
    if (r->ranks > 1)
        emp_text_add(&label, ", %d ranks%s", r->ranks, r->is_async ? " --async" : "");
    if (r->has_fusion)
        emp_text_add(&label, ", devices%s and fusion", r->has_order ? ", order" : "");
    else if (r->has_order)
        emp_text_add(&label, ", devices and order");
    if (r->start_hash != 0)
        emp_text_add(&label, ", from placement %08" PRIx32, (uint32_t)r->start_hash);
    if (r->weights_hash != 0)
        emp_text_add(&label, ", from weights %08" PRIx32, (uint32_t)r->weights_hash);
    if (has_other_code)
        emp_text_add(&label, ", code %08" PRIx32, (uint32_t)r->method_hash);
    if (has_other_budget && r->budget_evaluations > 0)
        emp_text_add(&label, ", %" PRId64 " evaluation%s", r->budget_evaluations,
                     emp_units_plural(r->budget_evaluations));
    if (has_other_budget && r->budget_s > 0)
        emp_text_add(&label, ", %s",
                     emp_units_format_seconds(r->budget_s, text, sizeof text));
    if (has_other_budget && r->budget_cpu_s > 0)
        emp_text_add(&label, ", %s of CPU time",
                     emp_units_format_seconds(r->budget_cpu_s, text, sizeof text));
    if (has_other_budget && r->budget_evaluations == 0 && r->budget_s == 0 &&
        r->budget_cpu_s == 0)
        emp_text_add(&label, ", no budget");
    if (has_other_commit)
        emp_text_add(&label, ", commit %s%s", r->commit, r->is_dirty ? ", modified" : "");
}

emp_score emp_report_run_score(const emp_report_run *run)
{
    return (emp_score){.step_time_s = run->record.best_step_time_s,
                       .is_feasible = run->record.is_feasible};
}

/* Leaves out sorted runs that are older than another record of the same run. */
static void drop_older(emp_report_runs *runs)
{
    int32_t kept = 0, dropped = 0, first = -1; /* the newer of the first pair */

    for (int32_t i = 0; i < runs->run_count; i++) {
        emp_report_run *run = &runs->run[i];
        if (kept == 0 || !is_same_run(&runs->run[kept - 1].record, &run->record)) {
            runs->run[kept++] = *run;
            continue;
        }
        if (dropped++ == 0) first = kept - 1;
        if (dropped == 1 && runs->warn != NULL)
            runs->warn("%s and %s are of the same run; the first is newer and is taken",
                       runs->run[first].path, run->path);
        clear_run(run);
    }
    if (dropped > 1 && runs->warn != NULL)
        runs->warn("%d older records of runs are left out in all", dropped);
    runs->run_count = kept;
}

static void add_to_group(emp_report_runs *runs, int32_t index, bool is_group,
                         bool is_series)
{
    if (is_group)
        runs->group[runs->group_count++] = (emp_report_group){
            .first_series = runs->series_count, .first_run = index, .best_run = index};
    emp_report_group *g = &runs->group[runs->group_count - 1];
    if (is_series) {
        runs->series[runs->series_count++].first_run = index;
        g->series_count++;
    }
    emp_score score = emp_report_run_score(&runs->run[index]);
    emp_score best = emp_report_run_score(&runs->run[g->best_run]);
    if (emp_score_is_better(&score, &best)) g->best_run = index;
    runs->series[runs->series_count - 1].run_count++;
    g->run_count++;
}

emp_status emp_report_runs_group(emp_report_runs *runs, emp_error *err)
{
    if (runs->run_count > 0)
        qsort(runs->run, (size_t)runs->run_count, sizeof *runs->run, compare_runs);
    drop_older(runs);
    emp_free(runs->series);
    emp_free(runs->group);
    runs->series = NULL;
    runs->group = NULL;
    runs->series_count = runs->group_count = 0;
    EMP_CHECK(EMP_ALLOC(runs->series, (size_t)runs->run_count));
    EMP_CHECK(EMP_ALLOC(runs->group, (size_t)runs->run_count));
    for (int32_t i = 0; i < runs->run_count; i++) {
        const emp_record *r = &runs->run[i].record;
        const emp_record *last = i > 0 ? &runs->run[i - 1].record : NULL;
        bool              is_group = last == NULL || compare_problems(last, r) != 0;
        add_to_group(runs, i, is_group, is_group || compare_series(last, r) != 0);
    }
    for (int32_t i = 0; i < runs->group_count; i++) {
        const emp_report_group *g = &runs->group[i];
        for (int32_t s = 0; s < g->series_count; s++)
            name_series(runs, g, g->first_series + s);
    }
    return EMP_OK;
}

void emp_report_runs_clear(emp_report_runs *runs)
{
    for (int32_t i = 0; i < runs->run_count; i++) clear_run(&runs->run[i]);
    emp_free(runs->run);
    emp_free(runs->series);
    emp_free(runs->group);
    *runs = (emp_report_runs){0};
}
