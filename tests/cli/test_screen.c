// SPDX-License-Identifier: GPL-3.0-or-later
/* Tables on a terminal: cells fill in in place, no line is wider than the terminal, and what
 * is left in the end is the table. */
#define _GNU_SOURCE
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cli/emplace.h"
#include "tests/test.h"

enum { SCREEN_COLUMNS = 200, SCREEN_LINES = 200 };

/* It knows what progress displays write: carriage return, end of line, cursor up, erase to the end of the line or of
 * the screen. */
typedef struct {
    int  columns;
    int  line, column;
    int  wrapped; /* how often a line was too long, which displays that go back by lines would go wrong by */
    char text[SCREEN_LINES][SCREEN_COLUMNS + 1];
} screen;

typedef struct {
    char  *text; /* terminated */
    size_t size;
} written;

static void add(written *w, const char *bytes, size_t size)
{
    w->text = (char *)realloc(w->text, w->size + size + 1);
    cr_assert_not_null(w->text);
    memcpy(w->text + w->size, bytes, size);
    w->size += size;
    w->text[w->size] = '\0';
}

static void start(const char *path, const char *arguments)
{
    execl("/bin/sh", "sh", "-c",
          scratch_print("cd '%s' && exec '%s/%s' %s", scratch_path(""),
                        getenv("EMP_BINARY_DIR"), path, arguments),
          (char *)NULL);
    _exit(127);
}

/* Runs a program of the build folder; its exit status. Its output is then in program_out.
 * interrupt_at: OPTIONAL. Ctrl-C is typed when the program has written this text. */
static int screen_run(const char *path, const char *arguments, int columns, int lines,
                      const char *interrupt_at)
{
    const struct winsize size = {.ws_col = (unsigned short)columns,
                                 .ws_row = (unsigned short)lines};
    char                 bytes[4096];
    written              all = {NULL, 0};
    int                  terminal = -1, status = 0;
    ssize_t              count;
    pid_t                child = forkpty(&terminal, NULL, NULL, &size);

    cr_assert_geq(child, 0);
    if (child == 0) start(path, arguments);
    add(&all, "", 0);
    while ((count = read(terminal, bytes, sizeof bytes)) > 0) {
        add(&all, bytes, (size_t)count);
        if (interrupt_at == NULL || strstr(all.text, interrupt_at) == NULL) continue;
        cr_assert_eq(write(terminal, "\003", 1), 1);
        interrupt_at = NULL;
    }
    close(terminal);
    cr_assert_eq(waitpid(child, &status, 0), child);
    program_forget();
    program_out = all.text;
    cr_assert(WIFEXITED(status), "%s: %s", arguments, all.text);
    return WEXITSTATUS(status);
}

static void erase_line(screen *s, int line, int from)
{
    memset(s->text[line] + from, ' ', (size_t)(SCREEN_COLUMNS - from));
    s->text[line][SCREEN_COLUMNS] = '\0';
}

static size_t play_escape(screen *s, const char *at)
{
    char *end;
    long  number = strtol(at, &end, 10);

    switch (*end) {
    case 'A': s->line -= (int)(number > 0 ? number : 1); break;
    case 'K': erase_line(s, s->line, s->column); break;
    case 'J':
        erase_line(s, s->line, s->column);
        for (int i = s->line + 1; i < SCREEN_LINES; i++) erase_line(s, i, 0);
        break;
    default: cr_assert_fail("the screen does not know ESC[%.8s", at);
    }
    cr_assert_geq(s->line, 0, "the cursor goes above the first line");
    return (size_t)(end - at) + 1;
}

static void next_line(screen *s)
{
    s->line++;
    s->column = 0;
    cr_assert_lt(s->line, SCREEN_LINES);
}

static void put(screen *s, char c)
{
    if (s->column == s->columns) {
        s->wrapped++;
        next_line(s);
    }
    s->text[s->line][s->column++] = c;
}

