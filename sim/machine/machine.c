// SPDX-License-Identifier: GPL-3.0-or-later
/* Machine files: data/machines/NAME.yaml names device models (models/MODEL.yaml) and the
 * tree that connects the devices. */
#include "sim/machine/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text/nearest.h"
#include "sim/machine/bundle.h"
#include "sim/machine/config.h"
#include "sim/machine/fit.h"
#include "sim/machine/giph.h"
#include "sim/machine/topology_internal.h"

/* type of the raw struct, key in the file, kind, member of struct model */
#define GPU_FIELDS(X, type)                                              \
    X(type, memory, BYTES, device.memory_bytes)                          \
    X(type, peak, FLOPS_PER_S, device.peak_flops_per_s)                  \
    X(type, multiprocessors, COUNT, device.multiprocessors)              \
    X(type, clock, HERTZ, device.clock_hz)                               \
    X(type, stream, BYTES_PER_S, device.memory_bytes_per_s)              \
    X(type, gemm_clock, HERTZ, gemm_clock_hz)                            \
    X(type, gemm_base, SECONDS, device.gemm_base_s)                      \
    X(type, gemm_per_k, SECONDS, device.gemm_per_k_s)                    \
    X(type, gemm_per_wave, SECONDS, device.gemm_per_wave_s)              \
    X(type, gemm_tile_rows, COUNT, device.gemm_tile_rows)                \
    X(type, conv_tile_rows, COUNT, device.conv_tile_rows)                \
    X(type, split_limit, COUNT, device.split_limit)                      \
    X(type, skinny_factor, RATIO, device.gemm_skinny_factor)             \
    X(type, skinny_limit, COUNT_OR_0, device.gemm_skinny_limit)          \
    X(type, split_least, COUNT, device.gemm_split_least)                 \
    X(type, conv_factor, RATIO, device.conv_factor)                      \
    X(type, wide_factor, RATIO, device.conv_window_factor[0])            \
    X(type, wide_filter_factor, RATIO, device.conv_filter_factor[0])     \
    X(type, point_factor, RATIO, device.conv_window_factor[1])           \
    X(type, point_filter_factor, RATIO, device.conv_filter_factor[1])    \
    X(type, winograd_factor, RATIO, device.conv_window_factor[2])        \
    X(type, winograd_filter_factor, RATIO, device.conv_filter_factor[2]) \
    X(type, kernel_minimum, SECONDS, device.kernel_minimum_s)

#define CPU_FIELDS(X, type)                                       \
    X(type, memory, BYTES, device.memory_bytes)                   \
    X(type, peak, FLOPS_PER_S, device.peak_flops_per_s)           \
    X(type, cores, COUNT, device.cores)                           \
    X(type, clock, HERTZ, device.clock_hz)                        \
    X(type, gemm_core, FLOPS_PER_S, device.gemm_core_flops_per_s) \
    X(type, conv_core, FLOPS_PER_S, device.conv_core_flops_per_s) \
    X(type, scaling_exponent, RATIO, device.scaling_exponent)     \
    X(type, core_stream, BYTES_PER_S, device.core_bytes_per_s)    \
    X(type, bandwidth_cores, COUNT, device.bandwidth_cores)       \
    X(type, thread_cycles, RATIO, device.thread_cycles)           \
    X(type, cycles_per_byte, RATIO, device.cycles_per_byte)

#define CORE_FIELDS(X, type)                                    \
    X(type, op, SECONDS, device.core.op_s)                      \
    X(type, kernelless, SECONDS, device.core.kernelless_s)      \
    X(type, cache, BYTES, device.core.cache_bytes)              \
    X(type, cache_factor, RATIO, device.core.cache_factor)      \
    X(type, pack, BYTES_PER_S, device.core.pack_bytes_per_s)    \
    X(type, columns, HERTZ, device.core.columns_hz)             \
    X(type, columns_input, HERTZ, device.core.columns_input_hz) \
    X(type, light, HERTZ, device.core.light_hz)                 \
    X(type, divide, HERTZ, device.core.divide_hz)               \
    X(type, exp, HERTZ, device.core.exp_hz)                     \
    X(type, reduce, HERTZ, device.core.reduce_hz)               \
    X(type, move, HERTZ, device.core.move_hz)                   \
    X(type, transpose, HERTZ, device.core.transpose_hz)         \
    X(type, pool, HERTZ, device.core.pool_hz)                   \
    X(type, pool_grad, HERTZ, device.core.pool_grad_hz)         \
    X(type, norm, HERTZ, device.core.norm_hz)                   \
    X(type, softmax, HERTZ, device.core.softmax_hz)             \
    X(type, loss, HERTZ, device.core.loss_hz)                   \
    X(type, update, HERTZ, device.core.update_hz)

