// SPDX-License-Identifier: GPL-3.0-or-later
// AttrValues: every case is read from wire format and from text, with the same result.
#include <criterion/criterion.h>

#include "base/mem.h"
#include "graphs/import/attrs.h"
#include "graphs/import/container.h"
#include "tests/support/proto_writer.h"

enum { SYNTAXES = 2 };

/* Reads all attributes of what `write` writes, as the NodeDef it stands for. */
static emp_status read_attrs(void (*write)(proto_writer *), bool is_text,
                             emp_node_attrs *node, emp_error *err)
{
    static const emp_field_name names[] = {{"attr", 5}, {0}};
    proto_writer                w = {.is_text = is_text};
    emp_message_file            file = {.is_text = is_text};
    emp_field                   field;
    emp_status                  st = EMP_OK;
    bool                        found = true;

    write(&w);
    file.bytes = (emp_slice){w.data, w.size};
    emp_message message = emp_message_open(&file, file.bytes, names);
    emp_node_attrs_reset(node);
    while (st == EMP_OK && found) {
        st = emp_message_next(&message, &field, &found, err);
        if (st == EMP_OK && found) st = emp_node_attrs_read(node, &message, &field, err);
    }
    emp_message_file_clear(&file);
    proto_clear(&w);
    return st;
}

static void read_ok(void (*write)(proto_writer *), int syntax, emp_node_attrs *node)
{
    emp_error err = {0};

    cr_assert_eq(read_attrs(write, syntax == 1, node, &err), EMP_OK, "%s", err.msg);
}

static void write_flags(proto_writer *w)
{
    proto_attr_bool(w, "transpose_a", true);
    proto_attr_bool(w, "adj_y", true);
    proto_attr_bool(w, "keep_dims", true);
    proto_attr_bool(w, "is_training", false);
    proto_attr_bool(w, "unique", true);
    proto_attr_string(w, "padding", "SAME");
    proto_attr_string(w, "data_format", "NCHW");
    proto_attr_string(w, "container", "");
}

Test(attrs, reads_flags_and_words)
{
    for (int syntax = 0; syntax < SYNTAXES; syntax++) {
        emp_node_attrs node = {0};
        read_ok(write_flags, syntax, &node);
        cr_expect(node.attrs.transpose_a && node.attrs.transpose_b);
        cr_expect(node.attrs.keep_dims && node.attrs.is_inference && node.attrs.unique);
        cr_expect(node.attrs.padding_is_same && node.attrs.is_nchw);
        cr_expect_eq(node.output_count, -1, "no _output_shapes");
        emp_node_attrs_clear(&node);
    }
}

static void write_numbers(proto_writer *w)
{
    proto_attr_int(w, "num_split", 4);
    proto_attr_int(w, "axis", -1);
    proto_attr_int(w, "num_sampled", 8192);
    proto_attr_int(w, "num_true", 1);
    proto_attr_int(w, "begin_mask", 5);
    proto_attr_int(w, "shrink_axis_mask", 1);
    proto_attr_ints(w, "strides", (int64_t[]){1, 2, 3, 1}, 4);
    proto_attr_ints(w, "ksize", (int64_t[]){1, 5, 7, 1}, 4);
    proto_attr_ints(w, "squeeze_dims", (int64_t[]){1, 2, -1}, 3);
}

Test(attrs, reads_numbers_and_lists)
{
    for (int syntax = 0; syntax < SYNTAXES; syntax++) {
        emp_node_attrs node = {0};
        read_ok(write_numbers, syntax, &node);
        cr_expect(node.attrs.count == 4 && node.attrs.axis == -1);
        cr_expect(node.attrs.num_sampled == 8192 && node.attrs.num_true == 1);
        cr_expect(node.attrs.begin_mask == 5 && node.attrs.shrink_axis_mask == 1);
        cr_expect(node.attrs.strides[1] == 2 && node.attrs.strides[2] == 3);
        cr_expect(node.attrs.ksize[1] == 5 && node.attrs.ksize[2] == 7);
        cr_expect_eq(node.attrs.squeeze_dims, 1U << 1 | 1U << 2 | 1U << 31);
        emp_node_attrs_clear(&node);
    }
}

static void write_random_types(proto_writer *w)
{
    proto_attr_type(w, "dtype", 1, "DT_FLOAT");
    proto_attr_type(w, "T", 3, "DT_INT32");
}

static void write_cast_types(proto_writer *w)
{
    proto_attr_type(w, "SrcT", 1, "DT_FLOAT");
    proto_attr_type(w, "DstT", 9, "DT_INT64");
}