static void screen_play(screen *s, int columns, const char *text, size_t size)
{
    *s = (screen){.columns = columns};
    for (int i = 0; i < SCREEN_LINES; i++) erase_line(s, i, 0);
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\033' && i + 1 < size && text[i + 1] == '[')
            i += 1 + play_escape(s, text + i + 2);
        else if (text[i] == '\r')
            s->column = 0;
        else if (text[i] == '\n')
            next_line(s);
        else
            put(s, text[i]);
}

static int screen_line_with(const screen *s, const char *text)
{
    for (int i = 0; i < SCREEN_LINES; i++)
        if (strstr(s->text[i], text) != NULL) return i;
    return -1;
}

TestSuite(screen, .init = emplace_set_up, .fini = emplace_tear_down);

static screen end;

static int run(const char *arguments, int columns, int lines, const char *interrupt_at)
{
    int code = screen_run("cli/emplace", arguments, columns, lines, interrupt_at);

    screen_play(&end, columns, program_out, strlen(program_out));
    cr_expect_eq(end.wrapped, 0, "a line of %d columns is too long", columns);
    return code;
}

/* The screen after frame \a i, which ends where the rest is erased; false: there is none. */
static bool play_frame(screen *s, int columns, int i)
{
    const char *at = program_out;

    for (; i >= 0; i--) {
        at = strstr(at, "\033[J");
        if (at == NULL) return false;
        at += 3;
    }
    screen_play(s, columns, program_out, (size_t)(at - program_out));
    return true;
}

/* The cells of the board's first row that are known. */
static int count_known(const screen *s)
{
    int line = screen_line_with(s, "RNNLM  "), known = 0;

    if (line < 0) return -1;
    char cells[SCREEN_COLUMNS + 1];
    strcpy(cells, s->text[line]);
    for (char *cell = strtok(cells, " "); cell != NULL; cell = strtok(NULL, " "))
        known += strpbrk(cell, "0123456789") != NULL && strpbrk(cell, ".") != NULL;
    return known;
}

Test(screen, cells_fill_in_in_place)
{
    const char *arguments =
        "table 1 --rows rnnlm --methods cpu,gpu,expert,mincut,random --threads 1";
    screen frame;
    int    known = 0, i = 0;

    cr_assert_eq(run(arguments, 80, 24, NULL), 0, "%s", program_out);
    cr_assert(play_frame(&frame, 80, 0));
    cr_expect_eq(count_known(&frame), 0);
    cr_expect_geq(screen_line_with(&frame, "CPU only"), 0, "all columns from the start");
    cr_expect_geq(screen_line_with(&frame, "Random"), 0);
    for (; play_frame(&frame, 80, i); i++) {
        int now = count_known(&frame);
        if (screen_line_with(&frame, "%  table 1") < 0) break; /* erased in the end */
        cr_expect(now == known || now == known + 1, "%d after %d", now, known);
        cr_expect_eq(screen_line_with(&frame, "RNNLM  "), 1, "in place");
        known = now;
    }
    cr_expect_eq(known, 5);
    cr_expect_eq(screen_line_with(&end, "Table 1. Seconds"), 0, "%s", end.text[0]);
    cr_expect_eq(screen_line_with(&end, "%  table 1"), -1, "the bar is gone");
}

Test(screen, lines_are_as_wide_as_the_terminal)
{
    const char *arguments = "table 1 --rows rnnlm --methods cpu,gpu,expert";

    cr_expect_eq(run(arguments, 50, 24, NULL), 0);
    cr_expect_gt(screen_line_with(&end, "Human expert"),
                 screen_line_with(&end, "CPU only"), "a block below");
    cr_expect_eq(run(arguments, 120, 24, NULL), 0);
    cr_expect_eq(screen_line_with(&end, "Human expert"),
                 screen_line_with(&end, "CPU only"));
}

Test(screen, a_terminal_that_draws_nothing_gets_the_table_alone)
{
    setenv("TERM", "dumb", 1);
    cr_expect_eq(run("table 1 --rows rnnlm --methods cpu,gpu", 80, 24, NULL), 0);
    cr_expect_null(strchr(program_out, '\033'), "%s", program_out);
    cr_expect_geq(screen_line_with(&end, "Table 1. Seconds"), 0);
    unsetenv("TERM");
}

Test(screen, a_low_terminal_has_the_bar_alone)
{
    screen frame;

    cr_expect_eq(run("table 1 --rows rnnlm --methods cpu,gpu", 80, 3, NULL), 0);
    cr_assert(play_frame(&frame, 80, 0));
    cr_expect_eq(screen_line_with(&frame, "%  table 1"), 0);
    cr_expect_eq(screen_line_with(&frame, "CPU only"), -1);
}

Test(screen, an_interrupt_leaves_the_table_and_says_how_to_go_on)
{
    const char *arguments = "table 1 --rows nmt2 --methods cpu,gpu,refine --threads 1 "
                            "--budget 100000";

    cr_expect_eq(run(arguments, 80, 24, "]   1 %"), 130);
    const int first = screen_line_with(&end, "Table 1. Seconds");
    cr_expect(first == 0 ||
                  (first == 1 && screen_line_with(&end, "ending after this batch") == 0),
              "it is in line %d, after '%s'", first, end.text[0]);
    cr_expect_eq(screen_line_with(&end, "^C"), -1, "what was typed is gone");
    cr_expect_geq(screen_line_with(&end, "OOM"), 0);
    cr_expect_geq(screen_line_with(&end, "Refine"), 0);
    cr_expect_geq(screen_line_with(&end, "interrupted"), 0);
    cr_expect_geq(screen_line_with(&end, "the same command"), 0);
}

/* The linear program of m-SCT on this workload takes GLPK minutes, where it looks at no flag. */
#define LONG_SET_UP "nmt:layers=4"

Test(screen, a_set_up_says_what_it_does_and_ends_at_ctrl_c)
{
    static const char stage[] = "m-sct: solving the linear program, ";
    const char       *arguments = "place " LONG_SET_UP " --machine k40x4 --method m-sct "
                                  "--out best.json --record run.h5";

    int code = run(arguments, 80, 24, stage);
    if (strstr(program_out, stage) == NULL) {
        cr_assert_eq(code, 0, "%s", program_out);
        cr_skip_test("m-SCT was set up in under two seconds");
    }
    cr_expect_eq(code, 130);
    cr_expect_geq(screen_line_with(&end, "emplace: interrupted before a placement"), 0);
    cr_expect_eq(screen_line_with(&end, stage), -1, "the line is gone");
    cr_expect_neq(access(scratch_path("best.json"), F_OK), 0);
    cr_expect_neq(access(scratch_path("run.h5"), F_OK), 0);
}

Test(screen, runs_that_are_set_up_end_at_ctrl_c)
{
    const char *arguments = "bench placers --tasks tasks.txt --methods m-sct --threads 1";
    static const char task[] = "long " LONG_SET_UP " k40x4\n";

    scratch_write("tasks.txt", task, sizeof task - 1);
    cr_expect_eq(run(arguments, 80, 24, "0 %"), 130);
    cr_expect_geq(screen_line_with(&end, "interrupted; what is done is in runs"), 0);
}
