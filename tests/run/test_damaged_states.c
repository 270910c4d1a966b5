// SPDX-License-Identifier: GPL-3.0-or-later
/* A checkpoint can be forged. Does each method, whatever its state then holds, refuse to go on or propose devices that
 * exist? Sanitizers see what it reads. */
#include "base/rng.h"
#include "baselines/baselines.h"
#include "policy/doppler/doppler.h"
#include "policy/dyna/dyna.h"
#include "policy/giph/giph.h"
#include "policy/go/go.h"
#include "policy/hdp/hdp.h"
#include "policy/placeto/placeto.h"
#include "run/methods.h"
#include "tests/support/problems.h"
#include "tests/test.h"

enum {
    TRIALS = 2,
    KINDS = 6,
    LOWEST = 1,
    BATCHES_BEFORE = 4,
    BATCHES_AFTER = 3,
    BATCH = 8
};

/** Small networks and few groups: of a method without an entry the defaults. */
static const struct {
    const char *method, *options;
} small[] = {
    {"hdp", "groups=6,hidden=16,grouper_hidden=16"},
    {"hsdag", "width=32"},
    {"colocrl", "hidden=32"},
    {"placeto", "max_nodes=3"},
    {"giph", "max_nodes=12"},
    {"doppler", "width=32,imitation=4,max_nodes=12,steps=2"},
    {"dyna", "groups=metis,finest=24,cuts=1"},
    {"go", "width=32,heads=2,hidden=32,max_nodes=30,samples=4"},
};

static task t;

/** A method at work, and what it proposed last. */
typedef struct {
    const emp_method  *method;
    void              *state;
    emp_owned_decision candidate[BATCH];
} subject;

/** [op] When ops ran, as reported to all. */
static emp_time_ns *start_ns, *end_ns;

static void set_up(void)
{
    task_create(&t, "rnnlm:steps=1", "k40x2", "tf-r1.3");
    start_ns = EMP_NEW_ARRAY(emp_time_ns, (size_t)t.graph->op_count);
    end_ns = EMP_NEW_ARRAY(emp_time_ns, (size_t)t.graph->op_count);
    for (int32_t i = 0; i < t.graph->op_count; i++) {
        start_ns[t.graph->topo[i]] = i;
        end_ns[t.graph->topo[i]] = i + 1;
    }
}

static void tear_down(void)
{
    emp_free(start_ns);
    emp_free(end_ns);
    task_destroy(&t);
    expect_all_freed();
}

TestSuite(damaged_states, .init = set_up, .fini = tear_down);

static const char *options_of(const emp_method *method)
{
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        if (strcmp(small[i].method, method->name) == 0) return small[i].options;
    return NULL;
}

static void begin(subject *s, const emp_method *method)
{
    const emp_method_params params = {.seed = 3,
                                      .threads = 1,
                                      .options = options_of(method),
                                      .budget_evaluations = 200};
    emp_error               why = {0};

    *s = (subject){.method = method};
    cr_assert_eq(emp_method_create(&s->state, method, t.problem, &params, &why), EMP_OK,
                 "%s: %s", method->name, why.msg);
    if (method->complete != NULL) ASSERT_OK(method->complete(s->state, &err));
    for (int32_t i = 0; i < BATCH; i++)
        ASSERT_OK(emp_decision_init(&s->candidate[i], t.graph->op_count, 0, NULL));
}

static void end(subject *s)
{
    emp_method_destroy(s->method, s->state);
    for (int32_t i = 0; i < BATCH; i++) emp_decision_clear(&s->candidate[i]);
}

static void expect_devices_that_exist(const subject *s, int32_t count, const char *what)
{
    for (int32_t i = 0; i < count; i++)
        for (emp_op_id op = 0; op < t.graph->op_count; op++) {
            const emp_device_id device = s->candidate[i].device_of_op[op];
            cr_assert(device >= 0 && device < t.machine->device_count,
                      "%s with damaged \"%s\": op %d on device %d", s->method->name, what,
                      op, device);
        }
}

static emp_status take_a_batch(subject *s, const char *what, emp_error *err)
{
    emp_score score[BATCH] = {{0}};
    int32_t   count = 0;

    EMP_CHECK(emp_method_ask(s->method, s->state, s->candidate, BATCH, &count, err));
    expect_devices_that_exist(s, count, what);
    for (int32_t i = 0; i < count; i++)
        score[i] = (emp_score){.step_time_s = 1.0 + i,
                               .is_feasible = true,
                               .start_ns = start_ns,
                               .end_ns = end_ns};
    return count > 0 ? emp_method_tell(s->method, s->state, score, count, err) : EMP_OK;
}

