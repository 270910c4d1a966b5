// SPDX-License-Identifier: GPL-3.0-or-later
/* Is one set of weights trained on all problems in turn, and reported so? The learner of
 * these tests adds a quarter to its one weight at every second batch. */
#include "run/training.h"

#include <stdatomic.h>

#include "tests/support/problems.h"
#include "tests/test.h"

typedef struct {
    const emp_problem *problem;
    double             weight[EMP_MAX_DEVICES]; /* as many as devices count */
    int64_t            batches, asked;
} learner;

static int32_t batch_size = 3;
static int64_t asks_allowed = 1000;

/* The call of that kind, counted from 1, in which the training is stopped; 0: none. It is given up. */
static int32_t    stop_in_ask, stop_in_tell, stop_in_imitation;
static atomic_int stop;

static bool is_given_up(int32_t *calls_left)
{
    if (*calls_left == 0 || --*calls_left > 0) return false;
    stop = 1;
    return true;
}

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    (void)params;
    (void)err;
    ((learner *)state)->problem = problem;
    return EMP_OK;
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    learner *l = (learner *)state;

    (void)err;
    if (is_given_up(&stop_in_ask)) return EMP_EINTERRUPTED;
    *count = l->asked == asks_allowed ? 0 : batch_size < max ? batch_size : max;
    l->asked++;
    for (int32_t i = 0; i < *count; i++)
        for (int32_t op = 0; op < l->problem->graph->op_count; op++)
            candidates[i].device_of_op[op] = 1;
    return EMP_OK;
}

static emp_status tell(void *state, const emp_score *scores, int32_t count,
                       emp_error *err)
{
    learner *l = (learner *)state;

    (void)scores;
    (void)count;
    (void)err;
    if (is_given_up(&stop_in_tell)) return EMP_EINTERRUPTED;
    if (++l->batches % 2 == 0) l->weight[0] += 0.25;
    return EMP_OK;
}

static int32_t list_weights(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    learner *l = (learner *)state;

    arrays[0] = (emp_named_array){"weight", EMP_ARRAY_DOUBLE,
                                  (size_t)l->problem->machine->device_count, l->weight};
    return 1;
}

static const emp_method_learning learning = {.list_weights = list_weights};

static const emp_method method = {.name = "adder",
                                  .state_bytes = sizeof(learner),
                                  .init = init,
                                  .ask = ask,
                                  .tell = tell,
                                  .uses_budget = true,
                                  .learning = &learning};

enum { PROBLEMS = 3, TURNS = 64 };

static task               tasks[PROBLEMS];
static const emp_problem *problems[PROBLEMS];
static emp_training_turn  turns[TURNS];
static int32_t            turn_count;

static void set_up(void)
{
    static const char *const specs[] = {"rnnlm:steps=2", "rnnlm:steps=3", "resnet"};

    for (int i = 0; i < PROBLEMS; i++) {
        task_create(&tasks[i], specs[i], "k40x2", "ideal");
        problems[i] = tasks[i].problem;
    }
}

static void tear_down(void)
{
    for (int i = 0; i < PROBLEMS; i++) task_destroy(&tasks[i]);
    expect_all_freed();
}

TestSuite(training, .init = set_up, .fini = tear_down);

static void on_turn(void *context, const emp_training_turn *turn)
{
    (void)context;
    if (turn_count < TURNS) turns[turn_count++] = *turn;
}

static emp_training_params params_for(int64_t budget)
{
    turn_count = 0;
    return (emp_training_params){.method = &method,
                                 .placer = {.seed = 3, .threads = 2},
                                 .problem = problems,
                                 .problem_count = PROBLEMS,
                                 .budget_evaluations = budget,
                                 .on_turn = on_turn};
}

/* Halves the way of its weight to the device of op 0. */
static emp_status imitate(void *state, const emp_owned_decision *example, double *loss,
                          emp_error *err)
{
    learner *l = (learner *)state;

    (void)err;
    if (is_given_up(&stop_in_imitation)) return EMP_EINTERRUPTED;
    *loss = fabs(example->device_of_op[0] - l->weight[0]);
    l->weight[0] += 0.5 * (example->device_of_op[0] - l->weight[0]);
    return EMP_OK;
}

static emp_training_imitation last_round;

static void on_imitation(void *context, const emp_training_imitation *round)
{
    (void)context;
    last_round = *round;
}

/* Three problems with one example: each step halves the way, and no placement is scored. */
Test(training, imitates_before_it_learns)
{
    emp_method          imitator = method;
    emp_training_params params = params_for(0);
    emp_weights         w = {0};
    emp_device_id      *device = EMP_NEW_ARRAY(emp_device_id, 1);
    emp_owned_decision  example[PROBLEMS];

    device[0] = 1;
    for (int i = 0; i < PROBLEMS; i++)
        example[i] = (emp_owned_decision){.device_of_op = device};
    params.example = example;
    params.imitation_rounds = 2;
    params.on_imitation = on_imitation;
    EXPECT_REFUSED(emp_training_run(&w, &params, &err), EMP_EUNSUPPORTED,
                   "imitates nobody");
    imitator.learning =
        &(const emp_method_learning){.list_weights = list_weights, .imitate = imitate};
    params.method = &imitator;
    ASSERT_OK(emp_training_run(&w, &params, &err));
    cr_expect_eq(turn_count, 0);
    cr_expect_eq(last_round.round, 2);
    cr_expect_float_eq(last_round.first_loss, (1.0 + 0.5 + 0.25) / 3, 1e-12);
    cr_expect_float_eq(last_round.loss, last_round.first_loss / 8, 1e-12);
    cr_expect_float_eq(((double *)w.array[0].values)[0], 1.0 - 1.0 / 64, 1e-12);
    cr_expect_eq(w.evaluations, 0);
    emp_weights_clear(&w);
    params.stop = &stop;
    stop = 0;
    stop_in_imitation = 5; /* the second of the second round */
    ASSERT_OK(emp_training_run(&w, &params, &err));
    cr_expect_eq(last_round.round, 1);
    cr_expect_float_eq(((double *)w.array[0].values)[0], 1.0 - 1.0 / 16, 1e-12);
    emp_weights_clear(&w);
    emp_free(device);
}

