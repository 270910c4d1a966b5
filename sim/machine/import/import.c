// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/import/import.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/io/input.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "base/text/whole_file.h"
#include "sim/machine/import/plan_internal.h"
#include "sim/machine/model.h"

/* ---- texts ---- */

static emp_status load_text(char **text, size_t *size, const char *path, emp_error *err)
{
    EMP_CHECK(emp_whole_file_load(text, size, path, EMP_SMI_MOST_BYTES, err));
    emp_input_keep(path);
    return emp_smi_text_clean(*text, size, path, err);
}

static emp_status read_topology(emp_import_plan *plan, emp_error *err)
{
    emp_status  st = EMP_OK;
    const char *path = plan->request->topology;
    char       *text = NULL;
    size_t      size;

    EMP_TRY(load_text(&text, &size, path, err));
    EMP_TRY(emp_gpu_matrix_parse(&plan->matrix, text, size, path, err));

cleanup:
    emp_free(text);
    return st;
}

static emp_status read_query(emp_import_plan *plan, emp_error *err)
{
    emp_status  st = EMP_OK;
    const char *path = plan->request->query;
    char       *text = NULL;
    size_t      size;

    if (path == NULL) return EMP_OK;
    EMP_TRY(load_text(&text, &size, path, err));
    EMP_TRY(emp_gpu_query_parse(&plan->query, text, size, path, err));
    if (plan->query.gpu_count != plan->matrix.gpu_count)
        EMP_FAIL(
            EMP_EFORMAT, "%s has %d GPUs and %s has %d; both must be of one computer",
            plan->request->topology, plan->matrix.gpu_count, path, plan->query.gpu_count);

cleanup:
    emp_free(text);
    return st;
}

/* ---- models ---- */

/* Reads the model to see that it is of that kind, and its memory. */
static emp_status check_model(const emp_import_plan *plan, const char *option,
                              const char *name, emp_device_kind kind,
                              int64_t *memory_bytes, emp_error *err)
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
    *memory_bytes = model.device.memory_bytes;

cleanup:
    emp_device_model_clear(&model);
    emp_free(source.text);
    return st;
}

static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;

    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
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
        is_same_file(path, option))
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
    snprintf(
        text, sizeof text,
        "%s has %d MiB, and model %s has %s; copy models/%s.yaml, change its memory, "
        "and name the copy by --model",
        facts->product, facts->memory_mib, model,
        emp_units_format_bytes(memory_bytes, memory, sizeof memory), model);
    for (int32_t i = 0; i < import->warning_count; i++)
        if (strcmp(import->warning[i], text) == 0) return;
    if (import->warning_count < EMP_IMPORT_WARNINGS)
        memcpy(import->warning[import->warning_count++], text, sizeof text);
}

static emp_status name_model(emp_import_plan *plan, int32_t gpu, emp_error *err)
{
    const emp_gpu_query *q = &plan->query;
    const char          *name = plan->model[0] == '\0' ? NULL : plan->model;
    char                 known[320];

    if (name == NULL && q->gpu_count == 0)
        return EMP_ERROR(EMP_EINVAL,
                         "the model of the GPUs is missing: --query FILE has what "
                         "`nvidia-smi -q` printed, or --model NAME names it");
    if (name == NULL) name = emp_product_model(q->gpu[gpu].product);
    if (name == NULL) {
        emp_data_list(known, sizeof known, "machines/models");
        return EMP_ERROR(EMP_EINVAL,
                         "%s: there is no model of GPU %d, \"%s\"; copy one of %s as "
                         "docs/add-a-machine.md says, and name the copy by --model",
                         plan->request->query, gpu, q->gpu[gpu].product, known);
    }
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
    int64_t memory_bytes = 0;

    EMP_CHECK(read_model_option(plan, err));
    if (import->model != NULL)
        EMP_CHECK(check_model(plan, "--model", plan->model, EMP_DEVICE_GPU, &memory_bytes,
                              err));
    for (int32_t i = 0; i < plan->matrix.gpu_count; i++) {
        EMP_CHECK(name_model(plan, i, err));
        const char *name = plan->gpu[i].model;
        if (i == 0 || strcmp(name, plan->gpu[i - 1].model) != 0)
            EMP_CHECK(
                check_model(plan, "model", name, EMP_DEVICE_GPU, &memory_bytes, err));
        if (plan->query.gpu_count > 0)
            compare_memory(import, &plan->query.gpu[i], name, memory_bytes);
    }
    if (count_models(plan) > EMP_MAX_MODELS)
        return EMP_ERROR(EMP_EUNSUPPORTED, "%s has more than %d models of devices",
                         import->query, EMP_MAX_MODELS);
    return EMP_OK;
}

/* ---- links ---- */

