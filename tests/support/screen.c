// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE
#include "tests/support/screen.h"

#include <criterion/criterion.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/program.h"
#include "tests/support/scratch.h"

/* ---- a program on a terminal ---- */

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
    char command[8 * SCRATCH_PATH_BYTES];

    snprintf(command, sizeof command, "cd '%s' && exec '%s/%s' %s", scratch_path(""),
             getenv("EMP_BINARY_DIR"), path, arguments);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

int screen_run(const char *path, const char *arguments, int columns, int lines,
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

/* ---- its screen ---- */

static void erase_line(screen *s, int line, int from)
{
    memset(s->text[line] + from, ' ', (size_t)(SCREEN_COLUMNS - from));
    s->text[line][SCREEN_COLUMNS] = '\0';
}

/* What follows ESC [; returns its length. */
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

void screen_play(screen *s, int columns, const char *text, size_t size)
{
    *s = (screen){.columns = columns};
    for (int i = 0; i < SCREEN_LINES; i++) erase_line(s, i, 0);
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\033' && i + 1 < size && text[i + 1] == '[')
            i += 1 + play_escape(s, text + i + 2);
        else if (text[i] == '\r')
            s->column = 0;
        else if (text[i] == '\n')
            next_line(s);
        else
            put(s, text[i]);
    }
}

int screen_line_with(const screen *s, const char *text)
{
    for (int i = 0; i < SCREEN_LINES; i++)
        if (strstr(s->text[i], text) != NULL) return i;
    return -1;
}
