// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the co-location rules kept: what must stand together does, what must not does not,
 * and no rule is left that could be applied once more? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "graphs/load.h"
#include "search/groups/colocation_groups.h"
#include "sim/graph/op.h"
#include "sim/machine/machine.h"
#include "tests/support/expect.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

static void check_leaks(void) { cr_expect_eq(emp_mem_live_blocks(), 0, "leaked"); }

TestSuite(colocation_groups, .fini = check_leaks);

typedef struct {
    int32_t  group_count, class_count;
    int32_t *group_of_class;
} grouping;

static grouping *group(const emp_problem *problem)
{
    grouping *g = EMP_NEW(grouping);

    g->class_count = problem->graph->class_count;
    g->group_of_class = EMP_NEW_ARRAY(int32_t, (size_t)g->class_count);
    MUST(emp_colocation_groups(g->group_of_class, &g->group_count, problem, &why));
    return g;
}

static void ungroup(grouping *g)
{
    emp_free(g->group_of_class);
    emp_free(g);
}

static int32_t group_of(const grouping *groups, const emp_graph *graph, const char *name)
{
    emp_op_id op = emp_graph_find(graph, name);

    cr_assert_geq(op, 0, "no op %s", name);
    return groups->group_of_class[graph->op[op].colocation_class];
}

#define EXPECT_TOGETHER(a, b)                                                \
    cr_expect_eq(group_of(groups, h.graph, a), group_of(groups, h.graph, b), \
                 "%s and %s are apart", a, b)
#define EXPECT_APART(a, b)                                                    \
    cr_expect_neq(group_of(groups, h.graph, a), group_of(groups, h.graph, b), \
                  "%s and %s are together", a, b)

/* ---- single rules ------------------------------------------------------------------ */

Test(colocation_groups, a_chain_collapses)
{
    task h;

    hand_graph_begin(&h);
    emp_op_id x = hand_graph_op(&h, "in", "Placeholder", -1);
    x = hand_graph_op(&h, "a", "Relu", x);
    x = hand_graph_op(&h, "b", "Relu", x);
    hand_graph_op(&h, "c", "Relu", x);
    hand_graph_finish(&h);
    grouping *groups = group(h.problem);
    cr_expect_eq(groups->group_count, 1);
    EXPECT_TOGETHER("in", "c");
    ungroup(groups);
    task_destroy(&h);
}

Test(colocation_groups, a_fan_out_does_not)
{
    task h;

    hand_graph_begin(&h);
    emp_op_id x = hand_graph_op(&h, "in", "Placeholder", -1);
    x = hand_graph_op(&h, "a", "Relu", x);
    hand_graph_op(&h, "b", "Relu", x);
    hand_graph_op(&h, "c", "Relu", x);
    hand_graph_finish(&h);
    grouping *groups = group(h.problem);
    cr_expect_eq(groups->group_count, 3);
    EXPECT_TOGETHER("in", "a");
    EXPECT_APART("a", "b");
    EXPECT_APART("a", "c");
    EXPECT_APART("b", "c");
    ungroup(groups);
    task_destroy(&h);
}

/* Its two readers end in one group, which is then its only reader. */
Test(colocation_groups, a_diamond_collapses_by_repetition)
{
    task h;

    hand_graph_begin(&h);
    emp_op_id x = hand_graph_op(&h, "in", "Placeholder", -1);
    emp_op_id b = hand_graph_op(&h, "b", "Relu", x),
              c = hand_graph_op(&h, "c", "Relu", x);
    hand_graph_add(&h, "d", "Add", (const emp_op_id[]){b, c}, 2);
    hand_graph_finish(&h);
    grouping *groups = group(h.problem);
    cr_expect_eq(groups->group_count, 1);
    ungroup(groups);
    task_destroy(&h);
}

Test(colocation_groups, a_gradient_joins_its_op)
{
    task h;

    hand_graph_begin(&h);
    emp_op_id x = hand_graph_op(&h, "in", "Placeholder", -1);
    emp_op_id a = hand_graph_op(&h, "layer/a", "Relu", x);
    emp_op_id b = hand_graph_op(&h, "layer/b", "Relu", x);
    emp_op_id g = hand_graph_add(&h, "gradients/layer/b_grad/Mul", "Mul",
                                 (const emp_op_id[]){b, a}, 2);
    hand_graph_op(&h, "one", "Relu", g);
    hand_graph_op(&h, "other", "Relu", g);
    hand_graph_op(&h, "third", "Relu", a);
    hand_graph_finish(&h);
    grouping *groups = group(h.problem);
    EXPECT_TOGETHER("layer/b", "gradients/layer/b_grad/Mul");
    EXPECT_APART("layer/a", "layer/b");
    EXPECT_APART("one", "other");
    ungroup(groups);
    task_destroy(&h);
}

