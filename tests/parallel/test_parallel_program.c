// SPDX-License-Identifier: GPL-3.0-or-later
/* Training in parallel by the program: tables of measured steps, plans, steps of a spec, schedules as files. */
#include "parallel/plan.h"
#include "tests/cli/emplace.h"
#include "tests/test.h"

#define ROWS                                                                        \
    "source\tcase\tmodel\tlayers\tgpu\tgpus\tdtype\tseq\ttp\tpp\tdp\tmicro_batch\t" \
    "micro_batches\tglobal_batch\tstep_ms\tpeak_allocated_gib\n"                    \
    "mine\tone\tllama3-8b\t8\tb200\t8\tbf16\t4096\t1\t2\t4\t1\t8\t32\t500\t40\n"    \
    "mine\ttwo\tllama3-8b\t8\tb200\t8\tbf16\t4096\t2\t1\t4\t1\t8\t32\t400\t\n"      \
    "mine\tthree\tllama3-8b\t\th100\t8\tfp8\t4096\t8\t1\t1\t1\t8\t8\t\t\n"

TestSuite(parallel, .init = emplace_set_up, .fini = emplace_tear_down);

Test(parallel, rows_have_a_name_a_time_and_a_size)
{
    emplace_write("steps.tsv", ROWS);
    json_t *object = emplace_json("calibrate iterations steps.tsv --format json");

    cr_expect_str_eq(text_at(object, "rows/0/case"), "one");
    cr_expect_str_eq(text_at(object, "rows/2/case"), "three");
    for (int32_t i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "rows/%d/predicted_ms", i);
        cr_expect(number_at(object, path) > 10.0);
        snprintf(path, sizeof path, "rows/%d/predicted_gib", i);
        cr_expect(number_at(object, path) > 1.0);
    }
    cr_expect_float_eq(number_at(object, "rows/0/error"),
                       number_at(object, "rows/0/predicted_ms") / 500.0 - 1.0, 1e-9);
    cr_expect(isnan(number_at(object, "rows/2/measured_ms")));
    cr_expect(isnan(number_at(object, "rows/1/measured_gib")));
    json_t *all =
        emplace_json("calibrate iterations steps.tsv --all-ranks --format json");
    for (int32_t i = 0; i < 3; i++) {
        const char *path = scratch_print("rows/%d/predicted_ms", i);
        cr_expect_eq(number_at(object, path), number_at(all, path));
    }
    emplace_prints(
        "calibrate iterations steps.tsv",
        "mine, time: mean error|mine, allocated memory: mean error|over 1 rows|"
        "1 of 1 pairs of one model in the right order|No constant was fitted");
}

