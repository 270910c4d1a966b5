// SPDX-License-Identifier: GPL-3.0-or-later
/* Searches by moves and over groups: do they find what brute force finds, come out of
 * where nothing fits, keep to their formulas, and go on from a saved state? */
#include "base/rng.h"
#include "baselines/baselines.h"
#include "baselines/searches/grouped.h"
#include "baselines/searches/walk.h"
#include "tests/baselines/fixture.h"
#include "tests/support/methods.h"

enum { OPS = 8, DEVICES = 3, PLACEMENTS = 6561 /* 3 ^ 8 */ };

typedef struct {
    const emp_method *method;
    void             *state;
    emp_device_id     device[EMP_MAX_BATCH][OPS];
    emp_score         score[EMP_MAX_BATCH];
    int32_t           count, max;
} search;

static fixture *f;
static double   alone_s[OPS][DEVICES], beside_s[OPS][DEVICES][DEVICES];

/* Ops in a chain, whose score is the sum of drawn costs of each op and of each edge. */
static void set_up(void)
{
    emp_rng rng;

    f = fixture_create(DEVICES - 1);
    for (int op = 0; op < OPS; op++) {
        fixture_op(f, NULL, 1000);
        if (op > 0) fixture_edge(f, op - 1, op);
    }
    fixture_problem(f);
    emp_rng_init(&rng, 5, 0, 0);
    for (int op = 0; op < OPS; op++) {
        for (int d = 0; d < DEVICES; d++) {
            alone_s[op][d] = emp_rng_uniform(&rng);
            for (int e = 0; e < DEVICES; e++) beside_s[op][d][e] = emp_rng_uniform(&rng);
        }
    }
}

static void tear_down(void)
{
    fixture_destroy(f);
    expect_all_freed();
}

TestSuite(search, .init = set_up, .fini = tear_down);

static double time_of(const emp_device_id *device)
{
    double sum = 1.0;

    for (int op = 0; op < OPS; op++) {
        sum += alone_s[op][device[op]];
        if (op > 0) sum += beside_s[op][device[op - 1]][device[op]];
    }
    return sum;
}

static double find_optimum(void)
{
    double best = INFINITY;

    for (int i = 0; i < PLACEMENTS; i++) {
        emp_device_id device[OPS];
        for (int op = 0, rest = i; op < OPS; op++, rest /= DEVICES)
            device[op] = rest % DEVICES;
        best = fmin(best, time_of(device));
    }
    return best;
}

static search start_seed(const emp_method *method, const char *options, int64_t budget,
                         uint64_t seed)
{
    return (search){.method = method,
                    .max = EMP_MAX_BATCH,
                    .state =
                        method_begin(method, f->problem,
                                     (emp_method_params){.seed = seed,
                                                         .threads = 1,
                                                         .options = options,
                                                         .budget_evaluations = budget})};
}

static search start(const emp_method *method, const char *options, int64_t budget)
{
    return start_seed(method, options, budget, 3);
}

static void ask(search *s)
{
    emp_owned_decision candidates[EMP_MAX_BATCH];

    for (int k = 0; k < EMP_MAX_BATCH; k++)
        candidates[k] = (emp_owned_decision){.device_of_op = s->device[k]};
    s->count = method_ask(s->method, s->state, candidates, s->max);
    cr_assert(s->count > 0 && s->count <= s->max, "%s", s->method->name);
}

static void tell(search *s) { MUST(s->method->tell(s->state, s->score, s->count, &why)); }

static void score(search *s)
{
    for (int k = 0; k < s->count; k++)
        s->score[k] =
            (emp_score){.step_time_s = time_of(s->device[k]), .is_feasible = true};
}

/* The landscape is rougher than that of step times: hot where there is a temperature. */
typedef struct {
    const emp_method *method;
    const char       *options;
} searcher;

static const searcher searchers[] = {
    {&emp_method_local, NULL},
    {&emp_method_local, "pick=best"},
    {&emp_method_local, "moves=ops,kicks=0,start=random"},
    {&emp_method_anneal, "heat=2,groups=metis"},
    {&emp_method_anneal, "heat=2,samples=1,start=random,moves=ops"},
    {&emp_method_mcmc, "alpha=10,groups=metis"},
    {&emp_method_mcmc, "alpha=10,reset=1000,samples=8,moves=ops,near=0,propagate=0"},
    {&emp_method_refine, "start_samples=100,starts=20,groups=metis"},
    {&emp_method_post, "spread=0.1"},
    {&emp_method_brkga, NULL},
    {&emp_method_brkga, "population=20,elite=0.1,mutants=0.2"},
    {&emp_method_ce, "start_samples=80"}};
