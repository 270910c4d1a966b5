// SPDX-License-Identifier: GPL-3.0-or-later
/* Archives of torch.export, which this test writes itself: stored and packed, whole and damaged. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "graphs/import/pytorch/pt2.h"
#include "tests/graphs/import/read_memory.h"
#include "tests/support/survive.h"

enum { BYTES = 1 << 16 };

/* A linear layer with a buffer, and a tuple of two. */
static const char json[] =
    "{\"schema_version\": {\"major\": 8, \"minor\": 1}, \"graph_module\": {\"graph\": {"
    "\"inputs\": [{\"as_tensor\": {\"name\": \"p_fc_weight\"}}],"
    "\"outputs\": [{\"as_tensor\": {\"name\": \"first\"}}],"
    "\"nodes\": ["
    "{\"target\": \"torch.ops.aten.linear.default\", \"inputs\": ["
    " {\"name\": \"input\", \"arg\": {\"as_tensor\": {\"name\": \"x\"}}, \"kind\": 1},"
    " {\"name\": \"weight\", \"arg\": {\"as_tensor\": {\"name\": \"p_fc_weight\"}}, "
    "\"kind\": 1},"
    " {\"name\": \"bias\", \"arg\": {\"as_none\": true}, \"kind\": 1}],"
    " \"outputs\": [{\"as_tensor\": {\"name\": \"linear\"}}],"
    " \"metadata\": {\"nn_module_stack\": "
    "\"L__self__,,m.M;L__self___fc,fc,torch.nn.modules.linear.Linear\"}},"
    "{\"target\": \"torch.ops.aten.add.Tensor\", \"inputs\": ["
    " {\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"linear\"}}},"
    " {\"name\": \"other\", \"arg\": {\"as_tensor\": {\"name\": \"b_shift\"}}}],"
    " \"outputs\": [{\"as_tensor\": {\"name\": \"add\"}}], \"metadata\": {}},"
    "{\"target\": \"torch.ops.aten.max.dim\", \"inputs\": ["
    " {\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"add\"}}},"
    " {\"name\": \"dim\", \"arg\": {\"as_int\": 1}}],"
    " \"outputs\": [{\"as_tensor\": {\"name\": \"first\"}}, {\"as_tensor\": {\"name\": "
    "\"second\"}}], \"metadata\": {}}],"
    "\"tensor_values\": {"
    "\"x\": {\"dtype\": 7, \"sizes\": [{\"as_expr\": {\"expr_str\": \"s0\", \"hint\": "
    "{\"as_int\": 5}}}, {\"as_int\": 4}]},"
    "\"p_fc_weight\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 3}, {\"as_int\": 4}]},"
    "\"b_shift\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 3}]},"
    "\"linear\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 5}, {\"as_int\": 3}]},"
    "\"add\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 5}, {\"as_int\": 3}]},"
    "\"first\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 5}]},"
    "\"second\": {\"dtype\": 5, \"sizes\": [{\"as_int\": 5}]}}},"
    "\"signature\": {\"input_specs\": ["
    "{\"parameter\": {\"arg\": {\"name\": \"p_fc_weight\"}, \"parameter_name\": "
    "\"fc.weight\"}},"
    "{\"buffer\": {\"arg\": {\"name\": \"b_shift\"}, \"buffer_name\": \"shift\", "
    "\"persistent\": true}},"
    "{\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"x\"}}}}]}}}";

/* ---- archives ---- */

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
        const void *body = pack(files[i].text, is_packed, &stored[i]);
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

static emp_op_id find(const emp_graph *g, const char *name)
{
    for (emp_op_id op = 0; op < g->op_count; op++)
        if (strcmp(g->name[op], name) == 0) return op;
    cr_assert_fail("no op \"%s\"", name);
    return -1;
}

/* ---- tests ---- */

