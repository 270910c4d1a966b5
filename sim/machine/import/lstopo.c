// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/import/import_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/text/units.h"

enum { MOST_DEPTH = 32, TYPE_BYTES = 16 };

typedef enum { MACHINE, PACKAGE, HOST_BRIDGE, BRIDGE, DEVICE, REST } kind;

/* An object that is open. */
struct object {
    kind    kind;
    int32_t number; /* in the order of the file */
};

/* The state of one reading. */
struct parser {
    emp_lstopo     *lstopo;
    emp_gpu_matrix *matrix;
    emp_gpu_query  *query;
    emp_xml         x;
    int32_t         depth, objects;
    struct object   open[MOST_DEPTH];
    int32_t         gpu; /* that is open; -1 = none */
    int32_t         gpu_depth[EMP_IMPORT_GPUS];
    struct object   above[EMP_IMPORT_GPUS][MOST_DEPTH]; /* each GPU, from the root on */
};

bool emp_lstopo_is(const char *text, size_t size)
{
    emp_xml x = {.at = text, .end = text + size, .path = ""};

    if (!emp_xml_is(text, size)) return false;
    return emp_xml_next(&x, NULL) == EMP_OK && x.event == EMP_XML_OPEN &&
           emp_slice_is(x.name, "topology");
}

/* ---- objects ---- */

static kind kind_of(const emp_xml *x, const char *type)
{
    char bridge[8];

    if (strcmp(type, "Machine") == 0) return MACHINE;
    if (strcmp(type, "Package") == 0 || strcmp(type, "Socket") == 0) return PACKAGE;
    if (strcmp(type, "PCIDev") == 0) return DEVICE;
    if (strcmp(type, "Bridge") != 0) return REST;
    emp_xml_attribute(x, "bridge_type", bridge, sizeof bridge);
    return strcmp(bridge, "0-1") == 0 ? HOST_BRIDGE : BRIDGE;
}

/* Whether a PCI device is a GPU: "0302 [10de:20b0] [10de:134f] a1". Display adapters of boards are of other
 * makers, and those in Intel's CPUs have no bridge above them. */
static bool is_gpu(const struct parser *p)
{
    char         type[48];
    unsigned int class_code = 0, vendor = 0;

    emp_xml_attribute(&p->x, "pci_type", type, sizeof type);
    if (sscanf(type, "%4x [%4x:", &class_code, &vendor) != 2) return false;
    if (class_code >> 8 != 0x03 && class_code >> 8 != 0x12) return false;
    if (vendor == 0x10de || vendor == 0x1002) return true;
    return vendor == 0x8086 && p->depth > 0 && p->open[p->depth - 1].kind == BRIDGE;
}

/* PCIe 1 and 2 have an eighth of a GB/s or half of one a lane, later ones 0.985: a link of the former
 * belongs to an idle GPU. */
static double active_rate(double gb_per_s)
{
    const double most = 1000.0, eighths = gb_per_s * 8.0;

    if (!(gb_per_s > 0.0 && gb_per_s < most)) return 0.0;
    return eighths == (double)(int64_t)eighths ? 0.0 : gb_per_s * 1e9;
}

static emp_status begin_gpu(struct parser *p, emp_error *err)
{
    char speed[24];

    if (p->query->gpu_count == EMP_IMPORT_GPUS)
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: more than %d GPUs", p->x.path,
                         p->x.line + 1, EMP_IMPORT_GPUS);
    p->gpu = p->query->gpu_count++;
    emp_gpu_facts *gpu = &p->query->gpu[p->gpu];
    emp_xml_attribute(&p->x, "pci_busid", gpu->bus, sizeof gpu->bus);
    emp_xml_attribute(&p->x, "pci_link_speed", speed, sizeof speed);
    p->lstopo->link_bytes_per_s[p->gpu] = active_rate(emp_number_parse(speed, NULL));
    p->matrix->line[p->gpu] = p->x.line + 1;
    p->gpu_depth[p->gpu] = p->depth;
    memcpy(p->above[p->gpu], p->open, sizeof p->open);
    return EMP_OK;
}

static void add_memory(struct parser *p)
{
    char number[24];

    if (emp_xml_attribute(&p->x, "local_memory", number, sizeof number)) {
        const double bytes = emp_number_parse(number, NULL);
        if (bytes > 0.0 && bytes < 1e15) p->lstopo->memory_bytes += (int64_t)bytes;
    }
}

static emp_status open_object(struct parser *p, emp_error *err)
{
    char type[TYPE_BYTES];

    emp_xml_attribute(&p->x, "type", type, sizeof type);
    const kind of = kind_of(&p->x, type);
    p->lstopo->packages += of == PACKAGE;
    p->lstopo->cores += strcmp(type, "Core") == 0;
    add_memory(p);
    if (of == DEVICE && is_gpu(p)) EMP_CHECK(begin_gpu(p, err));
    if (p->depth == MOST_DEPTH)
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: more than %d objects deep", p->x.path,
                         p->x.line + 1, MOST_DEPTH);
    p->open[p->depth++] = (struct object){of, p->objects++};
    return EMP_OK;
}

static void close_object(struct parser *p)
{
    p->depth--;
    if (p->gpu >= 0 && p->depth == p->gpu_depth[p->gpu]) p->gpu = -1;
}

/* ---- infos ---- */