static void write_shape_types(proto_writer *w)
{
    proto_attr_type(w, "T", 101, "DT_FLOAT_REF");
    proto_attr_type(w, "out_type", 9, "DT_INT64");
}

static void write_range_types(proto_writer *w)
{
    proto_attr_type(w, "Tidx", 3, "DT_INT32");
}
static void write_odd_type(proto_writer *w) { proto_attr_type(w, "T", 11, "DT_QINT8"); }

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
    const struct {
        void (*write)(proto_writer *);
        emp_dtype dtype, out_type;
    } cases[] = {
        {write_random_types, EMP_DTYPE_FLOAT, EMP_DTYPE_NONE},
        {write_cast_types, EMP_DTYPE_INT64, EMP_DTYPE_NONE},
        {write_shape_types, EMP_DTYPE_FLOAT, EMP_DTYPE_INT64},
        {write_range_types, EMP_DTYPE_INT32, EMP_DTYPE_NONE},
        {write_odd_type, EMP_DTYPE_NONE, EMP_DTYPE_NONE},
        {write_listed_types, EMP_DTYPE_DOUBLE, EMP_DTYPE_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int syntax = 0; syntax < SYNTAXES; syntax++) {
            emp_node_attrs node = {0};
            read_ok(cases[i].write, syntax, &node);
            cr_expect_eq(node.attrs.dtype, cases[i].dtype, "case %zu", i);
            cr_expect_eq(node.attrs.out_type, cases[i].out_type, "case %zu", i);
            emp_node_attrs_clear(&node);
        }
    }
}

