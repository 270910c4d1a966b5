// SPDX-License-Identifier: GPL-3.0-or-later
/* Measured iterations: are small rows predicted as by hand, are faults one sentence, and how far off
 * are published measurements, where they are? Do steps of the oracle take what a hand computes for pipelines of
 * one forward and one backward pass in turn, in time and in memory? */
#include <unistd.h>

#include "base/text/file.h"
#include "bench/iterations/iterations.h"
#include "bench/iterations/plan.h"
#include "tests/test.h"

/* A layer in the first stage, two in the second; the larger micro-batch of the last layer was measured
 * faster. A network of 1 GB/s, and gathers of 1 MB within 1 ms. */
static const char layers[] =
    "model,gpu,tp,microbatch,layer_first,layer_last,fwd_s,bwd_s,update_s,params,"
    "act_out_elems,act_stored_elems\n"
    "m,A,2,1,0,1,1,2,0.3,1000000,2000000,1000000\n"
    "m,A,2,1,2,2,1.5,2,0.3,1000000,0,1000000\n"
    "m,A,2,2,0,1,2,4,0.3,1000000,2000000,1000000\n"
    "m,A,2,2,2,2,1,2,0.3,1000000,0,1000000\n"
    "m,B,2,1,0,2,2,4,0.3,1000000,2000000,1000000\n"
    "m,D,2,1,0,2,1,2,0,1000000,2000000,1000000\n"
    "m,D,2,4,1,1,0.5,3,0,1000000,2000000,1000000\n"
    "m,D,2,4,1,1,0.1,0.1,0,1000000,2000000,1000000\n";
static const char fits[] =
    "scope,zone_from,zone_to,gpu_from,gpus_from,gpu_to,gpus_to,c2,c1,c0,max_bytes_per_s\n"
    "intra,,,A,2,A,2,0,0,9,9e9\n"
    "inter,y,z,A,2,A,2,0,0,9,9e9\n"
    "inter,z,z,A,2,A,2,0,0,2,1e9\n"
    "inter,z,z,A,1,C,1,0,0,1,1e9\n"
    "inter,z,z,A,2,C,1,0,0,2,2e9\n"
    "inter,z,z,B,2,A,2,0,0,1,1e9\n";
static const char collectives[] = "gpu,op,dtype,gpus,bytes,us\n"
                                  "A,send,float,2,1000000,7\n"
                                  "A,all_gather,float,2,1000000,1000\n"
                                  "A,all_gather,float,2,4000000,4000\n";
static const char head[] =
    "id,cluster,model,global_batch,microbatch,stages,replicas,layers_per_stage,devices,"
    "iteration_s,peak_bytes,formula_s,formula_peak_bytes\n";

typedef struct {
    emp_layer_table layers;
    emp_network    *network;
} world;

static world make_world(bool has_gathers)
{
    world w = {0};

    ASSERT_OK(emp_layer_table_parse(&w.layers, (emp_slice){layers, sizeof layers - 1},
                                    "layers", &err));
    ASSERT_OK(emp_network_create(&w.network, &err));
    ASSERT_OK(emp_network_add_fits(w.network, fits, sizeof fits - 1, "fits", &err));
    if (has_gathers)
        ASSERT_OK(emp_network_add_collectives(w.network, collectives,
                                              sizeof collectives - 1, "gathers", &err));
    return w;
}

static void clear_world(world *w)
{
    emp_layer_table_clear(&w->layers);
    emp_network_destroy(w->network);
}

static emp_status predict_by(emp_engine engine, emp_iteration_result *result,
                             const char *rows, bool has_gathers, emp_error *err)
{
    world          w = make_world(has_gathers);
    emp_iterations iterations = {0};

    const char *text = scratch_print("%s%s", head, rows);
    emp_status  st = emp_iterations_parse(&iterations, text, strlen(text), "rows", err);
    const emp_iteration_sources sources = {
        .layers = &w.layers, .network = w.network, .engine = engine};
    if (st == EMP_OK) st = emp_iterations_predict(result, &iterations, &sources, err);
    emp_iterations_clear(&iterations);
    clear_world(&w);
    cr_expect_eq(emp_mem_live_blocks(), 0);
    return st;
}

static emp_status predict(emp_iteration_result *result, const char *rows,
                          bool has_gathers, emp_error *err)
{
    return predict_by(EMP_ENGINE_DEEPSPEED, result, rows, has_gathers, err);
}

static emp_iteration_result predict_good(const char *row, bool has_gathers)
{
    emp_iteration_result result = {0};

    ASSERT_OK(predict(&result, row, has_gathers, &err));
    return result;
}

