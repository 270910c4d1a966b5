// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/import/import.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/collections.h"
#include "base/io/atomic_file.h"
#include "base/io/input.h"
#include "base/mem.h"
#include "base/text/file.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "sim/machine/card.h"
#include "sim/machine/import/import_internal.h"
#include "sim/machine/model.h"

/* ---- texts ---- */

static emp_status load_text(char **text, size_t *size, const char *path, emp_error *err)
{
    EMP_CHECK(emp_whole_file_load(text, size, path, EMP_SMI_MOST_BYTES, err));
    emp_input_keep(path);
    return emp_smi_text_clean(*text, size, path, err);
}

static void warn(emp_machine_import *import, const char *text)
{
    for (int32_t i = 0; i < import->warning_count; i++)
        if (strcmp(import->warning[i], text) == 0) return;
    if (import->warning_count == EMP_IMPORT_WARNINGS) return;
    snprintf(import->warning[import->warning_count++], sizeof import->warning[0], "%s",
             text);
}

static emp_status parse_topology(emp_import_plan *plan, const char *text, size_t size,
                                 const char *path, emp_error *err)
{
    if (emp_lstopo_is(text, size)) {
        plan->source = EMP_IMPORT_LSTOPO;
        return emp_lstopo_parse(&plan->lstopo, &plan->matrix, &plan->query, text, size,
                                path, err);
    }
    if (emp_xml_is(text, size))
        return EMP_ERROR(EMP_EFORMAT,
                         "%s is XML, but not of lstopo; what `nvidia-smi -q -x` prints "
                         "goes to --query",
                         path);
    if (emp_amd_topology_is(text, size)) {
        plan->source = EMP_IMPORT_AMD;
        return emp_amd_topology_parse(&plan->matrix, &plan->query, text, size, path, err);
    }
    plan->source = EMP_IMPORT_NVIDIA;
    return emp_gpu_matrix_parse(&plan->matrix, text, size, path, err);
}

static emp_status read_topology(emp_import_plan *plan, emp_error *err)
{
    emp_status  st = EMP_OK;
    const char *path = plan->request->topology;
    char       *text = NULL;
    size_t      size;

    if (path == NULL) return EMP_OK;
    EMP_TRY(load_text(&text, &size, path, err));
    EMP_TRY(parse_topology(plan, text, size, path, err));

cleanup:
    emp_free(text);
    return st;
}

/* "00000000:18:00.0" and "0000:18:00.0" are the same bus. */
static bool is_same_bus(const char *one, const char *other)
{
    unsigned int a[4], b[4];

    return sscanf(one, "%x:%x:%x.%x", &a[0], &a[1], &a[2], &a[3]) == 4 &&
           sscanf(other, "%x:%x:%x.%x", &b[0], &b[1], &b[2], &b[3]) == 4 &&
           memcmp(a, b, sizeof a) == 0;
}

/* Puts the facts of nvidia-smi in place of lstopo's, whose GPUs may be in another order. */
static emp_status match_buses(emp_import_plan *plan, const emp_gpu_query *by_nvidia,
                              emp_error *err)
{
    for (int32_t i = 0; i < by_nvidia->gpu_count; i++) {
        int32_t k = 0;
        while (k < plan->query.gpu_count &&
               !is_same_bus(by_nvidia->gpu[i].bus, plan->query.gpu[k].bus))
            k++;
        if (k == plan->query.gpu_count)
            return EMP_ERROR(EMP_EFORMAT,
                             "%s has no GPU at %s, which %s has; both must be of one "
                             "computer",
                             plan->request->topology, by_nvidia->gpu[i].bus,
                             plan->request->query);
        plan->query.gpu[k] = by_nvidia->gpu[i];
    }
    return EMP_OK;
}