Test(colocation_groups, what_cannot_move_has_none_and_takes_nobody_in)
{
    task h;

    hand_graph_begin(&h);
    emp_op_id x = hand_graph_op(&h, "in", "Placeholder", -1);
    x = hand_graph_op(&h, "a", "Relu", x);
    hand_graph_op(&h, "text", "AsString", x);
    hand_graph_op(&h, "b", "Relu", x);
    hand_graph_finish(&h);
    grouping *groups = group(h.problem);
    cr_expect_eq(group_of(groups, h.graph, "text"), -1);
    EXPECT_APART("a", "b");
    cr_expect_eq(groups->group_count, 2);
    ungroup(groups);
    task_destroy(&h);
}

Test(colocation_groups, variables_go_to_the_only_op_that_reads_them)
{
    task h;

    hand_graph_comb(&h, 4);
    grouping *groups = group(h.problem);
    cr_expect_eq(groups->group_count, 9, "4 layers, 4 readers, the end");
    EXPECT_TOGETHER("w_2", "product_2");
    EXPECT_TOGETHER("product_2", "relu_2");
    EXPECT_APART("relu_1", "relu_2");
    EXPECT_APART("relu_2", "reader_2");
    ungroup(groups);
    task_destroy(&h);
}

/* A convolution's scope is its layer. Two in one scope are two layers, and what stands
 * beside them is neither. */
Test(colocation_groups, a_scope_with_one_convolution_is_a_layer)
{
    task h;

    hand_graph_begin(&h);
    emp_op_id x = hand_graph_op(&h, "image", "Placeholder", -1);
    emp_op_id w = hand_graph_op(&h, "kernel_image", "Placeholder", -1);
    for (int i = 0; i < 2; i++) {
        const emp_op_id inputs[] = {x, w};
        emp_op_id y = hand_graph_add(&h, i == 0 ? "net/one/Conv2D" : "net/two/Conv2D",
                                     "Conv2D", inputs, 2);
        emp_op_id z =
            hand_graph_op(&h, i == 0 ? "net/one/bn/Relu" : "net/two/Relu", "Relu", y);
        hand_graph_add(&h, i == 0 ? "net/one/Mul" : "net/two/Mul", "Mul",
                       (const emp_op_id[]){y, z}, 2);
        hand_graph_op(&h, i == 0 ? "probe_1" : "probe_2", "Relu", y);
    }
    x = hand_graph_op(&h, "shared/MaxPool", "MaxPool", x);
    x = hand_graph_op(&h, "shared/MaxPool_1", "MaxPool", x);
    emp_op_id s = hand_graph_op(&h, "shared/Relu", "Relu", x);
    hand_graph_op(&h, "end", "Relu", s);
    hand_graph_op(&h, "other_end", "Relu", s);
    hand_graph_finish(&h);
    grouping *groups = group(h.problem);
    EXPECT_TOGETHER("net/one/Conv2D", "net/one/bn/Relu");
    EXPECT_TOGETHER("net/one/Conv2D", "net/one/Mul");
    EXPECT_TOGETHER("net/two/Conv2D", "net/two/Mul");
    EXPECT_APART("net/one/Conv2D", "net/two/Conv2D");
    EXPECT_APART("net/one/Conv2D", "probe_1");
    EXPECT_APART("shared/MaxPool", "shared/MaxPool_1");
    EXPECT_APART("shared/MaxPool_1", "shared/Relu");
    ungroup(groups);
    task_destroy(&h);
}

Test(colocation_groups, names_tell_cells_and_gradients)
{
    size_t      length = 0;
    const char *forward = NULL;

    cr_expect_eq(emp_cell_of_name("rnn/cell_12_3/add", &length), 12);
    cr_expect_eq(length, strlen("rnn/cell_12"));
    cr_expect_eq(emp_cell_of_name("rnn/cell_x/add", &length), -1);
    cr_expect_eq(length, 0);
    cr_expect_eq(emp_forward_of_gradient("gradients/a/b_grad/Mul", &forward), 3);
    cr_expect_eq(strncmp(forward, "a/b", 3), 0);
}

/* ---- random graphs against the rule, applied one pair at a time --------------------- */

enum { RANDOM_OPS = 40 };

