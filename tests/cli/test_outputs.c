// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a command keep the files of others, unless --force gives them up? */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/parse.h"
#include "tests/cli/emplace.h"
#include "tests/support/scratch.h"

#define PLACE "place small.pbtxt --machine k40x2 --method gpu "

TestSuite(outputs, .init = emplace_set_up, .fini = emplace_tear_down);

static void expect_text(const char *name, const char *text)
{
    char *bytes = scratch_read(name, NULL);

    cr_expect_str_eq(bytes, text);
    free(bytes);
}

static void expect_refusal(const char *arguments, const char *name)
{
    cr_expect_eq(emplace_run(arguments), 1, "%s", arguments);
    cr_expect(program_is_one_sentence(program_err, "emplace"), "%s", program_err);
    cr_expect_not_null(strstr(program_err, name), "%s", program_err);
    cr_expect_not_null(strstr(program_err, "--force"), "%s", program_err);
}

Test(outputs, a_file_that_is_there_is_kept)
{
    scratch_write("notes", "mine", 4);
    expect_refusal(PLACE "--out notes", "notes is there already");
    expect_text("notes", "mine");
    expect_refusal(PLACE "--record notes", "notes is not a record of this run");
    expect_text("notes", "mine");
}

Test(outputs, force_gives_it_up)
{
    scratch_write("notes", "mine", 4);
    cr_assert_eq(emplace_run(PLACE "--out notes --force"), 0, "%s", program_err);
    char *bytes = scratch_read("notes", NULL);
    cr_expect_not_null(strstr(bytes, "emplace-placement-1"));
    free(bytes);
    cr_expect_eq(emplace_run(PLACE "--record notes --force"), 0, "%s", program_err);
}

Test(outputs, an_empty_file_and_no_file_lose_nothing)
{
    scratch_write("empty", "", 0);
    cr_expect_eq(emplace_run(PLACE "--out empty"), 0, "%s", program_err);
    cr_expect_eq(emplace_run(PLACE "--out /dev/null"), 0, "%s", program_err);
}

Test(outputs, the_record_of_the_same_run_is_replaced)
{
    cr_assert_eq(emplace_run(PLACE "--record run.h5"), 0, "%s", program_err);
    cr_expect_eq(emplace_run(PLACE "--record run.h5"), 0, "%s", program_err);
    expect_refusal(PLACE "--record run.h5 --seed 9", "seed 1 there, 9 here");
}

Test(outputs, the_placement_of_the_same_run_is_replaced)
{
    cr_assert_eq(emplace_run(PLACE "--out p.json"), 0, "%s", program_err);
    cr_expect_eq(emplace_run(PLACE "--out p.json"), 0, "%s", program_err);
    expect_refusal(PLACE "--out p.json --seed 9", "p.json is there already");
}

Test(outputs, a_record_gives_the_placement_that_the_run_wrote)
{
    cr_assert_eq(emplace_run(PLACE "--record run.h5 --out p.json"), 0, "%s", program_err);
    cr_assert_eq(emplace_run("record run.h5 --out again.json"), 0, "%s", program_err);
    char *text = scratch_read("p.json", NULL);
    expect_text("again.json", text);
    free(text);
    cr_expect_eq(emplace_run("record run.h5 --out p.json"), 0, "it is of this run: %s",
                 program_err);
    expect_refusal("record run.h5 --out small.pbtxt", "small.pbtxt is there already");
}

#define RANDOM "place small.pbtxt --machine k40x2 --method random --budget 3 "

Test(outputs, of_several_records_the_best_is_taken)
{
    double best_s = 1e9;
    char   arguments[160];

    for (int seed = 1; seed <= 3; seed++) {
        snprintf(arguments, sizeof arguments,
                 RANDOM "--seed %d --record %d.h5 --format json", seed, seed);
        json_t *object = emplace_json(arguments);
        double  step_s = json_number_value(json_object_get(object, "step_time_s"));
        if (step_s < best_s) best_s = step_s;
        json_decref(object);
    }
    json_t *shown = emplace_json("record 1.h5 2.h5 3.h5 --out best.json --format json");
    cr_expect_float_eq(json_number_value(json_object_get(shown, "step_time_s")), best_s,
                       1e-12);
    json_decref(shown);
    json_t *simulated =
        emplace_json("simulate small.pbtxt --machine k40x2 -p best.json --format json");
    cr_expect_float_eq(json_number_value(json_object_get(simulated, "step_time_s")),
                       best_s, 1e-12);
    json_decref(simulated);
}

