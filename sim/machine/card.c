// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/card.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"
#include "base/text/text.h"
#include "base/text/units.h"

#define FIELD_COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))
#define STRING(type, key, member, flags)                                       \
    CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | (flags), type, member, 0, \
                           CYAML_UNLIMITED)
#define PEAK(format) \
    STRING(struct emp_raw_card_peak, #format, format, CYAML_FLAG_OPTIONAL)

static const cyaml_schema_field_t peak_fields[] = {
    PEAK(fp32), PEAK(tf32), PEAK(bf16), PEAK(fp16),     PEAK(fp8),
    PEAK(int8), PEAK(fp4),  PEAK(fp64), CYAML_FIELD_END};
const cyaml_schema_field_t emp_card_fields[] = {
    CYAML_FIELD_MAPPING_PTR("peak", CYAML_FLAG_POINTER, struct emp_raw_card, peak,
                            peak_fields),
    STRING(struct emp_raw_card, "memory", memory, 0),
    STRING(struct emp_raw_card, "rate", rate, 0),
    STRING(struct emp_raw_card, "bus", bus, 0),
    STRING(struct emp_raw_card, "class", class_name, 0),
    STRING(struct emp_raw_card, "kernels", kernels, CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_END};
const cyaml_schema_field_t emp_processor_fields[] = {
    STRING(struct emp_raw_processor, "cores", cores, 0),
    STRING(struct emp_raw_processor, "clock", clock, 0),
    STRING(struct emp_raw_processor, "simd", simd, CYAML_FLAG_OPTIONAL),
    STRING(struct emp_raw_processor, "peak", peak, CYAML_FLAG_OPTIONAL),
    STRING(struct emp_raw_processor, "memory", memory, 0),
    STRING(struct emp_raw_processor, "rate", rate, 0),
    CYAML_FIELD_END};

#define FLOPS_ROW(raw, key, member)                              \
    {                                                            \
#key, EMP_CONFIG_FLOPS_PER_S, offsetof(struct raw, key), \
            offsetof(emp_card, member)                           \
    }
static const emp_config_field peak_table[] = {
    FLOPS_ROW(emp_raw_card_peak, fp32, peak_flops_per_s[EMP_FORMAT_FP32]),
    FLOPS_ROW(emp_raw_card_peak, tf32, peak_flops_per_s[EMP_FORMAT_TF32]),
    FLOPS_ROW(emp_raw_card_peak, bf16, peak_flops_per_s[EMP_FORMAT_BF16]),
    FLOPS_ROW(emp_raw_card_peak, fp16, peak_flops_per_s[EMP_FORMAT_FP16]),
    FLOPS_ROW(emp_raw_card_peak, fp8, peak_flops_per_s[EMP_FORMAT_FP8]),
    FLOPS_ROW(emp_raw_card_peak, int8, peak_flops_per_s[EMP_FORMAT_INT8]),
    FLOPS_ROW(emp_raw_card_peak, fp4, peak_flops_per_s[EMP_FORMAT_FP4]),
    FLOPS_ROW(emp_raw_card_peak, fp64, peak_flops_per_s[EMP_FORMAT_FP64])};
static const emp_config_field card_table[] = {
    {"memory", EMP_CONFIG_BYTES, offsetof(struct emp_raw_card, memory),
     offsetof(emp_card, memory_bytes)},
    {"rate", EMP_CONFIG_BYTES_PER_S, offsetof(struct emp_raw_card, rate),
     offsetof(emp_card, rate_bytes_per_s)}};
static const emp_config_field processor_table[] = {
    {"cores", EMP_CONFIG_COUNT, offsetof(struct emp_raw_processor, cores),
     offsetof(emp_card, cores)},
    {"clock", EMP_CONFIG_HERTZ, offsetof(struct emp_raw_processor, clock),
     offsetof(emp_card, clock_hz)},
    {"memory", EMP_CONFIG_BYTES, offsetof(struct emp_raw_processor, memory),
     offsetof(emp_card, memory_bytes)},
    {"rate", EMP_CONFIG_BYTES_PER_S, offsetof(struct emp_raw_processor, rate),
     offsetof(emp_card, rate_bytes_per_s)},
    FLOPS_ROW(emp_raw_processor, peak, peak_flops_per_s[EMP_FORMAT_FP32])};

/* The constants that GPUs of a class share. kernel_s is the shortest kernel and the constant part of a
 * product: measured on NVIDIA's GPUs since Ampere; those that share the CPU's memory are taken to need
 * 5 us. half_per_fp32 is how much faster products of 16 bits are, of the slowest GPU known; double_per_fp32, products of 64 bits
 * on GPUs since Ampere (NVIDIA's whitepapers of A100, H100, GA102, Ada and Blackwell); of AMD's RDNA 3. */
static const struct gpu_class {
    const char *name;
    double      kernel_s, copy_s, clock_hz, half_per_fp32, double_per_fp32;
    bool        shares_memory;
} classes[] = {{"server", 2e-6, 10e-6, 1.9e9, 16.0, 1.0, false},
               {"consumer", 2e-6, 24e-6, 2.3e9, 2.0, 1.0 / 64, false},
               {"laptop", 2e-6, 24e-6, 1.6e9, 2.0, 1.0 / 64, false},
               {"integrated", 5e-6, 5e-6, 1.5e9, 1.0, 1.0 / 32, true}};

/* Fused multiply-adds of fp32 that a core does in a cycle, times two. */
static const struct {
    const char *name;
    double      flops_per_cycle;
} simds[] = {{"AVX", 16}, {"AVX2", 32}, {"AVX-512", 64}, {"NEON", 32}};

/* The share of nominal rates, as in the models without measurements. */
static const double REACHED = 0.8;
/* Lanes of a multiprocessor, each of which does a multiply-add in a cycle. */
static const double CYCLE_FLOPS = 256.0;
static const double WAVE_FLOPS = 2.0 * 64 * 64;

double emp_pcie_gb_per_s(int32_t generation)
{
    static const double rates[] = {4.0, 8.0, 15.75, 31.5, 63.0, 121.0};
    const int32_t       known = (int32_t)(sizeof rates / sizeof *rates);

    return generation < 1 || generation > known ? 0.0 : rates[generation - 1];
}

/* ---- sections ---- */

static emp_status fail(const emp_config *config, const char *key, const char *value,
                       const char *why, emp_error *err)
{
    return EMP_ERROR(EMP_EFORMAT, "%s:%d: %s: '%s' %s", config->path,
                     emp_config_line(config, key, value), key, value, why);
}

static emp_status read_class(emp_card *card, const emp_config *config, const char *name,
                             emp_error *err)
{
    char        hint[EMP_NEAREST_BYTES], why[200];
    emp_nearest near = emp_nearest_begin(name, strlen(name), "");

    for (size_t i = 0; i < FIELD_COUNT(classes); i++) {
        card->kind_of_gpu = (int32_t)i;
        if (strcmp(classes[i].name, name) == 0) return EMP_OK;
        emp_nearest_offer(&near, classes[i].name, strlen(classes[i].name));
    }
    snprintf(why, sizeof why,
             "is no class of GPUs%s; known: server, consumer, laptop, integrated",
             emp_nearest_hint(&near, hint));
    return fail(config, "class", name, why, err);
}

static emp_status read_kernels(emp_card *card, const emp_config *config, const char *name,
                               emp_error *err)
{
    card->has_metal_kernels = name != NULL && strcmp(name, "metal") == 0;
    if (name == NULL || card->has_metal_kernels || strcmp(name, "cuda") == 0)
        return EMP_OK;
    return fail(config, "kernels", name, "are no kernels; known: cuda (default), metal",
                err);
}

/* "PCIe 4 x16", "PCIe 4.0 x16" or "PCIe4x16". */
static bool parse_pcie(emp_card *card, const char *text)
{
    enum { MOST_LANES = 16 };
    int generation = 0, lanes = 0, used = 0;

    if (strncmp(text, "PCIe", 4) != 0) return false;
    text += 4;
    if (sscanf(text, " %1d%n", &generation, &used) != 1) return false;
    text += used;
    if (strncmp(text, ".0", 2) == 0) text += 2;
    if (sscanf(text, " x%2d%n", &lanes, &used) != 1 || text[used] != '\0') return false;
    if (lanes < 1 || lanes > MOST_LANES) return false;
    card->bus_bytes_per_s = emp_pcie_gb_per_s(generation) * 1e9 * lanes / MOST_LANES;
    card->pcie_generation = generation;
    card->pcie_lanes = lanes;
    return card->bus_bytes_per_s > 0.0;
}

static emp_status read_bus(emp_card *card, const emp_config *config, const char *bus,
                           emp_error *err)
{
    snprintf(card->bus, sizeof card->bus, "%s", bus);
    if (strcmp(bus, "unified") == 0 || strcmp(bus, "none") == 0) return EMP_OK;
    if (strcmp(bus, "NVLink-C2C") == 0) {
        card->bus_bytes_per_s = EMP_C2C_GB_PER_S * 1e9;
        return EMP_OK;
    }
    if (parse_pcie(card, bus)) return EMP_OK;
    return fail(config, "bus", bus,
                "is no bus; write \"PCIe 4 x16\" (generations 1 to 6, 1 to 16 lanes), "
                "\"NVLink-C2C\", or \"unified\" of a GPU in the CPU's memory",
                err);
}

emp_status emp_card_read(emp_card *card, const emp_config *config,
                         const struct emp_raw_card *raw, emp_error *err)
{
    uint64_t hash = 0; /* the constants that follow are hashed, not the card */
    double   most = 0.0;

    *card = (emp_card){.is_there = true};
    EMP_CHECK(emp_config_convert(config, peak_table, FIELD_COUNT(peak_table), raw->peak,
                                 card, &hash, err));
    EMP_CHECK(emp_config_convert(config, card_table, FIELD_COUNT(card_table), raw, card,
                                 &hash, err));
    for (int32_t f = 0; f < EMP_FORMAT_FP64; f++)
        most = fmax(most, card->peak_flops_per_s[f]);
    if (most == 0.0)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:%d: peak: needs the dense peak of a number format, e.g. "
                         "peak: {fp32: \"35.6 TFLOP/s\", fp16: \"71.2 TFLOP/s\"}",
                         config->path, emp_config_line(config, "peak", ""));
    EMP_CHECK(read_class(card, config, raw->class_name, err));
    EMP_CHECK(read_kernels(card, config, raw->kernels, err));
    return read_bus(card, config, raw->bus, err);
}

static emp_status read_simd(emp_card *card, const emp_config *config, const char *simd,
                            emp_error *err)
{
    for (size_t i = 0; i < FIELD_COUNT(simds); i++) {
        if (strcmp(simds[i].name, simd) != 0) continue;
        card->peak_flops_per_s[EMP_FORMAT_FP32] =
            card->cores * simds[i].flops_per_cycle * card->clock_hz;
        return EMP_OK;
    }
    return fail(config, "simd", simd,
                "is no set of vector instructions; known: AVX, AVX2, AVX-512, NEON; "
                "or state a peak in its place",
                err);
}

emp_status emp_processor_read(emp_card *card, const emp_config *config,
                              const struct emp_raw_processor *raw, emp_error *err)
{
    uint64_t hash = 0;

    *card = (emp_card){.is_there = true};
    if ((raw->simd == NULL) == (raw->peak == NULL))
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:%d: processor: needs exactly one of the keys simd and peak",
                         config->path, emp_config_line(config, "processor", ""));
    EMP_CHECK(emp_config_convert(config, processor_table, FIELD_COUNT(processor_table),
                                 raw, card, &hash, err));
    return raw->simd == NULL ? EMP_OK : read_simd(card, config, raw->simd, err);
}

