// SPDX-License-Identifier: GPL-3.0-or-later
/* An import as a machine file, with a head that says where each value is from. */
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "sim/machine/import/plan_internal.h"

enum { FILE_BYTES = 1 << 16, NAME_BYTES = 64 };

/* The name of a file without its folders, as a comment may have it. */
static const char *name_of(char name[NAME_BYTES], const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;

    emp_slice_copy(name, NAME_BYTES, (emp_slice){base, strlen(base)});
    return name;
}

/* The GPU behind the last one, from \a from on, that is alike. */
static int32_t run_end(const emp_import_plan *plan, int32_t from,
                       bool (*is_alike)(const emp_import_plan *plan, int32_t a,
                                        int32_t b))
{
    int32_t to = from + 1;

    while (to < plan->matrix.gpu_count && is_alike(plan, from, to)) to++;
    return to;
}

/* "gpu:0 to gpu:7", of the last one \a end - 1. */
static void add_range(emp_text *t, int32_t from, int32_t end)
{
    emp_text_add(t, "gpu:%d", from);
    if (end - from > 1) emp_text_add(t, " to gpu:%d", end - 1);
}

/* ---- the head ---- */

static bool has_same_facts(const emp_import_plan *plan, int32_t a, int32_t b)
{
    const emp_gpu_facts *one = &plan->query.gpu[a], *other = &plan->query.gpu[b];

    return strcmp(one->product, other->product) == 0 &&
           one->memory_mib == other->memory_mib && one->clock_mhz == other->clock_mhz &&
           one->pcie_generation == other->pcie_generation &&
           one->pcie_lanes == other->pcie_lanes;
}

static void write_read(emp_text *t, const emp_import_plan *plan)
{
    char name[NAME_BYTES];

    emp_text_add(
        t, "# read: which GPUs share PCIe switches, sockets and NVLinks, from %s.\n",
        name_of(name, plan->request->topology));
    if (plan->query.gpu_count == 0) return;
    emp_text_add(t, "#   From %s:\n", name_of(name, plan->request->query));
    for (int32_t i = 0, end; i < plan->query.gpu_count; i = end) {
        const emp_gpu_facts *facts = &plan->query.gpu[i];
        end = run_end(plan, i, has_same_facts);
        emp_text_add(t, "#   ");
        add_range(t, i, end);
        emp_text_add(t, ": %s", facts->product);
        if (facts->memory_mib > 0) emp_text_add(t, ", %d MiB", facts->memory_mib);
        if (facts->clock_mhz > 0) emp_text_add(t, ", up to %d MHz", facts->clock_mhz);
        if (!plan->gpu[i].is_pcie_assumed)
            emp_text_add(t, ", PCIe %d with %d lanes", facts->pcie_generation,
                         facts->pcie_lanes);
        emp_text_add(t, ".\n");
    }
}

static bool has_fabric_of(const emp_import_plan *plan, bool is_switch)
{
    for (int32_t i = 0; i < plan->fabric_count; i++)
        if (plan->fabric[i].set.is_switch == is_switch) return true;
    return false;
}

static bool has_same_model(const emp_import_plan *plan, int32_t a, int32_t b)
{
    return strcmp(plan->gpu[a].model, plan->gpu[b].model) == 0;
}

static bool has_same_pcie(const emp_import_plan *plan, int32_t a, int32_t b)
{
    return plan->gpu[a].pcie_generation == plan->gpu[b].pcie_generation &&
           plan->gpu[a].is_pcie_assumed == plan->gpu[b].is_pcie_assumed;
}

static void write_documented(emp_text *t, const emp_import_plan *plan)
{
    emp_text_add(t, "# documented: 16 lanes of PCIe");
    for (int32_t i = 0, end; i < plan->matrix.gpu_count; i = end) {
        const int32_t generation = plan->gpu[i].pcie_generation;
        end = run_end(plan, i, has_same_pcie);
        emp_text_add(t, "%s %d have %.4g GB/s one way", i == 0 ? "" : ", of", generation,
                     emp_pcie_gb_per_s(generation));
    }
    emp_text_add(t, ".\n");
    if (plan->fabric_count == 0) return;
    for (int32_t i = 0, end; i < plan->matrix.gpu_count; i = end) {
        const emp_gpu_links *links = plan->gpu[i].links;
        end = run_end(plan, i, has_same_model);
        if (links->model != NULL && links->nvlinks > 0)
            emp_text_add(t, "#   An NVLink of %s has %.4g GB/s one way.\n", links->model,
                         links->nvlink_gb_per_s);
    }
}

static void write_measured(emp_text *t, const emp_import_plan *plan)
{
    emp_text_add(t, "# measured: nothing of this computer.");
    for (int32_t i = 0, end; i < plan->matrix.gpu_count; i = end) {
        const emp_gpu_links *links = plan->gpu[i].links;
        end = run_end(plan, i, has_same_model);
        if (links->switch_source != NULL && has_fabric_of(plan, true))
            emp_text_add(t,
                         " NVSwitch reaches %.2f of the documented rate and takes\n"
                         "#   %.4g us for a small message, as machine %s says.",
                         links->switch_frac, links->switch_latency_us,
                         links->switch_source);
    }
    emp_text_add(t, "\n");
}

