// SPDX-License-Identifier: GPL-3.0-or-later
/* Does the learner keep its word: same candidates on any number of threads, a resume that goes on as
 * if nothing had been, weights that fit other graphs, and rewards that rise until the policy knows
 * the best placement? */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "policy/go/go.h"
#include "policy/go/updates.h"
#include "search/method.h"
#include "tests/support/problems.h"

enum { LAYERS = 12, MAX_OPS = 128, SAMPLES = 8 };

#define SMALL "samples=8,width=8,heads=2,hidden=8,type_width=4,segment=8,"

static task               h;
static emp_device_id      storage[SAMPLES][MAX_OPS];
static emp_owned_decision candidates[SAMPLES];

static void create_problem(void)
{
    hand_graph_comb(&h, LAYERS);
    cr_assert_leq(h.graph->op_count, MAX_OPS);
    for (int k = 0; k < SAMPLES; k++) candidates[k].device_of_op = storage[k];
}

static void destroy_problem(void)
{
    task_destroy(&h);
    cr_expect_eq(emp_mem_live_blocks(), 0, "leaked");
}

TestSuite(go, .init = create_problem, .fini = destroy_problem);

static void *create(int32_t threads, const char *preset, const char *options)
{
    const emp_method_params params = {.seed = 7,
                                      .threads = threads,
                                      .preset = preset,
                                      .options = options,
                                      .budget_evaluations = 1000};
    emp_error               err = {0};
    void                   *state = NULL;

    cr_assert_eq(emp_method_create(&state, &emp_method_go, h.problem, &params, &err),
                 EMP_OK, "%s", err.msg);
    return state;
}

/* One ask and tell. A placement takes 1 s, plus 1 s for the share of ops with a choice that are not
 * on device 1. Returns that share for the first one, the likeliest. */
static double update(void *state)
{
    const emp_go_agent *agent = (const emp_go_agent *)state;
    emp_score           score[SAMPLES];
    int32_t             count = 0;
    double              first = 0.0;

    cr_assert_eq(emp_method_go.ask(state, candidates, SAMPLES, &count, NULL), EMP_OK);
    cr_assert_eq(count, SAMPLES);
    for (int32_t k = 0; k < count; k++) {
        int32_t elsewhere = 0, all = 0;
        for (emp_op_id op = 0; op < h.graph->op_count; op++) {
            cr_assert(storage[k][op] >= 0 && storage[k][op] < 3, "op %d on device %d", op,
                      storage[k][op]);
            if (agent->nodes->node_of_op[op] < 0) continue;
            elsewhere += storage[k][op] != 1;
            all++;
        }
        score[k] = (emp_score){.step_time_s = 1.0 + (double)elsewhere / all,
                               .is_feasible = true};
        if (k == 0) first = (double)elsewhere / all;
    }
    cr_assert_eq(emp_method_go.tell(state, score, count, NULL), EMP_OK);
    return first;
}

static void expect_same_candidates(void *a, void *b, int updates)
{
    static emp_device_id kept[SAMPLES][MAX_OPS];

    for (int u = 0; u < updates; u++) {
        update(a);
        memcpy(kept, storage, sizeof kept);
        update(b);
        cr_expect_eq(memcmp(kept, storage, sizeof kept), 0, "update %d", u);
    }
}

Test(go, threads_do_not_change_candidates)
{
    for (int32_t threads = 2; threads <= 4; threads += 2) {
        const char *options = threads == 2 ? SMALL "lr=0.01" : SMALL "lr=0.01,rounds=2";
        void       *one = create(1, "emplace", options);
        void       *more = create(threads, "emplace", options);
        expect_same_candidates(one, more, 5);
        const emp_params *p = &((emp_go_agent *)one)->net.params;
        cr_expect_eq(memcmp(p->value, ((emp_go_agent *)more)->net.params.value,
                            p->count * sizeof *p->value),
                     0);
        emp_method_destroy(&emp_method_go, one);
        emp_method_destroy(&emp_method_go, more);
    }
}

/* Studies make several runs at once, each on a thread of theirs. That thread's number means nothing to the agent.
 * Only sanitizers see what is written beyond its scratch. */
