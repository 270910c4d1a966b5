// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/topology.h"

#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/text/options.h"
#include "sim/machine/machine.h"

/* Not inlined: GCC would warn of names that this cuts off on purpose. */
__attribute__((noinline)) emp_status
emp_topology_add_link(emp_machine *machine, const char *name, const char *suffix,
                      double bytes_per_s, double latency_s, int32_t *link, emp_error *err)
{
    if (machine->link_count == EMP_MAX_LINKS) {
        return EMP_ERROR(EMP_EINVAL, "more than %d links", EMP_MAX_LINKS);
    }
    emp_link *l = &machine->link[machine->link_count];
    snprintf(l->name, sizeof l->name, "%s%s", name, suffix);
    l->bytes_per_s = bytes_per_s;
    l->latency_s = latency_s;
    *link = machine->link_count++;
    return EMP_OK;
}

/* A parent has a lower number than its children. */
static void count_cpus(const emp_machine *machine, emp_topology *t)
{
    for (int32_t i = 0; i < t->node_count; i++) {
        t->node[i].cpu_count = 0;
        t->node[i].cpu = -1;
    }
    for (emp_device_id d = 0; d < machine->device_count; d++) {
        if (machine->device[d].kind != EMP_DEVICE_CPU) continue;
        t->node[t->leaf_of_device[d]].cpu_count = 1;
        t->node[t->leaf_of_device[d]].cpu = d;
    }
    for (int32_t i = t->node_count - 1; i >= 0; i--) {
        if (t->node[i].parent < 0 || t->node[i].cpu < 0) continue;
        emp_topology_node *parent = &t->node[t->node[i].parent];
        parent->cpu_count += t->node[i].cpu_count;
        parent->cpu = t->node[i].cpu;
    }
}

static void find_network(emp_machine *machine, const emp_topology *t)
{
    for (int32_t i = 0; i < t->node_count; i++) {
        const emp_topology_node *node = &t->node[i];
        if (node->up < 0 || node->parent < 0) continue;
        if (t->node[node->parent].cpu_count < 2) continue;
        machine->link[node->up].is_network = true;
        machine->link[node->down].is_network = true;
    }
}

emp_device_id emp_topology_find_hosts(emp_machine *machine, emp_topology *topology)
{
    count_cpus(machine, topology);
    find_network(machine, topology);
    for (emp_device_id d = 0; d < machine->device_count; d++) {
        const emp_topology_node *node = &topology->node[topology->leaf_of_device[d]];
        while (node->cpu < 0 && node->parent >= 0) node = &topology->node[node->parent];
        if (node->cpu_count != 1) return d;
        machine->device[d].host = node->cpu;
    }
    return -1;
}

static int32_t depth_of(const emp_topology *t, int32_t node)
{
    int32_t depth = 0;

    for (; t->node[node].parent >= 0; node = t->node[node].parent) depth++;
    return depth;
}

static emp_status append(emp_route *route, int32_t link, emp_error *err)
{
    if (link < 0) return EMP_OK;
    if (route->link_count == EMP_MAX_ROUTE) {
        return EMP_ERROR(EMP_EINVAL, "a route of more than %d links", EMP_MAX_ROUTE);
    }
    route->link[route->link_count++] = link;
    return EMP_OK;
}

/* The links of the tree path in order: up from a, down to b. The way down is found from
 * its end, so it is collected first and appended backwards. */
static emp_status route_by_tree(const emp_topology *t, int32_t a, int32_t b,
                                emp_route *route, emp_error *err)
{
    int32_t down[EMP_MAX_NODES + 1], down_count = 0;
    int32_t depth_a = depth_of(t, a), depth_b = depth_of(t, b);

    while (a != b && a >= 0 && b >= 0) {
        if (depth_a >= depth_b) {
            EMP_CHECK(append(route, t->node[a].up, err));
            a = t->node[a].parent;
            depth_a--;
        } else {
            down[down_count++] = t->node[b].down;
            b = t->node[b].parent;
            depth_b--;
        }
    }
    if (a != b) return EMP_ERROR(EMP_EINVAL, "they hang on different trees");
    while (down_count > 0) EMP_CHECK(append(route, down[--down_count], err));
    return EMP_OK;
}