/* ---- rules ---- */

/* The peak of fp32, where only others are published. */
static double fp32_peak(const emp_card *card, const struct gpu_class *of)
{
    const double *peak = card->peak_flops_per_s;
    const double  half = fmax(peak[EMP_FORMAT_BF16], peak[EMP_FORMAT_FP16]);
    const double  byte = fmax(peak[EMP_FORMAT_FP8], peak[EMP_FORMAT_INT8]);

    if (peak[EMP_FORMAT_FP32] > 0.0) return peak[EMP_FORMAT_FP32];
    if (half > 0.0) return half / of->half_per_fp32;
    if (byte > 0.0) return byte / 2.0 / of->half_per_fp32;
    return peak[EMP_FORMAT_TF32] * 2.0 / of->half_per_fp32;
}

static int64_t usable_memory(const emp_card *card, const struct gpu_class *of)
{
    const int64_t gib = INT64_C(1) << 30, eighth = card->memory_bytes / 8;

    if (of->shares_memory) return card->memory_bytes - card->memory_bytes / 4;
    return card->memory_bytes - (eighth < gib ? eighth : gib);
}

static void derive_gpu(emp_device *d, const emp_card *card)
{
    const struct gpu_class *of = &classes[card->kind_of_gpu];

    d->memory_bytes = usable_memory(card, of);
    d->has_metal_kernels = card->has_metal_kernels;
    if (d->peak_flops_per_s == 0.0) d->peak_flops_per_s = fp32_peak(card, of);
    if (d->multiprocessors == 0) {
        const double clock_hz = d->clock_hz > 0.0 ? d->clock_hz : of->clock_hz;
        const double count = round(d->peak_flops_per_s / (CYCLE_FLOPS * clock_hz));
        d->multiprocessors = (int32_t)fmin(fmax(count, 1.0), 1024.0);
    }
    if (d->clock_hz == 0.0)
        d->clock_hz = d->peak_flops_per_s / (CYCLE_FLOPS * d->multiprocessors);
    d->memory_bytes_per_s = REACHED * card->rate_bytes_per_s;
    d->gemm_base_s = d->kernel_minimum_s = of->kernel_s;
    d->gemm_per_k_s = 0.0;
    d->gemm_per_wave_s =
        WAVE_FLOPS * d->multiprocessors / (REACHED * d->peak_flops_per_s);
    d->gemm_tile_rows = d->conv_tile_rows = 64;
    d->split_limit = 32;
    d->gemm_split_least = 256;
    d->gemm_skinny_factor = d->conv_factor = 1.0;
    d->gemm_skinny_limit = 0;
    for (int i = 0; i < 3; i++) d->conv_window_factor[i] = d->conv_filter_factor[i] = 1.0;
    for (int32_t f = EMP_FORMAT_FP32 + 1; f < EMP_FORMATS; f++)
        d->format_flops_per_s[f] = card->peak_flops_per_s[f];
}

