// SPDX-License-Identifier: GPL-3.0-or-later
/* Do all builds, compilers and machines give the committed schedules? fingerprints.csv
 * comes from scripts/fingerprints; a change of the model changes it, nothing else may. */

#include "baselines/baselines.h"
#include "graphs/load.h"
#include "tests/support/problems.h"

enum { CASES = 35 };

typedef struct {
    char     spec[32], machine[16], runtime[16], placement[16];
    double   step_time_s;
    uint64_t fingerprint;
} fingerprint_case;

static int read_cases(fingerprint_case *cases)
{
    char        path[4096], line[256];
    const char *source = getenv("EMP_SOURCE_DIR");
    FILE       *file;
    int         count = 0;

    snprintf(path, sizeof path, "%s/tests/sim/engine/fingerprints.csv",
             source ? source : ".");
    file = fopen(path, "r");
    cr_assert_not_null(file, "no %s", path);
    cr_assert_not_null(fgets(line, sizeof line, file), "%s is empty", path);
    while (count < CASES && fgets(line, sizeof line, file) != NULL) {
        fingerprint_case *c = &cases[count++];
        cr_assert_eq(sscanf(line, "%31[^,],%15[^,],%15[^,],%15[^,],%lf,%" SCNx64, c->spec,
                            c->machine, c->runtime, c->placement, &c->step_time_s,
                            &c->fingerprint),
                     6, "line %d of %s", count + 1, path);
    }
    cr_expect_null(fgets(line, sizeof line, file), "%s has more than %d cases", path,
                   CASES);
    fclose(file);
    return count;
}

static const emp_method *find_placer(const char *name)
{
    static const emp_method *const placers[] = {&emp_method_cpu, &emp_method_gpu,
                                                &emp_method_expert, &emp_method_random};

    for (size_t i = 0; i < sizeof placers / sizeof placers[0]; i++) {
        if (strcmp(placers[i]->name, name) == 0) return placers[i];
    }
    cr_assert_fail("no placer %s", name);
    return NULL;
}

static void place(const emp_problem *problem, const char *method, emp_device_id *device)
{
    const emp_method        *type = find_placer(method);
    const emp_method_params  params = {.seed = 1, .threads = 1};
    const emp_owned_decision candidate = {.device_of_op = device};
    void                    *state = NULL;
    int32_t                  count = 0;

    cr_assert_eq(emp_method_create(&state, type, problem, &params, NULL), EMP_OK);
    cr_assert_eq(emp_method_ask(type, state, &candidate, 1, &count, NULL), EMP_OK);
    cr_assert_eq(count, 1);
    emp_method_destroy(type, state);
    emp_problem_legalize(problem, device);
}

static emp_sim_result simulate(const fingerprint_case *c, const emp_graph *step)
{
    OWN_MACHINE                 machine = NULL;
    OWN_PROBLEM                 problem = NULL;
    OWN_SIM                     sim = NULL;
    emp_sim_result              result = {0};
    emp_runtime                 runtime;
    OWN_EMP_FREE emp_device_id *device =
        EMP_NEW_ARRAY(emp_device_id, (size_t)step->op_count);

    cr_assert_not_null(device);
    cr_assert_eq(emp_machine_load(&machine, c->machine, NULL), EMP_OK);
    cr_assert_eq(emp_runtime_init(&runtime, c->runtime, NULL), EMP_OK);
    cr_assert_eq(emp_problem_create(&problem, step, machine, &runtime, c->spec, NULL),
                 EMP_OK);
    cr_assert_eq(emp_sim_create(&sim, problem, NULL), EMP_OK);
    place(problem, c->placement, device);
    cr_assert_eq(emp_sim_run_traced(sim, device, NULL, &result, NULL), EMP_OK);
    return result;
}

Test(fingerprints, are_the_committed_ones)
{
    static fingerprint_case cases[CASES];
    emp_graph              *step = NULL;
    const char             *spec = "";

    cr_assert_eq(read_cases(cases), CASES);
    for (int i = 0; i < CASES; i++) {
        const fingerprint_case *c = &cases[i];
        if (strcmp(spec, c->spec) != 0) {
            emp_graph_destroy(step);
            spec = c->spec;
            cr_assert_eq(emp_source_load(&step, NULL, NULL, spec, NULL), EMP_OK);
        }
        emp_sim_result r = simulate(c, step);
        cr_expect_eq(r.fingerprint, c->fingerprint,
                     "%s %s %s %s: %016" PRIx64 ", committed %016" PRIx64, c->spec,
                     c->machine, c->runtime, c->placement, r.fingerprint, c->fingerprint);
        cr_expect_eq(r.step_time_ns, (emp_time_ns)(c->step_time_s * 1e9 + 0.5),
                     "%s %s %s %s", c->spec, c->machine, c->runtime, c->placement);
    }
    emp_graph_destroy(step);
    cr_expect_eq(emp_mem_live_blocks(), 0, "leaked");
}
