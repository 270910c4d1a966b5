// SPDX-License-Identifier: GPL-3.0-or-later
/* Archives of torch.export, which this test writes itself: stored and packed, whole and damaged. */
#include <stdint.h>
#include <zlib.h>

#include "base/mem.h"
#include "graphs/import/pytorch/program.h"
#include "tests/graphs/graphs.h"
#include "tests/graphs/import/read_memory.h"
#include "tests/test.h"

TestSuite(pt2, .fini = graph_tear_down);

enum { BYTES = 1 << 16 };

/* A linear layer with a buffer, and a tuple of two. */
static const char json[] =
    "{'schema_version':{'major':8, 'minor':1}, 'graph_module':{'graph':{'inputs':"
    "[{'as_tensor':{'name':'p_fc_weight'}}],'outputs':[{'as_tensor':{'name':"
    "'first'}}],'nodes':[{'target':'torch.ops.aten.linear.default', 'inputs':[ {"
    "'name':'input', 'arg':{'as_tensor':{'name':'x'}}, 'kind':1}, {'name':"
    "'weight', 'arg':{'as_tensor':{'name':'p_fc_weight'}}, 'kind':1}, {'name':"
    "'bias', 'arg':{'as_none':true}, 'kind':1}], 'outputs':[{'as_tensor':{'name':"
    "'linear'}}], 'metadata':{'nn_module_stack':'L__self__,,m.M;L__self___fc,fc,"
    "torch.nn.modules.linear.Linear'}},{'target':'torch.ops.aten.add.Tensor', "
    "'inputs':[ {'name':'self', 'arg':{'as_tensor':{'name':'linear'}}}, {'name':"
    "'other', 'arg':{'as_tensor':{'name':'b_shift'}}}], 'outputs':[{'as_tensor':{"
    "'name':'add'}}], 'metadata':{}},{'target':'torch.ops.aten.max.dim', 'inputs':["
    " {'name':'self', 'arg':{'as_tensor':{'name':'add'}}}, {'name':'dim', 'arg':{"
    "'as_int':1}}], 'outputs':[{'as_tensor':{'name':'first'}}, {'as_tensor':{"
    "'name':'second'}}], 'metadata':{}}],'tensor_values':{'x':{'dtype':7, "
    "'sizes':[{'as_expr':{'expr_str':'s0', 'hint':{'as_int':5}}}, {'as_int':4}]},"
    "'p_fc_weight':{'dtype':7, 'sizes':[{'as_int':3}, {'as_int':4}]},'b_shift':{"
    "'dtype':7, 'sizes':[{'as_int':3}]},'linear':{'dtype':7, 'sizes':[{'as_int':"
    "5}, {'as_int':3}]},'add':{'dtype':7, 'sizes':[{'as_int':5}, {'as_int':3}]},"
    "'first':{'dtype':7, 'sizes':[{'as_int':5}]},'second':{'dtype':5, 'sizes':[{"
    "'as_int':5}]}}},'signature':{'input_specs':[{'parameter':{'arg':{'name':"
    "'p_fc_weight'}, 'parameter_name':'fc.weight'}},{'buffer':{'arg':{'name':"
    "'b_shift'}, 'buffer_name':'shift', 'persistent':true}},{'user_input':{'arg':{"
    "'as_tensor':{'name':'x'}}}}]}}}";

typedef struct {
    unsigned char bytes[BYTES];
    size_t        size;
} archive;

static void put(archive *a, uint64_t value, int count)
{
    for (int i = 0; i < count; i++) a->bytes[a->size++] = (unsigned char)(value >> 8 * i);
}

static void put_bytes(archive *a, const void *bytes, size_t size)
{
    cr_assert_lt(a->size + size, BYTES);
    memcpy(a->bytes + a->size, bytes, size);
    a->size += size;
}

typedef struct {
    const char *name, *text;
} file;