#define SHARING_FIELDS(X, type)                                 \
    X(type, beside_stream, RATIO, device.sharing.beside_stream) \
    X(type, beside_clock, RATIO, device.sharing.beside_clock)   \
    X(type, copy, BYTES_PER_S, device.sharing.copy_bytes_per_s) \
    X(type, hand_over, SECONDS, device.sharing.hand_over_s)

struct model {
    emp_device device;
    double     gemm_clock_hz; /* of the measurements behind the GEMM constants */
};

/* A field as a member of its raw struct, in its schema, and in the table that converts it. */
#define MEMBER(type, key, kind, member) char *key;
#define SCHEMA(type, key, kind, member) STRING(type, key, 0),
#define ROW(type, key, kind, member) \
    {#key, EMP_CONFIG_##kind, offsetof(type, key), offsetof(struct model, member)},

struct raw_gpu {
    GPU_FIELDS(MEMBER, )
};
struct raw_cpu {
    CPU_FIELDS(MEMBER, )
};
struct raw_core {
    CORE_FIELDS(MEMBER, )
};
struct raw_sharing {
    SHARING_FIELDS(MEMBER, )
};
struct raw_model {
    struct raw_gpu     *gpu;
    struct raw_cpu     *cpu;
    struct raw_core    *core;
    struct raw_sharing *sharing;
    struct emp_raw_fit *fit;
};

struct raw_node {
    char *name, *parent, *bandwidth, *latency;
};

struct raw_device {
    char *model, *at, *count, *bandwidth, *latency;
};

struct raw_link {
    char *bandwidth, *latency;
};

struct raw_machine {
    char              *description, *cores;
    struct raw_node   *nodes;
    unsigned           nodes_count;
    struct raw_device *devices;
    unsigned           devices_count;
    struct raw_link   *gpu_channel;
};

#define STRING(type, key, flags)                                             \
    CYAML_FIELD_STRING_PTR(#key, CYAML_FLAG_POINTER | (flags), type, key, 0, \
                           CYAML_UNLIMITED)

static const cyaml_schema_field_t gpu_schema[] = {GPU_FIELDS(SCHEMA, struct raw_gpu)
                                                      CYAML_FIELD_END};
static const cyaml_schema_field_t cpu_schema[] = {CPU_FIELDS(SCHEMA, struct raw_cpu)
                                                      CYAML_FIELD_END};
static const cyaml_schema_field_t core_schema[] = {CORE_FIELDS(SCHEMA, struct raw_core)
                                                       CYAML_FIELD_END};
static const cyaml_schema_field_t sharing_schema[] = {
    SHARING_FIELDS(SCHEMA, struct raw_sharing) CYAML_FIELD_END};
static const cyaml_schema_field_t model_fields[] = {
    CYAML_FIELD_MAPPING_PTR("gpu", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                            struct raw_model, gpu, gpu_schema),
    CYAML_FIELD_MAPPING_PTR("cpu", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                            struct raw_model, cpu, cpu_schema),
    CYAML_FIELD_MAPPING_PTR("core", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                            struct raw_model, core, core_schema),
    CYAML_FIELD_MAPPING_PTR("sharing", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                            struct raw_model, sharing, sharing_schema),
    EMP_FIT_FIELD(struct raw_model),
    CYAML_FIELD_END};
static const cyaml_schema_value_t model_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_model, model_fields)};