Test(parallel, rows_that_cannot_be_are_refused)
{
    static const char *const cases[][2] = {
        {"model,gpu,tp,dp,gpus\nllama3-8b,b200,2,2,8\n",
         "row 1: gpus is 8, and tp x cp x dp x pp is 4"},
        {"model,gpu,tp\nllama3-8b,b200,0\n", "row 1: tp is 0, want 1 at least"},
        {"model,gpu,tp\nllama3-8b,b200,x\n", "row 1|\"x\""},
        {"model,gpu,tp\nllama3-9b,b200,1\n", "row 1: llama3-9b|models: "},
        {"model,gpu,tp\nllama3-8b,b300,1\n", "row 1: b300|clusters: b200, gb200, h100"},
        {"model,gpu,tp,dtype\nllama3-8b,b200,1,fp4\n", "row 1: dtype is \"fp4\""},
        {"model,gpu,tp,case\nllama3-8b,b200,3,odd\n", "row 1, odd: tp=3"},
        {"model,gpu,tp,pp\nllama3-8b,b200,1,42\n",
         "32 layers do not divide into pp x vp = 42"},
        {"model,gpu,tp,step_ms\nllama3-8b,b200,1,-2\n", "step_ms is \"-2\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        emplace_write("steps.csv", cases[i][0]);
        emplace_refuses("calibrate iterations steps.csv", cases[i][1]);
    }
    emplace_write("steps.tsv", ROWS);
    emplace_refuses("calibrate iterations steps.tsv -m b200x8",
                    "name models, which --machine says nothing of");
}

Test(parallel, a_spec_takes_what_its_row_takes)
{
    emplace_write("steps.tsv", ROWS);
    json_t *rows = emplace_json("calibrate iterations steps.tsv --format json");
    json_t *plan = emplace_json("plan llama3-8b:layers=8,tp=2,pp=1,dp=4,micro_batch=1,"
                                "batch=32,recompute=none -m b200x8 --format json");

    cr_expect_eq(json_array_size(json_at(plan, "rows")), 1);
    cr_expect_float_eq(number_at(plan, "rows/0/step_s") * 1e3,
                       number_at(rows, "rows/1/predicted_ms"), 1e-6);
    cr_expect_float_eq(number_at(plan, "rows/0/memory_gib"),
                       number_at(rows, "rows/1/predicted_gib"), 1e-6);
    emplace_expect_parts(text_at(plan, "rows/0/megatron"),
                         "--tensor-model-parallel-size 2|--sequence-parallel|"
                         "--global-batch-size 32");
}

/* Megatron-LM's layout says the layers of each part with the embedding, the layers that predict further tokens and the loss, and
 * is refused beside other flags of pipelines. */
Test(parallel, uneven_pipelines_become_a_layout)
{
    static const char *const cases[][2] = {
        {"pp=4,first=1,last=1,schedule=1f1b", "'Et|t*2|t*2|tL'"},
        {"pp=4,first=3,schedule=1f1b", "'Et*3|t|t|tL'"},
        {"pp=2,vp=2,first=1,last=1", "'Et|t*2|t*2|tL'"},
        {"pp=2,vp=2,stages=2/2/1/1", "'Et*2|t*2|t|tL'"},
        {"pp=2,first=2,mtp=1,schedule=1f1b", "'Et*2|t*4mL'"},
        {"pp=2,vp=3", NULL},
        {"pp=2,schedule=1f1b", NULL}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        json_t     *plan = emplace_json(scratch_print(
                "plan llama3-8b:layers=6,tp=1,%s,micro_batch=1,batch=32 -m b200x8 "
                    "--format json",
                cases[i][0]));
        const char *flags = text_at(plan, "rows/0/megatron");
        const char *layout = strstr(flags, "--pipeline-model-parallel-layout ");
        const bool  has_parts = strstr(flags, "--num-virtual-stages-") != NULL;
        cr_expect_not_null(strstr(flags, "--pipeline-model-parallel-size"), "%s", flags);
        cr_expect_null(strstr(flags, "--decoder-"), "%s", flags);
        cr_expect_eq(layout != NULL, cases[i][1] != NULL, "%s", flags);
        cr_expect_eq(has_parts, strcmp(cases[i][0], "pp=2,vp=3") == 0, "%s", flags);
        if (layout != NULL && cases[i][1] != NULL)
            cr_expect_not_null(strstr(layout, cases[i][1]), "%s", flags);
    }
}

/* Megatron-LM's default of --expert-tensor-parallel-size is the tensor parallelism of the other layers. */
Test(parallel, experts_have_flags_for_their_ranks)
{
    static const char *const cases[][2] = {
        {"tp=4,ep=1,dp=2",
         "--expert-model-parallel-size 1 --expert-tensor-parallel-size 1 "},
        {"tp=4,ep=1,etp=2,dp=2",
         "--expert-model-parallel-size 1 --expert-tensor-parallel-size 2 "},
        {"tp=2,ep=4,dp=4",
         "--expert-model-parallel-size 4 --expert-tensor-parallel-size 1 "}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        json_t *plan = emplace_json(scratch_print(
            "plan mixtral-8x7b:layers=2,pp=1,%s,micro_batch=1,batch=32,recompute=none "
            "-m b200x8 --format json",
            cases[i][0]));
        emplace_expect_parts(text_at(plan, "rows/0/megatron"), cases[i][1]);
    }
}

Test(parallel, ways_without_flags_are_told)
{
    static const char *const cases[][3] = {
        {"llama3-8b", "pp=4,vp=1,schedule=zero-bubble", "schedule=zero-bubble"},
        {"llama3-8b", "pp=2,schedule=gpipe", "schedule=gpipe"},
        {"llama3-8b", "pp=2,schedule=dualpipe", "schedule=dualpipe"},
        {"llama3-8b", "tp=2,zero=2", "zero=2 and zero=3"},
        {"llama3-8b", "tp=2,overlap_parameters=1", "overlap_parameters=1 without "},
        {"llama3-8b", "tp=2,sp=0,overlap_tp=1", "overlap_tp=1 with sp=0"},
        {"llama3-8b", "tp=2,zero=0,update=host", "update=host with zero=0"},
        {"llama3-8b", "tp=2,cuda_graphs=1,recompute=full", "cuda_graphs=1 with"},
        {"mixtral-8x7b", "tp=2,sp=0", "sp=0 with experts"},
        {"mixtral-8x7b", "tp=2,ep=2,placed=balanced", "placed=balanced"},
        {"mixtral-8x7b", "tp=2,ep=2,redundant=2", "redundant="}};

    for (size_t i = 0; i < COUNT(cases); i++)
        emplace_refuses(
            scratch_print("plan %s:layers=4,%s,batch=32 -m b200x8 --form megatron",
                          cases[i][0], cases[i][1]),
            scratch_print("Megatron-LM has no flags for %s", cases[i][2]));
    emplace_refuses("plan llama3-8b:layers=4,tp=2,batch=32 -m b200x8 --form deepspeed",
                    "DeepSpeed has no flags for ranks that share a replica");
    emplace_prints("plan llama3-8b:layers=4,tp=2,attention=unfused,cuda_graphs=1,"
                   "recompute=none,batch=32 -m b200x8 --form megatron",
                   "--attention-backend unfused --cuda-graph-impl local");
    emplace_warns("plan llama3-8b:layers=4,tp=1,pp=1,recompute=full,batch=32 -m b200x8 "
                  "--form deepspeed",
                  "the model has to call deepspeed.checkpointing.checkpoint()");
}

/* The bubble of 1F1B with four stages and 32 micro-batches is longer than the ties of a plan, so zero-bubble comes first. */
Test(parallel, the_best_way_with_flags_is_printed_with_its_rank)
{
#define ZERO_BUBBLE \
    "plan llama3-8b:layers=8,pp=4,tp=1,vp=1,batch=32,micro_batch=1 -m b200x8 "
    json_t *plan = emplace_json(ZERO_BUBBLE "--format json");

    cr_expect_str_eq(text_at(plan, "rows/0/schedule"), "zero-bubble");
    for (size_t i = 0; i < json_array_size(json_at(plan, "rows")); i++) {
        const json_t *row = json_array_get(json_at(plan, "rows"), i);
        cr_expect_eq(is_null_at(row, "megatron"),
                     strcmp(text_at(row, "schedule"), "zero-bubble") == 0);
    }
    emplace_prints(ZERO_BUBBLE,
                   "Megatron-LM has no flags for schedule=zero-bubble. Rank |"
                   " has flags; its step takes +|"
                   "Megatron-LM: --tensor-model-parallel-size 1 ");
#undef ZERO_BUBBLE
}

Test(parallel, a_plan_takes_the_gpus_that_are_meant)
{
    emplace_refuses("plan llama3-8b:batch=8 -m b200", "b200 has 65536 GPUs|--gpus");
    emplace_refuses("plan llama3.1-8b:phase=decode -m b200",
                    "b200 has 65536 GPUs|--gpus");
    emplace_prints("plan llama3-8b:layers=4,tp=1,pp=1,cp=1,dp=1,batch=4 -m h200x8",
                   "on 1 GPU of h200");
    emplace_prints("plan llama3-8b:layers=4,tp=1,pp=1,batch=8 -m h200x8",
                   "on 8 GPUs of h200");
}

/* Micro-batches are those of a replica, so that without their number the step has no size. */
Test(parallel, micro_batches_are_of_a_replica)
{
    emplace_refuses("plan llama3-8b:micro_batches=16 -m b200x8",
                    "micro_batches=16 are of a replica|give batch= or dp=");
    json_t *plan = emplace_json("plan llama3-70b:layers=8,tp=4,pp=1,micro_batches=32 "
                                "-m h100 --gpus 8 --format json");
    cr_expect_eq(number_at(plan, "rows/0/dp"), 2.0);
    cr_expect_eq(number_at(plan, "rows/0/micro_batches"), 32.0);
    emplace_prints("plan llama3-70b:layers=8,tp=4,pp=1,micro_batches=32 -m h100 --gpus 8",
                   "64 sequences of 4096 tokens");
    emplace_refuses("simulate llama3-8b:dp=2,micro_batches=8,batch=128 -m b200x8",
                    "is micro_batches=64, not 8");
    emplace_refuses("simulate llama3-8b:dp=65536,micro_batch=65536,batch=8 -m b200",
                    "no multiple of dp x micro_batch = 65536 x 65536; 4294967296 is");
}

Test(parallel, all_ranks_take_the_same_nanosecond)
{
#define STEP                                                                         \
    "simulate transformer:layers=8,hidden=2048,heads=16,gated=1,seq=2048,tp=2,pp=2," \
    "vp=2,dp=2,micro_batches=4 -m b200 --format json"
    json_t *one = emplace_json(STEP), *all = emplace_json(STEP " --all-ranks");

    cr_expect(number_at(one, "step_time_ns") > 0.0);
    cr_expect_eq(number_at(one, "step_time_ns"), number_at(all, "step_time_ns"));
    cr_expect_eq(number_at(one, "gpus"), 8.0);
#undef STEP
}

Test(parallel, a_plan_says_why_ways_fail_and_what_a_change_would_give)
{
    json_t *plan = emplace_json("plan llama3-70b:batch=32 -m b200x8 --format json");
    double  last = 0.0;
    size_t  feasible = 0, count = json_array_size(json_at(plan, "rows"));

    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(json_at(plan, "rows"), i);
        const double  step_s = number_at(row, "step_s");
        cr_expect_eq(isnan(step_s), text_at(row, "why")[0] != '\0');
        if (isnan(step_s)) continue;
        /* those that tie are in the order of their memory */
        cr_expect_geq(step_s * (1.0 + EMP_PLAN_TIE_FRAC), last);
        last = step_s;
        feasible++;
    }
    cr_expect(feasible > 0 && feasible < count);
    plan = emplace_json("plan llama3-70b:batch=32 -m b200x8 --top 2 --format json");
    cr_expect_eq(json_array_size(json_at(plan, "rows")), 2);
    emplace_prints("plan llama3-70b:batch=32 -m b200x8 --top 2",
                   "need more than|With |the step takes|Megatron-LM: "
                   "--tensor-model-parallel-size");
}

