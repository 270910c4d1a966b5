// SPDX-License-Identifier: GPL-3.0-or-later
/* Schedules of pipelines beside the closed forms of their papers, and schedules of one's own. */
#include "parallel/pipeline.h"
#include "tests/test.h"

enum { STAGES_MAX = 16 };

/* Every chunk's passes take the same time; nothing is sent. */
typedef struct {
    int64_t forward, backward, weight; /* of a chunk, ns */
} times;

static emp_degrees degrees_of(int32_t pp, int32_t vp, int32_t micro_batches,
                              emp_order_kind schedule)
{
    emp_degrees d = emp_degrees_default();

    d.pp = pp;
    d.vp = vp;
    d.micro_batches = micro_batches;
    d.schedule = (int32_t)schedule;
    return d;
}

/* The end of the last stage, and the waiting of the first one. */
typedef struct {
    int64_t end, idle;
} outcome;

static outcome run_order(const emp_pipeline_order *order, const times *t, int64_t send_ns)
{
    emp_part       part[EMP_TURN_KINDS];
    emp_pass_parts pass[EMP_CHUNKS_MAX * EMP_TURN_KINDS];
    emp_stage_end  stage[STAGES_MAX];
    outcome        out = {0, 0};

    part[EMP_TURN_FORWARD] = (emp_part){EMP_GROUP_NONE, t->forward};
    part[EMP_TURN_BACKWARD] = (emp_part){
        EMP_GROUP_NONE, order->has_weights ? t->backward : t->backward + t->weight};
    part[EMP_TURN_WEIGHT] = (emp_part){EMP_GROUP_NONE, t->weight};
    for (int32_t i = 0; i < order->chunks * EMP_TURN_KINDS; i++)
        pass[i] = (emp_pass_parts){&part[i % EMP_TURN_KINDS], 1};
    const emp_pipeline pipeline = {
        .schedule = order, .pass = pass, .send_ns = send_ns, .ranks = 1};
    ASSERT_OK(emp_pipeline_run(stage, NULL, &pipeline, &err));
    for (int32_t s = 0; s < order->stages; s++) {
        out.end = stage[s].end_ns > out.end ? stage[s].end_ns : out.end;
        cr_assert_eq(stage[s].busy_ns, stage[0].busy_ns);
    }
    out.idle = out.end - stage[0].busy_ns;
    return out;
}

static outcome run(const emp_degrees *d, const times *t)
{
    SCOPED(emp_pipeline_order, emp_pipeline_order_clear) order = {0};

    ASSERT_OK(emp_pipeline_order_create(&order, d, &err));
    return run_order(&order, t, 0);
}

/* Narayanan et al., Efficient large-scale language model training on GPU clusters (2021): p - 1 forward and backward passes
 * of a stage are idle, whether all forward passes come first or not. */
Test(pipeline, one_forward_one_backward_waits_for_p_minus_1_passes,
     .fini = expect_all_freed)
{
    const times t = {3000, 4000, 2000};

    for (int32_t p = 1; p <= 8; p++) {
        for (int32_t m = 1; m <= 20; m++) {
            const emp_degrees d = degrees_of(p, 1, m, EMP_ORDER_1F1B);
            const emp_degrees g = degrees_of(p, 1, m, EMP_ORDER_GPIPE);
            cr_expect_eq(run(&d, &t).idle, (p - 1) * 9000, "p %d m %d", p, m);
            cr_expect_eq(run(&g, &t).end, (m + p - 1) * 9000, "p %d m %d", p, m);
        }
    }
}

/* The same: with v parts on each stage the idle time is 1 / v of that. */
Test(pipeline, interleaving_divides_the_bubble, .fini = expect_all_freed)
{
    const times t = {3000, 4000, 2000};

    for (int32_t p = 2; p <= 8; p++) {
        for (int32_t v = 2; v <= 4; v++) {
            for (int32_t groups = 1; groups <= 4; groups++) {
                const emp_degrees d = degrees_of(p, v, groups * p, EMP_ORDER_INTERLEAVED);
                cr_expect_eq(run(&d, &t).idle, (p - 1) * 9000, "p %d v %d m %d", p, v,
                             groups * p);
                cr_expect_eq(run(&d, &t).end, (groups * p * v + p - 1) * 9000);
            }
        }
    }
}