static const cyaml_schema_field_t node_fields[] = {
    STRING(struct raw_node, name, 0),
    STRING(struct raw_node, parent, CYAML_FLAG_OPTIONAL),
    STRING(struct raw_node, bandwidth, CYAML_FLAG_OPTIONAL),
    STRING(struct raw_node, latency, CYAML_FLAG_OPTIONAL), CYAML_FIELD_END};
static const cyaml_schema_value_t node_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_node, node_fields)};

static const cyaml_schema_field_t device_fields[] = {
    STRING(struct raw_device, model, 0),
    STRING(struct raw_device, at, 0),
    STRING(struct raw_device, count, CYAML_FLAG_OPTIONAL),
    STRING(struct raw_device, bandwidth, CYAML_FLAG_OPTIONAL),
    STRING(struct raw_device, latency, CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_END};
static const cyaml_schema_value_t device_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_device, device_fields)};

static const cyaml_schema_field_t link_fields[] = {STRING(struct raw_link, bandwidth, 0),
                                                   STRING(struct raw_link, latency, 0),
                                                   CYAML_FIELD_END};

static const cyaml_schema_field_t machine_fields[] = {
    STRING(struct raw_machine, description, 0),
    STRING(struct raw_machine, cores, CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_SEQUENCE("nodes", CYAML_FLAG_POINTER, struct raw_machine, nodes,
                         &node_schema, 1, EMP_MAX_NODES),
    CYAML_FIELD_SEQUENCE("devices", CYAML_FLAG_POINTER, struct raw_machine, devices,
                         &device_schema, 1, EMP_MAX_DEVICES),
    CYAML_FIELD_MAPPING_PTR("gpu_channel", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                            struct raw_machine, gpu_channel, link_fields),
    CYAML_FIELD_END};
static const cyaml_schema_value_t machine_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_machine, machine_fields)};

#define FIELD_COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

static const emp_config_field gpu_table[] = {GPU_FIELDS(ROW, struct raw_gpu)};
static const emp_config_field cpu_table[] = {CPU_FIELDS(ROW, struct raw_cpu)};
static const emp_config_field core_table[] = {CORE_FIELDS(ROW, struct raw_core)};
static const emp_config_field sharing_table[] = {SHARING_FIELDS(ROW, struct raw_sharing)};
/* The link of a node or device to its parent, in the order of struct raw_link. */
static const emp_config_field link_table[] = {
    {"bandwidth", EMP_CONFIG_BYTES_PER_S, offsetof(struct raw_link, bandwidth),
     offsetof(emp_link, bytes_per_s)},
    {"latency", EMP_CONFIG_SECONDS, offsetof(struct raw_link, latency),
     offsetof(emp_link, latency_s)},
};

/* What one load needs at hand. */
struct loader {
    emp_machine *machine;
    emp_config   config; /* the machine file */
    emp_topology topology;
    const char  *model_of_kind[EMP_DEVICE_KINDS]; /* the only one; borrowed, or NULL */
    const char  *bundle;      /* of all files; NULL = they are read from the disk */
    bool         has_no_text; /* a file is of a kind that no bundle holds */
};

static emp_status fail_at(const struct loader *l, const char *key, const char *value,
                          const char *what, emp_error *err)
{
    return emp_error_set(err, EMP_EFORMAT, __FILE__, __LINE__, "%s:%d: %s: '%s' %s",
                         l->config.path, emp_config_line(&l->config, key, value), key,
                         value, what);
}

/* Keeps what was read, for the machine's text. */
static emp_status keep_text(struct loader *l, const char *name, const emp_config *config,
                            emp_error *err)
{
    emp_error  why = {0};
    emp_status st = l->has_no_text ? EMP_OK
                                   : emp_bundle_add(&l->machine->text, name, config->text,
                                                    strlen(config->text), &why);

    if (st == EMP_ENOMEM) return EMP_ERROR(st, "%s", why.msg);
    if (st == EMP_OK) return EMP_OK;
    emp_free(l->machine->text);
    l->machine->text = NULL;
    l->has_no_text = true;
    return EMP_OK;
}