void emp_card_add_double(emp_device *device, const emp_card *card)
{
    double *rate = &device->format_flops_per_s[EMP_FORMAT_FP64];

    if (!card->is_there || card->cores > 0 || *rate > 0.0) return;
    *rate = card->peak_flops_per_s[EMP_FORMAT_FP64];
    if (*rate == 0.0)
        *rate = device->peak_flops_per_s * classes[card->kind_of_gpu].double_per_fp32;
}

static void derive_cpu(emp_device *d, const emp_card *card)
{
    d->memory_bytes = card->memory_bytes;
    if (d->cores == 0) d->cores = card->cores;
    if (d->clock_hz == 0.0) d->clock_hz = card->clock_hz;
    if (d->peak_flops_per_s == 0.0)
        d->peak_flops_per_s = card->peak_flops_per_s[EMP_FORMAT_FP32];
    d->gemm_core_flops_per_s = d->peak_flops_per_s / d->cores / 2.0;
    d->conv_core_flops_per_s = d->peak_flops_per_s / d->cores / 4.0;
    d->scaling_exponent = 0.75;
    d->bandwidth_cores = (d->cores + 3) / 4;
    d->core_bytes_per_s = REACHED * card->rate_bytes_per_s / d->bandwidth_cores;
    d->thread_cycles = 100000.0;
    d->cycles_per_byte = 11.0 / 64;
}

