// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* FNM_CASEFOLD */
#include "sim/machine/import/import_internal.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Names without "NVIDIA ", which newer drivers print before them. Boards of the same chip with other
 * memory or another power limit are other products: there is no model of an H100 PCIe. */
static const struct {
    const char *pattern, *model;
} products[] = {
    {"Tesla K40[cmst]", "k40"},
    {"Tesla K80", "k80"},
    {"Tesla P40", "p40"},
    {"Tesla P100[- ]*", "p100"},
    {"Tesla V100[- ]*", "v100"},
    {"Tesla T4", "t4"},
    {"T4", "t4"},
    {"L4", "l4"},
    {"A100[- ]SXM4[- ]*", "a100-sxm"},
    {"A100 80GB PCIe", "a100-pcie"},
    {"A100 PCIe 80GB", "a100-pcie"},
    {"H100 80GB HBM3", "h100-sxm"},
    {"H100 SXM5 80GB", "h100-sxm"},
    {"H200", "h200-sxm"},
    {"H20", "h20"},
    {"B200", "b200-sxm"},
    {"GB200", "gb200"},
    {"GH200 *", "gh200"},
    {"GB10", "gb10"},
    {"L40S", "l40s"},
    {"RTX PRO 6000 Blackwell Server Edition*", "rtxpro6000"},
    {"RTX PRO 6000 Blackwell Workstation Edition", "rtxpro6000-ws"},
    {"T1200 Laptop GPU", "t1200"},
    {"GeForce GTX 1660", "gtx1660"},
    {"GeForce RTX 2080", "rtx2080"},
    {"GeForce RTX 3060", "rtx3060"},
    {"GeForce RTX 3080", "rtx3080"},
    {"GeForce RTX 3090", "rtx3090"},
    {"GeForce RTX 4090", "rtx4090"},
    {"GeForce RTX 5090", "rtx5090"},
    {"*Instinct MI300X*", "mi300x"},
    {"*Instinct MI355X*", "mi355x"},
    {"*Radeon 8060S*", "radeon-8060s"},
    {"*Arc*140V*", "arc-140v"},
};

/* Products for which a model of another board stands, with fewer or more FLOP/s. */
static const struct {
    const char *pattern, *board;
} other_boards[] = {{"Tesla P100-SXM*", "the PCIe board, with 9.3 TFLOP/s"},
                    {"Tesla V100-PCIE*", "the SXM2 board, with 15.7 TFLOP/s"},
                    {"Tesla V100-FHHL*", "the SXM2 board, with 15.7 TFLOP/s"},
                    {"Tesla V100-DGXS*", "the SXM2 board, with 15.7 TFLOP/s"}};

/* PCIe, NVLink and XGMI are documented. The rate of NVSwitch was measured: the machine files say where. */
#define PAIR 0.9  /* of the NVLinks of a pair: rtx3090x4 */
#define XGMI 0.75 /* of an XGMI link: mi300x8 */
static const emp_gpu_links links[] = {
    {"k40", 3, 0, 0, 10, PAIR, 0, 0, NULL},
    {"k80", 3, 0, 0, 10, PAIR, 0, 0, NULL},
    {"p100", 3, 4, 20, 10, PAIR, 0.7, 10, NULL},
    {"v100", 3, 6, 25, 10, PAIR, 0.7, 10, NULL},
    {"a100-sxm", 4, 12, 25, 10, PAIR, 203.0 / 300, 10.5, "dgx-a100"},
    {"a100-pcie", 4, 12, 25, 10, PAIR, 0.7, 10, NULL},
    {"h100-sxm", 5, 18, 25, 10, PAIR, 315.0 / 450, 6.5, "dgx-h100"},
    {"h200-sxm", 5, 18, 25, 10, PAIR, 311.0 / 450, 6.3, "h200x8"},
    {"h20", 5, 18, 25, 10, PAIR, 0.7, 6.5, NULL},
    {"gh200", 5, 18, 25, 10, PAIR, 0.7, 6.5, NULL},
    {"b200-sxm", 5, 18, 50, 10, PAIR, 563.0 / 900, 9.1, "b200x8"},
    {"gb200", 5, 18, 50, 10, PAIR, 0.63, 9.1, NULL},
    {"l40s", 4, 0, 0, 10, PAIR, 0, 0, NULL},
    {"rtxpro6000", 5, 0, 0, 10, PAIR, 0, 0, NULL},
    {"rtx2080", 3, 1, 25, 24, PAIR, 0.7, 10, NULL},
    {"rtx3060", 4, 0, 0, 24, PAIR, 0, 0, NULL},
    {"rtx3090", 4, 4, 14.0625, 24, PAIR, 0.7, 10, NULL},
    {"rtx4090", 4, 0, 0, 24, PAIR, 0, 0, NULL},
    {"mi300x", 5, 7, 64, 10, XGMI, 0, 0, NULL},
    {"mi355x", 5, 7, 76.8, 10, XGMI, 0, 0, NULL},
};
static const emp_gpu_links other_links = {NULL, 4, 18, 25, 10, PAIR, 0.7, 10, NULL};

