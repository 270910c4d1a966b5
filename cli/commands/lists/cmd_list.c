// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace workloads | runtimes | methods: what there is, or one of them. */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"
#include "base/text/options.h"
#include "base/text/text.h"
#include "cli/cli.h"
#include "graphs/sources.h"
#include "graphs/workloads/workloads.h"
#include "run/methods.h"
#include "search/method.h"
#include "sim/machine/machine.h"
#include "sim/runtime/runtime.h"

/* Tables of options by name (base/text/options.h), as people and programs read them. */

enum { COLUMN = 26 };

/* The default; of presets that differ, both: "256/12". */
static void write_defaults(char text[2 * EMP_OPTION_TEXT_BYTES], const emp_option *option,
                           const char *presets)
{
    emp_text line = {text, 2 * EMP_OPTION_TEXT_BYTES, 0};
    char     value[EMP_OPTION_TEXT_BYTES];
    size_t   length;

    for (int32_t i = 0; i == 0 || emp_words_at(presets, i, &length) != NULL; i++) {
        if (i > 0 && emp_option_default(option, i) == emp_option_default(option, 0))
            continue;
        emp_option_write_default(value, option, i);
        emp_text_add(&line, "%s%s", i == 0 ? "" : "/", value);
    }
}

/* A line an option: name=default, meaning, range. \a presets may be NULL; of two that differ
 * the default is "256/12". */
static void cli_print_option_table(const emp_option *list, const char *presets)
{
    char defaults[2 * EMP_OPTION_TEXT_BYTES], range[EMP_OPTION_TEXT_BYTES];
    char name[2 * EMP_OPTION_TEXT_BYTES + 64], text[EMP_OPTION_TEXT_BYTES + 512];

    for (const emp_option *o = list; o != NULL && o->name != NULL; o++) {
        write_defaults(defaults, o, presets);
        emp_option_write_range(range, o);
        snprintf(name, sizeof name, "%s=%s", o->name, defaults);
        snprintf(text, sizeof text, "%s (%s)", o->help, range);
        cli_print_entry(name, COLUMN, text);
    }
}

/* "careful|fast" as a list. */
static json_t *cli_json_words(const char *words)
{
    json_t     *array = json_array();
    size_t      length;
    const char *word;

    for (int32_t i = 0; (word = emp_words_at(words, i, &length)) != NULL; i++)
        json_array_append_new(array, json_stringn(word, length));
    return array;
}

static json_t *json_value(const emp_option *option, double value)
{
    size_t      length = 0;
    const char *word;

    switch (option->kind) {
    case EMP_OPTION_BOOL: return json_boolean(value != 0.0);
    case EMP_OPTION_INTEGER: return json_integer((json_int_t)value);
    case EMP_OPTION_REAL: return json_real(value);
    case EMP_OPTION_WORD: break;
    }
    word = emp_words_at(option->words, (int32_t)value, &length);
    return json_stringn(word, length);
}

/* With presets the default is an object of one for each. */
static json_t *json_option(const emp_option *option, const char *presets)
{
    json_t     *object = json_object(), *defaults = json_object();
    size_t      length;
    const char *preset;

    for (int32_t i = 0; (preset = emp_words_at(presets, i, &length)) != NULL; i++)
        json_object_setn_new(defaults, preset, length,
                             json_value(option, emp_option_default(option, i)));
    if (presets == NULL)
        json_object_set_new(object, "default",
                            json_value(option, emp_option_default(option, 0)));
    else
        json_object_set(object, "default", defaults);
    json_decref(defaults);
    if (option->kind == EMP_OPTION_WORD) {
        json_object_set_new(object, "choices", cli_json_words(option->words));
    } else if (option->kind != EMP_OPTION_BOOL) {
        json_object_set_new(object, "minimum", json_value(option, option->low));
        json_object_set_new(object, "maximum", json_value(option, option->high));
    }
    json_object_set_new(object, "help", json_string(option->help));
    return object;
}

/* The same as an object by name; NULL when out of memory. */
static json_t *cli_json_option_table(const emp_option *list, const char *presets)
{
    json_t *object = json_object();

    for (const emp_option *o = list; o != NULL && o->name != NULL; o++)
        json_object_set_new(object, o->name, json_option(o, presets));
    return object;
}

/* ---- workloads ------------------------------------------------------------------------- */