/* "GA102 [GeForce RTX 3090]" is what its brackets hold. */
static void copy_device(char *to, size_t size, const char *name)
{
    const char *from = strchr(name, '['), *stop = strrchr(name, ']');

    if (from == NULL || stop == NULL || stop < from)
        snprintf(to, size, "%s", name);
    else
        snprintf(to, size, "%.*s", (int)(stop - from - 1), from + 1);
}

static void take_gpu_info(struct parser *p, const char *name, const char *value)
{
    static const char *const memories[] = {"CUDAGlobalMemorySize",
                                           "OpenCLGlobalMemorySize", "RSMIVRAMSize"};
    emp_gpu_facts           *gpu = &p->query->gpu[p->gpu];

    if (strcmp(name, "GPUModel") == 0)
        snprintf(gpu->product, sizeof gpu->product, "%s", value);
    if (strcmp(name, "PCIDevice") == 0 && gpu->product[0] == '\0')
        copy_device(gpu->product, sizeof gpu->product, value);
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++) {
        const double kib = emp_number_parse(value, NULL);
        if (strcmp(name, memories[i]) == 0 && kib > 0.0 && kib < 1e12)
            gpu->memory_mib = (int32_t)(kib / 1024.0);
    }
}

/* "Intel(R) Xeon(R) CPU E5-2699 v3 @ 2.30GHz" */
static double clock_of(const char *cpu)
{
    const char  *at = strrchr(cpu, '@');
    const double ghz =
        at == NULL ? 0.0 : emp_number_parse(at + 1 + strspn(at + 1, " "), NULL);

    return ghz > 0.1 && ghz < 10.0 ? ghz * 1e9 : 0.0;
}

static void take_info(struct parser *p)
{
    char        name[32], value[64];
    emp_lstopo *l = p->lstopo;

    emp_xml_attribute(&p->x, "name", name, sizeof name);
    emp_xml_attribute(&p->x, "value", value, sizeof value);
    if (p->gpu >= 0) take_gpu_info(p, name, value);
    if (strcmp(name, "CPUModel") == 0 && l->cpu[0] == '\0') {
        snprintf(l->cpu, sizeof l->cpu, "%s", value);
        if (l->clock_hz == 0.0) l->clock_hz = clock_of(value);
    }
    if (strcmp(name, "DMIProductName") == 0)
        snprintf(l->product, sizeof l->product, "%.*s", (int)sizeof l->product - 1,
                 value);
    if (strcmp(name, "Architecture") == 0)
        snprintf(l->architecture, sizeof l->architecture, "%.*s",
                 (int)sizeof l->architecture - 1, value);
    if (strcmp(name, "FrequencyMaxMHz") == 0 || strcmp(name, "FrequencyBaseMHz") == 0) {
        const double hz = emp_number_parse(value, NULL) * 1e6;
        if (hz > l->clock_hz && hz < 1e10) l->clock_hz = hz;
    }
}

/* ---- the matrix ---- */

/* By the lowest object above both. */
static emp_way way_between(const struct parser *p, int32_t a, int32_t b)
{
    kind    lowest = MACHINE;
    int32_t i = 0;

    while (i < p->gpu_depth[a] && i < p->gpu_depth[b] &&
           p->above[a][i].number == p->above[b][i].number)
        lowest = p->above[a][i++].kind;
    switch (lowest) {
    case BRIDGE: return EMP_WAY_PXB;
    case HOST_BRIDGE: return EMP_WAY_PHB;
    case MACHINE: return p->lstopo->packages > 1 ? EMP_WAY_SYS : EMP_WAY_NODE;
    default: return EMP_WAY_NODE;
    }
}

static void fill_matrix(struct parser *p)
{
    const int32_t count = p->matrix->gpu_count = p->query->gpu_count;

    for (int32_t a = 0; a < count; a++) {
        if (p->query->gpu[a].product[0] == '\0')
            snprintf(p->query->gpu[a].product, sizeof p->query->gpu[a].product,
                     "a GPU without a name");
        for (int32_t b = 0; b < count; b++)
            p->matrix->pcie[a][b] =
                (uint8_t)(a == b ? EMP_WAY_SELF : way_between(p, a, b));
    }
}

emp_status emp_lstopo_parse(emp_lstopo *lstopo, emp_gpu_matrix *matrix,
                            emp_gpu_query *query, const char *text, size_t size,
                            const char *path, emp_error *err)
{
    struct parser p = {.lstopo = lstopo,
                       .matrix = matrix,
                       .query = query,
                       .x = {.at = text, .end = text + size, .path = path},
                       .gpu = -1};

    *lstopo = (emp_lstopo){0};
    *matrix = (emp_gpu_matrix){0};
    *query = (emp_gpu_query){0};
    do {
        EMP_CHECK(emp_xml_next(&p.x, err));
        if (p.x.event == EMP_XML_OPEN && emp_slice_is(p.x.name, "object"))
            EMP_CHECK(open_object(&p, err));
        if (p.x.event == EMP_XML_CLOSE && emp_slice_is(p.x.name, "object"))
            close_object(&p);
        if (p.x.event == EMP_XML_OPEN && emp_slice_is(p.x.name, "info")) take_info(&p);
    } while (p.x.event != EMP_XML_END);
    if (lstopo->packages == 0 && lstopo->cores == 0)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s has neither packages nor cores; save the whole computer by "
                         "`lstopo --of xml`",
                         path);
    fill_matrix(&p);
    return EMP_OK;
}
