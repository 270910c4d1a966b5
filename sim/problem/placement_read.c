// SPDX-License-Identifier: GPL-3.0-or-later
/* Placement files, JSON or YAML, into placements. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/io/input.h"
#include "base/mem.h"
#include "base/strmap.h"
#include "base/text/json.h"
#include "base/text/number.h"
#include "sim/machine/config.h"
#include "sim/problem/placement.h"
#include "sim/problem/split.h"

/* What a YAML file says. */
struct raw_placement {
    char               *format, *workload, *machine, *rest;
    emp_placement_rule *rules;
    uint32_t            rules_count;
};

#define STRING(type, key, member, flags)                                       \
    CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | (flags), type, member, 0, \
                           CYAML_UNLIMITED)

static const cyaml_schema_field_t rule_fields[] = {
    STRING(emp_placement_rule, "op", op, CYAML_FLAG_OPTIONAL),
    STRING(emp_placement_rule, "glob", glob, CYAML_FLAG_OPTIONAL),
    STRING(emp_placement_rule, "regex", regex, CYAML_FLAG_OPTIONAL),
    STRING(emp_placement_rule, "device", device, CYAML_FLAG_OPTIONAL), CYAML_FIELD_END};
static const cyaml_schema_value_t rule_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, emp_placement_rule, rule_fields)};
static const cyaml_schema_field_t file_fields[] = {
    STRING(struct raw_placement, "format", format, 0),
    STRING(struct raw_placement, "workload", workload, CYAML_FLAG_OPTIONAL),
    STRING(struct raw_placement, "machine", machine, CYAML_FLAG_OPTIONAL),
    STRING(struct raw_placement, "default", rest, CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_SEQUENCE("rules", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                         struct raw_placement, rules, &rule_schema, 0,
                         EMP_PLACEMENT_MAX_RULES),
    CYAML_FIELD_END};
static const cyaml_schema_value_t file_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_placement, file_fields)};

/* A placement file in memory. */
typedef struct {
    const char         *path;
    emp_json_document   json; /* of JSON; of YAML it has no root */
    emp_config          yaml; /* of YAML */
    emp_placement_rules rules;
    emp_placement_rule *owned;                       /* the rules of JSON */
    const char         *format, *workload, *machine; /* NULL = it does not say */
} placement_file;

/* ---- both syntaxes ---- */

static emp_status is_json(bool *answer, const char *path, emp_error *err)
{
    FILE *file;
    int   c = ' ';

    EMP_CHECK(emp_input_open(&file, path, err));
    while (c != EOF && isspace(c)) c = fgetc(file);
    *answer = c == '{' || c == '[' || c == EOF;
    fclose(file);
    return EMP_OK;
}

/* Where the value of a key of a rule goes; NULL = a rule has no such key. */
static const char **place_of_key(emp_placement_rule *rule, const char *key)
{
    if (strcmp(key, "op") == 0) return &rule->op;
    if (strcmp(key, "glob") == 0) return &rule->glob;
    if (strcmp(key, "regex") == 0) return &rule->regex;
    return strcmp(key, "device") == 0 ? &rule->device : NULL;
}

static emp_status read_rule(emp_placement_rule *rule, const emp_json *entry,
                            int32_t number, const char *path, emp_error *err)
{
    if (!emp_json_is(entry, EMP_JSON_OBJECT))
        return EMP_ERROR(EMP_EFORMAT, "%s: rule %d is no object", path, number);
    for (const emp_json *v = emp_json_first(entry); v != NULL; v = emp_json_next(v)) {
        const char **place = place_of_key(rule, emp_json_key(v));
        if (place == NULL)
            return EMP_ERROR(
                EMP_EFORMAT,
                "%s: rule %d has \"%.80s\"; a rule has device and one of op, "
                "glob and regex",
                path, number, emp_json_key(v));
        *place = emp_json_string(v);
        if (*place == NULL)
            return EMP_ERROR(EMP_EFORMAT, "%s: rule %d: \"%s\" is no text", path, number,
                             emp_json_key(v));
    }
    return EMP_OK;
}

