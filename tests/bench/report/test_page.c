// SPDX-License-Identifier: GPL-3.0-or-later
/* The command as a user meets it: is its page well-formed, whole, and on its own; what does
 * it say where something is missing? */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/scratch.h"

enum { COMMAND_BYTES = 4 * SCRATCH_PATH_BYTES };

static const char small_spec[] = "nmt:layers=2,steps=4,units=16,vocab=100,batch=4";

static const char graph[] =
    "node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT "
    "} }\n"
    "  attr { key: \"shape\" value { shape { dim { size: 64 } dim { size: 1024 } } } } "
    "}\n"
    "node { name: \"<i>&/a\" op: \"Relu\" input: \"x\" attr { key: \"T\" value { type: "
    "DT_FLOAT } } }\n";

/* Runs a line of the shell in the scratch folder, where $E is the program; its output is
 * in out.txt, its errors in err.txt. */
static int run(const char *line)
{
    char command[COMMAND_BYTES];

    snprintf(command, sizeof command,
             "cd '%s' && E='%s/cli/emplace' && export OMP_NUM_THREADS=2 && "
             "{ %s; } >out.txt 2>err.txt",
             scratch_path(""), getenv("EMP_BINARY_DIR"), line);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void must_run(const char *line)
{
    int status = run(line);

    if (status == 0) return;
    char *said = scratch_read("err.txt", NULL);
    cr_assert_fail("%s: status %d: %s", line, status, said);
}

static void expect_part(const char *name, const char *part)
{
    char *text = scratch_read(name, NULL);

    cr_expect_not_null(strstr(text, part), "no \"%s\" in %s", part, name);
    free(text);
}

static void set_up(void)
{
    char line[SCRATCH_PATH_BYTES];

    scratch_create();
    snprintf(
        line, sizeof line,
        "for s in 1 2; do $E place %s --machine k40x2 --method random --budget 200 "
        "--seed $s --record random$s.h5 || exit 1; done; $E place %s --machine k40x2 "
        "--method expert --record expert.h5",
        small_spec, small_spec);
    must_run(line);
}

/* Every reference is to the page itself. */
static void expect_no_loads(const char *name)
{
    char *text = scratch_read(name, NULL);

    for (const char *at = text; (at = strpbrk(at, "hs")) != NULL; at++) {
        size_t length = strncmp(at, "href=\"", 6) == 0  ? 6
                        : strncmp(at, "src=\"", 5) == 0 ? 5
                                                        : 0;
        if (length == 0) continue;
        cr_expect(at[length] == '#' || strncmp(at + length, "data:", 5) == 0, "%.60s",
                  at);
    }
    cr_expect_null(strstr(text, "url("));
    cr_expect_null(strstr(text, "<script"));
    cr_expect_null(strstr(text, "@import"));
    free(text);
}

Test(page, it_is_well_formed_whole_and_on_its_own, .init = set_up, .fini = scratch_remove)
{
    static const char *const ids[] = {"tables", "curves", "quality", "placement",
                                      "timeline"};

    must_run("$E report random1.h5 random2.h5 expert.h5 --out page.html");
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char section[64];
        snprintf(section, sizeof section, "<section id=\"%s\">", ids[i]);
        expect_part("page.html", section);
    }
    expect_part("page.html", "1, 2</td>");          /* seeds of random */
    expect_part("page.html", "encoder layer 2");    /* a row of the grid */
    expect_part("page.html", "gpu:1 computes for"); /* a track of the timeline */
    expect_no_loads("page.html");
    if (run("command -v python3") != 0) cr_skip_test("there is no python3 to parse it");
    must_run("python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "
             "page.html");
}

Test(page, plots_are_drawn_where_there_is_something_to_draw, .init = set_up,
     .fini = scratch_remove)
{
    if (run("command -v gnuplot") != 0) cr_skip_test("gnuplot is not installed");
    must_run("$E report random1.h5 random2.h5 expert.h5 --out page.html");
    expect_part("page.html", "<svg class=\"plot\"");
    expect_part("page.html", "no run has a .timing.json");
    scratch_write("random1.timing.json", "{\"elapsed_s\": 2}", 16);
    must_run("$E report random1.h5 random2.h5 expert.h5 --out page.html");
    expect_part("page.html", "1 of 2 runs have no .timing.json");
    expect_part("page.html", "Against seconds</figcaption>");
    must_run("$E report expert.h5 --out page.html");
    expect_part("page.html", "There is no curve");
}

