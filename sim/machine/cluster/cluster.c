// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/cluster/cluster.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/csv.h"
#include "base/text/options.h"
#include "sim/machine/config.h"
#include "sim/machine/model.h"

/* ---- the file ---- */

/* key, kind, member of emp_cluster */
#define CLUSTER_FIELDS(X)                                                       \
    X(gpus, COUNT, gpus)                                                        \
    X(domain, COUNT, domain)                                                    \
    X(own_kernels, SWITCH, has_own_kernels)                                     \
    X(kernel_rate, RATIO, kernel_rate)                                          \
    X(weight_factor, RATIO, weight_factor)                                      \
    X(stream, BYTES_PER_S, stream_bytes_per_s[EMP_STREAM_PLAIN])                \
    X(permute, BYTES_PER_S, stream_bytes_per_s[EMP_STREAM_PERMUTE])             \
    X(loss, BYTES_PER_S, stream_bytes_per_s[EMP_STREAM_LOSS])                   \
    X(stream_latency, SECONDS, stream_latency_s)                                \
    X(all_reduce, BYTES_PER_S, link[EMP_LINK_ALL_REDUCE].bytes_per_s)           \
    X(all_reduce_latency, SECONDS, link[EMP_LINK_ALL_REDUCE].latency_s)         \
    X(all_gather, BYTES_PER_S, link[EMP_LINK_ALL_GATHER].bytes_per_s)           \
    X(all_gather_latency, SECONDS, link[EMP_LINK_ALL_GATHER].latency_s)         \
    X(reduce_scatter, BYTES_PER_S, link[EMP_LINK_REDUCE_SCATTER].bytes_per_s)   \
    X(reduce_scatter_latency, SECONDS, link[EMP_LINK_REDUCE_SCATTER].latency_s) \
    X(all_to_all, BYTES_PER_S, link[EMP_LINK_ALL_TO_ALL].bytes_per_s)           \
    X(all_to_all_latency, SECONDS, link[EMP_LINK_ALL_TO_ALL].latency_s)         \
    X(send, BYTES_PER_S, link[EMP_LINK_SEND].bytes_per_s)                       \
    X(send_latency, SECONDS, link[EMP_LINK_SEND].latency_s)                     \
    X(network, BYTES_PER_S, network.bytes_per_s)                                \
    X(network_latency, SECONDS, network.latency_s)                              \
    X(launch, SECONDS, launch_s)

#define HOST_FIELDS(X)                               \
    X(host_memory, BYTES, host.memory_bytes)         \
    X(host_stream, BYTES_PER_S, host.bytes_per_s)    \
    X(host_link, BYTES_PER_S, host.link.bytes_per_s) \
    X(host_link_latency, SECONDS, host.link.latency_s)

#define MEMBER(key, kind, member) char *key;
#define SCHEMA(key, kind, member)                                                \
    CYAML_FIELD_STRING_PTR(#key, CYAML_FLAG_POINTER, struct raw_cluster, key, 0, \
                           CYAML_UNLIMITED),
#define MAY_BE(key, kind, member)                                          \
    CYAML_FIELD_STRING_PTR(#key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, \
                           struct raw_cluster, key, 0, CYAML_UNLIMITED),
#define ROW(key, kind, member)                                   \
    {#key, EMP_CONFIG_##kind, offsetof(struct raw_cluster, key), \
     offsetof(emp_cluster, member)},

struct raw_cluster {
    char *description, *gpu, *tables, *kernels;
    CLUSTER_FIELDS(MEMBER) HOST_FIELDS(MEMBER)
};

static const cyaml_schema_field_t cluster_fields[] = {
    CYAML_FIELD_STRING_PTR("description", CYAML_FLAG_POINTER, struct raw_cluster,
                           description, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("gpu", CYAML_FLAG_POINTER, struct raw_cluster, gpu, 0,
                           CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("tables", CYAML_FLAG_POINTER, struct raw_cluster, tables, 0,
                           CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("kernels", CYAML_FLAG_POINTER, struct raw_cluster, kernels, 0,
                           CYAML_UNLIMITED),
    CLUSTER_FIELDS(SCHEMA) HOST_FIELDS(MAY_BE) CYAML_FIELD_END};
static const cyaml_schema_value_t cluster_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_cluster, cluster_fields)};
static const emp_config_field cluster_table[] = {CLUSTER_FIELDS(ROW) HOST_FIELDS(ROW)};

/* A file that has the memory of hosts has their rates, too. */
static emp_status check_host(const emp_cluster *c, emp_error *err)
{
    if (c->host.memory_bytes == 0 ||
        (c->host.bytes_per_s > 0.0 && c->host.link.bytes_per_s > 0.0))
        return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s: host_memory needs host_stream and host_link",
                     c->path);
}

