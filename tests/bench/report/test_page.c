// SPDX-License-Identifier: GPL-3.0-or-later
/* The command as a user meets it: is its page well-formed, whole, and on its own; what does
 * it say where something is missing? */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdbool.h>
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

/* An XML tool reads it; true where there is none. */
static bool is_well_formed(const char *name)
{
    char line[512];

    if (run("command -v python3") != 0) return true;
    snprintf(line, sizeof line,
             "python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' '%s'",
             name);
    return run(line) == 0;
}

Test(page, it_is_well_formed_whole_and_on_its_own, .init = set_up, .fini = scratch_remove)
{
    static const char *const figures[] = {"curves", "placements", "timeline", "means"};

    must_run("$E report random1.h5 random2.h5 expert.h5 --out page.html");
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        char part[64];
        snprintf(part, sizeof part, "<figure class=\"figure\" id=\"%s\">", figures[i]);
        expect_part("page.html", part);
        snprintf(part, sizeof part, "<a download=\"%s.svg\" href=\"data:image/svg",
                 figures[i]);
        expect_part("page.html", part);
    }
    expect_part("page.html", "1, 2</td>");          /* seeds of random */
    expect_part("page.html", "encoder layer 2");    /* a row of the grids */
    expect_part("page.html", "gpu:1 computes for"); /* a track of the timeline */
    expect_part("page.html", "Lower bound: ");
    expect_part("page.html", ">lower bound</text>");
    expect_part("page.html", "<code>emplace report random1.h5 random2.h5 expert.h5");
    expect_no_loads("page.html");
    cr_expect(is_well_formed("page.html"));
}

Test(page, its_date_can_be_set_and_all_else_is_the_same, .init = set_up,
     .fini = scratch_remove)
{
    must_run("export SOURCE_DATE_EPOCH=1000000000; $E report random1.h5 expert.h5 --out "
             "a.html; "
             "mv a.html b.html; $E report random1.h5 expert.h5 --out a.html; "
             "cmp a.html b.html");
    expect_part("a.html", "Made on 2001-09-09 01:46 UTC by emplace");
    must_run("SOURCE_DATE_EPOCH=never $E report expert.h5 --out c.html");
    expect_part("c.html", " UTC by emplace");
}

Test(page, against_time_there_is_a_figure_where_there_are_timings, .init = set_up,
     .fini = scratch_remove)
{
    must_run("$E report random1.h5 random2.h5 expert.h5 --out page.html");
    expect_part("page.html", "no run has a .timing.json");
    scratch_write("random1.timing.json", "{\"elapsed_s\": 2}", 16);
    must_run("$E report random1.h5 random2.h5 expert.h5 --force --out page.html");
    expect_part("page.html", "1 of 2 runs have no .timing.json");
    expect_part("page.html", ">seconds</text>");
    scratch_write("random1.timing.json", "{\"elapsed_s\": 2, \"curve\": [[64, 1]]}", 36);
    must_run("$E report random1.h5 random2.h5 expert.h5 --force --out page.html");
    expect_part("page.html", ">CPU seconds of one thread</text>");
    must_run("$E report expert.h5 --force --out page.html");
    expect_part("page.html", "There is no curve");
}

Test(page, a_graph_that_is_gone_costs_what_needs_it, .init = set_up,
     .fini = scratch_remove)
{
    scratch_write("<i>&\"g'.pbtxt", graph, sizeof graph - 1);
    must_run("$E place \"./<i>&\\\"g'.pbtxt\" --machine k40x2 --method random --budget 8 "
             "--record file.h5");
    must_run("$E report file.h5 --out page.html");
    expect_part("page.html", "&lt;i&gt;&amp;&quot;g&#39;.pbtxt");
    expect_part("page.html", "&lt;i&gt;&amp;</text>");
    must_run("rm \"<i>&\\\"g'.pbtxt\"; $E report file.h5 --force --out page.html");
    expect_part("page.html", "Lower bound, placements and timeline are left out: ");
    expect_part("err.txt", "lower bound, placements and timeline of ");
    cr_expect(is_well_formed("page.html"));
    cr_expect_eq(run("$E report file.h5 --figure timeline --out t.svg"), 1);
    expect_part("err.txt", "the figure timeline has nothing to show: ");
}

Test(page, another_graph_or_machine_is_told, .init = set_up, .fini = scratch_remove)
{
    scratch_write("g.pbtxt", graph, sizeof graph - 1);
    must_run("$E place ./g.pbtxt --machine k40x2 --method random --budget 8 "
             "--record file.h5; sed -i s/1024/2048/ g.pbtxt; "
             "$E report file.h5 --out page.html");
    expect_part("page.html", "is now another graph");
    must_run("$E report expert.h5 --machine k40x4 --force --out page.html");
    expect_part("page.html", "k40x4 has 5 devices, and the run had 3");
    expect_part("err.txt", "k40x4 has 5 devices, and the run had 3");
}

/* A record keeps the file of its machine, also where that was a user's own. */
Test(page, a_machine_that_is_gone_costs_nothing, .init = scratch_create,
     .fini = scratch_remove)
{
    char line[SCRATCH_PATH_BYTES];

    snprintf(line, sizeof line,
             "cp \"%s/data/machines/k40x2.yaml\" mine.yaml && $E place %s --machine "
             "./mine.yaml --method expert --record expert.h5 && rm mine.yaml && "
             "$E report expert.h5 --out page.html",
             getenv("EMP_SOURCE_DIR"), small_spec);
    must_run(line);
    expect_part("page.html", "encoder layer 2");
    expect_part("page.html", "Lower bound: ");
    cr_expect_eq(run("grep . err.txt"), 1, "nothing is left out");
}

