// SPDX-License-Identifier: GPL-3.0-or-later
/* Do the texts of nvidia-smi become machines with the routes that they describe? */
#include "sim/machine/import/import.h"
#include "sim/machine/import/import_internal.h"
#include "sim/machine/machine.h"
#include "sim/machine/queries/check.h"
#include "tests/support/problems.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

TestSuite(machine_import, .init = scratch_create, .fini = scratch_remove);

enum { PATH_BYTES = 1200 };

static const char *sample(char path[PATH_BYTES], const char *name)
{
    if (name == NULL) return NULL;
    snprintf(path, PATH_BYTES, "%s/tests/sim/machine/import/samples/%s",
             getenv("EMP_SOURCE_DIR"), name);
    return path;
}

static void expect_no_complaint(void *context, const char *sentence)
{
    (void)context;
    cr_expect_fail("%s", sentence);
}

static emp_machine *import_sample(const char *topology, const char *query,
                                  const char *model)
{
    char               topology_path[PATH_BYTES], query_path[PATH_BYTES];
    char               out[SCRATCH_PATH_BYTES];
    emp_error          err = {0};
    emp_machine       *m = NULL;
    emp_machine_import import = {.topology = sample(topology_path, topology),
                                 .query = sample(query_path, query),
                                 .model = model,
                                 .out = "box.yaml"};

    cr_assert_eq(emp_machine_import_run(&import, &err), EMP_OK, "%s", err.msg);
    cr_expect_eq(import.warning_count, 0, "%s", import.warning[0]);
    scratch_write_text(out, sizeof out, "box.yaml", import.yaml);
    cr_assert_eq(emp_machine_load(&m, out, &err), EMP_OK, "%s\n%s", err.msg, import.yaml);
    emp_machine_check(m, expect_no_complaint, NULL);
    emp_machine_import_clear(&import);
    return m;
}

/* A copy between two devices: the fabric that it takes, "" = the tree. */
struct way {
    const char *from, *to, *by;
    double      gb_per_s, latency_us;
};

static void expect_ways(const emp_machine *m, const struct way *ways, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct way   *w = &ways[i];
        const emp_device_id a = emp_machine_find(m, w->from),
                            b = emp_machine_find(m, w->to);
        cr_assert(a >= 0 && b >= 0, "%s to %s", w->from, w->to);
        for (int back = 0; back < 2; back++) {
            const emp_route  *r = back ? &m->route[b][a] : &m->route[a][b];
            const emp_fabric *f = emp_machine_fabric_between(m, a, b);
            cr_expect_str_eq(f == NULL ? "" : f->name, w->by, "%s to %s", w->from, w->to);
            cr_expect_float_eq(r->bytes_per_s, w->gb_per_s * 1e9, 1e6, "%s to %s: %g",
                               w->from, w->to, r->bytes_per_s);
            cr_expect_float_eq(r->latency_s, w->latency_us * 1e-6, 1e-9, "%s to %s: %g",
                               w->from, w->to, r->latency_s);
        }
    }
}
#define EXPECT_WAYS(m, ways) expect_ways(m, ways, sizeof(ways) / sizeof *(ways))

Test(machine_import, eight_gpus_on_nvswitch)
{
    static const struct way ways[] = {{"gpu:0", "gpu:1", "nvswitch:0", 315, 6.5},
                                      {"gpu:0", "gpu:7", "nvswitch:0", 315, 6.5},
                                      {"gpu:3", "gpu:4", "nvswitch:0", 315, 6.5},
                                      {"cpu:0", "gpu:0", "", 50.4, 10},
                                      {"cpu:0", "gpu:7", "", 50.4, 10}};
    OWN_MACHINE             m = import_sample("dgx-h100.txt", "dgx-h100-query.txt", NULL);

    cr_expect_eq(emp_machine_count(m, EMP_DEVICE_GPU), 8);
    cr_expect_eq(m->fabric_count, 1);
    cr_expect_str_eq(emp_machine_first_model(m, EMP_DEVICE_GPU)->name, "h100-sxm");
    cr_expect_str_eq(emp_machine_first_model(m, EMP_DEVICE_CPU)->name, "xeon-112");
    EXPECT_WAYS(m, ways);
    /* each GPU has a bridge of its own, so copies from the host share no link */
    cr_expect_eq(m->route[0][1].link_count, 1);
}

Test(machine_import, a_mesh_of_nvlinks)
{
    static const struct way ways[] = {{"gpu:0", "gpu:1", "pair:0-1", 22.5, 10},
                                      {"gpu:0", "gpu:3", "pair:0-3", 45, 10},
                                      {"gpu:0", "gpu:4", "pair:0-4", 45, 10},
                                      {"gpu:3", "gpu:7", "pair:3-7", 22.5, 10},
                                      {"gpu:6", "gpu:7", "pair:6-7", 45, 10},
                                      {"gpu:0", "gpu:5", "", 11.02, 10},
                                      {"gpu:3", "gpu:6", "", 11.02, 10},
                                      {"cpu:0", "gpu:2", "", 11.02, 10}};
    OWN_MACHINE             m = import_sample("dgx1-v100.txt", NULL, "v100");

    cr_expect_eq(m->fabric_count, 16);
    EXPECT_WAYS(m, ways);
    /* gpu:0 and gpu:1 are below one switch, as their NIC tells, and gpu:2 is below another one:
     * links of host and switch, socket, GPU */
    cr_expect_eq(m->route[0][1].link_count, 3);
    cr_expect_eq(m->route[0][1].link[1], m->route[0][2].link[1]);
    cr_expect_neq(m->route[0][1].link[1], m->route[0][3].link[1]);
    cr_expect_eq(m->route[0][1].link[0], m->route[0][3].link[0]);
    cr_expect_neq(m->route[0][1].link[0], m->route[0][5].link[0]);
}