static void damage_value(const emp_named_array *array, size_t at, uint32_t kind)
{
    static const int64_t integers[KINDS] = {-1, INT32_MIN, INT32_MAX, 0x40000000, 3, -5};
    static const double  reals[KINDS] = {INFINITY, NAN, -INFINITY, -1.0, 1e30, 0.0};
    char *value = (char *)array->values + at * emp_array_type_bytes(array->type);

    switch (array->type) {
    case EMP_ARRAY_INT32: *(int32_t *)(void *)value = (int32_t)integers[kind]; break;
    case EMP_ARRAY_INT64:
        *(int64_t *)(void *)value = kind == 2        ? INT64_MAX
                                    : kind == LOWEST ? INT64_MIN
                                                     : integers[kind];
        break;
    case EMP_ARRAY_DOUBLE: *(double *)(void *)value = reals[kind]; break;
    case EMP_ARRAY_FLOAT: *(float *)(void *)value = (float)reals[kind]; break;
    default: *value = (char)integers[kind]; break;
    }
}

/* Some values of array number \a at of the state, in one way; returns its name, or NULL if there is none. */
static const char *damage(subject *s, int32_t at, emp_rng *rng)
{
    emp_named_array array[EMP_MAX_NAMED_ARRAYS];
    const int32_t   count = s->method->list_state(s->state, array);
    const uint32_t  kind = emp_rng_below(rng, KINDS), values = 1 + emp_rng_below(rng, 4);

    if (at >= count) return NULL;
    for (uint32_t i = 0; i < values && array[at].count > 0; i++)
        damage_value(&array[at], emp_rng_below(rng, (uint32_t)array[at].count), kind);
    return array[at].name;
}

static bool go_on_damaged(const emp_method *method, int32_t array, uint64_t seed)
{
    subject    s;
    emp_rng    rng;
    emp_status st = EMP_OK;
    emp_error  err = {0};

    emp_rng_init(&rng, seed, (uint32_t)array, 0);
    begin(&s, method);
    for (uint32_t i = emp_rng_below(&rng, BATCHES_BEFORE); i > 0; i--)
        cr_assert_eq(take_a_batch(&s, "nothing", &err), EMP_OK, "%s: %s", method->name,
                     err.msg);
    const char *what = damage(&s, array, &rng);
    for (int32_t i = 0; i < BATCHES_AFTER && what != NULL && st == EMP_OK; i++)
        st = take_a_batch(&s, what, &err);
    end(&s);
    return what != NULL;
}

/* Code that used a value without a check would read or write anywhere. */
Test(damaged_states, whose_indices_are_wrong_are_refused)
{
    static const struct {
        const emp_method *method;
        const char       *array;
    } cases[] = {{&emp_method_placeto, "step"},
                 {&emp_method_placeto, "rollouts"},
                 {&emp_method_placeto, "start_device"},
                 {&emp_method_placeto, "best_device"},
                 {&emp_method_placeto, "device"},
                 {&emp_method_placeto, "action"},
                 {&emp_method_placeto, "net_step"},
                 {&emp_method_giph, "pivot"},
                 {&emp_method_giph, "moved"},
                 {&emp_method_giph, "round"},
                 {&emp_method_giph, "start"},
                 {&emp_method_go, "told"},
                 {&emp_method_go, "step"},
                 {&emp_method_hdp, "update"},
                 {&emp_method_doppler, "imitations"},
                 {&emp_method_dyna, "progress"},
                 {&emp_method_dyna, "here"},
                 {&emp_method_dyna, "gain"},
                 {&emp_method_anneal, "here"},
                 {&emp_method_anneal, "told"},
                 {&emp_method_local, "search"},
                 {&emp_method_mcmc, "since_reset"},
                 {&emp_method_brkga, "cost_s"},
                 {&emp_method_portfolio, "best_proposal"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        subject         s;
        emp_named_array array[EMP_MAX_NAMED_ARRAYS];
        int32_t         at = 0;
        emp_error       why = {0};
        begin(&s, cases[i].method);
        ASSERT_OK(take_a_batch(&s, "nothing", &err));
        const int32_t count = cases[i].method->list_state(s.state, array);
        while (at < count && strcmp(array[at].name, cases[i].array) != 0) at++;
        cr_assert_lt(at, count, "%s has no %s", cases[i].method->name, cases[i].array);
        damage_value(&array[at], 0, LOWEST);
        cr_expect_eq(take_a_batch(&s, cases[i].array, &why), EMP_EFORMAT,
                     "%s of %s is not looked at", cases[i].array, cases[i].method->name);
        end(&s);
    }
}

Test(damaged_states, are_refused_or_propose_devices_that_exist)
{
    const emp_method *method;

    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++)
        for (uint64_t seed = 1; method->list_state != NULL && seed <= TRIALS; seed++)
            for (int32_t array = 0; go_on_damaged(method, array, seed);) array++;
}
