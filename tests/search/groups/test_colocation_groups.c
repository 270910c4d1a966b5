// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the co-location rules kept: what must stand together does, what must not does not,
 * and no rule is left that could be applied once more? */
#include "base/rng.h"
#include "search/groups/colocation_groups.h"
#include "sim/graph/op.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

static task     t;
static int32_t  group_count;
static int32_t *group_of_class;

static void tear_down(void)
{
    emp_free(group_of_class);
    task_destroy(&t);
    expect_all_freed();
}

TestSuite(colocation_groups, .fini = tear_down);

static void group(void)
{
    emp_free(group_of_class);
    group_of_class = EMP_NEW_ARRAY(int32_t, (size_t)t.graph->class_count);
    ASSERT_OK(emp_colocation_groups(group_of_class, &group_count, t.problem, &err));
}

static int32_t group_of(emp_op_id op)
{
    return group_of_class[t.graph->op[op].colocation_class];
}

static int32_t group_of_name(const char *name)
{
    emp_op_id op = emp_graph_find(t.graph, name);

    cr_assert_geq(op, 0, "no op %s", name);
    return group_of(op);
}

/* ---- single rules ------------------------------------------------------------------ */

enum { MOST_OPS = 16, MOST_PAIRS = 6 };

typedef struct {
    const char *name, *type;
    int         input[2]; /* counted from 1; 0: none */
} small_op;

typedef struct {
    const char *what;
    int32_t     group_count; /* -1: does not matter */
    small_op    op[MOST_OPS];
    const char *together[MOST_PAIRS][2], *apart[MOST_PAIRS][2];
} small_graph;

static const small_graph small_graphs[] = {
    {"a chain collapses",
     1,
     {{"in", "Placeholder", {0}},
      {"a", "Relu", {1}},
      {"b", "Relu", {2}},
      {"c", "Relu", {3}}},
     {{"in", "c"}},
     {{NULL}}},
    {"a fan-out does not",
     3,
     {{"in", "Placeholder", {0}},
      {"a", "Relu", {1}},
      {"b", "Relu", {2}},
      {"c", "Relu", {2}}},
     {{"in", "a"}},
     {{"a", "b"}, {"a", "c"}, {"b", "c"}}},
    {"the two readers of a diamond end in one group, which is then its only reader",
     1,
     {{"in", "Placeholder", {0}},
      {"b", "Relu", {1}},
      {"c", "Relu", {1}},
      {"d", "Add", {2, 3}}},
     {{"in", "d"}},
     {{NULL}}},
    {"a gradient joins its op",
     -1,
     {{"in", "Placeholder", {0}},
      {"layer/a", "Relu", {1}},
      {"layer/b", "Relu", {1}},
      {"gradients/layer/b_grad/Mul", "Mul", {3, 2}},
      {"one", "Relu", {4}},
      {"other", "Relu", {4}},
      {"third", "Relu", {2}}},
     {{"layer/b", "gradients/layer/b_grad/Mul"}},
     {{"layer/a", "layer/b"}, {"one", "other"}}},
    {"what cannot move takes nobody in",
     2,
     {{"in", "Placeholder", {0}},
      {"a", "Relu", {1}},
      {"text", "AsString", {2}},
      {"b", "Relu", {2}}},
     {{NULL}},
     {{"a", "b"}}},
    {"a convolution's scope is its layer; what stands beside two is neither",
     -1,
     {{"image", "Placeholder", {0}},
      {"kernel_image", "Placeholder", {0}},
      {"net/one/Conv2D", "Conv2D", {1, 2}},
      {"net/one/bn/Relu", "Relu", {3}},
      {"net/one/Mul", "Mul", {3, 4}},
      {"probe_1", "Relu", {3}},
      {"net/two/Conv2D", "Conv2D", {1, 2}},
      {"net/two/Relu", "Relu", {7}},
      {"net/two/Mul", "Mul", {7, 8}},
      {"probe_2", "Relu", {7}},
      {"shared/MaxPool", "MaxPool", {1}},
      {"shared/MaxPool_1", "MaxPool", {11}},
      {"shared/Relu", "Relu", {12}},
      {"end", "Relu", {13}},
      {"other_end", "Relu", {13}}},
     {{"net/one/Conv2D", "net/one/bn/Relu"},
      {"net/one/Conv2D", "net/one/Mul"},
      {"net/two/Conv2D", "net/two/Mul"}},
     {{"net/one/Conv2D", "net/two/Conv2D"},
      {"net/one/Conv2D", "probe_1"},
      {"shared/MaxPool", "shared/MaxPool_1"},
      {"shared/MaxPool_1", "shared/Relu"}}}};

