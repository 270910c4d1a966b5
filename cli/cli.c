// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/cli.h"

#include <math.h>
#include <omp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/io/terminal.h"
#include "base/text/units.h"

enum { NAMES_BYTES = 64, SENTENCE_BYTES = 2048 };

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

static _Thread_local bool is_warned;

void cli_warn_only_once(bool is_repeated) { is_warned = is_repeated; }

void cli_warn(const char *format, ...)
{
    va_list args;

    if (is_warned) return;
    va_start(args, format);
    print_sentence("emplace: warning: ", format, args);
    va_end(args);
}

long long cli_integer(const char *option, const char *text, long long minimum,
                      long long maximum)
{
    const long long exact = 1LL << 53; /* of emp_units_parse_count() */
    int64_t         value;

    if (!emp_units_parse_count(text, &value) || value < minimum || value > maximum) {
        cli_usage_error(
            "--%s takes a whole number from %lld to %lld%s, not \"%s\"", option, minimum,
            maximum, maximum > exact ? ", in digits above 9007199254740992" : "", text);
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
