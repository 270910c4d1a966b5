// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/format.h"

#include <stdio.h>
#include <string.h>

#include "base/io/terminal.h"
#include "base/text/units.h"
#include "cli/cli.h"

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
    case 'f': *format = cli_format(arg); return 0;
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
        snprintf(text, sizeof text, "%s", json_is_true(value) ? "yes" : "no");
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
    return cli_print_sheet(&l.sheet, format, NULL, err);
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
