// SPDX-License-Identifier: GPL-3.0-or-later
/* The published instances of msr-fiddle/dnn-partitioning: are all devices' loads those that its
 * authors' programs compute for the splits of experts, is the best contiguous split theirs, and
 * does local search end below it? Skips what is not in ../shared. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "baselines/baselines.h"
#include "graphs/import/import.h"
#include "sim/engine/sim.h"
#include "sim/problem/placement.h"

enum { PATH_BYTES = 1024, BUDGET = 20000 };

/* Of the published program, rounded to six digits; 0: none. The contiguous split of inceptionv3 is its
 * best in one order of the nodes, which turns out to be the best of all. */
typedef struct {
    const char *name, *expert;
    double      contiguous_ms, expert_ms, scotch_ms;
} instance;

#define PROFILES "profiles/dnn-partitioning/"
#define LAYERS   PROFILES "throughput-inputs__LayerGraphs__"
#define OPS      PROFILES "throughput-inputs__OperatorGraphs__"
#define EXPERT   PROFILES "human-experts__"

static const instance instances[] = {
    {LAYERS "bert24_inference.json", EXPERT "bert24_inference_expert.json", 17.7899,
     20.084, 18.0259},
    {LAYERS "gnmt_inference.json", EXPERT "gnmt_inference_expert.json", 32.9107, 46.2085,
     34.9241},
    {"graphs/dnnpart_throughput_layer_gnmt_training.json",
     EXPERT "gnmt_training_expert.json", 107.004, 137.154, 93.8855},
    {LAYERS "inceptionv3_inference.json", EXPERT "inceptionv3_inference_expert.json",
     51.5519, 102.482, 52.2937},
    {LAYERS "resnet50_inference.json", EXPERT "resnet50_inference_expert.json", 33.7747,
     43.9183, 34.3088},
    {LAYERS "resnet50_training.json", EXPERT "resnet50_inference_expert.json", 78.6318,
     112.108, 80.3845},
    {OPS "bert_l-3_inference.json", NULL, 27.9186, 0, 35.9352},
    {"graphs/dnnpart_throughput_op_bert_l-3_training.json", NULL, 65.3031, 0, 403.773},
    {OPS "bert_l-6_inference.json", NULL, 29.5795, 0, 58.0815},
    {OPS "bert_l-12_inference.json", NULL, 147.478, 0, 246.918},
    {OPS "resnet50_inference.json", NULL, 124.349, 0, 197.848},
};

enum { INSTANCES = sizeof instances / sizeof *instances };

typedef struct {
    emp_graph     *graph;
    emp_machine   *machine;
    emp_problem   *problem;
    emp_sim       *sim;
    emp_device_id *device_of_op;
} world;

static const char *make_path(const char *name)
{
    static char path[PATH_BYTES];
    const char *root = getenv("EMP_SOURCE_DIR");

    snprintf(path, sizeof path, "%s/../shared/%s", root != NULL ? root : ".", name);
    return path;
}