static emp_status read_json_rules(placement_file *f, emp_error *err)
{
    const emp_json *rules = emp_json_get(f->json.root, "rules");
    const emp_json *rest = emp_json_get(f->json.root, "default"), *entry;
    int32_t         count = emp_json_count(rules), number = 0;

    if (rules != NULL && !emp_json_is(rules, EMP_JSON_ARRAY))
        return EMP_ERROR(EMP_EFORMAT, "%s: rules is no list", f->path);
    if (rest != NULL && !emp_json_is(rest, EMP_JSON_STRING))
        return EMP_ERROR(EMP_EFORMAT, "%s: default is no device", f->path);
    if (count > EMP_PLACEMENT_MAX_RULES)
        return EMP_ERROR(EMP_EFORMAT, "%s: %d rules, at most %d are possible", f->path,
                         count, EMP_PLACEMENT_MAX_RULES);
    EMP_CHECK(EMP_ALLOC(f->owned, (size_t)count));
    for (entry = emp_json_first(rules); entry != NULL; entry = emp_json_next(entry)) {
        EMP_CHECK(read_rule(&f->owned[number], entry, number + 1, f->path, err));
        number++;
    }
    f->rules = (emp_placement_rules){f->owned, count, emp_json_string(rest)};
    return EMP_OK;
}

static emp_status open_json(placement_file *f, emp_error *err)
{
    EMP_CHECK(emp_json_load(&f->json, f->path, err));
    const emp_json *root = f->json.root;
    f->format = emp_json_string(emp_json_get(root, "format"));
    f->workload = emp_json_string(emp_json_get(root, "workload"));
    f->machine = emp_json_string(emp_json_get(root, "machine"));
    return read_json_rules(f, err);
}

static emp_status open_yaml(placement_file *f, emp_error *err)
{
    EMP_CHECK(emp_config_open(&f->yaml, f->path, &file_schema, err));
    const struct raw_placement *raw = (const struct raw_placement *)f->yaml.data;
    f->format = raw->format;
    f->workload = raw->workload;
    f->machine = raw->machine;
    f->rules = (emp_placement_rules){raw->rules, (int32_t)raw->rules_count, raw->rest};
    return EMP_OK;
}

/* The file, whatever its syntax; close_file() releases it, also after a failure. */
static emp_status open_file(placement_file *f, const char *path, emp_error *err)
{
    bool has_json = false;

    *f = (placement_file){.path = path};
    EMP_CHECK(is_json(&has_json, path, err));
    EMP_CHECK(has_json ? open_json(f, err) : open_yaml(f, err));
    if (emp_split_is(f->json.root)) return EMP_OK;
    if (f->format == NULL || strcmp(f->format, EMP_PLACEMENT_FORMAT) != 0)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s: no placement file: its format is '%s', not '%s'", path,
                         f->format == NULL ? "" : f->format, EMP_PLACEMENT_FORMAT);
    return EMP_OK;
}

static void close_file(placement_file *f)
{
    emp_json_clear(&f->json);
    emp_free(f->owned);
    emp_config_close(&f->yaml);
}

/* ---- ops by name ---- */

static emp_status index_names(emp_strmap *map, const emp_graph *g, emp_error *err)
{
    for (emp_op_id op = 0; op < g->op_count; op++) {
        EMP_CHECK(emp_strmap_set(map, g->name[op], strlen(g->name[op]), op, err));
    }
    return EMP_OK;
}