static void write_assumed_links(emp_text *t, const emp_import_plan *plan)
{
    for (int32_t i = 0, end; i < plan->matrix.gpu_count; i = end) {
        const emp_import_gpu *gpu = &plan->gpu[i];
        end = run_end(plan, i, has_same_pcie);
        if (!gpu->is_pcie_assumed) continue;
        emp_text_add(t, "#   PCIe %d with 16 lanes for ", gpu->pcie_generation);
        add_range(t, i, end);
        emp_text_add(t, ".\n");
    }
    if (has_fabric_of(plan, false))
        emp_text_add(t,
                     "#   NVLinks of a pair reach %.4g of the documented rate, near "
                     "machine rtx3090x4; a small copy takes %.4g us.\n",
                     EMP_IMPORT_PAIR_FRAC, EMP_IMPORT_PAIR_US);
    for (int32_t i = 0, end; i < plan->matrix.gpu_count; i = end) {
        const emp_import_gpu *gpu = &plan->gpu[i];
        end = run_end(plan, i, has_same_model);
        if (plan->fabric_count > 0 && gpu->links->model == NULL)
            emp_text_add(t, "#   An NVLink of %s has %.4g GB/s one way.\n", gpu->model,
                         gpu->links->nvlink_gb_per_s);
        if (has_fabric_of(plan, true) && gpu->links->switch_source == NULL)
            emp_text_add(t,
                         "#   NVSwitch reaches %.4g of the documented rate, and takes "
                         "%.4g us for a small message.\n",
                         gpu->links->switch_frac, gpu->links->switch_latency_us);
    }
}

static void write_assumed(emp_text *t, const emp_import_plan *plan)
{
    emp_text_add(
        t,
        "# assumed: copies by PCIe reach %.4g of the documented rate. A small one "
        "takes %.4g us.\n",
        EMP_IMPORT_PCIE_FRAC, plan->gpu[0].links->copy_latency_us);
    emp_text_add(t, "#   A switch has the link of its fastest GPU to its socket.\n");
    write_assumed_links(t, plan);
    if (plan->socket_gb_per_s > 0.0)
        emp_text_add(t,
                     "#   A socket's link reaches %.4g of 16 lanes of PCIe, near machine "
                     "rtxpro6000x8. Copies from the host cross it, too.\n",
                     EMP_IMPORT_SOCKET_FRAC);
    if (plan->tree.is_guess)
        emp_text_add(t, "#   GPUs that NVLinks join share a socket: neither NICs nor "
                        "CPUs tell it.\n");
    if (plan->request->host == NULL)
        emp_text_add(t, "#   The host is of model %s.\n", plan->host);
    if (plan->model[0] != '\0')
        emp_text_add(t, "#   The GPUs are of model %s, as --model says.\n", plan->model);
}

static void write_limits(emp_text *t, const emp_import_plan *plan)
{
    if (plan->tree.socket_count > 1) {
        emp_text_add(
            t,
            "# left out: a machine file has one CPU a host, so the %d sockets, or "
            "NUMA nodes, are one CPU.\n",
            plan->tree.socket_count);
        if (plan->socket_gb_per_s == 0.0)
            emp_text_add(t, "#   Sockets have no links: all GPUs reach each other by "
                            "NVLinks.\n");
    }
    if (plan->slow_sets > 0)
        emp_text_add(
            t,
            "# left out: the NVLinks of %d pair%s of GPUs, which are slower than "
            "PCIe.\n",
            plan->slow_sets, plan->slow_sets == 1 ? "" : "s");
}

static void write_head(emp_text *t, const emp_import_plan *plan)
{
    const emp_machine_import *request = plan->request;
    char                      name[NAME_BYTES];

    emp_text_add(t, "# By emplace machines import, from %s",
                 name_of(name, request->topology));
    if (request->query != NULL) emp_text_add(t, " and %s", name_of(name, request->query));
    emp_text_add(t, ".\n#\n");
    write_read(t, plan);
    write_documented(t, plan);
    write_measured(t, plan);
    write_assumed(t, plan);
    write_limits(t, plan);
    for (int32_t i = 0; i < request->warning_count; i++)
        emp_text_add(t, "# warning: %s.\n", request->warning[i]);
    emp_text_add(t, "# So: which GPUs are near each other is read, and times of copies "
                    "are guesses.\n");
}

/* ---- the machine ---- */

static void write_description(emp_text *t, const emp_import_plan *plan)
{
    enum { MOST_KINDS = 3 };
    int32_t i = 0;

    emp_text_add(t, "description: \"%s and", plan->host);
    for (int kinds = 0; i < plan->matrix.gpu_count && kinds < MOST_KINDS; kinds++) {
        const int32_t end = run_end(plan, i, has_same_model);
        emp_text_add(t, "%s %d %s", i == 0 ? "" : ",", end - i, plan->gpu[i].model);
        i = end;
    }
    emp_text_add(t, "%s\"\n", i < plan->matrix.gpu_count ? ", ..." : "");
}