static void expect_small_graph(const small_graph *g)
{
    hand_graph_begin(&t);
    for (int i = 0; i < MOST_OPS && g->op[i].name != NULL; i++) {
        const small_op *op = &g->op[i];
        const emp_op_id inputs[] = {op->input[0] - 1, op->input[1] - 1};
        if (op->input[1] > 0)
            hand_graph_add(&t, op->name, op->type, inputs, 2);
        else
            hand_graph_op(&t, op->name, op->type, inputs[0]);
    }
    hand_graph_finish(&t);
    group();
    if (g->group_count >= 0) cr_expect_eq(group_count, g->group_count, "%s", g->what);
    for (int i = 0; i < MOST_PAIRS && g->together[i][0] != NULL; i++)
        cr_expect_eq(group_of_name(g->together[i][0]), group_of_name(g->together[i][1]),
                     "%s: %s", g->what, g->together[i][1]);
    for (int i = 0; i < MOST_PAIRS && g->apart[i][0] != NULL; i++)
        cr_expect_neq(group_of_name(g->apart[i][0]), group_of_name(g->apart[i][1]),
                      "%s: %s", g->what, g->apart[i][1]);
    if (emp_graph_find(t.graph, "text") >= 0) cr_expect_eq(group_of_name("text"), -1);
    task_destroy(&t);
}

Test(colocation_groups, of_small_graphs_follow_the_rules)
{
    for (size_t i = 0; i < COUNT(small_graphs); i++) expect_small_graph(&small_graphs[i]);
}

Test(colocation_groups, variables_go_to_the_only_op_that_reads_them)
{
    hand_graph_comb(&t, 4);
    group();
    cr_expect_eq(group_count, 9, "4 layers, 4 readers, the end");
    cr_expect_eq(group_of_name("w_2"), group_of_name("product_2"));
    cr_expect_eq(group_of_name("product_2"), group_of_name("relu_2"));
    cr_expect_neq(group_of_name("relu_1"), group_of_name("relu_2"));
    cr_expect_neq(group_of_name("relu_2"), group_of_name("reader_2"));
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

enum { RANDOM_OPS = 40 };

/* The only group that reads group x; -1: none does, or several. */
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
    emp_rng     rng;

    memset(reads, 0, sizeof reads);
    emp_rng_init(&rng, seed, 0, 0);
    hand_graph_begin(&t);
    for (int op = 0; op < RANDOM_OPS; op++) {
        static const char *const types[] = {"Placeholder", "Relu", "Add"};
        char                     name[16];
        emp_op_id                inputs[2];
        int                      count = op == 0 ? 0 : 1 + (int)emp_rng_below(&rng, 2);
        for (int i = 0; i < count; i++) {
            int reach = op < 12 ? op : 12;
            inputs[i] = op - 1 - (int)emp_rng_below(&rng, (uint32_t)reach);
            reads[inputs[i]][op] = true;
        }
        snprintf(name, sizeof name, "op%d", op);
        hand_graph_add(&t, name, types[count], inputs, count);
        want[op] = op;
    }
    hand_graph_finish(&t);
    join_plainly(reads, want);
    group();
    for (int a = 0; a < RANDOM_OPS; a++)
        for (int b = 0; b < a; b++)
            cr_assert_eq(group_of(a) == group_of(b), want[a] == want[b],
                         "seed %d: op%d and op%d", (int)seed, a, b);
    task_destroy(&t);
}