/* Reads a file from the disk, or from the bundle where it has that name. */
static emp_status open_config(struct loader *l, emp_config *config, const char *path,
                              const char *name, const cyaml_schema_value_t *schema,
                              emp_error *err)
{
    emp_bundle_file file;

    if (l->bundle == NULL)
        EMP_CHECK(emp_config_open(config, path, schema, err));
    else if (emp_bundle_find(l->bundle, name, &file))
        EMP_CHECK(emp_config_parse(config, name, file.text, file.size, schema, err));
    else
        return EMP_ERROR(EMP_EFORMAT, "the text of machine %s lacks the file %s",
                         l->machine->name, name);
    return keep_text(l, name, config, err);
}

/* A model file lies in models/ beside the machine file, else in the data folder. */
static void find_model(const struct loader *l, const char *model, char *path, size_t size)
{
    const char *slash = strrchr(l->config.path, '/');
    int         folder = slash == NULL ? 0 : (int)(slash - l->config.path) + 1;

    snprintf(path, size, "%.*smodels/%s.yaml", folder, l->config.path, model);
    if (access(path, R_OK) != 0) emp_config_path(path, size, "machines/models", model);
}

static emp_status refuse_model(const struct loader *l, const char *model, emp_error *err)
{
    char known[256], hint[EMP_NEAREST_BYTES], what[sizeof known + sizeof hint + 64];
    emp_nearest near = emp_nearest_begin(model, strlen(model), "");

    emp_data_list(known, sizeof known, "machines/models");
    emp_nearest_offer_list(&near, known);
    snprintf(what, sizeof what, "is no file in the folder models%s; known: %s",
             emp_nearest_hint(&near, hint), known);
    return fail_at(l, "model", model, what, err);
}

static void note_fitted_cells(emp_machine *m, const struct emp_raw_fit *fit)
{
    for (unsigned i = 0; fit != NULL && i < fit->cells_count; i++) {
        if (emp_machine_is_fitted_to(m, fit->cells[i].name)) continue;
        snprintf(m->fitted_cell[m->fitted_count++], EMP_FIT_NAME_BYTES, "%s",
                 fit->cells[i].name);
    }
}

/* The sections of a model that is made of cores. */
static emp_status read_cores(struct loader *l, const emp_config *config,
                             const struct raw_model *raw, struct model *model,
                             emp_error *err)
{
    emp_device *d = &model->device;

    if (raw->core != NULL) {
        EMP_CHECK(emp_config_convert(config, core_table, FIELD_COUNT(core_table),
                                     raw->core, model, &l->machine->hash, err));
        d->has_core = true;
    }
    if (raw->sharing == NULL) return EMP_OK;
    if (raw->gpu == NULL || raw->core == NULL)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:%d: sharing: needs the sections gpu and core beside it",
                         config->path, emp_config_line(config, "sharing", ""));
    EMP_CHECK(emp_config_convert(config, sharing_table, FIELD_COUNT(sharing_table),
                                 raw->sharing, model, &l->machine->hash, err));
    if (d->sharing.beside_stream < 1.0 || d->sharing.beside_clock < 1.0)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:%d: sharing: beside_stream and beside_clock are at least 1",
                         config->path, emp_config_line(config, "sharing", ""));
    d->has_sharing = true;
    return EMP_OK;
}