Test(go, agents_beside_each_other_do_not_meet)
{
    void    *state[2] = {create(1, "emplace", SMALL "rounds=3"),
                         create(1, "emplace", SMALL "rounds=3")};
    uint8_t *choice[2];

#pragma omp parallel for num_threads(2) schedule(static, 1)
    for (int i = 0; i < 2; i++) {
        emp_go_agent_propose((emp_go_agent *)state[i], SAMPLES);
        choice[i] = ((emp_go_agent *)state[i])->task[0].choice;
    }
    cr_expect_arr_eq(choice[0], choice[1],
                     SAMPLES * (size_t)((emp_go_agent *)state[0])->features.count);
    for (int i = 0; i < 2; i++) emp_method_destroy(&emp_method_go, state[i]);
}

Test(go, threads_do_not_change_imitation)
{
    emp_owned_decision example;
    void  *one = create(1, "emplace", SMALL), *more = create(3, "emplace", SMALL);
    double loss = 0.0, same = 0.0;

    cr_assert_eq(emp_decision_init(&example, h.graph->op_count, 0, NULL), EMP_OK);
    for (emp_op_id op = 0; op < h.graph->op_count; op++)
        example.device_of_op[op] = (emp_device_id)(1 + op % 2);
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(emp_method_go.learning->imitate(one, &example, &loss, NULL), EMP_OK);
        cr_assert_eq(emp_method_go.learning->imitate(more, &example, &same, NULL),
                     EMP_OK);
        cr_expect(loss == same, "step %d: %.9g and %.9g nats", i, loss, same);
    }
    emp_decision_clear(&example);
    emp_method_destroy(&emp_method_go, one);
    emp_method_destroy(&emp_method_go, more);
}

/* The control sees zeros where the four numbers of the machine stand, and nothing else changes. */
Test(go, without_the_machine_its_numbers_are_0)
{
    enum { MACHINE = 4 };
    void                   *plain = create(1, "emplace", SMALL);
    void                   *blind = create(1, "emplace", SMALL "machine=0");
    const emp_transferable *f = &((emp_go_agent *)plain)->features;
    const emp_transferable *g = &((emp_go_agent *)blind)->features;

    cr_assert_eq(f->count, g->count);
    for (int32_t i = 0; i < f->count * EMP_TRANSFERABLE; i++) {
        const bool is_hidden = i % EMP_TRANSFERABLE >= EMP_TRANSFERABLE - MACHINE;
        cr_expect_eq(g->value[i], is_hidden ? 0 : f->value[i]);
        if (is_hidden) cr_expect_neq(f->value[i], 0);
    }
    emp_method_destroy(&emp_method_go, plain);
    emp_method_destroy(&emp_method_go, blind);
}

/* The control sees as many neighbours, and not those of the graph. */
Test(go, shuffled_edges_are_other_neighbours)
{
    void *plain = create(1, "paper", SMALL),
         *state = create(1, "paper", SMALL "edges=shuffled");
    const emp_transferable *f = &((emp_go_agent *)plain)->features;
    const emp_transferable *g = &((emp_go_agent *)state)->features;
    int32_t                 others = 0;

    cr_expect_arr_eq(f->first, g->first, (size_t)(f->count + 1) * sizeof *f->first);
    for (int32_t i = 0; i < f->first[f->count]; i++) {
        cr_expect(g->neighbor[i] >= 0 && g->neighbor[i] < g->count);
        others += f->neighbor[i] != g->neighbor[i];
    }
    cr_expect_gt(2 * others, f->first[f->count], "%d are others", others);
    update(state);
    emp_method_destroy(&emp_method_go, plain);
    emp_method_destroy(&emp_method_go, state);
}

static void copy_list(int32_t (*list)(void *, emp_named_array *), void *to, void *from)
{
    emp_named_array a[EMP_MAX_NAMED_ARRAYS], b[EMP_MAX_NAMED_ARRAYS];
    int32_t         count = list(from, a);

    cr_assert_eq(list(to, b), count);
    for (int32_t i = 0; i < count; i++) {
        cr_assert_str_eq(a[i].name, b[i].name);
        cr_assert_eq(a[i].count, b[i].count);
        memcpy(b[i].values, a[i].values, a[i].count * emp_array_type_bytes(a[i].type));
    }
}

