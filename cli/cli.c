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
#include "cli/stop.h"

/* ---- sentences --------------------------------------------------------------------- */

enum { SENTENCE_BYTES = 2048 };

static bool has_answered;

void cli_say(const char *prefix, const char *sentence)
{
    char     piece[SENTENCE_BYTES], clean[EMP_CLEAN_GROWTH * SENTENCE_BYTES + 1];
    uint16_t before = 0;

    snprintf(piece, sizeof piece, "%s%s", prefix, sentence);
    emp_text_clean(clean, piece, strlen(piece), false, &before);
    fprintf(stderr, "%s\n", clean);
    has_answered = has_answered || cli_stop_is_asked();
}

bool cli_has_answered(void) { return has_answered; }

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

/* ---- values of options ------------------------------------------------------------- */

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

error_t cli_store(int key, const char *arg, void *args)
{
    const int kind = key >> CLI_FIELD_BITS;

    if (kind != CLI_TEXT_KIND && kind != CLI_FLAG_KIND) return ARGP_ERR_UNKNOWN;
    void *field = (char *)args + (key & ((1 << CLI_FIELD_BITS) - 1));
    if (kind == CLI_TEXT_KIND)
        *(const char **)field = arg;
    else
        *(bool *)field = true;
    return 0;
}

/* The value of --format: text, md, csv or json; exits 2 otherwise. */
static emp_sheet_format format_of(const char *text)
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

/* ---- sheets and JSON ---------------------------------------------------------------- */

static emp_status print_csv(FILE *stream, const void *sheet, emp_error *err)
{
    return emp_sheet_print(stream, (const emp_sheet *)sheet, EMP_SHEET_CSV, err);
}

emp_status cli_write_sheet(const char *path, const emp_sheet *sheet, emp_error *err)
{
    return path == NULL ? EMP_OK : emp_atomic_file_write(path, print_csv, sheet, err);
}