/* The best way has nothing on the host; those with cp=1, or another micro_batch, have the optimizer there, too. */
Test(parallel, a_plan_notes_what_one_key_alone_changes)
{
    emplace_prints("plan llama3-8b:seq=16384,batch=16,tp=1 -m h200x8 --gpus 2",
                   "optimizer|With recompute=selective the step takes");
    cr_expect_null(strstr(program_out, "With cp="));
    cr_expect_null(strstr(program_out, "With micro_batch="));
}

Test(parallel, a_plan_has_flags_for_what_the_host_keeps)
{
    json_t *plan = emplace_json("plan llama3-70b:batch=32,tp=1,pp=1,recompute=full "
                                "-m b200x8 --format json");
    json_t *config = json_loads(text_at(plan, "rows/0/deepspeed"), 0, NULL);

    cr_assert_not_null(config);
    cr_expect_eq(number_at(config, "train_batch_size"), 32.0);
    cr_expect_eq(number_at(config, "zero_optimization/stage"), 3.0);
    cr_expect_str_eq(text_at(config, "zero_optimization/offload_param/device"), "cpu");
    cr_expect_str_eq(text_at(config, "zero_optimization/offload_optimizer/device"),
                     "cpu");
    cr_expect_str_eq(text_at(plan, "rows/0/on_host"), "weights+optimizer");
    cr_expect_eq(text_at(plan, "rows/0/megatron")[0], '\0');
    json_decref(config);
    json_t *replicas = emplace_json("plan llama3-8b:home=host,update=host,batch=16,tp=1,"
                                    "pp=1 -m rtx3090x4 --format json");
    cr_expect_eq(number_at(replicas, "rows/0/dp"), 4.0);
    cr_expect_eq(number_at(replicas, "rows/0/zero"), 3.0);
    emplace_prints("plan llama3-70b:batch=32,update=host,tp=2,pp=4 -m h100 --gpus 8 "
                   "--top 1",
                   "on host|optimizer|Megatron-LM: |--use-precision-aware-optimizer "
                   "--optimizer-cpu-offload");
    emplace_refuses("plan llama3-70b:batch=32 -m h100 --gpus 1",
                    "the least needs |of host memory a GPU|on the host "
                    "weights+optimizer+activations");
}

