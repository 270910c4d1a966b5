// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace workloads | machines | runtimes | methods: what there is. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "cli/cli.h"
#include "graphs/workloads/workloads.h"
#include "run/methods.h"
#include "sim/machine/machine.h"

struct args {
    bool is_json;
};

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "Print a JSON object", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case 'j': args->is_json = true; return 0;
    case ARGP_KEY_ARG: cli_usage_error("this command takes no argument \"%s\"", arg);
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool wants_json(int argc, char **argv, const char *doc)
{
    const struct argp argp = {.options = options, .parser = parse, .doc = doc};
    struct args       args = {false};

    cli_parse(&argp, argc, argv, &args);
    return args.is_json;
}

/* Prints the object, if text is not wanted, and gives it up. */
static emp_status print_object(json_t **object, emp_error *err)
{
    json_t *printed = *object;

    *object = NULL;
    return printed != NULL ? cli_print_json(printed, err) : EMP_OK;
}

/* ---- tables of options ---------------------------------------------------------------- */

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

static void print_options(const emp_option *list, const char *presets)
{
    char defaults[2 * EMP_OPTION_TEXT_BYTES], range[EMP_OPTION_TEXT_BYTES];

    for (const emp_option *o = list; o != NULL && o->name != NULL; o++) {
        write_defaults(defaults, o, presets);
        emp_option_write_range(range, o);
        printf("  %-20s %13s  %s (%s)\n", o->name, defaults, o->help, range);
    }
}

static json_t *json_words(const char *words)
{
    json_t     *array = json_array();
    size_t      length;
    const char *word;

    for (int32_t i = 0; (word = emp_words_at(words, i, &length)) != NULL; i++)
        json_array_append_new(array, json_stringn(word, length));
    return array;
}

/* A value of the option. */
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
        json_object_set_new(object, "choices", json_words(option->words));
    } else if (option->kind != EMP_OPTION_BOOL) {
        json_object_set_new(object, "minimum", json_value(option, option->low));
        json_object_set_new(object, "maximum", json_value(option, option->high));
    }
    json_object_set_new(object, "help", json_string(option->help));
    return object;
}

static json_t *json_options(const emp_option *list, const char *presets)
{
    json_t *object = json_object();

    for (const emp_option *o = list; o != NULL && o->name != NULL; o++)
        json_object_set_new(object, o->name, json_option(o, presets));
    return object;
}

/* ---- workloads --- */

emp_status cmd_workloads(int argc, char **argv, emp_error *err)
{
    bool is_json =
        wants_json(argc, argv,
                   "List the workload families, their parameters and defaults.\v"
                   "A spec is a family with any of its parameters:\n"
                   "  emplace graph nmt:layers=4,batch=32");
    int32_t             count = 0;
    const emp_workload *table = emp_workload_table(&count);
    json_t             *object = is_json ? json_object() : NULL;

    for (const emp_workload *w = table; w < table + count; w++) {
        if (is_json) {
            json_object_set_new(object, w->name,
                                json_pack("{s:s, s:o}", "description", w->description,
                                          "params", json_options(w->params, NULL)));
        } else {
            printf("%s: %s\n", w->name, w->description);
            print_options(w->params, NULL);
        }
    }
    return print_object(&object, err);
}

emp_status cmd_machines(int argc, char **argv, emp_error *err)
{
    emp_status st = EMP_OK;
    bool       is_json =
        wants_json(argc, argv,
                   "List the machines that come with the program.\v"
                   "Every --machine option also takes the path of a YAML file:\n"
                   "  emplace simulate rnnlm --machine ./mine.yaml "
                   "--placement gpu");
    int32_t            count = 0;
    const char *const *names = emp_machine_names(&count);
    emp_machine       *machine = NULL;
    json_t            *object = is_json ? json_object() : NULL;

    for (int32_t i = 0; i < count; i++) {
        EMP_TRY(emp_machine_load(&machine, names[i], err));
        if (is_json) {
            json_object_set_new(
                object, names[i],
                json_pack("{s:s, s:i, s:i}", "description", machine->description, "cpus",
                          emp_machine_count(machine, EMP_DEVICE_CPU), "gpus",
                          emp_machine_count(machine, EMP_DEVICE_GPU)));
        } else {
            printf("%-10s %s\n", names[i], machine->description);
        }
        emp_machine_destroy(machine);
        machine = NULL;
    }
    st = print_object(&object, err);

cleanup:
    json_decref(object);
    return st;
}

