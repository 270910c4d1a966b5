// SPDX-License-Identifier: GPL-3.0-or-later
/* Placement files, JSON or YAML, into decisions. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/file.h"
#include "base/text/json.h"
#include "base/text/nearest.h"
#include "base/text/options.h"
#include "base/text/units.h"
#include "sim/machine/config.h"
#include "sim/problem/placement.h"

/* ---- splits ---- */

/* Splits as msr-fiddle/dnn-partitioning writes them, of its instances (graphs/import): nodes by id.
 *
 *     {"fpgas": [{"nodes": [1, 2]}, {"nodes": [3]}], "cpus": [{"nodes": [4]}]}
 *
 * The i-th of "fpgas" is GPU i. A node that no list has goes where its color class is, so that the
 * split of a forward pass does for a training step. Other keys are skipped. */
typedef struct {
    const char        *path;
    const emp_problem *problem;
    const emp_strmap  *op_of_name;
    emp_device_id     *device_of_op;
} split_reader;

static bool split_is(const emp_json *root)
{
    return emp_json_is(emp_json_get(root, "fpgas"), EMP_JSON_ARRAY) &&
           emp_json_is(emp_json_get(root, "cpus"), EMP_JSON_ARRAY);
}

static emp_status find_node(emp_op_id *op, const split_reader *r, const emp_json *id,
                            const char *list, emp_error *err)
{
    char name[48];

    *op = -1;
    if (!emp_json_is(id, EMP_JSON_INTEGER))
        return EMP_ERROR(EMP_EFORMAT, "%s: \"%s\" has a node that is no whole number",
                         r->path, list);
    snprintf(name, sizeof name, "gradients/node%" PRId64, emp_json_integer(id));
    *op = emp_strmap_get(r->op_of_name, name, strlen(name));
    const char *forward = name + strlen("gradients/");
    if (*op < 0) *op = emp_strmap_get(r->op_of_name, forward, strlen(forward));
    if (*op < 0)
        return EMP_ERROR(EMP_EFORMAT, "%s: the graph has no op '%s'", r->path, forward);
    return EMP_OK;
}

static emp_status place_nodes(split_reader *r, const emp_json *nodes,
                              emp_device_id device, const char *list, emp_error *err)
{
    emp_op_id op;

    if (!emp_json_is(nodes, EMP_JSON_ARRAY))
        return EMP_ERROR(EMP_EFORMAT, "%s: an entry of \"%s\" has no list \"nodes\"",
                         r->path, list);
    for (const emp_json *id = emp_json_first(nodes); id != NULL; id = emp_json_next(id)) {
        EMP_CHECK(find_node(&op, r, id, list, err));
        if (r->device_of_op[op] >= 0)
            return EMP_ERROR(EMP_EFORMAT, "%s: op '%s' is placed twice", r->path,
                             r->problem->graph->name[op]);
        r->device_of_op[op] = device;
    }
    return EMP_OK;
}

static emp_status place_kind(split_reader *r, const emp_json *root, const char *list,
                             emp_device_kind kind, emp_error *err)
{
    const emp_machine *m = r->problem->machine;
    const emp_json    *entries = emp_json_get(root, list);
    const emp_json    *entry = emp_json_first(entries);

    for (emp_device_id d = 0; d < m->device_count && entry != NULL; d++) {
        if (m->device[d].kind != kind) continue;
        EMP_CHECK(place_nodes(r, emp_json_get(entry, "nodes"), d, list, err));
        entry = emp_json_next(entry);
    }
    if (entry != NULL)
        return EMP_ERROR(
            EMP_EFORMAT, "%s: \"%s\" has %d entries; machine '%s' has %d such devices",
            r->path, list, emp_json_count(entries), m->name, emp_machine_count(m, kind));
    return EMP_OK;
}