Test(outputs, records_of_different_tasks_have_no_best)
{
    cr_assert_eq(emplace_run(PLACE "--record a.h5"), 0);
    cr_assert_eq(emplace_run("place small.pbtxt -m k40x4 --method gpu --record b.h5"), 0);
    cr_expect_eq(emplace_run("record a.h5 b.h5 --out p.json"), 1);
    cr_expect_not_null(strstr(program_err, "records of one task"), "%s", program_err);
}

/* ---- every output option of every command ------------------------------------------- */

#define ABLATED "-M local --arms 'base; kicks=4' --rows rnnlm -b 1 --seeds 1 "

/* What writes a file, which the test puts there before. */
static const struct output_case {
    const char *command, *option, *file, *arguments;
} output_cases[] = {
    {"ablate", "curves", "c.csv", ABLATED "--curves c.csv"},
    {"ablate", "page", "p.html", ABLATED "--page p.html"},
    {"ablate", "plot", "p.svg", ABLATED "--plot p.svg"},
    {"ablate", "rankings", "r.csv", ABLATED "--rankings r.csv"},
    {"ablate", "rescored", "s.csv", ABLATED "--rescored s.csv"},
    {"ablate", "times", "t.csv", ABLATED "--times t.csv"},
    {"bench placers", "curves", "c.csv", "--rows rnnlm --methods cpu --curves c.csv"},
    {"bench placers", "page", "p.html", "--rows rnnlm --methods cpu --page p.html"},
    {"bench placers", "plot", "p.svg", "--rows rnnlm --methods cpu --plot p.svg"},
    {"bench placers", "rankings", "r.csv", "--rows rnnlm --methods cpu --rankings r.csv"},
    {"bench placers", "rescored", "s.csv", "--rows rnnlm --methods cpu --rescored s.csv"},
    {"bench placers", "times", "t.csv", "--rows rnnlm --methods cpu --times t.csv"},
    {"calibrate fit", "out", "machines/models/haswell-18.yaml",
     "--machine k40 --on inception_v3:cpu --out ."},
    {"calibrate measure", "out", "mine.yaml", "--out mine.yaml"},
    {"calibrate measure", "out", "mine-runtime.yaml", "--out mine.yaml"},
    {"calibrate measure", "export", "plans/mine.txt", "--export plans"},
    {"graph", "out", "g.json", "small.pbtxt --out g.json"},
    {"graph", "out", "g.edges.csv", "small.pbtxt --out g.csv"},
    {"machines", "out", "box.yaml",
     "import --topology topo.txt --model k40 --out box.yaml"},
    {"place", "out", "p.json", "small.pbtxt -m k40x2 -M gpu --out p.json"},
    {"place", "record", "r.h5", "small.pbtxt -m k40x2 -M gpu --record r.h5"},
    {"place", "weights-out", "w.h5", "small.pbtxt -m k40x2 -M gpu --weights-out w.h5"},
    {"plot", "out", "f.svg", "t.csv --by a --values b --out f.svg"},
    {"record", "out", "p.json", "run.h5 --out p.json"},
    {"replay", "export", "p.txt", "gpu.json --export p.txt"},
    {"replay", "out", "r.txt", "gpu.json --out r.txt"},
    {"replay", "trace", "t.json", "gpu.json --trace t.json"},
    {"report", "out", "p.html", "run.h5 --out p.html"},
    {"simulate", "chakra", "c.1.et", "small.pbtxt -m k40x2 -p gpu --chakra c"},
    {"simulate", "dot", "g.dot", "small.pbtxt -m k40x2 -p gpu --dot g.dot"},
    {"simulate", "trace", "t.json", "small.pbtxt -m k40x2 -p gpu --trace t.json"},
    {"train", "out", "p.json",
     "small.pbtxt -m k40x2 -M local --record x.h5 --out p.json"},
    {"train", "record", "r.h5", "small.pbtxt -m k40x2 -M local --record r.h5"},
    {"train", "weights-out", "w.h5", "--tasks table1 -M hdp --weights-out w.h5"},
    {"validate", "export", "plans/mine.txt", "--workloads small.pbtxt --export plans"},
    {"validate", "plot", "v.svg", "--workloads small.pbtxt --plot v.svg"},
    {"validate", "record", "v.h5", "--workloads small.pbtxt --record v.h5"},
};
enum { OUTPUT_CASES = sizeof output_cases / sizeof *output_cases };

