// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/placebench/placebench.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text/nearest.h"
#include "sim/machine/machine.h"

#define NONE "-" /* a field that has nothing */
enum { PATH_BYTES = 4096 };

static const char *const split_names[EMP_PLACEBENCH_SPLITS] = {"train", "validation",
                                                               "test"};

const char *emp_placebench_split_name(emp_placebench_split split)
{
    return split_names[split];
}

/* ---- what an instance is ---- */

enum { NAME, SPLIT, FAMILY, WORKLOAD, MACHINE, RUNTIME, SOURCE, SHA256, DEFINED };
static const char *const defined[DEFINED] = {"name",    "split",   "family", "workload",
                                             "machine", "runtime", "source", "sha256"};
enum { SHA256_DIGITS = 64 };

/* Lines are counted as the table has them: its head and its comments are none. */
#define WHERE         "%s, instance %d"
#define WHERE_OF(row) bench->definitions.path, (int)(row) + 1

static bool is_name(const char *name)
{
    for (const char *at = name; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr("_-.", *at) == NULL) return false;
    return *name != '\0';
}

static emp_status parse_split(emp_placebench_split *split, const emp_placebench *bench,
                              int32_t row, const char *word, emp_error *err)
{
    for (int s = 0; s < EMP_PLACEBENCH_SPLITS; s++) {
        *split = (emp_placebench_split)s;
        if (strcmp(split_names[s], word) == 0) return EMP_OK;
    }
    return EMP_ERROR(EMP_EFORMAT,
                     WHERE ": \"%.32s\" is no split; there are train, validation and "
                           "test",
                     WHERE_OF(row), word);
}

/* The name of a file without a folder, so that no other files are read. */
static bool is_file_name(const char *name) { return is_name(name) && name[0] != '.'; }

static emp_status add_path(emp_placebench *bench, emp_placebench_instance *instance,
                           const char *folder, int32_t row, emp_error *err)
{
    const char *file = instance->workload;
    char        path[PATH_BYTES];

    if (!is_file_name(file))
        return EMP_ERROR(EMP_EFORMAT,
                         WHERE ": \"%.64s\" is no name of a file, which has letters, "
                               "digits, _ - and .",
                         WHERE_OF(row), file);
    if (strlen(instance->sha256) != SHA256_DIGITS ||
        strspn(instance->sha256, "0123456789abcdef") != SHA256_DIGITS)
        return EMP_ERROR(EMP_EFORMAT, WHERE ": sha256 is not 64 hexadecimal digits",
                         WHERE_OF(row));
    const int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    if (length >= (int)sizeof path)
        return EMP_ERROR(EMP_EINVAL,
                         "the folder of published instances has a path of "
                         "over %d bytes",
                         PATH_BYTES - 1);
    instance->task.spec = emp_arena_strndup(&bench->paths, path, (size_t)length);
    if (instance->task.spec == NULL) return EMP_ERROR(EMP_ENOMEM, "path of a file");
    instance->is_there = access(path, R_OK) == 0;
    return EMP_OK;
}

static emp_status define(emp_placebench *bench, const int32_t column[DEFINED],
                         const char *folder, int32_t row, emp_error *err)
{
    emp_placebench_instance *instance = &bench->instance[row];
    const char              *text[DEFINED];

    for (int c = 0; c < DEFINED; c++) {
        text[c] = emp_csv_text(&bench->definitions, row, column[c]);
        if (text[c][0] == '\0')
            return EMP_ERROR(EMP_EFORMAT, WHERE ": %s is empty", WHERE_OF(row),
                             defined[c]);
    }
    if (!is_name(text[NAME]))
        return EMP_ERROR(EMP_EFORMAT,
                         WHERE ": \"%.64s\" is no name; it has letters, digits, _ - "
                               "and .",
                         WHERE_OF(row), text[NAME]);
    for (int32_t i = 0; i < row; i++)
        if (strcmp(bench->instance[i].task.key, text[NAME]) == 0)
            return EMP_ERROR(EMP_EFORMAT, WHERE ": there is an instance %.64s already",
                             WHERE_OF(row), text[NAME]);
    *instance = (emp_placebench_instance){.task = {.key = text[NAME],
                                                   .title = text[NAME],
                                                   .spec = text[WORKLOAD],
                                                   .machine = text[MACHINE],
                                                   .frozen = &instance->frozen},
                                          .frozen = {.runtime = text[RUNTIME]},
                                          .family = text[FAMILY],
                                          .workload = text[WORKLOAD],
                                          .is_there = true,
                                          .bound_s = NAN,
                                          .best_s = NAN};
    EMP_CHECK(parse_split(&instance->split, bench, row, text[SPLIT], err));
    if (strcmp(text[SOURCE], NONE) == 0) return EMP_OK;
    instance->source = text[SOURCE];
    instance->sha256 = text[SHA256];
    return add_path(bench, instance, folder, row, err);
}

static emp_status define_all(emp_placebench *bench, const char *folder, emp_error *err)
{
    int32_t column[DEFINED];

    EMP_CHECK(emp_csv_find_all(column, &bench->definitions, defined, DEFINED, err));
    if (bench->definitions.row_count > EMP_PLACEBENCH_MOST)
        return EMP_ERROR(EMP_EFORMAT, "%s: more than %d instances",
                         bench->definitions.path, EMP_PLACEBENCH_MOST);
    EMP_CHECK(EMP_ALLOC(bench->instance, (size_t)bench->definitions.row_count));
    for (int32_t row = 0; row < bench->definitions.row_count; row++) {
        EMP_CHECK(define(bench, column, folder, row, err));
        bench->count = row + 1;
    }
    return EMP_OK;
}

