// SPDX-License-Identifier: GPL-3.0-or-later
/* --fit: does the size that it prints fit, does the next one not, and is a spec changed only in that size? */
#include "cli/options/fit.h"
#include "tests/cli/emplace.h"
#include "tests/test.h"

TestSuite(largest_fit, .init = emplace_set_up, .fini = emplace_tear_down);

/* 3.6 GB of weights; a token has 128 KiB of keys and values. */
static void write_config(void)
{
    static const char config[] =
        "{\"model_type\":\"llama\",\"hidden_size\":4096,\"intermediate_size\":11008,"
        "\"num_attention_heads\":32,\"num_hidden_layers\":8,\"num_key_value_heads\":32,"
        "\"hidden_act\":\"silu\",\"torch_dtype\":\"bfloat16\",\"vocab_size\":32000,"
        "\"tie_word_embeddings\":false}";

    scratch_write("config.json", config, strlen(config));
}

static void expect_spec(const char *spec, const char *key, const char *wanted)
{
    char out[128];

    ASSERT_OK(cli_fit_spec(out, sizeof out, spec, key, 7, &err));
    cr_expect_str_eq(out, wanted);
}

Test(largest_fit, a_spec_changes_in_one_size)
{
    char      out[32];
    emp_error err = {0};

    expect_spec("bert", "batch", "bert:batch=7");
    expect_spec("bert:seq=64", "batch", "bert:seq=64,batch=7");
    expect_spec("bert:seq=64,batch=2", "seq", "bert:seq=7,batch=2");
    expect_spec("hf:path=c.json,phase=decode,seq=1", "seq",
                "hf:path=c.json,phase=decode,seq=7");
    expect_spec("hf:path=batch=1.json,seq=1", "batch",
                "hf:path=batch=1.json,seq=1,batch=7");
    cr_expect_eq(cli_fit_spec(out, sizeof out, "model.pb", "batch", 7, &err), EMP_EINVAL);
    err = (emp_error){0};
    cr_expect_eq(cli_fit_spec(out, sizeof out, "bert:seq=64,dtype=fp16,layers=2", "batch",
                              7, &err),
                 EMP_EINVAL);
}

static bool fits(const char *options, const char *key, long long value)
{
    json_t *said = emplace_json(
        scratch_print("simulate hf:path=config.json,%s,%s=%lld "
                      "--no-bound --format json -m rtx3090x4 -p memory-split",
                      options, key, value));
    return json_is_true(json_at(said, "feasible"));
}

static void expect_largest(const char *command, const char *options, const char *key)
{
    const char *text =
        scratch_print("%s hf:path=config.json,%s -m rtx3090x4 --fit %s --format json",
                      command, options, key);
    json_t         *said = emplace_json(text);
    const long long value = (long long)number_at(said, "value");

    cr_expect_gt(value, 1, "%s", text);
    cr_expect_str_eq(text_at(said, "fit"), key);
    cr_expect_eq((long long)number_at(said, "fails/value"), value + 1);
    cr_expect(is_null_at(said, "fails/refusal"));
    cr_expect(fits(options, key, value), "%s: %lld", text, value);
    cr_expect_not(fits(options, key, value + 1), "%s: %lld", text, value);
}

Test(largest_fit, the_largest_size_fits_and_the_next_one_does_not)
{
    write_config();
    expect_largest("simulate -p memory-split", "phase=decode,batch=1", "seq");
    expect_largest("place --method memory-split", "phase=decode,batch=1", "seq");
    expect_largest("place --method memory-split", "phase=train,seq=128", "batch");
}

Test(largest_fit, a_range_of_the_spec_is_a_limit_too)
{
    json_t *said = emplace_json(
        "place bert:batch=1,layers=2 -m k40x2 --method gpu --fit seq --format json");

    cr_expect_eq(number_at(said, "value"), 512);
    emplace_expect_parts(text_at(said, "fails/refusal"), "1..512");
}

Test(largest_fit, what_cannot_be_is_said)
{
    write_config();
    emplace_prints("simulate hf:path=config.json,phase=train,seq=4096 -m k40x1 "
                   "-p gpu --fit batch",
                   "no batch fits");
    emplace_refuses("place bert -m k40x2 --method gpu --fit sequ", "\"sequ\"");
    emplace_refuses("simulate hf:path=config.json -m k40x2 -p gpu --fit path",
                    "--fit path tries path=1|1: ");
    emplace_refuses("place bert -m k40x2 --fit seq --out p.json", "--out");
    emplace_refuses("simulate bert -m k40x2 -p gpu --fit seq --why", "--why");
    emplace_refuses("place small.pbtxt -m k40x2 --method gpu --fit batch", "spec");
}
