// SPDX-License-Identifier: GPL-3.0-or-later
/* Do five lines of a data sheet make the constants that models without measurements have, and do the
 * constants of older files stay as they are? */
#include <unistd.h>

#include "sim/machine/card.h"
#include "sim/machine/model.h"
#include "tests/support/problems.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

/* Step times are compared across versions, so that constants may change only on purpose. */
static const struct {
    const char *name;
    uint64_t    hash;
} hashes[] = {
    {"a100x4+v100x4", 0x2fb9f9d2df4da57a}, {"b200x8", 0x3f4f983305e238a7},
    {"cpu2", 0x2f30403dca63f0c2},          {"cpu2-slow", 0x46025454995e1f30},
    {"dgx-a100", 0x821e2745616f32b1},      {"dgx-h100", 0x67138a474619e7d3},
    {"dgx-h100x2", 0x4f405abe9b48e2d4},    {"h200x1", 0xb9237ccc664da85a},
    {"h200x8", 0x91c940038b8ca085},        {"k40x1", 0xb089eb9efbb4a6a4},
    {"k40x2", 0xbb538009cd33060d},         {"k40x4", 0x5473e6c2692372d3},
    {"k40x4x2", 0x333ecbf4f8884c4a},       {"k40x7x8", 0x3d106983f1b2a3a5},
    {"k40x8", 0xd213a0682415869b},         {"k80x1", 0x6ea33d5cc3ec9c2c},
    {"k80x4", 0xc489a7d3485fd756},         {"l40sx8", 0xd6400c52ab279aca},
    {"m3-ultra", 0xdccb19c336c52df7},      {"p100x4", 0x61e02d5cd50541c7},
    {"rtx3090x4", 0xc750884a66867df4},     {"rtx4090x2+rtx3060", 0xbb4ae62f287bd565},
    {"rtxpro6000x8", 0xa4027b9536d19429}};

Test(card, full_files_have_the_constants_that_they_had)
{
    for (size_t i = 0; i < COUNT(hashes); i++) {
        OWN_MACHINE m = NULL;
        ASSERT_OK(emp_machine_load(&m, hashes[i].name, &err));
        cr_expect_eq(m->hash, hashes[i].hash, "%s: %016llx", m->name,
                     (unsigned long long)m->hash);
    }
}

/* Memory that nvidia-smi shows in public logs, less at most 1.6 GiB for driver and context; of 96 GiB macOS leaves 72 to a GPU. */
Test(card, models_have_the_memory_that_their_devices_show)
{
    static const struct {
        const char *name;
        int64_t     mib;
    } shown[] = {{"p40", 22919},      {"t4", 15360},        {"l4", 23034},
                 {"gb200", 189471},   {"h100-sxm", 81559},  {"h200-sxm", 143771},
                 {"m3-ultra", 73728}, {"b200-sxm", 183359}, {"rtx3090", 24576}};

    for (size_t i = 0; i < COUNT(shown); i++) {
        emp_device_model model = {0};
        ASSERT_OK(emp_device_model_load(&model, shown[i].name, &err));
        const int64_t mib = model.device.memory_bytes >> 20;
        cr_expect(mib <= shown[i].mib && mib >= shown[i].mib - 1638, "%s: %lld MiB",
                  shown[i].name, (long long)mib);
        emp_device_model_clear(&model);
    }
}

/* ---- models ---- */

TestSuite(card_file, .init = scratch_create, .fini = scratch_remove);

static char path[SCRATCH_PATH_BYTES];

static void make(emp_device_model *model, const char *text)
{
    *model = (emp_device_model){0};
    scratch_write_text(path, sizeof path, "mine.yaml", text);
    ASSERT_OK(emp_device_model_load(model, path, &err));
}

/* Whether a rule gave the constant of that key. */
static bool is_derived(const emp_device_model *model, const char *key)
{
    int32_t                 count, i = 0;
    const emp_config_field *constants = emp_device_constants(model->device.kind, &count);

    while (i < count && strcmp(constants[i].key, key) != 0) i++;
    cr_assert_lt(i, count, "%s", key);
    return (model->derived >> i & 1) != 0;
}