static const emp_known_computer computers[] = {
    {"NVIDIA_DGX_Spark", NULL, "gb10", "gb10-cpu"},
    {NULL, "Apple M3 Ultra", "m3-ultra", "m3-ultra-cpu"},
    {NULL, "Apple M4 Max", "m4-max", "m4-max-cpu"},
    {NULL, "Apple M5 Max", "m5-max", "m5-max-cpu"},
    {NULL, "*RYZEN AI MAX+*395*", "radeon-8060s", "ryzen-ai-max"},
    {NULL, "*Core*Ultra*2[0-9]8V", "arc-140v", "lunar-lake"},
};

const emp_known_computer *emp_computer_find(const char *product, const char *cpu)
{
    for (size_t i = 0; i < sizeof computers / sizeof *computers; i++) {
        const emp_known_computer *c = &computers[i];
        if ((c->product == NULL || strcmp(c->product, product) == 0) &&
            (c->cpu == NULL || fnmatch(c->cpu, cpu, FNM_CASEFOLD) == 0))
            return c;
    }
    return NULL;
}

const char *emp_computer_host_of(const char *gpu)
{
    for (size_t i = 0; i < sizeof computers / sizeof *computers; i++)
        if (strcmp(computers[i].gpu, gpu) == 0) return computers[i].host;
    return NULL;
}

static const char *without_maker(const char *product)
{
    static const char maker[] = "NVIDIA ";

    return product + (strncmp(product, maker, strlen(maker)) == 0 ? strlen(maker) : 0);
}

const char *emp_product_model(const char *product)
{
    product = without_maker(product);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (fnmatch(products[i].pattern, product, 0) == 0) return products[i].model;
    return NULL;
}

const char *emp_product_board(const char *product)
{
    product = without_maker(product);
    for (size_t i = 0; i < sizeof other_boards / sizeof *other_boards; i++)
        if (fnmatch(other_boards[i].pattern, product, 0) == 0)
            return other_boards[i].board;
    return NULL;
}

const emp_gpu_links *emp_gpu_links_of(const char *model)
{
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (strcmp(links[i].model, model) == 0) return &links[i];
    return &other_links;
}

/* ---- nvidia-smi -q ---- */

enum { MOST_DEPTH = 6, GREATEST = 100000000 };

/* A key that encloses the present line; a GPU's keys begin with the GPU itself. */
struct level {
    size_t    indent;
    emp_slice key;
};

struct parser {
    emp_gpu_query *query;
    struct level   level[MOST_DEPTH];
    int32_t        depth;     /* keys around the present line */
    int32_t        announced; /* "Attached GPUs"; 0 = unknown */
    int32_t        width_now, width_most, generation_now, generation_device,
        generation_host; /* of the present GPU */
};

/* The whole number that a value begins with; 0 where there is none, as of "N/A". */
static int32_t number_of(emp_slice value)
{
    int32_t number = 0;

    for (size_t i = 0; i < value.size && isdigit((unsigned char)value.data[i]); i++) {
        if (number > GREATEST) return 0;
        number = 10 * number + (value.data[i] - '0');
    }
    return number;
}

/* "GPU 00000000:18:00.0", which has a colon but no value. */
static bool is_gpu(emp_slice line)
{
    static const char head[] = "GPU ";
    size_t            digits = strlen(head);

    if (line.size <= digits || memcmp(line.data, head, digits) != 0) return false;
    while (digits < line.size && isxdigit((unsigned char)line.data[digits])) digits++;
    return digits >= strlen(head) + 4 && digits < line.size && line.data[digits] == ':';
}

/* Whether the present line is that key of a GPU, as "FB Memory Usage/Total". */
static bool is_at(const struct parser *p, emp_slice key, const char *path)
{
    for (int32_t i = 1; i < p->depth; i++) {
        const size_t length = p->level[i].key.size;
        if (strncmp(path, p->level[i].key.data, length) != 0 || path[length] != '/')
            return false;
        path += length + 1;
    }
    return p->depth > 0 && emp_slice_is(key, path);
}