static void time_route(const emp_machine *machine, emp_route *route)
{
    double host_s = 0.0, network_s = 0.0;

    for (int32_t i = 0; i < route->link_count; i++) {
        const emp_link *l = &machine->link[route->link[i]];
        if (i == 0 || l->bytes_per_s < route->bytes_per_s)
            route->bytes_per_s = l->bytes_per_s;
        if (l->is_network) network_s += l->latency_s;
        if (!l->is_network && l->latency_s > host_s) host_s = l->latency_s;
    }
    route->latency_s = host_s + network_s;
}

void emp_machine_time_routes(emp_machine *machine)
{
    for (int32_t from = 0; from < machine->device_count; from++) {
        for (int32_t to = 0; to < machine->device_count; to++)
            if (from != to) time_route(machine, &machine->route[from][to]);
    }
}

const emp_fabric *emp_machine_fabric_between(const emp_machine *machine, emp_device_id a,
                                             emp_device_id b)
{
    const uint64_t both = UINT64_C(1) << a | UINT64_C(1) << b;

    for (int32_t i = 0; i < machine->fabric_count; i++)
        if ((machine->fabric[i].members & both) == both) return &machine->fabric[i];
    return NULL;
}

static emp_status route_pair(const emp_machine *machine, const emp_topology *t,
                             int32_t from, int32_t to, emp_route *route, emp_error *err)
{
    int32_t           a = t->leaf_of_device[from], b = t->leaf_of_device[to];
    const emp_device *device = machine->device;
    int32_t           channel = t->gpu_channel[device[from].host];
    const emp_fabric *fabric = emp_machine_fabric_between(machine, from, to);
    bool              are_peers = device[from].kind == EMP_DEVICE_GPU &&
                     device[to].kind == EMP_DEVICE_GPU &&
                     device[from].host == device[to].host;

    if (fabric != NULL) {
        EMP_CHECK(append(route, fabric->out[from], err));
        EMP_CHECK(append(route, fabric->in[to], err));
    } else if (channel >= 0 && are_peers) {
        EMP_CHECK(append(route, t->node[a].up, err));
        EMP_CHECK(append(route, channel, err));
        EMP_CHECK(append(route, t->node[b].down, err));
    } else {
        EMP_CHECK(route_by_tree(t, a, b, route, err));
    }
    if (route->link_count == 0) return EMP_ERROR(EMP_EINVAL, "no link lies between them");
    time_route(machine, route);
    return EMP_OK;
}

emp_status emp_topology_route_all(emp_machine *machine, const emp_topology *topology,
                                  emp_error *err)
{
    for (int32_t from = 0; from < machine->device_count; from++) {
        for (int32_t to = 0; to < machine->device_count; to++) {
            emp_error  why = {0};
            emp_route *route = &machine->route[from][to];
            memset(route, 0, sizeof *route);
            if (from == to) continue;
            if (route_pair(machine, topology, from, to, route, &why) != EMP_OK) {
                return EMP_ERROR(why.status, "no route from %s to %s: %s",
                                 machine->device[from].name, machine->device[to].name,
                                 why.msg);
            }
        }
    }
    return EMP_OK;
}

#define STRING(key, flags)                                                             \
    CYAML_FIELD_STRING_PTR(#key, CYAML_FLAG_POINTER | (flags), emp_raw_fabric, key, 0, \
                           CYAML_UNLIMITED)

static const cyaml_schema_value_t device_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED)};
static const cyaml_schema_field_t fields[] = {
    STRING(name, 0),
    CYAML_FIELD_SEQUENCE("devices", CYAML_FLAG_POINTER, emp_raw_fabric, devices,
                         &device_schema, 0, EMP_MAX_DEVICES),
    STRING(bandwidth, 0),
    STRING(latency, 0),
    STRING(duplex, CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_END};
const cyaml_schema_value_t emp_fabric_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, emp_raw_fabric, fields)};

