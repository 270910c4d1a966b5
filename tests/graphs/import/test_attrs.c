// SPDX-License-Identifier: GPL-3.0-or-later
// AttrValues: every case is read from wire format and from text, with the same result.
#include "base/mem.h"
#include "graphs/import/attrs.h"
#include "graphs/import/container.h"
#include "tests/support/proto_writer.h"
#include "tests/test.h"

enum { SYNTAXES = 2 };

/* Reads all attributes of what `write` writes, as the NodeDef it stands for. */
static emp_status read_attrs(void (*write)(proto_writer *), bool is_text,
                             emp_node_attrs *node, emp_error *err)
{
    static const emp_field_name names[] = {{"attr", 5}, {0}};
    proto_writer                w = {.is_text = is_text};
    emp_message_file            file = {.is_text = is_text};
    emp_field                   field;
    emp_attr                    attr;
    emp_status                  st = EMP_OK;
    bool                        found = true, may_call;

    write(&w);
    file.bytes = (emp_slice){w.data, w.size};
    emp_message message = emp_message_open(&file, file.bytes, names);
    emp_node_attrs_reset(node);
    while (st == EMP_OK && found) {
        st = emp_message_next(&message, &field, &found, err);
        if (st != EMP_OK || !found) break;
        st = emp_attr_read(&attr, &message, &field, err);
        if (st == EMP_OK) st = emp_node_attrs_set(node, &may_call, &attr, err);
    }
    emp_message_file_clear(&file);
    proto_clear(&w);
    return st;
}

static void read_ok(void (*write)(proto_writer *), int syntax, emp_node_attrs *node)
{
    ASSERT_OK(read_attrs(write, syntax == 1, node, &err));
}

