// SPDX-License-Identifier: GPL-3.0-or-later
/* Is JSON read as RFC 8259 says, and is everything else refused with its line? */
#include <locale.h>

#include "base/text/json.h"
#include "tests/support/scratch.h"
#include "tests/support/survive.h"

static void tear_down(void)
{
    scratch_remove();
    expect_all_freed();
}

TestSuite(json, .init = scratch_create, .fini = tear_down);

static emp_status parse(emp_json_document *d, const char *text, emp_error *err)
{
    return emp_json_parse(d, text, strlen(text), err);
}

static void parse_good(emp_json_document *d, const char *text)
{
    emp_error err = {0};

    cr_assert_eq(parse(d, text, &err), EMP_OK, "%s: %s", text, err.msg);
}

Test(json, values_of_all_kinds_are_found_by_key_and_in_order)
{
    SCOPED(emp_json_document, emp_json_clear) d = {0};

    parse_good(&d, " {\"a\": [1, -2.5e1, []], \"b\": {\"c\": \"x\"}, \"d\": true,\n"
                   "\"e\": false, \"f\": null} ");
    const emp_json *a = emp_json_get(d.root, "a"), *first = emp_json_first(a);
    cr_assert_eq(emp_json_count(a), 3);
    cr_expect_eq(emp_json_integer(first), 1);
    cr_expect_eq(emp_json_number(first), 1.0);
    const emp_json *second = emp_json_next(first), *third = emp_json_next(second);
    cr_expect(emp_json_is(second, EMP_JSON_REAL));
    cr_expect_eq(emp_json_number(second), -25.0);
    cr_expect(emp_json_is(third, EMP_JSON_ARRAY));
    cr_expect_null(emp_json_first(third));
    cr_expect_null(emp_json_next(third));
    const emp_json *b = emp_json_next(a);
    cr_expect_str_eq(emp_json_key(b), "b");
    cr_expect_str_eq(emp_json_string(emp_json_get(b, "c")), "x");
    cr_expect(emp_json_is(emp_json_get(d.root, "d"), EMP_JSON_TRUE));
    cr_expect(emp_json_is(emp_json_get(d.root, "e"), EMP_JSON_FALSE));
    cr_expect(emp_json_is(emp_json_get(d.root, "f"), EMP_JSON_NULL));
    cr_expect_null(emp_json_next(emp_json_get(d.root, "f")));
}

Test(json, what_is_not_there_is_nothing)
{
    SCOPED(emp_json_document, emp_json_clear) d = {0};

    parse_good(&d, "[\"x\"]");
    const emp_json *none = emp_json_get(d.root, "a");
    cr_expect_null(none);
    cr_expect_null(emp_json_get(none, "a"));
    cr_expect_null(emp_json_first(none));
    cr_expect_null(emp_json_string(d.root));
    cr_expect_null(emp_json_key(emp_json_first(d.root)));
    cr_expect_eq(emp_json_count(none), 0);
    cr_expect_eq(emp_json_integer(emp_json_first(d.root)), 0);
    cr_expect_eq(emp_json_number(none), 0.0);
}

Test(json, numbers_of_64_bits_are_integers_and_others_real)
{
    static const struct {
        const char   *text;
        emp_json_kind kind;
        double        value;
    } numbers[] = {
        {"9223372036854775807", EMP_JSON_INTEGER, 9223372036854775807.0},
        {"-9223372036854775808", EMP_JSON_INTEGER, -9223372036854775808.0},
        {"9223372036854775808", EMP_JSON_REAL, 9223372036854775808.0},
        {"1.0", EMP_JSON_REAL, 1.0},
        {"-0", EMP_JSON_INTEGER, 0.0},
        {"1e-400", EMP_JSON_REAL, 0.0},
    };

    for (size_t i = 0; i < COUNT(numbers); i++) {
        SCOPED(emp_json_document, emp_json_clear) d = {0};
        parse_good(&d, numbers[i].text);
        cr_expect(emp_json_is(d.root, numbers[i].kind), "%s", numbers[i].text);
        cr_expect_eq(emp_json_number(d.root), numbers[i].value, "%s", numbers[i].text);
    }
}

