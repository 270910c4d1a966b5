// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/import/plan_internal.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "sim/machine/import/smi_text.h"

enum { MOST_DEPTH = 6, GREATEST = 100000000 };

/* A key that encloses the present line; those of a GPU begin with the GPU itself. */
struct level {
    size_t       indent;
    emp_smi_span key;
};

struct parser {
    emp_gpu_query *query;
    struct level   level[MOST_DEPTH];
    int32_t        depth;     /* keys around the present line */
    int32_t        announced; /* "Attached GPUs"; 0 = not told */
    int32_t        width_now, width_most, generation_now, generation_device,
        generation_host; /* of the present GPU */
};

/* The whole number that a value begins with; 0 where there is none, as of "N/A". */
static int32_t number_of(emp_smi_span value)
{
    int32_t number = 0;

    for (size_t i = 0; i < value.length && isdigit((unsigned char)value.at[i]); i++) {
        if (number > GREATEST) return 0;
        number = 10 * number + (value.at[i] - '0');
    }
    return number;
}

/* "GPU 00000000:18:00.0", which has a colon but no value. */
static bool is_gpu(emp_smi_span line)
{
    static const char head[] = "GPU ";
    size_t            digits = strlen(head);

    if (line.length <= digits || memcmp(line.at, head, digits) != 0) return false;
    while (digits < line.length && isxdigit((unsigned char)line.at[digits])) digits++;
    return digits >= strlen(head) + 4 && digits < line.length && line.at[digits] == ':';
}

/* Whether the present line is that key of a GPU, as "FB Memory Usage/Total". */
static bool is_at(const struct parser *p, emp_smi_span key, const char *path)
{
    for (int32_t i = 1; i < p->depth; i++) {
        const size_t length = p->level[i].key.length;
        if (strncmp(path, p->level[i].key.at, length) != 0 || path[length] != '/')
            return false;
        path += length + 1;
    }
    return p->depth > 0 && emp_smi_equals(key, path);
}

/* What only both together say: what the link may reach, and its width. */
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

#define LINK "PCI/GPU Link Info/"

static void take(struct parser *p, emp_smi_span key, emp_smi_span value)
{
    emp_gpu_facts *gpu = &p->query->gpu[p->query->gpu_count - 1];
    const struct {
        const char *path;
        int32_t    *number;
    } numbers[] = {{"FB Memory Usage/Total", &gpu->memory_mib},
                   {"Max Clocks/SM", &gpu->clock_mhz},
                   {LINK "PCIe Generation/Max", &gpu->pcie_generation},
                   {LINK "PCIe Generation/Current", &p->generation_now},
                   {LINK "PCIe Generation/Device Max", &p->generation_device},
                   {LINK "PCIe Generation/Host Max", &p->generation_host},
                   {LINK "Link Width/Max", &p->width_most},
                   {LINK "Link Width/Current", &p->width_now}};

    if (is_at(p, key, "Product Name"))
        emp_smi_copy(gpu->product, sizeof gpu->product, value);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (is_at(p, key, numbers[i].path)) *numbers[i].number = number_of(value);
}

static emp_status begin_gpu(struct parser *p, emp_smi_span line, int32_t number,
                            const char *path, emp_error *err)
{
    const size_t head = strlen("GPU ");

    settle(p);
    if (p->query->gpu_count == EMP_IMPORT_GPUS)
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: more than %d GPUs", path, number,
                         EMP_IMPORT_GPUS);
    emp_gpu_facts *gpu = &p->query->gpu[p->query->gpu_count++];
    emp_smi_copy(gpu->bus, sizeof gpu->bus,
                 (emp_smi_span){line.at + head, line.length - head});
    return EMP_OK;
}

/* Leaves the keys that do not enclose a line of that indent. Deeper keys than any that is read are
 * not kept; their lines fit no path. */
static void leave(struct parser *p, size_t indent)
{
    while (p->depth > 0 && p->level[p->depth - 1].indent >= indent) p->depth--;
}

static void enter(struct parser *p, size_t indent, emp_smi_span key)
{
    if (p->depth < MOST_DEPTH) p->level[p->depth++] = (struct level){indent, key};
}

static emp_status read_line(struct parser *p, emp_smi_span line, int32_t number,
                            const char *path, emp_error *err)
{
    emp_smi_span text = emp_smi_trim(line);

    if (text.length == 0) return EMP_OK;
    const size_t indent = (size_t)(text.at - line.at);
    leave(p, indent);
    if (is_gpu(text)) {
        p->depth = 0;
        EMP_CHECK(begin_gpu(p, text, number, path, err));
        enter(p, indent, text);
        return EMP_OK;
    }
    const char *colon = memchr(text.at, ':', text.length);
    if (colon == NULL) {
        if (p->depth > 0) enter(p, indent, text);
        return EMP_OK;
    }
    const size_t length = (size_t)(colon - text.at);
    emp_smi_span key = emp_smi_trim((emp_smi_span){text.at, length});
    emp_smi_span value =
        emp_smi_trim((emp_smi_span){colon + 1, text.length - length - 1});
    if (p->depth > 0)
        take(p, key, value);
    else if (emp_smi_equals(key, "Attached GPUs"))
        p->announced = number_of(value);
    return EMP_OK;
}

static emp_status check(const struct parser *p, const char *path, emp_error *err)
{
    const emp_gpu_query *q = p->query;

    if (q->gpu_count == 0)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s has no line \"GPU 00000000:18:00.0\"; save what `nvidia-smi "
                         "-q` prints",
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
    struct parser  p = {.query = query};
    emp_smi_reader reader = {.at = text, .end = text + size};

    *query = (emp_gpu_query){0};
    while (emp_smi_next_line(&reader))
        EMP_CHECK(read_line(&p, reader.line, reader.number, path, err));
    settle(&p);
    return check(&p, path, err);
}