static void write_attrs(proto_writer *w)
{
    static const char *const flags[] = {"transpose_a", "adj_y", "keep_dims", "unique"};
    const int64_t            dims[] = {-1, 3}, many[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

    for (int i = 0; i < 4; i++) proto_attr_bool(w, flags[i], true);
    proto_attr_bool(w, "is_training", false);
    proto_attr_string(w, "padding", "SAME");
    proto_attr_string(w, "data_format", "NCHW");
    proto_attr_string(w, "container", "");
    proto_attr_int(w, "num_split", 4);
    proto_attr_int(w, "axis", -1);
    proto_attr_int(w, "num_sampled", 8192);
    proto_attr_int(w, "num_true", 1);
    proto_attr_int(w, "begin_mask", 5);
    proto_attr_int(w, "shrink_axis_mask", 1);
    proto_attr_ints(w, "strides", (int64_t[]){1, 2, 3, 1}, 4);
    proto_attr_ints(w, "ksize", (int64_t[]){1, 5, 7, 1}, 4);
    proto_attr_ints(w, "dilations", (int64_t[]){1, 2, 3, 1}, 4);
    proto_attr_ints(w, "explicit_paddings", (int64_t[]){0, 0, 1, 2, 3, 4, 0, 0}, 8);
    proto_attr_int(w, "batch_dims", -2);
    proto_attr_int(w, "block_size", 8);
    proto_attr_ints(w, "squeeze_dims", (int64_t[]){1, 2, -1}, 3);
    proto_attr attr = proto_begin_attr(w, "_output_shapes");
    size_t     list = proto_begin(w, 1, "list");
    proto_shape(w, 7, "shape", dims, 2);
    proto_shape(w, 7, "shape", NULL, 0);
    proto_shape(w, 7, "shape", NULL, -1);
    proto_shape(w, 7, "shape", many, 9);
    proto_end(w, list);
    proto_end_attr(w, attr);
    proto_attr_shape(w, "shape", dims, 2);
}

Test(attrs, reads_flags_words_numbers_lists_and_shapes)
{
    for (int syntax = 0; syntax < SYNTAXES; syntax++) {
        emp_node_attrs      node = {0};
        const emp_op_attrs *a = &node.attrs;
        read_ok(write_attrs, syntax, &node);
        cr_expect(a->transpose_a && a->transpose_b);
        cr_expect(a->keep_dims && a->is_inference && a->unique);
        cr_expect(a->padding_is_same && a->is_nchw);
        cr_expect(a->count == 4 && a->axis == -1 && a->has_axis);
        cr_expect(a->batch_dims == -2 && a->block == 8);
        cr_expect(a->num_sampled == 8192 && a->num_true == 1);
        cr_expect(a->begin_mask == 5 && a->shrink_axis_mask == 1);
        cr_expect(a->strides[1] == 2 && a->strides[2] == 3);
        cr_expect(a->ksize[1] == 5 && a->ksize[2] == 7);
        cr_expect(a->dilations[1] == 2 && a->dilations[2] == 3);
        cr_expect(a->pads[1] == 1 && a->pads[2] == 3 && a->pads[3] == 0);
        cr_expect(a->pads_after[1] == 2 && a->pads_after[2] == 4);
        cr_expect_eq(a->squeeze_dims, 1U << 1 | 1U << 2 | 1U << 31);
        cr_assert_eq(node.output_count, 4);
        cr_expect(emp_shape_equal(&node.output[0], &EMP_SHAPE(-1, 3)));
        cr_expect(emp_shape_equal(&node.output[1], &EMP_SHAPE_SCALAR));
        cr_expect_eq(node.output[2].rank, -1);
        cr_expect_eq(node.output[3].rank, -1, "more dimensions than fit are not known");
        cr_expect(a->has_shape && emp_shape_equal(&a->shape, &EMP_SHAPE(-1, 3)));
        emp_node_attrs_clear(&node);
    }
}

struct typed {
    const char *key[2], *word[2];
    int64_t     number[2];
    emp_dtype   dtype, out_type;
};

static const struct typed *typed;

static void write_types(proto_writer *w)
{
    for (int i = 0; i < 2 && typed->key[i] != NULL; i++)
        proto_attr_type(w, typed->key[i], typed->number[i], typed->word[i]);
}

static void write_listed_types(proto_writer *w)
{
    proto_attr attr = proto_begin_attr(w, "component_types");
    size_t     list = proto_begin(w, 1, "list");

    if (w->is_text) {
        proto_word(w, 6, "type", 2, "DT_DOUBLE");
        proto_word(w, 6, "type", 9, "DT_INT64");
    } else {
        proto_ints(w, 6, "type", (int64_t[]){2, 9}, 2);
    }
    proto_end(w, list);
    proto_end_attr(w, attr);
}

Test(attrs, finds_the_element_type_of_the_outputs)
{
    static const struct typed cases[] = {
        {{"dtype", "T"},
         {"DT_FLOAT", "DT_INT32"},
         {1, 3},
         EMP_DTYPE_FLOAT,
         EMP_DTYPE_NONE},
        {{"SrcT", "DstT"},
         {"DT_FLOAT", "DT_INT64"},
         {1, 9},
         EMP_DTYPE_INT64,
         EMP_DTYPE_NONE},
        {{"T", "out_type"},
         {"DT_FLOAT_REF", "DT_INT64"},
         {101, 9},
         EMP_DTYPE_FLOAT,
         EMP_DTYPE_INT64},
        {{"Tidx"}, {"DT_INT32"}, {3}, EMP_DTYPE_INT32, EMP_DTYPE_NONE},
        {{"T"}, {"DT_COMPLEX128"}, {18}, EMP_DTYPE_COMPLEX128, EMP_DTYPE_NONE},
        {{"T", "out_type"},
         {"DT_UINT64_REF", "DT_UINT32"},
         {123, 22},
         EMP_DTYPE_UINT64,
         EMP_DTYPE_UINT32},
        {{"T"}, {"DT_FLOAT8_E5M2"}, {24}, EMP_DTYPE_FLOAT8_E5M2, EMP_DTYPE_NONE},
        {{"T"}, {"DT_FLOAT8_E4M3FN"}, {25}, EMP_DTYPE_FLOAT8_E4M3, EMP_DTYPE_NONE},
        {{"T"}, {"DT_QINT8"}, {11}, EMP_DTYPE_INT8, EMP_DTYPE_NONE},
        {{"T"}, {"DT_QUINT8_REF"}, {112}, EMP_DTYPE_UINT8, EMP_DTYPE_NONE},
        {{"T"}, {"DT_QINT32"}, {13}, EMP_DTYPE_INT32, EMP_DTYPE_NONE},
        {{"T"}, {"DT_QUINT16"}, {16}, EMP_DTYPE_UINT16, EMP_DTYPE_NONE},
        {{"T"}, {"DT_FLOAT8_E5M2FNUZ"}, {28}, EMP_DTYPE_FLOAT8_E5M2, EMP_DTYPE_NONE},
        {{"T"}, {"DT_UINT4"}, {30}, EMP_DTYPE_UINT8, EMP_DTYPE_NONE},
        {{"T"}, {"DT_FUTURE"}, {63}, EMP_DTYPE_NONE, EMP_DTYPE_NONE},
        {{NULL}, {NULL}, {0}, EMP_DTYPE_DOUBLE, EMP_DTYPE_NONE}}; /* a list */

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int syntax = 0; syntax < SYNTAXES; syntax++) {
            emp_node_attrs node = {0};
            typed = &cases[i];
            read_ok(typed->key[0] != NULL ? write_types : write_listed_types, syntax,
                    &node);
            cr_expect_eq(node.attrs.dtype, cases[i].dtype, "case %zu", i);
            cr_expect_eq(node.attrs.out_type, cases[i].out_type, "case %zu", i);
            cr_expect_eq(node.output_count, -1, "no _output_shapes");
            emp_node_attrs_clear(&node);
        }
    }
}

