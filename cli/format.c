// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/format.h"

#include <stdio.h>

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

/* ---- objects ----------------------------------------------------------------------- */

static const emp_sheet_column columns[] = {EMP_COLUMN("key", "key", EMP_SHEET_WORD),
                                           EMP_COLUMN("value", "value", EMP_SHEET_WORD)};

static void add_value(emp_sheet *s, const char *key, json_t *value);

static void add_member(emp_sheet *s, const char *key, const char *name, json_t *value)
{
    char path[KEY_BYTES];

    snprintf(path, sizeof path, "%s%s%s", key, key[0] == '\0' ? "" : ".", name);
    add_value(s, path, value);
}

static void add_list(emp_sheet *s, const char *key, json_t *list)
{
    char place[24];

    for (size_t i = 0; i < json_array_size(list); i++) {
        snprintf(place, sizeof place, "%zu", i);
        add_member(s, key, place, json_array_get(list, i));
    }
}

static void add_scalar(emp_sheet *s, const char *key, json_t *value)
{
    char text[EMP_SHEET_CELL_BYTES];

    switch (json_typeof(value)) {
    case JSON_INTEGER:
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
        break;
    case JSON_REAL: snprintf(text, sizeof text, "%.9g", json_real_value(value)); break;
    case JSON_TRUE: snprintf(text, sizeof text, "yes"); break;
    case JSON_FALSE: snprintf(text, sizeof text, "no"); break;
    default: text[0] = '\0'; break;
    }
    EMP_SHEET_ADD(s, EMP_V(key),
                  EMP_V(json_is_string(value) ? json_string_value(value) : text));
}

static void add_value(emp_sheet *s, const char *key, json_t *value)
{
    const char *name;
    json_t     *member;

    if (json_is_array(value)) {
        add_list(s, key, value);
        return;
    }
    if (!json_is_object(value)) {
        add_scalar(s, key, value);
        return;
    }
    json_object_foreach(value, name, member) add_member(s, key, name, member);
}

emp_status cli_print_object(json_t *object, emp_sheet_format format, emp_error *err)
{
    emp_sheet s;

    if (object == NULL || format == EMP_SHEET_JSON) return cli_print_json(object, err);
    EMP_SHEET_INIT(&s, columns);
    add_value(&s, "", object);
    json_decref(object);
    return cli_print_sheet(&s, format, NULL, err);
}
