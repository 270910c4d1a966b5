// SPDX-License-Identifier: GPL-3.0-or-later
/* The one executable: finds the sub-command, runs it, prints its error once. */
#include <gsl/gsl_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/io/input.h"
#include "base/io/terminal.h"
#include "base/text/nearest.h"
#include "base/text/text.h"
#include "cli/cli.h"
#include "cli/stop.h"
#include "run/ranks/ranks.h"
#include "run/sheet/sheet.h"
#include "run/store/store.h"

enum { NAME_BYTES = 64, LEAST_STACK_BYTES = 256 << 10 };

/* ---- help --------------------------------------------------------------------------- */

static void list(const cli_command *commands)
{
    for (const cli_command *c = commands; c->name != NULL; c++)
        cli_print_entry(c->name, 14, c->summary);
}

static void print_help(void)
{
    printf("Usage: emplace COMMAND [OPTION...]\n"
           "Decides which device runs each op of a neural network's training graph.\n\n");
    list(cli_commands);
    printf("\n  emplace help COMMAND           options and examples of a command\n"
           "  emplace --version [--verbose]  version, commit, libraries\n\n"
           "Exit status: 0 done, 1 bad input, 2 bad usage, 130 interrupted,\n"
           "75 a part of a study was saved; its command continues it.\n"
           "Ctrl-C ends a command within a second; runs save their results so far.\n"
           "A second Ctrl-C ends it at once.\n");
}

static void print_group_help(const cli_command *group)
{
    printf("Usage: emplace %s COMMAND [OPTION...]\n%s.\n\n", group->name, group->summary);
    list(group->group);
    printf("\n  emplace help %s COMMAND  options and examples of a command\n",
           group->name);
}

/* ---- the command -------------------------------------------------------------------- */

/* A command that words name: "place", or "bench placers". */
struct found {
    const cli_command *command;
    char               name[NAME_BYTES]; /* "emplace bench placers" */
    int                words;
};

static const cli_command *find(const cli_command *commands, const char *name,
                               const char *word)
{
    emp_nearest near = emp_nearest_begin(word, strlen(word), "");
    char        hint[EMP_NEAREST_BYTES];

    for (const cli_command *c = commands; c->name != NULL; c++) {
        if (strcmp(c->name, word) == 0) return c;
        emp_nearest_offer(&near, c->name, strlen(c->name));
    }
    cli_usage_error("there is no command \"%s %s\"%s; %s --help lists them", name, word,
                    emp_nearest_hint(&near, hint), name);
}

/* The command, or the group if no word follows it or an option does. */
static struct found find_command(int argc, char **argv)
{
    struct found f = {.name = "emplace"};

    for (const cli_command *level = cli_commands; level != NULL && f.words < argc;) {
        const char *word = argv[f.words];
        if (f.command != NULL && word[0] == '-') break;
        f.command = find(level, f.name, word);
        snprintf(f.name + strlen(f.name), sizeof f.name - strlen(f.name), " %s", word);
        f.words++;
        level = f.command->group;
    }
    return f;
}

static bool is_word(const char *word, const char *letter, const char *name)
{
    return strcmp(word, letter) == 0 || strcmp(word, name) == 0;
}

static void help(int argc, char **argv)
{
    struct found f = find_command(argc, argv);

    if (f.words < argc) cli_usage_error("\"%s\" is one argument too many", argv[f.words]);
    if (f.command == NULL)
        print_help();
    else if (f.command->group != NULL)
        print_group_help(f.command);
    else
        cli_print_help(f.command->argp, f.name);
}

/* For a group without a command: prints help, the version, or the error. */
static void answer_for_group(const struct found *f, int argc, char **argv)
{
    if (f->words < argc && is_word(argv[f->words], "-h", "--help"))
        print_group_help(f->command);
    else if (f->words < argc && is_word(argv[f->words], "-V", "--version"))
        cli_print_version(false);
    else
        cli_usage_error("%s needs one of its commands; %s --help lists them", f->name,
                        f->name);
}

static bool is_written(void) { return fflush(stdout) == 0 && !ferror(stdout); }

static bool is_told; /* what came of standard output */

/* For --help and --version, which end the program by exit(). */
static void check_help(void)
{
    if (is_told || is_written()) return;
    fputs("emplace: cannot write to standard output\n", stderr);
    _exit(CLI_EXIT_INPUT);
}

