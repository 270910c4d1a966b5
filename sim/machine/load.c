// SPDX-License-Identifier: GPL-3.0-or-later
/* Machine files: data/machines/NAME.yaml names device models (models/MODEL.yaml) and the
 * tree that connects the devices. */
#include "sim/machine/machine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/nearest.h"
#include "base/text/text.h"
#include "sim/machine/card.h"
#include "sim/machine/config.h"
#include "sim/machine/model.h"
#include "sim/machine/topology.h"

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
    emp_raw_fabric    *fabrics;
    unsigned           fabrics_count;
};

#define STRING(type, key, flags)                                             \
    CYAML_FIELD_STRING_PTR(#key, CYAML_FLAG_POINTER | (flags), type, key, 0, \
                           CYAML_UNLIMITED)

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
    EMP_FABRICS_FIELD(struct raw_machine),
    CYAML_FIELD_END};
static const cyaml_schema_value_t machine_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_machine, machine_fields)};

#define FIELD_COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

/* The link of a node or device to its parent, in the order of struct raw_link. */
static const emp_config_field link_table[] = {
    {"bandwidth", EMP_CONFIG_BYTES_PER_S, offsetof(struct raw_link, bandwidth),
     offsetof(emp_link, bytes_per_s)},
    {"latency", EMP_CONFIG_SECONDS, offsetof(struct raw_link, latency),
     offsetof(emp_link, latency_s)},
};

/* The state of one load. */
struct loader {
    emp_machine *machine;
    emp_config   config; /* the machine file */
    emp_topology topology;
    emp_source   source;
};

static emp_status fail_at(const struct loader *l, const char *key, const char *value,
                          const char *what, emp_error *err)
{
    return emp_error_set(err, EMP_EFORMAT, __FILE__, __LINE__, "%s:%d: %s: '%s' %s",
                         l->config.path, emp_config_line(&l->config, key, value), key,
                         value, what);
}

static void note_fitted_cells(emp_machine *m, const emp_device_model *model)
{
    for (int32_t i = 0; i < model->fitted_count; i++) {
        if (emp_machine_is_fitted_to(m, model->fitted_cell[i])) continue;
        snprintf(m->fitted_cell[m->fitted_count++], EMP_FIT_NAME_BYTES, "%s",
                 model->fitted_cell[i]);
    }
}

/* Adds the model of an entry to the machine's if the entry is its first. */
static emp_status note_model(struct loader *l, const char *name, emp_device_model *model,
                             emp_error *err)
{
    emp_machine *m = l->machine;
    int32_t     *number = &model->device.model;

    for (*number = 0; *number < m->model_count; ++*number)
        if (strcmp(m->model[*number].path, model->path) == 0) return EMP_OK;
    if (m->model_count == EMP_MAX_MODELS)
        return fail_at(l, "model", name, "is one device model too many; 16 at most", err);
    emp_machine_model *to = &m->model[m->model_count++];
    to->kind = model->device.kind;
    snprintf(to->name, sizeof to->name, "%.*s", (int)sizeof to->name - 1, name);
    snprintf(to->path, sizeof to->path, "%s", model->path);
    to->card = model->card;
    to->derived = model->derived;
    m->fitted_constants += model->fitted_constants;
    note_fitted_cells(m, model);
    return EMP_OK;
}

/* Clear the model, whatever this returns. */
static emp_status load_model(struct loader *l, const char *name, emp_device_model *model,
                             emp_error *err)
{
    emp_machine *m = l->machine;
    char         path[512], why[512];
    bool is_there = emp_device_model_find(path, sizeof path, l->config.path, name);

    if (l->source.bundle == NULL && !is_there) {
        emp_device_model_refuse(why, sizeof why, l->config.path, name);
        return fail_at(l, "model", name, why, err);
    }
    EMP_CHECK(emp_device_model_read(model, &l->source, path, name, &m->hash, err));
    return note_model(l, name, model, err);
}

