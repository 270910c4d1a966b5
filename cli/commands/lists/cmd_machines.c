// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace machines: what there is, one of them, the ways between its devices, what is implausible of it,
 * and a file for a computer that nvidia-smi, rocm-smi, amd-smi or lstopo has described. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/io/atomic_file.h"
#include "base/io/output.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/cli.h"
#include "cli/report/report.h"
#include "sim/machine/import/import.h"
#include "sim/machine/machine.h"

struct args {
    const char        *verb; /* "show", "check", "import", or NULL */
    const char        *name; /* the only one that is wanted, or NULL */
    emp_machine_import import;
    bool               is_forced;
    emp_sheet_format   format;
};

static const struct argp_option options[] = {
    {"topology", CLI_TEXT(struct args, import.topology), "FILE", 0,
     "With import: the output of `nvidia-smi topo -m`, `rocm-smi --showtopo`, `amd-smi "
     "topology` or `lstopo --of xml`; one GPU needs none",
     0},
    {"query", CLI_TEXT(struct args, import.query), "FILE", 0,
     "With import: the output of `nvidia-smi -q` or `nvidia-smi -q -x`: models, "
     "memory, PCIe and NVLink-C2C",
     0},
    {"model", CLI_TEXT(struct args, import.model), "NAME|FILE", 0,
     "With import: the model of all GPUs, in place of what their products say", 0},
    {"host", CLI_TEXT(struct args, import.host), "NAME", 0,
     "With import: the model of the CPU (default: one that such GPUs mostly have; with "
     "lstopo's file a model of its own is written)",
     0},
    {"out", 'o', "FILE", 0, "With import: write the machine file (.yaml)", 0},
    CLI_FORCE_OPTION(struct args),
    {0},
};

static const char doc[] =
    "List the machines that come with the program, or one machine's devices and links.\v"
    "`show` prints the ways between all devices: by the tree or which fabric, GB/s, and "
    "the time of 1 kB, 1 MB and 100 MB by themselves, and which constants follow from "
    "data sheets by which rules. `check` names implausible values of a file with what "
    "would be right, and fails if there are any. `import` writes a file for the computer "
    "that nvidia-smi, rocm-smi, amd-smi or lstopo has described, and says what it read "
    "and what it assumed.\n"
    "Every --machine option also takes the path of a YAML file.\n\n"
    "  emplace machines k40x2\n"
    "  emplace machines show rtx4090x2+rtx3060\n"
    "  emplace machines check ./mine.yaml\n"
    "  nvidia-smi topo -m > topo.txt; nvidia-smi -q > query.txt\n"
    "  emplace machines import --topology topo.txt --query query.txt -o box.yaml\n"
    "  emplace machines import --topology topo.txt --model v100 -o box.yaml\n"
    "  lstopo --of xml > box.xml\n"
    "  emplace machines import --topology box.xml -o box.yaml\n"
    "  emplace simulate rnnlm --machine ./mine.yaml --placement gpu";

static bool is_verb(const char *word)
{
    static const char *const verbs[] = {"show", "check", "import"};

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(word, verbs[i]) == 0) return true;
    return false;
}

static bool is_import(const struct args *a)
{
    return a->verb != NULL && strcmp(a->verb, "import") == 0;
}

static void check_usage(const struct args *a)
{
    const emp_machine_import *i = &a->import;
    const bool                has_options = i->topology != NULL || i->query != NULL ||
                             i->model != NULL || i->host != NULL || i->out != NULL ||
                             a->is_forced;

    if (is_import(a)) {
        if (a->name != NULL)
            cli_usage_error(
                "import: unexpected \"%s\"; files follow --topology and --query",
                a->name);
        if (i->topology == NULL && i->query == NULL)
            cli_usage_error(
                "import: --topology is missing; e.g. --topology topo.txt, what "
                "`nvidia-smi topo -m` printed; for one GPU --query is enough");
        if (i->out == NULL)
            cli_usage_error("import: --out is missing; e.g. --out box.yaml");
        return;
    }
    if (has_options)
        cli_usage_error("--topology, --query, --model, --host, --out and --force are of "
                        "emplace machines import");
    if (a->verb != NULL && a->name == NULL)
        cli_usage_error("%s: which machine? e.g. emplace machines %s k40x2", a->verb,
                        a->verb);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = (struct args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->format; return 0;
    case 'o': a->import.out = arg; return 0;
    case ARGP_KEY_ARG:
        if (a->verb == NULL && a->name == NULL && is_verb(arg))
            a->verb = arg;
        else if (a->name == NULL)
            a->name = arg;
        else
            cli_usage_error("one NAME only, not also \"%s\"", arg);
        return 0;
    case ARGP_KEY_END: check_usage(a); return 0;
    default: return cli_store(key, arg, a);
    }
}