static emp_status place_rest(split_reader *r, emp_error *err)
{
    emp_status       st = EMP_OK;
    const emp_graph *g = r->problem->graph;
    emp_device_id   *device_of_class = NULL;

    EMP_TRY(EMP_ALLOC(device_of_class, (size_t)g->class_count));
    for (int32_t c = 0; c < g->class_count; c++) device_of_class[c] = -1;
    for (emp_op_id op = 0; op < g->op_count; op++) {
        if (r->device_of_op[op] >= 0)
            device_of_class[g->op[op].colocation_class] = r->device_of_op[op];
    }
    for (emp_op_id op = 0; op < g->op_count; op++) {
        emp_device_id device = device_of_class[g->op[op].colocation_class];
        if (device < 0)
            EMP_FAIL(EMP_EFORMAT, "%s: op '%s' is not placed", r->path, g->name[op]);
        if (r->device_of_op[op] < 0) r->device_of_op[op] = device;
    }

cleanup:
    emp_free(device_of_class);
    return st;
}

static emp_status place_split(emp_device_id *device_of_op, const char *path,
                              const emp_problem *problem, const emp_strmap *op_of_name,
                              const emp_json *root, emp_error *err)
{
    split_reader r = {path, problem, op_of_name, device_of_op};

    EMP_CHECK(place_kind(&r, root, "fpgas", EMP_DEVICE_GPU, err));
    EMP_CHECK(place_kind(&r, root, "cpus", EMP_DEVICE_CPU, err));
    return place_rest(&r, err);
}

/* ---- placement files ---- */

/* The content of a YAML file. */
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

struct emp_placement_file {
    const char         *path;
    emp_json_document   json; /* of JSON; of YAML it has no root */
    emp_config          yaml; /* of YAML */
    emp_placement_rules rules;
    emp_placement_rule *owned; /* the rules of JSON */
    emp_decision_origin origin;
};

/* ---- both syntaxes ---- */

static bool is_json(const char *bytes, size_t size)
{
    size_t at = 0;

    while (at < size && isspace((unsigned char)bytes[at])) at++;
    return at == size || bytes[at] == '{' || bytes[at] == '[';
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

static emp_status read_json_rules(emp_placement_file *f, emp_error *err)
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

static void describe(emp_decision_origin *origin, const char *workload,
                     const char *machine)
{
    *origin = (emp_decision_origin){.step_time_s = NAN};
    if (workload != NULL)
        snprintf(origin->workload, sizeof origin->workload, "%s", workload);
    if (machine != NULL) snprintf(origin->machine, sizeof origin->machine, "%s", machine);
}

static emp_status check_format(const char *format, const char *path, emp_error *err)
{
    if (format != NULL && strcmp(format, EMP_PLACEMENT_FORMAT) == 0) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s: no placement file: its format is '%s', not '%s'",
                     path, format == NULL ? "" : format, EMP_PLACEMENT_FORMAT);
}

/* A key that is misspelt would pass as left out. */
static emp_status check_keys(const emp_placement_file *f, emp_error *err)
{
    static const char known[] =
        "format,workload,machine,run,step_time_s,devices,levels,leaders,rules,default";
    char hint[EMP_NEAREST_BYTES];

    for (const emp_json *v = emp_json_first(f->json.root); v != NULL;
         v = emp_json_next(v)) {
        const char *key = emp_json_key(v);
        emp_nearest near = emp_nearest_begin(key, strlen(key), "");
        if (emp_word_list_has(known, key)) continue;
        emp_nearest_offer_list(&near, known);
        return EMP_ERROR(EMP_EFORMAT, "%s: unexpected key \"%.80s\"%s", f->path, key,
                         emp_nearest_hint(&near, hint));
    }
    return EMP_OK;
}

static const char *text_of(const emp_placement_file *f, const char *key)
{
    return emp_json_string(emp_json_get(f->json.root, key));
}

static emp_status parse_json(emp_placement_file *f, const char *bytes, size_t size,
                             emp_error *err)
{
    emp_error        why = {0};
    const emp_status st = emp_json_parse(&f->json, bytes, size, &why);

    if (st != EMP_OK) return EMP_ERROR(st, "%s: %s", f->path, why.msg);
    const emp_json *time_s = emp_json_get(f->json.root, "step_time_s");
    const char     *run = text_of(f, "run");
    describe(&f->origin, text_of(f, "workload"), text_of(f, "machine"));
    if (run != NULL) f->origin.run = strtoull(run, NULL, 16);
    if (time_s != NULL)
        f->origin.step_time_s =
            emp_json_is(time_s, EMP_JSON_NULL) ? -1.0 : emp_json_number(time_s);
    if (split_is(f->json.root)) return EMP_OK;
    EMP_CHECK(read_json_rules(f, err));
    EMP_CHECK(check_format(text_of(f, "format"), f->path, err));
    return check_keys(f, err);
}