Test(go, listed_state_is_all_that_the_next_updates_depend_on)
{
    static const char *const presets[] = {"paper", "emplace"};

    for (int i = 0; i < 2; i++) {
        void *state = create(1, presets[i], SMALL "lr=0.01");
        void *resumed = create(2, presets[i], SMALL "lr=0.01");
        for (int u = 0; u < 3; u++) update(state);
        copy_list(emp_method_go.list_state, resumed, state);
        expect_same_candidates(state, resumed, 3);
        emp_method_destroy(&emp_method_go, state);
        emp_method_destroy(&emp_method_go, resumed);
    }
}

Test(go, learns_where_all_ops_belong)
{
    static const char *const presets[] = {"paper", "emplace", "paper"};

    for (int i = 0; i < 3; i++) {
        void  *state = create(1, presets[i],
                             i < 2 ? SMALL "lr=0.02,clip=10,entropy=0"
                                    : SMALL "lr=0.02,clip=10,entropy=0,rounds=2");
        double elsewhere = 1.0;
        for (int u = 0; u < 150; u++) elsewhere = update(state);
        cr_expect_eq(elsewhere, 0.0, "preset %s: %g are elsewhere", presets[i],
                     elsewhere);
        emp_method_destroy(&emp_method_go, state);
    }
}

/* A graph of other size takes them, and its likeliest placement is then what they know. */
Test(go, weights_serve_another_graph)
{
    void *state = create(1, "emplace", SMALL "lr=0.02,clip=10,entropy=0"), *other;

    for (int u = 0; u < 150; u++) update(state);
    task_destroy(&h);
    hand_graph_comb(&h, LAYERS / 2);
    other = create(1, "emplace", SMALL "lr=0.02,clip=10,entropy=0");
    copy_list(emp_method_go.learning->list_weights, other, state);
    cr_expect_lt(update(other), 0.2);
    emp_method_destroy(&emp_method_go, state);
    emp_method_destroy(&emp_method_go, other);
}

enum { ALL = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER | EMP_DECIDES_FUSION };

static void *create_deciding(const char *options, const emp_device_id *start)
{
    const emp_method_params params = {.seed = 7,
                                      .threads = 1,
                                      .preset = "emplace",
                                      .options = options,
                                      .decides = ALL,
                                      .start = start};
    emp_error               err = {0};
    void                   *state = NULL;

    cr_assert_eq(emp_method_create(&state, &emp_method_go, h.problem, &params, &err),
                 EMP_OK, "%s", err.msg);
    return state;
}

/* As update(), but a level other than the last and an op that is alone cost their share. */
static double update_all(void *state, emp_owned_decision *all)
{
    const emp_go_agent *agent = (const emp_go_agent *)state;
    emp_score           score[SAMPLES];
    int32_t             count = 0;
    double              first = 0.0;

    for (int k = 0; k < SAMPLES; k++) emp_decision_reset(&all[k]);
    cr_assert_eq(emp_method_go.ask(state, all, SAMPLES, &count, NULL), EMP_OK);
    for (int32_t k = 0; k < count; k++) {
        int32_t wrong = 0, nodes = 0;
        for (emp_op_id op = 0; op < h.graph->op_count; op++) {
            if (agent->nodes->node_of_op[op] < 0) continue;
            cr_assert(all[k].level_of_op[op] % 9 == 0);
            wrong += (all[k].level_of_op[op] != 63) + (all[k].leader_of_op[op] == op);
            nodes++;
        }
        score[k] =
            (emp_score){.step_time_s = 1.0 + 0.5 * wrong / nodes, .is_feasible = true};
        if (k == 0) first = (double)wrong / nodes;
    }
    cr_assert_eq(emp_method_go.tell(state, score, count, NULL), EMP_OK);
    return first;
}

Test(go, learns_an_order_and_a_fusion_for_devices_that_stay)
{
    emp_owned_decision all[SAMPLES];
    emp_device_id      start[MAX_OPS];
    double             wrong = 2.0;

    for (int op = 0; op < MAX_OPS; op++) start[op] = op % 3;
    for (int k = 0; k < SAMPLES; k++)
        cr_assert_eq(emp_decision_init(&all[k], h.graph->op_count, ALL, NULL), EMP_OK);
    void *state = create_deciding(SMALL "lr=0.02,clip=10,entropy=0", start);
    for (int u = 0; u < 200; u++) wrong = update_all(state, all);
    cr_expect_eq(wrong, 0.0, "%g are wrong", wrong);
    for (int k = 0; k < SAMPLES; k++)
        cr_expect_arr_eq(all[k].device_of_op, start,
                         (size_t)h.graph->op_count * sizeof *start);
    emp_method_destroy(&emp_method_go, state);
    for (int k = 0; k < SAMPLES; k++) emp_decision_clear(&all[k]);
}