static emp_status load_model(struct loader *l, const char *name, emp_device *device,
                             emp_error *err)
{
    emp_status   st = EMP_OK;
    char         path[512], inside[EMP_BUNDLE_NAME_BYTES];
    emp_config   config = {0};
    struct model model = {0};

    snprintf(inside, sizeof inside, "models/%s.yaml", name);
    find_model(l, name, path, sizeof path);
    if (l->bundle == NULL && access(path, R_OK) != 0) {
        st = refuse_model(l, name, err);
        goto cleanup;
    }
    EMP_TRY(open_config(l, &config, path, inside, &model_schema, err));
    const struct raw_model *raw = config.data;
    if ((raw->gpu == NULL) == (raw->cpu == NULL)) {
        EMP_FAIL(EMP_EFORMAT, "%s:1: needs exactly one of the keys gpu and cpu", path);
    }
    if (raw->gpu != NULL) {
        EMP_TRY(emp_config_convert(&config, gpu_table, FIELD_COUNT(gpu_table), raw->gpu,
                                   &model, &l->machine->hash, err));
        double scale = model.gemm_clock_hz / model.device.clock_hz;
        model.device.kind = EMP_DEVICE_GPU;
        model.device.gemm_base_s *= scale;
        model.device.gemm_per_k_s *= scale;
        model.device.gemm_per_wave_s *= scale;
    } else {
        EMP_TRY(emp_config_convert(&config, cpu_table, FIELD_COUNT(cpu_table), raw->cpu,
                                   &model, &l->machine->hash, err));
        model.device.kind = EMP_DEVICE_CPU;
        model.device.memory_bytes_per_s =
            model.device.core_bytes_per_s * model.device.bandwidth_cores;
        if (model.device.cores > EMP_MAX_CORES) {
            EMP_FAIL(EMP_EFORMAT, "%s:%d: cores is %d, at most %d", path,
                     emp_config_line(&config, "cores", ""), model.device.cores,
                     EMP_MAX_CORES);
        }
    }
    EMP_TRY(read_cores(l, &config, raw, &model, err));
    *device = model.device;
    if (raw->fit != NULL && strcmp(l->machine->model_path[device->kind], path) != 0)
        l->machine->fitted_constants += (int32_t)raw->fit->constants_count;
    snprintf(l->machine->model_path[device->kind], sizeof l->machine->model_path[0], "%s",
             path);
    note_fitted_cells(l->machine, raw->fit);

cleanup:
    emp_config_close(&config);
    return st;
}

static int32_t find_node(const struct loader *l, const char *name)
{
    for (int32_t i = 0; i < l->topology.node_count; i++) {
        if (strcmp(l->topology.node[i].name, name) == 0) return i;
    }
    return -1;
}

/* A vertex may hang on its parent free of charge, or by a link of both. */
static emp_status check_link(const struct loader *l, const char *key, const char *value,
                             const struct raw_link *raw, emp_error *err)
{
    if ((raw->bandwidth == NULL) == (raw->latency == NULL)) return EMP_OK;
    return fail_at(l, key, value, "needs both bandwidth and latency, or neither", err);
}

static emp_status add_node(struct loader *l, const char *name, int32_t parent,
                           const struct raw_link *raw, emp_error *err)
{
    emp_link           link = {0};
    emp_topology_node *node = &l->topology.node[l->topology.node_count];

    *node = (emp_topology_node){.name = name, .parent = parent, .up = -1, .down = -1};
    if (raw->bandwidth != NULL) {
        EMP_CHECK(emp_config_convert(&l->config, link_table, FIELD_COUNT(link_table), raw,
                                     &link, &l->machine->hash, err));
        EMP_CHECK(emp_topology_add_link(l->machine, name, " up", link.bytes_per_s,
                                        link.latency_s, &node->up, err));
        EMP_CHECK(emp_topology_add_link(l->machine, name, " down", link.bytes_per_s,
                                        link.latency_s, &node->down, err));
    }
    l->topology.node_count++;
    return EMP_OK;
}

static emp_status add_inner_nodes(struct loader *l, emp_error *err)
{
    const struct raw_machine *raw = l->config.data;

    for (unsigned i = 0; i < raw->nodes_count; i++) {
        const struct raw_node *n = &raw->nodes[i];
        int32_t                parent = n->parent == NULL ? -1 : find_node(l, n->parent);
        if (find_node(l, n->name) >= 0) {
            return fail_at(l, "name", n->name, "is there twice", err);
        }
        if (n->parent != NULL && parent < 0) {
            return fail_at(l, "parent", n->parent, "is no node listed above", err);
        }
        struct raw_link link = {n->bandwidth, n->latency};
        EMP_CHECK(check_link(l, "name", n->name, &link, err));
        EMP_CHECK(add_node(l, n->name, parent, &link, err));
    }
    return EMP_OK;
}

