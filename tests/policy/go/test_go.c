// SPDX-License-Identifier: GPL-3.0-or-later
/* Does GO learn an order and a fusion, imitate examples on any number of threads, and see what its options say? */
#include "base/rng.h"
#include "policy/go/go.h"
#include "policy/nn/threads.h"
#include "search/method.h"
#include "tests/support/methods.h"
#include "tests/support/problems.h"

enum { LAYERS = 12, MAX_OPS = 128, SAMPLES = 8 };

#define SMALL "samples=8,width=8,heads=2,hidden=8,type_width=4,segment=8,"

static task h;

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

TestSuite(go, .init = create_problem, .fini = destroy_problem);

static void *create(int32_t threads, const char *preset, const char *options)
{
    return method_begin(&emp_method_go, h.problem,
                        (emp_method_params){.seed = 7,
                                            .threads = threads,
                                            .preset = preset,
                                            .options = options,
                                            .budget_evaluations = 1000});
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
    SCOPED(emp_owned_decision, emp_decision_clear) example;
    void  *one = create(1, "emplace", SMALL), *more = create(3, "emplace", SMALL);
    double loss = 0.0, same = 0.0;

    emp_team_set_least(1);
    MUST(emp_decision_init(&example, h.graph->op_count, 0, NULL));
    for (emp_op_id op = 0; op < h.graph->op_count; op++)
        example.device_of_op[op] = (emp_device_id)(1 + op % 2);
    for (int i = 0; i < 5; i++) {
        MUST(emp_method_go.learning->imitate(one, &example, &loss, NULL));
        MUST(emp_method_go.learning->imitate(more, &example, &same, NULL));
        cr_expect(loss == same, "step %d: %.9g and %.9g nats", i, loss, same);
    }
    emp_method_destroy(&emp_method_go, one);
    emp_method_destroy(&emp_method_go, more);
}

/* Controls see zeros where the four numbers of the machine stand, or as many neighbours that are not the graph's. */
Test(go, controls_do_not_see_the_machine_or_the_edges)
{
    enum { MACHINE = 4 };
    void *plain = create(1, "emplace", SMALL);
    void *blind = create(1, "emplace", SMALL "machine=0,edges=shuffled");
    const emp_transferable *f = &((emp_go_agent *)plain)->features;
    const emp_transferable *g = &((emp_go_agent *)blind)->features;
    int32_t                 others = 0;

    cr_assert_eq(f->count, g->count);
    for (int32_t i = 0; i < f->count * EMP_TRANSFERABLE; i++) {
        const bool is_hidden = i % EMP_TRANSFERABLE >= EMP_TRANSFERABLE - MACHINE;
        cr_expect_eq(g->value[i], is_hidden ? 0 : f->value[i]);
        if (is_hidden) cr_expect_neq(f->value[i], 0);
    }
    cr_expect_arr_eq(f->first, g->first, (size_t)(f->count + 1) * sizeof *f->first);
    for (int32_t i = 0; i < f->first[f->count]; i++) {
        cr_expect(g->neighbor[i] >= 0 && g->neighbor[i] < g->count);
        others += f->neighbor[i] != g->neighbor[i];
    }
    cr_expect_gt(2 * others, f->first[f->count], "%d are others", others);
    emp_method_destroy(&emp_method_go, plain);
    emp_method_destroy(&emp_method_go, blind);
}

enum { ALL = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER | EMP_DECIDES_FUSION };

static void *create_deciding(const char *options, const emp_device_id *start)
{
    return method_begin(&emp_method_go, h.problem,
                        (emp_method_params){.seed = 7,
                                            .threads = 1,
                                            .preset = "emplace",
                                            .options = options,
                                            .decides = ALL,
                                            .start = start});
}

/* As update(), but a level other than the last and an op that is alone cost their share. */
static double update_all(void *state, emp_owned_decision *all)
{
    const emp_go_agent *agent = (const emp_go_agent *)state;
    emp_score           score[SAMPLES];
    int32_t             count = 0;
    double              first = 0.0;

    for (int k = 0; k < SAMPLES; k++) emp_decision_reset(&all[k]);
    MUST(emp_method_go.ask(state, all, SAMPLES, &count, NULL));
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
    MUST(emp_method_go.tell(state, score, count, NULL));
    return first;
}

Test(go, learns_an_order_and_a_fusion_for_devices_that_stay)
{
    emp_owned_decision all[SAMPLES];
    emp_device_id      start[MAX_OPS];
    double             wrong = 2.0;

    for (int op = 0; op < MAX_OPS; op++) start[op] = op % 3;
    for (int k = 0; k < SAMPLES; k++)
        MUST(emp_decision_init(&all[k], h.graph->op_count, ALL, NULL));
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
    void                   *state = NULL;

    MUST_FAIL(emp_method_create(&state, &emp_method_go, h.problem, &params, &why),
              EMP_EINVAL, "nothing is left");
}

/* As many layers and tasks as options allow. */
Test(go, the_largest_network_has_room)
{
    emp_method_destroy(&emp_method_go,
                       create_deciding(SMALL "layers=4,graph_layers=4", NULL));
}

