// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* FNM_CASEFOLD */
#include "sim/machine/import/plan_internal.h"

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
    {"RTX PRO 6000 Blackwell*", "rtxpro6000"},
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

/* PCIe, NVLink and XGMI are documented. What NVSwitch reaches was measured: the machine files say where. */
#define PAIR 0.9 /* of the NVLinks of a pair: rtx3090x4 */
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
    {"mi300x", 5, 7, 64, 10, 0.8, 0, 0, NULL},
    {"mi355x", 5, 7, 76.8, 10, 0.8, 0, 0, NULL},
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

const char *emp_product_model(const char *product)
{
    static const char maker[] = "NVIDIA ";

    if (strncmp(product, maker, strlen(maker)) == 0) product += strlen(maker);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (fnmatch(products[i].pattern, product, 0) == 0) return products[i].model;
    return NULL;
}

const emp_gpu_links *emp_gpu_links_of(const char *model)
{
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (strcmp(links[i].model, model) == 0) return &links[i];
    return &other_links;
}
