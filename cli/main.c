// SPDX-License-Identifier: GPL-3.0-or-later
/* The one executable: finds the sub-command, runs it, prints its error once. */
#include <gsl/gsl_errno.h>
#include <gsl/gsl_version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "cli/cli.h"
#include "policy/nn/blas.h"
#include "run/ranks/ranks.h"
#include "run/sheet/manifest.h"
#include "run/store/store.h"

static const cli_command commands[] = {
    {"table", "make a table of the paper beside ours", cmd_table},
    {"ablate", "vary one choice of the planner at a time", cmd_ablate},
    {"place", "look for a good placement", cmd_place},
    {"train", "let a learner or a search look, with checkpoints", cmd_train},
    {"simulate", "time one step under a placement", cmd_simulate},
    {"bound", "times that no placement can beat", cmd_bound},
    {"replay", "execute placements, beside what is predicted", cmd_replay},
    {"validate", "how far predictions are from measurements", cmd_validate},
    {"graph", "what a workload or graph file consists of", cmd_graph},
    {"calibrate", "fit a machine's constants to published or measured times",
     cmd_calibrate},
    {"record", "what a recorded run found, and its learning curve", cmd_record},
    {"report", "make a page from run records: curves, placement, ...", cmd_report},
    {"bench", "compare placers; measure simulators, networks, mechanisms", cmd_bench},
    {"workloads", "list the workload families and their parameters", cmd_workloads},
    {"machines", "list the machines", cmd_machines},
    {"runtimes", "list the runtime profiles", cmd_runtimes},
    {"methods", "list the placement methods", cmd_methods},
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void print_help(void)
{
    printf("Usage: emplace COMMAND [OPTION...]\n"
           "Decides which device runs each op of a neural network's training graph.\n\n");
    for (int i = 0; i < COMMAND_COUNT; i++) {
        printf("  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    printf("\n  emplace COMMAND --help       options and examples of a command\n"
           "  emplace --version [--verbose]  version, commit, libraries\n\n"
           "Exit status: 0 done, 1 bad input, 2 bad usage, 130 interrupted.\n");
}

/* Which matrix kernels run, and what was done about it. */
static void print_blas(void)
{
    const char *mistaken = emp_blas_mistaken_core_name();

    printf("OpenBLAS core %s (", emp_blas_core_name());
    if (mistaken != NULL)
        printf("set by this program: OpenBLAS took the CPU for %s)\n", mistaken);
    else if (getenv("OPENBLAS_CORETYPE") != NULL)
        printf("set by OPENBLAS_CORETYPE)\n");
    else
        printf("its own choice)\n");
}

static void print_version(bool is_verbose)
{
    emp_manifest manifest = emp_manifest_get();

    printf("emplace %s (commit %.12s%s)\n", manifest.version, manifest.commit,
           manifest.is_dirty ? ", modified" : "");
    if (!is_verbose) return;
    printf("GSL %s\n%s\n", gsl_version, emp_store_library_version());
    print_blas();
    printf("jansson %s\nzlib %s\n", JANSSON_VERSION, zlibVersion());
    printf("MPI: %s\n",
           emp_ranks_library() != NULL ? emp_ranks_library() : "not in this build");
}

static bool is_written(void) { return fflush(stdout) == 0 && !ferror(stdout); }

static bool is_told; /* what came of standard output */

/* Of --help and --version, which end the program by exit(). */
static void check_help(void)
{
    if (is_told || is_written()) return;
    fputs("emplace: cannot write to standard output\n", stderr);
    _exit(CLI_EXIT_INPUT);
}

static int run_command(const cli_command *command, int argc, char **argv)
{
    char      name[64]; /* getopt's messages begin with it */
    emp_error err = {0};

    snprintf(name, sizeof name, "emplace %s", command->name);
    argv[0] = name;
    emp_status st = command->run(argc, argv, &err);
    is_told = true;
    if (st == EMP_OK && !is_written()) {
        st = emp_error_set(&err, EMP_EIO, __FILE__, __LINE__,
                           "cannot write to standard output");
    }
    if (st == EMP_OK) return 0;
    if (st == EMP_EINTERRUPTED) return CLI_EXIT_INTERRUPTED;
    if (st == EMP_EELSEWHERE) return CLI_EXIT_INPUT;
    bool        has_words = err.msg[0] != '\0';
    const char *prefix = st == EMP_ENOMEM && has_words ? "out of memory: " : "";
    fprintf(stderr, "emplace: %s%s\n", prefix, has_words ? err.msg : emp_status_str(st));
    return CLI_EXIT_INPUT;
}

int main(int argc, char **argv)
{
    emp_blas_fix(argv);
    emp_manifest_set_command(argc, argv);
    emp_store_silence();
    gsl_set_error_handler_off();
    atexit(check_help);

    if (argc < 2) cli_usage_error("no command; emplace --help lists them");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_help();
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        print_version(argc > 2 && strcmp(argv[2], "--verbose") == 0);
        return 0;
    }
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            int code = run_command(&commands[i], argc - 1, argv + 1);
            emp_ranks_leave(code != 0 && code != CLI_EXIT_INTERRUPTED);
            return code;
        }
    }
    cli_usage_error("there is no command \"%s\"; emplace --help lists them", argv[1]);
}
