// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/options.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    size_t      offset;
    double      low, high;
    int         whole;
    const char *names; /* of the values 0, 1, ...; NULL = numbers */
} option;

static const option table[] = {
#define X(name, paper, emplace, low, high, whole, help) \
    {#name, offsetof(emp_hdp_options, name), low, high, whole, NULL},
    EMP_HDP_OPTION_LIST(X)
#undef X
#define X(name, paper, emplace, paper_name, names, help) \
    {#name, offsetof(emp_hdp_options, name), 0, 0, 1, names},
        EMP_HDP_CHOICE_LIST(X)
#undef X
};

static const emp_hdp_options paper_preset = {
#define X(name, paper, emplace, low, high, whole, help) .name = paper,
    EMP_HDP_OPTION_LIST(X)
#undef X
#define X(name, paper, emplace, paper_name, names, help) .name = paper,
        EMP_HDP_CHOICE_LIST(X)
#undef X
};

static const emp_hdp_options emplace_preset = {
#define X(name, paper, emplace, low, high, whole, help) .name = emplace,
    EMP_HDP_OPTION_LIST(X)
#undef X
#define X(name, paper, emplace, paper_name, names, help) .name = emplace,
        EMP_HDP_CHOICE_LIST(X)
#undef X
};

static const char known[] =
#define X(name, paper, emplace, low, high, whole, help) " " #name
    EMP_HDP_OPTION_LIST(X)
#undef X
#define X(name, paper, emplace, paper_name, names, help) " " #name
        EMP_HDP_CHOICE_LIST(X);
#undef X

static const option *find(const char *key, size_t length)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strlen(table[i].name) == length && memcmp(table[i].name, key, length) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

/* The number of a name in a list with blanks between; -1 = it is not there. */
static double find_name(const char *names, const char *name, size_t length)
{
    for (int number = 0; *names != '\0'; number++) {
        size_t size = strcspn(names, " ");
        if (size == length && memcmp(names, name, size) == 0) return number;
        names += size + (names[size] == ' ');
    }
    return -1.0;
}

/* The value of an option that has names. */
static emp_status set_choice(emp_hdp_options *options, const option *o, const char *text,
                             size_t length, emp_error *err)
{
    emp_status st = EMP_OK;
    double     value = find_name(o->names, text, length);

    if (value < 0) {
        EMP_FAIL(EMP_EINVAL, "hdp option %s is '%.*s', want one of: %s", o->name,
                 (int)length, text, o->names);
    }
    memcpy((char *)options + o->offset, &value, sizeof value);

cleanup:
    return st;
}

/* One "key=value" of \a length characters. */
static emp_status set_option(emp_hdp_options *options, const char *text, size_t length,
                             emp_error *err)
{
    emp_status    st = EMP_OK;
    const char   *equals = (const char *)memchr(text, '=', length);
    size_t        key_length = equals != NULL ? (size_t)(equals - text) : length;
    const option *o = find(text, key_length);
    char         *end = NULL;
    double        value;

    if (o == NULL) {
        EMP_FAIL(EMP_EINVAL, "hdp has no option '%.*s'; it has%s", (int)key_length, text,
                 known);
    }
    if (o->names != NULL) {
        const char *name = equals != NULL ? equals + 1 : "";
        size_t      rest = equals != NULL ? length - key_length - 1 : 0;
        EMP_TRY(set_choice(options, o, name, rest, err));
        goto cleanup;
    }
    value = equals != NULL ? strtod(equals + 1, &end) : 0.0;
    if (end != text + length || end == equals + 1) {
        EMP_FAIL(EMP_EINVAL, "hdp option '%.*s' needs a number, as in %s=%g", (int)length,
                 text, o->name, o->low);
    }
    if (!(value >= o->low && value <= o->high) || (o->whole && value != floor(value))) {
        EMP_FAIL(EMP_EINVAL, "hdp option %s is %g, want a%s number in %g..%g", o->name,
                 value, o->whole ? " whole" : "", o->low, o->high);
    }
    memcpy((char *)options + o->offset, &value, sizeof value);

cleanup:
    return st;
}

emp_status emp_hdp_options_parse(emp_hdp_options *options, const char *preset,
                                 const char *text, emp_error *err)
{
    emp_status st = EMP_OK;

    if (preset == NULL || strcmp(preset, "paper") == 0) {
        *options = paper_preset;
    } else if (strcmp(preset, "emplace") == 0) {
        *options = emplace_preset;
    } else {
        EMP_FAIL(EMP_EINVAL, "hdp has no preset '%s'; it has paper, emplace", preset);
    }
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        EMP_TRY(set_option(options, text, length, err));
        text += length + (text[length] == ',');
    }

cleanup:
    return st;
}
