// SPDX-License-Identifier: GPL-3.0-or-later
/* Times of kernels and collectives on a cluster. */
#include <math.h>

#include "parallel/work.h"
#include "sim/cost/kernel.h"

double emp_stream_s(const emp_cluster *cluster, emp_stream_kind kind, double bytes)
{
    if (bytes <= 0.0) return 0.0;
    return cluster->stream_latency_s + bytes / cluster->stream_bytes_per_s[kind];
}

/* ---- products ---- */

/* The time by a table or the peak of the format; a weight's gradient has the tokens as its inner size. */
static double product_by_model_s(const emp_cluster *c, emp_pass pass, emp_format format,
                                 const emp_kernel_size *size)
{
    const double t = size->tokens, i = size->in, o = size->out;
    emp_product  product = {.format = format, .m = t, .n = o, .k = i};
    emp_form     form;
    double       seconds;

    if (pass == EMP_PASS_INPUT)
        product = (emp_product){.format = format, .m = t, .n = i, .k = o};
    if (pass == EMP_PASS_WEIGHT)
        product = (emp_product){.format = format, .m = o, .n = i, .k = t};
    if (emp_product_time(&seconds, &form, &c->measured, &product, NULL) != EMP_OK)
        return NAN;
    if (pass == EMP_PASS_WEIGHT) seconds *= c->weight_factor;
    return seconds / c->kernel_rate;
}

static double by_kernels_s(const emp_cluster *c, emp_kernel_kind kind, emp_pass pass,
                           const emp_kernel_size *size)
{
    const double rate = emp_cluster_kernel_rate(c, kind, pass, size);

    return rate > 0.0 ? emp_cluster_kernel_flops(kind, pass, size) / rate : NAN;
}

static double product_s(const emp_cluster *c, emp_pass pass, const emp_kernel_size *size,
                        bool is_fp8)
{
    double seconds;

    if (!c->has_own_kernels) {
        seconds =
            product_by_model_s(c, pass, is_fp8 ? EMP_FORMAT_FP8 : EMP_FORMAT_BF16, size);
        /* times of fp8 have the conversion of the input in them, which is no product */
        if (is_fp8 || c->sustained == 0.0) return seconds;
        const double sustained_s =
            2.0 * size->tokens * size->in * size->out / c->sustained / c->kernel_rate;
        return fmax(seconds,
                    sustained_s * (pass == EMP_PASS_WEIGHT ? c->weight_factor : 1.0));
    }
    seconds = by_kernels_s(c, EMP_KERNEL_PRODUCT, pass, size);
    if (!is_fp8) return seconds;
    return seconds * product_by_model_s(c, pass, EMP_FORMAT_FP8, size) /
           product_by_model_s(c, pass, EMP_FORMAT_BF16, size);
}

/* A grouped product takes as many times as long as one product of all its tokens as on the GPU whose kernels were
 * measured. */
static double grouped_s(const emp_cluster *c, emp_pass pass, const emp_kernel_size *size,
                        bool is_fp8)
{
    const emp_kernel_size whole = {size->tokens * size->groups, size->in, size->out, 1};
    const double          grouped = by_kernels_s(c, EMP_KERNEL_GROUPED, pass, size);
    double                ratio;

    if (c->has_own_kernels && !is_fp8) return grouped;
    ratio = grouped / by_kernels_s(c, EMP_KERNEL_PRODUCT, pass, &whole);
    return fmax(ratio, 1.0) * product_s(c, pass, &whole, is_fp8);
}

