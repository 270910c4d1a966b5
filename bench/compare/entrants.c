// SPDX-License-Identifier: GPL-3.0-or-later
/* The entrants of a comparison: all methods with their presets, or one method with several lists of
 * options. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "bench/compare/comparison.h"
#include "run/methods.h"
#include "run/outside/outside.h"

/* The first preset goes by only the method's name, as in the tables. */
static void add(emp_entrant *entrant, const emp_method *method, const char *preset,
                size_t length, bool is_first)
{
    emp_text key = {entrant->key, sizeof entrant->key, 0};

    *entrant = (emp_entrant){.method = method,
                             .is_budgeted = method->uses_budget,
                             .is_drawn = method->uses_seed};
    snprintf(entrant->preset, sizeof entrant->preset, "%.*s", (int)length, preset);
    emp_text_add(&key, "%s", method->name);
    if (!is_first) emp_text_add(&key, "-%s", entrant->preset);
}

int32_t emp_entrants_list(emp_entrant entrants[EMP_COMPARISON_ENTRANTS])
{
    const emp_method *method;
    int32_t           count = 0;

    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++) {
        if (method->members != NULL) continue;
        const char *at = method->presets != NULL ? method->presets : "";
        bool        is_first = true;
        do { /* "careful|fast" */
            size_t length = strcspn(at, "|");
            assert(count < EMP_COMPARISON_ENTRANTS);
            add(&entrants[count++], method, at, length, is_first);
            is_first = false;
            at += length;
            at += strspn(at, "|");
        } while (*at != '\0');
    }
    return count;
}

static emp_status add_outside(emp_entrant entrants[EMP_COMPARISON_ENTRANTS],
                              int32_t *count, const char *name, emp_error *err)
{
    const emp_method *method = NULL;

    EMP_CHECK(emp_method_find(&method, name, err));
    if (*count == EMP_COMPARISON_ENTRANTS)
        return EMP_ERROR(EMP_EINVAL, "more than %d methods", EMP_COMPARISON_ENTRANTS);
    emp_entrant *e = &entrants[*count];
    add(e, method, "", 0, true);
    emp_outside_title(e->key, sizeof e->key, name);
    for (int32_t i = 0; i < *count; i++)
        if (strcmp(entrants[i].key, e->key) == 0)
            return EMP_ERROR(EMP_EINVAL,
                             "two methods are called %s; give yours another name, as in "
                             "mine=%s",
                             e->key, name);
    (*count)++;
    return EMP_OK;
}

emp_status emp_entrants_add_outside(emp_entrant entrants[EMP_COMPARISON_ENTRANTS],
                                    int32_t *count, const char *methods, emp_error *err)
{
    char name[EMP_RECORD_TEXT_BYTES];

    for (const char *at = methods; at != NULL;) {
        const size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (emp_outside_is_name(name)) EMP_CHECK(add_outside(entrants, count, name, err));
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return EMP_OK;
}

const char *emp_entrant_spelling(const emp_entrant *e)
{
    return e->method->is_outside ? e->method->name : e->key;
}

/* Size of the struct that the options are read into. */
static size_t bytes_of(const emp_option *option)
{
    size_t bytes = sizeof(double);

    for (; option != NULL && option->name != NULL; option++)
        if (option->offset + sizeof(double) > bytes)
            bytes = option->offset + sizeof(double);
    return bytes;
}

/* Now, and not after hours of other methods' runs. */
static emp_status check_options(const emp_entrant *e, emp_error *err)
{
    if (e->method->is_outside) return EMP_OK; /* only the method knows its options */
    const emp_method_params params = {.preset = e->preset[0] == '\0' ? NULL : e->preset,
                                      .options = e->options};
    unsigned char *values = EMP_NEW_ARRAY(unsigned char, bytes_of(e->method->options));

    if (values == NULL) return EMP_ERROR(EMP_ENOMEM, "options of %s", e->key);
    const emp_status st = emp_method_options_parse(values, e->method, &params, err);
    emp_free(values);
    return st;
}

static emp_entrant *find(emp_entrant *entrants, int32_t count, const char *key,
                         size_t length)
{
    for (int32_t i = 0; i < count; i++)
        if (strlen(entrants[i].key) == length &&
            memcmp(entrants[i].key, key, length) == 0)
            return &entrants[i];
    return NULL;
}

emp_status emp_entrants_set_options(emp_entrant *entrants, int32_t count,
                                    const char *text, emp_error *err)
{
    const size_t length = strcspn(text, ":");
    emp_entrant *e = find(entrants, count, text, length);

    if (text[length] != ':')
        return EMP_ERROR(EMP_EINVAL,
                         "options \"%.64s\" name no method; give METHOD:KEY=VALUE,...",
                         text);
    if (e == NULL)
        return EMP_ERROR(EMP_EINVAL,
                         "options are given for \"%.*s\", which the comparison does not "
                         "have; give a name of --methods",
                         (int)length, text);
    if (e->options != NULL)
        return EMP_ERROR(EMP_EINVAL, "%s has options twice; give all of them at once",
                         e->key);
    e->options = &text[length + 1];
    return check_options(e, err);
}

/* Finds a word of a comma-separated list. */
static bool has_option(const char *list, const char *word, size_t length)
{
    for (const char *at = list; at != NULL && *at != '\0';) {
        const size_t own = strcspn(at, ",");
        if (own == length && memcmp(at, word, length) == 0) return true;
        at += own + (at[own] == ',');
    }
    return false;
}

/* Names an entrant by the options that not all arms have; false if there is no room. */
static bool name_arm(emp_entrant *e, const emp_entrant *entrants, int32_t count)
{
    emp_text key = {e->key, sizeof e->key, 0};
    size_t   bytes = 1;

    for (const char *at = e->options; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, ",");
        int32_t      with = 0;
        for (int32_t i = 0; i < count; i++)
            with += has_option(entrants[i].options, at, length);
        if (with < count) {
            bytes += length + (key.used > 0);
            emp_text_add(&key, "%s%.*s", key.used > 0 ? "," : "", (int)length, at);
        }
        at += length + (at[length] == ',');
    }
    if (key.used == 0) emp_text_add(&key, "base");
    return bytes <= sizeof e->key;
}