static const emp_config_field link_table[] = {
    {"bandwidth", EMP_CONFIG_BYTES_PER_S, offsetof(emp_raw_fabric, bandwidth),
     offsetof(emp_link, bytes_per_s)},
    {"latency", EMP_CONFIG_SECONDS, offsetof(emp_raw_fabric, latency),
     offsetof(emp_link, latency_s)},
};

static emp_status refuse(const emp_config *config, const char *key, const char *value,
                         const char *what, emp_error *err)
{
    return EMP_ERROR(EMP_EFORMAT, "%s:%d: %s: '%s' %s", config->path,
                     emp_config_line(config, key, value), key, value, what);
}

static emp_status check_name(const emp_machine *m, const emp_config *config,
                             const char *name, emp_error *err)
{
    if (name[0] == '\0' || strlen(name) >= sizeof m->fabric[0].name)
        return refuse(config, "name", name, "is no name of 1 to 15 characters", err);
    for (int32_t i = 0; i < m->fabric_count; i++)
        if (strcmp(m->fabric[i].name, name) == 0)
            return refuse(config, "name", name, "is there twice", err);
    return EMP_OK;
}

static emp_status read_duplex(emp_fabric *fabric, const emp_config *config,
                              const char *duplex, emp_error *err)
{
    fabric->is_half_duplex = duplex != NULL && strcmp(duplex, "half") == 0;
    if (duplex == NULL || fabric->is_half_duplex || strcmp(duplex, "full") == 0)
        return EMP_OK;
    return refuse(config, "duplex", duplex, "is neither full nor half", err);
}

static emp_status read_members(emp_fabric *fabric, const emp_machine *m,
                               const emp_config *config, const emp_raw_fabric *raw,
                               emp_error *err)
{
    for (unsigned i = 0; i < raw->devices_count; i++) {
        const char   *name = raw->devices[i];
        emp_device_id d = emp_machine_find(m, name);
        const char   *what = d < 0                       ? "is no device of this machine"
                             : fabric->members >> d & 1u ? "is there twice"
                                                         : NULL;
        if (what != NULL)
            return EMP_ERROR(EMP_EFORMAT, "%s:%d: devices of the fabric '%s': '%s' %s",
                             config->path, emp_config_line(config, "name", raw->name),
                             raw->name, name, what);
        fabric->members |= UINT64_C(1) << d;
    }
    if (raw->devices_count >= 2) return EMP_OK;
    return refuse(config, "name", raw->name, "is a fabric of fewer than two devices",
                  err);
}

static bool spans_hosts(const emp_machine *m, uint64_t members)
{
    emp_device_id host = -1;

    for (emp_device_id d = 0; d < m->device_count; d++) {
        if ((members >> d & 1u) == 0) continue;
        if (host >= 0 && m->device[d].host != host) return true;
        host = m->device[d].host;
    }
    return false;
}

/* Each port of a fabric between hosts has half of the latency, since latencies of a network add up. */
static emp_status add_ports(emp_machine *m, emp_fabric *fabric, emp_link port,
                            emp_error *err)
{
    const bool is_network = spans_hosts(m, fabric->members);
    const int  first = m->link_count;

    if (is_network) port.latency_s /= 2;
    for (emp_device_id d = 0; d < m->device_count; d++) {
        char name[sizeof fabric->name + sizeof m->device[0].name];
        fabric->out[d] = fabric->in[d] = -1;
        if ((fabric->members >> d & 1u) == 0) continue;
        snprintf(name, sizeof name, "%s %s", fabric->name, m->device[d].name);
        EMP_CHECK(emp_topology_add_link(m, name, fabric->is_half_duplex ? "" : " out",
                                        port.bytes_per_s, port.latency_s, &fabric->out[d],
                                        err));
        fabric->in[d] = fabric->out[d];
        if (fabric->is_half_duplex) continue;
        EMP_CHECK(emp_topology_add_link(m, name, " in", port.bytes_per_s, port.latency_s,
                                        &fabric->in[d], err));
    }
    for (int32_t i = first; i < m->link_count; i++) m->link[i].is_network = is_network;
    return EMP_OK;
}

