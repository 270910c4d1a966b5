// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/colocrl/options.h"

#include <stddef.h>
#include <string.h>

#include "search/options.h"

static const emp_named_option table[] = {
#define X(name, paper, low, high, whole, help) \
    {#name, offsetof(emp_colocrl_options, name), low, high, whole, NULL},
    EMP_COLOCRL_OPTION_LIST(X)
#undef X
#define X(name, paper, paper_name, names, help) \
    {#name, offsetof(emp_colocrl_options, name), 0, 0, 1, names},
        EMP_COLOCRL_CHOICE_LIST(X)
#undef X
};

static const emp_colocrl_options paper_preset = {
#define X(name, paper, low, high, whole, help) .name = paper,
    EMP_COLOCRL_OPTION_LIST(X)
#undef X
#define X(name, paper, paper_name, names, help) .name = paper,
        EMP_COLOCRL_CHOICE_LIST(X)
#undef X
};

emp_status emp_colocrl_options_parse(emp_colocrl_options *options, const char *preset,
                                     const char *text, emp_error *err)
{
    if (preset != NULL && strcmp(preset, "paper") != 0)
        return EMP_ERROR(EMP_EINVAL, "colocrl has no preset '%s'; it has paper", preset);
    *options = paper_preset;
    return emp_named_options_parse(options, "colocrl", table,
                                   sizeof table / sizeof *table, text, err);
}
