// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace calibrate iterations: measured iterations of pipelines beside predictions. */
#include <stdio.h>

#include "base/mem.h"
#include "base/text/file.h"
#include "base/text/units.h"
#include "bench/iterations/iterations.h"
#include "cli/cli.h"

enum { KEY_HOST_GPUS = 256 };

/* When they are not given. */
#define HOST_RATE "100 GB/s"
#define ENGINE    "sailor"
enum { HOST_GPUS = 8 };

struct args {
    const char      *rows, *layers, *network, *collectives, *machine, *host_rate, *engine;
    int32_t          host_gpus; /* 0 = not given */
    bool             all_ranks;
    emp_sheet_format format;
};

static const struct argp_option options[] = {
    {"layers", CLI_TEXT(struct args, layers), "FILE", 0,
     "Table of measured layers (docs/models.md), for rows that name devices", 0},
    {"network", CLI_TEXT(struct args, network), "FILE", 0,
     "Table of what hosts send each other, likewise", 0},
    {"collectives", CLI_TEXT(struct args, collectives), "FILE", 0,
     "Table of collectives within a host, likewise; without it gathering parts of an "
     "activation takes no time",
     0},
    {"engine", CLI_TEXT(struct args, engine), "NAME", 0,
     "Engine that ran the pipelines, likewise: " ENGINE
     " (default), a changed DeepSpeed, or deepspeed",
     0},
    {"machine", 'm', "NAME|FILE", 0,
     "Machine whose first GPU model's tables count, for rows of transformers", 0},
    {"host-rate", CLI_TEXT(struct args, host_rate), "RATE", 0,
     "Rate from a host to all others together (default " HOST_RATE "), likewise", 0},
    {"host-gpus", KEY_HOST_GPUS, "N", 0, "GPUs of a host (default 8), likewise", 0},
    {"all-ranks", CLI_FLAG(struct args, all_ranks), NULL, 0,
     "Simulate each rank, though a stage's ranks are alike, for rows that name models",
     0},
    {0},
};

static const char doc[] =
    "Print measured iterations of training on several GPUs beside what is predicted of "
    "them.\v"
    "ROWS is a table: docs/models.md has its three forms. Nothing is fitted to "
    "iterations.\n\n"
    "  emplace calibrate iterations steps.tsv\n"
    "  emplace calibrate iterations iterations.tsv --layers layers.tsv --network "
    "network.tsv\n"
    "  emplace calibrate iterations transformers.tsv --machine dgx-a100";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->format; return 0;
    case 'm': a->machine = arg; return 0;
    case KEY_HOST_GPUS:
        a->host_gpus = (int32_t)cli_integer("host-gpus", arg, 1, 1 << 10);
        return 0;
    case ARGP_KEY_ARG:
        if (a->rows != NULL)
            cli_usage_error("one table of rows only, not also \"%s\"", arg);
        a->rows = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->rows == NULL) cli_usage_error("a table of measured iterations is missing");
        return 0;
    default: return cli_store(key, arg, a);
    }
}

/* ---- tables ---- */

struct tables {
    emp_iterations  rows;
    emp_layer_table layers;
    emp_network    *network;
    emp_machine    *machine;
    emp_hosts       hosts;
    emp_engine      engine;
};

static void clear(struct tables *t)
{
    emp_iterations_clear(&t->rows);
    emp_layer_table_clear(&t->layers);
    emp_network_destroy(t->network);
    emp_machine_destroy(t->machine);
}

static emp_status load_rows(struct tables *t, const char *path, emp_error *err)
{
    char      *bytes = NULL;
    size_t     size = 0;
    emp_status st = emp_file_load_named(path, &bytes, &size, err);

    if (st == EMP_OK) st = emp_iterations_parse(&t->rows, bytes, size, path, err);
    emp_free(bytes);
    return st;
}

static emp_status load_layers(struct tables *t, const char *path, emp_error *err)
{
    char      *bytes = NULL;
    size_t     size = 0;
    emp_status st = emp_file_load_named(path, &bytes, &size, err);

    if (st == EMP_OK)
        st = emp_layer_table_parse(&t->layers, (emp_slice){bytes, size}, path, err);
    emp_free(bytes);
    return st;
}

static emp_status load_network(struct tables *t, const char *path,
                               emp_status (*add)(emp_network *, const char *, size_t,
                                                 const char *, emp_error *),
                               emp_error *err)
{
    char      *bytes = NULL;
    size_t     size = 0;
    emp_status st = emp_file_load_named(path, &bytes, &size, err);

    if (st == EMP_OK) st = add(t->network, bytes, size, path, err);
    emp_free(bytes);
    return st;
}

/* The form of a table's rows. */
typedef enum { OF_DEVICES, OF_TRANSFORMERS, OF_MODELS } row_form;

/* An option that the rows have no use for would seem to have been heeded. */
static emp_status refuse_unused(const struct args *a, row_form form, emp_error *err)
{
    static const char *const what[] = {"name devices", "are transformers", "name models"};
    const struct {
        const char *name;
        bool        is_given;
        row_form    is_of;
    } option[] = {{"layers", a->layers != NULL, OF_DEVICES},
                  {"network", a->network != NULL, OF_DEVICES},
                  {"collectives", a->collectives != NULL, OF_DEVICES},
                  {"engine", a->engine != NULL, OF_DEVICES},
                  {"machine", a->machine != NULL, OF_TRANSFORMERS},
                  {"host-rate", a->host_rate != NULL, OF_TRANSFORMERS},
                  {"host-gpus", a->host_gpus > 0, OF_TRANSFORMERS},
                  {"all-ranks", a->all_ranks, OF_MODELS}};

    for (size_t i = 0; i < sizeof option / sizeof *option; i++) {
        if (!option[i].is_given || option[i].is_of == form) continue;
        return EMP_ERROR(EMP_EINVAL,
                         "rows of %s %s, which --%s says nothing of; leave it out",
                         a->rows, what[form], option[i].name);
    }
    return EMP_OK;
}

