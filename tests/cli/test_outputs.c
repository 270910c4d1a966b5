// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a command keep the files of others, unless --force gives them up? */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "run/store/store.h"
#include "tests/cli/emplace.h"
#include "tests/test.h"

#define PLACE "place small.pbtxt --machine k40x2 --method gpu "

TestSuite(outputs, .init = emplace_set_up, .fini = emplace_tear_down);

static void expect_refusal(const char *arguments, const char *name)
{
    emplace_refuses(arguments, "--force");
    emplace_expect_parts(program_err, name);
}

Test(outputs, a_file_that_is_there_is_kept_unless_forced)
{
    emplace_write("notes", "mine");
    emplace_write("empty", "");
    expect_refusal(PLACE "--out notes", "notes");
    expect_refusal(PLACE "--record notes", "notes");
    emplace_expect_file("notes", "mine");
    emplace_ok(PLACE "--out notes --force");
    emplace_expect_file("notes", "emplace-placement-1");
    emplace_ok(PLACE "--record notes --force");
    emplace_ok(PLACE "--out empty");
    emplace_ok(PLACE "--out /dev/null");
}

Test(outputs, those_of_the_same_run_are_replaced)
{
    static const char *const limited[] = {"--forbid cpu", "--costs costs.csv"};

    for (int i = 0; i < 2; i++) emplace_ok(PLACE "--record run.h5 --out p.json");
    expect_refusal(PLACE "--record run.h5 --seed 9", "seed 1 there, 9 here");
    expect_refusal(PLACE "--out p.json --seed 9", "p.json");
    emplace_write("costs.csv", "op,us\n*,40\n");
    for (size_t i = 0; i < sizeof limited / sizeof *limited; i++) {
        cr_expect_eq(emplace_run(scratch_print(PLACE "--record run.h5 %s", limited[i])),
                     1);
        emplace_expect_parts(program_err, "options of its problem|--force");
        cr_expect_eq(emplace_run(scratch_print(PLACE "--out p.json %s", limited[i])), 1);
        emplace_expect_parts(program_err, "p.json|--force");
    }
    emplace_ok(PLACE "--record other.h5 --forbid cpu");
    emplace_prints("record other.h5 --format csv", " --forbid cpu --method gpu ");
    emplace_ok("record run.h5 --out again.json");
    cr_expect(emplace_same_files("p.json", "again.json"));
    emplace_ok("record run.h5 --out p.json");
    expect_refusal("record run.h5 --out small.pbtxt", "small.pbtxt");
}

#define RANDOM "place small.pbtxt --machine k40x2 --method random --budget 3 "

Test(outputs, of_several_records_of_one_task_the_best_is_taken)
{
    double best_s = 1e9;

    for (int seed = 1; seed <= 3; seed++) {
        const double step_s = emplace_number(
            scratch_print(RANDOM "--seed %d --record %d.h5 --format json", seed, seed),
            "step_time_s");
        if (step_s < best_s) best_s = step_s;
    }
    cr_expect_float_eq(
        emplace_number("record 1.h5 2.h5 3.h5 --out best.json --format json",
                       "step_time_s"),
        best_s, 1e-12);
    cr_expect_float_eq(
        emplace_number("simulate small.pbtxt --machine k40x2 -p best.json --format json",
                       "step_time_s"),
        best_s, 1e-12);
    emplace_ok("place small.pbtxt -m k40x4 --method gpu --record other.h5");
    emplace_refuses("record 1.h5 other.h5 --out p.json", "one task");

    /* one table of both, whatever their tasks and methods */
    json_t *all = emplace_json("record 1.h5 other.h5 --all --format json");
    emplace_expect_keys(json_at(all, "curve/0"), "file method evaluations best_s mean_s");
    cr_expect_str_eq(text_at(all, "curve/0/file"), "1.h5");
    cr_expect_str_eq(text_at(all, "curve/0/method"), "random");
    const json_t *curve = json_at(all, "curve");
    const json_t *last = json_array_get(curve, json_array_size(curve) - 1);
    cr_expect_str_eq(text_at(last, "file"), "other.h5");
    cr_expect_str_eq(text_at(last, "machine"), "k40x4");
    emplace_prints("record 1.h5 other.h5 --all --format md",
                   "1.h5: small.pbtxt on k40x2|other.h5: small.pbtxt on k40x4");
}

Test(outputs, of_a_run_that_has_not_evaluated_have_no_step_time)
{
    emp_record record = {.method = "gpu", .workload = "small.pbtxt", .machine = "k40x2"};

    ASSERT_OK(emp_record_save(scratch_path("r.h5"), &record, NULL));
    json_t *said = emplace_json("record r.h5 --format json");
    cr_expect_eq(number_at(said, "evaluations"), 0);
    cr_expect(is_null_at(said, "step_time_s"));
}

