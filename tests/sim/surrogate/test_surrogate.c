// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/surrogate/surrogate.h"
#include "sim/surrogate/surrogate_internal.h"
#include "tests/sim/engine/random_problem.h"
#include "tests/support/problems.h"
#include "tests/support/survive.h"

EMP_OWNS(emp_surrogate, emp_surrogate_destroy)
#define OWN_SURROGATE EMP_OWNER(emp_surrogate)

enum { SEEDS = 200, PLACEMENTS = 37, MAX_LIVE = 64 };

/* ---- problems ---- */

/* A random problem with costs of any size, on a machine of \a device_count devices (0: as
 * drawn), and some legal placements. */
typedef struct {
    task           r;
    emp_device_id *placements[PLACEMENTS];
} sample;

static void widen(emp_machine *m, int32_t device_count, emp_rng *rng)
{
    int32_t first = m->link_count;

    for (int32_t d = m->device_count; d < device_count; d++) {
        m->device[d] = m->device[0];
        m->device[d].kind = EMP_DEVICE_GPU;
        m->link_count += 2;
    }
    for (int32_t i = 0; i < device_count; i++) {
        for (int32_t j = 0; j < device_count; j++) {
            int32_t up = first + 2 * (i - m->device_count);
            int32_t down = first + 2 * (j - m->device_count) + 1;
            if (i == j || (i < m->device_count && j < m->device_count)) continue;
            m->route[i][j] = (emp_route){.bytes_per_s = 1e9 * (1 + emp_rng_below(rng, 9)),
                                         .latency_s = 1e-6 * emp_rng_below(rng, 50)};
            emp_route *r = &m->route[i][j];
            if (i >= m->device_count) r->link[r->link_count++] = up;
            if (j >= m->device_count) r->link[r->link_count++] = down;
        }
    }
    m->device_count = device_count;
}

static void draw_costs(emp_problem *p, emp_rng *rng)
{
    for (int32_t row = 0; row < emp_cost_row_count(p->costs, EMP_DEVICE_GPU); row++) {
        emp_gpu_cost *gpu = &p->costs->gpu[row];
        gpu->issue_ns = emp_rng_below(rng, 40000);
        if (gpu->compute_ns > 0) gpu->compute_ns = emp_rng_below(rng, 9000000);
    }
    for (emp_op_id op = 0; op < p->graph->op_count; op++)
        p->costs->cpu[op].compute_ns = emp_rng_below(rng, 9000000);
}

static void sample_create(sample *s, uint64_t seed, int32_t device_count)
{
    emp_rng rng;

    random_problem_create(&s->r, seed);
    emp_rng_init(&rng, seed, 1, 0);
    if (device_count > 0 && device_count > s->r.machine->device_count)
        widen(s->r.machine, device_count, &rng);
    if (seed % 4 == 1) task_split_columns(&s->r);
    if (seed % 2 == 1) draw_costs(s->r.problem, &rng);
    for (int k = 0; k < PLACEMENTS; k++) {
        size_t count = (size_t)s->r.graph->op_count;
        s->placements[k] = EMP_NEW_ARRAY(emp_device_id, count);
        cr_assert_not_null(s->placements[k]);
        random_problem_place(&s->r, &rng);
        memcpy(s->placements[k], s->r.device_of_op, count * sizeof(emp_device_id));
    }
}

static void sample_destroy(sample *s)
{
    for (int k = 0; k < PLACEMENTS; k++) emp_free(s->placements[k]);
    task_destroy(&s->r);
}

static emp_surrogate *create(const emp_problem *problem, emp_surrogate_kernel kernel)
{
    emp_surrogate *s = NULL;

    ASSERT_OK(emp_surrogate_create(&s, problem, kernel, &err));
    return s;
}

static void run(emp_surrogate *s, emp_device_id *const *placements, int32_t count,
                double *step_time_s)
{

    ASSERT_OK(emp_surrogate_run(s, placements, count, step_time_s, &err));
}

/* ---- the model in double, from surrogate.h alone ---- */

