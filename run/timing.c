// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/timing.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/collections.h"
#include "base/io/atomic_file.h"
#include "base/mem.h"

/* Points without an improvement are at least so far apart. */
static const double apart_s = 0.01, apart_frac = 0.01;

enum { MICROSECONDS = 1000000, ROOM = 64 };

/* ---- noting ---- */

static bool make_room(emp_timing *t)
{
    if (t->point_count < t->room) return true;
    int32_t room = t->room > 0 ? 2 * t->room : ROOM;
    void   *grown = emp_realloc(t->point, (size_t)room, sizeof *t->point);
    if (grown == NULL) {
        t->is_short = true;
        return false;
    }
    t->point = (emp_timing_point *)grown;
    t->room = room;
    return true;
}

void emp_timing_note(emp_timing *t, int64_t evaluations, double elapsed_s, double cpu_s,
                     double best_s)
{
    bool is_first = t->point_count == 0;
    bool is_better = !isnan(best_s) && (is_first || !(t->best_s <= best_s));

    t->elapsed_s = elapsed_s;
    t->cpu_s = ceil(cpu_s * MICROSECONDS) / MICROSECONDS;
    if (isnan(cpu_s)) return;
    if (is_first || t->is_last_kept) { /* else the last point gives way */
        if (!make_room(t)) return;
        t->point_count++;
    }
    t->point[t->point_count - 1] = (emp_timing_point){evaluations, t->cpu_s};
    t->best_s = best_s;
    t->is_last_kept = is_first || is_better ||
                      t->cpu_s >= t->kept_s + fmax(apart_s, apart_frac * t->kept_s);
    if (t->is_last_kept) t->kept_s = t->cpu_s;
}

emp_status emp_timing_check(const emp_timing *t, emp_error *err)
{
    if (t->is_short)
        return EMP_ERROR(EMP_ENOMEM, "timing of a run, %d points", t->point_count);
    return EMP_OK;
}

const emp_timing_point *emp_timing_within(const emp_timing *t, double cpu_s)
{
    int32_t from;

    EMP_COUNT_FIRST(from, t->point_count, i, t->point[i].cpu_s <= cpu_s);
    return from > 0 ? &t->point[from - 1] : NULL;
}

void emp_timing_clear(emp_timing *t)
{
    emp_free(t->point);
    *t = (emp_timing){0};
}

/* ---- the file ---- */

static void write_seconds(FILE *out, const char *key, double value)
{
    if (isfinite(value))
        fprintf(out, "\"%s\": %.6f, ", key, value);
    else
        fprintf(out, "\"%s\": null, ", key);
}

emp_status emp_timing_save(const emp_timing *t, const char *path, int64_t evaluations,
                           emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_atomic_file file = {0};

    EMP_TRY(emp_atomic_file_open(&file, path, err));
    fputs("{", file.stream);
    write_seconds(file.stream, "elapsed_s", t->elapsed_s);
    write_seconds(file.stream, "cpu_s", t->cpu_s);
    fprintf(file.stream,
            "\"evaluations\": %" PRId64 ", \"evaluations_per_s\": %.1f, \"threads\": %d, "
            "\"curve\": [",
            evaluations, t->elapsed_s > 0 ? (double)evaluations / t->elapsed_s : 0.0,
            t->threads);
    for (int32_t i = 0; i < t->point_count; i++)
        fprintf(file.stream, "%s[%" PRId64 ", %.6f]", i == 0 ? "" : ", ",
                t->point[i].evaluations, t->point[i].cpu_s);
    fputs("]}\n", file.stream);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    return st;
}

/* NaN where there is no number. */
static double number_of(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static emp_status read_curve(emp_timing *t, const json_t *curve, const char *path,
                             emp_error *err)
{
    size_t count = json_array_size(curve);
    double before_s = 0;

    if (count > INT32_MAX) return EMP_ERROR(EMP_EFORMAT, "%s has too many points", path);
    EMP_CHECK(EMP_ALLOC(t->point, count));
    for (size_t i = 0; i < count; i++) {
        const json_t *pair = json_array_get(curve, i);
        const json_t *evaluations = json_array_get(pair, 0);
        double        cpu_s = number_of(json_array_get(pair, 1));
        int64_t       before = i > 0 ? t->point[i - 1].evaluations : -1;
        if (!json_is_integer(evaluations) || json_integer_value(evaluations) <= before ||
            !(cpu_s >= before_s))
            return EMP_ERROR(
                EMP_EFORMAT,
                "%s: point %zu of its curve is not a pair of evaluations and "
                "CPU seconds that rise",
                path, i + 1);
        before_s = cpu_s;
        t->point[t->point_count++] =
            (emp_timing_point){json_integer_value(evaluations), cpu_s};
    }
    return EMP_OK;
}

emp_status emp_timing_load(emp_timing *t, const char *path, emp_error *err)
{
    emp_status st = EMP_OK;
    json_t    *root = json_load_file(path, 0, NULL);

    *t = (emp_timing){0};
    t->elapsed_s = number_of(json_object_get(root, "elapsed_s"));
    t->cpu_s = number_of(json_object_get(root, "cpu_s"));
    t->threads = (int32_t)json_integer_value(json_object_get(root, "threads"));
    if (!(t->elapsed_s >= 0))
        EMP_FAIL(
            EMP_EFORMAT,
            "%s is no timing file: it has no elapsed_s; without it no time is known, "
            "and nothing else is lost",
            path);
    EMP_TRY(read_curve(t, json_object_get(root, "curve"), path, err));

cleanup:
    json_decref(root);
    return st;
}
