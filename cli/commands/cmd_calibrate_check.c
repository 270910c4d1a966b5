// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace calibrate check: public measurements beside what the model says. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "bench/anchors/anchors.h"
#include "cli/cli.h"

struct args {
    const char      *machine, *runtime, *anchors;
    emp_sheet_format format;
    int32_t          threads;
};

static const struct argp_option options[] = {
    {"machine", 'm', "NAME|FILE", 0,
     "Whose cells of table 1 to list at the end: k40 (as in machine k40x1), a machine, "
     "or a machine file",
     0},
    {"runtime", 'r', "NAME|FILE", 0, "Runtime profile (default tf-r1.3)", 0},
    {"anchors", CLI_TEXT(struct args, anchors), "DIR", 0,
     "Folder of tables *.tsv (default: the data folder's, with cells of table 1)", 0},
    {"threads", 't', "N", 0, "Threads; results do not depend on it", 0},
    {0},
};

static const char doc[] =
    "Print public measurements of the modelled hardware, which no cell of a paper's "
    "table uses, beside the model's predictions.\v"
    "  emplace calibrate check --machine k40\n"
    "  emplace calibrate check --machine k40 --format csv\n"
    "  emplace calibrate check --machine h200x8 --runtime torch-eager --anchors "
    "data/anchors/torch";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->format; return 0;
    case 'm': a->machine = arg; return 0;
    case 'r': a->runtime = arg; return 0;
    case 't': a->threads = (int32_t)cli_integer("threads", arg, 1, 1024); return 0;
    case ARGP_KEY_ARG: cli_usage_error("unexpected \"%s\"", arg);
    case ARGP_KEY_END:
        if (a->machine == NULL) cli_usage_error("--machine is missing; e.g. k40");
        return 0;
    default: return cli_store(key, arg, a);
    }
}

static emp_status load(const struct args *a, emp_machine **machine, emp_runtime *runtime,
                       emp_anchors *anchors, emp_error *err)
{
    char name[512], folder[1024];

    EMP_CHECK(
        emp_machine_load(machine, cli_machine_of(a->machine, name, sizeof name), err));
    if (emp_machine_count(*machine, EMP_DEVICE_GPU) == 0)
        return EMP_ERROR(EMP_EINVAL, "machine %s has no GPU; cells need a CPU and a GPU",
                         (*machine)->name);
    EMP_CHECK(emp_runtime_init(runtime, a->runtime, err));
    if (runtime->rules != EMP_RULES_EVENTS)
        return EMP_ERROR(EMP_EINVAL,
                         "anchors are of a runtime with the rules events, not '%s'",
                         emp_rules_str(runtime->rules));
    emp_data_folder(folder, sizeof folder, "anchors");
    EMP_CHECK(emp_anchors_load(anchors, a->anchors != NULL ? a->anchors : folder, err));
    return emp_anchors_check_model(anchors, *machine, err);
}

static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_calibrate_check_argp = {options,  parse, NULL, doc,
                                                           children, NULL,  NULL};

emp_status cmd_calibrate_check(int argc, char **argv, emp_error *err)
{
    struct args       a = {.runtime = "tf-r1.3", .threads = cli_default_threads()};
    emp_status        st = EMP_OK;
    emp_machine      *machine = NULL;
    emp_runtime       runtime;
    emp_anchors       anchors = {0};
    emp_anchor_times *times = NULL;
    emp_sheet         sheets[EMP_ANCHOR_SHEETS] = {0};

    cli_parse(&cmd_calibrate_check_argp, argc, argv, &a);
    EMP_TRY(load(&a, &machine, &runtime, &anchors, err));
    EMP_TRY(EMP_ALLOC(times, (size_t)anchors.count));
    EMP_TRY(emp_anchors_predict(times, &anchors, &runtime, a.threads, err));
    EMP_TRY(emp_anchors_tabulate(sheets, &anchors, times, machine, &runtime,
                                 a.anchors == NULL, a.threads, err));
    EMP_TRY(emp_sheet_print(stdout, &sheets[0], a.format, err));

cleanup:
    for (int32_t i = 0; i < EMP_ANCHOR_SHEETS; i++) emp_sheet_clear(&sheets[i]);
    emp_free(times);
    emp_anchors_clear(&anchors);
    emp_machine_destroy(machine);
    return st;
}
