// SPDX-License-Identifier: GPL-3.0-or-later
/* The profiles that come with the program, and what is said of bad files. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sim/runtime/runtime.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

struct bad_file {
    const char *find, *put, *message;
};

Test(runtime, profiles_load)
{
    emp_runtime tf = {0}, ideal = {0};

    ASSERT_OK(emp_runtime_init(&tf, "tf-r1.3", &err));
    ASSERT_OK(emp_runtime_init(&ideal, "ideal", &err));
    cr_expect_str_eq(tf.name, "tf-r1.3");
    cr_expect(tf.events.serial_issue && tf.events.drain_copies && tf.events.cpu_pool &&
              tf.check_memory);
    cr_expect_float_eq(tf.events.poll_s, 15e-6, 1e-12);
    cr_expect_not(ideal.events.serial_issue || ideal.events.drain_copies ||
                  ideal.events.cpu_pool);
    cr_expect_eq(ideal.events.step_s, 0.0);
}

Test(runtime, other_simulators_have_their_constants)
{
    emp_runtime placeto = {0}, baechi = {0}, latency = {0}, load = {0}, edges = {0};

    cr_assert_eq(emp_runtime_init(&placeto, "placeto", NULL), EMP_OK);
    cr_assert_eq(emp_runtime_init(&baechi, "baechi", NULL), EMP_OK);
    cr_assert_eq(emp_runtime_init(&latency, "msr-latency", NULL), EMP_OK);
    cr_assert_eq(emp_runtime_init(&load, "msr-load", NULL), EMP_OK);
    cr_assert_eq(emp_runtime_init(&edges, "edges", NULL), EMP_OK);
    cr_expect_eq(edges.rules, EMP_RULES_EDGES);
    cr_expect(edges.check_memory);
    cr_expect_eq(placeto.rules, EMP_RULES_PLACETO);
    cr_expect_float_eq(placeto.placeto.op_gap_s, 5.7e-6, 1e-15);
    cr_expect_eq(placeto.placeto.bus_bytes_per_s, 7.6e9);
    cr_expect_float_eq(placeto.placeto.bus_gap_s, 25e-6, 1e-15);
    cr_expect_float_eq(placeto.placeto.early_release_s, 1e-6, 1e-15);
    cr_expect_eq(baechi.rules, EMP_RULES_BAECHI);
    cr_expect_float_eq(baechi.baechi.byte_s, 1.754e-10, 1e-20);
    cr_expect_float_eq(baechi.baechi.transfer_s, 134e-6, 1e-15);
    cr_expect_eq(baechi.baechi.control_bytes, 4);
    cr_expect_eq(latency.rules, EMP_RULES_MSR_LATENCY);
    cr_expect_eq(load.rules, EMP_RULES_MSR_LOAD);
    cr_expect_eq(load.msr.host_bytes_per_s, 0x1p31);
    cr_expect(placeto.check_memory && baechi.check_memory && load.check_memory);
    cr_expect_not(emp_runtime_events_of(&placeto)->serial_issue);
    cr_expect_str_eq(emp_rules_str(load.rules), "msr-load");
}

Test(runtime, the_hash_sees_rules_and_what_they_use)
{
    emp_runtime ideal = {0}, load = {0};

    cr_assert_eq(emp_runtime_init(&ideal, "ideal", NULL), EMP_OK);
    cr_assert_eq(emp_runtime_init(&load, "msr-load", NULL), EMP_OK);
    uint64_t hash = emp_runtime_hash(&ideal);
    ideal.events.poll_s = 5.0;
    cr_expect_neq(emp_runtime_hash(&ideal), hash);
    hash = emp_runtime_hash(&load);
    load.rules = EMP_RULES_MSR_LATENCY;
    cr_expect_neq(emp_runtime_hash(&load), hash);
    load.rules = EMP_RULES_MSR_LOAD;
    load.msr.host_bytes_per_s *= 2.0;
    cr_expect_neq(emp_runtime_hash(&load), hash);
}

static const char baechi_text[] = "description: \"x\"\n"
                                  "rules: baechi\n"
                                  "check_memory: yes\n"
                                  "per_byte: \"1 ns\"\n"
                                  "per_transfer: \"2 us\"\n"
                                  "control_size: \"4 B\"\n";

static const struct bad_file bad_runtimes[] = {
    {"rules: baechi", "rules: heft",
     ":2: rules: 'heft' is none of events placeto baechi msr-latency msr-load edges"},
    {"rules: baechi\n", "", ":3: per_byte: the rules 'events' have no such key"},
    {"rules: baechi", "rules: placeto",
     ":4: per_byte: the rules 'placeto' have no such key"},
    {"per_byte: \"1 ns\"\n", "",
     ":2: the key 'per_byte' is missing; the rules 'baechi' "
     "use it"},
    {"check_memory: yes\n", "", ":2: the key 'check_memory' is missing"},
    {"control_size", "issue: \"1 us\"\ncontrol_size",
     ":6: issue: the rules 'baechi' have no such key"},
    {"4 B", "0 B", ":6: control_size: '0 B' must be above zero"},
    {"1 ns", "1 ns/B", ":4: per_byte: "},
    {"per_byte", "per_bit", ":4: Unexpected key: per_bit"},
    {"per_byte", "per_bite", ":4: Unexpected key: per_bite (did you mean \"per_byte\"?)"},
    {"description: \"x\"\n", "", ":5: Missing key: description"},
};

Test(runtime, a_file_has_the_keys_of_its_rules, .init = scratch_create,
     .fini = scratch_remove)
{
    char path[SCRATCH_PATH_BYTES], text[2 * sizeof baechi_text],
        want[SCRATCH_PATH_BYTES + 256];
    emp_runtime r = {0};

    scratch_write_text(path, sizeof path, "own.yaml", baechi_text);
    cr_assert_eq(emp_runtime_init(&r, path, NULL), EMP_OK);
    cr_expect_str_eq(r.name, "own");
    cr_expect_float_eq(r.baechi.transfer_s, 2e-6, 1e-15);
    for (size_t i = 0; i < sizeof bad_runtimes / sizeof bad_runtimes[0]; i++) {
        const struct bad_file *c = &bad_runtimes[i];
        emp_error              err = {0};
        const char            *at = strstr(baechi_text, c->find);
        cr_assert_not_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - baechi_text), baechi_text,
                 c->put, at + strlen(c->find));
        scratch_write_text(path, sizeof path, "bad.yaml", text);
        cr_expect_eq(emp_runtime_init(&r, path, &err), EMP_EFORMAT, "%s", c->put);
        snprintf(want, sizeof want, "%s%s", path, c->message);
        cr_expect_eq(strncmp(err.msg, want, strlen(want)), 0, "said: %s\nwant: %s",
                     err.msg, want);
        cr_expect_eq(emp_mem_live_blocks(), 0, "leak: %s", c->put);
    }
    cr_expect_str_eq(r.name, "own", "a failure writes nothing");
}

/* ---- bases ---- */