void emp_card_derive(emp_device *device, const emp_card *card)
{
    if (card->cores > 0)
        derive_cpu(device, card);
    else
        derive_gpu(device, card);
}

const char *emp_card_rule(emp_device_kind kind, const char *key)
{
    static const char tables[] = "as on GPUs with tables",
                      convolutions[] = "no convolution of it was measured",
                      shortest[] = "the shortest kernel of its class",
                      eigen[] = "Eigen's cost model";
    static const struct {
        const char *key, *rule;
    } rules[EMP_DEVICE_KINDS][24] = {
        [EMP_DEVICE_GPU] = {{"memory",
                             "the card's less what the driver or the CPU takes"},
                            {"peak", "the peak of a shorter format, as on its class"},
                            {"multiprocessors", "the peak over 256 FLOP a cycle"},
                            {"clock", "the peak over 256 FLOP and multiprocessors"},
                            {"stream", "0.8 of the card's rate"},
                            {"gemm_base", shortest},
                            {"gemm_per_k", "all time is that of tiles"},
                            {"gemm_per_wave", "a tile at 0.8 of the peak"},
                            {"gemm_tile_rows", tables},
                            {"conv_tile_rows", tables},
                            {"split_limit", tables},
                            {"skinny_factor", tables},
                            {"skinny_limit", tables},
                            {"split_least", tables},
                            {"conv_factor", convolutions},
                            {"wide_factor", convolutions},
                            {"wide_filter_factor", convolutions},
                            {"point_factor", convolutions},
                            {"point_filter_factor", convolutions},
                            {"winograd_factor", convolutions},
                            {"winograd_filter_factor", convolutions},
                            {"kernel_minimum", shortest}},
        [EMP_DEVICE_CPU] = {{"gemm_core", "half of a core's peak"},
                            {"conv_core", "a quarter of a core's peak"},
                            {"scaling_exponent", "as on haswell-18"},
                            {"core_stream", "0.8 of the rate over bandwidth_cores"},
                            {"bandwidth_cores", "a quarter of the cores"},
                            {"thread_cycles", eigen},
                            {"cycles_per_byte", eigen}}};

    for (size_t i = 0; rules[kind][i].key != NULL; i++)
        if (strcmp(rules[kind][i].key, key) == 0) return rules[kind][i].rule;
    return NULL;
}

