// SPDX-License-Identifier: GPL-3.0-or-later
/* Times of a file in place of predicted ones: are they taken to the nanosecond, are the others
 * scaled, and is what fits no op refused? */
#include "graphs/load.h"
#include "sim/cost/given.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

static struct {
    emp_graph      *graph;
    emp_machine    *machine;
    emp_runtime     runtime;
    emp_cost_table *predicted, *table;
} f;
static emp_given_costs out;

static void open_task_on(const char *machine)
{
    ASSERT_OK(emp_source_load(&f.graph, NULL, NULL, "rnnlm:steps=2,units=64", &err));
    ASSERT_OK(emp_machine_load(&f.machine, machine, &err));
    ASSERT_OK(emp_runtime_init(&f.runtime, "tf-r1.3", &err));
    ASSERT_OK(emp_cost_table_create(&f.predicted, f.graph, f.machine, &f.runtime, &err));
    ASSERT_OK(emp_cost_table_create(&f.table, f.graph, f.machine, &f.runtime, &err));
}

static void open_task(void)
{
    scratch_create();
    open_task_on("k40x2");
}

static void open_unlike_task(void)
{
    scratch_create();
    open_task_on("rtx4090x2+rtx3060");
}

static void close_task(void)
{
    emp_cost_table_destroy(f.table);
    emp_cost_table_destroy(f.predicted);
    emp_machine_destroy(f.machine);
    emp_graph_destroy(f.graph);
    scratch_remove();
    expect_all_freed();
}

TestSuite(given, .init = open_task, .fini = close_task);
TestSuite(given_unlike, .init = open_unlike_task, .fini = close_task);

static emp_status apply(const char *text, emp_error *err)
{
    char path[SCRATCH_PATH_BYTES];

    scratch_write_text(path, sizeof path, "costs.csv", text);
    return emp_given_costs_apply(&out, f.table, f.graph, f.machine, &f.runtime, path,
                                 NULL, err);
}

static emp_op_id find_kernel(const char *type)
{
    for (emp_op_id op = 0; op < f.graph->op_count; op++)
        if (strcmp(emp_graph_op_type(f.graph, op), type) == 0 &&
            f.predicted->gpu[op].compute_ns > 0)
            return op;
    cr_assert_fail("no %s", type);
    return -1;
}

Test(given, a_name_sets_one_op_and_scales_the_others)
{
    char text[512];

    emp_op_id   op = find_kernel("MatMul"), other = find_kernel("Tanh");
    emp_time_ns ns = f.predicted->gpu[op].compute_ns;
    snprintf(text, sizeof text, "op,us\n%s,%.3f\n", f.graph->name[op], (double)ns * 2e-3);
    ASSERT_OK(apply(text, &err));
    cr_expect_eq(f.table->gpu[op].compute_ns, 2 * ns);
    cr_expect_float_eq(out.column[EMP_DEVICE_GPU][0].factor, 2.0, 1e-9);
    cr_expect_eq(f.table->gpu[other].compute_ns, 2 * f.predicted->gpu[other].compute_ns);
    cr_expect_eq(f.table->cpu[op].compute_ns, f.predicted->cpu[op].compute_ns,
                 "nothing is given of CPUs");
    cr_expect_eq(out.column[EMP_DEVICE_GPU][0].given, 1);
}

Test(given, types_patterns_and_models_choose_ops)
{
    emp_op_id op = find_kernel("MatMul"), other = find_kernel("Tanh");
    ASSERT_OK(apply("op,us,model\n*,7,k40\ntype:MatMul,12.5,gpu\n*,3,cpu\n"
                    "*,99,h100-sxm\n",
                    &err));
    cr_expect_eq(f.table->gpu[op].compute_ns, 12500);
    cr_expect_eq(f.table->gpu[other].compute_ns, 7000);
    cr_expect_eq(f.table->cpu[op].lanes, 1);
    cr_expect_eq(f.table->cpu[op].compute_ns,
                 3000 + emp_ns_of_seconds(f.runtime.events.cpu_op_s));
    cr_expect_eq(f.table->task_ns[f.table->cpu_offset[op]], f.table->cpu[op].compute_ns);
    cr_expect_eq(out.line_count, 3);
    cr_expect_eq(out.skipped_count, 1);
}

