// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/text/options.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"
#include "base/text/text.h"
#include "base/text/units.h"

/* ---- lists of words ---------------------------------------------------------------- */

const char *emp_words_at(const char *words, int32_t index, size_t *length)
{
    while (words != NULL) {
        *length = strcspn(words, "|");
        if (index-- == 0) return words;
        words = words[*length] == '|' ? words + *length + 1 : NULL;
    }
    return NULL;
}

int32_t emp_words_find(const char *words, const char *word, size_t length)
{
    const char *own;
    size_t      size;

    for (int32_t i = 0; (own = emp_words_at(words, i, &size)) != NULL; i++)
        if (size == length && memcmp(own, word, length) == 0) return i;
    return -1;
}

/* ---- one option -------------------------------------------------------------------- */

double emp_option_default(const emp_option *option, int32_t preset)
{
    return option->preset[preset < option->preset_count ? preset : 0];
}

void emp_option_write_default(char text[EMP_OPTION_TEXT_BYTES], const emp_option *option,
                              int32_t preset)
{
    size_t       length = 0;
    const double value = emp_option_default(option, preset);
    const char  *word = emp_words_at(option->words, (int32_t)value, &length);

    if (word != NULL)
        snprintf(text, EMP_OPTION_TEXT_BYTES, "%.*s", (int)length, word);
    else
        snprintf(text, EMP_OPTION_TEXT_BYTES, "%.15g", value);
}

void emp_option_write_range(char text[EMP_OPTION_TEXT_BYTES], const emp_option *option)
{
    if (option->kind == EMP_OPTION_BOOL)
        snprintf(text, EMP_OPTION_TEXT_BYTES, "0|1");
    else if (option->kind == EMP_OPTION_WORD)
        snprintf(text, EMP_OPTION_TEXT_BYTES, "%s", option->words);
    else
        snprintf(text, EMP_OPTION_TEXT_BYTES, "%.15g..%.15g", option->low, option->high);
}

static void store(void *values, const emp_option *option, double value)
{
    char         *at = (char *)values + option->offset;
    const int32_t whole = option->kind == EMP_OPTION_REAL ? 0 : (int32_t)value;
    const bool    is_true = value != 0.0;

    switch (option->kind) {
    case EMP_OPTION_BOOL: memcpy(at, &is_true, sizeof is_true); break;
    case EMP_OPTION_REAL: memcpy(at, &value, sizeof value); break;
    case EMP_OPTION_INTEGER:
    case EMP_OPTION_WORD: memcpy(at, &whole, sizeof whole); break;
    }
}

/* Whether the text of \a length characters is a value of the option. */
static bool read_value(double *value, const emp_option *option, const char *text,
                       size_t length)
{
    char *end = NULL;

    if (option->kind == EMP_OPTION_WORD) {
        *value = emp_words_find(option->words, text, length);
        return *value >= 0.0;
    }
    if (length == 0 || isspace((unsigned char)*text)) return false;
    *value = emp_number_parse(text, &end);
    return end == text + length && *value >= option->low && *value <= option->high &&
           (option->kind == EMP_OPTION_REAL || *value == floor(*value));
}

/* ---- tables ------------------------------------------------------------------------ */

/* "samples, rate". */
static void list_names(emp_text *text, const emp_option *list)
{
    for (const emp_option *o = list; o->name != NULL; o++)
        emp_text_add(text, "%s%s", o == list ? "" : ", ", o->name);
}

static emp_status refuse_value(const emp_option_table *table, const emp_option *option,
                               const char *text, size_t length, emp_error *err)
{
    static const char *const wanted[] = {[EMP_OPTION_BOOL] = "be one of",
                                         [EMP_OPTION_INTEGER] = "be a whole number in",
                                         [EMP_OPTION_REAL] = "lie in",
                                         [EMP_OPTION_WORD] = "be one of"};
    char                     range[EMP_OPTION_TEXT_BYTES];
    /* Shares were once percents or thousandths. */
    const char *hint = option->kind == EMP_OPTION_REAL && option->high == 1.0 &&
                               emp_number_parse(text, NULL) > 1.0
                           ? "; 5 % is 0.05"
                           : "";

    emp_option_write_range(range, option);
    return EMP_ERROR(EMP_EINVAL, "%s: option %s %s%.*s, must %s %s%s", table->owner,
                     option->name, length == 0 ? "has no value" : "is ", (int)length,
                     text, wanted[option->kind], range, hint);
}

