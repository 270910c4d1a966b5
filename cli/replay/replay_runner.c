// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* environ */

#include "cli/replay/replay_runner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io/input.h"
#include "base/mem.h"
#include "base/work.h"
#include "cli/cli.h"
#include "cli/stop.h"
#include "replay/execute.h"
#include "replay/result.h"

enum { KEY_STEPS = 512, KEY_WARMUP, KEY_MEMORY };

static const struct argp_option replay_argp_options[] = {
    {"steps", KEY_STEPS, "N", 0,
     "Steps that are measured (default 5, for calibrate measure 9)", 0},
    {"warmup", KEY_WARMUP, "N", 0, "Steps before those (default 2)", 0},
    {"cores", CLI_TEXT(cli_replay_options, cores), "MAP", 0,
     "Cores of devices, as in \"gpu:0=0 gpu:1=1,2 cpu:0=4-7\"", 0},
    {"memory", KEY_MEMORY, "SIZE", 0,
     "Memory of this computer that may be used: MiB, or 500 MB, 2 GiB", 0},
    {"keep-rates", CLI_FLAG(cli_replay_options, options.keeps_rates), NULL, 0,
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
    case KEY_MEMORY: o->options.host_bytes = cli_mebibytes("memory", arg); return 0;
    default: return cli_store(key, arg, o);
    }
}

const struct argp cli_replay_argp = {
    replay_argp_options, parse, NULL, NULL, NULL, NULL, NULL};

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
    return emp_replay_options_check(&o->options, o->gpus, o->backend, err);
}

