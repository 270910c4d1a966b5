// SPDX-License-Identifier: GPL-3.0-or-later
/* Do tables of anchors read as they are written, and is what makes no sense refused by name? */
#include "bench/anchors/anchors.h"
#include "tests/test.h"

#define HEADER "name\tkind\trole\tdevice\tspec\tmeasured\tbar\tsource\n"
#define COPY   "a copy\tcopy\tcheck\tk40x1\tcopy cpu:0 gpu:0 1MB\t10 GB/s\t20 %\tsomebody\n"
#define SQUARE \
    "a product\tproduct\tfit\tk40x1\tmatmul 64 64 64\t20 us\t15 %\tsomebody else\n"

static emp_status read(emp_anchors *anchors, const char *text, emp_error *err)
{
    return emp_anchors_read(anchors, "t", text, strlen(text), err);
}

Test(anchors, read_what_the_table_says)
{
    SCOPED(emp_anchors, emp_anchors_clear) anchors = {0};

    ASSERT_OK(read(&anchors, "# remark\n\n" HEADER COPY SQUARE, &err));
    cr_assert_eq(anchors.count, 2);
    const emp_anchor *a = &anchors.anchor[0];
    cr_expect_str_eq(a->name, "a copy");
    cr_expect_eq(a->kind, EMP_ANCHOR_COPY);
    cr_expect_not(a->is_fit);
    cr_expect_eq(a->unit, EMP_UNIT_BYTES_PER_S);
    cr_expect_float_eq(a->measured, 10e9, 1.0);
    cr_expect_float_eq(a->bar_frac, 0.2, 1e-12);
    cr_expect(anchors.anchor[1].is_fit);
    cr_expect_str_eq(anchors.anchor[1].source, "somebody else");
}

Test(anchors, refuse_tables_that_make_no_sense)
{
    static const char *const cases[][2] = {
        {"name\tkind\n", "role"},
        {HEADER "a\tcopy\n", "t:2: 2 fields; the first line has 8"},
        {HEADER "a\tcopy\tcheck\td\ts\t1 s\t20 %\tx\ty\n", "t:2: 9 fields"},
        {HEADER "a\tcup\tcheck\td\ts\t1 s\t20 %\tx\n", "\"cup\""},
        {HEADER "a\tcopy\tguess\td\ts\t1 s\t20 %\tx\n", "\"guess\""},
        {HEADER "a\tcopy\tcheck\td\ts\t0 s\t20 %\tx\n", "above 0"},
        {HEADER "a\tcopy\tcheck\td\ts\t5\t20 %\tx\n", "unit"},
        {HEADER "a\tcopy\tcheck\td\ts\t1 s\t20\tx\n", "\"20\""},
        {HEADER "a\tcopy\tcheck\td\ts\t1 s\tnan %\tx\n", "nan %"},
        {HEADER "a\tcopy\tcheck\td\ts\t1 s\t20 %\t\n", "no source"},
        {HEADER "\tcopy\tcheck\td\ts\t1 s\t20 %\tx\n", "no name"},
        {HEADER COPY COPY, "already"}};
    static const char bytes[] = HEADER "a\0b";
    emp_anchors       anchors = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EXPECT_REFUSED(read(&anchors, cases[i][0], &err), EMP_EFORMAT, cases[i][1]);
        emp_anchors_clear(&anchors);
    }
    EXPECT_REFUSED(emp_anchors_read(&anchors, "t", bytes, sizeof bytes - 1, &err),
                   EMP_EFORMAT, "bytes of value 0");
    emp_anchors_clear(&anchors);
}

Test(anchors, are_of_models_that_machines_have)
{
    SCOPED(emp_anchors, emp_anchors_clear) anchors = {0};
    emp_machine *machine = NULL;

    ASSERT_OK(read(&anchors, HEADER COPY SQUARE, &err));
    ASSERT_OK(emp_machine_load(&machine, "k40x4", &err));
    ASSERT_OK(emp_anchors_check_model(&anchors, machine, &err));
    emp_machine_destroy(machine);
    ASSERT_OK(emp_machine_load(&machine, "k80x1", &err));
    EXPECT_REFUSED(emp_anchors_check_model(&anchors, machine, &err), EMP_EUNSUPPORTED,
                   "no measurements are known of GPU model k80 of machine "
                   "k80x1; there are some of k40");
    emp_machine_destroy(machine);
}

static emp_status predict(const char *device, const char *spec, emp_anchor_times *times,
                          emp_error *err)
{
    emp_anchor  a = {.name = "it", .device = device, .spec = spec, .measured = 1.0};
    emp_runtime runtime;

    cr_assert_eq(emp_runtime_init(&runtime, "tf-r1.3", err), EMP_OK, "%s", err->msg);
    return emp_anchor_predict(times, &a, &runtime, err);
}

static double model_of(const char *device, const char *spec)
{
    emp_anchor_times times = {0};

    ASSERT_OK(predict(device, spec, &times, &err));
    return times.model_s;
}

