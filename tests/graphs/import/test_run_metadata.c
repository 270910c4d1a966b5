// SPDX-License-Identifier: GPL-3.0-or-later
/* Times of a run of TensorFlow: are kernels added up for their ops, and is nothing else taken for one? */
#include "base/mem.h"
#include "graphs/import/profiles.h"
#include "tests/graphs/graphs.h"
#include "tests/support/proto_writer.h"
#include "tests/test.h"

TestSuite(run_metadata, .init = scratch_create, .fini = graph_tear_down);

/* A node that began and ended so many microseconds after its scheduling. */
static void put_node(proto_writer *w, const char *name, int64_t start, int64_t end)
{
    size_t node = proto_begin(w, 2, "node_stats");

    proto_string(w, 1, "node_name", name);
    proto_int(w, 2, "all_start_micros", 1501352001581099);
    proto_int(w, 3, "op_start_rel_micros", start);
    proto_int(w, 4, "op_end_rel_micros", end);
    proto_string(w, 8, "timeline_label", "a = B(c)");
    proto_end(w, node);
}

static size_t begin_device(proto_writer *w, const char *name)
{
    size_t device = proto_begin(w, 1, "dev_stats");

    proto_string(w, 1, "device", name);
    return device;
}

/* Two ops of a GPU of which one has two kernels, in both lists of kernels, and an op of a CPU. */
static void put_run(proto_writer *w, bool has_kernels, bool has_all)
{
    static const char *const lists[] = {"/gpu:0/stream:all", "/gpu:0/stream:12"};
    size_t                   step = proto_begin(w, 1, "step_stats");
    size_t device = begin_device(w, "/job:localhost/replica:0/task:0/gpu:0");

    put_node(w, "conv", 0, 4066);
    put_node(w, "const", 1, 2);
    proto_end(w, device);
    for (int i = has_all ? 0 : 1; i < 2 && has_kernels; i++) {
        device = begin_device(w, lists[i]);
        put_node(w, "conv:Conv2D", 0, 32);
        put_node(w, "conv", 3, 12);
        proto_end(w, device);
    }
    device = begin_device(w, "/gpu:0/memcpy");
    put_node(w, "conv", 0, 500);
    proto_end(w, device);
    device = begin_device(w, "/job:localhost/replica:0/task:0/cpu:0");
    put_node(w, "input", 5, 25);
    put_node(w, "input", 0, 10);
    proto_end(w, device);
    proto_end(w, step);
}

static const emp_measured_op *find(const emp_run_metadata *run, const char *op)
{
    const emp_measured_op *found = NULL;

    for (int32_t i = 0; i < run->count; i++)
        if (emp_slice_is(run->op[i].op, op)) found = &run->op[i];
    cr_assert_not_null(found, "%s", op);
    return found;
}

static emp_status load(emp_run_metadata *run, const proto_writer *w, emp_error *err)
{
    scratch_write("run.pb", w->data, w->size);
    return emp_run_metadata_load(run, scratch_path("run.pb"), err);
}

Test(run_metadata, kernels_are_added_up_and_listed_once)
{
    for (int has_all = 0; has_all < 2; has_all++) {
        proto_writer w = {0};
        SCOPED(emp_run_metadata, emp_run_metadata_clear) run = {0};

        put_run(&w, true, has_all);
        ASSERT_OK(load(&run, &w, &err));
        cr_expect(emp_run_metadata_is(scratch_path("run.pb")));
        cr_expect_eq(run.count, 3);
        cr_expect_eq(run.without_kernels, 0);
        cr_expect_float_eq(find(&run, "conv")->us, 41.0, 1e-9);
        cr_expect_float_eq(find(&run, "const")->us, 0.0, 1e-9, "it has no kernel");
        cr_expect_float_eq(find(&run, "input")->us, 30.0, 1e-9, "it ran twice");
        cr_expect(emp_slice_is(find(&run, "input")->device,
                               "/job:localhost/replica:0/task:0/cpu:0"));
        proto_clear(&w);
    }
}

Test(run_metadata, ops_of_a_gpu_without_kernels_have_no_times)
{
    SCOPED(proto_writer, proto_clear) w = {0};
    SCOPED(emp_run_metadata, emp_run_metadata_clear) run = {0};

    put_run(&w, false, false);
    cr_assert_eq(load(&run, &w, NULL), EMP_OK);
    cr_expect_eq(run.count, 1);
    cr_expect_eq(run.without_kernels, 2);
}

Test(run_metadata, what_is_none_is_told_apart_or_refused)
{
    SCOPED(proto_writer, proto_clear) w = {0};
    SCOPED(emp_run_metadata, emp_run_metadata_clear) run = {0};
    size_t step = proto_begin(&w, 1, "step_stats");
    size_t device = begin_device(&w, "/cpu:0");

    put_node(&w, "late", 9, 3);
    proto_end(&w, device);
    proto_end(&w, step);
    EXPECT_REFUSED(load(&run, &w, &err), EMP_EFORMAT, "run.pb: op 'late'");
    scratch_write("costs.csv", "op,us\n*,3\n", 10);
    cr_expect_not(emp_run_metadata_is(scratch_path("costs.csv")));
    cr_expect_not(emp_run_metadata_is(scratch_path("nothing")));
}

Test(run_metadata, a_real_run_has_the_sums_of_its_kernels)
{
    const char *path = graph_source_path("../shared/graphs/tfprof_run_meta.pb");
    SCOPED(emp_run_metadata, emp_run_metadata_clear) run = {0};

    if (!emp_run_metadata_is(path)) cr_skip_test("there is no %s", path);
    cr_assert_eq(emp_run_metadata_load(&run, path, NULL), EMP_OK);
    cr_expect_float_eq(find(&run, "Conv2D")->us, 226.0, 1e-9);
    cr_expect_float_eq(find(&run, "Conv2D_1")->us, 178.0, 1e-9);
    cr_expect_float_eq(find(&run, "DW")->us, 0.0, 1e-9);
    cr_expect_float_eq(find(&run, "_retval_Conv2D_1_0_0")->us, 40.0, 1e-9);
}

Test(run_metadata, every_truncation_is_refused_or_shorter)
{
    SCOPED(proto_writer, proto_clear) w = {0};
    emp_error err;

    put_run(&w, true, true);
    for (size_t size = 0; size < w.size; size++) {
        emp_run_metadata run = {0};
        err = (emp_error){0};
        if (emp_run_metadata_read(&run, (emp_slice){w.data, size}, &err) != EMP_OK)
            cr_expect_eq(err.status, EMP_EFORMAT);
        emp_run_metadata_clear(&run);
    }
}

Test(run_metadata, survives_every_allocation_failure)
{
    SCOPED(proto_writer, proto_clear) w = {0};
    emp_run_metadata run = {0};

    put_run(&w, true, true);
    SURVIVES_EVERY_ALLOCATION_FAILURE(load(&run, &w, NULL), emp_run_metadata_clear(&run));
    emp_run_metadata_clear(&run);
}