Test(go, a_start_leaves_something_to_decide)
{
    emp_device_id           start[MAX_OPS] = {0};
    const emp_method_params params = {.threads = 1, .options = SMALL, .start = start};
    emp_error               err = {0};
    void                   *state = NULL;

    cr_expect_eq(emp_method_create(&state, &emp_method_go, h.problem, &params, &err),
                 EMP_EINVAL);
    cr_expect_not_null(strstr(err.msg, "nothing is left to decide"), "%s", err.msg);
}

Test(go, rounds_decide_devices_alone)
{
    const emp_method_params params = {
        .threads = 1, .options = SMALL "rounds=2", .decides = ALL};
    emp_error err = {0};
    void     *state = NULL;

    cr_expect_eq(emp_method_create(&state, &emp_method_go, h.problem, &params, &err),
                 EMP_EINVAL);
    cr_expect_not_null(strstr(err.msg, "rounds=2 decide devices alone"), "%s", err.msg);
}

/* As many layers and tasks as options allow. */
Test(go, the_largest_network_has_room)
{
    const emp_method_params params = {
        .threads = 1, .options = SMALL "layers=4,graph_layers=4", .decides = ALL};
    emp_error err = {0};
    void     *state = NULL;

    cr_assert_eq(emp_method_create(&state, &emp_method_go, h.problem, &params, &err),
                 EMP_OK, "%s", err.msg);
    emp_method_destroy(&emp_method_go, state);
}

/* Few groups, shown on one GPU or the other: what they are called is left to the network. */
Test(go, imitates_an_example_of_groups)
{
    emp_owned_decision proposed, example;
    int32_t            count = 0, same = 0, ops = 0;
    double             loss = 0.0;
    void              *state =
        create(1, "emplace", SMALL "lr=0.01,clip=10,nodes=groups,groups=6,names=matched");
    const emp_go_agent *agent = (const emp_go_agent *)state;

    cr_assert_eq(emp_decision_init(&proposed, h.graph->op_count, 0, NULL), EMP_OK);
    cr_assert_eq(emp_decision_init(&example, h.graph->op_count, 0, NULL), EMP_OK);
    cr_expect_leq(agent->nodes->node_count, 6);
    for (emp_op_id op = 0; op < h.graph->op_count; op++)
        if (agent->nodes->node_of_op[op] >= 0)
            example.device_of_op[op] =
                (emp_device_id)(1 + agent->nodes->node_of_op[op] % 2);
    for (int u = 0; u < 600; u++)
        cr_assert_eq(emp_method_go.learning->imitate(state, &example, &loss, NULL),
                     EMP_OK);
    cr_expect_lt(loss, 0.1);
    cr_assert_eq(emp_method_go.ask(state, &proposed, 1, &count, NULL), EMP_OK);
    for (emp_op_id op = 0; op < h.graph->op_count; op++) {
        if (agent->nodes->node_of_op[op] < 0) continue;
        same += proposed.device_of_op[op] == example.device_of_op[op];
        ops++;
    }
    cr_expect(same == 0 || same == ops, "%d of %d ops are as shown", same, ops);
    emp_method_destroy(&emp_method_go, state);
    emp_decision_clear(&example);
    emp_decision_clear(&proposed);
}

