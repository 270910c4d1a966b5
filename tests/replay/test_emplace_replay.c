// SPDX-License-Identifier: GPL-3.0-or-later
/* Both programs as a user meets them: emplace replay, and emplace-replay with the plan that
 * it exports. */
#define _POSIX_C_SOURCE 200809L
#include <jansson.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/result.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

#define SPEC   "rnnlm:layers=1,units=16,batch=4,steps=2,vocab=64,sampled=16"
#define OTHER  "rnnlm:layers=1,units=16,batch=4,steps=3,vocab=64,sampled=16"
#define SMALL  "--workload " SPEC " --machine cpu2 "
#define RUNNER "RUNNER "

static char *out, *err; /* of the last run */

static void tear_down(void)
{
    program_forget();
    scratch_remove();
}

static int run(const char *arguments)
{
    bool is_runner = strncmp(arguments, RUNNER, strlen(RUNNER)) == 0;
    int  status = program_run(is_runner ? "replay/emplace-replay" : "cli/emplace",
                             arguments + (is_runner ? strlen(RUNNER) : 0));

    out = program_out;
    err = program_err;
    return status;
}

static void set_up(void)
{
    scratch_create();
    cr_assert_eq(run("place " SPEC " --machine cpu2 --runtime replay-cpu --method gpu "
                     "--out gpu.json"),
                 0, "%s", err);
    cr_assert_eq(run("place " SPEC " --machine cpu2 --method random --budget 10 "
                     "--record run.h5"),
                 0, "%s", err);
    cr_assert_eq(run("place " OTHER " --machine cpu2 --method cpu --out other.json"), 0,
                 "%s", err);
}

TestSuite(emplace_replay, .init = set_up, .fini = tear_down);

Test(emplace_replay, files_say_what_they_are_of_and_top_chooses)
{
    json_error_t where;

    cr_assert_eq(run("replay gpu.json run.h5 --memory 1024 --steps 3 --format json"), 0,
                 "%s", err);
    json_t *root = json_loads(out, 0, &where);
    cr_assert_not_null(root, "%s", where.text);
    json_t *list = json_object_get(root, "placements");
    cr_assert_eq(json_array_size(list), 2);
    double faster =
        json_real_value(json_object_get(json_array_get(list, 0), "predicted_s"));
    double slower =
        json_real_value(json_object_get(json_array_get(list, 1), "predicted_s"));
    cr_expect_leq(faster, slower);
    json_t *first = json_array_get(list, 0);
    cr_expect_eq(json_array_size(json_object_get(first, "steps_s")), 3);
    cr_expect_gt(json_real_value(json_object_get(first, "median_s")), 0.0);
    cr_expect_eq(json_array_size(json_object_get(first, "devices")), 3);
    cr_expect(json_is_null(json_object_get(first, "oom")));
    json_decref(root);

    cr_assert_eq(run("replay gpu.json run.h5 --memory 1024 --top 1 --format csv"), 0,
                 "%s", err);
    int lines = 0;
    for (const char *c = out; *c != '\0'; c++) lines += *c == '\n';
    cr_expect_eq(lines, 2 + 3, "a line a device:\n%s", out);
}

Test(emplace_replay, a_plan_goes_to_the_runner_and_its_result_comes_back)
{
    SCOPED(emp_replay_result, emp_replay_result_clear) r = {0};
    emp_error    error = {0};
    json_error_t where;

    cr_assert_eq(run("replay random " SMALL "--export plan.txt"), 0, "%s", err);
    cr_assert_eq(run(RUNNER
                     "plan.txt --backend cpu --memory 1024 --check --steps 2 --out "
                     "result.txt --trace step.json"),
                 0, "%s", err);
    cr_expect_not_null(strstr(out, "found what was written"), "%s", out);
    cr_assert_eq(emp_replay_result_load(&r, scratch_path("result.txt"), &error), EMP_OK,
                 "%s", error.msg);
    cr_expect_str_eq(r.origin.workload, SPEC);
    cr_expect_str_eq(r.origin.placement, "random");
    cr_expect_eq(r.step_count, 2);
    cr_expect_gt(r.origin.predicted_s, 0.0);
    cr_expect_gt(r.verified_ops, 1);
    json_t *trace = json_load_file(scratch_path("step.json"), 0, &where);
    cr_expect_not_null(trace, "%s", where.text);
    json_decref(trace);
}

static void expect_kept(const char *arguments, const char *why)
{
    cr_expect_eq(run(arguments), 1, "%s", arguments);
    cr_expect(program_is_one_sentence(err, "emplace-replay: "), "%s: %s", arguments, err);
    cr_expect_not_null(strstr(err, why), "%s: %s", arguments, err);
    cr_expect_str_empty(out, "%s is told before the work", arguments);
}

