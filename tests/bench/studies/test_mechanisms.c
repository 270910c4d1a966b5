// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/studies/mechanisms.h"
#include "graphs/load.h"
#include "tests/support/problems.h"
#include "tests/test.h"

static emp_mechanism_table *make_under(const char *runtime, const char *rows,
                                       int32_t threads)
{
    emp_mechanism_params params = {
        .rows = rows, .runtime = runtime, .seed = 1, .threads = threads};
    emp_mechanism_table *t = NULL;

    ASSERT_OK(emp_mechanism_table_make(&t, &params, &err));
    return t;
}

static emp_mechanism_table *make(const char *rows, int32_t threads)
{
    return make_under("tf-r1.3", rows, threads);
}

static int32_t number_of(const char *name)
{
    int32_t m = 0;

    while (emp_mechanism_at(m) != NULL && strcmp(emp_mechanism_at(m)->name, name) != 0)
        m++;
    cr_assert_not_null(emp_mechanism_at(m), "%s", name);
    return m;
}

enum { CPU, GPU };

/* The placements that a switch cannot change. */
static void expect_unreached_to_stay(const emp_mechanism_table *t)
{
    const emp_mechanism_row *row = &t->row[0];

    cr_assert_eq(t->row_count, 1);
    for (int32_t m = 0; m < t->mechanism_count; m++) {
        const char *name = emp_mechanism_at(m)->name;
        cr_expect_gt(row->after[m][CPU].step_s, 0.0);
        if (strncmp(name, "cpu", 3) == 0) { /* only sparse updates are on the CPU */
            double ratio = row->after[m][GPU].step_s / row->before[GPU].step_s;
            cr_expect(ratio > 0.999 && ratio < 1.001, "%s: %g", name, ratio);
        }
    }
    /* nothing crosses to another device */
    static const char *const of_copies[] = {"drain_copies", "poll", "share_copies",
                                            "shared_links", "latency"};
    for (int32_t i = 0; i < 5; i++) {
        int32_t m = number_of(of_copies[i]);
        cr_expect_eq(row->after[m][CPU].step_s, row->before[CPU].step_s, "%s",
                     of_copies[i]);
    }
    /* the weight gradients of 40 steps are what fills the GPU */
    int32_t addn = number_of("addn_waits");
    cr_expect_eq(row->after[addn][GPU].step_s, row->before[GPU].step_s);
    cr_expect_lt(row->after[addn][GPU].peak_bytes, row->before[GPU].peak_bytes / 2);
}

/* All that can go to the GPU is there; the profile is changed by hand. */
static double simulate_on_gpu(const emp_graph *step, const emp_machine *machine,
                              const emp_runtime *runtime)
{
    emp_problem *problem = NULL;

    ASSERT_OK(emp_problem_create(&problem, step, machine, runtime, "rnnlm", NULL));
    const double step_s = 1e-9 * (double)problem_step_on(problem, 1).step_time_ns;
    emp_problem_destroy(problem);
    return step_s;
}

Test(mechanisms, are_the_profile_with_one_change)
{
    static const char *const names[] = {"issue", "drain_copies", "poll", "send, receive"};
    emp_mechanism_table     *t = make("rnnlm", 1);
    emp_graph               *step = NULL;
    emp_machine             *machine = NULL;
    emp_runtime              runtime;

    ASSERT_OK(emp_source_load(&step, NULL, NULL, "rnnlm", &err));
    ASSERT_OK(emp_machine_load(&machine, "k40x2", &err));
    ASSERT_OK(emp_runtime_init(&runtime, "tf-r1.3", &err));
    cr_expect_eq(simulate_on_gpu(step, machine, &runtime), t->row[0].before[GPU].step_s);
    for (int i = 0; i < 4; i++) {
        emp_runtime changed = runtime;
        switch (i) {
        case 0: changed.events.issue_s = changed.events.issue_kernel_s = 0.0; break;
        case 1: changed.events.drain_copies = false; break;
        case 2: changed.events.poll_s = 0.0; break;
        default: changed.events.send_s = changed.events.receive_s = 0.0;
        }
        cr_expect_eq(simulate_on_gpu(step, machine, &changed),
                     t->row[0].after[number_of(names[i])][GPU].step_s, "%s", names[i]);
    }
    emp_machine_destroy(machine);
    emp_graph_destroy(step);
    expect_unreached_to_stay(t);
    emp_mechanism_table_destroy(t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(mechanisms, do_not_depend_on_threads)
{
    emp_mechanism_table *a = make("inception_v3,rnnlm", 1);
    emp_mechanism_table *b = make("inception_v3,rnnlm", 2);

    for (int32_t r = 0; r < 2; r++) {
        for (int32_t m = 0; m < a->mechanism_count; m++) {
            for (int32_t k = 0; k < EMP_MECHANISM_METHODS; k++) {
                cr_expect_eq(a->row[r].after[m][k].step_s, b->row[r].after[m][k].step_s);
                cr_expect_eq(a->row[r].after[m][k].peak_bytes,
                             b->row[r].after[m][k].peak_bytes);
                cr_expect_eq(a->row[r].after[m][k].fits, b->row[r].after[m][k].fits);
            }
        }
    }
    emp_mechanism_table_destroy(a);
    emp_mechanism_table_destroy(b);
}

/* PyTorch does not poll, so that this mechanism changes nothing. The expert's placement fits beside one CUDA
 * context and not beside two. */
Test(mechanisms, contexts_are_taken_from_gpus_once)
{
    enum { EXPERT = 2 };
    emp_mechanism_table       *t = make_under("torch-eager", "nmt2", 2);
    const emp_mechanism_score *before = t->row[0].before;
    const emp_mechanism_score *after = t->row[0].after[number_of("poll")];

    cr_expect(before[EXPERT].fits);
    for (int32_t k = 0; k < EMP_MECHANISM_METHODS; k++) {
        cr_expect_eq(after[k].fits, before[k].fits, "%s", emp_mechanism_method[k]);
        cr_expect_eq(after[k].step_s, before[k].step_s, "%s", emp_mechanism_method[k]);
    }
    emp_mechanism_table_destroy(t);
}