static emp_status parse_yaml(emp_placement_file *f, const char *bytes, size_t size,
                             emp_error *err)
{
    EMP_CHECK(emp_config_parse(&f->yaml, f->path, bytes, size, &file_schema, err));
    const struct raw_placement *raw = (const struct raw_placement *)f->yaml.data;
    describe(&f->origin, raw->workload, raw->machine);
    f->rules = (emp_placement_rules){raw->rules, (int32_t)raw->rules_count, raw->rest};
    return check_format(raw->format, f->path, err);
}

emp_status emp_placement_file_parse(emp_placement_file **out, const char *bytes,
                                    size_t size, const char *path, emp_error *err)
{
    emp_status          st = EMP_OK;
    emp_placement_file *f = NULL;

    *out = NULL;
    EMP_TRY(EMP_ALLOC(f, 1));
    f->path = path;
    EMP_TRY(is_json(bytes, size) ? parse_json(f, bytes, size, err)
                                 : parse_yaml(f, bytes, size, err));
    *out = f;
    f = NULL;

cleanup:
    emp_placement_file_destroy(f);
    return st;
}

void emp_placement_file_destroy(emp_placement_file *f)
{
    if (f == NULL) return;
    emp_json_clear(&f->json);
    emp_free(f->owned);
    emp_config_close(&f->yaml);
    emp_free(f);
}

const emp_decision_origin *emp_placement_file_origin(const emp_placement_file *f)
{
    return &f->origin;
}

/* ---- lists of ops ---- */

enum { UNSET = -1, NO_LEVEL = 255 };

typedef struct {
    const emp_placement_file *file;
    const emp_problem        *problem;
    emp_strmap                op_of_name;
    emp_owned_decision       *to;
} reader;

/* A key of the file whose value has a list of ops for each device, level or leader. */
typedef struct {
    const char *key, *noun, *twice;
    /* The number that the key of a list stands for. */
    emp_status (*number)(int32_t *number, const reader *r, const emp_json *list,
                         emp_error *err);
    /* False: the op has one already. */
    bool (*set)(const emp_owned_decision *to, emp_op_id op, int32_t number);
} part;

static emp_op_id find_op(const reader *r, const char *name)
{
    return (emp_op_id)emp_strmap_get(&r->op_of_name, name, strlen(name));
}

/* A device that the machine lacks may have an empty list. */
static emp_status number_of_device(int32_t *number, const reader *r, const emp_json *list,
                                   emp_error *err)
{
    const emp_machine *m = r->problem->machine;
    const char        *name = emp_json_key(list);

    *number = emp_machine_find(m, name);
    if (*number >= 0 || (emp_json_is(list, EMP_JSON_ARRAY) && emp_json_count(list) == 0))
        return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s: machine '%s' has no device '%s'", r->file->path,
                     m->name, name);
}

static bool set_device(const emp_owned_decision *to, emp_op_id op, int32_t number)
{
    if (to->device_of_op[op] != UNSET) return false;
    to->device_of_op[op] = number;
    return true;
}

static emp_status number_of_level(int32_t *number, const reader *r, const emp_json *list,
                                  emp_error *err)
{
    const char  *key = emp_json_key(list);
    char        *end;
    const double level = emp_number_parse(key, &end);

    if (end == key || *end != '\0' || !(level >= 0 && level < EMP_LEVELS) ||
        level != (int32_t)level)
        return EMP_ERROR(EMP_EFORMAT, "%s: \"%.80s\" is no level; they are 0 to %d",
                         r->file->path, key, EMP_LEVELS - 1);
    *number = (int32_t)level;
    return EMP_OK;
}

static bool set_level(const emp_owned_decision *to, emp_op_id op, int32_t number)
{
    if (to->level_of_op[op] != NO_LEVEL) return false;
    to->level_of_op[op] = (uint8_t)number;
    return true;
}

