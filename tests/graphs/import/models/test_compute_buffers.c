// SPDX-License-Identifier: GPL-3.0-or-later
/* Are the buffers that are planned for a GGUF file those that llama.cpp reserves, and do they count in the verdict
 * of memory? The bytes here are what llama.cpp of llama-cpp-python 0.3.36 prints of the same files
 * (docs/witnesses/llama.md), with a context of 1024 tokens. */
#include "sim/engine/sim.h"
#include "sim/explain/explain.h"
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/models/gguf_writer.h"
#include "tests/support/problems.h"
#include "tests/test.h"

TestSuite(compute_buffers, .init = scratch_create, .fini = graph_tear_down);

static gguf_writer writer; /* too large for a stack */

enum { DEVICES = 4, SPLITS = 3, LAYERS = 5 };

/* The layers that end the CPU, gpu:0 and gpu:1; the rest is on gpu:2. */
static const int splits[SPLITS][DEVICES - 1] = {{0, 99, 99}, {0, 2, 4}, {2, 4, 99}};

static void write_dense(gguf_writer *w)
{
    gguf_begin(w, "llama");
    gguf_integers_of(w, "block_count=5 embedding_length=768 feed_forward_length=2560 "
                        "attention.head_count=12 attention.head_count_kv=4");
    gguf_tensors(w, -1,
                 "token_embd Q4_0 768x5000; output_norm F32 768; output Q4_0 768x5000");
    for (int i = 0; i < LAYERS; i++)
        gguf_tensors(
            w, i,
            "attn_norm F32 768; attn_q Q4_0 768x768; attn_k Q4_0 768x256;"
            "attn_v Q4_0 768x256; attn_output Q4_0 768x768; ffn_norm F32 768;"
            "ffn_gate Q4_0 768x2560; ffn_up Q4_0 768x2560; ffn_down Q4_0 2560x768");
    gguf_finish(w);
}

/* Six layers of gpt-oss, every second with a window of 64 tokens. */
static void write_windows(gguf_writer *w)
{
    gguf_begin(w, "gpt-oss");
    gguf_integers_of(w, "block_count=6 embedding_length=768 attention.head_count=12 "
                        "attention.head_count_kv=4 attention.key_length=64 "
                        "attention.value_length=64 attention.sliding_window=64 "
                        "expert_used_count=3");
    gguf_tensors(w, -1,
                 "token_embd Q8_0 768x9000; output Q8_0 768x9000; output_norm F32 768");
    for (int i = 0; i < 6; i++)
        gguf_tensors(
            w, i,
            "attn_norm F32 768; post_attention_norm F32 768; attn_q Q8_0 768x768;"
            "attn_k Q8_0 768x256; attn_v Q8_0 768x256; attn_output Q8_0 768x768;"
            "attn_sinks F32 12; ffn_gate_inp F32 768x6; ffn_gate_exps Q8_0 768x768x6;"
            "ffn_up_exps Q8_0 768x768x6; ffn_down_exps Q8_0 768x768x6");
    gguf_finish(w);
}

/* Six layers of phi3, whose feed-forward parts are added to what goes around them: it stays where it is until then. */
static void write_phi3(gguf_writer *w)
{
    gguf_begin(w, "phi3");
    gguf_integers_of(w, "block_count=6 embedding_length=512 feed_forward_length=1536 "
                        "attention.head_count=8 attention.head_count_kv=8");
    gguf_tensors(w, -1,
                 "token_embd F16 512x32768; output F16 512x32768; output_norm F32 512");
    for (int i = 0; i < 6; i++)
        gguf_tensors(w, i,
                     "attn_norm F32 512; ffn_norm F32 512; attn_qkv F16 512x1536;"
                     "attn_output F16 512x512; ffn_up F16 512x3072;"
                     "ffn_down F16 1536x512");
    gguf_finish(w);
}

static task open_file(const char *options)
{
    task t = {0};
    scratch_write("m.gguf", writer.bytes, writer.size);
    task_create(&t,
                scratch_print("hf:path=%s,batch=1,%s", scratch_path("m.gguf"), options),
                "rtx4090x2+rtx3060", "llama-cpp");
    return t;
}

static emp_device_id device_of(const int *ends, int layer)
{
    return (layer >= ends[0]) + (layer >= ends[1]) + (layer >= ends[2]);
}

/* Layers as a split says, look-ups and what is fed on the CPU, the head where the last layer is. */
static void place(task *t, const int *ends, int layers)
{
    for (emp_op_id op = 0; op < t->graph->op_count; op++) {
        const char   *name = t->graph->name[op];
        emp_device_id device = device_of(ends, layers - 1);
        if (strncmp(name, "blk.", 4) == 0) device = device_of(ends, atoi(name + 4));
        if (strncmp(name, "token_embd", 10) == 0 ||
            t->problem->kinds_of_class[t->graph->op[op].colocation_class] == EMP_KIND_CPU)
            device = 0;
        t->device_of_op[op] = device;
    }
}

static int64_t held_on(const task *t, emp_device_id device)
{
    int64_t bytes = 0;

    for (emp_op_id op = 0; op < t->graph->op_count; op++)
        if (t->device_of_op[op] == device)
            bytes += emp_sim_round_up(t->graph->op[op].persistent_bytes);
    return bytes;
}

static void expect_split(task *t, const int *ends, int layers, const int64_t *want)
{
    place(t, ends, layers);
    emp_sim_result r = task_run(t);
    for (int d = 0; d < DEVICES; d++) {
        const int64_t got = r.peak_bytes[d] - held_on(t, d);
        cr_expect_leq(llabs(got - want[d]), want[d] / 50,
                      "split %d-%d, device %d: %lld, not %lld", ends[0], ends[1], d,
                      (long long)got, (long long)want[d]);
    }
}

