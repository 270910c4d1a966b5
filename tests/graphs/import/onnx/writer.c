// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/graphs/import/onnx/writer.h"

#include "tests/graphs/graphs.h"
#include "tests/test.h"

void onnx_clear(onnx_writer *w)
{
    proto_clear(&w->graph);
    proto_clear(&w->functions);
    proto_clear(&w->model);
    w->is_list = false;
}

static void put_parts(proto_writer *p, int field, const char *list)
{
    for (; *list != '\0'; list += strcspn(list, ","), list += *list == ',')
        proto_bytes(p, field, "", list, strcspn(list, ","));
}

static void put_numbers(proto_writer *p, int field, const char *list)
{
    for (; *list != '\0' && *list != ' ';
         list += strcspn(list, ", "), list += *list == ',')
        proto_int(p, field, "", strtoll(list, NULL, 10));
}

static void put_entry(proto_writer *p, int field, const char *key, const char *value)
{
    size_t entry = proto_begin(p, field, "");

    proto_string(p, 1, "", key);
    proto_string(p, 2, "", value);
    proto_end(p, entry);
}

void onnx_metadata(onnx_writer *w, const char *key, const char *value)
{
    put_entry(&w->graph, 16, key, value);
}

static size_t begin_value(onnx_writer *w, int field, const char *name, int type,
                          const char *sizes)
{
    proto_writer *g = &w->graph;
    size_t        info = proto_begin(g, field, "");

    proto_string(g, 1, "", name);
    size_t value = proto_begin(g, 2, ""), tensor = proto_begin(g, 1, "");
    proto_int(g, 1, "", type);
    size_t shape = proto_begin(g, 2, "");
    for (; *sizes != '\0'; sizes += strcspn(sizes, ","), sizes += *sizes == ',') {
        size_t dim = proto_begin(g, 1, "");
        if (*sizes >= '0' && *sizes <= '9')
            proto_int(g, 1, "", strtoll(sizes, NULL, 10));
        else if (*sizes != '?')
            proto_bytes(g, 2, "", sizes, strcspn(sizes, ","));
        proto_end(g, dim);
    }
    proto_end(g, shape);
    proto_end(g, tensor);
    proto_end(g, value);
    return info;
}

void onnx_info(onnx_writer *w, const char *name, int type, const char *sizes,
               const char *key, const char *value)
{
    size_t info = begin_value(w, 13, name, type, sizes);

    put_entry(&w->graph, 4, key, value);
    proto_end(&w->graph, info);
}

void onnx_input(onnx_writer *w, const char *name, int type, const char *sizes)
{
    proto_end(&w->graph, begin_value(w, 11, name, type, sizes));
}

void onnx_output(onnx_writer *w, const char *name, int type, const char *sizes)
{
    proto_end(&w->graph, begin_value(w, 12, name, type, sizes));
}

static size_t begin_tensor(onnx_writer *w, const char *name, int type, const char *sizes)
{
    size_t tensor = proto_begin(&w->graph, 5, "");

    put_numbers(&w->graph, 1, sizes);
    proto_int(&w->graph, 2, "", type);
    proto_string(&w->graph, 8, "", name);
    return tensor;
}

void onnx_weight(onnx_writer *w, const char *name, int type, const char *sizes)
{
    size_t tensor = begin_tensor(w, name, type, sizes);

    proto_string(&w->graph, 13, "", "");
    proto_end(&w->graph, tensor);
}

void onnx_sparse_weight(onnx_writer *w, const char *name, int type, const char *sizes)
{
    size_t sparse = proto_begin(&w->graph, 15, ""),
           values = proto_begin(&w->graph, 1, "");

    put_numbers(&w->graph, 1, "1");
    proto_int(&w->graph, 2, "", type);
    proto_string(&w->graph, 8, "", name);
    proto_end(&w->graph, values);
    size_t indices = proto_begin(&w->graph, 2, "");
    put_numbers(&w->graph, 1, "1");
    proto_int(&w->graph, 2, "", 7);
    put_numbers(&w->graph, 7, "5");
    proto_end(&w->graph, indices);
    put_numbers(&w->graph, 3, sizes);
    proto_end(&w->graph, sparse);
}

