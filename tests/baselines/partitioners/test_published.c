// SPDX-License-Identifier: GPL-3.0-or-later
/* The published instances of msr-fiddle/dnn-partitioning: are all devices' loads those that its
 * authors' programs compute for the splits of experts, is the best contiguous split theirs, and
 * does local search end below it? Two instances are written from facts (tests/data); with
 * EMP_PEERS=1 all are the published files. */
#include <jansson.h>

#include "baselines/baselines.h"
#include "sim/engine/sim.h"
#include "sim/problem/placement.h"
#include "tests/support/facts.h"
#include "tests/support/scratch.h"
#include "tests/support/status.h"

TestSuite(published, .init = scratch_create, .fini = scratch_remove);

enum { BUDGET = 20000 };

/* A row of published_loads.tsv: loads of the published programs, rounded to six digits; 0: none.
 * The contiguous split of inceptionv3 is their best in one order of the nodes, which turns out to
 * be the best of all. */
typedef struct {
    char   name[32], file[128], expert[32]; /* expert "-": none */
    double contiguous_ms, expert_ms, scotch_ms;
} instance;

enum { MAX_INSTANCES = 16 };

typedef struct {
    task           t;
    emp_problem   *problem;
    emp_sim       *sim;
    emp_device_id *device_of_op;
} world;

/* Writes the instance and its expert's split from published_instances.tsv; false: it is not in
 * there. */
static bool write_instance(const char *name)
{
    json_t    *nodes = json_array(), *edges = json_array(), *gpus = json_array();
    json_t    *split = json_pack("{s:[], s:o}", "cpus", "fpgas", gpus), *root = NULL;
    fact_table t;

    for (fact_table_open(&t, "published_instances.tsv"); fact_table_next(&t);) {
        if (strcmp(t.cell[0], name) != 0) continue;
        int    a = atoi(t.cell[2]), b = atoi(t.cell[3]), gpu = atoi(t.cell[6]);
        double c = atof(t.cell[4]), d = atof(t.cell[5]);
        if (strcmp(t.cell[1], "machine") == 0) {
            root = json_pack("{s:i, s:i, s:f, s:o, s:o}", "maxCPUs", a, "maxFPGAs", b,
                             "maxSizePerFPGA", c, "nodes", nodes, "edges", edges);
            for (int i = 0; i < b; i++)
                json_array_append_new(gpus, json_pack("{s:[]}", "nodes"));
        } else if (strcmp(t.cell[1], "edge") == 0) {
            json_array_append_new(edges, json_pack("{s:i, s:i, s:f, s:f}", "sourceId", a,
                                                   "destId", b, "cost", c, "size", d));
        } else {
            json_array_append_new(nodes, json_pack("{s:i, s:i, s:i, s:i, s:f, s:f, s:f}",
                                                   "id", a, "supportedOnFpga", 1,
                                                   "isBackwardNode", 0, "colorClass", a,
                                                   "cpuLatency", atof(t.cell[3]),
                                                   "fpgaLatency", c, "size", d));
            json_array_append_new(
                json_object_get(json_array_get(gpus, (size_t)gpu), "nodes"),
                json_integer(a));
        }
    }
    if (root != NULL) {
        cr_assert_eq(json_dump_file(root, scratch_path("instance.json"), 0), 0);
        cr_assert_eq(json_dump_file(split, scratch_path("expert.json"), 0), 0);
    } else {
        json_decref(nodes);
        json_decref(edges);
    }
    json_decref(split);
    json_decref(root);
    return root != NULL;
}

static int32_t read_instances(instance *in)
{
    fact_table t;
    int32_t    count = 0;

    for (fact_table_open(&t, "published_loads.tsv"); fact_table_next(&t); count++) {
        cr_assert(t.count == 6 && count < MAX_INSTANCES);
        snprintf(in[count].name, sizeof in[count].name, "%s", t.cell[0]);
        snprintf(in[count].file, sizeof in[count].file, "%s", t.cell[1]);
        snprintf(in[count].expert, sizeof in[count].expert, "%s", t.cell[2]);
        in[count].contiguous_ms = atof(t.cell[3]);
        in[count].expert_ms = atof(t.cell[4]);
        in[count].scotch_ms = atof(t.cell[5]);
    }
    return count;
}

