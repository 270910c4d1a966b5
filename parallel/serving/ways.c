// SPDX-License-Identifier: GPL-3.0-or-later
/* Every way to serve a model on so many GPUs, and the command of vLLM for one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/options.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "graphs/import/models/quantised.h"
#include "parallel/plan.h"
#include "parallel/serving/serve.h"

#define GIB 1073741824.0

enum {
    SEQUENCES_MAX =
        1024, /* of a replica where tokens a second are wanted: vLLM's default on large GPUs */
    TENSOR_MAX = 8 /* ranks that share matrices, as many as GPUs of a usual host */
};

typedef struct {
    emp_serving_ways        *ways;
    const emp_parallel_spec *spec;
    const emp_cluster       *cluster;
    int32_t                  gpus;
    emp_serving_goal         goal;
} planner;

/* ---- one way ---- */

double emp_serving_room(const emp_cluster *cluster)
{
    return EMP_SERVING_SHARE * (double)cluster->gpu.memory_bytes -
           EMP_PARALLEL_PROCESS_BYTES;
}

static emp_status predict(emp_serving_way *row, const planner *p, emp_error *err)
{
    return emp_serving_predict(&row->step,
                               &(emp_serving_case){.spec = p->spec,
                                                   .cluster = p->cluster,
                                                   .degrees = &row->degrees,
                                                   .batch = row->batch,
                                                   .memory_bytes = p->ways->memory_bytes,
                                                   .goal = p->goal},
                               err);
}

/* The largest batch that fits and is allowed. */
static int32_t largest_batch(const emp_serving_way *row, const planner *p)
{
    int32_t most = row->step.most;

    if (p->spec->batch > 0 && most > p->spec->batch) most = p->spec->batch;
    if (p->goal == EMP_SERVING_TOKENS && p->spec->batch == 0 &&
        most > SEQUENCES_MAX * row->degrees.dp)
        most = SEQUENCES_MAX * row->degrees.dp;
    return most;
}

/* Predicts a way with the spec's batch, and where the goal is another one with its largest batch. A batch of fewer
 * sequences than replicas is refused whatever the goal. */
static emp_status predict_goal(emp_serving_way *row, const planner *p, emp_error *err)
{
    row->batch = p->spec->batch > 0 ? p->spec->batch : EMP_SERVING_BATCH_DEFAULT;
    if (p->goal != EMP_SERVING_STEP &&
        (p->spec->batch == 0 || p->spec->batch >= row->degrees.dp))
        row->batch = row->degrees.dp;
    EMP_CHECK(predict(row, p, err));
    if (p->goal == EMP_SERVING_STEP || row->step.most < row->degrees.dp) return EMP_OK;
    const int32_t most = row->step.most;
    row->batch = largest_batch(row, p);
    EMP_CHECK(predict(row, p, err));
    row->step.most = most;
    return EMP_OK;
}

static emp_status add_row(const planner *p, const emp_degrees *d, emp_error *err)
{
    emp_serving_ways *ways = p->ways;
    emp_error         why = {0};

    EMP_CHECK(EMP_GROW(ways->row, (int64_t)ways->count + 1, ways->capacity));
    emp_serving_way *row = &ways->row[ways->count];
    *row = (emp_serving_way){.degrees = *d};
    const emp_status st = predict_goal(row, p, &why);
    if (st == EMP_EINVAL) {
        snprintf(row->why, sizeof row->why, "%s", why.msg);
        row->step.step_s = row->step.peak_bytes = INFINITY;
    } else if (st != EMP_OK) {
        return EMP_ERROR(st, "%s", why.msg);
    } else if (isinf(row->step.step_s)) {
        snprintf(row->why, sizeof row->why,
                 "needs %.1f GiB of %.1f GiB: %.1f of weights, %.1f of keys and values",
                 row->step.peak_bytes / GIB, ways->memory_bytes / GIB,
                 row->step.weight_bytes / GIB, row->step.cache_bytes / GIB);
    } else {
        ways->feasible++;
    }
    ways->count++;
    return EMP_OK;
}

/* ---- the search ---- */

/* A key that the spec has keeps its value. */
static bool is_tried(const planner *p, const char *key, int32_t given, int32_t value)
{
    return !emp_parallel_spec_has(p->spec, key) || given == value;
}

/* Experts cut over tp, and whole ones over all ranks of a stage. */
static emp_status try_experts(const planner *p, emp_degrees d, emp_error *err)
{
    const int32_t ranks = d.tp * d.dp;

    if (emp_parallel_spec_has(p->spec, "ep")) return add_row(p, &d, err);
    d.ep = 1;
    EMP_CHECK(add_row(p, &d, err));
    d.ep = ranks;
    return ranks > 1 && emp_transformer_has_experts(&p->spec->model) ? add_row(p, &d, err)
                                                                     : EMP_OK;
}