/* Cross-entropy has tests of what it finds of its own. */
enum { RESUMED = COUNT(searchers), SEARCHERS = RESUMED - 1, BUDGET = 3000 };

static double best_of_run(const searcher *how, uint64_t seed)
{
    search s = start_seed(how->method, how->options, BUDGET, seed);
    double best = INFINITY;

    for (int asked = 0; asked < BUDGET; asked += s.count) {
        ask(&s);
        score(&s);
        for (int k = 0; k < s.count; k++) best = fmin(best, s.score[k].step_time_s);
        tell(&s);
    }
    emp_method_destroy(s.method, s.state);
    return best;
}

/* Most seeds find the optimum, and all come near it: the median of all placements is
 * above it by half. */
Test(search, finds_what_brute_force_finds)
{
    enum { SEEDS = 7 };
    const double optimum = find_optimum();

    for (int i = 0; i < SEARCHERS; i++) {
        int found = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            double best = best_of_run(&searchers[i], seed);
            cr_expect_lt(best, 1.02 * optimum, "%s %s: %g, best %g",
                         searchers[i].method->name, searchers[i].options, best, optimum);
            found += best < optimum + 1e-12;
        }
        cr_expect_gt(found, SEEDS / 2, "%s %s: %d found it", searchers[i].method->name,
                     searchers[i].options, found);
    }
}

/* At most `room` ops fit on each device, and the fuller the faster. */
static void score_by_room(search *s, int room, bool says_how_much)
{
    for (int k = 0; k < s->count; k++) {
        int on[DEVICES] = {0}, missing = 0, most = 0;
        for (int op = 0; op < OPS; op++) on[s->device[k][op]]++;
        for (int d = 0; d < DEVICES; d++) {
            missing += on[d] > room ? on[d] - room : 0;
            most = on[d] > most ? on[d] : most;
        }
        s->score[k] =
            (emp_score){.step_time_s = 2.0 - 0.1 * most,
                        .is_feasible = missing == 0,
                        .overflow_frac = says_how_much ? missing / (double)room : 0.0};
    }
}

/* They begin on one device, or anywhere; 3 + 3 + 2 alone fit. */
Test(search, comes_out_of_where_nothing_fits)
{
    for (int i = 0; i < SEARCHERS; i++) {
        search s = start(searchers[i].method, searchers[i].options, BUDGET);
        int    fit = 0;
        for (int asked = 0; asked < BUDGET; asked += s.count) {
            ask(&s);
            score_by_room(&s, 3, true);
            for (int k = 0; k < s.count; k++) fit += s.score[k].is_feasible;
            tell(&s);
        }
        cr_expect_gt(fit, 100, "%s %s: %d fit", s.method->name, searchers[i].options,
                     fit);
        emp_method_destroy(s.method, s.state);
    }
}

Test(search, penalty_grows_with_what_is_missing)
{
    static const struct {
        emp_score score;
        double    penalized_s;
    } cases[] = {{{.step_time_s = 3.0, .is_feasible = true}, 3.0},
                 {{.step_time_s = 3.0}, 6.0},
                 {{.step_time_s = 3.0, .overflow_frac = 0.1}, 9.0},
                 {{.step_time_s = 3.0, .overflow_frac = 1.0}, 36.0}};

    for (size_t i = 0; i < COUNT(cases); i++)
        cr_expect_float_eq(emp_penalized_s(&cases[i].score), cases[i].penalized_s, 1e-12);
}

/* ---- Metropolis ---- */

Test(search, acceptance_follows_the_formula)
{
    cr_expect(emp_accepts(0.0, 0.0, 0.99));
    cr_expect(emp_accepts(-1.0, 0.5, 0.99));
    cr_expect_not(emp_accepts(1e-9, 0.0, 0.0));
    cr_expect(emp_accepts(1.0, 1.0, exp(-1.0) - 1e-9));
    cr_expect_not(emp_accepts(1.0, 1.0, exp(-1.0) + 1e-9));
}

static double find_metric(const search *s, const char *name)
{
    return method_metric(s->method, s->state, name);
}