/* Cards of two models: the plan says which does how much, and a step by itself is not simulated. */
Test(parallel, a_plan_shares_a_step_among_unlike_cards)
{
    emplace_prints("plan transformer:layers=24,hidden=1024,heads=16,gated=1,seq=2048,"
                   "batch=32 -m rtx4090x2+rtx3060 --top 2",
                   "1 rtx3060: |1 rtx4090: | layers|On 2 rtx4090 the step takes +|"
                   "micro-batches the step takes +|--pipeline-model-parallel-layout 'Et");
    emplace_prints("plan transformer:layers=24,hidden=2048,heads=16,gated=1,seq=4096,"
                   "batch=32,pp=3 -m rtx4090x2+rtx3060",
                   "need more than their GPUs have");
    emplace_refuses("plan transformer:layers=24,hidden=1024,heads=16 "
                    "-m rtx4090x2+rtx3060 --gpus 2",
                    "leave out --gpus and --all-ranks");
    emplace_refuses("simulate transformer:heads=12,pp=3 -m rtx4090x2+rtx3060",
                    "emplace plan shares it out among others");
}

/* Two stages of two parts each, four micro-batches. */
Test(parallel, a_timeline_has_every_pass)
{
    emplace_ok("plot --timeline transformer:heads=12,pp=2,vp=2,micro_batches=4 -m b200 "
               "-o t.svg");
    emplace_expect_file("t.svg", "rank 0|rank 1");
    for (int32_t i = 0; i < 16; i++) {
        emplace_expect_file("t.svg",
                            scratch_print("forward %d, part %d|backward %d, part %d",
                                          i % 4, i / 4, i % 4, i / 4));
    }
    emplace_refuses("plot --timeline transformer:heads=12,pp=2 -m b200 --by a -o u.svg",
                    "leave out --by");
    emplace_refuses("plot --timeline transformer:heads=12,pp=2 -o u.svg",
                    "--machine is missing");
}

