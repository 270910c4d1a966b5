// SPDX-License-Identifier: GPL-3.0-or-later
/* Is each change worth what one computes by hand, and what a simulation of it says? */
#include "base/mem.h"
#include "base/text/file.h"
#include "sim/explain/brief.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

enum { SEEDS = 100, GPU = 10, CPU = 20, LATENCY = 5, COPY = LATENCY + 256, STEP = 100 };

TestSuite(what_if, .fini = expect_all_freed);

static emp_what_if find(const task *t, const emp_explanation *why)
{
    const emp_decision d = {.device_of_op = t->device_of_op};
    emp_what_if        what_if = {0};

    ASSERT_OK(emp_what_if_find(&what_if, t->problem, &d, why, &err));
    return what_if;
}

static emp_explanation *why;
static emp_what_if      w;

/* The machine of a tiny problem states the times of its routes; here they follow from links. */
static void create(task *t, const char *ops, const emp_runtime *runtime)
{
    task_create_ops(t, ops, runtime);
    for (int i = 0; i < t->machine->link_count; i++)
        t->machine->link[i] = (emp_link){.bytes_per_s = 1e9, .latency_s = LATENCY * 1e-9};
}

static void ask(const task *t)
{
    why = task_explain(t);
    w = find(t, why);
}

static void destroy(task *t)
{
    emp_explain_destroy(why);
    task_destroy(t);
}

static const emp_what_if_change *change_of(emp_what_if_kind kind)
{
    for (int32_t i = 0; i < w.count; i++)
        if (w.change[i].kind == kind) return &w.change[i];
    return NULL;
}

static void expect_time(emp_what_if_kind kind, emp_time_ns time)
{
    const emp_what_if_change *change = change_of(kind);

    cr_assert_not_null(change, "%s", emp_what_if_key(kind));
    cr_expect_eq(change->step_time_ns, time, "%s: %" PRId64 " ns", emp_what_if_key(kind),
                 change->step_time_ns);
}

/* Two copies to gpu:0 share its link in, the one from gpu:1 goes first. A time of 0: that change is
 * not listed, as nothing waits for it or there is no such thing. */
static const struct {
    const char      *ops;
    bool             is_serial;
    emp_time_ns      step_ns;
    emp_what_if_kind kind;
    emp_time_ns      changed_ns;
} cases[] = {
    {"0; 2; 1<0,1", false, GPU + 2 * COPY + GPU, EMP_WHAT_IF_LINK_QUEUE,
     CPU + COPY + GPU},
    {"0; 2; 1<0,1", false, GPU + 2 * COPY + GPU, EMP_WHAT_IF_LINK, GPU + COPY + GPU},
    {"0; 2; 1<0,1", false, GPU + 2 * COPY + GPU, EMP_WHAT_IF_HOST, 0},
    {"1; 1", false, 2 * GPU, EMP_WHAT_IF_GPU, GPU},
    {"1; 1", false, 2 * GPU, EMP_WHAT_IF_LINK_QUEUE, 0},
    {"1; 1", false, 2 * GPU, EMP_WHAT_IF_LINK, 0},
    {"1; 1", false, 2 * GPU, EMP_WHAT_IF_CPU, 0},
    {"1; 1", false, 2 * GPU, EMP_WHAT_IF_MEMORY, 0},
    {"1; 1", false, 2 * GPU, EMP_WHAT_IF_MOVE, 0}, /* names without scopes */
    {"1; 1", false, 2 * GPU, EMP_WHAT_IF_OP, GPU}, /* to gpu:1 */
    {"0", false, CPU, EMP_WHAT_IF_OP, GPU},
    {"0", false, CPU, EMP_WHAT_IF_CPU, CPU / 2},
    {"1; 1", true, 3 + 2 * GPU + STEP, EMP_WHAT_IF_HOST, 1 + 2 * GPU + STEP},
    {"1; 1", true, 3 + 2 * GPU + STEP, EMP_WHAT_IF_GPU, 3 + GPU + STEP},
};