static bool enter(world *w, const instance *in)
{
    if (!fact_is_peer() && !write_instance(in->name)) return false;
    fact_create_instance(&w->t,
                         fact_is_peer() ? fact_peer_path(".", in->file, "")
                                        : scratch_path("instance.json"),
                         0, "msr-load");
    w->problem = w->t.problem;
    w->device_of_op = w->t.device_of_op;
    MUST(emp_sim_create(&w->sim, w->problem, &why));
    return true;
}

static void leave(world *w)
{
    emp_sim_destroy(w->sim);
    task_destroy(&w->t);
}

static double max_load_ms(world *w)
{
    emp_sim_result r;

    emp_problem_legalize(w->problem, w->device_of_op);
    MUST(emp_sim_run(w->sim, w->device_of_op, &r, NULL));
    cr_expect(r.is_feasible, "%s", w->problem->workload);
    return (double)r.step_time_ns * 1e-6;
}

static void expect_ms(double got_ms, double published_ms, const char *name)
{
    double digit_ms = pow(10.0, floor(log10(published_ms)) - 5.0);

    cr_expect_leq(fabs(got_ms - published_ms), 0.5001 * digit_ms, "%s: %.6f, not %g",
                  name, got_ms, published_ms);
}

static double search_ms(world *w, const emp_method *type, const char *options,
                        int32_t budget)
{
    const emp_method_params  params = {.seed = 1, .threads = 1, .options = options};
    const emp_owned_decision candidate = {.device_of_op = w->device_of_op};
    void                    *state = NULL;
    double                   best_ms = INFINITY;

    MUST(emp_method_create(&state, type, w->problem, &params, &why));
    for (int32_t i = 0; i < budget; i++) {
        int32_t        count = 0;
        emp_sim_result r;
        MUST(emp_method_ask(type, state, &candidate, 1, &count, &why));
        if (count == 0) break;
        emp_problem_legalize(w->problem, w->device_of_op);
        MUST(emp_sim_run(w->sim, w->device_of_op, &r, NULL));
        emp_score score = {.step_time_s = (double)r.step_time_ns * 1e-9,
                           .is_feasible = r.is_feasible};
        if (r.is_feasible) best_ms = fmin(best_ms, (double)r.step_time_ns * 1e-6);
        MUST(emp_method_tell(type, state, &score, 1, &why));
    }
    emp_method_destroy(type, state);
    return best_ms;
}

static bool has_expert(const instance *in) { return strcmp(in->expert, "-") != 0; }

static void expect_experts_load(world *w, const instance *in)
{
    char name[64];

    if (!has_expert(in)) return;
    snprintf(name, sizeof name, "human-experts__%s_expert", in->expert);
    const char *path = fact_is_peer()
                           ? fact_peer_path("profiles/dnn-partitioning", name, ".json")
                           : scratch_path("expert.json");
    MUST(emp_placement_load(w->device_of_op, path, w->problem, &why));
    expect_ms(max_load_ms(w), in->expert_ms, in->name);
}

static void expect_contiguous_load(world *w, const instance *in)
{
    expect_ms(search_ms(w, &emp_method_dp_contiguous, NULL, 1), in->contiguous_ms,
              in->name);
}

static void expect_less_by_search(world *w, const instance *in)
{
    double ms = search_ms(w, &emp_method_local, "start=split,samples=1", BUDGET);

    cr_expect_leq(ms, in->contiguous_ms * 1.00001, "%s: %g", in->name, ms);
    cr_expect_leq(ms, in->scotch_ms, "%s: %g", in->name, ms);
    if (has_expert(in)) cr_expect_leq(ms, in->expert_ms, "%s: %g", in->name, ms);
}

static void check_all(void (*check)(world *w, const instance *in))
{
    instance in[MAX_INSTANCES];
    int32_t  count = read_instances(in), checked = 0;

    for (int32_t i = 0; i < count; i++) {
        world w;
        if (!enter(&w, &in[i])) continue;
        check(&w, &in[i]);
        leave(&w);
        checked++;
    }
    cr_expect_geq(checked, 2);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(published, experts_have_the_published_loads) { check_all(expect_experts_load); }

Test(published, contiguous_splits_have_the_published_loads)
{
    check_all(expect_contiguous_load);
}

Test(published, local_search_from_there_is_below_all_that_is_published)
{
    check_all(expect_less_by_search);
}