/* Without a topology there is one GPU, which nothing has to be said of. */
static emp_status take_query(emp_import_plan *plan, const emp_gpu_query *query,
                             emp_error *err)
{
    const emp_machine_import *request = plan->request;

    if (plan->source == EMP_IMPORT_LSTOPO) return match_buses(plan, query, err);
    if (request->topology == NULL) plan->matrix.gpu_count = 1;
    if (request->topology == NULL && query->gpu_count > 1)
        return EMP_ERROR(EMP_EINVAL,
                         "%s has %d GPUs; --topology FILE says how they are joined: what "
                         "`nvidia-smi topo -m` prints",
                         request->query, query->gpu_count);
    if (query->gpu_count != plan->matrix.gpu_count)
        return EMP_ERROR(
            EMP_EFORMAT, "%s has %d GPUs and %s has %d; both must be of one computer",
            request->topology, plan->matrix.gpu_count, request->query, query->gpu_count);
    plan->query = *query;
    return EMP_OK;
}

static emp_status read_query(emp_import_plan *plan, emp_error *err)
{
    emp_status     st = EMP_OK;
    const char    *path = plan->request->query;
    char          *text = NULL;
    emp_gpu_query *query = NULL;
    size_t         size;

    if (path == NULL) return EMP_OK;
    EMP_TRY(EMP_ALLOC(query, 1));
    EMP_TRY(load_text(&text, &size, path, err));
    EMP_TRY(emp_gpu_query_parse(query, text, size, path, err));
    EMP_TRY(take_query(plan, query, err));

cleanup:
    emp_free(query);
    emp_free(text);
    return st;
}

/* ---- GPUs of lstopo ---- */

static void drop_gpu(emp_import_plan *plan, int32_t gpu)
{
    emp_gpu_matrix *m = &plan->matrix;
    emp_gpu_query  *q = &plan->query;
    const size_t    behind = (size_t)(--m->gpu_count - gpu);

    q->gpu_count--;
    memmove(&q->gpu[gpu], &q->gpu[gpu + 1], behind * sizeof q->gpu[0]);
    memmove(&plan->lstopo.link_bytes_per_s[gpu], &plan->lstopo.link_bytes_per_s[gpu + 1],
            behind * sizeof plan->lstopo.link_bytes_per_s[0]);
    for (int32_t a = 0; a <= m->gpu_count; a++)
        memmove(&m->pcie[a][gpu], &m->pcie[a][gpu + 1], behind);
    memmove(&m->pcie[gpu], &m->pcie[gpu + 1], behind * sizeof m->pcie[0]);
}

/* A display adapter beside GPUs that are known is no device to place on. */
static void drop_unknown(emp_import_plan *plan, emp_machine_import *import)
{
    char    text[sizeof import->warning[0]];
    int32_t known = 0;

    for (int32_t i = 0; i < plan->query.gpu_count; i++)
        known += emp_product_model(plan->query.gpu[i].product) != NULL;
    if (known == 0 || plan->model[0] != '\0') return;
    for (int32_t i = plan->query.gpu_count - 1; i >= 0; i--) {
        const emp_gpu_facts *gpu = &plan->query.gpu[i];
        if (emp_product_model(gpu->product) != NULL) continue;
        snprintf(text, sizeof text, "\"%s\" at %s is left out: no model stands for it",
                 gpu->product, gpu->bus);
        warn(import, text);
        drop_gpu(plan, i);
    }
}

