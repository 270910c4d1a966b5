// SPDX-License-Identifier: GPL-3.0-or-later
/* Does no control character of a file reach a terminal, and stays all other text as it is? */
#include <unistd.h>

#include "base/io/terminal.h"
#include "tests/support/survive.h"

static const char *clean_of(const char *text, bool is_page)
{
    static char clean[256];
    uint16_t    before = 0;

    emp_text_clean(clean, text, strlen(text), is_page, &before);
    return clean;
}

/* Control characters are spelt out, as are marks that turn the direction: "gnp.exe" behind one is read
 * as "exe.png". Other text stays. */
static const struct {
    const char *text;
    bool        is_page;
    const char *clean;
} cases[] = {
    {"a\x1b[2Jb\x7f\r", false, "a\\x1b[2Jb\\x7f\\x0d"},
    {"two\nlines\t", false, "two\\nlines\\x09"},
    {"two\nlines\t\b", true, "two\nlines\t\\x08"},
    {"\xc2\x9b[31m", false, "\xc2\\x9b[31m"},
    {"a\xe2\x80\xae.b", true, "a\xe2\x80\\xae.b"},
    {"\xe2\x80\xa8 \xe2\x81\xa6 \xe2\x81\xa9", false,
     "\xe2\x80\\xa8 \xe2\x81\\xa6 \xe2\x81\\xa9"},
    {"\xe2\x80\xa7 \xe2\x81\xaa \xe2\x82\xa9", false,
     "\xe2\x80\xa7 \xe2\x81\xaa \xe2\x82\xa9"},
    {"layer/\xce\xb1 \xc3\x9b \xe2\x82\xac", false,
     "layer/\xce\xb1 \xc3\x9b \xe2\x82\xac"},
};

Test(clean, what_would_command_a_terminal_is_spelt_out)
{
    for (size_t i = 0; i < COUNT(cases); i++)
        cr_expect_str_eq(clean_of(cases[i].text, cases[i].is_page), cases[i].clean, "%zu",
                         i);
}

Test(clean, pieces_are_one_text)
{
    char     clean[32];
    uint16_t before = 0;

    emp_text_clean(clean, "\xc2", 1, true, &before);
    emp_text_clean(clean, "\x9b", 1, true, &before);
    cr_expect_str_eq(clean, "\\x9b");
}

Test(clean, a_stream_to_a_terminal_is_cleaned)
{
    int   fd[2];
    char  got[64] = "";
    FILE *stream;

    cr_assert_eq(pipe(fd), 0);
    cr_assert_not_null(stream = emp_terminal_open(fd[1]));
    cr_expect_gt(fprintf(stream, "%s\n", "name\x1b[31m"), 0);
    cr_expect_eq(fflush(stream), 0);
    cr_expect_gt(read(fd[0], got, sizeof got - 1), 0);
    cr_expect_str_eq(got, "name\\x1b[31m\n");
    close(fd[0]);
    close(fd[1]);
    fclose(stream);
}
