// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/compare/tasks.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/io/input.h"
#include "bench/tables/paper.h"

#define PLACEBENCH "placebench:"

const char *emp_task_set_name(emp_task_set set)
{
    static const char *const name[EMP_TASK_SETS] = {
        [EMP_TASKS_TUNED] = "table1",
        [EMP_TASKS_FRESH] = "fresh",
        [EMP_TASKS_OWN] = "own",
        [EMP_TASKS_TRAIN] = PLACEBENCH "train",
        [EMP_TASKS_VALIDATION] = PLACEBENCH "validation",
        [EMP_TASKS_TEST] = PLACEBENCH "test"};

    return name[set];
}

/* ---- fresh tasks ---- */

#define RNNLM "rnnlm:vocab=32000,"
#define NMT   "nmt:vocab=32000,"

const emp_task emp_fresh_task[EMP_FRESH_TASKS] = {
    /* language models: full softmax, depth, projection, width, a softmax a step */
    {"rnnlm-full", "RNNLM full softmax",
     RNNLM "layers=1,units=1024,batch=128,steps=20,sampled=0", "k40x2", 2, NULL},
    {"rnnlm-deep", "RNNLM 4 layers",
     RNNLM "layers=4,units=1024,batch=128,steps=20,sampled=8192", "k40x4", 4, NULL},
    {"rnnlm-proj", "RNNLM projected",
     "rnnlm:vocab=100000,layers=2,units=2048,projection=512,batch=128,steps=20,sampled="
     "8192",
     "k40x4", 4, NULL},
    {"rnnlm-wide", "RNNLM 4096 units",
     RNNLM "layers=2,units=4096,batch=64,steps=10,sampled=8192", "k40x4", 4, NULL},
    {"rnnlm-eight", "RNNLM 8 layers",
     RNNLM "layers=8,units=512,batch=64,steps=20,sampled=8192", "k40x8", 8, NULL},
    {"rnnlm-hosts", "RNNLM two hosts",
     RNNLM "layers=4,units=1024,batch=128,steps=10,sampled=0,per_step_softmax=1",
     "k40x4x2", 8, NULL},
    /* translation: depth, length, one softmax, one direction, dropout */
    {"nmt-small", "NMT 1 layer", NMT "layers=1,units=512,batch=128,steps=20", "k40x2", 2,
     NULL},
    {"nmt-batched", "NMT one softmax",
     NMT "layers=2,units=512,batch=128,steps=20,per_step_softmax=0", "k40x4", 4, NULL},
    {"nmt-plain", "NMT plain",
     NMT "layers=2,units=1024,batch=64,steps=20,bidirectional=0,residual=0,optimizer=sgd",
     "k40x2", 2, NULL},
    {"nmt-short", "NMT short", NMT "layers=4,units=1024,batch=128,steps=10", "k40x4", 4,
     NULL},
    {"nmt-dropout", "NMT dropout", NMT "layers=6,units=512,batch=128,steps=10,dropout=1",
     "k40x8", 8, NULL},
    {"nmt-hosts", "NMT two hosts",
     NMT "layers=8,units=1024,batch=64,steps=10,per_step_softmax=0", "k40x4x2", 8, NULL},
    /* images: depth, batch, batch norm as one op and as ten */
    {"resnet50", "ResNet-50", "resnet:depth=50,batch=64", "k40x2", 2, NULL},
    {"resnet50-big", "ResNet-50 batch 128", "resnet:depth=50,batch=128", "k40x4", 4,
     NULL},
    {"resnet101", "ResNet-101", "resnet:depth=101,batch=32,fused_bn=0", "k40x4", 4, NULL},
    {"resnet101-hosts", "ResNet-101 two hosts", "resnet:depth=101,batch=64", "k40x4x2", 8,
     NULL},
    {"resnet152-big", "ResNet-152 batch 64", "resnet:depth=152,batch=64", "k40x8", 8,
     NULL},
    {"inception-8", "Inception batch 8", "inception_v3:batch=8,optimizer=momentum",
     "k40x8", 8, NULL},
    {"inception-16", "Inception batch 16", "inception_v3:batch=16", "k40x2", 2, NULL},
    {"inception-64", "Inception batch 64", "inception_v3:batch=64,fused_bn=1", "k40x4", 4,
     NULL},
    {"inception-hosts", "Inception two hosts", "inception_v3:batch=32,fused_bn=1",
     "k40x4x2", 8, NULL},
};