/* ---- what is known of it ---- */

enum { OF, OPS, GRAPH, ON, UNDER, BOUND, BEST, METHOD, BUDGET, SEED, KNOWN };
static const char *const known_columns[KNOWN] = {
    "name",    "ops",    "graph_hash", "machine_hash", "runtime_hash",
    "bound_s", "best_s", "method",     "budget",       "seed"};

static emp_placebench_instance *lookup(const emp_placebench *bench, const char *name)
{
    for (int32_t i = 0; i < bench->count; i++)
        if (strcmp(bench->instance[i].task.key, name) == 0) return &bench->instance[i];
    return NULL;
}

static emp_status check_known(const emp_placebench_instance *instance, int64_t seed,
                              const char *path, emp_error *err)
{
    if (instance->op_count < 1 || instance->budget < 0 || seed < 0 ||
        !(instance->best_s > 0) || !(instance->bound_s >= 0))
        return EMP_ERROR(EMP_EFORMAT,
                         "%s: %s has a number that is below what there can be", path,
                         instance->task.key);
    if (instance->best_s < instance->bound_s)
        return EMP_ERROR(EMP_EFORMAT, "%s: the best step time of %s is below its bound",
                         path, instance->task.key);
    return EMP_OK;
}

static emp_status learn(emp_placebench *bench, const int32_t column[KNOWN], int32_t row,
                        emp_error *err)
{
    const emp_csv           *csv = &bench->known;
    const char              *name = emp_csv_text(csv, row, column[OF]);
    emp_placebench_instance *i = lookup(bench, name);
    int64_t                  seed;

    if (i == NULL || i->is_known)
        return EMP_ERROR(EMP_EFORMAT, "%s: %s \"%.64s\"", csv->path,
                         i == NULL ? "there is no instance" : "two lines are of", name);
    EMP_CHECK(emp_csv_count(&i->op_count, csv, row, column[OPS], err));
    EMP_CHECK(emp_csv_hash(&i->frozen.graph_hash, csv, row, column[GRAPH], err));
    EMP_CHECK(emp_csv_hash(&i->frozen.machine_hash, csv, row, column[ON], err));
    EMP_CHECK(emp_csv_hash(&i->frozen.runtime_hash, csv, row, column[UNDER], err));
    EMP_CHECK(emp_csv_real(&i->bound_s, csv, row, column[BOUND], err));
    EMP_CHECK(emp_csv_real(&i->best_s, csv, row, column[BEST], err));
    EMP_CHECK(emp_csv_count(&i->budget, csv, row, column[BUDGET], err));
    EMP_CHECK(emp_csv_count(&seed, csv, row, column[SEED], err));
    i->method = emp_csv_text(csv, row, column[METHOD]);
    i->seed = (uint64_t)seed;
    i->is_known = true;
    return check_known(i, seed, csv->path, err);
}

static emp_status learn_all(emp_placebench *bench, emp_error *err)
{
    int32_t column[KNOWN];

    EMP_CHECK(emp_csv_find_all(column, &bench->known, known_columns, KNOWN, err));
    for (int32_t row = 0; row < bench->known.row_count; row++)
        EMP_CHECK(learn(bench, column, row, err));
    return EMP_OK;
}

/* ---- all of it ---- */

emp_status emp_placebench_read(emp_placebench *bench, const char *definitions,
                               const char *known, const char *folder, emp_error *err)
{
    EMP_CHECK(emp_csv_load(&bench->definitions, definitions, err));
    EMP_CHECK(define_all(bench, folder, err));
    EMP_CHECK(emp_csv_load(&bench->known, known, err));
    return learn_all(bench, err);
}

emp_status emp_placebench_load(emp_placebench *bench, emp_error *err)
{
    const char *folder = getenv("EMPLACE_INSTANCES");
    char        definitions[PATH_BYTES], known[PATH_BYTES], published[PATH_BYTES];

    emp_data_folder(definitions, sizeof definitions, "placebench/instances.tsv");
    emp_data_folder(known, sizeof known, "placebench/known.tsv");
    emp_data_folder(published, sizeof published, "placebench/published");
    if (folder == NULL || *folder == '\0') folder = published;
    return emp_placebench_read(bench, definitions, known, folder, err);
}

void emp_placebench_clear(emp_placebench *bench)
{
    emp_free(bench->instance);
    emp_arena_clear(&bench->paths);
    emp_csv_clear(&bench->definitions);
    emp_csv_clear(&bench->known);
    *bench = (emp_placebench){0};
}

emp_status emp_placebench_find(const emp_placebench_instance **instance,
                               const emp_placebench *bench, const char *name,
                               emp_error *err)
{
    emp_nearest near = emp_nearest_begin(name, strlen(name), "");
    char        hint[EMP_NEAREST_BYTES];

    *instance = lookup(bench, name);
    if (*instance != NULL) return EMP_OK;
    for (int32_t i = 0; i < bench->count; i++)
        emp_nearest_offer(&near, bench->instance[i].task.key,
                          strlen(bench->instance[i].task.key));
    return EMP_ERROR(EMP_EINVAL,
                     "PlaceBench has no instance \"%s\"%s; emplace instances lists them",
                     name, emp_nearest_hint(&near, hint));
}

emp_status emp_placebench_need_file(const emp_placebench_instance *instance,
                                    emp_error                     *err)
{
    if (instance->is_there) return EMP_OK;
    return EMP_ERROR(EMP_EIO,
                     "%s is a published instance, and there is no %s; get it from %s",
                     instance->task.key, instance->task.spec, instance->source);
}