static void expect_buffers(const char *options, const int64_t want[SPLITS][DEVICES])
{
    OWN_TASK t = open_file(options);

    for (int s = 0; s < SPLITS; s++) expect_split(&t, splits[s], LAYERS, want[s]);
}

Test(compute_buffers, are_those_of_a_dense_model)
{
    static const int64_t of_512[SPLITS][DEVICES] = {
        {4208640, 21508096, 0, 0},
        {12115968, 30973952, 30973952, 29409280},
        {23083008, 19933184, 21508096, 0}};
    static const int64_t of_256[SPLITS][DEVICES] = {
        {2104320, 10754048, 0, 0},
        {6057984, 15486976, 15486976, 14704640},
        {11541504, 9966592, 10754048, 0}};

    static const int64_t of_300[SPLITS][DEVICES] = {
        {2158848, 12295232, 0, 0},
        {5870592, 16920064, 16920064, 16003328},
        {13218048, 11372416, 12295232, 0}};
    static const int64_t of_188[SPLITS][DEVICES] = {
        {3946496, 21245952, 0, 0},
        {11067392, 29925376, 29925376, 28360704},
        {22820864, 19671040, 21245952, 0}};

    write_dense(&writer);
    expect_buffers("seq=1024,phase=prefill", of_512);
    expect_buffers("seq=1024,phase=prefill,ubatch=256", of_256);
    /* reserved for prompts all the same */
    expect_buffers("seq=1024,phase=decode", of_512);
    expect_buffers("seq=300,phase=prefill", of_300);
    expect_buffers("seq=300,phase=decode", of_300);
    /* the last micro-batch has 188 tokens */
    expect_buffers("seq=700,phase=prefill", of_188);
}

Test(compute_buffers, have_a_mask_for_each_kind_of_cache)
{
    static const int64_t parts[] = {15294464, 32579584, 32579584, 35291136};

    write_windows(&writer);
    OWN_TASK t = open_file("seq=1024,phase=prefill");
    expect_split(&t, splits[1], 6, parts);
}

Test(compute_buffers, keep_what_goes_around_a_part_that_is_added_to_it)
{
    static const int64_t want[SPLITS][DEVICES] = {{3158016, 69206016, 0, 0},
                                                  {9486336, 19963904, 19963904, 78692352},
                                                  {13643776, 12593152, 70254592, 0}};

    write_phi3(&writer);
    OWN_TASK t = open_file("seq=1024,phase=prefill");
    for (int s = 0; s < SPLITS; s++) expect_split(&t, splits[s], 6, want[s]);
}

/* 64 + 512 cells, in steps of 256, in three layers; 1024 in the others; 2 x 4 heads x 64 numbers of 16 bits each. */
Test(compute_buffers, are_beside_caches_of_a_window_and_a_micro_batch)
{
    static const char *const phases[] = {"seq=1024,phase=prefill",
                                         "seq=1024,phase=decode"};

    write_windows(&writer);
    for (int i = 0; i < 2; i++) {
        task    t = open_file(phases[i]);
        int64_t bytes = 0;
        for (emp_op_id op = 0; op < t.graph->op_count; op++)
            if (strcmp(emp_graph_op_type(t.graph, op), "KeyValueCache") == 0)
                bytes += t.graph->op[op].persistent_bytes;
        cr_expect_eq(bytes, 3 * (768 + 1024) * 2 * 4 * 64 * 2, "%s: %lld", phases[i],
                     (long long)bytes);
        task_destroy(&t);
    }
}

/* Whatever a placement is, the peaks are explained to the byte, and a GPU that has room only for the weights is full. */
Test(compute_buffers, are_explained_and_judged)
{
    write_dense(&writer);
    OWN_TASK t = open_file("seq=1024,phase=decode");
    place(&t, splits[1], LAYERS);
    for (emp_op_id op = 0; op < t.graph->op_count;
         op += 7) /* not one part after the other */
        if (t.device_of_op[op] > 0) t.device_of_op[op] = 1 + op % 3;
    emp_explanation *why = NULL;
    ASSERT_OK(emp_explain_create(&why, t.problem,
                                 &(emp_decision){.device_of_op = t.device_of_op}, &err));
    const emp_explain_memory *peak = &why->device[1].peak;
    cr_expect_eq(peak->bytes, peak->held_bytes);
    cr_expect_eq(peak->kind_count[EMP_HELD_ACTIVATION], 1);
    emp_explain_destroy(why);

    place(&t, splits[0], LAYERS);
    t.problem->adapted->device[1].memory_bytes = held_on(&t, 1) + 21000000;
    emp_sim_result r = task_run(&t);
    cr_expect(!r.is_feasible && r.oom_device == 1);
    cr_expect(r.oom_bytes > 21000000 && t.device_of_op[r.oom_op] == 1);
    t.problem->adapted->device[1].memory_bytes = held_on(&t, 1) + 22000000;
    cr_expect(task_run(&t).is_feasible);
}

Test(compute_buffers, survive_every_failure_of_an_allocation)
{
    emp_sim  *sim = NULL;
    emp_error err = {0};

    write_dense(&writer);
    OWN_TASK t = open_file("seq=1024,phase=decode");
    SURVIVES_EVERY_ALLOCATION_FAILURE(emp_sim_create(&sim, t.problem, &err), (void)0);
    emp_sim_destroy(sim);
}