/* A desktop whose cards have 8 and 4 lanes, whatever is idle now. */
Test(machine_import, two_unlike_gpus_of_a_desktop)
{
    static const struct way ways[] = {{"gpu:0", "gpu:1", "", 6.3, 24},
                                      {"cpu:0", "gpu:0", "", 12.6, 24},
                                      {"cpu:0", "gpu:1", "", 6.3, 24}};
    OWN_MACHINE             m = import_sample("two-phb.txt", "two-phb-query.txt", NULL);

    cr_expect_eq(m->fabric_count, 0);
    cr_expect_eq(m->model_count, 3);
    EXPECT_WAYS(m, ways);
}

Test(machine_import, two_switches_on_two_sockets)
{
    static const struct way ways[] = {{"gpu:0", "gpu:1", "", 12.6, 10},
                                      {"gpu:2", "gpu:3", "", 12.6, 10},
                                      {"gpu:1", "gpu:2", "", 11.02, 10},
                                      {"cpu:0", "gpu:3", "", 11.02, 10}};
    OWN_MACHINE             m = import_sample("two-sockets.txt", NULL, "p100");

    EXPECT_WAYS(m, ways);
    /* both GPUs of a switch meet there; those of two sockets cross switch and socket twice */
    cr_expect_eq(m->route[1][2].link_count, 2);
    cr_expect_eq(m->route[1][3].link_count, 6);
}

/* ---- small texts -------------------------------------------------------------------------- */

static emp_status run_text(emp_machine_import *import, const char *topology,
                           const char *query, const char *model, emp_error *err)
{
    static char topology_path[SCRATCH_PATH_BYTES], query_path[SCRATCH_PATH_BYTES];

    scratch_write_text(topology_path, sizeof topology_path, "topo.txt", topology);
    if (query != NULL)
        scratch_write_text(query_path, sizeof query_path, "query.txt", query);
    *import = (emp_machine_import){.topology = topology_path,
                                   .query = query == NULL ? NULL : query_path,
                                   .model = model,
                                   .out = "box.yaml"};
    return emp_machine_import_run(import, err);
}

static void expect_text_refused(const char *topology, const char *query,
                                const char *model, const char *part)
{
    SCOPED(emp_machine_import, emp_machine_import_clear) import;
    emp_error err = {0};

    cr_expect_neq(run_text(&import, topology, query, model, &err), EMP_OK, "%s", part);
    cr_expect_not_null(strstr(err.msg, part), "\"%s\" lacks \"%s\"", err.msg, part);
    cr_expect_null(import.yaml);
}

#define ONE       "GPU0\nGPU0 X\n"
#define TWO(link) "GPU0 GPU1\nGPU0 X " link "\nGPU1 " link " X\n"
#define FOUR(link)                                                                  \
    "GPU0 GPU1 GPU2 GPU3\nGPU0 X " link " " link " " link "\nGPU1 " link " X " link \
    " " link "\nGPU2 " link " " link " X " link "\nGPU3 " link " " link " " link " X\n"
#define CPUS(near0, near1, near2, near3)                                          \
    "GPU0 GPU1 GPU2 GPU3 CPU Affinity NUMA Affinity\nGPU0 X SYS SYS SYS " near0   \
    "\nGPU1 SYS X SYS SYS " near1 "\nGPU2 SYS SYS X SYS " near2 "\nGPU3 SYS SYS " \
    "SYS X " near3 "\n"

#define QUERY(product, memory)                          \
    "GPU 00000000:18:00.0\n    Product Name : " product \
    "\n    FB Memory Usage\n        Total : " memory "\n"
#define C2C_QUERY(mode) C2C_OF("GH200 480GB", mode)
#define C2C_OF(product, mode)                                                           \
    "GPU 00000000:DD:00.0\n  Product Name : NVIDIA " product "\n  GPU C2C Mode : " mode \
    "\n  PCI\n    GPU Link Info\n      PCIe Generation\n        Max : 4\n"              \
    "      Link Width\n        Current : 1x\n"

#define AMD_LINKS(link)                                                             \
    "======= Link Type between two GPUs =======\n       GPU0         GPU1\n\nGPU0 " \
    "  0            " link "\nGPU1   " link "         0\n"
#define AMD_NODES \
    "GPU[0]\t\t: (Topology) Numa Node: 0\nGPU[1]\t\t: (Topology) Numa Node: 1\n"