/* All constants but those of the clock, which no time depends on. */
static void expect_same(const emp_device *a, const emp_device *b, const char *name)
{
    int32_t                 count;
    const emp_config_field *constants = emp_device_constants(a->kind, &count);

    cr_assert_eq(a->kind, b->kind);
    for (int32_t i = 0; i < count; i++) {
        if (constants[i].to >= sizeof *a || strcmp(constants[i].key, "clock") == 0)
            continue;
        const double one = emp_config_number(&constants[i], a),
                     other = emp_config_number(&constants[i], b);
        cr_expect(fabs(one - other) <= 0.01 * fabs(other), "%s: %s is %g and %g", name,
                  constants[i].key, one, other);
    }
    for (int32_t f = 0; f < EMP_FORMATS; f++)
        cr_expect_float_eq(a->format_flops_per_s[f], b->format_flops_per_s[f],
                           1e-6 * b->format_flops_per_s[f], "%s: format %d", name, f);
}

#define CARD(peak, memory, rate, bus, class)                               \
    "card:\n  peak: {" peak "}\n  memory: \"" memory "\"\n  rate: \"" rate \
    "\"\n  bus: \"" bus "\"\n  class: \"" class "\"\n"
#define RTX3090_PEAK                                                \
    "fp32: \"35.6 TFLOP/s\", tf32: \"35.6 TFLOP/s\", bf16: \"71.2 " \
    "TFLOP/s\", fp16: \"71.2 TFLOP/s\", int8: \"284.7 TFLOP/s\""
#define RTX3090 CARD(RTX3090_PEAK, "24 GiB", "936.2 GB/s", "PCIe 4 x16", "consumer")

Test(card_file, five_lines_make_the_constants_of_a_full_file)
{
    static const struct {
        const char *name, *text;
    } models[] = {
        {"rtx3090", RTX3090 "gpu: {multiprocessors: 82}\n"},
        {"rtx4090", CARD("fp32: \"82.6 TFLOP/s\", tf32: \"82.6 TFLOP/s\", bf16: \"165.2 "
                         "TFLOP/s\", fp16: \"165.2 TFLOP/s\", fp8: \"330.3 TFLOP/s\", "
                         "int8: \"660.6 TFLOP/s\"",
                         "24 GiB", "1008 GB/s", "PCIe 4.0 x16",
                         "consumer") "gpu: {multiprocessors: 128}\n"},
        {"m3-ultra", CARD("fp32: \"28.7 TFLOP/s\", bf16: \"28.7 TFLOP/s\", fp16: \"28.7 "
                          "TFLOP/s\"",
                          "96 GiB", "819 GB/s", "unified",
                          "integrated") "gpu: {multiprocessors: 80}\n"},
        {"ryzen-16", "processor: {cores: 16, clock: \"4.5 GHz\", simd: \"AVX2\", memory: "
                     "\"128 GB\", rate: \"83.2 GB/s\"}\n"},
    };

    for (size_t i = 0; i < COUNT(models); i++) {
        emp_device_model mine, full = {0};
        make(&mine, models[i].text);
        cr_assert_eq(emp_device_model_load(&full, models[i].name, NULL), EMP_OK);
        expect_same(&mine.device, &full.device, models[i].name);
        emp_device_model_clear(&full);
    }
}

/* Without multiprocessors the peak tells them, of 128 lanes each. */
Test(card_file, five_lines_are_enough)
{
    emp_device_model m;

    make(&m, RTX3090);
    cr_expect_eq(m.device.multiprocessors, 60);
    cr_expect_eq(m.device.memory_bytes, INT64_C(23) << 30);
    cr_expect_float_eq(m.device.gemm_per_wave_s, 8192.0 * 60 / (0.8 * 35.6e12), 1e-15);
    cr_expect(is_derived(&m, "multiprocessors"));
    cr_expect_not(is_derived(&m, "peak"));
    make(&m, CARD("bf16: \"312 TFLOP/s\"", "4 GiB", "1 TB/s", "PCIe 4 x8", "server"));
    cr_expect_float_eq(m.device.peak_flops_per_s, 19.5e12, 1e6);
    cr_expect(is_derived(&m, "peak"));
    cr_expect_eq(m.device.memory_bytes, INT64_C(7) << 29, "an eighth for the driver");
    make(&m, CARD("int8: \"100 TFLOP/s\"", "8 GB", "1 TB/s", "unified", "integrated"));
    cr_expect_float_eq(m.device.peak_flops_per_s, 50e12, 1e6);
    cr_expect_eq(m.device.memory_bytes, 6000000000);
}