static const char workloads_doc[] =
    "List the workload families, or one family's parameters with defaults.\v"
    "A spec is a family with any of its parameters.\n\n"
    "  emplace workloads nmt\n"
    "  emplace graph nmt:layers=4,batch=32";
const struct argp cmd_workloads_argp = {
    NULL, cli_listing_parse, "[NAME]", workloads_doc, cli_listing_children, NULL, NULL};

/* Specs that name a file are listed as families, which are built by another way. */
static emp_workload file_family(const emp_source_prefix *prefix)
{
    return (emp_workload){.name = prefix->name,
                          .description = prefix->description,
                          .params = prefix->options};
}

static json_t *json_workload(const emp_workload *w)
{
    return json_pack("{s:s, s:o}", "description", w->description, "params",
                     cli_json_option_table(w->params, NULL));
}

static emp_status find_workload(const emp_workload **found, const char *name,
                                emp_error *err)
{
    int32_t             count = 0;
    const emp_workload *table = emp_workload_table(&count);
    emp_nearest         near = emp_nearest_begin(name, strlen(name), "");
    char                hint[EMP_NEAREST_BYTES];

    for (const emp_workload *w = table; w < table + count; w++) {
        if (strcmp(w->name, name) == 0) {
            *found = w;
            return EMP_OK;
        }
        emp_nearest_offer(&near, w->name, strlen(w->name));
    }
    return EMP_ERROR(EMP_EINVAL,
                     "there is no workload \"%s\"%s; emplace workloads lists them", name,
                     emp_nearest_hint(&near, hint));
}

static emp_status print_workload(const cli_listing_args *args, emp_error *err)
{
    emp_workload             family;
    const emp_workload      *w = NULL;
    const emp_source_prefix *prefix = emp_source_prefix_of(args->name);

    if (prefix != NULL) {
        family = file_family(prefix);
        w = &family;
    }
    if (w == NULL) EMP_CHECK(find_workload(&w, args->name, err));
    if (args->format != EMP_SHEET_TEXT)
        return cli_listing_one(w->name, json_workload(w), args->format, err);
    printf("%s: %s\n", w->name, w->description);
    cli_print_option_table(w->params, NULL);
    return EMP_OK;
}

emp_status cmd_workloads(int argc, char **argv, emp_error *err)
{
    cli_listing_args    args = {0};
    cli_listing         list;
    int32_t             count = 0;
    const emp_workload *table = emp_workload_table(&count);

    cli_parse(&cmd_workloads_argp, argc, argv, &args);
    if (args.name != NULL) return print_workload(&args, err);
    cli_listing_begin(&list, args.format);
    for (const emp_workload *w = table; w < table + count; w++)
        cli_listing_add(&list, w->name, w->description, json_workload(w));
    const emp_source_prefix *prefix = emp_source_prefixes(&count);
    for (int32_t i = 0; i < count; i++) {
        const emp_workload family = file_family(&prefix[i]);
        cli_listing_add(&list, family.name, family.description, json_workload(&family));
    }
    cli_listing_more(args.format, "workloads");
    return cli_listing_end(&list, EMP_OK, err);
}

/* ---- runtimes -------------------------------------------------------------------------- */

static const char runtimes_doc[] =
    "List the runtime profiles that come with the program, or what one profile does.\v"
    "Every --runtime option also takes the path of a YAML file.\n\n"
    "  emplace runtimes ideal\n"
    "  emplace simulate rnnlm -m k40x2 --runtime ideal --placement gpu";
const struct argp cmd_runtimes_argp = {NULL,         cli_listing_parse,    "[NAME|FILE]",
                                       runtimes_doc, cli_listing_children, NULL,
                                       NULL};

/* The switches of a runtime with the rules events, in the words of its file. */
static const struct {
    const char *name;
    size_t      offset; /* of a bool in emp_runtime_events */
} mechanisms[] = {
    {"serial_issue", offsetof(emp_runtime_events, serial_issue)},
    {"drain_copies", offsetof(emp_runtime_events, drain_copies)},
    {"release_at_issue", offsetof(emp_runtime_events, release_at_issue)},
    {"reuse_inputs", offsetof(emp_runtime_events, reuse_inputs)},
    {"cpu_pool", offsetof(emp_runtime_events, cpu_pool)},
    {"control_latency", offsetof(emp_runtime_events, control_latency)},
    {"share_copies", offsetof(emp_runtime_events, share_copies)},
    {"copy_streams", offsetof(emp_runtime_events, copy_streams)},
    {"shared_links", offsetof(emp_runtime_events, shared_links)},
    {"copy_memory", offsetof(emp_runtime_events, copy_memory)},
    {"workspace", offsetof(emp_runtime_events, workspace)},
    {"addn_waits", offsetof(emp_runtime_events, addn_waits)},
    {"bfc_allocator", offsetof(emp_runtime_events, bfc_allocator)},
    {"caching_allocator", offsetof(emp_runtime_events, caching_allocator)},
    {"shared_memory", offsetof(emp_runtime_events, shared_memory)},
};
enum { MECHANISMS = sizeof mechanisms / sizeof *mechanisms };

