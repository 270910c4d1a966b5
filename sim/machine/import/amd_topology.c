// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/import/plan_internal.h"

#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = 24 };

typedef enum { OTHER, LINKS, HOPS } table;

/* What one reading needs at hand. */
struct parser {
    emp_gpu_matrix *matrix;
    emp_gpu_query  *query;
    emp_slice       rest, line;
    int32_t         number; /* of the line; the first is 1 */
    const char     *path;
    uint8_t         is_xgmi[EMP_IMPORT_GPUS][EMP_IMPORT_GPUS];
    int32_t         hops[EMP_IMPORT_GPUS][EMP_IMPORT_GPUS]; /* 0 = not told */
    int32_t         numa[EMP_IMPORT_GPUS];                  /* -1 = not told */
};

/* The table that a line is the title of. */
static table title_of(emp_slice line)
{
    if (emp_slice_has(line, "Link Type between two GPUs") ||
        emp_slice_has(line, "LINK TYPE TABLE"))
        return LINKS;
    if (emp_slice_has(line, "Hops between two GPUs") || emp_slice_has(line, "HOPS TABLE"))
        return HOPS;
    return OTHER;
}

bool emp_amd_topology_is(const char *text, size_t size)
{
    emp_slice rest = {text, size}, line;

    while (emp_slice_next_line(&line, &rest))
        if (title_of(line) == LINKS) return true;
    return false;
}

static bool next_line(struct parser *p)
{
    p->number++;
    return emp_slice_next_line(&p->line, &p->rest);
}

static bool next_full_line(struct parser *p)
{
    while (next_line(p))
        if (emp_slice_trim(p->line).size > 0) return true;
    return false;
}

/* ---- tables ---- */

static emp_status read_columns(struct parser *p, int32_t *count, emp_error *err)
{
    emp_slice rest, word;

    *count = 0;
    if (!next_full_line(p))
        return EMP_ERROR(EMP_EFORMAT, "%s ends behind the title of a table", p->path);
    rest = p->line;
    while (emp_slice_next_word(&word, &rest)) ++*count;
    if (*count > EMP_IMPORT_GPUS)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:%d: more than %d GPUs; a machine has %d devices, one of "
                         "which is the CPU",
                         p->path, p->number, EMP_IMPORT_GPUS, EMP_MAX_DEVICES);
    return EMP_OK;
}

static emp_status read_link(struct parser *p, int32_t row, int32_t column, emp_slice cell,
                            emp_error *err)
{
    static const char *const known[] = {"PCIE", "XGMI", "SELF", "0", "N/A", "UNKNOWN"};
    char                     text[WORD_BYTES];
    size_t                   i = 0;

    while (i < sizeof known / sizeof *known && !emp_slice_is(cell, known[i])) i++;
    emp_slice_copy(text, sizeof text, cell);
    if (i == sizeof known / sizeof *known)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:%d: GPU%d to GPU%d is \"%s\", none of PCIE, XGMI, N/A and "
                         "UNKNOWN",
                         p->path, p->number, row, column, text);
    if (row == column) return EMP_OK;
    p->is_xgmi[row][column] = i == 1;
    p->matrix->pcie[row][column] = (uint8_t)(i == 0 ? EMP_WAY_PHB : EMP_WAY_UNKNOWN);
    return EMP_OK;
}

/* The whole number of a cell; -1: it is none. */
static int32_t number_of(emp_slice cell)
{
    int32_t number = 0;

    for (size_t i = 0; i < cell.size; i++) {
        if (cell.data[i] < '0' || cell.data[i] > '9' || number > 1000) return -1;
        number = 10 * number + (cell.data[i] - '0');
    }
    return cell.size == 0 ? -1 : number;
}

static emp_status read_table(struct parser *p, table of, emp_error *err)
{
    emp_slice rest, word;
    int32_t   count;

    EMP_CHECK(read_columns(p, &count, err));
    if (of == LINKS) p->matrix->gpu_count = count;
    for (int32_t row = 0; row < count; row++) {
        if (!next_full_line(p))
            return EMP_ERROR(EMP_EFORMAT, "%s ends before the row of GPU%d, of %d",
                             p->path, row, count);
        rest = p->line;
        emp_slice_next_word(&word, &rest);
        if (of == LINKS) p->matrix->line[row] = p->number;
        for (int32_t column = 0; column < count; column++) {
            if (!emp_slice_next_word(&word, &rest))
                return EMP_ERROR(EMP_EFORMAT,
                                 "%s:%d: the row of GPU%d has %d cells, not %d", p->path,
                                 p->number, row, column, count);
            if (of == LINKS) EMP_CHECK(read_link(p, row, column, word, err));
            if (of == HOPS) p->hops[row][column] = number_of(word);
        }
    }
    return EMP_OK;
}