void onnx_ints(onnx_writer *w, const char *name, const char *elements)
{
    int count = *elements != '\0';

    for (const char *at = elements; *at != '\0'; at++) count += *at == ',';
    size_t tensor = begin_tensor(w, name, 7, scratch_print("%d", count));
    put_numbers(&w->graph, 7, elements);
    proto_end(&w->graph, tensor);
}

void onnx_floats(onnx_writer *w, const char *name, const char *sizes,
                 const char *elements)
{
    size_t tensor = begin_tensor(w, name, 1, sizes);

    for (; *elements != '\0';
         elements += strcspn(elements, ","), elements += *elements == ',')
        proto_float(&w->graph, 4, "", strtof(elements, NULL));
    proto_end(&w->graph, tensor);
}

static void put_attribute(proto_writer *p, const char *word, size_t length)
{
    size_t      name = strcspn(word, "=:~"), attr = proto_begin(p, 5, "");
    const char *value = word + name + 1;

    proto_bytes(p, 1, "", word, name);
    if (word[name] == ':')
        proto_bytes(p, 4, "", value, length - name - 1);
    else if (word[name] == '~')
        proto_float(p, 2, "", strtof(value, NULL));
    else
        put_numbers(p, memchr(word, ',', length) == NULL ? 3 : 8, value);
    proto_end(p, attr);
}

static void put_graph(proto_writer *p, const char *name, const onnx_writer *body)
{
    size_t attr = proto_begin(p, 5, "");

    proto_string(p, 1, "", name);
    proto_bytes(p, 6, "", body->graph.data, body->graph.size);
    proto_end(p, attr);
}

/* A node that its attributes follow. */
static size_t begin_node(onnx_writer *w, const char *domain, const char *type,
                         const char *inputs, const char *outputs)
{
    size_t node = proto_begin(&w->graph, w->is_list ? 7 : 1, "");

    put_parts(&w->graph, 1, inputs);
    put_parts(&w->graph, 2, outputs);
    proto_string(&w->graph, 3, "", "");
    proto_string(&w->graph, 4, "", type);
    proto_string(&w->graph, 7, "", domain);
    return node;
}

void onnx_if(onnx_writer *w, const char *condition, const char *outputs,
             const onnx_writer *then_branch, const onnx_writer *else_branch)
{
    size_t node = begin_node(w, "", "If", condition, outputs);

    put_graph(&w->graph, "then_branch", then_branch);
    put_graph(&w->graph, "else_branch", else_branch);
    proto_end(&w->graph, node);
}

void onnx_node_of(onnx_writer *w, const char *domain, const char *type,
                  const char *inputs, const char *outputs, const char *attributes,
                  const char *body_name, const onnx_writer *body)
{
    size_t node = begin_node(w, domain, type, inputs, outputs);

    for (; *attributes != '\0';
         attributes += strcspn(attributes, " "), attributes += *attributes == ' ')
        put_attribute(&w->graph, attributes, strcspn(attributes, " "));
    if (body != NULL) put_graph(&w->graph, body_name, body);
    proto_end(&w->graph, node);
}

void onnx_node(onnx_writer *w, const char *type, const char *inputs, const char *outputs,
               const char *attributes)
{
    onnx_node_of(w, "", type, inputs, outputs, attributes, NULL, NULL);
}

void onnx_function(onnx_writer *w, const char *domain, const char *name,
                   const char *inputs, const char *outputs, const onnx_writer *body)
{
    proto_writer *f = &w->functions;
    size_t        function = proto_begin(f, 25, "");

    proto_string(f, 1, "", name);
    put_parts(f, 4, inputs);
    put_parts(f, 5, outputs);
    proto_append(f, body->graph.data, body->graph.size);
    proto_string(f, 10, "", domain);
    proto_end(f, function);
}