static double attention_s(const emp_cluster *c, emp_pass pass,
                          const emp_kernel_size *size)
{
    const double  whole = by_kernels_s(c, EMP_KERNEL_ATTENTION, pass, size);
    emp_attention a = {
        EMP_ATTENTION_OF_PROMPT,     EMP_FORMAT_BF16, size->tokens, size->groups, 1,
        (size->in + size->out) / 2.0};
    emp_form form;
    double   seconds;

    if (c->has_own_kernels) return whole;
    if (fmod(size->groups, 8.0) == 0.0) {
        a.kv_heads = size->groups / 8.0;
        a.group = 8;
    }
    if (emp_attention_time(&seconds, &form, &c->measured, &a, NULL) != EMP_OK) return NAN;
    seconds /= c->kernel_rate;
    if (pass == EMP_PASS_FORWARD) return seconds;
    return seconds * whole /
           by_kernels_s(c, EMP_KERNEL_ATTENTION, EMP_PASS_FORWARD, size);
}

double emp_kernel_s(const emp_parallel *p, emp_kernel_kind kind, emp_pass pass,
                    emp_kernel_size size, bool may_be_fp8)
{
    const bool is_fp8 = may_be_fp8 && p->degrees->is_fp8;

    switch (kind) {
    case EMP_KERNEL_GROUPED: return grouped_s(p->cluster, pass, &size, is_fp8);
    case EMP_KERNEL_ATTENTION: return attention_s(p->cluster, pass, &size);
    default: return product_s(p->cluster, pass, &size, is_fp8);
    }
}

/* ---- collectives ---- */

/* Size and stride of the groups of a kind; they divide the ranks of a stage. */
static emp_group_shape shape_of(const emp_degrees *d, emp_group group)
{
    const int32_t etp = d->etp > 0 ? d->etp : 1;

    switch (group) {
    case EMP_GROUP_TENSOR: return (emp_group_shape){.size = d->tp, .stride = 1};
    case EMP_GROUP_CONTEXT: return (emp_group_shape){.size = d->cp, .stride = d->tp};
    case EMP_GROUP_EXPERT_TENSOR: return (emp_group_shape){.size = etp, .stride = 1};
    case EMP_GROUP_EXPERT: return (emp_group_shape){.size = d->ep, .stride = etp};
    case EMP_GROUP_DATA: return (emp_group_shape){.size = d->cp * d->dp, .stride = d->tp};
    case EMP_GROUP_EXPERT_DATA:
        return (emp_group_shape){.size = d->tp * d->cp * d->dp / (etp * d->ep),
                                 .stride = etp * d->ep};
    default: return (emp_group_shape){.size = 1, .stride = 1};
    }
}

/* Notes where the group whose first member is rank \a first lies. */
static void add_group(emp_group_shape *g, int32_t domain, int32_t first)
{
    int32_t domains = 0, last = -1, members = 0, near = g->size;

    for (int32_t k = 0; k < g->size; k++) {
        const int32_t here = (first + k * g->stride) / domain;
        if (here != last) {
            if (domains > 0 && members < near) near = members;
            domains++;
            members = 0;
        }
        members++;
        last = here;
    }
    if (members < near) near = members;
    if (g->domains > 0 && (domains != g->domains || near != g->near)) g->is_alike = false;
    if (domains > g->domains) g->domains = domains;
    if (g->near == 0 || near < g->near) g->near = near;
}

emp_parallel emp_parallel_of(const emp_cluster           *cluster,
                             const emp_transformer_model *model,
                             const emp_degrees           *degrees)
{
    emp_parallel p = {.cluster = cluster, .model = model, .degrees = degrees};
    if (emp_degrees_gpus(degrees) > EMP_RANKS_MAX) return p; /* which is refused later */
    const int32_t ranks = degrees->tp * degrees->cp * degrees->dp;

    for (int32_t kind = 0; kind < EMP_GROUPS; kind++) {
        emp_group_shape *g = &p.shape[kind];
        *g = shape_of(degrees, (emp_group)kind);
        g->is_alike = true;
        if (g->size < 1) g->size = 1; /* degrees that do not divide are refused later */
        for (int32_t rank = 0; rank < ranks * degrees->pp; rank++)
            if (rank % ranks / g->stride % g->size == 0)
                add_group(g, cluster->domain, rank);
    }
    return p;
}