#define ABLATED "-M local --arms 'base; kicks=4' --rows rnnlm -b 1 --seeds 1 "

#define PROFILED "small.pbtxt --limit 2 "

/* Commands that write a file, which the test puts there before. */
static const struct output_case {
    const char *command, *option, *file, *arguments;
} output_cases[] = {
    {"ablate", "curves", "c.csv", ABLATED "--curves c.csv"},
    {"ablate", "page", "p.html", ABLATED "--page p.html"},
    {"ablate", "plot", "p.svg", ABLATED "--plot p.svg"},
    {"ablate", "rankings", "r.csv", ABLATED "--rankings r.csv"},
    {"ablate", "rescored", "s.csv", ABLATED "--rescored s.csv"},
    {"ablate", "times", "t.csv", ABLATED "--times t.csv"},
    {"bench adversary", "out", "a.json", "gpu heft --out a.json"},
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
    {"calibrate ops", "out", "c.csv", PROFILED "--out c.csv"},
    {"bound", "certificate", "c.json", "small.pbtxt -m k40x2 --certificate c.json"},
    {"graph", "out", "g.json", "small.pbtxt --out g.json"},
    {"graph", "out", "g.edges.csv", "small.pbtxt --out g.csv"},
    {"machines", "out", "box.yaml",
     "import --topology topo.txt --model k40 --out box.yaml"},
    {"place", "log", "l.jsonl", "small.pbtxt -m k40x2 -M gpu --log l.jsonl"},
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
    {"simulate", "explore", "e.html", "small.pbtxt -m k40x2 -p gpu --explore e.html"},
    {"simulate", "model-explorer", "m.1.wait.json",
     "small.pbtxt -m k40x2 -p gpu --model-explorer m"},
    {"simulate", "model-explorer", "m.2.device.json",
     "small.pbtxt -m k40x2 -p gpu --beside cpu --model-explorer m"},
    {"simulate", "trace", "t.json", "small.pbtxt -m k40x2 -p gpu --trace t.json"},
    {"train", "log", "l.jsonl",
     "small.pbtxt -m k40x2 -M local --record x.h5 --log l.jsonl"},
    {"train", "out", "p.json",
     "small.pbtxt -m k40x2 -M local --record x.h5 --out p.json"},
    {"train", "record", "r.h5", "small.pbtxt -m k40x2 -M local --record r.h5"},
    {"train", "weights-out", "w.h5", "--tasks table1 -M go --weights-out w.h5"},
    {"validate", "export", "plans/mine.txt", "--workloads small.pbtxt --export plans"},
    {"validate", "plot", "v.svg", "--workloads small.pbtxt --plot v.svg"},
    {"validate", "record", "v.h5", "--workloads small.pbtxt --record v.h5"},
};
enum { OUTPUT_CASES = sizeof output_cases / sizeof *output_cases };

/* Options of inputs, and the archives of runs and kernels, which never replace another's file. */
static bool is_input(const struct argp_option *o)
{
    return strstr(" beside imitate machine model runtime placement measured tasks "
                  "anchors runs "
                  "start weights costs topology query layers network collectives cache ",
                  scratch_print(" %s ", o->name)) != NULL;
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
        for (const cli_command *d = c->group; d != NULL && d->name != NULL; d++)
            expect_cases(scratch_print("%.30s %.30s", c->name, d->name), d->argp);
        if (c->group == NULL) expect_cases(c->name, c->argp);
    }
}

Test(outputs, no_output_option_replaces_the_file_of_another)
{
    static const char *const folders[] = {"plans", "machines", "machines/models"};

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        cr_assert_eq(mkdir(scratch_path(folders[i]), 0777), 0);
    emplace_ok(PLACE "--record run.h5 --out gpu.json");
    for (size_t i = 0; i < OUTPUT_CASES; i++) {
        const struct output_case *c = &output_cases[i];
        emplace_write(c->file, "mine");
        expect_refusal(scratch_print("%s %s", c->command, c->arguments),
                       strcmp(c->option, "export") == 0 ? "" : c->file);
        emplace_expect_file(c->file, "mine");
        remove(scratch_path(c->file));
    }
}

static void link_hard(const char *name, const char *other)
{
    cr_assert_eq(link(scratch_path(name), scratch_path(other)), 0);
}

#define PLACE_TRACED                                                        \
    "simulate tf:batch=2,path=small.pbtxt --machine k40x2 --placement gpu " \
    "--trace small.pbtxt"