/* A TensorProto: its type, how many elements it says that it has, and those that are there. */
struct tensor {
    int64_t     dtype;
    const char *word;
    int64_t     elements; /* -1: a scalar */
    int         field;    /* of the values; 0: none */
    const char *name, *content;
    int64_t     values[3];
    int         count; /* of them, or bytes of the content */
    int         expected_count;
    int64_t     expected[5];
};

static const struct tensor *tensor;

static void write_tensor(proto_writer *w)
{
    proto_attr attr = proto_begin_attr(w, "value");
    size_t     value = proto_begin(w, 8, "tensor");

    proto_word(w, 1, "dtype", tensor->dtype, tensor->word);
    proto_shape(w, 2, "tensor_shape", &tensor->elements, tensor->elements >= 0 ? 1 : 0);
    if (tensor->content != NULL)
        proto_bytes(w, tensor->field, tensor->name, tensor->content,
                    (size_t)tensor->count);
    else if (tensor->field == 5)
        proto_float(w, 5, tensor->name, -2.75F);
    else if (tensor->field == 11)
        proto_word(w, 11, tensor->name, 1, "true");
    else if (tensor->count > 1) /* all but the last one packed */
        proto_ints(w, tensor->field, tensor->name, tensor->values, tensor->count - 1);
    if (tensor->content == NULL && tensor->count > 0)
        proto_int(w, tensor->field, tensor->name, tensor->values[tensor->count - 1]);
    proto_end(w, value);
    proto_end_attr(w, attr);
}

#define CONTENT(bytes) 4, "tensor_content", bytes, {0}, sizeof(bytes) - 1