/* MCMC accepts exp(-alpha / 100) of the samples that are each slower by a hundredth. */
Test(search, mcmc_accepts_by_the_share_of_the_step_time)
{
    search s = start(&emp_method_mcmc, "alpha=70,samples=1,reset=1000000", 0);
    double here_s = 5.0;
    int    accepted = 0, told = 4000;

    for (int i = 0; i <= told; i++) {
        ask(&s);
        s.score[0] = (emp_score){.step_time_s = i == 0 ? here_s : here_s * 1.01,
                                 .is_feasible = true};
        tell(&s);
        bool is_accepted = find_metric(&s, "accepted_frac") > 0.0;
        cr_expect_eq(find_metric(&s, "here_s"),
                     is_accepted || i == 0 ? s.score[0].step_time_s : here_s);
        here_s = find_metric(&s, "here_s");
        accepted += is_accepted;
    }
    cr_expect_float_eq((double)accepted / told, exp(-0.7), 0.032); /* 4 deviations */
    emp_method_destroy(s.method, s.state);
}

/* By default every hundredth of the budget the walk goes back to the best. */
Test(search, mcmc_returns_to_the_best)
{
    search        s = start(&emp_method_mcmc, "alpha=0,samples=1", 2000);
    emp_device_id best[OPS];

    ask(&s);
    memcpy(best, s.device[0], sizeof best);
    s.score[0] = (emp_score){.step_time_s = 1.0, .is_feasible = true};
    tell(&s);
    for (int i = 1; i <= 100; i++) {
        ask(&s);
        s.score[0] = (emp_score){.step_time_s = 2.0, .is_feasible = true};
        tell(&s);
        cr_expect_eq(find_metric(&s, "here_s"), i % 20 == 0 ? 1.0 : 2.0,
                     "after %d samples", i);
    }
    emp_method_destroy(s.method, s.state);
}

/* The first temperature is a share of the deviation of the first moves; the last is that over `cooling`. It depends on
 * these moves and on the step alone, wherever the walk then goes. */
Test(search, annealing_cools_from_the_spread_of_its_first_moves)
{
    enum { WARMUP = 50, LENGTH = 250 };
    search s = start(&emp_method_anneal,
                     "samples=1,warmup=50,heat=0.4,cooling=100,length=250", 0);
    double sum = 0.0, squares = 0.0;

    for (int i = 0; i <= LENGTH; i++) {
        ask(&s);
        double change = 0.01 * (i % 7 + 1); /* always slower: it stays at the start */
        s.score[0] = (emp_score){.step_time_s = i == 0 ? 2.0 : 2.0 * (1.0 + change),
                                 .is_feasible = true};
        tell(&s);
        if (i > 0 && i <= WARMUP) {
            sum += change;
            squares += change * change;
            cr_expect_eq(find_metric(&s, "temperature"), 0.0);
            cr_expect_eq(find_metric(&s, "accepted_frac"), 0.0);
        }
        if (i <= WARMUP) continue;
        double deviation = sqrt(squares / WARMUP - sum / WARMUP * sum / WARMUP);
        double done = (double)(i - WARMUP) / (LENGTH - WARMUP);
        cr_expect_float_eq(find_metric(&s, "temperature"),
                           0.4 * deviation * pow(0.01, done), 1e-9);
    }
    emp_method_destroy(s.method, s.state);
}

/* Until a local optimum is left, no placement comes twice; each is a move away. */
Test(search, local_tries_every_move_once_before_it_restarts)
{
    search        s = start(&emp_method_local, "moves=ops,samples=4", 0);
    emp_device_id first[OPS];
    int           seen[OPS][DEVICES] = {{0}}, tried = 0;

    ask(&s);
    memcpy(first, s.device[0], sizeof first);
    score_by_room(&s, OPS, true);
    tell(&s);
    while (tried < OPS * (DEVICES - 1)) {
        ask(&s);
        for (int k = 0; k < s.count; k++, tried++) {
            int changed = 0;
            for (int op = 0; op < OPS; op++) {
                changed += s.device[k][op] != first[op];
                if (s.device[k][op] != first[op]) seen[op][s.device[k][op]]++;
            }
            cr_expect_eq(changed, 1);
            s.score[k] = (emp_score){.step_time_s = 9.0, .is_feasible = true};
        }
        tell(&s);
    }
    for (int op = 0; op < OPS; op++)
        for (int d = 0; d < DEVICES; d++)
            cr_expect_eq(seen[op][d], d != first[op], "op %d on %d: %d", op, d,
                         seen[op][d]);
    ask(&s);
    while (s.count > 1) { /* moves that change nothing end the order */
        for (int k = 0; k < s.count; k++)
            s.score[k] = (emp_score){.step_time_s = 9.0, .is_feasible = true};
        tell(&s);
        ask(&s);
    }
    cr_expect_eq(s.count, 1, "where it restarts comes alone");
    emp_method_destroy(s.method, s.state);
}