static emp_status place_names(emp_device_id *device_of_op, const char *path,
                              const emp_strmap *op_of_name, emp_device_id device,
                              const char *device_name, const emp_json *names,
                              emp_error *err)
{
    size_t i = 0;

    if (!emp_json_is(names, EMP_JSON_ARRAY)) {
        return EMP_ERROR(EMP_EFORMAT, "%s: device '%s' has no list of ops", path,
                         device_name);
    }
    for (const emp_json *entry = emp_json_first(names); entry != NULL;
         entry = emp_json_next(entry), i++) {
        const char *name = emp_json_string(entry);
        if (name == NULL) {
            return EMP_ERROR(EMP_EFORMAT, "%s: entry %zu of device '%s' is no op name",
                             path, i, device_name);
        }
        emp_op_id op = emp_strmap_get(op_of_name, name, strlen(name));
        if (op < 0)
            return EMP_ERROR(EMP_EFORMAT, "%s: the graph has no op '%s'", path, name);
        if (device_of_op[op] >= 0) {
            return EMP_ERROR(EMP_EFORMAT, "%s: op '%s' is placed twice", path, name);
        }
        device_of_op[op] = device;
    }
    return EMP_OK;
}

static emp_status place_listed(emp_device_id *device_of_op, const char *path,
                               const emp_problem *problem, const emp_strmap *op_of_name,
                               const emp_json *devices, emp_error *err)
{
    for (const emp_json *names = emp_json_first(devices); names != NULL;
         names = emp_json_next(names)) {
        const char   *name = emp_json_key(names);
        emp_device_id device = emp_machine_find(problem->machine, name);
        bool is_unused = emp_json_is(names, EMP_JSON_ARRAY) && emp_json_count(names) == 0;
        if (device < 0 && is_unused) continue;
        if (device < 0) {
            return EMP_ERROR(EMP_EFORMAT, "%s: machine '%s' has no device '%s'", path,
                             problem->machine->name, name);
        }
        EMP_CHECK(place_names(device_of_op, path, op_of_name, device, name, names, err));
    }
    return EMP_OK;
}

static emp_status check_all_placed(const emp_device_id *device_of_op, const char *path,
                                   const emp_graph *g, emp_error *err)
{
    emp_op_id first = -1;
    int32_t   missing = 0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (device_of_op[op] < 0 && missing++ == 0) first = op;
    if (missing == 0) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s: op '%s' is not placed; %d of %d ops are not", path,
                     g->name[first], missing, g->op_count);
}

static emp_status place(emp_device_id *device_of_op, const placement_file *f,
                        const emp_problem *problem, emp_placement_report *report,
                        emp_error *err)
{
    emp_status      st = EMP_OK;
    emp_strmap      op_of_name = {0};
    const emp_json *devices = emp_json_get(f->json.root, "devices");
    bool            has_rules = f->rules.count > 0 || f->rules.default_device != NULL;

    if (!emp_json_is(devices, EMP_JSON_OBJECT) && (devices != NULL || !has_rules))
        EMP_FAIL(EMP_EFORMAT, "%s: the key devices is missing, and so are rules",
                 f->path);
    for (emp_op_id op = 0; op < problem->graph->op_count; op++) device_of_op[op] = -1;
    if (devices != NULL) {
        EMP_TRY(index_names(&op_of_name, problem->graph, err));
        EMP_TRY(place_listed(device_of_op, f->path, problem, &op_of_name, devices, err));
    }
    if (has_rules)
        EMP_TRY(emp_placement_rules_apply(device_of_op, &f->rules, f->path, problem,
                                          report, err));
    EMP_TRY(check_all_placed(device_of_op, f->path, problem->graph, err));

cleanup:
    emp_strmap_clear(&op_of_name);
    return st;
}

/* A placement that does not fit may have been made for something else. */
static emp_status refuse(emp_status st, const emp_error *why, const placement_file *f,
                         const emp_problem *problem, emp_error *err)
{
    const char *workload = f->workload, *machine = f->machine;
    bool is_other_workload = workload != NULL && strcmp(workload, problem->workload) != 0;
    bool is_other_machine =
        machine != NULL && strcmp(machine, problem->machine->name) != 0;

    if (st != EMP_EFORMAT || !(is_other_workload || is_other_machine))
        return EMP_ERROR(st, "%s", why->msg);
    return EMP_ERROR(st, "%s; it was made for %s on %s", why->msg,
                     workload != NULL ? workload : "some workload",
                     machine != NULL ? machine : "some machine");
}

