// SPDX-License-Identifier: GPL-3.0-or-later
/* Is PlaceBench what its page says? Does it notice a change of what it is made of? */
#define _POSIX_C_SOURCE 200809L
#include "bench/compare/tasks.h"
#include "bench/placebench/placebench.h"
#include "run/methods.h"
#include "sim/bounds/bounds.h"
#include "tests/test.h"

TestSuite(placebench, .init = scratch_create, .fini = scratch_tear_down);

static bool is_held_out(const char *family)
{
    return strcmp(family, "wavenet") == 0 || strcmp(family, "cells") == 0;
}

Test(placebench, the_set_is_as_its_page_says)
{
    SCOPED(emp_placebench, emp_placebench_clear) bench = {0};
    int of_split[EMP_PLACEBENCH_SPLITS] = {0}, generated = 0;

    ASSERT_OK(emp_placebench_load(&bench, &err));
    for (int32_t i = 0; i < bench.count; i++) {
        const emp_placebench_instance *one = &bench.instance[i];
        const char                    *name = one->task.key;
        const emp_method              *method;
        of_split[one->split]++;
        generated += one->source == NULL;
        cr_expect(!is_held_out(one->family) || one->split == EMP_PLACEBENCH_TEST, "%s",
                  name);
        cr_expect(one->is_known, "%s: scripts/placebench known", name);
        cr_expect(one->best_s >= one->bound_s && one->op_count > 0, "%s", name);
        cr_expect(one->frozen.graph_hash != 0 && one->frozen.machine_hash != 0 &&
                      one->frozen.runtime_hash != 0,
                  "%s", name);
        cr_expect_eq(emp_method_find(&method, one->method, NULL), EMP_OK, "%s", name);
        cr_expect(one->source == NULL || strncmp(one->source, "https://", 8) == 0, "%s",
                  name);
    }
    cr_expect_geq(generated, 40);
    for (int s = 0; s < EMP_PLACEBENCH_SPLITS; s++) cr_expect_geq(of_split[s], 10);
}

/* Graph, machine and runtime of small instances are those that were frozen. Bounds of the smallest are
 * what the file says. The others take seconds. */
Test(placebench, nothing_has_changed_since_it_was_frozen)
{
    enum { MOST_OPS = 2000, BOUND_OPS = 300 };
    emp_placebench bench = {0};
    int            checked = 0;

    ASSERT_OK(emp_placebench_load(&bench, &err));
    for (int32_t i = 0; i < bench.count; i++) {
        const emp_placebench_instance *one = &bench.instance[i];
        emp_loaded_task                loaded = {0};
        emp_bounds                     bounds;
        if (one->source != NULL || !one->is_known || one->op_count > MOST_OPS) continue;
        ASSERT_OK(emp_tasks_load(&loaded, &one->task, 1, NULL, 1, &err));
        cr_assert_not_null(loaded.problem);
        cr_expect_eq(loaded.graph->op_count, one->op_count, "%s", one->task.key);
        if (one->op_count <= BOUND_OPS) {
            ASSERT_OK(emp_bounds_compute(
                &bounds, loaded.problem,
                &(emp_bounds_options){.effort = EMP_BOUNDS_EFFORT}, &err));
            cr_expect_float_eq((double)bounds.best_ns * 1e-9, one->bound_s, 1e-9, "%s",
                               one->task.key);
        }
        emp_tasks_clear(&loaded, 1);
        checked++;
    }
    cr_expect_geq(checked, 12);
    emp_placebench_clear(&bench);
}

#define COLUMNS                                                                          \
    "name\tsplit\tfamily\tworkload\tmachine\truntime\tsource\tsha256\tops\tgraph_hash\t" \
    "machine_hash\truntime_hash\tbound_s\tbest_s\tmethod\tbudget\tseed\n"
#define NO_HASHES "0000000000000000\t0000000000000000\t0000000000000000\t"
#define SHA256    "abababababababababababababababababababababababababababababababab"
#define SMALL                                                                 \
    "small\ttrain\tgiph\tgiph:v=8,seed=1\tgiph:devices=3,seed=1\tedges\t-\t-" \
    "\t8\t" NO_HASHES "0.1\t0.2\theft\t0\t1\n"
#define PUBLISHED                                                                \
    "file\ttest\tpublished\tfile.json\tinstance\tmsr-load\thttps://example.org/" \
    "file\t" SHA256 "\t3\t" NO_HASHES "0\t0.5\tanneal\t10\t2\n"

/* One file is both tables: each reads its own columns. */
static emp_status read_text(emp_placebench *bench, const char *text, emp_error *err)
{
    const char *path = scratch_file("both.tsv", text);
    return emp_placebench_read(bench, path, path, scratch_path(NULL), err);
}

Test(placebench, both_tables_are_read)
{
    emp_placebench                 bench = {0};
    const emp_placebench_instance *small, *file;

    ASSERT_OK(read_text(&bench, COLUMNS SMALL PUBLISHED, &err));
    cr_assert_eq(bench.count, 2);
    ASSERT_OK(emp_placebench_find(&small, &bench, "small", &err));
    cr_expect_str_eq(small->task.spec, "giph:v=8,seed=1");
    cr_expect_str_eq(small->frozen.runtime, "edges");
    cr_expect(small->is_there && small->source == NULL);
    cr_expect_eq(small->bound_s, 0.1);
    cr_expect_eq(small->best_s, 0.2);
    ASSERT_OK(emp_placebench_find(&file, &bench, "file", &err));
    cr_expect(!file->is_there);
    cr_expect_eq(file->split, EMP_PLACEBENCH_TEST);
    cr_expect_str_eq(file->workload, "file.json");
    cr_expect_str_eq(strrchr(file->task.spec, '/'), "/file.json");
    cr_expect(file->budget == 10 && file->seed == 2);
    ASSERT_OK(emp_placebench_need_file(small, &err));
    EXPECT_REFUSED(emp_placebench_need_file(file, &err), EMP_EIO,
                   "get it from https://example.org/file");
    EXPECT_REFUSED(emp_placebench_find(&small, &bench, "smal", &err), EMP_EINVAL,
                   "did you mean \"small\"");
    emp_placebench_clear(&bench);

    scratch_write("file.json", "{}", 2);
    ASSERT_OK(read_text(&bench, COLUMNS PUBLISHED, &err));
    cr_expect(bench.instance[0].is_there);
    emp_placebench_clear(&bench);
}

