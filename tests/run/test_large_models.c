// SPDX-License-Identifier: GPL-3.0-or-later
/* Language models of four layers that no GPU holds, on two GPUs of 24 GB beside one of 12 GB, and on a CPU with one GPU
 * of 24 GB: does every method propose a placement, and do list schedulers split the model so that it fits? */
#include "run/loop.h"
#include "run/methods.h"
#include "tests/support/problems.h"
#include "tests/test.h"

TestSuite(large_models, .init = scratch_create, .fini = scratch_tear_down);

enum { BUDGET = 20 };

/* 55 GB with what Adam holds, and 24 and 29 GB of weights. */
static const char *const models[][2] = {
    {"\"model_type\":\"llama\",\"hidden_size\":5120,\"intermediate_size\":25600,"
     "\"num_attention_heads\":40,\"num_hidden_layers\":4,\"num_key_value_heads\":40,"
     "\"tie_word_embeddings\":false,\"vocab_size\":64000",
     "phase=train,batch=1,seq=128"},
    {"\"model_type\":\"mixtral\",\"hidden_size\":6144,\"intermediate_size\":16384,"
     "\"num_attention_heads\":48,\"num_hidden_layers\":4,\"num_key_value_heads\":8,"
     "\"num_local_experts\":12,\"num_experts_per_tok\":2,\"tie_word_embeddings\":false,"
     "\"vocab_size\":32000",
     "phase=decode,batch=1,seq=64"},
    {"\"model_type\":\"llama\",\"hidden_size\":16384,\"intermediate_size\":53248,"
     "\"num_attention_heads\":128,\"num_hidden_layers\":4,\"num_key_value_heads\":8,"
     "\"tie_word_embeddings\":true,\"vocab_size\":128000",
     "phase=decode,batch=1,seq=64"}};

static const char box[] = "description: \"a CPU and one GPU of 24 GB\"\n"
                          "nodes:\n  - {name: \"socket:0\"}\n"
                          "devices:\n"
                          "  - {model: \"ryzen-16\", at: \"socket:0\"}\n"
                          "  - {model: \"rtx4090\", at: \"socket:0\", bandwidth: "
                          "\"25 GB/s\", latency: \"15 us\"}\n";

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(*list, name) == 0) return true;
    return false;
}

static int32_t count_devices(const emp_record *r)
{
    bool    is_used[EMP_MAX_DEVICES] = {false};
    int32_t count = 0;

    for (emp_op_id op = 0; op < r->decision.op_count; op++) {
        bool *used = &is_used[r->decision.device_of_op[op]];
        count += !*used;
        *used = true;
    }
    return count;
}

/* They look at memory as they go, or repair what they find. */
static void expect_split(const emp_record *r)
{
    static const char *const schedulers[] = {
        "heft",  "peft",          "etf",       "m-topo",        "m-etf",
        "m-sct", "critical-path", "portfolio", "dp-contiguous", NULL};

    if (!is_one_of(r->method, schedulers)) return;
    cr_expect(r->is_feasible, "%s: %s on %s is out of memory", r->method, r->workload,
              r->machine);
    cr_expect_gt(count_devices(r), 1, "%s: %s on %s is on one device", r->method,
                 r->workload, r->machine);
}

static void run_all(const emp_problem *p)
{
    const emp_method *method;

    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++) {
        const emp_run_params params = {.method = method,
                                       .placer = {.seed = 1, .threads = 1},
                                       .budget_evaluations = BUDGET};
        emp_record           record = {0};
        emp_error            err = {0};
        if (strcmp(method->name, "doppler") == 0) continue; /* imitates for minutes */
        const emp_status st = emp_run(&record, p, &params, &err);
        if (st == EMP_OK) expect_split(&record);
        cr_expect_eq(st, EMP_OK, "%s: %s on %s: %s", method->name, p->workload,
                     p->machine->name, err.msg);
        emp_record_clear(&record);
    }
}

static void run_model(int32_t number, bool has_one_gpu)
{
    task        t = {0};
    const char *path = scratch_file(
        "config.json",
        scratch_print("{%s,\"hidden_act\":\"silu\",\"torch_dtype\":\"bfloat16\"}",
                      models[number][0]));

    task_create(&t, scratch_print("hf:path=%s,%s", path, models[number][1]),
                has_one_gpu ? scratch_file("box.yaml", box) : "rtx4090x2+rtx3060",
                "torch-eager");
    run_all(t.problem);
    task_destroy(&t);
}

Test(large_models, a_dense_model_is_trained_on_unlike_gpus) { run_model(0, false); }
Test(large_models, experts_decode_on_unlike_gpus) { run_model(1, false); }
Test(large_models, a_tied_head_decodes_on_unlike_gpus) { run_model(2, false); }
Test(large_models, a_dense_model_is_trained_on_a_gpu_and_a_cpu) { run_model(0, true); }
Test(large_models, experts_decode_on_a_gpu_and_a_cpu) { run_model(1, true); }
Test(large_models, a_tied_head_decodes_on_a_gpu_and_a_cpu) { run_model(2, true); }