emp_status emp_placement_read(emp_device_id *device_of_op, const char *path,
                              const emp_problem *problem, emp_placement_report *report,
                              emp_error *err)
{
    emp_status     st = EMP_OK;
    emp_error      why = {0};
    placement_file file;

    EMP_TRY(open_file(&file, path, err));
    if (emp_split_is(file.json.root)) {
        EMP_TRY(emp_split_place(device_of_op, path, problem, file.json.root, err));
        goto cleanup;
    }
    st = place(device_of_op, &file, problem, report, &why);
    if (st != EMP_OK) st = refuse(st, &why, &file, problem, err);

cleanup:
    close_file(&file);
    return st;
}

/* ---- levels ---- */

enum { NO_LEVEL = 255 };

/* -1: it is none. */
static int32_t level_of_key(const char *key)
{
    char        *end;
    const double level = emp_number_parse(key, &end);

    if (end == key || *end != '\0' || !(level >= 0 && level < EMP_LEVELS)) return -1;
    return level == (int32_t)level ? (int32_t)level : -1;
}

static emp_status fill_level(uint8_t *level_of_op, const char *path,
                             const emp_strmap *op_of_name, const emp_json *names,
                             emp_error *err)
{
    const char   *key = emp_json_key(names);
    const int32_t level = level_of_key(key);

    if (level < 0)
        return EMP_ERROR(EMP_EFORMAT, "%s: \"%.80s\" is no level; they are 0 to %d", path,
                         key, EMP_LEVELS - 1);
    if (!emp_json_is(names, EMP_JSON_ARRAY))
        return EMP_ERROR(EMP_EFORMAT, "%s: level %s has no list of ops", path, key);
    for (const emp_json *entry = emp_json_first(names); entry != NULL;
         entry = emp_json_next(entry)) {
        const char *name = emp_json_string(entry);
        emp_op_id op = name == NULL ? -1 : emp_strmap_get(op_of_name, name, strlen(name));
        if (op < 0)
            return EMP_ERROR(EMP_EFORMAT, "%s: level %s: the graph has no op '%s'", path,
                             key, name == NULL ? "" : name);
        if (level_of_op[op] != NO_LEVEL)
            return EMP_ERROR(EMP_EFORMAT, "%s: op '%s' has two levels", path, name);
        level_of_op[op] = (uint8_t)level;
    }
    return EMP_OK;
}

static emp_status fill_levels(uint8_t *level_of_op, const char *path,
                              const emp_graph *graph, const emp_json *levels,
                              emp_error *err)
{
    emp_status st = EMP_OK;
    emp_strmap op_of_name = {0};

    if (!emp_json_is(levels, EMP_JSON_OBJECT))
        EMP_FAIL(EMP_EFORMAT, "%s: levels is no object", path);
    EMP_TRY(index_names(&op_of_name, graph, err));
    memset(level_of_op, NO_LEVEL, (size_t)graph->op_count);
    for (const emp_json *names = emp_json_first(levels); names != NULL;
         names = emp_json_next(names))
        EMP_TRY(fill_level(level_of_op, path, &op_of_name, names, err));
    for (emp_op_id op = 0; op < graph->op_count; op++)
        if (level_of_op[op] == NO_LEVEL) level_of_op[op] = 0;

cleanup:
    emp_strmap_clear(&op_of_name);
    return st;
}

emp_status emp_placement_read_levels(uint8_t *level_of_op, bool *has_levels,
                                     const char *path, const emp_graph *graph,
                                     emp_error *err)
{
    emp_status     st = EMP_OK;
    placement_file file;

    *has_levels = false;
    EMP_TRY(open_file(&file, path, err));
    const emp_json *levels = emp_json_get(file.json.root, "levels");
    *has_levels = levels != NULL;
    if (*has_levels) EMP_TRY(fill_levels(level_of_op, path, graph, levels, err));

cleanup:
    close_file(&file);
    return st;
}