typedef struct {
    const emp_problem   *p;
    const emp_device_id *device_of_op;
    double               ready[MAX_LIVE], done[MAX_LIVE], leave[MAX_LIVE];
    double free_ns[EMP_MAX_DEVICES], queue_ns[EMP_MAX_DEVICES], link_ns[EMP_MAX_LINKS];
} plain;

static int32_t read_in(const plain *m, emp_op_id op, int32_t input)
{
    bool on_host = m->p->graph->op[op].host_input_mask >> (input < 31 ? input : 31) & 1u;

    return on_host ? 0 : m->device_of_op[op];
}

static double plain_send(plain *m, const emp_tensor *t, int32_t from, int32_t to,
                         double leave, bool is_first)
{
    const emp_route   *route = &m->p->machine->route[from][to];
    const emp_runtime *rt = &m->p->runtime;
    double             begin = leave + 1e9 * rt->events.send_s;
    double             duration =
        1e9 * (route->latency_s + (double)t->copy_bytes / route->bytes_per_s);

    for (int32_t k = 0; is_first && k < route->link_count; k++)
        begin = fmax(begin, m->link_ns[route->link[k]]);
    for (int32_t k = 0; is_first && k < route->link_count; k++)
        m->link_ns[route->link[k]] = begin + duration;
    return begin + duration + 1e9 * (rt->events.poll_s + rt->events.receive_s);
}

/* All reads of a tensor by the ops behind position i. */
static void plain_tell(plain *m, const emp_op_id *order, int32_t count, int32_t i,
                       emp_tensor_id tensor)
{
    const emp_graph *g = m->p->graph;
    emp_op_id        op = order[i];
    int32_t          from = g->tensor[tensor].on_host ? 0 : m->device_of_op[op];
    bool             is_sent[EMP_MAX_DEVICES] = {false};

    for (int32_t k = i + 1; k < count; k++) {
        emp_op_id reader = order[k];
        int32_t   first = g->input_offset[reader];
        for (int32_t e = first; e < g->input_offset[reader + 1]; e++) {
            if (g->input[e] != tensor) continue;
            int32_t to = read_in(m, reader, e - first);
            double  at = m->done[op];
            if (to != from) {
                at = plain_send(m, &g->tensor[tensor], from, to, m->leave[op],
                                !is_sent[to]);
                is_sent[to] = true;
            }
            m->ready[reader] = fmax(m->ready[reader], at);
        }
    }
}

static void plain_tell_followers(plain *m, emp_op_id op)
{
    const emp_graph *g = m->p->graph;

    for (int32_t c = g->control_out_offset[op]; c < g->control_out_offset[op + 1]; c++) {
        emp_op_id     follower = g->control_out[c];
        emp_device_id from = m->device_of_op[op], to = m->device_of_op[follower];
        double        message = from != to && m->p->runtime.events.control_latency
                                    ? 1e9 * m->p->machine->route[from][to].latency_s
                                    : 0.0;
        m->ready[follower] = fmax(m->ready[follower], m->done[op] + message);
    }
}

static double plain_step_s(const emp_problem *p, const emp_device_id *device_of_op,
                           const emp_op_id *order, int32_t count)
{
    plain              m = {.p = p, .device_of_op = device_of_op};
    const emp_runtime *rt = &p->runtime;
    double             last = 0.0;

    for (int32_t i = 0; i < count; i++) {
        emp_op_id    op = order[i];
        int32_t      d = device_of_op[op];
        emp_cpu_cost cpu = p->costs->cpu[op];
        emp_gpu_cost gpu = p->costs->gpu[d == 0 ? 0 : emp_cost_row(p->costs, d, op)];
        double       issue = (double)gpu.issue_ns;
        double       compute = (double)gpu.compute_ns;
        double       run = d == 0                    ? (double)cpu.compute_ns
                           : rt->events.serial_issue ? issue
                                                     : compute;
        double       hold = d == 0 && rt->events.cpu_pool
                                ? run * cpu.lanes / p->machine->device[0].cores
                                : run;
        double       start = fmax(m.ready[op], m.free_ns[d]);
        m.free_ns[d] = start + hold;
        m.done[op] = m.leave[op] = start + run;
        if (d > 0) {
            m.queue_ns[d] = fmax(m.done[op], m.queue_ns[d]) +
                            (rt->events.serial_issue ? compute : 0.0);
            m.leave[op] = m.queue_ns[d];
        }
        last = fmax(last, m.leave[op]);
        for (int32_t t = p->graph->output_offset[op]; t < p->graph->output_offset[op + 1];
             t++)
            plain_tell(&m, order, count, i, t);
        plain_tell_followers(&m, op);
    }
    return 1e-9 * last + rt->events.step_s;
}

