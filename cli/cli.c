// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/atomic_file.h"
#include "base/io/clean.h"
#include "base/text/units.h"

enum { FOLDER_BYTES = 4096, NAMES_BYTES = 64, SENTENCE_BYTES = 2048 };

void cli_say(const char *prefix, const char *sentence)
{
    char     piece[SENTENCE_BYTES], clean[EMP_CLEAN_GROWTH * SENTENCE_BYTES + 1];
    uint16_t before = 0;

    snprintf(piece, sizeof piece, "%s%s", prefix, sentence);
    emp_text_clean(clean, piece, strlen(piece), false, &before);
    fprintf(stderr, "%s\n", clean);
}

static void print_sentence(const char *prefix, const char *format, va_list args)
{
    char sentence[SENTENCE_BYTES];

    vsnprintf(sentence, sizeof sentence, format, args);
    cli_say(prefix, sentence);
}

void cli_usage_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_sentence("emplace: ", format, args);
    va_end(args);
    exit(CLI_EXIT_USAGE);
}

void cli_warn(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_sentence("emplace: warning: ", format, args);
    va_end(args);
}

long long cli_integer(const char *option, const char *text, long long minimum,
                      long long maximum)
{
    int64_t value;

    if (!emp_units_parse_count(text, &value) || value < minimum || value > maximum) {
        cli_usage_error("--%s takes a whole number from %lld to %lld, not \"%s\"", option,
                        minimum, maximum, text);
    }
    return value;
}

static int32_t parse_size(const char *text)
{
    static const struct {
        const char *name;
        int32_t     op_count;
    } sizes[] = {{"1k", 1000}, {"10k", 10000}, {"83k", 82944}, {"1M", 1000000}};
    const long long most = 10000000;
    int64_t         value;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (strcmp(sizes[i].name, text) == 0) return sizes[i].op_count;
    }
    if (!emp_units_parse_count(text, &value) || value < 2 || value > most) {
        cli_usage_error("--sizes takes 1k, 10k, 83k, 1M, or a whole number from 2 to "
                        "%lld, not \"%s\"",
                        most, text);
    }
    return (int32_t)value;
}

double cli_seconds(const char *option, const char *text)
{
    double value;

    if (!emp_units_parse_duration(text, &value) || value <= 0)
        cli_usage_error("--%s takes a time above 0, as 90, 1.5s, 2m or 1h, not \"%s\"",
                        option, text);
    return value;
}

int64_t cli_mebibytes(const char *option, const char *text)
{
    const double most = 0x1p50;
    char         with_unit[64];
    double       value = 0;

    snprintf(with_unit, sizeof with_unit, "%sMiB", text);
    if (emp_units_parse(text, EMP_UNIT_BYTES, &value, NULL) != EMP_OK &&
        emp_units_parse(with_unit, EMP_UNIT_BYTES, &value, NULL) != EMP_OK)
        value = 0;
    if (!(value >= 1 && value <= most))
        cli_usage_error("--%s takes a size above 0, as 500 (MiB), 500 MB or 2 GiB, not "
                        "\"%s\"",
                        option, text);
    return (int64_t)value;
}

emp_sheet_format cli_format(const char *text)
{
    emp_sheet_format format;
    emp_error        err = {0};

    if (emp_sheet_format_parse(&format, text, &err) != EMP_OK)
        cli_usage_error("%s", err.msg);
    return format;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static void copy_folder(char folder[FOLDER_BYTES], const char *path)
{
    int length = (int)(base_name(path) - path);

    if (length > 1) length--; /* the slash; the root is nothing else */
    snprintf(folder, FOLDER_BYTES, "%.*s", length, path);
    if (length == 0) snprintf(folder, FOLDER_BYTES, ".");
}

static bool has_ending(const char *path, const char *ending)
{
    const size_t length = strlen(path), tail = strlen(ending);

    return length >= tail && strcmp(path + length - tail, ending) == 0;
}

/* Makes the temporary file of the output, and removes it: a disk that cannot be written to, a name that
 * is too long, or a link into a folder of somebody else is told before the work. */
static emp_status try_to_open(const char *path, emp_error *err)
{
    emp_atomic_file file = {0};
    struct stat     there;

    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        if (access(path, W_OK) == 0) return EMP_OK;
        return EMP_ERROR(EMP_EIO, "%s cannot be written: %s", path, strerror(errno));
    }
    EMP_CHECK(emp_atomic_file_open(&file, path, err));
    emp_atomic_file_abort(&file);
    return EMP_OK;
}