/* ---- Post ---- */

Test(search, gradient_of_ppo_agrees_with_differences)
{
    enum { GROUPS = 4, SAMPLES = 6, ENTRIES = GROUPS * DEVICES };
    int32_t choice[SAMPLES * GROUPS];
    double  logits[ENTRIES], gradient[ENTRIES], unused[ENTRIES], old[SAMPLES],
        advantage[SAMPLES];
    int     clipped = 0;
    emp_rng rng;

    emp_rng_init(&rng, 4, 0, 0);
    for (int i = 0; i < ENTRIES; i++) logits[i] = emp_rng_normal(&rng);
    for (int k = 0; k < SAMPLES; k++) {
        for (int g = 0; g < GROUPS; g++)
            choice[k * GROUPS + g] = (int32_t)emp_rng_below(&rng, DEVICES);
        double log_p = emp_ppo_log_p(logits, GROUPS, DEVICES, choice + k * GROUPS);
        old[k] = log_p + 0.3 * emp_rng_normal(&rng); /* some ratios are clipped */
        advantage[k] = emp_rng_normal(&rng);
        double ratio = exp(log_p - old[k]);
        clipped += (ratio > 1.2 && advantage[k] > 0) || (ratio < 0.8 && advantage[k] < 0);
    }
    cr_assert(clipped > 0 && clipped < SAMPLES, "%d", clipped);
    const emp_ppo_batch batch = {.groups = GROUPS,
                                 .devices = DEVICES,
                                 .samples = SAMPLES,
                                 .choice = choice,
                                 .old_log_p = old,
                                 .advantage = advantage,
                                 .clip = 0.2};
    emp_ppo_objective(&batch, logits, gradient);
    for (int i = 0; i < ENTRIES; i++) {
        const double step = 1e-5, was = logits[i];
        logits[i] = was + step;
        double above = emp_ppo_objective(&batch, logits, unused);
        logits[i] = was - step;
        double below = emp_ppo_objective(&batch, logits, unused);
        logits[i] = was;
        cr_expect_float_eq(gradient[i], (above - below) / (2.0 * step), 1e-8, "%d: %g", i,
                           gradient[i]);
    }
}

static emp_named_array find_array(search *s, const char *name)
{
    emp_named_array arrays[EMP_MAX_NAMED_ARRAYS];
    int32_t         count = s->method->list_state(s->state, arrays);

    for (int32_t i = 0; i < count; i++)
        if (strcmp(arrays[i].name, name) == 0) return arrays[i];
    cr_assert_fail("no array %s", name);
    return arrays[0];
}

/* Without gradient steps, ten samples with one elite: the table moves by 70 % to where the
 * best one put its groups, and 6 % of it are spread. */
Test(search, post_refits_to_its_elite)
{
    search s = start(&emp_method_post, "steps=0,batches=1,spread=0.06,rate=0.7", 0);
    emp_device_id best[OPS];
    int           at = 0;

    ask(&s);
    cr_assert_eq(s.count, 10);
    score(&s);
    for (int k = 1; k < s.count; k++)
        if (s.score[k].step_time_s < s.score[at].step_time_s) at = k;
    memcpy(best, s.device[at], sizeof best);
    tell(&s);
    const double *logits = (const double *)find_array(&s, "logits").values;
    for (int op = 0; op < OPS; op++) { /* each is a group of its own */
        double p[DEVICES];
        emp_ppo_softmax(logits + op * DEVICES, DEVICES, p);
        for (int d = 0; d < DEVICES; d++)
            cr_expect_float_eq(
                p[d], 0.94 * (0.3 / 3 + (d == best[op] ? 0.7 : 0.0)) + 0.06 / 3, 1e-12);
    }
    emp_method_destroy(s.method, s.state);
}

enum { MEMBERS = 50, ELITE = 10, MUTANTS = 5, KEYS = OPS * DEVICES };

static int find_key(const double *keys, int from, int to, int at, double key)
{
    for (int i = from; i < to; i++)
        if (keys[i * KEYS + at] == key) return i;
    return -1;
}