/* The item "NAME=VALUE" of that name in a list of options, or NULL. */
static const char *find_option(const char *list, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = list; at != NULL && *at != '\0';) {
        if (strncmp(at, name, length) == 0 && at[length] == '=') return at;
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return NULL;
}

static bool is_named(const emp_entrant *arms, int32_t count, const char *name)
{
    for (int32_t i = 0; i < count; i++)
        if (find_option(arms[i].options, name) != NULL) return true;
    return false;
}

void emp_entrants_describe_base(emp_text *text, const emp_entrant *arms, int32_t count)
{
    const emp_method *method = arms[0].method;
    const size_t      preset_length = strlen(arms[0].preset);
    size_t            length = 0;
    int32_t           preset = 0;
    const char       *before = ": ";

    emp_text_add(text, "%s", method->name);
    if (method->presets != NULL) {
        if (preset_length > 0)
            preset = emp_words_find(method->presets, arms[0].preset, preset_length);
        const char *name = emp_words_at(method->presets, preset, &length);
        emp_text_add(text, ", preset %.*s", (int)length, name);
    }
    for (const emp_option *o = method->options; o != NULL && o->name != NULL; o++) {
        const char *own = find_option(arms[0].options, o->name);
        char        value[EMP_OPTION_TEXT_BYTES];
        if (!is_named(arms, count, o->name)) continue;
        emp_option_write_default(value, o, preset);
        if (own != NULL)
            emp_text_add(text, "%s%.*s", before, (int)strcspn(own, ","), own);
        else
            emp_text_add(text, "%s%s=%s", before, o->name, value);
        before = ", ";
    }
}

static char *trim(char *text)
{
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n > 0 && strchr(" \t", text[n - 1]) != NULL; n--)
        text[n - 1] = '\0';
    return text;
}

static emp_status split_arms(emp_entrant entrants[EMP_COMPARISON_ENTRANTS],
                             int32_t *count, const emp_method *type, const char *preset,
                             char *arms, emp_error *err)
{
    for (char *at = arms; at != NULL;) {
        char *next = strchr(at, ';');
        if (next != NULL) *next++ = '\0';
        if (*count == EMP_COMPARISON_ENTRANTS)
            return EMP_ERROR(EMP_EINVAL, "more than %d arms", EMP_COMPARISON_ENTRANTS);
        const char  *options = trim(at);
        emp_entrant *e = &entrants[(*count)++];
        if (*options == '\0')
            return EMP_ERROR(EMP_EINVAL,
                             "arm %d has no options; give \"base\" for none, as in "
                             "\"base; groups=48\"",
                             *count);
        add(e, type, preset != NULL ? preset : "", preset != NULL ? strlen(preset) : 0,
            true);
        e->options = strcmp(options, "base") == 0 ? NULL : options;
        EMP_CHECK(check_options(e, err));
        at = next;
    }
    return EMP_OK;
}

emp_status emp_entrants_of_arms(emp_entrant entrants[EMP_COMPARISON_ENTRANTS],
                                int32_t *count, const char *method, const char *preset,
                                char *arms, emp_error *err)
{
    const emp_method *type = NULL;
    int32_t           one = 0;

    *count = 0;
    EMP_CHECK(emp_methods_find(&type, &one, 1, method, err));
    EMP_CHECK(split_arms(entrants, count, type, preset, arms, err));
    if (*count < 2)
        return EMP_ERROR(EMP_EINVAL, "an ablation has two arms or more, as in \"base; "
                                     "groups=48\"");
    for (int32_t i = 0; i < *count; i++) {
        entrants[i].key[0] = '\0';
        if (!name_arm(&entrants[i], entrants, *count))
            return EMP_ERROR(EMP_EINVAL,
                             "arm %d differs from the others by more than %d characters",
                             i + 1, EMP_COMPARISON_NAME_BYTES - 1);
        for (int32_t j = 0; j < i; j++)
            if (strcmp(entrants[i].key, entrants[j].key) == 0)
                return EMP_ERROR(EMP_EINVAL, "arms %d and %d are the same: %s", j + 1,
                                 i + 1, entrants[i].key);
    }
    return EMP_OK;
}