static emp_op_id find_parallel(void)
{
    for (emp_op_id op = 0; op < f.graph->op_count; op++)
        if (!f.graph->op[op].is_folded && f.predicted->cpu[op].lanes > 1) return op;
    cr_assert_fail("no op uses two cores");
    return -1;
}

/* The time of the op on one core, without the runtime's, so many times. */
static void give_one_core(emp_op_id op, double times)
{
    char        text[512];
    emp_time_ns task_ns;

    const emp_time_ns ns = emp_cost_fill_row(&task_ns, f.graph->op[op].cost, 1,
                                             &f.machine->device[0], &f.runtime.events);
    snprintf(text, sizeof text, "op,us,model\n%s,%.6f,cpu\n", f.graph->name[op],
             times * ((double)ns * 1e-3 - f.runtime.events.cpu_op_s * 1e6));
    ASSERT_OK(apply(text, &err));
}

/* Expects this factor of the times of all ops but one. Each of four tasks a core is rounded to nanoseconds. */
static void expect_scaled(emp_op_id given, double factor)
{
    const double op_ns = f.runtime.events.cpu_op_s * 1e9;

    for (emp_op_id op = 0; op < f.graph->op_count; op++) {
        const emp_cpu_cost *before = &f.predicted->cpu[op], *after = &f.table->cpu[op];
        if (op == given || f.graph->op[op].is_folded ||
            f.graph->op[op].cost->kernels == 0)
            continue;
        const double want_ns = op_ns + factor * ((double)before->compute_ns - op_ns);
        cr_expect_eq(after->lanes, before->lanes);
        cr_expect_float_eq((double)after->compute_ns, want_ns, 4.0 + 1e-4 * want_ns,
                           "%s: %g ns, want %g", f.graph->name[op],
                           (double)after->compute_ns, want_ns);
    }
}

/* Eigen's cores share an op: its time on all of them is not what a file states. */
Test(given, a_time_on_a_cpu_is_compared_with_that_of_one_core)
{
    emp_op_id op = find_parallel();

    give_one_core(op, 1.0);
    cr_expect_float_eq(out.column[EMP_DEVICE_CPU][0].factor, 1.0, 1e-3);
    expect_scaled(op, 1.0);
}

Test(given, the_runtimes_time_on_a_cpu_is_not_scaled)
{
    emp_op_id op = find_parallel();

    give_one_core(op, 3.0);
    cr_expect_float_eq(out.column[EMP_DEVICE_CPU][0].factor, 3.0, 3e-3);
    expect_scaled(op, 3.0);
}

/* A machine whose model does not distinguish the two gets them from the file; what is longer alone is no shorter beside. */
Test(given, times_beside_another_device_are_taken)
{
    char      text[512];
    emp_op_id op = find_kernel("MatMul"), other = find_kernel("Tanh");
    emp_op_id none = find_kernel("Sigmoid");

    cr_assert_null(f.table->gpu_beside_ns);
    snprintf(text, sizeof text, "op,us,beside_us\n%s,5,9\n%s,4,3\n%s,x,1\n",
             f.graph->name[op], f.graph->name[other], f.graph->name[none]);
    cr_expect_eq(apply(text, NULL), EMP_EFORMAT);
    cr_expect_null(f.table->gpu_beside_ns, "a refused file changes nothing");
    snprintf(text, sizeof text, "op,us,beside_us\n%s,5,9\n%s,4,3\n%s,6,\n",
             f.graph->name[op], f.graph->name[other], f.graph->name[none]);
    ASSERT_OK(apply(text, &err));
    cr_assert_not_null(f.table->gpu_beside_ns);
    cr_expect_eq(f.table->gpu[op].compute_ns, 5000);
    cr_expect_eq(f.table->gpu_beside_ns[op], 9000);
    cr_expect_eq(f.table->gpu_beside_ns[other], 4000);
    cr_expect_eq(f.table->gpu_beside_ns[none], 6000);
}

Test(given_unlike, times_beside_others_are_for_machines_of_one_model)
{
    char text[512];

    snprintf(text, sizeof text, "op,us,beside_us\n%s,5,9\n",
             f.graph->name[find_kernel("MatMul")]);
    ASSERT_OK(apply(text, &err));
    cr_expect_null(f.table->gpu_beside_ns);
}