static int32_t find_node(const struct loader *l, const char *name)
{
    for (int32_t i = 0; i < l->topology.node_count; i++) {
        if (strcmp(l->topology.node[i].name, name) == 0) return i;
    }
    return -1;
}

/* For a name that no node has: the nodes listed so far, without the devices. */
static emp_status fail_node(const struct loader *l, const char *key, const char *name,
                            const char *what, emp_error *err)
{
    const struct raw_machine *raw = l->config.data;
    char                      array[256] = "", hint[EMP_NEAREST_BYTES], why[400];
    emp_text                  nodes = {array, sizeof array, 0};
    emp_nearest               near = emp_nearest_begin(name, strlen(name), "");

    for (int32_t i = 0; i < l->topology.node_count && i < (int32_t)raw->nodes_count;
         i++) {
        const char *known = l->topology.node[i].name;
        emp_nearest_offer(&near, known, strlen(known));
        if (nodes.used + strlen(known) + sizeof "; known: " > sizeof array) continue;
        emp_text_add(&nodes, "%s%s", nodes.used == 0 ? "; known: " : ", ", known);
    }
    snprintf(why, sizeof why, "%s%s%s", what, emp_nearest_hint(&near, hint), array);
    return fail_at(l, key, name, why, err);
}

/* A vertex may hang on its parent free of charge, or by a link of both. */
static emp_status check_link(const struct loader *l, const char *key, const char *value,
                             const struct raw_link *raw, emp_error *err)
{
    if ((raw->bandwidth == NULL) == (raw->latency == NULL)) return EMP_OK;
    return fail_at(l, key, value, "needs both bandwidth and latency, or neither", err);
}

/* The pair of links between a vertex and its parent. */
static emp_status add_links(struct loader *l, emp_topology_node *node,
                            const emp_link *link, emp_error *err)
{
    emp_machine *m = l->machine;

    EMP_CHECK(emp_topology_add_link(m, node->name, " up", link->bytes_per_s,
                                    link->latency_s, &node->up, err));
    EMP_CHECK(emp_topology_add_link(m, node->name, " down", link->bytes_per_s,
                                    link->latency_s, &node->down, err));
    m->link[node->up].is_derived = m->link[node->down].is_derived = link->is_derived;
    return EMP_OK;
}

/* Hangs a vertex on its parent; \a link NULL: free of charge. */
static emp_status add_node(struct loader *l, const char *name, int32_t parent,
                           const emp_link *link, emp_error *err)
{
    emp_topology_node *node = &l->topology.node[l->topology.node_count];

    *node = (emp_topology_node){.name = name, .parent = parent, .up = -1, .down = -1};
    if (link != NULL) EMP_CHECK(add_links(l, node, link, err));
    l->topology.node_count++;
    return EMP_OK;
}

/* The link that the file states. */
static emp_status read_link(struct loader *l, const struct raw_link *raw, emp_link *link,
                            emp_error *err)
{
    return emp_config_convert(&l->config, link_table, FIELD_COUNT(link_table), raw, link,
                              &l->machine->hash, err);
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
            return fail_node(l, "parent", n->parent, "is no node listed above", err);
        }
        struct raw_link stated = {n->bandwidth, n->latency};
        emp_link        link = {0};
        EMP_CHECK(check_link(l, "name", n->name, &stated, err));
        if (n->bandwidth != NULL) EMP_CHECK(read_link(l, &stated, &link, err));
        EMP_CHECK(add_node(l, n->name, parent, n->bandwidth == NULL ? NULL : &link, err));
    }
    return EMP_OK;
}