/* As json.dumps() of Python writes them; they are no numbers to a reader that wants one. */
Test(json, numbers_that_are_not_finite_have_a_kind_of_their_own)
{
    SCOPED(emp_json_document, emp_json_clear) d = {0};

    parse_good(&d, "{\"a\": [NaN, Infinity, -Infinity, -1],\n\"b\": \"Infinity\"}");
    const emp_json *v = emp_json_first(emp_json_get(d.root, "a"));
    for (int i = 0; i < 3; i++, v = emp_json_next(v)) {
        cr_assert(emp_json_is(v, EMP_JSON_NOT_FINITE), "%d", i);
        cr_expect_eq(emp_json_number(v), 0.0);
        cr_expect_eq(emp_json_integer(v), 0);
    }
    cr_expect_eq(emp_json_integer(v), -1);
    cr_expect_str_eq(emp_json_string(emp_json_get(d.root, "b")), "Infinity");
}

Test(json, the_decimal_point_is_a_point_in_every_locale)
{
    SCOPED(emp_json_document, emp_json_clear) d = {0};

    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL &&
        setlocale(LC_NUMERIC, "de_DE.utf8") == NULL)
        cr_skip_test("this system has no locale with a decimal comma");
    parse_good(&d, "1.5");
    cr_expect_eq(emp_json_number(d.root), 1.5);
}

Test(json, strings_are_unescaped)
{
    SCOPED(emp_json_document, emp_json_clear) d = {0};

    parse_good(
        &d, "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e4\\u20AC\\ud83d\\ude00\xc3\xa4\"");
    cr_expect_str_eq(emp_json_string(d.root),
                     "\"\\/\b\f\n\r\tA\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa4");
}

Test(json, written_strings_are_read_again)
{
    static const char text[] = "a\"\\/\b\f\n\r\t\x01\xc3\xa4\xf0\x9f\x98\x80";
    char              written[128] = "";
    SCOPED(emp_json_document, emp_json_clear) d = {0};
    FILE *stream = fmemopen(written, sizeof written, "w");

    cr_assert_not_null(stream);
    cr_expect(emp_json_write_string(stream, text));
    cr_expect_not(emp_json_write_string(stream, "\xff"));
    cr_expect_not(emp_json_write_string(stream, "\xe2\x82"));
    fclose(stream);
    parse_good(&d, written);
    cr_expect_str_eq(emp_json_string(d.root), text);
}

static const struct {
    const char *text, *part; /* behind "line 1: " unless it says another one */
} faults[] = {
    {"", "the end of the text, expected a value"},
    {"[1,\n2", "line 2: not JSON: the end of the text"},
    {"[1 2]", "'2', expected ',' or ']'"},
    {"[1,]", "']', expected a value"},
    {"{\"a\" 1}", "'1', expected ':'"},
    {"{1}", "'1', expected a key in quotes"},
    {"{\"a\": 1, \"a\": 2}", "the key \"a\" twice"},
    {"{} {}", "'{', expected the end of the text"},
    {"01", "'0'"},
    {"1.", "'1'"},
    {"-", "'-'"},
    {"1e", "'1'"},
    {"1e999", "1e999 is too large"},
    {"nul", "'n'"},
    {"[1,\n Inf]", "line 2: not JSON: 'I'"},
    {"[NaN,\n-inf]", "line 2: not JSON: '-'"},
    {"Infinityx", "'x'"},
    {"\"a", "a string without its end"},
    {"\"\\x\"", "'x'"},
    {"\"\\u12\"", "\\u without four hexadecimal digits"},
    {"\"\\u0000\"", "a zero"},
    {"\"\\ud83d\"", "half of a pair of \\u"},
    {"\"\\ud83d\\u0041\"", "half of a pair of \\u"},
    {"\"\\ude00\"", "half of a pair of \\u"},
    {"\"\n\"", "a control character"},
    {"\"\xff\"", "not valid UTF-8"},
    {"\"\xc0\x80\"", "not valid UTF-8"},
    {"\"\xed\xa0\x80\"", "not valid UTF-8"},
    {"\x01", "byte 0x01"},
};

static void expect_fault(const char *text, const char *part)
{
    emp_json_document d = {0};

    EXPECT_REFUSED(parse(&d, text, &err), EMP_EFORMAT, part);
    emp_json_clear(&d);
    EXPECT_REFUSED(parse(&d, text, &err), EMP_EFORMAT,
                   part[0] == 'l' ? "line" : "line 1");
    cr_expect_null(d.root);
    emp_json_clear(&d);
}

Test(json, faults_are_told_with_a_line)
{
    for (size_t i = 0; i < COUNT(faults); i++)
        expect_fault(faults[i].text, faults[i].part);
}