bool emp_card_link(emp_link *link, const emp_device *device, const emp_card *card)
{
    if (!card->is_there || card->bus[0] == '\0') return false;
    link->is_derived = true;
    link->latency_s = classes[card->kind_of_gpu].copy_s;
    if (card->bus_bytes_per_s == 0.0) /* a copy is read and written in the one memory */
        link->bytes_per_s = device->memory_bytes_per_s / 2.0;
    else if (strcmp(card->bus, "NVLink-C2C") == 0)
        link->bytes_per_s = card->bus_bytes_per_s;
    else
        link->bytes_per_s = REACHED * card->bus_bytes_per_s;
    return true;
}

/* ---- for people ---- */

void emp_card_describe(char *text, size_t size, const emp_card *card)
{
    emp_text t = {text, size, 0};
    char     number[EMP_UNITS_TEXT_BYTES];

    text[0] = '\0';
    for (emp_format f = EMP_FORMAT_FP32; f < EMP_FORMATS; f++) {
        if (card->peak_flops_per_s[f] == 0.0) continue;
        emp_text_add(&t, "%s%s %s", t.used > 0 ? ", " : "",
                     emp_units_format_si(card->peak_flops_per_s[f], "FLOP/s", number,
                                         sizeof number),
                     emp_format_name(f));
    }
    emp_text_add(&t, ", %s",
                 emp_units_format_bytes(card->memory_bytes, number, sizeof number));
    emp_text_add(
        &t, ", %s",
        emp_units_format_si(card->rate_bytes_per_s, "B/s", number, sizeof number));
    if (card->cores == 0)
        emp_text_add(&t, ", %s, %s", card->bus, classes[card->kind_of_gpu].name);
    else
        emp_text_add(&t, ", %d cores at %s", card->cores,
                     emp_units_format_si(card->clock_hz, "Hz", number, sizeof number));
}