Test(colocation_groups, equal_the_rule_applied_plainly)
{
    for (uint64_t seed = 0; seed < 50; seed++) check_random_graph(seed);
}

/* ---- generated workloads ----------------------------------------------------------- */

static void make(const char *spec)
{
    task_destroy(&t);
    task_create(&t, spec, "k40x2", "tf-r1.3");
    group();
}

static bool has_type(emp_op_id op, const char *type)
{
    return strcmp(t.graph->type_name[t.graph->type[op]], type) == 0;
}

static bool is_gradient(emp_op_id op)
{
    const char *forward;

    return emp_forward_of_gradient(t.graph->name[op], &forward) > 0;
}

/* Ops of whose kind a group that rule 3 makes has just one: a convolution, a pooling, the
 * cut of an LSTM's sums into its gates. */
static bool makes_layer(emp_op_id op)
{
    return !is_gradient(op) && (has_type(op, "Conv2D") || has_type(op, "MaxPool") ||
                                has_type(op, "AvgPool") ||
                                (has_type(op, "Split") &&
                                 strstr(t.graph->name[op], "/basic_lstm_cell/") != NULL));
}

static void expect_every_free_class_in_a_group(void)
{
    OWN_EMP_FREE int32_t *members = EMP_NEW_ARRAY(int32_t, (size_t)group_count);

    for (emp_op_id op = 0; op < t.graph->op_count; op++) {
        int32_t c = t.graph->op[op].colocation_class, g = group_of_class[c];
        cr_assert(g >= -1 && g < group_count);
        if (g >= 0) members[g] += !t.graph->op[op].is_folded;
        if ((t.problem->kinds_of_class[c] & EMP_KIND_GPU) == 0)
            cr_assert_eq(g, -1, "%s cannot move", t.graph->name[op]);
        else if (!t.graph->op[op].is_folded)
            cr_assert_geq(g, 0, "%s has no group", t.graph->name[op]);
    }
    for (int32_t g = 0; g < group_count; g++)
        cr_expect_gt(members[g], 0, "group %d is empty", g);
}

static int32_t expect_one_layer_a_group(void)
{
    int32_t *layers = EMP_NEW_ARRAY(int32_t, (size_t)group_count), count = 0;

    for (emp_op_id op = 0; op < t.graph->op_count; op++) {
        if (!makes_layer(op)) continue;
        cr_expect_eq(++layers[group_of(op)], 1, "%s is not alone", t.graph->name[op]);
        count++;
    }
    emp_free(layers);
    return count;
}

/* No group is left that one other group alone reads, unless it is a layer. */
static void expect_nothing_left_to_join(void)
{
    enum { NOBODY = -1, SEVERAL = -2 };
    const emp_graph *g = t.graph;
    int32_t         *reader = EMP_NEW_ARRAY(int32_t, (size_t)group_count);

    for (int32_t i = 0; i < group_count; i++) reader[i] = NOBODY;
    for (emp_op_id to = 0; to < g->op_count; to++) {
        int32_t b = g->op[to].is_folded ? -1 : group_of(to);
        if (makes_layer(to)) reader[b] = SEVERAL;
        for (int32_t i = g->input_offset[to]; i < g->input_offset[to + 1]; i++) {
            emp_op_id from = g->tensor[g->input[i]].producer;
            int32_t   a = g->op[from].is_folded ? -1 : group_of(from);
            if (a < 0 || a == b || g->op[to].is_folded) continue;
            reader[a] = b >= 0 && (reader[a] == NOBODY || reader[a] == b) ? b : SEVERAL;
        }
    }
    for (int32_t i = 0; i < group_count; i++)
        cr_expect_lt(reader[i], 0, "group %d could go into %d", i, reader[i]);
    emp_free(reader);
}

