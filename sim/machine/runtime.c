// SPDX-License-Identifier: GPL-3.0-or-later
/* Runtime profiles: data/runtimes/NAME.yaml. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "sim/machine/config_internal.h"
#include "sim/machine/fit_internal.h"
#include "sim/machine/machine.h"

/* key in the file, kind, member of emp_runtime */
#define RUNTIME_FIELDS(X)                              \
    X(serial_issue, SWITCH, serial_issue)              \
    X(drain_copies, SWITCH, drain_copies)              \
    X(release_at_issue, SWITCH, release_at_issue)      \
    X(reuse_inputs, SWITCH, reuse_inputs)              \
    X(cpu_pool, SWITCH, cpu_pool)                      \
    X(control_latency, SWITCH, control_latency)        \
    X(share_copies, SWITCH, share_copies)              \
    X(copy_streams, SWITCH, copy_streams)              \
    X(shared_links, SWITCH, shared_links)              \
    X(copy_memory, SWITCH, copy_memory)                \
    X(workspace, SWITCH, workspace)                    \
    X(addn_waits, SWITCH, addn_waits)                  \
    X(bfc_allocator, SWITCH, bfc_allocator)            \
    X(check_memory, SWITCH, check_memory)              \
    X(issue, SECONDS, issue_s)                         \
    X(issue_kernel, SECONDS, issue_kernel_s)           \
    X(issue_kernelless, SECONDS, issue_kernelless_s)   \
    X(cpu_op, SECONDS, cpu_op_s)                       \
    X(send, SECONDS, send_s)                           \
    X(receive, SECONDS, receive_s)                     \
    X(poll, SECONDS, poll_s)                           \
    X(step, SECONDS, step_s)                           \
    X(pageable_per_byte, SECONDS, pageable_s_per_byte) \
    X(cpu_slots, COUNT_OR_0, cpu_slots)

struct raw_runtime {
    char *description;
#define X(key, kind, member) char *key;
    RUNTIME_FIELDS(X)
#undef X
    struct emp_raw_fit *fit;
};

static const cyaml_schema_field_t schema_fields[] = {
    CYAML_FIELD_STRING_PTR("description", CYAML_FLAG_POINTER, struct raw_runtime,
                           description, 0, CYAML_UNLIMITED),
#define X(key, kind, member)                                                     \
    CYAML_FIELD_STRING_PTR(#key, CYAML_FLAG_POINTER, struct raw_runtime, key, 0, \
                           CYAML_UNLIMITED),
    RUNTIME_FIELDS(X)
#undef X
        EMP_FIT_FIELD(struct raw_runtime),
    CYAML_FIELD_END};

static const cyaml_schema_value_t schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_runtime, schema_fields)};

static const emp_config_field fields[] = {
#define X(key, kind, member)                                     \
    {#key, EMP_CONFIG_##kind, offsetof(struct raw_runtime, key), \
     offsetof(emp_runtime, member)},
    RUNTIME_FIELDS(X)
#undef X
};

static double number_in(const emp_runtime *runtime, const emp_config_field *field)
{
    const char *member = (const char *)runtime + field->to;
    double      seconds;
    int32_t     count;

    if (field->kind == EMP_CONFIG_SWITCH) return *member != 0 ? 1.0 : 0.0;
    if (field->kind == EMP_CONFIG_COUNT_OR_0) {
        memcpy(&count, member, sizeof count);
        return (double)count;
    }
    memcpy(&seconds, member, sizeof seconds);
    return seconds;
}

uint64_t emp_runtime_hash(const emp_runtime *runtime)
{
    uint64_t hash = EMP_HASH_SEED;

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        double   number = number_in(runtime, &fields[i]);
        uint64_t bits;
        memcpy(&bits, &number, sizeof bits);
        hash = emp_hash_u64(hash, bits);
    }
    return hash;
}

emp_status emp_runtime_load(emp_runtime *runtime, const char *name_or_path,
                            emp_error *err)
{
    emp_status  st = EMP_OK;
    char        path[512];
    emp_config  config = {0};
    emp_runtime loaded = {0};
    uint64_t    hash = EMP_HASH_SEED;

    emp_config_path(path, sizeof path, "runtimes", name_or_path);
    if (access(path, R_OK) != 0) {
        EMP_FAIL(EMP_EIO, "no runtime profile '%s' (%s: %s); known: tf-r1.3, ideal",
                 name_or_path, path, strerror(errno));
    }
    EMP_TRY(emp_config_open(&config, path, &schema, err));
    EMP_TRY(emp_config_convert(&config, fields, sizeof fields / sizeof fields[0],
                               config.data, &loaded, &hash, err));
    if (loaded.cpu_slots > EMP_MAX_CORES) {
        EMP_FAIL(EMP_EFORMAT, "%s:%d: cpu_slots is %d, at most %d", path,
                 emp_config_line(&config, "cpu_slots", ""), loaded.cpu_slots,
                 EMP_MAX_CORES);
    }
    const char *base = strrchr(path, '/');
    snprintf(loaded.name, sizeof loaded.name, "%.*s", (int)sizeof loaded.name - 1,
             base == NULL ? path : base + 1);
    snprintf(loaded.path, sizeof loaded.path, "%s", path);
    char *suffix = strstr(loaded.name, ".yaml");
    if (suffix != NULL) *suffix = '\0';
    *runtime = loaded;

cleanup:
    emp_config_close(&config);
    return st;
}