static void find_pcie(emp_import_plan *plan)
{
    enum { LANES = 16 };

    for (int32_t i = 0; i < plan->matrix.gpu_count; i++) {
        emp_import_gpu      *gpu = &plan->gpu[i];
        const emp_gpu_facts *facts = &plan->query.gpu[i];
        gpu->pcie_generation = facts->pcie_generation;
        gpu->pcie_lanes = facts->pcie_lanes;
        gpu->is_pcie_assumed = emp_pcie_gb_per_s(facts->pcie_generation) == 0.0 ||
                               facts->pcie_lanes < 1 || facts->pcie_lanes > LANES;
        if (gpu->is_pcie_assumed) {
            gpu->pcie_generation = gpu->links->pcie_generation;
            gpu->pcie_lanes = LANES;
        }
        gpu->gb_per_s = EMP_IMPORT_PCIE_FRAC * emp_pcie_gb_per_s(gpu->pcie_generation) *
                        gpu->pcie_lanes / LANES;
    }
}

/* What host GPUs of that generation of PCIe mostly have. */
static const char *usual_host(const emp_import_plan *plan)
{
    int32_t newest = 0;

    for (int32_t i = 0; i < plan->matrix.gpu_count; i++)
        if (plan->gpu[i].pcie_generation > newest) newest = plan->gpu[i].pcie_generation;
    return newest >= 5 ? "xeon-112" : newest == 4 ? "epyc-128" : "haswell-18";
}

static emp_status find_host(emp_import_plan *plan, emp_error *err)
{
    const char *named = plan->request->host;
    int64_t     memory_bytes;

    const char *name = named == NULL ? usual_host(plan) : named;
    EMP_CHECK(check_model(plan, "--host", name, EMP_DEVICE_CPU, &memory_bytes, err));
    snprintf(plan->host, sizeof plan->host, "%s", name);
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

/* A set of unlike GPUs is as fast as its slowest. \return whether that is faster than PCIe. */
static bool rate_fabric(emp_import_fabric *fabric, const emp_import_plan *plan)
{
    double by_tree = 0.0;

    fabric->gb_per_s = INFINITY;
    fabric->latency_us = EMP_IMPORT_PAIR_US;
    for (int32_t i = 0; i < plan->matrix.gpu_count; i++) {
        const emp_import_gpu *gpu = &plan->gpu[i];
        if (!is_member(&fabric->set, i)) continue;
        const double share =
            fabric->set.is_switch ? gpu->links->switch_frac : EMP_IMPORT_PAIR_FRAC;
        fabric->gb_per_s = fmin(fabric->gb_per_s, share * gpu->links->nvlink_gb_per_s *
                                                      fabric->set.nvlinks);
        if (fabric->set.is_switch) fabric->latency_us = gpu->links->switch_latency_us;
        by_tree = fmax(by_tree, gpu->gb_per_s);
    }
    return fabric->gb_per_s > by_tree;
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
        emp_import_fabric fabric = {.set = plan->sets.set[i]};
        if (rate_fabric(&fabric, plan))
            plan->fabric[plan->fabric_count++] = fabric;
        else
            plan->slow_sets++;
    }
    return EMP_OK;
}

bool emp_import_has_fabric(const emp_import_plan *plan, int32_t a, int32_t b)
{
    for (int32_t i = 0; i < plan->fabric_count; i++)
        if (is_member(&plan->fabric[i].set, a) && is_member(&plan->fabric[i].set, b))
            return true;
    return false;
}

/* Sockets have links of their own where copies between GPUs take them. */
static void find_socket_links(emp_import_plan *plan)
{
    int32_t newest = 0;
    bool    is_crossed = false;

    for (int32_t a = 0; a < plan->matrix.gpu_count; a++) {
        if (plan->gpu[a].pcie_generation > newest) newest = plan->gpu[a].pcie_generation;
        for (int32_t b = 0; b < a; b++)
            is_crossed =
                is_crossed || (plan->tree.socket_of[a] != plan->tree.socket_of[b] &&
                               !emp_import_has_fabric(plan, a, b));
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
    EMP_NEED(import->topology);
    EMP_NEED(import->out);
    EMP_TRY(EMP_ALLOC(plan, 1));
    plan->request = import;
    EMP_TRY(read_topology(plan, err));
    EMP_TRY(read_query(plan, err));
    EMP_TRY(find_models(plan, import, err));
    find_pcie(plan);
    EMP_TRY(find_host(plan, err));
    emp_gpu_tree_find(&plan->tree, &plan->matrix);
    EMP_TRY(find_fabrics(plan, err));
    find_socket_links(plan);
    EMP_TRY(check_limits(plan, err));
    EMP_TRY(emp_import_write(&import->yaml, plan, err));

cleanup:
    emp_free(plan);
    return st;
}

void emp_machine_import_clear(emp_machine_import *import)
{
    emp_free(import->yaml);
    import->yaml = NULL;
    import->warning_count = 0;
}
