// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/collections.h"
#include "base/mem.h"
#include "base/text/nearest.h"
#include "base/text/text.h"
#include "sim/machine/card.h"
#include "sim/machine/config.h"

#define FIELD_COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

/* type of the raw struct, key in the file, kind, member of struct constants */
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

#define PASSES_FIELDS(X, type)                                         \
    X(type, reduce, RATIO, device.passes.reduce)                       \
    X(type, move, RATIO, device.passes.move)                           \
    X(type, transpose, RATIO, device.passes.transpose)                 \
    X(type, pool, RATIO, device.passes.pool)                           \
    X(type, max_pool_grad, RATIO, device.passes.max_pool_grad)         \
    X(type, average_pool_grad, RATIO, device.passes.average_pool_grad) \
    X(type, norm, RATIO, device.passes.norm)                           \
    X(type, norm_grad, RATIO, device.passes.norm_grad)                 \
    X(type, softmax, RATIO, device.passes.softmax)                     \
    X(type, loss, RATIO, device.passes.loss)                           \
    X(type, update, RATIO, device.passes.update)

struct constants {
    emp_device device;        /* the first, so that offsets are those in a device */
    double     gemm_clock_hz; /* of the measurements behind the GEMM constants */
};

/* A field as a member of its raw struct, in its schema, and in the table that converts it. */
#define MEMBER(type, key, kind, member)   char *key;
#define SCHEMA(type, key, kind, member)   STRING(type, key, 0),
#define OPTIONAL(type, key, kind, member) STRING(type, key, CYAML_FLAG_OPTIONAL),
#define ROW(type, key, kind, member) \
    {#key, EMP_CONFIG_##kind, offsetof(type, key), offsetof(struct constants, member)},

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
struct raw_passes {
    PASSES_FIELDS(MEMBER, )
};
struct raw_format {
    char *format, *peak;
};
struct raw_tables {
    char *gemm, *attention, *comm;
};
struct raw_reached {
    char *stream, *attention;
};
struct raw_model {
    struct emp_raw_card      *card;
    struct emp_raw_processor *processor;
    struct raw_gpu           *gpu;
    struct raw_cpu           *cpu;
    struct raw_core          *core;
    struct raw_sharing       *sharing;
    struct raw_passes        *passes;
    struct raw_format        *formats;
    unsigned                  formats_count;
    struct raw_tables        *tables;
    struct raw_reached       *reached;
    struct emp_raw_fit       *fit;
    char                    **measured;
    unsigned                  measured_count;
};

#define STRING(type, key, flags)                                             \
    CYAML_FIELD_STRING_PTR(#key, CYAML_FLAG_POINTER | (flags), type, key, 0, \
                           CYAML_UNLIMITED)

/* Beside a card or a processor a key may be left out; without, check_keys() wants all. */
static const cyaml_schema_field_t gpu_schema[] = {GPU_FIELDS(OPTIONAL, struct raw_gpu)
                                                      CYAML_FIELD_END};
static const cyaml_schema_field_t cpu_schema[] = {CPU_FIELDS(OPTIONAL, struct raw_cpu)
                                                      CYAML_FIELD_END};
static const cyaml_schema_field_t core_schema[] = {CORE_FIELDS(SCHEMA, struct raw_core)
                                                       CYAML_FIELD_END};
static const cyaml_schema_field_t sharing_schema[] = {
    SHARING_FIELDS(SCHEMA, struct raw_sharing) CYAML_FIELD_END};
static const cyaml_schema_field_t passes_schema[] = {
    PASSES_FIELDS(SCHEMA, struct raw_passes) CYAML_FIELD_END};
static const cyaml_schema_field_t format_fields[] = {STRING(struct raw_format, format, 0),
                                                     STRING(struct raw_format, peak, 0),
                                                     CYAML_FIELD_END};
static const cyaml_schema_value_t format_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_format, format_fields)};
static const cyaml_schema_field_t tables_schema[] = {
    STRING(struct raw_tables, gemm, CYAML_FLAG_OPTIONAL),
    STRING(struct raw_tables, attention, CYAML_FLAG_OPTIONAL),
    STRING(struct raw_tables, comm, CYAML_FLAG_OPTIONAL), CYAML_FIELD_END};
static const cyaml_schema_field_t reached_schema[] = {
    STRING(struct raw_reached, stream, CYAML_FLAG_OPTIONAL),
    STRING(struct raw_reached, attention, CYAML_FLAG_OPTIONAL), CYAML_FIELD_END};