/* A computer whose CPU and GPU are one product is known by its name. */
static emp_status find_computer(emp_import_plan *plan, emp_machine_import *import,
                                emp_error *err)
{
    const emp_lstopo         *l = &plan->lstopo;
    const emp_known_computer *known = emp_computer_find(l->product, l->cpu);

    if (plan->source != EMP_IMPORT_LSTOPO) return EMP_OK;
    drop_unknown(plan, import);
    if (plan->query.gpu_count > 1 || plan->request->host != NULL) known = NULL;
    if (known != NULL && plan->query.gpu_count == 1) {
        const char *model = emp_product_model(plan->query.gpu[0].product);
        if (model != NULL && strcmp(model, known->gpu) != 0) known = NULL;
    }
    plan->is_known_computer = known != NULL;
    if (known != NULL) {
        snprintf(plan->host, sizeof plan->host, "%s", known->host);
        if (plan->model[0] == '\0')
            snprintf(plan->model, sizeof plan->model, "%s", known->gpu);
    }
    if (plan->matrix.gpu_count == 0 && plan->model[0] == '\0')
        return EMP_ERROR(EMP_EFORMAT,
                         "%s has no GPU of NVIDIA, AMD or Intel on PCI, and \"%s\" is no "
                         "computer that is known; --model NAME names its GPU",
                         plan->request->topology,
                         l->product[0] == '\0' ? l->cpu : l->product);
    if (plan->matrix.gpu_count == 0) plan->matrix.gpu_count = 1;
    return EMP_OK;
}

/* ---- models ---- */

/* The facts about a model that an import needs. */
struct facts {
    int64_t  memory_bytes;
    emp_card card;
};

/* Reads the model to see that it is of that kind. */
static emp_status check_model(const emp_import_plan *plan, const char *option,
                              const char *name, emp_device_kind kind, struct facts *facts,
                              emp_error *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._+-";
    emp_status        st = EMP_OK;
    char              path[512], why[512];
    emp_source        source = {0};
    emp_device_model  model = {0};
    uint64_t          hash = EMP_HASH_SEED;

    emp_device_model_refuse(why, sizeof why, plan->request->out, name);
    if (name[0] == '\0' || strspn(name, allowed) != strlen(name) ||
        strlen(name) >= EMP_IMPORT_MODEL_BYTES ||
        !emp_device_model_find(path, sizeof path, plan->request->out, name))
        return EMP_ERROR(EMP_EINVAL, "%s: '%s' %s", option, name, why);
    EMP_TRY(emp_device_model_read(&model, &source, path, name, &hash, err));
    if (model.device.kind != kind)
        EMP_FAIL(EMP_EINVAL, "%s: '%s' is a model of a %s; name one of a %s", option,
                 name, kind == EMP_DEVICE_GPU ? "CPU" : "GPU",
                 kind == EMP_DEVICE_GPU ? "GPU" : "CPU");
    *facts = (struct facts){model.device.memory_bytes, model.card};

cleanup:
    emp_device_model_clear(&model);
    emp_free(source.text);
    return st;
}

/* The name of what --model says. A machine file names models, so a file must be where that name finds
 * it. */
static emp_status read_model_option(emp_import_plan *plan, emp_error *err)
{
    static const char ending[] = ".yaml";
    const char       *option = plan->request->model;
    char              path[512];

    if (option == NULL) return EMP_OK;
    const char *slash = strrchr(option, '/');
    const char *base = slash == NULL ? option : slash + 1;
    const bool  is_file = emp_text_ends_in(option, ending);
    const char *name = is_file ? base : option;
    const int   length = (int)(strlen(name) - (is_file ? strlen(ending) : 0));
    const int   used = snprintf(plan->model, sizeof plan->model, "%.*s", length, name);
    if (!is_file && used < (int)sizeof plan->model) return EMP_OK;
    if (used < (int)sizeof plan->model &&
        emp_device_model_find(path, sizeof path, plan->request->out, plan->model) &&
        emp_file_is_same(path, option))
        return EMP_OK;
    return EMP_ERROR(EMP_EINVAL,
                     "--model: '%s' is no model that %s finds; models lie in the folder "
                     "models beside it, and a name has at most %d characters",
                     option, plan->request->out, (int)sizeof plan->model - 1);
}

