// SPDX-License-Identifier: GPL-3.0-or-later
/* Does every output say what it is of: workload, machine, runtime and method? */
#include <ctype.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "tests/cli/emplace.h"
#include "tests/test.h"

static void set_up(void)
{
    emplace_set_up();
    cr_assert_eq(mkdir(scratch_path("anchors"), 0777), 0);
    emplace_write(
        "anchors/copies.tsv",
        "name\tkind\trole\tdevice\tspec\tmeasured\tbar\tsource\n"
        "a copy\tcopy\tcheck\tk40x1\tcopy cpu:0 gpu:0 1MB\t10 GB/s\t20 %\tsomebody\n");
    scratch_write_json("all.yaml", "format: 'emplace-placement-1'\ndefault: 'gpu:0'\n");
    emplace_ok("place small.pbtxt -m k40x2 -M gpu --record run.h5 --out gpu.json");
}

TestSuite(named, .init = set_up, .fini = emplace_tear_down);

/* The names in a command's output; NULL where it has none. */
static const struct named_case {
    const char *command, *arguments;
    const char *workload, *machine, *runtime, *method;
} cases[] = {
    {"ablate", "refine --rows rnnlm --arms stages --budget 2 --seeds 1", "rnnlm", "k40x2",
     "tf-r1.3", "refine"},
    {"bench adversary", "gpu heft --sizes 3 --machines k40x2 --trials 3", NULL, "k40x2",
     "ideal", "gpu"},
    {"bench anomalies", "small.pbtxt -m k40x2 -n 3", "small.pbtxt", "k40x2", "tf-r1.3",
     "random"},
    {"bench mechanisms", "--rows rnnlm", "rnnlm", "k40x2", "tf-r1.3", "scotch"},
    {"bench order", "--rows rnnlm --methods gpu --budget 2 --seeds 1 --threads 1",
     "rnnlm", "k40x2", "tf-r1.3", "gpu"},
    {"bench fusion", "--rows rnnlm --methods gpu --budget 2 --seeds 1 --threads 1",
     "rnnlm", "k40x2", "tf-r1.3", "gpu"},
    {"bench placers", "--rows rnnlm --methods gpu --draws 0", "rnnlm", "k40x2", "tf-r1.3",
     "gpu"},
    {"bench surrogate", "small.pbtxt -m k40x2 -n 16", "small.pbtxt", "k40x2", "tf-r1.3",
     "random"},
    {"bench transfer",
     "--split giph --methods giph --budget 31 --seeds 1 --budgets 1 --threads 1",
     "giph:v=15,alpha=0.2,seed=101", "giph:devices=8,seed=101", "edges", "giph"},
    {"bound", "small.pbtxt -m k40x2", "small.pbtxt", "k40x2", "tf-r1.3", NULL},
    {"calibrate check", "-m k40 --anchors anchors", NULL, "k40x1", "tf-r1.3", NULL},
    {"calibrate fit", "-m k40 --on inception_v3:cpu", "inception_v3", "k40x1", "tf-r1.3",
     NULL},
    {"calibrate ops", "small.pbtxt --out costs.csv --limit 2 --force", "small.pbtxt",
     "cpu2", "replay-cpu", NULL},
    {"compare", "gpu.json gpu.json", "small.pbtxt", "k40x2", "tf-r1.3", NULL},
    {"graph", "small.pbtxt", "small.pbtxt", NULL, NULL, NULL},
    {"place", "small.pbtxt -m k40x2 -M gpu", "small.pbtxt", "k40x2", "tf-r1.3", "gpu"},
    {"record", "run.h5", "small.pbtxt", "k40x2", "tf-r1.3", "gpu"},
    {"replay", "gpu.json --steps 2", "small.pbtxt", "k40x2", "replay-cpu", "gpu.json"},
    {"score", "all.yaml --instance giph-30-1", "giph:v=30,alpha=0.2,p=0.1,seed=1",
     "giph:devices=8,seed=1", "edges", NULL},
    {"simulate", "small.pbtxt -m k40x2 -p gpu", "small.pbtxt", "k40x2", "tf-r1.3", "gpu"},
    {"simulate", "small.pbtxt -m k40x2 -p gpu --why", "small.pbtxt", "k40x2", "tf-r1.3",
     "gpu"},
    {"study", "constants --rows rnnlm10 --arms lr=0.3 --budget 4 --seeds 1 --threads 1",
     "rnnlm:steps=10", "k40x2", "tf-r1.3", "hdp"},
    {"table", "1 --rows rnnlm --methods gpu --seeds 1", "rnnlm", "k40x2", "tf-r1.3",
     NULL /* its columns have titles of their own, "GPU only" */},
    {"train", "small.pbtxt -m k40x2 -M local --budget 5 --record t.h5 --force",
     "small.pbtxt", "k40x2", "tf-r1.3", "local"},
    {"validate", "--workloads small.pbtxt --placements 2 --steps 2 --unsteady",
     "small.pbtxt", "cpu2", "replay-cpu", "cpu"},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Lists of what there is, what works without a graph or a machine, a fit of many seconds, and what has
 * its own test: a page, a merge, the server. */
static const char others[] = " calibrate iterations, calibrate measure, cost attention, "
                             "cost comm, cost gemm, instances, machines, merge, methods, "
                             "plan, plot, report, runtimes, serve, workloads, ";

static bool is_tried(const char *command)
{
    for (size_t i = 0; i < CASES; i++)
        if (strcmp(cases[i].command, command) == 0) return true;
    return strstr(others, scratch_print(" %s, ", command)) != NULL;
}

/* Driven by the table of commands, so that no new command escapes. */
Test(named, every_command_is_tried_here)
{
    for (const cli_command *c = cli_commands; c->name != NULL; c++) {
        for (const cli_command *d = c->group; d != NULL && d->name != NULL; d++) {
            const char *name = scratch_print("%.30s %.30s", c->name, d->name);
            cr_expect(is_tried(name), "%s", name);
        }
        if (c->group == NULL) cr_expect(is_tried(c->name), "%s", c->name);
    }
}

/* The command line that made it names all of them, and is not what is looked at. */
static void run(const struct named_case *c, const char *format)
{
    const char *arguments =
        scratch_print("%s %s --format %s", c->command, c->arguments, format);
    cr_assert_eq(emplace_run(arguments), 0, "%s: %s", arguments, program_err);
    char *origin = strstr(program_out, "Made by:");
    if (origin != NULL) *origin = '\0';
}

static void expect_word(const struct named_case *c, const char *word, bool is_quoted)
{
    if (word == NULL) return;
    const char *text = scratch_print(is_quoted ? "\"%s\"" : "%s", word);
    cr_expect_not_null(strstr(program_out, text), "%s %s does not print %s:\n%s",
                       c->command, c->arguments, text, program_out);
}

static void expect_named(const struct named_case *c, const char *format)
{
    bool is_quoted = strcmp(format, "json") == 0;

    run(c, format);
    expect_word(c, c->workload, is_quoted);
    expect_word(c, c->machine, is_quoted);
    expect_word(c, c->runtime, is_quoted);
    expect_word(c, c->method, is_quoted);
}

/* "1e-05", "nan": no number that people read. */
static bool is_for_programs(const char *at)
{
    if (isdigit((unsigned char)at[0]) && at[1] == 'e' && (at[2] == '+' || at[2] == '-'))
        return isdigit((unsigned char)at[3]);
    return strncmp(at, "-nan", 4) == 0 || strncmp(at, " nan ", 5) == 0;
}

static void expect_readable(const struct named_case *c)
{
    for (const char *at = program_out; *at != '\0'; at++)
        cr_assert_not(is_for_programs(at), "%s %s prints \"%.20s\":\n%s", c->command,
                      c->arguments, at, program_out);
}

Test(named, every_format_says_what_it_is_of)
{
    static const char *const formats[] = {"text", "md", "json"};

    for (size_t i = 0; i < 3 * CASES; i++) {
        expect_named(&cases[i / 3], formats[i % 3]);
        if (i % 3 < 2) expect_readable(&cases[i / 3]);
    }
}

/* Commands of one task, whose CSV could say nothing of it; those of many always do. */
Test(named, csv_says_what_it_is_of)
{
    static const char *const commands[] = {"bench anomalies", "bench surrogate", "record",
                                           "replay", "validate"};

    for (size_t i = 0; i < CASES; i++) {
        for (size_t k = 0; k < sizeof commands / sizeof *commands; k++) {
            if (strcmp(cases[i].command, commands[k]) != 0) continue;
            run(&cases[i], "csv");
            cr_assert_not_null(strstr(program_out, "\nworkload,machine,runtime,"), "%s",
                               program_out);
            char *lines = strchr(strchr(program_out, '\n') + 1, '\n');
            memmove(program_out, lines, strlen(lines) + 1);
            expect_word(&cases[i], cases[i].workload, false);
            expect_word(&cases[i], cases[i].machine, false);
            expect_word(&cases[i], cases[i].runtime, false);
            expect_word(&cases[i], cases[i].method, false);
        }
    }
}

Test(named, summaries_and_pages_say_it_too)
{
    emplace_prints(
        "validate --workloads small.pbtxt --placements 2 --steps 2 "
        "--unsteady --summary --format csv",
        "\nworkload,machine,runtime,backend,|\nsmall.pbtxt,cpu2,replay-cpu,cpu,");
    emplace_ok("report run.h5 --out p.html");
    emplace_expect_file("p.html", "small.pbtxt|k40x2|tf-r1.3|gpu");
}
