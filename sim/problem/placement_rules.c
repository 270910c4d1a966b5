// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "sim/problem/placement_rules.h"

#include <regex.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"

enum { TOLD_RULES = 4 };

/* A rule that is ready to be asked. */
typedef struct {
    const emp_placement_rule *source;
    const char               *pattern;
    emp_device_id             device;
    regex_t                   regex; /* compiled if the source has one */
    bool                      is_compiled;
    bool                      has_matched, has_placed;
} matcher;

bool emp_glob_matches(const char *glob, const char *text)
{
    const char *star = NULL, *resume = NULL;

    for (;;) {
        if (*glob == '*') { /* at first it takes nothing */
            star = glob++;
            resume = text;
        } else if (*text != '\0' && (*glob == *text || *glob == '?')) {
            glob++, text++;
        } else if (*text == '\0' && *glob == '\0') {
            return true;
        } else if (star != NULL && *resume != '\0') { /* it takes one more */
            glob = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
}

static emp_status find_device(emp_device_id *device, const char *name, const char *path,
                              const emp_machine *machine, emp_error *err)
{
    *device = emp_machine_find(machine, name);
    if (*device < 0)
        return EMP_ERROR(EMP_EFORMAT, "%s: machine '%s' has no device '%s'", path,
                         machine->name, name);
    return EMP_OK;
}

static emp_status compile(matcher *m, int32_t number, const char *path, emp_error *err)
{
    const char *regex = m->source->regex;
    char        why[128];

    for (const char *at = regex; *at != '\0'; at++) {
        bool is_reference = at > regex && at[-1] == '\\' && *at >= '1' && *at <= '9';
        if (*at == '{' || is_reference)
            return EMP_ERROR(EMP_EFORMAT,
                             "%s: rule %d: '%s' has a repeat count or a back-reference, "
                             "which rules cannot have",
                             path, number, regex);
    }
    int code = regcomp(&m->regex, regex, REG_EXTENDED | REG_NOSUB);
    if (code == REG_ESPACE)
        return EMP_ERROR(EMP_ENOMEM, "regular expression '%s'", regex);
    if (code != 0) {
        regerror(code, &m->regex, why, sizeof why);
        return EMP_ERROR(EMP_EFORMAT, "%s: rule %d: '%s': %s", path, number, regex, why);
    }
    m->is_compiled = true;
    return EMP_OK;
}

static emp_status prepare(matcher *m, const emp_placement_rule *rule, int32_t number,
                          const char *path, const emp_machine *machine, emp_error *err)
{
    const char *patterns[] = {rule->op, rule->glob, rule->regex};
    int         given = 0;

    *m = (matcher){.source = rule};
    for (int i = 0; i < 3; i++) {
        if (patterns[i] == NULL) continue;
        m->pattern = patterns[i];
        given++;
    }
    if (given != 1)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s: rule %d has %s of op, glob and regex; it takes one", path,
                         number, given == 0 ? "none" : "several");
    if (rule->device == NULL)
        return EMP_ERROR(EMP_EFORMAT, "%s: rule %d ('%.80s') names no device", path,
                         number, m->pattern);
    if (strlen(m->pattern) > EMP_PLACEMENT_PATTERN_BYTES)
        return EMP_ERROR(EMP_EFORMAT, "%s: rule %d has a pattern of over %d bytes", path,
                         number, EMP_PLACEMENT_PATTERN_BYTES);
    EMP_CHECK(find_device(&m->device, rule->device, path, machine, err));
    return rule->regex != NULL ? compile(m, number, path, err) : EMP_OK;
}

static bool matches(const matcher *m, const char *name)
{
    if (m->source->op != NULL) return strcmp(m->source->op, name) == 0;
    if (m->source->glob != NULL) return emp_glob_matches(m->source->glob, name);
    return regexec(&m->regex, name, 0, NULL, 0) == 0;
}

/* All rules are asked, so that one which comes too late is told from one that is mistaken. */
static emp_device_id device_for(matcher *matchers, int32_t count, const char *name,
                                bool is_placed)
{
    emp_device_id device = -1;

    for (int32_t i = 0; i < count; i++) {
        if (!matches(&matchers[i], name)) continue;
        matchers[i].has_matched = true;
        if (is_placed || device >= 0) continue;
        matchers[i].has_placed = true;
        device = matchers[i].device;
    }
    return device;
}

static emp_status place_ops(emp_device_id *device_of_op, matcher *matchers,
                            const emp_placement_rules *rules, const char *path,
                            const emp_problem *problem, emp_error *err)
{
    const emp_graph *g = problem->graph;
    emp_device_id    rest = -1;
    emp_op_id        first = -1;
    int32_t          unmatched = 0;

    if (rules->default_device != NULL)
        EMP_CHECK(find_device(&rest, rules->default_device, path, problem->machine, err));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        bool          is_placed = device_of_op[op] >= 0;
        emp_device_id device = device_for(matchers, rules->count, g->name[op], is_placed);
        if (is_placed) continue;
        device_of_op[op] = device >= 0 ? device : rest;
        if (device_of_op[op] < 0 && unmatched++ == 0) first = op;
    }
    if (unmatched > 0)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s: %d of %d ops match no rule, and there is no default: the "
                         "first is '%s'",
                         path, unmatched, g->op_count, g->name[first]);
    return EMP_OK;
}

static void report_idle(emp_placement_report *report, const matcher *matchers,
                        int32_t count)
{
    emp_text text = {report->idle, sizeof report->idle, 0};

    for (int32_t i = 0; i < count; i++) {
        if (matchers[i].has_placed) continue;
        if (report->idle_count++ >= TOLD_RULES) continue;
        emp_text_add(&text, "%srule %d ('%.60s') %s", text.used > 0 ? ", " : "", i + 1,
                     matchers[i].pattern,
                     matchers[i].has_matched ? "comes after rules that take its ops"
                                             : "matches no op");
    }
    if (report->idle_count > TOLD_RULES)
        emp_text_add(&text, ", and %d more", report->idle_count - TOLD_RULES);
}

emp_status emp_placement_rules_apply(emp_device_id             *device_of_op,
                                     const emp_placement_rules *rules, const char *path,
                                     const emp_problem    *problem,
                                     emp_placement_report *report, emp_error *err)
{
    emp_status st = EMP_OK;
    matcher   *matchers = NULL;
    int32_t    ready = 0;

    if (rules->count > EMP_PLACEMENT_MAX_RULES)
        EMP_FAIL(EMP_EFORMAT, "%s: more than %d rules", path, EMP_PLACEMENT_MAX_RULES);
    EMP_TRY(EMP_ALLOC(matchers, (size_t)rules->count));
    for (; ready < rules->count; ready++)
        EMP_TRY(prepare(&matchers[ready], &rules->rule[ready], ready + 1, path,
                        problem->machine, err));
    EMP_TRY(place_ops(device_of_op, matchers, rules, path, problem, err));
    if (report != NULL) report_idle(report, matchers, rules->count);

cleanup:
    for (int32_t i = 0; i < ready; i++)
        if (matchers[i].is_compiled) regfree(&matchers[i].regex);
    emp_free(matchers);
    return st;
}