/* A model leaves about one GiB to the driver. */
static void compare_memory(emp_machine_import *import, const emp_gpu_facts *facts,
                           const char *model, int64_t memory_bytes)
{
    enum { SLACK_PERCENT = 5 };
    const double gib = 1073741824.0, of_board = facts->memory_mib * 1048576.0;
    const double least = (of_board - gib) * (1.0 - SLACK_PERCENT / 100.0);
    const double most = of_board * (1.0 + SLACK_PERCENT / 100.0);
    char         memory[32], text[sizeof import->warning[0]];

    if (facts->memory_mib == 0) return;
    if ((double)memory_bytes >= least && (double)memory_bytes <= most) return;
    const char *right = emp_product_model(facts->product);
    int         used = snprintf(text, sizeof text, "%s has %d MiB, and model %s has %s; ",
                                facts->product, facts->memory_mib, model,
                                emp_units_format_bytes(memory_bytes, memory, sizeof memory));
    if (right != NULL && strcmp(right, model) != 0)
        snprintf(text + used, sizeof text - (size_t)used, "model %s stands for it",
                 right);
    else
        snprintf(text + used, sizeof text - (size_t)used,
                 "copy models/%s.yaml, change its memory, and name the copy by --model",
                 model);
    warn(import, text);
}

/* Warns of a product that another board of its chip stands for. */
static void compare_board(emp_machine_import *import, const emp_gpu_facts *facts,
                          const char *model)
{
    const char *own = emp_product_model(facts->product);
    const char *board = emp_product_board(facts->product);
    char        text[sizeof import->warning[0]];

    if (board == NULL || strcmp(own, model) != 0) return;
    snprintf(text, sizeof text, "%s is not what model %s is: %s", facts->product, model,
             board);
    warn(import, text);
}

static emp_status name_model(emp_import_plan *plan, int32_t gpu, emp_error *err)
{
    const emp_gpu_query *q = &plan->query;
    const char          *name = plan->model[0] == '\0' ? NULL : plan->model;

    if (name == NULL && q->gpu_count == 0)
        return EMP_ERROR(
            EMP_EINVAL,
            "%s does not tell the products of the GPUs: --query FILE has what "
            "`nvidia-smi -q` printed, or --model NAME names their model",
            plan->request->topology);
    if (name == NULL) name = emp_product_model(q->gpu[gpu].product);
    if (name == NULL)
        return EMP_ERROR(
            EMP_EINVAL,
            "%s: there is no model of GPU %d, \"%s\"; write five lines of its "
            "data sheet as docs/machines.md says, and name that model by "
            "--model",
            plan->request->query != NULL ? plan->request->query : plan->request->topology,
            gpu, q->gpu[gpu].product);
    snprintf(plan->gpu[gpu].model, sizeof plan->gpu[gpu].model, "%s", name);
    plan->gpu[gpu].links = emp_gpu_links_of(name);
    return EMP_OK;
}

static int32_t count_models(const emp_import_plan *plan)
{
    int32_t count = 1; /* of the host */

    for (int32_t i = 0; i < plan->matrix.gpu_count; i++) {
        int32_t first = 0;
        while (strcmp(plan->gpu[first].model, plan->gpu[i].model) != 0) first++;
        count += first == i;
    }
    return count;
}

static emp_status find_models(emp_import_plan *plan, emp_machine_import *import,
                              emp_error *err)
{
    struct facts facts = {0};

    if (import->model != NULL)
        EMP_CHECK(check_model(plan, "--model", plan->model, EMP_DEVICE_GPU, &facts, err));
    for (int32_t i = 0; i < plan->matrix.gpu_count; i++) {
        EMP_CHECK(name_model(plan, i, err));
        const char *name = plan->gpu[i].model;
        if (i == 0 || strcmp(name, plan->gpu[i - 1].model) != 0)
            EMP_CHECK(check_model(plan, "model", name, EMP_DEVICE_GPU, &facts, err));
        plan->gpu[i].card = facts.card;
        if (plan->query.gpu_count == 0) continue;
        compare_memory(import, &plan->query.gpu[i], name, facts.memory_bytes);
        compare_board(import, &plan->query.gpu[i], name);
    }
    if (count_models(plan) > EMP_MAX_MODELS)
        return EMP_ERROR(EMP_EUNSUPPORTED, "%s has more than %d models of devices",
                         import->query != NULL ? import->query : import->topology,
                         EMP_MAX_MODELS);
    return EMP_OK;
}

