// SPDX-License-Identifier: GPL-3.0-or-later
/* Kernels that are measured in place: times that a known device would give lead back to it, in rounds that end; what was
 * measured before is not measured again; files that are written are read as what was found. No kernel is executed here. */
#include "base/collections.h"
#include "bench/calibrate/profile.h"
#include "sim/cost/given.h"
#include "tests/replay/fixture.h"
#include "tests/test.h"

enum { GPU = 1, OTHER_GPU = 2 };

static const double beside_factor = 1.5, op_us = 2.0, gap_us = 3.0;

typedef struct {
    double   noise_frac;
    uint64_t random;
    int32_t  runs, most_ops; /* a part of more ops does not fit; 0: all do */
    int32_t  most_runs;      /* the next one is interrupted; 0: none is */
    bool     fits_nothing;
    double   executed_s;
} known_device;

static task             net;
static emp_replay_plan *plan;
static known_device     known;
static emp_kernel_cache cache;
static emp_profile      profile;

static void open_net(const char *spec)
{
    replay_fixture_create(&net, spec, -2);
    plan = replay_fixture_plan(&net);
}

static void close_net(void)
{
    emp_profile_clear(&profile);
    emp_replay_plan_destroy(plan);
    task_destroy(&net);
}

static void set_up(void)
{
    scratch_create();
    open_net(REPLAY_SMALL_NMT);
    known = (known_device){.noise_frac = 0.05, .random = 1};
}

static void tear_down(void)
{
    close_net();
    emp_kernel_cache_clear(&cache);
    scratch_tear_down();
}

TestSuite(profile, .init = set_up, .fini = tear_down);

/* 50 to 1050 us, by what the kernel is. */
static double known_us(const emp_kernel *k)
{
    uint64_t hash = emp_hash_bytes(EMP_HASH_SEED, k->size, sizeof k->size);

    hash = emp_hash_u64(hash, (uint64_t)k->kind * 64 + (uint64_t)k->variant);
    return 50.0 + (double)((hash >> 20) % 1000);
}

static double noise(void)
{
    known.random = known.random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return 1.0 + known.noise_frac * ((double)(known.random >> 40) / (1 << 24) - 0.5);
}

static bool has_both(const emp_replay_plan *p)
{
    bool is_used[EMP_REPLAY_MAX_DEVICES] = {false};

    for (int32_t op = 0; op < p->op_count; op++)
        is_used[p->op[op].device] |= p->op[op].kernel.kind != EMP_KERNEL_NOTHING;
    return is_used[GPU] && is_used[OTHER_GPU];
}

static emp_status run_known(void *context, emp_replay_result *r, const emp_replay_plan *p,
                            emp_error *err)
{
    double  factor = has_both(p) ? beside_factor : 1.0, sum_s = 0.0;
    int32_t ops = 0;

    cr_assert_eq(context, &known);
    if (known.runs++ == known.most_runs && known.most_runs > 0) return EMP_EINTERRUPTED;
    EMP_CHECK(
        emp_replay_result_init(r, EMP_PROFILE_STEPS, p->op_count, p->copy_count, err));
    r->op_count = p->op_count;
    r->step_count = EMP_PROFILE_STEPS;
    r->warmup = 1;
    r->is_feasible = !known.fits_nothing &&
                     (known.most_ops == 0 || p == plan || p->op_count <= known.most_ops);
    snprintf(r->device[GPU].name, sizeof r->device[GPU].name, "gpu:0");
    r->oom_device = GPU;
    if (!r->is_feasible) return EMP_OK;
    for (int32_t op = 0; op < p->op_count; op++) {
        const emp_replay_op *o = &p->op[op];
        bool   has_kernel = o->kernel.kind != EMP_KERNEL_NOTHING && !o->is_alias;
        double us = has_kernel ? factor * noise() * known_us(&o->kernel) : 0.0;
        r->op_s[op] = (float)(us * 1e-6);
        r->device[o->device].busy_s += us * 1e-6;
        sum_s += us * 1e-6;
        ops += has_kernel && o->device == GPU;
    }
    r->median_s = r->device[GPU].busy_s + ops * gap_us * 1e-6;
    sum_s += ops * gap_us * 1e-6;
    for (int32_t i = 0; i < EMP_PROFILE_STEPS; i++) r->step_s[i] = sum_s;
    known.executed_s += sum_s * (EMP_PROFILE_STEPS + 1);
    return EMP_OK;
}

static emp_profile_params make_params(void)
{
    return (emp_profile_params){.plan = plan,
                                .device = GPU,
                                .neighbour = OTHER_GPU,
                                .wanted_frac = 0.02,
                                .most_steps = 60.0,
                                .hardware = "cpu known",
                                .run = run_known,
                                .context = &known};
}

static void measure(const emp_profile_params *params)
{
    emp_profile_clear(&profile);
    ASSERT_OK(emp_profile_measure(&profile, params, &err));
}