static emp_status number_of_leader(int32_t *number, const reader *r, const emp_json *list,
                                   emp_error *err)
{
    *number = find_op(r, emp_json_key(list));
    if (*number >= 0) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s: leaders: the graph has no op '%s'", r->file->path,
                     emp_json_key(list));
}

static bool set_leader(const emp_owned_decision *to, emp_op_id op, int32_t number)
{
    if (to->leader_of_op[op] != op) return false;
    to->leader_of_op[op] = number;
    return true;
}

static const part devices_part = {"devices", "device", "is placed twice",
                                  number_of_device, set_device};
static const part levels_part = {"levels", "level", "has two levels", number_of_level,
                                 set_level};
static const part leaders_part = {"leaders", "leader", "has two leaders",
                                  number_of_leader, set_leader};

static emp_status read_list(const reader *r, const part *p, const emp_json *list,
                            emp_error *err)
{
    const char *path = r->file->path, *key = emp_json_key(list);
    int32_t     number = UNSET, i = 0;

    EMP_CHECK(p->number(&number, r, list, err));
    if (!emp_json_is(list, EMP_JSON_ARRAY))
        return EMP_ERROR(EMP_EFORMAT, "%s: %s '%s' has no list of ops", path, p->noun,
                         key);
    for (const emp_json *v = emp_json_first(list); v != NULL; v = emp_json_next(v), i++) {
        const char *name = emp_json_string(v);
        if (name == NULL)
            return EMP_ERROR(EMP_EFORMAT, "%s: entry %d of %s '%s' is no op name", path,
                             i, p->noun, key);
        const emp_op_id op = find_op(r, name);
        if (op < 0)
            return EMP_ERROR(EMP_EFORMAT, "%s: %s '%s': the graph has no op '%s'", path,
                             p->noun, key, name);
        if (!p->set(r->to, op, number))
            return EMP_ERROR(EMP_EFORMAT, "%s: op '%s' %s", path, name, p->twice);
    }
    return EMP_OK;
}

/* Nothing if the file lacks the part. */
static emp_status read_part(const reader *r, const part *p, emp_error *err)
{
    const emp_json *lists = emp_json_get(r->file->json.root, p->key);

    if (lists != NULL && !emp_json_is(lists, EMP_JSON_OBJECT))
        return EMP_ERROR(EMP_EFORMAT, "%s: %s is no object", r->file->path, p->key);
    for (const emp_json *list = emp_json_first(lists); list != NULL;
         list = emp_json_next(list))
        EMP_CHECK(read_list(r, p, list, err));
    return EMP_OK;
}

/* ---- decisions ---- */

static emp_status check_all_placed(const reader *r, emp_error *err)
{
    const emp_graph *g = r->problem->graph;
    emp_op_id        first = -1;
    int32_t          missing = 0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (r->to->device_of_op[op] == UNSET && missing++ == 0) first = op;
    if (missing == 0) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s: op '%s' is not placed; %d of %d ops are not",
                     r->file->path, g->name[first], missing, g->op_count);
}

static emp_status place(reader *r, emp_placement_report *report, emp_error *err)
{
    const emp_placement_file *f = r->file;
    bool has_rules = f->rules.count > 0 || f->rules.default_device != NULL;

    if (!has_rules && emp_json_get(f->json.root, devices_part.key) == NULL)
        return EMP_ERROR(EMP_EFORMAT, "%s: the key devices is missing, and so are rules",
                         f->path);
    EMP_CHECK(read_part(r, &devices_part, err));
    if (has_rules)
        EMP_CHECK(emp_placement_rules_apply(r->to->device_of_op, &f->rules, f->path,
                                            r->problem, report, err));
    return check_all_placed(r, err);
}

static emp_status order(const reader *r, emp_error *err)
{
    const emp_owned_decision *to = r->to;

    if (to->level_of_op == NULL) return EMP_OK;
    memset(to->level_of_op, NO_LEVEL, (size_t)to->op_count);
    EMP_CHECK(read_part(r, &levels_part, err));
    for (emp_op_id op = 0; op < to->op_count; op++)
        if (to->level_of_op[op] == NO_LEVEL) to->level_of_op[op] = 0;
    return EMP_OK;
}