static const cyaml_schema_value_t measured_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 0, CYAML_UNLIMITED)};
static const cyaml_schema_field_t model_fields[] = {
    EMP_CARD_FIELDS(struct raw_model),
    CYAML_FIELD_MAPPING_PTR("gpu", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                            struct raw_model, gpu, gpu_schema),
    CYAML_FIELD_MAPPING_PTR("cpu", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                            struct raw_model, cpu, cpu_schema),
    CYAML_FIELD_MAPPING_PTR("core", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                            struct raw_model, core, core_schema),
    CYAML_FIELD_MAPPING_PTR("sharing", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                            struct raw_model, sharing, sharing_schema),
    CYAML_FIELD_MAPPING_PTR("passes", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                            struct raw_model, passes, passes_schema),
    CYAML_FIELD_SEQUENCE("formats", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                         struct raw_model, formats, &format_schema, 1, EMP_FORMATS),
    CYAML_FIELD_MAPPING_PTR("tables", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                            struct raw_model, tables, tables_schema),
    CYAML_FIELD_MAPPING_PTR("reached", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                            struct raw_model, reached, reached_schema),
    EMP_FIT_FIELD(struct raw_model),
    CYAML_FIELD_SEQUENCE("measured", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                         struct raw_model, measured, &measured_schema, 1,
                         CYAML_UNLIMITED),
    CYAML_FIELD_END};
static const cyaml_schema_value_t model_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_model, model_fields)};

static const emp_config_field gpu_table[] = {GPU_FIELDS(ROW, struct raw_gpu)};
static const emp_config_field cpu_table[] = {CPU_FIELDS(ROW, struct raw_cpu)};
static const emp_config_field core_table[] = {CORE_FIELDS(ROW, struct raw_core)};
static const emp_config_field sharing_table[] = {SHARING_FIELDS(ROW, struct raw_sharing)};
static const emp_config_field passes_table[] = {PASSES_FIELDS(ROW, struct raw_passes)};
static const emp_config_field reached_table[] = {
    {"stream", EMP_CONFIG_BYTES_PER_S, offsetof(struct raw_reached, stream),
     offsetof(emp_device, reached_bytes_per_s)},
    {"attention", EMP_CONFIG_FLOPS_PER_S, offsetof(struct raw_reached, attention),
     offsetof(emp_device, reached_attention_flops_per_s)}};
static const emp_config_field peak_field = {"peak", EMP_CONFIG_FLOPS_PER_S,
                                            offsetof(struct raw_format, peak), 0};

/* The state of one reading. */
struct reader {
    emp_device_model *model;
    emp_source       *source;
    emp_config        config;
    uint64_t         *hash;
};

/* The folder models beside a machine file. */
static void find_beside(char *path, size_t size, const char *machine_path)
{
    const char *slash = strrchr(machine_path, '/');
    int         folder = slash == NULL ? 0 : (int)(slash - machine_path) + 1;

    snprintf(path, size, "%.*smodels", folder, machine_path);
}

bool emp_device_model_find(char *path, size_t size, const char *machine_path,
                           const char *name)
{
    find_beside(path, size, machine_path);
    const size_t used = strlen(path);
    snprintf(path + used, size - used, "/%s.yaml", name);
    if (access(path, R_OK) == 0) return true;
    emp_config_path(path, size, "machines/models", name);
    return access(path, R_OK) == 0;
}

static bool has_name(const emp_data_names *names, const char *name)
{
    for (int32_t i = 0; i < names->count; i++)
        if (strcmp(names->name[i], name) == 0) return true;
    return false;
}

void emp_device_model_refuse(char *text, size_t size, const char *machine_path,
                             const char *name)
{
    char           path[512], array[320] = "", hint[EMP_NEAREST_BYTES];
    emp_text       known = {array, sizeof array, 0};
    emp_nearest    near = emp_nearest_begin(name, strlen(name), "");
    emp_data_names shipped, beside = {0};
    bool           is_full = false;

    emp_data_find(&shipped, "machines/models");
    if (machine_path != NULL) {
        find_beside(path, sizeof path, machine_path);
        emp_names_find(&beside, path);
    }
    for (int32_t i = 0; i < beside.count + shipped.count; i++) {
        const char *at =
            i < beside.count ? beside.name[i] : shipped.name[i - beside.count];
        emp_nearest_offer(&near, at, strlen(at));
        if ((i < beside.count && has_name(&shipped, at)) || is_full) continue;
        is_full = known.used + strlen(at) + sizeof ", , ..." > sizeof array;
        emp_text_add(&known, "%s%s", known.used > 0 ? ", " : "", is_full ? "..." : at);
    }
    snprintf(text, size, "is no file in the folder models%s; known: %s",
             emp_nearest_hint(&near, hint), array);
}

