// SPDX-License-Identifier: GPL-3.0-or-later
/* The page around the figures. The script builds all that is seen; without it the page says so. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include "bench/explore/explore_internal.h"
#include "bench/plots/html.h"

/* JSON inside an element: neither HTML nor XML sees markup in it. */
static void write_json(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '<' || *text == '>' || *text == '&')
            fprintf(file, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, file);
    }
}

static void write_script(FILE *file)
{
    fprintf(file, "<script>\n//<![CDATA[\n%s//]]>\n</script>\n",
            (const char *)emp_explore_script);
}

emp_status emp_explore_write(FILE *file, const json_t *data, emp_error *err)
{
    const char *workload = json_string_value(json_object_get(data, "workload"));
    const char *machine = json_string_value(json_object_get(data, "machine"));
    char       *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(6));
    char        title[512];

    if (text == NULL) return EMP_ERROR(EMP_ENOMEM, "page of %s", workload);
    snprintf(title, sizeof title, "Explore placements: %s on %s", workload, machine);
    emp_html_begin(file, title);
    fprintf(file, "<style>\n%s</style>\n", (const char *)emp_explore_style);
    emp_html_put(file, "<h1>", title, "</h1>\n");
    fputs("<div id=\"page\"><p class=\"note\">This page needs JavaScript, and no "
          "network.</p></div>\n"
          "<script type=\"application/json\" id=\"data\">",
          file);
    write_json(file, text);
    fputs("</script>\n", file);
    write_script(file);
    emp_html_end(file);
    free(text);
    return EMP_OK;
}