static emp_status add_fabric(emp_machine *m, const emp_config *config,
                             const emp_raw_fabric *raw, emp_error *err)
{
    emp_fabric *fabric = &m->fabric[m->fabric_count];
    emp_link    port = {0};
    emp_error   why = {0};

    EMP_CHECK(check_name(m, config, raw->name, err));
    snprintf(fabric->name, sizeof fabric->name, "%s", raw->name);
    EMP_CHECK(read_duplex(fabric, config, raw->duplex, err));
    EMP_CHECK(read_members(fabric, m, config, raw, err));
    EMP_CHECK(emp_config_convert(config, link_table,
                                 sizeof link_table / sizeof link_table[0], raw, &port,
                                 &m->hash, err));
    m->hash = emp_hash_u64(m->hash, fabric->members);
    m->hash = emp_hash_u64(m->hash, fabric->is_half_duplex);
    if (add_ports(m, fabric, port, &why) != EMP_OK)
        return refuse(config, "name", raw->name, "needs more links than there may be",
                      err);
    m->fabric_count++;
    return EMP_OK;
}

emp_status emp_fabrics_add(emp_machine *machine, const emp_config *config,
                           const emp_raw_fabric *raw, unsigned count, emp_error *err)
{
    for (unsigned i = 0; i < count; i++)
        EMP_CHECK(add_fabric(machine, config, &raw[i], err));
    return EMP_OK;
}

/* Machines of which no more is known than how many devices there are. */

/* Only how devices compare matters, since ops have times of their own: a CPU is ten times as slow,
 * as in the published instances for layers. */
static const double GPU_FLOPS_PER_S = 1e12, CPU_FLOPS_PER_S = 1e11;
static const double STREAM_BYTES_PER_S = 1e11;
/* The rate of transfers in the published instances for inference. */
static const double LINK_BYTES_PER_S = 0x1p31;

static void add_device(emp_machine *m, emp_topology *t, emp_device_kind kind,
                       int64_t memory_bytes, int32_t parent)
{
    emp_device_id d = m->device_count;
    bool          is_gpu = kind == EMP_DEVICE_GPU;
    emp_device   *device = &m->device[d];

    *device = (emp_device){.kind = kind,
                           .model = (int32_t)kind,
                           .memory_bytes = memory_bytes,
                           .peak_flops_per_s = is_gpu ? GPU_FLOPS_PER_S : CPU_FLOPS_PER_S,
                           .memory_bytes_per_s = STREAM_BYTES_PER_S,
                           .multiprocessors = 1,
                           .gemm_tile_rows = 64,
                           .conv_tile_rows = 64,
                           .split_limit = 1,
                           .cores = 1,
                           .clock_hz = 1e9,
                           .gemm_core_flops_per_s = CPU_FLOPS_PER_S,
                           .conv_core_flops_per_s = CPU_FLOPS_PER_S,
                           .scaling_exponent = 1.0,
                           .core_bytes_per_s = STREAM_BYTES_PER_S,
                           .bandwidth_cores = 1,
                           .thread_cycles = 1e9};
    snprintf(device->name, sizeof device->name, "%s:%d", is_gpu ? "gpu" : "cpu",
             emp_machine_count(m, kind));
    t->leaf_of_device[d] = t->node_count;
    t->node[t->node_count++] =
        (emp_topology_node){.name = device->name, .parent = parent, .up = -1, .down = -1};
    m->device_count++;
}

/* The pair between a node and its parent. */
static emp_status link_up(emp_machine *m, emp_topology_node *node, emp_error *err)
{
    EMP_CHECK(emp_topology_add_link(m, node->name, " up", LINK_BYTES_PER_S, 0.0,
                                    &node->up, err));
    return emp_topology_add_link(m, node->name, " down", LINK_BYTES_PER_S, 0.0,
                                 &node->down, err);
}

