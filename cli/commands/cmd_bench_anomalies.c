// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bench anomalies SPEC: how often less work takes longer, and by how much. */
#include <stdio.h>

#include "base/mem.h"
#include "bench/anomalies/anomalies.h"
#include "cli/cli.h"
#include "cli/options/inputs.h"
#include "cli/options/study_options.h"
#include "cli/progress.h"

enum { SAMPLES = 100 };

static const char doc[] =
    "Shorten one kind of cost at a time and count how often a step takes longer.\v"
    "\"random\" puts every colocation class on a random device; \"expert\" is the "
    "expert's "
    "placement and neighbours of it, with a random 1 % of the classes moved. \"longer\" "
    "is "
    "the share of placements whose step takes longer, \"median\" and \"worst\" by how "
    "much "
    "it does, \"all\" the median change of all placements. There are 100 of a family "
    "unless --samples is given.\n\n"
    "  emplace bench anomalies nmt:layers=2 --machine k40x2\n"
    "  emplace bench anomalies rnnlm --machine k40x2 --samples 20 --json";

/* ---- measuring ---- */

typedef struct {
    const cli_study_options *args;
    const emp_problem       *problem;
    emp_anomaly_count        counts[EMP_ANOMALIES_FAMILIES][EMP_SHORTENINGS];
    cli_bar                  bar;
    int                      family; /* being measured */
} stand;

static void on_progress(void *context, double done_frac)
{
    stand *s = (stand *)context;

    cli_bar_draw_share(&s->bar, (s->family + done_frac) / EMP_ANOMALIES_FAMILIES,
                       emp_anomalies_family_name((emp_anomalies_family)s->family));
}

static emp_status measure_family(stand *s, emp_device_id *const *placements,
                                 emp_error *err)
{
    emp_anomalies_family family = (emp_anomalies_family)s->family;
    emp_anomalies_params params = {
        .seed = s->args->seed, .on_progress = on_progress, .context = s};

    for (int32_t i = 0; i < s->args->samples; i++) {
        EMP_CHECK(emp_anomalies_place(s->problem, family, s->args->seed, i, placements[i],
                                      err));
    }
    return emp_anomalies_measure(s->counts[family], s->problem, placements,
                                 s->args->samples, &params, err);
}

static emp_status measure(stand *s, emp_error *err)
{
    emp_status      st = EMP_OK;
    size_t          count = (size_t)s->args->samples;
    size_t          op_count = (size_t)s->problem->graph->op_count;
    emp_device_id  *devices = EMP_NEW_ARRAY(emp_device_id, count * op_count);
    emp_device_id **placements = EMP_NEW_ARRAY(emp_device_id *, count);

    if (!devices || !placements)
        EMP_FAIL(EMP_ENOMEM, "%zu placements of %zu ops", count, op_count);
    for (size_t i = 0; i < count; i++) placements[i] = devices + i * op_count;
    cli_bar_init(&s->bar, NULL);
    for (s->family = 0; s->family < EMP_ANOMALIES_FAMILIES; s->family++)
        EMP_TRY(measure_family(s, placements, err));
cleanup:
    cli_bar_clear(&s->bar);
    emp_free(devices);
    emp_free(placements);
    return st;
}

/* ---- printing ---- */

static void print_count(const emp_anomaly_count *c)
{
    if (!c->is_there) {
        printf("  %36s", "no such cost");
        return;
    }
    printf("  %5.1f %%", 100.0 * c->longer / c->cases);
    if (c->longer > 0)
        printf(" %+7.3f %% %+7.3f %%", 100 * c->median_growth, 100 * c->worst_growth);
    else
        printf(" %9s %9s", "-", "-");
    printf(" %+6.2f %%", 100 * c->median_change);
}

static void print_text(const stand *s)
{
    printf("%s on %s, runtime %s: %d placements of each family\n\n", s->args->spec,
           s->problem->machine->name, s->problem->runtime.name, s->args->samples);
    printf("%-28s  %-36s  %s\n", "", "random", "expert");
    printf("%-28s", "shortened");
    for (int f = 0; f < EMP_ANOMALIES_FAMILIES; f++)
        printf("  %7s %9s %9s %8s", "longer", "median", "worst", "all");
    printf("\n");
    for (int k = 0; k < EMP_SHORTENINGS; k++) {
        printf("%-28s", emp_shortening_text((emp_shortening)k));
        for (int f = 0; f < EMP_ANOMALIES_FAMILIES; f++) print_count(&s->counts[f][k]);
        printf("\n");
    }
}

static json_t *json_count(const emp_anomaly_count *c, emp_shortening kind)
{
    bool has_grown = c->longer > 0;

    return json_pack(
        "{s:s, s:i, s:i, s:i, s:o, s:o, s:o}", "shortened", emp_shortening_name(kind),
        "cases", c->cases, "longer", c->longer, "shorter", c->shorter, "median_growth",
        has_grown ? json_real(c->median_growth) : json_null(), "worst_growth",
        has_grown ? json_real(c->worst_growth) : json_null(), "median_change",
        c->is_there ? json_real(c->median_change) : json_null());
}

static json_t *json_family(const stand *s, emp_anomalies_family family)
{
    json_t *rows = json_array();

    for (int k = 0; k < EMP_SHORTENINGS; k++) {
        json_array_append_new(rows, json_count(&s->counts[family][k], (emp_shortening)k));
    }
    return json_pack("{s:s, s:o}", "placements", emp_anomalies_family_name(family),
                     "rows", rows);
}

static json_t *json_report(const stand *s)
{
    return json_pack(
        "{s:s, s:s, s:s, s:i, s:I, s:[o, o]}", "spec", s->args->spec, "machine",
        s->problem->machine->name, "runtime", s->problem->runtime.name, "samples",
        s->args->samples, "seed", (json_int_t)s->args->seed, "families",
        json_family(s, EMP_ANOMALIES_RANDOM), json_family(s, EMP_ANOMALIES_EXPERT));
}

emp_status cmd_bench_anomalies(int argc, char **argv, emp_error *err)
{
    const struct argp argp = {
        cli_study_argp.options, cli_study_argp.parser, "SPEC", doc, NULL, NULL, NULL};
    cli_study_options args = cli_study_options_default(SAMPLES, 1);
    emp_status        st = EMP_OK;
    cli_inputs        inputs = {0};
    stand             s = {.args = &args};

    cli_parse(&argp, argc, argv, &args);
    EMP_TRY(cli_inputs_load(&inputs, args.spec, args.machine, args.runtime, err));
    s.problem = inputs.problem;
    EMP_TRY(measure(&s, err));
    if (args.is_json)
        EMP_TRY(cli_print_json(json_report(&s), err));
    else
        print_text(&s);

cleanup:
    cli_inputs_clear(&inputs);
    return st;
}
