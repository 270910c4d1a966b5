// SPDX-License-Identifier: GPL-3.0-or-later
/* Clusters by names: layers apart, forward from backward, steps in blocks; on names made
 * by hand and on the workloads. */
#include "search/groups/class_groups.h"
#include "sim/machine/machine.h"
#include "tests/baselines/fixture.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

static void check_leaks(void) { expect_all_freed(); }

TestSuite(name_clusters, .fini = check_leaks);

/* ---- by hand ---- */

static int32_t cluster(const fixture *f, int32_t *of, int32_t most, int32_t block)
{
    const emp_name_cluster_params params = {most, block};
    int32_t                       count = 0;

    ASSERT_OK(emp_name_clusters(of, &count, f->problem, &params, &err));
    for (int32_t c = 0; c < f->graph->class_count; c++)
        cr_assert(of[c] >= -1 && of[c] < count);
    return count;
}

/* Sixteen steps of a layer and of the next, whose second op has two members a step; steps
 * come in blocks of four. */
Test(name_clusters, walk_through_time_by_their_shortest_series)
{
    enum { STEPS = 16 };
    static char name[3 * STEPS][32];
    int32_t     of[FIXTURE_MAX_OPS];
    OWN_FIXTURE f = fixture_create(2);

    for (int i = 0; i < STEPS; i++) {
        snprintf(name[i], sizeof name[i], i > 0 ? "a/in/MatMul_%d" : "a/in/MatMul", i);
        fixture_op(f, name[i], 1);
    }
    for (int i = 0; i < 2 * STEPS; i++) {
        char *at = name[STEPS + i];
        snprintf(at, sizeof name[0], i > 0 ? "a/in/mul_%d" : "a/in/mul", i);
        fixture_op(f, at, 1);
    }
    fixture_problem(f);
    cr_expect_eq(cluster(f, of, 100, 4), 4);
    for (int i = 0; i < STEPS; i++) {
        cr_expect_eq(of[i], i / 4);
        cr_expect_eq(of[STEPS + 2 * i], i / 4, "mul_%d is of step %d", 2 * i, i);
        cr_expect_eq(of[STEPS + 2 * i + 1], i / 4);
    }
    cr_expect_eq(cluster(f, of, 3, 4), 2, "blocks are doubled until there is room");
    cr_expect_eq(cluster(f, of, 1, 4), 1);
}

Test(name_clusters, tell_layers_and_directions_apart)
{
    static const char *const names[] = {
        "rnn/cell_0/lstm/kernel",                              /* 0 */
        "rnn/cell_0/lstm/MatMul",                              /* with it */
        "rnn/cell_1/lstm/MatMul",                              /* 1 */
        "gradients/rnn/cell_1/lstm/MatMul_grad/MatMul",        /* 2 backward */
        "gradients/rnn/cell_1/lstm/MatMul_grad/MatMul_1",      /* 3 weights */
        "gradients/rnn/cell_0/lstm/MatMul_grad/MatMul_1",      /* 4 weights */
        "gradients/AddN_3",                                    /* with it */
        "clip/mul",                                            /* 5 */
        "gradients/AddN_4",                                    /* with 2 */
        "gradients/rnn/cell_0/lstm/Sigmoid_grad/SigmoidGrad"}; /* 6 backward */
    static const int32_t wanted[] = {0, 0, 1, 2, 3, 4, 4, 5, 2, 6};
    int32_t              of[COUNT(names)];
    OWN_FIXTURE          f = fixture_create(2);

    for (int i = 0; i < (int)COUNT(names); i++) fixture_op(f, names[i], 1);
    fixture_edge(f, 3, 8); /* a sum that goes on backwards */
    fixture_edge(f, 8, 9);
    fixture_edge(f, 4, 7); /* to what updates */
    fixture_edge(f, 5, 6); /* a sum of weights' gradients */
    fixture_edge(f, 6, 7);
    fixture_problem(f);
    cr_expect_eq(cluster(f, of, 100, 8), 7);
    for (int i = 0; i < (int)COUNT(names); i++)
        cr_expect_eq(of[i], wanted[i], "%s is in %d", names[i], of[i]);
}

/* Scopes are cut to make room; those without any name to go by share the last. */
Test(name_clusters, keep_to_the_most_there_may_be)
{
    static const char *const nested[] = {"a/b/c/x", "a/b/d/x", "a/e/x", "f/g/x"};
    static const char *const flat[] = {"a/x", "b/x", "c/x", "d/x"};
    int32_t                  of[4];
    fixture                 *f = fixture_create(2), *g = fixture_create(2);

    for (int i = 0; i < 4; i++) {
        fixture_op(f, nested[i], 1);
        fixture_op(g, flat[i], 1);
    }
    fixture_cpu_only(f, 3);
    fixture_problem(f);
    cr_expect_eq(cluster(f, of, 3, 8), 3);
    cr_expect_eq(cluster(f, of, 2, 8), 2);
    cr_expect(of[0] == 0 && of[1] == 0 && of[2] == 1);
    cr_expect_eq(cluster(f, of, 1, 8), 1);
    cr_expect_eq(of[3], -1, "has no choice");
    fixture_problem(g);
    cr_expect_eq(cluster(g, of, 3, 8), 3);
    cr_expect(of[0] == 0 && of[1] == 1 && of[2] == 2 && of[3] == 2);
    fixture_destroy(f);
    fixture_destroy(g);
}

/* No cluster holds both forward ops and gradients: leaders of classes say which. */
static void expect_clusters(const char *spec, int32_t most, int32_t low, int32_t high)
{
    const emp_class_groups_params params = {
        .kind = EMP_CLASS_GROUPS_NAMES, .count = most, .imbalance = 2.0, .seed = 1};
    task    w;
    int32_t count = 0, is_forward[200] = {0}, is_backward[200] = {0};

    task_create(&w, spec, "k40x2", "ideal");
    int32_t *of = EMP_NEW_ARRAY(int32_t, (size_t)w.graph->class_count);
    ASSERT_OK(emp_class_groups(of, &count, w.problem, &params, &err));
    cr_expect(count >= low && count <= high, "%s: %d clusters", spec, count);
    for (int32_t k = 0; k < w.graph->class_count; k++) {
        if (of[k] < 0) continue;
        const char *name = w.graph->name[w.problem->leader_of_class[k]];
        bool        is_gradient = strncmp(name, "gradients/", 10) == 0;
        is_forward[of[k]] += !is_gradient;
        is_backward[of[k]] += is_gradient;
    }
    for (int32_t k = 0; k < count; k++)
        cr_expect((is_forward[k] == 0) != (is_backward[k] == 0), "%s: %d and %d", spec,
                  is_forward[k], is_backward[k]);
    emp_free(of);
    task_destroy(&w);
}

Test(name_clusters, are_some_dozens_on_every_workload)
{
    expect_clusters("nmt:layers=2,steps=24", 200, 60, 200);
    expect_clusters("nmt:layers=2,steps=24", 24, 15, 24);
    expect_clusters("rnnlm", 200, 40, 60);
    expect_clusters("inception_v3", 200, 60, 200);
    expect_clusters("inception_v3", 24, 8, 24);
    expect_clusters("resnet:depth=50", 200, 40, 200);
}
