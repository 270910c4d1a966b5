// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/hdp/options.h"

#include <stddef.h>
#include <string.h>

#include "policy/hdp/fixed_groups.h"
#include "search/options.h"

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

/* Whether single values that are right are so together. */
static emp_status check_together(const emp_hdp_options *o, emp_error *err)
{
    bool is_learned = o->grouping == EMP_GROUPING_LEARNED;

    if ((o->elites > 0 || o->starts > 0) &&
        (is_learned || o->grouping == EMP_GROUPING_NONE))
        return EMP_ERROR(EMP_EINVAL,
                         "hdp: elites and starts are for groups that do not change; "
                         "with grouping=%s give elites=0,strays=0,starts=0",
                         is_learned ? "learned" : "none");
    if (o->strays > 0 && o->elites == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "hdp: strays are for elites; with elites=0 give strays=0");
    if (o->starts > 0 && o->refine_smallest > o->refine_largest)
        return EMP_ERROR(EMP_EINVAL, "hdp: refine_smallest=%g is above refine_largest=%g",
                         o->refine_smallest, o->refine_largest);
    return EMP_OK;
}

emp_status emp_hdp_options_parse(emp_hdp_options *options, const char *preset,
                                 const char *text, emp_error *err)
{
    if (preset == NULL || strcmp(preset, "paper") == 0) {
        *options = paper_preset;
    } else if (strcmp(preset, "emplace") == 0) {
        *options = emplace_preset;
    } else {
        return EMP_ERROR(EMP_EINVAL, "hdp has no preset '%s'; it has paper, emplace",
                         preset);
    }
    EMP_CHECK(emp_named_options_parse(options, "hdp", table, sizeof table / sizeof *table,
                                      text, err));
    return check_together(options, err);
}