/* The group that alone reads group x; -1: nobody does, or several. */
static int only_reader(bool reads[RANDOM_OPS][RANDOM_OPS], const int *group, int x)
{
    int reader = -1;

    for (int from = 0; from < RANDOM_OPS; from++) {
        for (int to = 0; to < RANDOM_OPS; to++) {
            if (group[from] != x || !reads[from][to] || group[to] == x) continue;
            if (reader >= 0 && group[to] != reader) return -1;
            reader = group[to];
        }
    }
    return reader;
}

static void join_plainly(bool reads[RANDOM_OPS][RANDOM_OPS], int *group)
{
    for (int x = 0; x < RANDOM_OPS; x++) {
        int reader = only_reader(reads, group, x);
        if (reader < 0) continue;
        for (int op = 0; op < RANDOM_OPS; op++)
            if (group[op] == x) group[op] = reader;
        x = -1; /* from the start */
    }
}

static void check_random_graph(uint64_t seed)
{
    static bool reads[RANDOM_OPS][RANDOM_OPS];
    int         want[RANDOM_OPS];
    task        h;
    emp_rng     rng;

    memset(reads, 0, sizeof reads);
    emp_rng_init(&rng, seed, 0, 0);
    hand_graph_begin(&h);
    for (int op = 0; op < RANDOM_OPS; op++) {
        char      name[16];
        emp_op_id inputs[2];
        int       count = op == 0 ? 0 : 1 + (int)emp_rng_below(&rng, 2);
        for (int i = 0; i < count; i++) {
            int reach = op < 12 ? op : 12;
            inputs[i] = op - 1 - (int)emp_rng_below(&rng, (uint32_t)reach);
            reads[inputs[i]][op] = true;
        }
        snprintf(name, sizeof name, "op%d", op);
        hand_graph_add(&h, name,
                       count == 0   ? "Placeholder"
                       : count == 1 ? "Relu"
                                    : "Add",
                       inputs, count);
        want[op] = op;
    }
    hand_graph_finish(&h);
    join_plainly(reads, want);
    grouping *groups = group(h.problem);
    for (int a = 0; a < RANDOM_OPS; a++) {
        for (int b = 0; b < a; b++) {
            bool together = groups->group_of_class[h.graph->op[a].colocation_class] ==
                            groups->group_of_class[h.graph->op[b].colocation_class];
            cr_assert_eq(together, want[a] == want[b], "seed %d: op%d and op%d",
                         (int)seed, a, b);
        }
    }
    ungroup(groups);
    task_destroy(&h);
}

Test(colocation_groups, equal_the_rule_applied_plainly)
{
    for (uint64_t seed = 0; seed < 50; seed++) check_random_graph(seed);
}

/* ---- generated workloads ----------------------------------------------------------- */

typedef struct {
    emp_graph   *graph;
    emp_machine *machine;
    emp_problem *problem;
    grouping    *groups;
} workload;

static void make(workload *w, const char *spec)
{
    emp_runtime runtime;

    memset(w, 0, sizeof *w);
    MUST(emp_source_load(&w->graph, NULL, NULL, spec, &why));
    MUST(emp_machine_load(&w->machine, "k40x2", &why));
    MUST(emp_runtime_init(&runtime, "tf-r1.3", &why));
    MUST(emp_problem_create(&w->problem, w->graph, w->machine, &runtime, spec, &why));
    w->groups = group(w->problem);
}

static void clear(workload *w)
{
    ungroup(w->groups);
    emp_problem_destroy(w->problem);
    emp_machine_destroy(w->machine);
    emp_graph_destroy(w->graph);
}

static int32_t group_of_op(const workload *w, emp_op_id op)
{
    return w->groups->group_of_class[w->graph->op[op].colocation_class];
}

static bool has_type(const workload *w, emp_op_id op, const char *type)
{
    return strcmp(w->graph->type_name[w->graph->type[op]], type) == 0;
}

static bool is_gradient(const workload *w, emp_op_id op)
{
    const char *forward;

    return emp_forward_of_gradient(w->graph->name[op], &forward) > 0;
}

/* Ops of whose kind a group that rule 3 makes has just one: a convolution, a pooling, the
 * cut of an LSTM's sums into its gates. */
static bool makes_layer(const workload *w, emp_op_id op)
{
    return !is_gradient(w, op) &&
           (has_type(w, op, "Conv2D") || has_type(w, op, "MaxPool") ||
            has_type(w, op, "AvgPool") ||
            (has_type(w, op, "Split") &&
             strstr(w->graph->name[op], "/basic_lstm_cell/") != NULL));
}

