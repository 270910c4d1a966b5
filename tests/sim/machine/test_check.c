// SPDX-License-Identifier: GPL-3.0-or-later
/* Does a check find what is implausible, and nothing in the machines that come with the program?
 * Do TensorFlow's names of devices find the machine's? */
#include "sim/machine/model.h"
#include "sim/machine/queries/check.h"
#include "tests/support/problems.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

static char complaints[4096];

static void hear(void *context, const char *sentence)
{
    (void)context;
    size_t used = strlen(complaints);
    snprintf(complaints + used, sizeof complaints - used, "%s\n", sentence);
}

Test(check, finds_nothing_in_the_machines_of_the_project)
{
    emp_data_names names;

    emp_data_find(&names, "machines");
    cr_assert_gt(names.count, 20);
    for (int32_t i = 0; i < names.count; i++) {
        OWN_MACHINE m = NULL;
        ASSERT_OK(emp_machine_load(&m, names.name[i], &err));
        complaints[0] = '\0';
        cr_expect_eq(emp_machine_check(m, hear, NULL), 0, "%s: %s", names.name[i],
                     complaints);
    }
}

/* Not every model is of a machine that comes with the program. */
Test(check, finds_nothing_in_the_models_of_the_project, .init = scratch_create,
     .fini = scratch_remove)
{
    emp_data_names names;
    char           path[SCRATCH_PATH_BYTES], text[512];

    emp_data_find(&names, "machines/models");
    cr_assert_gt(names.count, 40);
    for (int32_t i = 0; i < names.count; i++) {
        SCOPED(emp_device_model, emp_device_model_clear) model = {0};
        OWN_MACHINE m = NULL;
        ASSERT_OK(emp_device_model_load(&model, names.name[i], &err));
        const bool is_gpu = model.device.kind == EMP_DEVICE_GPU;
        snprintf(
            text, sizeof text,
            "description: \"d\"\nnodes:\n  - {name: \"n\"}\ndevices:\n"
            "  - {model: \"%s\", at: \"n\"}\n  - {model: \"%s\", at: \"n\", bandwidth: "
            "\"8 GB/s\", latency: \"9 us\"}\n",
            is_gpu ? "cpu-host" : names.name[i], is_gpu ? names.name[i] : "rtx4090");
        scratch_write_text(path, sizeof path, "all.yaml", text);
        ASSERT_OK(emp_machine_load(&m, path, &err));
        complaints[0] = '\0';
        emp_machine_check(m, hear, NULL);
        cr_expect_str_eq(complaints, "", "%s: %s", names.name[i], complaints);
    }
}

/* Copies of a GPU with a table and of a CPU, and a machine of them. */
#define FABRIC(name, members, rate)                                       \
    "  - {name: \"" name "\", devices: [" members "], bandwidth: \"" rate \
    "\", latency: \"6 us\"}\n"

static const char machine_text[] =
    "description: \"mine\"\n"
    "nodes:\n"
    "  - {name: \"host\"}\n"
    "  - {name: \"switch\", parent: \"host\", bandwidth: \"50 GB/s\", latency: \"0 "
    "us\"}\n"
    "devices:\n"
    "  - {model: \"mycpu\", at: \"host\"}\n"
    "  - {model: \"mygpu\", count: 2, at: \"switch\", bandwidth: \"50 GB/s\", latency: "
    "\"10 us\"}\n"
    "fabrics:\n" FABRIC("nv", "\"gpu:0\", \"gpu:1\"", "300 GB/s")
        FABRIC("all", "\"gpu:1\", \"cpu:0\"", "60 GB/s");

static void make_folder(void)
{
    char command[4 * SCRATCH_PATH_BYTES];

    scratch_create();
    snprintf(
        command, sizeof command,
        "cd '%s' && mkdir models tables && D=\"$EMP_SOURCE_DIR\"/data/machines && cp "
        "$D/models/h100-sxm.yaml models/mygpu.yaml && cp $D/models/haswell-18.yaml "
        "models/mycpu.yaml && cp $D/tables/h100-sxm.*.csv tables",
        scratch_path(""));
    cr_assert_eq(system(command), 0);
}