emp_status cmd_runtimes(int argc, char **argv, emp_error *err)
{
    emp_status st = EMP_OK;
    bool       is_json =
        wants_json(argc, argv,
                   "List the runtime profiles that come with the program.\v"
                   "Every --runtime option also takes the path of a YAML file:\n"
                   "  emplace simulate rnnlm --machine k40x2 --runtime ideal "
                   "--placement gpu");
    json_t     *object = is_json ? json_object() : NULL;
    char        names[] = EMP_RUNTIME_NAMES, *rest = NULL;
    emp_runtime runtime;

    for (char *name = strtok_r(names, ", ", &rest); name != NULL;
         name = strtok_r(NULL, ", ", &rest)) {
        EMP_TRY(emp_runtime_init(&runtime, name, err));
        if (is_json) {
            json_object_set_new(object, name,
                                json_pack("{s:s, s:s}", "description",
                                          runtime.description, "rules",
                                          emp_rules_str(runtime.rules)));
        } else {
            printf("%-12s %s\n", name, runtime.description);
        }
    }
    st = print_object(&object, err);

cleanup:
    json_decref(object);
    return st;
}

/* ---- methods --- */

static void print_method(const emp_method *method)
{
    size_t      length;
    const char *preset;

    printf("%s: %s\n", method->name, method->description);
    for (int32_t i = 0; (preset = emp_words_at(method->presets, i, &length)) != NULL; i++)
        printf("%s%.*s", i == 0 ? "  presets: " : ", ", (int)length, preset);
    if (method->presets != NULL)
        printf("%s\n", strchr(method->presets, '|') == NULL
                           ? ""
                           : "; options have the first one's value / the second's");
    print_options(method->options, method->presets);
}

static json_t *json_method(const emp_method *method)
{
    return json_pack("{s:s, s:b, s:o, s:o}", "description", method->description,
                     "uses_budget", method->uses_budget, "presets",
                     json_words(method->presets), "options",
                     json_options(method->options, method->presets));
}

struct method_args {
    struct args       common;
    const emp_method *method; /* the only one that is wanted, or NULL */
};

static error_t parse_method(int key, char *arg, struct argp_state *state)
{
    struct method_args *args = (struct method_args *)state->input;
    emp_error           err = {0};

    if (key != ARGP_KEY_ARG || args->method != NULL) return parse(key, arg, state);
    if (emp_method_find(&args->method, arg, &err) != EMP_OK)
        cli_usage_error("%s", err.msg);
    return 0;
}

emp_status cmd_methods(int argc, char **argv, emp_error *err)
{
    const struct argp  argp = {.options = options,
                               .parser = parse_method,
                               .args_doc = "[METHOD]",
                               .doc = "List the placement methods, or one, with the "
                                       "options: name, default, meaning, range.\v"
                                       "  emplace methods scotch\n"
                                       "  emplace place nmt:layers=2 --machine k40x2 "
                                       "--method scotch --options imbalance=0.1"};
    struct method_args args = {.method = NULL};
    const emp_method  *method = NULL;

    cli_parse(&argp, argc, argv, &args);
    json_t *object = args.common.is_json ? json_object() : NULL;
    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++) {
        if (args.method != NULL && args.method != method) continue;
        if (args.common.is_json)
            json_object_set_new(object, method->name, json_method(method));
        else
            print_method(method);
    }
    return print_object(&object, err);
}
