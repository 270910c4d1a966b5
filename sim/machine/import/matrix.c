// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/import/import_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/collections.h"

enum { MOST_NVLINKS = 99, WORD_BYTES = 24 };

static const char *const words[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS"};

/* The state of one reading. */
struct parser {
    emp_gpu_matrix *matrix;
    emp_slice       rest, line;
    int32_t         number; /* of the line; the first is 1 */
    const char     *path;
    bool            has_bad_nic;
};

static bool next_line(struct parser *p)
{
    p->number++;
    return emp_slice_next_line(&p->line, &p->rest);
}

/* The number behind a prefix, "NV12"; -1: it is none of one or two digits. */
static int32_t number_behind(emp_slice word, const char *prefix)
{
    const size_t length = strlen(prefix);
    int32_t      number = 0;

    if (word.size <= length || word.size > length + 2) return -1;
    if (memcmp(word.data, prefix, length) != 0) return -1;
    for (size_t i = length; i < word.size; i++) {
        if (word.data[i] < '0' || word.data[i] > '9') return -1;
        number = 10 * number + (word.data[i] - '0');
    }
    return number;
}

static emp_way way_of(emp_slice word)
{
    for (int way = EMP_WAY_SELF; way <= EMP_WAY_SYS; way++)
        if (emp_slice_is(word, words[way])) return (emp_way)way;
    return EMP_WAY_UNKNOWN;
}

/* ---- the first row ---- */

/* The columns end where the affinities begin. */
static bool ends_columns(emp_slice word)
{
    return emp_slice_is(word, "CPU") || emp_slice_is(word, "NUMA") ||
           emp_slice_is(word, "GPU");
}

static emp_status read_columns(struct parser *p, emp_error *err)
{
    emp_gpu_matrix *m = p->matrix;
    emp_slice       rest = p->line, word;
    char            text[WORD_BYTES];

    while (emp_slice_next_word(&word, &rest) && !ends_columns(word)) {
        const int32_t number = number_behind(word, "GPU");
        emp_slice_copy(text, sizeof text, word);
        if (number < 0) {
            if (m->nic_count == EMP_IMPORT_NICS)
                return EMP_ERROR(EMP_EFORMAT, "%s:%d: more than %d NICs", p->path,
                                 p->number, EMP_IMPORT_NICS);
            m->nic_count++;
        } else if (m->nic_count > 0 || number != m->gpu_count) {
            return EMP_ERROR(EMP_EFORMAT,
                             "%s:%d: column %s is out of place; GPU%d is expected there, "
                             "and NICs behind all GPUs",
                             p->path, p->number, text, m->gpu_count);
        } else if (m->gpu_count == EMP_IMPORT_GPUS) {
            return EMP_ERROR(EMP_EFORMAT,
                             "%s:%d: more than %d GPUs; a machine has %d devices, one of "
                             "which is the CPU",
                             p->path, p->number, EMP_IMPORT_GPUS, EMP_MAX_DEVICES);
        } else {
            m->gpu_count++;
        }
    }
    return EMP_OK;
}

/* Text before the matrix is not read: a prompt, the command. */
static emp_status find_columns(struct parser *p, emp_error *err)
{
    while (next_line(p)) {
        emp_slice rest = p->line, word;
        if (emp_slice_next_word(&word, &rest) && emp_slice_is(word, "GPU0"))
            return read_columns(p, err);
    }
    return EMP_ERROR(
        EMP_EFORMAT,
        "%s: no line begins with GPU0; save what `nvidia-smi topo -m` prints", p->path);
}

/* ---- rows of GPUs ---- */

static emp_status read_way(struct parser *p, int32_t row, int32_t column, emp_slice word,
                           emp_error *err)
{
    const int32_t links = number_behind(word, "NV");
    const emp_way way = way_of(word);
    char          text[WORD_BYTES];

    emp_slice_copy(text, sizeof text, word);
    if (links == 0 || (links < 0 && way == EMP_WAY_UNKNOWN))
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:%d: GPU%d to GPU%d is \"%s\", none of X, PIX, PXB, PHB, "
                         "NODE, SYS and NV1 to NV%d",
                         p->path, p->number, row, column, text, MOST_NVLINKS);
    if ((way == EMP_WAY_SELF) != (row == column))
        return EMP_ERROR(EMP_EFORMAT,
                         "%s:%d: GPU%d to GPU%d is \"%s\"; X stands for a GPU to itself",
                         p->path, p->number, row, column, text);
    p->matrix->pcie[row][column] = (uint8_t)way;
    p->matrix->nvlinks[row][column] = (uint8_t)(links < 0 ? 0 : links);
    return EMP_OK;
}