/* The bytes of an entry: its text, or what deflate makes of it. */
static const void *pack(const char *text, bool is_packed, size_t *stored)
{
    static unsigned char packed[BYTES];
    z_stream             z = {.next_in = (Bytef *)(uintptr_t)text,
                              .avail_in = (uInt)strlen(text),
                              .next_out = packed,
                              .avail_out = BYTES};

    *stored = strlen(text);
    if (!is_packed) return text;
    cr_assert_eq(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                 Z_OK);
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    *stored = z.total_out;
    deflateEnd(&z);
    return packed;
}

/* An archive of some entries; packed by deflate if it is asked to be. */
static archive make_of(const file *files, int count, bool is_packed)
{
    archive a = {.size = 0};
    size_t  offset[4], stored[4];

    cr_assert_leq(count, 4);
    for (int i = 0; i < count; i++) {
        const char *text = files[i].text;
        if (strlen(text) < BYTES) text = scratch_json(text);
        const void *body = pack(text, is_packed, &stored[i]);
        offset[i] = a.size;
        put_bytes(&a, "PK\3\4", 4);
        put(&a, 20, 2), put(&a, 0, 2), put(&a, is_packed ? 8 : 0, 2), put(&a, 0, 8);
        put(&a, 0, 8); /* sizes, which the central directory has */
        put(&a, strlen(files[i].name), 2), put(&a, 0, 2);
        put_bytes(&a, files[i].name, strlen(files[i].name));
        put_bytes(&a, body, stored[i]);
    }
    size_t directory = a.size;
    for (int i = 0; i < count; i++) {
        put_bytes(&a, "PK\1\2", 4);
        put(&a, 20, 2), put(&a, 20, 2), put(&a, 0, 2), put(&a, is_packed ? 8 : 0, 2),
            put(&a, 0, 8);
        put(&a, stored[i], 4),
            put(&a, UINT32_MAX, 4); /* the size stands in the extra field */
        put(&a, strlen(files[i].name), 2), put(&a, 12, 2), put(&a, 0, 2), put(&a, 0, 8),
            put(&a, offset[i], 4);
        put_bytes(&a, files[i].name, strlen(files[i].name));
        put(&a, 1, 2), put(&a, 8, 2), put(&a, strlen(files[i].text), 8);
    }
    size_t length = a.size - directory;
    put_bytes(&a, "PK\5\6", 4);
    put(&a, 0, 4), put(&a, (uint64_t)count, 2), put(&a, (uint64_t)count, 2),
        put(&a, length, 4), put(&a, directory, 4);
    put(&a, 0, 2);
    return a;
}

static archive make(const char *name, const char *text, bool is_packed)
{
    return make_of(&(file){name, text}, 1, is_packed);
}

static emp_status read_bytes(emp_graph **graph, const void *bytes, size_t size,
                             emp_error *err)
{
    return read_memory(graph, bytes, size, NULL, emp_pytorch_read, err);
}

Test(pt2, a_graph_is_read_with_roles_and_modules)
{
    for (int is_packed = 0; is_packed < 2; is_packed++) {
        archive a =
            make(is_packed ? "m/models/model.json" : "serialized_exported_program.json",
                 json, is_packed == 1);
        emp_graph *g = NULL;

        cr_assert(emp_pt2_is((emp_slice){(const char *)a.bytes, a.size}));
        ASSERT_OK(read_bytes(&g, a.bytes, a.size, &err));
        cr_expect_eq(g->unknown_op_count, 0);
        cr_expect_eq(g->parameter_count, 12);
        cr_expect_eq(g->op[graph_find(g, "fc/linear")].cost->flops, 2.0 * 5 * 4 * 3);
        cr_expect_eq(g->op[graph_find(g, "b_shift")].persistent_bytes, 12);
        cr_expect_eq(g->op[graph_find(g, "fc/p_fc_weight")].persistent_bytes, 48);
        cr_expect_eq(g->op[graph_find(g, "x")].flags & EMP_OP_FEED, EMP_OP_FEED);
        emp_op_id max = graph_find(g, "node2");
        cr_expect_eq(g->output_offset[max + 1] - g->output_offset[max], 2);
        cr_expect_eq(g->tensor[g->output_offset[max] + 1].dtype, EMP_DTYPE_INT64);
        cr_expect(g->is_target[max]);
        emp_graph_destroy(g);
    }
}

