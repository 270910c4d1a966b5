// SPDX-License-Identifier: GPL-3.0-or-later
// The wire cursor: what it reads, and that no damaged input makes it read past the end.
#include "graphs/import/proto/wire.h"
#include "tests/support/proto_writer.h"
#include "tests/test.h"

static emp_cursor cursor_on(const void *bytes, size_t size)
{
    return (emp_cursor){bytes, bytes, (const char *)bytes + size};
}

static emp_status walk(emp_cursor cursor, int *count, emp_error *err)
{
    emp_wire_field field;
    emp_status     st = EMP_OK;

    for (*count = 0; st == EMP_OK && cursor.at < cursor.end; *count += st == EMP_OK)
        st = emp_wire_next(&cursor, &field, err);
    return st;
}

Test(wire, reads_numbers_of_every_length)
{
    for (int bit = 0; bit < 64; bit++) {
        uint64_t want = UINT64_C(1) << bit | 1, got = 0;
        SCOPED(proto_writer, proto_clear) w = {0};
        proto_varint(&w, want);
        emp_cursor cursor = cursor_on(w.data, w.size);
        cr_assert_eq(emp_wire_varint(&cursor, &got, NULL), EMP_OK);
        cr_expect_eq(got, want, "bit %d", bit);
        cr_expect_eq(cursor.at, cursor.end, "bit %d: bytes are left", bit);
    }
}

Test(wire, reads_every_wire_type)
{
    const char bytes[] = "\x08\x96\x01"                         /* 1: 150 */
                         "\x11\x01\x02\x03\x04\x05\x06\x07\x08" /* 2: fixed64 */
                         "\x1a\x03"
                         "abc"                   /* 3: bytes */
                         "\x25\x01\x02\x03\x04"; /* 4: fixed32 */
    emp_cursor     cursor = cursor_on(bytes, sizeof bytes - 1);
    emp_wire_field field;

    cr_assert_eq(emp_wire_next(&cursor, &field, NULL), EMP_OK);
    cr_expect(field.number == 1 && field.type == EMP_WIRE_VARINT && field.bits == 150);
    cr_assert_eq(emp_wire_next(&cursor, &field, NULL), EMP_OK);
    cr_expect(field.number == 2 && field.bits == UINT64_C(0x0807060504030201));
    cr_assert_eq(emp_wire_next(&cursor, &field, NULL), EMP_OK);
    cr_expect(field.number == 3 && emp_slice_is(field.bytes, "abc"));
    cr_expect_eq(field.bytes.data, bytes + 14, "the slice points into the file");
    cr_assert_eq(emp_wire_next(&cursor, &field, NULL), EMP_OK);
    cr_expect(field.number == 4 && field.bits == 0x04030201);
    cr_expect_eq(cursor.at, cursor.end);
}

struct damage {
    const char *bytes;
    size_t      size;
    const char *message;
};

Test(wire, names_what_is_wrong)
{
#define BYTES(text) (text), sizeof(text) - 1
    const struct damage cases[] = {
        {BYTES("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
         "byte 1: a number has more than 10 bytes"},
        {BYTES("\x08\x96"), "byte 1: the data end within a number"},
        {BYTES("\x1a\x05"
               "abcd"),
         "byte 0: field 3 claims 5 bytes where 4 are left"},
        {BYTES("\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
               "abcd"),
         "byte 0: field 3 claims 18446744073709551615 bytes where 4 are left "
         "(truncated?)"},
        {BYTES("\x11\x01\x02"), "byte 1: 8 bytes are wanted where 2 are left"},
        {BYTES("\x00\x01"), "byte 0: field number 0"},
        {BYTES("\xff\xff\xff\xff\xff\x01\x01"), "byte 0: field number 8589934591"},
        {BYTES("\x0b\x0c"), "byte 0: field 1 has wire type 3"},
        {BYTES("\x08\x01\x0f"), "byte 2: field 1 has wire type 7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int count;
        EXPECT_REFUSED(walk(cursor_on(cases[i].bytes, cases[i].size), &count, &err),
                       EMP_EFORMAT, cases[i].message);
    }
}

/* Each truncation is copied to a block of its own, so that a sanitizer sees any excess.
 */
Test(wire, refuses_every_truncation_within_a_field)
{
    SCOPED(proto_writer, proto_clear) w = {0};
    bool is_boundary[128] = {true};

    proto_string(&w, 1, "", "name");
    is_boundary[w.size] = true;
    proto_int(&w, 2, "", -1);
    is_boundary[w.size] = true;
    proto_float(&w, 3, "", 1.5F);
    is_boundary[w.size] = true;
    size_t nested = proto_begin(&w, 4, "");
    proto_string(&w, 1, "", "inner");
    proto_end(&w, nested);
    is_boundary[w.size] = true;
    cr_assert_lt(w.size, sizeof is_boundary);

    for (size_t size = 0; size <= w.size; size++) {
        char *part = malloc(size + 1);
        int   count;
        memcpy(part, w.data, size);
        part[size] = '\x01';
        part = realloc(part, size > 0 ? size : 1);
        cr_expect_eq(walk(cursor_on(part, size), &count, NULL),
                     is_boundary[size] ? EMP_OK : EMP_EFORMAT, "%zu bytes", size);
        free(part);
    }
}

Test(wire, does_not_descend_into_nested_messages)
{
    enum { DEPTH = 2000 };
    proto_writer   w = {0};
    emp_wire_field field;

    /* inside out: each level is a field 1 that holds the one before */
    for (int i = 0; i < DEPTH; i++) {
        proto_writer outer = {0};
        size_t       begin = proto_begin(&outer, 1, "");
        proto_append(&outer, w.data, w.size);
        proto_end(&outer, begin);
        proto_clear(&w);
        w = outer;
    }
    emp_cursor cursor = cursor_on(w.data, w.size);
    int        depth = 0;
    while (cursor.at < cursor.end) {
        cr_assert_eq(emp_wire_next(&cursor, &field, NULL), EMP_OK);
        cr_assert_eq(cursor.at, cursor.end, "one field is the whole message");
        cursor = cursor_on(field.bytes.data, field.bytes.size);
        depth++;
    }
    cr_expect_eq(depth, DEPTH);
    proto_clear(&w);
}

/* The bytes counted without a stream are those that a stream gets, and they are read back. */
Test(wire, writes_what_it_reads)
{
    char           bytes[64];
    FILE          *stream = fmemopen(bytes, sizeof bytes, "w");
    emp_wire_sink  counter = {0}, sink = {.stream = stream};
    emp_wire_field number, text;

    for (int i = 0; i < 2; i++) {
        emp_wire_sink *s = i == 0 ? &counter : &sink;
        emp_wire_put_number(s, 7, UINT64_MAX);
        emp_wire_put_text(s, 300, "abc");
    }
    fclose(stream);
    cr_expect_eq(counter.size, sink.size);
    emp_cursor cursor = cursor_on(bytes, sink.size);
    cr_assert_eq(emp_wire_next(&cursor, &number, NULL), EMP_OK);
    cr_assert_eq(emp_wire_next(&cursor, &text, NULL), EMP_OK);
    cr_expect_eq(number.number, 7);
    cr_expect_eq(number.bits, UINT64_MAX);
    cr_expect_eq(text.number, 300);
    cr_expect(emp_slice_is(text.bytes, "abc"));
    cr_expect_eq(cursor.at, cursor.end);
}