Test(what_if, changes_are_worth_what_one_computes_by_hand)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        emp_runtime runtime = cases[i].is_serial ? tiny_serial() : tiny_list_scheduling();
        task        t;
        create(&t, cases[i].ops, &runtime);
        ask(&t);
        const emp_what_if_change *change = change_of(cases[i].kind);
        cr_expect_eq(why->result.step_time_ns, cases[i].step_ns, "%s", cases[i].ops);
        cr_expect_eq(change == NULL ? 0 : change->step_time_ns, cases[i].changed_ns,
                     "%s: %s", cases[i].ops, emp_what_if_key(cases[i].kind));
        if (change != NULL && cases[i].kind == EMP_WHAT_IF_LINK_QUEUE)
            cr_expect_eq(change->link, 3, "into gpu:0");
        destroy(&t);
    }
}

/* A reader of the JSON goes by the list of the page. */
Test(what_if, every_kind_stands_in_the_documents)
{
    char   path[4096], key[32], *text;
    size_t size;

    snprintf(path, sizeof path, "%s/docs/simulator.md", getenv("EMP_SOURCE_DIR"));
    ASSERT_OK(emp_whole_file_load(&text, &size, path, 1 << 20, &err));
    const char *list = strstr(text, "Changes are `link_queue`");
    cr_assert_not_null(list);
    *strstr(list, "Causes are") = '\0';
    for (int kind = 0; kind < EMP_WHAT_IF_KINDS; kind++) {
        snprintf(key, sizeof key, "`%s`", emp_what_if_key((emp_what_if_kind)kind));
        cr_expect_not_null(strstr(list, key), "%s", key);
    }
    emp_free(text);
}

/* Groups of one core each, with 4 ns more for an op beside another group's: the step is two ops beside others, and
 * half of that where both groups are twice as fast. */
Test(what_if, groups_that_share_cores_are_tried_with_what_they_share)
{
    enum { GROUPS = 2, BESIDE = GPU + 4 };
    const emp_runtime runtime = tiny_list_scheduling();
    task              t;

    create(&t, "1; 1; 2; 2", &runtime);
    t.problem->costs->gpu_beside_ns = EMP_NEW_ARRAY(emp_time_ns, 4);
    for (int op = 0; op < 4; op++) t.problem->costs->gpu_beside_ns[op] = BESIDE;
    t.machine->core_count = GROUPS;
    t.machine->device[0].cores = 1;
    for (int d = 1; d <= GROUPS; d++) {
        t.machine->device[d].multiprocessors = 1;
        t.machine->device[d].has_sharing = true;
        t.machine->device[d].sharing =
            (emp_sharing){.copy_bytes_per_s = 256e9, .hand_over_s = 3e-9};
    }
    ask(&t);
    cr_expect_eq(why->result.step_time_ns, 2 * BESIDE);
    expect_time(EMP_WHAT_IF_GPU, BESIDE);
    destroy(&t);
}

static const char        apart[] = "1; 2<0; 2*3";
static const char *const names[] = {"a/x", "a/y", "b/z"};

/* Op a/y on gpu:1 reads a/x of gpu:0. Op b/z keeps gpu:1 busy beside them. */
static void create_apart(task *t)
{
    emp_runtime runtime = tiny_list_scheduling();

    create(t, apart, &runtime);
    for (int i = 0; i < 3; i++) t->graph->name[i] = names[i];
}

static void expect_move(const emp_what_if_change *change, emp_device_id to,
                        emp_time_ns time, int32_t op_count, bool is_feasible)
{
    cr_expect_eq(change->kind, EMP_WHAT_IF_MOVE);
    cr_expect_eq(change->to, to, "to %d", change->to);
    cr_expect_eq(change->step_time_ns, time, "%" PRId64 " ns", change->step_time_ns);
    cr_expect_eq(change->op_count, op_count);
    cr_expect_eq(change->is_feasible, is_feasible);
}