/* It proposes what it was shown, its GPUs by other names: those of the example swapped. */
Test(go, imitates_an_example)
{
    emp_owned_decision all[SAMPLES], example;
    int32_t            wrong = 0, decisions = 0;
    double             first = 0.0, loss = 0.0;

    for (int k = 0; k < SAMPLES; k++)
        MUST(emp_decision_init(&all[k], h.graph->op_count, ALL, NULL));
    MUST(emp_decision_init(&example, h.graph->op_count, ALL, NULL));
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
        MUST(emp_method_go.learning->imitate(state, &example, &loss, NULL));
        if (u == 0) first = loss;
    }
    cr_expect_lt(loss, 0.1 * first, "%g nats, at first %g", loss, first);
    method_ask(&emp_method_go, state, all, 1);
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

enum { ROWS = 5, DRAWS = 300 };

static double best_from(double gain[][EMP_MAX_DEVICES], int32_t row, unsigned taken)
{
    double best = -INFINITY;

    if (row == ROWS) return 0.0;
    for (int32_t c = 0; c < ROWS; c++)
        if (!(taken >> c & 1))
            best = fmax(best, gain[row][c] + best_from(gain, row + 1, taken | 1U << c));
    return best;
}

Test(go_naming, the_assignment_is_the_best)
{
    static double gain[EMP_MAX_DEVICES][EMP_MAX_DEVICES];
    emp_rng       rng;

    emp_rng_init(&rng, 7, 0, 0);
    for (int draw = 0; draw < DRAWS; draw++) {
        int32_t  column[ROWS];
        unsigned taken = 0;
        double   sum = 0.0;
        for (int32_t r = 0; r < ROWS; r++)
            for (int32_t c = 0; c < ROWS; c++)
                gain[r][c] = -floor(6.0 * emp_rng_uniform(&rng)) * (draw % 2 ? 1 : 0.3);
        emp_go_assign(gain, ROWS, column);
        for (int32_t r = 0; r < ROWS; r++) {
            taken |= 1U << column[r];
            sum += gain[r][column[r]];
        }
        cr_assert_eq(taken, (1U << ROWS) - 1, "each column once");
        cr_assert_float_eq(sum, best_from(gain, 0, 0), 1e-9);
    }
}

/* The network likes GPU 2 for the nodes that the example has on GPU 1. The first node stands on
 * GPU 2 of the example. */
Test(go_naming, matched_names_are_the_likeliest)
{
    OWN_TASK        t;
    emp_node_graph *n = NULL;
    emp_device_id   device[64];
    emp_real        p[64 * 3];
    uint8_t         name[EMP_MAX_DEVICES];

    hand_graph_layers(&t, 2);
    cr_assert_eq(t.problem->machine->device_count, 3);
    MUST(emp_node_graph_create(&n, t.problem, 0, NULL));
    for (int32_t i = 0; i < n->node_count; i++) {
        device[n->order[i]] = i == 0 ? 2 : 1;
        p[3 * i] = (emp_real)0.1;
        p[3 * i + 1] = i == 0 ? (emp_real)0.6 : (emp_real)0.2;
        p[3 * i + 2] = i == 0 ? (emp_real)0.3 : (emp_real)0.7;
    }
    const emp_go_naming naming = {t.problem, n, device, p, 3};
    emp_go_name_devices(&naming, EMP_NAMES_MATCHED, name);
    cr_expect(name[0] == 0 && name[1] == 2 && name[2] == 1);
    for (int32_t i = 0; i < 3 * n->node_count; i++) p[i] = (emp_real)(i % 3 == 1);
    device[n->order[0]] = 1;
    emp_go_name_devices(&naming, EMP_NAMES_MATCHED, name);
    cr_expect(name[0] == 0 && name[1] == 1 && name[2] == 2);
    device[n->order[0]] = 2;
    emp_go_name_devices(&naming, EMP_NAMES_USED, name);
    cr_expect(name[0] == 0 && name[1] == 2 && name[2] == 1, "the first that is used");
    emp_node_graph_destroy(n);
}

/* The example is on the faster GPU, and the network likes the other one. */
Test(go_naming, unlike_gpus_keep_their_names)
{
    static const emp_go_names ways[] = {EMP_NAMES_USED, EMP_NAMES_MATCHED};
    OWN_TASK                  t = {0};
    emp_node_graph           *n = NULL;
    uint8_t                   name[EMP_MAX_DEVICES];

    task_create(&t, "rnnlm:layers=1,steps=1", "rtx4090x2+rtx3060", "tf-r1.3");
    cr_assert_eq(t.machine->device_count, 4);
    MUST(emp_node_graph_create(&n, t.problem, 0, NULL));
    emp_device_id *device = EMP_NEW_ARRAY(emp_device_id, (size_t)n->node_count);
    emp_real      *p = EMP_NEW_ARRAY(emp_real, (size_t)n->node_count * 4);
    for (int32_t v = 0; v < n->node_count; v++) {
        device[v] = 3;
        p[4 * v + 1] = 1;
    }
    const emp_go_naming naming = {t.problem, n, device, p, 4};
    for (size_t w = 0; w < COUNT(ways); w++) {
        emp_go_name_devices(&naming, ways[w], name);
        cr_expect_eq(name[3], 3, "the only one of its model");
        cr_expect_eq(name[1] + name[2], 3);
    }
    for (int32_t v = 0; v < n->node_count; v++) device[v] = 2;
    for (size_t w = 0; w < COUNT(ways); w++) {
        emp_go_name_devices(&naming, ways[w], name);
        cr_expect(name[1] == 2 && name[2] == 1 && name[3] == 3, "the two that are alike");
    }
    emp_free(device);
    emp_free(p);
    emp_node_graph_destroy(n);
}