static void expect_known_times(double most_off)
{
    int32_t ops = 0;

    for (int32_t op = 0; op < plan->op_count; op++) {
        int32_t k = profile.kernel_of_op[op];
        cr_assert_eq(k >= 0, plan->op[op].kernel.kind != EMP_KERNEL_NOTHING &&
                                 !plan->op[op].is_alias);
        if (k < 0) continue;
        double us = known_us(&plan->op[op].kernel);
        cr_expect_float_eq(profile.kernel[k].alone.us, us, most_off * us);
        cr_expect_float_eq(profile.kernel[k].beside.us, beside_factor * us,
                           most_off * beside_factor * us);
        ops++;
    }
    cr_expect_gt(ops, 100);
}

Test(profile, known_times_are_found_alone_and_beside_another_device)
{
    emp_profile_params params = make_params();
    measure(&params);
    cr_expect_eq(profile.open_count, 0);
    expect_known_times(0.02);
    cr_expect_lt(profile.count, plan->op_count / 3,
                 "%d: kernels are told by what they are", profile.count);
    for (int32_t k = 0; k < profile.count; k++) {
        cr_expect_leq(profile.kernel[k].alone.interval_frac, 0.02);
        cr_expect_leq(profile.kernel[k].beside.interval_frac, 0.02);
        cr_expect_geq(profile.kernel[k].beside.samples, EMP_PROFILE_SAMPLES);
    }
    cr_expect_gt(profile.spent_steps, 3.0);
    cr_expect_lt(profile.spent_steps, 60.0);
    cr_expect_float_eq(profile.gap_us, gap_us, 1e-6);
}

Test(profile, without_a_neighbour_none_is_measured_beside_one)
{
    emp_profile_params params = make_params();
    params.neighbour = -1;
    measure(&params);
    cr_expect_eq(profile.open_count, 0);
    for (int32_t k = 0; k < profile.count; k++)
        cr_expect_lt(profile.kernel[k].beside.us, 0.0);
}

/* Times that spread by half of themselves are not known to 2 % soon. */
Test(profile, measuring_ends_after_so_many_steps)
{
    known.noise_frac = 1.0;
    emp_profile_params params = make_params();
    params.most_steps = 20.0;
    measure(&params);
    cr_expect_gt(profile.open_count, 0);
    cr_expect_gt(profile.spent_steps, 10.0);
    cr_expect_leq(profile.spent_steps, 20.5, "%g", profile.spent_steps);
}

/* The second network of a family has few new kernels. */
Test(profile, kernels_of_the_cache_are_not_measured_again)
{
    emp_profile_params params = make_params();
    params.cache = &cache;
    measure(&params);
    int32_t first = profile.count;
    double  first_s = known.executed_s;
    cr_expect_eq(cache.count, first + 1, "and what is between ops");
    ASSERT_OK(emp_kernel_cache_save(&cache, scratch_path("kernels.csv"), &err));
    emp_kernel_cache_clear(&cache);
    close_net();

    ASSERT_OK(emp_kernel_cache_load(&cache, scratch_path("kernels.csv"), &err));
    cr_assert_eq(cache.count, first + 1);
    open_net("nmt:layers=4,units=32,batch=4,steps=3,vocab=200");
    known.executed_s = 0.0;
    params.plan = plan;
    measure(&params);
    cr_expect_geq(profile.cached_count, first / 2);
    expect_known_times(0.02);
    cr_expect_leq(known.executed_s, first_s / 3.0, "%g s after %g s, %d of %d cached",
                  known.executed_s, first_s, profile.cached_count, profile.count);
    cr_expect_eq(cache.count, first + 1 + profile.count - profile.cached_count);
    cr_expect_float_eq(profile.gap_us, gap_us, 1e-3, "as it was");

    known.runs = 0; /* the same again is all there */
    measure(&params);
    cr_expect_eq(profile.cached_count, profile.count);
    cr_expect_eq(known.runs, 0);
    cr_expect(isnan(profile.step_s));
    params.hardware = "cpu other";
    measure(&params);
    cr_expect_eq(profile.cached_count, 0, "times are those of one hardware");
}

/* The cache has what is known by then, and no other times: those are measured by the next run. */
Test(profile, what_is_known_before_an_interrupt_is_not_measured_again)
{
    emp_profile_params params = make_params();
    params.cache = &cache;
    known.most_runs = 3;
    cr_expect_eq(emp_profile_measure(&profile, &params, NULL), EMP_EINTERRUPTED);
    cr_expect_gt(cache.count, 1);
    cr_expect_lt(cache.count, profile.count);
    for (int32_t i = 0; i < cache.count; i++) {
        const emp_cached_kernel *k = &cache.kernel[i];
        if (k->content == 0) continue; /* what is between ops */
        cr_expect_leq(k->alone.interval_frac, 0.02);
        cr_expect_leq(k->beside.interval_frac, 0.02);
    }
    const int32_t before = cache.count;
    known.most_runs = 0;
    measure(&params);
    cr_expect_eq(profile.cached_count, before - 1);
    cr_expect_eq(cache.count, profile.count + 1);
    expect_known_times(known.noise_frac);
}

