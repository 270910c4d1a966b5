// SPDX-License-Identifier: GPL-3.0-or-later
/* An import as a machine file, with a head that says where each value is from. */
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "sim/machine/card.h"
#include "sim/machine/import/import_internal.h"

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

static const char *import_links(const emp_import_plan *plan)
{
    return plan->source == EMP_IMPORT_AMD ? "XGMI links" : "NVLinks";
}

/* ---- the head ---- */

static bool has_same_facts(const emp_import_plan *plan, int32_t a, int32_t b)
{
    const emp_gpu_facts *one = &plan->query.gpu[a], *other = &plan->query.gpu[b];

    return strcmp(one->product, other->product) == 0 &&
           one->memory_mib == other->memory_mib && one->clock_mhz == other->clock_mhz &&
           one->pcie_generation == other->pcie_generation &&
           one->pcie_lanes == other->pcie_lanes && one->has_c2c == other->has_c2c &&
           plan->gpu[a].gb_per_s == plan->gpu[b].gb_per_s;
}

/* Where the products of the GPUs are from; NULL: nothing tells them. */
static const char *facts_path(const emp_import_plan *plan)
{
    if (plan->query.gpu_count == 0) return NULL;
    return plan->request->query != NULL ? plan->request->query : plan->request->topology;
}

static void write_topology(emp_text *t, const emp_import_plan *plan)
{
    static const char *const read[] = {
        [EMP_IMPORT_NVIDIA] = "which GPUs share PCIe switches, sockets and NVLinks",
        [EMP_IMPORT_AMD] = "which GPUs XGMI links join, and their NUMA nodes",
        [EMP_IMPORT_LSTOPO] = "which GPUs share PCIe switches and sockets"};
    const emp_lstopo *l = &plan->lstopo;
    char              name[NAME_BYTES], memory[32];

    if (plan->source == EMP_IMPORT_QUERY)
        emp_text_add(t, "# read: that there is one GPU.\n");
    else
        emp_text_add(t, "# read: %s, from %s.\n", read[plan->source],
                     name_of(name, plan->request->topology));
    if (plan->source != EMP_IMPORT_LSTOPO) return;
    emp_text_add(t, "#   %s%s%s: %d package%s with %d cores, %s.\n", l->product,
                 l->product[0] != '\0' && l->cpu[0] != '\0' ? ", " : "", l->cpu,
                 l->packages, l->packages == 1 ? "" : "s", l->cores,
                 emp_units_format_bytes(l->memory_bytes, memory, sizeof memory));
}

static void write_gpu_facts(emp_text *t, const emp_import_plan *plan, int32_t i)
{
    const emp_gpu_facts  *facts = &plan->query.gpu[i];
    const emp_import_gpu *gpu = &plan->gpu[i];

    emp_text_add(t, ": %s", facts->product);
    if (facts->memory_mib > 0) emp_text_add(t, ", %d MiB", facts->memory_mib);
    if (facts->clock_mhz > 0) emp_text_add(t, ", up to %d MHz", facts->clock_mhz);
    if (gpu->bus == EMP_BUS_C2C && facts->has_c2c) emp_text_add(t, ", NVLink-C2C");
    if (gpu->bus == EMP_BUS_RATE)
        emp_text_add(t, ", a link of %.4g GB/s", gpu->gb_per_s / EMP_IMPORT_PCIE_FRAC);
    if (gpu->bus == EMP_BUS_PCIE && !gpu->is_pcie_assumed)
        emp_text_add(t, ", PCIe %d with %d lanes", facts->pcie_generation,
                     facts->pcie_lanes);
    emp_text_add(t, ".\n");
}

