// SPDX-License-Identifier: GPL-3.0-or-later
/* The profiles that come with the program, and what is said of bad files. */
#include <unistd.h>

#include "sim/runtime/runtime.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

static char path[SCRATCH_PATH_BYTES];

TestSuite(runtime_file, .init = scratch_create, .fini = scratch_remove);

static emp_runtime load(const char *name)
{
    emp_runtime r = {0};

    ASSERT_OK(emp_runtime_init(&r, name, &err));
    return r;
}

Test(runtime, profiles_load)
{
    emp_runtime tf = load("tf-r1.3"), ideal = load("ideal");
    emp_runtime eager = load("torch-eager"), graph = load("graph-launch");

    cr_expect_str_eq(tf.name, "tf-r1.3");
    cr_expect(tf.events.serial_issue && tf.events.drain_copies && tf.events.cpu_pool &&
              tf.check_memory);
    cr_expect_float_eq(tf.events.poll_s, 15e-6, 1e-12);
    cr_expect_not(ideal.events.serial_issue || ideal.events.drain_copies ||
                  ideal.events.cpu_pool);
    cr_expect_eq(ideal.events.step_s, 0.0);
    cr_expect(eager.events.serial_issue && eager.events.copy_streams);
    cr_expect_not(eager.events.reuse_inputs);
    cr_expect_float_eq(eager.events.issue_s, 12.4e-6, 1e-15);
    cr_expect_eq(eager.events.poll_s, 0.0);
    cr_expect_not(graph.events.serial_issue || graph.events.reuse_inputs);
    cr_expect_eq(graph.events.send_s, 0.0);
}

Test(runtime, the_hash_sees_rules_and_what_they_use)
{
    emp_runtime ideal = load("ideal"), msr = load("msr-load");
    uint64_t    hash = emp_runtime_hash(&ideal);

    ideal.events.poll_s = 5.0;
    cr_expect_neq(emp_runtime_hash(&ideal), hash);
    hash = emp_runtime_hash(&msr);
    msr.rules = EMP_RULES_MSR_LATENCY;
    cr_expect_neq(emp_runtime_hash(&msr), hash);
    msr.rules = EMP_RULES_MSR_LOAD;
    msr.msr.host_bytes_per_s *= 2.0;
    cr_expect_neq(emp_runtime_hash(&msr), hash);
}

#define X "description: \"x\"\n"

static const char baechi_text[] =
    X "rules: baechi\ncheck_memory: yes\nper_byte: \"1 ns\"\n"
      "per_transfer: \"2 us\"\ncontrol_size: \"4 B\"\n";
static const char base_text[] = X "base: \"tf-r1.3\"\nissue: \"7 us\"\n";
static const char switches_text[] =
    X "serial_issue: maybe\ndrain_copies: yes\nrelease_at_issue: no\nreuse_inputs: no\n"
      "cpu_pool: no\ncontrol_latency: no\nshare_copies: no\ncopy_streams: no\n"
      "shared_links: no\ncopy_memory: no\nworkspace: no\naddn_waits: no\n"
      "bfc_allocator: no\ncheck_memory: no\nissue: 0 s\nissue_kernel: 0 s\n"
      "issue_kernelless: 0 s\ncpu_op: 0 s\nsend: 0 s\nreceive: 0 s\npoll: 0 s\n"
      "step: 0 s\npageable_per_byte: 0 s\ncpu_slots: 0\n";