/* ---- tests ---- */

TestSuite(surrogate, .fini = expect_all_freed);

static void expect_model(const sample *s, const emp_surrogate *surrogate,
                         const double *estimate, uint64_t seed)
{
    for (int k = 0; k < PLACEMENTS; k++) {
        double plain_s = plain_step_s(s->r.problem, s->placements[k], surrogate->order,
                                      surrogate->op_count);
        cr_assert_leq(fabs(estimate[k] - plain_s), 1e-4 * plain_s,
                      "seed %d, placement %d: %g s, should be %g s", (int)seed, k,
                      estimate[k], plain_s);
    }
}

static void expect_independence(emp_surrogate *surrogate, const sample *s,
                                const double *estimate)
{
    double         backward[PLACEMENTS], alone;
    emp_device_id *reversed[PLACEMENTS];

    for (int k = 0; k < PLACEMENTS; k++) reversed[k] = s->placements[PLACEMENTS - 1 - k];
    run(surrogate, reversed, PLACEMENTS, backward);
    for (int k = 0; k < PLACEMENTS; k++) {
        run(surrogate, &s->placements[k], 1, &alone);
        cr_assert_eq(estimate[k], backward[PLACEMENTS - 1 - k]);
        cr_assert_eq(estimate[k], alone);
    }
}

Test(surrogate, is_the_stated_model_whatever_the_kernel)
{
    static const int32_t device_counts[] = {0, 5, 6, 9, 32, 33, 64};

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        sample  s;
        double  fastest[PLACEMENTS], scalar[PLACEMENTS], time_of_op[MAX_LIVE];
        emp_rng rng;
        sample_create(&s, seed, device_counts[seed % 7]);
        OWN_SURROGATE a = create(s.r.problem, EMP_SURROGATE_FASTEST);
        OWN_SURROGATE b = create(s.r.problem, EMP_SURROGATE_SCALAR);
        emp_rng_init(&rng, seed, 2, 0);
        for (int i = 0; i < MAX_LIVE; i++) time_of_op[i] = emp_rng_uniform(&rng);
        if (seed % 2 == 0) {
            ASSERT_OK(emp_surrogate_set_order(a, time_of_op, &err));
            ASSERT_OK(emp_surrogate_set_order(b, time_of_op, &err));
        }
        run(a, s.placements, PLACEMENTS, fastest);
        run(b, s.placements, PLACEMENTS, scalar);
        expect_model(&s, a, fastest, seed);
        cr_assert_eq(memcmp(fastest, scalar, sizeof scalar), 0, "seed %d: %s differs",
                     (int)seed, emp_surrogate_kernel_name(a));
        expect_independence(a, &s, fastest);
        sample_destroy(&s);
    }
}

/* On the CPU nothing moves, and one op runs at a time without a pool. */
Test(surrogate, of_one_device_is_the_sum_of_its_costs)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        OWN_TASK r;
        double   sum = 0.0, estimate;
        random_problem_create(&r, seed);
        r.problem->runtime.events.cpu_pool = false;
        for (emp_op_id op = 0; op < r.graph->op_count; op++) {
            r.device_of_op[op] = 0;
            if (!r.graph->op[op].is_folded)
                sum += (double)r.problem->costs->cpu[op].compute_ns;
        }
        OWN_SURROGATE surrogate = create(r.problem, EMP_SURROGATE_FASTEST);
        run(surrogate, &r.device_of_op, 1, &estimate);
        cr_assert_float_eq(estimate, 1e-9 * sum + r.problem->runtime.events.step_s,
                           1e-15);
    }
}

