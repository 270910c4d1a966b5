// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options/jobs_options.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "base/io/output.h"
#include "base/text/units.h"
#include "bench/trials/trials.h"
#include "cli/cli.h"
#include "cli/stop.h"
#include "run/ranks/deal.h"

enum { KEY_SEEDS = 512, KEY_SHARD, MOST_SHARDS = 100000 };

static const struct argp_option options[] = {
    {"rows", CLI_TEXT(emp_trials_params, rows), "A,B,...", 0,
     "Only these tasks: inception_v3 (in Table 1 both its batches, or "
     "inception_v3:batch=1 or :batch=8), resnet, rnnlm, nmt2, nmt4, nmt8; a study may "
     "have others",
     0},
    {"seeds", KEY_SEEDS, "N", 0,
     "Runs of methods that draw at random: one for each seed from 1 to N", 0},
    {"budget", 'b', "N", 0, "Evaluations of each run that learns or searches", 0},
    {"runtime", 'r', "NAME|FILE", 0,
     "Runtime profile (default tf-r1.3; for bench placers the one that fits each "
     "task): " EMP_RUNTIME_NAMES,
     0},
    {"runs", CLI_TEXT(emp_trials_params, jobs.folder), "DIR", 0,
     "Folder of the run records (default runs)", 0},
    {"fresh", CLI_FLAG(emp_trials_params, jobs.is_fresh), NULL, 0,
     "Make all runs anew, also those with a record", 0},
    {"threads", 't', "N", 0, "Threads; results do not depend on it", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    emp_trials_params *o = (emp_trials_params *)state->input;

    switch (key) {
    case KEY_SEEDS:
        o->seed_count = (int32_t)cli_integer("seeds", arg, 1, EMP_TRIALS_SEEDS);
        return 0;
    case 'b': o->budget = cli_integer("budget", arg, 1, INT64_MAX); return 0;
    case 'r': o->runtime = arg; return 0;
    case 't': o->jobs.threads = (int32_t)cli_integer("threads", arg, 1, 1024); return 0;
    default: return cli_store(key, arg, o);
    }
}

static const struct argp jobs_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

/* ---- shards, and all of it ---- */

static const struct argp_option shard_options[] = {
    {"shard", KEY_SHARD, "I/N", 0,
     "Make part I of N of the runs, for several computers or jobs", 0},
    {0},
};

static error_t parse_shard(int key, char *arg, struct argp_state *state)
{
    emp_jobs_params *jobs = (emp_jobs_params *)state->input;
    int              shard = 0, count = 0, length = 0;

    if (key != KEY_SHARD) return ARGP_ERR_UNKNOWN;
    if (sscanf(arg, "%6d/%6d%n", &shard, &count, &length) != 2 || arg[length] != '\0' ||
        count < 1 || count > MOST_SHARDS || shard < 1 || shard > count)
        cli_usage_error(
            "--shard is I/N with I from 1 to N, at most %d, as 2/8; not \"%s\"",
            MOST_SHARDS, arg);
    jobs->shard = shard;
    jobs->shard_count = count;
    cli_stop_for_scheduler();
    return 0;
}

static const struct argp shard_argp = {shard_options, parse_shard, NULL, NULL,
                                       NULL,          NULL,        NULL};

static error_t parse_trials(int key, char *arg, struct argp_state *state)
{
    cli_trials_options *o = (cli_trials_options *)state->input;

    (void)arg;
    if (key != ARGP_KEY_INIT) return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = &o->run;
    state->child_inputs[1] = &o->format;
    state->child_inputs[2] = &o->run.jobs;
    return 0;
}

static const struct argp_child children[] = {{&jobs_argp, 0, NULL, 0},
                                             {&cli_format_argp, 0, NULL, 0},
                                             {&shard_argp, 0, NULL, 0},
                                             {0}};
const struct argp              cli_trials_argp = {NULL,     parse_trials, NULL, NULL,
                                                  children, NULL,         NULL};

cli_trials_options cli_trials_options_default(void)
{
    return (cli_trials_options){
        .run = {.runtime = "tf-r1.3",
                .jobs = {.folder = "runs", .threads = cli_default_threads()}}};
}

emp_status cli_task_list_add(emp_task_list *list, const char *words, emp_error *err)
{
    EMP_CHECK(emp_task_list_add(list, words, err));
    if (list->absent_count > 0)
        cli_warn(
            "%d published instance%s left out, as the files are not there; the first "
            "is %s, and emplace instances %s says where to get it",
            list->absent_count, list->absent_count == 1 ? " is" : "s are", list->absent,
            list->absent);
    return EMP_OK;
}

emp_status cli_words_check_inputs(const char *words, const char *const *outputs,
                                  int32_t count, emp_error *err)
{
    char word[PATH_MAX];

    while (cli_next_word(&words, word, sizeof word))
        EMP_CHECK(
            emp_output_check_inputs((const char *const[]){word}, 1, outputs, count, err));
    return EMP_OK;
}

emp_status cli_task_list_check_inputs(const emp_task_list *list, const char *words,
                                      const char *const *outputs, int32_t count,
                                      emp_error *err)
{
    EMP_CHECK(cli_words_check_inputs(words, outputs, count, err));
    for (int32_t i = 0; i < list->count; i++) {
        const emp_task   *task = &list->task[i].task;
        const char *const inputs[] = {task->spec, task->machine};
        EMP_CHECK(emp_output_check_inputs(inputs, 2, outputs, count, err));
    }
    return EMP_OK;
}

void cli_imitation_check(const char *imitate, int64_t budget, const char *how,
                         int64_t rounds)
{
    const char *unused = budget > 0    ? "budget"
                         : how != NULL ? "options"
                         : rounds > 0  ? "rounds"
                                       : NULL;

    if (imitate == NULL && unused != NULL)
        cli_usage_error("--imitate-%s is for --imitate, which is missing", unused);
}

static void on_progress(void *context, const emp_jobs_progress *progress)
{
    cli_run_report *report = (cli_run_report *)context;

    cli_board_draw(&report->board, progress, report->text);
}

/* A line a run without a terminal, as in logs; a terminal has the cells. */
static void on_run(void *context, const emp_job_event *e)
{
    const cli_run_report *report = (const cli_run_report *)context;
    char                  text[EMP_UNITS_TEXT_BYTES];

    if (report->board.is_terminal) return;
    fprintf(stderr, "[%d/%d] %s, %s, seed %" PRIu64 ": ", e->done, e->total, e->row,
            e->method, e->seed);
    if (isfinite(e->step_time_s))
        fputs(emp_units_format_seconds(e->step_time_s, text, sizeof text), stderr);
    else
        fputs("nothing that fits in memory", stderr);
    if (e->is_read)
        fprintf(stderr, " (on record)\n");
    else
        fprintf(stderr, " (run took %s)\n",
                emp_units_format_seconds(e->elapsed_s, text, sizeof text));
}

#define INTERRUPTED "interrupted; what is done is in %s, the same command %sgoes on"

static const char *how_to_go_on(const emp_jobs_params *jobs)
{
    return jobs->is_fresh ? "without --fresh " : "";
}

static emp_status join_ranks(emp_jobs_params *jobs, emp_error *err)
{
    EMP_CHECK(emp_ranks_join(&jobs->ranks, jobs->stop, err));
    if (jobs->ranks == NULL) return EMP_OK;
    if (!jobs->ranks->takes_threads && jobs->threads > 1)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "%s takes calls of only one thread; use --threads 1, or build "
                         "with Open MPI or MPICH",
                         emp_ranks_library());
    cli_stop_for_scheduler();
    if (jobs->ranks->rank == 0) return EMP_OK;
    jobs->on_run = NULL;
    jobs->on_progress = NULL;
    return EMP_OK;
}

