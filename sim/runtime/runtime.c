// SPDX-License-Identifier: GPL-3.0-or-later
/* Runtime profiles: data/runtimes/NAME.yaml. */
#include "sim/runtime/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/nearest.h"
#include "base/text/options.h"
#include "base/text/text.h"
#include "sim/machine/config.h"
#include "sim/machine/machine.h"

/* Sets of rules. */
enum {
    EVENTS = 1 << EMP_RULES_EVENTS,
    PLACETO = 1 << EMP_RULES_PLACETO,
    BAECHI = 1 << EMP_RULES_BAECHI,
    MSR = 1 << EMP_RULES_MSR_LATENCY | 1 << EMP_RULES_MSR_LOAD,
    EDGES = 1 << EMP_RULES_EDGES,
    ALL = EVENTS | PLACETO | BAECHI | MSR | EDGES
};

/* key in the file, kind, member of emp_runtime, rules that use it: the file must have it
 * under those, and may not under others. The order of the hash. */
#define RUNTIME_FIELDS(X)                                             \
    X(serial_issue, SWITCH, events.serial_issue, EVENTS)              \
    X(drain_copies, SWITCH, events.drain_copies, EVENTS)              \
    X(release_at_issue, SWITCH, events.release_at_issue, EVENTS)      \
    X(reuse_inputs, SWITCH, events.reuse_inputs, EVENTS)              \
    X(cpu_pool, SWITCH, events.cpu_pool, EVENTS)                      \
    X(control_latency, SWITCH, events.control_latency, EVENTS)        \
    X(share_copies, SWITCH, events.share_copies, EVENTS)              \
    X(copy_streams, SWITCH, events.copy_streams, EVENTS)              \
    X(shared_links, SWITCH, events.shared_links, EVENTS)              \
    X(copy_memory, SWITCH, events.copy_memory, EVENTS)                \
    X(workspace, SWITCH, events.workspace, EVENTS)                    \
    X(addn_waits, SWITCH, events.addn_waits, EVENTS)                  \
    X(bfc_allocator, SWITCH, events.bfc_allocator, EVENTS)            \
    X(check_memory, SWITCH, check_memory, ALL)                        \
    X(issue, SECONDS, events.issue_s, EVENTS)                         \
    X(issue_kernel, SECONDS, events.issue_kernel_s, EVENTS)           \
    X(issue_kernelless, SECONDS, events.issue_kernelless_s, EVENTS)   \
    X(cpu_op, SECONDS, events.cpu_op_s, EVENTS)                       \
    X(send, SECONDS, events.send_s, EVENTS)                           \
    X(receive, SECONDS, events.receive_s, EVENTS)                     \
    X(poll, SECONDS, events.poll_s, EVENTS)                           \
    X(step, SECONDS, events.step_s, EVENTS)                           \
    X(pageable_per_byte, SECONDS, events.pageable_s_per_byte, EVENTS) \
    X(cpu_slots, COUNT_OR_0, events.cpu_slots, EVENTS)                \
    X(op_gap, SECONDS, placeto.op_gap_s, PLACETO)                     \
    X(bus_rate, BYTES_PER_S, placeto.bus_bytes_per_s, PLACETO)        \
    X(bus_gap, SECONDS, placeto.bus_gap_s, PLACETO)                   \
    X(early_release, SECONDS, placeto.early_release_s, PLACETO)       \
    X(per_byte, SECONDS, baechi.byte_s, BAECHI)                       \
    X(per_transfer, SECONDS, baechi.transfer_s, BAECHI)               \
    X(control_size, BYTES, baechi.control_bytes, BAECHI)              \
    X(host_rate, BYTES_PER_S, msr.host_bytes_per_s, MSR)

struct raw_runtime {
    char *description;
    char *base;
    char *rules;
    char *fp32_products;
    char *caching_allocator, *shared_memory, *gpu_context, *host_hop, *client;
    char *collective_buffers, *plan_tokens, *plan_copies;
#define X(key, kind, member, rules) char *key;
    RUNTIME_FIELDS(X)
#undef X
    struct emp_raw_fit *fit;
};