static double estimate_tiny(const char *ops, const emp_runtime *runtime, double *exact_s)
{
    OWN_TASK t;
    double   estimate;

    task_create_ops(&t, ops, runtime);
    OWN_SURROGATE surrogate = create(t.problem, EMP_SURROGATE_FASTEST);
    run(surrogate, &t.device_of_op, 1, &estimate);
    *exact_s = 1e-9 * (double)task_run(&t).step_time_ns;
    return estimate;
}

/* Where nobody overtakes, the estimate is the oracle's time. */
Test(surrogate, equals_the_oracle_on_chains_and_fans)
{
    static const char *const cases[] = {
        "1",           "1; 1<0; 1<1; 1<2; 1", "1; 2<0", "0; 1<0; 0<1",
        "1; 2<0; 2<0", "1; 1; 2<0; 2<1",      "1; 2!0", "1h; 0<0",
        "0f; 1<0"};
    emp_runtime list = tiny_list_scheduling();

    for (size_t i = 0; i < COUNT(cases); i++) {
        double exact_s, estimate_s = estimate_tiny(cases[i], &list, &exact_s);
        cr_expect_float_eq(estimate_s, exact_s, 1e-15, "%s: %g s, should be %g s",
                           cases[i], estimate_s, exact_s);
    }
}

/* Issue 3, compute 10, step 100: the host thread runs ahead of the stream. */
Test(surrogate, host_thread_and_stream_overlap)
{
    const char  ops[] = "1; 1<0; 1<1";
    emp_runtime serial = tiny_serial();
    double      exact_s;

    cr_expect_float_eq(estimate_tiny(ops, &serial, &exact_s), 133e-9, 1e-15);
    cr_expect_float_eq(exact_s, 133e-9, 1e-15);
}

static void expect_topological(const emp_graph *g, const emp_surrogate *s, uint64_t seed)
{
    for (int32_t i = 0; i < s->op_count; i++) {
        emp_op_id op = s->order[i];
        cr_assert(!g->op[op].is_folded);
        cr_assert_eq(s->position[op], i);
        for (int32_t e = g->input_offset[op]; e < g->input_offset[op + 1]; e++) {
            int32_t from = s->position[g->tensor[g->input[e]].producer];
            cr_assert(from < i || from == s->op_count, SEED);
        }
    }
}

/* Equal times leave the order of the graph. */
Test(surrogate, any_order_stays_topological)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        OWN_TASK  r;
        double    time_of_op[MAX_LIVE] = {0};
        emp_op_id order[MAX_LIVE];
        emp_rng   rng;
        random_problem_create(&r, seed);
        emp_rng_init(&rng, seed, 2, 0);
        OWN_SURROGATE s = create(r.problem, EMP_SURROGATE_SCALAR);
        size_t        bytes = (size_t)s->op_count * sizeof *order;
        memcpy(order, s->order, bytes);
        ASSERT_OK(emp_surrogate_set_order(s, time_of_op, &err));
        cr_assert_eq(memcmp(order, s->order, bytes), 0, SEED);
        for (int i = 0; i < MAX_LIVE; i++) time_of_op[i] = emp_rng_below(&rng, 8);
        ASSERT_OK(emp_surrogate_set_order(s, time_of_op, &err));
        expect_topological(r.graph, s, seed);
    }
}

Test(surrogate, order_follows_the_times_where_the_graph_is_silent)
{
    const char   ops[] = "1; 1<0; 1; 1";
    const double time_of_op[] = {4, 1, 3, 2};
    emp_runtime  list = tiny_list_scheduling();
    OWN_TASK     t;

    task_create_ops(&t, ops, &list);
    OWN_SURROGATE s = create(t.problem, EMP_SURROGATE_SCALAR);
    cr_assert_eq(emp_surrogate_set_order(s, time_of_op, NULL), EMP_OK);
    cr_expect_arr_eq(s->order, ((emp_op_id[]){3, 2, 0, 1}), 4 * sizeof(emp_op_id));
    cr_assert_eq(emp_surrogate_set_order(s, NULL, NULL), EMP_OK);
    cr_expect_arr_eq(s->order, t.graph->topo, 4 * sizeof(emp_op_id));
}

