// SPDX-License-Identifier: GPL-3.0-or-later
/* A record comes back as it was saved; anything else is refused with a sentence. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <unistd.h>

#include "run/store/store.h"
#include "tests/test.h"

enum { OPS = 5, POINTS = 3, METRICS = 2, DEVICES = 3 };

static const char *path;
static emp_record  r, got; /* as saved, as loaded */

static emp_record make_record(void)
{
    emp_record made = {.method = "hdp",
                       .preset = "paper",
                       .options = "samples=4",
                       .workload = "nmt:layers=2,batch=64",
                       .machine = "k40x2",
                       .runtime = "tf-r1.3",
                       .seed = UINT64_MAX,
                       .budget_evaluations = 4000,
                       .budget_s = 1.5,
                       .budget_cpu_s = 2.5,
                       .graph_hash = 0x123456789abcdef0,
                       .machine_hash = UINT64_C(0xfedcba9876543210),
                       .runtime_hash = 3,
                       .version = "0.1.0",
                       .commit = "0123456789abcdef0123456789abcdef01234567",
                       .is_dirty = true,
                       .stopped_by = "budget",
                       .evaluations = 12,
                       .feasible_count = 9,
                       .median_s = 1.25,
                       .best_step_time_s = 0.84,
                       .is_feasible = true,
                       .traffic_bytes = INT64_C(5) << 33,
                       .fingerprint = UINT64_C(0xdeadbeefcafef00d),
                       .device_count = DEVICES,
                       .device_name = {"cpu:0", "gpu:0", "gpu:1"},
                       .peak_bytes = {1, INT64_C(11) << 30, 3},
                       .busy_s = {0.1, 0.2, 0.3},
                       .decision = {.op_count = OPS},
                       .point_count = POINTS,
                       .metric_count = METRICS,
                       .metric_name = {"loss", "entropy"}};

    made.decision.device_of_op = EMP_NEW_ARRAY(emp_device_id, OPS);
    made.curve = EMP_NEW_ARRAY(emp_curve_point, POINTS);
    made.metric = EMP_NEW_ARRAY(double, POINTS *METRICS);
    for (int i = 0; i < OPS; i++) made.decision.device_of_op[i] = i % DEVICES;
    for (int i = 0; i < POINTS; i++)
        made.curve[i] = (emp_curve_point){4 * (i + 1), i, 2.0 / (i + 1), 3.0 / (i + 1)};
    for (int i = 0; i < POINTS * METRICS; i++) made.metric[i] = -i;
    return made;
}

static void set_up(void)
{
    emp_store_silence();
    scratch_create();
    path = scratch_path("record.h5");
    r = make_record();
}

static void tear_down(void)
{
    emp_record_clear(&r);
    emp_record_clear(&got);
    scratch_remove();
    expect_all_freed();
}

TestSuite(record, .init = set_up, .fini = tear_down);

static void save(void) { ASSERT_OK(emp_record_save(path, &r, &err)); }

static void reload(void)
{
    save();
    emp_record_clear(&got);
    ASSERT_OK(emp_record_load(&got, path, &err));
}

static void expect_refused(const char *part)
{
    emp_record_clear(&got);
    EXPECT_REFUSED(emp_record_load(&got, path, &err), EMP_EFORMAT, part);
    emp_record_clear(&got);
    EXPECT_REFUSED(emp_record_load(&got, path, &err), EMP_EFORMAT, path);
}

static size_t size_of(void)
{
    size_t size;

    save();
    free(scratch_read("record.h5", &size));
    return size;
}

Test(record, comes_back_as_saved)
{
    reload();
    cr_expect_arr_eq(got.decision.device_of_op, r.decision.device_of_op,
                     OPS * sizeof *r.decision.device_of_op);
    cr_expect_arr_eq(got.curve, r.curve, POINTS * sizeof *r.curve);
    cr_expect_arr_eq(got.metric, r.metric, POINTS * METRICS * sizeof *r.metric);
    /* All other fields at once: with equal pointers the structs are equal. */
    emp_record same = got;
    same.decision = r.decision, same.curve = r.curve, same.metric = r.metric;
    cr_expect_arr_eq(&same, &r, sizeof r);
    r.curve[0].best_s = r.median_s = NAN;
    r.metric_count = 0;
    reload();
    cr_expect(isnan(got.curve[0].best_s) && isnan(got.median_s));
    cr_expect_eq(got.metric_count, 0);
}

