// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/import/read_memory.h"

#include "base/mem.h"
#include "tests/test.h"

emp_reading read_memory_begin(memory_reading *m, const void *bytes, size_t size,
                              const emp_option *options)
{
    const emp_option_table table = {"spec", NULL, options};

    if (options != NULL &&
        emp_options_parse(m->values, &table, NULL, NULL, NULL) != EMP_OK)
        abort();
    m->params = emp_import_params_default();
    m->file =
        (emp_file){.bytes = (char *)(uintptr_t)bytes, .size = size, .is_whole = true};
    char *copy = emp_realloc(NULL, size, 1);
    if (copy != NULL) {
        memcpy(copy, bytes, size);
        (void)emp_kineto_parse(&m->trace, &copy, size, NULL);
    }
    return (emp_reading){.path = "memory",
                         .bytes = {bytes, size},
                         .json = m->trace.document.root,
                         .trace = &m->trace,
                         .file = &m->file,
                         .spec = &m->spec,
                         .values = m->values,
                         .params = &m->params,
                         .devices = &m->devices,
                         .notes = &m->notes};
}

void read_memory_end(memory_reading *m)
{
    emp_kineto_clear(&m->trace);
    emp_import_notes_clear(&m->notes);
}

emp_status read_memory(emp_graph **graph, const void *bytes, size_t size,
                       const emp_option *options, read_memory_fn *read, emp_error *err)
{
    static memory_reading m;
    emp_status            st = EMP_OK;
    emp_graph_builder    *builder = NULL;
    emp_reading           r = read_memory_begin(&m, bytes, size, options);

    *graph = NULL;
    EMP_TRY(emp_graph_builder_create(&builder, err));
    EMP_TRY(read(builder, &r, err));
    EMP_TRY(emp_graph_builder_finish(builder, graph, err));

cleanup:
    emp_graph_builder_destroy(builder);
    read_memory_end(&m);
    m = (memory_reading){0};
    return st;
}

int read_memory_fuzz(const void *bytes, size_t size, const emp_option *options,
                     read_memory_fn *read)
{
    emp_graph *graph = NULL;

    if (size > 0) (void)read_memory(&graph, bytes, size, options, read, NULL);
    emp_graph_destroy(graph);
    return 0;
}

void read_memory_damaged(const void *bytes, size_t size, memory_load_fn *load)
{
    enum { CHANGES = 5 };
    static const char telling[] = "{}[]\"\\,:;=-\t\n\x01\x7f\x80 0.e9\xff";
    const size_t      rounds = CHANGES * size;
    size_t            refused = 0;

    for (size_t i = 0; i < rounds; i++) {
        const size_t at = i / CHANGES, length = i % CHANGES == 0 ? at + 1 : size;
        char        *copy = malloc(length); /* exact, so that tools see reads behind it */
        emp_graph   *graph = NULL;
        emp_error    err = {0};
        cr_assert_not_null(copy);
        memcpy(copy, bytes, length);
        copy[at] = i % CHANGES == 1 ? (char)(copy[at] ^ 1 << at % 8)
                                    : telling[i * 7 % sizeof telling];
        emp_status st = load(&graph, copy, length, &err);
        cr_assert((st == EMP_OK) == (graph != NULL));
        cr_assert(st == EMP_OK || err.msg[0] != '\0');
        refused += st != EMP_OK;
        emp_graph_destroy(graph);
        free(copy);
        cr_assert_eq(emp_mem_live_blocks(), 0, "byte %zu leaks", at);
    }
    cr_expect_gt(refused, rounds / 10, "damage is mostly noticed");
    cr_expect_lt(refused, rounds, "and sometimes harmless");
}