static void expect_refusal(emp_surrogate_kernel kernel)
{
    const char     ops[] = "0f; 1<0";
    emp_runtime    list = tiny_list_scheduling();
    OWN_TASK       t;
    emp_device_id  other[] = {0, 1};
    emp_device_id *placements[] = {other, NULL};
    double         estimate[2];

    task_create_ops(&t, ops, &list);
    placements[1] = t.device_of_op;
    OWN_SURROGATE s = create(t.problem, kernel);
    t.device_of_op[0] = -7; /* that of a folded op is not looked at */
    run(s, placements, 2, estimate);
    cr_expect_eq(estimate[0], estimate[1]);
    t.device_of_op[1] = 259; /* 3 in a byte */
    EXPECT_REFUSED(emp_surrogate_run(s, placements, 2, estimate, &err), EMP_EINVAL,
                   "op 'op1' is on device 259 of 0..2");
    t.device_of_op[1] = -1;
    EXPECT_REFUSED(emp_surrogate_run(s, placements, 2, estimate, &err), EMP_EINVAL,
                   "op 'op1' is on device -1 of 0..2");
}

Test(surrogate, refuses_devices_that_do_not_exist)
{
    expect_refusal(EMP_SURROGATE_SCALAR);
    expect_refusal(EMP_SURROGATE_FASTEST);
}

Test(surrogate, refuses_other_rules_and_several_hosts)
{
    const char     ops[] = "1";
    emp_runtime    runtime = {.name = "x", .rules = EMP_RULES_BAECHI};
    task           t;
    emp_surrogate *s = NULL;

    task_create_ops(&t, ops, &runtime);
    EXPECT_REFUSED(emp_surrogate_create(&s, t.problem, EMP_SURROGATE_SCALAR, &err),
                   EMP_EUNSUPPORTED, "runtime x: its rules are 'baechi'");
    task_destroy(&t);
    random_problem_create_hosts(&t, 1);
    EXPECT_REFUSED(emp_surrogate_create(&s, t.problem, EMP_SURROGATE_SCALAR, &err),
                   EMP_EUNSUPPORTED, "several hosts");
    cr_expect_null(s);
    task_destroy(&t);
}

Test(surrogate, create_survives_every_allocation_failure)
{
    OWN_TASK      r;
    OWN_SURROGATE s = NULL;

    random_problem_create(&r, 7);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_surrogate_create(&s, r.problem, EMP_SURROGATE_FASTEST, NULL),
        cr_assert_null(s));
}

Test(surrogate, order_stays_when_memory_is_out_and_a_run_needs_none)
{
    OWN_TASK   r;
    emp_status st = EMP_ENOMEM;
    double     time_of_op[MAX_LIVE] = {0}, before, after;

    random_problem_create(&r, 11);
    OWN_SURROGATE s = create(r.problem, EMP_SURROGATE_FASTEST);
    run(s, &r.device_of_op, 1, &before);
    for (int i = 0; i < MAX_LIVE; i++) time_of_op[i] = -i;
    for (long allowed = 0; st != EMP_OK; allowed++) {
        emp_mem_fail_after(allowed);
        st = emp_surrogate_set_order(s, time_of_op, NULL);
        emp_mem_fail_after(0);
        run(s, &r.device_of_op, 1, &after);
        emp_mem_fail_after(-1);
        if (st != EMP_OK) {
            cr_assert_eq(st, EMP_ENOMEM);
            cr_assert_eq(before, after);
        }
    }
}

/* ---- agreement with the oracle ---- */

enum { COMPARED = 20 };

