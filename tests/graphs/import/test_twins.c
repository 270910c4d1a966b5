// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a graph that TensorFlow made cost and take what its generated twin does?
 * Placements depend on op names alone, so both graphs get the same one. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "graphs/import/import.h"
#include "graphs/workloads/workloads.h"
#include "sim/engine/sim.h"

struct twin {
    char file[64];
    char spec[80];
};

/* clang-format off */
static struct twin twins[] = {
    {"inception_v3_b32_rmsprop_unfusedbn_r13", "inception_v3:batch=32"},
    {"resnet_v1_152_b32_momentum", "resnet:old_broadcast_grads=0,const_zeros=0"},
    {"rnnlm_2x2048_b64_t40_sampled_adagrad_r13g", "rnnlm:units=2048,vocab=793470,sampled=8192"},
    {"nmt_2l_h1024_b64_t40_std_bahdanau_adam_batched_r13g",
     "nmt:layers=2,vocab=32000,residual=0,bidirectional=0,per_step_softmax=0"},
};
/* clang-format on */

enum { RULES = 3 }; /* all on the CPU, all on a GPU, scattered by a hash of the name */

static void apply_rule(int rule, const emp_problem *p, emp_device_id *device)
{
    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        const char *name = p->graph->name[op];
        uint64_t    hash = emp_hash_bytes(EMP_HASH_SEED, name, strlen(name));
        device[op] = rule < 2 ? rule : (emp_device_id)(hash % 3);
    }
    emp_problem_legalize(p, device);
}

static void simulate(const emp_graph *whole, emp_time_ns *time_ns, double *flops)
{
    emp_graph     *step = NULL;
    emp_machine   *machine = NULL;
    emp_problem   *problem = NULL;
    emp_sim       *sim = NULL;
    emp_sim_result r = {0};
    emp_runtime    runtime;
    emp_error      err = {0};

    cr_assert_eq(emp_graph_prune(&step, whole, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_machine_load(&machine, "k40x2", &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_runtime_load(&runtime, "tf-r1.3", &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_problem_create(&problem, step, machine, &runtime, "twin", &err),
                 EMP_OK);
    cr_assert_eq(emp_sim_create(&sim, problem, &err), EMP_OK, "%s", err.msg);
    emp_device_id *device = EMP_NEW_ARRAY(emp_device_id, (size_t)step->op_count);
    for (int rule = 0; rule < RULES; rule++) {
        apply_rule(rule, problem, device);
        cr_assert_eq(emp_sim_run(sim, device, &r, &err), EMP_OK, "%s", err.msg);
        time_ns[rule] = r.step_time_ns;
    }
    *flops = step->flops;
    emp_free(device);
    emp_sim_destroy(sim);
    emp_problem_destroy(problem);
    emp_machine_destroy(machine);
    emp_graph_destroy(step);
}

static double apart(double a, double b) { return fabs(a / b - 1.0); }

ParameterizedTestParameters(import, equals_its_generated_twin)
{
    return cr_make_param_array(struct twin, twins, sizeof twins / sizeof twins[0]);
}

ParameterizedTest(struct twin *t, import, equals_its_generated_twin)
{
    char        path[1024];
    emp_graph  *imported = NULL, *generated = NULL;
    emp_time_ns time_imported[RULES], time_generated[RULES];
    double      flops_imported, flops_generated;
    emp_error   err = {0};

    snprintf(path, sizeof path, "%s/../shared/graphs/%s.pb.gz", getenv("EMP_SOURCE_DIR"),
             t->file);
    if (access(path, R_OK) != 0) cr_skip_test("%s is not there", path);
    emp_import_params params = emp_import_params_default();
    cr_assert_eq(emp_import_load(&imported, path, &params, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_workload_build(&generated, t->spec, &err), EMP_OK, "%s", err.msg);
    simulate(imported, time_imported, &flops_imported);
    simulate(generated, time_generated, &flops_generated);

    cr_expect_lt(apart(flops_generated, flops_imported), 0.01,
                 "%s: %g FLOPs, %g imported", t->spec, flops_generated, flops_imported);
    for (int rule = 0; rule < RULES; rule++) {
        double mine = (double)time_generated[rule], theirs = (double)time_imported[rule];
        cr_expect_lt(apart(mine, theirs), 0.03, "%s, rule %d: %g ns, %g imported",
                     t->spec, rule, mine, theirs);
    }
    emp_graph_destroy(imported);
    emp_graph_destroy(generated);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
