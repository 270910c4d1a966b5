// SPDX-License-Identifier: GPL-3.0-or-later
/* Is a placement scored on an instance of PlaceBench as anywhere else, and refused where it is of another? */
#define _POSIX_C_SOURCE 200809L
#include "tests/cli/emplace.h"
#include "tests/test.h"

#define GIPH "giph:v=30,alpha=0.2,p=0.1,seed=1 -m giph:devices=8,seed=1 -r edges "
#define HEAD "format: \"emplace-placement-1\"\n"

static void set_up(void)
{
    static const char rules[] = HEAD "default: \"gpu:0\"\n";

    emplace_set_up();
    setenv("EMPLACE_INSTANCES", scratch_path(NULL), 1);
    scratch_write("rules.yaml", rules, sizeof rules - 1);
}

TestSuite(score, .init = set_up, .fini = emplace_tear_down);

Test(score, a_placement_gets_the_step_time_of_its_run)
{
    json_t *placed = emplace_json("place " GIPH "-M heft --out p.json --format json");
    json_t *scored = emplace_json("score p.json --instance giph-30-1 --format json");
    json_t *simulated = emplace_json("simulate " GIPH "-p p.json --format json");
    json_t *list = emplace_json("instances giph-30-1 --format json");
    const json_t *known = json_object_get(list, "giph-30-1");
    const double  step_s = number_at(placed, "step_time_s");

    cr_expect_eq(number_at(scored, "step_time_s"), step_s);
    cr_expect_str_eq(text_at(scored, "fingerprint"), text_at(simulated, "fingerprint"));
    cr_expect(json_is_true(json_object_get(scored, "feasible")));
    cr_expect_str_eq(text_at(scored, "split"), "train");
    cr_expect_float_eq(number_at(scored, "lower_bound_s"),
                       number_at(placed, "lower_bound_s"), 1e-9);
    cr_expect_float_eq(number_at(scored, "gap_frac"), number_at(placed, "gap_frac"),
                       1e-6);
    cr_expect_eq(number_at(scored, "best_known_s"), number_at(known, "best_known_s"));
    cr_expect_float_eq(number_at(scored, "best_known_gap_frac"),
                       step_s / number_at(known, "best_known_s") - 1, 1e-12);
    emplace_prints("score p.json --instance giph-30-1", "\nbest known ");
}

/* The command that the set names gives the best step time known. */
Test(score, the_best_known_can_be_found_again)
{
    json_t     *list = emplace_json("instances giph-30-1 --format json");
    json_t     *known = json_object_get(list, "giph-30-1");
    const char *command = text_at(known, "best_known_by");

    cr_assert_eq(strncmp(command, "emplace ", 8), 0, "%s", command);
    json_t *found = emplace_json(scratch_print("%s --format json", command + 8));
    cr_expect_float_eq(number_at(found, "step_time_s"), number_at(known, "best_known_s"),
                       1e-9);
}

Test(score, what_does_not_fit_is_a_result)
{
    json_t *o =
        emplace_json("score rules.yaml --instance wavenet-2-p100x4 --format json");

    cr_expect(json_is_false(json_object_get(o, "feasible")));
    cr_expect(json_is_null(json_object_get(o, "gap_frac")));
    cr_expect(json_is_null(json_object_get(o, "best_known_gap_frac")));
    cr_expect_gt(number_at(o, "best_known_s"), 0);
}

/* rules.yaml puts all on one GPU but what has no kernel for it; with all kernels on the CPU nothing is kept off it. */
Test(score, the_second_bound_depends_on_which_gpu_kernels_are_on_the_cpu)
{
    static const char cpu[] = HEAD "default: \"cpu:0\"\n";
    static const char gpus[] = "score rules.yaml --instance rnnlm-1-k40x2 -f json";

    scratch_write("cpu.yaml", cpu, sizeof cpu - 1);
    json_t *o = emplace_json(gpus);
    cr_expect_geq(number_at(o, "lower_bound_gpu_kernels_s"),
                  number_at(o, "lower_bound_s"));
    cr_expect_leq(number_at(o, "lower_bound_gpu_kernels_s"), number_at(o, "step_time_s"));
    const double on_gpus = number_at(o, "lower_bound_gpu_kernels_s");
    o = emplace_json("score cpu.yaml --instance rnnlm-1-k40x2 -f json");
    cr_expect_lt(number_at(o, "lower_bound_gpu_kernels_s"), on_gpus);
    cr_expect_gt(number_at(o, "lower_bound_s"), 0);
}

Test(score, what_is_wrong_is_one_sentence)
{
    emplace_refuses("score rules.yaml --instance giph-30", "\"giph-30-1\"");
    emplace_refuses("score none.json --instance giph-30-1", "none.json");
    emplace_refuses("score rules.yaml --instance pipedream-gnmt", "pipedream-gnmt");
    emplace_ok("place small.pbtxt -m k40x2 -M gpu --record r.h5 --out g.json");
    emplace_refuses("score r.h5 --instance giph-30-1", "r.h5|small.pbtxt");
    emplace_refuses("score g.json --instance giph-30-1", "g.json");
    scratch_write_json("ordered.json", "{'format': 'emplace-placement-1', 'rules': [], "
                                       "'default': 'gpu:0', 'levels': {'1': []}}");
    emplace_refuses("score ordered.json --instance giph-30-1", "ordered.json");
    cr_expect_eq(emplace_run("score rules.yaml"), 2);
    cr_expect_eq(emplace_run("score --instance giph-30-1"), 2);
}

Test(score, instances_are_listed)
{
    json_t *list = emplace_json("instances --format json");

    cr_expect_geq(json_object_size(list), 40);
    cr_expect(json_is_false(json_at(list, "pipedream-gnmt/is_there")));
    cr_expect_eq(strlen(text_at(list, "pipedream-gnmt/sha256")), 64);
    emplace_prints("instances wavenet-2-p100x4", "found by     emplace place wavenet:");
    emplace_prints("instances msr-gnmt-training", "sha256       4529");
    emplace_refuses("instances wavenet-2", "\"wavenet-2\"");
}