/* ---- measured kernels ---- */

static const char *const kernel_words = "product|grouped|attention";

double emp_cluster_kernel_flops(emp_kernel_kind kind, emp_pass pass,
                                const emp_kernel_size *size)
{
    if (kind != EMP_KERNEL_ATTENTION)
        return 2.0 * size->tokens * size->in * size->out * size->groups;
    return (pass == EMP_PASS_FORWARD ? 2.0 : 5.0) * size->tokens * size->tokens *
           size->groups * (size->in + size->out);
}

struct columns {
    int32_t kind, size[4], pass[EMP_PASSES];
};

static emp_status find_columns(struct columns *c, const emp_csv *csv, emp_error *err)
{
    static const char *const sizes[] = {"tokens", "in", "out", "groups"};
    static const char *const passes[EMP_PASSES] = {"forward_us", "input_us", "weight_us",
                                                   "weight_half_us"};

    EMP_CHECK(emp_csv_find(&c->kind, csv, "kind", err));
    EMP_CHECK(emp_csv_find_all(c->size, csv, sizes, 4, err));
    return emp_csv_find_all(c->pass, csv, passes, EMP_PASSES, err);
}

static emp_status read_positive(double *value, const emp_csv *csv, int32_t row,
                                int32_t column, emp_error *err)
{
    EMP_CHECK(emp_csv_real(value, csv, row, column, err));
    if (*value > 0.0 && *value < 1e15) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s, row %d: \"%.40s\" is not a number above zero",
                     csv->path, row + 1, emp_csv_text(csv, row, column));
}

static emp_status read_point(emp_kernel_point *p, const emp_csv *csv,
                             const struct columns *c, int32_t row, emp_error *err)
{
    const char *word = emp_csv_text(csv, row, c->kind);
    int32_t     kind = emp_words_find(kernel_words, word, strlen(word));
    double      size[4], us;

    if (kind < 0)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s, row %d: kind is \"%.40s\", want product, grouped or "
                         "attention",
                         csv->path, row + 1, word);
    p->kind = (emp_kernel_kind)kind;
    for (int32_t i = 0; i < 4; i++) {
        EMP_CHECK(read_positive(&size[i], csv, row, c->size[i], err));
        p->log_size[i] = log(size[i]);
    }
    const emp_kernel_size sizes = {size[0], size[1], size[2], size[3]};
    for (int32_t i = 0; i < EMP_PASSES; i++) {
        if (emp_csv_text(csv, row, c->pass[i])[0] == '\0') continue;
        EMP_CHECK(read_positive(&us, csv, row, c->pass[i], err));
        p->flops[i] = emp_cluster_kernel_flops(p->kind, (emp_pass)i, &sizes);
        p->flops_per_s[i] = p->flops[i] / (us * 1e-6);
    }
    return EMP_OK;
}

static emp_status read_kernels(emp_cluster *c, const char *file, emp_error *err)
{
    emp_status     st = EMP_OK;
    char           path[1024];
    emp_csv        csv = {0};
    struct columns columns;

    if (strchr(file, '/') != NULL) {
        snprintf(path, sizeof path, "%s", file);
    } else {
        emp_data_folder(path, sizeof path, "machines/tables/");
        const size_t used = strlen(path);
        snprintf(path + used, sizeof path - used, "%s", file);
    }
    EMP_TRY(emp_csv_load(&csv, path, err));
    EMP_TRY(find_columns(&columns, &csv, err));
    EMP_TRY(EMP_ALLOC(c->point, (size_t)csv.row_count));
    for (int32_t row = 0; row < csv.row_count; row++)
        EMP_TRY(read_point(&c->point[row], &csv, &columns, row, err));
    c->point_count = csv.row_count;

cleanup:
    emp_csv_clear(&csv);
    return st;
}

/* A kernel that lasts so long runs at the GPU's limit of power. */
#define LONG_S 1e-3