/* The numbers of ScalarType (torch/_export/serde/schema.py) and the itemsize of the types. */
Test(pt2, element_types_have_their_bytes)
{
    static const struct {
        int number, bytes;
    } types[] = {{1, 1},  {2, 1},  {3, 2},  {4, 4},   {5, 8},  {6, 2},  {7, 4},
                 {8, 8},  {9, 4},  {10, 8}, {11, 16}, {12, 1}, {13, 2}, {28, 2},
                 {29, 1}, {30, 1}, {31, 1}, {32, 1},  {33, 1}, {34, 4}, {35, 8}};

    for (size_t i = 0; i < COUNT(types); i++) {
        const char *at = strstr(json, "'x':{'dtype':7");
        archive     a = make("serialized_exported_program.json",
                             scratch_print("%.*s'x':{'dtype':%d%s", (int)(at - json), json,
                                           types[i].number, at + strlen("'x':{'dtype':7")),
                             false);
        emp_graph  *g = NULL;
        ASSERT_OK(read_bytes(&g, a.bytes, a.size, &err));
        const emp_op_id x = graph_find(g, "x");
        cr_expect_eq(g->tensor[g->output_offset[x]].bytes, 5 * 4 * types[i].bytes,
                     "%d: %lld", types[i].number,
                     (long long)g->tensor[g->output_offset[x]].bytes);
        emp_graph_destroy(g);
    }
}

#define EMPTY(nodes, values, specs)                                          \
    "{'graph_module':{'graph':{'nodes':[" nodes "],'tensor_values':{" values \
    "}},'signature':{'input_specs':[" specs "]}}}"

Test(pt2, what_is_wrong_with_an_archive_is_said)
{
    static const struct {
        const char *name, *text, *parts[2];
    } wrong[] = {
        {"data.pkl", json, {"without the graph of torch.export"}},
        {"models/a.json", "{}", {"graph_module.graph.nodes"}},
        {"models/a.json",
         "{'graph_module':{'graph':{'nodes':[]}}}",
         {"\"tensor_values\""}},
        {"models/a.json",
         EMPTY("{'target':'aten.relu','inputs':[{'name':'self','arg':{'as_tensor':{"
               "'name':'y'}}}]},{}",
               "", ""),
         {"nodes[0] (aten.relu) reads \"y\"", "nodes[1] (): the text \"target\""}},
        {"models/a.json",
         EMPTY("", "'x':{'dtype':7,'sizes':[{'as_expr':{}}]}",
               "{'user_input':{'arg':{'as_tensor':{'name':'x'}}}}"),
         {"\"x\" has no number"}},
    };

    for (size_t i = 0; i < COUNT(wrong); i++) {
        archive    a = make(wrong[i].name, wrong[i].text, false);
        emp_graph *g = NULL;
        emp_error  err = {0};
        cr_expect_eq(read_bytes(&g, a.bytes, a.size, &err), EMP_EFORMAT);
        for (int p = 0; p < 2 && wrong[i].parts[p] != NULL; p++)
            cr_expect_not_null(strstr(err.msg, wrong[i].parts[p]), "\"%s\" has no \"%s\"",
                               err.msg, wrong[i].parts[p]);
        cr_expect_eq(emp_mem_live_blocks(), 0);
    }
}

/* The JSON of values: a tensor "x", an integer "4", a list of tensors "[a,b]", or what is JSON. Each is put
 * between \a before and \a behind. */
static const char *list(const char *before, const char *words, const char *behind)
{
    const char *made = "";

    for (const char *word = words; *word != '\0'; word += strspn(word, " ")) {
        const int   length = (int)strcspn(word, " ");
        const char *text = scratch_print("{'as_tensor':{'name':'%.*s'}}", length, word);
        if (*word == '{') text = scratch_print("%.*s", length, word);
        if (*word >= '0' && *word <= '9')
            text = scratch_print("{'as_int':%.*s}", length, word);
        if (*word == '[') {
            const char *names = scratch_print("%.*s", length - 2, word + 1), *all = "";
            for (; *names != '\0'; names += strcspn(names, ","), names += *names == ',')
                all = scratch_print("%s%s{'name':'%.*s'}", all, *all != '\0' ? "," : "",
                                    (int)strcspn(names, ","), names);
            text = scratch_print("{'as_tensors':[%s]}", all);
        }
        made = scratch_print("%s%s%s%s%s", made, *made != '\0' ? "," : "", before, text,
                             behind);
        word += length;
    }
    return made;
}