/* Alone first; then beside a neighbour, too: the line of the cache becomes a fuller one. */
Test(profile, what_the_cache_lacks_of_a_kernel_is_added)
{
    emp_profile_params params = make_params();
    params.cache = &cache;
    params.neighbour = -1;
    measure(&params);
    params.neighbour = OTHER_GPU;
    measure(&params);
    cr_expect_eq(profile.cached_count, 0);
    cr_expect_eq(cache.count, profile.count + 1);
    measure(&params);
    cr_expect_eq(profile.cached_count, profile.count);
}

Test(profile, parts_that_do_not_fit_become_smaller)
{
    emp_profile_params params = make_params();
    known.most_ops = 1000;
    measure(&params);
    cr_expect_eq(profile.open_count, 0);
    expect_known_times(0.02);
    known.runs = 0;
    known.most_ops = 5;
    emp_profile_clear(&profile);
    EXPECT_REFUSED(emp_profile_measure(&profile, &params, &err), EMP_ENOMEM, "operands");
    emp_profile_clear(&profile);
    known.fits_nothing = true;
    EXPECT_REFUSED(emp_profile_measure(&profile, &params, &err), EMP_ENOMEM, "gpu:0");
}

static emp_status measure_again(void)
{
    emp_profile_params params = make_params();

    emp_profile_clear(&profile);
    emp_kernel_cache_clear(&cache);
    params.cache = &cache;
    params.most_steps = 10.0;
    return emp_profile_measure(&profile, &params, NULL);
}

Test(profile, every_allocation_may_fail)
{
    close_net();
    open_net("rnnlm:layers=1,units=8,batch=2,steps=1,vocab=20,sampled=8");
    SURVIVES_EVERY_ALLOCATION_FAILURE(measure_again(), {
        emp_profile_clear(&profile);
        emp_kernel_cache_clear(&cache);
    });
}

static void save_costs(void)
{
    emp_profile_costs costs = {
        .problem = net.problem,
        .gpu_model = net.machine->model[net.machine->device[GPU].model].name,
        .cpu_model = net.machine->model[net.machine->device[0].model].name,
        .gpu_op_us = op_us,
        .is_one_hardware = true};

    ASSERT_OK(emp_profile_save(&profile, plan, &costs, scratch_path("costs.csv"), &err));
}

Test(profile, a_problem_takes_the_times_as_costs)
{
    emp_given_costs given;
    int32_t         at = 0;

    emp_profile_params params = make_params();
    measure(&params);
    save_costs();
    ASSERT_OK(emp_given_costs_apply(&given, net.problem->costs, net.graph, net.machine,
                                    &net.problem->runtime, scratch_path("costs.csv"),
                                    NULL, &err));
    cr_expect_eq(given.column_count[EMP_DEVICE_GPU], 1);
    cr_expect_gt(given.column[EMP_DEVICE_GPU][0].given_frac, 0.99, "%g",
                 given.column[EMP_DEVICE_GPU][0].given_frac);
    for (int32_t i = 0; i < net.graph->op_count; i++) {
        emp_op_id op = net.graph->topo[i];
        if (net.graph->op[op].is_folded) continue;
        int32_t row = at++, kernel = profile.kernel_of_op[row];
        if (kernel < 0 || plan->device[plan->op[row].device].is_cpu) continue;
        const emp_gpu_cost        *t = &net.problem->costs->gpu[op];
        const emp_profiled_kernel *k = &profile.kernel[kernel];
        cr_expect_float_eq((double)t->compute_ns, 1e3 * (k->alone.us + op_us), 10.0);
    }
}

Test(profile, a_cache_that_is_none_is_refused)
{
    static const char head[] = "hardware,content,kernel,us,interval_percent,samples,"
                               "beside_us,beside_interval_percent,beside_samples\n";
    static const struct {
        const char *line, *part;
    } cases[] = {{"cpu,00000000000000ff,fill,x,1,8,,,\n", "us is \"x\""},
                 {"cpu,ff,fill,1,1,8,,,\n", "content is \"ff\""},
                 {"cpu,00000000000000ff,fill,-1,1,8,,,\n", "row 1"},
                 {"cpu,00000000000000ff,fill,1,1,1.5,,,\n", "samples is \"1.5\""}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path =
            scratch_file("kernels.csv", scratch_print("%s%s", head, cases[i].line));
        EXPECT_REFUSED(emp_kernel_cache_load(&cache, path, &err), EMP_EFORMAT,
                       cases[i].part);
        emp_kernel_cache_clear(&cache);
    }
    EXPECT_REFUSED(
        emp_kernel_cache_load(&cache, scratch_file("kernels.csv", "op,us\na,1\n"), &err),
        EMP_EFORMAT, "hardware");
    ASSERT_OK(emp_kernel_cache_load(&cache, scratch_path("nowhere.csv"), &err));
    cr_expect_eq(cache.count, 0, "none is an empty one");
}
