// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the placer give a group one device, read groups in the order that is asked for, and make the groups of its
 * options? */
#include "policy/colocrl/colocrl.h"
#include "tests/support/methods.h"
#include "tests/support/problems.h"

enum { LAYERS = 12, MAX_OPS = 128, SAMPLES = 4, GROUPS = 2 * LAYERS + 1 };

#define SMALL "hidden=10,type_width=4"

static task                     h;
static emp_device_id            storage[SAMPLES][MAX_OPS];
static const emp_owned_decision candidates[SAMPLES] = {{.device_of_op = storage[0]},
                                                       {.device_of_op = storage[1]},
                                                       {.device_of_op = storage[2]},
                                                       {.device_of_op = storage[3]}};

static void create_problem(void)
{
    hand_graph_comb(&h, LAYERS);
    cr_assert_leq(h.graph->op_count, MAX_OPS);
}

static void destroy_problem(void)
{
    task_destroy(&h);
    expect_all_freed();
}

TestSuite(colocrl, .init = create_problem, .fini = destroy_problem);

static void *create(uint64_t seed, const char *options)
{
    return method_begin(
        &emp_method_colocrl, h.problem,
        (emp_method_params){.seed = seed, .threads = 1, .options = options});
}

static void update(void *state)
{
    emp_score score[SAMPLES];
    int32_t   count = 0;

    MUST(emp_method_colocrl.ask(state, candidates, SAMPLES, &count, NULL));
    cr_assert_eq(count, SAMPLES);
    for (int32_t k = 0; k < count; k++)
        score[k] = (emp_score){.step_time_s = 1.0, .is_feasible = true};
    MUST(emp_method_colocrl.tell(state, score, count, NULL));
}

Test(colocrl, ops_of_a_group_get_one_device)
{
    void                    *state = create(7, SMALL ",run_longest=0");
    const emp_colocrl_agent *agent = (const emp_colocrl_agent *)state;

    update(state);
    cr_expect_eq(agent->groups.steps, GROUPS);
    for (int32_t r = 0; r < agent->learner.ops->row_count; r++) {
        for (int32_t s = 0; s < r; s++) {
            if (agent->groups.step_of_row[r] != agent->groups.step_of_row[s]) continue;
            for (int k = 0; k < SAMPLES; k++)
                cr_expect_eq(storage[k][agent->learner.ops->op_of_row[r]],
                             storage[k][agent->learner.ops->op_of_row[s]]);
        }
    }
    emp_method_destroy(&emp_method_colocrl, state);
}

/* Steps of the sequence whose groups have an earlier mean position than those before. */
static int count_descents(const emp_colocrl_agent *a)
{
    double  sum[GROUPS] = {0.0};
    int32_t members[GROUPS] = {0};
    int     descents = 0;

    for (int32_t r = 0; r < a->learner.ops->row_count; r++) {
        sum[a->groups.step_of_row[r]] += (double)a->learner.ops->position[r];
        members[a->groups.step_of_row[r]]++;
    }
    for (int s = 1; s < GROUPS; s++)
        descents += sum[s] / members[s] < sum[s - 1] / members[s - 1];
    return descents;
}

Test(colocrl, order_says_how_groups_are_read)
{
    static const struct {
        const char *options;
        int         least, most; /* descents of the mean position */
    } order[] = {{SMALL, 0, 0},
                 {SMALL ",order=reverse", GROUPS - 1, GROUPS - 1},
                 {SMALL ",order=random", 2, GROUPS - 3}};

    for (size_t i = 0; i < COUNT(order); i++) {
        void *state = create(7, order[i].options);
        int   descents = count_descents((const emp_colocrl_agent *)state);
        cr_expect(descents >= order[i].least && descents <= order[i].most, "%s: %d",
                  order[i].options, descents);
        emp_method_destroy(&emp_method_colocrl, state);
    }
}

/* On two CPUs an op without a GPU kernel has a choice, but no group by the rules. */
Test(colocrl, ops_that_only_cpus_run_share_a_group)
{
    OWN_TASK two;
    void    *state = NULL;
    int32_t  count = 0;

    hand_graph_begin(&two);
    two.machine->device[1].kind = EMP_DEVICE_CPU;
    emp_op_id x = hand_graph_op(&two, "in", "Placeholder", -1);
    emp_op_id text = hand_graph_op(&two, "text", "AsString", x);
    hand_graph_op(&two, "a", "Relu", x);
    hand_graph_finish(&two);
    const emp_method_params params = {.seed = 1, .threads = 1, .options = SMALL};
    MUST(emp_method_create(&state, &emp_method_colocrl, two.problem, &params, &why));
    const emp_colocrl_agent *agent = (const emp_colocrl_agent *)state;
    cr_assert_geq(agent->learner.ops->row_of_op[text], 0, "has no choice");
    cr_expect_eq(agent->groups.steps, 3, "in, a, and one more");
    MUST(emp_method_colocrl.ask(state, candidates, SAMPLES, &count, &why));
    emp_method_destroy(&emp_method_colocrl, state);
}

static int32_t groups_with(const char *options)
{
    void         *state = create(1, options);
    const int32_t count = ((const emp_colocrl_agent *)state)->groups.steps;

    emp_method_destroy(&emp_method_colocrl, state);
    return count;
}

Test(colocrl, options_say_which_groups)
{
    cr_expect_eq(groups_with(SMALL), GROUPS);
    cr_expect_eq(groups_with(SMALL ",groups=colocrl,count=3"), GROUPS,
                 "rules make as many as they make");
    cr_expect_gt(groups_with(SMALL ",readers=0"), GROUPS);
    cr_expect_eq(groups_with(SMALL ",groups=metis,count=1"), 1);
    const int32_t cut = groups_with(SMALL ",groups=metis,count=8");
    cr_expect(cut > 1 && cut <= 8, "%d", cut);
}
