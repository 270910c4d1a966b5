// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/import/read_memory.h"

#include <stdlib.h>

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
    (void)emp_json_parse(&m->json, bytes, size, NULL);
    return (emp_reading){.path = "memory",
                         .bytes = {bytes, size},
                         .json = m->json.root,
                         .file = &m->file,
                         .spec = &m->spec,
                         .values = m->values,
                         .params = &m->params,
                         .devices = &m->devices,
                         .notes = &m->notes};
}

void read_memory_end(memory_reading *m)
{
    emp_json_clear(&m->json);
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
