// SPDX-License-Identifier: GPL-3.0-or-later
/* The expert on whole translation graphs, generated and from files (with EMP_PEERS=1:
 * TensorFlow's): every op gets a device, gradients stand beside their forward op, each GPU does exactly its layer's
 * work. */
#include "base/collections.h"
#include "baselines/baselines.h"
#include "graphs/workloads/workloads.h"
#include "sim/graph/op.h"
#include "tests/support/facts.h"
#include "tests/support/problems.h"
#include "tests/support/scratch.h"
#include "tests/support/status.h"

typedef struct {
    task           t;
    emp_graph     *graph;
    emp_problem   *problem;
    emp_device_id *device;
    int32_t        layer_count, gpu_count;
    int32_t        used; /* GPUs that get layers */
} placed;

static void place(placed *p, const char *source)
{
    emp_method_params params = {.seed = 1, .threads = 1};
    void             *state = NULL;
    int32_t           count = 0;
    char              name[16];

    snprintf(name, sizeof name, "k40x%d", p->gpu_count);
    task_create(&p->t, source, name, "tf-r1.3");
    p->graph = p->t.graph;
    p->problem = p->t.problem;
    p->device = p->t.device_of_op;
    MUST(emp_method_create(&state, &emp_method_expert, p->problem, &params, &why));
    MUST(emp_method_ask(&emp_method_expert, state,
                        &(emp_owned_decision){.device_of_op = p->device}, 1, &count,
                        &why));
    emp_problem_legalize(p->problem, p->device);
    emp_method_destroy(&emp_method_expert, state);
}

static bool is_free(const placed *p, emp_op_id op)
{
    const emp_op *o = &p->graph->op[op];

    return !o->is_folded &&
           (p->problem->kinds_of_class[o->colocation_class] & EMP_KIND_GPU);
}

static bool is_beside_an_input(const placed *p, emp_op_id op)
{
    const emp_graph *g = p->graph;

    for (int32_t i = g->input_offset[op]; i < g->input_offset[op + 1]; i++)
        if (p->device[g->tensor[g->input[i]].producer] == p->device[op]) return true;
    return false;
}

static void expect_all_placed_by_role(const placed *p)
{
    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        const char *name = p->graph->name[op];
        int32_t     cell;
        emp_role    role = emp_role_of_name(name, &cell);
        if (p->graph->op[op].is_folded) continue;
        if (!is_free(p, op)) {
            cr_expect_eq(p->device[op], 0, "%s has no GPU kernel, is on %d", name,
                         p->device[op]);
            continue;
        }
        cr_expect(p->device[op] >= 1 && p->device[op] <= p->used, "%s on %d", name,
                  p->device[op]);
        if (role == EMP_ROLE_CELL)
            cr_expect_eq(p->device[op], 1 + cell * p->used / p->layer_count, "%s", name);
        if (role == EMP_ROLE_EMBEDDING) cr_expect_eq(p->device[op], 1, "%s", name);
        if (role == EMP_ROLE_OUTPUT) cr_expect_eq(p->device[op], p->used, "%s", name);
        if (strstr(name, "AddN") != NULL || strstr(name, "global_norm/mul_") != NULL)
            cr_expect(is_beside_an_input(p, op), "%s", name);
    }
}

/* A bound on the gradients that may stand elsewhere: those of forward ops without a rule,
 * which are the handful at the top level of the model. */
static void expect_gradients_beside_forward(const placed *p)
{
    emp_strmap map = {0};
    int32_t    checked = 0, elsewhere = 0;

    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        const char *name = p->graph->name[op];
        MUST(emp_strmap_set(&map, name, strlen(name), op, NULL));
    }
    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        const char *forward;
        size_t      length = emp_forward_of_gradient(p->graph->name[op], &forward);
        emp_op_id   twin = emp_strmap_get(&map, forward, length);
        if (length == 0 || twin < 0 || !is_free(p, op) || !is_free(p, twin)) continue;
        checked++;
        elsewhere += p->device[op] != p->device[twin];
    }
    cr_expect_gt(checked, 2000);
    cr_expect_leq(elsewhere, 20, "%d of %d gradients are not beside their forward op",
                  elsewhere, checked);
    emp_strmap_clear(&map);
}

/* 1024 units, batch 64: a step of a cell is a product of [64, 2048] by [2048, 4096], with
 * two gradients of the same size; 40 steps of encoder and decoder. The first cell of the
 * decoder has 3072 inputs, as the attention vector is fed to it. */
static void expect_layers_work(const placed *p)
{
    double product = 2.0 * 64 * 2048 * 4096, done[EMP_MAX_DEVICES] = {0};

    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        if (p->graph->op[op].is_folded || p->graph->op[op].cost->op_class != EMP_OP_GEMM)
            continue;
        done[p->device[op]] += p->graph->op[op].cost->flops;
    }
    cr_expect_eq(done[0], 0.0, "products on the CPU");
    cr_expect_eq(done[1], 3 * 40 * 2.5 * product, "first layer: %.4f products",
                 done[1] / product);
    for (int32_t layer = 1; layer + 1 < p->layer_count; layer++)
        cr_expect_eq(done[1 + layer], 3 * 40 * 2.0 * product, "layer %d: %.4f products",
                     layer, done[1 + layer] / product);
    cr_expect_gt(done[p->layer_count], 3 * 40 * 2.0 * product,
                 "attention and softmax too");
}

static void check(const char *source, int32_t layer_count, int32_t gpu_count)
{
    placed p = {.layer_count = layer_count,
                .gpu_count = gpu_count,
                .used = gpu_count < layer_count ? gpu_count : layer_count};

    place(&p, source);
    expect_all_placed_by_role(&p);
    expect_gradients_beside_forward(&p);
    if (layer_count == gpu_count) expect_layers_work(&p);
    task_destroy(&p.t);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(expert, places_generated_translators)
{
    static const int32_t layers[] = {2, 4, 8, 8, 3, 2}, gpus[] = {2, 4, 8, 2, 2, 4};

    for (size_t i = 0; i < COUNT(layers); i++) {
        char source[96];
        snprintf(source, sizeof source,
                 "nmt:layers=%d,bidirectional=0,per_step_softmax=0,vocab=32000",
                 layers[i]);
        check(source, layers[i], gpus[i]);
    }
}

/* Those named nmt_2l_... to nmt_8l_..., with as many GPUs. */
Test(made, places_imported_translators, .init = scratch_create, .fini = scratch_remove)
{
    const fact_graph *all = fact_graphs();

    for (int i = 0; i < FACT_GRAPHS; i++)
        if (strstr(all[i].name, "_std_") != NULL)
            check(fact_graph_path(&all[i]), all[i].name[4] - '0', all[i].name[4] - '0');
}
