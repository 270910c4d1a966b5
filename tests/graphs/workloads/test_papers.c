// SPDX-License-Identifier: GPL-3.0-or-later
/* Do the workloads of the papers after HDP's have the weights and products of their formulas, and
 * where they are published, of the publications? */
#include "tests/graphs/graphs.h"
#include "tests/test.h"

TestSuite(papers, .fini = graph_tear_down);

static void load(emp_graph **whole, emp_graph **step, const char *spec)
{
    ASSERT_OK(emp_source_load(step, whole, NULL, spec, &err));
    cr_expect_eq((*whole)->unknown_op_count, 0, "%s", spec);
    cr_expect_eq((*step)->unknown_shape_count, 0, "%s", spec);
}

static int64_t parameters(const char *spec)
{
    emp_graph *whole = NULL, *step = NULL;

    load(&whole, &step, spec);
    int64_t count = whole->parameter_count;
    emp_graph_destroy(whole);
    emp_graph_destroy(step);
    return count;
}

/* FLOPs of matrix products and convolutions. */
static double products(const char *spec)
{
    emp_graph *step = graph_load(spec, NULL, NULL);
    double     flops =
        graph_class_flops(step, EMP_OP_GEMM) + graph_class_flops(step, EMP_OP_CONV);

    cr_expect_eq(step->unknown_shape_count, 0, "%s", spec);
    return flops;
}

static void expect_products(const char *spec, double want)
{
    double got = products(spec);

    cr_expect_lt(fabs(got / want - 1), 1e-9, "%s: %.9g FLOP, want %.9g", spec, got, want);
}