Test(emplace_replay, the_runner_keeps_the_files_of_others)
{
#define PLAN RUNNER "plan.txt --backend cpu --memory 1024 --steps 1 --warmup 0 "
    cr_assert_eq(run("replay random " SMALL "--export plan.txt"), 0, "%s", err);
    cr_assert_eq(symlink("plan.txt", scratch_path("link")), 0);
    char *before = scratch_read("plan.txt", NULL);
    scratch_write("notes", "mine", 4);

    expect_kept(PLAN "--force --out plan.txt", "plan.txt is an input");
    expect_kept(PLAN "--force --trace link", "plan.txt is an input");
    expect_kept(PLAN "--out notes", "notes is there already");
    expect_kept(PLAN "--trace notes", "give --force to replace it");
    expect_kept(PLAN "--out q --trace ./q", "two outputs are to be written to ./q");
    expect_kept(PLAN "--out ./x.lock", "has the name of a lock");
    expect_kept(PLAN "--out ''", "an output needs the name of a file");
    expect_kept(PLAN "--out nowhere/q", "nowhere/q cannot be written");

    char *after = scratch_read("plan.txt", NULL), *notes = scratch_read("notes", NULL);
    cr_expect_str_eq(after, before);
    cr_expect_str_eq(notes, "mine");
    free(before);
    free(after);
    free(notes);
    cr_assert_eq(run(PLAN "--force --out notes"), 0, "%s", err);
    notes = scratch_read("notes", NULL);
    cr_expect_not_null(strstr(notes, "emplace-replay-result-2"), "%s", notes);
    free(notes);
#undef PLAN
}

struct error_case {
    const char *arguments;
    int         status;
    const char *mentions;
};

/* clang-format off */
static const struct error_case error_cases[] = {
    {"replay",                                               2, "FILE"},
    {"replay gpu.json --steps 0",                            2, "\"0\""},
    {"replay gpu.json --top 0",                              2, "\"0\""},
    {"replay nowhere.json",                                  1, "nowhere.json"},
    {"replay expert",                                        1, "--workload"},
    {"replay gpu.json --backend tpu",                        1, "\"tpu\""},
    {"replay gpu.json --runtime tf9",                        1, "tf9"},
    {"replay gpu.json other.json",                           1, "one by one"},
    {"replay other.json --workload " SPEC,                   1, "other.json"},
    {"replay run.h5 --workload " OTHER,                      1, "run.h5"},
    {"replay gpu.json run.h5 --trace t.json",                1, "--top 1"},
    {"replay gpu.json --out gpu.json",                       1, "gpu.json"},
    {"replay gpu.json --gpus gpu:0=0",                       1, "--gpus is of the backend cuda"},
    {"replay gpu.json --backend cuda --keep-rates",          1, "--keep-rates is of the backend cpu"},
    {"replay gpu.json --export p.txt --steps 3",             2, "--export runs nothing"},
    {"replay gpu.json --export p.txt --memory 1024",         2, "--export runs nothing"},
    {"replay gpu.json --cores gpu:0=1-0",                    1, "a range goes up"},
    {"replay gpu.json --cores gpu:9=0",                      1, "gpu:9"},
    {"replay gpu.json --cores gpu:0=4000",                   1, "core 4000"},
    {"replay gpu --workload rnnlm:units=256,steps=2,batch=2,sampled=16 --machine cpu2 --memory 8", 1, "this computer's memory"},
    {"replay gpu.json --trace nowhere/t.json",               1, "nowhere"},
    {RUNNER "",                                              2, "PLAN"},
    {RUNNER "plan.txt --colour",                             2, "--colour"},
    {RUNNER "plan.txt --steps many",                         2, "many"},
    {RUNNER "plan.txt --backend cpu --gpus gpu:0=0",         1, "--gpus is of the backend cuda"},
    {RUNNER "nowhere.txt --backend cpu",                     1, "nowhere.txt"},
    {RUNNER "gpu.json --backend cpu",                        1, "emplace-replay-plan-1"},
    {RUNNER "gpu.json --backend tpu",                        1, "\"tpu\""},
};
/* clang-format on */

Test(emplace_replay, errors_are_one_sentence)
{
    for (size_t i = 0; i < COUNT(error_cases); i++) {
        const struct error_case *c = &error_cases[i];
        cr_expect_eq(run(c->arguments), c->status, "%s: %s", c->arguments, err);
        cr_expect_not_null(strstr(err, c->mentions), "%s: %s", c->arguments, err);
        cr_expect(program_is_one_sentence(err, "emplace"), "%s: %s", c->arguments, err);
        cr_expect_str_empty(out, "%s: %s", c->arguments, out);
    }
}