static const cyaml_schema_field_t schema_fields[] = {
    CYAML_FIELD_STRING_PTR("description", CYAML_FLAG_POINTER, struct raw_runtime,
                           description, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("base", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct raw_runtime, base, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("rules", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct raw_runtime, rules, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("fp32_products", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct raw_runtime, fp32_products, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("caching_allocator", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct raw_runtime, caching_allocator, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("shared_memory", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct raw_runtime, shared_memory, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("gpu_context", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct raw_runtime, gpu_context, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("host_hop", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct raw_runtime, host_hop, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("client", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct raw_runtime, client, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("collective_buffers", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct raw_runtime, collective_buffers, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("plan_tokens", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct raw_runtime, plan_tokens, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("plan_copies", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct raw_runtime, plan_copies, 0, CYAML_UNLIMITED),
#define X(key, kind, member, rules)                                        \
    CYAML_FIELD_STRING_PTR(#key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, \
                           struct raw_runtime, key, 0, CYAML_UNLIMITED),
    RUNTIME_FIELDS(X)
#undef X
        EMP_FIT_FIELD(struct raw_runtime),
    CYAML_FIELD_END};

static const cyaml_schema_value_t schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_runtime, schema_fields)};

static const emp_config_field fields[] = {
#define X(key, kind, member, rules)                              \
    {#key, EMP_CONFIG_##kind, offsetof(struct raw_runtime, key), \
     offsetof(emp_runtime, member)},
    RUNTIME_FIELDS(X)
#undef X
};

static const uint32_t rules_of_field[] = {
#define X(key, kind, member, rules) rules,
    RUNTIME_FIELDS(X)
#undef X
};

enum { FIELD_COUNT = sizeof fields / sizeof fields[0], MOST_BASES = 4 };

/* Switches and sizes of the rules `events` that a profile need not have. Only those that are on, or
 * not 0, count in the hash, so that older profiles keep theirs. */
#define SWITCH_FIELD(key)                                           \
    {                                                               \
#key, EMP_CONFIG_SWITCH, offsetof(struct raw_runtime, key), \
            offsetof(emp_runtime, events.key)                       \
    }
static const emp_config_field optional[] = {
    SWITCH_FIELD(caching_allocator),
    SWITCH_FIELD(shared_memory),
    {"gpu_context", EMP_CONFIG_BYTES, offsetof(struct raw_runtime, gpu_context),
     offsetof(emp_runtime, events.gpu_context_bytes)},
    {"host_hop", EMP_CONFIG_SECONDS, offsetof(struct raw_runtime, host_hop),
     offsetof(emp_runtime, events.host_hop_s)},
    {"collective_buffers", EMP_CONFIG_BYTES,
     offsetof(struct raw_runtime, collective_buffers),
     offsetof(emp_runtime, events.collective_bytes)},
    {"plan_tokens", EMP_CONFIG_COUNT_OR_0, offsetof(struct raw_runtime, plan_tokens),
     offsetof(emp_runtime, events.plan_tokens)},
    {"plan_copies", EMP_CONFIG_COUNT_OR_0, offsetof(struct raw_runtime, plan_copies),
     offsetof(emp_runtime, events.plan_copies)},
    SWITCH_FIELD(client)};

enum { OPTIONAL_COUNT = sizeof optional / sizeof optional[0] };

static const char *const rules_names[] = {EMP_RULES_LIST(EMP_LIST_SECOND)};

const char *emp_rules_str(emp_rules rules) { return rules_names[rules]; }

const emp_runtime_events *emp_runtime_events_of(const emp_runtime *runtime)
{
    static const emp_runtime_events none = {0};

    return runtime->rules == EMP_RULES_EVENTS ? &runtime->events : &none;
}

static bool is_used(size_t field, emp_rules rules)
{
    return rules_of_field[field] >> rules & 1u;
}

static double number_in(const emp_runtime *runtime, const emp_config_field *field)
{
    const char *member = (const char *)runtime + field->to;
    double      number;
    int32_t     count;
    int64_t     bytes;

    if (field->kind == EMP_CONFIG_SWITCH) return *member != 0 ? 1.0 : 0.0;
    if (field->kind == EMP_CONFIG_COUNT_OR_0) {
        memcpy(&count, member, sizeof count);
        return (double)count;
    }
    if (field->kind == EMP_CONFIG_BYTES) {
        memcpy(&bytes, member, sizeof bytes);
        return (double)bytes;
    }
    memcpy(&number, member, sizeof number);
    return number;
}

uint64_t emp_runtime_hash(const emp_runtime *runtime)
{
    uint64_t hash = EMP_HASH_SEED;

    if (runtime->rules != EMP_RULES_EVENTS) {
        const char *rules = emp_rules_str(runtime->rules);
        hash = emp_hash_bytes(hash, rules, strlen(rules));
    }
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        double   number = number_in(runtime, &fields[i]);
        uint64_t bits;
        if (!is_used(i, runtime->rules)) continue;
        memcpy(&bits, &number, sizeof bits);
        hash = emp_hash_u64(hash, bits);
    }
    if (emp_runtime_events_of(runtime)->fp32_products != EMP_FORMAT_FP32)
        hash = emp_hash_u64(hash, runtime->events.fp32_products);
    for (size_t i = 0; i < OPTIONAL_COUNT; i++) {
        const char  *key = optional[i].key;
        const double number = number_in(runtime, &optional[i]);
        if (runtime->rules != EMP_RULES_EVENTS || number == 0.0) continue;
        hash = emp_hash_bytes(hash, key, strlen(key));
        if (optional[i].kind != EMP_CONFIG_SWITCH)
            hash = emp_hash_bytes(hash, &number, sizeof number);
    }
    return hash;
}

/* Rules are the base's, or `events`, where the file names none. */
static emp_status read_rules(emp_rules *rules, const emp_config *config, emp_error *err)
{
    const struct raw_runtime *raw = config->data;
    const char               *text = raw->rules;

    if (text != NULL && raw->base != NULL)
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: rules: are those of the base %s",
                         config->path, emp_config_line(config, "rules", text), raw->base);
    if (raw->base != NULL) return EMP_OK;
    *rules = EMP_RULES_EVENTS;
    while (text != NULL && *rules < EMP_RULES_COUNT &&
           strcmp(text, rules_names[*rules]) != 0) {
        ++*rules;
    }
    if (*rules == EMP_RULES_COUNT) {
#define X(name, text) " " text
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: rules: '%s' is none of" EMP_RULES_LIST(X),
                         config->path, emp_config_line(config, "rules", text), text);
#undef X
    }
    return EMP_OK;
}

static const char *text_of(const emp_config *config, const emp_config_field *field)
{
    const char *text;

    memcpy(&text, (const char *)config->data + field->from, sizeof text);
    return text;
}

/* Keys that the rules use must be there or in a base, others may not. */
static emp_status check_keys(const emp_config *config, emp_rules rules, emp_error *err)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const char *key = fields[i].key;
        if (is_used(i, rules) || text_of(config, &fields[i]) == NULL) continue;
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: %s: the rules '%s' have no such key",
                         config->path, emp_config_line(config, key, ""), key,
                         emp_rules_str(rules));
    }
    if (((const struct raw_runtime *)config->data)->base != NULL) return EMP_OK;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (!is_used(i, rules) || text_of(config, &fields[i]) != NULL) continue;
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:%d: the key '%s' is missing; the rules '%s' use it",
                         config->path, emp_config_line(config, "rules", ""),
                         fields[i].key, emp_rules_str(rules));
    }
    return EMP_OK;
}

static emp_status read_fields(emp_runtime *runtime, const emp_config *config,
                              emp_error *err)
{
    uint64_t hash = EMP_HASH_SEED;

    EMP_CHECK(check_keys(config, runtime->rules, err));
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (text_of(config, &fields[i]) == NULL) continue;
        EMP_CHECK(
            emp_config_convert(config, &fields[i], 1, config->data, runtime, &hash, err));
    }
    return EMP_OK;
}