/* ---- lines of one GPU ---- */

/* What stands behind \a key in a line "GPU[0] : Card Series: ..."; the GPU is -1 if it is no such line. */
static int32_t gpu_line(emp_slice line, const char *key, emp_slice *value)
{
    static const char head[] = "GPU[";
    const size_t      length = strlen(key), from = strlen(head);

    if (line.size < from || memcmp(line.data, head, from) != 0) return -1;
    const char *stop = memchr(line.data, ']', line.size);
    if (stop == NULL) return -1;
    const int32_t gpu =
        number_of((emp_slice){line.data + from, (size_t)(stop - line.data) - from});
    for (size_t i = 0; i + length <= line.size; i++) {
        if (memcmp(line.data + i, key, length) != 0) continue;
        *value =
            emp_slice_trim((emp_slice){line.data + i + length, line.size - i - length});
        return gpu < EMP_IMPORT_GPUS ? gpu : -1;
    }
    return -1;
}

static void read_gpu_line(struct parser *p, emp_slice line)
{
    static const char *const products[] = {"Card Series:", "Card series:"};
    emp_slice                value;

    int32_t gpu = gpu_line(line, "Numa Node:", &value);
    if (gpu >= 0) p->numa[gpu] = number_of(value);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        gpu = gpu_line(line, products[i], &value);
        if (gpu >= 0)
            emp_slice_copy(p->query->gpu[gpu].product, sizeof p->query->gpu[gpu].product,
                           value);
    }
}

/* ---- the matrix ---- */

/* Links count where they are direct. PCIe between NUMA nodes leads over sockets. */
static void fill_pair(struct parser *p, int32_t a, int32_t b)
{
    emp_gpu_matrix *m = p->matrix;
    const bool      has_numa = p->numa[a] >= 0 && p->numa[b] >= 0;
    const bool      is_direct = p->hops[a][b] <= 1;

    m->nvlinks[a][b] = p->is_xgmi[a][b] && is_direct;
    if (has_numa)
        m->pcie[a][b] = (uint8_t)(p->numa[a] == p->numa[b] ? EMP_WAY_NODE : EMP_WAY_SYS);
    else if (!p->is_xgmi[a][b] && p->hops[a][b] > 2)
        m->pcie[a][b] = EMP_WAY_SYS;
}

static emp_status check_symmetry(const struct parser *p, emp_error *err)
{
    const emp_gpu_matrix *m = p->matrix;

    for (int32_t a = 0; a < m->gpu_count; a++)
        for (int32_t b = 0; b < a; b++)
            if (m->pcie[a][b] != m->pcie[b][a] || m->nvlinks[a][b] != m->nvlinks[b][a])
                return EMP_ERROR(EMP_EFORMAT,
                                 "%s:%d: GPU%d to GPU%d is another way than GPU%d to "
                                 "GPU%d; both must be the same",
                                 p->path, m->line[a], b, a, a, b);
    return EMP_OK;
}

static emp_status fill_matrix(struct parser *p, emp_error *err)
{
    emp_gpu_matrix *m = p->matrix;

    for (int32_t a = 0; a < m->gpu_count; a++) {
        for (int32_t b = 0; b < m->gpu_count; b++)
            if (a != b) fill_pair(p, a, b);
        if (p->numa[a] >= 0)
            snprintf(m->affinity[a], sizeof m->affinity[a], "node %d", p->numa[a]);
    }
    p->query->gpu_count = m->gpu_count;
    for (int32_t i = 0; i < m->gpu_count; i++)
        if (p->query->gpu[i].product[0] == '\0') p->query->gpu_count = 0;
    return check_symmetry(p, err);
}

emp_status emp_amd_topology_parse(emp_gpu_matrix *matrix, emp_gpu_query *query,
                                  const char *text, size_t size, const char *path,
                                  emp_error *err)
{
    struct parser p = {
        .matrix = matrix, .query = query, .rest = {text, size}, .path = path};

    *matrix = (emp_gpu_matrix){0};
    *query = (emp_gpu_query){0};
    for (int32_t i = 0; i < EMP_IMPORT_GPUS; i++) p.numa[i] = -1;
    while (next_line(&p)) {
        const table of = title_of(p.line);
        if (of != OTHER)
            EMP_CHECK(read_table(&p, of, err));
        else
            read_gpu_line(&p, p.line);
    }
    if (matrix->gpu_count == 0)
        return EMP_ERROR(EMP_EFORMAT, "%s: the table of link types has no columns", path);
    return fill_matrix(&p, err);
}