static emp_status refuse_name(const emp_option_table *table, const char *name,
                              size_t length, emp_error *err)
{
    char        names[EMP_ERROR_MSG_BYTES], hint[EMP_NEAREST_BYTES];
    emp_text    known = {names, sizeof names, 0};
    emp_nearest near = emp_nearest_begin(name, length, "");

    list_names(&known, table->list);
    for (const emp_option *o = table->list; o->name != NULL; o++)
        emp_nearest_offer(&near, o->name, strlen(o->name));
    return EMP_ERROR(EMP_EINVAL, "%s has no option \"%.*s\"%s; it has %s", table->owner,
                     (int)length, name, emp_nearest_hint(&near, hint), names);
}

/* One "name=value" of \a length characters. */
static emp_status parse_one(void *values, const emp_option_table *table, const char *text,
                            size_t length, emp_error *err)
{
    const char       *equals = memchr(text, '=', length);
    const size_t      name = equals == NULL ? length : (size_t)(equals - text);
    const char       *given = equals == NULL ? text + length : equals + 1;
    const size_t      given_length = (size_t)(text + length - given);
    const emp_option *o = table->list;
    double            value;

    if (o == NULL)
        return EMP_ERROR(EMP_EINVAL, "%s takes no options, not \"%.*s\"", table->owner,
                         (int)length, text);
    while (o->name != NULL &&
           (strlen(o->name) != name || memcmp(o->name, text, name) != 0))
        o++;
    if (o->name == NULL) {
        return refuse_name(table, text, name, err);
    }
    if (!read_value(&value, o, given, given_length))
        return refuse_value(table, o, given, given_length, err);
    store(values, o, value);
    return EMP_OK;
}

/* Whether an earlier item has the name of the item at \a item. */
static bool is_doubled(const char *text, const char *item)
{
    const size_t name = strcspn(item, "=,");

    for (const char *at = text; at < item; at += strcspn(at, ",") + 1)
        if (strcspn(at, "=,") == name && memcmp(at, item, name) == 0) return true;
    return false;
}

static emp_status find_preset(int32_t *index, const emp_option_table *table,
                              const char *preset, emp_error *err)
{
    char        hint[EMP_NEAREST_BYTES];
    emp_nearest near;

    *index = preset == NULL ? 0 : emp_words_find(table->presets, preset, strlen(preset));
    if (*index >= 0) return EMP_OK;
    near = emp_nearest_begin(preset, strlen(preset), "");
    if (table->presets == NULL)
        return EMP_ERROR(EMP_EINVAL, "%s has no presets, not \"%s\"", table->owner,
                         preset);
    emp_nearest_offer_list(&near, table->presets);
    return EMP_ERROR(EMP_EINVAL, "%s has no preset \"%s\"%s; it has %s", table->owner,
                     preset, emp_nearest_hint(&near, hint), table->presets);
}

emp_status emp_options_parse(void *values, const emp_option_table *table,
                             const char *preset, const char *text, emp_error *err)
{
    int32_t     column;
    const char *first = text;

    EMP_CHECK(find_preset(&column, table, preset, err));
    for (const emp_option *o = table->list; o != NULL && o->name != NULL; o++)
        store(values, o, emp_option_default(o, column));
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        EMP_CHECK(parse_one(values, table, text, length, err));
        if (is_doubled(first, text))
            return EMP_ERROR(EMP_EINVAL, "%s: option %.*s is given twice", table->owner,
                             (int)strcspn(text, "=,"), text);
        text += length + (text[length] == ',');
    }
    return EMP_OK;
}