/* With a GPU the whole of it, without one a sentence. */
Test(emplace_replay, cuda_runs_or_says_why_not)
{
    int status = run("replay gpu.json --backend cuda --check --steps 1 --format json");

    if (status == 0) {
        cr_expect_not_null(strstr(out, "\"verified_ops\""), "%s", out);
        cr_expect_null(strstr(out, "\"checked\": null"), "%s", out);
        return;
    }
    cr_expect_eq(status, 1);
    cr_expect(program_is_one_sentence(err, "emplace: "), "%s", err);
    cr_expect(strstr(err, "CUDA") != NULL || strstr(err, "\"cuda\"") != NULL, "%s", err);
}

/* A copy of the program finds the runner that lies beside it. */
Test(emplace_replay, how_the_runner_ended_is_told)
{
    static const struct {
        char ending[48], options[32], says[48];
    } cases[] = {{"exit 3", "", "emplace-replay ended with status 3"},
                 {"kill -KILL $$", "", "emplace-replay was killed by signal 9"},
                 {"echo \"emplace-replay: $*\" >&2; exit 1", "--trace gpu.txt --force",
                  "--force"}};
    char command[4 * SCRATCH_PATH_BYTES];

    for (size_t i = 0; i < COUNT(cases); i++) {
        snprintf(command, sizeof command,
                 "cd '%s' && cp '%s/cli/emplace' copy && printf '#!/bin/sh\\n%s\\n' "
                 ">emplace-replay && chmod 700 emplace-replay && "
                 "./copy replay gpu.json --backend cuda %s 2>complaint",
                 scratch_path(""), getenv("EMP_BINARY_DIR"), cases[i].ending,
                 cases[i].options);
        int status = system(command);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 1, "status %d", status);
        OWN_FREE char *complaint = scratch_read("complaint", NULL);
        cr_expect_not_null(strstr(complaint, cases[i].says), "%s", complaint);
    }
}

Test(emplace_replay, interrupted_it_leaves_nothing)
{
    cr_expect_eq(program_interrupt("cli/emplace",
                                   "replay gpu.json --memory 1024 --steps 100000 "
                                   "--out result.txt --trace step.json"),
                 130);
    cr_expect_null(scratch_find("result*"));
    cr_expect_null(scratch_find("step*"));
}

/* Files may differ in what an option replaces. */
Test(emplace_replay, files_of_one_machine_with_two_names_go_together)
{
    char *text = scratch_read("gpu.json", NULL);
    char *name = strstr(text, "cpu2");

    cr_assert_not_null(name, "%s", text);
    memcpy(name, "cpu9", 4);
    scratch_write("renamed.json", text, strlen(text));
    free(text);
    cr_expect_eq(run("replay gpu.json renamed.json --memory 1024 --steps 1"), 1);
    cr_expect_not_null(strstr(err, "one by one"), "%s", err);
    cr_expect_eq(
        run("replay gpu.json renamed.json --machine cpu2 --memory 1024 --steps 1"), 0,
        "%s", err);
}

/* The runner executes the first placement, and is interrupted in the second. */
Test(emplace_replay, interrupted_it_prints_the_placements_that_are_done)
{
    char command[4 * SCRATCH_PATH_BYTES];

    cr_assert_eq(run("replay gpu.json --export plan.txt"), 0, "%s", err);
    cr_assert_eq(
        run(RUNNER "plan.txt --backend cpu --memory 1024 --steps 2 --out done.txt"), 0,
        "%s", err);
    scratch_write_text(command, sizeof command, "emplace-replay",
                       "#!/bin/sh\n[ -e second ] && exit 130\ntouch second\n"
                       "cp done.txt \"$5\"\n");
    snprintf(command, sizeof command,
             "cd '%s' && cp '%s/cli/emplace' copy && chmod 700 emplace-replay && "
             "./copy replay gpu.json run.h5 --backend cuda --format json >printed 2>told",
             scratch_path(""), getenv("EMP_BINARY_DIR"));
    int status = system(command);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 130, "status %d", status);
    json_t *root = json_load_file(scratch_path("printed"), 0, NULL);
    cr_assert_not_null(root);
    cr_expect(json_is_true(json_object_get(root, "interrupted")));
    cr_expect_eq(json_array_size(json_object_get(root, "placements")), 1);
    json_decref(root);
}