static void expect_every_free_class_in_a_group(const workload *w)
{
    int32_t *members = EMP_NEW_ARRAY(int32_t, (size_t)w->groups->group_count);

    for (emp_op_id op = 0; op < w->graph->op_count; op++) {
        int32_t c = w->graph->op[op].colocation_class, g = w->groups->group_of_class[c];
        cr_assert(g >= -1 && g < w->groups->group_count);
        if (g >= 0) members[g] += !w->graph->op[op].is_folded;
        if ((w->problem->kinds_of_class[c] & EMP_KIND_GPU) == 0)
            cr_assert_eq(g, -1, "%s cannot move", w->graph->name[op]);
        else if (!w->graph->op[op].is_folded)
            cr_assert_geq(g, 0, "%s has no group", w->graph->name[op]);
    }
    for (int32_t g = 0; g < w->groups->group_count; g++)
        cr_expect_gt(members[g], 0, "group %d is empty", g);
    emp_free(members);
}

static int32_t expect_one_layer_a_group(const workload *w)
{
    int32_t *layers = EMP_NEW_ARRAY(int32_t, (size_t)w->groups->group_count), count = 0;

    for (emp_op_id op = 0; op < w->graph->op_count; op++) {
        if (!makes_layer(w, op)) continue;
        cr_expect_eq(++layers[group_of_op(w, op)], 1, "%s is not alone",
                     w->graph->name[op]);
        count++;
    }
    emp_free(layers);
    return count;
}

/* No group is left that one other group alone reads, unless it is a layer. */
static void expect_nothing_left_to_join(const workload *w)
{
    enum { NOBODY = -1, SEVERAL = -2 };
    const emp_graph *g = w->graph;
    int32_t         *reader = EMP_NEW_ARRAY(int32_t, (size_t)w->groups->group_count);

    for (int32_t i = 0; i < w->groups->group_count; i++) reader[i] = NOBODY;
    for (emp_op_id to = 0; to < g->op_count; to++) {
        int32_t b = g->op[to].is_folded ? -1 : group_of_op(w, to);
        if (makes_layer(w, to)) reader[b] = SEVERAL;
        for (int32_t i = g->input_offset[to]; i < g->input_offset[to + 1]; i++) {
            emp_op_id from = g->tensor[g->input[i]].producer;
            int32_t   a = g->op[from].is_folded ? -1 : group_of_op(w, from);
            if (a < 0 || a == b || g->op[to].is_folded) continue;
            reader[a] = b >= 0 && (reader[a] == NOBODY || reader[a] == b) ? b : SEVERAL;
        }
    }
    for (int32_t i = 0; i < w->groups->group_count; i++)
        cr_expect_lt(reader[i], 0, "group %d could go into %d", i, reader[i]);
    emp_free(reader);
}

static int32_t expect_rules_kept(workload *w, const char *spec)
{
    make(w, spec);
    expect_every_free_class_in_a_group(w);
    expect_nothing_left_to_join(w);
    for (emp_op_id op = 0; op < w->graph->op_count; op++) {
        const char *forward;
        size_t      length = emp_forward_of_gradient(w->graph->name[op], &forward);
        char        name[512];
        if (length == 0 || group_of_op(w, op) < 0 || op % 7 != 0) continue;
        snprintf(name, sizeof name, "%.*s", (int)length, forward);
        emp_op_id twin = emp_graph_find(w->graph, name);
        if (twin >= 0 && group_of_op(w, twin) >= 0 && !w->graph->op[twin].is_folded &&
            !w->graph->op[op].is_folded)
            cr_assert_eq(group_of_op(w, op), group_of_op(w, twin), "%s",
                         w->graph->name[op]);
    }
    return expect_one_layer_a_group(w);
}

Test(colocation_groups, inception_has_a_group_per_layer)
{
    workload w;

    cr_expect_eq(expect_rules_kept(&w, "inception_v3"), 94 + 4 + 15,
                 "convolutions, those of the logits, poolings");
    for (emp_op_id op = 0; op < w.graph->op_count; op++) {
        if (strstr(w.graph->name[op], "Mixed_6b/Branch_1/Conv2d_0b_1x7/") != NULL &&
            group_of_op(&w, op) >= 0 && !w.graph->op[op].is_folded)
            cr_expect_eq(group_of_op(&w, op),
                         group_of_op(&w, emp_graph_find(
                                             w.graph, "InceptionV3/InceptionV3/Mixed_6b/"
                                                      "Branch_1/Conv2d_0b_1x7/Conv2D")),
                         "%s", w.graph->name[op]);
    }
    clear(&w);
}