#define AMD_WEIGHTS "=== Weight between two GPUs ===\n GPU0 GPU1\nGPU0 0 15\nGPU1 15 0\n"
#define AMD_HOPS    "=== Hops between two GPUs ===\n GPU0 GPU1\nGPU0 0 2\nGPU1 2 0\n"
#define AMD_SERIES                                             \
    "GPU[0]\t\t: Card Series: \t\tAMD Instinct MI300X\nGPU[1]" \
    "\t\t: Card Series: AMD Instinct MI300X\n"
#define AMD_BY_BUS                                                                   \
    "ACCESS TABLE:\n 0000:0c:00.0 0000:22:00.0\n0000:0c:00.0 ENABLED ENABLED\n"      \
    "0000:22:00.0 ENABLED ENABLED\n\nLINK TYPE TABLE:\n 0000:0c:00.0 0000:22:00.0\n" \
    "0000:0c:00.0 SELF XGMI\n0000:22:00.0 XGMI SELF\n\nLegend:\n  SELF = Current GPU\n"

/* A CPU and a GPU in one memory, which PCI does not show. */
#define SPARK                                                                        \
    "<topology version=\"3.0\"><object type=\"Machine\"><info name=\"DMIProductName" \
    "\" value=\"NVIDIA_DGX_Spark\"/><object type=\"Package\"><object type=\"NUMANo"  \
    "de\" local_memory=\"128000000000\"/><object type=\"Core\"/></object></object>"  \
    "<info name=\"Architecture\" value=\"aarch64\"/></topology>"
#define MAC                                                                        \
    "<topology version=\"2.0\"><object type=\"Machine\"><object type=\"Package\">" \
    "<info name=\"CPUModel\" value=\"Apple M4 Max\"/></object></object></topology>"

#define GROUP(model, count, at) "{model: \"" model "\", count: " count ", at: \"" at "\""

static const struct {
    const char *topology, *query, *model, *has; /* behind a '!': what the file lacks */
} small[] = {
    /* links that a GPU has are counted: 3 x NV6 are the 18 of an H100, and need no switch */
    {FOUR("NV6"), NULL, "h100-sxm", "pair:0-1"},
    {FOUR("NV6"), NULL, "v100", "nvswitch:0"},
    {FOUR("NV12"), NULL, "a100-sxm", "bandwidth: \"203 GB/s\", latency: \"10.5 us\""},
    {FOUR("NV4"), NULL, "a100-sxm", "bandwidth: \"90 GB/s\", latency: \"10 us\""},
    {FOUR("NV2"), NULL, "v100", "pair:2-3"},
    {TWO("NV1"), NULL, "a100-sxm", "bandwidth: \"22.5 GB/s\", latency: \"10 us\""},
    /* assumptions are said */
    {TWO("NV4"), NULL, "rtx3090", "GPUs that NVLinks join share a socket"},
    {ONE, NULL, "rtx3090", "PCIe 4 with 16 lanes for gpu:0."},
    {ONE, NULL, "rtx3090", "The host is of model epyc-128."},
    {"\tGPU0\tGPU1\r\nGPU0\t X \tPHB\r\n\r\nGPU1\tPHB\t X \r\n", NULL, "k40",
     "count: 2, at: \"host:0\", bandwidth: \"12.6 GB/s\""},
    {ONE, QUERY("NVIDIA A100-SXM4-40GB", "40960 MiB"), NULL,
     "# warning: NVIDIA A100-SXM4-40GB"},
    {ONE, QUERY("Tesla V100-PCIE-16GB", "16160 MiB"), NULL,
     "# warning: Tesla V100-PCIE-16GB is not what model v100 is: the SXM2 board"},
    {ONE, QUERY("Tesla P100-SXM2-16GB", "16280 MiB"), NULL,
     "# warning: Tesla P100-SXM2-16GB is not what model p100 is: the PCIe board"},
    {ONE, QUERY("Tesla V100-SXM2-16GB", "16160 MiB"), NULL, "!warning"},
    {ONE, QUERY("Tesla P100-PCIE-16GB", "16280 MiB"), NULL, "!warning"},
    /* NVLink-C2C is the link to the host, whatever PCIe says of the GPU */
    {ONE, C2C_QUERY("Enabled"), NULL,
     GROUP("gh200", "1", "host:0") ", bandwidth: \"450 GB/s\""},
    {ONE, C2C_QUERY("Enabled"), NULL, "!copies by PCIe"},
    {ONE, C2C_QUERY("Enabled"), NULL, "{model: \"grace-72\", at: \"host:0\"}"},
    {ONE, C2C_QUERY("Disabled"), "v100", "bandwidth: \"1.575 GB/s\""},
    /* so does a GB10, which has its memory in common with the CPU that is one product with it */
    {ONE, C2C_OF("GB10", "Enabled"), NULL, "{model: \"gb10-cpu\", at: \"host:0\"}"},
    {ONE, C2C_OF("GB10", "Enabled"), NULL, GROUP("gb10", "1", "host:0") "}"},
    {"=== Link Type between two GPUs ===\n GPU0\nGPU0 0\n"
     "GPU[0]\t\t: Card Series: AMD Radeon 8060S\n",
     NULL, NULL, "{model: \"ryzen-ai-max\", at: \"host:0\"}"},
    /* SYS between all GPUs is no socket for each, where their CPUs are the same */
    {CPUS("0-7,16-23 0", "0-7,16-23 0", "8-15 1", "8-15 1"), NULL, "rtx4090",
     GROUP("rtx4090", "2", "socket:0")},
    {CPUS("0-7,16-23 0", "0-7,16-23 0", "8-15 1", "8-15 1"), NULL, "rtx4090",
     GROUP("rtx4090", "2", "socket:1")},
    {"GPU0 GPU1 CPU Affinity\nGPU0 X SYS 0-7\nGPU1 SYS X 0-7\n", NULL, "rtx4090",
     GROUP("rtx4090", "2", "host:0")},
    /* AMD; a way over another GPU is no link */
    {AMD_WEIGHTS AMD_LINKS("XGMI") AMD_NODES, NULL, "mi300x",
     "devices: [\"gpu:0\", \"gpu:1\"], bandwidth: \"48 GB/s\""},
    {AMD_WEIGHTS AMD_LINKS("XGMI") AMD_NODES, NULL, "mi300x",
     GROUP("mi300x", "1", "socket:1")},
    {AMD_WEIGHTS AMD_LINKS("XGMI") AMD_NODES, NULL, "mi300x",
     "The host is of model epyc-9374f"},
    {AMD_LINKS("PCIE") AMD_NODES, NULL, "rtx4090", GROUP("rtx4090", "1", "socket:1")},
    {AMD_LINKS("PCIE"), NULL, "rtx4090", "count: 2, at: \"host:0\""},
    {AMD_LINKS("XGMI") AMD_HOPS, NULL, "mi300x", "!fabrics:"},
    {AMD_BY_BUS, NULL, "mi355x",
     "devices: [\"gpu:0\", \"gpu:1\"], bandwidth: \"57.6 GB/s\""},
    {AMD_LINKS("XGMI") AMD_SERIES, NULL, NULL, "{model: \"mi300x\", count: 2"},
    /* lstopo names computers that are known */
    {SPARK, NULL, NULL, "{model: \"gb10-cpu\", at: \"host:0\"}"},
    {SPARK, NULL, NULL, GROUP("gb10", "1", "host:0") "}\n"},
    {MAC, NULL, NULL, GROUP("m4-max", "1", "host:0") "}\n"},
    {MAC, NULL, "rtx4090", "rtx4090"},
};

