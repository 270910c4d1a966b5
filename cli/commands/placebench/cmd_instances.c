// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace instances: PlaceBench's instances, or the facts about one. */
#include <inttypes.h>
#include <stdio.h>

#include "base/text/text.h"
#include "base/text/units.h"
#include "bench/placebench/placebench.h"
#include "cli/cli.h"

enum { COMMAND_BYTES = 1024 };

static const char doc[] =
    "List the instances of PlaceBench, a frozen set of tasks, or the facts about one "
    "of them.\v"
    "docs/results.md has the rules of the set. Published instances are files that "
    "are not part of the program; one's entry says where to get it.\n\n"
    "  emplace instances\n"
    "  emplace instances wavenet-2-p100x4\n"
    "  emplace instances --format json\n"
    "  emplace bench placers --tasks placebench:test --methods mincut,anneal";

const struct argp cmd_instances_argp = {
    NULL, cli_listing_parse, "[NAME]", doc, cli_listing_children, NULL, NULL};

static void describe(const emp_placebench_instance *instance, char *text, size_t size)
{
    snprintf(text, size, "%s: %s on %s, runtime %s%s",
             emp_placebench_split_name(instance->split), instance->workload,
             instance->task.machine, instance->frozen.runtime,
             instance->is_there ? "" : " (its file is not there)");
}

/* The command that has found the best step time known; "" where none is. */
static void write_command(const emp_placebench_instance *instance,
                          char                           command[COMMAND_BYTES])
{
    const bool is_own = strcmp(instance->task.machine, EMP_OWN_MACHINE) == 0;
    emp_text   text = {command, COMMAND_BYTES, 0};

    command[0] = '\0';
    if (!instance->is_known) return;
    emp_text_add(&text, "emplace place %s", instance->task.spec);
    if (!is_own) emp_text_add(&text, " --machine %s", instance->task.machine);
    emp_text_add(&text, " --runtime %s --method %s", instance->frozen.runtime,
                 instance->method);
    if (instance->budget > 0) emp_text_add(&text, " --budget %" PRId64, instance->budget);
    emp_text_add(&text, " --seed %" PRIu64, instance->seed);
}

static json_t *json_text(const char *text)
{
    return text == NULL || text[0] == '\0' ? json_null() : json_string(text);
}

static json_t *json_instance(const emp_placebench_instance *i)
{
    char graph[24], command[COMMAND_BYTES];

    write_command(i, command);
    snprintf(graph, sizeof graph, "%016" PRIx64, i->frozen.graph_hash);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:b, s:I, s:s, s:o, s:o, s:o}",
                     "split", emp_placebench_split_name(i->split), "family", i->family,
                     "workload", i->task.spec, "machine", i->task.machine, "runtime",
                     i->frozen.runtime, "source", json_text(i->source), "sha256",
                     json_text(i->sha256), "is_there", i->is_there, "op_count",
                     (json_int_t)i->op_count, "graph_hash", graph, "lower_bound_s",
                     cli_json_number(i->bound_s), "best_known_s",
                     cli_json_number(i->best_s), "best_known_by", json_text(command));
}

static void print_known(const emp_placebench_instance *i)
{
    char text[EMP_UNITS_TEXT_BYTES], command[COMMAND_BYTES];

    if (!i->is_known) return;
    printf("ops          %" PRId64 " in a step\n", i->op_count);
    printf("lower bound  %s\n", emp_units_format_seconds(i->bound_s, text, sizeof text));
    printf("best known   %s", emp_units_format_seconds(i->best_s, text, sizeof text));
    if (i->bound_s > 0)
        printf(", gap %s",
               emp_units_format_percent(i->best_s / i->bound_s - 1, text, sizeof text));
    write_command(i, command);
    printf("\nfound by     %s\n", command);
}

static emp_status print_one(const emp_placebench *bench, const cli_listing_args *args,
                            emp_error *err)
{
    const emp_placebench_instance *i = NULL;

    EMP_CHECK(emp_placebench_find(&i, bench, args->name, err));
    if (args->format != EMP_SHEET_TEXT)
        return cli_listing_one(i->task.key, json_instance(i), args->format, err);
    printf("%s, %s: %s on %s, runtime %s\n", i->task.key,
           emp_placebench_split_name(i->split), i->workload, i->task.machine,
           i->frozen.runtime);
    print_known(i);
    if (i->source == NULL) return EMP_OK;
    printf("file         %s%s\n", i->task.spec,
           i->is_there ? "" : ", which is not there");
    printf("source       %s\nsha256       %s\n", i->source, i->sha256);
    return EMP_OK;
}

static emp_status print_all(const emp_placebench *bench, const cli_listing_args *args,
                            emp_error *err)
{
    cli_listing list;
    char        text[COMMAND_BYTES];

    cli_listing_begin(&list, args->format);
    for (int32_t i = 0; i < bench->count; i++) {
        const emp_placebench_instance *instance = &bench->instance[i];
        describe(instance, text, sizeof text);
        cli_listing_add(&list, instance->task.key, text, json_instance(instance));
    }
    cli_listing_more(args->format, "instances");
    return cli_listing_end(&list, EMP_OK, err);
}

emp_status cmd_instances(int argc, char **argv, emp_error *err)
{
    emp_status       st = EMP_OK;
    cli_listing_args args = {0};
    emp_placebench   bench = {0};

    cli_parse(&cmd_instances_argp, argc, argv, &args);
    EMP_TRY(emp_placebench_load(&bench, err));
    EMP_TRY(args.name != NULL ? print_one(&bench, &args, err)
                              : print_all(&bench, &args, err));

cleanup:
    emp_placebench_clear(&bench);
    return st;
}