static emp_status try_replicas(const planner *p, emp_degrees d, emp_error *err)
{
    const int32_t each = d.tp * d.pp * d.cp;

    if (p->gpus % each != 0) return EMP_OK;
    d.dp = p->gpus / each;
    if (!is_tried(p, "dp", p->spec->degrees.dp, d.dp)) return EMP_OK;
    return try_experts(p, d, err);
}

/* More tensor ranks than a domain has, or than eight, are tried only where the spec says so. */
static emp_status try_all(const planner *p, emp_error *err)
{
    const emp_degrees *given = &p->spec->degrees;
    const int32_t      layers = p->spec->model.layer_count;
    const bool         has_tp = emp_parallel_spec_has(p->spec, "tp");
    const int32_t      most =
        p->cluster->domain < TENSOR_MAX ? p->cluster->domain : TENSOR_MAX;
    emp_degrees d = *given;

    for (d.tp = 1; d.tp <= p->gpus; d.tp++) {
        if (p->gpus % d.tp != 0 || !is_tried(p, "tp", given->tp, d.tp)) continue;
        if (!has_tp && (d.tp > most || p->spec->model.layer[0].heads % d.tp != 0))
            continue;
        for (d.pp = 1; d.pp <= p->gpus / d.tp && d.pp <= layers; d.pp++)
            if (is_tried(p, "pp", given->pp, d.pp)) EMP_CHECK(try_replicas(p, d, err));
    }
    return EMP_OK;
}

/* ---- ranks ---- */

/* Smaller is better. Ways that keep weights on the host are ranked with one sequence a replica, because no larger batch was
 * searched for them. */
static double badness(const emp_serving_way *row, emp_serving_goal goal)
{
    switch (goal) {
    case EMP_SERVING_BATCH:
        return isinf(row->step.step_s) ? INFINITY : -(double)row->batch;
    case EMP_SERVING_TOKENS:
        return isinf(row->step.step_s) ? INFINITY : -row->step.tokens_per_s;
    default: return row->step.step_s;
    }
}

static int compare(const void *a, const void *b, emp_serving_goal goal)
{
    const emp_serving_way *x = a, *y = b;
    const double           p = badness(x, goal), q = badness(y, goal);

    if (p != q) return p < q ? -1 : 1;
    if (x->step.step_s != y->step.step_s) return x->step.step_s < y->step.step_s ? -1 : 1;
    return (x->step.peak_bytes > y->step.peak_bytes) -
           (x->step.peak_bytes < y->step.peak_bytes);
}

static int by_step(const void *a, const void *b)
{
    return compare(a, b, EMP_SERVING_STEP);
}

static int by_batch(const void *a, const void *b)
{
    return compare(a, b, EMP_SERVING_BATCH);
}

static int by_tokens(const void *a, const void *b)
{
    return compare(a, b, EMP_SERVING_TOKENS);
}

emp_status emp_serving_ways_find(emp_serving_ways *out, const emp_parallel_spec *spec,
                                 const emp_cluster *cluster, int32_t gpus,
                                 emp_serving_goal goal, emp_error *err)
{
    static int (*const orders[])(const void *, const void *) = {by_step, by_batch,
                                                                by_tokens};
    const emp_degrees *d = &spec->degrees;
    const planner      p = {out, spec, cluster, gpus, goal};

    if (gpus > cluster->gpus)
        return EMP_ERROR(EMP_EINVAL, "%d GPUs are wanted, and %s has %d", gpus,
                         cluster->name, cluster->gpus);
    out->memory_bytes = emp_serving_room(cluster);
    EMP_CHECK(try_all(&p, err));
    if (out->count == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "no degrees fit %d GPUs: tp x pp x cp x dp must be %d; the spec "
                         "has tp=%d pp=%d cp=%d dp=%d",
                         gpus, gpus, d->tp, d->pp, d->cp, d->dp);
    qsort(out->row, (size_t)out->count, sizeof *out->row, orders[goal]);
    return EMP_OK;
}

void emp_serving_ways_clear(emp_serving_ways *ways)
{
    emp_free(ways->row);
    *ways = (emp_serving_ways){0};
}

/* ---- vLLM ---- */

/* Refuses shards that are no whole tiles of a checkpoint in fp8 with a scale for each 128 x 128 weights. */
static emp_status check_tiles(const emp_parallel_spec *spec, const emp_degrees *d,
                              emp_error *err)
{
    enum { TILE = 128 };
    const emp_quantised q = emp_quantised_read(spec->files.config.root,
                                               emp_quantised_of_file(&spec->files.quant));

    if (spec->serving.quant > 0 || q.dtype != EMP_DTYPE_FLOAT8_TILES) return EMP_OK;
    for (int32_t l = 0; l < spec->model.layer_count; l++) {
        const emp_transformer_layer *of = &spec->model.layer[l];
        const int32_t size = of->experts > 0 ? of->expert_inner : of->inner;
        const int32_t ranks = of->experts > 0 ? d->etp : d->tp;
        if (size / ranks % TILE == 0) continue;
        return EMP_ERROR(
            EMP_EUNSUPPORTED,
            "vLLM cuts fp8 weights at whole tiles of %d, and an inner size of "
            "%d over %d ranks is %d; want %s",
            TILE, size, ranks, size / ranks,
            of->experts > 0 ? "whole experts (ep = tp x dp)" : "a smaller tp");
    }
    return EMP_OK;
}