static void write_read(emp_text *t, const emp_import_plan *plan)
{
    char name[NAME_BYTES];

    write_topology(t, plan);
    if (facts_path(plan) == NULL) return;
    emp_text_add(t, "#   From %s:\n", name_of(name, facts_path(plan)));
    for (int32_t i = 0, end; i < plan->query.gpu_count; i = end) {
        end = run_end(plan, i, has_same_facts);
        emp_text_add(t, "#   ");
        add_range(t, i, end);
        write_gpu_facts(t, plan, i);
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
    return plan->gpu[a].bus == plan->gpu[b].bus &&
           plan->gpu[a].pcie_generation == plan->gpu[b].pcie_generation &&
           plan->gpu[a].pcie_lanes == plan->gpu[b].pcie_lanes &&
           plan->gpu[a].is_pcie_assumed == plan->gpu[b].is_pcie_assumed;
}

/* The documented rate of each way to the host. */
static void write_bus_rates(emp_text *t, const emp_import_plan *plan)
{
    for (int32_t i = 0, end; i < plan->matrix.gpu_count; i = end) {
        const emp_import_gpu *gpu = &plan->gpu[i];
        end = run_end(plan, i, has_same_pcie);
        emp_text_add(t, i == 0 ? "# documented: " : "#   ");
        switch (gpu->bus) {
        case EMP_BUS_PCIE:
            emp_text_add(t, "16 lanes of PCIe %d have %.4g GB/s one way.\n",
                         gpu->pcie_generation, emp_pcie_gb_per_s(gpu->pcie_generation));
            break;
        case EMP_BUS_C2C:
            emp_text_add(t, "NVLink-C2C has %.4g GB/s one way.\n", EMP_C2C_GB_PER_S);
            break;
        case EMP_BUS_UNIFIED:
            emp_text_add(t, "%s shares the memory of the CPU.\n", gpu->model);
            break;
        default: emp_text_add(t, "the models.\n");
        }
    }
}

static void write_documented(emp_text *t, const emp_import_plan *plan)
{
    write_bus_rates(t, plan);
    if (plan->fabric_count == 0) return;
    for (int32_t i = 0, end; i < plan->matrix.gpu_count; i = end) {
        const emp_gpu_links *links = plan->gpu[i].links;
        end = run_end(plan, i, has_same_model);
        if (links->model != NULL && links->nvlinks > 0)
            emp_text_add(t, "#   An %.*s of %s has %.4g GB/s one way.\n",
                         (int)strlen(import_links(plan)) - 1, import_links(plan),
                         links->model, links->nvlink_gb_per_s);
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
        emp_text_add(t, "#   PCIe %d with %d lanes for ", gpu->pcie_generation,
                     gpu->pcie_lanes);
        add_range(t, i, end);
        emp_text_add(t, ".\n");
    }
    if (has_fabric_of(plan, false))
        emp_text_add(t,
                     "#   %s of a pair reach %.4g of the documented rate, near "
                     "machine %s; a small copy takes %.4g us.\n",
                     import_links(plan), plan->gpu[0].links->pair_frac,
                     plan->source == EMP_IMPORT_AMD ? "mi300x8" : "rtx3090x4",
                     EMP_IMPORT_PAIR_US);
    for (int32_t i = 0, end; i < plan->matrix.gpu_count; i = end) {
        const emp_import_gpu *gpu = &plan->gpu[i];
        end = run_end(plan, i, has_same_model);
        if (plan->fabric_count > 0 && gpu->links->model == NULL)
            emp_text_add(t, "#   An %.*s of %s has %.4g GB/s one way.\n",
                         (int)strlen(import_links(plan)) - 1, import_links(plan),
                         gpu->model, gpu->links->nvlink_gb_per_s);
        if (has_fabric_of(plan, true) && gpu->links->switch_source == NULL)
            emp_text_add(t,
                         "#   NVSwitch reaches %.4g of the documented rate, and takes "
                         "%.4g us for a small message.\n",
                         gpu->links->switch_frac, gpu->links->switch_latency_us);
    }
}

static void write_assumed(emp_text *t, const emp_import_plan *plan)
{
    emp_text_add(t, "# assumed: ");
    if (emp_import_has_bus(plan, EMP_BUS_PCIE) || emp_import_has_bus(plan, EMP_BUS_RATE))
        emp_text_add(t, "copies by PCIe reach %.4g of the documented rate, and ",
                     EMP_IMPORT_PCIE_FRAC);
    emp_text_add(t, "a small copy takes %.4g us.\n", plan->gpu[0].latency_us);
    if (plan->tree.switch_count > 0)
        emp_text_add(t, "#   A switch has the link of its fastest GPU to its socket.\n");
    write_assumed_links(t, plan);
    if (plan->socket_gb_per_s > 0.0)
        emp_text_add(t,
                     "#   A socket's link reaches %.4g of 16 lanes of PCIe, near machine "
                     "rtxpro6000x8. Copies from the host cross it, too.\n",
                     EMP_IMPORT_SOCKET_FRAC);
    if (plan->tree.is_guess)
        emp_text_add(t,
                     "#   GPUs that %s join share a socket: neither NICs nor "
                     "CPUs tell it.\n",
                     import_links(plan));
    if (plan->request->host == NULL && !plan->makes_host)
        emp_text_add(t, "#   The host is of model %s.\n", plan->host);
    if (plan->makes_host)
        emp_text_add(t, "#   models/%s.yaml says what is assumed of the host.\n",
                     plan->host);
    if (plan->request->model != NULL)
        emp_text_add(t, "#   The GPUs are of model %s, as --model says.\n", plan->model);
    else if (plan->model[0] != '\0')
        emp_text_add(t, "#   Such a computer has a GPU of model %s.\n", plan->model);
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
            emp_text_add(t, "#   Sockets have no links of their own.\n");
    }
    if (plan->source == EMP_IMPORT_LSTOPO && plan->matrix.gpu_count > 1)
        emp_text_add(t, "# left out: NVLinks and XGMI links, which lstopo does not tell; "
                        "what nvidia-smi or rocm-smi prints has them.\n");
}