/* Whether a cell can be no NIC's: the CPUs "0-23", or "N/A". */
static bool is_affinity(emp_slice word)
{
    return (word.data[0] >= '0' && word.data[0] <= '9') || emp_slice_is(word, "N/A");
}

static void read_nics(struct parser *p, int32_t row, emp_slice rest)
{
    emp_gpu_matrix *m = p->matrix;
    emp_slice       word = {0};
    int32_t         count = 0;

    while (emp_slice_next_word(&word, &rest) && !is_affinity(word)) {
        const emp_way way = way_of(word);
        if (count < m->nic_count) m->nic[row][count] = (uint8_t)way;
        if (way == EMP_WAY_UNKNOWN || way == EMP_WAY_SELF) p->has_bad_nic = true;
        count++;
    }
    if (count != m->nic_count) p->has_bad_nic = true;
    if (word.size > 0 && !emp_slice_is(word, "N/A"))
        emp_slice_copy(m->affinity[row], sizeof m->affinity[row], word);
}

/* The next line that is not empty is the row of that GPU. */
static emp_status read_row(struct parser *p, int32_t row, emp_error *err)
{
    const int32_t gpu_count = p->matrix->gpu_count;
    emp_slice     rest, word = {0};

    while (word.size == 0) {
        if (!next_line(p))
            return EMP_ERROR(EMP_EFORMAT, "%s ends before the row of GPU%d, of %d",
                             p->path, row, gpu_count);
        rest = p->line;
        emp_slice_next_word(&word, &rest);
    }
    if (number_behind(word, "GPU") != row)
        return EMP_ERROR(EMP_EFORMAT, "%s:%d: the row of GPU%d is expected here", p->path,
                         p->number, row);
    p->matrix->line[row] = p->number;
    for (int32_t column = 0; column < gpu_count; column++) {
        if (!emp_slice_next_word(&word, &rest))
            return EMP_ERROR(EMP_EFORMAT,
                             "%s:%d: the row of GPU%d has %d cells of GPUs, not %d",
                             p->path, p->number, row, column, gpu_count);
        EMP_CHECK(read_way(p, row, column, word, err));
    }
    read_nics(p, row, rest);
    return EMP_OK;
}

static const char *cell_text(char text[WORD_BYTES], const emp_gpu_matrix *m, int32_t row,
                             int32_t column)
{
    if (m->nvlinks[row][column] > 0)
        snprintf(text, WORD_BYTES, "NV%d", m->nvlinks[row][column]);
    else
        snprintf(text, WORD_BYTES, "%s", words[m->pcie[row][column]]);
    return text;
}

static emp_status check_symmetry(const struct parser *p, emp_error *err)
{
    const emp_gpu_matrix *m = p->matrix;
    char                  there[WORD_BYTES], back[WORD_BYTES];

    for (int32_t a = 0; a < m->gpu_count; a++)
        for (int32_t b = 0; b < a; b++)
            if (m->pcie[a][b] != m->pcie[b][a] || m->nvlinks[a][b] != m->nvlinks[b][a])
                return EMP_ERROR(EMP_EFORMAT,
                                 "%s:%d: GPU%d to GPU%d is %s and GPU%d to GPU%d is %s; "
                                 "nvidia-smi prints the same both ways",
                                 p->path, m->line[a], b, a, cell_text(there, m, b, a), a,
                                 b, cell_text(back, m, a, b));
    return EMP_OK;
}