/* ---- links ---- */

/* By its generation and lanes, as nvidia-smi tells them or the model's card has them. */
static void find_pcie(emp_import_gpu *gpu, const emp_gpu_facts *facts)
{
    enum { LANES = 16 };

    gpu->pcie_generation = facts->pcie_generation;
    gpu->pcie_lanes = facts->pcie_lanes;
    gpu->is_pcie_assumed = emp_pcie_gb_per_s(facts->pcie_generation) == 0.0 ||
                           facts->pcie_lanes < 1 || facts->pcie_lanes > LANES;
    if (gpu->is_pcie_assumed) {
        const bool has_card = gpu->card.pcie_generation > 0;
        gpu->pcie_generation =
            has_card ? gpu->card.pcie_generation : gpu->links->pcie_generation;
        gpu->pcie_lanes = has_card ? gpu->card.pcie_lanes : LANES;
    }
    gpu->gb_per_s = EMP_IMPORT_PCIE_FRAC * emp_pcie_gb_per_s(gpu->pcie_generation) *
                    gpu->pcie_lanes / LANES;
}

/* The bus that nvidia-smi reports comes before the model's, but for memory that a CPU and a GPU share: a GB10 reports C2C. */
static emp_import_bus bus_of(const emp_import_plan *plan, int32_t i)
{
    const emp_card *card = &plan->gpu[i].card;
    const bool      is_read = plan->query.gpu[i].pcie_generation > 0;

    if (card->is_there && card->bus_bytes_per_s == 0.0) return EMP_BUS_UNIFIED;
    if (plan->query.gpu[i].has_c2c) return EMP_BUS_C2C;
    if (card->is_there && card->pcie_generation == 0 && !is_read) return EMP_BUS_C2C;
    return plan->lstopo.link_bytes_per_s[i] > 0.0 ? EMP_BUS_RATE : EMP_BUS_PCIE;
}

static void find_buses(emp_import_plan *plan)
{
    for (int32_t i = 0; i < plan->matrix.gpu_count; i++) {
        emp_import_gpu *gpu = &plan->gpu[i];
        emp_link        by_card = {.latency_s = gpu->links->copy_latency_us * 1e-6};
        if (gpu->links->model == NULL)
            (void)emp_card_link(&by_card, &(emp_device){0}, &gpu->card);
        gpu->latency_us = by_card.latency_s * 1e6;
        gpu->bus = bus_of(plan, i);
        find_pcie(gpu, &plan->query.gpu[i]);
        if (gpu->bus == EMP_BUS_C2C) gpu->gb_per_s = EMP_C2C_GB_PER_S;
        if (gpu->bus == EMP_BUS_UNIFIED) gpu->gb_per_s = 0.0;
        if (gpu->bus == EMP_BUS_RATE)
            gpu->gb_per_s =
                EMP_IMPORT_PCIE_FRAC * plan->lstopo.link_bytes_per_s[i] * 1e-9;
        if (gpu->bus != EMP_BUS_PCIE) gpu->is_pcie_assumed = false;
    }
}

/* The usual host: the CPU that is one product with the GPU, or that of GPUs of that generation of PCIe. */
static const char *usual_host(const emp_import_plan *plan)
{
    const char *joined = emp_computer_host_of(plan->gpu[0].model);
    int32_t     newest = 0;

    if (joined != NULL && plan->matrix.gpu_count == 1) return joined;
    if (emp_import_has_bus(plan, EMP_BUS_C2C)) return "grace-72";
    for (int32_t i = 0; i < plan->matrix.gpu_count; i++)
        if (plan->gpu[i].pcie_generation > newest) newest = plan->gpu[i].pcie_generation;
    if (newest >= 5 && plan->source == EMP_IMPORT_AMD) return "epyc-9374f";
    return newest >= 5 ? "xeon-112" : newest == 4 ? "epyc-128" : "haswell-18";
}