emp_status cli_check_output(const char *path, emp_error *err)
{
    char        folder[FOLDER_BYTES];
    struct stat there;

    if (path == NULL) return EMP_OK;
    if (path[0] == '\0')
        return EMP_ERROR(EMP_EINVAL, "an output needs the name of a file");
    if (strcmp(path, "-") == 0)
        return EMP_ERROR(
            EMP_EINVAL,
            "\"-\" names no file to write; for one of this name give \"./-\"");
    if (has_ending(path, ".lock"))
        return EMP_ERROR(EMP_EINVAL,
                         "%s has the name of a lock; name another file for the output",
                         path);
    if (stat(path, &there) == 0 && S_ISDIR(there.st_mode))
        return EMP_ERROR(
            EMP_EIO, "%s cannot be written: it is a directory; name a file in it", path);
    copy_folder(folder, path);
    if (access(folder, W_OK) != 0) {
        return EMP_ERROR(EMP_EIO, "%s cannot be written: %s: %s", path, folder,
                         strerror(errno));
    }
    if (stat(folder, &there) == 0 && !S_ISDIR(there.st_mode))
        return EMP_ERROR(EMP_EIO, "%s cannot be written: %s is no directory", path,
                         folder);
    return try_to_open(path, err);
}

/* Whether both names lead to one file, by links or hard links. Files that are not there yet are the
 * same if they have one name in one folder, however that is spelt. */
