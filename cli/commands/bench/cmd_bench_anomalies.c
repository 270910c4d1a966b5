// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace bench anomalies SPEC: how often less work takes longer, and by how much. */
#include <stdio.h>

#include "base/mem.h"
#include "bench/studies/anomalies.h"
#include "cli/cli.h"
#include "cli/options/inputs.h"
#include "cli/options/jobs_options.h"
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
    "  emplace bench anomalies rnnlm --machine k40x2 --samples 20 --format json";

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

static const emp_sheet_column columns[] = {
    EMP_COLUMN("workload", NULL, EMP_SHEET_WORD, .is_csv_only = true),
    EMP_COLUMN("machine", NULL, EMP_SHEET_WORD, .is_csv_only = true),
    EMP_COLUMN("runtime", NULL, EMP_SHEET_WORD, .is_csv_only = true),
    EMP_COLUMN("placements", NULL, EMP_SHEET_WORD, .is_csv_only = true),
    EMP_COLUMN(NULL, "shortened", EMP_SHEET_WORD, .width = 28),
    EMP_COLUMN("shortened", NULL, EMP_SHEET_WORD),
    EMP_COLUMN("cases", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("longer", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN("shorter", NULL, EMP_SHEET_COUNT),
    EMP_COLUMN(NULL, "longer", EMP_SHEET_SHARE),
    EMP_COLUMN("median_growth", "median", EMP_SHEET_SHARE, .form = "%+.3f %%"),
    EMP_COLUMN("worst_growth", "worst", EMP_SHEET_SHARE, .form = "%+.3f %%"),
    EMP_COLUMN("median_change", "all", EMP_SHEET_SHARE, .form = "%+.2f %%")};

static void tabulate(emp_sheet *s, const stand *from, emp_anomalies_family family)
{
    const char        *name = emp_anomalies_family_name(family);
    const emp_problem *problem = from->problem;

    EMP_SHEET_INIT(s, columns);
    emp_sheet_set_title(s, "%d placements: %s", from->args->samples, name);
    emp_sheet_set_facts(s, json_pack("{s:s}", "placements", name));
    for (int k = 0; k < EMP_SHORTENINGS; k++) {
        const emp_anomaly_count *c = &from->counts[family][k];
        bool                     has_grown = c->longer > 0;
        EMP_SHEET_ADD(
            s, EMP_V(from->args->spec), EMP_V(problem->machine->name),
            EMP_V(problem->runtime.name), EMP_V(name),
            EMP_V(emp_shortening_text((emp_shortening)k)),
            EMP_V(emp_shortening_name((emp_shortening)k)), EMP_V(c->cases),
            EMP_V(c->longer), EMP_V(c->shorter),
            c->is_there ? EMP_V((double)c->longer / c->cases) : EMP_V("no such cost"),
            emp_value_if(c->is_there, EMP_V(has_grown ? c->median_growth : NAN)),
            emp_value_if(c->is_there, EMP_V(has_grown ? c->worst_growth : NAN)),
            emp_value_if(c->is_there, EMP_V(c->median_change)));
    }
}

static emp_status print(const stand *s, emp_error *err)
{
    emp_sheet random, expert;

    tabulate(&random, s, EMP_ANOMALIES_RANDOM);
    tabulate(&expert, s, EMP_ANOMALIES_EXPERT);
    random.next = &expert;
    random.list = "families";
    random.head =
        json_pack("{s:s, s:s, s:s, s:i, s:I}", "workload", s->args->spec, "machine",
                  s->problem->machine->name, "runtime", s->problem->runtime.name,
                  "samples", s->args->samples, "seed", (json_int_t)s->args->seed);
    emp_sheet_note(&expert, "%s on %s, runtime %s.", s->args->spec,
                   s->problem->machine->name, s->problem->runtime.name);
    emp_status st = cli_print_sheet(&random, s->args->format, err);
    emp_sheet_clear(&expert);
    return st;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != ARGP_KEY_INIT) return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    return 0;
}

static const struct argp_child children[] = {{&cli_study_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_bench_anomalies_argp = {NULL,     parse, "SPEC", doc,
                                                           children, NULL,  NULL};

emp_status cmd_bench_anomalies(int argc, char **argv, emp_error *err)
{
    cli_study_options args = cli_study_options_default(SAMPLES, 1);
    emp_status        st = EMP_OK;
    cli_inputs        inputs = {0};
    stand             s = {.args = &args};

    cli_parse(&cmd_bench_anomalies_argp, argc, argv, &args);
    inputs.needs_events = true;
    EMP_TRY(cli_inputs_load(&inputs, args.spec, args.machine, args.runtime, err));
    s.problem = inputs.problem;
    EMP_TRY(measure(&s, err));
    EMP_TRY(print(&s, err));

cleanup:
    cli_inputs_clear(&inputs);
    return st;
}