/* A name for the model of the CPU that goes with the file: "box-cpu" of box.yaml. */
static void name_host(emp_import_plan *plan, emp_machine_import *import)
{
    const char *slash = strrchr(import->out, '/');
    const char *base = slash == NULL ? import->out : slash + 1;
    size_t length = strspn(base, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789_+-");

    if (length == 0 || length > 24) length = 0;
    snprintf(plan->host, sizeof plan->host, "%.*s%scpu", (int)length, base,
             length > 0 ? "-" : "");
    snprintf(import->host_name, sizeof import->host_name, "%s", plan->host);
    plan->makes_host = true;
}

static emp_status find_host(emp_import_plan *plan, emp_machine_import *import,
                            emp_error *err)
{
    const char  *named = import->host;
    struct facts facts;

    if (named == NULL && plan->source == EMP_IMPORT_LSTOPO && !plan->is_known_computer) {
        name_host(plan, import);
        return EMP_OK;
    }
    if (named == NULL && !plan->is_known_computer) named = usual_host(plan);
    if (named != NULL)
        EMP_CHECK(check_model(plan, "--host", named, EMP_DEVICE_CPU, &facts, err));
    if (named != NULL) snprintf(plan->host, sizeof plan->host, "%s", named);
    return EMP_OK;
}

static emp_status check_nvlinks(const emp_import_plan *plan, emp_error *err)
{
    const emp_gpu_matrix *m = &plan->matrix;

    for (int32_t a = 0; a < m->gpu_count; a++) {
        const emp_gpu_links *links = plan->gpu[a].links;
        for (int32_t b = 0; b < m->gpu_count; b++)
            if (links->model != NULL && m->nvlinks[a][b] > links->nvlinks)
                return EMP_ERROR(EMP_EFORMAT,
                                 "%s:%d: GPU%d to GPU%d is NV%d, and a GPU of model %s "
                                 "has %d NVLinks; another model is right",
                                 plan->request->topology, m->line[a], a, b,
                                 m->nvlinks[a][b], links->model, links->nvlinks);
    }
    return EMP_OK;
}

static bool is_member(const emp_nvlink_set *set, int32_t gpu)
{
    return (set->members >> gpu & 1) != 0;
}

/* A set of heterogeneous GPUs is as fast as its slowest. Copies take it even where PCIe is faster, as drivers have it. */
static void rate_fabric(emp_import_fabric *fabric, const emp_import_plan *plan)
{
    fabric->gb_per_s = INFINITY;
    fabric->latency_us = EMP_IMPORT_PAIR_US;
    for (int32_t i = 0; i < plan->matrix.gpu_count; i++) {
        const emp_import_gpu *gpu = &plan->gpu[i];
        if (!is_member(&fabric->set, i)) continue;
        const double share =
            fabric->set.is_switch ? gpu->links->switch_frac : gpu->links->pair_frac;
        fabric->gb_per_s = fmin(fabric->gb_per_s, share * gpu->links->nvlink_gb_per_s *
                                                      fabric->set.nvlinks);
        if (fabric->set.is_switch) fabric->latency_us = gpu->links->switch_latency_us;
    }
}

static emp_status find_fabrics(emp_import_plan *plan, emp_error *err)
{
    int32_t nvlinks[EMP_IMPORT_GPUS];

    EMP_CHECK(check_nvlinks(plan, err));
    for (int32_t i = 0; i < plan->matrix.gpu_count; i++)
        nvlinks[i] = plan->gpu[i].links->nvlinks;
    EMP_CHECK(emp_nvlink_sets_find(&plan->sets, &plan->matrix, nvlinks,
                                   plan->request->topology, err));
    for (int32_t i = 0; i < plan->sets.count; i++) {
        emp_import_fabric *fabric = &plan->fabric[plan->fabric_count++];
        *fabric = (emp_import_fabric){.set = plan->sets.set[i]};
        rate_fabric(fabric, plan);
    }
    return EMP_OK;
}

static bool import_has_fabric(const emp_import_plan *plan, int32_t a, int32_t b)
{
    for (int32_t i = 0; i < plan->fabric_count; i++)
        if (is_member(&plan->fabric[i].set, a) && is_member(&plan->fabric[i].set, b))
            return true;
    return false;
}

/* Sockets have links of their own where copies between GPUs take them. With NVLink-C2C each socket has a
 * CPU whose link is faster than those between sockets, which a machine with one CPU cannot say. */
static void find_socket_links(emp_import_plan *plan)
{
    int32_t newest = 0;
    bool    is_crossed = false;

    if (emp_import_has_bus(plan, EMP_BUS_C2C)) return;
    for (int32_t a = 0; a < plan->matrix.gpu_count; a++) {
        if (plan->gpu[a].pcie_generation > newest) newest = plan->gpu[a].pcie_generation;
        for (int32_t b = 0; b < a; b++)
            is_crossed =
                is_crossed || (plan->tree.socket_of[a] != plan->tree.socket_of[b] &&
                               !import_has_fabric(plan, a, b));
    }
    if (is_crossed)
        plan->socket_gb_per_s = EMP_IMPORT_SOCKET_FRAC * emp_pcie_gb_per_s(newest);
}

/* Each GPU, each switch and each socket with a link has one for each direction, as has each port. */
static emp_status check_limits(const emp_import_plan *plan, emp_error *err)
{
    int32_t links = 2 * (plan->matrix.gpu_count + plan->tree.switch_count);

    if (plan->socket_gb_per_s > 0.0) links += 2 * plan->tree.socket_count;
    for (int32_t i = 0; i < plan->fabric_count; i++)
        for (int32_t gpu = 0; gpu < plan->matrix.gpu_count; gpu++)
            links += 2 * is_member(&plan->fabric[i].set, gpu);
    if (links <= EMP_MAX_LINKS) return EMP_OK;
    return EMP_ERROR(EMP_EUNSUPPORTED, "%s makes %d links; a machine has at most %d",
                     plan->request->topology, links, EMP_MAX_LINKS);
}

emp_status emp_machine_import_run(emp_machine_import *import, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_import_plan *plan = NULL;

    EMP_NEED(import);
    EMP_NEED(import->out);
    if (import->topology == NULL && import->query == NULL)
        return EMP_ERROR(EMP_EINVAL, "an import needs a topology or a query");
    EMP_TRY(EMP_ALLOC(plan, 1));
    plan->request = import;
    EMP_TRY(read_topology(plan, err));
    EMP_TRY(read_query(plan, err));
    EMP_TRY(read_model_option(plan, err));
    EMP_TRY(find_computer(plan, import, err));
    EMP_TRY(find_models(plan, import, err));
    find_buses(plan);
    EMP_TRY(find_host(plan, import, err));
    emp_gpu_tree_find(&plan->tree, &plan->matrix);
    EMP_TRY(find_fabrics(plan, err));
    find_socket_links(plan);
    EMP_TRY(check_limits(plan, err));
    EMP_TRY(emp_import_write(&import->yaml, plan, err));
    if (plan->makes_host) EMP_TRY(emp_import_write_host(&import->host_yaml, plan, err));

cleanup:
    emp_free(plan);
    return st;
}

void emp_machine_import_clear(emp_machine_import *import)
{
    emp_free(import->yaml);
    emp_free(import->host_yaml);
    import->yaml = import->host_yaml = NULL;
    import->warning_count = 0;
}