/* Fields that most records lack take no room in them. */
Test(record, names_ranks_and_winners_only_when_there_are_some)
{
    const size_t without = size_of();

    r.ranks = 3;
    r.is_async = true;
    snprintf(r.winner, sizeof r.winner, "metis");
    cr_expect_gt(size_of(), without);
    reload();
    cr_expect(got.ranks == 3 && got.is_async);
    cr_expect_str_eq(got.winner, "metis");
    cr_expect_eq(emp_record_identity(&got), emp_record_identity(&r));
}

Test(record, keeps_the_text_of_its_machine)
{
    char *text = NULL;

    save();
    EXPECT_REFUSED(emp_record_load_machine(&text, path, &err), EMP_EUNSUPPORTED, "");
    cr_expect_null(text);
    r.machine_text = "--- # k40x2.yaml 2\nx\n\n";
    save();
    r.machine_text = NULL;
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_record_load_machine(&text, path, NULL),
                                      (void)0);
    cr_expect_str_eq(text, "--- # k40x2.yaml 2\nx\n\n");
    emp_free(text);
    scratch_write("record.h5", "no record", 9);
    EXPECT_REFUSED(emp_record_load_machine(&text, path, &err), EMP_EFORMAT, "");
}

Test(record, is_the_same_file_every_time)
{
    size_t size;

    save();
    char *first = scratch_bytes("record.h5", &size);
    sleep(1); /* a time stamp would change */
    save();
    scratch_expect_bytes("record.h5", first, size, "another file");
}

Test(record, of_another_kind_or_version_is_refused)
{
    size_t size;

    scratch_write("record.h5", "{\"step_time_s\": 1}\n", 19);
    expect_refused("is no run record");
    save();
    char *bytes = scratch_bytes("record.h5", &size);
    cr_assert_arr_eq(bytes, "emplace-run-1 ", 14);
    bytes[12] = '9';
    scratch_write("record.h5", bytes, size);
    expect_refused("emplace-run-9");
}

/* Only the head is read of a file whose head is another's. */
Test(record, long_file_takes_no_memory)
{
    const off_t size = (off_t)20 << 30;

    scratch_write("record.h5", "", 0);
    cr_assert_eq(truncate(path, size), 0);
    emp_mem_fail_after(0);
    expect_refused("is no run record");
    emp_mem_fail_after(-1);
    save();
    cr_assert_eq(truncate(path, size), 0);
    emp_mem_fail_after(0);
    expect_refused("17179869184 bytes");
    emp_mem_fail_after(-1);
}

Test(record, missing_file_or_folder_is_named)
{
    EXPECT_REFUSED(emp_record_load(&got, "/nowhere/x.h5", &err), EMP_EIO,
                   "/nowhere/x.h5");
    EXPECT_REFUSED(emp_record_save("/nowhere/x.h5", &r, &err), EMP_EIO, "/nowhere/x.h5");
}

Test(record, has_levels_and_leaders_if_order_and_fusion_were_decided)
{
    r.has_order = r.has_fusion = true;
    r.start_hash = 77;
    r.decision.level_of_op = EMP_NEW_ARRAY(uint8_t, OPS);
    r.decision.level_of_op[3] = 63;
    r.decision.leader_of_op = EMP_NEW_ARRAY(emp_op_id, OPS);
    for (emp_op_id op = 0; op < OPS; op++) r.decision.leader_of_op[op] = op;
    r.decision.leader_of_op[1] = 3;
    reload();
    cr_expect(got.has_order && got.has_fusion);
    cr_expect_str_eq(emp_record_decides(&got), "devices,order,fusion");
    cr_expect_eq(got.start_hash, 77);
    cr_expect_arr_eq(got.decision.level_of_op, r.decision.level_of_op, OPS);
    cr_expect_arr_eq(got.decision.leader_of_op, r.decision.leader_of_op,
                     OPS * sizeof *r.decision.leader_of_op);
    r.decision.leader_of_op[2] = OPS;
    save();
    expect_refused("op 2 has leader");
    r.decision.leader_of_op[2] = 2;
    r.decision.level_of_op[2] = 64;
    save();
    expect_refused("op 2 has level 64");
    r.decision.level_of_op[2] = 0;
    r.decision.device_of_op[2] = DEVICES;
    save();
    expect_refused("op 2 is on device 3");
}