Test(card_file, stated_constants_come_before_rules)
{
    emp_device_model m;

    make(&m, RTX3090 "gpu: {stream: \"800 GB/s\", peak: \"20 TFLOP/s\", multiprocessors: "
                     "80, kernel_minimum: \"2 us\", gemm_base: \"2 us\"}\n"
                     "measured: [\"kernel_minimum\"]\n");
    cr_expect_float_eq(m.device.memory_bytes_per_s, 800e9, 1.0);
    cr_expect_float_eq(m.device.gemm_per_wave_s, 8192.0 * 80 / (0.8 * 20e12), 1e-15);
    cr_expect_not(is_derived(&m, "stream"));
    cr_expect_not(is_derived(&m, "multiprocessors"));
    cr_expect_not(is_derived(&m, "kernel_minimum"), "it was measured");
    cr_expect(is_derived(&m, "gemm_base"), "stated, and no more than the rule");
    cr_expect(is_derived(&m, "split_limit"));
    make(&m, "processor: {cores: 8, clock: \"3 GHz\", peak: \"1 TFLOP/s\", memory: \"16 "
             "GiB\", rate: \"50 GB/s\"}\ncpu: {scaling_exponent: 0.9}\n");
    cr_expect_float_eq(m.device.scaling_exponent, 0.9, 1e-12);
    cr_expect_float_eq(m.device.gemm_core_flops_per_s, 1e12 / 16, 1.0);
    cr_expect_float_eq(m.device.memory_bytes_per_s, 40e9, 1.0);
    cr_expect_not(is_derived(&m, "scaling_exponent"));
    cr_expect(is_derived(&m, "core_stream"));
}

Test(card_file, models_of_the_program_say_what_is_derived)
{
    static const struct {
        const char *name, *derived, *stated;
    } models[] = {{"rtx5090", "stream", "multiprocessors"},
                  {"mi300x", "gemm_tile_rows", "stream"},
                  {"radeon-8060s", "kernel_minimum", "stream"},
                  {"rtx4090", "gemm_per_wave", "multiprocessors"},
                  {"h200-sxm", "gemm_per_wave", "stream"},
                  {"h100-sxm", "stream", "kernel_minimum"},
                  {"grace-72", "core_stream", "peak"}};

    for (size_t i = 0; i < COUNT(models); i++) {
        SCOPED(emp_device_model, emp_device_model_clear) m = {0};
        cr_assert_eq(emp_device_model_load(&m, models[i].name, NULL), EMP_OK);
        cr_expect(is_derived(&m, models[i].derived), "%s: %s", models[i].name,
                  models[i].derived);
        cr_expect_not(is_derived(&m, models[i].stated), "%s: %s", models[i].name,
                      models[i].stated);
    }
}

/* The totals of CUDA: PyTorch prints them where it is out of memory (pytorch/ao, pull request 4002; vllm, issues 2140 and
 * 27508; Wan2.1, issue 465; Open-Sora, issue 697; logs of H200s), or nvidia-smi does (modal-client, pull request 2797). */
Test(card_file, programs_have_no_more_memory_than_cuda)
{
    static const struct {
        const char *name;
        double      gib;
    } models[] = {{"h200-sxm", 139.80}, {"b200-sxm", 178.35}, {"h100-sxm", 79.11},
                  {"rtx3090", 23.69},   {"rtx5090", 31.37},   {"t4", 14.75},
                  {"l4", 22.49},        {"l40s", 44.99},      {"rtxpro6000-ws", 95.6}};

    for (size_t i = 0; i < COUNT(models); i++) {
        SCOPED(emp_device_model, emp_device_model_clear) m = {0};
        ASSERT_OK(emp_device_model_load(&m, models[i].name, &err));
        const double gib = (double)m.device.memory_bytes / (1 << 30);
        cr_expect(gib <= models[i].gib && gib >= models[i].gib - 1.2, "%s: %g GiB",
                  models[i].name, gib);
    }
}