Test(pt2, a_graph_is_read_with_roles_and_modules)
{
    for (int is_packed = 0; is_packed < 2; is_packed++) {
        archive a =
            make(is_packed ? "m/models/model.json" : "serialized_exported_program.json",
                 json, is_packed == 1);
        emp_graph *g = NULL;
        emp_error  err = {0};

        cr_assert(emp_pt2_is((emp_slice){(const char *)a.bytes, a.size}));
        cr_assert_eq(read_bytes(&g, a.bytes, a.size, &err), EMP_OK, "%s", err.msg);
        cr_expect_eq(g->unknown_op_count, 0);
        cr_expect_eq(g->parameter_count, 12);
        cr_expect_eq(g->op[find(g, "fc/linear")].cost->flops, 2.0 * 5 * 4 * 3);
        cr_expect_eq(g->op[find(g, "b_shift")].persistent_bytes, 12);
        cr_expect_eq(g->op[find(g, "fc/p_fc_weight")].persistent_bytes, 48);
        cr_expect_eq(g->op[find(g, "x")].flags & EMP_OP_FEED, EMP_OP_FEED);
        emp_op_id max = find(g, "node2");
        cr_expect_eq(g->output_offset[max + 1] - g->output_offset[max], 2);
        cr_expect_eq(g->tensor[g->output_offset[max] + 1].dtype, EMP_DTYPE_INT64);
        cr_expect(g->is_target[max]);
        emp_graph_destroy(g);
    }
}