/* Values that need both texts: the link's rate, and its width. */
static void settle(struct parser *p)
{
    if (p->query->gpu_count == 0) return;
    emp_gpu_facts *gpu = &p->query->gpu[p->query->gpu_count - 1];
    int32_t        slower = p->generation_device;
    if (slower == 0 || (p->generation_host > 0 && p->generation_host < slower))
        slower = p->generation_host;
    if (gpu->pcie_generation == 0) gpu->pcie_generation = slower;
    if (gpu->pcie_generation == 0) gpu->pcie_generation = p->generation_now;
    gpu->pcie_lanes = p->width_now > 0 ? p->width_now : p->width_most;
    p->width_now = p->width_most = 0;
    p->generation_now = p->generation_device = p->generation_host = 0;
}

/* Where the facts stand in the text, and in XML behind the element of the GPU. */
#define LINK     "PCI/GPU Link Info/"
#define XML_LINK "pci/pci_gpu_link_info/"
enum { PRODUCT, C2C, MEMORY, CLOCK, MOST, NOW, DEVICE, HOST, WIDTH_MOST, WIDTH, FACTS };
static const char *const places[FACTS][2] = {
    [PRODUCT] = {"Product Name", "product_name"},
    [C2C] = {"GPU C2C Mode", "c2c_mode"},
    [MEMORY] = {"FB Memory Usage/Total", "fb_memory_usage/total"},
    [CLOCK] = {"Max Clocks/SM", "max_clocks/sm_clock"},
    [MOST] = {LINK "PCIe Generation/Max", XML_LINK "pcie_gen/max_link_gen"},
    [NOW] = {LINK "PCIe Generation/Current", XML_LINK "pcie_gen/current_link_gen"},
    [DEVICE] = {LINK "PCIe Generation/Device Max",
                XML_LINK "pcie_gen/max_device_link_gen"},
    [HOST] = {LINK "PCIe Generation/Host Max", XML_LINK "pcie_gen/max_host_link_gen"},
    [WIDTH_MOST] = {LINK "Link Width/Max", XML_LINK "link_widths/max_link_width"},
    [WIDTH] = {LINK "Link Width/Current", XML_LINK "link_widths/current_link_width"}};

static void take(struct parser *p, int fact, emp_slice value)
{
    emp_gpu_facts *gpu = &p->query->gpu[p->query->gpu_count - 1];
    int32_t *const numbers[FACTS] = {
        [MEMORY] = &gpu->memory_mib,      [CLOCK] = &gpu->clock_mhz,
        [MOST] = &gpu->pcie_generation,   [NOW] = &p->generation_now,
        [DEVICE] = &p->generation_device, [HOST] = &p->generation_host,
        [WIDTH_MOST] = &p->width_most,    [WIDTH] = &p->width_now};

    if (fact == PRODUCT)
        emp_xml_copy(gpu->product, sizeof gpu->product, value);
    else if (fact == C2C)
        gpu->has_c2c = emp_slice_is(value, "Enabled");
    else
        *numbers[fact] = number_of(value);
}

static emp_status begin_gpu(struct parser *p, emp_slice bus, int32_t number,
                            const char *path, emp_error *err)
{
    settle(p);
    if (p->query->gpu_count == EMP_IMPORT_GPUS)
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: more than %d GPUs", path, number,
                         EMP_IMPORT_GPUS);
    emp_gpu_facts *gpu = &p->query->gpu[p->query->gpu_count++];
    emp_slice_copy(gpu->bus, sizeof gpu->bus, bus);
    return EMP_OK;
}

/* Leaves the keys that do not enclose a line of that indent. Deeper keys than any that is read are
 * not kept; their lines fit no path. */
static void leave(struct parser *p, size_t indent)
{
    while (p->depth > 0 && p->level[p->depth - 1].indent >= indent) p->depth--;
}

static void enter(struct parser *p, size_t indent, emp_slice key)
{
    if (p->depth < MOST_DEPTH) p->level[p->depth++] = (struct level){indent, key};
}

