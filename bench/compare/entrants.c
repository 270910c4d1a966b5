// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/compare/entrants.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "run/methods.h"

/* The first preset goes by the method's name alone, as in the tables. */
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

/* ---- options ---- */

/* Of the struct that the options are read into. */
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