Test(record, has_the_code_of_a_method_from_outside)
{
    r.method_hash = 77;
    reload();
    cr_expect_eq(got.method_hash, 77);
    ASSERT_OK(emp_record_check_replaced(path, &r, &err));
    got.method_hash = 78;
    EXPECT_REFUSED(emp_record_check_replaced(path, &got, &err), EMP_EINVAL,
                   "has changed since");
}

Test(record, has_the_options_that_changed_its_problem)
{
    reload();
    cr_expect_str_eq(got.overrides, "");
    strcpy(r.overrides, " --forbid cpu");
    reload();
    cr_expect_str_eq(got.overrides, " --forbid cpu");
    ASSERT_OK(emp_record_check_replaced(path, &r, &err));
    strcpy(got.overrides, " --whole-layers");
    EXPECT_REFUSED(emp_record_check_replaced(path, &got, &err), EMP_EINVAL,
                   "options of its problem");
}

Test(record, identity_follows_all_that_makes_the_run)
{
    const uint64_t identity = emp_record_identity(&r);

    r.best_step_time_s = 7;
    r.stopped_by[0] = '\0';
    cr_expect_eq(emp_record_identity(&r), identity);
    for (int i = 0; i < 6; i++) {
        emp_record other = r;
        switch (i) {
        case 0: other.seed = 3; break;
        case 1: other.has_order = true; break;
        case 2: other.has_fusion = true; break;
        case 3: other.start_hash = 78; break;
        case 4: strcpy(other.overrides, " --forbid cpu"); break;
        default: other.method_hash = 78;
        }
        cr_expect_neq(emp_record_identity(&other), identity, "change %d", i);
    }
}

/* A record of one program lacks the fields of those that several share; the library, which is
 * asked for them, keeps by thread whether it prints. */
static void *load(void *unused)
{
    ASSERT_OK(emp_record_load(&got, path, &err));
    return unused;
}

Test(record, reading_in_another_thread_prints_nothing)
{
    pthread_t thread;
    FILE     *printed = tmpfile();
    int       before = dup(STDERR_FILENO);

    save();
    cr_assert(printed != NULL && dup2(fileno(printed), STDERR_FILENO) >= 0);
    int failed = pthread_create(&thread, NULL, load, NULL);
    if (failed == 0) pthread_join(thread, NULL);
    dup2(before, STDERR_FILENO);
    close(before);
    cr_expect_eq(failed, 0);
    cr_expect_eq(lseek(fileno(printed), 0, SEEK_END), 0);
    fclose(printed);
}

static const char *const some_names[OPS] = {"a", "", "scope/b", "c:0",
                                            "a longer name/of one op"};

Test(record, names_of_ops_come_back_on_request)
{
    SCOPED(emp_op_names, emp_op_names_clear) names;

    reload();
    EXPECT_REFUSED(emp_record_load_names(&names, path, &err), EMP_EUNSUPPORTED,
                   "does not name its ops");
    r.op_name = some_names;
    save();
    ASSERT_OK(emp_record_load_names(&names, path, &err));
    cr_assert_eq(names.count, OPS);
    for (int op = 0; op < OPS; op++) cr_expect_str_eq(names.name[op], some_names[op]);
}

Test(record, saving_and_loading_survive_every_allocation_failure)
{
    emp_op_names names;

    r.op_name = some_names;
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_record_save(path, &r, NULL), (void)0);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_record_load(&got, path, NULL),
                                      emp_record_clear(&got));
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_record_load_names(&names, path, NULL),
                                      emp_op_names_clear(&names));
    emp_op_names_clear(&names);
}