static emp_status fail(const struct reader *r, const char *key, const char *what,
                       emp_error *err)
{
    return EMP_ERROR(EMP_EFORMAT, "%s:%d: %s", r->config.path,
                     emp_config_line(&r->config, key, ""), what);
}

const emp_config_field *emp_device_constants(emp_device_kind kind, int32_t *count)
{
    *count = kind == EMP_DEVICE_GPU ? (int32_t)FIELD_COUNT(gpu_table)
                                    : (int32_t)FIELD_COUNT(cpu_table);
    return kind == EMP_DEVICE_GPU ? gpu_table : cpu_table;
}

/* The memory rate of all cores of a CPU. */
static double cpu_stream(const emp_device *d)
{
    return d->core_bytes_per_s * d->bandwidth_cores;
}

bool emp_device_constant_scale(emp_device *device, const emp_config_field *constant,
                               double factor)
{
    if (constant->to >= sizeof *device) return false;
    const double old = emp_config_number(constant, device);
    void        *at = (char *)device + constant->to;
    switch (constant->kind) {
    case EMP_CONFIG_BYTES: *(int64_t *)at = (int64_t)(old * factor); break;
    case EMP_CONFIG_COUNT:
    case EMP_CONFIG_COUNT_OR_0:
        *(int32_t *)at = old == 0.0 ? 0 : (int32_t)fmax(1.0, round(old * factor));
        break;
    default: *(double *)at = old * factor; break;
    }
    if (device->kind == EMP_DEVICE_CPU) device->memory_bytes_per_s = cpu_stream(device);
    return emp_config_number(constant, device) != old;
}

/* ---- the sections gpu and cpu ---- */

/* The constants that a section states, and those that rules make of a card. */
struct section {
    const emp_config_field *table;
    int32_t                 count;
    const char             *name; /* "gpu" */
    const void *raw; /* of the table's struct; all zeros: there is no section */
};

static const char *text_of(const struct section *s, int32_t i)
{
    const char *text;

    memcpy(&text, (const char *)s->raw + s->table[i].from, sizeof text);
    return text;
}

static emp_status check_keys(const struct reader *r, const struct section *s,
                             emp_error *err)
{
    for (int32_t i = 0; i < s->count; i++)
        if (text_of(s, i) == NULL)
            return EMP_ERROR(EMP_EFORMAT,
                             "%s:%d: Missing key: %s; %s has all of its keys, unless a "
                             "section %s beside it has what a data sheet says",
                             r->config.path, emp_config_line(&r->config, s->name, ""),
                             s->table[i].key, s->name,
                             s->table == gpu_table ? "card" : "processor");
    return EMP_OK;
}

/* Whether the list `measured` names a constant. */
static bool is_measured(const struct reader *r, const char *key)
{
    const struct raw_model *raw = r->config.data;

    for (unsigned i = 0; i < raw->measured_count; i++)
        if (strcmp(raw->measured[i], key) == 0) return true;
    return false;
}

static emp_status check_measured(const struct reader *r, const struct section *s,
                                 emp_error *err)
{
    const struct raw_model *raw = r->config.data;

    for (unsigned k = 0; k < raw->measured_count; k++) {
        int32_t i = 0;
        while (i < s->count &&
               (strcmp(s->table[i].key, raw->measured[k]) != 0 || text_of(s, i) == NULL))
            i++;
        if (i == s->count)
            return EMP_ERROR(EMP_EFORMAT,
                             "%s:%d: measured: '%s' is no constant that the section %s "
                             "states",
                             r->config.path, emp_config_line(&r->config, "measured", ""),
                             raw->measured[k], s->name);
    }
    return EMP_OK;
}

/* Whether a stated value equals the rule's, up to the digits that files round to. */
static bool is_by_rule(const emp_config_field *field, const struct constants *stated,
                       const struct constants *rule)
{
    const double a = emp_config_number(field, stated), b = emp_config_number(field, rule);

    return fabs(a - b) <= 0.01 * fabs(b);
}

/* Notes which constants follow from the card: those that are not stated, and those that were stated by
 * the same rule. Peak, multiprocessors, cores and clock are facts where they are stated. */
