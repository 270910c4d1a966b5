// SPDX-License-Identifier: GPL-3.0-or-later
/* The command as a user meets it: is its page well-formed, whole, and on its own; what does
 * it say where something is missing? */
#define _POSIX_C_SOURCE 200809L
#include <sys/wait.h>

#include "tests/test.h"

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
    int status = system(
        scratch_print("cd '%s' && E='%s/cli/emplace' && export OMP_NUM_THREADS=2 && "
                      "{ %s; } >out.txt 2>err.txt",
                      scratch_path(""), getenv("EMP_BINARY_DIR"), line));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void must_run(const char *line)
{
    int status = run(line);

    if (status == 0) return;
    cr_assert_fail("%s: status %d: %s", line, status, scratch_read("err.txt", NULL));
}

static void expect_part(const char *name, const char *part)
{
    cr_expect_not_null(strstr(scratch_text(name), part), "no \"%s\" in %s", part, name);
}

static void set_up(void)
{
    scratch_create();
    must_run(scratch_print(
        "for s in 1 2; do $E place %s --machine k40x2 --method random --budget 200 "
        "--seed $s --record random$s.h5 || exit 1; done; $E place %s --machine k40x2 "
        "--method expert --record expert.h5",
        small_spec, small_spec));
}

static void expect_no_loads(const char *name)
{
    char *text = scratch_text(name);

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
}

/* An XML tool reads it; true where there is none. */
static bool is_well_formed(const char *name)
{
    if (run("command -v python3") != 0) return true;
    return run(scratch_print(
               "python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' '%s'",
               name)) == 0;
}

Test(page, it_is_well_formed_whole_and_on_its_own, .init = set_up, .fini = scratch_remove)
{
    static const char *const figures[] = {"curves", "placements", "timeline", "means"};

    must_run("$E report random1.h5 random2.h5 expert.h5 --out page.html");
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        expect_part("page.html",
                    scratch_print("<figure class=\"figure\" id=\"%s\">", figures[i]));
        expect_part(
            "page.html",
            scratch_print("<a download=\"%s.svg\" href=\"data:image/svg", figures[i]));
    }
    expect_part("page.html", "1, 2</td>");          /* seeds of random */
    expect_part("page.html", "encoder layer 2");    /* a row of the grids */
    expect_part("page.html", "gpu:1 computes for"); /* a track of the timeline */
    expect_part("page.html", "Lower bound: ");
    expect_part("page.html", ">lower bound</text>");
    expect_part("page.html", "<code>emplace report random1.h5 random2.h5 expert.h5");
    expect_part("page.html", "no run has a .timing.json");
    expect_no_loads("page.html");
    cr_expect(is_well_formed("page.html"));

    scratch_write("random1.timing.json", "{\"elapsed_s\": 2, \"curve\": [[64, 1]]}", 36);
    must_run("export SOURCE_DATE_EPOCH=1000000000; $E report random1.h5 random2.h5 "
             "expert.h5 --force --out page.html");
    expect_part("page.html", "1 of 2 runs have no .timing.json");
    expect_part("page.html", ">CPU seconds of one thread</text>");
    expect_part("page.html", "Made on 2001-09-09 01:46 UTC by emplace");
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
    expect_part("page.html", "k40x4 has 5 devices");
    expect_part("err.txt", "k40x4 has 5 devices");
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

Test(figure, each_is_a_file_that_xml_tools_read, .init = set_up, .fini = scratch_remove)
{
    static const char *const names[] = {"curves", "placements", "timeline", "means"};

    for (int i = 0; i < 4; i++) {
        const char *file = scratch_print("%s.svg", names[i]);
        must_run(scratch_print(
            "$E report . --figure %s --out %s && $E report . --figure %s --out "
            "again.svg --force && cmp %s again.svg",
            names[i], file, names[i], file));
        cr_expect(is_well_formed(file), "%s", file);
        expect_part(file, "xmlns=\"http://www.w3.org/2000/svg\"");
    }
    expect_part("curves.svg", ">lower bound</text>");
    expect_part("placements.svg", ">expert</text>");
    must_run("$E place rnnlm:steps=4 --machine k40x2 --method expert --record zz.h5; "
             "$E report . --figure list; $E report . --figure timeline-2 --out t.svg");
    expect_part("out.txt", "curves-2 ");
    expect_part("out.txt", "rnnlm:steps=4 on k40x2");
}

Test(figure, mistakes_are_told, .init = set_up, .fini = scratch_remove)
{
    static const struct {
        const char *arguments, *part;
        int         status;
    } cases[] = {{". --figure curve --out c.svg", "\"curve\"", 1},
                 {". --figure curves-2 --out c.svg", "curves-2", 1},
                 {". --figure clock --out c.svg", "clock", 1},
                 {". --figure curves", "--out", 2},
                 {". --figure curves --out c.png", ".pdf", 2},
                 {". --out c.pdf", "c.pdf", 2}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *line = scratch_print("$E report %s", cases[i].arguments);
        cr_expect_eq(run(line), cases[i].status, "%s", line);
        expect_part("err.txt", cases[i].part);
    }
    cr_expect_neq(run("test -e c.svg"), 0);
    cr_expect_eq(
        run("mkdir empty; PATH=$PWD/empty $E report . --figure curves --out c.pdf"), 1);
    expect_part("err.txt", "gnuplot-nox");
    if (run("command -v gnuplot") != 0) cr_skip_test("gnuplot is not installed");
    must_run(
        "$E report . --figure curves --out c.pdf && head -c 5 c.pdf | grep -q %PDF-");
}
