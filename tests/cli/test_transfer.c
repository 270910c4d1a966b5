// SPDX-License-Identifier: GPL-3.0-or-later
/* From training on tasks to placing what was not seen, through the program. */
#include <jansson.h>

#include "tests/cli/emplace.h"
#include "tests/test.h"

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
    emplace_write("tasks.txt", TASKS);
}

TestSuite(transfer, .init = set_up, .fini = emplace_tear_down);

Test(transfer, weights_of_tasks_place_another)
{
    json_t *trained = emplace_json(TRAIN "--budget 400 --weights-out w.h5"), *row;
    size_t  i;

    cr_assert_eq(json_array_size(json_at(trained, "rows")), 2);
    json_array_foreach(json_object_get(trained, "rows"), i, row)
    {
        cr_expect_str_eq(text_at(row, "method"), "giph");
        cr_expect_gt(number_at(row, "updates"), 1);
        cr_expect_gt(number_at(row, "best_s"), 0.0);
    }
    emplace_ok(PLACE "--weights w.h5 --record with.h5");
    emplace_ok(PLACE "--weights w.h5 --record again.h5 --threads 3");
    emplace_ok(PLACE "--record without.h5");
    cr_expect(emplace_same_files("with.h5", "again.h5"), "threads change the run");
    cr_expect_not(emplace_same_files("with.h5", "without.h5"));
}

Test(transfer, training_goes_on_from_weights)
{
    emplace_ok(PLACE "--weights-out one.h5 --record r.h5");
    emplace_prints("train --tasks tasks.txt -r edges -M giph --budget 100 "
                   "--weights one.h5 --weights-out two.h5",
                   "two.h5 has the weights after 119 evaluations");
    emplace_refuses("place " NEW " -m giph:devices=5,seed=9 -r edges -M anneal "
                    "--budget 9 --weights one.h5",
                    "giph");
    emplace_refuses(PLACE "--weights r.h5", "r.h5");
}

Test(transfer, methods_with_weights_are_named)
{
    static const char all[] = "hsdag, placeto, giph, doppler, go";
    json_t           *methods = emplace_json("methods --format json");

    cr_expect(json_is_true(json_at(methods, "giph/has_weights")));
    cr_expect(json_is_true(json_at(methods, "hsdag/has_weights")));
    cr_expect_not(json_is_true(json_at(methods, "hdp/has_weights")));
    cr_expect_not(json_is_true(json_at(methods, "anneal/has_weights")));
    emplace_prints("methods", all);
    emplace_prints("methods hsdag", "weights: |features=costs");
    emplace_ok("methods hdp");
    cr_expect_null(strstr(program_out, "weights: "), "%s", program_out);
    emplace_refuses("train --tasks tasks.txt -r edges --weights-out w.h5", all);
}

/* No array of Placeto tells the options: a run without them would be silently another. */
Test(transfer, options_come_with_the_weights)
{
#define PLAIN "place " NEW " -m giph:devices=4,seed=1 -r edges -M placeto -b 40 "
#define SMALL "--preset emplace --options max_nodes=6 "
    emplace_ok(PLAIN SMALL "--weights-out w.h5");
    emplace_ok(PLAIN SMALL "--weights w.h5 --record given.h5");
    cr_expect_null(strstr(program_err, "trained with"), "%s", program_err);
    emplace_ok(PLAIN "--weights w.h5 --record taken.h5");
    cr_expect(emplace_same_files("given.h5", "taken.h5"));
    emplace_warns(PLAIN "--preset emplace --options max_nodes=60 --weights w.h5",
                  "trained with|\"emplace\"|\"max_nodes=6\"");
    emplace_ok(PLAIN "--options max_nodes=6 --weights-out p.h5"); /* the first preset */
    emplace_ok(PLAIN "--preset paper --options max_nodes=6 --weights p.h5");
    cr_expect_null(strstr(program_err, "trained with"), "%s", program_err);
}

Test(transfer, weights_of_graph_networks_place_another)
{
    static const char *const learners[] = {"placeto --options max_nodes=6,cpu=1",
                                           "hsdag --options width=8"};
    static const char *const runs[][2] = {{LEARNT, "--weights-out w.h5"},
                                          {NEW, "--weights w.h5 --record with.h5"},
                                          {NEW, "--record without.h5"}};

    for (int i = 0; i < 6; i++) {
        emplace_ok(scratch_print("place %s -m giph:devices=4,seed=1 -r edges --preset "
                                 "emplace --budget 60 -M %s %s --force",
                                 runs[i % 3][0], learners[i / 3], runs[i % 3][1]));
        if (i % 3 == 2) cr_expect_not(emplace_same_files("with.h5", "without.h5"));
    }
}

#define IMITATE                                         \
    "train --tasks tasks.txt -r edges -M go --options " \
    "width=8,heads=2,hidden=8,type_width=4 "            \
    "--imitate-rounds 20 --weights-out "

/* A method's placements teach the same from files, or from a record, as from its runs. */
Test(transfer, placements_of_files_are_imitated)
{
    static const char *const wrong[][2] = {
        {IMITATE "c.h5 --imitate one.json", "1 for 2 tasks"},
        {IMITATE "c.h5 --imitate one.json,two.h5 --imitate-budget 9", "--imitate-budget"},
        {IMITATE "c.h5 --imitate hefd", "hefd"},
        {IMITATE "c.h5 --imitate two.json,one.json", "two.json"},
        {IMITATE "c.h5 --imitate one.json,nowhere.json", "nowhere.json"}};

    emplace_ok("place " LEARNT
               " -m giph:devices=4,seed=1 -r edges -M heft --out one.json");
    emplace_ok("place giph:v=10,seed=2 -m giph:devices=3,seed=2 -r edges -M heft "
               "--out two.json --record two.h5");
    emplace_ok(IMITATE "a.h5 --imitate heft");
    emplace_prints(IMITATE "b.h5 --imitate one.json,two.h5",
                   "20 rounds of imitating one.json,two.h5");
    cr_expect(emplace_same_files("a.h5", "b.h5"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        emplace_refuses(wrong[i][0], wrong[i][1]);
    cr_expect_not(emplace_has_file("c.h5"), "nothing is half written");
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
    json_t *object = emplace_json("bench transfer --split giph --methods giph --budget "
                                  "62 --seeds 1 --budgets 1,31 --format json");
    json_t *rows = json_object_get(object, "rows"), *row;
    const size_t rows_of_target = 8 + 2 * 7;

    cr_assert_eq(json_array_size(rows), 11 * rows_of_target, "10 targets, and all");
    for (size_t a = 0; a < sizeof arms / sizeof *arms; a++) {
        size_t count = 0, i;
        json_array_foreach(rows, i, row) count +=
            strcmp(text_at(row, "arm"), arms[a]) == 0;
        cr_expect_eq(count, a < 8 ? 11 : 22, "%s", arms[a]);
    }
    const json_t *mean = json_array_get(rows, 10 * rows_of_target + 8);
    cr_expect_str_eq(text_at(mean, "task"), "all");
    cr_expect_gt(number_at(mean, "ratio"), 0.5);
}