static void write_shapes(proto_writer *w)
{
    const int64_t dims[] = {-1, 3};
    const int64_t many[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    proto_attr    attr = proto_begin_attr(w, "_output_shapes");
    size_t        list = proto_begin(w, 1, "list");

    proto_shape(w, 7, "shape", dims, 2);
    proto_shape(w, 7, "shape", NULL, 0);
    proto_shape(w, 7, "shape", NULL, -1);
    proto_shape(w, 7, "shape", many, 9);
    proto_end(w, list);
    proto_end_attr(w, attr);
    proto_attr_shape(w, "shape", dims, 2);
}

Test(attrs, reads_shapes)
{
    for (int syntax = 0; syntax < SYNTAXES; syntax++) {
        emp_node_attrs node = {0};
        read_ok(write_shapes, syntax, &node);
        cr_assert_eq(node.output_count, 4);
        cr_expect(emp_shape_equal(&node.output[0], &EMP_SHAPE(-1, 3)));
        cr_expect(emp_shape_equal(&node.output[1], &EMP_SHAPE_SCALAR));
        cr_expect_eq(node.output[2].rank, -1);
        cr_expect_eq(node.output[3].rank, -1, "more dimensions than fit are not known");
        cr_expect(node.attrs.has_shape &&
                  emp_shape_equal(&node.attrs.shape, &EMP_SHAPE(-1, 3)));
        emp_node_attrs_clear(&node);
    }
}

/* A TensorProto in the making. */
static size_t begin_value(proto_writer *w, proto_attr *attr, int64_t dtype,
                          const char *word, const int64_t *dims, int rank)
{
    *attr = proto_begin_attr(w, "value");
    size_t tensor = proto_begin(w, 8, "tensor");
    proto_word(w, 1, "dtype", dtype, word);
    proto_shape(w, 2, "tensor_shape", dims, rank);
    return tensor;
}

static void end_value(proto_writer *w, proto_attr attr, size_t tensor)
{
    proto_end(w, tensor);
    proto_end_attr(w, attr);
}

static void write_listed_ints(proto_writer *w)
{
    proto_attr attr;
    size_t     tensor = begin_value(w, &attr, 3, "DT_INT32", (int64_t[]){5}, 1);

    proto_ints(w, 7, "int_val", (int64_t[]){7, -8}, 2);
    proto_int(w, 7, "int_val", 9);
    end_value(w, attr, tensor);
}

static void write_float(proto_writer *w)
{
    proto_attr attr;
    size_t     tensor = begin_value(w, &attr, 1, "DT_FLOAT", NULL, 0);

    proto_float(w, 5, "float_val", -2.75F);
    end_value(w, attr, tensor);
}

static void write_content(proto_writer *w)
{
    proto_attr attr;
    size_t     tensor = begin_value(w, &attr, 3, "DT_INT32", (int64_t[]){2}, 1);

    proto_bytes(w, 4, "tensor_content", "\x00\x08\x00\x00\xff\xff\xff\xff", 8);
    end_value(w, attr, tensor);
}

static void write_half_content(proto_writer *w)
{
    proto_attr attr;
    size_t     tensor = begin_value(w, &attr, 19, "DT_HALF", (int64_t[]){4}, 1);

    /* 1.0, -2.0, 65504, the least subnormal */
    proto_bytes(w, 4, "tensor_content", "\x00\x3c\x00\xc0\xff\x7b\x01\x00", 8);
    end_value(w, attr, tensor);
}

static void write_half_values(proto_writer *w)
{
    proto_attr attr;
    size_t     tensor = begin_value(w, &attr, 19, "DT_HALF", (int64_t[]){2}, 1);

    proto_int(w, 13, "half_val", 0x4900);
    end_value(w, attr, tensor);
}

static void write_double_content(proto_writer *w)
{
    proto_attr attr;
    size_t     tensor = begin_value(w, &attr, 2, "DT_DOUBLE", NULL, 0);

    proto_bytes(w, 4, "tensor_content", "\x00\x00\x00\x00\x00\x00\x59\xc0", 8);
    end_value(w, attr, tensor);
}

static void write_bool(proto_writer *w)
{
    proto_attr attr;
    size_t     tensor = begin_value(w, &attr, 10, "DT_BOOL", NULL, 0);

    proto_word(w, 11, "bool_val", 1, "true");
    end_value(w, attr, tensor);
}

static void write_nothing(proto_writer *w)
{
    proto_attr attr;
    size_t     tensor = begin_value(w, &attr, 9, "DT_INT64", (int64_t[]){2}, 1);

    end_value(w, attr, tensor);
}

static void write_string(proto_writer *w)
{
    proto_attr attr;
    size_t     tensor = begin_value(w, &attr, 7, "DT_STRING", NULL, 0);

    proto_string(w, 8, "string_val", "text");
    end_value(w, attr, tensor);
}

static void write_large(proto_writer *w)
{
    proto_attr attr;
    size_t     tensor =
        begin_value(w, &attr, 3, "DT_INT32", (int64_t[]){EMP_MAX_CONST_VALUES + 1}, 1);

    proto_int(w, 7, "int_val", 1);
    end_value(w, attr, tensor);
}

Test(attrs, reads_small_constants_as_integers)
{
    const struct {
        void (*write)(proto_writer *);
        int     count;
        int64_t value[5];
    } cases[] = {
        {write_listed_ints, 5, {7, -8, 9, 9, 9}}, /* the last one stands for the rest */
        {write_float, 1, {-2}},
        {write_content, 2, {2048, -1}},
        {write_half_content, 4, {1, -2, 65504, 0}},
        {write_half_values, 2, {10, 10}},
        {write_double_content, 1, {-100}},
        {write_bool, 1, {1}},
        {write_nothing, 2, {0, 0}},
        {write_string, 0, {0}},
        {write_large, 0, {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int syntax = 0; syntax < SYNTAXES; syntax++) {
            emp_node_attrs node = {0};
            read_ok(cases[i].write, syntax, &node);
            cr_assert_eq(node.attrs.value_count, cases[i].count, "case %zu, syntax %d", i,
                         syntax);
            for (int k = 0; k < cases[i].count; k++)
                cr_expect_eq(node.attrs.value[k], cases[i].value[k], "case %zu, value %d",
                             i, k);
            cr_expect(node.attrs.has_shape);
            emp_node_attrs_clear(&node);
        }
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static void write_short_content(proto_writer *w)
{
    proto_attr attr;
    size_t     tensor = begin_value(w, &attr, 3, "DT_INT32", (int64_t[]){2}, 1);

    proto_bytes(w, 4, "tensor_content", "\x01\x00\x00\x00", 4);
    end_value(w, attr, tensor);
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
        {write_short_content, "attribute \"value\": tensor_content has 4 bytes, need 4 "
                              "for each of 2 elements"},
        {write_bad_dim,
         "attribute \"shape\": a dimension of size -7, need -1 (unknown) or more"},
        {write_huge_int,
         "attribute \"N\": 1099511627776 is outside -2147483648..2147483647"},
        {write_many_outputs, "attribute \"_output_shapes\": more than 4096 outputs"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int syntax = 0; syntax < SYNTAXES; syntax++) {
            emp_node_attrs node = {0};
            emp_error      err = {0};
            cr_expect_eq(read_attrs(cases[i].write, syntax == 1, &node, &err),
                         EMP_EFORMAT);
            cr_expect_str_eq(err.msg, cases[i].message);
            emp_node_attrs_clear(&node);
        }
    }
}