static double switch_gb_per_s(const emp_import_plan *plan, int32_t of_switch)
{
    double most = 0.0;

    for (int32_t i = 0; i < plan->matrix.gpu_count; i++)
        if (plan->tree.switch_of[i] == of_switch && plan->gpu[i].gb_per_s > most)
            most = plan->gpu[i].gb_per_s;
    return most;
}

/* What the GPUs and switches of a socket hang on. */
static void write_parent(emp_text *t, const emp_import_plan *plan, int32_t socket)
{
    if (plan->tree.socket_count > 1)
        emp_text_add(t, "\"socket:%d\"", socket);
    else
        emp_text_add(t, "\"host:0\"");
}

static void write_nodes(emp_text *t, const emp_import_plan *plan)
{
    const emp_gpu_tree *tree = &plan->tree;

    emp_text_add(t, "nodes:\n  - {name: \"host:0\"}\n");
    for (int32_t i = 0; tree->socket_count > 1 && i < tree->socket_count; i++) {
        emp_text_add(t, "  - {name: \"socket:%d\", parent: \"host:0\"", i);
        if (plan->socket_gb_per_s > 0.0)
            emp_text_add(t, ", bandwidth: \"%.4g GB/s\", latency: \"0 us\"",
                         plan->socket_gb_per_s);
        emp_text_add(t, "}\n");
    }
    for (int32_t i = 0; i < tree->switch_count; i++) {
        emp_text_add(t, "  - {name: \"switch:%d\", parent: ", i);
        write_parent(t, plan, tree->socket_of_switch[i]);
        emp_text_add(t, ", bandwidth: \"%.4g GB/s\", latency: \"0 us\"}\n",
                     switch_gb_per_s(plan, i));
    }
}

static bool hangs_alike(const emp_import_plan *plan, int32_t a, int32_t b)
{
    return has_same_model(plan, a, b) && plan->gpu[a].gb_per_s == plan->gpu[b].gb_per_s &&
           plan->tree.socket_of[a] == plan->tree.socket_of[b] &&
           plan->tree.switch_of[a] == plan->tree.switch_of[b];
}

static void write_devices(emp_text *t, const emp_import_plan *plan)
{
    emp_text_add(t, "devices:\n  - {model: \"%s\", at: \"host:0\"}\n", plan->host);
    for (int32_t i = 0, end; i < plan->matrix.gpu_count; i = end) {
        const emp_import_gpu *gpu = &plan->gpu[i];
        end = run_end(plan, i, hangs_alike);
        emp_text_add(t, "  - {model: \"%s\", count: %d, at: ", gpu->model, end - i);
        if (plan->tree.switch_of[i] >= 0)
            emp_text_add(t, "\"switch:%d\"", plan->tree.switch_of[i]);
        else
            write_parent(t, plan, plan->tree.socket_of[i]);
        emp_text_add(t, ", bandwidth: \"%.4g GB/s\", latency: \"%.4g us\"}\n",
                     gpu->gb_per_s, gpu->links->copy_latency_us);
    }
}

static void write_fabric(emp_text *t, const emp_import_plan *plan, int32_t i)
{
    const emp_import_fabric *fabric = &plan->fabric[i];
    int32_t                  member[EMP_IMPORT_GPUS] = {0}, count = 0;

    for (int32_t gpu = 0; gpu < plan->matrix.gpu_count; gpu++)
        if ((fabric->set.members >> gpu & 1) != 0) member[count++] = gpu;
    if (fabric->set.is_switch)
        emp_text_add(t, "  - {name: \"nvswitch:%d\"", i);
    else
        emp_text_add(t, "  - {name: \"pair:%d-%d\"", member[0], member[1]);
    emp_text_add(t, ", devices: [");
    for (int32_t k = 0; k < count; k++)
        emp_text_add(t, "%s\"gpu:%d\"", k == 0 ? "" : ", ", member[k]);
    emp_text_add(t, "], bandwidth: \"%.4g GB/s\", latency: \"%.4g us\"}\n",
                 fabric->gb_per_s, fabric->latency_us);
}

emp_status emp_import_write(char **yaml, const emp_import_plan *plan, emp_error *err)
{
    emp_text t = {.size = FILE_BYTES};

    EMP_CHECK(EMP_ALLOC(*yaml, FILE_BYTES));
    t.at = *yaml;
    write_head(&t, plan);
    write_description(&t, plan);
    write_nodes(&t, plan);
    write_devices(&t, plan);
    if (plan->fabric_count > 0) emp_text_add(&t, "fabrics:\n");
    for (int32_t i = 0; i < plan->fabric_count; i++) write_fabric(&t, plan, i);
    if (t.used < FILE_BYTES - 1) return EMP_OK;
    emp_free(*yaml);
    *yaml = NULL;
    return EMP_ERROR(EMP_EUNSUPPORTED, "a machine file longer than %d bytes", FILE_BYTES);
}