static bool is_on(const emp_runtime_events *events, int i)
{
    return *(const bool *)((const char *)events + mechanisms[i].offset);
}

static json_t *json_runtime(const emp_runtime *r)
{
    const emp_runtime_events *e = emp_runtime_events_of(r);
    json_t *o = json_pack("{s:s, s:s, s:b}", "description", r->description, "rules",
                          emp_rules_str(r->rules), "check_memory", r->check_memory);
    json_t *on = json_object();

    for (int i = 0; r->rules == EMP_RULES_EVENTS && i < MECHANISMS; i++)
        json_object_set_new(on, mechanisms[i].name, json_boolean(is_on(e, i)));
    if (json_object_size(on) > 0) json_object_set(o, "mechanisms", on);
    json_decref(on);
    return o;
}

static emp_status print_runtime(const cli_listing_args *args, emp_error *err)
{
    emp_runtime               r;
    const emp_runtime_events *e;

    EMP_CHECK(emp_runtime_init(&r, args->name, err));
    if (args->format != EMP_SHEET_TEXT)
        return cli_listing_one(r.name, json_runtime(&r), args->format, err);
    e = emp_runtime_events_of(&r);
    printf("%s: %s\nrules %s; memory is %schecked\n", r.name, r.description,
           emp_rules_str(r.rules), r.check_memory ? "" : "not ");
    if (r.rules != EMP_RULES_EVENTS) return EMP_OK;
    printf("mechanisms, which docs/simulator.md explains\n");
    for (int i = 0; i < MECHANISMS; i++)
        printf("  %-18s %s\n", mechanisms[i].name, is_on(e, i) ? "yes" : "no");
    return EMP_OK;
}

emp_status cmd_runtimes(int argc, char **argv, emp_error *err)
{
    emp_status       st = EMP_OK;
    cli_listing_args args = {0};
    cli_listing      list;
    char             names[] = EMP_RUNTIME_NAMES, *rest = NULL;
    emp_runtime      runtime;

    cli_parse(&cmd_runtimes_argp, argc, argv, &args);
    if (args.name != NULL) return print_runtime(&args, err);
    cli_listing_begin(&list, args.format);
    for (char *name = strtok_r(names, ", ", &rest); name != NULL;
         name = strtok_r(NULL, ", ", &rest)) {
        EMP_TRY(emp_runtime_init(&runtime, name, err));
        cli_listing_add(&list, name, runtime.description, json_runtime(&runtime));
    }
    cli_listing_more(args.format, "runtimes");

cleanup:
    return cli_listing_end(&list, st, err);
}

/* ---- methods --------------------------------------------------------------------------- */

static const char methods_doc[] =
    "List the methods and what to use each for, or one method's options with defaults.\v"
    "  emplace methods scotch\n"
    "  emplace place nmt:layers=2 --machine k40x2 --method scotch \\\n"
    "      --options imbalance=0.1";
const struct argp cmd_methods_argp = {
    NULL, cli_listing_parse, "[NAME]", methods_doc, cli_listing_children, NULL, NULL};

static void print_presets(const emp_method *method)
{
    size_t      length;
    const char *preset;

    for (int32_t i = 0; (preset = emp_words_at(method->presets, i, &length)) != NULL; i++)
        printf("%s%.*s", i == 0 ? "presets: " : ", ", (int)length, preset);
    if (method->presets == NULL) return;
    printf("%s\n", strchr(method->presets, '|') == NULL
                       ? ""
                       : "; options have the first one's value / the second's");
}

static const char *const kind_words[] = {EMP_METHOD_KIND_LIST(EMP_LIST_SECOND)};

static const char *const kind_headings[] = {EMP_METHOD_KIND_LIST(EMP_LIST_THIRD)};

static void print_members(const emp_method *method)
{
    for (int32_t i = 0; method->members != NULL && method->members[i] != NULL; i++)
        cli_print_entry(method->members[i]->name, CLI_LISTING_COLUMN,
                        method->members[i]->advice);
}

