// SPDX-License-Identifier: GPL-3.0-or-later
/* The graphs of DOPPLER (Yao et al., ICLR 2026), as its repository has them in compute_graph/:
 *
 *     112                           nodes in all
 *     0, 1, 2, 3,                   those of them that are inputs
 *     0, 0, 1, 2,                   the ends of edges that read from ...
 *     16, 17, 16, 17,               ... and those that read
 *     1000000000000,4000000000000   of each op: compute, communication and maybe a type
 *     100000000,400000000,squeezer
 *
 * Edges number the ops from 0 and leave inputs out: there are as many lines of ops as nodes that
 * are no inputs. A device takes compute / 10^10 for an op, a message communication / 10^10; the
 * repository names no unit, and we take milliseconds. Nothing is said of bytes or of devices: all
 * are alike, so a CPU takes as long as a GPU, and the published setting is four devices.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "graphs/import/notes/readers.h"

enum { MAX_NODES = 1 << 19, TYPE_BYTES = 64, COSTS_PER_NS = 10000, DEVICES = 4 };

/* The cost of EMP_INSTANCE_MS_MAX milliseconds. */
static const int64_t MAX_COST = INT64_C(10000000000000000);

/* The graph's lines that are not of ops; the first is 1. */
enum { NODES = 1, INPUTS, SOURCES, TARGETS };

typedef struct {
    emp_slice rest;
    int32_t   line; /* that was read last */
    int32_t   op_count, edge_count;
    int32_t  *from, *to; /* [edge] */
} reader;

/* ---- words of a line ---- */

static void skip_blanks(emp_slice *text)
{
    while (text->size > 0 && (text->data[0] == ' ' || text->data[0] == '\t'))
        *text = emp_slice_behind(*text, 1);
}

/* A whole number from 0 to \a maximum, which is at most MAX_COST, cut off the front; false: there
 * is none. */
static bool cut_number(int64_t *value, emp_slice *text, int64_t maximum)
{
    size_t size = 0;

    skip_blanks(text);
    for (*value = 0; size < text->size && isdigit((unsigned char)text->data[size]);
         size++) {
        *value = *value * 10 + (text->data[size] - '0');
        if (*value > maximum) return false;
    }
    *text = emp_slice_behind(*text, size);
    skip_blanks(text);
    return size > 0;
}

static bool cut_comma(emp_slice *text)
{
    if (text->size == 0 || text->data[0] != ',') return false;
    *text = emp_slice_behind(*text, 1);
    skip_blanks(text);
    return true;
}

bool emp_doppler_is(emp_slice file)
{
    emp_slice first = {"", 0}, second = {"", 0};
    int64_t   value;

    (void)emp_slice_next_line(&first, &file);
    (void)emp_slice_next_line(&second, &file);
    if (!cut_number(&value, &first, MAX_COST) || first.size > 0) return false;
    skip_blanks(&second);
    return second.size == 0 || isdigit((unsigned char)second.data[0]);
}

/* ---- lists ---- */

static emp_slice next_line(reader *r)
{
    emp_slice line = {"", 0};

    r->line++;
    (void)emp_slice_next_line(&line, &r->rest);
    return line;
}

/* "0, 1, 2, ": numbers below \a bound, in \a list unless that is NULL. */
static emp_status read_list(int32_t *count, int32_t *list, reader *r, emp_slice text,
                            int32_t bound, emp_error *err)
{
    int64_t value;

    skip_blanks(&text);
    for (*count = 0; text.size > 0; ++*count) {
        if (!cut_number(&value, &text, (int64_t)bound - 1))
            return EMP_ERROR(EMP_EFORMAT,
                             "line %d: \"%.*s\" stands where a number from 0 to %d is "
                             "due",
                             r->line, EMP_SLICE_ARG(text), bound - 1);
        if (!cut_comma(&text) && text.size > 0)
            return EMP_ERROR(EMP_EFORMAT, "line %d: \"%.*s\" stands where a comma is due",
                             r->line, EMP_SLICE_ARG(text));
        if (list != NULL) list[*count] = (int32_t)value;
    }
    return EMP_OK;
}

/* Lines 1 and 2. */
static emp_status count_ops(reader *r, emp_error *err)
{
    emp_slice first = next_line(r);
    int64_t   nodes;
    int32_t   inputs;

    if (!cut_number(&nodes, &first, MAX_NODES) || first.size > 0 || nodes == 0)
        return EMP_ERROR(EMP_EFORMAT, "line 1: the number of nodes must be from 1 to %d",
                         MAX_NODES);
    EMP_CHECK(read_list(&inputs, NULL, r, next_line(r), (int32_t)nodes, err));
    if (inputs >= nodes)
        return EMP_ERROR(EMP_EFORMAT, "line 2: all %" PRId64 " nodes are inputs", nodes);
    r->op_count = (int32_t)nodes - inputs;
    return EMP_OK;
}