Test(json, lists_may_be_deep_to_a_limit)
{
    emp_json_document d = {0};
    char              text[2 * EMP_JSON_DEPTH_MAX + 3] = "";

    memset(text, '[', EMP_JSON_DEPTH_MAX);
    memset(text + EMP_JSON_DEPTH_MAX, ']', EMP_JSON_DEPTH_MAX);
    parse_good(&d, text);
    emp_json_clear(&d);
    memset(text, '[', EMP_JSON_DEPTH_MAX + 1);
    memset(text + EMP_JSON_DEPTH_MAX + 1, ']', EMP_JSON_DEPTH_MAX + 1);
    expect_fault(text, "lists within lists");
}

/* An object of many keys, for which another way looks for equal ones. */
static void write_many(char *text, size_t size, int last)
{
    size_t used = (size_t)snprintf(text, size, "{\"k\": 0");

    for (int i = 0; i < 40; i++)
        used += (size_t)snprintf(text + used, size - used, ", \"k%d\": %d", i, i);
    snprintf(text + used, size - used, ", \"k%d\": 7}", last);
}

Test(json, equal_keys_are_found_among_many)
{
    emp_json_document d = {0};
    char              text[1024];

    write_many(text, sizeof text, 40);
    parse_good(&d, text);
    cr_expect_eq(emp_json_integer(emp_json_get(d.root, "k40")), 7);
    emp_json_clear(&d);
    write_many(text, sizeof text, 39);
    expect_fault(text, "\"k39\" twice");
}

/* Memory is asked for as long as the size is allowed, and this test has none to give. */
Test(json, texts_of_gigabytes_are_refused_for_their_size_only_beyond_the_limit)
{
    const size_t      sizes[] = {(size_t)3 << 30, EMP_JSON_BYTES_MAX};
    emp_json_document d = {0};

    emp_mem_fail_after(0);
    for (size_t i = 0; i < COUNT(sizes); i++)
        cr_expect_eq(emp_json_parse(&d, "", sizes[i], NULL), EMP_ENOMEM, "%zu bytes",
                     sizes[i]);
    emp_mem_fail_after(-1);
    EXPECT_REFUSED(emp_json_parse(&d, "", EMP_JSON_BYTES_MAX + 1, &err), EMP_EUNSUPPORTED,
                   "at most 17179869184");
}

Test(json, a_file_is_named_in_messages)
{
    emp_json_document d = {0};

    scratch_write("a.json", "[\n1", 3);
    EXPECT_REFUSED(emp_json_load(&d, scratch_path("a.json"), &err), EMP_EFORMAT,
                   "a.json: line 2: not JSON: ");
    emp_json_clear(&d);
    EXPECT_REFUSED(emp_json_load(&d, "/nowhere/a.json", &err), EMP_EIO,
                   "/nowhere/a.json cannot be read");
    cr_expect_eq(emp_json_load(&d, "/", NULL), EMP_EIO, "a folder");
    emp_json_clear(&d);
}

static emp_status parse_and_clear(const char *text)
{
    SCOPED(emp_json_document, emp_json_clear) d = {0};
    return parse(&d, text, NULL);
}

Test(json, survives_every_allocation_failure)
{
    char text[1024];

    write_many(text, sizeof text, 40);
    SURVIVES_EVERY_ALLOCATION_FAILURE(parse_and_clear(text), );
}

/* Reals of few digits are read without strtod(), which must make no difference. */
Test(json, reals_have_the_bits_of_the_library)
{
    static const char *const written[] = {"28679.271",
                                          "-0.1",
                                          "0.000001",
                                          "123456789012345.5",
                                          "1234567890.12345",
                                          "-0.0",
                                          "99999999999.999",
                                          "0.1234567890123456",
                                          "1.5e3",
                                          "0.30000000000000004",
                                          "-1234.5678"};

    for (size_t i = 0; i < COUNT(written); i++) {
        SCOPED(emp_json_document, emp_json_clear) d = {0};
        parse_good(&d, written[i]);
        const double got = emp_json_number(d.root), want = strtod(written[i], NULL);
        cr_expect(emp_json_is(d.root, EMP_JSON_REAL));
        cr_expect_eq(memcmp(&got, &want, sizeof got), 0, "%s: %.17g", written[i], got);
    }
}