static int32_t expect_rules_kept(const char *spec)
{
    make(spec);
    expect_every_free_class_in_a_group();
    expect_nothing_left_to_join();
    for (emp_op_id op = 0; op < t.graph->op_count; op++) {
        const char *forward;
        size_t      length = emp_forward_of_gradient(t.graph->name[op], &forward);
        char        name[512];
        if (length == 0 || group_of(op) < 0 || op % 7 != 0) continue;
        snprintf(name, sizeof name, "%.*s", (int)length, forward);
        emp_op_id twin = emp_graph_find(t.graph, name);
        if (twin >= 0 && group_of(twin) >= 0 && !t.graph->op[twin].is_folded &&
            !t.graph->op[op].is_folded)
            cr_assert_eq(group_of(op), group_of(twin), "%s", t.graph->name[op]);
    }
    return expect_one_layer_a_group();
}

Test(colocation_groups, inception_has_a_group_per_layer)
{
    cr_expect_eq(expect_rules_kept("inception_v3"), 94 + 4 + 15,
                 "convolutions, those of the logits, poolings");
    for (emp_op_id op = 0; op < t.graph->op_count; op++) {
        if (strstr(t.graph->name[op], "Mixed_6b/Branch_1/Conv2d_0b_1x7/") != NULL &&
            group_of(op) >= 0 && !t.graph->op[op].is_folded)
            cr_expect_eq(
                group_of(op),
                group_of(emp_graph_find(t.graph, "InceptionV3/InceptionV3/Mixed_6b/"
                                                 "Branch_1/Conv2d_0b_1x7/Conv2D")),
                "%s", t.graph->name[op]);
    }
}

Test(colocation_groups, resnet_has_a_group_per_layer)
{
    cr_expect_gt(expect_rules_kept("resnet"), 150);
}

/* Each step of each cell: all its ops but the variables. */
static void expect_steps(const char *spec, int32_t steps)
{
    cr_expect_eq(expect_rules_kept(spec), steps, "%s", spec);
    OWN_EMP_FREE bool *is_step = EMP_NEW_ARRAY(bool, (size_t)group_count);
    for (emp_op_id op = 0; op < t.graph->op_count; op++)
        if (makes_layer(op)) is_step[group_of(op)] = true;
    for (emp_op_id op = 0; op < t.graph->op_count; op++) {
        size_t length;
        bool   is_cell = emp_cell_of_name(t.graph->name[op], &length) >= 0 &&
                       (has_type(op, "MatMul") || has_type(op, "Sigmoid") ||
                        has_type(op, "Tanh") || has_type(op, "Mul"));
        if (is_cell && !is_gradient(op) && !t.graph->op[op].is_folded &&
            strncmp(t.graph->name[op], "clip", 4) != 0)
            cr_expect(is_step[group_of(op)], "%s", t.graph->name[op]);
    }
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

    for (size_t i = 0; i < COUNT(row); i++) {
        make(row[i].spec);
        cr_expect_eq(group_count, row[i].groups, "%s: %d", row[i].spec, group_count);
    }
}

static int32_t count_by(uint32_t rules)
{
    int32_t count = 0;

    ASSERT_OK(emp_colocation_groups_by(group_of_class, &count, t.problem, rules, &err));
    return count;
}

Test(colocation_groups, each_rule_can_be_left_out)
{
    static const uint32_t rules[] = {EMP_COLOCATION_GRADIENTS, EMP_COLOCATION_READERS,
                                     EMP_COLOCATION_LAYERS};

    make("rnnlm:layers=1,steps=4,units=8,vocab=16,sampled=0");
    const int32_t all = group_count, none = count_by(0);
    cr_expect_eq(count_by(EMP_COLOCATION_ALL), all);
    for (int i = 0; i < 3; i++) {
        const int32_t without = count_by(EMP_COLOCATION_ALL & ~rules[i]);
        cr_expect(without > all && without < none, "rule %d: %d of %d..%d", i + 1,
                  without, all, none);
        cr_expect_lt(count_by(rules[i]), none);
    }
}

Test(colocation_groups, survive_every_allocation_failure)
{
    int32_t count, groups[64];

    hand_graph_comb(&t, 3);
    cr_assert_leq(t.graph->class_count, 64);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_colocation_groups(groups, &count, t.problem, NULL), );
}