TestSuite(iterations, .fini = expect_all_freed);

/* One micro-batch: F 1, 8 MB in 8 ms, F 2 (the last layer's is that of the larger micro-batch), B 4, 8 ms,
 * B 2. The update of 0.3 s was of all three layers: the second stage would take 0.2 s, the first, which
 * is last, 0.1 s, and four sevenths of it for the gradients' way into a bucket and back.
 *
 * Only layer 1 was measured with four sequences: forward passes of 1, 0.5 and 1 s. The second row of it
 * does not count.
 *
 * Both GPUs of a host send halves of 12 MB twice: 24 MB at 1 GB/s. Different hosts wait for the slower. An update
 * of 0.3 s is seven words a parameter: the second micro-batch adds its gradients with three of them, and their
 * sum takes four for the bucket and two for the mean. */
Test(iterations, pipelines_and_replicas_take_what_a_hand_computes)
{
    static const struct {
        const char *row;
        double      step_s;
    } cases[] = {
        {"x,c,m,1,1,2,1,\"1,2\",all A*2,9,,,\n",
         1.0 + 0.008 + 2.0 + 4.0 + 0.008 + 2.0 + 0.1 * 11 / 7},
        {"x,c,m,1,1,1,1,3,all D*2,9,,,\n", 2.5 + 6.0},
        {"x,c,m,4,1,1,2,3,all A*2,9,,,\n", 2 * (3.0 + 6.0) + 0.024 + 0.3 * 16 / 7},
        {"x,c,m,4,1,1,2,3,A*2+B*2,9,,,\n", 2 * (6.0 + 12.0) + 0.024 + 0.3 * 16 / 7}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_iteration_result r = predict_good(cases[i].row, false);
        cr_expect_float_eq(r.step_s, cases[i].step_s, 1e-9, "%s: %.9f", cases[i].row,
                           r.step_s);
        if (i > 0) continue;
        /* 2 layers with 20 bytes a parameter, their activations, and one layer's again */
        cr_expect_float_eq(r.peak_bytes, 2e6 * 20 + 2 * 4e6 + 4e6 + EMP_PROCESS_BYTES,
                           512.0, "%.0f", r.peak_bytes);
    }
}

/* Gathers of 8 MB take 8 ms: one before the forward pass, two before the backward pass. Sailor gathers one
 * before each pass, and writes 8 MB of zeros, which it copies to the GPU. */
Test(iterations, parts_of_an_activation_are_gathered)
{
    static const char    row[] = "x,c,m,1,1,2,1,\"1,2\",all A*2,9,,,\n";
    emp_iteration_result without = predict_good(row, false),
                         with = predict_good(row, true);
    const double fill_s = 8e6 / 37e9 + 8e6 / 4.5e9;

    cr_expect_float_eq(with.step_s - without.step_s, 0.024, 1e-9, "%.9f",
                       with.step_s - without.step_s);
    ASSERT_OK(predict_by(EMP_ENGINE_SAILOR, &with, row, true, &err));
    cr_expect_float_eq(with.step_s - without.step_s, 2 * (0.008 + fill_s), 1e-8, "%.9f",
                       with.step_s - without.step_s);
}

Test(iterations, errors_and_orders_are_counted)
{
    static const char          rows[] = "a,c,m,8,1,1,1,1,all A*2,10,100,11,50\n"
                                        "b,c,m,8,1,1,1,1,all A*2,20,,18,\n"
                                        "e,d,m,8,1,1,1,1,all A*2,30,,,\n";
    const emp_iteration_result result[] = {{12.0, 110.0}, {11.0, 1.0}, {30.0, 1.0}};
    SCOPED(emp_iterations, emp_iterations_clear) it = {0};

    const char *text = scratch_print("%s%s", head, rows);
    ASSERT_OK(emp_iterations_parse(&it, text, strlen(text), "rows", NULL));
    emp_iteration_error e = emp_iterations_error(&it, result, "c", true, false);
    cr_expect_eq(e.count, 2);
    cr_expect_float_eq(e.mean_frac, (0.2 + 0.45) / 2, 1e-12);
    e = emp_iterations_error(&it, result, NULL, true, true);
    cr_expect_eq(e.count, 2);
    cr_expect_float_eq(e.mean_frac, 0.1, 1e-12);
    e = emp_iterations_error(&it, result, NULL, false, false);
    cr_expect_eq(e.count, 1);
    cr_expect_float_eq(e.mean_frac, 0.1, 1e-12);
    emp_iteration_pairs pairs = emp_iterations_count_pairs(&it, result, false);
    cr_expect_eq(pairs.count, 1);
    cr_expect_eq(pairs.right, 0);
    cr_expect_eq(emp_iterations_count_pairs(&it, result, true).right, 1);
}