Test(colocation_groups, resnet_has_a_group_per_layer)
{
    workload w;

    cr_expect_gt(expect_rules_kept(&w, "resnet"), 150);
    clear(&w);
}

/* Each step of each cell: all its ops but the variables. */
static void expect_steps(const char *spec, int32_t steps)
{
    workload w;

    cr_expect_eq(expect_rules_kept(&w, spec), steps, "%s", spec);
    bool *is_step = EMP_NEW_ARRAY(bool, (size_t)w.groups->group_count);
    for (emp_op_id op = 0; op < w.graph->op_count; op++)
        if (makes_layer(&w, op)) is_step[group_of_op(&w, op)] = true;
    for (emp_op_id op = 0; op < w.graph->op_count; op++) {
        size_t length;
        bool   is_cell = emp_cell_of_name(w.graph->name[op], &length) >= 0 &&
                       (has_type(&w, op, "MatMul") || has_type(&w, op, "Sigmoid") ||
                        has_type(&w, op, "Tanh") || has_type(&w, op, "Mul"));
        if (is_cell && !is_gradient(&w, op) && !w.graph->op[op].is_folded &&
            strncmp(w.graph->name[op], "clip", 4) != 0)
            cr_expect(is_step[group_of_op(&w, op)], "%s", w.graph->name[op]);
    }
    emp_free(is_step);
    clear(&w);
}

Test(colocation_groups, each_step_of_a_recurrent_cell_is_a_group)
{
    expect_steps("rnnlm:layers=2,steps=5,units=64,vocab=100,sampled=20", 10);
    expect_steps("rnnlm:layers=2,steps=5,units=64,vocab=100,sampled=20,dropout=1", 10);
    expect_steps("nmt:layers=3,steps=4,units=64,vocab=100", 28); /* one reads both ways */
    expect_steps("nmt:layers=2,steps=4,units=64,vocab=100,bidirectional=0,dropout=1", 16);
}

/* The table of policy/colocrl/README.md. */
Test(colocation_groups, of_table_1_are_as_many_as_stated)
{
    static const struct {
        const char *spec;
        int32_t     groups;
    } row[] = {{"rnnlm", 129},         {"resnet", 270},        {"nmt", 1009},
               {"nmt:layers=4", 1185}, {"nmt:layers=8", 1537}, {"inception_v3", 143}};

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        workload w;
        make(&w, row[i].spec);
        cr_expect_eq(w.groups->group_count, row[i].groups, "%s: %d", row[i].spec,
                     w.groups->group_count);
        clear(&w);
    }
}

/* ---- some of the rules --------------------------------------------------------------- */

static int32_t count_by(const emp_problem *problem, uint32_t rules)
{
    int32_t count = 0, *group_of_class;

    group_of_class = EMP_NEW_ARRAY(int32_t, (size_t)problem->graph->class_count);
    MUST(emp_colocation_groups_by(group_of_class, &count, problem, rules, &why));
    emp_free(group_of_class);
    return count;
}

Test(colocation_groups, each_rule_can_be_left_out)
{
    static const uint32_t rules[] = {EMP_COLOCATION_GRADIENTS, EMP_COLOCATION_READERS,
                                     EMP_COLOCATION_LAYERS};
    task                  t;

    task_create(&t, "rnnlm:layers=1,steps=4,units=8,vocab=16,sampled=0", "k40x2",
                "tf-r1.3");
    grouping     *all = group(t.problem);
    const int32_t none = count_by(t.problem, 0);
    cr_expect_eq(count_by(t.problem, EMP_COLOCATION_ALL), all->group_count);
    for (int i = 0; i < 3; i++) {
        const int32_t without = count_by(t.problem, EMP_COLOCATION_ALL & ~rules[i]);
        cr_expect(without > all->group_count && without < none, "rule %d: %d of %d..%d",
                  i + 1, without, all->group_count, none);
        cr_expect_lt(count_by(t.problem, rules[i]), none);
    }
    ungroup(all);
    task_destroy(&t);
}

/* ---- failures ---------------------------------------------------------------------- */

Test(colocation_groups, survive_every_allocation_failure)
{
    task    h;
    int32_t count, group_of_class[64];

    hand_graph_comb(&h, 3);
    cr_assert_leq(h.graph->class_count, 64);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_colocation_groups(group_of_class, &count, h.problem, NULL), );
    task_destroy(&h);
}