static const struct argp_child children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};
const struct argp              cmd_machines_argp = {
                 options, parse, "[NAME|FILE]\nshow NAME|FILE\ncheck NAME|FILE\nimport", doc, children,
                 NULL,    NULL};

/* ---- one machine ------------------------------------------------------------------------ */

static json_t *json_devices(const emp_machine *m)
{
    json_t *devices = json_object();

    for (emp_device_id d = 0; d < m->device_count; d++) {
        const emp_device *device = &m->device[d];
        json_object_set_new(devices, device->name,
                            json_pack("{s:s, s:I, s:f, s:f}", "kind",
                                      device->kind == EMP_DEVICE_GPU ? "gpu" : "cpu",
                                      "memory_bytes", (json_int_t)device->memory_bytes,
                                      "peak_flops_per_s", device->peak_flops_per_s,
                                      "memory_bytes_per_s", device->memory_bytes_per_s));
    }
    return devices;
}

static json_t *json_links(const emp_machine *m)
{
    json_t *links = json_object();

    for (int32_t i = 0; i < m->link_count; i++)
        json_object_set_new(links, m->link[i].name,
                            json_pack("{s:f, s:f}", "bytes_per_s", m->link[i].bytes_per_s,
                                      "latency_s", m->link[i].latency_s));
    return links;
}

static json_t *json_machine(const emp_machine *m)
{
    return json_pack("{s:s, s:i, s:i, s:o, s:o}", "description", m->description, "cpus",
                     emp_machine_count(m, EMP_DEVICE_CPU), "gpus",
                     emp_machine_count(m, EMP_DEVICE_GPU), "devices", json_devices(m),
                     "links", json_links(m));
}

static void print_devices(const emp_machine *m)
{
    char memory[32], rate[32], speed[32];

    for (emp_device_id d = 0; d < m->device_count; d++) {
        const emp_device *device = &m->device[d];
        printf(
            "  %-14s %s of memory at %s, %s\n", device->name,
            emp_units_format_bytes(device->memory_bytes, memory, sizeof memory),
            emp_units_format_si(device->memory_bytes_per_s, "B/s", rate, sizeof rate),
            emp_units_format_si(device->peak_flops_per_s, "FLOP/s", speed, sizeof speed));
    }
}

static void print_links(const emp_machine *m)
{
    char rate[32], latency[32];

    for (int32_t i = 0; i < m->link_count; i++)
        printf("  %-22s %s, %s\n", m->link[i].name,
               emp_units_format_si(m->link[i].bytes_per_s, "B/s", rate, sizeof rate),
               emp_units_format_seconds(m->link[i].latency_s, latency, sizeof latency));
}

static emp_status print_machine(const emp_machine *m, emp_sheet_format format,
                                emp_error *err)
{
    if (format != EMP_SHEET_TEXT)
        return cli_listing_one(m->name, json_machine(m), format, err);
    printf("%s: %s\ndevices\n", m->name, m->description);
    print_devices(m);
    printf("links: rate and latency\n");
    print_links(m);
    return EMP_OK;
}

static emp_status answer_of_one(const struct args *args, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_machine *m = NULL;

    EMP_TRY(emp_machine_load(&m, args->name, err));
    if (args->verb == NULL)
        EMP_TRY(print_machine(m, args->format, err));
    else if (strcmp(args->verb, "show") == 0)
        EMP_TRY(cli_machine_show(m, args->format, err));
    else
        EMP_TRY(cli_machine_check(m, args->format, err));

cleanup:
    emp_machine_destroy(m);
    return st;
}

/* ---- import ------------------------------------------------------------------------------ */

static emp_status print_yaml(FILE *stream, const void *yaml, emp_error *err)
{
    (void)err;
    fputs((const char *)yaml, stream);
    return EMP_OK;
}