static void write_head(emp_text *t, const emp_import_plan *plan)
{
    const emp_machine_import *request = plan->request;
    char                      name[NAME_BYTES];

    emp_text_add(
        t, "# By emplace machines import, from %s",
        name_of(name, request->topology != NULL ? request->topology : request->query));
    if (request->topology != NULL && request->query != NULL)
        emp_text_add(t, " and %s", name_of(name, request->query));
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

/* The node above the GPUs and switches of a socket. */
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
        if (gpu->bus == EMP_BUS_UNIFIED) /* by the model's bus */
            emp_text_add(t, "}\n");
        else
            emp_text_add(t, ", bandwidth: \"%.4g GB/s\", latency: \"%.4g us\"}\n",
                         gpu->gb_per_s, gpu->latency_us);
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

/* ---- the model of the CPU ---- */

/* Per package: two channels of DDR5 of a desktop, eight of DDR4 of a server. */
static double assumed_gb_per_s(const emp_lstopo *l)
{
    enum { DESKTOP_CORES = 24 };
    const int32_t packages = l->packages > 0 ? l->packages : 1;

    return packages * (l->cores / packages <= DESKTOP_CORES ? 83.2 : 204.8);
}

emp_status emp_import_write_host(char **yaml, const emp_import_plan *plan, emp_error *err)
{
    enum { HOST_BYTES = 2048 };
    const emp_lstopo *l = &plan->lstopo;
    const bool        is_arm =
        strstr("aarch64 arm64", l->architecture) != NULL && l->architecture[0] != '\0';
    const int32_t cores = l->cores < 1 ? 1 : l->cores;
    const double  ghz = l->clock_hz > 0.0 ? l->clock_hz * 1e-9 : 2.5;
    char          name[NAME_BYTES];
    emp_text      t = {.size = HOST_BYTES};

    EMP_CHECK(EMP_ALLOC(*yaml, HOST_BYTES));
    t.at = *yaml;
    emp_text_add(&t,
                 "# %s, by emplace machines import, from %s.\n#\n# read: %d cores in %d "
                 "package%s, the memory%s.\n",
                 l->cpu[0] == '\0' ? "The CPU" : l->cpu,
                 name_of(name, plan->request->topology), l->cores, l->packages,
                 l->packages == 1 ? "" : "s", l->clock_hz > 0.0 ? ", the clock" : "");
    if (cores > EMP_MAX_CORES)
        emp_text_add(&t, "# left out: cores beyond %d, the most that a model has.\n",
                     EMP_MAX_CORES);
    emp_text_add(
        &t,
        "# assumed: the vector instructions, the memory's rate%s. Change what you "
        "know.\nprocessor:\n  cores: %d\n  clock: \"%.4g GHz\"\n  simd: \"%s\"\n  "
        "memory: \"%.0f B\"\n  rate: \"%.4g GB/s\"\n",
        l->clock_hz > 0.0 ? "" : ", the clock",
        cores > EMP_MAX_CORES ? EMP_MAX_CORES : cores, ghz, is_arm ? "NEON" : "AVX2",
        l->memory_bytes > 0 ? (double)l->memory_bytes : 64e9, assumed_gb_per_s(l));
    return EMP_OK;
}

/* ---- */

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

bool emp_import_has_bus(const emp_import_plan *plan, emp_import_bus bus)
{
    for (int32_t i = 0; i < plan->matrix.gpu_count; i++)
        if (plan->gpu[i].bus == bus) return true;
    return false;
}
