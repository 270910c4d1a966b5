// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/tables/paper.h"

#include <string.h>

#define OOM   INFINITY
#define BLANK NAN

const char emp_paper_source[] = "Mirhoseini et al., A Hierarchical Model for Device "
                                "Placement, ICLR 2018, Table 1";

const char emp_paper_source2[] = "Mirhoseini et al., A Hierarchical Model for Device "
                                 "Placement, ICLR 2018, Table 2 (learned: Table 1)";

#define OTHER_MODELS                                                 \
    {"resnet", "ResNet-152", "resnet:depth=152", "k40x2", 2, NULL},  \
        {"rnnlm", "RNNLM", "rnnlm", "k40x2", 2, NULL},               \
        {"nmt2", "NMT, 2 layers", "nmt:layers=2", "k40x2", 2, NULL}, \
        {"nmt4", "NMT, 4 layers", "nmt:layers=4", "k40x4", 4, NULL}, \
    {                                                                \
        "nmt8", "NMT, 8 layers", "nmt:layers=8", "k40x8", 8, NULL    \
    }

const emp_task emp_paper_task[EMP_PAPER_TASKS] = {
    {"inception_v3", "Inception-V3", "inception_v3", "k40x2", 2, NULL}, OTHER_MODELS};

const emp_task emp_paper_row[EMP_PAPER_ROWS] = {
    {"inception_v3", "Inception-V3, batch 1", "inception_v3:batch=1", "k40x2", 2, NULL},
    {"inception_v3", "Inception-V3, batch 8", "inception_v3:batch=8", "k40x2", 2, NULL},
    OTHER_MODELS};

int32_t emp_paper_find(const char *key)
{
    for (int32_t i = 0; i < EMP_PAPER_TASKS; i++) {
        if (strcmp(emp_paper_task[i].key, key) == 0) return i;
    }
    return -1;
}

enum { METHODS = 6 };

static const char *const methods[METHODS] = {"cpu",    "gpu",    "expert",
                                             "scotch", "mincut", "hdp"};

static const double step_s[EMP_PAPER_TASKS][METHODS] = {
    /* CPU    GPU   expert Scotch MinCut HDP */
    {0.61, 0.15, 0.15, 0.93, 0.82, 0.13},   {BLANK, 1.18, 1.18, 6.27, 2.92, 1.18},
    {6.89, 1.57, 1.57, 5.62, 5.21, 1.57},   {6.46, OOM, 2.13, 3.21, 5.34, 0.84},
    {10.68, OOM, 3.64, 11.18, 11.63, 1.69}, {11.52, OOM, 3.88, 17.85, 19.01, 4.07},
};

double emp_paper_step_s(int32_t task, const char *method)
{
    for (int32_t i = 0; i < METHODS; i++) {
        if (strcmp(methods[i], method) == 0) return step_s[task][i];
    }
    return NAN;
}

/* The words of NMT. */
static const char *const inferred[] = {"nmt2:gpu", "nmt4:gpu", "nmt8:gpu"};

bool emp_paper_is_inferred(const char *cell)
{
    for (size_t i = 0; i < sizeof inferred / sizeof *inferred; i++) {
        if (strcmp(inferred[i], cell) == 0) return true;
    }
    return false;
}

static double flops_on(const emp_problem *p, uint32_t kind)
{
    double sum = 0.0;

    for (emp_op_id op = 0; op < p->graph->op_count; op++) {
        const int32_t c = p->class_of_op[op];
        if (c >= 0 && (p->kinds_of_class[c] & kind) != 0)
            sum += p->graph->op[op].cost->flops;
    }
    return sum;
}

static double peak_of(const emp_machine *m, emp_device_kind kind)
{
    double peak = 0.0;

    for (emp_device_id d = 0; d < m->device_count; d++)
        if (m->device[d].kind == kind) peak = fmax(peak, m->device[d].peak_flops_per_s);
    return peak;
}

void emp_paper_demands(emp_paper_demand   out[EMP_PAPER_SINGLE_DEVICES],
                       const emp_problem *problem, int32_t task)
{
    static const struct {
        const char     *device, *method;
        emp_device_kind kind;
        uint32_t        mask;
    } single[EMP_PAPER_SINGLE_DEVICES] = {{"CPU", "cpu", EMP_DEVICE_CPU, EMP_KIND_CPU},
                                          {"GPU", "gpu", EMP_DEVICE_GPU, EMP_KIND_GPU}};

    for (int i = 0; i < EMP_PAPER_SINGLE_DEVICES; i++)
        out[i] = (emp_paper_demand){.method = single[i].method,
                                    .device = single[i].device,
                                    .flops = flops_on(problem, single[i].mask),
                                    .paper_s = emp_paper_step_s(task, single[i].method),
                                    .peak_flops_per_s =
                                        peak_of(problem->machine, single[i].kind)};
}

double emp_paper_asked(const emp_paper_demand *demand)
{
    return isfinite(demand->paper_s) ? demand->flops / demand->paper_s : NAN;
}

bool emp_paper_is_impossible(const emp_paper_demand *demand)
{
    return demand->peak_flops_per_s > 0 &&
           emp_paper_asked(demand) > demand->peak_flops_per_s;
}

/* Table 2: median, best, worst, improvement. */
static const struct {
    emp_summary random_s;
    double      improvement;
} grouping[EMP_PAPER_TASKS] = {
    {{0.51, 0.22, 0.65}, 0.409}, {{1.18, 1.18, 1.18}, 0.0},   {{1.57, 1.57, 1.57}, 0.0},
    {{3.72, 2.25, 4.45}, 0.627}, {{3.42, 3.20, 6.91}, 0.472}, {{6.86, 6.35, 7.23}, 0.359},
};

emp_summary emp_paper_random_s(int32_t task) { return grouping[task].random_s; }

double emp_paper_improvement(int32_t task) { return grouping[task].improvement; }
