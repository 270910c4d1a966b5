// SPDX-License-Identifier: GPL-3.0-or-later
/* The list schedulers against plain ones, against the examples of their papers, and the
 * linear program of m-SCT against a proof by its dual. */
#include <glpk.h>

#include "baselines/schedulers/list_schedule.h"
#include "tests/baselines/schedulers/plain_list.h"
#include "tests/support/status.h"

enum { SEEDS = 300 };

static emp_status schedule(emp_list_schedule *s, const hand_tasks *h,
                           emp_list_scheduler *scheduler, emp_error *err)
{
    cr_assert_eq(emp_list_schedule_init(s, &h->graph, err), EMP_OK);
    return scheduler(s, err);
}

static void expect_same(const emp_list_schedule *s, emp_status st, const plain_list *p,
                        const char *method, uint64_t seed)
{
    cr_assert_eq(st, p->is_stuck ? EMP_EINFEASIBLE : EMP_OK, "%s, seed %d: %d", method,
                 (int)seed, st);
    for (int v = 0; v < p->n && !p->is_stuck; v++) {
        cr_assert_eq(s->device_of_task[v], p->device[v],
                     "%s, seed %d: task %d on %d, not %d", method, (int)seed, v,
                     s->device_of_task[v], p->device[v]);
        cr_assert_eq(s->start_ns[v], p->start[v], "%s, seed %d: task %d at %ld, not %ld",
                     method, (int)seed, v, (long)s->start_ns[v], p->start[v]);
    }
}

static void compare(emp_list_scheduler *scheduler,
                    void (*plain)(plain_list *, const hand_tasks *), const char *method,
                    bool has_memory)
{
    static hand_tasks h;
    static plain_list p;
    int32_t           stuck = 0, checked = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        SCOPED(emp_list_schedule, emp_list_schedule_clear) s = {0};
        hand_tasks_draw(&h, seed);
        emp_status st = schedule(&s, &h, scheduler, &why);
        plain(&p, &h);
        expect_same(&s, st, &p, method, seed);
        stuck += p.is_stuck;
        checked++;
    }
    cr_expect_eq(checked, SEEDS);
    if (has_memory) cr_expect(stuck > 10 && stuck < SEEDS / 2, "%d had no room", stuck);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static void plain_m_etf(plain_list *p, const hand_tasks *h) { plain_baechi(p, h, NULL); }

/* The last claim to a child stands, edges by (parent, child). */
static void plain_m_sct(plain_list *p, const hand_tasks *h)
{
    int              favourite[HAND_TASKS], parent[HAND_TASKS];
    emp_sct_solution lp;

    memset(favourite, -1, sizeof favourite);
    memset(parent, -1, sizeof parent);
    MUST(emp_sct_solve(&lp, &h->graph, NULL));
    for (int i = 0; i < h->graph.task_count; i++) {
        for (int j = 0; j < h->graph.task_count; j++) {
            for (int32_t e = 0; e < lp.edge_count; e++) {
                if (lp.edge[e].from != i || lp.edge[e].to != j || lp.apart[e] >= 0.5)
                    continue;
                if (parent[j] >= 0) favourite[parent[j]] = -1;
                parent[j] = i;
                favourite[i] = j;
            }
        }
    }
    emp_sct_solution_clear(&lp);
    plain_baechi(p, h, favourite);
}

Test(list_schedule, each_is_the_plain_one)
{
    compare(emp_schedule_heft, plain_heft, "heft", true);
    compare(emp_schedule_peft, plain_peft, "peft", true);
    compare(emp_schedule_etf, plain_etf, "etf", true);
    compare(emp_schedule_m_topo, plain_m_topo, "m-topo", false);
    compare(emp_schedule_m_etf, plain_m_etf, "m-etf", true);
    compare(emp_schedule_m_sct, plain_m_sct, "m-sct", true);
}

/* No task is bound to others or to one device, and transfers take long: only then does it
 * matter much who is whose favourite. */
static void free_tasks(hand_tasks *h)
{
    h->graph.pin_count = h->graph.task_count;
    for (int i = 0; i < h->graph.task_count; i++) {
        h->pin[i] = i;
        h->devices[i] = (UINT64_C(1) << h->machine.device_count) - 1;
    }
    h->latency_ns += 2;
    for (int a = 0; a < h->machine.device_count; a++) {
        for (int b = 0; b < h->machine.device_count; b++)
            h->machine.route[a][b].latency_s = h->latency_ns * 1e-9;
    }
}