Test(runtime, a_base_says_what_a_file_leaves_out, .init = scratch_create,
     .fini = scratch_remove)
{
    char        path[SCRATCH_PATH_BYTES];
    emp_runtime base = {0}, mine = {0};

    scratch_write_text(path, sizeof path, "mine.yaml",
                       "description: \"mine\"\nbase: \"tf-r1.3\"\n"
                       "issue: \"7 us\"\ncpu_pool: no\nfp32_products: tf32\n");
    ASSERT_OK(emp_runtime_init(&base, "tf-r1.3", &err));
    ASSERT_OK(emp_runtime_init(&mine, path, &err));
    cr_expect_str_eq(mine.name, "mine");
    cr_expect_str_eq(mine.description, "mine");
    cr_expect_neq(emp_runtime_hash(&mine), emp_runtime_hash(&base));
    cr_expect_eq(mine.events.fp32_products, EMP_FORMAT_TF32);
    mine.events.fp32_products = EMP_FORMAT_FP32;
    cr_expect_float_eq(mine.events.issue_s, 7e-6, 1e-15);
    mine.events.issue_s = base.events.issue_s;
    cr_expect_not(mine.events.cpu_pool);
    mine.events.cpu_pool = true;
    cr_expect_eq(emp_runtime_hash(&mine), emp_runtime_hash(&base),
                 "all else is the base's");
}

Test(runtime, profiles_of_today_have_bases)
{
    emp_runtime eager = {0}, graph = {0};

    ASSERT_OK(emp_runtime_init(&eager, "torch-eager", &err));
    ASSERT_OK(emp_runtime_init(&graph, "graph-launch", &err));
    cr_expect(eager.events.serial_issue && eager.events.copy_streams);
    cr_expect_not(eager.events.reuse_inputs);
    cr_expect_float_eq(eager.events.issue_s, 12.4e-6, 1e-15);
    cr_expect_eq(eager.events.poll_s, 0.0);
    cr_expect_not(graph.events.serial_issue || graph.events.reuse_inputs);
    cr_expect_eq(graph.events.send_s, 0.0);
}

static const struct bad_file bad_bases[] = {
    {"tf-r1.3", "tf-r1.4", ":2: base: no runtime profile 'tf-r1.4'"},
    {"tf-r1.3", "./turn.yaml", ":2: base: ./turn.yaml:2: base: "},
    {"issue: \"7 us\"", "rules: events", ":3: rules: are those of the base tf-r1.3"},
    {"issue: \"7 us\"", "per_byte: \"1 ns\"",
     ":3: per_byte: the rules 'events' have no such key"},
    {"issue: \"7 us\"", "fp32_products: fp5", ":3: fp32_products: "},
    {"tf-r1.3\"\nissue: \"7 us\"", "baechi\"\nfp32_products: tf32",
     ":3: fp32_products: the rules 'baechi' have no such key"},
};

