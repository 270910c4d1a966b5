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

enum { SENTENCE_BYTES = 2048 };

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

void cli_inform(const char *format, ...)
{
    va_list args;

    if (is_warned) return;
    va_start(args, format);
    print_sentence("emplace: ", format, args);
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

double cli_seconds(const char *option, const char *text)
{
    double value;

    if (!emp_units_parse_duration(text, &value) || value <= 0)
        cli_usage_error("--%s takes a time above 0, as 90, 1.5s, 2m or 1h, not \"%s\"",
                        option, text);
    return value;
}

double cli_percent(const char *option, const char *text)
{
    char        *end;
    const double value = emp_number_parse(text, &end);

    if (end == text || !(value >= 0 && value <= 1e6) ||
        (*end != '\0' && strcmp(end, "%") != 0))
        cli_usage_error("--%s takes a share of 0 or more, as 5%% or 5, not \"%s\"",
                        option, text);
    return value / 100.0;
}

bool cli_why_is_full(const char *text)
{
    if (text != NULL && strcmp(text, "full") != 0)
        cli_usage_error("--why takes no value but full, as in --why=full, and not \"%s\"",
                        text);
    return text != NULL;
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