/* Prints the comments at the head of a file. */
static void print_head(const char *yaml)
{
    while (*yaml == '#') {
        const size_t length = strcspn(yaml, "\n");
        if (length > 2) printf("%.*s\n", (int)length - 2, yaml + 2);
        yaml += length + (yaml[length] == '\n');
    }
}

enum { HOST_PATH_BYTES = 600 };

/* The model of the CPU lies in the folder models beside the machine file. */
static void find_host_path(char path[HOST_PATH_BYTES], const emp_machine_import *import)
{
    const char *slash = strrchr(import->out, '/');
    const int   folder = slash == NULL ? 0 : (int)(slash - import->out) + 1;

    snprintf(path, HOST_PATH_BYTES, "%.*smodels/%s.yaml", folder, import->out,
             import->host_name);
}

static emp_status check_files(const struct args *a, emp_error *err)
{
    const emp_machine_import *i = &a->import;
    const char *const inputs[] = {i->topology, i->query}, *const outputs[] = {i->out};

    if (!emp_text_ends_in(i->out, ".yaml"))
        return EMP_ERROR(EMP_EINVAL, "%s is no machine file; name one that ends in .yaml",
                         i->out);
    EMP_CHECK(emp_output_check(i->out, err));
    EMP_CHECK(emp_output_check_inputs(inputs, 2, outputs, 1, err));
    return emp_output_check_replaced(outputs, 1, a->is_forced, err);
}

/* Writes the model first, without which the machine file does not load. */
static emp_status write_files(const struct args *args, emp_error *err)
{
    const emp_machine_import *import = &args->import;
    char                      path[HOST_PATH_BYTES];
    const char *const         outputs[] = {path};

    if (import->host_yaml != NULL) {
        find_host_path(path, import);
        EMP_CHECK(emp_output_check_replaced(outputs, 1, args->is_forced, err));
        char *slash = strrchr(path, '/');
        *slash = '\0';
        EMP_CHECK(emp_folder_make(path, err));
        *slash = '/';
        EMP_CHECK(emp_atomic_file_write(path, print_yaml, import->host_yaml, err));
    }
    return emp_atomic_file_write(import->out, print_yaml, import->yaml, err);
}

static emp_status import_machine(struct args *args, emp_error *err)
{
    emp_status          st = EMP_OK;
    emp_machine_import *import = &args->import;
    emp_machine        *m = NULL;
    char                path[HOST_PATH_BYTES];

    EMP_TRY(check_files(args, err));
    EMP_TRY(emp_machine_import_run(import, err));
    EMP_TRY(write_files(args, err));
    for (int32_t i = 0; i < import->warning_count; i++)
        cli_warn("%s", import->warning[i]);
    EMP_TRY(emp_machine_load(&m, import->out, err));
    if (args->format != EMP_SHEET_TEXT) {
        EMP_TRY(print_machine(m, args->format, err));
        goto cleanup;
    }
    print_head(import->yaml);
    find_host_path(path, import);
    printf("\n%s is written: %s\n", import->out, m->description);
    if (import->host_yaml != NULL) printf("%s is written: the model of its CPU\n", path);
    EMP_TRY(cli_machine_check(m, args->format, err));
    printf("emplace machines show %s prints the ways between its devices.\n",
           import->out);

cleanup:
    emp_machine_destroy(m);
    emp_machine_import_clear(import);
    return st;
}

/* ---- the list ---------------------------------------------------------------------------- */

emp_status cmd_machines(int argc, char **argv, emp_error *err)
{
    emp_status     st = EMP_OK;
    struct args    args = {0};
    cli_listing    list;
    emp_data_names names;
    emp_machine   *machine = NULL;

    cli_parse(&cmd_machines_argp, argc, argv, &args);
    if (is_import(&args)) return import_machine(&args, err);
    if (args.name != NULL) return answer_of_one(&args, err);
    cli_listing_begin(&list, args.format);
    emp_data_find(&names, "machines");
    for (int32_t i = 0; i < names.count; i++) {
        EMP_TRY(emp_machine_load(&machine, names.name[i], err));
        cli_listing_add(&list, names.name[i], machine->description,
                        json_machine(machine));
        emp_machine_destroy(machine);
        machine = NULL;
    }
    cli_listing_more(args.format, "machines");

cleanup:
    return cli_listing_end(&list, st, err);
}
