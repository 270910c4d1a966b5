// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace-replay PLAN: the replay engine by itself, for servers on which nothing else is
 * installed. Reads a plan that `emplace replay --export` wrote, executes it, and writes a
 * result file. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io/output.h"
#include "replay/execute.h"
#include "replay/result.h"

enum { EXIT_INPUT = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130, MOST_STEPS = 100000 };

struct args {
    const char        *plan, *backend, *cores, *gpus, *trace, *out;
    emp_replay_options options;
    bool               is_forced;
};

static const char help[] =
    "Usage: emplace-replay [OPTION...] PLAN\n"
    "Executes a placed training step with real work. PLAN is written by\n"
    "`emplace replay --export PLAN`.\n\n"
    "  --backend cpu|cuda   what stands for the plan's GPUs (default cuda if there is "
    "one)\n"
    "  --steps N            steps that are measured (default 5)\n"
    "  --warmup N           steps before those (default 2)\n"
    "  --out FILE           write the result as plain text\n"
    "  --trace FILE         write a measured step as JSON for Perfetto\n"
    "  --force              replace output files that are there already\n"
    "  --check              check what every op reads, and results of products\n"
    "  --cores MAP          cores of devices, as in \"cpu:0=0-15\"\n"
    "  --gpus MAP           which GPU is which, as in \"gpu:0=0 gpu:1=0\" (cuda)\n"
    "  --keep-rates         copies take no less time than the plan's links (cpu)\n"
    "  --memory MIB         memory of this computer that may be used\n\n"
    "Exit status: 0 done (a step that does not fit in memory is a result), 1 failed,\n"
    "2 bad usage, 130 interrupted; a result is written only if it is whole.\n";

static atomic_int is_asked_to_stop;

static void ask_to_stop(int number)
{
    (void)number;
    is_asked_to_stop = 1;
}

static void catch_signals(void)
{
    struct sigaction action, hangup;

    memset(&action, 0, sizeof action);
    action.sa_handler = ask_to_stop;
    action.sa_flags = (int)SA_RESETHAND | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL); /* nohup has it ignored */
}

static _Noreturn void complain(const char *what, const char *text)
{
    fprintf(stderr, "emplace-replay: %s%s; --help says what there is\n", what, text);
    exit(EXIT_USAGE);
}

static long parse_count(const char *text, long minimum, long maximum)
{
    char *end = NULL;
    long  value = strtol(text, &end, 10);

    if (end == text || *end != '\0' || value < minimum || value > maximum)
        complain("not a number in its range: ", text);
    return value;
}