static emp_status add_device(struct loader *l, const emp_device *model, int32_t parent,
                             const struct raw_device *raw, emp_error *err)
{
    const struct raw_link stated = {raw->bandwidth, raw->latency};
    emp_machine          *m = l->machine;
    emp_link              link = {0};

    if (m->device_count == EMP_MAX_DEVICES) {
        return EMP_ERROR(EMP_EFORMAT, "%s: more than %d devices", l->config.path,
                         EMP_MAX_DEVICES);
    }
    emp_device *device = &m->device[m->device_count];
    int32_t     number = emp_machine_count(m, model->kind);
    *device = *model;
    emp_tables_hold(device->tables);
    snprintf(device->name, sizeof device->name, "%s:%d",
             model->kind == EMP_DEVICE_GPU ? "gpu" : "cpu", number);
    l->topology.leaf_of_device[m->device_count] = l->topology.node_count;
    m->hash = emp_hash_bytes(m->hash, device->name, strlen(device->name));
    if (raw->bandwidth != NULL) EMP_CHECK(read_link(l, &stated, &link, err));
    EMP_CHECK(
        add_node(l, device->name, parent, raw->bandwidth == NULL ? NULL : &link, err));
    m->device_count++;
    return EMP_OK;
}

/* Whether two models are alike in what a run asks of groups of cores. */
static bool share_alike(const emp_device *a, const emp_device *b)
{
    return a->has_sharing == b->has_sharing && (!a->has_sharing || a->model == b->model);
}

static emp_status check_device(struct loader *l, const struct raw_device *d,
                               const emp_device *model, int32_t count, emp_error *err)
{
    const emp_device *first = emp_machine_first(l->machine, model->kind);

    if (l->machine->device_count == 0 && model->kind != EMP_DEVICE_CPU)
        return fail_at(l, "model", d->model, "is out of place: a CPU comes first", err);
    if (model->kind == EMP_DEVICE_CPU && count != 1) {
        return fail_at(l, "count", d->count,
                       "must be 1 of a CPU; every host lists its own", err);
    }
    if (first == NULL || share_alike(first, model)) return EMP_OK;
    return fail_at(l, "model", d->model,
                   "is a second GPU model; of GPUs with a section sharing there is one",
                   err);
}

/* The devices of one entry of the list. */
static emp_status add_entry(struct loader *l, const struct raw_device *d, emp_error *err)
{
    emp_status             st = EMP_OK;
    emp_device_model       model = {0};
    int32_t                count = 1, parent = find_node(l, d->at);
    const emp_config_field count_field = {"count", EMP_CONFIG_COUNT,
                                          offsetof(struct raw_device, count), 0};

    if (parent < 0) return fail_node(l, "at", d->at, "is no node", err);
    if (d->count != NULL) {
        EMP_CHECK(emp_config_convert(&l->config, &count_field, 1, d, &count,
                                     &l->machine->hash, err));
    }
    EMP_CHECK(check_link(l, "model", d->model,
                         &(struct raw_link){d->bandwidth, d->latency}, err));
    EMP_TRY(load_model(l, d->model, &model, err));
    EMP_TRY(check_device(l, d, &model.device, count, err));
    for (int32_t k = 0; k < count; k++)
        EMP_TRY(add_device(l, &model.device, parent, d, err));

cleanup:
    emp_device_model_clear(&model);
    return st;
}

static emp_status add_devices(struct loader *l, emp_error *err)
{
    const struct raw_machine *raw = l->config.data;

    for (unsigned i = 0; i < raw->devices_count; i++)
        EMP_CHECK(add_entry(l, &raw->devices[i], err));
    return EMP_OK;
}

/* The highest node that is free of charge to reach from a device. */
static int32_t free_root(const emp_topology *t, emp_device_id device)
{
    int32_t node = t->leaf_of_device[device];

    while (t->node[node].up < 0 && t->node[node].parent >= 0) node = t->node[node].parent;
    return node;
}

/* Whether no link lies between a device and another one. */
static bool lacks_link(const struct loader *l, const int32_t *root, emp_device_id device)
{
    const emp_machine *m = l->machine;

    if (m->device[device].kind != EMP_DEVICE_GPU) return false;
    if (l->topology.node[l->topology.leaf_of_device[device]].up >= 0) return false;
    for (emp_device_id d = 0; d < m->device_count; d++)
        if (d != device && root[d] == root[device]) return true;
    return false;
}

/* A GPU that no link would join to another device has the link of its model's bus, if there is
 * one. Without, such a file is refused, so that none of older programs becomes another machine. */
