// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/commands/option_table.h"

#include <stdio.h>

#include "base/text/text.h"
#include "cli/format.h"

enum { COLUMN = 26 };

/* The default; of presets that differ, both: "256/12". */
static void write_defaults(char text[2 * EMP_OPTION_TEXT_BYTES], const emp_option *option,
                           const char *presets)
{
    emp_text line = {text, 2 * EMP_OPTION_TEXT_BYTES, 0};
    char     value[EMP_OPTION_TEXT_BYTES];
    size_t   length;

    for (int32_t i = 0; i == 0 || emp_words_at(presets, i, &length) != NULL; i++) {
        if (i > 0 && emp_option_default(option, i) == emp_option_default(option, 0))
            continue;
        emp_option_write_default(value, option, i);
        emp_text_add(&line, "%s%s", i == 0 ? "" : "/", value);
    }
}

void cli_print_option_table(const emp_option *list, const char *presets)
{
    char defaults[2 * EMP_OPTION_TEXT_BYTES], range[EMP_OPTION_TEXT_BYTES];
    char name[2 * EMP_OPTION_TEXT_BYTES + 64], text[EMP_OPTION_TEXT_BYTES + 512];

    for (const emp_option *o = list; o != NULL && o->name != NULL; o++) {
        write_defaults(defaults, o, presets);
        emp_option_write_range(range, o);
        snprintf(name, sizeof name, "%s=%s", o->name, defaults);
        snprintf(text, sizeof text, "%s (%s)", o->help, range);
        cli_print_entry(name, COLUMN, text);
    }
}

json_t *cli_json_words(const char *words)
{
    json_t     *array = json_array();
    size_t      length;
    const char *word;

    for (int32_t i = 0; (word = emp_words_at(words, i, &length)) != NULL; i++)
        json_array_append_new(array, json_stringn(word, length));
    return array;
}

/* A value of the option. */
static json_t *json_value(const emp_option *option, double value)
{
    size_t      length = 0;
    const char *word;

    switch (option->kind) {
    case EMP_OPTION_BOOL: return json_boolean(value != 0.0);
    case EMP_OPTION_INTEGER: return json_integer((json_int_t)value);
    case EMP_OPTION_REAL: return json_real(value);
    case EMP_OPTION_WORD: break;
    }
    word = emp_words_at(option->words, (int32_t)value, &length);
    return json_stringn(word, length);
}

/* With presets the default is an object of one for each. */
static json_t *json_option(const emp_option *option, const char *presets)
{
    json_t     *object = json_object(), *defaults = json_object();
    size_t      length;
    const char *preset;

    for (int32_t i = 0; (preset = emp_words_at(presets, i, &length)) != NULL; i++)
        json_object_setn_new(defaults, preset, length,
                             json_value(option, emp_option_default(option, i)));
    if (presets == NULL)
        json_object_set_new(object, "default",
                            json_value(option, emp_option_default(option, 0)));
    else
        json_object_set(object, "default", defaults);
    json_decref(defaults);
    if (option->kind == EMP_OPTION_WORD) {
        json_object_set_new(object, "choices", cli_json_words(option->words));
    } else if (option->kind != EMP_OPTION_BOOL) {
        json_object_set_new(object, "minimum", json_value(option, option->low));
        json_object_set_new(object, "maximum", json_value(option, option->high));
    }
    json_object_set_new(object, "help", json_string(option->help));
    return object;
}

json_t *cli_json_option_table(const emp_option *list, const char *presets)
{
    json_t *object = json_object();

    for (const emp_option *o = list; o != NULL && o->name != NULL; o++)
        json_object_set_new(object, o->name, json_option(o, presets));
    return object;
}