static json_t *json_members(const emp_method *method)
{
    json_t *names = json_array();

    for (int32_t i = 0; method->members != NULL && method->members[i] != NULL; i++)
        json_array_append_new(names, json_string(method->members[i]->name));
    return names;
}

static bool decides_order(const emp_method *method)
{
    return (method->decides & EMP_DECIDES_ORDER) != 0;
}

static bool decides_fusion(const emp_method *method)
{
    return (method->decides & EMP_DECIDES_FUSION) != 0;
}

static bool has_start(const emp_method *method) { return method->has_start; }

/* NULL: the weights need none. */
static const char *weights_options(const emp_method *method)
{
    return method->learning != NULL ? method->learning->weights_options : NULL;
}

static json_t *json_method(const emp_method *method)
{
    return json_pack(
        "{s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:s?, s:o, s:o, s:o}", "description",
        method->description, "kind", kind_words[emp_method_kind_of(method)], "advice",
        method->advice, "uses_budget", method->uses_budget, "decides_order",
        decides_order(method), "decides_fusion", decides_fusion(method), "has_start",
        method->has_start, "has_weights", emp_method_has_weights(method),
        "weights_options", weights_options(method), "members", json_members(method),
        "presets", cli_json_words(method->presets), "options",
        cli_json_option_table(method->options, method->presets));
}

static emp_status print_method(const cli_listing_args *args, emp_error *err)
{
    const emp_method *method = NULL;

    EMP_CHECK(emp_method_find(&method, args->name, err));
    if (args->format != EMP_SHEET_TEXT)
        return cli_listing_one(method->name, json_method(method), args->format, err);
    printf("%s: %s\nuse it for: %s\n", method->name, method->description, method->advice);
    print_members(method);
    print_presets(method);
    printf("decides: devices%s%s%s\n", decides_order(method) ? ", order" : "",
           decides_fusion(method) ? ", fusion" : "",
           method->has_start ? "; can begin at a placement (--start)" : "");
    if (emp_method_has_weights(method))
        printf("weights: fit other graphs (train --tasks, --weights)%s%s\n",
               weights_options(method) != NULL ? ", with " : "",
               weights_options(method) != NULL ? weights_options(method) : "");
    cli_print_option_table(method->options, method->presets);
    return EMP_OK;
}

/* Names behind a head, on lines of at most LINE columns. */
static void print_names(const char *head, bool (*is_one)(const emp_method *method))
{
    enum { LINE = 80 };
    const emp_method *method;
    size_t            used = strlen(head) + 1;
    bool              is_first = true;

    printf("%s:", head);
    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++) {
        if (!is_one(method)) continue;
        const size_t wanted = strlen(is_first ? " " : ", ") + strlen(method->name);
        const bool   has_room = used + wanted < LINE;
        printf("%s%s%s", is_first ? "" : ",", has_room ? " " : "\n  ", method->name);
        used = has_room ? used + wanted : 2 + strlen(method->name);
        is_first = false;
    }
    putchar('\n');
}

static void print_methods_of(emp_method_kind kind)
{
    const emp_method *method;

    printf("%s%s\n", kind == 0 ? "" : "\n", kind_headings[kind]);
    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++)
        if (emp_method_kind_of(method) == kind)
            cli_print_entry(method->name, CLI_LISTING_COLUMN, method->advice);
}

emp_status cmd_methods(int argc, char **argv, emp_error *err)
{
    cli_listing_args  args = {0};
    cli_listing       list;
    const emp_method *method = NULL;

    cli_parse(&cmd_methods_argp, argc, argv, &args);
    if (args.name != NULL) return print_method(&args, err);
    if (args.format == EMP_SHEET_TEXT) {
        for (int kind = 0; kind < EMP_METHOD_KINDS; kind++)
            print_methods_of((emp_method_kind)kind);
        putchar('\n');
        print_names("decide the order, too", decides_order);
        print_names("decide the fusion, too", decides_fusion);
        print_names("can begin at a placement", has_start);
        print_names("have weights that fit other graphs", emp_method_has_weights);
        cli_listing_more(args.format, "methods");
        return EMP_OK;
    }
    cli_listing_begin(&list, args.format);
    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++)
        cli_listing_add(&list, method->name, method->description, json_method(method));
    return cli_listing_end(&list, EMP_OK, err);
}
