// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the tables of `emplace-speed` whole and their answers right, and do the updates that it times come out the same
 * on any number of threads? */
#include "bench/speed/speed.h"
#include "tests/test.h"

enum { ROUNDS = 5, FAST = 0, SLOW = 1, WRONG = 2 };

/* A round takes 1, 2, ... s in the fast way; 3 times as long in the slow way; the third way has another
 * answer. */
static emp_status take(emp_speed_sample *sample, void *context, int32_t number,
                       int32_t round, emp_error *err)
{
    char *calls = (char *)context;

    (void)err;
    strcat(calls, (const char *[]){"f", "s", "w"}[number]);
    sample->seconds = (round + 1) * (number == SLOW ? 3 : 1);
    if (number != SLOW) sample->answer = number == WRONG ? 101 : 100;
    return EMP_OK;
}

Test(harness, compares_within_rounds)
{
    const emp_speed_way ways[] = {
        {"fast", FAST, 0}, {"slow", SLOW, 0}, {"wrong", WRONG, 1e-3}};
    char                 calls[64] = "";
    const emp_speed_task task = {"t", "v", 7, ways, 3, ROUNDS, take, calls};
    emp_speed_table      table;

    emp_speed_table_init(&table, "ms", 1e3);
    ASSERT_OK(emp_speed_measure(&table, &task, NULL));
    cr_expect_str_eq(calls, "fswfswfswfswfsw");
    cr_assert_eq(table.sheet.line_count, 3);
    const emp_value *fast = emp_sheet_at(&table.sheet, 0, 0);
    const emp_value *slow = emp_sheet_at(&table.sheet, 1, 0);
    const emp_value *wrong = emp_sheet_at(&table.sheet, 2, 0);
    cr_expect_eq(fast[EMP_SPEED_SECONDS].real, 3);
    cr_expect_eq(slow[EMP_SPEED_TIME].real, 9000);
    cr_expect_eq(slow[EMP_SPEED_RATIO].real, 3);
    cr_expect_eq(slow[EMP_SPEED_RATIO].high, 3);
    cr_expect_eq(slow[EMP_SPEED_ROUNDS].count, ROUNDS);
    cr_expect(isnan(slow[EMP_SPEED_DIFFERENCE].real), "it has no answer");
    cr_expect_float_eq(wrong[EMP_SPEED_DIFFERENCE].real, 0.01, 1e-12);
    cr_assert_eq(table.sheet.note_count, 1);
    cr_expect_not_null(strstr(table.sheet.note[0], "wrong differs"), "%s",
                       table.sheet.note[0]);
    emp_sheet_clear(&table.sheet);
}

static emp_speed_params small(void)
{
    return (emp_speed_params){.machine = "k40x4",
                              .runtime = "ideal",
                              .sizes = {{20, 31}, 2},
                              .patterns = "groups,random",
                              .profiles = "ideal,tf-r1.3,ideal-levels,tf-r1.3-levels,"
                                          "ideal-models,tf-r1.3-models",
                              .peers = "textbook",
                              .methods = "anneal,local",
                              .moves = 24,
                              .networks = "placer,grouper",
                              .hidden = {{12}, 1},
                              .samples = {{1, 3}, 2},
                              .groups = 8,
                              .ops = 300,
                              .nodes = 40,
                              .sets = 30,
                              .steps = 6,
                              .threads = 2,
                              .repeats = 2,
                              .seed = 1};
}

/* All ways whose step times are comparable agree with the oracle. */
static int32_t count_compared(const emp_speed_table *table)
{
    int32_t compared = 0;

    for (int32_t i = 0; i < table->sheet.line_count; i++) {
        const emp_value *line = emp_sheet_at(&table->sheet, i, 0);
        cr_expect_gt(line[EMP_SPEED_SECONDS].real, 0);
        cr_expect_eq(line[EMP_SPEED_ROUNDS].count, 2);
        if (isnan(line[EMP_SPEED_DIFFERENCE].real)) continue;
        cr_expect_eq(line[EMP_SPEED_DIFFERENCE].real, 0, "%s, %s",
                     line[EMP_SPEED_TASK].word, line[EMP_SPEED_WAY].word);
        compared++;
    }
    return compared;
}