Test(runtime, bad_bases_are_refused, .init = scratch_create, .fini = scratch_remove)
{
    static const char text[] =
        "description: \"mine\"\nbase: \"tf-r1.3\"\nissue: \"7 us\"\n";

    char turn[SCRATCH_PATH_BYTES];

    cr_assert_eq(chdir(scratch_path("")), 0);
    scratch_write_text(turn, sizeof turn, "turn.yaml",
                       "description: \"turn\"\nbase: \"./turn.yaml\"\n");
    for (size_t i = 0; i < sizeof bad_bases / sizeof bad_bases[0]; i++) {
        const struct bad_file *c = &bad_bases[i];
        const char            *at = strstr(text, c->find);
        char        path[SCRATCH_PATH_BYTES], file[256], want[SCRATCH_PATH_BYTES + 128];
        emp_runtime runtime = {0};
        emp_error   err = {0};
        cr_assert_not_null(at);
        snprintf(file, sizeof file, "%.*s%s%s", (int)(at - text), text, c->put,
                 at + strlen(c->find));
        scratch_write_text(path, sizeof path, "bad.yaml", file);
        cr_expect_neq(emp_runtime_init(&runtime, path, &err), EMP_OK, "%s", c->put);
        snprintf(want, sizeof want, "%s%s", path, c->message);
        cr_expect_eq(strncmp(err.msg, want, strlen(want)), 0, "said: %s\nwant: %s",
                     err.msg, want);
        cr_expect_eq(emp_mem_live_blocks(), 0);
    }
}

Test(runtime, load_survives_every_allocation_failure)
{
    emp_runtime r;
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_runtime_init(&r, "placeto", NULL), );
}

/* Profiles that do not name it have the hash that they had before. */
Test(runtime, memory_has_one_allocator, .init = scratch_create, .fini = scratch_remove)
{
    char        path[SCRATCH_PATH_BYTES];
    emp_runtime eager, cached, r;

    ASSERT_OK(emp_runtime_init(&eager, "torch-eager", &err));
    ASSERT_OK(emp_runtime_init(&cached, "torch-cached", &err));
    cr_expect(!eager.events.caching_allocator && cached.events.caching_allocator);
    cr_expect_neq(emp_runtime_hash(&eager), emp_runtime_hash(&cached));
    cached.events.caching_allocator = false;
    cr_expect_eq(emp_runtime_hash(&eager), emp_runtime_hash(&cached));
    scratch_write_text(path, sizeof path, "both.yaml",
                       "description: \"x\"\nbase: torch-cached\nbfc_allocator: yes\n");
    EXPECT_REFUSED(emp_runtime_init(&r, path, &err), EMP_EFORMAT,
                   "both.yaml:3: caching_allocator and bfc_allocator");
    scratch_write_text(path, sizeof path, "other.yaml",
                       "description: \"x\"\nbase: placeto\ncaching_allocator: yes\n");
    EXPECT_REFUSED(emp_runtime_init(&r, path, &err), EMP_EFORMAT,
                   "other.yaml:3: caching_allocator: the rules");
}

Test(runtime, plans_are_whole_and_no_allocator_is_beside_them, .init = scratch_create,
     .fini = scratch_remove)
{
    static const char *const texts[][2] = {
        {"base: torch-cached\nplan_tokens: 512\nplan_copies: 4\n",
         "p.yaml:3: plan_tokens: the activations of a step are planned, so "
         "caching_allocator must be off"},
        {"base: torch-eager\nplan_tokens: 512\n",
         "p.yaml:3: plan_tokens needs plan_copies"}};
    char        path[SCRATCH_PATH_BYTES], text[256];
    emp_runtime r = {0};

    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "description: \"x\"\n%s", texts[i][0]);
        scratch_write_text(path, sizeof path, "p.yaml", text);
        EXPECT_REFUSED(emp_runtime_init(&r, path, &err), EMP_EFORMAT, texts[i][1]);
    }
}

Test(runtime, bad_switches_are_refused, .init = scratch_create, .fini = scratch_remove)
{
    char        path[SCRATCH_PATH_BYTES];
    emp_runtime r = {0};

    EXPECT_REFUSED(emp_runtime_init(&r, "tf-r9", &err), EMP_EIO, "known: tf-r1.3, ideal");
    scratch_write_text(
        path, sizeof path, "half.yaml",
        "description: \"x\"\nserial_issue: maybe\ndrain_copies: yes\nrelease_at_issue: "
        "no\n"
        "reuse_inputs: no\ncpu_pool: no\ncontrol_latency: no\nshare_copies: no\n"
        "copy_streams: no\nshared_links: no\ncopy_memory: no\nworkspace: no\n"
        "addn_waits: no\nbfc_allocator: no\ncheck_memory: no\nissue: 0 "
        "s\n"
        "issue_kernel: 0 s\nissue_kernelless: 0 s\ncpu_op: 0 s\nsend: 0 s\nreceive: 0 s\n"
        "poll: 0 s\nstep: 0 s\npageable_per_byte: 0 s\ncpu_slots: 0\n");
    EXPECT_REFUSED(emp_runtime_init(&r, path, &err), EMP_EFORMAT,
                   "half.yaml:2: serial_issue: 'maybe' is neither yes nor no");
    cr_expect_eq(emp_mem_live_blocks(), 0);
}