/* ---- leaders ---- */

static emp_op_id find_op(const emp_strmap *op_of_name, const char *name)
{
    return name == NULL ? -1 : (emp_op_id)emp_strmap_get(op_of_name, name, strlen(name));
}

static emp_status fill_set(emp_op_id *leader_of_op, const char *path,
                           const emp_strmap *op_of_name, const emp_json *names,
                           emp_error *err)
{
    const char     *key = emp_json_key(names);
    const emp_op_id leader = find_op(op_of_name, key);

    if (leader < 0)
        return EMP_ERROR(EMP_EFORMAT, "%s: leaders: the graph has no op '%s'", path, key);
    if (!emp_json_is(names, EMP_JSON_ARRAY))
        return EMP_ERROR(EMP_EFORMAT, "%s: leader '%s' has no list of ops", path, key);
    for (const emp_json *entry = emp_json_first(names); entry != NULL;
         entry = emp_json_next(entry)) {
        const char     *name = emp_json_string(entry);
        const emp_op_id op = find_op(op_of_name, name);
        if (op < 0)
            return EMP_ERROR(EMP_EFORMAT, "%s: leader '%s': the graph has no op '%s'",
                             path, key, name == NULL ? "" : name);
        if (leader_of_op[op] != op)
            return EMP_ERROR(EMP_EFORMAT, "%s: op '%s' has two leaders", path, name);
        leader_of_op[op] = leader;
    }
    return EMP_OK;
}

static emp_status fill_leaders(emp_op_id *leader_of_op, const char *path,
                               const emp_graph *graph, const emp_json *leaders,
                               emp_error *err)
{
    emp_status st = EMP_OK;
    emp_strmap op_of_name = {0};

    if (!emp_json_is(leaders, EMP_JSON_OBJECT))
        EMP_FAIL(EMP_EFORMAT, "%s: leaders is no object", path);
    EMP_TRY(index_names(&op_of_name, graph, err));
    for (emp_op_id op = 0; op < graph->op_count; op++) leader_of_op[op] = op;
    for (const emp_json *names = emp_json_first(leaders); names != NULL;
         names = emp_json_next(names))
        EMP_TRY(fill_set(leader_of_op, path, &op_of_name, names, err));

cleanup:
    emp_strmap_clear(&op_of_name);
    return st;
}

emp_status emp_placement_read_leaders(emp_op_id *leader_of_op, bool *has_leaders,
                                      const char *path, const emp_graph *graph,
                                      emp_error *err)
{
    emp_status     st = EMP_OK;
    placement_file file;

    *has_leaders = false;
    EMP_TRY(open_file(&file, path, err));
    const emp_json *leaders = emp_json_get(file.json.root, "leaders");
    *has_leaders = leaders != NULL;
    if (*has_leaders) EMP_TRY(fill_leaders(leader_of_op, path, graph, leaders, err));

cleanup:
    close_file(&file);
    return st;
}

/* ---- origins ---- */

emp_status emp_placement_read_origin(emp_placement_origin *origin, const char *path,
                                     emp_error *err)
{
    emp_status     st = EMP_OK;
    placement_file file;

    *origin = (emp_placement_origin){0};
    EMP_TRY(open_file(&file, path, err));
    if (file.workload != NULL)
        snprintf(origin->workload, sizeof origin->workload, "%s", file.workload);
    if (file.machine != NULL)
        snprintf(origin->machine, sizeof origin->machine, "%s", file.machine);

cleanup:
    close_file(&file);
    return st;
}

emp_status emp_placement_load(emp_device_id *device_of_op, const char *path,
                              const emp_problem *problem, emp_error *err)
{
    EMP_NEED(device_of_op);
    EMP_NEED(path);
    EMP_NEED(problem);
    return emp_placement_read(device_of_op, path, problem, NULL, err);
}