/* Sorts members by cost into best first: how a generation sees its parents. */
static void sort_members(const double *keys, const double *cost_s, double *sorted)
{
    bool is_taken[MEMBERS] = {false};

    for (int rank = 0; rank < MEMBERS; rank++) {
        int best = -1;
        for (int i = 0; i < MEMBERS; i++)
            if (!is_taken[i] && (best < 0 || cost_s[i] < cost_s[best])) best = i;
        is_taken[best] = true;
        memcpy(sorted + rank * KEYS, keys + best * KEYS, KEYS * sizeof *sorted);
    }
}

Test(search, brkga_breeds_elite_mutants_and_children)
{
    static double keys[MEMBERS * KEYS], sorted[MEMBERS * KEYS];
    search        s = start(&emp_method_brkga, NULL, 0);
    double        cost_s[MEMBERS];
    int           of_elite = 0, of_others = 0;

    ask(&s);
    cr_assert_eq(s.count, MEMBERS);
    score(&s);
    memcpy(keys, find_array(&s, "keys").values, sizeof keys);
    for (int i = 0; i < MEMBERS; i++) cost_s[i] = s.score[i].step_time_s;
    sort_members(keys, cost_s, sorted);
    tell(&s);
    const double *next = (const double *)find_array(&s, "keys").values;
    cr_expect_arr_eq(next, sorted, ELITE * KEYS * sizeof *sorted);
    for (int i = ELITE; i < ELITE + MUTANTS; i++)
        for (int k = 0; k < KEYS; k++)
            cr_expect_eq(find_key(sorted, 0, MEMBERS, k, next[i * KEYS + k]), -1);
    for (int i = ELITE + MUTANTS; i < MEMBERS; i++) {
        int mother = -1, father = -1;
        for (int k = 0; k < KEYS; k++) {
            int elite = find_key(sorted, 0, ELITE, k, next[i * KEYS + k]);
            int other = find_key(sorted, ELITE, MEMBERS, k, next[i * KEYS + k]);
            cr_assert((elite >= 0) != (other >= 0), "a key of nobody");
            of_elite += elite >= 0;
            of_others += other >= 0;
            if (elite >= 0) cr_expect(mother < 0 || mother == elite);
            if (other >= 0) cr_expect(father < 0 || father == other);
            mother = elite >= 0 ? elite : mother;
            father = other >= 0 ? other : father;
        }
    }
    /* 840 keys: a standard deviation of 0.016. */
    cr_expect_float_eq((double)of_elite / (of_elite + of_others), 0.7, 0.06);
    ask(&s);
    cr_expect_eq(s.count, MEMBERS - ELITE, "the elite is not scored again");
    emp_method_destroy(s.method, s.state);
}

static void copy_state(search *to, search *from)
{
    emp_named_array source[EMP_MAX_NAMED_ARRAYS], target[EMP_MAX_NAMED_ARRAYS];
    int32_t         count = from->method->list_state(from->state, source);

    cr_assert_eq(to->method->list_state(to->state, target), count);
    for (int32_t i = 0; i < count; i++) {
        cr_assert_str_eq(source[i].name, target[i].name);
        cr_assert_eq(source[i].count, target[i].count);
        memcpy(target[i].values, source[i].values,
               source[i].count * emp_array_type_bytes(source[i].type));
    }
}

Test(search, goes_on_from_its_state_after_every_batch)
{
    enum { BATCHES = 60 };

    for (int i = 0; i < RESUMED; i++) {
        search s = start(searchers[i].method, searchers[i].options, 200);
        s.max = 7;
        for (int batch = 0; batch < BATCHES; batch++) {
            search other = start(searchers[i].method, searchers[i].options, 200);
            other.max = s.max;
            copy_state(&other, &s);
            for (int again = 0; again < 3; again++) {
                if (again == 0) ask(&s); /* one batch of its own, two of the copy's */
                ask(&other);
                if (again == 0) {
                    cr_assert_eq(other.count, s.count);
                    for (int k = 0; k < s.count; k++)
                        cr_assert_arr_eq(other.device[k], s.device[k], sizeof s.device[k],
                                         "%s %s after %d", s.method->name,
                                         searchers[i].options, batch);
                    score(&s);
                }
                score(&other);
                tell(&other);
            }
            tell(&s);
            emp_method_destroy(other.method, other.state);
        }
        emp_method_destroy(s.method, s.state);
    }
}
