// SPDX-License-Identifier: GPL-3.0-or-later
/* From training on tasks to placing what was not seen, through the program. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/cli/emplace.h"
#include "tests/support/scratch.h"

#define LEARNT "giph:v=8,seed=1"
#define NEW    "giph:v=9,seed=5"
#define TASKS                                \
    "one " LEARNT " giph:devices=4,seed=1\n" \
    "two giph:v=10,seed=2 giph:devices=3,seed=2 # other sizes\n"
#define TRAIN "train --tasks tasks.txt -r edges -M giph --format json "
#define PLACE "place " NEW " -m giph:devices=5,seed=9 -r edges -M giph --budget 19 "

static void set_up(void)
{
    emplace_set_up();
    scratch_write("tasks.txt", TASKS, sizeof TASKS - 1);
}

TestSuite(transfer, .init = set_up, .fini = emplace_tear_down);

static const char *method_of(const json_t *row)
{
    return json_string_value(json_object_get(row, "method"));
}

Test(transfer, weights_of_tasks_place_another)
{
    json_t *trained = emplace_json(TRAIN "--budget 400 --weights-out w.h5");
    json_t *rows = json_object_get(trained, "rows");

    cr_assert_eq(json_array_size(rows), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *row = json_array_get(rows, i);
        cr_expect_str_eq(method_of(row), "giph");
        cr_expect_gt(json_integer_value(json_object_get(row, "updates")), 1);
        cr_expect_gt(json_number_value(json_object_get(row, "best_s")), 0.0);
    }
    json_decref(trained);
    cr_expect_eq(emplace_run(PLACE "--weights w.h5 --record with.h5"), 0, "%s",
                 program_err);
    cr_expect_eq(emplace_run(PLACE "--weights w.h5 --record again.h5 --threads 3"), 0);
    cr_expect_eq(emplace_run(PLACE "--record without.h5"), 0, "%s", program_err);
    size_t with_size, again_size, without_size;
    char  *with = scratch_read("with.h5", &with_size);
    char  *again = scratch_read("again.h5", &again_size);
    char  *without = scratch_read("without.h5", &without_size);
    cr_expect(with_size == again_size && memcmp(with, again, with_size) == 0,
              "the same weights give the same run on any number of threads");
    cr_expect(with_size != without_size || memcmp(with, without, with_size) != 0);
    free(with);
    free(again);
    free(without);
}

/* The weights of a run on one graph serve another, too, and training goes on from them. */
Test(transfer, training_goes_on_from_weights)
{
    cr_expect_eq(emplace_run(PLACE "--weights-out one.h5"), 0, "%s", program_err);
    cr_expect_eq(emplace_run("train --tasks tasks.txt -r edges -M giph --budget 100 "
                             "--weights one.h5 --weights-out two.h5"),
                 0, "%s", program_err);
    cr_expect_not_null(
        strstr(program_out, "two.h5 has the weights after 119 evaluations in all"), "%s",
        program_out);
}

static bool has_weights(const json_t *methods, const char *name)
{
    return json_is_true(json_object_get(json_object_get(methods, name), "has_weights"));
}

/* emplace methods says whose weights fit other graphs, and a method without any is told which have. */
Test(transfer, methods_with_weights_are_named)
{
    json_t *methods = emplace_json("methods --format json");

    cr_expect(has_weights(methods, "giph") && has_weights(methods, "hsdag"));
    cr_expect(!has_weights(methods, "hdp") && !has_weights(methods, "anneal"));
    json_decref(methods);
    cr_assert_eq(emplace_run("methods"), 0);
    cr_expect_not_null(strstr(program_out, "have weights that fit other graphs: hsdag, "
                                           "placeto, giph, doppler, go\n"),
                       "%s", program_out);
    cr_assert_eq(emplace_run("methods hsdag"), 0);
    cr_expect_not_null(strstr(program_out, "weights: fit other graphs (train --tasks, "
                                           "--weights), with features=costs\n"),
                       "%s", program_out);
    cr_assert_eq(emplace_run("methods hdp"), 0);
    cr_expect_null(strstr(program_out, "weights: "), "%s", program_out);
    cr_expect_eq(emplace_run("train --tasks tasks.txt -r edges --weights-out w.h5"), 1);
    cr_expect_not_null(strstr(program_err, "--method names one that has: hsdag, placeto, "
                                           "giph, doppler, go"),
                       "%s", program_err);
}