static emp_status add_bus_links(struct loader *l, emp_error *err)
{
    const struct raw_link none = {NULL, NULL};
    emp_machine          *m = l->machine;
    int32_t               root[EMP_MAX_DEVICES];

    for (emp_device_id d = 0; d < m->device_count; d++)
        root[d] = free_root(&l->topology, d);
    for (emp_device_id d = 0; d < m->device_count; d++) {
        emp_link link = {0};
        if (!lacks_link(l, root, d) ||
            !emp_card_link(&link, &m->device[d], &m->model[m->device[d].model].card))
            continue;
        EMP_CHECK(read_link(l, &none, &link, err)); /* which mixes it into the hash */
        EMP_CHECK(
            add_links(l, &l->topology.node[l->topology.leaf_of_device[d]], &link, err));
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

static emp_status fail_unknown(const char *name, const char *path, emp_error *err)
{
    char           known[320], hint[EMP_NEAREST_BYTES];
    int            cause = errno;
    emp_nearest    near = emp_nearest_begin(name, strlen(name), "");
    emp_data_names names;

    emp_data_find(&names, "machines");
    for (int32_t i = 0; i < names.count; i++)
        emp_nearest_offer(&near, names.name[i], strlen(names.name[i]));
    emp_data_list(known, sizeof known, "machines");
    return EMP_ERROR(EMP_EIO,
                     "no machine '%s'%s (%s: %s); emplace machines lists those there "
                     "are: %s",
                     name, emp_config_hint(&near, hint), path, strerror(cause), known);
}

static void name_after_file(char *name, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(base, '.');

    emp_text_copy(name, size, base, dot == NULL ? strlen(base) : (size_t)(dot - base));
}

/* All of a machine, after its name is known. */
static emp_status read_machine(struct loader *l, const char *path, emp_error *err)
{
    emp_machine *m = l->machine;
    char         inside[EMP_BUNDLE_NAME_BYTES];

    snprintf(inside, sizeof inside, "%s.yaml", m->name);
    EMP_CHECK(
        emp_source_open(&l->source, &l->config, path, inside, &machine_schema, err));
    const struct raw_machine *raw = l->config.data;
    m->hash = EMP_HASH_SEED;
    snprintf(m->description, sizeof m->description, "%s", raw->description);
    EMP_CHECK(add_inner_nodes(l, err));
    EMP_CHECK(add_devices(l, err));
    EMP_CHECK(add_bus_links(l, err));
    EMP_CHECK(read_core_count(l, err));
    EMP_CHECK(find_hosts(l, err));
    memset(l->topology.gpu_channel, -1, sizeof l->topology.gpu_channel);
    if (raw->gpu_channel != NULL) EMP_CHECK(add_gpu_channels(l, err));
    EMP_CHECK(emp_fabrics_add(m, &l->config, raw->fabrics, raw->fabrics_count, err));
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
    l->source.bundle = bundle;
    name_after_file(l->machine->name, sizeof l->machine->name, path);
    EMP_TRY(read_machine(l, path, err));
    l->machine->text = l->source.text;
    l->source.text = NULL;
    *out = l->machine;
    l->machine = NULL;

cleanup:
    if (l != NULL) {
        emp_config_close(&l->config);
        emp_free(l->source.text);
        emp_machine_destroy(l->machine);
        emp_free(l);
    }
    return st;
}

/* Whether a file begins as XML does. */
static bool is_xml(const char *path)
{
    FILE *file = fopen(path, "r");
    int   c = file == NULL ? EOF : fgetc(file);

    while (c == ' ' || c == '\n' || c == '\r' || c == '\t') c = fgetc(file);
    if (file != NULL) fclose(file);
    return c == '<';
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
    if (is_xml(path))
        return EMP_ERROR(EMP_EFORMAT,
                         "%s is XML, and a machine file is YAML; emplace machines import "
                         "--topology %s --out box.yaml makes one of what lstopo wrote",
                         path, path);
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