Test(outputs, that_lead_to_an_input_are_refused)
{
    static const char *const commands[] = {
        PLACE "--force --out link",
        PLACE "--force --out hard",
        PLACE "--force --out here/small.pbtxt",
        "place tf:path=small.pbtxt,batch=2 --machine k40x2 --force --out link",
        PLACE_TRACED,
        "bound small.pbtxt -m k40x2 --costs small.pbtxt --certificate small.pbtxt",
        "bound small.pbtxt -m k40x2 -p small.pbtxt --certificate link",
        "train --tasks tasks.txt -M go --imitate p.json,small.pbtxt --weights-out hard",
        "bench adversary gpu heft --machines k40x1,small.pbtxt --out link",
        "bench adversary gpu ./small.pbtxt --out small.pbtxt"};
    emplace_write("before", scratch_text("small.pbtxt"));
    cr_assert_eq(symlink("small.pbtxt", scratch_path("link")), 0);
    link_hard("small.pbtxt", "hard");
    cr_assert_eq(symlink(".", scratch_path("here")), 0);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        emplace_refuses(commands[i], "small.pbtxt is an input");
    emplace_refuses(PLACE "--record run.h5 --out run.h5.lock", "run.h5.lock");
    cr_expect(emplace_same_files("small.pbtxt", "before"));
}

static void expect_kept(const char *arguments, const char *name, const char *beside)
{
    emplace_write("before", scratch_text(name));
    cr_expect_eq(emplace_run(arguments), 1, "%s", arguments);
    cr_expect(program_is_one_sentence(program_err, "emplace: "), "%s", program_err);
    emplace_expect_parts(program_err, beside);
    cr_expect(emplace_same_files(name, "before"));
    cr_expect(emplace_has_file(beside), "nothing is lost");
}

/* The command line does not name them: another file does. */
Test(outputs, that_lead_to_a_file_that_was_read_are_put_beside_it)
{
    static const char base[] = "description: \"a\"\nbase: \"torch-eager\"\n";
    static const char own[] = "description: \"b\"\nbase: \"./base.yaml\"\n";
    static const char tasks[] = "a small.pbtxt k40x2\n";
    static const char program[] =
        "read hello\nread ask\necho '{\"placements\": [[0, 0, 0, 0]]}'\ncat\n";

    emplace_write("base.yaml", base);
    emplace_write("own.yaml", own);
    emplace_write("tasks.txt", tasks);
    expect_kept(
        "simulate small.pbtxt -m k40x2 -p gpu -r ./own.yaml --trace base.yaml --force",
        "base.yaml", "base.kept.yaml");
    emplace_ok(PLACE "--out p.json --record r.h5");
    expect_kept("replay p.json --export small.pbtxt --force", "small.pbtxt",
                "small.kept.pbtxt");
    expect_kept("report r.h5 --out small.pbtxt --force", "small.pbtxt",
                "small.kept2.pbtxt");
    emplace_write("mine.sh", program);
    expect_kept("place small.pbtxt -m k40x2 -M 'cmd:sh mine.sh' -b 1 --no-bound --record "
                "mine.sh --force",
                "mine.sh", "mine.kept.sh");
}

Test(outputs, that_take_what_is_printed_are_refused)
{
    cr_expect_eq(
        system(scratch_print("cd '%s' && ! \"$EMP_BINARY_DIR/cli/emplace\" " PLACE
                             "--out printed >> printed 2> complaint",
                             scratch_path(""))),
        0);
    emplace_expect_file("complaint", "printed");
}

Test(outputs, that_have_the_name_of_a_temporary_file_are_refused)
{
    emplace_refuses(PLACE "--record r.h5 --out r.h5.tmp0",
                    "has the name of a temporary file");
    emplace_ok(PLACE "--out p.json");
    cr_assert_eq(rename(scratch_path("p.json"), scratch_path("r.h5.tmp3")), 0);
    emplace_refuses(
        "place small.pbtxt -m k40x2 -M anneal -b 20 --record r.h5 --start r.h5.tmp3",
        "rename it first");
    cr_expect_eq(access(scratch_path("r.h5.tmp3"), F_OK), 0);
}

#define COMPARE "bench placers --rows a --methods gpu --budgets 1 --draws 0 --force "