static struct args parse(int argc, char **argv)
{
    static const struct option table[] = {{"backend", required_argument, NULL, 'B'},
                                          {"steps", required_argument, NULL, 's'},
                                          {"warmup", required_argument, NULL, 'w'},
                                          {"out", required_argument, NULL, 'o'},
                                          {"trace", required_argument, NULL, 'T'},
                                          {"force", no_argument, NULL, 'f'},
                                          {"check", no_argument, NULL, 'c'},
                                          {"cores", required_argument, NULL, 'C'},
                                          {"gpus", required_argument, NULL, 'G'},
                                          {"keep-rates", no_argument, NULL, 'k'},
                                          {"memory", required_argument, NULL, 'm'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    struct args                a = {.backend = emp_replay_cuda != NULL ? "cuda" : "cpu",
                                    .options = emp_replay_options_default()};
    int                        key;

    opterr = 0;
    while ((key = getopt_long(argc, argv, "", table, NULL)) != -1) {
        switch (key) {
        case 'B': a.backend = optarg; break;
        case 's': a.options.steps = (int32_t)parse_count(optarg, 1, MOST_STEPS); break;
        case 'w': a.options.warmup = (int32_t)parse_count(optarg, 0, MOST_STEPS); break;
        case 'o': a.out = optarg; break;
        case 'T': a.trace = optarg; break;
        case 'f': a.is_forced = true; break;
        case 'c': a.options.is_checked = true; break;
        case 'C': a.cores = optarg; break;
        case 'G': a.gpus = optarg; break;
        case 'k': a.options.keeps_rates = true; break;
        case 'm':
            a.options.host_bytes = (int64_t)parse_count(optarg, 1, 1L << 30) << 20;
            break;
        case 'h': fputs(help, stdout); exit(0);
        default: complain("there is no option ", argv[optind - 1]);
        }
    }
    if (optind + 1 != argc) complain("one PLAN is needed", "");
    a.plan = argv[optind];
    return a;
}

static emp_status find_backend(const emp_replay_backend **backend, const char *name,
                               emp_error *err)
{
    *backend = strcmp(name, "cpu") == 0    ? &emp_replay_cpu
               : strcmp(name, "cuda") == 0 ? emp_replay_cuda
                                           : NULL;
    if (*backend == NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED, "this build has no backend \"%s\"", name);
    return EMP_OK;
}

static emp_status check_outputs(const struct args *a, emp_error *err)
{
    enum { COUNT = 2 };
    const char *const outputs[COUNT] = {a->out, a->trace};

    EMP_CHECK(emp_output_check_all(outputs, COUNT, err));
    EMP_CHECK(emp_output_check_inputs(&a->plan, 1, outputs, COUNT, err));
    return emp_output_check_replaced(outputs, COUNT, a->is_forced, err);
}

static void show_progress(void *context, int32_t done, int32_t count)
{
    (void)context;
    if (isatty(STDERR_FILENO) == 1)
        fprintf(stderr, "\r\033[Kstep %d of %d", done + 1, count);
}

static void end_progress(void)
{
    if (isatty(STDERR_FILENO) == 1) fputs("\r\033[K", stderr);
}

static emp_status run(struct args *a, emp_error *err)
{
    emp_status                st = EMP_OK;
    const emp_replay_backend *backend = NULL;
    emp_replay_plan          *plan = NULL;
    emp_replay               *replay = NULL;
    emp_replay_result         result = {0};

    EMP_TRY(find_backend(&backend, a->backend, err));
    EMP_TRY(emp_replay_options_check(&a->options, a->gpus, a->backend, err));
    EMP_TRY(check_outputs(a, err));
    EMP_TRY(emp_replay_plan_load(&plan, a->plan, err));
    if (a->cores != NULL)
        EMP_TRY(emp_replay_options_cores(&a->options, plan, a->cores, err));
    if (a->gpus != NULL)
        EMP_TRY(emp_replay_options_gpus(&a->options, plan, a->gpus, err));
    a->options.is_timed = a->trace != NULL;
    a->options.stop = &is_asked_to_stop;
    a->options.progress = show_progress;
    EMP_TRY(emp_replay_create(&replay, plan, backend, &a->options, err));
    EMP_TRY(emp_replay_run(replay, &result, err));
    if (a->trace != NULL && result.is_feasible)
        EMP_TRY(
            emp_replay_trace_write(a->trace, plan, emp_replay_get_timeline(replay), err));
    if (a->out != NULL) EMP_TRY(emp_replay_result_save(a->out, &result, err));
    end_progress();
    printf("%s on %s, placement %s, backend %s, products on cores by %s\n",
           result.origin.workload, result.origin.machine, result.origin.placement,
           result.backend, result.products);
    emp_replay_result_print(stdout, &result);

cleanup:
    end_progress();
    emp_replay_destroy(replay);
    emp_replay_result_clear(&result);
    emp_replay_plan_destroy(plan);
    return st;
}

int main(int argc, char **argv)
{
    emp_error   err = {0};
    struct args args = parse(argc, argv);

    catch_signals();
    emp_status st = run(&args, &err);
    if (st == EMP_OK && fflush(stdout) != 0)
        st = emp_error_set(&err, EMP_EIO, __FILE__, __LINE__, "standard output: %s",
                           strerror(errno));
    if (st == EMP_OK) return 0;
    if (st == EMP_EINTERRUPTED) return EXIT_INTERRUPTED;
    fprintf(stderr, "emplace-replay: %s\n",
            err.msg[0] != '\0' ? err.msg : emp_status_str(st));
    return EXIT_INPUT;
}
