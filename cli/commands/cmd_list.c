// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace workloads | machines | runtimes | methods: what there is. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

static json_t *json_param(const emp_workload_param *p)
{
    if (p->names == NULL) {
        return json_pack("{s:I, s:I, s:I, s:s}", "default", (json_int_t)p->value,
                         "minimum", (json_int_t)p->minimum, "maximum",
                         (json_int_t)p->maximum, "help", p->help);
    }
    json_t *choices = json_array();
    for (const char *const *name = p->names; *name != NULL; name++) {
        json_array_append_new(choices, json_string(*name));
    }
    return json_pack("{s:s, s:o, s:s}", "default", p->names[p->value], "choices", choices,
                     "help", p->help);
}

static json_t *json_workload(const emp_workload *workload)
{
    json_t *params = json_object();

    for (const emp_workload_param *p = workload->params; p->key != NULL; p++) {
        json_object_set_new(params, p->key, json_param(p));
    }
    return json_pack("{s:s, s:o}", "description", workload->description, "params",
                     params);
}

static void print_workload(const emp_workload *workload)
{
    printf("%s: %s\n", workload->name, workload->description);
    for (const emp_workload_param *p = workload->params; p->key != NULL; p++) {
        if (p->names == NULL) {
            printf("  %-20s %8lld  %s\n", p->key, (long long)p->value, p->help);
            continue;
        }
        printf("  %-20s %8s  %s:", p->key, p->names[p->value], p->help);
        for (const char *const *name = p->names; *name != NULL; name++)
            printf(" %s", *name);
        printf("\n");
    }
}

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

    for (int32_t i = 0; i < count; i++) {
        if (is_json)
            json_object_set_new(object, table[i].name, json_workload(&table[i]));
        else
            print_workload(&table[i]);
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
        EMP_TRY(emp_runtime_load(&runtime, name, err));
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

/* One line of a method's options, cut into its three parts. */
typedef struct {
    int         key_length, value_length, help_length;
    const char *key, *value, *help;
} option_line;

/* The length of a value: of values for two presets one is enough if they are the same. */
static int shorten(const char *value, int length)
{
    const char *slash = memchr(value, '/', (size_t)length);
    int         first = slash == NULL ? length : (int)(slash - value);

    return length == 2 * first + 1 && memcmp(value, slash + 1, (size_t)first) == 0
               ? first
               : length;
}

/* \return where the next line begins. */
static const char *cut_line(option_line *line, const char *text)
{
    line->key = text;
    line->key_length = (int)strcspn(text, "\t");
    line->value = text + line->key_length + 1;
    int value_length = (int)strcspn(line->value, "\t");
    line->value_length = shorten(line->value, value_length);
    line->help = line->value + value_length + 1;
    line->help_length = (int)strcspn(line->help, "\n");
    return line->help + line->help_length + 1;
}

static void print_method(const emp_placer_type *method)
{
    option_line line;

    printf("%s: %s\n", method->name, method->description);
    if (method->presets != NULL)
        printf("  presets: %s%s\n", method->presets,
               strchr(method->presets, ',') == NULL
                   ? ""
                   : "; options have the first one's value / the second's");
    for (const char *text = method->options; text != NULL && *text != '\0';) {
        text = cut_line(&line, text);
        printf("  %-20.*s %13.*s  %.*s\n", line.key_length, line.key, line.value_length,
               line.value, line.help_length, line.help);
    }
}

static json_t *json_method(const emp_placer_type *method)
{
    json_t     *options_of_method = json_object();
    option_line line;

    for (const char *text = method->options; text != NULL && *text != '\0';) {
        text = cut_line(&line, text);
        json_object_setn_new(options_of_method, line.key, (size_t)line.key_length,
                             json_pack("{s:s%, s:s%}", "default", line.value,
                                       (size_t)line.value_length, "help", line.help,
                                       (size_t)line.help_length));
    }
    return json_pack("{s:s, s:b, s:o}", "description", method->description, "uses_budget",
                     method->is_learner, "options", options_of_method);
}

emp_status cmd_methods(int argc, char **argv, emp_error *err)
{
    bool                   is_json = wants_json(argc, argv,
                                                "List the placement methods, their options and defaults.\v"
                                                                  "  emplace place nmt:layers=2 --machine k40x2 "
                                                                  "--method scotch");
    json_t                *object = is_json ? json_object() : NULL;
    const emp_placer_type *method = NULL;

    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++) {
        if (is_json) {
            json_object_set_new(object, method->name, json_method(method));
        } else {
            print_method(method);
        }
    }
    return print_object(&object, err);
}