static emp_status read_products(emp_runtime *runtime, const emp_config *config,
                                emp_error *err)
{
    const char *text = ((const struct raw_runtime *)config->data)->fp32_products;
    emp_error   why = {0};

    if (text == NULL) return EMP_OK;
    if (runtime->rules != EMP_RULES_EVENTS)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:%d: fp32_products: the rules '%s' have no such key",
                         config->path, emp_config_line(config, "fp32_products", ""),
                         emp_rules_str(runtime->rules));
    if (emp_format_parse(&runtime->events.fp32_products, text, &why) == EMP_OK)
        return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s:%d: fp32_products: %s", config->path,
                     emp_config_line(config, "fp32_products", text), why.msg);
}

static emp_status read_optional(emp_runtime *runtime, const emp_config *config,
                                const emp_config_field *field, emp_error *err)
{
    uint64_t unused = EMP_HASH_SEED;

    if (text_of(config, field) == NULL) return EMP_OK;
    if (runtime->rules != EMP_RULES_EVENTS)
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: %s: the rules '%s' have no such key",
                         config->path, emp_config_line(config, field->key, ""),
                         field->key, emp_rules_str(runtime->rules));
    return emp_config_convert(config, field, 1, config->data, runtime, &unused, err);
}

static emp_status read_optionals(emp_runtime *runtime, const emp_config *config,
                                 emp_error *err)
{
    for (size_t i = 0; i < OPTIONAL_COUNT; i++)
        EMP_CHECK(read_optional(runtime, config, &optional[i], err));
    const emp_runtime_events *events = &runtime->events;
    if (runtime->rules != EMP_RULES_EVENTS) return EMP_OK;
    if (events->plan_tokens > 0 && (events->caching_allocator || events->bfc_allocator))
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:%d: plan_tokens: the activations of a step are planned, so "
                         "%s must be off",
                         config->path, emp_config_line(config, "plan_tokens", ""),
                         events->bfc_allocator ? "bfc_allocator" : "caching_allocator");
    if (events->plan_tokens > 0 && events->plan_copies == 0)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:%d: plan_tokens needs plan_copies, the copies of a device's "
                         "inputs; 1 if micro-batches do not overlap",
                         config->path, emp_config_line(config, "plan_tokens", ""));
    if (!events->caching_allocator || !events->bfc_allocator) return EMP_OK;
    bool is_here = text_of(config, &optional[0]) != NULL;
    return EMP_ERROR(
        EMP_EFORMAT,
        "%s:%d: caching_allocator and bfc_allocator are both on; memory has one "
        "allocator",
        config->path,
        emp_config_line(config, is_here ? "caching_allocator" : "bfc_allocator", ""));
}