static emp_status add_device(struct loader *l, const emp_device *model, int32_t parent,
                             const struct raw_device *raw, emp_error *err)
{
    emp_machine *m = l->machine;

    if (m->device_count == EMP_MAX_DEVICES) {
        return EMP_ERROR(EMP_EFORMAT, "%s: more than %d devices", l->config.path,
                         EMP_MAX_DEVICES);
    }
    emp_device *device = &m->device[m->device_count];
    int32_t     number = emp_machine_count(m, model->kind);
    *device = *model;
    snprintf(device->name, sizeof device->name, "%s:%d",
             model->kind == EMP_DEVICE_GPU ? "gpu" : "cpu", number);
    l->topology.leaf_of_device[m->device_count] = l->topology.node_count;
    m->hash = emp_hash_bytes(m->hash, device->name, strlen(device->name));
    EMP_CHECK(add_node(l, device->name, parent,
                       &(struct raw_link){raw->bandwidth, raw->latency}, err));
    m->device_count++;
    return EMP_OK;
}

/* Costs are computed once for all CPUs, and once for all GPUs. */
static emp_status check_device(struct loader *l, const struct raw_device *d,
                               emp_device_kind kind, int32_t count, emp_error *err)
{
    const char **model = &l->model_of_kind[kind];

    if (l->machine->device_count == 0 && kind != EMP_DEVICE_CPU)
        return fail_at(l, "model", d->model, "is out of place: a CPU comes first", err);
    if (kind == EMP_DEVICE_CPU && count != 1) {
        return fail_at(l, "count", d->count,
                       "must be 1 of a CPU; every host lists its own", err);
    }
    if (*model == NULL) *model = d->model;
    if (strcmp(d->model, *model) == 0) return EMP_OK;
    return fail_at(l, "model", d->model,
                   kind == EMP_DEVICE_GPU
                       ? "is a second GPU model; all GPUs of a machine are of one"
                       : "is a second CPU model; all CPUs of a machine are of one",
                   err);
}

static emp_status add_devices(struct loader *l, emp_error *err)
{
    const struct raw_machine *raw = l->config.data;

    for (unsigned i = 0; i < raw->devices_count; i++) {
        const struct raw_device *d = &raw->devices[i];
        emp_device               model = {0};
        int32_t                  count = 1, parent = find_node(l, d->at);
        const emp_config_field   count_field = {"count", EMP_CONFIG_COUNT,
                                                offsetof(struct raw_device, count), 0};
        if (parent < 0) return fail_at(l, "at", d->at, "is no node", err);
        if (d->count != NULL) {
            EMP_CHECK(emp_config_convert(&l->config, &count_field, 1, d, &count,
                                         &l->machine->hash, err));
        }
        EMP_CHECK(check_link(l, "model", d->model,
                             &(struct raw_link){d->bandwidth, d->latency}, err));
        EMP_CHECK(load_model(l, d->model, &model, err));
        EMP_CHECK(check_device(l, d, model.kind, count, err));
        for (int32_t k = 0; k < count; k++)
            EMP_CHECK(add_device(l, &model, parent, d, err));
    }
    return EMP_OK;
}

static emp_status read_core_count(struct loader *l, emp_error *err)
{
    const emp_config_field field = {"cores", EMP_CONFIG_COUNT,
                                    offsetof(struct raw_machine, cores), 0};
    emp_machine           *m = l->machine;

    if (((const struct raw_machine *)l->config.data)->cores == NULL) return EMP_OK;
    EMP_CHECK(emp_config_convert(&l->config, &field, 1, l->config.data, &m->core_count,
                                 &m->hash, err));
    if (emp_machine_count(m, EMP_DEVICE_CPU) > 1)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:%d: cores: are those of one computer, not of %d",
                         l->config.path, emp_config_line(&l->config, "cores", ""),
                         emp_machine_count(m, EMP_DEVICE_CPU));
    return EMP_OK;
}

