// SPDX-License-Identifier: GPL-3.0-or-later
/* Training that is killed, interrupted or out of disk goes on to the record that it would
 * have left undisturbed, byte for byte. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io/event_file.h"
#include "base/rng.h"
#include "base/work.h"
#include "run/store/store.h"
#include "tests/support/program.h"
#include "tests/test.h"

enum { PATH = SCRATCH_PATH_BYTES, KILLS = 6, TRIALS = 100, EXIT_INTERRUPTED = 130 };

#define TRAIN                                                                \
    "train rnnlm:layers=1,steps=2 --machine k40x2 --budget 4000 --seed 5 "   \
    "--options groups=8,hidden=8,grouper_hidden=4,type_width=2 --threads 1 " \
    "--checkpoint-every 0.02 "

/* Begins or resumes a run, which place may do as well as train. */
static const char *begin = TRAIN "--record run.h5",
                  *resume = TRAIN "--record run.h5 --resume";

static char  *undisturbed; /* the record of an undisturbed run */
static size_t undisturbed_size;
static double undisturbed_s;

static int wait_for(pid_t child)
{
    int status = 0;

    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

/* Exit status of "emplace ARGUMENTS"; \a limits are commands of the shell before it. */
static int run(const char *limits, const char *arguments)
{
    int status = wait_for(program_start(limits, "cli/emplace", arguments));

    cr_assert(WIFEXITED(status), "%s", arguments);
    return WEXITSTATUS(status);
}

static void set_up(void)
{
    emp_store_silence();
    scratch_create();
    undisturbed_s = -emp_clock_now_s();
    cr_assert_eq(run("", TRAIN "--record run.h5"), 0);
    undisturbed_s += emp_clock_now_s();
    undisturbed = scratch_bytes("run.h5", &undisturbed_size);
    cr_assert_eq(remove(scratch_path("run.h5")), 0);
}

TestSuite(train, .init = set_up, .fini = scratch_remove);

static bool exists(const char *name) { return access(scratch_path(name), F_OK) == 0; }

static void sleep_s(double seconds)
{
    struct timespec time = {(time_t)seconds, 0};

    time.tv_nsec = (long)((seconds - floor(seconds)) * 1e9);
    nanosleep(&time, NULL);
}

static void expect_sentence(const char *part, const char *other_part)
{
    char *err = scratch_text("stderr");
    char *end = strchr(err, '\n');

    cr_expect(strncmp(err, "emplace: ", 9) == 0 && end != NULL && end[1] == '\0', "%s",
              err);
    cr_expect_not_null(strstr(err, part), "%s", err);
    cr_expect_not_null(strstr(err, other_part), "%s", err);
}

static int64_t evaluations_in(const char *name)
{
    SCOPED(emp_record, emp_record_clear) record;

    ASSERT_OK(emp_record_load(&record, scratch_path(name), &err));
    return record.evaluations;
}

static void expect_record(void)
{
    scratch_expect_bytes("run.h5", undisturbed, undisturbed_size, "disturbed");
}

static void expect_undisturbed_record(void)
{
    expect_record();
    cr_expect_not(exists("run.checkpoint.h5"), "it has served");
    cr_expect_not(exists("run.checkpoint.h5.tmp0"));
    cr_expect_not(exists("run.h5.tmp0"));
}

/* Which checkpoint is there: each is a new file. */
struct stamp {
    ino_t           file; /* 0 = none */
    struct timespec written;
};

static struct stamp checkpoint_now(void)
{
    struct stat info;

    if (stat(scratch_path("run.checkpoint.h5"), &info) != 0) return (struct stamp){0};
    return (struct stamp){info.st_ino, info.st_mtim};
}

static bool is_same(struct stamp a, struct stamp b)
{
    return a.file == b.file && a.written.tv_sec == b.written.tv_sec &&
           a.written.tv_nsec == b.written.tv_nsec;
}

/* Runs or resumes, waits for the given number of checkpoints (the first comes before any
 * evaluation) and a while, and sends the signal; the status that it ends with. The signal
 * comes too late where the run is done before. */
static int disturb(int checkpoints, double delay_s, int signal)
{
    struct stamp before = checkpoint_now(), now;
    int          status = 0;
    pid_t child = program_start("", "cli/emplace", before.file != 0 ? resume : begin);

    while (checkpoints > 0) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        cr_assert_geq(ended, 0);
        if (ended == child) return status;
        sleep_s(1e-3);
        now = checkpoint_now();
        checkpoints -= now.file != 0 && !is_same(now, before);
        before = now;
    }
    sleep_s(delay_s);
    kill(child, signal);
    return wait_for(child);
}