static emp_status refuse_unknown(const char *name, const char *path, emp_error *err)
{
    int         cause = errno;
    emp_nearest near = emp_nearest_begin(name, strlen(name), "");
    char        hint[EMP_NEAREST_BYTES];

    emp_nearest_offer_list(&near, EMP_RUNTIME_NAMES);
    return EMP_ERROR(EMP_EIO,
                     "no runtime profile '%s'%s (%s: %s); known: " EMP_RUNTIME_NAMES,
                     name, emp_config_hint(&near, hint), path, strerror(cause));
}

static emp_status init(emp_runtime *runtime, const char *name_or_path, int32_t depth,
                       emp_error *err);

/* Fills the profile with what its base says. */
static emp_status read_base(emp_runtime *runtime, const emp_config *config, int32_t depth,
                            emp_error *err)
{
    const char *base = ((const struct raw_runtime *)config->data)->base;
    emp_error   why = {0};

    if (base == NULL) return EMP_OK;
    if (depth == MOST_BASES)
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: base: '%s' is base number %d; at most %d",
                         config->path, emp_config_line(config, "base", base), base,
                         depth + 1, MOST_BASES);
    emp_status st = init(runtime, base, depth + 1, &why);
    if (st == EMP_OK) return EMP_OK;
    return EMP_ERROR(st, "%s:%d: base: %s", config->path,
                     emp_config_line(config, "base", base), why.msg);
}

/* \a depth: how many profiles are based on this one. */
static emp_status init(emp_runtime *runtime, const char *name_or_path, int32_t depth,
                       emp_error *err)
{
    emp_status  st = EMP_OK;
    char        path[512];
    emp_config  config = {0};
    emp_runtime loaded = {0};

    emp_config_path(path, sizeof path, "runtimes", name_or_path);
    if (access(path, R_OK) != 0) EMP_TRY(refuse_unknown(name_or_path, path, err));
    EMP_TRY(emp_config_open(&config, path, &schema, err));
    EMP_TRY(read_base(&loaded, &config, depth, err));
    EMP_TRY(read_rules(&loaded.rules, &config, err));
    EMP_TRY(read_fields(&loaded, &config, err));
    EMP_TRY(read_products(&loaded, &config, err));
    EMP_TRY(read_optionals(&loaded, &config, err));
    const int32_t cpu_slots = emp_runtime_events_of(&loaded)->cpu_slots;
    if (cpu_slots > EMP_MAX_CORES) {
        EMP_FAIL(EMP_EFORMAT, "%s:%d: cpu_slots is %d, at most %d", path,
                 emp_config_line(&config, "cpu_slots", ""), cpu_slots, EMP_MAX_CORES);
    }
    const char *slash = strrchr(path, '/'), *base = slash == NULL ? path : slash + 1;
    const char *suffix = strstr(base, ".yaml");
    emp_text_copy(loaded.name, sizeof loaded.name, base,
                  suffix == NULL ? strlen(base) : (size_t)(suffix - base));
    snprintf(loaded.path, sizeof loaded.path, "%s", path);
    snprintf(loaded.description, sizeof loaded.description, "%s",
             ((const struct raw_runtime *)config.data)->description);
    const struct emp_raw_fit *fit = ((const struct raw_runtime *)config.data)->fit;
    if (fit != NULL) loaded.fitted_constants = (int32_t)fit->constants_count;
    *runtime = loaded;

cleanup:
    emp_config_close(&config);
    return st;
}

emp_status emp_runtime_init(emp_runtime *runtime, const char *name_or_path,
                            emp_error *err)
{
    return init(runtime, name_or_path, 0, err);
}

emp_status emp_runtime_load(emp_runtime **out, const char *name_or_path, emp_error *err)
{
    emp_status   st = EMP_OK;
    emp_runtime *runtime = NULL;

    EMP_NEED(out);
    *out = NULL;
    EMP_NEED(name_or_path);
    EMP_TRY(EMP_ALLOC(runtime, 1));
    EMP_TRY(emp_runtime_init(runtime, name_or_path, err));
    *out = runtime;
    runtime = NULL;

cleanup:
    emp_runtime_destroy(runtime);
    return st;
}

void emp_runtime_destroy(emp_runtime *runtime) { emp_free(runtime); }