/* What is read, and the archive of runs, which never replaces the record of another. */
static const char *const inputs[] = {
    "imitate",  "machine", "model",  "runtime", "placement",  "measured",
    "tasks",    "anchors", "runs",   "start",   "weights",    "costs",
    "topology", "query",   "layers", "network", "collectives"};

static bool is_input(const struct argp_option *o)
{
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (strcmp(o->name, inputs[i]) == 0) return true;
    return false;
}

static bool has_case(const char *command, const char *option)
{
    for (size_t i = 0; i < OUTPUT_CASES; i++)
        if (strcmp(output_cases[i].command, command) == 0 &&
            strcmp(output_cases[i].option, option) == 0)
            return true;
    return false;
}

static void expect_cases(const char *name, const struct argp *argp)
{
    const struct argp_option *list[CLI_MOST_OPTIONS];
    int32_t                   count = cli_collect_options(argp, list);
    bool                      has_force = false, has_output = false;

    for (int32_t i = 0; i < count; i++) {
        const struct argp_option *o = list[i];
        has_force = has_force || strcmp(o->name, "force") == 0;
        if (o->arg == NULL || is_input(o)) continue;
        if (strstr(o->arg, "FILE") == NULL && strstr(o->arg, "DIR") == NULL) continue;
        has_output = true;
        cr_expect(has_case(name, o->name),
                  "--%s of %s writes a file; say here what keeps that of another",
                  o->name, name);
    }
    cr_expect_eq(has_force, has_output, "%s writes files or has --force, not both", name);
}

/* Driven by the tables of options, so that no new option escapes. */
Test(outputs, every_output_option_is_tried_here)
{
    for (const cli_command *c = cli_commands; c->name != NULL; c++) {
        for (const cli_command *d = c->group; d != NULL && d->name != NULL; d++) {
            char name[64];
            snprintf(name, sizeof name, "%.30s %.30s", c->name, d->name);
            expect_cases(name, d->argp);
        }
        if (c->group == NULL) expect_cases(c->name, c->argp);
    }
}