Test(machine_import, small_texts_say_what_they_have)
{
    for (size_t i = 0; i < COUNT(small); i++) {
        const char *has = small[i].has;
        const bool  lacks = has[0] == '!';
        SCOPED(emp_machine_import, emp_machine_import_clear) import;
        ASSERT_OK(
            run_text(&import, small[i].topology, small[i].query, small[i].model, &err));
        cr_expect_eq(strstr(import.yaml, has + lacks) == NULL, lacks, "%s\n%s", has,
                     import.yaml);
        cr_expect_eq(import.warning_count, strncmp(has, "# warn", 6) == 0, "%s", has);
    }
}

/* A copy on a web page has lost the tabs between the names of two NICs. */
Test(machine_import, damaged_columns_of_nics_tell_nothing)
{
    static emp_gpu_matrix matrix;
    static const char     text[] = "GPU0 GPU1 NIC0NIC1 NIC2 CPU Affinity\n"
                                   "GPU0 X NV4 PIXNODE SYS 0-7\nGPU1 NV4 X SYSSYS SYS 8-15\n";

    cr_assert_eq(emp_gpu_matrix_parse(&matrix, text, strlen(text), "t", NULL), EMP_OK);
    cr_expect_eq(matrix.nic_count, 0);
    cr_expect_str_eq(matrix.affinity[0], "0-7");
    cr_expect_str_eq(matrix.affinity[1], "8-15");
}

/* ---- products and models ------------------------------------------------------------------ */

static const char *const linked[][2] = {
    {"NVIDIA H100 80GB HBM3", "h100-sxm"},
    {"NVIDIA H200", "h200-sxm"},
    {"NVIDIA B200", "b200-sxm"},
    {"NVIDIA A100-SXM4-80GB", "a100-sxm"},
    {"A100-SXM4-40GB", "a100-sxm"},
    {"Tesla V100-SXM2-16GB", "v100"},
    {"Tesla V100-PCIE-16GB", "v100"},
    {"Tesla P100-SXM2-16GB", "p100"},
    {"Tesla K80", "k80"},
    {"Tesla K40m", "k40"},
    {"NVIDIA L40S", "l40s"},
    {"NVIDIA A100 80GB PCIe", "a100-pcie"},
    {"NVIDIA GH200 480GB", "gh200"},
    {"NVIDIA GB200", "gb200"},
    {"NVIDIA H20", "h20"},
    {"AMD Instinct MI300X OAM", "mi300x"},
    {"A100 SXM4 80GB", "a100-sxm"},
    {"GeForce RTX 3090", "rtx3090"},
    {"NVIDIA GeForce RTX 3060", "rtx3060"},
    {"NVIDIA GeForce RTX 4090", "rtx4090"},
    {"RTX PRO 6000 Blackwell Server Edition", "rtxpro6000"}};