static emp_status read_with(const char *from, const char *to, emp_error *err)
{
    char        text[2048] = COLUMNS;
    const char *at = strstr(SMALL PUBLISHED, from);
    SCOPED(emp_placebench, emp_placebench_clear) bench = {0};

    cr_assert_not_null(at, "%s", from);
    snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s%s%s",
             (int)(at - SMALL PUBLISHED), SMALL PUBLISHED, to, at + strlen(from));
    return read_text(&bench, text, err);
}

Test(placebench, wrong_lines_and_tables_are_named)
{
    static const struct {
        const char *from, *to, *part;
    } cases[] = {{"small\t", "sm,all\t", "\"sm,all\""},
                 {"small\t", "file\t", "instance file already"},
                 {"train", "training", "\"training\""},
                 {"edges", "", "runtime is empty"},
                 {"file.json", "../file.json", "\"../file.json\""},
                 {SHA256, "abc", "64 hexadecimal digits"},
                 {"0.2", "0.05", "small is below its bound"},
                 {"0.2", "fast", "fast"},
                 {"\t8\t", "\t0\t", "small"},
                 {"\t0\t1\n", "\t-1\t1\n", "small"},
                 {"\t0\t1\n", "\n", "both.tsv"}};
    emp_placebench bench = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EXPECT_REFUSED(read_with(cases[i].from, cases[i].to, &err), EMP_EFORMAT,
                       cases[i].part);
        EXPECT_REFUSED(read_with(cases[i].from, cases[i].to, &err), EMP_EFORMAT,
                       "both.tsv");
    }
    EXPECT_REFUSED(emp_placebench_read(&bench, scratch_path("none.tsv"), "x", "y", &err),
                   EMP_EIO, "none.tsv");
    emp_placebench_clear(&bench);
    EXPECT_REFUSED(read_text(&bench, "name\tsplit\n", &err), EMP_EFORMAT, "family");
    emp_placebench_clear(&bench);
}

Test(placebench, survives_every_allocation_failure)
{
    emp_placebench bench = {0};

    SURVIVES_EVERY_ALLOCATION_FAILURE(read_text(&bench, COLUMNS SMALL PUBLISHED, NULL),
                                      emp_placebench_clear(&bench));
    emp_placebench_clear(&bench);
}

/* A task whose graph, machine or runtime is another than the frozen one is refused. */
Test(placebench, a_changed_task_is_refused)
{
    emp_loaded_task loaded = {0};
    emp_frozen_task frozen = {.runtime = "edges"};
    const emp_task  task = {"small", "small", "giph:v=8,seed=1", "giph:devices=3,seed=1",
                            3,       &frozen};
    const char *const what[] = {"graph", "machine", "runtime"};
    uint64_t *const   hash[] = {&frozen.graph_hash, &frozen.machine_hash,
                                &frozen.runtime_hash};

    for (int i = 0; i < 3; i++) {
        emp_error why = {0};
        char      part[64];
        *hash[i] = 1;
        cr_expect_eq(emp_tasks_load(&loaded, &task, 1, NULL, 1, &why), EMP_EINVAL);
        snprintf(part, sizeof part, "the %s of small has changed", what[i]);
        cr_expect_not_null(strstr(why.msg, part), "%s", why.msg);
        emp_tasks_clear(&loaded, 1);
        loaded = (emp_loaded_task){0};
        *hash[i] = 0;
    }
    ASSERT_OK(emp_tasks_load(&loaded, &task, 1, NULL, 1, NULL));
    cr_expect_eq(loaded.problem->runtime.rules, EMP_RULES_EDGES);
    emp_tasks_clear(&loaded, 1);
}

Test(placebench, splits_are_tasks)
{
    static emp_task_list list;
    SCOPED(emp_placebench, emp_placebench_clear) bench = {0};
    int32_t there = 0, absent = 0;

    setenv("EMPLACE_INSTANCES", scratch_path(NULL), 1);
    ASSERT_OK(emp_placebench_load(&bench, &err));
    for (int32_t i = 0; i < bench.count; i++)
        *(bench.instance[i].is_there ? &there : &absent) += 1;
    cr_expect_gt(absent, 0, "the folder is empty");
    ASSERT_OK(emp_task_list_add(&list, "placebench:all", &err));
    cr_expect_eq(list.count, there);
    cr_expect_eq(list.absent_count, absent);
    cr_expect_not_null(list.absent);
    emp_task_list_clear(&list);
    ASSERT_OK(emp_task_list_add(&list, "placebench:test,placebench:train", &err));
    cr_expect_eq(list.task[0].set, EMP_TASKS_TEST);
    cr_expect_eq(list.task[list.count - 1].set, EMP_TASKS_TRAIN);
    cr_expect_str_eq(emp_task_set_name(list.task[0].set), "placebench:test");
    cr_expect_not_null(list.task[0].task.frozen);
    emp_task_list_clear(&list);
    EXPECT_REFUSED(emp_task_list_add(&list, "placebench:tests", &err), EMP_EINVAL,
                   "train, validation, test and all");
    emp_task_list_clear(&list);
}