static bool is_same_file(const char *path, const char *other)
{
    char        folder[FOLDER_BYTES];
    struct stat here, there;

    if (stat(path, &here) == 0 && stat(other, &there) == 0)
        return here.st_dev == there.st_dev && here.st_ino == there.st_ino;
    if (strcmp(base_name(path), base_name(other)) != 0) return false;
    copy_folder(folder, path);
    if (stat(folder, &here) != 0) return false;
    copy_folder(folder, other);
    if (stat(folder, &there) != 0) return false;
    return here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

emp_status cli_check_outputs(const char *const *paths, int32_t count, emp_error *err)
{
    for (int32_t i = 0; i < count; i++) {
        EMP_CHECK(cli_check_output(paths[i], err));
        for (int32_t j = 0; j < i && paths[i] != NULL; j++) {
            if (paths[j] != NULL && is_same_file(paths[i], paths[j]))
                return EMP_ERROR(EMP_EINVAL,
                                 "two outputs are to be written to %s; name two files",
                                 paths[i]);
        }
    }
    return EMP_OK;
}

/* Whether the output is the file of that input, or one that a spec names: layers:path=FILE,model=NAME.
 * Then \a path is its name. */
static bool is_read(char path[PATH_MAX], const char *output, const char *input)
{
    const char *value = input;

    snprintf(path, PATH_MAX, "%s", input);
    if (is_same_file(output, path)) return true;
    while ((value = strchr(value, '=')) != NULL) {
        value++;
        snprintf(path, PATH_MAX, "%.*s", (int)strcspn(value, ","), value);
        if (access(path, F_OK) == 0 && is_same_file(output, path)) return true;
    }
    return false;
}

emp_status cli_check_inputs(const char *const *inputs, int32_t input_count,
                            const char *const *outputs, int32_t output_count,
                            emp_error *err)
{
    char path[PATH_MAX];

    for (int32_t k = 0; k < input_count * output_count; k++) {
        const char *input = inputs[k / output_count], *output = outputs[k % output_count];
        if (input != NULL && output != NULL && is_read(path, output, input))
            return EMP_ERROR(EMP_EINVAL,
                             "%s is an input; name another file for the output", path);
    }
    return EMP_OK;
}

static bool is_in(const char *path, const char *folder)
{
    char        target[PATH_MAX], own[FOLDER_BYTES];
    struct stat here, there;

    copy_folder(own, realpath(path, target) != NULL ? target : path);
    return stat(own, &here) == 0 && stat(folder, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

emp_status cli_check_outside(const char *folder, const char *const *outputs,
                             int32_t count, emp_error *err)
{
    for (int32_t i = 0; i < count; i++) {
        if (outputs[i] != NULL && is_in(outputs[i], folder))
            return EMP_ERROR(EMP_EINVAL,
                             "%s is among the run records of %s; name a file in another "
                             "folder",
                             outputs[i], folder);
    }
    return EMP_OK;
}

static bool holds_something(const char *path)
{
    struct stat there;

    return stat(path, &there) == 0 && S_ISREG(there.st_mode) && there.st_size > 0;
}

emp_status cli_check_replaced(const char *const *paths, int32_t count, bool is_forced,
                              emp_error *err)
{
    for (int32_t i = 0; i < count && !is_forced; i++) {
        if (paths[i] == NULL) continue;
        if (access(paths[i], F_OK) != 0)
            emp_atomic_file_expect_none(paths[i]);
        else if (holds_something(paths[i]))
            return EMP_ERROR(EMP_EINVAL,
                             "%s is there already; name another file, or give --force "
                             "to replace it",
                             paths[i]);
    }
    return EMP_OK;
}

/* "." and ".." are in every folder. */
static bool has_files(const char *path)
{
    DIR *folder = opendir(path);
    int  count = 0;

    while (folder != NULL && count < 3 && readdir(folder) != NULL) count++;
    if (folder != NULL) closedir(folder);
    return count == 3;
}

emp_status cli_check_folder_replaced(const char *path, bool is_forced, emp_error *err)
{
    if (path == NULL || is_forced || !has_files(path)) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "%s is a folder with files; name another one, or give --force to "
                     "write into it",
                     path);
}

bool cli_next_word(const char **list, char *word, size_t size)
{
    size_t length = strcspn(*list, ",");

    if (**list == '\0') return false;
    if (length >= size) cli_usage_error("there is no \"%.*s\"", (int)length, *list);
    memcpy(word, *list, length);
    word[length] = '\0';
    *list += length;
    *list += **list == ',';
    return true;
}

static void list_names(char names[NAMES_BYTES], const cli_choice *known, int count)
{
    int length = 0;

    for (int i = 0; i < count && length < NAMES_BYTES; i++) {
        length += snprintf(names + length, (size_t)(NAMES_BYTES - length), "%s%s",
                           i == 0 ? "" : ", ", known[i].name);
    }
}

uint32_t cli_choices(const char *option, const char *list, const cli_choice *known,
                     int count)
{
    uint32_t    bits = 0;
    char        word[32], names[NAMES_BYTES];
    const char *none = NULL;

    if (*list == '\0') cli_usage_error("--%s takes a list, not \"\"", option);
    while (cli_next_word(&list, word, sizeof word)) {
        const cli_choice *found = NULL;
        for (int i = 0; i < count; i++)
            if (strcmp(known[i].name, word) == 0) found = &known[i];
        if (found == NULL) {
            list_names(names, known, count);
            cli_usage_error("--%s: there is no \"%s\"; there are %s", option, word,
                            names);
        }
        bits |= found->value;
        if (found->value == 0) none = found->name;
    }
    if (none != NULL && bits != 0)
        cli_usage_error("--%s: \"%s\" and others make no sense together", option, none);
    return bits;
}

int32_t cli_sizes(const char *list, int32_t *sizes, int32_t most)
{
    char    word[32];
    int32_t count = 0;

    if (*list == '\0') cli_usage_error("--sizes takes a list, not \"\"");
    while (cli_next_word(&list, word, sizeof word)) {
        if (count == most) cli_usage_error("--sizes takes at most %d sizes", most);
        sizes[count++] = parse_size(word);
    }
    return count;
}

static emp_status print_csv(FILE *stream, const void *sheet, emp_error *err)
{
    return emp_sheet_print(stream, (const emp_sheet *)sheet, EMP_SHEET_CSV, err);
}

emp_status cli_write_sheet(const char *path, const emp_sheet *sheet, emp_error *err)
{
    return path == NULL ? EMP_OK : emp_atomic_file_write(path, print_csv, sheet, err);
}

emp_status cli_print_sheet(emp_sheet *sheet, emp_sheet_format format, const char *csv,
                           emp_error *err)
{
    emp_status st = EMP_OK;

    EMP_TRY(cli_write_sheet(csv, sheet, err));
    EMP_TRY(emp_sheet_print(stdout, sheet, format, err));

cleanup:
    emp_sheet_clear(sheet);
    return st;
}

int cli_default_threads(void) { return omp_get_num_procs(); }

json_t *cli_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

emp_status cli_print_json(json_t *object, emp_error *err)
{
    emp_status st = EMP_OK;

    if (object == NULL) EMP_FAIL(EMP_ENOMEM, "JSON output");
    if (json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) != 0) {
        EMP_FAIL(EMP_EIO, "cannot write to standard output");
    }
    fputc('\n', stdout);

cleanup:
    json_decref(object);
    return st;
}