/* Lines 3 and 4. A list has no more numbers than its line has bytes. */
static emp_status read_edges(reader *r, emp_error *err)
{
    emp_slice sources = next_line(r);
    int32_t   targets;

    if (sources.size > INT32_MAX / 4 || r->rest.size > INT32_MAX / 4)
        return EMP_ERROR(EMP_EUNSUPPORTED, "line 3: %zu bytes of edges", sources.size);
    EMP_CHECK(EMP_ALLOC(r->from, sources.size + 1));
    EMP_CHECK(read_list(&r->edge_count, r->from, r, sources, r->op_count, err));
    emp_slice text = next_line(r);
    EMP_CHECK(EMP_ALLOC(r->to, text.size + 1));
    EMP_CHECK(read_list(&targets, r->to, r, text, r->op_count, err));
    if (targets != r->edge_count)
        return EMP_ERROR(EMP_EFORMAT, "line 4: %d edges end here, but %d begin in line 3",
                         targets, r->edge_count);
    return EMP_OK;
}

/* ---- ops ---- */

static int64_t ns_of_cost(int64_t cost)
{
    return (cost + COSTS_PER_NS / 2) / COSTS_PER_NS;
}

/* "compute,communication" and what may follow: a comma and a word. */
static bool read_op(int64_t costs[2], char type[TYPE_BYTES], emp_slice text)
{
    size_t length = 0;

    for (int i = 0; i < 2; i++) {
        if (i > 0 && !cut_comma(&text)) return false;
        if (!cut_number(&costs[i], &text, MAX_COST)) return false;
    }
    snprintf(type, TYPE_BYTES, "Op");
    if (text.size == 0) return true;
    if (!cut_comma(&text)) return false;
    while (length < text.size &&
           (isalnum((unsigned char)text.data[length]) || text.data[length] == '_'))
        length++;
    if (length == 0 || length >= TYPE_BYTES) return false;
    snprintf(type, TYPE_BYTES, "%.*s", (int)length, text.data);
    text = emp_slice_behind(text, length);
    skip_blanks(&text);
    return text.size == 0;
}

static emp_status add_op(emp_graph_builder *builder, reader *r, int32_t number,
                         emp_error *err)
{
    emp_slice text = next_line(r);
    int64_t   costs[2];
    char      name[32], type[TYPE_BYTES];
    emp_op_id op;

    if (!read_op(costs, type, text))
        return EMP_ERROR(EMP_EFORMAT,
                         "line %d: op %d of %d is \"%.*s\", want "
                         "\"compute,communication\" or \"compute,communication,type\", "
                         "costs from 0 to %" PRId64,
                         r->line, number, r->op_count, EMP_SLICE_ARG(text), MAX_COST);
    emp_stated_op stated = {.cost = {.gpu_ns = ns_of_cost(costs[0]),
                                     .cpu_ns = ns_of_cost(costs[0]),
                                     .copy_ns = ns_of_cost(costs[1]),
                                     .colocation = -1},
                            .kinds = EMP_KIND_CPU | EMP_KIND_GPU};
    snprintf(name, sizeof name, "node%d", number);
    return emp_instance_add(builder, name, false, type, &stated, &op, err);
}

static emp_status expect_end(reader *r, emp_error *err)
{
    while (r->rest.size > 0) {
        emp_slice text = next_line(r);
        skip_blanks(&text);
        if (text.size > 0)
            return EMP_ERROR(EMP_EFORMAT, "line %d: \"%.*s\" follows the last of %d ops",
                             r->line, EMP_SLICE_ARG(text), r->op_count);
    }
    return EMP_OK;
}

emp_status emp_doppler_read(emp_graph_builder *builder, emp_reading *reading,
                            emp_error *err)
{
    emp_status st = EMP_OK;
    reader     r = {.rest = reading->bytes};

    EMP_TRY(count_ops(&r, err));
    EMP_TRY(read_edges(&r, err));
    for (int32_t i = 0; i < r.op_count; i++) EMP_TRY(add_op(builder, &r, i, err));
    EMP_TRY(expect_end(&r, err));
    for (int32_t i = 0; i < r.edge_count; i++)
        EMP_TRY(
            emp_graph_builder_connect(builder, (emp_port){r.from[i], 0}, r.to[i], err));
    *reading->devices = (emp_import_devices){.cpu_count = 1,
                                             .gpu_count = DEVICES - 1,
                                             .gpu_memory_bytes = INT64_C(1) << 40,
                                             .runtime = "edges"};

cleanup:
    emp_free(r.from);
    emp_free(r.to);
    return st;
}
