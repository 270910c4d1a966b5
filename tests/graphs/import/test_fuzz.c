// SPDX-License-Identifier: GPL-3.0-or-later
// Random damage to a good file: whatever comes, the answer is a graph or an error,
// nothing is read outside the bytes (a sanitizer watches), and nothing leaks.
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tests/graphs/import/sample.h"

enum { ROUNDS = 5000 };

static uint32_t state = 20240607;

static uint32_t draw(uint32_t bound)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % bound;
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
    cr_assert_eq(sample_read(w.data, w.size), EMP_OK);
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(bytes, w.data, w.size);
        refused += sample_read(bytes, damage(bytes, w.size)) != EMP_OK;
        cr_assert_eq(emp_mem_live_blocks(), 0, "round %d leaks", round);
    }
    cr_expect_gt(refused, ROUNDS / 10, "damage is mostly noticed");
    cr_expect_lt(refused, ROUNDS, "and sometimes harmless");
    free(bytes);
    proto_clear(&w);
}

Test(fuzz, damaged_wire_format_is_an_error_or_a_graph) { fuzz(false); }
Test(fuzz, damaged_text_is_an_error_or_a_graph) { fuzz(true); }