/* The link of a GPU to so many others of its domain. */
static emp_link_rate link_to(const emp_cluster *c, emp_link_kind kind, double others)
{
    emp_link_rate link = c->link[kind];

    if (c->is_mesh && others > 1.0) link.bytes_per_s *= others;
    return link;
}

/* The measurement of nccl-tests among so many GPUs, where the cluster's table has them and its links are as fast as the measured
 * ones; else NAN. */
static double by_table_s(const emp_cluster *c, emp_link_kind kind, int32_t size,
                         double bytes)
{
    static const emp_collective ops[] = {
        [EMP_LINK_ALL_REDUCE] = EMP_COLLECTIVE_ALL_REDUCE,
        [EMP_LINK_ALL_GATHER] = EMP_COLLECTIVE_ALL_GATHER,
        [EMP_LINK_REDUCE_SCATTER] = EMP_COLLECTIVE_REDUCE_SCATTER,
        [EMP_LINK_ALL_TO_ALL] = EMP_COLLECTIVE_ALL_TO_ALL};
    const emp_exchange exchange = {ops[kind], EMP_FORMAT_BF16, size, bytes};
    emp_form           form;
    double             seconds;

    if (!emp_exchange_counts(&c->measured, size,
                             link_to(c, EMP_LINK_ALL_TO_ALL, size - 1).bytes_per_s) ||
        emp_exchange_time(&seconds, &form, &c->measured, &exchange, NULL) != EMP_OK)
        return NAN;
    return form == EMP_FORM_TABLE || form == EMP_FORM_BEYOND ? seconds : NAN;
}

/* Within a domain a collective is a ring, or as many rings as a GPU has links there. Across domains there are as many
 * rings as a domain has members, each over its own card, with a tree's latency. In an all-to-all each member sends what
 * leaves its domain over its own card. */
double emp_group_collective_s(const emp_parallel *p, emp_link_kind kind, emp_group group,
                              double bytes)
{
    const emp_cluster     *cluster = p->cluster;
    const emp_group_shape *g = &p->shape[group];
    const double           n = g->size, near = g->near, domains = g->domains;
    const emp_link_rate    link = link_to(cluster, kind, near - 1.0);
    double                 across;

    if (g->size <= 1 || bytes <= 0.0) return 0.0;
    const double times = kind == EMP_LINK_ALL_REDUCE ? 2.0 : 1.0;
    const bool   is_all_to_all = kind == EMP_LINK_ALL_TO_ALL;
    const double inside = times * bytes * ((is_all_to_all ? near : n) - 1.0) / n;

    if (g->domains == 1) {
        const double measured_s = by_table_s(cluster, kind, g->size, bytes);
        return isnan(measured_s) ? link.latency_s + inside / link.bytes_per_s
                                 : measured_s;
    }
    across =
        is_all_to_all ? bytes * (n - near) / n : times * bytes * (n - 1.0) / n / near;
    return link.latency_s + ceil(log2(domains)) * cluster->network.latency_s +
           fmax(near > 1.0 ? inside / link.bytes_per_s : 0.0,
                across / cluster->network.bytes_per_s);
}

double emp_state_bytes(const emp_parallel *p)
{
    const emp_degrees *d = p->degrees;
    const double       tokens = (double)d->micro_batch * d->sequence / d->cp;

    return 2.0 * tokens * p->model->hidden / (d->sp ? d->tp : 1);
}

/* Assumed: once the GPUs of all stages are more than a domain, every message crosses the network, also between stages of
 * one domain. */
double emp_send_s(const emp_parallel *p, double bytes)
{
    const emp_degrees   *d = p->degrees;
    const int64_t        stage = (int64_t)d->tp * d->cp * d->dp;
    const emp_link_rate *link = &p->cluster->link[EMP_LINK_SEND];

    if (d->pp == 1) return 0.0;
    if (stage * d->pp > p->cluster->domain) link = &p->cluster->network;
    return link->latency_s + bytes / link->bytes_per_s;
}