static int run_command(struct found *f, int argc, char **argv)
{
    emp_error err = {0};

    argv[0] = f->name; /* messages begin with it */
    emp_status st = f->command->run(argc, argv, &err);
    is_told = true;
    if (st == EMP_OK && !is_written()) {
        st = emp_error_set(&err, EMP_EIO, __FILE__, __LINE__,
                           "cannot write to standard output");
    }
    if (st == EMP_OK) return 0;
    const bool has_words = err.msg[0] != '\0';
    if (st == EMP_EINTERRUPTED) {
        if (has_words && !cli_has_answered()) cli_say("emplace: ", err.msg);
        return cli_stop_status();
    }
    if (st == EMP_EELSEWHERE) return CLI_EXIT_INPUT;
    cli_say(st == EMP_ENOMEM && has_words ? "emplace: out of memory: " : "emplace: ",
            has_words ? err.msg : emp_status_str(st));
    return CLI_EXIT_INPUT;
}

/* Text for a terminal may hold names from files. Files and pipes get it as it is. */
static void clean_terminal(void)
{
    FILE *clean = isatty(STDOUT_FILENO) == 1 ? emp_terminal_open(STDOUT_FILENO) : NULL;

    if (clean != NULL) stdout = clean;
}

/* With less a command could end by a signal in the middle of its work. */
static void check_stack(void)
{
    struct rlimit stack;

    if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= LEAST_STACK_BYTES)
        return;
    fprintf(stderr,
            "emplace: the stack is limited to %llu KiB; \"ulimit -s %d\" allows enough\n",
            (unsigned long long)stack.rlim_cur >> 10, LEAST_STACK_BYTES >> 10);
    exit(CLI_EXIT_INPUT);
}

/* Names stand in JSON, in records and on terminals. */
static void check_arguments(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!emp_text_is_utf8(argv[i]))
            cli_usage_error("argument %d is not valid UTF-8: %s", i, argv[i]);
}

/* ---- waiting threads ---------------------------------------------------------------- */

static bool has_threads(const struct argp *argp)
{
    for (const struct argp_option *o = argp->options;
         o != NULL && (o->name != NULL || o->key != 0 || o->doc != NULL); o++)
        if (o->name != NULL && strcmp(o->name, "threads") == 0) return true;
    for (const struct argp_child *c = argp->children; c != NULL && c->argp != NULL; c++)
        if (has_threads(c->argp)) return true;
    return false;
}

static bool is_threaded(char **words)
{
    const cli_command *at = cli_commands;

    while (*words != NULL && at->name != NULL) {
        if (strcmp(at->name, *words) != 0) {
            at++;
        } else if (at->group == NULL) {
            return has_threads(at->argp);
        } else {
            at = at->group;
            words++;
        }
    }
    return false;
}

/* Starts the program again with a short wait of threads that have nothing to do, unless the user has set how they
 * wait. By default libgomp has them keep their cores busy for 3 ms, after each parallel loop: learners then
 * take several times the CPU time, and other programs wait. libgomp reads the variable before main(). */
static void shorten_waits(char **argv)
{
    if (getenv("OMP_WAIT_POLICY") != NULL || getenv("GOMP_SPINCOUNT") != NULL) return;
    if (setenv("GOMP_SPINCOUNT", "1000", 1) == 0) execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    if (argc > 1 && is_threaded(argv + 1)) shorten_waits(argv);
    check_stack();
    cli_stop_begin();
    clean_terminal();
    emp_manifest_set_command(argc, argv);
    emp_store_silence();
    emp_input_keep_all();
    gsl_set_error_handler_off();
    atexit(check_help);

    check_arguments(argc, argv);
    if (argc < 2) cli_usage_error("no command; emplace --help lists them");
    if (is_word(argv[1], "-h", "--help") || strcmp(argv[1], "help") == 0) {
        help(argc - 2, argv + 2);
        return 0;
    }
    if (is_word(argv[1], "-V", "--version")) {
        const bool is_verbose = argc == 3 && strcmp(argv[2], "--verbose") == 0;
        if (argc > 2 && !is_verbose)
            cli_usage_error("after --version there is --verbose or nothing, not \"%s\"",
                            argv[argc - 1]);
        cli_print_version(is_verbose);
        return 0;
    }
    struct found f = find_command(argc - 1, argv + 1);
    if (f.command->group != NULL) {
        answer_for_group(&f, argc - 1, argv + 1);
        return 0;
    }
    int code = run_command(&f, argc - f.words, argv + f.words);
    cli_stop_unwatch(); /* a rank that mpirun ends, because another has failed, is silent */
    emp_ranks_leave(code != 0 && code != cli_stop_status());
    return code;
}
