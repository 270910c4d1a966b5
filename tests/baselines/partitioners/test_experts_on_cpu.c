// SPDX-License-Identifier: GPL-3.0-or-later
/* Experts of some layers on the CPU: does the N-th proposal leave those of N layers there and nothing else, is the
 * least N that fits the best one where the CPU is slow, and do searches move the experts of a layer at once? */
#include "baselines/baselines.h"
#include "run/loop.h"
#include "search/groups/class_groups.h"
#include "search/moves.h"
#include "tests/support/methods.h"
#include "tests/support/problems.h"
#include "tests/support/scratch.h"

enum { LAYERS = 4 };

/* 24 GB of weights, nearly all of experts: three layers of them fit into the GPU of 24 GB. */
static const char config[] =
    "{\"model_type\":\"mixtral\",\"hidden_size\":6144,\"intermediate_size\":16384,"
    "\"num_attention_heads\":48,\"num_hidden_layers\":4,\"num_key_value_heads\":8,"
    "\"num_local_experts\":12,\"num_experts_per_tok\":2,\"tie_word_embeddings\":false,"
    "\"hidden_act\":\"silu\",\"torch_dtype\":\"bfloat16\",\"vocab_size\":32000}";

static const char box[] = "description: \"a CPU and one GPU of 24 GB\"\n"
                          "nodes:\n  - {name: \"socket:0\"}\n"
                          "devices:\n"
                          "  - {model: \"ryzen-16\", at: \"socket:0\"}\n"
                          "  - {model: \"rtx4090\", at: \"socket:0\", bandwidth: "
                          "\"25 GB/s\", latency: \"15 us\"}\n";

static task t;

static void set_up(void)
{
    char path[SCRATCH_PATH_BYTES], spec[SCRATCH_PATH_BYTES + 64];

    scratch_create();
    scratch_write_text(path, sizeof path, "config.json", config);
    snprintf(spec, sizeof spec, "hf:path=%s,phase=decode,batch=1,seq=64", path);
    scratch_write_text(path, sizeof path, "box.yaml", box);
    task_create(&t, spec, path, "graph-launch");
}

static void tear_down(void)
{
    task_destroy(&t);
    scratch_remove();
    expect_all_freed();
}

TestSuite(experts_on_cpu, .init = set_up, .fini = tear_down);

/* -1: it is of no experts. Names are "model.layers.N.block_sparse_moe.experts.w1" and the like. */
static int layer_of_expert(const char *name)
{
    int layer;

    if (strstr(name, ".experts.") == NULL) return -1;
    cr_assert_eq(sscanf(name, "model.layers.%d.", &layer), 1, "%s", name);
    return layer;
}

static void expect_layers_on_cpu(const emp_device_id *device_of_op, int first, int end)
{
    for (emp_op_id op = 0; op < t.graph->op_count; op++) {
        const int layer = layer_of_expert(t.graph->name[op]);
        if (t.graph->op[op].is_folded || layer < 0) continue;
        cr_expect_eq(device_of_op[op] == 0, layer >= first && layer < end, "%s is on %d",
                     t.graph->name[op], device_of_op[op]);
    }
}

/* Asks for one more than so many, \a count, decisions; there is none after them. */
static void expect_count(void *state, const task *of, emp_owned_decision *d, int count)
{
    for (int i = 0; i <= count; i++)
        MUST(emp_decision_init(&d[i], of->graph->op_count, EMP_DECIDES_DEVICES, &why));
    cr_assert_eq(method_ask(&emp_method_experts_on_cpu, state, d, count + 1), count);
    emp_decision_clear(&d[count]);
    cr_expect_eq(method_ask(&emp_method_experts_on_cpu, state, d, 1), 0);
    emp_method_destroy(&emp_method_experts_on_cpu, state);
}