static const char *node(const char *target, const char *inputs, const char *outputs)
{
    return scratch_print("{'target':'%s','inputs':[%s],'outputs':[%s]}", target,
                         list("{'name':'','arg':", inputs, "}"), list("", outputs, ""));
}

/* Values of float32: 4 x 4, but for scalars and "rows", which are 6 x 4 x 4. */
static const char *values(const char *names)
{
    const char *made = "";

    for (; *names != '\0'; names += strspn(names, " ")) {
        const int   length = (int)strcspn(names, " ");
        const bool  is_scalar = strchr("ingp", *names) != NULL;
        const char *sizes = is_scalar                        ? ""
                            : strncmp(names, "rows", 4) == 0 ? "6 4 4"
                                                             : "4 4";
        made =
            scratch_print("%s%s'%.*s':{'dtype':7,'sizes':[%s]}", made,
                          *made != '\0' ? "," : "", length, names, list("", sizes, ""));
        names += length;
    }
    return made;
}

static const char *graph(const char *inputs, const char *outputs, const char *nodes)
{
    return scratch_print(
        "{'as_graph':{'name':'graph_0','graph':{'inputs':[%s],'outputs':[%s],"
        "'nodes':[%s],'tensor_values':{%s}}}}",
        list("", inputs, ""), list("", outputs, ""), nodes,
        values("a c i go next u w y z"));
}

static const char *model(const char *input, const char *nodes, const char *output)
{
    return scratch_print(
        "{'graph_module':{'graph':{'outputs':[%s],'nodes':[%s],"
        "'tensor_values':{%s}},'signature':{'input_specs':[{'parameter':{'arg'"
        ":{'name':'u'},'parameter_name':'u'}},{'parameter':{'arg':{'name':'w'}"
        ",'parameter_name':'w'}},{'user_input':{'arg':%s}}]}}}",
        list("", output, ""), nodes, values("u w x rows rows_out p n out state end"),
        list("", input, ""));
}

static const char *product(const char *output)
{
    return node("torch.ops.aten.mm.default", "a w", output);
}