Test(agreement, is_that_of_a_hand_example)
{
    const double  exact[] = {1, 2, 3, 4, 5}, estimate[] = {2, 1, 4, 3, 5};
    const double  tied[] = {1, 1, 2}, rising[] = {1, 2, 3}, equal[] = {1, 1, 1};
    emp_agreement a;

    /* 4 of 5 ranks are off by one; 2 of 10 pairs are in the wrong order */
    cr_assert_eq(emp_agreement_of(&a, estimate, exact, 5, NULL), EMP_OK);
    cr_expect_float_eq(a.spearman, 1.0 - 6.0 * 4.0 / (5.0 * 24.0), 1e-12);
    cr_expect_float_eq(a.kendall, 0.6, 1e-12);
    cr_expect_float_eq(a.mean_relative_error, (1.0 + 0.5 + 1.0 / 3.0 + 0.25 + 0.0) / 5.0,
                       1e-12);
    /* 2 of 3 pairs are in order, one is tied on one side: ranks 1.5 1.5 3 and 1 2 3 */
    cr_assert_eq(emp_agreement_of(&a, tied, rising, 3, NULL), EMP_OK);
    cr_expect_float_eq(a.spearman, 1.5 / sqrt(1.5 * 2.0), 1e-12);
    cr_expect_float_eq(a.kendall, 2.0 / sqrt(2.0 * 3.0), 1e-12);
    cr_assert_eq(emp_agreement_of(&a, equal, rising, 3, NULL), EMP_OK);
    cr_expect(isnan(a.spearman) && isnan(a.kendall));
    EXPECT_REFUSED(emp_agreement_of(&a, estimate, exact, 1, &err), EMP_EINVAL,
                   "ranks of 1 values; at least 2");
}

/* op1 waits for a copy; in topological order op2 stands behind it, but runs before. */
Test(agreement, following_the_oracle_mends_the_order)
{
    const char    ops[] = "2*10; 1<0; 1";
    emp_runtime   list = tiny_list_scheduling();
    OWN_TASK      t;
    OWN_SURROGATE s = NULL;
    double        before, after;

    task_create_ops(&t, ops, &list);
    ASSERT_OK(emp_surrogate_create(&s, t.problem, EMP_SURROGATE_FASTEST, NULL));
    OWN_SIM        sim = task_sim(&t);
    emp_sim_result exact = task_run(&t);
    cr_assert_eq(emp_surrogate_run(s, &t.device_of_op, 1, &before, NULL), EMP_OK);
    cr_assert_eq(emp_surrogate_follow(s, sim, &t.device_of_op, 1, NULL), EMP_OK);
    cr_assert_eq(emp_surrogate_run(s, &t.device_of_op, 1, &after, NULL), EMP_OK);
    cr_expect_float_eq(before, 1e-9 * (double)exact.step_time_ns + 10e-9, 1e-15);
    cr_expect_float_eq(after, 1e-9 * (double)exact.step_time_ns, 1e-15);
}

/* Both the reports and the new order survive a lack of memory. */
static emp_status follow_and_compare(emp_agreement *a, emp_surrogate *s, emp_sim *sim,
                                     emp_device_id *const *placements)
{
    emp_status st = emp_surrogate_follow(s, sim, placements, COMPARED / 2, NULL);

    if (st != EMP_OK) return st;
    return emp_surrogate_rank_correlation(a, s, sim, placements, COMPARED, NULL);
}

Test(agreement, is_reported_or_memory_is_out)
{
    OWN_TASK       r;
    emp_device_id *placements[COMPARED];
    OWN_SURROGATE  s = NULL;
    emp_agreement  a;
    emp_rng        rng;

    random_problem_create(&r, 6);
    emp_rng_init(&rng, 1, 0, 0);
    size_t count = (size_t)r.graph->op_count;
    for (int k = 0; k < COMPARED; k++) {
        placements[k] = EMP_NEW_ARRAY(emp_device_id, count);
        cr_assert_not_null(placements[k]);
        random_problem_place(&r, &rng);
        for (size_t op = 0; op < count; op++) placements[k][op] = r.device_of_op[op];
    }
    ASSERT_OK(emp_surrogate_create(&s, r.problem, EMP_SURROGATE_FASTEST, NULL));
    OWN_SIM sim = task_sim(&r);
    SURVIVES_EVERY_ALLOCATION_FAILURE(follow_and_compare(&a, s, sim, placements), );
    cr_expect(a.spearman > 0.3 && a.spearman <= 1.0, "%g", a.spearman);
    cr_expect(a.kendall > 0.2 && a.kendall <= a.spearman + 0.1, "%g", a.kendall);
    cr_expect(a.mean_relative_error < 1.0, "%g", a.mean_relative_error);
    for (int k = 0; k < COMPARED; k++) emp_free(placements[k]);
}