static void plant(const char *file, const char *find, const char *put)
{
    char           path[SCRATCH_PATH_BYTES];
    OWN_FREE char *text = scratch_read(file, NULL);

    scratch_write_changed(path, sizeof path, file, text, find, put);
}

#define GPU   "models/mygpu.yaml"
#define CPU   "models/mycpu.yaml"
#define TABLE "tables/h100-sxm.gemm.csv"

static const struct {
    const char *file, *find, *put, *part; /* of what the check or the loader says */
} planted[] = {
    {GPU, "  peak: \"67 TFLOP/s\"", "  peak: \"67 MFLOP/s\"", "peak is"},
    {GPU, "\"2680 GB/s\"", "\"2680 MB/s\"", "are faster than its memory"},
    {GPU, "\"2680 GB/s\"", "\"2680 TB/s\"", "stream is"},
    {GPU, "memory: \"79 GiB\"", "memory: \"79 MiB\"", "memory is"},
    {GPU, "  clock: \"1983 MHz\"", "  clock: \"1983 GHz\"", "clock is"},
    {GPU, "multiprocessors: 132", "multiprocessors: 13200", "multiprocessors is"},
    {GPU, "kernel_minimum: \"2 us\"", "kernel_minimum: \"2 ms\"", "kernel_minimum is"},
    {GPU, "gemm_base: \"2 us\"", "gemm_base: \"2 s\"", "gemm_base is"},
    {GPU, "per_wave: \"20.2 ns\"", "per_wave: \"2.02 ns\"", "faster than the peak"},
    {GPU, "\"bf16\", peak: \"989", "\"bf16\", peak: \"98.9", "products of bf16 reach"},
    {GPU, "\"bf16\", peak: \"989", "\"bf16\", peak: \"9.89", "below that of fp32"},
    {GPU, "  - {format: \"fp8\", peak: \"1978 TFLOP/s\"}\n", "", "products of fp8"},
    {CPU, "gemm_core: \"25.888", "gemm_core: \"258.88", "gemm_core of all cores"},
    {CPU, "conv_core: \"3.51", "conv_core: \"351", "conv_core of all cores"},
    {CPU, "bandwidth_cores: 6", "bandwidth_cores: 60", "more cores than it has"},
    {CPU, "clock: \"2.3 GHz\"", "clock: \"2.3 MHz\"", "clock is"},
    {"mine.yaml", "\"switch\", bandwidth: \"50 GB/s\"",
     "\"switch\", bandwidth: \"50 kB/s\"", "link gpu:0 up: its bandwidth is"},
    {"mine.yaml", "latency: \"10 us\"", "latency: \"10 s\"", "gpu:0 up: its latency is"},
    {"mine.yaml", "\"300 GB/s\"", "\"3000 GB/s\"", "nv gpu:0 out: its bandwidth is"},
    {"mine.yaml", "\"300 GB/s\"", "\"3 GB/s\"",
     "fabric nv: it has less than half the rate of the tree"},
    {"mine.yaml", "[\"gpu:1\", \"cpu:0\"]", "[\"gpu:1\", \"gpu:0\"]", "fabric all: no"},
    {"mine.yaml", "[\"gpu:1\", \"cpu:0\"]", "[\"gpu:1\", \"gpu:2\"]", "'gpu:2'"},
    {"mine.yaml", "at: \"switch\"", "at: \"swich\"", "at: 'swich' is no node"},
    {TABLE, "\nbf16,1,32,32,", "\nbf16,1,32,32,9999", "must not fall"},
};

static void check_mine(void)
{
    OWN_MACHINE m = NULL;
    emp_error   err = {0};

    complaints[0] = '\0';
    if (emp_machine_load(&m, scratch_path("mine.yaml"), &err) != EMP_OK)
        hear(NULL, err.msg);
    else
        emp_machine_check(m, hear, NULL);
}