/* Favourites by another rule than the linear program's: the last reader. */
Test(list_schedule, any_favourites_are_respected_as_the_plain_loop_does)
{
    static hand_tasks h;
    static plain_list p, without;
    int32_t           changed = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        SCOPED(emp_list_schedule, emp_list_schedule_clear) s = {0};
        int favourite[HAND_TASKS];
        hand_tasks_draw(&h, seed);
        free_tasks(&h);
        for (int i = 0; i < HAND_TASKS; i++) favourite[i] = -1;
        for (int32_t k = 0; k < h.graph.tensor_count; k++)
            favourite[h.tensor[k].producer] = h.reader[h.tensor[k + 1].reader - 1];
        MUST(emp_list_schedule_init(&s, &h.graph, NULL));
        emp_status st = emp_baechi_schedule(&s, favourite, NULL);
        plain_baechi(&p, &h, favourite);
        plain_baechi(&without, &h, NULL);
        expect_same(&s, st, &p, "favourites", seed);
        changed += memcmp(p.start, without.start, sizeof p.start) != 0;
    }
    cr_expect_gt(changed, SEEDS / 10, "favourites matter in %d", changed);
}

/* ---- examples of the papers ---- */

typedef struct {
    int from, to, cost; /* tasks from 1 on */
} example_edge;

static void make_example(hand_tasks *h, const int *time, const example_edge *edge,
                         int edges)
{
    hand_tasks_init(h, 10, 3, time);
    for (int i = 0; i < edges; i++)
        hand_tasks_tensor(h, edge[i].from - 1, edge[i].cost,
                          UINT32_C(1) << (edge[i].to - 1));
    hand_tasks_finish(h);
}

static emp_time_ns makespan_of(const hand_tasks *h, emp_list_scheduler *scheduler)
{
    SCOPED(emp_list_schedule, emp_list_schedule_clear) s = {0};

    MUST(schedule(&s, h, scheduler, NULL));
    return s.makespan_ns;
}

/* Topcuoglu et al. 2002, figures 2 and 3. */
Test(list_schedule, heft_has_the_makespan_of_its_paper)
{
    static const int          time[30] = {14, 16, 9,  13, 19, 18, 11, 13, 19, 13,
                                          8,  17, 12, 13, 10, 13, 16, 9,  7,  15,
                                          11, 5,  11, 14, 18, 12, 20, 21, 7,  16};
    static const example_edge edge[] = {{1, 2, 18},  {1, 3, 12},  {1, 4, 9},  {1, 5, 11},
                                        {1, 6, 14},  {2, 8, 19},  {2, 9, 16}, {3, 7, 23},
                                        {4, 8, 27},  {4, 9, 23},  {5, 9, 13}, {6, 8, 15},
                                        {7, 10, 17}, {8, 10, 11}, {9, 10, 13}};
    static hand_tasks         h;
    SCOPED(emp_list_schedule, emp_list_schedule_clear) s = {0};

    make_example(&h, time, edge, COUNT(edge));
    MUST(schedule(&s, &h, emp_schedule_heft, NULL));
    cr_expect_eq(s.makespan_ns, 80);
    const int device[10] = {2, 0, 2, 1, 2, 1, 2, 0, 1, 1};
    for (int v = 0; v < 10; v++)
        cr_expect_eq(s.device_of_task[v], device[v], "task %d", v + 1);
}

/* Arabnejad and Barbosa 2014, figures 1 and 3: PEFT 122, HEFT 133. */
Test(list_schedule, peft_has_the_makespan_of_its_paper)
{
    static const int          time[30] = {22, 21, 36, 22, 18, 18, 32, 27, 43, 7,
                                          10, 4,  29, 27, 35, 26, 17, 24, 14, 25,
                                          30, 29, 23, 36, 15, 21, 8,  13, 16, 33};
    static const example_edge edge[] = {{1, 2, 17}, {1, 3, 31},  {1, 4, 29}, {1, 5, 13},
                                        {1, 6, 7},  {2, 8, 3},   {2, 9, 30}, {3, 7, 16},
                                        {4, 8, 11}, {4, 9, 7},   {5, 9, 57}, {6, 8, 5},
                                        {7, 10, 9}, {8, 10, 42}, {9, 10, 7}};
    static hand_tasks         h;

    make_example(&h, time, edge, COUNT(edge));
    cr_expect_eq(makespan_of(&h, emp_schedule_peft), 122);
    cr_expect_eq(makespan_of(&h, emp_schedule_heft), 133);
}

/* A tensor of 60 bytes is there while its reader's variable of 50 must come, in 100. */
Test(list_schedule, what_fits_nowhere_is_said_in_one_sentence)
{
    static const int  time[4] = {1, 1, 1, 1};
    static hand_tasks h;
    emp_list_schedule s = {0};

    hand_tasks_init(&h, 2, 2, time);
    hand_tasks_tensor(&h, 0, 60, 1 << 1);
    h.persistent[1] = 50;
    h.devices[0] = h.devices[1] = 2;
    h.machine.device[1].memory_bytes = 100;
    hand_tasks_finish(&h);
    MUST_FAIL(schedule(&s, &h, emp_schedule_heft, &why), EMP_EINFEASIBLE, "gpu:0");
    emp_list_schedule_clear(&s);
    h.machine.device[1].memory_bytes = 110;
    MUST(schedule(&s, &h, emp_schedule_heft, NULL));
    cr_expect_eq(s.free_bytes[1], 60, "the tensor has been given back");
    emp_list_schedule_clear(&s);
}