/* ---- lists ---- */

static emp_status add(emp_task_list *list, const emp_task *task, emp_task_set set,
                      const char *where, emp_error *err)
{
    for (int32_t i = 0; i < list->count; i++)
        if (strcmp(list->task[i].task.key, task->key) == 0)
            return EMP_ERROR(EMP_EINVAL,
                             "%s: there is a task \"%s\" already; give it another name",
                             where, task->key);
    if (list->count == EMP_TASK_LIST_MOST)
        return EMP_ERROR(EMP_EINVAL, "%s: more than %d tasks", where, EMP_TASK_LIST_MOST);
    list->task[list->count++] = (emp_compared_task){*task, set};
    return EMP_OK;
}

static emp_status add_all(emp_task_list *list, const emp_task *tasks, int32_t count,
                          emp_task_set set, emp_error *err)
{
    for (int32_t i = 0; i < count; i++)
        EMP_CHECK(add(list, &tasks[i], set, emp_task_set_name(set), err));
    return EMP_OK;
}

/* ---- files ---- */

enum { LINE_BYTES = 1024, WORDS = 3, WHERE_BYTES = 300 };

/* Splits a line in place; returns the number of words, up to one too many. */
static int split(char *line, char *word[WORDS + 1])
{
    int count = 0;

    line[strcspn(line, "#")] = '\0';
    for (char *at = line; count <= WORDS;) {
        at += strspn(at, " \t\r\n");
        if (*at == '\0') break;
        word[count++] = at;
        at += strcspn(at, " \t\r\n");
        if (*at != '\0') *at++ = '\0';
    }
    return count;
}

/* Names stand in options and files; anything that printing or a list of words could trip over is
 * refused. */
static bool is_name(const char *name)
{
    for (const char *at = name; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr("_-.", *at) == NULL) return false;
    return true;
}

static emp_status add_line(emp_task_list *list, char *line, const char *where,
                           emp_error *err)
{
    char    *word[WORDS + 1];
    emp_task task = {0};
    int      count = split(line, word);

    if (count == 0) return EMP_OK;
    if (count != WORDS)
        return EMP_ERROR(
            EMP_EINVAL, "%s: a line is NAME SPEC|FILE MACHINE, three words, not %s%d",
            where, count > WORDS ? "over " : "", count > WORDS ? WORDS : count);
    if (!is_name(word[0]))
        return EMP_ERROR(EMP_EINVAL,
                         "%s: \"%.64s\" is no name; it has letters, digits, _ - and .",
                         where, word[0]);
    if (strlen(word[1]) >= EMP_RECORD_TEXT_BYTES)
        return EMP_ERROR(EMP_EINVAL, "%s: the spec or path is longer than %d", where,
                         EMP_RECORD_TEXT_BYTES - 1);
    const char **to[WORDS] = {&task.key, &task.spec, &task.machine};
    for (int i = 0; i < WORDS; i++) {
        *to[i] = emp_arena_strndup(&list->texts, word[i], strlen(word[i]));
        if (*to[i] == NULL) return EMP_ERROR(EMP_ENOMEM, "%s: a task", where);
    }
    task.title = task.key;
    return add(list, &task, EMP_TASKS_OWN, where, err);
}