#define IMITATE                                         \
    "train --tasks tasks.txt -r edges -M go --options " \
    "width=8,heads=2,hidden=8,type_width=4 "            \
    "--imitate-rounds 20 --weights-out "

static void propose(const char *task, const char *machine, const char *path)
{
    char arguments[200];

    snprintf(arguments, sizeof arguments, "place %s -m %s -r edges -M heft --out %s",
             task, machine, path);
    cr_assert_eq(emplace_run(arguments), 0, "%s", program_err);
}

/* Of Placeto no array tells the options: a run without them would be silently another. */
Test(transfer, options_come_with_the_weights)
{
    static const char plain[] =
        "place " NEW " -m giph:devices=4,seed=1 -r edges -M placeto -b 40 ";
    static const char own[] = "--preset emplace --options max_nodes=6 ";
    char              arguments[300];

    snprintf(arguments, sizeof arguments, "%s%s--weights-out w.h5", plain, own);
    cr_assert_eq(emplace_run(arguments), 0, "%s", program_err);
    snprintf(arguments, sizeof arguments, "%s%s--weights w.h5 --record given.h5", plain,
             own);
    cr_assert_eq(emplace_run(arguments), 0, "%s", program_err);
    cr_expect_null(strstr(program_err, "trained with"), "%s", program_err);
    snprintf(arguments, sizeof arguments, "%s--weights w.h5 --record taken.h5", plain);
    cr_assert_eq(emplace_run(arguments), 0, "%s", program_err);
    size_t given_size, taken_size;
    char  *given = scratch_read("given.h5", &given_size);
    char  *taken = scratch_read("taken.h5", &taken_size);
    cr_expect(given_size == taken_size && memcmp(given, taken, given_size) == 0);
    free(given);
    free(taken);
    snprintf(arguments, sizeof arguments,
             "%s--preset emplace --options max_nodes=60 --weights w.h5", plain);
    cr_assert_eq(emplace_run(arguments), 0, "%s", program_err);
    cr_expect_not_null(
        strstr(program_err,
               "trained with the preset \"emplace\" and the options \"max_nodes=6\""),
        "%s", program_err);
}

/* What Placeto and HSDAG learn on one machine serves another graph on it. */
Test(transfer, weights_of_graph_networks_place_another)
{
    static const char *const learners[] = {"placeto --options max_nodes=6,cpu=1",
                                           "hsdag --options width=8"};
    char                     arguments[300];

    for (size_t i = 0; i < sizeof learners / sizeof *learners; i++) {
        const char *format =
            "place %s -m giph:devices=4,seed=1 -r edges --preset emplace "
            "--budget 60 -M %s %s";
        snprintf(arguments, sizeof arguments, format, LEARNT, learners[i],
                 "--weights-out w.h5 --force");
        cr_expect_eq(emplace_run(arguments), 0, "%s", program_err);
        snprintf(arguments, sizeof arguments, format, NEW, learners[i],
                 "--weights w.h5 --record with.h5 --force");
        cr_expect_eq(emplace_run(arguments), 0, "%s", program_err);
        snprintf(arguments, sizeof arguments, format, NEW, learners[i],
                 "--record without.h5 --force");
        cr_expect_eq(emplace_run(arguments), 0, "%s", program_err);
        size_t with_size, without_size;
        char  *with = scratch_read("with.h5", &with_size);
        char  *without = scratch_read("without.h5", &without_size);
        cr_expect(with_size != without_size || memcmp(with, without, with_size) != 0);
        free(with);
        free(without);
    }
}