/* The other way round, and with fewer GPUs, where nothing else was measured. */
Test(iterations, pairs_that_were_not_measured_take_what_is_nearest)
{
    static const struct {
        emp_tensor_group from, to;
        double           seconds;
    } cases[] = {
        {{"A", 2}, {"B", 2}, 1.0}, {{"A", 4}, {"C", 2}, 0.5}, {{"C", 2}, {"A", 4}, 0.5}};
    const emp_tensor_group c1 = {"C", 1};
    world                  w = make_world(false);
    double                 seconds;

    for (int i = 0; i < 3; i++) {
        ASSERT_OK(emp_network_send(&seconds, w.network, &cases[i].from, &cases[i].to, 1e9,
                                   &err));
        cr_expect_float_eq(seconds, cases[i].seconds, 1e-12, "case %d: %g", i, seconds);
    }
    EXPECT_REFUSED(emp_network_send(&seconds, w.network, &c1, &cases[0].to, 1e9, &err),
                   EMP_EUNSUPPORTED, "no rate from 1 C to 2 B");
    clear_world(&w);
}

Test(iterations, faults_are_named)
{
    static const char *const cases[][2] = {
        {"x,c,m,3,2,1,1,3,all A*2,9,,,\n", "rows, row 1: global_batch is \"3\""},
        {"x,c,m,1,1,2,1,3,all A*2,9,,,\n", "layers_per_stage is \"3\""},
        {"x,c,m,1,1,1,1,3,A,9,,,\n", "devices is \"A\""},
        {"x,c,m,1,1,1,1,3,A*2;A*2,9,,,\n", "devices is"},
        {"x,c,m,1,1,1,1,3,A*2x,9,,,\n", "devices is"},
        {"x,c,m,1,1,1,1,3,all A*2,0,,,\n", "iteration_s is \"0\""},
        {"x,c,m,1,1,1,1,3,all A*2,9,-1,,\n", "peak_bytes is \"-1\""},
        {"x,c,m,1,1,1,1,2,all A*2,9,,,\n", "have 2 layers, the table has 3"},
        {"x,c,n,1,1,1,1,3,all A*2,9,,,\n", "rows, row 1: layers has no layer"},
        {"x,c,m,4,4,1,1,3,all D*2,9,,,\n", "has no layer 0"},
        {"x,c,m,1,1,2,1,\"1,2\",B*2;B*2,9,,,\n", "no rate from 2 B to 2 B"},
        {"x,c,m,1,1,65,1,3,all A*2,9,,,\n", "stages is \"65\""}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_iteration_result result[4];
        EXPECT_FAILS(predict(result, cases[i][0], true, &err), cases[i][1]);
    }
}

Test(iterations, tables_of_another_kind_are_refused)
{
    static const char zero[] = "gpu,op,dtype,gpus,bytes,us\nA,all_gather,float,2,0,1\n";
    SCOPED(emp_iterations, emp_iterations_clear) it = {0};
    emp_network *network = NULL;

    EXPECT_REFUSED(emp_iterations_parse(&it, "a,b\n1,2\n", 8, "rows", &err), EMP_EFORMAT,
                   "column devices");
    ASSERT_OK(emp_network_create(&network, &err));
    EXPECT_REFUSED(emp_network_add_fits(network, "a,b\n1,2\n", 8, "fits", &err),
                   EMP_EFORMAT, "scope");
    EXPECT_REFUSED(
        emp_network_add_collectives(network, zero, sizeof zero - 1, "gathers", &err),
        EMP_EFORMAT, "gathers, row 1");
    emp_network_destroy(network);
}

static emp_status parse_and_predict(const world *w, const char *text)
{
    const emp_iteration_sources sources = {.layers = &w->layers, .network = w->network};
    SCOPED(emp_iterations, emp_iterations_clear) it = {0};
    emp_iteration_result result;

    emp_status st = emp_iterations_parse(&it, text, strlen(text), "rows", NULL);
    if (st == EMP_OK) st = emp_iterations_predict(&result, &it, &sources, NULL);
    return st;
}

Test(iterations, every_allocation_failure_is_reported)
{
    world w = make_world(true);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        parse_and_predict(
            &w, scratch_print("%sx,c,m,1,1,2,1,\"1,2\",all A*2,9,,,\n", head)), );
    clear_world(&w);
}