Test(outputs, that_lead_to_what_tasks_come_from_are_refused)
{
    static const char *const options[] = {"curves", "rankings", "times",
                                          "page",   "rescored", "plot"};
    static const char *const cases[][2] = {
        {COMPARE "--tasks tasks.txt --times small.pbtxt", "small.pbtxt is an input"},
        {COMPARE "--tasks tasks.txt --times box.yaml", "box.yaml is an input"},
        {COMPARE "--tasks tasks.txt --runtime bad.yaml --times bad.yaml",
         "bad.yaml is an input"},
        {"train --tasks fresh,tasks.txt -M go --weights-out tasks.txt --force",
         "tasks.txt is an input"},
        {"train --tasks tasks.txt -M go --weights-out small.pbtxt --force",
         "small.pbtxt is an input"}};
    char arguments[256], *machine = scratch_text("bad.yaml");

    emplace_write("before", machine);
    emplace_write("tasks.txt", "a small.pbtxt box.yaml\n");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        snprintf(arguments, sizeof arguments,
                 COMPARE "--tasks fresh,tasks.txt --%s tasks.txt", options[i]);
        emplace_refuses(arguments, "tasks.txt is an input");
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        emplace_refuses(cases[i][0], cases[i][1]);
    emplace_expect_file("tasks.txt", "a small.pbtxt box.yaml\n");
    cr_expect(emplace_same_files("bad.yaml", "before"));
}

/* The records that a comparison makes do not have a name before it. */
Test(outputs, among_run_records_are_refused)
{
    emplace_write("tasks.txt", "a small.pbtxt k40x2\n");
    cr_assert_eq(mkdir(scratch_path("runs"), 0700), 0);
    emplace_refuses(COMPARE "--tasks tasks.txt --times runs/new.h5", "runs/new.h5");
    emplace_write("runs/old.h5", "old");
    cr_assert_eq(symlink("runs/old.h5", scratch_path("times.csv")), 0);
    emplace_refuses(COMPARE "--tasks tasks.txt --times times.csv", "times.csv|runs");
    emplace_expect_file("runs/old.h5", "old");
    emplace_ok(COMPARE "--tasks tasks.txt --times other.csv");
}

Test(outputs, that_lead_to_each_other_are_refused)
{
    emplace_write("a", "");
    cr_assert_eq(symlink("a", scratch_path("b")), 0);
    link_hard("a", "c");
    emplace_refuses(PLACE "--out a --record b", "two outputs");
    emplace_refuses(PLACE "--out a --record c", "two outputs");
}

Test(outputs, that_cannot_be_written_are_told_before_the_work)
{
    char name[300];

    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    emplace_refuses(PLACE "--out ''", "an output needs the name of a file");
    emplace_refuses(PLACE "--record ''", "an output needs the name of a file");
    emplace_refuses(scratch_print(PLACE "--out %s", name), "File name too long");
    name[255] = '\0'; /* as long as may be: no room for the name of the temporary file */
    emplace_refuses(scratch_print(PLACE "--out p.json --record %s", name), "nnn");
    cr_expect_not(emplace_has_file("p.json"));
    emplace_refuses(PLACE "--out .", "directory");
    cr_expect_str_empty(program_out);
}

/* No file can be made there, not even by root. The record is what is looked at before a run. */
Test(outputs, of_studies_are_told_before_the_runs)
{
    emplace_write("tasks.txt", "a small.pbtxt k40x2\n");
    emplace_refuses(COMPARE "--tasks tasks.txt --runs /proc", ".h5");
    emplace_refuses("table 1 --rows rnnlm --methods gpu --runs /proc", ".h5");
}

/* The pipe has no writer: to read it would be to wait for ever. */
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

    cr_assert_eq(mkfifo(scratch_path("pipe.json"), 0600), 0);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        for (int k = 0; k < 2; k++) {
            const char *percent = strstr(commands[i], "%s");
            emplace_refuses(scratch_print("%.*s%s%s", (int)(percent - commands[i]),
                                          commands[i], files[k], percent + 2),
                            "");
        }
    }
}

Test(outputs, of_two_programs_on_one_record_the_second_is_told, .timeout = 120)
{
    const struct timespec a_moment = {0, 10 * 1000 * 1000};
    int                   status;
    const pid_t first = program_start("mkdir first && cd first &&", "cli/emplace",
                                      "train rnnlm:layers=1,steps=2 -m k40x2 -M local "
                                      "-s 1000 -t 1 --record ../run.h5");

    while (!emplace_has_file("run.checkpoint.h5")) nanosleep(&a_moment, NULL);
    emplace_refuses("train rnnlm:layers=1,steps=2 -m k40x2 -M local -s 1000 -t 1 "
                    "--record run.h5",
                    "run.h5 is being written by another program (process ");
    kill(first, SIGKILL);
    cr_assert_eq(waitpid(first, &status, 0), first);
    cr_expect_eq(emplace_run("train rnnlm:layers=1,steps=2 -m k40x2 -M local -b 20 "
                             "--record other.h5"),
                 0, "%s", program_err);
    cr_expect_not(emplace_has_file("other.h5.lock"));
}