static emp_status add_file(emp_task_list *list, const char *path, emp_error *err)
{
    emp_status st = EMP_OK;
    char       line[LINE_BYTES], where[WHERE_BYTES];
    int32_t    before = list->count;
    FILE      *file;
    emp_error  why = {0};

    if (emp_input_open(&file, path, &why) != EMP_OK)
        return EMP_ERROR(EMP_EIO,
                         "there are the tasks table1, fresh and all, and placebench:test "
                         "with its other splits; %s",
                         why.msg);
    for (int number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        snprintf(where, sizeof where, "%.256s, line %d", path, number);
        if (strlen(line) == sizeof line - 1)
            EMP_FAIL(EMP_EINVAL, "%s: longer than %d bytes", where, LINE_BYTES - 2);
        EMP_TRY(add_line(list, line, where, err));
    }
    if (ferror(file)) EMP_FAIL(EMP_EIO, "cannot read %s: %s", path, strerror(errno));
    if (list->count == before)
        EMP_FAIL(EMP_EINVAL, "%s has no task; a line is NAME SPEC|FILE MACHINE", path);

cleanup:
    fclose(file);
    return st;
}

/* ---- PlaceBench ---- */

static bool is_of_split(const emp_placebench_instance *instance, const char *split)
{
    return strcmp(split, "all") == 0 ||
           strcmp(split, emp_placebench_split_name(instance->split)) == 0;
}

/* An instance whose file is not there is left out. */
static emp_status add_instance(emp_task_list                 *list,
                               const emp_placebench_instance *instance, emp_error *err)
{
    const char *file = instance->task.spec;

    if (!instance->is_there) {
        if (list->absent_count++ == 0) list->absent = instance->task.key;
        return EMP_OK;
    }
    if (strlen(file) >= EMP_RECORD_TEXT_BYTES)
        return EMP_ERROR(EMP_EINVAL, "%s: the path of its file is longer than %d",
                         instance->task.key, EMP_RECORD_TEXT_BYTES - 1);
    return add(list, &instance->task, (emp_task_set)(EMP_TASKS_TRAIN + instance->split),
               "PlaceBench", err);
}

static emp_status add_split(emp_task_list *list, const char *split, emp_error *err)
{
    emp_placebench *bench = &list->placebench;
    int32_t         found = 0;

    if (bench->count == 0) EMP_CHECK(emp_placebench_load(bench, err));
    for (int32_t i = 0; i < bench->count; i++) {
        if (!is_of_split(&bench->instance[i], split)) continue;
        found++;
        EMP_CHECK(add_instance(list, &bench->instance[i], err));
    }
    if (found == 0)
        return EMP_ERROR(
            EMP_EINVAL,
            "PlaceBench has no split \"%.32s\"; there are train, validation, "
            "test and all",
            split);
    return EMP_OK;
}

/* ---- words ---- */

static emp_status add_word(emp_task_list *list, const char *word, emp_error *err)
{
    bool is_all = strcmp(word, "all") == 0;
    bool is_tuned = is_all || strcmp(word, emp_task_set_name(EMP_TASKS_TUNED)) == 0;
    bool is_fresh = is_all || strcmp(word, emp_task_set_name(EMP_TASKS_FRESH)) == 0;

    if (strncmp(word, PLACEBENCH, strlen(PLACEBENCH)) == 0)
        return add_split(list, word + strlen(PLACEBENCH), err);
    if (is_tuned)
        EMP_CHECK(add_all(list, emp_paper_task, EMP_PAPER_TASKS, EMP_TASKS_TUNED, err));
    if (is_fresh)
        EMP_CHECK(add_all(list, emp_fresh_task, EMP_FRESH_TASKS, EMP_TASKS_FRESH, err));
    return is_tuned || is_fresh ? EMP_OK : add_file(list, word, err);
}

emp_status emp_task_list_add(emp_task_list *list, const char *words, emp_error *err)
{
    char word[LINE_BYTES];

    for (const char *at = words; *at != '\0';) {
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (length > 0) EMP_CHECK(add_word(list, word, err));
        at += length;
        at += strspn(at, ",");
    }
    if (list->count == 0)
        return EMP_ERROR(EMP_EINVAL, "no tasks; give table1, fresh, all, placebench:test "
                                     "or a file");
    return EMP_OK;
}

void emp_task_list_clear(emp_task_list *list)
{
    emp_arena_clear(&list->texts);
    emp_placebench_clear(&list->placebench);
    list->count = list->absent_count = 0;
}