/* Editions of one chip have memories of other clocks: NVIDIA's data sheets. */
Test(card_file, editions_have_their_own_rates)
{
    SCOPED(emp_device_model, emp_device_model_clear) server = {0};
    SCOPED(emp_device_model, emp_device_model_clear) workstation = {0};

    ASSERT_OK(emp_device_model_load(&server, "rtxpro6000", &err));
    ASSERT_OK(emp_device_model_load(&workstation, "rtxpro6000-ws", &err));
    cr_expect_float_eq(server.device.memory_bytes_per_s, 0.8 * 1597e9, 1e9);
    cr_expect_float_eq(workstation.device.memory_bytes_per_s, 0.8 * 1792e9, 1e9);
}

Test(card_file, a_constant_may_be_scaled)
{
    emp_device_model        m;
    int32_t                 count;
    const emp_config_field *constants;

    make(&m, "processor: {cores: 8, clock: \"3 GHz\", peak: \"1 TFLOP/s\", memory: \"16 "
             "GiB\", rate: \"50 GB/s\"}\n");
    constants = emp_device_constants(EMP_DEVICE_CPU, &count);
    for (int32_t i = 0; i < count; i++) {
        emp_device d = m.device;
        cr_expect(emp_device_constant_scale(&d, &constants[i], 2.0), "%s",
                  constants[i].key);
        cr_expect_float_eq(emp_config_number(&constants[i], &d),
                           2.0 * emp_config_number(&constants[i], &m.device), 1e-3);
        if (strcmp(constants[i].key, "core_stream") == 0)
            cr_expect_float_eq(d.memory_bytes_per_s, 80e9, 1.0);
    }
    make(&m, RTX3090);
    constants = emp_device_constants(EMP_DEVICE_GPU, &count);
    for (int32_t i = 0; i < count; i++) { /* zeros and the clock of measurements stay */
        emp_device d = m.device;
        const bool stays = strcmp(constants[i].key, "gemm_per_k") == 0 ||
                           strcmp(constants[i].key, "skinny_limit") == 0 ||
                           strcmp(constants[i].key, "gemm_clock") == 0;
        cr_expect_eq(emp_device_constant_scale(&d, &constants[i], 0.8), !stays, "%s",
                     constants[i].key);
    }
}

/* The link of a GPU with that card, which the machine file states or leaves to the bus. */
static const emp_link *link_of(emp_machine **m, const char *bus, const char *stated)
{
    char text[1024];

    emp_machine_destroy(*m);
    cr_assert_eq(system("mkdir -p models"), 0);
    snprintf(text, sizeof text,
             CARD("fp32: \"9 TFLOP/s\"", "8 GiB", "500 GB/s", "%s", "consumer"), bus);
    scratch_write_text(path, sizeof path, "models/mine.yaml", text);
    snprintf(text, sizeof text,
             "description: \"d\"\nnodes:\n  - {name: \"n\"}\ndevices:\n"
             "  - {model: \"ryzen-16\", at: \"n\"}\n  - {model: \"mine\", at: \"n\"%s}\n",
             stated);
    scratch_write_text(path, sizeof path, "box.yaml", text);
    ASSERT_OK(emp_machine_load(m, path, &err));
    cr_assert_eq((*m)->route[1][0].link_count, 1);
    return &(*m)->link[(*m)->route[1][0].link[0]];
}

static void enter_folder(void)
{
    scratch_create();
    cr_assert_eq(chdir(scratch_path("")), 0);
}

Test(card, a_bus_makes_the_link, .init = enter_folder, .fini = scratch_remove)
{
    static const struct {
        const char *bus;
        double      gb_per_s;
    } buses[] = {{"PCIe 4 x16", 25.2}, {"PCIe 3.0 x8", 6.3}, {"PCIe5x4", 12.6},
                 {"NVLink-C2C", 450},  {"unified", 200},     {"none", 200}};
    OWN_MACHINE m = NULL;

    for (size_t i = 0; i < COUNT(buses); i++) {
        const emp_link *link = link_of(&m, buses[i].bus, "");
        cr_expect_float_eq(link->bytes_per_s, buses[i].gb_per_s * 1e9, 1e6, "%s: %g",
                           buses[i].bus, link->bytes_per_s);
        cr_expect_float_eq(link->latency_s, 24e-6, 1e-12);
        cr_expect(link->is_derived);
    }
    const emp_link *link =
        link_of(&m, "PCIe 4 x16", ", bandwidth: \"9 GB/s\", latency: \"1 us\"");
    cr_expect_float_eq(link->bytes_per_s, 9e9, 1.0);
    cr_expect_not(link->is_derived);
}