static bool load_shared(char **bytes, size_t *size, const char *name)
{
    const char *root = getenv("EMP_SOURCE_DIR");

    const char *path =
        scratch_print("%s/../shared/profiles/modern/%s", root ? root : ".", name);
    return access(path, R_OK) == 0 && emp_file_load(path, bytes, size, NULL) == EMP_OK;
}

/* No constant comes from these rows. The authors' formula is off by 10.8 % and 8.9 %, of memory by 6.7 %
 * and 15.8 %, and has one pair of 12 in the wrong order. */
Test(iterations, published_steps_on_unlike_gpus_are_near)
{
    static const char *const names[] = {"sailor_iterations.tsv", "sailor_layers.tsv.gz",
                                        "sailor_network.tsv.gz", "sailor_comm.tsv.gz"};
    char                    *bytes[4] = {0};
    size_t                   size[4];
    world                    w = {0};
    SCOPED(emp_iterations, emp_iterations_clear) it = {0};

    for (int32_t i = 0; i < 4; i++)
        if (!load_shared(&bytes[i], &size[i], names[i]))
            cr_skip_test("%s is not there", names[i]);
    ASSERT_OK(emp_iterations_parse(&it, bytes[0], size[0], names[0], &err));
    ASSERT_OK(
        emp_layer_table_parse(&w.layers, (emp_slice){bytes[1], size[1]}, names[1], &err));
    ASSERT_OK(emp_network_create(&w.network, NULL));
    ASSERT_OK(emp_network_add_fits(w.network, bytes[2], size[2], names[2], &err));
    ASSERT_OK(emp_network_add_collectives(w.network, bytes[3], size[3], names[3], &err));
    const emp_iteration_sources sources = {
        .layers = &w.layers, .network = w.network, .engine = EMP_ENGINE_SAILOR};
    emp_iteration_result *r = EMP_NEW_ARRAY(emp_iteration_result, (size_t)it.count);
    ASSERT_OK(emp_iterations_predict(r, &it, &sources, &err));
    cr_expect_lt(emp_iterations_error(&it, r, "gh200", true, false).mean_frac, 0.09);
    cr_expect_lt(emp_iterations_error(&it, r, "rtx", true, false).mean_frac, 0.021);
    cr_expect_lt(emp_iterations_error(&it, r, "gh200", false, false).mean_frac, 0.06);
    cr_expect_lt(emp_iterations_error(&it, r, "rtx", false, false).mean_frac, 0.10);
    emp_iteration_pairs pairs = emp_iterations_count_pairs(&it, r, false);
    cr_expect_eq(pairs.right, pairs.count);
    emp_free(r);
    clear_world(&w);
    for (int32_t i = 0; i < 4; i++) emp_free(bytes[i]);
}

enum { MANY = 40 };

static emp_step_result simulate(int32_t stages, int32_t replicas, int32_t micro_batches,
                                const emp_stage_cost *stage)
{
    const emp_step  step = {stages, replicas, micro_batches, stage};
    emp_step_result result = {0};

    ASSERT_OK(emp_step_simulate(&result, &step, &err));
    cr_expect_eq(emp_mem_live_blocks(), 0);
    return result;
}

static void expect_s(emp_step_result result, double seconds)
{
    cr_expect_float_eq(result.step_s, seconds, 1e-9, "%.9f, not %.9f", result.step_s,
                       seconds);
}

TestSuite(step, .fini = expect_all_freed);

/* (m + S - 1) (F + B), for stages that are alike and exchange nothing. */
Test(step, stages_that_are_alike_take_their_closed_form)
{
    const emp_stage_cost cost = {.forward_s = 1.0, .backward_s = 2.0};
    const emp_stage_cost stage[] = {cost, cost, cost, cost};

    for (int32_t stages = 1; stages <= 4; stages++)
        for (int32_t n = 1; n <= 6; n++)
            expect_s(simulate(stages, 1, n, stage), 3.0 * (n + stages - 1));
}

/* A stage by itself adds gradients n - 1 times. With two stages and four micro-batches, the second adds them
 * three times before the first one's last backward pass, which adds them once more. */
Test(step, gradients_are_added_from_the_second_micro_batch_on)
{
    const emp_stage_cost cost = {
        .forward_s = 1.0, .backward_s = 2.0, .accumulate_s = 0.25};
    const emp_stage_cost stage[] = {cost, cost};

    for (int32_t n = 1; n <= 6; n++)
        expect_s(simulate(1, 1, n, stage), 3.0 * n + 0.25 * (n - 1));
    expect_s(simulate(2, 1, 1, stage), 6.0);
    expect_s(simulate(2, 1, 4, stage), 15.0 + 0.25 * 3 + 0.25);
}