/* Whatever stands at whichever place of the eight bytes that are looked at once. */
Test(json, special_characters_are_found_at_every_place_of_a_string)
{
    static const struct {
        const char *written, *meant;
    } special[] = {
        {"\\n", "\n"}, {"\\\"", "\""}, {"\\\\", "\\"}, {"\xC3\xA9", "\xC3\xA9"}};

    for (size_t s = 0; s < COUNT(special); s++) {
        for (int place = 0; place < 20; place++) {
            char              text[80], want[80];
            emp_json_document d = {0};
            snprintf(text, sizeof text, "[\"%.*s%s%s\", \"next\"]", place,
                     "aaaaaaaaaaaaaaaaaaaa", special[s].written, "bbbbbbbbbbbb");
            snprintf(want, sizeof want, "%.*s%s%s", place, "aaaaaaaaaaaaaaaaaaaa",
                     special[s].meant, "bbbbbbbbbbbb");
            parse_good(&d, text);
            const emp_json *first = emp_json_first(d.root);
            cr_expect_str_eq(emp_json_string(first), want);
            cr_expect_str_eq(emp_json_string(emp_json_next(first)), "next");
            emp_json_clear(&d);
            text[place + 2] = '\t';
            cr_expect_neq(parse(&d, text, NULL), EMP_OK, "a control character");
            emp_json_clear(&d);
        }
    }
}

/* The members of a long list as they were visited: "1,x,". */
typedef struct {
    char        seen[64];
    const char *source; /* of a member "args" */
} visits;

static void note_visit(void *context, const emp_json_document *d, const emp_json *member)
{
    visits         *v = context;
    const emp_json *args = emp_json_get(member, "args");

    cr_expect_not_null(d->text);
    snprintf(v->seen + strlen(v->seen), sizeof v->seen - strlen(v->seen), "%s,",
             emp_json_string(emp_json_get(member, "n")));
    if (args != NULL) v->source = emp_json_source(args);
}

static emp_status visit(emp_json_document *d, visits *v, const char *text, emp_error *err)
{
    char *bytes = emp_strdup(text);

    return emp_json_parse_visiting(d, &bytes, strlen(text), "list", note_visit, v, err);
}

Test(json, a_long_list_is_visited_and_only_its_first_member_stays)
{
    static const char members[] =
        "[{\"n\": \"a\"}, {\"n\": \"b\", \"list\": [7]}, {\"n\": \"c\"}]";
    char text[256];

    snprintf(text, sizeof text, "{\"x\": [1, 2], \"list\": %s, \"z\": [3, 4]}", members);
    for (int is_root = 0; is_root < 2; is_root++) {
        SCOPED(emp_json_document, emp_json_clear) d = {0};
        visits v = {0};
        ASSERT_OK(visit(&d, &v, is_root ? members : text, &err));
        cr_expect_str_eq(v.seen, "a,b,c,");
        const emp_json *list = is_root ? d.root : emp_json_get(d.root, "list");
        const emp_json *first = emp_json_first(list);
        cr_expect_eq(emp_json_count(list), 1);
        cr_expect_str_eq(emp_json_string(emp_json_get(first, "n")), "a");
        cr_expect_null(emp_json_next(first));
        cr_expect(is_root || emp_json_count(emp_json_get(d.root, "x")) == 2);
        cr_expect(is_root || emp_json_count(emp_json_get(d.root, "z")) == 2);
    }
}

Test(json, a_member_that_was_dropped_is_read_again)
{
    SCOPED(emp_json_document, emp_json_clear) d = {0}, again = {0};
    visits    v = {0};
    emp_error err = {0};

    cr_assert_eq(
        visit(&d, &v,
              "[1, {\"n\": \"a\", \"\\u0061rgs\" : {\"t\\u0041\": [\"\\u00e9:\\\"\", "
              "2.5], \"u\": {}}}, {\"n\": \"b\"}]",
              &err),
        EMP_OK, "%s", err.msg);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(emp_json_parse_again(&again, &d, v.source, &err), EMP_OK);
        const emp_json *list = emp_json_first(emp_json_get(again.root, "tA"));
        cr_assert_not_null(list);
        cr_expect_str_eq(emp_json_string(list), "\xc3\xa9:\"");
        cr_expect_eq(emp_json_number(emp_json_next(list)), 2.5);
        cr_expect(emp_json_is(emp_json_get(again.root, "u"), EMP_JSON_OBJECT));
        cr_expect_eq(emp_json_count(again.root), 2);
    }
    emp_json_clear(&again);
}

Test(json, faults_of_a_visited_list_have_their_line)
{
    SCOPED(emp_json_document, emp_json_clear) d = {0};
    visits    v = {0};
    emp_error err = {0};

    cr_expect_eq(visit(&d, &v, "{\"list\": [{},\n{},\n{\"a\":1,\"a\":1}]}", &err),
                 EMP_EFORMAT);
    cr_expect_not_null(strstr(err.msg, "line 3: not JSON: an object has the key"), "%s",
                       err.msg);
}