static emp_status begin(cli_run_report *report, emp_jobs_params *jobs, emp_error *err)
{
    jobs->on_run = on_run;
    jobs->on_progress = on_progress;
    jobs->context = report;
    jobs->stop = cli_stop_flag();
    jobs->keeping = cli_stop_kept();
    cli_stop_watch("warning: " INTERRUPTED, jobs->folder, how_to_go_on(jobs));
    cli_board_init(&report->board);
    cli_bar_init(&report->bar, NULL);
    return join_ranks(jobs, err);
}

static bool has_failed(emp_status made)
{
    return made != EMP_OK && made != EMP_EINTERRUPTED;
}

/* \return \a made, or EMP_EELSEWHERE if another rank has failed. */
static emp_status end(cli_run_report *report, const emp_jobs_params *jobs,
                      emp_status made, emp_error *err)
{
    cli_stop_unwatch();
    cli_board_clear(&report->board);
    cli_bar_clear(&report->bar);
    if (jobs->ranks == NULL) return made;
    const emp_status st =
        emp_ranks_go_on(jobs->ranks, jobs->stop, has_failed(made) ? made : EMP_OK, err);
    if (has_failed(st)) return st;
    if (st == EMP_EINTERRUPTED && made == EMP_EINTERRUPTED) cli_stop_with_others();
    return made;
}