/* Whether the sustained rate of a kernel counts for another one: attention differs by the size of heads. */
static bool is_of_kind(const emp_kernel_point *p, emp_kernel_kind kind, const double *at)
{
    if (p->kind != kind || kind == EMP_KERNEL_GROUPED) return false;
    return kind == EMP_KERNEL_PRODUCT ||
           (fabs(p->log_size[1] - at[1]) < 1e-9 && fabs(p->log_size[2] - at[2]) < 1e-9);
}

/* The sustained rate of products in a table: of those at the points of its grid that take so long. */
static double sustained_of_grid(const emp_grid *g)
{
    double flops = 0.0, seconds = 0.0;

    for (int32_t i = 0; g != NULL && i < g->points[0] * g->points[1] * g->points[2];
         i++) {
        const int32_t k = i % g->points[2], n = i / g->points[2] % g->points[1];
        const int32_t m = i / g->points[2] / g->points[1];
        const double  here = exp(g->log_s[i]);
        if (here < LONG_S) continue;
        flops += 2.0 * exp(g->knot[0][m] + g->knot[1][n] + g->knot[2][k]);
        seconds += here;
    }
    return seconds > 0.0 ? flops / seconds : 0.0;
}

static void find_sustained(emp_cluster *c)
{
    const emp_tables *tables = c->measured.tables;

    c->sustained =
        tables == NULL ? 0.0 : sustained_of_grid(tables->gemm[EMP_FORMAT_BF16]);
}

/* INFINITY: no long kernel was measured. */
static double sustained_rate(const emp_cluster *c, emp_kernel_kind kind, emp_pass pass,
                             const double *at)
{
    double flops = 0.0, seconds = 0.0;

    for (int32_t i = 0; i < c->point_count; i++) {
        const emp_kernel_point *p = &c->point[i];
        const double            rate = p->flops_per_s[pass];
        if (rate == 0.0 || !is_of_kind(p, kind, at) || p->flops[pass] / rate < LONG_S)
            continue;
        flops += p->flops[pass];
        seconds += p->flops[pass] / rate;
    }
    return seconds > 0.0 ? flops / seconds : INFINITY;
}

double emp_cluster_kernel_rate(const emp_cluster *cluster, emp_kernel_kind kind,
                               emp_pass pass, const emp_kernel_size *size)
{
    const double at[4] = {log(size->tokens), log(size->in), log(size->out),
                          log(size->groups)};
    double       sum = 0.0, weights = 0.0;

    for (int32_t i = 0; i < cluster->point_count; i++) {
        const emp_kernel_point *p = &cluster->point[i];
        double                  square = 0.0;
        if (p->kind != kind || p->flops_per_s[pass] == 0.0) continue;
        for (int32_t a = 0; a < 4; a++)
            square += (at[a] - p->log_size[a]) * (at[a] - p->log_size[a]);
        if (square < 1e-8) square = 1e-8;
        sum += log(p->flops_per_s[pass]) / (square * square);
        weights += 1.0 / (square * square);
    }
    if (weights == 0.0) return 0.0;
    return cluster->kernel_rate *
           fmin(exp(sum / weights), sustained_rate(cluster, kind, pass, at));
}

/* ---- loading ---- */

static void name_after_file(char *name, size_t size, const char *path)
{
    const char  *slash = strrchr(path, '/'), *base = slash == NULL ? path : slash + 1;
    const size_t length = strlen(base);

    snprintf(name, size, "%.*s",
             (int)(length > 5 && strcmp(base + length - 5, ".yaml") == 0 ? length - 5
                                                                         : length),
             base);
}