Test(pt2, what_is_wrong_with_an_archive_is_said)
{
    static const struct {
        const char *name, *text, *message;
    } wrong[] = {
        {"data.pkl", json, "without the graph of torch.export"},
        {"models/a.json", "{}", "no list graph_module.graph.nodes"},
        {"models/a.json", "{\"graph_module\": {\"graph\": {\"nodes\": []}}}",
         "no object \"tensor_values\""},
        {"models/a.json",
         "{\"graph_module\": {\"graph\": {\"nodes\": [{\"target\": \"aten.relu\", "
         "\"inputs\": [{\"name\": \"self\","
         " \"arg\": {\"as_tensor\": {\"name\": \"y\"}}}]}, {}], \"tensor_values\": {}}, "
         "\"signature\": {\"input_specs\": []}}}",
         "nodes[0] (aten.relu) reads \"y\", which no node before it makes; nodes[1] (): "
         "the text \"target\" is missing"},
        {"models/a.json",
         "{\"graph_module\": {\"graph\": {\"nodes\": [], \"tensor_values\": {\"x\": "
         "{\"dtype\": 7, \"sizes\": [{\"as_expr\": {}}]}}},"
         " \"signature\": {\"input_specs\": [{\"user_input\": {\"arg\": {\"as_tensor\": "
         "{\"name\": \"x\"}}}}]}}}",
         "a size of \"x\" has no number"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        archive    a = make(wrong[i].name, wrong[i].text, false);
        emp_graph *g = NULL;
        emp_error  err = {0};
        cr_expect_eq(read_bytes(&g, a.bytes, a.size, &err), EMP_EFORMAT);
        cr_expect(strstr(err.msg, wrong[i].message) != NULL, "\"%s\" has no \"%s\"",
                  err.msg, wrong[i].message);
        cr_expect_eq(emp_mem_live_blocks(), 0);
    }
}

/* ---- tied weights ---- */

/* Two weights of one shape, the second read by a product; both in the file "weight_0". */
static const char tied_json[] =
    "{\"graph_module\": {\"graph\": {"
    "\"outputs\": [{\"as_tensor\": {\"name\": \"linear\"}}],"
    "\"nodes\": ["
    "{\"target\": \"torch.ops.aten.embedding.default\", \"inputs\": ["
    " {\"name\": \"weight\", \"arg\": {\"as_tensor\": {\"name\": \"p_wte\"}}},"
    " {\"name\": \"indices\", \"arg\": {\"as_tensor\": {\"name\": \"x\"}}}],"
    " \"outputs\": [{\"as_tensor\": {\"name\": \"embedding\"}}], \"metadata\": {}},"
    "{\"target\": \"torch.ops.aten.linear.default\", \"inputs\": ["
    " {\"name\": \"input\", \"arg\": {\"as_tensor\": {\"name\": \"embedding\"}}},"
    " {\"name\": \"weight\", \"arg\": {\"as_tensor\": {\"name\": \"p_head\"}}}],"
    " \"outputs\": [{\"as_tensor\": {\"name\": \"linear\"}}], \"metadata\": {}}],"
    "\"tensor_values\": {"
    "\"x\": {\"dtype\": 5, \"sizes\": [{\"as_int\": 2}]},"
    "\"p_wte\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 8}, {\"as_int\": 4}]},"
    "\"p_head\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 8}, {\"as_int\": 4}]},"
    "\"embedding\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 2}, {\"as_int\": 4}]},"
    "\"linear\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 2}, {\"as_int\": 8}]}}},"
    "\"signature\": {\"input_specs\": ["
    "{\"parameter\": {\"arg\": {\"name\": \"p_wte\"}, \"parameter_name\": "
    "\"wte.weight\"}},"
    "{\"parameter\": {\"arg\": {\"name\": \"p_head\"}, \"parameter_name\": "
    "\"head.weight\"}},"
    "{\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"x\"}}}}]}}}";

#define WEIGHT(name, file, offset)                                                 \
    "\"" name "\": {\"path_name\": \"" file "\", \"tensor_meta\": {\"dtype\": 7, " \
    "\"sizes\": [{\"as_int\": 8}, {\"as_int\": 4}], "                              \
    "\"strides\": [{\"as_int\": 4}, {\"as_int\": 1}], "                            \
    "\"storage_offset\": {\"as_int\": " offset "}}}"
#define LIST(head) "{\"config\": {" WEIGHT("wte.weight", "weight_0", "0") ", " head "}}"

static emp_status read_tied(emp_graph **graph, const char *list, const char *bytes,
                            emp_error *err)
{
    const file files[] = {{"m/data/weights/model_weights_config.json", list},
                          {"m/data/weights/weight_0", bytes},
                          {"m/models/model.json", tied_json}};
    archive    a = make_of(files, 3, false);

    return read_bytes(graph, a.bytes, a.size, err);
}

Test(pt2, tied_weights_are_one_variable_with_two_readers)
{
    static const struct {
        const char *list, *bytes;
        int64_t     parameters;
    } cases[] = {
        {LIST(WEIGHT("head.weight", "weight_0", "0")), "bytes", 32},
        {LIST(WEIGHT("head.weight", "weight_1", "0")), "bytes", 64},
        {LIST(WEIGHT("head.weight", "weight_0", "32")), "bytes",
         64},                                                   /* two parts of a file */
        {LIST(WEIGHT("head.weight", "weight_0", "0")), "", 64}, /* exported on "meta" */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        emp_graph *g = NULL;
        emp_error  err = {0};
        cr_assert_eq(read_tied(&g, cases[i].list, cases[i].bytes, &err), EMP_OK, "%s",
                     err.msg);
        cr_expect_eq(g->parameter_count, cases[i].parameters, "case %zu: %lld", i,
                     (long long)g->parameter_count);
        int32_t tensor = g->output_offset[find(g, "wte/p_wte")];
        cr_expect_eq(g->consumer_offset[tensor + 1] - g->consumer_offset[tensor],
                     cases[i].parameters == 32 ? 2 : 1);
        emp_graph_destroy(g);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(pt2, an_archive_that_cannot_tell_ties_says_so)
{
    for (int has_bytes = 0; has_bytes < 2; has_bytes++) {
        const file         files[] = {{"m/data/weights/model_weights_config.json",
                                       LIST(WEIGHT("head.weight", "weight_0", "0"))},
                                      {"m/data/weights/weight_0", has_bytes ? "bytes" : ""},
                                      {"m/models/model.json", tied_json}};
        archive            a = make_of(files, 3, false);
        emp_graph_builder *b = NULL;
        memory_reading     m = {0};
        emp_reading        r = read_memory_begin(&m, a.bytes, a.size, NULL);
        emp_error          err = {0};

        cr_assert_eq(emp_graph_builder_create(&b, &err), EMP_OK);
        cr_assert_eq(emp_pytorch_read(b, &r, &err), EMP_OK, "%s", err.msg);
        cr_expect_eq(strstr(m.devices.note, "exported on \"meta\"") == NULL, has_bytes,
                     "%s", m.devices.note);
        emp_graph_builder_destroy(b);
        read_memory_end(&m);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(pt2, a_list_of_weights_that_is_none_is_refused)
{
    static const char *const lists[] = {"{", "[]", "{\"config\": [1]}"};

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        emp_graph *g = NULL;
        cr_expect_eq(read_tied(&g, lists[i], "bytes", NULL), EMP_EFORMAT, "%s", lists[i]);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* ---- graphs within nodes ---- */

#define TENSOR(name) "{\"as_tensor\": {\"name\": \"" name "\"}}"
#define ARG(value)   "{\"name\": \"\", \"arg\": " value "}"
#define NODE(target, inputs, output)                              \
    "{\"target\": \"torch.ops." target "\", \"inputs\": [" inputs \
    "], \"outputs\": [" TENSOR(output) "]}"
#define F32(name, sizes) "\"" name "\": {\"dtype\": 7, \"sizes\": [" sizes "]}"
#define N(size)          "{\"as_int\": " #size "}"
#define INNER(name, inputs, outputs, nodes, values)                                \
    ARG("{\"as_graph\": {\"name\": \"" name "\", \"graph\": {\"inputs\": [" inputs \
        "], \"outputs\": [" outputs "], \"nodes\": [" nodes                        \
        "], \"tensor_values\": {" values "}}}}")
/* A model with the weights u and w, 4 x 4 each, and the input x, whose sizes are given. */
#define MODEL(sizes, nodes, values, output)                                          \
    "{\"graph_module\": {\"graph\": {\"outputs\": [" TENSOR(                         \
        output) "], \"nodes\": [" nodes                                              \
                "], \"tensor_values\": {" F32("u", N(4) ", " N(4)) ", " F32(         \
                    "w",                                                             \
                    N(4) ", " N(                                                     \
                        4)) ", " F32("x",                                            \
                                     sizes) ", " values                              \
                                            "}}, \"signature\": {\"input_specs\": [" \
                                            "{\"parameter\": {\"arg\": {\"name\": "  \
                                            "\"u\"}, \"parameter_name\": \"u\"}},"   \
                                            "{\"parameter\": {\"arg\": {\"name\": "  \
                                            "\"w\"}, \"parameter_name\": \"w\"}},"   \
                                            "{\"user_input\": {\"arg\": " TENSOR(    \
                                                "x") "}}]}}}"
/* x times a weight, within a graph. */
#define PRODUCT(weight, output) \
    NODE("aten.mm.default", ARG(TENSOR("a")) ", " ARG(TENSOR(weight)), output)
#define VALUES                                                            \
    F32("a", N(4) ", " N(4))                                              \
    ", " F32("u", N(4) ", " N(4)) ", " F32("w", N(4) ", " N(4)) ", " F32( \
        "y", N(4) ", " N(4)) ", " F32("z", N(4) ", " N(4))
#define SQUARE N(4) ", " N(4)

/* Reads a model of one entry; all assumptions are put into \a said. */
static emp_graph *graph_within(const char *text, char said[1024])
{
    archive            a = make("m/models/model.json", text, false);
    emp_graph_builder *b = NULL;
    emp_graph         *g = NULL;
    memory_reading     m = {0};
    emp_reading        r = read_memory_begin(&m, a.bytes, a.size, NULL);
    emp_error          err = {0};

    cr_assert_eq(emp_graph_builder_create(&b, &err), EMP_OK);
    cr_assert_eq(emp_pytorch_read(b, &r, &err), EMP_OK, "%s", err.msg);
    cr_assert_eq(emp_graph_builder_finish(b, &g, &err), EMP_OK, "%s", err.msg);
    said[0] = '\0';
    for (int32_t i = 0; i < m.notes.assumption_count; i++)
        strncat(said, m.notes.assumption[i], 1023 - strlen(said));
    cr_expect_eq(m.notes.warning_count, 0, "%s", m.notes.warning[0]);
    emp_graph_builder_destroy(b);
    read_memory_end(&m);
    return g;
}

static double products_of(const emp_graph *g)
{
    double flops = 0;

    for (emp_op_id op = 0; op < g->op_count; op++)
        if (g->op[op].cost->op_class == EMP_OP_GEMM) flops += g->op[op].cost->flops;
    return flops;
}

/* A batch times heads, as dynamic shapes have it: Python's, and no op of the step. */
Test(pt2, arithmetic_of_sizes_is_no_op)
{
    char       said[1024];
    emp_graph *g = graph_within(
        MODEL(SQUARE,
              "{\"target\": \"_operator.mul\", \"inputs\": [" ARG(
                  "{\"as_sym_int\": "
                  "{\"as_name\": "
                  "\"s\"}}") ", " ARG(N(4)) "], \"outputs\": [{\"as_sym_int\": "
                                            "{\"as_name\": "
                                            "\"mul\"}}]}, " NODE(
                                                "aten.mm.default",
                                                ARG(TENSOR("x")) ", " ARG(TENSOR("u")),
                                                "end"),
              F32("end", SQUARE), "end"),
        said);

    cr_expect_eq(g->unknown_op_count, 0);
    cr_expect_eq(products_of(g), 2.0 * 4 * 4 * 4);
    emp_graph_destroy(g);
}

/* As with torch.no_grad() around a part of the model. */
Test(pt2, a_wrapped_graph_runs_in_place)
{
    char       said[1024];
    emp_graph *g = graph_within(
        MODEL(SQUARE,
              NODE("higher_order.wrap_with_set_grad_enabled",
                   ARG("{\"as_bool\": false}") ", " INNER(
                       "submod_1", TENSOR("a") ", " TENSOR("w"), TENSOR("y"),
                       PRODUCT("w", "y"),
                       VALUES) ", " ARG(TENSOR("x")) ", " ARG(TENSOR("w")),
                   "out") ", " NODE("aten.mm.default",
                                    ARG(TENSOR("out")) ", " ARG(TENSOR("u")), "end"),
              F32("out", SQUARE) ", " F32("end", SQUARE), "end"),
        said);

    cr_expect_eq(g->unknown_op_count, 0);
    cr_expect_eq(products_of(g), 2 * 2.0 * 4 * 4 * 4);
    cr_expect_eq(g->parameter_count, 32);
    cr_expect_geq(find(g, "out/y"), 0);
    cr_expect_str_eq(said, "");
    emp_graph_destroy(g);
}

static const char cond_json[] =
    MODEL(SQUARE,
          NODE("aten.sum.default", ARG(TENSOR("x")), "p") ", " NODE(
              "higher_order.cond",
              ARG(TENSOR("p")) ", " INNER(
                  "true_graph_0", TENSOR("a") ", " TENSOR("u") ", " TENSOR("w"),
                  TENSOR("y"), NODE("aten.relu.default", ARG(TENSOR("a")), "y"),
                  VALUES) ", " INNER("false_graph_0",
                                     TENSOR("a") ", " TENSOR("u") ", " TENSOR("w"),
                                     TENSOR("y"), PRODUCT("w", "y"),
                                     VALUES) ", " ARG("{\"as_tensors\": [{\"name\": "
                                                      "\"x\"}, {\"name\": \"u\"}, "
                                                      "{\"name\": "
                                                      "\"w\"}]}"),
              "out"),
          F32("p", "") ", " F32("out", SQUARE), "out");

Test(pt2, a_cond_runs_its_larger_graph_and_keeps_the_weights_of_both)
{
    char       said[1024];
    emp_graph *g = graph_within(cond_json, said);

    cr_expect_eq(products_of(g), 2.0 * 4 * 4 * 4);
    cr_expect_eq(g->parameter_count, 32);
    cr_expect(g->is_target[find(g, "p")], "the condition is computed");
    cr_expect(strstr(said, "out takes the larger of its graphs, the second") != NULL,
              "%s", said);
    emp_graph_destroy(g);
}

/* Six rows, each multiplied and added to a state. */
static const char scan_json[] = MODEL(
    N(6) ", " N(4) ", " N(4),
    "{\"target\": \"torch.ops.higher_order.scan\", \"inputs\": [" INNER(
        "scan_combine_graph_0", TENSOR("c") ", " TENSOR("a") ", " TENSOR("w"),
        TENSOR("y") ", " TENSOR("z"),
        PRODUCT("w", "z") ", " NODE("aten.add.Tensor",
                                    ARG(TENSOR("c")) ", " ARG(TENSOR("z")), "y"),
        F32("c",
            SQUARE) ", " VALUES) ", " ARG("{\"as_tensors\": [{\"name\": "
                                          "\"u\"}]}") ", " ARG("{\"as_"
                                                               "tensors\""
                                                               ": "
                                                               "[{"
                                                               "\"name\":"
                                                               " \"x\"}]"
                                                               "}") ","
                                                                    " " ARG(
                                                                        "{\"as_"
                                                                        "tensors\": "
                                                                        "[{\"name\": "
                                                                        "\"w\"}]}") "], "
                                                                                    "\"ou"
                                                                                    "tput"
                                                                                    "s\":"
                                                                                    " "
                                                                                    "[" TENSOR("state") ", " TENSOR(
                                                                                        "rows") "]},"
                                                                                                " " NODE(
                                                                                                    "aten.mm.default",
                                                                                                    ARG(TENSOR("state")) ", " ARG(
                                                                                                        TENSOR(
                                                                                                            "u")),
                                                                                                    "end"),
    F32("state", SQUARE) ", " F32("rows", N(6) ", " N(4) ", " N(4)) ", " F32("end",
                                                                             SQUARE),
    "end");

Test(pt2, a_scan_runs_its_graph_for_each_slice)
{
    char       said[1024];
    emp_graph *g = graph_within(scan_json, said);

    cr_expect_eq(products_of(g), 7 * 2.0 * 4 * 4 * 4);
    cr_expect_geq(find(g, "state.5/z"), 0);
    cr_expect_geq(find(g, "rows"), 0);
    cr_expect_str_eq(said, "");
    emp_graph_destroy(g);
}

#define WHILE(condition)                                                                                                                                                                         \
    MODEL(                                                                                                                                                                                       \
        SQUARE,                                                                                                                                                                                  \
        "{\"target\": \"torch.ops.higher_order.while_loop\", \"inputs\": [" INNER(                                                                                                               \
            "while_loop_cond_graph_0", TENSOR("i") ", " TENSOR("a") ", " TENSOR("w"),                                                                                                            \
            TENSOR("go"), condition,                                                                                                                                                             \
            F32("i", "") ", " F32(                                                                                                                                                               \
                "go",                                                                                                                                                                            \
                "") ", " VALUES) ", " INNER("while_loop_body_graph_0",                                                                                                                           \
                                            TENSOR("i") ", " TENSOR("a") ", " TENSOR(                                                                                                            \
                                                "w"),                                                                                                                                            \
                                            TENSOR("next") ", " TENSOR("y"),                                                                                                                     \
                                            NODE("aten.add.Tensor",                                                                                                                              \
                                                 ARG(TENSOR("i")) ", " ARG(N(2)),                                                                                                                \
                                                 "next") ", " PRODUCT("w", "y"),                                                                                                                 \
                                            F32("i", "") ", " F32(                                                                                                                               \
                                                "next",                                                                                                                                          \
                                                "") ", " VALUES) ", " ARG("{\"as_"                                                                                                               \
                                                                          "tensors\": "                                                                                                          \
                                                                          "[{\"name\": "                                                                                                         \
                                                                          "\"u\"}, "                                                                                                             \
                                                                          "{\"name\": "                                                                                                          \
                                                                          "\"x\"}]}") ", " ARG("{\"as_tensors\": [{\"name\": \"w\"}]}") "], \"outputs\": [" TENSOR("n") ", " TENSOR("out") "]}", \
        F32("n", "") ", " F32("out", SQUARE), "out")

static const char while_json[] =
    WHILE(NODE("aten.lt.Scalar", ARG(TENSOR("i")) ", " ARG(N(5)), "go"));

Test(pt2, a_while_loop_runs_as_often_as_its_counter_says_or_else_once)
{
    char       said[1024];
    emp_graph *g = graph_within(while_json, said);

    cr_expect_eq(products_of(g), 3 * 2.0 * 4 * 4 * 4, "0, 2 and 4 are less than 5");
    cr_expect(strstr(said, "n has 3 iterations, as its counter begins at 0") != NULL,
              "%s", said);
    emp_graph_destroy(g);
    g = graph_within(WHILE(NODE("aten.any.default", ARG(TENSOR("a")), "go")), said);
    cr_expect_eq(products_of(g), 2.0 * 4 * 4 * 4);
    cr_expect(strstr(said, "n has one iteration, as its length depends on data") != NULL,
              "%s", said);
    emp_graph_destroy(g);
    cr_expect_eq(emp_mem_live_blocks(), 0);
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
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* Cut off anywhere, or with any byte changed, an archive is read or refused. */
Test(pt2, damaged_archives_are_survived)
{
    archive whole = make("models/model.json", json, true);

    for (size_t i = 0; i < whole.size; i++) {
        emp_graph *g = NULL;
        archive    a = whole;
        a.bytes[i] ^= (unsigned char)(1 + i % 255);
        (void)read_bytes(&g, a.bytes, a.size, NULL);
        emp_graph_destroy(g);
        unsigned char *exact =
            emp_calloc(i + 1, 1); /* so that tools see reads behind it */
        memcpy(exact, whole.bytes, i);
        cr_expect_neq(read_bytes(&g, exact, i, NULL), EMP_OK, "%zu bytes", i);
        emp_free(exact);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

Test(pt2, survives_every_allocation_failure)
{
    archive    a = make("models/model.json", json, false);
    emp_graph *g = NULL;

    SURVIVES_EVERY_ALLOCATION_FAILURE(read_bytes(&g, a.bytes, a.size, NULL), (void)0);
    emp_graph_destroy(g);
    SURVIVES_EVERY_ALLOCATION_FAILURE(
        read_tied(&g, LIST(WEIGHT("head.weight", "weight_0", "0")), "bytes", NULL),
        (void)0);
    emp_graph_destroy(g);
    const char *const within[] = {cond_json, scan_json, while_json};
    for (size_t i = 0; i < sizeof within / sizeof within[0]; i++) {
        a = make("m/models/model.json", within[i], false);
        SURVIVES_EVERY_ALLOCATION_FAILURE(read_bytes(&g, a.bytes, a.size, NULL), (void)0);
        emp_graph_destroy(g);
    }
}