/* Both solutions must be feasible, and as good as each other: then both are best. */
static void expect_certificate(const hand_tasks *h, uint64_t seed)
{
    const emp_task_graph *t = &h->graph;
    SCOPED(emp_sct_solution, emp_sct_solution_clear) s;
    double readers[HAND_TASKS] = {0}, producers[HAND_TASKS] = {0}, flow[HAND_TASKS] = {0};
    double x_readers[HAND_TASKS] = {0}, x_producers[HAND_TASKS] = {0};
    double bound = 0.0, ends = 0.0, slack = 1e-6;

    MUST(emp_sct_solve(&s, t, NULL));
    for (int32_t e = 0; e < s.edge_count; e++) {
        int    i = s.edge[e].from, j = s.edge[e].to;
        double x = s.apart[e], y = s.edge_dual[e], p = emp_task_mean_time_ns(t, i);
        double reduced = s.edge[e].cost_ns * y - s.readers_dual[i] - s.producers_dual[j];
        cr_expect(x > -slack && x < 1 + slack && y > -slack);
        if (s.edge[e].is_apart) cr_expect_float_eq(x, 1.0, slack);
        cr_expect_gt(s.start_ns[j] + slack, s.start_ns[i] + p + s.edge[e].cost_ns * x);
        readers[i]++, producers[j]++;
        x_readers[i] += x, x_producers[j] += x;
        flow[i] -= y, flow[j] += y;
        bound += y * p + (s.edge[e].is_apart ? reduced : fmin(reduced, 0.0));
    }
    for (int i = 0; i < t->task_count; i++) {
        double p = emp_task_mean_time_ns(t, i), r = s.readers_dual[i],
               q = s.producers_dual[i];
        cr_expect(s.start_ns[i] > -slack && s.start_ns[i] + p < s.makespan_ns + slack);
        cr_expect_gt(x_readers[i] + slack, readers[i] - 1);
        cr_expect_gt(x_producers[i] + slack, producers[i] - 1);
        cr_expect(r > -slack && q > -slack && s.end_dual[i] > -slack);
        cr_expect_lt(flow[i], s.end_dual[i] + slack, "seed %d, task %d", (int)seed, i);
        bound += r * (readers[i] - 1) + q * (producers[i] - 1) + s.end_dual[i] * p;
        ends += s.end_dual[i];
    }
    cr_expect_lt(ends, 1 + slack);
    cr_expect_float_eq(bound, s.makespan_ns, 1e-5, "seed %d: proved %g of %g", (int)seed,
                       bound, s.makespan_ns);
}

Test(sct_lp, is_as_good_as_its_dual_proves)
{
    static hand_tasks h;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        hand_tasks_draw(&h, seed);
        expect_certificate(&h, seed);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* GLPK would abort() when out of memory. */
Test(sct_lp, what_stops_glpk_is_an_error)
{
    static hand_tasks h;
    emp_sct_solution  s;

    hand_tasks_draw(&h, 2);
    glp_mem_limit(1); /* MB; the environment is this thread's, until it is ended */
    void *most = glp_alloc(1, 1048000); /* all but a little of it */
    cr_assert_not_null(most);
    MUST_FAIL(emp_sct_solve(&s, &h.graph, &why), EMP_EEXTERNAL, "GLPK");
    emp_sct_solution_clear(&s);
    cr_expect_eq(emp_sct_solve(&s, &h.graph, NULL), EMP_OK, "with a new environment");
    emp_sct_solution_clear(&s);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(list_schedule, every_failed_allocation_is_reported)
{
    emp_list_scheduler *const all[] = {emp_schedule_heft,         emp_schedule_peft,
                                       emp_schedule_etf,          emp_schedule_m_topo,
                                       emp_schedule_m_etf,        emp_schedule_m_sct,
                                       emp_schedule_critical_path};
    static hand_tasks         h;

    for (size_t i = 0; i < COUNT(all); i++) {
        emp_status st = EMP_ENOMEM;
        hand_tasks_draw(&h, 2);
        for (long count = 0; st == EMP_ENOMEM; count++) {
            emp_list_schedule s = {0};
            cr_assert_lt(count, 100);
            emp_mem_fail_after(count);
            st = emp_list_schedule_init(&s, &h.graph, NULL);
            if (st == EMP_OK) st = all[i](&s, NULL);
            emp_mem_fail_after(-1);
            emp_list_schedule_clear(&s);
            cr_assert_eq(emp_mem_live_blocks(), 0);
        }
        cr_expect_eq(st, EMP_OK, "scheduler %zu", i);
    }
}
