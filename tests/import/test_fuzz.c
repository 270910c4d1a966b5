// SPDX-License-Identifier: GPL-3.0-or-later
// Random damage to a good file: whatever comes, the answer is a graph or an error,
// nothing is read outside the bytes (a sanitizer watches), and nothing leaks.
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/mem.h"
#include "sim/graph/graph_builder.h"
#include "sim/import/container.h"
#include "sim/import/graph_def.h"
#include "tests/import/sample.h"

enum { ROUNDS = 10000 };

static uint32_t state = 20240607;

static uint32_t draw(uint32_t bound)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % bound;
}

/* What emp_import_load() does between file and targets. The block is exactly as long as
 * the bytes. */
static emp_status read_bytes(const char *bytes, size_t size)
{
    char              *exact = malloc(size > 0 ? size : 1);
    emp_message_file   file;
    emp_container      container;
    emp_import_params  params = emp_import_params_default();
    emp_graph_builder *builder = NULL;
    emp_graph         *graph = NULL;
    emp_error          err = {0};
    emp_status         st;

    cr_assert_not_null(exact);
    memcpy(exact, bytes, size);
    emp_message_file_init(&file, exact, size);
    st = emp_container_find(&file, &container, &err);
    if (st == EMP_OK) st = emp_graph_builder_create(&builder, &err);
    if (st == EMP_OK)
        st = emp_graph_def_read(builder, &file, container.graph, &params, &err);
    if (st == EMP_OK) st = emp_graph_builder_finish(builder, &graph, &err);
    cr_expect_eq(st == EMP_OK, graph != NULL);
    if (st != EMP_OK) cr_expect_neq(err.msg[0], '\0', "no message");
    emp_graph_destroy(graph);
    emp_graph_builder_destroy(builder);
    emp_message_file_clear(&file);
    free(exact);
    return st;
}

/* Flips bits, overwrites bytes by telling values, copies pieces over others, cuts. */
static size_t damage(char *bytes, size_t size)
{
    static const char telling[] = {0,   1,   '\x7f', '\x80', '\xff', '{',
                                   '}', '"', '\\',   '[',    ':'};

    for (uint32_t i = 0, count = 1 + draw(4); i < count; i++) {
        size_t at = draw((uint32_t)size), from = draw((uint32_t)size);
        size_t longest = size - (at > from ? at : from);
        switch (draw(4)) {
        case 0: bytes[at] = (char)(bytes[at] ^ 1 << draw(8)); break;
        case 1: bytes[at] = telling[draw(sizeof telling)]; break;
        case 2:
            memmove(bytes + at, bytes + from,
                    draw((uint32_t)(longest < 40 ? longest : 40) + 1));
            break;
        default:
            if (draw(8) == 0)
                size = at + 1;
            else
                bytes[at] = (char)draw(256);
        }
    }
    return size;
}

static void fuzz(bool is_text)
{
    proto_writer w = {.is_text = is_text};
    int          refused = 0;

    size_t graph = proto_begin(&w, 2, "graph_def");
    sample_write_nodes(&w);
    proto_end(&w, graph);
    char *bytes = malloc(w.size);
    cr_assert_not_null(bytes);
    cr_assert_eq(read_bytes(w.data, w.size), EMP_OK);
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(bytes, w.data, w.size);
        refused += read_bytes(bytes, damage(bytes, w.size)) != EMP_OK;
        cr_assert_eq(emp_mem_live_blocks(), 0, "round %d leaks", round);
    }
    cr_expect_gt(refused, ROUNDS / 10, "damage is mostly noticed");
    cr_expect_lt(refused, ROUNDS, "and sometimes harmless");
    free(bytes);
    proto_clear(&w);
}

Test(fuzz, damaged_wire_format_is_an_error_or_a_graph) { fuzz(false); }
Test(fuzz, damaged_text_is_an_error_or_a_graph) { fuzz(true); }