emp_status emp_gpu_matrix_parse(emp_gpu_matrix *matrix, const char *text, size_t size,
                                const char *path, emp_error *err)
{
    struct parser p = {.matrix = matrix, .rest = {text, size}, .path = path};

    *matrix = (emp_gpu_matrix){0};
    EMP_CHECK(find_columns(&p, err));
    for (int32_t row = 0; row < matrix->gpu_count; row++)
        EMP_CHECK(read_row(&p, row, err));
    if (p.has_bad_nic) matrix->nic_count = 0;
    return check_symmetry(&p, err);
}

/* ---- what terminals add ---- */

/* The bytes of an escape of a terminal at \a text, "\x1b[4m"; 0: there is none. */
static size_t escape_length(const char *text, const char *end)
{
    const char *at = text + 2;

    if (end - text < 3 || text[0] != '\x1b' || text[1] != '[') return 0;
    while (at < end && (*at == ';' || (*at >= '0' && *at <= '9'))) at++;
    return at == end ? 0 : (size_t)(at - text) + 1;
}

emp_status emp_smi_text_clean(char *text, size_t *size, const char *path, emp_error *err)
{
    const char *end = text + *size, *at = text;
    char       *to = text;

    if (memchr(text, '\0', *size) != NULL)
        return EMP_ERROR(EMP_EFORMAT,
                         "%s has zero bytes, so it is no text; save it as UTF-8 text",
                         path);
    while (at < end) {
        size_t skipped = escape_length(at, end);
        if (skipped == 0)
            *to++ = *at++;
        else
            at += skipped;
    }
    *size = (size_t)(to - text);
    return EMP_OK;
}

/* ---- the tables of rocm-smi and amd-smi ---- */

typedef enum { OTHER, LINKS, HOPS } table;