/* It proposes what it was shown, its GPUs by other names: those of the example swapped. */
Test(go, imitates_an_example)
{
    emp_owned_decision all[SAMPLES], example;
    int32_t            count = 0, wrong = 0, decisions = 0;
    double             first = 0.0, loss = 0.0;

    for (int k = 0; k < SAMPLES; k++)
        cr_assert_eq(emp_decision_init(&all[k], h.graph->op_count, ALL, NULL), EMP_OK);
    cr_assert_eq(emp_decision_init(&example, h.graph->op_count, ALL, NULL), EMP_OK);
    void               *state = create_deciding(SMALL "lr=0.01,clip=10", NULL);
    const emp_go_agent *agent = (const emp_go_agent *)state;
    for (int32_t v = 0; v < agent->nodes->node_count; v++) {
        for (int32_t i = agent->nodes->ops.first[v]; i < agent->nodes->ops.first[v + 1];
             i++) {
            const emp_op_id op = agent->nodes->ops.member[i];
            const bool      is_like_first =
                agent->features.type[agent->features.position[v]] ==
                agent->features.type[0];
            example.device_of_op[op] = is_like_first ? 2 : 1;
            example.level_of_op[op] = is_like_first ? 63 : 9;
            example.leader_of_op[op] = is_like_first ? op : EMP_JOINS_READERS;
        }
    }
    for (int u = 0; u < 600; u++) {
        cr_assert_eq(emp_method_go.learning->imitate(state, &example, &loss, NULL),
                     EMP_OK);
        if (u == 0) first = loss;
    }
    cr_expect_lt(loss, 0.1 * first, "%g nats, at first %g", loss, first);
    cr_assert_eq(emp_method_go.ask(state, all, 1, &count, NULL), EMP_OK);
    for (emp_op_id op = 0; op < h.graph->op_count; op++) {
        if (agent->nodes->node_of_op[op] < 0) continue;
        wrong += all[0].device_of_op[op] != 3 - example.device_of_op[op];
        wrong += all[0].level_of_op[op] != example.level_of_op[op];
        wrong += (all[0].leader_of_op[op] == op) != (example.leader_of_op[op] == op);
        decisions += 3;
    }
    cr_expect_lt(20 * wrong, decisions, "%d of %d are wrong", wrong, decisions);
    emp_method_destroy(&emp_method_go, state);
    emp_decision_clear(&example);
    for (int k = 0; k < SAMPLES; k++) emp_decision_clear(&all[k]);
}

Test(go, a_tell_of_other_candidates_is_refused)
{
    const emp_score score = {.step_time_s = 1.0, .is_feasible = true};
    void           *state = create(1, "paper", SMALL);
    int32_t         count = 0;

    cr_assert_eq(emp_method_go.ask(state, candidates, 3, &count, NULL), EMP_OK);
    cr_expect_eq(count, 3);
    cr_expect_eq(emp_method_go.tell(state, &score, 1, NULL), EMP_EINVAL);
    emp_method_destroy(&emp_method_go, state);
}

Test(go, heads_that_do_not_divide_the_width_are_refused)
{
    const emp_method_params params = {.threads = 1, .options = "width=10,heads=4"};
    emp_error               err = {0};
    void                   *state = NULL;

    cr_expect_eq(emp_method_create(&state, &emp_method_go, h.problem, &params, &err),
                 EMP_EINVAL);
    cr_expect_not_null(strstr(err.msg, "width=10"), "%s", err.msg);
}

Test(go, survives_every_allocation_failure)
{
    static const emp_device_id start[MAX_OPS] = {0};
    const emp_method_params    params = {.seed = 1,
                                         .threads = 1,
                                         .preset = "emplace",
                                         .options = SMALL,
                                         .decides = ALL,
                                         .start = start};
    emp_owned_decision         all[SAMPLES];
    void                      *state = NULL;
    emp_status                 st = EMP_ENOMEM;
    long                       before = emp_mem_live_blocks();

    for (long allowed = 0; st != EMP_OK; allowed++) {
        emp_mem_fail_after(allowed);
        st = emp_method_create(&state, &emp_method_go, h.problem, &params, NULL);
        emp_mem_fail_after(-1);
        if (st == EMP_OK) break;
        cr_assert_eq(st, EMP_ENOMEM, "after %ld allocations: %s", allowed,
                     emp_status_str(st));
        cr_assert_null(state);
        cr_assert_eq(emp_mem_live_blocks(), before, "leak after %ld allocations",
                     allowed);
    }
    for (int k = 0; k < SAMPLES; k++)
        cr_assert_eq(emp_decision_init(&all[k], h.graph->op_count, ALL, NULL), EMP_OK);
    emp_mem_fail_after(0);
    update_all(state, all); /* ask and tell allocate nothing */
    emp_mem_fail_after(-1);
    emp_method_destroy(&emp_method_go, state);
    for (int k = 0; k < SAMPLES; k++) emp_decision_clear(&all[k]);
}
