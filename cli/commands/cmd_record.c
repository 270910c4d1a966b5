// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace record FILE: what a run found, and how it got there. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/cli.h"
#include "run/store/store.h"

enum { SHOWN_POINTS = 20 };

struct args {
    const char *path;
    bool        is_json, is_csv;
};

enum { KEY_CSV = 256 };

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "Print a JSON object with the whole learning curve", 0},
    {"csv", KEY_CSV, NULL, 0, "Print the whole learning curve as CSV", 0},
    {0},
};

static const char doc[] =
    "Show a run record, or the checkpoint of a run under way, and its learning curve.\v"
    "  emplace place rnnlm --machine k40x2 --method hdp --record run.h5\n"
    "  emplace record run.h5\n"
    "  emplace record run.h5 --csv > curve.csv";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case 'j': args->is_json = true; return 0;
    case KEY_CSV: args->is_csv = true; return 0;
    case ARGP_KEY_ARG:
        if (args->path != NULL) cli_usage_error("one FILE only, not also \"%s\"", arg);
        args->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (args->path == NULL) cli_usage_error("record needs a FILE");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static json_t *json_curve(const emp_record *r)
{
    json_t *curve = json_array();

    for (int32_t i = 0; i < r->point_count; i++) {
        const emp_curve_point *p = &r->curve[i];
        json_t                *point =
            json_pack("{s:I, s:I, s:o, s:o}", "evaluations", (json_int_t)p->evaluations,
                      "feasible_count", (json_int_t)p->feasible_count, "best_s",
                      cli_json_number(p->best_s), "mean_s", cli_json_number(p->mean_s));
        for (int32_t m = 0; m < r->metric_count; m++) {
            json_object_set_new(point, r->metric_name[m],
                                cli_json_number(r->metric[i * r->metric_count + m]));
        }
        json_array_append_new(curve, point);
    }
    return curve;
}

static emp_status print_json(const emp_record *r, emp_error *err)
{
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:f}", "method", r->method, "preset",
        r->preset, "options", r->options, "workload", r->workload, "machine", r->machine,
        "runtime", r->runtime, "seed", (json_int_t)r->seed, "budget_evaluations",
        (json_int_t)r->budget_evaluations, "budget_s", r->budget_s);
    json_t *result = json_pack(
        "{s:i, s:b, s:s, s:I, s:I, s:f, s:b, s:o, s:s, s:s, s:b, s:o}", "ranks",
        r->ranks > 1 ? r->ranks : 1, "async", r->is_async, "stopped_by", r->stopped_by,
        "evaluations", (json_int_t)r->evaluations, "feasible_count",
        (json_int_t)r->feasible_count, "step_time_s", r->best_step_time_s, "feasible",
        r->is_feasible, "median_s", cli_json_number(r->median_s), "version", r->version,
        "commit", r->commit, "dirty", r->is_dirty, "curve", json_curve(r));

    if (object != NULL && json_object_update_missing(object, result) != 0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(result);
    return cli_print_json(object, err);
}

/* An empty field is a number that there is not. */
static void print_csv_number(double value)
{
    if (!isfinite(value))
        printf(",");
    else
        printf(",%.9g", value);
}

static void print_csv(const emp_record *r)
{
    printf("workload,machine,seed,evaluations,feasible_count,best_s,mean_s");
    for (int32_t m = 0; m < r->metric_count; m++) printf(",%s", r->metric_name[m]);
    for (int32_t i = 0; i < r->point_count; i++) {
        const emp_curve_point *p = &r->curve[i];
        printf("\n\"%s\",%s,%" PRIu64 ",%" PRId64 ",%" PRId64, r->workload, r->machine,
               r->seed, p->evaluations, p->feasible_count);
        print_csv_number(p->best_s);
        print_csv_number(p->mean_s);
        for (int32_t m = 0; m < r->metric_count; m++)
            print_csv_number(r->metric[i * r->metric_count + m]);
    }
    printf("\n");
}

static void print_text(const emp_record *r)
{
    int32_t step = (r->point_count + SHOWN_POINTS - 1) / SHOWN_POINTS;
    bool    is_under_way = r->stopped_by[0] == '\0';

    printf("%s on %s, runtime %s, by %s%s%s, seed %" PRIu64
           ", emplace %s (commit %.12s%s)\n",
           r->workload, r->machine, r->runtime, r->method,
           r->preset[0] == '\0' ? "" : " ", r->preset, r->seed, r->version, r->commit,
           r->is_dirty ? ", modified" : "");
    if (r->ranks > 1) {
        printf("shared by %d ranks%s\n", r->ranks,
               r->is_async ? ", asynchronous: another run of this kind differs" : "");
    }
    if (r->evaluations == 0) {
        printf("nothing evaluated yet\n");
        return;
    }
    printf("%" PRId64 " evaluations, %" PRId64 " fit in memory; best %.6g s%s; %s%s\n\n",
           r->evaluations, r->feasible_count, r->best_step_time_s,
           r->is_feasible ? "" : ", which does not fit",
           is_under_way ? "under way" : "ended by ", r->stopped_by);
    printf("evaluations   best s   mean s  fitting");
    for (int32_t m = 0; m < r->metric_count; m++) printf(" %12.12s", r->metric_name[m]);
    for (int32_t i = 0; i < r->point_count; i++) {
        const emp_curve_point *p = &r->curve[i];
        if ((i + 1) % step != 0 && i + 1 != r->point_count) continue;
        printf("\n%11" PRId64 " %8.4g %8.4g %8" PRId64, p->evaluations, p->best_s,
               p->mean_s, p->feasible_count);
        for (int32_t m = 0; m < r->metric_count; m++) {
            printf(" %12.4g", r->metric[i * r->metric_count + m]);
        }
    }
    printf("\n");
}

emp_status cmd_record(int argc, char **argv, emp_error *err)
{
    const struct argp argp = {options, parse, "FILE", doc, NULL, NULL, NULL};
    emp_status        st = EMP_OK;
    struct args       args = {0};
    emp_record        record = {0};

    cli_parse(&argp, argc, argv, &args);
    EMP_TRY(emp_record_load(&record, args.path, err));
    if (args.is_json)
        EMP_TRY(print_json(&record, err));
    else if (args.is_csv)
        print_csv(&record);
    else
        print_text(&record);

cleanup:
    emp_record_clear(&record);
    return st;
}
