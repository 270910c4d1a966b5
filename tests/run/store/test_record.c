// SPDX-License-Identifier: GPL-3.0-or-later
/* A record comes back as it was saved; anything else is refused with a sentence. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "run/store/store.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

enum { OPS = 5, POINTS = 3, METRICS = 2, DEVICES = 3 };

static const char *path;

static void set_up(void)
{
    emp_store_silence();
    scratch_create();
    path = scratch_path("record.h5");
}

TestSuite(record, .init = set_up, .fini = scratch_remove);

static emp_record make_record(void)
{
    emp_record r = {.method = "hdp",
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

    r.decision.device_of_op = EMP_NEW_ARRAY(emp_device_id, OPS);
    r.curve = EMP_NEW_ARRAY(emp_curve_point, POINTS);
    r.metric = EMP_NEW_ARRAY(double, POINTS *METRICS);
    for (int i = 0; i < OPS; i++) r.decision.device_of_op[i] = i % DEVICES;
    for (int i = 0; i < POINTS; i++) {
        r.curve[i] = (emp_curve_point){4 * (i + 1), i, 2.0 / (i + 1), 3.0 / (i + 1)};
    }
    for (int i = 0; i < POINTS * METRICS; i++) r.metric[i] = -i;
    return r;
}

static void save(const emp_record *record) { MUST(emp_record_save(path, record, &why)); }

static void expect_refused(const char *sentence_part)
{
    emp_record record;
    emp_error  err = {0};

    cr_expect_eq(emp_record_load(&record, path, &err), EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, sentence_part), "%s", err.msg);
    cr_expect_not_null(strstr(err.msg, path), "%s", err.msg);
    emp_record_clear(&record);
}

Test(record, comes_back_as_saved)
{
    emp_record r = make_record(), got;

    save(&r);
    MUST(emp_record_load(&got, path, &why));
    cr_expect_arr_eq(got.decision.device_of_op, r.decision.device_of_op,
                     OPS * sizeof *r.decision.device_of_op);
    cr_expect_arr_eq(got.curve, r.curve, POINTS * sizeof *r.curve);
    cr_expect_arr_eq(got.metric, r.metric, POINTS * METRICS * sizeof *r.metric);
    cr_expect_eq(got.seed, UINT64_MAX);
    cr_expect_eq(got.machine_hash, r.machine_hash);
    cr_expect_eq(got.best_step_time_s, 0.84);
    cr_expect(got.is_dirty && got.is_feasible);
    cr_expect_str_eq(got.commit, r.commit);

    /* All other fields at once: with equal pointers the structs are equal. */
    emp_free(got.decision.device_of_op), emp_free(got.curve), emp_free(got.metric);
    got.decision = r.decision, got.curve = r.curve, got.metric = r.metric;
    cr_expect_arr_eq(&got, &r, sizeof r);
    emp_record_clear(&r);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(record, names_ranks_only_when_there_are_several)
{
    emp_record r = make_record(), got;
    size_t     alone, shared;

    save(&r);
    free(scratch_read("record.h5", &alone));
    r.ranks = 3;
    r.is_async = true;
    save(&r);
    free(scratch_read("record.h5", &shared));
    cr_expect_gt(shared, alone);
    MUST(emp_record_load(&got, path, NULL));
    cr_expect_eq(got.ranks, 3);
    cr_expect(got.is_async);
    emp_record_clear(&got);
    emp_record_clear(&r);
}

Test(record, keeps_the_text_of_its_machine)
{
    emp_record r = make_record();
    char      *text = NULL;

    save(&r);
    cr_expect_eq(emp_record_load_machine(&text, path, NULL), EMP_EUNSUPPORTED);
    cr_expect_null(text);
    r.machine_text = "--- # k40x2.yaml 2\nx\n\n";
    save(&r);
    MUST(emp_record_load_machine(&text, path, NULL));
    cr_expect_str_eq(text, r.machine_text);
    emp_free(text);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_record_load_machine(&text, path, NULL),
                                      (void)0);
    emp_free(text);
    scratch_write("record.h5", "no record", 9);
    cr_expect_eq(emp_record_load_machine(&text, path, NULL), EMP_EFORMAT);
    emp_record_clear(&r);
}

Test(record, keeps_not_a_number)
{
    emp_record r = make_record(), got;

    r.curve[0].best_s = NAN;
    r.median_s = NAN;
    save(&r);
    MUST(emp_record_load(&got, path, NULL));
    cr_expect(isnan(got.curve[0].best_s) && isnan(got.median_s));
    emp_record_clear(&got);
    emp_record_clear(&r);
}

Test(record, is_the_same_file_every_time)
{
    emp_record r = make_record();
    size_t     size, again;

    save(&r);
    char *first = scratch_read("record.h5", &size);
    sleep(1); /* a time stamp would change */
    save(&r);
    char *second = scratch_read("record.h5", &again);
    cr_expect_eq(size, again);
    cr_expect_arr_eq(first, second, size);
    free(first);
    free(second);
    emp_record_clear(&r);
}

