// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/import/products.h"

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
    {"Tesla P100-*", "p100"},
    {"Tesla V100-*", "v100"},
    {"A100-SXM4-*", "a100-sxm"},
    {"H100 80GB HBM3", "h100-sxm"},
    {"H200", "h200-sxm"},
    {"B200", "b200-sxm"},
    {"L40S", "l40s"},
    {"RTX PRO 6000 Blackwell*", "rtxpro6000"},
    {"GeForce RTX 3060", "rtx3060"},
    {"GeForce RTX 3090", "rtx3090"},
    {"GeForce RTX 4090", "rtx4090"},
};

/* PCIe and NVLink are documented. What NVSwitch reaches was measured: the machine files say where. */
static const emp_gpu_links links[] = {
    {"k40", 3, 0, 0, 10, 0, 0, NULL},
    {"k80", 3, 0, 0, 10, 0, 0, NULL},
    {"p100", 3, 4, 20, 10, 0.7, 10, NULL},
    {"v100", 3, 6, 25, 10, 0.7, 10, NULL},
    {"a100-sxm", 4, 12, 25, 10, 203.0 / 300, 10.5, "dgx-a100"},
    {"h100-sxm", 5, 18, 25, 10, 315.0 / 450, 6.5, "dgx-h100"},
    {"h200-sxm", 5, 18, 25, 10, 311.0 / 450, 6.3, "h200x8"},
    {"b200-sxm", 5, 18, 50, 10, 563.0 / 900, 9.1, "b200x8"},
    {"l40s", 4, 0, 0, 10, 0, 0, NULL},
    {"rtxpro6000", 5, 0, 0, 10, 0, 0, NULL},
    {"rtx3060", 4, 0, 0, 24, 0, 0, NULL},
    {"rtx3090", 4, 4, 14.0625, 24, 0.7, 10, NULL},
    {"rtx4090", 4, 0, 0, 24, 0, 0, NULL},
};
static const emp_gpu_links other_links = {NULL, 4, 18, 25, 10, 0.7, 10, NULL};

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