static void note_derived(struct reader *r, const struct section *s,
                         const struct constants *c, const struct constants *rule)
{
    static const char *const facts[] = {"peak", "multiprocessors", "cores", "clock"};

    for (int32_t i = 0; i < s->count; i++) {
        const char *key = s->table[i].key;
        bool        is_fact = is_measured(r, key);
        for (size_t k = 0; k < FIELD_COUNT(facts); k++)
            is_fact = is_fact || strcmp(facts[k], key) == 0;
        if (emp_card_rule(c->device.kind, key) == NULL) continue;
        if (text_of(s, i) == NULL || (!is_fact && is_by_rule(&s->table[i], c, rule)))
            r->model->derived |= UINT32_C(1) << i;
    }
}

/* The peak of fp32 is no rule's where the card has it. */
static void keep_published(struct reader *r, const emp_card *card)
{
    int32_t i = 0;

    while (strcmp(gpu_table[i].key, "peak") != 0) i++;
    if (card->cores == 0 && card->peak_flops_per_s[EMP_FORMAT_FP32] > 0.0)
        r->model->derived &= ~(UINT32_C(1) << i);
}

static emp_status read_constants(struct reader *r, const struct section *s,
                                 struct constants *c, emp_error *err)
{
    const emp_card  *card = &r->model->card;
    struct constants rule = *c; /* with the kind */
    uint64_t         unused = 0;

    EMP_CHECK(check_measured(r, s, err));
    if (!card->is_there) {
        EMP_CHECK(check_keys(r, s, err));
    } else { /* the peak and the like that are stated count for the rules */
        EMP_CHECK(emp_config_convert(&r->config, s->table, (size_t)s->count, s->raw,
                                     &rule, &unused, err));
        emp_card_derive(&rule.device, card);
        rule.gemm_clock_hz = rule.device.clock_hz;
        *c = rule;
    }
    EMP_CHECK(emp_config_convert(&r->config, s->table, (size_t)s->count, s->raw, c,
                                 r->hash, err));
    if (!card->is_there) return EMP_OK;
    note_derived(r, s, c, &rule);
    keep_published(r, card);
    return EMP_OK;
}

static emp_status read_gpu(struct reader *r, const struct raw_model *raw,
                           struct constants *c, emp_error *err)
{
    static const struct raw_gpu none;
    const struct section        s = {gpu_table, FIELD_COUNT(gpu_table), "gpu",
                              raw->gpu == NULL ? &none : raw->gpu};

    c->device.kind = EMP_DEVICE_GPU;
    if (raw->card != NULL)
        EMP_CHECK(emp_card_read(&r->model->card, &r->config, raw->card, err));
    EMP_CHECK(read_constants(r, &s, c, err));
    double scale = c->gemm_clock_hz / c->device.clock_hz;
    c->device.gemm_base_s *= scale;
    c->device.gemm_per_k_s *= scale;
    c->device.gemm_per_wave_s *= scale;
    return EMP_OK;
}

static emp_status read_cpu(struct reader *r, const struct raw_model *raw,
                           struct constants *c, emp_error *err)
{
    static const struct raw_cpu none;
    const struct section        s = {cpu_table, FIELD_COUNT(cpu_table), "cpu",
                              raw->cpu == NULL ? &none : raw->cpu};

    c->device.kind = EMP_DEVICE_CPU;
    if (raw->processor != NULL)
        EMP_CHECK(emp_processor_read(&r->model->card, &r->config, raw->processor, err));
    EMP_CHECK(read_constants(r, &s, c, err));
    c->device.memory_bytes_per_s = cpu_stream(&c->device);
    if (c->device.cores <= EMP_MAX_CORES) return EMP_OK;
    return EMP_ERROR(EMP_EFORMAT, "%s:%d: cores is %d, at most %d", r->config.path,
                     emp_config_line(&r->config, "cores", ""), c->device.cores,
                     EMP_MAX_CORES);
}

/* The sections of a model that is made of cores. */
static emp_status read_cores(struct reader *r, const struct raw_model *raw,
                             struct constants *c, emp_error *err)
{
    emp_device *d = &c->device;

