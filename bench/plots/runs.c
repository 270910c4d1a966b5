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
#include "run/archive.h"
#include "search/method.h"

static const char RECORD[] = ".h5", CHECKPOINT[] = ".checkpoint.h5",
                  TIMING[] = ".timing.json";

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);

    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

/* ---- one record ---------------------------------------------------------------------- */

/* run.h5 has its timing in run.timing.json. */
static emp_status find_timing(emp_report_run *run, emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     length = strlen(run->path), size = length + sizeof TIMING;
    char      *path = EMP_NEW_ARRAY(char, size);

    emp_timing timing = {0};

    run->elapsed_s = NAN;
    if (path == NULL) EMP_FAIL(EMP_ENOMEM, "name of the timing of %s", run->path);
    if (ends_with(run->path, RECORD)) length -= strlen(RECORD);
    snprintf(path, size, "%.*s%s", (int)length, run->path, TIMING);
    if (access(path, F_OK) != 0) goto cleanup;
    EMP_TRY(emp_timing_load(&timing, path, err));
    run->elapsed_s = timing.elapsed_s;

cleanup:
    emp_timing_clear(&timing);
    emp_free(path);
    return st;
}

static void clear_run(emp_report_run *run)
{
    emp_record_clear(&run->record);
    emp_free(run->path);
}

static emp_status add_file(emp_report_runs *runs, const char *path, emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_report_run run = {.path = emp_strdup(path)};

    if (run.path == NULL) EMP_FAIL(EMP_ENOMEM, "name of %s", path);
    EMP_TRY(emp_record_load(&run.record, path, err));
    if (run.record.evaluations == 0)
        EMP_FAIL(EMP_EFORMAT, "%s has no evaluation yet; leave it out", path);
    EMP_TRY(find_timing(&run, err));
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

static int is_record_name(const struct dirent *entry)
{
    return ends_with(entry->d_name, RECORD) && !ends_with(entry->d_name, CHECKPOINT);
}

static emp_status add_entry(emp_report_runs *runs, const char *folder, const char *name,
                            emp_error *err)
{
    emp_status st = EMP_OK;
    size_t     size = strlen(folder) + strlen(name) + 2;
    char      *path = EMP_NEW_ARRAY(char, size);

    if (path == NULL) EMP_FAIL(EMP_ENOMEM, "name of %s", name);
    snprintf(path, size, "%s/%s", folder, name);
    EMP_TRY(add_file(runs, path, err));

cleanup:
    emp_free(path);
    return st;
}

static emp_status add_folder(emp_report_runs *runs, const char *folder, emp_error *err)
{
    emp_status      st = EMP_OK;
    struct dirent **entry = NULL;
    int             count = scandir(folder, &entry, is_record_name, alphasort);

    if (count < 0) EMP_FAIL(EMP_EIO, "%s cannot be read: %s", folder, strerror(errno));
    if (count == 0)
        EMP_FAIL(EMP_EIO, "the folder %s has no run record (*.h5) in it", folder);
    for (int i = 0; i < count; i++)
        EMP_TRY(add_entry(runs, folder, entry[i]->d_name, err));

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

static int compare_runs(const void *left, const void *right)
{
    const emp_report_run *a = left, *b = right;
    int                   order = compare_problems(&a->record, &b->record);

    if (order == 0) order = compare_series(&a->record, &b->record);
    if (order == 0) order = compare_seeds(&a->record, &b->record);
    return order != 0 ? order : strcmp(a->path, b->path);
}

/* ---- series and groups --------------------------------------------------------------- */

/* The method, and what tells it apart from others of the group. */
static void name_series(emp_report_runs *runs, const emp_report_group *g, int32_t series)
{
    emp_report_series *s = &runs->series[series];
    const emp_record  *r = &runs->run[s->first_run].record;
    emp_text           label = {s->label, sizeof s->label, 0};
    bool               has_other_budget = false, has_other_commit = false;

    for (int32_t i = g->first_series; i < g->first_series + g->series_count; i++) {
        const emp_record *other = &runs->run[runs->series[i].first_run].record;
        if (i == series || strcmp(other->method, r->method) != 0 ||
            strcmp(other->preset, r->preset) != 0 ||
            strcmp(other->options, r->options) != 0)
            continue;
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
    if (has_other_budget && r->budget_evaluations > 0)
        emp_text_add(&label, ", %" PRId64 " evaluations", r->budget_evaluations);
    if (has_other_budget && r->budget_s > 0) emp_text_add(&label, ", %g s", r->budget_s);
    if (has_other_budget && r->budget_cpu_s > 0)
        emp_text_add(&label, ", %g CPU s", r->budget_cpu_s);
    if (has_other_budget && r->budget_evaluations == 0 && r->budget_s == 0 &&
        r->budget_cpu_s == 0)
        emp_text_add(&label, ", no budget");
    if (has_other_commit)
        emp_text_add(&label, ", commit %s%s", r->commit, r->is_dirty ? ", modified" : "");
}

static emp_score score_of(const emp_report_run *run)
{
    return (emp_score){.step_time_s = run->record.best_step_time_s,
                       .is_feasible = run->record.is_feasible};
}

emp_status emp_report_runs_group(emp_report_runs *runs, emp_error *err)
{
    if (runs->run_count > 0)
        qsort(runs->run, (size_t)runs->run_count, sizeof *runs->run, compare_runs);
    EMP_CHECK(EMP_ALLOC(runs->series, (size_t)runs->run_count));
    EMP_CHECK(EMP_ALLOC(runs->group, (size_t)runs->run_count));
    for (int32_t i = 0; i < runs->run_count; i++) {
        const emp_record *r = &runs->run[i].record;
        const emp_record *last = i > 0 ? &runs->run[i - 1].record : NULL;
        bool              is_group = last == NULL || compare_problems(last, r) != 0;
        bool              is_series = is_group || compare_series(last, r) != 0;

        if (!is_series && compare_seeds(last, r) == 0)
            return EMP_ERROR(EMP_EINVAL,
                             "%s and %s are of the same run; name one of them",
                             runs->run[i - 1].path, runs->run[i].path);
        if (is_group)
            runs->group[runs->group_count++] = (emp_report_group){
                .first_series = runs->series_count, .first_run = i, .best_run = i};
        if (is_series) {
            emp_report_series *s = &runs->series[runs->series_count++];
            s->first_run = i;
            runs->group[runs->group_count - 1].series_count++;
        }
        emp_report_group *g = &runs->group[runs->group_count - 1];
        emp_score         score = score_of(&runs->run[i]),
                  best = score_of(&runs->run[g->best_run]);
        if (emp_score_is_better(&score, &best)) g->best_run = i;
        runs->series[runs->series_count - 1].run_count++;
        g->run_count++;
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