/* Where a node has a link, devices below it cost nothing more, as they always have. */
Test(card, a_device_below_a_link_is_free, .init = scratch_create, .fini = scratch_remove)
{
    static const char text[] =
        "description: \"d\"\nnodes:\n  - {name: \"n\"}\n"
        "  - {name: \"a\", parent: \"n\", bandwidth: \"9 GB/s\", latency: \"1 us\"}\n"
        "  - {name: \"b\", parent: \"n\", bandwidth: \"9 GB/s\", latency: \"1 us\"}\n"
        "devices:\n  - {model: \"ryzen-16\", at: \"n\"}\n  - {model: \"rtx4090\", at: "
        "\"a\"}\n  - {model: \"rtx4090\", count: 2, at: \"b\"}\n";
    OWN_MACHINE m = NULL;

    scratch_write_text(path, sizeof path, "box.yaml", text);
    ASSERT_OK(emp_machine_load(&m, path, &err));
    cr_expect_eq(m->route[0][1].link_count, 1);
    cr_expect_eq(m->route[0][2].link_count, 2, "two GPUs at b need links of their own");
    cr_expect_float_eq(m->route[2][3].bytes_per_s, 25.2e9, 1e6);
}

#define PROCESSOR(cores, rest)                                                      \
    "processor: {cores: " cores ", clock: \"3 GHz\", memory: \"1 GiB\", rate: \"9 " \
    "GB/s\"" rest "}\n"
#define SMALL CARD("fp32: \"9 TFLOP/s\"", "8 GiB", "9 GB/s", "PCIe 4 x16", "consumer")

static const struct {
    const char *text, *find, *put, *part; /* a change to a text; of the message */
} bad_cards[] = {
    {SMALL, "consumer", "gaming", ":6: class: 'gaming' is no class of GPUs; known: serv"},
    {SMALL, "consumer", "consume", "(did you mean \"consumer\"?)"},
    {SMALL, "PCIe 4 x16", "PCIe 9 x16", ":5: bus: 'PCIe 9 x16' is no bus"},
    {SMALL, "PCIe 4 x16", "PCIe 4 x32", ":5: bus: 'PCIe 4 x32' is no bus"},
    {SMALL, "PCIe 4 x16", "PCIe 4", ":5: bus: 'PCIe 4' is no bus"},
    {SMALL, "9 GB/s", "9 GB", ":4: rate: \"9 GB\""},
    {SMALL, "8 GiB", "24", ":3: memory: "},
    {SMALL, "  rate: \"9 GB/s\"\n", "", ":5: Missing key: rate"},
    {SMALL, "fp32: \"9 TFLOP/s\"", "", ":2: peak: needs"},
    {SMALL, "fp32:", "fp128:", ":2: Unexpected key: fp128"},
    {SMALL, "card:", "cpu: {}\ncard:", ":1: needs exactly one of the keys gpu and cpu"},
    {SMALL, "card:", "measured: [\"stream\"]\ncard:", ":1: measured: 'stream'"},
    {PROCESSOR("8", ""), "8", "8", ":1: processor: needs exactly one of the keys simd"},
    {PROCESSOR("8", ", simd: \"MMX\""), "8", "8", ":1: simd: 'MMX'"},
    {PROCESSOR("800", ", simd: \"AVX\""), "8", "8", ":1: cores is 800, at most 128"},
    {"gpu: {memory: \"1 GiB\"}\n", "1", "1", ":1: Missing key: peak"},
};

Test(card_file, bad_sections_are_refused_by_file_line_and_key)
{
    for (size_t i = 0; i < COUNT(bad_cards); i++) {
        emp_device_model m = {0};
        scratch_write_changed(path, sizeof path, "mine.yaml", bad_cards[i].text,
                              bad_cards[i].find, bad_cards[i].put);
        EXPECT_REFUSED(emp_device_model_load(&m, path, &err), EMP_EFORMAT,
                       bad_cards[i].part);
        EXPECT_REFUSED(emp_device_model_load(&m, path, &err), EMP_EFORMAT, path);
        cr_expect_eq(emp_mem_live_blocks(), 0, "leak: %s", bad_cards[i].put);
    }
}