Test(what_if, moves_of_a_scope)
{
    task t;

    create_apart(&t);
    ask(&t);
    cr_expect_eq(why->result.step_time_ns, GPU + COPY + GPU);
    const emp_what_if_change *move = change_of(EMP_WHAT_IF_MOVE);
    cr_assert_not_null(move);
    cr_assert_eq(&w.change[w.count] - move, 1, "a scope is moved once");
    cr_expect_eq(why->scopes.scope[move->scope].name[0], 'a');
    expect_move(move, 1, 3 * GPU, 1, true);
    destroy(&t);
}

/* Both ops of the scope at once are too much for gpu:0, which would be best. */
Test(what_if, the_best_move_may_not_fit)
{
    task t;

    create_apart(&t);
    t.machine->device[1].memory_bytes = 300;
    ask(&t);
    cr_assert(why->result.is_feasible);
    const emp_what_if_change *move = change_of(EMP_WHAT_IF_MOVE);
    cr_assert_not_null(move);
    cr_assert_eq(&w.change[w.count] - move, 2);
    expect_move(&move[0], 0, 2 * CPU, 2, true);
    expect_move(&move[1], 1, 3 * GPU, 1, false);
    destroy(&t);
}

Test(what_if, what_does_not_fit_may_with_twice_the_memory)
{
    task t;

    create_apart(&t);
    t.machine->device[1].memory_bytes = 200;
    ask(&t);
    cr_assert_not(why->result.is_feasible);
    expect_time(EMP_WHAT_IF_MEMORY, why->result.step_time_ns);
    cr_expect(change_of(EMP_WHAT_IF_MEMORY)->is_feasible);
    cr_expect_not(change_of(EMP_WHAT_IF_GPU)->is_feasible);
    destroy(&t);
}

/* A scope for each op but the first, which is in none; nested, so that they hold each other. */
static void name_ops(task *t)
{
    static const char *const scopes[] = {"x", "a/x", "a/b/x", "c/x", "c/d/e/x"};

    for (int32_t op = 0; op < t->graph->op_count; op++)
        t->graph->name[op] = scopes[op % 5];
}

static void expect_simulated(task *t, const emp_what_if_change *change, uint64_t seed)
{
    const size_t bytes = (size_t)t->graph->op_count * sizeof *t->device_of_op;
    OWN_EMP_FREE emp_device_id *kept = emp_calloc(1, bytes);

    memcpy(kept, t->device_of_op, bytes);
    for (int32_t op = 0; op < t->graph->op_count; op++)
        if (emp_scopes_is_in(&why->scopes, why->scopes.of_op[op], change->scope))
            t->device_of_op[op] = change->to;
    emp_problem_legalize(t->problem, t->device_of_op);
    emp_sim_result result = task_run(t);
    cr_expect_eq(result.step_time_ns, change->step_time_ns, SEED);
    cr_expect_eq(result.is_feasible, change->is_feasible, SEED);
    memcpy(t->device_of_op, kept, bytes);
}

Test(what_if, changes_of_random_problems_are_worth_what_is_told)
{
    int moves = 0, machines = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        task r;
        random_problem_create(&r, seed);
        name_ops(&r);
        ask(&r);
        cr_assert_leq(w.count, EMP_WHAT_IF_CHANGES);
        for (int32_t i = 0; i < w.count; i++) {
            const emp_what_if_change *c = &w.change[i];
            cr_expect(c->step_time_ns < why->result.step_time_ns ||
                          (c->is_feasible && !why->result.is_feasible),
                      SEED);
            if (c->kind == EMP_WHAT_IF_MOVE) expect_simulated(&r, c, seed), moves++;
            machines += c->kind != EMP_WHAT_IF_MOVE;
        }
        destroy(&r);
    }
    cr_expect_gt(moves, SEEDS / 4, "%d moves", moves);
    cr_expect_gt(machines, SEEDS / 4, "%d machines", machines);
}

Test(what_if, survives_every_allocation_failure)
{
    task t;

    create_apart(&t);
    why = task_explain(&t);
    const emp_decision d = {.device_of_op = t.device_of_op};
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_what_if_find(&w, t.problem, &d, why, NULL), );
    cr_expect_gt(w.count, 0);
    destroy(&t);
}