emp_status cli_print_sheet(emp_sheet *sheet, emp_sheet_format format, emp_error *err)
{
    const emp_status st = emp_sheet_print(stdout, sheet, format, err);

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

/* ---- --format --------------------------------------------------------------------- */

enum { KEY_JSON = 1100, KEY_BYTES = 512 };

static const struct argp_option options[] = {
    {"format", 'f', "FORMAT", 0, "text (default), md, csv or json", 0},
    {"json", KEY_JSON, NULL, OPTION_HIDDEN, "The same as --format json", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    emp_sheet_format *format = (emp_sheet_format *)state->input;

    switch (key) {
    case 'f': *format = format_of(arg); return 0;
    case KEY_JSON: *format = EMP_SHEET_JSON; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_format_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

bool cli_format_is_for_people(emp_sheet_format format)
{
    return format == EMP_SHEET_TEXT || format == EMP_SHEET_MD;
}

/* ---- numbers of objects ------------------------------------------------------------ */

enum { DIGITS = 6 /* of a number without a unit */ };

/* The endings of keys that state a unit; the first that fits counts. */
static const struct unit {
    const char *ending, *name;
    enum { AMOUNT, SIZE, TIME, TIME_NS, SHARE } kind;
} units[] = {{"flops_per_s", "FLOP/s", AMOUNT},
             {"bytes_per_s", "B/s", AMOUNT},
             {"_per_s", "/s", AMOUNT},
             {"flops", "FLOP", AMOUNT},
             {"bytes", NULL, SIZE},
             {"_s", NULL, TIME},
             {"_ns", NULL, TIME_NS},
             {"_frac", NULL, SHARE},
             {"share", NULL, SHARE}};

/* The unit of the first \a length characters of a key; NULL = none is stated. */
static const struct unit *stated_unit(const char *key, size_t length)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t ending = strlen(units[i].ending);
        if (ending <= length &&
            memcmp(key + length - ending, units[i].ending, ending) == 0)
            return &units[i];
    }
    return NULL;
}

/* The unit of a key's last part, or of the object that it is in: "peak_bytes.gpu:0". */
static const struct unit *unit_of(const char *key)
{
    const char        *dot = strrchr(key, '.');
    const struct unit *unit = stated_unit(key, strlen(key));

    return unit != NULL || dot == NULL ? unit : stated_unit(key, (size_t)(dot - key));
}

static void format_for_people(const char *key, const json_t *number,
                              char text[EMP_SHEET_CELL_BYTES])
{
    const struct unit *unit = unit_of(key);
    const size_t       size = EMP_SHEET_CELL_BYTES;
    double             value = json_number_value(number);

    if (unit == NULL && json_is_integer(number))
        snprintf(text, size, "%lld", (long long)json_integer_value(number));
    else if (unit == NULL)
        emp_units_format_number(value, DIGITS, text, size);
    else if (unit->kind == AMOUNT)
        emp_units_format_si(value, unit->name, text, size);
    else if (unit->kind == SIZE)
        emp_units_format_bytes((int64_t)value, text, size);
    else if (unit->kind == SHARE)
        emp_units_format_percent(value, text, size);
    else
        emp_units_format_seconds(unit->kind == TIME ? value : value * 1e-9, text, size);
}

static void format_for_programs(const json_t *number, char text[EMP_SHEET_CELL_BYTES])
{
    if (json_is_integer(number))
        snprintf(text, EMP_SHEET_CELL_BYTES, "%lld",
                 (long long)json_integer_value(number));
    else
        snprintf(text, EMP_SHEET_CELL_BYTES, "%.15g", json_real_value(number));
}

/* ---- objects ----------------------------------------------------------------------- */

static const emp_sheet_column setting_columns[] = {
    EMP_COLUMN("key", "key", EMP_SHEET_WORD),
    EMP_COLUMN("value", "value", EMP_SHEET_WORD)};

/* An object whose members become lines. */
struct lines {
    emp_sheet sheet;
    bool      is_for_people;
};

static void add_value(struct lines *l, const char *key, json_t *value);

static void add_member(struct lines *l, const char *key, const char *name, json_t *value)
{
    char path[KEY_BYTES];

    snprintf(path, sizeof path, "%s%s%s", key, key[0] == '\0' ? "" : ".", name);
    add_value(l, path, value);
}

static void add_list(struct lines *l, const char *key, json_t *list)
{
    char place[24];

    for (size_t i = 0; i < json_array_size(list); i++) {
        snprintf(place, sizeof place, "%zu", i);
        add_member(l, key, place, json_array_get(list, i));
    }
}

static void add_scalar(struct lines *l, const char *key, json_t *value)
{
    char text[EMP_SHEET_CELL_BYTES] = "";

    if (json_is_boolean(value))
        snprintf(text, sizeof text, "%s",
                 l->is_for_people ? (json_is_true(value) ? "yes" : "no")
                                  : (json_is_true(value) ? "1" : "0"));
    else if (json_is_number(value) && l->is_for_people)
        format_for_people(key, value, text);
    else if (json_is_number(value))
        format_for_programs(value, text);
    EMP_SHEET_ADD(&l->sheet, EMP_V(key),
                  EMP_V(json_is_string(value) ? json_string_value(value) : text));
}

static void add_value(struct lines *l, const char *key, json_t *value)
{
    const char *name;
    json_t     *member;

    if (json_is_array(value)) {
        add_list(l, key, value);
        return;
    }
    if (!json_is_object(value)) {
        add_scalar(l, key, value);
        return;
    }
    json_object_foreach(value, name, member) add_member(l, key, name, member);
}

emp_status cli_print_object(json_t *object, emp_sheet_format format, emp_error *err)
{
    struct lines l = {.is_for_people = cli_format_is_for_people(format)};

    if (object == NULL || format == EMP_SHEET_JSON) return cli_print_json(object, err);
    EMP_SHEET_INIT(&l.sheet, setting_columns);
    add_value(&l, "", object);
    json_decref(object);
    return cli_print_sheet(&l.sheet, format, err);
}

enum { USUAL_WIDTH = 80, LEAST_WIDTH = 40 };

int cli_terminal_width(FILE *stream)
{
    int columns = emp_terminal_size_of(stream).columns;

    if (columns == 0) return USUAL_WIDTH;
    return columns < LEAST_WIDTH ? LEAST_WIDTH : columns;
}

void cli_print_entry(const char *word, int column, const char *text)
{
    int width = cli_terminal_width(stdout);
    int used = printf("  %-*s", column - 3, word);

    if (used > column - 1) used = column - 1; /* then the text may be too long */
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (used + 1 + length >= width && used > column) {
            printf("\n%*s", column - 1, "");
            used = column - 1;
        }
        used += printf(" %.*s", length, text);
        text += length;
        text += strspn(text, " ");
    }
    printf("\n");
}

/* ---- lists of what there is --------------------------------------------------------- */

static const emp_sheet_column columns[] = {
    EMP_COLUMN("name", "name", EMP_SHEET_WORD),
    EMP_COLUMN("description", "description", EMP_SHEET_WORD)};

const struct argp_child cli_listing_children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};

error_t cli_listing_parse(int key, char *arg, struct argp_state *state)
{
    cli_listing_args *args = (cli_listing_args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->format; return 0;
    case ARGP_KEY_ARG:
        if (args->name != NULL) cli_usage_error("one NAME only, not also \"%s\"", arg);
        args->name = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void cli_listing_begin(cli_listing *l, emp_sheet_format format)
{
    *l = (cli_listing){.format = format, .object = json_object()};
    EMP_SHEET_INIT(&l->sheet, columns);
}

void cli_listing_add(cli_listing *l, const char *name, const char *text, json_t *object)
{
    json_object_set_new(l->object, name, object);
    if (l->format == EMP_SHEET_TEXT)
        cli_print_entry(name, CLI_LISTING_COLUMN, text);
    else
        EMP_SHEET_ADD(&l->sheet, EMP_V(name), EMP_V(text));
}

emp_status cli_listing_end(cli_listing *l, emp_status st, emp_error *err)
{
    if (st == EMP_OK && l->format == EMP_SHEET_JSON)
        st = cli_print_json(json_incref(l->object), err);
    else if (st == EMP_OK && l->format != EMP_SHEET_TEXT)
        st = emp_sheet_print(stdout, &l->sheet, l->format, err);
    json_decref(l->object);
    emp_sheet_clear(&l->sheet);
    return st;
}

void cli_listing_more(emp_sheet_format format, const char *command)
{
    if (format == EMP_SHEET_TEXT) printf("emplace %s NAME describes one.\n", command);
}

emp_status cli_listing_one(const char *name, json_t *object, emp_sheet_format format,
                           emp_error *err)
{
    if (format != EMP_SHEET_JSON) return cli_print_object(object, format, err);
    json_t *list = json_object();
    json_object_set_new(list, name, object);
    return cli_print_json(list, err);
}
