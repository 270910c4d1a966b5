// SPDX-License-Identifier: GPL-3.0-or-later
/* A walk by itself: are its samples one move away, and does it go on from its listed state? */
#include "baselines/searches/walk.h"
#include "tests/support/problems.h"
#include "tests/support/status.h"

static task w;

static void set_up(void) { task_create(&w, "rnnlm:steps=4", "k40x2", "tf-r1.3"); }

static void tear_down(void)
{
    task_destroy(&w);
    expect_all_freed();
}

TestSuite(walk, .init = set_up, .fini = tear_down);

static bool are_equal(const emp_owned_decision *a, const emp_owned_decision *b,
                      int32_t ops)
{
    const size_t count = (size_t)ops;

    return memcmp(a->device_of_op, b->device_of_op, count * sizeof *a->device_of_op) ==
               0 &&
           (a->level_of_op == NULL ||
            memcmp(a->level_of_op, b->level_of_op, count) == 0) &&
           (a->leader_of_op == NULL || memcmp(a->leader_of_op, b->leader_of_op,
                                              count * sizeof *a->leader_of_op) == 0);
}

/* A walk past its start, with groups only by names, which need no METIS. */
static void begin(emp_walk *walk, const emp_owned_decision *candidate)
{
    struct options {
        emp_walk_options walk;
    } options = {0};
    static const emp_option list[] = {
        EMP_WALK_OPTIONS(struct options, walk, EMP_MOVES_MIXED, 768),
        EMP_WALK_ORDER_OPTION(struct options, walk), EMP_NO_OPTION};
    const emp_option_table  table = {"test", NULL, list};
    const emp_method_params params = {
        .seed = 9,
        .decides = (candidate->level_of_op != NULL ? EMP_DECIDES_ORDER : 0) |
                   (candidate->leader_of_op != NULL ? EMP_DECIDES_FUSION : 0)};
    const emp_score score = {.step_time_s = 1.0, .is_feasible = true};
    int32_t         count;
    bool            is_new;

    MUST(emp_options_parse(&options, &table, NULL, NULL, &why));
    options.walk.samples = 1;
    options.walk.moves.groups = 3; /* names */
    MUST(emp_walk_init(walk, w.problem, &options.walk, &params, &why));
    MUST(emp_walk_ask(walk, "test", candidate, 1, &count, &why));
    MUST(emp_walk_begin(walk, &score, count, &is_new, &why));
    cr_assert(is_new);
}

/* Each sample is faster than all before, so that the walk goes there. */
static void take_steps(emp_walk *walk, const emp_owned_decision *candidate, int steps)
{
    const int32_t ops = w.graph->op_count;
    int32_t       count;

    for (int i = 0; i < steps; i++) {
        const emp_score faster = {.step_time_s = 0.99 * walk->cost.here_s,
                                  .is_feasible = true};
        bool            is_new;
        MUST(emp_walk_ask(walk, "test", candidate, 1, &count, NULL));
        cr_expect_not(are_equal(candidate, &walk->here, ops));
        MUST(emp_walk_begin(walk, &faster, count, &is_new, NULL));
        cr_expect_not(is_new);
        cr_expect_eq(emp_walk_metropolis(walk, &faster, count, 0.0), 1);
        cr_expect(are_equal(candidate, &walk->here, ops));
        cr_expect(are_equal(candidate, &walk->best, ops));
        cr_expect_eq(walk->cost.here_s, faster.step_time_s);
    }
}

Test(walk, goes_where_its_sample_was)
{
    static const int32_t decides[] = {0, EMP_DECIDES_ORDER, EMP_DECIDES_FUSION};

    for (int i = 0; i < 3; i++) {
        SCOPED(emp_walk, emp_walk_clear) walk;
        SCOPED(emp_owned_decision, emp_decision_clear) candidate;
        MUST(emp_decision_init(&candidate, w.graph->op_count, decides[i], NULL));
        begin(&walk, &candidate);
        take_steps(&walk, &candidate, 50);
    }
}

Test(walk, goes_on_from_its_listed_state_with_order_and_fusion)
{
    const int32_t      ops = w.graph->op_count;
    emp_walk           walk, other;
    emp_owned_decision candidate, others;
    emp_named_array    from[EMP_WALK_ARRAYS], to[EMP_WALK_ARRAYS];

    MUST(emp_decision_init(&candidate, ops, EMP_DECIDES_MORE, NULL));
    MUST(emp_decision_init(&others, ops, EMP_DECIDES_MORE, NULL));
    begin(&walk, &candidate);
    take_steps(&walk, &candidate, 10);
    begin(&other, &others);
    const int32_t count = emp_walk_list_state(&walk, from);
    cr_assert_eq(count, EMP_WALK_ARRAYS);
    cr_assert_eq(emp_walk_list_state(&other, to), count);
    for (int32_t i = 0; i < count; i++)
        memcpy(to[i].values, from[i].values,
               from[i].count * emp_array_type_bytes(from[i].type));
    take_steps(&walk, &candidate, 10);
    take_steps(&other, &others, 10);
    cr_expect(are_equal(&walk.here, &other.here, ops));
    other.here.level_of_op[0] = EMP_LEVELS;
    cr_expect_eq(emp_walk_check(&other, "test", NULL), EMP_EFORMAT);
    emp_walk_clear(&walk);
    emp_walk_clear(&other);
    emp_decision_clear(&candidate);
    emp_decision_clear(&others);
}