    if (raw->core != NULL) {
        EMP_CHECK(emp_config_convert(&r->config, core_table, FIELD_COUNT(core_table),
                                     raw->core, c, r->hash, err));
        d->has_core = true;
    }
    if (raw->sharing == NULL) return EMP_OK;
    if (d->kind != EMP_DEVICE_GPU || raw->core == NULL)
        return fail(r, "sharing", "sharing: needs the sections gpu and core beside it",
                    err);
    EMP_CHECK(emp_config_convert(&r->config, sharing_table, FIELD_COUNT(sharing_table),
                                 raw->sharing, c, r->hash, err));
    if (d->sharing.beside_stream < 1.0 || d->sharing.beside_clock < 1.0)
        return fail(r, "sharing",
                    "sharing: beside_stream and beside_clock are at least 1", err);
    d->has_sharing = true;
    return EMP_OK;
}

/* A model without the section has the same hash as before there was one. */
static emp_status read_passes(struct reader *r, const struct raw_model *raw,
                              struct constants *c, emp_error *err)
{
    if (raw->passes == NULL) return EMP_OK;
    if (c->device.kind != EMP_DEVICE_GPU || raw->core != NULL)
        return fail(r, "passes",
                    "passes: needs the section gpu or card beside it, without core", err);
    c->device.has_passes = true;
    return emp_config_convert(&r->config, passes_table, FIELD_COUNT(passes_table),
                              raw->passes, c, r->hash, err);
}

/* The peaks of the card, unless the section `formats` has its own. */
static void hash_card_formats(struct reader *r, const emp_device *device)
{
    uint64_t bits;

    for (emp_format f = EMP_FORMAT_FP32; f < EMP_FORMATS; f++) {
        if (device->format_flops_per_s[f] == 0.0) continue;
        memcpy(&bits, &device->format_flops_per_s[f], sizeof bits);
        *r->hash = emp_hash_u64(*r->hash, bits);
        *r->hash = emp_hash_u64(*r->hash, f);
    }
}

static emp_status read_formats(struct reader *r, const struct raw_model *raw,
                               emp_device *device, emp_error *err)
{
    if (device->has_metal_kernels) *r->hash = emp_hash_u64(*r->hash, 1);
    if (raw->formats_count == 0) {
        hash_card_formats(r, device);
        return EMP_OK;
    }
    if (device->kind != EMP_DEVICE_GPU)
        return fail(r, "formats", "formats: needs the section gpu or card beside it",
                    err);
    memset(device->format_flops_per_s, 0, sizeof device->format_flops_per_s);
    for (unsigned i = 0; i < raw->formats_count; i++) {
        const struct raw_format *f = &raw->formats[i];
        emp_format               format;
        emp_error                why = {0};
        if (emp_format_parse(&format, f->format, &why) != EMP_OK)
            return EMP_ERROR(EMP_EFORMAT, "%s:%d: format: %s", r->config.path,
                             emp_config_line(&r->config, "format", f->format), why.msg);
        if (device->format_flops_per_s[format] > 0.0)
            return EMP_ERROR(EMP_EFORMAT, "%s:%d: format: %s is there twice",
                             r->config.path,
                             emp_config_line(&r->config, "format", f->format), f->format);
        EMP_CHECK(emp_config_convert(&r->config, &peak_field, 1, f,
                                     &device->format_flops_per_s[format], r->hash, err));
        *r->hash = emp_hash_u64(*r->hash, format);
    }
    return EMP_OK;
}

/* Tables lie in tables/ beside the folder of the model's file, or else in the data folder's,
 * so that a copy of a model finds them. */
static void find_table(char *path, size_t size, const char *model_path, const char *file)
{
    const char *slash = strrchr(model_path, '/');
    int         folder = slash == NULL ? 0 : (int)(slash - model_path) + 1;
    char        known[512];

    snprintf(path, size, "%.*s../tables/%s", folder, model_path, file);
    if (access(path, R_OK) == 0) return;
    emp_data_folder(known, sizeof known, "machines/tables/");
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s", file);
    if (access(known, R_OK) == 0) snprintf(path, size, "%s", known);
}

static emp_status add_table(struct reader *r, emp_table_kind kind, const char *file,
                            emp_error *err)
{
    emp_status st = EMP_OK;
    char       path[512], inside[EMP_BUNDLE_NAME_BYTES];
    emp_csv    csv = {0};

    if (file == NULL) return EMP_OK;
    if (strchr(file, '/') != NULL)
        return fail(r, "tables",
                    "tables: a file's name has no folder; it lies in the folder tables",
                    err);
    if (r->model->device.tables == NULL) r->model->device.tables = emp_tables_create();
    if (r->model->device.tables == NULL)
        return EMP_ERROR(EMP_ENOMEM, "tables of a model");
    find_table(path, sizeof path, r->config.path, file);
    snprintf(inside, sizeof inside, "tables/%s", file);
    EMP_TRY(emp_source_open_csv(r->source, &csv, path, inside, err));
    EMP_TRY(emp_tables_add(r->model->device.tables, kind, &csv, path, r->hash, err));

cleanup:
    emp_csv_clear(&csv);
    return st;
}

