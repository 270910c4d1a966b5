// SPDX-License-Identifier: GPL-3.0-or-later
/* The one table of all questions. */
#include "bench/studies/study.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* In the order of docs/methods.md. */
static const emp_study studies[] = {
    {.name = "colocation",
     .question = "What is each rule worth by which ops are put together?",
     .paper = "ColocRL",
     .arms = &emp_arms_colocation,
     .command = "emplace ablate grouping --arms grouping"},
    {.name = "forgetting",
     .question = "Does a recurrent network forget the groups that it read first?",
     .paper = "ColocRL",
     .arms = &emp_arms_forgetting,
     .command = "emplace ablate grouping --arms order"},
    {.name = "memory",
     .question = "What is it worth that a policy sees costs and memory of ops?",
     .paper = "ColocRL",
     .arms = &emp_arms_memory,
     .missing = "HDP itself has no features of costs or memory to switch on."},
    {.name = "topology",
     .question = "How should a network see the edges of the graph?",
     .paper = "ColocRL",
     .arms = &emp_arms_topology,
     .missing =
         "Placeto's and HSDAG's encoders have other actions, so they are compared as "
         "whole methods alone."},
    {.name = "load",
     .question = "Is the time of ops a good measure of how devices are loaded?",
     .paper = "ColocRL",
     .measure = &emp_measure_load},
    {.name = "traffic",
     .question = "Should traffic between devices be part of the objective?",
     .paper = "ColocRL",
     .command = "emplace ablate grouping --arms objective",
     .missing = "No method has a reward of time and traffic together."},
    {.name = "transfer",
     .question = "Why do learned placements not carry over to other graphs?",
     .paper = "ColocRL, GO",
     .command = "emplace bench transfer --split size --methods go --imitate refine"},
    {.name = "heuristics",
     .question =
         "Is learning worth more than heuristics, and does it help to combine them?",
     .paper = "ColocRL, GO",
     .command = "emplace bench placers --tasks fresh"},
    {.name = "modulation",
     .question = "What does modulation add to an embedding of the graph?",
     .paper = "GO",
     .arms = &emp_arms_modulation,
     .command = "emplace bench transfer --split family --methods go --imitate refine "
                "--options modulate=none"},
    {.name = "joint",
     .question = "Is it better to decide devices, order and fusion together?",
     .paper = "GO",
     .arms = &emp_arms_joint,
     .command = "emplace bench order"},
    {.name = "explaining",
     .question = "What makes a learned policy choose as it does?",
     .paper = "ColocRL, GO",
     .measure = &emp_measure_explaining,
     .command = "emplace simulate SPEC --machine NAME --placement FILE --why",
     .missing = "GO is the only learner that is looked at."},
    {.name = "energy",
     .question = "After how many training steps has a search won back its own time?",
     .paper = "ColocRL, GO",
     .arms = &emp_arms_energy,
     .missing = "Seconds of a CPU stand for energy; watts are not modelled."},
    {.name = "window",
     .question = "How many neighbours must a grouper see of each op?",
     .paper = "HDP",
     .command = "emplace ablate grouping --arms window",
     .missing = "Neighbours are listed by number; a list by bytes is not tried."},
    {.name = "objective",
     .question = "How good is a step if only what partitioners minimise is small?",
     .paper = "HDP",
     .measure = &emp_measure_objective},
    {.name = "noise",
     .question = "What do the form of the reward and noisy measurements change?",
     .paper = "HDP",
     .measure = &emp_measure_noise,
     .command = "emplace ablate grouping --arms reward"},
    {.name = "devices",
     .question = "What is it worth to tell a policy what devices can do?",
     .paper = "HDP",
     .command = "emplace bench transfer --split devices --methods go --imitate refine "
                "--options machine=0",
     .missing = "With machine=1, the default, GO sees four numbers of the machine; times "
                "of ops, levels and shares of memory are seen in both."},
    {.name = "symmetry",
     .question = "What is it worth to treat like layers alike?",
     .paper = "HDP",
     .command = "emplace ablate grouping --arms grouping=names",
     .missing =
         "No network shares its decisions among layers, and none learns from scores "
         "with GPUs that have changed places."},
    {.name = "machines",
     .question = "Do good placements look alike on other machines?",
     .paper = "HDP",
     .arms = &emp_arms_machines,
     .missing = "There is no machine file of a TPU."},
    {.name = "groups",
     .question = "What do learned groups give over fixed ones?",
     .paper = "HDP",
     .command = "emplace ablate grouping --rows rnnlm,inception_v3 --arms grouping"},
    {.name = "families",
     .question = "Do methods keep their order on models of other families?",
     .paper = "HDP",
     .arms = &emp_arms_families},
    {.name = "trivial",
     .question = "Is one GPU already the best placement of some models?",
     .paper = "HDP",
     .command = "emplace table 1"},
    {.name = "earlier",
     .question = "Is HDP better than ColocRL with as many placements?",
     .paper = "HDP",
     .arms = &emp_arms_earlier},
    {.name = "seconds",
     .question = "How long does a search take that measures each placement?",
     .paper = "HDP",
     .arms = &emp_arms_seconds},
    {.name = "constants",
     .question = "How much depends on HDP's constants that no reason is given for?",
     .paper = "HDP",
     .arms = &emp_arms_constants,
     .command = "emplace ablate hdp"},
    {.name = "workers",
     .question = "What do several workers change?",
     .paper = "HDP",
     .command = "mpirun -n 4 emplace train SPEC --machine NAME --record FILE",
     .missing = "Runs of several programs are no runs of a study."},
    {.name = "successors",
     .question = "How do the learners after HDP compare with equal budgets?",
     .paper = "HDP",
     .arms = &emp_arms_successors,
     .command = "emplace bench placers --methods placeto,hsdag,giph,go,anneal"},
};
enum { STUDIES = sizeof studies / sizeof *studies };

