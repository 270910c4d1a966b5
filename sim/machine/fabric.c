// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/machine_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/collections.h"

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

/* Of a fabric between hosts each port has half of the latency, since those of a network add up. */
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