static emp_status read_cluster(emp_cluster *c, const char *path, emp_error *err)
{
    emp_status                st = EMP_OK;
    emp_config                config = {0};
    emp_device_model          model = {0};
    uint64_t                  hash = 0;
    const struct raw_cluster *raw;

    EMP_TRY(emp_config_open(&config, path, &cluster_schema, err));
    raw = config.data;
    EMP_TRY(emp_config_convert(&config, cluster_table,
                               sizeof cluster_table / sizeof *cluster_table, raw, c,
                               &hash, err));
    snprintf(c->path, sizeof c->path, "%s", path);
    EMP_TRY(check_host(c, err));
    snprintf(c->description, sizeof c->description, "%s", raw->description);
    name_after_file(c->name, sizeof c->name, path);
    EMP_TRY(emp_device_model_load(&model, raw->gpu, err));
    c->gpu = model.device;
    c->gpu.tables = NULL;
    snprintf(c->gpu.name, sizeof c->gpu.name, "%s", raw->gpu);
    emp_device_model_clear(&model);
    EMP_TRY(emp_device_model_load(&model, raw->tables, err));
    c->measured = model.device;
    snprintf(c->measured.name, sizeof c->measured.name, "%s", raw->tables);
    emp_tables_hold(c->measured.tables);
    find_sustained(c);
    EMP_TRY(read_kernels(c, raw->kernels, err));

cleanup:
    emp_device_model_clear(&model);
    emp_config_close(&config);
    return st;
}

static emp_status load_path(emp_cluster **out, const char *path, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_cluster *c = NULL;

    EMP_TRY(EMP_ALLOC(c, 1));
    EMP_TRY(read_cluster(c, path, err));
    *out = c;
    c = NULL;

cleanup:
    emp_cluster_destroy(c);
    return st;
}

/* Whether a cluster's file says that its GPUs are of a model. */
static emp_status is_of_model(bool *is, const char *path, const char *model,
                              emp_error *err)
{
    emp_status st = EMP_OK;
    emp_config config = {0};

    EMP_TRY(emp_config_open(&config, path, &cluster_schema, err));
    *is = strcmp(((const struct raw_cluster *)config.data)->gpu, model) == 0;

cleanup:
    emp_config_close(&config);
    return st;
}

/* The cluster whose GPUs are of a model; NULL: there is none. */
static emp_status find_by_model(emp_cluster **out, const char *model, emp_error *err)
{
    emp_data_names names;
    char           path[512];

    *out = NULL;
    emp_data_find(&names, "clusters");
    for (int32_t i = 0; i < names.count; i++) {
        emp_config_path(path, sizeof path, "clusters", names.name[i]);
        bool is = false;
        EMP_CHECK(is_of_model(&is, path, model, err));
        if (is) return load_path(out, path, err);
    }
    return EMP_OK;
}

/* ---- clusters of machines ---- */

/* The GPUs of a machine that are of the model of its GPU \a first, in the machine's order. */
static emp_device_list alike(const emp_machine *m, emp_device_id first)
{
    const emp_device_list all = emp_ring_gpus(m);
    emp_device_list       list = {.count = 0};

    for (int32_t i = 0; i < all.count; i++)
        if (m->device[all.id[i]].model == m->device[first].model)
            list.id[list.count++] = all.id[i];
    return list;
}

/* The rate of a GPU's link to its host while all GPUs of the host use theirs. */
static double host_rate(const emp_machine *m, const emp_device_list *gpus,
                        emp_device_id id)
{
    const emp_route *route = &m->route[m->device[id].host][id];
    double           rate = INFINITY;

    for (int32_t i = 0; i < route->link_count; i++) {
        int32_t users = 0;
        for (int32_t g = 0; g < gpus->count; g++) {
            const emp_device_id gpu = gpus->id[g];
            const emp_route    *other = &m->route[m->device[gpu].host][gpu];
            for (int32_t k = 0; k < other->link_count; k++)
                users += other->link[k] == route->link[i];
        }
        rate = fmin(rate, m->link[route->link[i]].bytes_per_s / users);
    }
    return rate;
}

static emp_host_share host_of(const emp_machine *m, const emp_device_list *gpus,
                              emp_device_id id)
{
    const emp_device *host = &m->device[m->device[id].host];
    int32_t           sharers = 0;

    for (int32_t g = 0; g < gpus->count; g++)
        sharers += m->device[gpus->id[g]].host == m->device[id].host;
    return (emp_host_share){
        host->memory_bytes / sharers,
        host->core_bytes_per_s * host->bandwidth_cores / sharers,
        {host_rate(m, gpus, id), m->route[m->device[id].host][id].latency_s}};
}

/* The GPUs of a machine take the place of cluster \a c's, and the rate of their memory scales its rates of kernels that move data.
 * How permutation and cross entropy compare with other such kernels, and grouped products with one product, stays. */