const emp_study *emp_study_at(int32_t index)
{
    return index >= 0 && index < STUDIES ? &studies[index] : NULL;
}

int32_t emp_study_number(const emp_study *study)
{
    return (int32_t)(study - studies) + 1;
}

const emp_study *emp_study_find(const char *name)
{
    for (int32_t i = 0; i < STUDIES; i++)
        if (strcmp(studies[i].name, name) == 0) return &studies[i];
    return NULL;
}

const char *emp_study_title(const emp_study *study, char text[EMP_ERROR_MSG_BYTES])
{
    snprintf(text, EMP_ERROR_MSG_BYTES, "Question %d, left open by %s: %s",
             emp_study_number(study), study->paper, study->question);
    return text;
}

/* ---- measures ---- */

enum { SEEDS = 5, FIRST_SEEDS = 1 };

static emp_measured describe(const emp_measure *measure, const emp_measure_params *params)
{
    const bool is_full = params->is_full;

    return (emp_measured){.budget = params->budget > 0 ? params->budget
                                    : is_full          ? measure->budget
                                                       : measure->first_budget,
                          .seed_count = params->seed_count > 0 ? params->seed_count
                                        : is_full              ? SEEDS
                                                               : FIRST_SEEDS,
                          .on_progress = params->on_progress,
                          .context = params->context};
}

static void add_notes(emp_sheet *sheet, const emp_measure *measure,
                      const emp_measured *made, const char *title)
{
    if (title != NULL) emp_sheet_note(sheet, "%s", title);
    for (const char *const *note = measure->note; *note != NULL; note++)
        emp_sheet_note(sheet, "%s", *note);
    if (made->seed_count < SEEDS || made->budget < measure->budget)
        emp_sheet_note(sheet,
                       "This is a first study: %" PRId64 " of %" PRId64
                       " placements, %d of %d seeds. With --full it has all.",
                       made->budget, measure->budget, made->seed_count, SEEDS);
}

emp_status emp_measure_make(emp_sheet *sheet, const emp_measure *measure,
                            const emp_measure_params *params, const char *title,
                            emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_measured     at = describe(measure, params);
    emp_trials_tasks tasks = {0};

    emp_sheet_init(sheet, measure->column, measure->column_count);
    EMP_TRY(emp_trials_choose(&tasks, measure->row, measure->row_count, params->rows,
                              NULL, "the study has no row", err));
    if (params->seed_count < 0 || params->seed_count > EMP_MEASURE_SEEDS)
        EMP_FAIL(EMP_EINVAL, "%d seeds; the study takes 1 to %d", params->seed_count,
                 EMP_MEASURE_SEEDS);
    EMP_TRY(emp_trials_load(&tasks, params->runtime, params->threads, err));
    at.runtime = tasks.runtime;
    at.frac = 1.0 / tasks.count;
    for (int32_t r = 0; r < tasks.count; r++) {
        at.task = &tasks.task[r];
        at.problem = tasks.loaded[r].problem;
        at.first_frac = r * at.frac;
        EMP_TRY(measure->measure(sheet, &at, err));
    }
    add_notes(sheet, measure, &at, title);

cleanup:
    emp_trials_tasks_clear(&tasks);
    return st;
}

emp_value emp_measured_median(double *values, int32_t count)
{
    return EMP_V(emp_summary_of(values, (size_t)count).median);
}

emp_value emp_measured_range(double *values, int32_t count)
{
    int32_t known = 0;

    for (int32_t i = 0; i < count; i++)
        if (!isnan(values[i])) values[known++] = values[i];
    const emp_summary s = emp_summary_of(values, (size_t)known);
    return emp_value_range(s.median, s.min, s.max);
}

void emp_measured_report(const emp_measured *task, double done_frac)
{
    if (task->on_progress != NULL)
        task->on_progress(task->context, task->first_frac + task->frac * done_frac);
}