/* The last of listed values stands for the rest. */
static const struct tensor constants[] = {
    {3, "DT_INT32", 5, 7, "int_val", NULL, {7, -8, 9}, 3, 5, {7, -8, 9, 9, 9}},
    {1, "DT_FLOAT", -1, 5, "float_val", NULL, {0}, 0, 1, {-2}},
    {3, "DT_INT32", 2, CONTENT("\x00\x08\x00\x00\xff\xff\xff\xff"), 2, {2048, -1}},
    /* 1.0, -2.0, 65504, the least subnormal */
    {19, "DT_HALF", 4, CONTENT("\x00\x3c\x00\xc0\xff\x7b\x01\x00"), 4, {1, -2, 65504, 0}},
    {19, "DT_HALF", 2, 13, "half_val", NULL, {0x4900}, 1, 2, {10, 10}},
    {2, "DT_DOUBLE", -1, CONTENT("\x00\x00\x00\x00\x00\x00\x59\xc0"), 1, {-100}},
    {10, "DT_BOOL", -1, 11, "bool_val", NULL, {0}, 0, 1, {1}},
    {9, "DT_INT64", 2, 0, NULL, NULL, {0}, 0, 2, {0, 0}},
    {22, "DT_UINT32", 2, 16, "uint32_val", NULL, {7, 4294967295}, 2, 2, {7, 4294967295}},
    {23, "DT_UINT64", 3, 17, "uint64_val", NULL, {5}, 1, 3, {5, 5, 5}},
    {25, "DT_FLOAT8_E4M3FN", 2, CONTENT("\x38\x40"), 0, {0}},
    {7, "DT_STRING", -1, 8, "string_val", "text", {0}, 4, 0, {0}},
    {3, "DT_INT32", EMP_MAX_CONST_VALUES + 1, 7, "int_val", NULL, {1}, 1, 0, {0}},
};

Test(attrs, reads_small_constants_as_integers)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        for (int syntax = 0; syntax < SYNTAXES; syntax++) {
            emp_node_attrs node = {0};
            tensor = &constants[i];
            read_ok(write_tensor, syntax, &node);
            cr_assert_eq(node.attrs.value_count, tensor->expected_count,
                         "case %zu, syntax %d", i, syntax);
            for (int k = 0; k < tensor->expected_count; k++)
                cr_expect_eq(node.attrs.value[k], tensor->expected[k],
                             "case %zu, value %d", i, k);
            cr_expect(node.attrs.has_shape);
            emp_node_attrs_clear(&node);
        }
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static void write_short_content(proto_writer *w)
{
    static const struct tensor cut = {3, "DT_INT32", 2, CONTENT("\x01\x00\x00\x00"),
                                      0, {0}};

    tensor = &cut;
    write_tensor(w);
}

static void write_bad_dim(proto_writer *w)
{
    proto_attr_shape(w, "shape", (int64_t[]){-7}, 1);
}

static void write_huge_int(proto_writer *w) { proto_attr_int(w, "N", INT64_C(1) << 40); }

static void write_many_outputs(proto_writer *w)
{
    proto_attr attr = proto_begin_attr(w, "_output_shapes");
    size_t     list = proto_begin(w, 1, "list");

    for (int i = 0; i <= EMP_MAX_OUTPUTS; i++) proto_shape(w, 7, "shape", NULL, 0);
    proto_end(w, list);
    proto_end_attr(w, attr);
}

Test(attrs, names_the_attribute_that_is_wrong)
{
    const struct {
        void (*write)(proto_writer *);
        const char *message;
    } cases[] = {
        {write_short_content, "\"value\": tensor_content has 4 bytes"},
        {write_bad_dim, "\"shape\": a dimension of size -7"},
        {write_huge_int, "\"N\": 1099511627776"},
        {write_many_outputs, "\"_output_shapes\": more than 4096"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int syntax = 0; syntax < SYNTAXES; syntax++) {
            emp_node_attrs node = {0};
            EXPECT_REFUSED(read_attrs(cases[i].write, syntax == 1, &node, &err),
                           EMP_EFORMAT, cases[i].message);
            emp_node_attrs_clear(&node);
        }
    }
}