Test(record, without_metrics_has_none)
{
    emp_record r = make_record(), got;

    r.metric_count = 0;
    save(&r);
    MUST(emp_record_load(&got, path, NULL));
    cr_expect_eq(got.metric_count, 0);
    emp_record_clear(&got);
    emp_record_clear(&r);
}

Test(record, cut_short_is_refused_at_any_length)
{
    emp_record r = make_record(), got;
    size_t     size;

    save(&r);
    char *bytes = scratch_read("record.h5", &size);
    for (size_t length = 0; length < size; length += size / 97 + 1) {
        scratch_write("record.h5", bytes, length);
        cr_expect_eq(emp_record_load(&got, path, NULL), EMP_EFORMAT, "cut to %zu bytes",
                     length);
        emp_record_clear(&got);
    }
    free(bytes);
    emp_record_clear(&r);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(record, damage_is_refused)
{
    emp_record r = make_record(), got;
    size_t     size;

    save(&r);
    char *bytes = scratch_read("record.h5", &size);
    for (size_t at = 512; at < size; at += size / 211 + 1) { /* past the seal's padding */
        bytes[at] = (char)(bytes[at] ^ 0x5a);
        scratch_write("record.h5", bytes, size);
        bytes[at] = (char)(bytes[at] ^ 0x5a);
        cr_expect_eq(emp_record_load(&got, path, NULL), EMP_EFORMAT, "byte %zu", at);
        emp_record_clear(&got);
    }
    free(bytes);
    emp_record_clear(&r);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(record, text_file_is_refused)
{
    scratch_write("record.h5", "{\"step_time_s\": 1}\n", 19);
    expect_refused("is no run record");
}

/* Of a file with another head no more than that is read. */
Test(record, long_file_takes_no_memory)
{
    const off_t size = (off_t)20 << 30;
    emp_record  r = make_record();

    scratch_write("record.h5", "", 0);
    cr_assert_eq(truncate(path, size), 0);
    emp_mem_fail_after(0);
    expect_refused("is no run record");
    emp_mem_fail_after(-1);

    save(&r);
    cr_assert_eq(truncate(path, size), 0);
    emp_mem_fail_after(0);
    expect_refused("longer than 17179869184 bytes");
    emp_mem_fail_after(-1);
    emp_record_clear(&r);
}

Test(record, other_version_is_refused)
{
    emp_record r = make_record();
    size_t     size;

    save(&r);
    char *bytes = scratch_read("record.h5", &size);
    cr_assert_arr_eq(bytes, "emplace-run-1 ", 14);
    bytes[12] = '9';
    scratch_write("record.h5", bytes, size);
    expect_refused("emplace-run-9");
    free(bytes);
    emp_record_clear(&r);
}

Test(record, has_levels_if_the_order_was_decided)
{
    emp_record r = make_record(), got;

    r.has_order = true;
    r.start_hash = 77;
    r.decision.level_of_op = EMP_NEW_ARRAY(uint8_t, OPS);
    r.decision.level_of_op[3] = 63;
    save(&r);
    MUST(emp_record_load(&got, path, NULL));
    cr_expect(got.has_order);
    cr_expect_eq(got.start_hash, 77);
    cr_expect_arr_eq(got.decision.level_of_op, r.decision.level_of_op, OPS);
    cr_expect_eq(emp_record_identity(&got), emp_record_identity(&r));
    got.has_order = false;
    cr_expect_neq(emp_record_identity(&got), emp_record_identity(&r));
    got.has_order = true;
    got.start_hash = 78;
    cr_expect_neq(emp_record_identity(&got), emp_record_identity(&r));
    emp_record_clear(&got);
    r.decision.level_of_op[2] = 64;
    save(&r);
    expect_refused("op 2 has level 64 of 64");
    emp_record_clear(&r);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(record, has_the_code_of_a_method_from_outside)
{
    emp_record r = make_record(), got;

    r.method_hash = 77;
    save(&r);
    MUST(emp_record_load(&got, path, NULL));
    cr_expect_eq(got.method_hash, 77);
    cr_expect_eq(emp_record_identity(&got), emp_record_identity(&r));
    MUST(emp_record_check_replaced(path, &r, &why));
    got.method_hash = 78;
    cr_expect_neq(emp_record_identity(&got), emp_record_identity(&r));
    MUST_FAIL(EMP_EINVAL, "has changed since",
              emp_record_check_replaced(path, &got, &why));
    emp_record_clear(&got);
    emp_record_clear(&r);
}

Test(record, has_leaders_if_the_fusion_was_decided)
{
    emp_record r = make_record(), got;

    r.has_fusion = true;
    r.decision.leader_of_op = EMP_NEW_ARRAY(emp_op_id, OPS);
    for (emp_op_id op = 0; op < OPS; op++) r.decision.leader_of_op[op] = op;
    r.decision.leader_of_op[1] = 3;
    save(&r);
    MUST(emp_record_load(&got, path, NULL));
    cr_expect(got.has_fusion);
    cr_expect_str_eq(emp_record_decides(&got), "devices,fusion");
    cr_expect_arr_eq(got.decision.leader_of_op, r.decision.leader_of_op,
                     OPS * sizeof *r.decision.leader_of_op);
    cr_expect_eq(emp_record_identity(&got), emp_record_identity(&r));
    got.has_fusion = false;
    cr_expect_neq(emp_record_identity(&got), emp_record_identity(&r));
    emp_record_clear(&got);
    r.decision.leader_of_op[2] = OPS;
    save(&r);
    expect_refused("op 2 has leader");
    emp_record_clear(&r);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(record, names_the_winner_only_if_there_is_one)
{
    emp_record r = make_record(), got;
    size_t     without, with;

    save(&r);
    free(scratch_read("record.h5", &without));
    snprintf(r.winner, sizeof r.winner, "metis");
    save(&r);
    free(scratch_read("record.h5", &with));
    cr_expect_gt(with, without);
    MUST(emp_record_load(&got, path, NULL));
    cr_expect_str_eq(got.winner, "metis");
    cr_expect_eq(emp_record_identity(&got), emp_record_identity(&r));
    emp_record_clear(&got);
    emp_record_clear(&r);
}

Test(record, op_on_a_missing_device_is_refused)
{
    emp_record r = make_record();

    r.decision.device_of_op[2] = DEVICES;
    save(&r);
    expect_refused("op 2 is on device 3 of 3");
    emp_record_clear(&r);
}

Test(record, missing_file_is_named)
{
    emp_record record;

    MUST_FAIL(EMP_EIO, "/nowhere/x.h5 cannot be read: No such file or directory",
              emp_record_load(&record, "/nowhere/x.h5", &why));
}

Test(record, missing_folder_is_named)
{
    emp_record r = make_record();

    MUST_FAIL(EMP_EIO, "/nowhere/x.h5 cannot be written: No such file or directory",
              emp_record_save("/nowhere/x.h5", &r, &why));
    emp_record_clear(&r);
}

Test(record, loading_survives_every_allocation_failure)
{
    emp_record r = make_record(), got;

    save(&r);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_record_load(&got, path, NULL),
                                      emp_record_clear(&got));
    emp_record_clear(&got);
    emp_record_clear(&r);
}

static void *load(void *unused)
{
    emp_record loaded;

    MUST(emp_record_load(&loaded, path, &why));
    emp_record_clear(&loaded);
    return unused;
}

/* A record of one program lacks the fields of those that several share; the library, which is
 * asked for them, keeps by thread whether it prints. */
Test(record, reading_in_another_thread_prints_nothing)
{
    emp_record record = make_record();
    pthread_t  thread;
    FILE      *printed = tmpfile();
    int        before = dup(STDERR_FILENO);

    save(&record);
    cr_assert(printed != NULL && dup2(fileno(printed), STDERR_FILENO) >= 0);
    int failed = pthread_create(&thread, NULL, load, NULL);
    if (failed == 0) pthread_join(thread, NULL);
    dup2(before, STDERR_FILENO);
    close(before);
    cr_expect_eq(failed, 0);
    cr_expect_eq(lseek(fileno(printed), 0, SEEK_END), 0);
    fclose(printed);
    emp_record_clear(&record);
}

static const char *const some_names[OPS] = {"a", "", "scope/b", "c:0",
                                            "a longer name/of one op"};

Test(record, names_of_ops_come_back_on_request)
{
    emp_record   r = make_record();
    emp_op_names names;

    r.op_name = some_names;
    save(&r);
    MUST(emp_record_load_names(&names, path, &why));
    cr_assert_eq(names.count, OPS);
    for (int op = 0; op < OPS; op++) cr_expect_str_eq(names.name[op], some_names[op]);
    emp_op_names_clear(&names);
    emp_record_clear(&r);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(record, without_names_is_read_and_says_so)
{
    emp_record   r = make_record(), got;
    emp_op_names names;

    save(&r);
    MUST(emp_record_load(&got, path, &why));
    MUST_FAIL(EMP_EUNSUPPORTED, "does not name its ops",
              emp_record_load_names(&names, path, &why));
    emp_record_clear(&got);
    emp_record_clear(&r);
}

Test(record, names_survive_every_allocation_failure)
{
    emp_record   r = make_record();
    emp_op_names names;

    r.op_name = some_names;
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_record_save(path, &r, NULL), (void)0);
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_record_load_names(&names, path, NULL),
                                      emp_op_names_clear(&names));
    emp_op_names_clear(&names);
    emp_record_clear(&r);
}

Test(record, identity_is_of_the_run_not_of_its_result)
{
    emp_record r = make_record();
    uint64_t   identity = emp_record_identity(&r);

    r.best_step_time_s = 7;
    r.stopped_by[0] = '\0';
    cr_expect_eq(emp_record_identity(&r), identity);
    r.seed = 3;
    cr_expect_neq(emp_record_identity(&r), identity);
    emp_record_clear(&r);
}