/* vLLM quantises 16-bit weights when it loads them to fp8; other types come from checkpoints that have them. Whole experts are on
 * all ranks of a stage, or all matrices of experts are cut over tp. */
static emp_status check_vllm(const emp_parallel_spec *spec, const emp_degrees *d,
                             emp_error *err)
{
    char          quant[32] = "", cache[32] = "";
    size_t        length;
    const int32_t ranks = d->tp * d->dp;
    const char   *word =
        emp_words_at("config|" EMP_QUANTISED_WORDS, spec->serving.quant, &length);

    snprintf(quant, sizeof quant, "%.*s", (int)length, word);
    word = emp_words_at(EMP_CACHE_DTYPE_WORDS, spec->serving.cache_dtype, &length);
    snprintf(cache, sizeof cache, "%.*s", (int)length, word);
    if (spec->serving.quant > 0 && strcmp(quant, "fp8") != 0)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "vLLM does not make weights of quant=%s when it loads a model; "
                         "give the config of a checkpoint that has them, or quant=fp8",
                         quant);
    if (spec->serving.cache_dtype > 0 && strcmp(cache, "fp8") != 0)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "vLLM has no cache of cache_dtype=%s; want auto or fp8", cache);
    if (d->cp > 1)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "vLLM's ranks that share the cache of a sequence are those of "
                         "tp, and cp=%d counts ranks beside them; want cp=1",
                         d->cp);
    if (d->ep > 1 && d->ep != ranks)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "vLLM shares whole experts among all tp x dp = %d ranks of a "
                         "stage, and ep=%d; want ep=1 or ep=%d",
                         ranks, d->ep, ranks);
    return EMP_OK;
}

/* Stages that are not alike; vLLM would cut the others in the same way. */
static void add_stages(emp_text *to, const emp_degrees *d, const int32_t *layers)
{
    bool is_even = true;

    for (int32_t i = 1; i < d->pp; i++) is_even &= layers[i] == layers[0];
    if (is_even) return;
    emp_text_add(to, "VLLM_PP_LAYER_PARTITION=");
    for (int32_t i = 0; i < d->pp; i++)
        emp_text_add(to, "%s%d", i > 0 ? "," : "", layers[i]);
    emp_text_add(to, " ");
}

/* The least share of a GPU's memory that is enough, in hundredths and vLLM's customary 0.9 at least. */
static double utilization_of(const emp_serving_way *way, double total_bytes)
{
    const double needed = way->step.peak_bytes + EMP_PARALLEL_PROCESS_BYTES;

    return fmax(0.9, fmin(1.0, ceil(100.0 * needed / total_bytes) / 100.0));
}

emp_status emp_serving_vllm(char *text, size_t size, const emp_parallel_spec *spec,
                            const emp_serving_way *way, double total_bytes,
                            emp_error *err)
{
    emp_degrees   d = way->degrees;
    emp_text      to = {text, size, 0};
    const int32_t sequences = (way->batch + d.dp - 1) / d.dp; /* of a replica */

    text[0] = '\0';
    EMP_CHECK(check_vllm(spec, &d, err));
    if (d.etp == 0) d.etp = d.tp > d.ep ? d.tp / d.ep : 1;
    EMP_CHECK(check_tiles(spec, &d, err));
    add_stages(&to, &d, way->step.stage_layers);
    emp_text_add(&to, "vllm serve ");
    emp_text_add_word(&to, spec->folder[0] != '\0' ? spec->folder : "MODEL");
    emp_text_add(&to, " --tensor-parallel-size %d --pipeline-parallel-size %d", d.tp,
                 d.pp);
    if (d.ep > 1 && d.dp > 1) emp_text_add(&to, " --data-parallel-size %d", d.dp);
    if (d.ep > 1) emp_text_add(&to, " --enable-expert-parallel");
    emp_text_add(&to,
                 " --max-model-len %d --max-num-seqs %d --max-num-batched-tokens %d "
                 "--gpu-memory-utilization %.2f",
                 d.sequence, sequences,
                 sequences > spec->serving.chunk ? sequences : spec->serving.chunk,
                 utilization_of(way, total_bytes));
    if (spec->serving.quant > 0) emp_text_add(&to, " --quantization fp8");
    if (spec->serving.cache_dtype > 0) emp_text_add(&to, " --kv-cache-dtype fp8");
    if (way->step.host_bytes > 0.0)
        emp_text_add(&to, " --cpu-offload-gb %.0f", way->step.host_bytes / GIB);
    const int32_t gpus = d.tp * d.pp;
    if (d.dp > 1 && d.ep == 1)
        emp_text_add(&to, " # one of %d servers, each on %d GPU%s of its own", d.dp, gpus,
                     emp_units_plural(gpus));
    return EMP_OK;
}