Test(page, a_file_that_is_no_record_fails_and_leaves_the_page, .init = set_up,
     .fini = scratch_remove)
{
    scratch_write("page.html", "before", 6);
    scratch_write("bad.h5", "no record", 9);
    cr_expect_eq(run("$E report expert.h5 bad.h5 --force --out page.html"), 1);
    expect_part("err.txt", "bad.h5");
    cr_expect_eq(run("$E report expert.h5 --out page.html"), 1);
    expect_part("err.txt", "give --force");
    expect_part("page.html", "before");
    cr_expect_eq(run("$E report --out page.html"), 2);
    cr_expect_eq(run("$E report expert.h5 --out nowhere/page.html"), 1);
    must_run("$E report expert.h5");
    expect_part("report.html", "encoder layer 2");
}

Test(page, a_folder_may_hold_other_files, .init = set_up, .fini = scratch_remove)
{
    must_run("mkdir runs; mv *.h5 runs; cp runs/expert.h5 runs/older.h5; "
             "touch -d '2001-01-01' runs/older.h5; echo x >runs/notes.txt; "
             "echo x >runs/bad.h5; $E report runs --out page.html");
    expect_part("err.txt", "2 files of runs are skipped: runs/bad.h5 ");
    expect_part("err.txt", "runs/expert.h5 and runs/older.h5 are of the same run");
    expect_part("page.html", "3 runs of 2 method settings");
}

Test(page, runs_of_the_papers_tasks_stand_beside_its_figures, .init = scratch_create,
     .fini = scratch_remove)
{
    must_run("for m in expert gpu; do $E place rnnlm --machine k40x2 --method $m "
             "--record $m.h5; done; $E report . --out page.html");
    expect_part("page.html", "beside Table 1 of the paper");
    expect_part("page.html", "Human expert");
    expect_part("page.html", "<td>1.57</td>");
    expect_part("page.html", "RNNLM");
}

/* ---- one figure ---- */

Test(figure, each_is_a_file_that_xml_tools_read, .init = set_up, .fini = scratch_remove)
{
    must_run("for f in curves placements timeline means; do "
             "$E report . --figure $f --out $f.svg && "
             "$E report . --figure $f --out again.svg --force && cmp $f.svg again.svg || "
             "exit 1; done");
    cr_expect(is_well_formed("curves.svg"));
    cr_expect(is_well_formed("placements.svg"));
    cr_expect(is_well_formed("timeline.svg"));
    cr_expect(is_well_formed("means.svg"));
    expect_part("curves.svg", "xmlns=\"http://www.w3.org/2000/svg\"");
    expect_part("curves.svg", ">lower bound</text>");
    expect_part("placements.svg", ">random</text>");
    expect_part("placements.svg", ">expert</text>");
    must_run("$E report . --figure list");
    expect_part("out.txt", "placements ");
    must_run("$E place rnnlm:steps=4 --machine k40x2 --method expert --record zz.h5; "
             "$E report . --figure list; $E report . --figure timeline-2 --out t.svg");
    expect_part("out.txt", "curves-2 ");
    expect_part("out.txt", "rnnlm:steps=4 on k40x2");
}

Test(figure, pdf_needs_gnuplot_and_says_so, .init = set_up, .fini = scratch_remove)
{
    cr_expect_eq(
        run("mkdir empty; PATH=$PWD/empty $E report . --figure curves --out c.pdf"), 1);
    expect_part("err.txt", "gnuplot-nox");
    cr_expect_neq(run("test -e c.pdf"), 0);
    if (run("command -v gnuplot") != 0) cr_skip_test("gnuplot is not installed");
    must_run(
        "for f in curves placements timeline; do $E report . --figure $f --out $f.pdf && "
        "head -c 5 $f.pdf | grep -q %PDF- || exit 1; done");
}

Test(figure, mistakes_are_told, .init = set_up, .fini = scratch_remove)
{
    cr_expect_eq(run("$E report . --figure curve --out c.svg"), 1);
    expect_part("err.txt", "there is no figure \"curve\"; there are curves, clock, ");
    cr_expect_eq(run("$E report . --figure curves-2 --out c.svg"), 1);
    cr_expect_eq(run("$E report . --figure clock --out c.svg"), 1);
    expect_part("err.txt", "the figure clock has nothing to show");
    cr_expect_eq(run("$E report . --figure curves"), 2);
    cr_expect_eq(run("$E report . --figure curves --out c.png"), 2);
    expect_part("err.txt", "FILE.svg or FILE.pdf");
    cr_expect_eq(run("$E report . --out c.pdf"), 2);
    cr_expect_neq(run("test -e c.svg"), 0);
}

/* gnuplot is at work when the signal comes. */
Test(page, an_interrupt_leaves_nothing, .init = set_up, .fini = scratch_remove)
{
    static const char slow[] = "#!/bin/sh\ncat >/dev/null\ntouch started\n"
                               "while [ -e started -a ! -e told ]; do sleep 0.1; done\n"
                               "echo '%%EOF'\n";

    scratch_write("gnuplot", slow, sizeof slow - 1);
    cr_assert_eq(chmod(scratch_path("gnuplot"), 0700), 0);
    cr_expect_eq(
        run("export PATH=$PWD:$PATH; $E report random1.h5 --figure curves --out page.pdf "
            "& p=$!; "
            "while [ ! -e started ]; do sleep 0.1; done; kill -TERM $p; touch told; wait "
            "$p"),
        130); /* SIGTERM has ended it */
    char *left = scratch_find("page*");
    cr_expect_null(left, "%s is left", left);
    free(left);
}