/* Qi et al., Zero bubble pipeline parallelism (2024), table 1: ZB-H1 waits (p - 1) (F + B - W). */
Test(pipeline, zero_bubble_h1_waits_for_f_plus_b_minus_w, .fini = expect_all_freed)
{
    const times cases[] = {{3000, 3000, 3000}, {4000, 4000, 3000}, {3000, 4000, 2000}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const times *t = &cases[i];
        for (int32_t p = 2; p <= 8; p++) {
            for (int32_t m = p; m <= 3 * p; m++) {
                const emp_degrees d = degrees_of(p, 1, m, EMP_ORDER_ZERO_BUBBLE);
                cr_expect_eq(run(&d, t).idle,
                             (p - 1) * (t->forward + t->backward - t->weight),
                             "case %zu p %d m %d", i, p, m);
            }
        }
    }
}

/* Micro-batches from both ends halve the way: p / 2 - 1 times F + B - W, where passes are not fused in pairs. The
 * table 2 of the DeepSeek-V3 technical report (2024), (p / 2 - 1) (F&B + B' - 3 W), counts pairs that end together and a B' with
 * both gradients; with F&B = F + B' that is more by B, and no less than here. */
Test(pipeline, dualpipe_waits_half_as_often, .fini = expect_all_freed)
{
    const times cases[] = {{1000, 1000, 1000}, {4000, 4000, 3000}, {3000, 4000, 2000}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const times  *t = &cases[i];
        const int64_t each = t->forward + t->backward - t->weight;
        for (int32_t p = 2; p <= 8; p += 2) {
            for (int32_t m = 2 * p; m <= 4 * p; m += 2) {
                const emp_degrees d = degrees_of(p, 1, m, EMP_ORDER_DUALPIPE);
                cr_expect_eq(run(&d, t).idle, (p / 2 - 1) * each, "case %zu p %d m %d", i,
                             p, m);
            }
        }
    }
}

/* A message delays each stage once on the way there and once on the way back, and a sender waits for it. */
Test(pipeline, messages_lengthen_the_way, .fini = expect_all_freed)
{
    const emp_degrees d = degrees_of(4, 1, 1, EMP_ORDER_GPIPE);
    const times       t = {3000, 4000, 2000};
    SCOPED(emp_pipeline_order, emp_pipeline_order_clear) order = {0};

    ASSERT_OK(emp_pipeline_order_create(&order, &d, &err));
    cr_expect_eq(run_order(&order, &t, 100).end, 4 * 9000 + 6 * 100);
}

/* Two ranks of a tensor group and two of a stage: a collective joins them, and ends for both at once. */
Test(pipeline, all_ranks_take_what_one_of_each_stage_takes, .fini = expect_all_freed)
{
    emp_degrees d = degrees_of(4, 2, 8, EMP_ORDER_INTERLEAVED);
    SCOPED(emp_pipeline_order, emp_pipeline_order_clear) order = {0};
    emp_stage_end  one[STAGES_MAX], all[STAGES_MAX];
    const emp_part parts[] = {{EMP_GROUP_NONE, 700},
                              {EMP_GROUP_TENSOR, 110},
                              {EMP_GROUP_EXPERT, 130},
                              {EMP_GROUP_NONE, 17}};
    emp_pass_parts pass[EMP_CHUNKS_MAX * EMP_TURN_KINDS];

    ASSERT_OK(emp_pipeline_order_create(&order, &d, &err));
    for (int32_t i = 0; i < order.chunks * EMP_TURN_KINDS; i++)
        pass[i] = (emp_pass_parts){parts, 4 - i % 2};
    emp_pipeline pipeline = {.schedule = &order, .pass = pass, .send_ns = 5, .ranks = 1};
    pipeline.shape[EMP_GROUP_TENSOR] = (emp_group_shape){.size = 2, .stride = 1};
    pipeline.shape[EMP_GROUP_EXPERT] = (emp_group_shape){.size = 4, .stride = 2};
    ASSERT_OK(emp_pipeline_run(one, NULL, &pipeline, &err));
    pipeline.ranks = 16;
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_pipeline_run(all, NULL, &pipeline, NULL),
                                      (void)0);
    for (int32_t s = 0; s < 4; s++) {
        cr_expect_eq(one[s].end_ns, all[s].end_ns);
        cr_expect_eq(one[s].busy_ns, all[s].busy_ns);
    }
}