/* Node 0 joins the hosts, node i + 1 belongs to CPU i; a device is a leaf. */
static emp_status add_all(emp_machine *m, emp_topology *t, int32_t cpu_count,
                          int32_t gpu_count, int64_t gpu_memory_bytes, emp_error *err)
{
    t->node[t->node_count++] =
        (emp_topology_node){.name = "network", .parent = -1, .up = -1, .down = -1};
    for (int32_t i = 0; i < cpu_count; i++) {
        t->node[t->node_count++] =
            (emp_topology_node){.name = "host", .parent = 0, .up = -1, .down = -1};
        if (cpu_count > 1) EMP_CHECK(link_up(m, &t->node[t->node_count - 1], err));
    }
    for (int32_t i = 0; i < cpu_count; i++)
        add_device(m, t, EMP_DEVICE_CPU, INT64_C(1) << 50, i + 1);
    for (int32_t i = 0; i < gpu_count; i++) {
        add_device(m, t, EMP_DEVICE_GPU, gpu_memory_bytes, 1);
        EMP_CHECK(link_up(m, &t->node[t->node_count - 1], err));
    }
    return EMP_OK;
}

emp_status emp_machine_create(emp_machine **out, const char *name, int32_t cpu_count,
                              int32_t gpu_count, int64_t gpu_memory_bytes, emp_error *err)
{
    emp_status    st = EMP_OK;
    emp_machine  *m = NULL;
    emp_topology *t = NULL;

    EMP_NEED(out);
    *out = NULL;
    EMP_NEED(name);
    m = EMP_NEW(emp_machine);
    t = EMP_NEW(emp_topology);
    if (m == NULL || t == NULL) EMP_FAIL(EMP_ENOMEM, "machine %s", name);
    if (cpu_count < 1 || gpu_count < 0 || cpu_count > EMP_MAX_DEVICES ||
        gpu_count > EMP_MAX_DEVICES - cpu_count)
        EMP_FAIL(EMP_EUNSUPPORTED,
                 "a machine of %d CPUs and %d GPUs; it has 1 CPU at least and %d devices "
                 "at most",
                 cpu_count, gpu_count, EMP_MAX_DEVICES);
    snprintf(m->name, sizeof m->name, "%s", name);
    snprintf(m->description, sizeof m->description, "%d CPUs and %d GPUs", cpu_count,
             gpu_count);
    m->model_count = EMP_DEVICE_KINDS;
    m->model[EMP_DEVICE_CPU] = (emp_machine_model){.name = "cpu", .kind = EMP_DEVICE_CPU};
    m->model[EMP_DEVICE_GPU] = (emp_machine_model){.name = "gpu", .kind = EMP_DEVICE_GPU};
    EMP_TRY(add_all(m, t, cpu_count, gpu_count, gpu_memory_bytes, err));
    (void)emp_topology_find_hosts(m, t); /* every GPU hangs below the first CPU's node */
    memset(t->gpu_channel, -1, sizeof t->gpu_channel);
    EMP_TRY(emp_topology_route_all(m, t, err));
    m->hash = emp_hash_u64(EMP_HASH_SEED, (uint64_t)cpu_count);
    m->hash = emp_hash_u64(m->hash, (uint64_t)gpu_count);
    m->hash = emp_hash_u64(m->hash, (uint64_t)gpu_memory_bytes);
    *out = m;
    m = NULL;

cleanup:
    emp_free(t);
    emp_machine_destroy(m);
    return st;
}

void emp_machine_set_cores(emp_machine *machine, int32_t cores)
{
    for (emp_device_id d = 0; d < machine->device_count; d++)
        if (machine->device[d].kind == EMP_DEVICE_CPU) machine->device[d].cores = cores;
    machine->hash = emp_hash_u64(machine->hash, (uint64_t)cores);
}

/* The random device networks of GiPH, as env/utils.py of its repository draws them. Delays and
 * rates of both directions of a pair are one, so a pair has one link. */

static const char prefix[] = "giph";

typedef struct {
    int32_t devices, seed;
    double  speed, bandwidth, delay, b_speed, b_bandwidth;
} settings;

enum { MAX_DEVICES = 23 }; /* have no more pairs than a machine has links */

