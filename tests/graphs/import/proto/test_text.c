// SPDX-License-Identifier: GPL-3.0-or-later
// The text cursor: the syntax it takes, and that damaged text is named by its line.
#include "base/mem.h"
#include "graphs/import/proto/message.h"
#include "tests/test.h"

static emp_text_body open_text(const char *text)
{
    return emp_text_open(text, (emp_slice){text, strlen(text)});
}

static emp_text_field next(emp_text_body *text)
{
    emp_text_field field = {0};
    bool           found = false;

    ASSERT_OK(emp_text_next(text, &field, &found, &err));
    cr_assert(found);
    return field;
}

static void expect_end(emp_text_body *text)
{
    emp_text_field field;
    bool           found = true;

    cr_expect_eq(emp_text_next(text, &field, &found, NULL), EMP_OK);
    cr_expect_not(found);
}

static int64_t integer(const emp_text_field *field)
{
    int64_t value = 0;

    ASSERT_OK(emp_text_integer(field, &value, &err));
    return value;
}

/* The fields that are read, with blanks between: names, and values in brackets; messages in braces. */
static void expect_fields(const char *source, const char *want)
{
    emp_text_body text = open_text(source);
    char          got[256] = "";
    bool          found = true;

    for (;;) {
        emp_text_field field = {0};
        size_t         used = strlen(got);
        ASSERT_OK(emp_text_next(&text, &field, &found, &err));
        if (!found) break;
        bool is_message = field.kind == EMP_TEXT_MESSAGE;
        snprintf(got + used, sizeof got - used, "%.*s%s%s%.*s%s ",
                 EMP_SLICE_ARG(field.name), is_message ? "{" : "(",
                 field.is_negative ? "-" : "", EMP_SLICE_ARG(field.value),
                 is_message ? "}" : ")");
    }
    cr_expect_str_eq(got, want, "%s", got);
}

Test(text, reads_scalars_strings_messages_and_lists)
{
    expect_fields(
        "# a comment { \" \n"
        "name: \"x\" op:'y'\n"
        "size: -3; attr { key: \"}\" } attr: < k { } >, end: true",
        "name(\"x\") op('y') size(-3) attr{ key: \"}\" } attr{ k { } } end(true) ");
    expect_fields("i: [1, -2,3] m [ {a: 1}, <> ] e: [] s: ['a' 'b', \"c\"]",
                  "i(1) i(-2) i(3) m{a: 1} m{} s('a' 'b') s(\"c\") ");
    /* extensions and Any */
    expect_fields("[type.googleapis.com/x.Y] { a: 1 } [x.y]: 2 z: 3",
                  "[type.googleapis.com/x.Y]{ a: 1 } [x.y](2) z(3) ");
}

Test(text, reads_numbers_as_integers)
{
    const struct {
        const char *text;
        int64_t     value;
    } cases[] = {
        {"0", 0},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"0x7F", 127},
        {"-0x10", -16},
        {"017", 15},
        {"2.75", 2},
        {"-1.5e2", -150},
        {"1E+2", 100},
        {"3f", 3},
        {"2.5f", 2},
        {".5", 0},
        {"- 7", -7},
        {"inf", INT64_MAX},
        {"-inf", INT64_MIN},
        {"nan", 0},
        {"18446744073709551615", INT64_MAX},
        {"true", 1},
        {"false", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        emp_text_body  text = open_text(scratch_print("v: %s", cases[i].text));
        emp_text_field field = next(&text);
        cr_expect_eq(integer(&field), cases[i].value, "%s", cases[i].text);
        expect_end(&text);
    }
}

Test(text, refuses_words_as_numbers)
{
    const char *words[] = {
        "v: DT_FLOAT",
        "v: 12x",
        "v: 1.5ff",
        "v: 'a'",
        "v: f",
        "v: 10000000000000000000000000000000000000000000000000000000000000000"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        emp_text_body  text = open_text(words[i]);
        emp_text_field field = next(&text);
        int64_t        value;
        cr_expect_eq(emp_text_integer(&field, &value, NULL), EMP_EFORMAT, "%s", words[i]);
    }
}