static emp_status warn(emp_status made, const emp_jobs_params *jobs)
{
    if (made == EMP_EINTERRUPTED) cli_warn(INTERRUPTED, jobs->folder, how_to_go_on(jobs));
    return made;
}

static const struct argp_option study_options[] = {
    {"machine", 'm', "NAME|FILE", 0, "Machine to place on (emplace machines lists them)",
     0},
    {"runtime", 'r', "NAME|FILE", 0,
     "Runtime profile whose rules are events (default: that which fits the graph)", 0},
    {"samples", 'n', "N", 0, "Placements of each kind", 0},
    {"seed", 'k', "N", 0, "Seed of all that is drawn (default 1)", 0},
    {0},
};

static error_t parse_study(int key, char *arg, struct argp_state *state)
{
    cli_study_options *o = (cli_study_options *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->format; return 0;
    case 'm': o->machine = arg; return 0;
    case 'r': o->runtime = arg; return 0;
    case 'n':
        o->samples = (int32_t)cli_integer("samples", arg, o->least_samples, 100000);
        return 0;
    case 'k': o->seed = (uint64_t)cli_integer("seed", arg, 0, INT64_MAX); return 0;
    case ARGP_KEY_ARG:
        if (o->spec != NULL) cli_usage_error("one SPEC only, not also \"%s\"", arg);
        o->spec = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->spec == NULL) cli_usage_error("a SPEC is missing; --help has examples");
        if (o->machine == NULL)
            cli_usage_error("--machine is missing; emplace machines lists what there is");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child study_children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp              cli_study_argp = {study_options,  parse_study, NULL, NULL,
                                                 study_children, NULL,        NULL};

cli_study_options cli_study_options_default(int32_t samples, int32_t least_samples)
{
    return (cli_study_options){
        .samples = samples, .least_samples = least_samples, .seed = 1};
}

/* The end of a shard: its runs are all in the folder, or it was stopped. */
static emp_status end_shard(emp_status made, const emp_jobs_params *jobs)
{
    if (cli_stop_is_asked()) return warn(made, jobs);
    printf("shard %d of %d is made; its runs are in %s\n", jobs->shard, jobs->shard_count,
           jobs->folder);
    return EMP_OK;
}

emp_status cli_trials_run(const cli_trials_study *study, emp_error *err)
{
    emp_jobs_params *jobs = study->jobs;
    cli_run_report   report = {0};

    snprintf(report.text, sizeof report.text, "%s", study->title);
    EMP_CHECK(begin(&report, jobs, err));
    const emp_status made = end(&report, jobs, study->make(study->study, err), err);
    if (has_failed(made)) return made;
    if (jobs->ranks != NULL && jobs->ranks->rank > 0) return EMP_OK;
    if (jobs->shard_count > 0 && made == EMP_EINTERRUPTED) return end_shard(made, jobs);
    EMP_CHECK(study->print(study->study, made == EMP_OK, err));
    return warn(made, jobs);
}