Test(papers, have_the_published_parameters)
{
    static const struct {
        const char *spec;
        int64_t     count;
    } cases[] = {
        {"transformer:seq=1024", 124439808},       /* GPT-2 */
        {"bert", 110106428},                       /* BertForPreTraining, base */
        {"bert:phase=prefill,batch=1", 109482240}, /* BertModel, base */
        {"bert:phase=prefill,batch=1,layers=24,hidden=1024,heads=16",
         335141888}, /* large */
        /* Llama-2-7b */
        {"transformer:gated=1,tied=0,layers=32,hidden=4096,heads=32,inner=11008,"
         "vocab=32000,phase=decode",
         6738415616},
        /* Mixtral-8x7B */
        {"transformer:gated=1,tied=0,layers=32,hidden=4096,heads=32,kv_heads=8,"
         "inner=14336,vocab=32000,experts=8,phase=decode",
         46702792704},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(parameters(cases[i].spec), cases[i].count, "%s: %lld", cases[i].spec,
                     (long long)parameters(cases[i].spec));
}

/* GPipe (Huang et al., 2019), Table 1: AmoebaNet-D (18, 208) has 82 million parameters. */
Test(papers, amoebanet_has_the_size_that_gpipe_states)
{
    cr_expect_eq((int64_t)floor((double)parameters("cells:filters=208") / 1e6), 82);
}

/* MobileBERT (Sun et al., ACL 2020), Table 1: BERT base does 22.5 GFLOP on 128 tokens. */
Test(papers, bert_has_the_flops_that_mobilebert_states)
{
    emp_graph *step = graph_load("bert:phase=prefill,batch=1,seq=128", NULL, NULL);

    cr_expect_lt(fabs(step->flops / 22.5e9 - 1), 0.01, "%g", step->flops);
}

/* ---- formulas ----
 *
 * TensorFlow's tuples hold back the gradients of an op until all of them are there, so that those
 * of constants are computed, too: each product runs three times. */

Test(papers, transformer_xl_has_the_products_of_its_formula)
{
    const double d = 500, f = 1000, batch = 64, n = 64, vocab = 32000;
    double       forward = 0;

    for (int s = 0; s < 4; s++) {
        double keys = s == 0 ? n : 2 * n;
        double layer = 2 * keys * batch * d * 3 * d + 3 * 2 * batch * n * keys * d +
                       2 * n * batch * d * d + 2 * 2 * n * batch * d * f;
        forward += 2 * layer + 2 * n * batch * d * vocab;
        forward += 2 * 2 * keys * d * d; /* of positions */
    }
    expect_products("transformer_xl:dropout=0", 3 * forward);
    cr_expect_eq(parameters("transformer_xl"),
                 32000 * 500 + 32000 +
                     2 * (5 * 500 * 500 + 4 * 500 + 2 * 500 * 1000 + 1000 + 500) +
                     2 * 500);
    cr_expect_eq(parameters("transformer_xl:untied=1") - parameters("transformer_xl"),
                 2 * 500, "two layers have biases of their own");
}

Test(papers, transformer_xl_remembers_without_a_gradient)
{
    emp_graph *step =
        graph_load("transformer_xl:layers=1,segments=2,dropout=0", NULL, NULL);

    cr_expect_geq(graph_find(step, "transformer/segment_0/layer_0/StopGradient"), 0);
}

Test(papers, wavenet_has_the_products_of_its_formula)
{
    const double batch = 4, channels = 64, levels = 256;
    double       steps = 2000 - 1, want = 3 * 2 * 2 * levels * channels * batch * steps;
    int64_t      look_back = 2 * 511 + 1;
    double       outputs = 2000 - (double)look_back;

    for (int i = 0; i < 18; i++) {
        double dilation = 1 << i % 9, columns = ceil(steps / dilation);
        double made = dilation * (columns - 1);
        want += 3 * 2 * (2 * 2 * channels * channels * batch * made);
        steps -= dilation;
        want += 3 * 2 * channels * channels * batch * outputs;
        if (i < 17)
            want += 3 * 2 * channels * channels * batch * steps; /* the last hands
                                                                            nothing on */
    }
    want += 3 * 2 * channels * (channels + levels) * batch * outputs;
    expect_products("wavenet:batch=4,steps=2000,residual=64,dilated=64,skip=64", want);
    cr_expect_eq(parameters("wavenet:residual=64,dilated=64,skip=64"),
                 2 * 256 * 64 + 18 * (2 * (2 * 64 * 64 + 64) + 64 * 64 + 64) +
                     17 * (64 * 64 + 64) + 64 * 64 + 64 + 64 * 256 + 256);
}

/* Embedding, and softmax by it; the cell's first product, and eleven others. */
Test(papers, enas_language_models_have_the_weights_of_their_formula)
{
    cr_expect_eq(parameters("enas:task=ptb"),
                 10000 * 720 + 1440 * 1440 + 11 * 720 * 1440);
    expect_products("enas:task=ptb,steps=3,units=10",
                    3.0 * 2 * 20 * 3 * (20 * 20 + 11 * 10 * 20 + 10 * 10000));
}

Test(papers, enas_draws_another_graph_from_another_seed)
{
    static const char *const specs[] = {"enas:seed=1", "enas:seed=2",
                                        "enas:task=ptb,seed=1", "enas:task=ptb,seed=2"};
    uint64_t                 hash[4];

    for (int i = 0; i < 4; i++) {
        emp_graph *step = graph_load(specs[i], NULL, NULL);
        emp_graph *again = graph_load(specs[i], NULL, NULL);
        hash[i] = step->hash;
        cr_expect_eq(again->hash, step->hash, "%s", specs[i]);
    }
    cr_expect_neq(hash[0], hash[1]);
    cr_expect_neq(hash[2], hash[3]);
}

/* 18 cells, two that reduce in the stem, two between; each sums five times. */
Test(papers, amoebanet_has_its_cells)
{
    emp_graph *whole = NULL, *step = NULL;
    int32_t    sums = 0;

    load(&whole, &step, "cells:filters=16,image=64,batch=2");
    for (emp_op_id op = 0; op < whole->op_count; op++) {
        const char *name = whole->name[op];
        if (strncmp(name, "cell_", 5) != 0 || strstr(name, "/comb_iter_") == NULL)
            continue;
        size_t length = strlen(name);
        sums += length > 4 && strcmp(name + length - 4, "/add") == 0 &&
                strstr(name, "BatchNorm") == NULL;
    }
    cr_expect_eq(sums, 22 * 5);
    emp_graph_destroy(whole);
    emp_graph_destroy(step);
}

typedef struct {
    const char *spec;
    int32_t     ops, edges;
    int64_t     first_ns, last_ns, sum_ns, sum_bytes;
    int64_t     shape; /* of all edges (from + 1) (to + 7)^2 */
    char        first_type[8], last_type[8];
} drawn;

static const drawn graphs[] = {
    {"giph", 32, 73, 101952540, 106111613, 3308276822, 7223933680, 873784, "Type0",
     "Type4"},
    {"giph:v=10,alpha=0.1,p=0.2,seed=25", 39, 168, 114804965, 116547033, 3937366555,
     16714756059, 2538546, "Type2", "Type3"},
    {"giph:v=15,alpha=0.3,p=0.2,seed=7", 23, 60, 83052332, 98113717, 2295828319,
     6063218068, 312970, "Type1", "Type3"},
    {"giph:v=40,alpha=1,p=0.3,seed=3", 51, 320, 102031916, 109052780, 5158677198,
     32136186226, 10806817, "Type1", "Type3"},
};

static void expect_graph(const drawn *want)
{
    emp_graph *g = graph_load(want->spec, NULL, NULL);
    int64_t    sum_ns = 0, sum_bytes = 0, shape = 0;

    cr_assert_eq(g->op_count, want->ops, "%s: %d ops", want->spec, g->op_count);
    cr_expect_eq(g->edge_count, want->edges, "%s: %d edges", want->spec, g->edge_count);
    for (emp_op_id to = 0; to < g->op_count; to++) {
        sum_ns += g->stated[to].gpu_ns;
        for (int32_t i = g->input_offset[to]; i < g->input_offset[to + 1]; i++) {
            const emp_tensor *t = &g->tensor[g->input[i]];
            sum_bytes += t->copy_bytes;
            shape += (int64_t)(t->producer + 1) * (to + 7) * (to + 7);
            cr_expect_eq(t->bytes, 0, "nothing is held");
        }
    }
    cr_expect_eq(g->stated[0].gpu_ns, want->first_ns, "%s", want->spec);
    cr_expect_eq(g->stated[want->ops - 1].cpu_ns, want->last_ns, "%s", want->spec);
    cr_expect_eq(sum_ns, want->sum_ns, "%s", want->spec);
    cr_expect_eq(sum_bytes, want->sum_bytes, "%s", want->spec);
    cr_expect_eq(shape, want->shape, "%s", want->spec);
    cr_expect_str_eq(g->type_name[g->type[0]], want->first_type);
    cr_expect_str_eq(g->type_name[g->type[want->ops - 1]], want->last_type);
}

Test(papers, giph_graphs_are_those_of_the_released_program)
{
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) expect_graph(&graphs[i]);
}
