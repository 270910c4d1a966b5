// SPDX-License-Identifier: GPL-3.0-or-later
/* Do configs as transformers writes them give the parameters, products and caches that its models have? The rows of
 * tests/data/counted_models.tsv are what `scripts/witness transformers --table` writes: parameters of its modules, FLOPs of
 * the products of two prompts by FlopCounterMode, bytes of its DynamicCache behind them. */
#include "base/text/options.h"
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/models/configs.h"
#include "tests/support/facts.h"
#include "tests/test.h"

TestSuite(counted_models, .init = scratch_create, .fini = graph_tear_down);

enum { CLASS, PARAMETERS, TOKENS, SOURCE, PRODUCTS, CACHE, CONFIG, COLUMNS };

static bool is_one_of(const emp_graph *g, emp_op_id op, const char *types)
{
    const char *type = emp_graph_op_type(g, op);

    return emp_words_find(types, type, strlen(type)) >= 0;
}

static double sum_products(const emp_graph *g)
{
    double flops = 0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (is_one_of(g, op, "Linear|ExpertsMatMul|BatchMatMul|StreamWeights|Conv"))
            flops += g->op[op].cost->flops;
    return flops;
}

static int64_t sum_cached(const emp_graph *g)
{
    int64_t bytes = 0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (is_one_of(g, op, "KeyValueCache|RecurrentState"))
            bytes += g->op[op].persistent_bytes;
    return bytes;
}

/* The step of a row; "source" is of models with an encoder. */
static emp_graph *load_step(const fact_table *t, const char *phase)
{
    const bool has_source = strcmp(t->cell[SOURCE], "-") != 0;

    return config_load_whole(
        t->cell[CONFIG],
        scratch_print(",phase=%s,batch=2,seq=%s%s%s,dtype=fp32", phase, t->cell[TOKENS],
                      has_source ? ",source=" : "", has_source ? t->cell[SOURCE] : ""));
}

static void expect_row(const fact_table *t)
{
    const char *config = t->cell[CONFIG];
    emp_graph  *prompt = load_step(t, "prefill");

    cr_expect_eq(prompt->parameter_count, strtoll(t->cell[PARAMETERS], NULL, 10),
                 "%lld parameters: %s", (long long)prompt->parameter_count, config);
    cr_expect_eq(sum_products(prompt), strtod(t->cell[PRODUCTS], NULL), "%.0f FLOPs: %s",
                 sum_products(prompt), config);
    cr_expect_eq(prompt->unknown_op_count, 0);
    emp_graph_destroy(prompt);
    if (strcmp(t->cell[CACHE], "-") == 0) return;
    emp_graph *token = load_step(t, "decode");
    cr_expect_eq(sum_cached(token), strtoll(t->cell[CACHE], NULL, 10),
                 "%lld bytes of caches: %s", (long long)sum_cached(token), config);
    emp_graph_destroy(token);
}

/* Positions that a class makes anew or freezes. */
static bool is_frozen(const char *class, const char *name)
{
    const bool both = emp_words_find("MarianMTModel|PegasusForConditionalGeneration",
                                     class, strlen(class)) >= 0;

    return (both && emp_text_ends_in(name, ".embed_positions.weight")) ||
           (strncmp(class, "Whisper", 7) == 0 &&
            strcmp(name, "model.encoder.embed_positions.weight") == 0);
}

/* The step's parameters are those that it updates. */
static void expect_trained(const fact_table *t)
{
    emp_graph *g =
        config_load_whole(t->cell[CONFIG], ",phase=train,batch=1,seq=8,dtype=fp32");
    int64_t wanted = strtoll(t->cell[PARAMETERS], NULL, 10);

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (is_frozen(t->cell[CLASS], g->name[op]))
            wanted -= emp_shape_elements(g->tensor[g->output_offset[op]].shape);
    cr_expect_eq(g->parameter_count, wanted, "%lld of %lld are trained: %s",
                 (long long)g->parameter_count, (long long)wanted, t->cell[CONFIG]);
    emp_graph_destroy(g);
}

/* True if models of the class have a loss. */
static bool is_trained(const char *class)
{
    static const char *const endings[] = {"ForCausalLM",
                                          "ForConditionalGeneration",
                                          "ForSequenceClassification",
                                          "ForTokenClassification",
                                          "ForQuestionAnswering",
                                          "ForMaskedLM",
                                          "MTModel",
                                          "LMHeadModel"};

    for (size_t i = 0; i < COUNT(endings); i++)
        if (emp_text_ends_in(class, endings[i])) return true;
    return false;
}

Test(counted_models, a_step_trains_all_parameters)
{
    enum { MOST = 5000000 };
    fact_table t;
    int32_t    rows = 0;

    for (fact_table_open(&t, "counted_models.tsv"); fact_table_next(&t);) {
        if (strtoll(t.cell[PARAMETERS], NULL, 10) > MOST || !is_trained(t.cell[CLASS]))
            continue;
        expect_trained(&t);
        rows++;
    }
    cr_expect_geq(rows, 100);
}

Test(counted_models, are_read_as_transformers_makes_them)
{
    int32_t    rows = 0;
    fact_table t;

    for (fact_table_open(&t, "counted_models.tsv"); fact_table_next(&t); rows++) {
        cr_assert_eq(t.count, COLUMNS);
        expect_row(&t);
    }
    cr_expect_geq(rows, 100);
}