/* false: the file is not there */
static bool enter(world *w, const instance *in)
{
    emp_import_params  params = emp_import_params_default();
    emp_import_devices devices;
    emp_runtime        runtime;
    emp_error          err = {0};
    const char        *path = make_path(in->name);

    *w = (world){0};
    if (access(path, R_OK) != 0) return false;
    cr_assert_eq(emp_import_load_instance(&w->graph, &devices, path, &params, &err),
                 EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_machine_create(&w->machine, "instance", devices.cpu_count,
                                    devices.gpu_count, devices.gpu_memory_bytes, &err),
                 EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_runtime_load(&runtime, "msr-load", &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(
        emp_problem_create(&w->problem, w->graph, w->machine, &runtime, path, &err),
        EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_sim_create(&w->sim, w->problem, &err), EMP_OK, "%s", err.msg);
    w->device_of_op = EMP_NEW_ARRAY(emp_device_id, (size_t)w->graph->op_count);
    cr_assert_not_null(w->device_of_op);
    return true;
}

static void leave(world *w)
{
    emp_free(w->device_of_op);
    emp_sim_destroy(w->sim);
    emp_problem_destroy(w->problem);
    emp_machine_destroy(w->machine);
    emp_graph_destroy(w->graph);
}

/* Of a placement that must fit, in milliseconds. */
static double max_load_ms(world *w)
{
    emp_sim_result r;

    emp_problem_legalize(w->problem, w->device_of_op);
    cr_assert_eq(emp_sim_run(w->sim, w->device_of_op, &r, NULL), EMP_OK);
    cr_expect(r.is_feasible, "%s", w->problem->workload);
    return (double)r.step_time_ns * 1e-6;
}

/* Equal in the six digits that are published. */
static void expect_ms(double got_ms, double published_ms, const char *name)
{
    double digit_ms = pow(10.0, floor(log10(published_ms)) - 5.0);

    cr_expect_leq(fabs(got_ms - published_ms), 0.5001 * digit_ms, "%s: %.6f, not %g",
                  name, got_ms, published_ms);
}

static double search_ms(world *w, const emp_placer_type *type, const char *options,
                        int32_t budget)
{
    const emp_placer_params params = {.seed = 1, .threads = 1, .options = options};
    emp_device_id          *candidate[1] = {w->device_of_op};
    void                   *state = NULL;
    double                  best_ms = INFINITY;
    emp_error               err = {0};

    cr_assert_eq(type->create(&state, w->problem, &params, &err), EMP_OK, "%s", err.msg);
    for (int32_t i = 0; i < budget; i++) {
        int32_t        count = 0;
        emp_sim_result r;
        cr_assert_eq(type->ask(state, candidate, 1, &count, &err), EMP_OK);
        if (count == 0) break;
        emp_problem_legalize(w->problem, w->device_of_op);
        cr_assert_eq(emp_sim_run(w->sim, w->device_of_op, &r, NULL), EMP_OK);
        emp_score score = {(double)r.step_time_ns * 1e-9, r.is_feasible, 0.0};
        if (r.is_feasible) best_ms = fmin(best_ms, (double)r.step_time_ns * 1e-6);
        cr_assert_eq(type->tell(state, &score, 1, &err), EMP_OK);
    }
    type->destroy(state);
    return best_ms;
}

static void skip_unless(int32_t found)
{
    if (found == 0) cr_skip_test("%s is not there", make_path(PROFILES));
}

Test(published, experts_have_the_published_loads)
{
    int32_t found = 0;

    for (int32_t i = 0; i < INSTANCES; i++) {
        world     w;
        emp_error err = {0};
        if (instances[i].expert == NULL || !enter(&w, &instances[i])) continue;
        cr_assert_eq(emp_placement_load(w.device_of_op, make_path(instances[i].expert),
                                        w.problem, &err),
                     EMP_OK, "%s", err.msg);
        expect_ms(max_load_ms(&w), instances[i].expert_ms, instances[i].name);
        leave(&w);
        found++;
    }
    skip_unless(found);
}

Test(published, contiguous_splits_have_the_published_loads)
{
    int32_t found = 0;

    for (int32_t i = 0; i < INSTANCES; i++) {
        world w;
        if (!enter(&w, &instances[i])) continue;
        expect_ms(search_ms(&w, &emp_placer_dp_contiguous, NULL, 1),
                  instances[i].contiguous_ms, instances[i].name);
        leave(&w);
        found++;
    }
    skip_unless(found);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(published, local_search_from_there_is_below_all_that_is_published)
{
    int32_t found = 0;

    for (int32_t i = 0; i < INSTANCES; i++) {
        const instance *in = &instances[i];
        world           w;
        if (!enter(&w, in)) continue;
        double ms = search_ms(&w, &emp_placer_local, "start=split,samples=1", BUDGET);
        cr_expect_leq(ms, in->contiguous_ms * 1.00001, "%s: %g", in->name, ms);
        cr_expect_leq(ms, in->scotch_ms, "%s: %g", in->name, ms);
        if (in->expert != NULL) cr_expect_leq(ms, in->expert_ms, "%s: %g", in->name, ms);
        leave(&w);
        found++;
    }
    skip_unless(found);
}