Test(check, finds_planted_errors)
{
    for (size_t i = 0; i < COUNT(planted); i++) {
        char path[SCRATCH_PATH_BYTES];
        make_folder();
        scratch_write_text(path, sizeof path, "mine.yaml", machine_text);
        check_mine();
        cr_assert_str_eq(complaints, "", "%s", complaints);
        plant(planted[i].file, planted[i].find, planted[i].put);
        check_mine();
        cr_expect_not_null(strstr(complaints, planted[i].part), "%s: %s\nsaid: %s",
                           planted[i].file, planted[i].put, complaints);
        scratch_remove();
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

#define CARD                                                                           \
    "card:\n  peak: {fp32: \"35.6 TFLOP/s\", fp16: \"71.2 TFLOP/s\"}\n  memory: \"24 " \
    "GiB\"\n  rate: \"936.2 GB/s\"\n  bus: \"PCIe 4 x16\"\n  class: \"consumer\"\n"

/* The messages about a computer with a GPU whose model has this name and is a card with one text in
 * place of another one. */
static void check_card(const char *name, const char *find, const char *put,
                       const char *link)
{
    char path[SCRATCH_PATH_BYTES], text[1024], file[64];

    snprintf(text, sizeof text, "mkdir -p '%s/models'", scratch_path(""));
    cr_assert_eq(system(text), 0);
    snprintf(file, sizeof file, "models/%s.yaml", name);
    scratch_write_text(path, sizeof path, file, CARD);
    plant(file, find, put);
    snprintf(text, sizeof text,
             "description: \"d\"\nnodes:\n  - {name: \"n\"}\ndevices:\n"
             "  - {model: \"ryzen-16\", at: \"n\"}\n  - {model: \"%s\", at: \"n\"%s}\n",
             name, link);
    scratch_write_text(path, sizeof path, "mine.yaml", text);
    check_mine();
}

Test(check, says_what_is_published, .init = scratch_create, .fini = scratch_remove)
{
    static const struct {
        const char *name, *find, *put, *said; /* "" = nothing */
    } cases[] = {
        {"my-RTX-3090", "936.2 GB/s", "9.36 GB/s", "936 GB/s is published of rtx3090"},
        {"rtx3090", "936.2 GB/s", "9362 GB/s", "936 GB/s is published of rtx3090"},
        {"rtx3090-2", "71.2 TFLOP/s", "142 TFLOP/s", "twice as much is with sparsity"},
        {"rtx3090-2", "fp32: \"35.6", "fp32: \"3.56", "35.6 TFLOP/s is published of rtx"},
        {"rtx3090-2", "24 GiB", "240 GiB", "memory is 239 GiB; rtx3090 has 24 GiB"},
        {"rtx3090-2", "consumer\"", "consumer\"\ngpu: {stream: \"74.9 GB/s\"}",
         "stream is 74.9 GB/s; 936 GB/s is published of rtx3090"},
        {"rtx3090-2", "card", "card", ""},
        {"rtx3090ti", "936.2 GB/s", "1008 GB/s", ""},
        {"rtx3090-laptop", "936.2 GB/s", "512 GB/s", ""},
        {"RTX3090-Laptop", "936.2 GB/s", "512 GB/s", ""},
        {"tuned-rtx3090", "936.2 GB/s", "900 GB/s", ""},
        {"card", "936.2 GB/s", "9.36 GB/s", "it is 71.2 GB/s to 11.9 TB/s"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        check_card(cases[i].name, cases[i].find, cases[i].put, "");
        const bool is_right = cases[i].said[0] == '\0'
                                  ? complaints[0] == '\0'
                                  : strstr(complaints, cases[i].said) != NULL;
        cr_expect(is_right, "%s: %s\nsaid: %s", cases[i].name, cases[i].put, complaints);
    }
    check_card("card", "card", "card", ", bandwidth: \"64 GB/s\", latency: \"9 us\"");
    cr_expect_not_null(strstr(complaints, "gpu:0: its link has 64 GB/s; 31.5 GB/s is"),
                       "%s", complaints);
}

/* A full file has no published rate; its stream is compared with what is published. */
Test(check, compares_full_files_with_what_is_published, .init = make_folder,
     .fini = scratch_remove)
{
    char path[SCRATCH_PATH_BYTES], command[4 * SCRATCH_PATH_BYTES];

    scratch_write_text(path, sizeof path, "mine.yaml", machine_text);
    plant("mine.yaml", "mygpu", "h100-sxm-air");
    snprintf(command, sizeof command,
             "cd '%s/models' && sed '/^card/,/class/d' mygpu.yaml > h100-sxm-air.yaml",
             scratch_path(""));
    cr_assert_eq(system(command), 0);
    check_mine();
    cr_expect_str_eq(complaints, "", "%s", complaints);
    plant("models/h100-sxm-air.yaml", "2680 GB/s", "268 GB/s");
    check_mine();
    cr_expect_not_null(
        strstr(complaints, "h100-sxm-air: stream is 268 GB/s; 3.35 TB/s is"), "%s",
        complaints);
}

/* ---- names of devices ---- */

static emp_machine *load_named(const char *name)
{
    emp_machine *machine = NULL;

    cr_assert_eq(emp_machine_load(&machine, name, NULL), EMP_OK);
    return machine;
}

static void expect_found(const emp_machine *m, const char *name, const char *device)
{
    emp_device_id got = emp_device_name_find(m, name, strlen(name));
    emp_device_id want = device != NULL ? emp_machine_find(m, device) : -1;

    cr_expect_eq(got, want, "\"%s\" is device %d of %s, want %d", name, got, m->name,
                 want);
}

static void expect_all(const char *machine, const char *const names[][2], size_t count)
{
    OWN_MACHINE m = load_named(machine);

    for (size_t i = 0; i < count; i++) expect_found(m, names[i][0], names[i][1]);
}

Test(device_name, names_are_found_or_fit_no_device)
{
    static const char *const one_host[][2] = {
        {"/job:localhost/replica:0/task:0/device:GPU:2", "gpu:2"},
        {"/job:localhost/replica:0/task:0/cpu:0", "cpu:0"},
        {"/device:GPU:3", "gpu:3"},
        {"/gpu:0", "gpu:0"},
        {"/GPU:1", "gpu:1"},
        {"/cpu:0", "cpu:0"},
        {"gpu:1", "gpu:1"},
        {"/job:worker/task:0", "gpu:0"},
        {"/job:ps", "gpu:0"},
        {"", "gpu:0"},
        {"/device:TPU:0", NULL},
        {"/gpu:4", NULL},
        {"/gpu:", NULL},
        {"/gpu", NULL},
        {"/gpu:*", NULL},
        {"/gpu:-1", NULL},
        {"/gpu:1x", NULL},
        {"/task:x/gpu:0", NULL},
        {"/task:/gpu:0", NULL},
        {"/gpu:9999999999", NULL},
        {"/device:XLA_GPU:0", NULL},
        {"hello", NULL}};
    static const char *const two_hosts[][2] = {
        {"/job:worker/task:1/device:GPU:0", "gpu:4"},
        {"/job:ps/task:1/device:CPU:0", "cpu:1"},
        {"/job:worker/task:1", "gpu:4"},
        {"/gpu:5", "gpu:5"},
        {"/job:worker/task:0/gpu:4", NULL},
        {"/job:worker/task:2/gpu:0", NULL},
        {"/job:worker/task:1/cpu:1", NULL}};

    expect_all("k40x4", one_host, COUNT(one_host));
    expect_all("k40x4x2", two_hosts, COUNT(two_hosts));
}

Test(device_name, what_is_written_is_found)
{
    static const char *const machines[] = {"k40x1", "k40x4", "k40x4x2", "k40x7x8",
                                           "cpu2"};

    for (size_t i = 0; i < COUNT(machines); i++) {
        OWN_MACHINE m = load_named(machines[i]);
        for (emp_device_id d = 0; d < m->device_count; d++) {
            char name[EMP_DEVICE_NAME_BYTES];
            expect_found(m, emp_device_name_write(name, m, d), m->device[d].name);
        }
    }
}

Test(device_name, one_host_needs_no_task)
{
    emp_machine *one = load_named("k40x2"), *two = load_named("k40x4x2");
    char         name[EMP_DEVICE_NAME_BYTES];

    cr_expect_str_eq(emp_device_name_write(name, one, 2), "/device:GPU:1");
    cr_expect_str_eq(emp_device_name_write(name, two, emp_machine_find(two, "gpu:6")),
                     "/job:worker/task:1/device:GPU:2");
    emp_machine_destroy(one);
    emp_machine_destroy(two);
}