static void make_folders(void)
{
    static const char *const folders[] = {"plans", "machines", "machines/models"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        cr_assert_eq(mkdir(scratch_path(folders[i]), 0777), 0);
}

Test(outputs, no_output_option_replaces_the_file_of_another)
{
    char arguments[256];

    make_folders();
    cr_assert_eq(emplace_run(PLACE "--record run.h5 --out gpu.json"), 0, "%s",
                 program_err);
    for (size_t i = 0; i < OUTPUT_CASES; i++) {
        const struct output_case *c = &output_cases[i];
        scratch_write(c->file, "mine", 4);
        snprintf(arguments, sizeof arguments, "%s %s", c->command, c->arguments);
        expect_refusal(arguments, strcmp(c->option, "export") == 0 ? "" : c->file);
        expect_text(c->file, "mine");
        cr_expect_str_empty(program_out, "%s", arguments);
        remove(scratch_path(c->file));
    }
}

static bool exists(const char *name) { return access(scratch_path(name), F_OK) == 0; }

/* Sends SIGINT to a report after a while; whether that ended it. */
static bool interrupt_report(long delay_ms)
{
    const struct timespec delay = {delay_ms / 1000, delay_ms % 1000 * 1000000};
    pid_t child = program_start("", "cli/emplace", "report nmt.h5 --out page.html");
    int   status = 0;

    nanosleep(&delay, NULL);
    kill(child, SIGINT);
    cr_assert_eq(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) return true; /* before it had begun */
    cr_expect(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 130, "%ld ms: %d",
              delay_ms, WEXITSTATUS(status));
    return WEXITSTATUS(status) == 130;
}

/* The bounds of this task take seconds. */
Test(outputs, a_report_that_is_interrupted_leaves_nothing)
{
    int kills = 0;

    signal(SIGINT, SIG_DFL); /* whatever a runner in the background has made of it */
    cr_assert_eq(emplace_run("place nmt:layers=4 -m k40x4 -M expert --no-bound "
                             "--record nmt.h5"),
                 0, "%s", program_err);
    for (long delay_ms = 200; delay_ms < 1500; delay_ms += 400) {
        bool is_killed = interrupt_report(delay_ms);
        kills += is_killed;
        cr_expect_eq(exists("page.html"), !is_killed, "%ld ms", delay_ms);
        cr_expect_not(exists("page.html.tmp0"), "%ld ms", delay_ms);
        remove(scratch_path("page.html"));
    }
    cr_expect_gt(kills, 0, "each report was done before");
}

/* ---- what is opened, not what it is called ------------------------------------------- */

static void expect_failure(const char *arguments, const char *why)
{
    cr_expect_eq(emplace_run(arguments), 1, "%s", arguments);
    cr_expect(program_is_one_sentence(program_err, "emplace: "), "%s: %s", arguments,
              program_err);
    cr_expect_not_null(strstr(program_err, why), "%s: %s", arguments, program_err);
}

static void link_hard(const char *name, const char *other)
{
    char path[SCRATCH_PATH_BYTES];

    snprintf(path, sizeof path, "%s", scratch_path(name));
    cr_assert_eq(link(path, scratch_path(other)), 0);
}

Test(outputs, that_lead_to_an_input_are_refused)
{
    size_t size, again;
    char  *before = scratch_read("small.pbtxt", &size);

    cr_assert_eq(symlink("small.pbtxt", scratch_path("link")), 0);
    link_hard("small.pbtxt", "hard");
    cr_assert_eq(symlink(".", scratch_path("here")), 0);
    expect_failure(PLACE "--force --out link", "small.pbtxt is an input");
    expect_failure(PLACE "--force --out hard", "small.pbtxt is an input");
    expect_failure(PLACE "--force --out here/small.pbtxt", "small.pbtxt is an input");
    expect_failure("place tf:path=small.pbtxt,batch=2 --machine k40x2 --force --out link",
                   "small.pbtxt is an input");
    expect_failure("simulate tf:batch=2,path=small.pbtxt --machine k40x2 --placement gpu "
                   "--trace small.pbtxt",
                   "small.pbtxt is an input");
    expect_failure(PLACE "--record run.h5 --out run.h5.lock", "has the name of a lock");
    char *after = scratch_read("small.pbtxt", &again);
    cr_expect(size == again && memcmp(before, after, size) == 0);
    free(before);
    free(after);
}

static void expect_kept(const char *arguments, const char *name, const char *beside)
{
    char *before = scratch_read(name, NULL);

    expect_failure(arguments, "is a file that this run has read and stays");
    cr_expect_not_null(strstr(program_err, beside), "%s", program_err);
    expect_text(name, before);
    free(before);
    cr_expect_eq(access(scratch_path(beside), F_OK), 0, "nothing is lost");
}

/* The command line does not name them: another file does. */
Test(outputs, that_lead_to_a_file_that_was_read_are_put_beside_it)
{
    static const char base[] = "description: \"a\"\nbase: \"torch-eager\"\n";
    static const char own[] = "description: \"b\"\nbase: \"./base.yaml\"\n";
    static const char tasks[] = "a small.pbtxt k40x2\n";
    static const char program[] =
        "read hello\nread ask\necho '{\"placements\": [[0, 0, 0, 0]]}'\ncat\n";

    scratch_write("base.yaml", base, sizeof base - 1);
    scratch_write("own.yaml", own, sizeof own - 1);
    scratch_write("tasks.txt", tasks, sizeof tasks - 1);
    expect_kept(
        "simulate small.pbtxt -m k40x2 -p gpu -r ./own.yaml --trace base.yaml --force",
        "base.yaml", "base.kept.yaml");
    cr_assert_eq(emplace_run(PLACE "--out p.json --record r.h5"), 0, "%s", program_err);
    expect_kept("replay p.json --export small.pbtxt --force", "small.pbtxt",
                "small.kept.pbtxt");
    expect_kept("report r.h5 --out small.pbtxt --force", "small.pbtxt",
                "small.kept2.pbtxt");
    expect_kept(
        "train --tasks tasks.txt -M go --options width=16,heads=2,hidden=16 -b 64 "
        "--imitate p.json --imitate-rounds 1 --weights-out p.json --force",
        "p.json", "p.kept.json");
    scratch_write("mine.sh", program, sizeof program - 1);
    expect_kept("place small.pbtxt -m k40x2 -M 'cmd:sh mine.sh' -b 1 --no-bound "
                "--record mine.sh --force",
                "mine.sh", "mine.kept.sh");
}

Test(outputs, that_take_what_is_printed_are_refused)
{
    char command[2 * SCRATCH_PATH_BYTES];

    snprintf(command, sizeof command,
             "cd '%s' && ! \"$EMP_BINARY_DIR/cli/emplace\" " PLACE
             "--out printed >> printed 2> why",
             scratch_path(""));
    cr_expect_eq(system(command), 0);
    char *why = scratch_read("why", NULL);
    cr_expect_not_null(strstr(why, "what is printed goes to printed, too"), "%s", why);
    free(why);
}

Test(outputs, that_have_the_name_of_a_temporary_file_are_refused)
{
    expect_failure(PLACE "--record r.h5 --out r.h5.tmp0",
                   "has the name of a temporary file");
    cr_assert_eq(emplace_run(PLACE "--out p.json"), 0, "%s", program_err);
    char from[SCRATCH_PATH_BYTES];
    snprintf(from, sizeof from, "%s", scratch_path("p.json"));
    cr_assert_eq(rename(from, scratch_path("r.h5.tmp3")), 0);
    expect_failure(
        "place small.pbtxt -m k40x2 -M anneal -b 20 --record r.h5 --start r.h5.tmp3",
        "rename it first");
    cr_expect_eq(access(scratch_path("r.h5.tmp3"), F_OK), 0);
}

#define COMPARE "bench placers --rows a --methods gpu --budgets 1 --draws 0 --force "

Test(outputs, that_lead_to_what_tasks_come_from_are_refused)
{
    static const char *const options[] = {"curves", "rankings", "times",
                                          "page",   "rescored", "plot"};
    static const char        task[] = "a small.pbtxt box.yaml\n";
    char                     arguments[256], *machine = scratch_read("bad.yaml", NULL);

    scratch_write("tasks.txt", task, sizeof task - 1);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        snprintf(arguments, sizeof arguments,
                 COMPARE "--tasks fresh,tasks.txt --%s tasks.txt", options[i]);
        expect_failure(arguments, "tasks.txt is an input");
    }
    expect_text("tasks.txt", task);
    expect_failure(COMPARE "--tasks tasks.txt --times small.pbtxt",
                   "small.pbtxt is an input");
    expect_failure(COMPARE "--tasks tasks.txt --times box.yaml", "box.yaml is an input");
    expect_failure(COMPARE "--tasks tasks.txt --runtime bad.yaml --times bad.yaml",
                   "bad.yaml is an input");
    expect_text("bad.yaml", machine);
    free(machine);
    expect_failure("train --tasks fresh,tasks.txt --weights-out tasks.txt --force",
                   "tasks.txt is an input");
    expect_failure("train --tasks tasks.txt --weights-out small.pbtxt --force",
                   "small.pbtxt is an input");
}

