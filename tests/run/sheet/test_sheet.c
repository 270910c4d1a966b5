// SPDX-License-Identifier: GPL-3.0-or-later
/* A sheet in all its forms: plain, spread, and several in a chain; what is missing or infinite,
 * marked or a range; that an error while it was built is reported when it is printed. */
#include <errno.h>

#include "run/sheet/sheet.h"
#include "tests/test.h"

static const emp_sheet_column plain[] = {
    EMP_COLUMN("name", "name", EMP_SHEET_WORD),
    EMP_COLUMN("count", "count", EMP_SHEET_COUNT),
    EMP_COLUMN("step_s", "step", EMP_SHEET_SECONDS),
    EMP_COLUMN("share", "share", EMP_SHEET_SHARE),
    EMP_COLUMN("fits", "fits", EMP_SHEET_FLAG),
    EMP_COLUMN("hash", NULL, EMP_SHEET_HASH),
    EMP_COLUMN("extra", "extra", EMP_SHEET_WORD, .is_optional = true)};

static void identify(emp_sheet *s)
{
    s->command = "made here";
    s->version = "1.2.3";
    s->commit = "c0ffee";
    s->is_dirty = false;
}

static void fill_plain(emp_sheet *s)
{
    emp_sheet_init(s, plain, sizeof plain / sizeof *plain);
    identify(s);
    EMP_SHEET_ADD(s, EMP_V("a, \"b\""), EMP_V(3), EMP_V(0.25), EMP_V(0.5), EMP_V(true),
                  EMP_V((uint64_t)255), EMP_NONE);
    EMP_SHEET_ADD(s, EMP_V("c"), EMP_NONE, EMP_V(INFINITY), EMP_V(NAN), EMP_V(false),
                  EMP_V((uint64_t)1), EMP_NONE);
    emp_sheet_note(s, "A note of %d words.", 5);
}

static const emp_sheet_column spread[] = {
    EMP_COLUMN("task", "", EMP_SHEET_WORD, EMP_SHEET_ROW),
    EMP_COLUMN("method", "", EMP_SHEET_WORD, EMP_SHEET_ACROSS),
    EMP_COLUMN("s", "ours", EMP_SHEET_REAL, .width = 6, .mark = 1, .low = "low_s",
               .high = "high_s"),
    EMP_COLUMN(NULL, "paper", EMP_SHEET_REAL, .form = "%.2f"),
    EMP_COLUMN("rank", "rank", EMP_SHEET_COUNT, EMP_SHEET_END)};

static void fill_spread(emp_sheet *s)
{
    emp_sheet_init(s, spread, sizeof spread / sizeof *spread);
    identify(s);
    EMP_SHEET_ADD(s, EMP_V("one"), EMP_V("gpu"), emp_value_range(1.5, 1.25, 2.0),
                  EMP_V(1.0), EMP_V(1));
    EMP_SHEET_ADD(s, EMP_V("one"), EMP_V("cpu"), emp_value_marked(EMP_V(120.0), "*"),
                  EMP_NONE, EMP_V(1));
    EMP_SHEET_ADD(s, EMP_V("two"), EMP_V("gpu"), EMP_V(INFINITY), EMP_V(NAN), EMP_V(2));
}

static char *print(const emp_sheet *s, emp_sheet_format format)
{
    return PRINTED(emp_sheet_print(out, s, format, &err));
}

static void expect_printed(const emp_sheet *s, emp_sheet_format format, const char *want)
{
    char *got = print(s, format);

    cr_expect_str_eq(got, want, "%s", got);
}

Test(sheet, plain_has_a_line_a_line)
{
    emp_sheet s;

    fill_plain(&s);
    expect_printed(&s, EMP_SHEET_TEXT,
                   "name    count    step   share  fits\n"
                   "a, \"b\"      3  250 ms  50.0 %   yes\n"
                   "c                 OOM       -    no\n"
                   "\n"
                   "  A note of 5 words.\n"
                   "  Made by: made here (emplace 1.2.3, commit c0ffee).\n");
    expect_printed(&s, EMP_SHEET_MD,
                   "| name | count | step | share | fits |\n"
                   "| --- | --- | --- | --- | --- |\n"
                   "| a, \"b\" | 3 | 250 ms | 50.0 % | yes |\n"
                   "| c |  | OOM | - | no |\n"
                   "\n"
                   "- A note of 5 words.\n"
                   "- Made by: made here (emplace 1.2.3, commit c0ffee).\n");
    expect_printed(&s, EMP_SHEET_CSV,
                   "# made by: made here\n"
                   "name,count,step_s,share,fits,hash,commit,dirty\n"
                   "\"a, \"\"b\"\"\",3,0.25,0.5,1,00000000000000ff,c0ffee,0\n"
                   "c,,OOM,,0,0000000000000001,c0ffee,0\n");
    emp_sheet_clear(&s);
    cr_expect_eq(emp_mem_live_blocks(), 0);
}

