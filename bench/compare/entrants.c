// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/compare/entrants.h"

#include <assert.h>
#include <string.h>

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
