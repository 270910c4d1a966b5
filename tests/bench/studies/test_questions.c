// SPDX-License-Identifier: GPL-3.0-or-later
/* Do all studies name what there is: methods, options, tasks, and one study for each question? */
#include "bench/studies/study.h"
#include "bench/tables/paper.h"
#include "graphs/load.h"
#include "run/methods.h"
#include "sim/machine/machine.h"
#include "tests/test.h"

TestSuite(questions);

static int32_t count_studies(void)
{
    int32_t count = 0;

    while (emp_study_at(count) != NULL) count++;
    return count;
}

Test(questions, every_question_has_one_that_is_found_by_its_name)
{
    cr_assert_eq(count_studies(), EMP_STUDY_QUESTIONS);
    for (int32_t i = 0; i < EMP_STUDY_QUESTIONS; i++) {
        cr_expect_eq(emp_study_number(emp_study_at(i)), i + 1);
        cr_expect_eq(emp_study_find(emp_study_at(i)->name), emp_study_at(i));
    }
    cr_expect_null(emp_study_at(-1));
    cr_expect_null(emp_study_find("nothing"));
    cr_expect_null(emp_study_find(""));
}

Test(questions, each_says_what_answers_it_or_why_nothing_does)
{
    for (int32_t i = 0; i < count_studies(); i++) {
        const emp_study *s = emp_study_at(i);
        cr_expect_eq(s->question[strlen(s->question) - 1], '?', "%s", s->name);
        cr_expect_gt(strlen(s->paper), 0);
        cr_expect(s->arms != NULL || s->measure != NULL || s->command != NULL ||
                      s->missing != NULL,
                  "%s", s->name);
        cr_expect(s->arms == NULL || s->measure == NULL, "%s", s->name);
        if (s->measure != NULL) cr_expect_str_eq(s->measure->name, s->name);
        if (s->arms != NULL) cr_expect_str_eq(s->arms->name, s->name);
        if (s->command != NULL)
            cr_expect(strstr(s->command, "emplace ") != NULL, "%s", s->name);
        if (s->missing != NULL)
            cr_expect_eq(s->missing[strlen(s->missing) - 1], '.', "%s", s->name);
    }
}

static void expect_arm(const emp_ablation *d, const emp_arm *arm)
{
    const emp_method       *type = NULL;
    _Alignas(double) char   options[4096];
    const emp_method_params params = {.preset = emp_ablation_preset(d, arm),
                                      .options = arm->options};

    ASSERT_OK(emp_method_find(&type, emp_ablation_method(d, arm), &err));
    cr_expect_eq(arm->decides & ~EMP_DECIDES_DEVICES & ~type->decides, 0,
                 "%s cannot decide what %s wants", type->name, arm->name);
    if (type->options != NULL)
        ASSERT_OK(emp_method_options_parse(options, type, &params, &err));
    else
        cr_expect(arm->options == NULL && params.preset == NULL, "%s", arm->name);
}

static void expect_arms(const emp_ablation *d)
{
    cr_expect_str_eq(d->arm[0].study, "default", "%s", d->name);
    cr_expect(d->first_seed_count > 0 && d->first_seed_count <= d->seed_count);
    cr_expect(d->first_budget > 0 && d->first_budget <= d->budget);
    for (const char *key = d->rows; *key != '\0';) {
        const size_t length = strcspn(key, ",");
        int32_t      rows = 0;
        for (int32_t r = 0; r < d->row_count; r++)
            rows += strlen(d->row[r].key) == length &&
                    memcmp(d->row[r].key, key, length) == 0;
        cr_expect_eq(rows, 1, "%s has no row %s", d->name, key);
        key += length + (key[length] == ',');
    }
    for (int32_t i = 0; i < d->arm_count; i++) {
        expect_arm(d, &d->arm[i]);
        for (int32_t j = 0; j < i; j++) {
            cr_expect_str_neq(d->arm[i].name, d->arm[j].name);
            cr_expect(i == j + 1 || strcmp(d->arm[i].study, d->arm[i - 1].study) == 0 ||
                          strcmp(d->arm[i].study, d->arm[j].study) != 0,
                      "%s: arms of a kind stand together", d->arm[i].name);
        }
    }
}

Test(questions, arms_name_what_there_is)
{
    for (int32_t i = 0; i < count_studies(); i++)
        if (emp_study_at(i)->arms != NULL) expect_arms(emp_study_at(i)->arms);
    const emp_ablation *const ablations[] = {&emp_ablation_grouping, &emp_ablation_hdp,
                                             &emp_ablation_refine};
    for (int i = 0; i < 3; i++) expect_arms(ablations[i]);
}

static bool has(const char *list, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = list; at != NULL && *at != '\0';) {
        const size_t own = strcspn(at, ",");
        if (own == length && strncmp(at, word, length) == 0) return true;
        at += own + (at[own] == ',');
    }
    return false;
}

static void expect_task(const emp_task *task)
{
    emp_machine *machine = NULL;
    emp_graph   *graph = NULL;

    ASSERT_OK(emp_machine_load(&machine, task->machine, &err));
    cr_expect_eq(emp_machine_count(machine, EMP_DEVICE_GPU), task->gpu_count, "%s",
                 task->title);
    emp_machine_destroy(machine);
    if (emp_paper_find(task->key) >= 0)
        return; /* other tests load those, which are large */
    ASSERT_OK(emp_source_load(&graph, NULL, NULL, task->spec, &err));
    emp_graph_destroy(graph);
}

/* Tasks that several studies share are loaded once, for the first. */
Test(questions, tasks_can_be_loaded)
{
    const emp_task *seen[EMP_STUDY_QUESTIONS] = {0};

    for (int32_t i = 0; i < count_studies(); i++) {
        const emp_ablation *d = emp_study_at(i)->arms;
        int32_t             made = 0;
        bool                is_new = d != NULL;
        for (int32_t j = 0; j < i; j++) is_new = is_new && seen[j] != d->row;
        for (int32_t r = 0; d != NULL && r < d->row_count; r++) {
            made += has(d->rows, d->row[r].key);
            if (is_new) expect_task(&d->row[r]);
        }
        if (d != NULL) seen[i] = d->row;
        cr_expect(d == NULL || made > 0, "%s has no task", emp_study_at(i)->name);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