/* The records that a comparison makes do not have a name before it. */
Test(outputs, among_run_records_are_refused)
{
    static const char task[] = "a small.pbtxt k40x2\n";

    scratch_write("tasks.txt", task, sizeof task - 1);
    cr_assert_eq(mkdir(scratch_path("runs"), 0700), 0);
    expect_failure(COMPARE "--tasks tasks.txt --times runs/new.h5",
                   "runs/new.h5 is among the run records of runs");
    scratch_write("runs/old.h5", "old", 3);
    cr_assert_eq(symlink("runs/old.h5", scratch_path("times.csv")), 0);
    expect_failure(COMPARE "--tasks tasks.txt --times times.csv",
                   "times.csv is among the run records of runs");
    expect_text("runs/old.h5", "old");
    cr_expect_eq(emplace_run(COMPARE "--tasks tasks.txt --times other.csv"), 0, "%s",
                 program_err);
}

Test(outputs, that_lead_to_each_other_are_refused)
{
    scratch_write("a", "", 0);
    cr_assert_eq(symlink("a", scratch_path("b")), 0);
    link_hard("a", "c");
    expect_failure(PLACE "--out a --record b", "two outputs");
    expect_failure(PLACE "--out a --record c", "two outputs");
}

Test(outputs, that_cannot_be_written_are_told_before_the_work)
{
    char arguments[512], name[300];

    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    expect_failure(PLACE "--out ''", "an output needs the name of a file");
    expect_failure(PLACE "--record ''", "an output needs the name of a file");
    snprintf(arguments, sizeof arguments, PLACE "--out %s", name);
    expect_failure(arguments, "File name too long");
    cr_expect_str_empty(program_out);
}