Test(given_unlike, each_model_of_a_machine_has_times_of_its_own)
{
    emp_op_id           op = find_kernel("MatMul"), other = find_kernel("Tanh");
    emp_device_id       fast = 1, slow = f.machine->device_count - 1;
    const emp_gpu_cost *gpu = f.table->gpu, *before = f.predicted->gpu;
    cr_assert_eq(f.table->column_count[EMP_DEVICE_GPU], 2);
    ASSERT_OK(apply("op,us,model\ntype:MatMul,12.5,rtx4090\n"
                    "type:MatMul,50,rtx3060\n*,7,cpu\n",
                    &err));
    cr_expect_eq(gpu[emp_cost_row(f.table, fast, op)].compute_ns, 12500);
    cr_expect_eq(gpu[emp_cost_row(f.table, fast + 1, op)].compute_ns, 12500);
    cr_expect_eq(gpu[emp_cost_row(f.table, slow, op)].compute_ns, 50000);
    for (int32_t i = 0; i < 2; i++) {
        const emp_given_column *column = &out.column[EMP_DEVICE_GPU][i];
        size_t                  row = emp_cost_row(f.table, i == 0 ? fast : slow, other);
        cr_expect_str_eq(column->model, i == 0 ? "rtx4090" : "rtx3060");
        cr_expect_gt(column->given, 0);
        cr_expect_float_eq((double)gpu[row].compute_ns,
                           (double)before[row].compute_ns * column->factor, 1.0);
    }
    int32_t live = 0;
    for (emp_op_id id = 0; id < f.graph->op_count; id++)
        live += !f.graph->op[id].is_folded;
    cr_expect_eq(out.column[EMP_DEVICE_CPU][0].given, live);
}

Test(given_unlike, a_line_without_a_model_is_for_all_gpus)
{
    emp_op_id op = find_kernel("MatMul");
    cr_assert_eq(apply("op,us\n*,3\n", NULL), EMP_OK);
    for (emp_device_id d = 1; d < f.machine->device_count; d++)
        cr_expect_eq(f.table->gpu[emp_cost_row(f.table, d, op)].compute_ns, 3000);
}

Test(given_unlike, single_times_skip_what_is_not_there)
{
    emp_op_id      op = find_kernel("MatMul");
    const char    *name = f.graph->name[op];
    emp_device_id  slow = f.machine->device_count - 1;
    emp_given_time times[] = {{name, strlen(name), slow, 50.0},
                              {"_SOURCE", 7, slow, 1.0},
                              {name, strlen(name), -1, 9.0}};
    ASSERT_OK(emp_given_times_apply(&out, f.table, f.graph, f.machine, &f.runtime, times,
                                    3, "run.pb", &err));
    cr_expect_eq(f.table->gpu[emp_cost_row(f.table, slow, op)].compute_ns, 50000);
    cr_expect_eq(f.table->gpu[op].compute_ns, f.predicted->gpu[op].compute_ns);
    cr_expect_eq(out.line_count, 1);
    cr_expect_eq(out.skipped_count, 2);
    EXPECT_REFUSED(emp_given_times_apply(&out, f.table, f.graph, f.machine, &f.runtime,
                                         times + 1, 2, "run.pb", &err),
                   EMP_EINVAL, "run.pb has 2 times, and none");
}

Test(given, faults_are_told)
{
    static const char *const faults[][2] = {
        {"op,us\nnobody,3\n", "\"nobody\""},
        {"op,us\ntype:Nothing,3\n", "\"type:Nothing\""},
        {"op,us\n*,-3\n", "-3"},
        {"op,us\n*,fast\n", "fast"},
        {"name,us\n*,3\n", "op"},
        {"op,us,model\n*,3,h100-sxm\n", "machine k40x2"},
    };

    for (size_t i = 0; i < COUNT(faults); i++) {
        emp_error err = {0};
        cr_expect_neq(apply(faults[i][0], &err), EMP_OK, "%s", faults[i][0]);
        cr_expect(strstr(err.msg, faults[i][1]) && strstr(err.msg, "costs.csv"), "%s",
                  err.msg);
    }
    for (emp_op_id op = 0; op < f.graph->op_count; op++)
        cr_assert_eq(f.table->gpu[op].compute_ns, f.predicted->gpu[op].compute_ns,
                     "a refused file changes nothing");
}

Test(given, survives_every_allocation_failure)
{
    SURVIVES_EVERY_ALLOCATION_FAILURE(apply("op,us\n*,3\n", NULL), (void)0);
}