Test(training, examples_survive_every_allocation_failure)
{
    const int32_t all = EMP_DECIDES_DEVICES | EMP_DECIDES_ORDER | EMP_DECIDES_FUSION;
    emp_examples  examples = {0};

    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_examples_init(&examples, problems, PROBLEMS, all, NULL),
        emp_examples_clear(&examples));
    cr_expect_eq(examples.count, PROBLEMS);
    for (int i = 0; i < PROBLEMS; i++) {
        cr_expect(isnan(examples.step_time_s[i]));
        cr_expect(examples.decision[i].level_of_op[0] == 0 &&
                  examples.decision[i].leader_of_op[0] == 0);
    }
    emp_examples_clear(&examples);
}

/* A turn is two batches of three; what two rounds add is six quarters. */
Test(training, visits_every_problem_once_a_round)
{
    emp_training_params params = params_for(36);
    SCOPED(emp_weights, emp_weights_clear) w = {0};
    int32_t visits[PROBLEMS] = {0};

    ASSERT_OK(emp_training_run(&w, &params, &err));
    cr_assert_eq(turn_count, 6);
    for (int32_t i = 0; i < turn_count; i++) {
        visits[turns[i].problem]++;
        cr_expect_eq(turns[i].turn, i + 1);
        cr_expect_eq(turns[i].evaluations, 6 * (i + 1));
        cr_expect_float_eq(turns[i].mean_s, turns[i].best_s, 1e-15, "all on one GPU");
        cr_expect_leq(visits[turns[i].problem], i / PROBLEMS + 1, "one a round");
    }
    cr_expect_eq(*(double *)w.array[0].values, 1.5);
    cr_expect_str_eq(w.method, "adder");
    cr_expect_eq(w.evaluations, 36);
    cr_expect_not_null(strstr(w.tasks, "rnnlm:steps=2 on k40x2, rnnlm:steps=3 on k40x2"),
                       "%s", w.tasks);
}

Test(training, begins_with_weights_and_keeps_to_the_budget)
{
    emp_training_params params = params_for(7);
    emp_weights         before = {0}, after = {0};

    ASSERT_OK(emp_training_run(&before, &params, &err));
    cr_expect_eq(before.evaluations, 7, "6, and a batch of one");
    cr_expect_eq(*(double *)before.array[0].values, 0.25);
    params.placer.weights = &before;
    ASSERT_OK(emp_training_run(&after, &params, &err));
    cr_expect_eq(*(double *)after.array[0].values, 0.5);
    cr_expect_eq(after.evaluations, 14);
    emp_weights_clear(&before);
    emp_weights_clear(&after);
}

Test(training, refuses_what_cannot_share)
{
    emp_training_params params = params_for(12);
    emp_method          other = method;
    emp_weights         w = {0};
    OWN_TASK            wide;

    other.learning = NULL;
    params.method = &other;
    EXPECT_REFUSED(emp_training_run(&w, &params, &err), EMP_EUNSUPPORTED, "adder");
    task_create(&wide, "rnnlm:steps=2", "k40x4", "ideal");
    params = params_for(12);
    problems[1] = wide.problem;
    EXPECT_REFUSED(emp_training_run(&w, &params, &err), EMP_EINVAL, "\"weight\" are 3");
    emp_weights_clear(&w);
    problems[1] = tasks[1].problem;
    asks_allowed = 1;
    EXPECT_REFUSED(emp_training_run(&w, &params, &err), EMP_EINVAL,
                   "proposes nothing more");
    emp_weights_clear(&w);
}

/* Earlier learning stays: two batches are a turn and a quarter. Who has stopped before learns nothing. */
Test(training, a_batch_that_is_given_up_teaches_nothing)
{
    static const struct {
        int32_t stopped, in_ask, in_tell;
        int64_t evaluations;
        double  weight;
        int32_t turns;
    } cases[] = {{1, 0, 0, 0, 0.0, 0},  {0, 1, 0, 0, 0.0, 0},  {0, 0, 1, 0, 0.0, 0},
                 {0, 6, 0, 15, 0.5, 3}, /* in the middle of the third turn */
                 {0, 0, 6, 15, 0.5, 3}, {0, 0, 7, 18, 0.75, 3}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_training_params params = params_for(36);
        SCOPED(emp_weights, emp_weights_clear) w = {0};
        params.stop = &stop;
        stop = cases[i].stopped;
        stop_in_ask = cases[i].in_ask;
        stop_in_tell = cases[i].in_tell;
        ASSERT_OK(emp_training_run(&w, &params, &err));
        cr_expect_eq(w.evaluations, cases[i].evaluations, "case %zu", i);
        cr_expect_eq(*(double *)w.array[0].values, cases[i].weight, "case %zu", i);
        cr_assert_eq(turn_count, cases[i].turns, "case %zu", i);
        if (turn_count > 0)
            cr_expect_float_eq(turns[turn_count - 1].mean_s, turns[turn_count - 1].best_s,
                               1e-15);
    }
}

Test(training, survives_every_allocation_failure)
{
    emp_training_params params = params_for(6);
    emp_weights         w = {0};

    params.problem_count = 1;
    params.placer.threads = 1;
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_training_run(&w, &params, NULL),
                                      emp_weights_clear(&w));
    emp_weights_clear(&w);
}