Test(experts_on_cpu, of_each_number_of_layers_are_proposed)
{
    for (int last = 0; last < 2; last++) {
        emp_owned_decision d[LAYERS + 2] = {0};
        expect_count(
            method_begin(&emp_method_experts_on_cpu, t.problem,
                         (emp_method_params){.seed = 1,
                                             .threads = 1,
                                             .options = last ? "from=last" : NULL}),
            &t, d, LAYERS + 1);
        for (int n = 0; n <= LAYERS; n++) {
            expect_layers_on_cpu(d[n].device_of_op, last ? LAYERS - n : 0,
                                 last ? LAYERS : n);
            emp_decision_clear(&d[n]);
        }
    }
}

Test(experts_on_cpu, of_as_few_layers_as_fit_are_best)
{
    const emp_run_params params = {.method = &emp_method_experts_on_cpu,
                                   .placer = {.seed = 1, .threads = 1}};
    emp_record           record = {0};

    MUST(emp_run(&record, t.problem, &params, &why));
    cr_expect(record.is_feasible);
    cr_expect_eq(record.evaluations, LAYERS + 1);
    expect_layers_on_cpu(record.decision.device_of_op, 0, 1);
    emp_record_clear(&record);
}

static void count_warning(void *context, const char *sentence)
{
    ++*(int *)context;
    cr_expect_not_null(strstr(sentence, "no experts"), "%s", sentence);
}

Test(experts_on_cpu, of_a_model_without_them_are_none)
{
    int                warnings = 0;
    emp_owned_decision d[2] = {0};
    OWN_TASK           dense = {0};

    task_create(&dense, "rnnlm:steps=1", "k40x2", "tf-r1.3");
    cr_expect_not(emp_has_experts(dense.graph));
    expect_count(method_begin(&emp_method_experts_on_cpu, dense.problem,
                              (emp_method_params){.seed = 1,
                                                  .threads = 1,
                                                  .warn = count_warning,
                                                  .warn_context = &warnings}),
                 &dense, d, 1);
    cr_expect_eq(warnings, 1);
    emp_decision_clear(&d[0]);
}

/* Among all moves that searches draw from, one takes the experts of layer 2 to the CPU and nothing else, and one takes
 * them back. */
Test(experts_on_cpu, move_at_once)
{
    const emp_move_options options = {
        .kind = EMP_MOVES_GROUPS, .groups = EMP_MOVES_ALL, .coarsest = 8, .finest = 16};
    SCOPED(emp_moves, emp_moves_clear) moves;
    const size_t                bytes = (size_t)t.graph->op_count * sizeof(emp_device_id);
    OWN_EMP_FREE emp_device_id *device = emp_calloc(1, bytes);
    bool                        is_found = false;

    MUST(emp_moves_init(&moves, t.problem, &options, 1, &why));
    for (int64_t i = 0; i < emp_moves_count(&moves) && !is_found; i++) {
        int32_t wrong = 0;
        for (emp_op_id op = 0; op < t.graph->op_count; op++) device[op] = 1;
        emp_moves_make(&moves, i, device);
        for (emp_op_id op = 0; op < t.graph->op_count; op++)
            wrong += !t.graph->op[op].is_folded &&
                     (device[op] == 0) != (layer_of_expert(t.graph->name[op]) == 2);
        is_found = wrong == 0;
    }
    cr_expect(is_found, "no move of %d", (int)emp_moves_count(&moves));
}

Test(experts_on_cpu, are_told_by_names)
{
    static const struct {
        const char *name;
        size_t      length;
    } names[] = {{"model.layers.3.mlp.experts.up_proj", 18},
                 {"model.layers.3.mlp.experts.up_proj/act", 18},
                 {"model.layers.3.mlp.experts/gate_up", 18},
                 {"model.layers.3.mlp.shared_experts.up_proj", 0},
                 {"model.layers.3.mlp.gate/send", 0},
                 {"blk.12.ffn_up_exps", 6},
                 {"blk.12.ffn_up_exps.weight/update", 6},
                 {"blk.12.ffn_up_shexp", 0},
                 {"blk.1.ffn_up/to_exps", 0}};

    for (size_t i = 0; i < COUNT(names); i++)
        cr_expect_eq(emp_expert_layer_length(names[i].name), names[i].length, "%s",
                     names[i].name);
}