static const emp_option list[] = {
    EMP_INTEGER_OPTION("devices", settings, devices, 2, MAX_DEVICES,
                       "of them one is a CPU", 20),
    EMP_REAL_OPTION("speed", settings, speed, 0.001, 1000, "mean of the devices", 5),
    EMP_REAL_OPTION("bandwidth", settings, bandwidth, 0.001, 100000,
                    "of a pair, MB per ms", 100),
    EMP_REAL_OPTION("delay", settings, delay, 0, 1000, "mean of a message, ms", 10),
    EMP_REAL_OPTION("b_speed", settings, b_speed, 0, 1.9,
                    "width of the speeds over their mean", 0.8),
    EMP_REAL_OPTION("b_bandwidth", settings, b_bandwidth, 0, 1.9,
                    "width of the times of a byte over their mean", 0.8),
    EMP_INTEGER_OPTION("seed", settings, seed, 0, 2147483647, "of the random numbers", 0),
    EMP_NO_OPTION};

static const emp_option_table table = {prefix, NULL, list};

bool emp_giph_machine_is(const char *spec)
{
    size_t length = strlen(prefix);

    return strncmp(spec, prefix, length) == 0 &&
           (spec[length] == '\0' || spec[length] == ':');
}

/* A pair's value is the one below the diagonal of a full matrix. */
static void draw_matrix(double value[MAX_DEVICES][MAX_DEVICES], emp_mt19937 *mt,
                        int32_t count, double low, double high)
{
    for (int32_t i = 0; i < count; i++) {
        for (int32_t j = 0; j < count; j++)
            value[i][j] = emp_mt19937_between(mt, low, high);
    }
}

static void add_link(emp_machine *m, int32_t a, int32_t b, double delay_ms,
                     double ns_per_byte)
{
    int32_t number = m->link_count++;

    m->link[number] =
        (emp_link){.bytes_per_s = 1e9 / ns_per_byte, .latency_s = delay_ms * 1e-3};
    snprintf(m->link[number].name, sizeof m->link[number].name, "%d-%d", a, b);
    m->route[a][b] = m->route[b][a] = (emp_route){.link_count = 1, .link = {number}};
}

static void connect(emp_machine *m, emp_mt19937 *mt, const settings *s)
{
    double delay[MAX_DEVICES][MAX_DEVICES], rate[MAX_DEVICES][MAX_DEVICES];
    double mean = 1 / s->bandwidth;

    draw_matrix(delay, mt, s->devices, 0.0, 2 * s->delay);
    draw_matrix(rate, mt, s->devices, mean * (1 - s->b_bandwidth / 2),
                mean * (1 + s->b_bandwidth / 2));
    m->link_count = 0;
    for (int32_t a = 0; a < s->devices; a++) {
        for (int32_t b = a + 1; b < s->devices; b++)
            add_link(m, a, b, delay[b][a], rate[b][a]);
    }
    emp_machine_time_routes(m);
}

static uint64_t hash_number(uint64_t hash, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    return emp_hash_u64(hash, bits);
}

static uint64_t hash_machine(const emp_machine *m)
{
    uint64_t hash = m->hash;

    for (int32_t d = 0; d < m->device_count; d++)
        hash = hash_number(hash, m->device[d].time_factor);
    for (int32_t i = 0; i < m->link_count; i++) {
        hash = hash_number(hash, m->link[i].bytes_per_s);
        hash = hash_number(hash, m->link[i].latency_s);
    }
    return hash;
}

emp_status emp_giph_machine_create(emp_machine **out, const char *spec, emp_error *err)
{
    const char  *text = spec + strlen(prefix);
    settings     s;
    emp_mt19937  mt;
    emp_machine *m;

    *out = NULL;
    EMP_CHECK(emp_options_parse(&s, &table, NULL, *text == ':' ? text + 1 : text, err));
    EMP_CHECK(emp_machine_create(&m, spec, 1, s.devices - 1, INT64_C(1) << 40, err));
    snprintf(m->description, sizeof m->description,
             "a network of %d unlike devices, drawn as GiPH does", s.devices);
    emp_mt19937_seed_numpy(&mt, (uint32_t)s.seed);
    connect(m, &mt, &s);
    for (int32_t d = 0; d < s.devices; d++) {
        double speed = emp_mt19937_between(&mt, s.speed * (1 - s.b_speed / 2),
                                           s.speed * (1 + s.b_speed / 2));
        m->device[d].time_factor = 1 / speed;
    }
    m->hash = hash_machine(m);
    *out = m;
    return EMP_OK;
}