static emp_status decide(reader *r, emp_placement_report *report, emp_error *err)
{
    const emp_json  *root = r->file->json.root;
    const emp_graph *g = r->problem->graph;
    int32_t          decides = EMP_DECIDES_DEVICES;

    if (emp_json_get(root, levels_part.key) != NULL) decides |= EMP_DECIDES_ORDER;
    if (emp_json_get(root, leaders_part.key) != NULL) decides |= EMP_DECIDES_FUSION;
    EMP_CHECK(emp_decision_init(r->to, g->op_count, decides, err));
    for (emp_op_id op = 0; op < g->op_count; op++) {
        EMP_CHECK(
            emp_strmap_set(&r->op_of_name, g->name[op], strlen(g->name[op]), op, err));
        r->to->device_of_op[op] = UNSET;
    }
    if (split_is(root))
        return place_split(r->to->device_of_op, r->file->path, r->problem, &r->op_of_name,
                           root, err);
    EMP_CHECK(place(r, report, err));
    EMP_CHECK(order(r, err));
    return read_part(r, &leaders_part, err);
}

/* A decision that does not fit may have been made for something else. */
static emp_status refuse(emp_status st, const emp_error *why, const reader *r,
                         emp_error *err)
{
    const char *workload = r->file->origin.workload, *machine = r->file->origin.machine;
    bool        is_other_workload =
        *workload != '\0' && strcmp(workload, r->problem->workload) != 0;
    bool is_other_machine =
        *machine != '\0' && strcmp(machine, r->problem->machine->name) != 0;

    if (st != EMP_EFORMAT || !(is_other_workload || is_other_machine))
        return EMP_ERROR(st, "%s", why->msg);
    return EMP_ERROR(st, "%s; it was made for %s on %s", why->msg,
                     *workload != '\0' ? workload : "some workload",
                     *machine != '\0' ? machine : "some machine");
}

emp_status emp_placement_file_decide(emp_owned_decision       *decision,
                                     const emp_placement_file *file,
                                     const emp_problem        *problem,
                                     emp_placement_report *report, emp_error *err)
{
    emp_error  why = {0};
    reader     r = {.file = file, .problem = problem, .to = decision};
    emp_status st = decide(&r, report, &why);

    emp_strmap_clear(&r.op_of_name);
    return st == EMP_OK ? EMP_OK : refuse(st, &why, &r, err);
}

/* ---- whole files ---- */

emp_status emp_placement_read(emp_owned_decision *decision, const char *path,
                              const emp_problem *problem, emp_placement_report *report,
                              emp_error *err)
{
    emp_status          st = EMP_OK;
    emp_placement_file *file = NULL;
    char               *bytes = NULL;
    size_t              size = 0;

    *decision = (emp_owned_decision){0};
    EMP_TRY(emp_file_load_named(path, &bytes, &size, err));
    EMP_TRY(emp_placement_file_parse(&file, bytes, size, path, err));
    EMP_TRY(emp_placement_file_decide(decision, file, problem, report, err));

cleanup:
    emp_placement_file_destroy(file);
    emp_free(bytes);
    return st;
}

/* The file may be replaced afterwards, so that it is no input (emp_input_keep()). */
uint64_t emp_placement_run(const char *path)
{
    emp_placement_file *file = NULL;
    char               *bytes = NULL;
    size_t              size = 0;
    uint64_t            run = 0;

    if (emp_whole_file_load(&bytes, &size, path, EMP_JSON_BYTES_MAX, NULL) == EMP_OK &&
        emp_placement_file_parse(&file, bytes, size, path, NULL) == EMP_OK)
        run = file->origin.run;
    emp_placement_file_destroy(file);
    emp_free(bytes);
    return run;
}

emp_status emp_placement_load(emp_device_id *device_of_op, const char *path,
                              const emp_problem *problem, emp_error *err)
{
    emp_owned_decision decision;

    EMP_NEED(device_of_op);
    EMP_NEED(path);
    EMP_NEED(problem);
    const emp_status st = emp_placement_read(&decision, path, problem, NULL, err);
    if (st == EMP_OK)
        memcpy(device_of_op, decision.device_of_op,
               (size_t)decision.op_count * sizeof *device_of_op);
    emp_decision_clear(&decision);
    return st;
}