/* A sheet of one line without notes is printed so. */
#define EXPECT_LINE(columns, format, want, ...) \
    do {                                        \
        emp_sheet line_;                        \
        EMP_SHEET_INIT(&line_, columns);        \
        identify(&line_);                       \
        line_.is_bare = true;                   \
        EMP_SHEET_ADD(&line_, __VA_ARGS__);     \
        expect_printed(&line_, format, want);   \
        emp_sheet_clear(&line_);                \
    } while (0)

/* Steps of milliseconds differ in the digits that three places would cut; longer ones look as ever. */
Test(sheet, fine_numbers_have_four_digits_below_1)
{
    static const emp_sheet_column columns[] = {
        EMP_COLUMN("s", "s", EMP_SHEET_REAL, .is_fine = true, .low = "low",
                   .high = "high", .range = EMP_SHEET_BEHIND)};
    static const struct {
        double      value;
        const char *printed;
    } cases[] = {{0.0246149, "| s |\n| --- |\n| 0.02461 |\n\n"},
                 {0.0000123456, "| s |\n| --- |\n| 0.00001235 |\n\n"},
                 {0.999951, "| s |\n| --- |\n| 1.0000 |\n\n"},
                 {1.234567, "| s |\n| --- |\n| 1.23 |\n\n"},
                 {123.456, "| s |\n| --- |\n| 123.5 |\n\n"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT_LINE(columns, EMP_SHEET_MD, cases[i].printed, EMP_V(cases[i].value));
    EXPECT_LINE(columns, EMP_SHEET_MD,
                "| s |\n| --- |\n| 0.007120 [0.006400-0.007200] |\n\n",
                emp_value_range(0.00712, 0.0064, 0.0072));
}

/* Programs get what people see rounded. */
Test(sheet, people_see_units_and_no_exponents)
{
    static const emp_sheet_column columns[] = {
        EMP_COLUMN("step_s", "step", EMP_SHEET_SECONDS),
        EMP_COLUMN("peak_bytes", "peak", EMP_SHEET_BYTES),
        EMP_COLUMN("off", "off", EMP_SHEET_CHANGE),
        EMP_COLUMN("rate", "rate", EMP_SHEET_REAL, .digits = 4),
        EMP_COLUMN("p", "p", EMP_SHEET_REAL, .digits = 2)};

    EXPECT_LINE(columns, EMP_SHEET_TEXT,
                "step     peak      off    rate         p\n"
                " 1 s  128 MiB  -12.5 %  123456  0.000013\n\n",
                EMP_V(0.9996), EMP_V(INT64_C(134217728)), EMP_V(-0.125), EMP_V(123456.0),
                EMP_V(0.0000125));
    EXPECT_LINE(columns, EMP_SHEET_CSV,
                "# made by: made here\nstep_s,peak_bytes,off,rate,p,commit,dirty\n"
                "0.9996,134217728,-0.125,123456,1.25e-05,c0ffee,0\n",
                EMP_V(0.9996), EMP_V(INT64_C(134217728)), EMP_V(-0.125), EMP_V(123456.0),
                EMP_V(0.0000125));
}

Test(sheet, what_never_comes_is_not_out_of_memory)
{
    static const emp_sheet_column columns[] = {
        EMP_COLUMN("equal", "N_eq", EMP_SHEET_REAL, .infinite = "never")};

    EXPECT_LINE(columns, EMP_SHEET_TEXT, " N_eq\nnever\n\n", EMP_V(INFINITY));
    EXPECT_LINE(columns, EMP_SHEET_CSV,
                "# made by: made here\nequal,commit,dirty\ninf,c0ffee,0\n",
                EMP_V(INFINITY));
}

Test(sheet, markdown_escapes_bars)
{
    static const emp_sheet_column columns[] = {
        EMP_COLUMN("a", "a|b", EMP_SHEET_WORD, EMP_SHEET_ROW),
        EMP_COLUMN("g", "", EMP_SHEET_WORD, EMP_SHEET_ACROSS),
        EMP_COLUMN("c", "", EMP_SHEET_WORD)};

    EXPECT_LINE(columns, EMP_SHEET_MD,
                "| a\\|b | g\\|h |\n| --- | --- |\n| x\\|y | \\| \\| |\n\n", EMP_V("x|y"),
                EMP_V("g|h"), EMP_V("|\n|"));
}

/* Ranges wider than their columns stand behind each other, a blank between them. */
Test(sheet, ranges_that_collide_stay_apart)
{
    static const emp_sheet_column columns[] = {
        EMP_COLUMN("a", "a", EMP_SHEET_REAL, .low = "al", .high = "ah"),
        EMP_COLUMN("b", "b", EMP_SHEET_REAL, .low = "bl", .high = "bh"),
        EMP_COLUMN("c", "c", EMP_SHEET_REAL, .low = "cl", .high = "ch")};

    EXPECT_LINE(columns, EMP_SHEET_TEXT,
                "   a     b     c\n1.00  3.00  5.00\n"
                "  1.00-2.00 3.00-4.00 5.00-6.00\n\n",
                emp_value_range(1, 1, 2), emp_value_range(3, 3, 4),
                emp_value_range(5, 5, 6));
}

Test(sheet, spread_has_groups_of_columns)
{
    SCOPED(emp_sheet, emp_sheet_clear) s;

    fill_spread(&s);
    expect_printed(&s, EMP_SHEET_TEXT,
                   "       gpu            cpu\n"
                   "         ours  paper    ours   rank\n"
                   "one      1.50   1.00   120.0*     1\n"
                   "         1.25-2.00\n"
                   "two       OOM      -              2\n"
                   "\n"
                   "  Made by: made here (emplace 1.2.3, commit c0ffee).\n");
    expect_printed(&s, EMP_SHEET_MD,
                   "| | gpu | paper | cpu | rank |\n"
                   "| --- | --- | --- | --- | --- |\n"
                   "| one | 1.50 [1.25-2.00] | 1.00 | 120.0* | 1 |\n"
                   "| two | OOM | - |  | 2 |\n"
                   "\n"
                   "- Made by: made here (emplace 1.2.3, commit c0ffee).\n");
    expect_printed(&s, EMP_SHEET_CSV,
                   "# made by: made here\n"
                   "task,method,s,low_s,high_s,rank,commit,dirty\n"
                   "one,gpu,1.5,1.25,2,1,c0ffee,0\n"
                   "one,cpu,120,,,1,c0ffee,0\n"
                   "two,gpu,OOM,,,2,c0ffee,0\n");
}

Test(sheet, json_nests_what_is_spread)
{
    SCOPED(emp_sheet, emp_sheet_clear) s;

    fill_spread(&s);
    emp_sheet_set_facts(&s, json_pack("{s:s}", "runtime", "ideal"));
    char   *text = print(&s, EMP_SHEET_JSON);
    json_t *root = json_loads(text, 0, NULL), *rows = json_object_get(root, "rows");
    json_t *row = json_array_get(rows, 0);
    json_t *cell = json_array_get(json_object_get(row, "cells"), 0);
    cr_expect_str_eq(json_string_value(json_object_get(root, "runtime")), "ideal");
    cr_expect_str_eq(json_string_value(json_object_get(root, "commit")), "c0ffee");
    cr_expect_eq(json_array_size(rows), 2);
    cr_expect_str_eq(json_string_value(json_object_get(row, "task")), "one");
    cr_expect_eq(json_integer_value(json_object_get(row, "rank")), 1);
    cr_expect_str_eq(json_string_value(json_object_get(cell, "method")), "gpu");
    cr_expect_eq(json_real_value(json_object_get(cell, "high_s")), 2.0);
    json_decref(root);
    s.is_keyed = true;
    rows = emp_sheet_rows(&s);
    cell = json_object_get(json_object_get(json_array_get(rows, 1), "cells"), "gpu");
    cr_expect_str_eq(json_string_value(json_object_get(cell, "s")), "OOM");
    json_decref(rows);
}

Test(sheet, sheets_in_a_chain_are_one_csv_and_a_list)
{
    emp_sheet first, second;

    fill_spread(&first);
    fill_spread(&second);
    first.next = &second;
    first.list = "parts";
    char *csv = print(&first, EMP_SHEET_CSV), *text = print(&first, EMP_SHEET_JSON);
    cr_expect_null(strstr(strstr(csv, "task,"), "\ntask,"), "one head");
    cr_expect_not_null(strstr(strstr(csv, "two,gpu"), "one,gpu"));
    json_t *root = json_loads(text, 0, NULL);
    cr_expect_eq(json_array_size(json_object_get(root, "parts")), 2);
    json_decref(root);
    emp_sheet_clear(&first);
    emp_sheet_clear(&second);
}

/* Alone, and as the first of two. */
Test(sheet, a_partial_table_says_so_in_every_format)
{
    static const char *const want[] = {
        [EMP_SHEET_TEXT] = "  Partial: 1 of 54 runs was made.\n  A note of 5 words.",
        [EMP_SHEET_MD] = "- Partial: 1 of 54 runs was made.\n",
        [EMP_SHEET_CSV] = "# made by: made here\n# partial: 1 of 54 runs was made\n",
        [EMP_SHEET_JSON] =
            "\"partial\": {\n    \"runs_made\": 1,\n    \"runs_planned\": 54\n"};
    emp_sheet first, second;

    for (int i = 0; i < 16; i++) {
        const bool is_partial = i % 2 == 0;
        EMP_SHEET_INIT(&first, plain);
        identify(&first);
        EMP_SHEET_INIT(&second, plain);
        emp_sheet_set_runs(&first, is_partial ? 1 : 54, 54);
        emp_sheet_note(&first, "A note of %d words.", 5);
        if (i / 8 == 1) first.next = &second;
        char *text = print(&first, (emp_sheet_format)(i / 2 % 4));
        cr_expect_eq(strstr(text, want[i / 2 % 4]) != NULL, is_partial, "%s", text);
        cr_expect_eq(strstr(text, "artial") != NULL, is_partial, "%s", text);
        emp_sheet_clear(&first);
        emp_sheet_clear(&second);
    }
}

static void write_plain(FILE *out, const char *text) { fputs(text, out); }

Test(sheet, a_page_has_its_best_row_set_off)
{
    static const char *const parts[] = {
        "<th colspan=\"2\">gpu</th><th colspan=\"1\">cpu</th>",
        "<td>1.50<small>1.25-2.00</small></td>",
        "<tr class=\"best\"><td class=\"text wrap\">two</td>",
        "<p class=\"how\">A note.</p>"};
    SCOPED(emp_sheet, emp_sheet_clear) s;

    fill_spread(&s);
    s.best_line = 2;
    emp_sheet_note(&s, "A note.");
    char *text = PRINTED(emp_sheet_print_html(out, &s, write_plain, &err));
    for (int i = 0; i < 4; i++) cr_expect_not_null(strstr(text, parts[i]), "%s", text);
}

Test(sheet, wide_ones_are_printed_in_blocks)
{
    SCOPED(emp_sheet, emp_sheet_clear) s;

    emp_sheet_init(&s, spread, sizeof spread / sizeof *spread);
    for (int i = 0; i < 40; i++) {
        EMP_SHEET_ADD(&s, EMP_V("one"), EMP_V(scratch_print("method %d", i)), EMP_V(1.0),
                      EMP_V(2.0), EMP_V(1));
    }
    char *text = print(&s, EMP_SHEET_TEXT);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        cr_expect_leq(strlen(line), 120, "%s", line);
}

static void expect_defect(emp_sheet *s)
{
    static const emp_sheet_format formats[] = {EMP_SHEET_TEXT, EMP_SHEET_MD,
                                               EMP_SHEET_CSV, EMP_SHEET_JSON};
    char                         *text = NULL;
    size_t                        size = 0;
    FILE                         *out = open_memstream(&text, &size);

    for (int i = 0; i < 4; i++)
        cr_expect_eq(emp_sheet_print(out, s, formats[i], NULL), EMP_EINVAL);
    cr_expect_eq(emp_sheet_print_html(out, s, NULL, NULL), EMP_EINVAL);
    cr_expect_null(emp_sheet_rows(s));
    fclose(out);
    cr_expect_eq(size, 0, "%s", text);
    free(text);
    emp_sheet_clear(s);
}

Test(sheet, has_room_for_so_many_columns_and_a_value_in_each)
{
    static emp_sheet_column many[EMP_SHEET_COLUMNS + 1];
    emp_sheet               s;

    for (int c = 0; c <= EMP_SHEET_COLUMNS; c++)
        many[c] = (emp_sheet_column)EMP_COLUMN("k", "t", EMP_SHEET_WORD);
    emp_sheet_init(&s, many, EMP_SHEET_COLUMNS);
    (void)(print(&s, EMP_SHEET_CSV));
    emp_sheet_add_column(&s, many[0]);
    expect_defect(&s);
    emp_sheet_init(&s, many, EMP_SHEET_COLUMNS + 1);
    EMP_SHEET_ADD(&s, EMP_V("word"));
    expect_defect(&s);
    fill_plain(&s);
    EMP_SHEET_ADD(&s, EMP_V("alone"));
    expect_defect(&s);
    fill_plain(&s);
    emp_sheet_add_column(&s, (emp_sheet_column)EMP_COLUMN("late", NULL, EMP_SHEET_WORD));
    expect_defect(&s);
}

Test(sheet, what_cannot_be_written_is_told)
{
    emp_sheet        s;
    emp_sheet_format format;

    fill_plain(&s);
    for (int i = 0; i <= 4; i++) {
        FILE *out = fopen("/dev/full", "w");
        cr_assert_not_null(out);
        setvbuf(out, NULL, _IONBF, 0);
        EXPECT_REFUSED(i < 4 ? emp_sheet_print(out, &s, (emp_sheet_format)i, &err)
                             : emp_sheet_print_html(out, &s, write_plain, &err),
                       EMP_EIO, "");
        fclose(out);
    }
    emp_sheet_clear(&s);
    EMP_SHEET_INIT(&s, plain);
    EMP_SHEET_ADD(&s, EMP_V("\xff"), EMP_NONE, EMP_NONE, EMP_NONE, EMP_NONE, EMP_NONE,
                  EMP_NONE);
    EXPECT_REFUSED(emp_sheet_print(stdout, &s, EMP_SHEET_JSON, &err), EMP_EINVAL,
                   "UTF-8");
    emp_sheet_clear(&s);
    EXPECT_REFUSED(emp_sheet_format_parse(&format, "latex", &err), EMP_EINVAL,
                   "\"latex\"");
    ASSERT_OK(emp_sheet_format_parse(&format, "md", &err));
    cr_expect_eq(format, EMP_SHEET_MD);
}

/* All that jansson allocates comes from here, too, so that it fails as the rest does. */
static void *json_allocate(size_t bytes)
{
    void *block = emp_calloc(1, bytes);

    if (block == NULL) errno = ENOMEM;
    return block;
}

static void fill_all(emp_sheet first[2])
{
    fill_spread(&first[0]);
    fill_spread(&first[1]);
    emp_sheet_set_facts(&first[0], json_pack("{s:s}", "runtime", "ideal"));
    emp_sheet_set_head(&first[0], json_pack("{s:i}", "seeds", 5));
    first[0].next = &first[1];
    first[1].is_keyed = true;
    first[1].cells = NULL;
}

Test(sheet, every_allocation_failure_is_told_when_printed)
{
    FILE *out = fopen("/dev/null", "w");

    json_set_alloc_funcs(json_allocate, emp_free);
    for (int format = EMP_SHEET_TEXT; format <= EMP_SHEET_JSON; format++) {
        emp_status st = EMP_ENOMEM;
        for (long allowed = 0; st != EMP_OK; allowed++) {
            emp_sheet s[2];
            emp_mem_fail_after(allowed);
            fill_all(s);
            st = emp_sheet_print(out, s, (emp_sheet_format)format, NULL);
            emp_mem_fail_after(-1);
            cr_assert(st == EMP_OK || st == EMP_ENOMEM, "%ld: %s", allowed,
                      emp_status_str(st));
            emp_sheet_clear(&s[0]);
            emp_sheet_clear(&s[1]);
            cr_assert_eq(emp_mem_live_blocks(), 0);
        }
    }
    fclose(out);
}

/* Its facts say it of all lines. */
Test(sheet, columns_of_csv_alone_are_not_in_json)
{
    static const emp_sheet_column columns[] = {
        EMP_COLUMN("machine", NULL, EMP_SHEET_WORD, .is_csv_only = true, .low = "low",
                   .high = "high"),
        EMP_COLUMN("count", "count", EMP_SHEET_COUNT)};
    SCOPED(emp_sheet, emp_sheet_clear) s;

    EMP_SHEET_INIT(&s, columns);
    EMP_SHEET_ADD(&s, EMP_V("k40x2"), EMP_V(3));
    char *csv = print(&s, EMP_SHEET_CSV), *json = print(&s, EMP_SHEET_JSON);
    cr_expect_not_null(strstr(csv, "\nmachine,low,high,count,"), "%s", csv);
    cr_expect_not_null(strstr(csv, "\nk40x2,,,3,"), "%s", csv);
    cr_expect_null(strstr(json, "k40x2"), "%s", json);
    cr_expect_null(strstr(json, "low"), "%s", json);
    cr_expect_not_null(strstr(json, "\"count\": 3"), "%s", json);
}