emp_slice onnx_model(onnx_writer *w, int opset)
{
    proto_writer *m = &w->model;

    m->size = 0;
    proto_int(m, 1, "", 8);
    proto_string(m, 2, "", "tests");
    proto_bytes(m, 7, "", w->graph.data, w->graph.size);
    size_t version = proto_begin(m, 8, "");
    proto_string(m, 1, "", "");
    proto_int(m, 2, "", opset);
    proto_end(m, version);
    proto_append(m, w->functions.data, w->functions.size);
    return (emp_slice){m->data, m->size};
}

static void put_statement(onnx_writer *w, const char *statement)
{
    char head[64] = "", name[64] = "", inputs[64] = "";
    int  at = (int)strlen(statement);

    if (sscanf(statement, " %63s %63s %n", head, name, &at) < 2)
        cr_assert_fail("\"%s\" is no statement", statement);
    statement += at;
    if (strcmp(name, "=") == 0) {
        at = (int)strlen(statement);
        (void)sscanf(statement, "%63s %63s %n", name, inputs, &at);
        onnx_node(w, name, inputs, head, statement + at);
        return;
    }
    const char *colon = strchr(statement, ':');
    const char *sizes = colon != NULL ? colon + 1 : statement;
    int         type = colon != NULL ? atoi(statement) : 1;
    if (strcmp(head, "in") == 0)
        onnx_input(w, name, type, sizes);
    else if (strcmp(head, "out") == 0)
        onnx_output(w, name, type, sizes);
    else if (strcmp(head, "weight") == 0)
        onnx_weight(w, name, type, sizes);
    else if (strcmp(head, "ints") == 0)
        onnx_ints(w, name, sizes);
    else
        cr_assert_fail("\"%s\" begins no statement", head);
}

void onnx_text(onnx_writer *w, const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, ";");
        put_statement(w, scratch_print("%.*s", (int)length, text));
        text += length + (text[length] == ';');
    }
}

static const emp_onnx_params no_params;

emp_graph *onnx_load(onnx_writer *w, int opset, const emp_onnx_params *params,
                     emp_import_notes *notes)
{
    emp_graph *graph = NULL;
    SCOPED(emp_import_notes, emp_import_notes_clear) own = {0};

    ASSERT_OK(emp_onnx_build(&graph, onnx_model(w, opset),
                             params != NULL ? params : &no_params,
                             notes != NULL ? notes : &own, &err));
    return graph_keep(graph);
}

void onnx_expect_refused(onnx_writer *w, int opset, const emp_onnx_params *params,
                         const char *part)
{
    emp_graph *graph = NULL;
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
    emp_error err = {0};

    cr_expect_neq(emp_onnx_build(&graph, onnx_model(w, opset),
                                 params != NULL ? params : &no_params, &notes, &err),
                  EMP_OK, "no \"%s\"", part);
    cr_expect_null(graph);
    cr_expect_not_null(strstr(err.msg, part), "no \"%s\" in \"%s\"", part, err.msg);
}

static emp_status build(emp_graph **graph, emp_slice model, const emp_onnx_params *params)
{
    SCOPED(emp_import_notes, emp_import_notes_clear) notes = {0};
    return emp_onnx_build(graph, model, params, &notes, NULL);
}

void onnx_survive(onnx_writer *w, int opset, const char *train)
{
    const emp_slice       model = onnx_model(w, opset);
    const emp_onnx_params params = {.train = train};
    emp_graph            *graph = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(build(&graph, model, &params),
                                      cr_assert_null(graph));
    emp_graph_destroy(graph);
}

const char *onnx_shape_of(const emp_graph *g, const char *type)
{
    static char text[EMP_SHAPE_TEXT_BYTES];

    strcpy(text, "no such op");
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (strcmp(emp_graph_op_type(g, op), type) == 0)
            emp_shape_format(g->tensor[g->output_offset[op]].shape, text);
    return text;
}