Test(parallel, a_schedule_may_be_a_file)
{
    emplace_write("mine.yaml", "stages:\n  - F0 F1 B0 B1\n  - F0 B0 F1 B1\n");
#define SPEC "simulate transformer:heads=12,pp=2,micro_batches=2,schedule="
    json_t *mine = emplace_json(SPEC "mine.yaml -m b200 --format json --trace t.json");
    json_t *theirs = emplace_json(SPEC "gpipe -m b200 --format json");

    cr_expect(number_at(mine, "step_time_ns") <= number_at(theirs, "step_time_ns"));
    emplace_expect_file("t.json", "rank 0|rank 1|F0.0|B1.1");
    json_t *plan = emplace_json("plan transformer:heads=12,layers=4,pp=2,micro_batches=2,"
                                "schedule=mine.yaml -m b200 --format json");
    cr_expect(json_array_size(json_at(plan, "rows")) > 0);
    cr_expect_eq(number_at(plan, "rows/0/vp"), 1.0);
    cr_expect(is_null_at(plan, "rows/0/megatron"));
    emplace_write("mine.yaml", "stages:\n  - F0 B0 F1 B1\n  - F1 B1 F0 B0\n");
    emplace_refuses(SPEC "mine.yaml -m b200", "never ends: stage 0 waits");
#undef SPEC
}