static emp_status load(emp_pipeline_order *order, const emp_degrees *d, const char *text,
                       emp_error *err)
{
    return emp_pipeline_order_load(order, d, scratch_file("schedule.yaml", text), err);
}

Test(schedule_file, is_run_as_it_is_written, .init = scratch_create,
     .fini = scratch_remove)
{
    const emp_degrees  d = degrees_of(2, 1, 2, EMP_ORDER_1F1B);
    const times        t = {3000, 4000, 2000};
    emp_pipeline_order order = {0};

    ASSERT_OK(load(&order, &d, "stages:\n  - F0 F1 B0 B1\n  - F0 B0 F1 B1\n", &err));
    cr_expect_eq(run_order(&order, &t, 0).end, 3 * 9000);
    emp_pipeline_order_clear(&order);
    ASSERT_OK(load(&order, &d, "stages:\n  - F0 F1 B0 W0 B1 W1\n  - F0 B0 F1 B1 W0 W1\n",
                   &err));
    /* the second stage: 3 until F0, then F B F B of 14, then two W of 4; the first has its last B at 21 */
    cr_expect_eq(run_order(&order, &t, 0).end, 23000);
    emp_pipeline_order_clear(&order);
}

Test(schedule_file, says_what_is_wrong_with_it, .init = scratch_create,
     .fini = scratch_remove)
{
    const emp_degrees  d = degrees_of(2, 1, 2, EMP_ORDER_1F1B);
    emp_pipeline_order order = {0};
    const struct {
        const char *text, *part;
    } cases[] = {
        {"stages:\n  - F0 F1 B0 B1\n", "has 1 stages, and pp is 2"},
        {"stages:\n  - F0 F1 B0 B1\n  - F0 B0 F1 B2\n", "stage 1 has \"B2\""},
        {"stages:\n  - F0 F1 B0 B1\n  - F0 B0 F1 X1\n", "stage 1 has \"X1\""},
        {"stages:\n  - F0 F1 B0 B1\n  - F0 B0 F1 F1\n", "F1.0 2 times, want it once"},
        {"stages:\n  - F0 F1 B0 B1\n  - F0 B0 F1\n", "B1.0 0 times"},
        {"steps: 3\n", "Unexpected key: steps"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EXPECT_REFUSED(load(&order, &d, cases[i].text, &err), EMP_EFORMAT, cases[i].part);
        emp_pipeline_order_clear(&order);
    }
}

Test(schedule_file, that_never_ends_is_refused, .init = scratch_create,
     .fini = scratch_remove)
{
    const emp_degrees d = degrees_of(2, 1, 2, EMP_ORDER_1F1B);
    SCOPED(emp_pipeline_order, emp_pipeline_order_clear) order = {0};
    emp_stage_end  stage[2];
    const emp_part part = {EMP_GROUP_NONE, 1};
    emp_pass_parts pass[6];

    ASSERT_OK(load(&order, &d, "stages:\n  - F0 B0 F1 B1\n  - F1 B1 F0 B0\n", &err));
    for (int32_t i = 0; i < 6; i++) pass[i] = (emp_pass_parts){&part, 1};
    const emp_pipeline pipeline = {.schedule = &order, .pass = pass, .ranks = 1};
    EXPECT_REFUSED(emp_pipeline_run(stage, NULL, &pipeline, &err), EMP_EINVAL,
                   "stage 0 waits for ever before its task 2, B0");
}