static void take_gpus(emp_cluster *c, const emp_machine *m, emp_device_id first)
{
    const emp_device *gpu = &m->device[first];
    const double      share = gpu->memory_bytes_per_s / c->gpu.memory_bytes_per_s;

    for (int32_t i = 0; i < EMP_STREAMS; i++) c->stream_bytes_per_s[i] *= share;
    c->gpu = *gpu;
    c->gpu.tables = NULL;
    snprintf(c->gpu.name, sizeof c->gpu.name, "%s", m->model[gpu->model].name);
    snprintf(c->name, sizeof c->name, "%s", m->name);
    snprintf(c->path, sizeof c->path, "%s", m->model[gpu->model].path);
}

/* The tables of a machine's GPUs take the place of cluster \a c's. */
static void take_tables(emp_cluster *c, const emp_device *gpu)
{
    emp_tables_release(c->measured.tables);
    c->measured = *gpu;
    emp_tables_hold(c->measured.tables);
    find_sustained(c);
}

/* The routes of a machine take the place of cluster \a c's, but for those that its file \a measured. */
static void take_routes(emp_cluster *c, const emp_machine *m, const emp_device_list *gpus,
                        bool measured)
{
    const emp_link_rate near = emp_ring_slowest(m, gpus, EMP_PAIRS_OF_ONE_HOST);
    const emp_link_rate far = emp_ring_slowest(m, gpus, EMP_PAIRS_OF_TWO_HOSTS);
    const double        measured_rate = c->link[EMP_LINK_ALL_TO_ALL].bytes_per_s;

    if (isfinite(near.bytes_per_s) &&
        !(measured && emp_ring_is_as_measured(near.bytes_per_s, measured_rate))) {
        for (int32_t i = 0; i < EMP_LINKS; i++) c->link[i] = near;
        c->is_mesh = emp_ring_is_mesh(m, gpus);
    }
    c->domain = emp_ring_common_near(m, gpus);
    if (isfinite(far.bytes_per_s)) c->network = far;
}

#define TEMPLATE "h100" /* whose ratios hold for GPUs that no cluster has */

/* The cluster of the GPUs of a machine that are of one model. */
static emp_status load_alike(emp_cluster **out, const emp_machine *m, emp_device_id first,
                             emp_error *err)
{
    const emp_device_list gpus = alike(m, first), all = emp_ring_gpus(m);
    char                  path[512];

    EMP_CHECK(find_by_model(out, m->model[m->device[first].model].name, err));
    const bool is_measured = *out != NULL;
    if (!is_measured) {
        emp_config_path(path, sizeof path, "clusters", TEMPLATE);
        EMP_CHECK(load_path(out, path, err));
        (*out)->has_own_kernels = false;
        (*out)->kernel_rate = 1.0;
    }
    if (!is_measured || strcmp((*out)->measured.name, (*out)->gpu.name) == 0)
        take_tables(*out, &m->device[first]);
    take_gpus(*out, m, first);
    take_routes(*out, m, &gpus, is_measured);
    (*out)->gpus = gpus.count;
    (*out)->host = host_of(m, &all, first);
    return EMP_OK;
}

static emp_status load_by_machine(emp_cluster **out, const emp_machine *m, emp_error *err)
{
    emp_device_id gpu[EMP_MAX_DEVICES];
    const int32_t count = emp_machine_list(m, EMP_DEVICE_GPU, gpu);

    if (count == 0)
        return EMP_ERROR(
            EMP_EINVAL, "machine %s has no GPU; training in parallel needs one", m->name);
    for (int32_t i = 0; i < count; i++)
        if (m->device[gpu[i]].model != m->device[gpu[0]].model)
            return EMP_ERROR(EMP_EUNSUPPORTED,
                             "GPUs of machine %s are of the models %s and %s; a step is "
                             "simulated on GPUs that are alike, and emplace plan shares "
                             "it out among others",
                             m->name, m->model[m->device[gpu[0]].model].name,
                             m->model[m->device[gpu[i]].model].name);
    return load_alike(out, m, gpu[0], err);
}

/* Whether a file has a key of clusters that machines have not. */
static bool is_cluster(const char *path)
{
    char  line[256];
    bool  has_kernels = false;
    FILE *file = fopen(path, "r");

    while (file != NULL && !has_kernels && fgets(line, sizeof line, file) != NULL)
        has_kernels = strncmp(line, "kernels:", strlen("kernels:")) == 0;
    if (file != NULL) fclose(file);
    return has_kernels;
}

