// SPDX-License-Identifier: GPL-3.0-or-later
/* Training that is killed, interrupted or out of disk goes on to the record that it would
 * have left undisturbed, byte for byte. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "sim/store/store.h"
#include "tests/support/scratch.h"

enum { PATH = SCRATCH_PATH_BYTES, KILLS = 6, EXIT_INTERRUPTED = 130 };

#define TRAIN                                                                \
    "train rnnlm:layers=1,steps=2 --machine k40x2 --budget 2000 --seed 5 "   \
    "--options groups=8,hidden=8,grouper_hidden=4,type_width=2 --threads 1 " \
    "--checkpoint-every 0.02 "

static char   folder[PATH], program[PATH];
static char  *undisturbed; /* the record of a run that nobody disturbs */
static size_t undisturbed_size;
static double undisturbed_s;

/* Starts "emplace ARGUMENTS" in the folder; \a limits are commands of the shell. */
static pid_t start(const char *limits, const char *arguments)
{
    char  command[4 * PATH];
    pid_t child;

    snprintf(command, sizeof command, "cd '%s' && %s exec '%s' %s >stdout 2>stderr",
             folder, limits, program, arguments);
    child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return child;
}

static int wait_for(pid_t child)
{
    int status = 0;

    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

/* Its exit status. */
static int run(const char *limits, const char *arguments)
{
    int status = wait_for(start(limits, arguments));

    cr_assert(WIFEXITED(status), "%s", arguments);
    return WEXITSTATUS(status);
}

static void set_up(void)
{
    emp_store_silence();
    scratch_create();
    snprintf(folder, sizeof folder, "%s", scratch_path(""));
    snprintf(program, sizeof program, "%s/cli/emplace", getenv("EMP_BINARY_DIR"));
    undisturbed_s = -emp_clock_now_s();
    cr_assert_eq(run("", TRAIN "--record run.h5"), 0);
    undisturbed_s += emp_clock_now_s();
    undisturbed = scratch_read("run.h5", &undisturbed_size);
    cr_assert_eq(remove(scratch_path("run.h5")), 0);
}

static void tear_down(void)
{
    free(undisturbed);
    scratch_remove();
}

TestSuite(train, .init = set_up, .fini = tear_down, .timeout = 100);

static bool exists(const char *name) { return access(scratch_path(name), F_OK) == 0; }

static void sleep_s(double seconds)
{
    struct timespec time = {(time_t)seconds, 0};

    time.tv_nsec = (long)((seconds - floor(seconds)) * 1e9);
    nanosleep(&time, NULL);
}

static void expect_sentence(const char *part, const char *other_part)
{
    char *err = scratch_read("stderr", NULL);
    char *end = strchr(err, '\n');

    cr_expect(strncmp(err, "emplace: ", 9) == 0 && end != NULL && end[1] == '\0', "%s",
              err);
    cr_expect_not_null(strstr(err, part), "%s", err);
    cr_expect_not_null(strstr(err, other_part), "%s", err);
    free(err);
}

static int64_t evaluations_in(const char *name)
{
    emp_record record;
    emp_error  err = {0};

    cr_assert_eq(emp_record_load(&record, scratch_path(name), &err), EMP_OK, "%s",
                 err.msg);
    int64_t evaluations = record.evaluations;
    emp_record_clear(&record);
    return evaluations;
}

static void expect_undisturbed_record(void)
{
    size_t size;
    char  *bytes = scratch_read("run.h5", &size);

    cr_assert_eq(size, undisturbed_size);
    cr_expect_arr_eq(bytes, undisturbed, size);
    free(bytes);
    cr_expect_not(exists("run.checkpoint.h5"), "it has served");
    cr_expect_not(exists("run.checkpoint.h5.tmp0"));
    cr_expect_not(exists("run.h5.tmp0"));
}

Test(train, killed_at_any_moment_it_leaves_the_same_record)
{
    emp_rng rng;
    int64_t evaluations = 0;
    int     gained = 0;

    emp_rng_init(&rng, 1, 0, 0);
    for (int i = 0; i < KILLS; i++) {
        pid_t child =
            start("", exists("run.checkpoint.h5") ? TRAIN "--record run.h5 --resume"
                                                  : TRAIN "--record run.h5");
        sleep_s(emp_rng_uniform(&rng) * undisturbed_s / 2);
        kill(child, SIGKILL);
        if (!WIFSIGNALED(wait_for(child))) break; /* it was at its end */
        if (!exists("run.checkpoint.h5")) {       /* not yet, or no longer */
            evaluations = 0;
            continue;
        }
        int64_t now = evaluations_in("run.checkpoint.h5");
        cr_expect_geq(now, evaluations, "kill %d lost evaluations", i);
        gained += now > evaluations;
        evaluations = now;
    }
    cr_expect_geq(gained, 1, "no kill came while it ran");
    if (exists("run.checkpoint.h5"))
        cr_assert_eq(run("", TRAIN "--record run.h5 --resume"), 0);
    expect_undisturbed_record();
}

/* Asks a run to end once it has a checkpoint, and lets it go on. */
static void interrupt(int signal)
{
    pid_t child = start("", TRAIN "--record run.h5");

    while (!exists("run.checkpoint.h5")) sleep_s(1e-3);
    sleep_s(undisturbed_s / 8);
    kill(child, signal);
    int status = wait_for(child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_INTERRUPTED);
    expect_sentence("--resume", "run.checkpoint.h5");

    int64_t evaluations = evaluations_in("run.checkpoint.h5");
    cr_expect_gt(evaluations, 0);
    cr_expect_eq(evaluations_in("run.h5"), evaluations, "all of them are saved");
    cr_assert_eq(run("", TRAIN "--record run.h5 --resume"), 0);
    expect_undisturbed_record();
}

Test(train, ctrl_c_saves_and_resume_goes_on) { interrupt(SIGINT); }
Test(train, sigterm_saves_and_resume_goes_on) { interrupt(SIGTERM); }

/* Leaves a checkpoint of a run under way. */
static void leave_checkpoint(void)
{
    pid_t child = start("", TRAIN "--record run.h5");

    while (!exists("run.checkpoint.h5")) sleep_s(1e-3);
    kill(child, SIGTERM);
    wait_for(child);
    remove(scratch_path("run.h5"));
}

Test(train, refusals_are_one_sentence_and_lose_nothing)
{
    static const struct {
        const char *limits, *arguments, *says;
    } cases[] = {
        {"", "--record run.h5", "--resume"},
        {"", "--record run.h5 --resume --seed 6", "seed 5 there, 6 here"},
        {"", "--record run.h5 --resume --options lr=0.2", "lr=0.2"},
        {"", "--record run.h5 --resume --budget 2001", "budget_evaluations 2000 there"},
        {"", "--record run.h5 --resume --runtime ideal", "runtime"},
        {"trap '' XFSZ; ulimit -f 4;", "--record run.h5 --resume", "cannot be written"},
    };

    leave_checkpoint();
    scratch_write("run.h5.tmp0", "half", 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char   arguments[2 * PATH];
        size_t size, again;
        char  *before = scratch_read("run.checkpoint.h5", &size);
        snprintf(arguments, sizeof arguments, TRAIN "%s", cases[i].arguments);
        cr_expect_eq(run(cases[i].limits, arguments), 1, "%s", arguments);
        expect_sentence("run.checkpoint.h5", cases[i].says);
        char *after = scratch_read("run.checkpoint.h5", &again);
        cr_assert_eq(size, again, "%s", arguments);
        cr_expect_arr_eq(before, after, size, "%s", arguments);
        cr_expect_not(exists("run.h5"), "%s", arguments);
        free(before);
        free(after);
    }
    cr_assert_eq(run("", TRAIN "--record run.h5 --resume --threads 2"), 0);
    expect_undisturbed_record();
}
