// SPDX-License-Identifier: GPL-3.0-or-later
/* Table 1 under other sizes. The paper does not tell them; these are what authors of the
 * time used. graphs/workloads/README.md has their sources. */
#include "bench/tables/paper.h"
#include "bench/tables/paper_table.h"

static double cpu(int32_t task) { return emp_paper_step_s(task, "cpu"); }
static double gpu(int32_t task) { return emp_paper_step_s(task, "gpu"); }
static double expert(int32_t task) { return emp_paper_step_s(task, "expert"); }
static double mincut(int32_t task) { return emp_paper_step_s(task, "mincut"); }

static const emp_paper_column columns[] = {
    {.key = "cpu", .column = {"CPU only", "cpu", .has_paper = true}, .paper = cpu},
    {.key = "gpu", .column = {"GPU only", "gpu", .has_paper = true}, .paper = gpu},
    {.key = "expert",
     .column = {"Human expert", "expert", .has_paper = true},
     .paper = expert},
    {.key = "mincut", .column = {"MinCut", "mincut", .has_paper = true}, .paper = mincut},
};

#define RNNLM(title, sizes)                                        \
    {                                                              \
        "rnnlm", "RNNLM, " title, "rnnlm:" sizes, "k40x2", 2, NULL \
    }
#define NMT(layers, title, sizes, machine)                                         \
    {                                                                              \
        "nmt" #layers, "NMT-" #layers ", " title, "nmt:layers=" #layers "," sizes, \
            machine, layers, NULL                                                  \
    }
#define NMT_SIZES(layers, machine)                                                     \
    {"nmt" #layers,                                                                    \
     "NMT-" #layers ", as in table 1",                                                 \
     "nmt:layers=" #layers,                                                            \
     machine,                                                                          \
     layers,                                                                           \
     NULL},                                                                            \
        NMT(layers, "32,000 words", "vocab=32000,per_step_softmax=1", machine),        \
        NMT(layers, "36,000 words", "vocab=36000,per_step_softmax=1", machine),        \
        NMT(layers, "50,000 words", "vocab=50000,per_step_softmax=1", machine),        \
        NMT(layers, "32,000, one softmax", "vocab=32000,per_step_softmax=0", machine), \
        NMT(layers, "50,000, one softmax", "vocab=50000,per_step_softmax=0", machine)

static const emp_task rows[] = {
    {"inception_v3", "Inception-V3, as in table 1", "inception_v3", "k40x2", 2, NULL},
    {"inception_v3", "Inception-V3, batch 1", "inception_v3:batch=1", "k40x2", 2, NULL},
    {"inception_v3", "Inception-V3, batch 32", "inception_v3:batch=32", "k40x2", 2, NULL},
    {"resnet", "ResNet-152, as in table 1", "resnet:depth=152", "k40x2", 2, NULL},
    {"resnet", "ResNet-152, batch 16", "resnet:depth=152,batch=16", "k40x2", 2, NULL},
    {"resnet", "ResNet-152, batch 64", "resnet:depth=152,batch=64", "k40x2", 2, NULL},
    {"rnnlm", "RNNLM, as in table 1", "rnnlm", "k40x2", 2, NULL},
    RNNLM("2,048 units, 8,192 classes", "units=2048,sampled=8192"),
    RNNLM("2,048 units, 24,576 classes", "units=2048,sampled=24576"),
    RNNLM("2,000 units, 8,192 classes", "units=2000,sampled=8192"),
    RNNLM("2,000 units, 24,576 classes", "units=2000,sampled=24576"),
    NMT_SIZES(2, "k40x2"),
    NMT_SIZES(4, "k40x4"),
    NMT_SIZES(8, "k40x8"),
};

const emp_paper_table emp_paper_sensitivity = {
    .name = "1 --other-sizes",
    .title =
        "Table 1 under other sizes. Seconds per training step: ours, simulated, beside "
        "the paper's.",
    .source = emp_paper_source,
    .note =
        "The paper does not tell these sizes. A size is right or wrong by facts of the "
        "graph, not by how near a row comes.",
    .row = rows,
    .row_count = sizeof rows / sizeof *rows,
    .column = columns,
    .column_count = sizeof columns / sizeof *columns};
