// SPDX-License-Identifier: GPL-3.0-or-later
/* The search over groups on two levels: does it find what a score asks for, and keep away from what does not fit? */
#include "baselines/baselines.h"
#include "tests/baselines/fixture.h"
#include "tests/support/methods.h"

enum { OPS = 20, BATCH = 8, CLIQUE_OPS = 5 };

static fixture *lonely_ops(int32_t gpu_count)
{
    fixture *f = fixture_create(gpu_count);

    for (int i = 0; i < OPS; i++) fixture_op(f, NULL, 100);
    return f;
}

typedef struct {
    void         *state;
    emp_device_id device[BATCH][OPS];
    emp_score     score[BATCH];
    int32_t       count;
} search;

static void start(search *s, const emp_problem *problem, uint64_t seed,
                  const char *options)
{
    s->state =
        method_begin(&emp_method_ce, problem,
                     (emp_method_params){.seed = seed, .threads = 1, .options = options});
}

static void ask(search *s)
{
    emp_owned_decision candidates[BATCH];

    for (int k = 0; k < BATCH; k++)
        candidates[k] = (emp_owned_decision){.device_of_op = s->device[k]};
    s->count = method_ask(&emp_method_ce, s->state, candidates, BATCH);
    cr_assert_eq(s->count, BATCH);
}

/* A second for each op that is not on device op % 3; what has no op on device 2 does not
 * fit if \a needs_device_2. */
static void score(search *s, bool needs_device_2)
{
    for (int k = 0; k < BATCH; k++) {
        int wrong = 0, on_2 = 0;
        for (int op = 0; op < OPS; op++) {
            wrong += s->device[k][op] != op % 3;
            on_2 += s->device[k][op] == 2;
        }
        s->score[k] = (emp_score){.step_time_s = 1.0 + wrong,
                                  .is_feasible = !needs_device_2 || on_2 > 0};
    }
    MUST(emp_method_ce.tell(s->state, s->score, BATCH, NULL));
}

static double best_of(const search *s)
{
    double best = s->score[0].step_time_s;

    for (int k = 1; k < BATCH; k++)
        if (s->score[k].step_time_s < best) best = s->score[k].step_time_s;
    return best;
}

Test(ce, finds_the_placement_that_scores_best)
{
    fixture *f = lonely_ops(2);
    search   s = {0};
    double   best = 1e9;

    start(&s, fixture_problem(f), 1, "start_samples=400");
    for (int i = 0; i < 200; i++) {
        ask(&s);
        score(&s, true);
        if (best_of(&s) < best) best = best_of(&s);
    }
    cr_expect_eq(best, 1.0, "found %g", best);
    emp_method_destroy(&emp_method_ce, s.state);
    fixture_destroy(f);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Two coarse groups on two levels: when the fine groups begin, without strays, each op is
 * where the best placement of the coarse ones had it. */
Test(ce, goes_from_coarse_to_fine_where_it_was_best)
{
    enum { STAGE = 10 };
    fixture      *f = fixture_create(2);
    search        s = {0};
    emp_device_id best[OPS];
    double        best_s = 1e9;

    for (int i = 0; i < OPS / CLIQUE_OPS; i++) {
        emp_op_id first = fixture_clique(f, CLIQUE_OPS, 1000000);
        if (i > 0) fixture_edge(f, first - 1, first);
    }
    start(&s, fixture_problem(f), 1,
          "coarse=2,fine=4,starts=1,start_samples=80,strays_first=0,strays=0");
    for (int i = 0; i < STAGE; i++) {
        ask(&s);
        score(&s, false);
        for (int k = 0; k < BATCH; k++) {
            if (s.score[k].step_time_s >= best_s) continue;
            best_s = s.score[k].step_time_s;
            memcpy(best, s.device[k], sizeof best);
        }
    }
    ask(&s);
    for (int k = 0; k < BATCH; k++) cr_expect_arr_eq(s.device[k], best, sizeof best);
    emp_method_destroy(&emp_method_ce, s.state);
    fixture_destroy(f);
}

Test(ce, learns_nothing_from_what_does_not_fit)
{
    OWN_FIXTURE f = lonely_ops(2);
    search      s = {0}, fresh = {0};

    start(&s, fixture_problem(f), 1, "start_samples=80,coarse=64");
    start(&fresh, f->problem, 1, "start_samples=1000000,coarse=64");
    for (int i = 0; i < 50; i++) { /* through all starts to the fine groups */
        ask(&s);
        ask(&fresh);
        for (int k = 0; k < BATCH; k++)
            s.score[k] = (emp_score){.step_time_s = 1.0 + k, .is_feasible = false};
        emp_method_ce.tell(s.state, s.score, BATCH, NULL);
        emp_method_ce.tell(fresh.state, s.score, BATCH, NULL);
        cr_expect_arr_eq(s.device, fresh.device, sizeof s.device);
    }
    emp_method_destroy(&emp_method_ce, s.state);
    emp_method_destroy(&emp_method_ce, fresh.state);
}