/* Cards that have only the bus, and products without a model. */
static const char *const others[][2] = {
    {"NVIDIA L4", "l4"},
    {"Tesla T4", "t4"},
    {"Tesla P40", "p40"},
    {"NVIDIA GB10", "gb10"},
    {"NVIDIA T1200 Laptop GPU", "t1200"},
    {"NVIDIA GeForce GTX 1660", "gtx1660"},
    {"NVIDIA GeForce RTX 3080", "rtx3080"},
    {"NVIDIA GeForce RTX 5090", "rtx5090"},
    {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtxpro6000-ws"},
    {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", NULL},
    {"NVIDIA H100 PCIe", NULL},
    {"NVIDIA H200 NVL", NULL},
    {"NVIDIA GeForce RTX 4090 Laptop GPU", NULL},
    {"NVIDIA GeForce RTX 3080 Ti", NULL},
    {"NVIDIA L40", NULL},
    {"AMD Instinct MI300A", NULL},
    {"", NULL}};

static const char *expect_model(const char *const product[2])
{
    const char *model = emp_product_model(product[0]);

    cr_assert_eq(model == NULL, product[1] == NULL, "%s", product[0]);
    if (model != NULL) cr_expect_str_eq(model, product[1], "%s", product[0]);
    return model;
}

Test(machine_import, products_have_models)
{
    for (size_t i = 0; i < COUNT(linked); i++)
        cr_expect_not_null(emp_gpu_links_of(expect_model(linked[i]))->model);
    for (size_t i = 0; i < COUNT(others); i++) expect_model(others[i]);
}

/* A model file is one that the machine file finds by its name. */
Test(machine_import, a_model_may_be_a_file)
{
    char path[PATH_BYTES];
    SCOPED(emp_machine_import, emp_machine_import_clear) import;

    snprintf(path, sizeof path, "%s/data/machines/models/p100.yaml",
             getenv("EMP_SOURCE_DIR"));
    ASSERT_OK(run_text(&import, ONE, NULL, path, &err));
    cr_expect_not_null(strstr(import.yaml, "{model: \"p100\", count: 1"), "%s",
                       import.yaml);
}

static void expect_gpu(const emp_gpu_facts *gpu, const char *product, const char *bus,
                       int generation, int lanes, int clock_mhz, int memory_mib,
                       bool has_c2c)
{
    cr_expect_str_eq(gpu->product, product);
    cr_expect_str_eq(gpu->bus, bus);
    cr_expect_eq(gpu->pcie_generation, generation, "%s", product);
    cr_expect_eq(gpu->pcie_lanes, lanes, "%s", product);
    cr_expect_eq(gpu->clock_mhz, clock_mhz, "%s", product);
    cr_expect_eq(gpu->memory_mib, memory_mib, "%s", product);
    cr_expect_eq(gpu->has_c2c, has_c2c, "%s", product);
}

Test(machine_import, a_query_is_a_tree)
{
    static emp_gpu_query query;
    static const char    text[] =
        "Attached GPUs : 2\n"
        "GPU 00000000:18:00.0\n  Product Name : One\n  PCI\n    GPU Link Info\n"
        "      PCIe Generation\n        Max : N/A\n        Current : 1\n"
        "        Device Max : 5\n        Host Max : 4\n"
        "      Link Width\n        Max : 16x\n  Clocks\n    SM : 210 MHz\n"
        "  Max Clocks\n    SM : 1980 MHz\n  MIG Devices\n    FB Memory Usage\n"
        "      Total : 7 MiB\n  Processes\n    Product Name : none\n"
        "GPU 00000000:3B:00.0\n  Product Name : T\x01wo\n  FB Memory Usage\n"
        "    Total : 99999999999 MiB\n  Link Width\n    Max : 8x\n";

    cr_assert_eq(emp_gpu_query_parse(&query, text, strlen(text), "q", NULL), EMP_OK);
    cr_assert_eq(query.gpu_count, 2);
    /* the slower generation of device and host; the memory of a part of a GPU is not its own, and
     * too many digits are no number */
    expect_gpu(&query.gpu[0], "One", "00000000:18:00.0", 4, 16, 1980, 0, false);
    expect_gpu(&query.gpu[1], "T?wo", "00000000:3B:00.0", 0, 0, 0, 0, false);
}

Test(machine_import, one_gpu_needs_no_topology)
{
    char               path[SCRATCH_PATH_BYTES];
    emp_machine_import import = {.query = path, .out = "box.yaml"};

    scratch_write_text(path, sizeof path, "query.txt", QUERY("NVIDIA L4", "23034 MiB"));
    ASSERT_OK(emp_machine_import_run(&import, &err));
    cr_expect_not_null(
        strstr(import.yaml, "bandwidth: \"25.2 GB/s\", latency: \"10 us\""),
        "the bus and the class of the card: %s", import.yaml);
    cr_expect_eq(import.warning_count, 0, "%s", import.warning[0]);
    emp_machine_import_clear(&import);
    scratch_write_text(path, sizeof path, "query.txt",
                       QUERY("NVIDIA L4", "N/A") QUERY("NVIDIA L4", "N/A"));
    EXPECT_REFUSED(emp_machine_import_run(&import, &err), EMP_EINVAL,
                   "has 2 GPUs; --topology FILE says how");
    emp_machine_import_clear(&import);
    import.query = NULL;
    cr_expect_eq(emp_machine_import_run(&import, NULL), EMP_EINVAL);
}

#define XML_GPU(id, product, generation, lanes, c2c)                                     \
    "<gpu id=\"" id "\"><product_name>" product "</product_name><c2c_mode>" c2c          \
    "</c2c_mode><pci><pci_gpu_link_info><pcie_gen><max_link_gen>N/A</max_link_gen>"      \
    "<current_link_gen>1</current_link_gen><max_device_link_gen>5</max_device_link_gen>" \
    "<max_host_link_gen>" generation "</max_host_link_gen></pcie_gen><link_widths>"      \
    "<max_link_width>16x</max_link_width><current_link_width>" lanes                     \
    "</current_link_width></link_widths></pci_gpu_link_info></pci>"                      \
    "<fb_memory_usage><total>24564 MiB</total></fb_memory_usage>"                        \
    "<mig_devices><fb_memory_usage><total>7 MiB</total></fb_memory_usage></mig_devices>" \
    "<clocks><sm_clock>210 MHz</sm_clock></clocks>"                                      \
    "<max_clocks><sm_clock>3105 MHz</sm_clock></max_clocks></gpu>"

Test(machine_import, a_query_may_be_xml)
{
    static emp_gpu_query query;
    static const char    text[] =
        "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi.dtd\">\n"
        "<nvidia_smi_log><attached_gpus>2</attached_gpus>\n" XML_GPU(
            "00000000:10:00.0", "NVIDIA GeForce RTX 4090", "4", "8x", "N/A")
            XML_GPU("00000000:20:00.0", "A &amp; B&#33;", "3", "4x",
                    "Enabled") "</nvidia_smi_log>";
    static const char lost[] = "<nvidia_smi_log><attached_gpus>2</attached_gpus><gpu "
                               "id=\"1\"><product_name>X</product_name></gpu>"
                               "</nvidia_smi_log>";

    ASSERT_OK(emp_gpu_query_parse(&query, text, strlen(text), "q", &err));
    cr_assert_eq(query.gpu_count, 2);
    expect_gpu(&query.gpu[0], "NVIDIA GeForce RTX 4090", "00000000:10:00.0", 4, 8, 3105,
               24564, false);
    expect_gpu(&query.gpu[1], "A & B!", "00000000:20:00.0", 3, 4, 3105, 24564, true);
    EXPECT_REFUSED(emp_gpu_query_parse(&query, lost, strlen(lost), "q", &err),
                   EMP_EFORMAT, "announces 2 GPUs and ends after 1");
}

static emp_machine *load_import(const emp_machine_import *import)
{
    char         path[SCRATCH_PATH_BYTES], file[64];
    emp_error    err = {0};
    emp_machine *m = NULL;

    cr_assert_not_null(import->host_yaml, "%s", import->yaml);
    snprintf(path, sizeof path, "mkdir -p '%s/models'", scratch_path(""));
    cr_assert_eq(system(path), 0);
    snprintf(file, sizeof file, "models/%s.yaml", import->host_name);
    scratch_write_text(path, sizeof path, file, import->host_yaml);
    scratch_write_text(path, sizeof path, "box.yaml", import->yaml);
    cr_assert_eq(emp_machine_load(&m, path, &err), EMP_OK, "%s\n%s\n%s", err.msg,
                 import->yaml, import->host_yaml);
    return m;
}

Test(machine_import, lstopo_tells_packages_switches_and_links)
{
    static const struct way ways[] = {{"cpu:0", "gpu:0", "", 12.6, 10},
                                      {"gpu:0", "gpu:1", "", 12.6, 10},
                                      {"cpu:0", "gpu:2", "", 6.302, 24},
                                      {"gpu:0", "gpu:2", "", 6.302, 24},
                                      {"cpu:0", "gpu:3", "", 44.1, 10}};
    char                    path[PATH_BYTES];
    emp_machine_import      import = {.topology = sample(path, "two-packages.xml"),
                                      .out = "box.yaml"};

    ASSERT_OK(emp_machine_import_run(&import, &err));
    cr_assert_eq(import.warning_count, 2); /* the other one: of a V100 PCIe */
    cr_expect_str_eq(import.warning[0], "\"Radeon HD 6450\" at 0000:82:00.0 is left out: "
                                        "no model stands for it");
    OWN_MACHINE m = load_import(&import);
    cr_expect_eq(emp_machine_count(m, EMP_DEVICE_GPU), 4);
    cr_expect_str_eq(m->model[m->device[1].model].name, "v100");
    cr_expect_str_eq(m->model[m->device[3].model].name, "rtx3090");
    cr_expect_str_eq(m->model[m->device[4].model].name, "mi300x");
    EXPECT_WAYS(m, ways);
    cr_expect_str_eq(m->model[0].name, "box-cpu");
    cr_expect_eq(m->device[0].cores, 4);
    cr_expect_float_eq(m->device[0].clock_hz, 2.1e9, 1.0);
    cr_expect_eq(m->device[0].memory_bytes, INT64_C(1) << 38);
    emp_machine_check(m, expect_no_complaint, NULL);
    emp_machine_import_clear(&import);
}

/* nvidia-smi knows more of the GPUs that lstopo has found, in whatever order. */
Test(machine_import, facts_of_nvidia_smi_go_to_the_gpus_of_lstopo_by_bus)
{
#define GPU(bus)                                                                 \
    "<object type=\"PCIDev\" pci_busid=\"" bus "\" pci_type=\"0302 [10de:1] \" " \
    "pci_link_speed=\"4.0\"/>"
    static const char topology[] =
        "<topology><object type=\"Machine\"><object type=\"Package\"><object "
        "type=\"Core\"/>" GPU("0000:01:00.0")
            GPU("0000:c1:00.0") "</object></object></topology>";
    static const char  query[] = "GPU 00000000:C1:00.0\n    Product Name : Tesla T4\n"
                                 "GPU 00000000:01:00.0\n    Product Name : NVIDIA L4\n";
    static const char  other[] = "GPU 00000000:C2:00.0\n    Product Name : Tesla T4\n";
    emp_machine_import import;

    ASSERT_OK(run_text(&import, topology, query, NULL, &err));
    const char *first = strstr(import.yaml, "{model: \"l4\"");
    cr_assert_not_null(first, "%s", import.yaml);
    cr_expect_not_null(strstr(first, "{model: \"t4\""), "%s", import.yaml);
    emp_machine_import_clear(&import);
    EXPECT_REFUSED(run_text(&import, topology, other, NULL, &err), EMP_EFORMAT,
                   "has no GPU at 00000000:C2:00.0");
    emp_machine_import_clear(&import);
}

#define MATRIX TWO("PHB")

static const struct {
    const char *topology, *query, *model, *part;
} bad_texts[] = {
    {"", NULL, "k40", "topo.txt: no line begins with GPU0"},
    {"no matrix\n", NULL, "k40", "nvidia-smi topo -m"},
    {"GPU0 GPU2\nGPU0 X PHB\n", NULL, "k40", "topo.txt:1: column GPU2"},
    {"GPU0 NIC0 GPU1\n", NULL, "k40", "column GPU1"},
    {"GPU0 GPU1\nGPU0 X PHB\n", NULL, "k40", "row of GPU1, of 2"},
    {"GPU0 GPU1\nGPU1 X PHB\n", NULL, "k40", "topo.txt:2: the row of GPU0"},
    {"GPU0 GPU1\nGPU0 X\n", NULL, "k40", "1 cells of GPUs, not 2"},
    {"GPU0 GPU1\nGPU0 X FOO\n", NULL, "k40", "topo.txt:2: GPU0 to GPU1 is \"FOO\""},
    {"GPU0 GPU1\nGPU0 X NV0\n", NULL, "k40", "\"NV0\""},
    {"GPU0 GPU1\nGPU0 X NV123\n", NULL, "k40", "\"NV123\""},
    {"GPU0 GPU1\nGPU0 X X\n", NULL, "k40", "a GPU to itself"},
    {"GPU0 GPU1\nGPU0 SYS X\n", NULL, "k40", "a GPU to itself"},
    {"GPU0 GPU1\nGPU0 X PHB\nGPU1 SYS X\n", NULL, "k40", "topo.txt:3: GPU0 to GPU1"},
    {"GPU0 GPU1\nGPU0 X NV2\nGPU1 NV1 X\n", NULL, "v100", "GPU1 to GPU0 is NV1"},
    {FOUR("NV12"), NULL, "v100", "v100 has 6 NVLinks"},
    {FOUR("NV2"), NULL, "l40s", "l40s has 0 NVLinks"},
    {MATRIX, NULL, NULL, "--query FILE"},
    {MATRIX, NULL, "k41", "--model: 'k41'"},
    {MATRIX, NULL, "", "--model: ''"},
    {MATRIX, NULL, "nowhere/k40.yaml", "'nowhere/k40.yaml' is no model that box.yaml"},
    {MATRIX, NULL, "a-name-that-is-longer-than-31-bytes", "31 characters"},
    {MATRIX, NULL, "a\"b", "--model: 'a\"b'"},
    {MATRIX, NULL, "haswell-18", "'haswell-18' is a model of a CPU"},
    {MATRIX, "", NULL, "query.txt has no GPU"},
    {MATRIX, QUERY("Tesla K80", "N/A"), NULL, "has 2 GPUs"},
    {MATRIX, "Attached GPUs : 2\n" QUERY("Tesla K80", "N/A"), NULL, "ends after 1"},
    {ONE, "GPU 00000000:18:00.0\n", NULL, "\"Product Name\""},
    {ONE, QUERY("Riva 128", "N/A"), NULL, "\"Riva 128\""},
    {"<topology/>", NULL, "k40", "topo.txt has neither packages nor cores"},
    {"<topology><object type=\"Package\"/></topology>", NULL, NULL, "has no GPU of"},
    {"<topology><object type=\"Package\">", NULL, NULL, "topo.txt:1: not XML"},
    {"<topology>\n</object></topology>", NULL, NULL, "topo.txt:2: not XML"},
    {"<topology><object a='", NULL, NULL, "topo.txt:1: not XML"},
    {"<nvidia_smi_log/>", NULL, "k40", "--query"},
    {MATRIX, "<topology/>", NULL, "query.txt is XML"},
    {MATRIX, "<nvidia_smi_log/>", NULL, "query.txt has no GPU"},
    {AMD_LINKS("FOO"), NULL, "mi300x", "topo.txt:4: GPU0 to GPU1 is \"FOO\""},
    {"Link Type between two GPUs\n  GPU0 GPU1\nGPU0 0 XGMI\n", NULL, "mi300x", "GPU1"},
    {"LINK TYPE TABLE:\n a b\na SELF XGMI\nb PCIE SELF\n", NULL, "mi300x", "topo.txt:4"},
    {"LINK TYPE TABLE:\n", NULL, "mi300x", "topo.txt ends behind the title"},
    {AMD_LINKS("XGMI"), NULL, NULL, "topo.txt does not tell the products"},
};

Test(machine_import, bad_texts_are_refused)
{
    for (size_t i = 0; i < COUNT(bad_texts); i++)
        expect_text_refused(bad_texts[i].topology, bad_texts[i].query, bad_texts[i].model,
                            bad_texts[i].part);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(machine_import, other_hosts_are_named)
{
    char               topology[PATH_BYTES];
    emp_machine_import import = {.topology = sample(topology, "two-phb.txt"),
                                 .model = "k40",
                                 .host = "ryzen-16",
                                 .out = "box.yaml"};

    ASSERT_OK(emp_machine_import_run(&import, &err));
    cr_expect_not_null(strstr(import.yaml, "{model: \"ryzen-16\", at: \"host:0\"}"));
    cr_expect_null(strstr(import.yaml, "The host is"), "it is not assumed");
    emp_machine_import_clear(&import);
    import.host = "k40";
    EXPECT_REFUSED(emp_machine_import_run(&import, &err), EMP_EINVAL,
                   "--host: 'k40' is a model of a GPU");
}

static char *matrix_of(int count)
{
    const size_t size = 64 + (size_t)count * ((size_t)count + 4) * 8;
    char        *text = malloc(size);
    size_t       used = 0;

    cr_assert_not_null(text);
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, size - used, "GPU%d ", i);
    for (int row = 0; row < count; row++) {
        used += (size_t)snprintf(text + used, size - used, "\nGPU%d", row);
        for (int i = 0; i < count; i++)
            used += (size_t)snprintf(text + used, size - used, i == row ? " X" : " PHB");
    }
    return text;
}

Test(machine_import, a_machine_has_at_most_63_gpus)
{
    emp_machine_import import;
    char              *most = matrix_of(63), *more = matrix_of(65);

    ASSERT_OK(run_text(&import, most, NULL, "k40", &err));
    emp_machine_import_clear(&import);
    expect_text_refused(more, NULL, "k40", "63 GPUs");
    free(most);
    free(more);
}

Test(machine_import, zero_bytes_and_long_lines_are_survived)
{
    enum { LONG = 1 << 20 };
    char               path[SCRATCH_PATH_BYTES];
    char              *text = malloc(LONG + 1);
    emp_machine_import import = {.topology = path, .model = "k40", .out = "box.yaml"};

    cr_assert_not_null(text);
    memset(text, 'N', LONG);
    memcpy(text, "GPU0\nGPU0 ", 10);
    text[LONG] = '\0';
    expect_text_refused(text, NULL, "k40", "topo.txt:2: GPU0 to GPU0");
    free(text);
    scratch_write("topo.txt", "G\0P\0U\0", 6);
    snprintf(path, sizeof path, "%s", scratch_path("topo.txt"));
    EXPECT_REFUSED(emp_machine_import_run(&import, &err), EMP_EFORMAT, "UTF-8");
}

Test(machine_import, escapes_of_terminals_are_removed)
{
    char   text[] = "\x1b[4mGPU0\x1b[0m\x1b[1;31mX\x1b[";
    size_t size = strlen(text);

    cr_assert_eq(emp_smi_text_clean(text, &size, "t", NULL), EMP_OK);
    cr_expect_eq(size, 7);
    cr_expect_eq(strncmp(text, "GPU0X\x1b[", size), 0, "half an escape stays");
}

Test(machine_import, every_allocation_may_fail)
{
    static const char *const samples[][2] = {{"two-phb.txt", "two-phb-query.txt"},
                                             {"two-packages.xml", NULL}};

    for (int i = 0; i < 2; i++) {
        char               topology[PATH_BYTES], query[PATH_BYTES];
        emp_machine_import import = {.topology = sample(topology, samples[i][0]),
                                     .query = sample(query, samples[i][1]),
                                     .out = "box.yaml"};
        SURVIVES_EVERY_ALLOCATION_FAILURE(emp_machine_import_run(&import, NULL),
                                          emp_machine_import_clear(&import));
        emp_machine_import_clear(&import);
        cr_expect_eq(emp_mem_live_blocks(), 0);
    }
}