/* Ops of the workloads have equal times, so that many events are simultaneous. */
Test(oracle, equals_the_textbook_simulator)
{
    static const char *const sources[] = {"rnnlm:steps=3", "inception_v3"};
    emp_speed_params         params = small();
    emp_speed_table          table;

    params.source = sources;
    params.source_count = 2;
    params.patterns = NULL;
    params.has_bottom_levels = true;
    params.sizes = (emp_speed_list){{20, 2001}, 2};
    ASSERT_OK(emp_speed_oracle(&table, &params, &err));
    cr_expect_eq(table.sheet.line_count, 4 * 4 * 7);
    cr_expect_eq(count_compared(&table), 4 * 4 * 2, "ideal-models and textbook");
    const emp_value *last = emp_sheet_at(&table.sheet, table.sheet.line_count - 1, 0);
    cr_expect_str_eq(last[EMP_SPEED_TASK].word, "inception_v3");
    cr_expect_str_eq(last[EMP_SPEED_VARIANT].word, "random");
    cr_expect_str_eq(last[EMP_SPEED_WAY].word, "textbook");
    emp_sheet_clear(&table.sheet);
}

Test(oracle, and_policy_refuse_words_that_they_do_not_know)
{
    static const struct {
        size_t      at;
        bool        is_policy;
        const char *word, *part;
    } cases[] = {{offsetof(emp_speed_params, patterns), false, "x", "pattern \"x\""},
                 {offsetof(emp_speed_params, profiles), false, "x", "profile \"x\""},
                 {offsetof(emp_speed_params, peers), false, "x", "peer \"x\""},
                 {offsetof(emp_speed_params, networks), true, "x", "network \"x\""},
                 {offsetof(emp_speed_params, peers), true, "textbook", "\"textbook\""}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_speed_params params = small();
        emp_speed_table  table;
        if (cases[i].is_policy) params.peers = "none";
        *(const char **)(void *)((char *)&params + cases[i].at) = cases[i].word;
        EXPECT_REFUSED(cases[i].is_policy ? emp_speed_policy(&table, &params, &err)
                                          : emp_speed_oracle(&table, &params, &err),
                       EMP_EINVAL, cases[i].part);
        emp_sheet_clear(&table.sheet);
    }
}

/* Every seventh, because each try loads a machine file. The textbook simulator ends a program that is out of
 * memory. */
Test(oracle, survives_allocation_failures)
{
    emp_speed_params params = small();
    emp_speed_table  table;
    long             allowed = 0;

    params.peers = "none";
    params.repeats = 1;
    params.has_bottom_levels = true;
    params.sizes.count = 1;
    params.patterns = "groups";
    params.profiles = "ideal,ideal-levels,ideal-models";
    for (emp_status st = EMP_ENOMEM; st != EMP_OK; allowed += 7) {
        emp_mem_fail_after(allowed);
        st = emp_speed_oracle(&table, &params, NULL);
        emp_mem_fail_after(-1);
        emp_sheet_clear(&table.sheet);
        cr_assert_eq(emp_mem_live_blocks(), 0, "leak after %ld allocations", allowed);
    }
    cr_expect_gt(allowed, 100);
}

