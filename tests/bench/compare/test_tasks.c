// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the tasks that methods are compared on there, different, and read as the header says? */
#include "bench/compare/tasks.h"
#include "bench/tables/paper.h"
#include "tests/test.h"

TestSuite(tasks, .init = scratch_create, .fini = scratch_tear_down);

static int32_t count_hosts(const emp_machine *machine)
{
    emp_device_id cpu[EMP_MAX_DEVICES];

    return emp_machine_list(machine, EMP_DEVICE_CPU, cpu);
}

/* 24 tasks or more in all; graphs differ from each other and from Table 1's; 2, 4 and 8 GPUs; some
 * on two hosts. */
Test(tasks, fresh_ones_are_generated_and_differ)
{
    emp_runtime      runtime;
    emp_task_list    list = {0};
    emp_loaded_task *task = calloc(EMP_TASK_LIST_MOST, sizeof *task);
    emp_error        why = {0};
    int              gpus[9] = {0}, two_hosts = 0;

    ASSERT_OK(emp_runtime_init(&runtime, "tf-r1.3", NULL));
    ASSERT_OK(emp_task_list_add(&list, "all", &err));
    cr_assert_eq(list.count, EMP_PAPER_TASKS + EMP_FRESH_TASKS);
    cr_expect(list.count >= 24 && EMP_FRESH_TASKS >= 18);
    for (int32_t i = 0; i < list.count; i++) {
        const emp_task *t = &list.task[i].task;
        bool            is_tuned = i < EMP_PAPER_TASKS;
        cr_expect_eq(list.task[i].set, is_tuned ? EMP_TASKS_TUNED : EMP_TASKS_FRESH);
        cr_assert_eq(emp_tasks_load(&task[i], t, 1, &runtime, 1, &why), EMP_OK, "%s: %s",
                     t->key, why.msg);
        for (int32_t k = 0; k < i; k++) {
            bool is_same = task[i].graph->hash == task[k].graph->hash;
            cr_expect_not(is_same && task[i].machine->hash == task[k].machine->hash,
                          "%s is %s", t->key, list.task[k].task.key);
        }
        if (is_tuned) continue;
        cr_expect_leq(task[i].graph->op_count, 25000, "%s", t->key);
        emp_device_id gpu[EMP_MAX_DEVICES];
        int32_t       count = emp_machine_list(task[i].machine, EMP_DEVICE_GPU, gpu);
        cr_expect_eq(count, t->gpu_count, "%s", t->key);
        gpus[count]++;
        two_hosts += count_hosts(task[i].machine) == 2;
    }
    cr_expect(gpus[2] >= 3 && gpus[4] >= 3 && gpus[8] >= 3 && two_hosts >= 3);
    emp_tasks_clear(task, list.count);
    free(task);
    emp_task_list_clear(&list);
}

static const char good[] = "# tasks of a test\n"
                           "\n"
                           "one rnnlm:layers=1 k40x2   # the first\n"
                           "\ttwo\tgraphs/two.pb machines/mine.yaml\r\n"
                           "three nmt k40x4";

static emp_status add_text(emp_task_list *list, const char *text, size_t size,
                           emp_error *err)
{
    scratch_write("tasks.txt", text, size);
    return emp_task_list_add(list, scratch_print("table1,%s", scratch_path("tasks.txt")),
                             err);
}

Test(tasks, files_add_to_the_others)
{
    SCOPED(emp_task_list, emp_task_list_clear) list = {0};
    const emp_task *two = &list.task[EMP_PAPER_TASKS + 1].task;

    ASSERT_OK(add_text(&list, good, strlen(good), &err));
    cr_assert_eq(list.count, EMP_PAPER_TASKS + 3);
    cr_expect_str_eq(two->key, "two");
    cr_expect_str_eq(two->title, "two");
    cr_expect_str_eq(two->spec, "graphs/two.pb");
    cr_expect_str_eq(two->machine, "machines/mine.yaml");
    cr_expect_eq(list.task[EMP_PAPER_TASKS].set, EMP_TASKS_OWN);
    cr_expect_str_eq(list.task[EMP_PAPER_TASKS + 2].task.machine, "k40x4");
}

static void expect_refused(const char *text, emp_status want, const char *part)
{
    SCOPED(emp_task_list, emp_task_list_clear) list = {0};
    emp_error err = {0};

    cr_expect_eq(add_text(&list, text, strlen(text), &err), want, "%s", text);
    cr_expect_not_null(strstr(err.msg, part), "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, "tasks.txt"), "%s", err.msg);
}

Test(tasks, wrong_lines_and_words_are_named)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "NAME SPEC|FILE MACHINE"},    {"# nothing\n", "NAME SPEC|FILE MACHINE"},
        {"\n\na rnnlm\n", "line 3"},       {"a rnnlm k40x2 k40x4\n", "over 3"},
        {"a,b rnnlm k40x2\n", "\"a,b\""},  {"a rnnlm k40x2\na nmt k40x2\n", "line 2"},
        {"nmt2 rnnlm k40x2\n", "\"nmt2\""}};
    char          text[1200] = "a ";
    emp_task_list list = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refused(cases[i].text, EMP_EINVAL, cases[i].part);
    memset(text + 2, 'x', 300);
    snprintf(text + 302, sizeof text - 302, " k40x2\n");
    expect_refused(text, EMP_EINVAL, "longer than 255");
    memset(text + 2, 'x', sizeof text - 3);
    expect_refused(text, EMP_EINVAL, "line 1");
    EXPECT_REFUSED(emp_task_list_add(&list, "tuned", &err), EMP_EIO, "tuned");
    EXPECT_REFUSED(emp_task_list_add(&list, ",", &err), EMP_EINVAL, "");
    EXPECT_REFUSED(emp_task_list_add(&list, "all,fresh", &err), EMP_EINVAL, "already");
    emp_task_list_clear(&list);
    EXPECT_REFUSED(emp_task_list_add(&list, scratch_path(""), &err), EMP_EIO, "");
    emp_task_list_clear(&list);
}

Test(tasks, more_than_there_is_room_for_are_refused)
{
    char text[16 * EMP_TASK_LIST_MOST] = "";

    for (int i = 0; i < EMP_TASK_LIST_MOST; i++)
        sprintf(text + strlen(text), "t%d n k40x2\n", i);
    expect_refused(text, EMP_EINVAL, "more than 128 tasks");
}

Test(tasks, survives_every_allocation_failure)
{
    emp_task_list list = {0};

    SURVIVES_EVERY_ALLOCATION_FAILURE(add_text(&list, good, strlen(good), NULL),
                                      emp_task_list_clear(&list));
    emp_task_list_clear(&list);
}