Test(text, unquotes_escapes_and_concatenations)
{
    const struct {
        const char *literals, *want;
        size_t      size;
    } cases[] = {
        {"\"plain\"", "plain", 5},
        {"'it is \"so\"'", "it is \"so\"", 10},
        {"\"\"", "", 0},
        {"\"a\\n\\t\\\\\\\"\\'\"", "a\n\t\\\"'", 6},
        {"\"\\000\\010\\377\"", "\0\10\377", 3},
        {"\"\\0001\\x41\\X4z\"", "\0001A\4z", 5},
        {"\"a\" 'b'\n# c 'd'\n\"e\"", "abe", 3},
        {"'\\a\\b\\f\\r\\v\\?'", "\a\b\f\r\v?", 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        emp_text_body  text = open_text(scratch_print("v: %s", cases[i].literals));
        emp_text_field field = next(&text);
        SCOPED(emp_arena, emp_arena_clear) scratch = {0};
        emp_slice got = {0};
        cr_assert_eq(emp_text_unquote(field.value, &scratch, &got, NULL), EMP_OK);
        cr_assert_eq(got.size, cases[i].size, "%s: %zu bytes", cases[i].literals,
                     got.size);
        cr_expect_eq(memcmp(got.data, cases[i].want, got.size), 0, "%s",
                     cases[i].literals);
    }
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

static emp_status walk(const char *origin, emp_slice body, emp_error *err)
{
    emp_text_body  text = emp_text_open(origin, body);
    emp_text_field field;
    emp_status     st;
    bool           found;

    while ((st = emp_text_next(&text, &field, &found, err)) == EMP_OK && found) {
        if (field.kind == EMP_TEXT_MESSAGE) st = walk(origin, field.value, err);
        if (st != EMP_OK) return st;
    }
    return st;
}

Test(text, names_the_line_of_what_is_wrong)
{
    const struct {
        const char *text, *message;
    } cases[] = {
        {"a: 1\nb {\n c: 2\n", "line 2: '{'"},
        {"a: 1\nb { c: 2 >", "line 2: '>'"},
        {"a: \"open", "line 1: a string without its closing \""},
        {"a: 'open\\'", "line 1: a string without its closing '"},
        {"a:", "line 1: '' where the value of \"a\""},
        {"a: }", "line 1: '}' where the value of \"a\""},
        {"\n\na 1", "line 3: '1' after \"a\""},
        {"node1 -- Input", "line 1: '--' after \"node1\""},
        {"a: 1 }", "line 1: '}'"},
        {"a: [1, 2", "line 1: '' where the value of \"a\""},
        {"a: [1, [2]]", "line 1: '[2]]'"},
        {"a\n{\n!!\n}", "line 3: '!!'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        EXPECT_REFUSED(
            walk(cases[i].text, (emp_slice){cases[i].text, strlen(cases[i].text)}, &err),
            EMP_EFORMAT, cases[i].message);
    }
}

Test(text, refuses_what_is_nested_too_deep)
{
    enum { LEVELS = 100000 };
    char *bomb = malloc(2 * LEVELS + 1);

    for (int i = 0; i < LEVELS; i++) memcpy(bomb + 2 * i, "a{", 2);
    bomb[2 * LEVELS] = '\0';
    EXPECT_REFUSED(walk(bomb, (emp_slice){bomb, 2 * LEVELS}, &err), EMP_EFORMAT,
                   "line 1: nested");
    free(bomb);
}

Test(text, survives_every_truncation)
{
    const char whole[] =
        "a { b: \"x\\n\" 'y' c: [1, -2.5e+3] } d < e { f: DT_FLOAT } > # end\n"
        "[g.h]: inf";

    for (size_t size = 0; size < sizeof whole; size++) {
        char *part = malloc(size + 1);
        memcpy(part, whole, size);
        part = realloc(part, size > 0 ? size : 1);
        emp_status st = walk(part, (emp_slice){part, size}, NULL);
        cr_expect(st == EMP_OK || st == EMP_EFORMAT, "%zu bytes", size);
        free(part);
    }
}