static emp_status read_tables(struct reader *r, const struct raw_model *raw,
                              emp_error *err)
{
    if (raw->tables == NULL) return EMP_OK;
    if (r->model->device.kind != EMP_DEVICE_GPU)
        return fail(r, "tables", "tables: needs the section gpu or card beside it", err);
    EMP_CHECK(add_table(r, EMP_TABLE_GEMM, raw->tables->gemm, err));
    EMP_CHECK(add_table(r, EMP_TABLE_ATTENTION, raw->tables->attention, err));
    return add_table(r, EMP_TABLE_COMM, raw->tables->comm, err);
}

/* These rates are no part of a machine's hash, because no predicted cost depends on them. */
static emp_status read_reached(struct reader *r, const struct raw_model *raw,
                               emp_error *err)
{
    uint64_t unused = 0;

    if (raw->reached == NULL) return EMP_OK;
    if (r->model->device.kind != EMP_DEVICE_GPU)
        return fail(r, "reached", "reached: needs the section gpu or card beside it",
                    err);
    return emp_config_convert(&r->config, reached_table, FIELD_COUNT(reached_table),
                              raw->reached, &r->model->device, &unused, err);
}

static void note_fitted_cells(emp_device_model *m, const struct emp_raw_fit *fit)
{
    if (fit == NULL) return;
    m->fitted_constants = (int32_t)fit->constants_count;
    for (unsigned i = 0; i < fit->cells_count; i++)
        snprintf(m->fitted_cell[m->fitted_count++], EMP_FIT_NAME_BYTES, "%s",
                 fit->cells[i].name);
}

static emp_status read_all(struct reader *r, emp_error *err)
{
    const struct raw_model *raw = r->config.data;
    struct constants        c = {0};
    const bool              is_gpu = raw->gpu != NULL || raw->card != NULL;
    const bool              is_cpu = raw->cpu != NULL || raw->processor != NULL;

    if (is_gpu == is_cpu)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:1: needs exactly one of the keys gpu and cpu; or card of a "
                         "GPU, processor of a CPU, with what a data sheet says",
                         r->config.path);
    EMP_CHECK(is_gpu ? read_gpu(r, raw, &c, err) : read_cpu(r, raw, &c, err));
    EMP_CHECK(read_cores(r, raw, &c, err));
    EMP_CHECK(read_passes(r, raw, &c, err));
    EMP_CHECK(read_formats(r, raw, &c.device, err));
    emp_card_add_double(&c.device, &r->model->card);
    r->model->device = c.device;
    note_fitted_cells(r->model, raw->fit);
    EMP_CHECK(read_reached(r, raw, err));
    return read_tables(r, raw, err);
}

emp_status emp_device_model_read(emp_device_model *model, emp_source *source,
                                 const char *path, const char *name, uint64_t *hash,
                                 emp_error *err)
{
    emp_status    st = EMP_OK;
    char          inside[EMP_BUNDLE_NAME_BYTES];
    struct reader r = {.model = model, .source = source, .hash = hash};

    snprintf(inside, sizeof inside, "models/%s.yaml", name);
    snprintf(model->path, sizeof model->path, "%s", path);
    EMP_TRY(emp_source_open(source, &r.config, path, inside, &model_schema, err));
    EMP_TRY(read_all(&r, err));

cleanup:
    emp_config_close(&r.config);
    return st;
}

emp_status emp_device_model_load(emp_device_model *model, const char *name_or_path,
                                 emp_error *err)
{
    char       path[512], why[512];
    emp_source source = {0};
    uint64_t   hash = EMP_HASH_SEED;

    emp_config_path(path, sizeof path, "machines/models", name_or_path);
    if (access(path, R_OK) != 0) {
        emp_device_model_refuse(why, sizeof why, NULL, name_or_path);
        return EMP_ERROR(EMP_EIO, "device model '%.100s' %s", name_or_path, why);
    }
    emp_status st = emp_device_model_read(model, &source, path, "model", &hash, err);
    emp_free(source.text);
    return st;
}

void emp_device_model_clear(emp_device_model *model)
{
    emp_tables_release(model->device.tables);
    model->device.tables = NULL;
}