/* The state of one reading. */
struct amd_parser {
    emp_gpu_matrix *matrix;
    emp_gpu_query  *query;
    emp_slice       rest, line;
    int32_t         number; /* of the line; the first is 1 */
    const char     *path;
    uint8_t         is_xgmi[EMP_IMPORT_GPUS][EMP_IMPORT_GPUS];
    int32_t         hops[EMP_IMPORT_GPUS][EMP_IMPORT_GPUS]; /* 0 = unknown */
    int32_t         numa[EMP_IMPORT_GPUS];                  /* -1 = unknown */
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

static bool next_amd_line(struct amd_parser *p)
{
    p->number++;
    return emp_slice_next_line(&p->line, &p->rest);
}

static bool next_full_line(struct amd_parser *p)
{
    while (next_amd_line(p))
        if (emp_slice_trim(p->line).size > 0) return true;
    return false;
}

/* ---- tables ---- */

static emp_status count_columns(struct amd_parser *p, int32_t *count, emp_error *err)
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

static emp_status read_link(struct amd_parser *p, int32_t row, int32_t column,
                            emp_slice cell, emp_error *err)
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

static emp_status read_table(struct amd_parser *p, table of, emp_error *err)
{
    emp_slice rest, word;
    int32_t   count;

    EMP_CHECK(count_columns(p, &count, err));
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

/* The text behind \a key in a line "GPU[0] : Card Series: ..."; the GPU is -1 if it is no such line. */
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

static void read_gpu_line(struct amd_parser *p, emp_slice line)
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
static void fill_pair(struct amd_parser *p, int32_t a, int32_t b)
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

static emp_status check_amd_symmetry(const struct amd_parser *p, emp_error *err)
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

static emp_status fill_matrix(struct amd_parser *p, emp_error *err)
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
    return check_amd_symmetry(p, err);
}

emp_status emp_amd_topology_parse(emp_gpu_matrix *matrix, emp_gpu_query *query,
                                  const char *text, size_t size, const char *path,
                                  emp_error *err)
{
    struct amd_parser p = {
        .matrix = matrix, .query = query, .rest = {text, size}, .path = path};

    *matrix = (emp_gpu_matrix){0};
    *query = (emp_gpu_query){0};
    for (int32_t i = 0; i < EMP_IMPORT_GPUS; i++) p.numa[i] = -1;
    while (next_amd_line(&p)) {
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

/* ---- the way by PCIe ---- */

static emp_way farther(emp_way one, emp_way other) { return one > other ? one : other; }

/* By the NIC that is nearest to both. GPUs with a way over sockets to each NIC may be anywhere, so
 * that is no answer unless the other one is near. */
static emp_way way_by_nics(const emp_gpu_matrix *m, int32_t a, int32_t b)
{
    emp_way way = EMP_WAY_UNKNOWN;

    for (int32_t k = 0; k < m->nic_count; k++) {
        const emp_way one = (emp_way)m->nic[a][k], other = (emp_way)m->nic[b][k];
        const emp_way both = farther(one, other);
        if (one == EMP_WAY_SYS && other == EMP_WAY_SYS) continue;
        if (both < way) way = both;
    }
    return way;
}

/* By the CPUs that are near both. */
static emp_way way_by_cpus(const emp_gpu_matrix *m, int32_t a, int32_t b)
{
    if (m->affinity[a][0] == '\0' || m->affinity[b][0] == '\0') return EMP_WAY_UNKNOWN;
    return strcmp(m->affinity[a], m->affinity[b]) == 0 ? EMP_WAY_NODE : EMP_WAY_SYS;
}

/* EMP_WAY_UNKNOWN: nothing tells it. On some computers SYS stands for each pair of host bridges, although
 * the GPUs have the same CPUs near. */
static emp_way way_between(const emp_gpu_matrix *m, int32_t a, int32_t b)
{
    const emp_way told = (emp_way)m->pcie[a][b], by_cpus = way_by_cpus(m, a, b);

    if (told == EMP_WAY_SYS && by_cpus == EMP_WAY_NODE) return EMP_WAY_NODE;
    if (told != EMP_WAY_UNKNOWN) return told;
    const emp_way by_nics = way_by_nics(m, a, b);
    return by_nics != EMP_WAY_UNKNOWN ? by_nics : by_cpus;
}

/* Numbers the sets from 0 in the order of their first GPUs. */
static int32_t number_sets(int32_t *set_of, int32_t *parent, int32_t gpu_count)
{
    int32_t count = 0;

    for (int32_t i = 0; i < gpu_count; i++) {
        const int32_t root = emp_disjoint_root(parent, i);
        set_of[i] = root == i ? count++ : set_of[root];
    }
    return count;
}

static bool is_alone(const int32_t *set_of, int32_t gpu_count, int32_t i)
{
    int32_t members = 0;

    for (int32_t k = 0; k < gpu_count; k++) members += set_of[k] == set_of[i];
    return members == 1;
}

/* A switch with one GPU is left out: the GPU shares it with no other one. */
static void number_switches(emp_gpu_tree *tree, const int32_t *set_of, int32_t gpu_count)
{
    for (int32_t i = 0; i < gpu_count; i++) {
        int32_t first = 0;
        while (set_of[first] != set_of[i]) first++;
        if (is_alone(set_of, gpu_count, i)) {
            tree->switch_of[i] = -1;
        } else if (first < i) {
            tree->switch_of[i] = tree->switch_of[first];
        } else {
            tree->socket_of_switch[tree->switch_count] = tree->socket_of[i];
            tree->switch_of[i] = tree->switch_count++;
        }
    }
}

void emp_gpu_tree_find(emp_gpu_tree *tree, const emp_gpu_matrix *matrix)
{
    int32_t       by_switch[EMP_IMPORT_GPUS], by_socket[EMP_IMPORT_GPUS];
    int32_t       set_of[EMP_IMPORT_GPUS];
    const int32_t count = matrix->gpu_count;

    *tree = (emp_gpu_tree){0};
    emp_disjoint_init(by_switch, count);
    emp_disjoint_init(by_socket, count);
    for (int32_t a = 0; a < count; a++) {
        for (int32_t b = 0; b < a; b++) {
            const emp_way way = way_between(matrix, a, b);
            if (way == EMP_WAY_UNKNOWN) tree->is_guess = true;
            if (way <= EMP_WAY_PXB) emp_disjoint_join(by_switch, a, b);
            if (way != EMP_WAY_SYS) emp_disjoint_join(by_socket, a, b);
        }
    }
    tree->socket_count = number_sets(tree->socket_of, by_socket, count);
    number_sets(set_of, by_switch, count);
    number_switches(tree, set_of, count);
}

/* ---- NVLinks ---- */

static uint64_t bit(int32_t gpu) { return (uint64_t)1 << gpu; }

/* The GPUs that NVLinks lead to from one, with it. */
static uint64_t reached_from(const emp_gpu_matrix *m, int32_t gpu)
{
    uint64_t members = bit(gpu);

    for (int32_t i = 0; i < m->gpu_count; i++)
        if (m->nvlinks[gpu][i] > 0) members |= bit(i);
    return members;
}

/* The set that one GPU is in, if that is one of NVSwitch: links are counted as often as there are
 * others to reach, which is more than it has. */
static bool find_switch(emp_nvlink_set *set, const emp_gpu_matrix *m,
                        const int32_t *nvlinks, int32_t gpu)
{
    int32_t sum = 0;

    *set = (emp_nvlink_set){.members = reached_from(m, gpu), .is_switch = true};
    for (int32_t i = 0; i < m->gpu_count; i++) {
        const int32_t links = m->nvlinks[gpu][i];
        if (links == 0) continue;
        if (reached_from(m, i) != set->members) return false;
        if (set->nvlinks == 0 || links < set->nvlinks) set->nvlinks = links;
        sum += links;
    }
    return sum > nvlinks[gpu] && set->nvlinks < sum;
}

static emp_status add(emp_nvlink_sets *sets, emp_nvlink_set set, const char *path,
                      emp_error *err)
{
    if (sets->count == EMP_MAX_FABRICS)
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "%s: more than %d pairs of GPUs with NVLinks; a machine has no "
                         "more fabrics",
                         path, EMP_MAX_FABRICS);
    sets->set[sets->count++] = set;
    return EMP_OK;
}

static emp_status add_pairs(emp_nvlink_sets *sets, const emp_gpu_matrix *m, int32_t gpu,
                            const char *path, emp_error *err)
{
    for (int32_t i = gpu + 1; i < m->gpu_count; i++)
        if (m->nvlinks[gpu][i] > 0)
            EMP_CHECK(add(sets,
                          (emp_nvlink_set){.members = bit(gpu) | bit(i),
                                           .nvlinks = m->nvlinks[gpu][i]},
                          path, err));
    return EMP_OK;
}

emp_status emp_nvlink_sets_find(emp_nvlink_sets *sets, const emp_gpu_matrix *matrix,
                                const int32_t *nvlinks, const char *path, emp_error *err)
{
    uint64_t       switched = 0;
    emp_nvlink_set set;

    *sets = (emp_nvlink_sets){0};
    for (int32_t gpu = 0; gpu < matrix->gpu_count; gpu++) {
        if ((switched & bit(gpu)) != 0) continue;
        if (find_switch(&set, matrix, nvlinks, gpu)) {
            switched |= set.members;
            EMP_CHECK(add(sets, set, path, err));
        } else {
            EMP_CHECK(add_pairs(sets, matrix, gpu, path, err));
        }
    }
    return EMP_OK;
}