/* A run that had reached its end is right, and another one may begin. */
static void begin_anew(void)
{
    expect_record();
    cr_assert_eq(remove(scratch_path("run.h5")), 0);
    remove(scratch_path("run.checkpoint.h5"));
}

Test(train, killed_at_any_moment_it_leaves_the_same_record)
{
    emp_rng rng;
    int64_t evaluations = 0;
    double  delay_s = undisturbed_s / 8; /* so that it is killed again and again */
    int     kills = 0;

    emp_rng_init(&rng, 1, 0, 0);
    for (int trial = 0; kills < KILLS; trial++) {
        cr_assert_lt(trial, TRIALS, "no kill came while it ran");
        int checkpoints = 1 + kills % 2;
        int status = disturb(checkpoints, emp_rng_uniform(&rng) * delay_s, SIGKILL);
        if (exists("run.h5")) {
            begin_anew();
            evaluations = 0;
            delay_s *= 0.7;
            continue;
        }
        cr_assert(WIFSIGNALED(status), "a run that nobody killed");
        int64_t now = evaluations_in("run.checkpoint.h5");
        cr_expect_geq(now, evaluations + (checkpoints > 1),
                      "kill %d lost evaluations: %lld, %lld before", kills,
                      (long long)now, (long long)evaluations);
        evaluations = now;
        kills++;
    }
    cr_assert_eq(run("", TRAIN "--record run.h5 --resume"), 0);
    expect_undisturbed_record();
}

/* Interrupts a run once it has learned something, which its checkpoint holds. */
static void interrupt(int signal)
{
    for (int trial = 0;; trial++) {
        cr_assert_lt(trial, TRIALS, "each run had ended before");
        int status = disturb(2, 0.0, signal);
        cr_assert(WIFEXITED(status));
        if (WEXITSTATUS(status) == EXIT_INTERRUPTED) break;
        cr_assert_eq(WEXITSTATUS(status), 0);
        begin_anew();
    }
    expect_sentence("--resume", "run.checkpoint.h5");
    cr_expect_gt(evaluations_in("run.checkpoint.h5"), 0);
}

Test(train, ctrl_c_and_sigterm_save_and_resume_goes_on)
{
    for (int i = 0; i < 2; i++) {
        interrupt(i == 0 ? SIGINT : SIGTERM);
        cr_expect_eq(evaluations_in("run.h5"), evaluations_in("run.checkpoint.h5"),
                     "all of them are saved");
        cr_assert_eq(run("", TRAIN "--record run.h5 --resume"), 0);
        expect_undisturbed_record();
        cr_assert_eq(remove(scratch_path("run.h5")), 0);
    }
}

Test(train, a_checkpoint_is_no_record_of_its_run)
{
    interrupt(SIGTERM);
    cr_assert_eq(rename(scratch_path("run.checkpoint.h5"), scratch_path("other.h5")), 0);
    cr_expect_eq(run("", TRAIN "--record other.h5"), 1);
    expect_sentence("other.h5 is not a record of this run",
                    "it is the checkpoint of a run");
    cr_expect_gt(evaluations_in("other.h5"), 0);
}

/* Under ThreadSanitizer no program with OpenMP starts where files may not grow. */
extern void __tsan_init(void) __attribute__((weak));

static bool can_start_under(const char *limits)
{
    return &__tsan_init == NULL || limits[0] == '\0';
}

Test(train, refusals_are_one_sentence_and_lose_nothing)
{
    static const struct {
        const char *limits, *arguments, *says;
    } cases[] = {
        {"", "--record run.h5", "--resume"},
        {"", "--record run.h5 --resume --seed 6", "seed 5 there, 6 here"},
        {"", "--record run.h5 --resume --options lr=0.2", "lr=0.2"},
        {"", "--record run.h5 --resume --budget 4001", "budget_evaluations 4000 there"},
        {"", "--record run.h5 --resume --runtime ideal", "runtime"},
        {"trap '' XFSZ; ulimit -f 4;", "--record run.h5 --resume", "cannot be written"},
    };

    interrupt(SIGTERM);
    remove(scratch_path("run.h5"));
    scratch_write("run.h5.tmp0", "half", 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size;
        if (!can_start_under(cases[i].limits)) continue;
        char       *before = scratch_bytes("run.checkpoint.h5", &size);
        const char *arguments = scratch_print(TRAIN "%s", cases[i].arguments);
        cr_expect_eq(run(cases[i].limits, arguments), 1, "%s", arguments);
        expect_sentence("run.checkpoint.h5", cases[i].says);
        scratch_expect_bytes("run.checkpoint.h5", before, size, arguments);
        cr_expect_not(exists("run.h5"), "%s", arguments);
    }
    cr_expect_eq(run("", TRAIN "--record run.h5 --resume --forbid cpu"), 1);
    cr_expect_not_null(
        strstr(scratch_text("stderr"), "\"\" there, \" --forbid cpu\" here"));
    cr_assert_eq(run("", TRAIN "--record run.h5 --resume --threads 2"), 0);
    expect_undisturbed_record();
}

