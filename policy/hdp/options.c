// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/options.h"

#include <stddef.h>
#include <string.h>

#include "policy/options/options.h"

static const emp_named_option table[] = {
#define X(name, paper, emplace, low, high, whole, help) \
    {#name, offsetof(emp_hdp_options, name), low, high, whole, NULL},
    EMP_HDP_OPTION_LIST(X)
#undef X
#define X(name, paper, emplace, paper_name, emplace_name, names, help) \
    {#name, offsetof(emp_hdp_options, name), 0, 0, 1, names},
        EMP_HDP_CHOICE_LIST(X)
#undef X
};

static const emp_hdp_options paper_preset = {
#define X(name, paper, emplace, low, high, whole, help) .name = paper,
    EMP_HDP_OPTION_LIST(X)
#undef X
#define X(name, paper, emplace, paper_name, emplace_name, names, help) .name = paper,
        EMP_HDP_CHOICE_LIST(X)
#undef X
};

static const emp_hdp_options emplace_preset = {
#define X(name, paper, emplace, low, high, whole, help) .name = emplace,
    EMP_HDP_OPTION_LIST(X)
#undef X
#define X(name, paper, emplace, paper_name, emplace_name, names, help) .name = emplace,
        EMP_HDP_CHOICE_LIST(X)
#undef X
};

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
    EMP_TRY(emp_named_options_parse(options, "hdp", table, sizeof table / sizeof *table,
                                    text, err));

cleanup:
    return st;
}