/* Nobody can make a file there, not even root. The record is what is looked at before a run. */
Test(outputs, of_studies_are_told_before_the_runs)
{
    static const char task[] = "a small.pbtxt k40x2\n";

    scratch_write("tasks.txt", task, sizeof task - 1);
    expect_failure(COMPARE "--tasks tasks.txt --runs /proc", ".h5 cannot be written");
    expect_failure("table 1 --rows rnnlm --methods gpu --runs /proc",
                   ".h5 cannot be written");
}

/* Nobody writes to the pipe: to read it would be to wait for ever. */
Test(outputs, pipes_and_devices_are_no_inputs, .timeout = 120)
{
    static const char *const commands[] = {
        "place %s --machine k40x2 --method gpu",
        "place small.pbtxt --machine %s --method gpu",
        "simulate small.pbtxt --machine k40x2 -p %s",
        "place small.pbtxt --machine k40x2 --method random --budget 3 --start %s",
        "record %s",
        "report %s --out page.html",
        "replay %s",
    };
    static const char *const files[] = {"pipe.json", "/dev/zero"};
    char                     arguments[256];

    cr_assert_eq(mkfifo(scratch_path("pipe.json"), 0600), 0);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        for (int k = 0; k < 2; k++) {
            const char *percent = strstr(commands[i], "%s");
            snprintf(arguments, sizeof arguments, "%.*s%s%s",
                     (int)(percent - commands[i]), commands[i], files[k], percent + 2);
            expect_failure(arguments, "");
        }
    }
}

/* The first one works until it is told to stop. */
Test(outputs, of_two_programs_on_one_record_the_second_is_told, .timeout = 120)
{
    const struct timespec a_moment = {0, 10 * 1000 * 1000};
    int                   status;
    const pid_t first = program_start("mkdir first && cd first &&", "cli/emplace",
                                      "train rnnlm:layers=1,steps=2 -m k40x2 -M local "
                                      "-s 1000 -t 1 --record ../run.h5");

    while (!exists("run.checkpoint.h5")) nanosleep(&a_moment, NULL);
    expect_failure("train rnnlm:layers=1,steps=2 -m k40x2 -M local -s 1000 -t 1 "
                   "--record run.h5",
                   "run.h5 is being written by another program (process ");
    kill(first, SIGKILL);
    cr_assert_eq(waitpid(first, &status, 0), first);
    cr_expect_eq(emplace_run("train rnnlm:layers=1,steps=2 -m k40x2 -M local -b 20 "
                             "--record other.h5"),
                 0, "%s", program_err);
    cr_expect_not(exists("other.h5.lock"));
}