static emp_status read_line(struct parser *p, emp_slice line, int32_t number,
                            const char *path, emp_error *err)
{
    emp_slice text = emp_slice_trim(line);

    if (text.size == 0) return EMP_OK;
    const size_t indent = (size_t)(text.data - line.data);
    leave(p, indent);
    if (is_gpu(text)) {
        p->depth = 0;
        const size_t head = strlen("GPU ");
        EMP_CHECK(begin_gpu(p, (emp_slice){text.data + head, text.size - head}, number,
                            path, err));
        enter(p, indent, text);
        return EMP_OK;
    }
    const char *colon = memchr(text.data, ':', text.size);
    if (colon == NULL) {
        if (p->depth > 0) enter(p, indent, text);
        return EMP_OK;
    }
    const size_t length = (size_t)(colon - text.data);
    emp_slice    key = emp_slice_trim((emp_slice){text.data, length});
    emp_slice    value = emp_slice_trim((emp_slice){colon + 1, text.size - length - 1});
    for (int fact = 0; fact < FACTS && p->depth > 0; fact++)
        if (is_at(p, key, places[fact][0])) take(p, fact, value);
    if (p->depth == 0 && emp_slice_is(key, "Attached GPUs"))
        p->announced = number_of(value);
    return EMP_OK;
}

/* ---- XML ---- */

/* Whether the open elements are the log, a GPU, and behind it the elements of the path. */
static bool is_element(const emp_xml *x, const char *path)
{
    for (int32_t i = 2; i < x->depth; i++) {
        const size_t length = x->open[i].size;
        if (strncmp(path, x->open[i].data, length) != 0) return false;
        path += length;
        if (i < x->depth - 1 && *path++ != '/') return false;
    }
    return x->depth > 2 && *path == '\0';
}

static emp_status read_xml(struct parser *p, emp_xml *x, emp_error *err)
{
    char bus[24];

    do {
        EMP_CHECK(emp_xml_next(x, err));
        if (x->event == EMP_XML_OPEN && x->depth == 1 &&
            !emp_slice_is(x->name, "nvidia_smi_log"))
            return EMP_ERROR(EMP_EFORMAT,
                             "%s is XML, but not of nvidia-smi: its first element is not "
                             "nvidia_smi_log",
                             x->path);
        if (x->event == EMP_XML_OPEN && x->depth == 2 && emp_slice_is(x->name, "gpu")) {
            emp_xml_attribute(x, "id", bus, sizeof bus);
            EMP_CHECK(
                begin_gpu(p, (emp_slice){bus, strlen(bus)}, x->line + 1, x->path, err));
        }
        if (x->event != EMP_XML_TEXT || x->depth < 2) continue;
        if (x->depth == 2 && emp_slice_is(x->open[1], "attached_gpus"))
            p->announced = number_of(x->text);
        const bool is_gpu_s = p->query->gpu_count > 0 && emp_slice_is(x->open[1], "gpu");
        for (int fact = 0; fact < FACTS && is_gpu_s; fact++)
            if (is_element(x, places[fact][1])) take(p, fact, x->text);
    } while (x->event != EMP_XML_END);
    return EMP_OK;
}

static emp_status check(const struct parser *p, const char *path, emp_error *err)
{
    const emp_gpu_query *q = p->query;

    if (q->gpu_count == 0)
        return EMP_ERROR(
            EMP_EFORMAT,
            "%s has no GPU, as in a line \"GPU 00000000:18:00.0\"; save what "
            "`nvidia-smi -q` or `nvidia-smi -q -x` prints",
            path);
    if (p->announced > q->gpu_count)
        return EMP_ERROR(EMP_EFORMAT, "%s announces %d GPUs and ends after %d", path,
                         p->announced, q->gpu_count);
    for (int32_t i = 0; i < q->gpu_count; i++)
        if (q->gpu[i].product[0] == '\0')
            return EMP_ERROR(EMP_EFORMAT, "%s: GPU %s has no line \"Product Name\"", path,
                             q->gpu[i].bus);
    return EMP_OK;
}

emp_status emp_gpu_query_parse(emp_gpu_query *query, const char *text, size_t size,
                               const char *path, emp_error *err)
{
    struct parser p = {.query = query};
    emp_slice     rest = {text, size}, line;

    *query = (emp_gpu_query){0};
    if (emp_xml_is(text, size)) {
        emp_xml x = {.at = text, .end = text + size, .path = path};
        EMP_CHECK(read_xml(&p, &x, err));
    }
    for (int32_t number = 1; !emp_xml_is(text, size) && emp_slice_next_line(&line, &rest);
         number++)
        EMP_CHECK(read_line(&p, line, number, path, err));
    settle(&p);
    return check(&p, path, err);
}