bool emp_word_list_has(const char *list, const char *word)
{
    size_t length = strlen(word);

    if (list == NULL) return true;
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        if (*at == ',') at++;
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

typedef const char *key_function(const void *context, int32_t i);

static bool is_key(const char *word, size_t length, key_function *key,
                   const void *context)
{
    const char *name;

    for (int32_t i = 0; (name = key(context, i)) != NULL; i++) {
        if (strlen(name) == length && strncmp(name, word, length) == 0) return true;
    }
    return false;
}

/* Whether key number i stands before, too. */
static bool is_repeated(int32_t i, key_function *key, const void *context)
{
    for (int32_t k = 0; k < i; k++)
        if (strcmp(key(context, k), key(context, i)) == 0) return true;
    return false;
}

/* As many whole keys as there is room for; an ellipsis stands for the others. */
static void list_keys(char *text, size_t size, key_function *key, const void *context)
{
    static const char others[] = ", ...";
    const char       *name;
    size_t            used = 0;

    text[0] = '\0';
    for (int32_t i = 0; (name = key(context, i)) != NULL; i++) {
        if (is_repeated(i, key, context)) continue;
        const char *separator = i == 0 ? "" : ", ";
        size_t      length = strlen(separator) + strlen(name);
        if (used + length + sizeof others > size) {
            snprintf(text + used, size - used, "%s", others);
            return;
        }
        snprintf(text + used, size - used, "%s%s", separator, name);
        used += length;
    }
}

static emp_nearest nearest_key(const char *word, size_t length, key_function *key,
                               const void *context)
{
    emp_nearest near = emp_nearest_begin(word, length, "");
    const char *name;

    for (int32_t i = 0; (name = key(context, i)) != NULL; i++)
        emp_nearest_offer(&near, name, strlen(name));
    return near;
}

emp_status emp_word_list_check(const char *list, const char *what,
                               const char *(*key)(const void *context, int32_t i),
                               const void *context, emp_error *err)
{
    for (const char *at = list; at != NULL;) {
        size_t length = strcspn(at, ",");
        if (!is_key(at, length, key, context)) {
            char known[400];
            char hint[EMP_NEAREST_BYTES];
            list_keys(known, sizeof known, key, context);
            emp_nearest near = nearest_key(at, length, key, context);
            return EMP_ERROR(EMP_EINVAL, "%s \"%.*s\"%s; it has %s", what, (int)length,
                             at, emp_nearest_hint(&near, hint), known);
        }
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return EMP_OK;
}

/* Which key an item "key=text" has; -1: none of them. */
static int find_key(const char *const *keys, const char *item, size_t length)
{
    for (int i = 0; keys[i] != NULL; i++) {
        size_t size = strlen(keys[i]);
        if (length >= size && memcmp(item, keys[i], size) == 0) return i;
    }
    return -1;
}

emp_status emp_spec_cut(emp_spec_parts *parts, const char *spec, const char *const *keys,
                        emp_error *err)
{
    const char *item = spec + strcspn(spec, ":");
    emp_text    rest = {parts->rest, EMP_SPEC_BYTES, 0};
    bool        is_given[EMP_SPEC_TEXTS_MAX] = {false};

    *parts = (emp_spec_parts){0};
    if (strlen(spec) >= EMP_SPEC_BYTES)
        return EMP_ERROR(EMP_EINVAL, "a spec of more than %d characters",
                         EMP_SPEC_BYTES - 1);
    if (*item == ':') item++;
    while (*item != '\0') {
        size_t     length = strcspn(item, ",");
        int        key = find_key(keys, item, length);
        int        skip = key >= 0 ? (int)strlen(keys[key]) : 0;
        const bool is_list = key >= 0 && keys[key][skip - 1] == '.';
        if (key >= 0 && is_given[key] && !is_list)
            return EMP_ERROR(EMP_EINVAL, "%s: %.*s is given twice", spec, skip - 1,
                             keys[key]);
        emp_text *to = &rest, text = {0};
        if (key >= 0) {
            text = (emp_text){parts->text[key], EMP_SPEC_BYTES, strlen(parts->text[key])};
            to = &text;
            is_given[key] = true;
        }
        emp_text_add(to, "%s%.*s", to->used > 0 ? "," : "", (int)length - skip,
                     item + skip);
        item += length;
        if (*item == ',') item++;
    }
    return EMP_OK;
}