Test(search, times_moves_beside_the_oracle)
{
    emp_speed_params params = small();
    emp_speed_table  table;

    ASSERT_OK(emp_speed_search(&table, &params, &err));
    cr_expect_eq(table.sheet.line_count, 2 * 2 * 2, "a move and the oracle, each time");
    for (int32_t i = 0; i < table.sheet.line_count; i++) {
        const emp_value *line = emp_sheet_at(&table.sheet, i, 0);
        cr_expect_eq(line[EMP_SPEED_SIZE].count, i < 4 ? 20 : 31);
        cr_expect_str_eq(line[EMP_SPEED_VARIANT].word, i % 4 < 2 ? "anneal" : "local");
        cr_expect_gt(line[EMP_SPEED_SECONDS].real, 0);
    }
    emp_sheet_clear(&table.sheet);
    params.rows = "rnnlm";
    params.methods = "anneal";
    params.repeats = 1;
    ASSERT_OK(emp_speed_search(&table, &params, &err));
    cr_expect_str_eq(emp_sheet_at(&table.sheet, 0, EMP_SPEED_TASK)->word, "rnnlm");
    emp_sheet_clear(&table.sheet);
    params.methods = "gpu"; /* it proposes once: there is nothing to time */
    EXPECT_REFUSED(emp_speed_search(&table, &params, &err), EMP_EINVAL, "gpu");
    emp_sheet_clear(&table.sheet);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static bool run_program(const char *arguments, char *text, size_t size)
{
    FILE *output = popen(scratch_print("'%s/bench/emplace-speed' %s 2>&1",
                                       getenv("EMP_BINARY_DIR"), arguments),
                         "r");
    cr_assert_not_null(output);
    text[fread(text, 1, size - 1, output)] = '\0';
    return pclose(output) == 0;
}

static void expect_printed(const char *arguments, bool does_succeed, const char *part)
{
    char text[8192];

    cr_expect_eq(run_program(arguments, text, sizeof text), does_succeed, "%s", text);
    cr_expect_not_null(strstr(text, part), "%s: %s", arguments, text);
}

Test(program, prints_a_table_and_refuses_options_that_make_no_sense)
{
    static const char table[] =
        "oracle --sizes 50,1k --patterns=groups --repeats 2 --peers "
        "textbook --format csv";
    static const char *const wrong[][2] = {
        {"oracle --sizes 5x", "--sizes"},
        {"oracle --sizes 1", "\"1\""},
        {"oracle --levels up", "\"up\""},
        {"oracle --batches 3", "--batches"},
        {"oracle --repeats", "--repeats"},
        {"oracle a b c d e f g h i j k l m", "too many"},
        {"oracle nonsense", "\"nonsense\""},
        {"search --sizes 1,2,3,4,5,6,7,8,9,10,11,12,13", "--sizes"},
        {"search --methods nonsense", "nonsense"},
        {"search --rows nmt3", "\"nmt3\""},
        {"policy --threads 1k", "--threads"},
        {"policy extra", "\"extra\""},
        {"policy --format latex", "latex"},
        {"nonsense", "emplace-speed oracle"}};

    expect_printed(table, true, "\nsynthetic,50,groups,textbook,2,");
    expect_printed(table, true, "\nsynthetic,1000,groups,tf-r1.3,2,");
    expect_printed("--help", true, "--batches (policy)");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_printed(wrong[i][0], false, wrong[i][1]);
}

/* Python's peer knows no collectives, the textbook simulator does. */
Test(oracle, leaves_collectives_to_those_that_know_them)
{
    static const char step[] = "HloModule step, num_partitions=2\n"
                               "sum { a = f32[] parameter(0) b = f32[] parameter(1)\n"
                               "ROOT c = f32[] add(a, b) }\n"
                               "ENTRY main { x = f32[64]{0} parameter(0)\n"
                               "ROOT r = f32[64]{0} all-reduce(x), to_apply=sum }\n";
    emp_speed_params  params = small();
    emp_speed_table   table;

    scratch_create();
    scratch_write("step.hlo.txt", step, sizeof step - 1);
    const char *path = scratch_path("step.hlo.txt");
    params.sizes.count = 0;
    params.source = &path;
    params.source_count = 1;
    params.patterns = "random";
    params.profiles = "ideal";
    params.peers = "textbook,python";
    ASSERT_OK(emp_speed_oracle(&table, &params, &err));
    cr_expect_eq(table.sheet.line_count, 2, "the oracle and the textbook");
    cr_expect_eq(count_compared(&table), 1);
    emp_sheet_clear(&table.sheet);
    scratch_remove();
}