/* A method's placements teach the same from files, or from a record, as from its runs. */
Test(transfer, placements_of_files_are_imitated)
{
    propose(LEARNT, "giph:devices=4,seed=1", "one.json");
    propose("giph:v=10,seed=2", "giph:devices=3,seed=2", "two.json --record two.h5");
    cr_assert_eq(emplace_run(IMITATE "a.h5 --imitate heft"), 0, "%s", program_err);
    cr_assert_eq(emplace_run(IMITATE "b.h5 --imitate one.json,two.h5"), 0, "%s",
                 program_err);
    cr_expect_not_null(strstr(program_out, "20 rounds of imitating one.json,two.h5"),
                       "%s", program_out);
    size_t a_size, b_size;
    char  *a = scratch_read("a.h5", &a_size), *b = scratch_read("b.h5", &b_size);
    cr_expect(a_size == b_size && memcmp(a, b, a_size) == 0);
    free(a);
    free(b);

    cr_expect_eq(emplace_run(IMITATE "c.h5 --imitate one.json"), 1);
    cr_expect_not_null(strstr(program_err, "it is 1 for 2 tasks; give one"), "%s",
                       program_err);
    cr_expect_eq(emplace_run(IMITATE "c.h5 --imitate one.json,two.h5 --imitate-budget 9"),
                 1);
    cr_expect_not_null(strstr(program_err, "--imitate-budget is for a method"), "%s",
                       program_err);
    cr_expect_eq(emplace_run(IMITATE "c.h5 --imitate hefd"), 1);
    cr_expect_not_null(strstr(program_err, "nor is it a placement file"), "%s",
                       program_err);
    cr_expect_eq(emplace_run(IMITATE "c.h5 --imitate two.json,one.json"), 1);
    cr_expect_not_null(strstr(program_err, "two.json"), "%s", program_err);
    cr_expect_eq(emplace_run(IMITATE "c.h5 --imitate one.json,nowhere.json"), 1);
    cr_expect_not_null(strstr(program_err, "nowhere.json"), "%s", program_err);
    cr_expect_neq(access(scratch_path("c.h5"), F_OK), 0, "nothing is half written");
}

Test(transfer, weights_of_another_method_or_file_are_refused)
{
    cr_expect_eq(emplace_run(PLACE "--weights-out w.h5 --record r.h5"), 0, "%s",
                 program_err);
    cr_expect_eq(emplace_run("place " NEW " -m giph:devices=5,seed=9 -r edges -M anneal "
                             "--budget 9 --weights w.h5"),
                 1);
    cr_expect_not_null(strstr(program_err, "weights are of the method giph"), "%s",
                       program_err);
    cr_expect_eq(emplace_run(PLACE "--weights r.h5"), 1);
    cr_expect_not_null(strstr(program_err, "r.h5"), "%s", program_err);
}

Test(transfer, bench_has_rows_of_all_arms)
{
    static const char *const arms[] = {"m-sct",
                                       "m-etf",
                                       "heft",
                                       "metis",
                                       "scotch",
                                       "mincut",
                                       "acyclic",
                                       "expert",
                                       "random",
                                       "anneal",
                                       "trained",
                                       "untrained",
                                       "anneal from m-sct",
                                       "anneal from the best proposed",
                                       "anneal from trained"};
    json_t                  *object =
        emplace_json("bench transfer --split giph --methods giph --budget 62 "
                     "--seeds 1 --budgets 1,31 --format json");
    json_t      *rows = json_object_get(object, "rows");
    const size_t rows_of_target = 8 + 2 * 7;

    cr_assert_eq(json_array_size(rows), 11 * rows_of_target, "10 targets, and all");
    for (size_t a = 0; a < sizeof arms / sizeof *arms; a++) {
        size_t  count = 0, i;
        json_t *row;
        json_array_foreach(rows, i, row)
        {
            const char *arm = json_string_value(json_object_get(row, "arm"));
            count += strcmp(arm, arms[a]) == 0;
        }
        cr_expect_eq(count, a < 8 ? 11 : 22, "%s", arms[a]);
    }
    const json_t *mean = json_array_get(rows, 10 * rows_of_target + 8);
    cr_expect_str_eq(json_string_value(json_object_get(mean, "task")), "all");
    cr_expect_gt(json_number_value(json_object_get(mean, "ratio")), 0.5);
    json_decref(object);
}
