// SPDX-License-Identifier: GPL-3.0-or-later
/* Can text of a record become markup, or break the page? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plots/html.h"

static void expect_text(const char *text, const char *written)
{
    char  *got = NULL;
    size_t size = 0;
    FILE  *file = open_memstream(&got, &size);

    emp_html_text(file, text);
    fclose(file);
    cr_expect_str_eq(got, written);
    free(got);
}

Test(html, markup_is_escaped)
{
    expect_text("<script>alert(\"1\" & '2')</script>",
                "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;");
    expect_text("&amp;", "&amp;amp;");
    expect_text("", "");
}

Test(html, characters_of_any_language_stay)
{
    expect_text("é–漢\xf0\x9f\x98\x80 a\tb\nc", "é–漢\xf0\x9f\x98\x80 a\tb\nc");
}

Test(html, what_is_no_character_is_replaced)
{
    const char *replaced = "a\xef\xbf\xbd"
                           "b";

    expect_text("a\x01"
                "b",
                replaced); /* a control character */
    expect_text("a\xff"
                "b",
                replaced);                               /* no UTF-8 */
    expect_text("a\xc3", "a\xef\xbf\xbd");               /* cut off */
    expect_text("\xc0\xbc", "\xef\xbf\xbd\xef\xbf\xbd"); /* '<' in two bytes */
    expect_text("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
    expect_text("\xef\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* U+FFFF */
    expect_text("\xf4\x90\x80\x80",
                "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* above U+10FFFF */
}

Test(html, bytes_become_base64)
{
    static const struct {
        const char *bytes, *digits;
    } vector[] = {{"", ""},
                  {"f", "Zg=="},
                  {"fo", "Zm8="},
                  {"foo", "Zm9v"},
                  {"foob", "Zm9vYg=="},
                  {"fooba", "Zm9vYmE="},
                  {"foobar", "Zm9vYmFy"},
                  {"\xff\xfe\xfb", "//77"}}; /* RFC 4648, and one more */

    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
        char  *got = NULL;
        size_t size = 0;
        FILE  *file = open_memstream(&got, &size);
        emp_html_base64(file, vector[i].bytes, strlen(vector[i].bytes));
        fclose(file);
        cr_expect_str_eq(got, vector[i].digits);
        free(got);
    }
}

Test(html, a_text_is_taken_apart_into_characters)
{
    const char *text = "a\n\xc3\xa9\xff";
    const char *expected[] = {"a", " ", "\xc3\xa9", "\xef\xbf\xbd"};
    char        character[EMP_CHARACTER_BYTES];

    for (int i = 0; i < 4; i++) {
        text = emp_html_next(text, character);
        cr_expect_str_eq(character, expected[i]);
    }
    cr_expect_eq(*text, '\0');
}