bool cli_replay_options_unset(const cli_replay_options *o)
{
    const emp_replay_options *given = &o->options, unset = emp_replay_options_default();

    return o->cores == NULL && o->gpus == NULL && given->steps == unset.steps &&
           given->warmup == unset.warmup && given->host_bytes == unset.host_bytes &&
           !given->is_checked && !given->keeps_rates;
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

enum { MOST_ARGUMENTS = 24, NUMBER_BYTES = 24, POLL_US = 20000 };

static const char name[] = "emplace-replay";

/* The files of one run. */
struct folder {
    char path[PATH_MAX - 32], plan[PATH_MAX], result[PATH_MAX], complaint[PATH_MAX];
};

static emp_status create_folder(struct folder *f, emp_error *err)
{
    const char *parent = getenv("TMPDIR");

    snprintf(f->path, sizeof f->path, "%s/emplace-replay-XXXXXX",
             parent != NULL && *parent != '\0' ? parent : "/tmp");
    if (mkdtemp(f->path) == NULL) {
        return EMP_ERROR(EMP_EIO, "no folder for the plan, %s: %s", f->path,
                         strerror(errno));
    }
    snprintf(f->plan, sizeof f->plan, "%s/plan.txt", f->path);
    snprintf(f->result, sizeof f->result, "%s/result.txt", f->path);
    snprintf(f->complaint, sizeof f->complaint, "%s/stderr", f->path);
    return EMP_OK;
}

static void remove_folder(const struct folder *f)
{
    unlink(f->plan);
    unlink(f->result);
    unlink(f->complaint);
    rmdir(f->path);
}

/* Beside this program, or where the build puts it; else PATH is searched. */
static void find_runner(char path[PATH_MAX])
{
    static const char *const places[] = {"", "../replay/"};
    char                     self[PATH_MAX - 64];
    ssize_t                  length = readlink("/proc/self/exe", self, sizeof self - 1);

    for (size_t i = 0; length > 0 && i < sizeof places / sizeof *places; i++) {
        self[length] = '\0';
        char *slash = strrchr(self, '/');
        if (slash == NULL) break;
        snprintf(path, PATH_MAX, "%.*s/%s%s", (int)(slash - self), self, places[i], name);
        if (access(path, X_OK) == 0) return;
    }
    snprintf(path, PATH_MAX, "%s", name);
}

/* The command line; what it points to is in the options, the folder and here. */
struct command {
    const char *argument[MOST_ARGUMENTS];
    int         count;
    char        steps[NUMBER_BYTES], warmup[NUMBER_BYTES], memory[NUMBER_BYTES];
};

static void add(struct command *c, const char *option, const char *value)
{
    if (value == NULL) return;
    c->argument[c->count++] = option;
    c->argument[c->count++] = value;
}

static void write_command(struct command *c, const struct folder *f,
                          const cli_replay_options *r, const char *trace)
{
    const emp_replay_options *o = &r->options;

    c->argument[c->count++] = name;
    c->argument[c->count++] = f->plan;
    snprintf(c->steps, sizeof c->steps, "%d", o->steps);
    snprintf(c->warmup, sizeof c->warmup, "%d", o->warmup);
    snprintf(c->memory, sizeof c->memory, "%lld", (long long)(o->host_bytes >> 20));
    add(c, "--backend", r->backend);
    add(c, "--out", f->result);
    add(c, "--steps", c->steps);
    add(c, "--warmup", c->warmup);
    add(c, "--memory", o->host_bytes > 0 ? c->memory : NULL);
    add(c, "--cores", r->cores);
    add(c, "--gpus", r->gpus);
    add(c, "--trace", trace);
    if (o->is_checked) c->argument[c->count++] = "--check";
    if (r->is_forced) c->argument[c->count++] = "--force";
    if (o->keeps_rates) c->argument[c->count++] = "--keep-rates";
    c->argument[c->count] = NULL;
}

static emp_status spawn(pid_t *child, const struct folder *f, const struct command *c,
                        emp_error *err)
{
    char                       path[PATH_MAX];
    char                      *arguments[MOST_ARGUMENTS];
    posix_spawn_file_actions_t actions;

    find_runner(path);
    for (int i = 0; i <= c->count; i++)
        memcpy(&arguments[i], &c->argument[i], sizeof(char *));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, f->complaint,
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int code = posix_spawnp(child, path, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0)
        return EMP_ERROR(EMP_EEXTERNAL,
                         "%s, the only program that drives GPUs, is not beside this "
                         "program and not in PATH: %s",
                         name, strerror(code));
    return EMP_OK;
}

static int wait_for(pid_t child, const atomic_int *stop)
{
    int  status = 0;
    bool is_told = false;

    while (waitpid(child, &status, WNOHANG) == 0) {
        if (emp_stop_is_set(stop) && !is_told) {
            kill(child, SIGTERM);
            is_told = true;
        }
        usleep(POLL_US);
    }
    return status;
}

/* The runner's sentence without its name. */
static emp_status pass_on(const struct folder *f, int status, emp_error *err)
{
    char  line[EMP_ERROR_MSG_BYTES] = "";
    FILE *file = fopen(f->complaint, "r");

    if (WIFEXITED(status) && WEXITSTATUS(status) == CLI_EXIT_INTERRUPTED) {
        if (file != NULL) fclose(file);
        return EMP_EINTERRUPTED;
    }
    if (file != NULL && fgets(line, sizeof line, file) == NULL) line[0] = '\0';
    if (file != NULL) fclose(file);
    line[strcspn(line, "\n")] = '\0';
    size_t prefix = strlen(name) + 2;
    if (strncmp(line, name, strlen(name)) == 0 && strlen(line) > prefix)
        return emp_error_set(err, EMP_EEXTERNAL, __FILE__, __LINE__, "%s", line + prefix);
    if (WIFSIGNALED(status))
        return emp_error_set(err, EMP_EEXTERNAL, __FILE__, __LINE__,
                             "%s was killed by signal %d", name, WTERMSIG(status));
    return emp_error_set(err, EMP_EEXTERNAL, __FILE__, __LINE__,
                         "%s ended with status %d", name, WEXITSTATUS(status));
}

/* By files in a folder that is gone afterwards. */
static emp_status run_elsewhere(emp_replay_result *result, const emp_replay_plan *plan,
                                const cli_replay_options *o, const char *trace,
                                emp_error *err)
{
    emp_status     st = EMP_OK;
    struct folder  folder = {0};
    struct command command = {0};
    pid_t          child;

    if (trace != NULL && emp_input_is_kept(trace))
        EMP_FAIL(EMP_EINVAL, "%s is an input; name another file for the output", trace);
    EMP_TRY(create_folder(&folder, err));
    EMP_TRY(emp_replay_plan_save(folder.plan, plan, err));
    write_command(&command, &folder, o, trace);
    EMP_TRY(spawn(&child, &folder, &command, err));
    int status = wait_for(child, cli_stop_flag());
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        EMP_TRY(pass_on(&folder, status, err));
    EMP_TRY(emp_replay_result_load(result, folder.result, err));

cleanup:
    if (folder.path[0] != '\0') remove_folder(&folder);
    return st;
}

emp_status cli_replay_run(emp_replay_result *result, const emp_replay_plan *plan,
                          const cli_replay_options *o, const char *trace, emp_error *err)
{
    emp_status         st = EMP_OK;
    emp_replay        *replay = NULL;
    emp_replay_options options;

    EMP_CHECK(cli_replay_options_map(&options, o, plan, err));
    if (strcmp(o->backend, "cuda") == 0)
        return run_elsewhere(result, plan, o, trace, err);
    options.stop = cli_stop_flag();
    options.is_timed = trace != NULL;
    EMP_TRY(emp_replay_create(&replay, plan, &emp_replay_cpu, &options, err));
    EMP_TRY(emp_replay_run(replay, result, err));
    if (trace != NULL && result->is_feasible)
        EMP_TRY(
            emp_replay_trace_write(trace, plan, emp_replay_get_timeline(replay), err));

cleanup:
    emp_replay_destroy(replay);
    return st;
}

emp_status cli_replay_results_load(cli_replay_results *r, const char *const *paths,
                                   int32_t count, emp_error *err)
{
    if (count == 0) return EMP_OK;
    EMP_CHECK(EMP_ALLOC(r->result, (size_t)count));
    r->count = count;
    for (int32_t i = 0; i < count; i++)
        EMP_CHECK(emp_replay_result_load(&r->result[i], paths[i], err));
    return EMP_OK;
}

void cli_replay_results_clear(cli_replay_results *r)
{
    for (int32_t i = 0; i < r->count; i++) emp_replay_result_clear(&r->result[i]);
    emp_free(r->result);
    *r = (cli_replay_results){0};
}

const emp_replay_result *cli_replay_results_find(const cli_replay_results *r,
                                                 const emp_replay_plan    *plan)
{
    uint64_t hash = emp_replay_plan_hash(plan);

    for (int32_t i = 0; i < r->count; i++)
        if (r->result[i].plan_hash == hash) return &r->result[i];
    return NULL;
}