Test(anchors, differ_by_what_follows_the_machine)
{
    double own = model_of("k40x1", "matmul 4096 4096 4096");

    cr_expect_float_eq(model_of("k40x1:clock=1490", "matmul 4096 4096 4096"), own / 2,
                       1e-3 * own);
    cr_expect_gt(model_of("k40x1:cpu=1,cores=2", "matmul 4096 4096 4096"), 10 * own);
    double host = model_of("k40x1", "host lstm:steps=2");
    cr_expect_float_eq(model_of("k40x1:host=4600", "host lstm:steps=2"), host / 2,
                       1e-4 * host);
    cr_expect_float_eq(model_of("k40x1:stream=100", "pass 1 1 1GB"), 20e-3, 1e-5);
    cr_expect_float_eq(model_of("k40x1:stream=200", "pass 1 1 1GB"), 10e-3, 1e-5);
}

/* A 3x3 window around every pixel: 9 x 64 terms of 128 x 28 x 28 x 64 sums. */
Test(anchors, time_a_convolution_and_both_gradients)
{
    static const char *const specs[] = {"conv 128 28 64 64 3 same output",
                                        "conv 128 28 64 64 3 same input",
                                        "conv 128 28 64 64 3 same filter"};
    const double             flops = 2.0 * 128 * 28 * 28 * 64 * 9 * 64;

    for (size_t i = 0; i < 3; i++) {
        double      own = model_of("k40x1", specs[i]);
        emp_anchor  a = {.name = "it",
                         .device = "k40x1",
                         .spec = specs[i],
                         .measured = 1e12,
                         .unit = EMP_UNIT_FLOPS_PER_S};
        emp_runtime runtime;
        ASSERT_OK(emp_runtime_init(&runtime, "tf-r1.3", NULL));
        emp_anchor_times times = {0};
        ASSERT_OK(emp_anchor_predict(&times, &a, &runtime, NULL));
        cr_expect_float_eq(times.measured_s, flops / 1e12, 1e-9, "%s", specs[i]);
        cr_expect_lt(model_of("k40x1:clock=1490", specs[i]), 0.55 * own);
    }
    cr_expect_lt(model_of("k40x1", "conv 128 28 64 64 3 valid output"),
                 model_of("k40x1", specs[0]), "fewer pixels without padding");
}

Test(anchors, transpose_no_activations_in_nchw)
{
    cr_expect_lt(model_of("k40x1", "step smallnet:batch=512 nchw"),
                 model_of("k40x1", "step smallnet:batch=512"));
}

Test(anchors, refuse_specs_that_make_no_sense)
{
    static const struct {
        const char *device, *spec, *word;
    } cases[] = {{"k40x1", "", "is no spec"},
                 {"k40x1", "multiply 1 2 3", "matmul"},
                 {"k40x1", "matmul 64 64", "matmul M N K"},
                 {"k40x1", "matmul 64 64 0", "whole number"},
                 {"k40x1", "conv 8 32 16 16 3 same", "conv BATCH SIZE"},
                 {"k40x1", "conv 8 32 16 16 3 full input", "valid or same"},
                 {"k40x1", "conv 8 32 16 16 3 same bias", "output, input or"},
                 {"k40x1", "conv 8 32 16 0 3 same input", "whole number"},
                 {"k40x1", "conv 8 32 16 16 33 valid input", "does not fit"},
                 {"k40x1", "pass 3 1 1MB", "one or two"},
                 {"k40x1", "pass 1 1 0MB", "4 B"},
                 {"k40x1", "copy cpu:0 gpu:7 1MB", "\"gpu:7\""},
                 {"k40x1", "copy gpu:0 gpu:0 1MB", "no link"},
                 {"k40x1", "kernel 5", "no sizes"},
                 {"k40x1", "step vgg16 nhwc", "nchw"},
                 {"k40x1", "step vgg17", "neither"},
                 {"k40x1", "step vgg16:depth=3", "depth"},
                 {"k40x1:speed=9", "kernel", "speed"},
                 {"k41x1", "kernel", "k41x1"},
                 {"k40x1", "1 2 3 4 5 6 7 8 9", "too long"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emp_anchor_times times = {0};
        emp_error        err = {0};
        cr_expect_neq(predict(cases[i].device, cases[i].spec, &times, &err), EMP_OK, "%s",
                      cases[i].spec);
        cr_expect_not_null(strstr(err.msg, cases[i].word), "%s lacks \"%s\"", err.msg,
                           cases[i].word);
        cr_expect_not_null(strstr(err.msg, "anchor it"), "%s", err.msg);
    }
}

Test(anchors, survive_when_memory_runs_out)
{
    emp_anchors anchors = {0};
    emp_graph  *graph = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(read(&anchors, HEADER COPY SQUARE, NULL),
                                      emp_anchors_clear(&anchors));
    emp_anchors_clear(&anchors);
    static const emp_net_convolution small = {2, 8, 3, 4, 3, true};
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_net_build_convolution(&graph, &small, NULL),
                                      (void)0);
    emp_graph_destroy(graph);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        emp_net_build(&graph, "lstm:steps=1,average=1", NULL), (void)0);
    emp_graph_destroy(graph);
}