static emp_status find_hosts(struct loader *l, emp_error *err)
{
    emp_device_id lost = emp_topology_find_hosts(l->machine, &l->topology);

    if (lost < 0) return EMP_OK;
    const emp_topology_node *node = l->topology.node;
    return fail_at(l, "at", node[node[l->topology.leaf_of_device[lost]].parent].name,
                   "leads to no single CPU: a GPU hangs below a node of one host", err);
}

/* Every host has its own. */
static emp_status add_gpu_channels(struct loader *l, emp_error *err)
{
    const struct raw_machine *raw = l->config.data;
    emp_machine              *m = l->machine;
    emp_link                  link = {0};
    bool                      is_alone = emp_machine_count(m, EMP_DEVICE_CPU) == 1;

    EMP_CHECK(emp_config_convert(&l->config, link_table, FIELD_COUNT(link_table),
                                 raw->gpu_channel, &link, &m->hash, err));
    for (emp_device_id d = 0; d < m->device_count; d++) {
        if (m->device[d].kind != EMP_DEVICE_CPU) continue;
        EMP_CHECK(emp_topology_add_link(m, is_alone ? "" : m->device[d].name,
                                        is_alone ? "gpu channel" : " gpu channel",
                                        link.bytes_per_s, link.latency_s,
                                        &l->topology.gpu_channel[d], err));
    }
    return EMP_OK;
}

static void hash_hosts(emp_machine *m)
{
    if (emp_machine_count(m, EMP_DEVICE_CPU) == 1) return;
    for (emp_device_id d = 0; d < m->device_count; d++)
        m->hash = emp_hash_u64(m->hash, (uint64_t)m->device[d].host);
}

static void hash_routes(emp_machine *m)
{
    for (int32_t i = 0; i < m->device_count; i++) {
        for (int32_t j = 0; j < m->device_count; j++) {
            m->hash = emp_hash_u64(m->hash, (uint64_t)m->route[i][j].link_count);
            for (int32_t k = 0; k < m->route[i][j].link_count; k++) {
                m->hash = emp_hash_u64(m->hash, (uint64_t)m->route[i][j].link[k]);
            }
        }
    }
}

const char *const *emp_machine_names(int32_t *count)
{
    static const char *const names[] = {"k40x1", "k40x2",   "k40x4",
                                        "k40x8", "k40x4x2", "k40x7x8",
                                        "k80x1", "cpu2",    "cpu2-slow"};

    *count = (int32_t)(sizeof names / sizeof names[0]);
    return names;
}

static emp_status fail_unknown(const char *name, const char *path, emp_error *err)
{
    int32_t            count;
    const char *const *names = emp_machine_names(&count);
    char               known[128] = "", hint[EMP_NEAREST_BYTES];
    int                cause = errno;
    emp_nearest        near = emp_nearest_begin(name, strlen(name), "");

    for (int32_t i = 0; i < count; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i == 0 ? "" : ", ", names[i]);
        emp_nearest_offer(&near, names[i], strlen(names[i]));
    }
    return emp_error_set(err, EMP_EIO, __FILE__, __LINE__,
                         "no machine '%s'%s (%s: %s); known: %s", name,
                         emp_config_hint(&near, hint), path, strerror(cause), known);
}

static void name_after_file(char *name, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(base, '.');

    snprintf(name, size, "%.*s", (int)(dot == NULL ? strlen(base) : (size_t)(dot - base)),
             base);
}

/* All of a machine, after its name is known. */
static emp_status read_machine(struct loader *l, const char *path, emp_error *err)
{
    emp_machine *m = l->machine;
    char         inside[EMP_BUNDLE_NAME_BYTES];

    snprintf(inside, sizeof inside, "%s.yaml", m->name);
    EMP_CHECK(open_config(l, &l->config, path, inside, &machine_schema, err));
    const struct raw_machine *raw = l->config.data;
    m->hash = EMP_HASH_SEED;
    snprintf(m->description, sizeof m->description, "%s", raw->description);
    EMP_CHECK(add_inner_nodes(l, err));
    EMP_CHECK(add_devices(l, err));
    EMP_CHECK(read_core_count(l, err));
    EMP_CHECK(find_hosts(l, err));
    memset(l->topology.gpu_channel, -1, sizeof l->topology.gpu_channel);
    if (raw->gpu_channel != NULL) EMP_CHECK(add_gpu_channels(l, err));
    emp_error why = {0};
    if (emp_topology_route_all(m, &l->topology, &why) != EMP_OK)
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: %s", l->config.path,
                         emp_config_line(&l->config, "devices", ""), why.msg);
    hash_hosts(m);
    hash_routes(m);
    return EMP_OK;
}