/* One micro-batch goes forth and back: F0, send, F1, B1, send, B0, then sum and update. */
Test(step, one_micro_batch_waits_for_every_exchange)
{
    const emp_stage_cost stage[] = {{.forward_s = 1.0,
                                     .backward_s = 2.0,
                                     .output_s = 0.25,
                                     .reduce_s = 0.5,
                                     .update_s = 0.125},
                                    {.forward_s = 3.0,
                                     .backward_s = 4.0,
                                     .gradient_s = 0.75,
                                     .reduce_s = 0.5,
                                     .update_s = 0.125}};

    expect_s(simulate(2, 1, 1, stage), 1.0 + 0.25 + 3.0 + 4.0 + 0.75 + 2.0 + 0.625);
}

/* The first stage: F0 to 1, sends to 1.25, F1 to 2.25. The second has done F0 and B0 by 2.25. They
 * exchange the gradient to 2.5 and the output to 2.75. B0 lasts to 4.75, when the second has long done
 * F1 and B1; the gradient is there at 5, and B1 ends at 7. */
Test(step, a_blocking_exchange_keeps_both_neighbours)
{
    const emp_stage_cost stage[] = {
        {.forward_s = 1.0, .backward_s = 2.0, .output_s = 0.25},
        {.forward_s = 0.5, .backward_s = 0.5, .gradient_s = 0.25}};

    expect_s(simulate(2, 1, 2, stage), 7.0);
}

/* Nothing keeps the first stage from its passes but the first gradient, which is there at 2.5. */
Test(step, a_buffered_message_leaves_its_sender_at_once)
{
    const emp_stage_cost stage[] = {{.forward_s = 1.0,
                                     .backward_s = 2.0,
                                     .output_s = 0.25,
                                     .is_output_buffered = true},
                                    {.forward_s = 0.5,
                                     .backward_s = 0.5,
                                     .gradient_s = 0.25,
                                     .is_gradient_buffered = true}};

    expect_s(simulate(2, 1, 2, stage), 6.5);
}

/* The sum of gradients waits for the slower replica. */
Test(step, replicas_wait_for_the_slowest)
{
    const emp_stage_cost stage[] = {
        {.forward_s = 1.0, .backward_s = 2.0, .reduce_s = 0.5, .update_s = 0.125},
        {.forward_s = 2.0, .backward_s = 4.0, .reduce_s = 0.5, .update_s = 0.125}};

    expect_s(simulate(1, 2, 2, stage), 12.625);
}

/* Stage s of S keeps S - s micro-batches at most, as far as there are as many. */
Test(step, memory_is_that_of_the_micro_batches_under_way)
{
    const emp_stage_cost cost = {.forward_s = 1.0,
                                 .backward_s = 2.0,
                                 .stored_bytes = 1 << 20,
                                 .state_bytes = 1 << 22};
    const emp_stage_cost stage[] = {cost, cost, cost};

    cr_expect_eq(simulate(3, 1, 8, stage).peak_bytes, (1 << 22) + 3 * (1 << 20));
    cr_expect_eq(simulate(3, 1, 2, stage).peak_bytes, (1 << 22) + 2 * (1 << 20));
    cr_expect_eq(simulate(1, 1, 8, stage).peak_bytes, (1 << 22) + (1 << 20));
}

Test(step, what_no_machine_holds_is_refused)
{
    emp_stage_cost  stage[MANY] = {0};
    const emp_step  step = {MANY, 1, 1, stage};
    emp_step_result result;

    for (int32_t i = 0; i < MANY; i++)
        stage[i].is_output_buffered = stage[i].is_gradient_buffered = true;
    EXPECT_REFUSED(emp_step_simulate(&result, &step, &err), EMP_EUNSUPPORTED,
                   "more than 64");
    stage[0] = (emp_stage_cost){.forward_s = -1.0};
    const emp_step negative = {1, 1, 1, stage};
    EXPECT_REFUSED(emp_step_simulate(&result, &negative, &err), EMP_EINVAL, "-1 s");
}

Test(step, every_allocation_failure_is_reported)
{
    const emp_stage_cost stage[] = {{.forward_s = 1.0}, {.forward_s = 1.0}};
    const emp_step       step = {2, 1, 2, stage};
    emp_step_result      result;

    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_step_simulate(&result, &step, NULL), );
}