Test(page, without_gnuplot_it_says_so, .init = set_up, .fini = scratch_remove)
{
    must_run("mkdir empty; PATH=$PWD/empty $E report expert.h5 --out page.html");
    expect_part("err.txt", "gnuplot-nox");
    expect_part("page.html", "gnuplot-nox");
    expect_part("page.html", "encoder layer 2");
}

Test(page, a_graph_that_is_gone_costs_two_sections, .init = set_up,
     .fini = scratch_remove)
{
    scratch_write("<i>&\"g'.pbtxt", graph, sizeof graph - 1);
    must_run("$E place \"./<i>&\\\"g'.pbtxt\" --machine k40x2 --method random --budget 8 "
             "--record file.h5");
    must_run("$E report file.h5 --out page.html");
    expect_part("page.html", "&lt;i&gt;&amp;&quot;g&#39;.pbtxt");
    expect_part("page.html", "&lt;i&gt;&amp;</text>");
    must_run("rm \"<i>&\\\"g'.pbtxt\"; $E report file.h5 --out page.html");
    expect_part("page.html", "This is left out: ");
    expect_part("err.txt", "no placement and timeline of ");
    if (run("command -v python3") != 0) cr_skip_test("there is no python3 to parse it");
    must_run("python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "
             "page.html");
}

Test(page, another_graph_or_machine_is_told, .init = set_up, .fini = scratch_remove)
{
    scratch_write("g.pbtxt", graph, sizeof graph - 1);
    must_run("$E place ./g.pbtxt --machine k40x2 --method random --budget 8 "
             "--record file.h5; sed -i s/1024/2048/ g.pbtxt; "
             "$E report file.h5 --out page.html");
    expect_part("page.html", "is now another graph");
    must_run("$E report expert.h5 --machine k40x4 --out page.html");
    expect_part("page.html", "k40x4 has 5 devices, and the run had 3");
    expect_part("err.txt", "k40x4 has 5 devices, and the run had 3");
}

Test(page, a_file_that_is_no_record_fails_and_leaves_the_page, .init = set_up,
     .fini = scratch_remove)
{
    scratch_write("page.html", "before", 6);
    scratch_write("bad.h5", "no record", 9);
    cr_expect_eq(run("$E report expert.h5 bad.h5 --out page.html"), 1);
    expect_part("err.txt", "bad.h5");
    expect_part("page.html", "before");
    cr_expect_eq(run("$E report --out page.html"), 2);
    cr_expect_eq(run("$E report expert.h5"), 2);
    expect_part("err.txt", "--out is missing");
    cr_expect_eq(run("$E report expert.h5 --out nowhere/page.html"), 1);
}

/* gnuplot is at work when the signal comes. */
Test(page, an_interrupt_leaves_nothing, .init = set_up, .fini = scratch_remove)
{
    static const char slow[] =
        "#!/bin/sh\ncat >/dev/null\ntouch started\n"
        "while [ -e started -a ! -e told ]; do sleep 0.1; done\n"
        "echo '<svg viewBox=\"0 0 1 1\"><g id=\"gnuplot_canvas\"></defs></g></svg>'\n";

    scratch_write("gnuplot", slow, sizeof slow - 1);
    cr_assert_eq(chmod(scratch_path("gnuplot"), 0700), 0);
    cr_expect_eq(
        run("export PATH=$PWD:$PATH; $E report random1.h5 --out page.html & p=$!; "
            "while [ ! -e started ]; do sleep 0.1; done; kill -TERM $p; touch told; wait "
            "$p"),
        130);
    char *left = scratch_find("page*");
    cr_expect_null(left, "%s is left", left);
    free(left);
}