/* From the disk, or from a bundle. \a path names the machine. */
static emp_status load(emp_machine **out, const char *path, const char *bundle,
                       emp_error *err)
{
    emp_status     st = EMP_OK;
    struct loader *l = NULL;

    *out = NULL;
    EMP_TRY(EMP_ALLOC(l, 1));
    EMP_TRY(EMP_ALLOC(l->machine, 1));
    l->bundle = bundle;
    name_after_file(l->machine->name, sizeof l->machine->name, path);
    EMP_TRY(read_machine(l, path, err));
    *out = l->machine;
    l->machine = NULL;

cleanup:
    if (l != NULL) {
        emp_config_close(&l->config);
        emp_machine_destroy(l->machine);
        emp_free(l);
    }
    return st;
}

emp_status emp_machine_load(emp_machine **out, const char *name_or_path, emp_error *err)
{
    char path[512];

    EMP_NEED(out);
    *out = NULL;
    EMP_NEED(name_or_path);
    if (emp_giph_machine_is(name_or_path))
        return emp_giph_machine_create(out, name_or_path, err);
    emp_config_path(path, sizeof path, "machines", name_or_path);
    if (access(path, R_OK) != 0) return fail_unknown(name_or_path, path, err);
    return load(out, path, NULL, err);
}

emp_status emp_machine_parse(emp_machine **out, const char *text, emp_error *err)
{
    const char     *at = text;
    emp_bundle_file file, first;

    *out = NULL;
    if (!emp_bundle_next(&at, &first))
        return EMP_ERROR(EMP_EFORMAT, "the text of a machine does not begin with a file");
    while (emp_bundle_next(&at, &file)) continue;
    if (*at != '\0')
        return EMP_ERROR(EMP_EFORMAT, "the text of machine %s is damaged", first.name);
    return load(out, first.name, text, err);
}

emp_machine *emp_machine_copy(const emp_machine *machine)
{
    emp_machine *copy = EMP_NEW(emp_machine);

    if (copy == NULL) return NULL;
    *copy = *machine;
    copy->text = NULL;
    return copy;
}

void emp_machine_destroy(emp_machine *machine)
{
    if (machine != NULL) emp_free(machine->text);
    emp_free(machine);
}

const emp_device *emp_machine_first(const emp_machine *machine, emp_device_kind kind)
{
    for (int32_t i = 0; i < machine->device_count; i++) {
        if (machine->device[i].kind == kind) return &machine->device[i];
    }
    return NULL;
}

int32_t emp_machine_count(const emp_machine *machine, emp_device_kind kind)
{
    int32_t count = 0;

    for (int32_t i = 0; i < machine->device_count; i++)
        count += machine->device[i].kind == kind;
    return count;
}

int32_t emp_machine_list(const emp_machine *machine, emp_device_kind kind,
                         emp_device_id device[EMP_MAX_DEVICES])
{
    int32_t count = 0;

    for (emp_device_id d = 0; d < machine->device_count; d++)
        if (machine->device[d].kind == kind) device[count++] = d;
    return count;
}

bool emp_machine_is_fitted_to(const emp_machine *machine, const char *cell)
{
    for (int32_t i = 0; i < machine->fitted_count; i++) {
        if (strcmp(machine->fitted_cell[i], cell) == 0) return true;
    }
    return false;
}

emp_device_id emp_machine_find(const emp_machine *machine, const char *name)
{
    if (machine == NULL || name == NULL) return -1;
    for (int32_t i = 0; i < machine->device_count; i++) {
        if (strcmp(machine->device[i].name, name) == 0) return i;
    }
    return -1;
}