/* The tables from which rows that name devices are predicted. */
static emp_status load_profiles(struct tables *t, const struct args *a, emp_error *err)
{
    if (a->layers == NULL || a->network == NULL)
        return EMP_ERROR(EMP_EINVAL,
                         "rows of %s name devices; predictions need --layers and "
                         "--network",
                         a->rows);
    if (!emp_engine_find(&t->engine, a->engine != NULL ? a->engine : ENGINE))
        return EMP_ERROR(EMP_EINVAL, "--engine %s: want sailor or deepspeed", a->engine);
    EMP_CHECK(load_layers(t, a->layers, err));
    EMP_CHECK(emp_network_create(&t->network, err));
    EMP_CHECK(load_network(t, a->network, emp_network_add_fits, err));
    if (a->collectives == NULL) return EMP_OK;
    return load_network(t, a->collectives, emp_network_add_collectives, err);
}

static emp_status load_hosts(struct tables *t, const struct args *a, emp_error *err)
{
    const char *host_rate = a->host_rate != NULL ? a->host_rate : HOST_RATE;

    if (a->machine == NULL)
        return EMP_ERROR(EMP_EINVAL,
                         "rows of %s are transformers; predictions need --machine",
                         a->rows);
    EMP_CHECK(emp_machine_load(&t->machine, a->machine, err));
    t->hosts = (emp_hosts){.gpu = emp_machine_first(t->machine, EMP_DEVICE_GPU),
                           .gpus_per_host = a->host_gpus > 0 ? a->host_gpus : HOST_GPUS};
    if (t->hosts.gpu == NULL)
        return EMP_ERROR(EMP_EINVAL, "machine %s has no GPU", t->machine->name);
    EMP_CHECK(emp_units_parse(host_rate, EMP_UNIT_BYTES_PER_S, &t->hosts.host_bytes_per_s,
                              err));
    if (t->hosts.host_bytes_per_s > 0.0) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL, "--host-rate %s: want a rate above 0", host_rate);
}

/* ---- steps on many GPUs ---- */

/* A table of models and degrees, whose column `gpu` picks the cluster. \param[out] is_theirs  Whether it is one. */
static emp_status predict_parallel(bool *is_theirs, const struct args *a, emp_error *err)
{
    emp_status        st = EMP_OK;
    char             *bytes = NULL;
    size_t            size = 0;
    emp_csv           csv = {0};
    emp_parallel_rows rows = {0};
    emp_sheet         sheet = {0};

    *is_theirs = false;
    EMP_TRY(emp_file_load_named(a->rows, &bytes, &size, err));
    EMP_TRY(emp_csv_parse(&csv, bytes, size, a->rows, err));
    *is_theirs = emp_parallel_rows_is(&csv);
    if (!*is_theirs) goto cleanup;
    EMP_TRY(refuse_unused(a, OF_MODELS, err));
    EMP_TRY(emp_parallel_rows_predict(&rows, &csv, a->all_ranks, err));
    emp_parallel_rows_tabulate(&sheet, &rows);
    EMP_TRY(emp_sheet_print(stdout, &sheet, a->format, err));

cleanup:
    emp_sheet_clear(&sheet);
    emp_parallel_rows_clear(&rows);
    emp_csv_clear(&csv);
    emp_free(bytes);
    return st;
}

/* ---- the command ---- */

static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp cmd_calibrate_iterations_argp = {options,  parse, "ROWS", doc,
                                                   children, NULL,  NULL};

emp_status cmd_calibrate_iterations(int argc, char **argv, emp_error *err)
{
    struct args           a = {0};
    emp_status            st = EMP_OK;
    struct tables         t = {0};
    emp_iteration_result *result = NULL;
    emp_sheet             sheet = {0};

    bool is_parallel;

    cli_parse(&cmd_calibrate_iterations_argp, argc, argv, &a);
    EMP_TRY(predict_parallel(&is_parallel, &a, err));
    if (is_parallel) return EMP_OK;
    EMP_TRY(load_rows(&t, a.rows, err));
    EMP_TRY(
        refuse_unused(&a, t.rows.are_transformers ? OF_TRANSFORMERS : OF_DEVICES, err));
    EMP_TRY(t.rows.are_transformers ? load_hosts(&t, &a, err)
                                    : load_profiles(&t, &a, err));
    const emp_iteration_sources sources = {&t.layers, t.network, &t.hosts, t.engine};
    EMP_TRY(EMP_ALLOC(result, (size_t)t.rows.count));
    EMP_TRY(emp_iterations_predict(result, &t.rows, &sources, err));
    emp_iterations_tabulate(&sheet, &t.rows, result);
    EMP_TRY(emp_sheet_print(stdout, &sheet, a.format, err));

cleanup:
    emp_sheet_clear(&sheet);
    emp_free(result);
    clear(&t);
    return st;
}