/* Loads a cluster, or else a machine; the other one is NULL. */
static emp_status load_either(emp_cluster **cluster, emp_machine **machine,
                              const char *name_or_path, emp_error *err)
{
    emp_error why = {0};
    char      path[512], known[256];

    *cluster = NULL;
    *machine = NULL;
    emp_config_path(path, sizeof path, "clusters", name_or_path);
    if (is_cluster(path)) return load_path(cluster, path, err);
    const emp_status st = emp_machine_load(machine, name_or_path, &why);
    if (st == EMP_OK) return EMP_OK;
    if (st != EMP_EIO) return EMP_ERROR(st, "%s", why.msg);
    emp_data_list(known, sizeof known, "clusters");
    return EMP_ERROR(st, "%s is neither a cluster nor a machine; clusters: %s",
                     name_or_path, known);
}

emp_status emp_cluster_load(emp_cluster **out, const char *name_or_path, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_machine *machine;

    EMP_CHECK(load_either(out, &machine, name_or_path, err));
    if (machine != NULL) st = load_by_machine(out, machine, err);
    emp_machine_destroy(machine);
    return st;
}

/* ---- fleets ---- */

/* GPUs of different models have the slowest route of all between them. Groups of ranks lie in one domain where all GPUs are in
 * one host, and else in domains of the smallest number of GPUs of one model in a host. */
static void join(emp_fleet *f, const emp_machine *m)
{
    const emp_device_list gpus = emp_ring_gpus(m);
    const emp_link_rate   slowest = emp_ring_slowest(m, &gpus, EMP_PAIRS_ALL);
    const bool            is_one_host = emp_ring_most_near(m, &gpus) == gpus.count;
    int32_t               least = gpus.count;

    for (int32_t k = 0; k < f->count; k++)
        if (f->kind[k]->domain < least) least = f->kind[k]->domain;
    for (int32_t i = 0; i < EMP_LINKS; i++) f->all->link[i] = slowest;
    f->all->is_mesh = false;
    f->all->network = slowest;
    f->all->gpus = gpus.count;
    f->all->domain = is_one_host ? gpus.count : least;
    f->all->measured.tables = NULL;
    for (int32_t k = 0; k < f->count; k++) {
        emp_cluster *kind = f->kind[k];
        for (int32_t i = 0; i < EMP_LINKS && kind->gpus == 1; i++)
            kind->link[i] = slowest;
        if (is_one_host) kind->domain = gpus.count;
    }
}

static emp_status fill_fleet(emp_fleet *out, const emp_machine *m, emp_error *err)
{
    emp_device_id gpu[EMP_MAX_DEVICES];
    const int32_t count = emp_machine_list(m, EMP_DEVICE_GPU, gpu);

    for (int32_t i = 0; i < count; i++) {
        bool is_new = true;
        for (int32_t k = 0; k < i; k++)
            is_new &= m->device[gpu[k]].model != m->device[gpu[i]].model;
        if (!is_new) continue;
        if (out->count == EMP_FLEET_MAX)
            return EMP_ERROR(EMP_EUNSUPPORTED, "GPUs of more than %d models",
                             EMP_FLEET_MAX);
        EMP_CHECK(load_alike(&out->kind[out->count++], m, gpu[i], err));
    }
    if (out->count < 2) return load_by_machine(&out->all, m, err);
    EMP_CHECK(load_alike(&out->all, m, gpu[0], err));
    emp_tables_release(out->all->measured.tables);
    join(out, m);
    return EMP_OK;
}

emp_status emp_fleet_load(emp_fleet *out, const char *name_or_path, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_machine *machine;

    EMP_CHECK(load_either(&out->all, &machine, name_or_path, err));
    if (machine != NULL) st = fill_fleet(out, machine, err);
    emp_machine_destroy(machine);
    return st;
}

void emp_fleet_clear(emp_fleet *fleet)
{
    for (int32_t k = 0; k < fleet->count; k++) emp_cluster_destroy(fleet->kind[k]);
    emp_cluster_destroy(fleet->all);
    *fleet = (emp_fleet){0};
}

void emp_cluster_destroy(emp_cluster *cluster)
{
    if (cluster == NULL) return;
    emp_tables_release(cluster->measured.tables);
    emp_free(cluster->point);
    emp_free(cluster);
}
