// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/problem/placement.h"

#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "base/text/units.h"

/* Names that a list of a file has. */
typedef struct {
    const emp_named_placement *p;
    emp_device_id              device; /* -1: those of a level */
    int32_t                    level;
} listed;

static bool has_op(const listed *l, int32_t op)
{
    return l->device >= 0 ? l->p->decision.device_of_op[op] == l->device
                          : l->p->decision.level_of_op[op] == l->level;
}

/* "cpu:0": [names] */
static bool print_list(FILE *stream, const char *key, const listed *l)
{
    bool is_text, is_first = true;

    fputs("  ", stream);
    is_text = emp_json_write_string(stream, key);
    fputs(": [", stream);
    for (int32_t op = 0; is_text && op < l->p->op_count; op++) {
        if (!has_op(l, op)) continue;
        fputs(is_first ? "\n   " : ",\n   ", stream);
        is_text = emp_json_write_string(stream, l->p->op_name[op]);
        is_first = false;
    }
    fputs(is_first ? "]" : "\n  ]", stream);
    return is_text;
}

static bool print_devices(FILE *stream, const emp_named_placement *p)
{
    bool is_text = true;

    fputs(",\n \"devices\": {", stream);
    for (emp_device_id d = 0; is_text && d < p->device_count; d++) {
        fputs(d == 0 ? "\n" : ",\n", stream);
        is_text = print_list(stream, p->device_name[d], &(listed){p, d, 0});
    }
    fputs("\n }", stream);
    return is_text;
}

/* But for level 0. */
static bool print_levels(FILE *stream, const emp_named_placement *p)
{
    bool is_text = true;
    char key[8];

    if (p->decision.level_of_op == NULL) return true;
    fputs(",\n \"levels\": {", stream);
    for (int32_t level = 1; is_text && level < EMP_LEVELS; level++) {
        fputs(level == 1 ? "\n" : ",\n", stream);
        snprintf(key, sizeof key, "%d", level);
        is_text = print_list(stream, key, &(listed){p, -1, level});
    }
    fputs("\n }", stream);
    return is_text;
}

/* "loss": [names of those that are fused into it] */
static bool print_set(FILE *stream, const emp_named_placement *p, const int32_t *next,
                      int32_t leader)
{
    bool is_text = emp_json_write_string(stream, p->op_name[leader]);

    fputs(": [", stream);
    for (int32_t op = next[leader]; is_text && op >= 0; op = next[op]) {
        fputs(op == next[leader] ? "\n   " : ",\n   ", stream);
        is_text = emp_json_write_string(stream, p->op_name[op]);
    }
    fputs("\n  ]", stream);
    return is_text;
}

/* From the last op to the first, so that the ops of a set come in rising order. */
static void link_sets(int32_t *next, const emp_named_placement *p)
{
    for (int32_t op = 0; op < p->op_count; op++) next[op] = -1;
    for (int32_t op = p->op_count - 1; op >= 0; op--) {
        const int32_t leader = p->decision.leader_of_op[op];
        if (leader == op) continue;
        next[op] = next[leader];
        next[leader] = op;
    }
}

/* Only sets of several ops. \a next: [op] scratch. */
static bool print_leaders(FILE *stream, const emp_named_placement *p, int32_t *next)
{
    bool is_text = true, is_first = true;

    if (p->decision.leader_of_op == NULL) return true;
    link_sets(next, p);
    fputs(",\n \"leaders\": {", stream);
    for (int32_t op = 0; is_text && op < p->op_count; op++) {
        if (p->decision.leader_of_op[op] != op || next[op] < 0) continue;
        fputs(is_first ? "\n  " : ",\n  ", stream);
        is_text = print_set(stream, p, next, op);
        is_first = false;
    }
    fputs("\n }", stream);
    return is_text;
}

static bool print_member(FILE *stream, const char *key, const char *value)
{
    fprintf(stream, " \"%s\": ", key);
    bool is_text = emp_json_write_string(stream, value);
    fputs(",\n", stream);
    return is_text;
}

static bool print_placement(FILE *stream, const emp_named_placement *p, int32_t *scratch)
{
    bool is_text;

    fputs("{\n", stream);
    is_text = print_member(stream, "format", EMP_PLACEMENT_FORMAT) &&
              print_member(stream, "workload", p->origin.workload) &&
              print_member(stream, "machine", p->origin.machine);
    if (p->origin.run != 0)
        fprintf(stream, " \"run\": \"%016" PRIx64 "\",\n", p->origin.run);
    fputs(" \"step_time_s\": ", stream);
    if (p->origin.step_time_s >= 0.0)
        emp_number_write(stream, p->origin.step_time_s);
    else
        fputs("null", stream);
    is_text = is_text && print_devices(stream, p) && print_levels(stream, p) &&
              print_leaders(stream, p, scratch);
    fputs("\n}\n", stream);
    return is_text;
}

emp_named_placement emp_placement_name(const emp_problem  *problem,
                                       const emp_decision *decision, double step_time_s)
{
    const emp_machine  *m = problem->machine;
    emp_named_placement p = {.origin = {.step_time_s = step_time_s},
                             .device_count = m->device_count,
                             .op_count = problem->graph->op_count,
                             .op_name = problem->graph->name,
                             .graph = problem->graph,
                             .decision = *decision};

    snprintf(p.origin.workload, sizeof p.origin.workload, "%s", problem->workload);
    snprintf(p.origin.machine, sizeof p.origin.machine, "%s", m->name);
    for (emp_device_id d = 0; d < m->device_count; d++)
        p.device_name[d] = m->device[d].name;
    return p;
}

emp_status emp_placement_write(const char *path, const emp_named_placement *p,
                               emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_atomic_file file = {0};
    int32_t        *scratch = NULL;

    if (!isfinite(p->origin.step_time_s))
        EMP_FAIL(
            EMP_EINVAL,
            "%s cannot be written: its step time is %g seconds, which is not finite; "
            "give a negative one for a step that does not fit in memory",
            path, p->origin.step_time_s);
    EMP_TRY(EMP_ALLOC(scratch, (size_t)p->op_count));
    for (int32_t op = 0; op < p->op_count; op++) {
        if (p->decision.device_of_op[op] >= 0 &&
            p->decision.device_of_op[op] < p->device_count)
            continue;
        EMP_FAIL(EMP_EINVAL, "op '%s' is on device %d of 0..%d", p->op_name[op],
                 p->decision.device_of_op[op], p->device_count - 1);
    }
    EMP_TRY(emp_atomic_file_open(&file, path, err));
    if (!print_placement(file.stream, p, scratch))
        EMP_FAIL(EMP_EINVAL, "%s cannot be written: a name in it is not valid UTF-8",
                 path);
    EMP_TRY(emp_atomic_file_commit(&file, err));

cleanup:
    emp_atomic_file_abort(&file);
    emp_free(scratch);
    return st;
}

emp_status emp_placement_save(const char *path, const emp_problem *problem,
                              const emp_device_id *device_of_op, double step_time_s,
                              emp_error *err)
{
    EMP_NEED(path);
    EMP_NEED(problem);
    EMP_NEED(device_of_op);
    const emp_named_placement p = emp_placement_name(
        problem, &(emp_decision){.device_of_op = device_of_op}, step_time_s);
    return emp_placement_write(path, &p, err);
}

#define _POSIX_C_SOURCE 200809L
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

/* All rules are asked, so that a rule which comes too late is distinguished from a mistaken one. */
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