/* Reads an archive; all assumptions, or what it tells of devices, are put into \a said. */
static emp_graph *read_noted(const archive *a, char said[1024])
{
    emp_graph_builder *b = NULL;
    emp_graph         *g = NULL;
    memory_reading     m = {0};
    emp_reading        r = read_memory_begin(&m, a->bytes, a->size, NULL);
    emp_error          err = {0};

    cr_assert_eq(emp_graph_builder_create(&b, &err), EMP_OK);
    cr_assert_eq(emp_pytorch_read(b, &r, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_graph_builder_finish(b, &g, &err), EMP_OK, "%s", err.msg);
    snprintf(said, 1024, "%s", m.devices.note);
    for (int32_t i = 0; i < m.notes.assumption_count; i++)
        strncat(said, m.notes.assumption[i], 1023 - strlen(said));
    cr_expect_eq(m.notes.warning_count, 0, "%s", m.notes.warning[0]);
    emp_graph_builder_destroy(b);
    read_memory_end(&m);
    return graph_keep(g);
}

#define WEIGHT(name, file, offset)                                          \
    "'" name "':{'path_name':'" file "','tensor_meta':{'dtype':7,'sizes':[" \
    "{'as_int':4},{'as_int':4}],'strides':[{'as_int':4},{'as_int':1}],"     \
    "'storage_offset':{'as_int':" offset "}}}"
#define LIST(head) "{'config':{" WEIGHT("u", "weight_0", "0") "," head "}}"
#define TIED       LIST(WEIGHT("w", "weight_0", "0"))

/* Two weights of one shape, the second read by a product; both in the file "weight_0". */
static archive make_tied(const char *list, const char *bytes)
{
    const char *nodes =
        scratch_print("%s,%s", node("torch.ops.aten.embedding.default", "u x", "state"),
                      node("torch.ops.aten.linear.default", "state w", "out"));
    const file files[] = {{"m/data/weights/model_weights_config.json", list},
                          {"m/data/weights/weight_0", bytes},
                          {"m/models/model.json", model("x", nodes, "out")}};

    return make_of(files, 3, false);
}

Test(pt2, tied_weights_are_one_variable_with_two_readers)
{
    static const struct {
        const char *list, *bytes;
        int64_t     parameters;
    } cases[] = {{TIED, "bytes", 16},
                 {LIST(WEIGHT("w", "weight_1", "0")), "bytes", 32},
                 /* parts of a file */
                 {LIST(WEIGHT("w", "weight_0", "16")), "bytes", 32},
                 /* exported on "meta", so that ties are not known, which is said */
                 {TIED, "", 32}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        char       said[1024];
        archive    a = make_tied(cases[i].list, cases[i].bytes);
        emp_graph *g = read_noted(&a, said);
        cr_expect_eq(g->parameter_count, cases[i].parameters, "case %zu: %lld", i,
                     (long long)g->parameter_count);
        int32_t tensor = g->output_offset[graph_find(g, "u")];
        cr_expect_eq(g->consumer_offset[tensor + 1] - g->consumer_offset[tensor],
                     cases[i].parameters == 16 ? 2 : 1);
        cr_expect_eq(strstr(said, "\"meta\"") != NULL, i == 3, "%s", said);
    }
}

Test(pt2, a_list_of_weights_that_is_none_is_refused)
{
    static const char *const lists[] = {"{", "[]", "{'config':[1]}"};

    for (size_t i = 0; i < COUNT(lists); i++) {
        emp_graph *g = NULL;
        archive    a = make_tied(lists[i], "bytes");
        cr_expect_eq(read_bytes(&g, a.bytes, a.size, NULL), EMP_EFORMAT, "%s", lists[i]);
    }
}

static emp_graph *graph_within(const char *text, char said[1024])
{
    archive a = make("m/models/model.json", text, false);

    return read_noted(&a, said);
}

static void expect_products(const emp_graph *g, int count)
{
    cr_expect_eq(g->unknown_op_count, 0);
    cr_expect_eq(graph_class_flops(g, EMP_OP_GEMM), count * 2.0 * 4 * 4 * 4, "%g",
                 graph_class_flops(g, EMP_OP_GEMM));
    cr_expect_leq(g->parameter_count, 32);
}

/* A batch times heads, as dynamic shapes have it: Python's, and no op of the step. */
Test(pt2, arithmetic_of_sizes_is_no_op)
{
    char       said[1024];
    emp_graph *g = graph_within(
        model("x",
              scratch_print(
                  "{'target':'_operator.mul','inputs':[%s],'outputs':["
                  "{'as_sym_int':{'as_name':'mul'}}]},%s",
                  list("{'name':'','arg':", "{'as_sym_int':{'as_name':'s'}} 4", "}"),
                  node("torch.ops.aten.mm.default", "x u", "end")),
              "end"),
        said);

    expect_products(g, 1);
}

/* As with torch.no_grad() around a part of the model. */
Test(pt2, a_wrapped_graph_runs_in_place)
{
    char        said[1024];
    const char *inputs =
        scratch_print("{'as_bool':false} %s x w", graph("a w", "y", product("y")));
    emp_graph *g = graph_within(
        model("x",
              scratch_print("%s,%s",
                            node("torch.ops.higher_order.wrap_with_set_grad_enabled",
                                 inputs, "out"),
                            node("torch.ops.aten.mm.default", "out u", "end")),
              "end"),
        said);

    expect_products(g, 2);
    cr_expect_eq(g->parameter_count, 32);
    cr_expect_geq(graph_find(g, "out/y"), 0);
}

static const char *cond_json(void)
{
    const char *relu = node("torch.ops.aten.relu.default", "a", "y");
    const char *inputs = scratch_print("p %s %s [x,u,w]", graph("a u w", "y", relu),
                                       graph("a u w", "y", product("y")));

    return model("x",
                 scratch_print("%s,%s", node("torch.ops.aten.sum.default", "x", "p"),
                               node("torch.ops.higher_order.cond", inputs, "out")),
                 "out");
}

Test(pt2, a_cond_runs_its_larger_graph_and_keeps_the_weights_of_both)
{
    char       said[1024];
    emp_graph *g = graph_within(cond_json(), said);

    expect_products(g, 1);
    cr_expect_eq(g->parameter_count, 32);
    cr_expect(g->is_target[graph_find(g, "p")], "the condition is computed");
    cr_expect_not_null(strstr(said, "the larger of its graphs, the second"), "%s", said);
}

/* Six rows, each multiplied and added to a state. */
static const char *scan_json(void)
{
    const char *sum = node("torch.ops.aten.add.Tensor", "c z", "y");
    const char *inputs =
        scratch_print("%s [u] [rows] [w]",
                      graph("c a w", "y z", scratch_print("%s,%s", product("z"), sum)));

    return model(
        "rows",
        scratch_print("%s,%s",
                      node("torch.ops.higher_order.scan", inputs, "state rows_out"),
                      node("torch.ops.aten.mm.default", "state u", "end")),
        "end");
}

Test(pt2, a_scan_runs_its_graph_for_each_slice)
{
    char       said[1024];
    emp_graph *g = graph_within(scan_json(), said);

    expect_products(g, 7);
    cr_expect_geq(graph_find(g, "state.5/z"), 0);
    cr_expect_geq(graph_find(g, "rows_out"), 0);
}

static const char *while_json(const char *condition)
{
    const char *next = node("torch.ops.aten.add.Tensor", "i 2", "next");
    const char *inputs = scratch_print(
        "%s %s [u,x] [w]", graph("i a w", "go", condition),
        graph("i a w", "next y", scratch_print("%s,%s", next, product("y"))));

    return model("x", node("torch.ops.higher_order.while_loop", inputs, "n out"), "out");
}

Test(pt2, a_while_loop_runs_as_often_as_its_counter_says_or_else_once)
{
    char       said[1024];
    emp_graph *g =
        graph_within(while_json(node("torch.ops.aten.lt.Scalar", "i 5", "go")), said);

    expect_products(g, 3); /* 0, 2 and 4 are less than 5 */
    cr_expect_not_null(strstr(said, "3 iterations"), "%s", said);
    g = graph_within(while_json(node("torch.ops.aten.any.default", "a", "go")), said);
    expect_products(g, 1);
    cr_expect_not_null(strstr(said, "one iteration"), "%s", said);
}

/* Eight megabytes of blanks pack to eight kilobytes. */
Test(pt2, an_archive_that_unpacks_to_far_more_is_refused)
{
    enum { MUCH = 8 << 20 };
    char     *blanks = emp_calloc(MUCH, 1);
    char     *unpacked = NULL;
    size_t    size = 0;
    emp_error err = {0};

    memset(blanks, ' ', MUCH - 1);
    archive a = make("models/a.json", blanks, true);
    cr_expect_eq(emp_pt2_unpack((const char *)a.bytes, a.size, &unpacked, &size, &err),
                 EMP_EFORMAT);
    cr_expect(strstr(err.msg, "which no export has") != NULL, "%s", err.msg);
    cr_expect_null(unpacked);
    emp_free(blanks);
}

Test(pt2, damaged_archives_are_survived)
{
    const archive whole = make("models/model.json", json, true);

    read_memory_damaged(whole.bytes, whole.size, read_bytes);
}

Test(pt2, survives_every_allocation_failure)
{
    const archive archives[] = {
        make("models/model.json", json, false), make_tied(TIED, "bytes"),
        make("models/model.json", cond_json(), false),
        make("models/model.json", scan_json(), false),
        make("models/model.json",
             while_json(node("torch.ops.aten.lt.Scalar", "i 5", "go")), false)};

    for (size_t i = 0; i < COUNT(archives); i++) {
        emp_graph *g = NULL;
        SURVIVES_EVERY_ALLOCATION_FAILURE(
            read_bytes(&g, archives[i].bytes, archives[i].size, NULL), (void)0);
        emp_graph_destroy(g);
    }
}