#define PLACE                                                                           \
    "place" /* in place of "train" */                                                   \
    " rnnlm:layers=1,steps=2 --machine k40x2 --budget 4000 --seed 5 --method hdp "      \
    "--options groups=8,hidden=8,grouper_hidden=4,type_width=2 --threads 1 --no-bound " \
    "--checkpoint-every 0.02 --log run.jsonl --record run.h5"

/* Each line is an update, and none is there twice or missing, wherever the run was interrupted. */
static void expect_log(void)
{
    char   *text = scratch_text("run.jsonl"), *line = text;
    int64_t evaluations = 0, update = 0;

    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        long long now, number, scored;
        cr_assert_eq(sscanf(line,
                            "{\"evaluations\":%lld,\"update\":%lld,\"scored\":%lld,",
                            &now, &number, &scored),
                     3, "%.80s", line);
        cr_assert_eq(number, ++update);
        cr_assert_eq(now, evaluations + scored);
        evaluations = now;
        cr_assert_not_null(strstr(line, "\"metrics\":{\"loss\":"), "%.200s", line);
    }
    cr_expect_eq(evaluations, 4000);
}

Test(train, an_event_file_goes_on_where_the_checkpoint_does)
{
    begin = PLACE " --log events.tfevents.1";
    resume = PLACE " --log events.tfevents.1 --resume";
    interrupt(SIGTERM);
    cr_assert_eq(run("", resume), 0);
    FILE *file = fopen(scratch_path("events.tfevents.1"), "r");
    cr_assert_not_null(file);
    const long end = emp_event_end_of(file, 4000), before = emp_event_end_of(file, 3999);
    cr_assert_eq(fseek(file, 0, SEEK_END), 0);
    cr_expect_eq(ftell(file), end, "nothing is behind the last evaluation");
    cr_expect_lt(before, end);
    fclose(file);
    expect_undisturbed_record();
}

Test(train, place_keeps_checkpoints_and_a_log_when_it_is_asked_to)
{
    begin = PLACE;
    resume = PLACE " --resume";
    interrupt(SIGTERM);
    cr_assert_eq(run("", PLACE), 1, "the log and the checkpoint are in the way");
    cr_assert_eq(run("", PLACE " --resume"), 0);
    expect_undisturbed_record();
    expect_log();
    cr_assert_eq(run("", PLACE), 1);
    expect_sentence("run.jsonl", "--force");
}

/* A log whose first update is later than the checkpoint begins anew. */
Test(train, a_resumed_run_keeps_files_that_are_no_logs)
{
    static const char notes[] = "a\nb\nc\n";
    static const char later[] =
        "{\"evaluations\":5000,\"update\":1,\"scored\":5000}\nx\ny\n";

    begin = PLACE;
    resume = PLACE " --resume";
    interrupt(SIGTERM);
    scratch_write("run.jsonl", notes, sizeof notes - 1);
    cr_expect_eq(run("", PLACE " --resume"), 1);
    expect_sentence("run.jsonl", "--force");
    scratch_expect_bytes("run.jsonl", notes, sizeof notes - 1, "it is no log");
    scratch_write("run.jsonl", later, sizeof later - 1);
    cr_assert_eq(run("", PLACE " --resume"), 0);
    char *line = scratch_text("run.jsonl");
    cr_expect_null(strstr(line, "\"evaluations\":5000"), "%.80s", line);
    for (char *end; *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        cr_assert_not_null(end, "%.80s", line);
        cr_expect(strncmp(line, "{\"evaluations\":", 15) == 0 && end[-1] == '}', "%.80s",
                  line);
    }
}