static const struct {
    const char *text, *find, *put, *part; /* a change to a text; of the message */
} bad_files[] = {
    {baechi_text, "rules: baechi", "rules: heft", ":2: rules: 'heft' is none of events"},
    {baechi_text, "rules: baechi\n", "", ":3: per_byte: the rules 'events'"},
    {baechi_text, "rules: baechi", "rules: placeto", ":4: per_byte: the rules 'placeto'"},
    {baechi_text, "per_byte: \"1 ns\"\n", "", ":2: the key 'per_byte' is missing"},
    {baechi_text, "check_memory: yes\n", "", ":2: the key 'check_memory' is missing"},
    {baechi_text, "control_size", "issue: \"1 us\"\ncontrol_size", ":6: issue: "},
    {baechi_text, "4 B", "0 B", ":6: control_size: '0 B'"},
    {baechi_text, "1 ns", "1 ns/B", ":4: per_byte: "},
    {baechi_text, "per_byte", "per_bit", ":4: Unexpected key: per_bit"},
    {baechi_text, "per_byte", "per_bite", "(did you mean \"per_byte\"?)"},
    {baechi_text, X, "", ":5: Missing key: description"},
    {base_text, "tf-r1.3", "tf-r1.4", ":2: base: no runtime profile 'tf-r1.4'"},
    {base_text, "tf-r1.3", "./turn.yaml", ":2: base: ./turn.yaml:2: base: "},
    {base_text, "issue: \"7 us\"", "rules: events", ":3: rules: are those of the base"},
    {base_text, "issue: \"7 us\"", "per_byte: \"1 ns\"", ":3: per_byte: the rules"},
    {base_text, "issue: \"7 us\"", "fp32_products: fp5", ":3: fp32_products: "},
    {base_text, "tf-r1.3\"\nissue: \"7 us\"", "baechi\"\nfp32_products: tf32",
     ":3: fp32_products: the rules 'baechi'"},
    {X "base: torch-cached\nbfc_allocator: yes\n", X, X, ":3: caching_allocator and"},
    {X "base: placeto\ncaching_allocator: yes\n", X, X, ":3: caching_allocator: the"},
    {X "base: torch-cached\nplan_tokens: 512\nplan_copies: 4\n", X, X, ":3: plan_token"},
    {X "base: torch-eager\nplan_tokens: 512\n", X, X, ":3: plan_tokens needs plan_cop"},
    {switches_text, X, X, ":2: serial_issue: 'maybe'"},
};

Test(runtime_file, a_file_has_the_keys_of_its_rules)
{
    char        turn[SCRATCH_PATH_BYTES];
    emp_runtime r;

    scratch_write_text(path, sizeof path, "own.yaml", baechi_text);
    r = load(path);
    cr_expect_str_eq(r.name, "own");
    cr_expect_float_eq(r.baechi.transfer_s, 2e-6, 1e-15);
    cr_assert_eq(chdir(scratch_path("")), 0);
    scratch_write_text(turn, sizeof turn, "turn.yaml", X "base: \"./turn.yaml\"\n");
    for (size_t i = 0; i < COUNT(bad_files); i++) {
        emp_error err = {0};
        scratch_write_changed(path, sizeof path, "bad.yaml", bad_files[i].text,
                              bad_files[i].find, bad_files[i].put);
        cr_expect_neq(emp_runtime_init(&r, path, &err), EMP_OK, "%s", bad_files[i].part);
        cr_expect_eq(strncmp(err.msg, path, strlen(path)), 0, "%s", err.msg);
        cr_expect_not_null(strstr(err.msg, bad_files[i].part), "\"%s\" lacks \"%s\"",
                           err.msg, bad_files[i].part);
        cr_expect_eq(emp_mem_live_blocks(), 0, "leak: %s", bad_files[i].put);
    }
    cr_expect_str_eq(r.name, "own", "a failure writes nothing");
}

Test(runtime_file, a_base_says_what_a_file_leaves_out)
{
    emp_runtime base = load("tf-r1.3"), mine;

    scratch_write_text(path, sizeof path, "mine.yaml",
                       "description: \"mine\"\nbase: \"tf-r1.3\"\n"
                       "issue: \"7 us\"\ncpu_pool: no\nfp32_products: tf32\n");
    mine = load(path);
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

Test(runtime, load_survives_every_allocation_failure)
{
    emp_runtime r;
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_runtime_init(&r, "placeto", NULL), );
}

/* Profiles that do not name it have the hash that they had before. */
Test(runtime, the_hash_sees_an_allocator_if_there_is_one)
{
    emp_runtime eager = load("torch-eager"), cached = load("torch-cached");

    cr_expect(!eager.events.caching_allocator && cached.events.caching_allocator);
    cr_expect_neq(emp_runtime_hash(&eager), emp_runtime_hash(&cached));
    cached.events.caching_allocator = false;
    cr_expect_eq(emp_runtime_hash(&eager), emp_runtime_hash(&cached));
}

Test(runtime, an_unknown_name_lists_the_known_ones)
{
    emp_runtime r = {0};

    EXPECT_REFUSED(emp_runtime_init(&r, "tf-r9", &err), EMP_EIO, "known: tf-r1.3, ideal");
}
