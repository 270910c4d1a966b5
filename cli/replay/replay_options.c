// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/replay/replay_options.h"

#include <string.h>

#include "cli/cli.h"

enum { KEY_STEPS = 512, KEY_WARMUP, KEY_CORES, KEY_MEMORY, KEY_RATES };

static const struct argp_option options[] = {
    {"steps", KEY_STEPS, "N", 0,
     "Steps that are measured (default 5, of calibrate measure 9)", 0},
    {"warmup", KEY_WARMUP, "N", 0, "Steps before those (default 2)", 0},
    {"cores", KEY_CORES, "MAP", 0,
     "Cores of devices, as in \"gpu:0=0 gpu:1=1,2 cpu:0=4-7\"", 0},
    {"memory", KEY_MEMORY, "SIZE", 0,
     "Memory of this computer that may be used: MiB, or 500 MB, 2 GiB", 0},
    {"keep-rates", KEY_RATES, NULL, 0,
     "Copies sleep until the time of the machine's links is over: cores joined by slow "
     "links (cpu). That part of a step is the model's, not measured",
     0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    cli_replay_options *o = (cli_replay_options *)state->input;

    switch (key) {
    case KEY_STEPS:
        o->options.steps = (int32_t)cli_integer("steps", arg, 1, 100000);
        return 0;
    case KEY_WARMUP:
        o->options.warmup = (int32_t)cli_integer("warmup", arg, 0, 100000);
        return 0;
    case KEY_CORES: o->cores = arg; return 0;
    case KEY_MEMORY: o->options.host_bytes = cli_mebibytes("memory", arg); return 0;
    case KEY_RATES: o->options.keeps_rates = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_replay_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

cli_replay_options cli_replay_options_default(void)
{
    return (cli_replay_options){.backend = "cpu",
                                .options = emp_replay_options_default()};
}

const char *cli_replay_runtime(const cli_replay_options *o)
{
    return strcmp(o->backend, "cuda") == 0 ? "replay-cuda" : "replay-cpu";
}

emp_status cli_replay_check_backend(const cli_replay_options *o, emp_error *err)
{
    if (strcmp(o->backend, "cpu") != 0 && strcmp(o->backend, "cuda") != 0)
        return EMP_ERROR(EMP_EINVAL, "there is no backend \"%s\"; there are cpu and cuda",
                         o->backend);
    return EMP_OK;
}

emp_status cli_replay_options_map(emp_replay_options *mapped, const cli_replay_options *o,
                                  const emp_replay_plan *plan, emp_error *err)
{
    *mapped = o->options;
    if (o->cores != NULL)
        EMP_CHECK(emp_replay_options_cores(mapped, plan, o->cores, err));
    if (o->gpus != NULL) EMP_CHECK(emp_replay_options_gpus(mapped, plan, o->gpus, err));
    return EMP_OK;
}

bool cli_is_uncalibrated(const emp_machine *machine, const char *backend)
{
    bool is_uncalibrated = false;

    for (emp_device_id d = 0; d < machine->device_count; d++)
        is_uncalibrated |=
            machine->device[d].kind == EMP_DEVICE_GPU && !machine->device[d].has_core;
    return is_uncalibrated && strcmp(backend, "cpu") == 0;
}

void cli_warn_uncalibrated(const char *machine)
{
    cli_warn("what is predicted is the machine %s, not this computer; emplace calibrate "
             "measure makes a machine file of its cores",
             machine);
}

void cli_warn_rates(const cli_replay_options *o)
{
    if (o->options.keeps_rates) cli_warn("--keep-rates: " CLI_KEEPS_RATES);
}
