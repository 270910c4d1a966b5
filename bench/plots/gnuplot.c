// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* pipe2(), environ */
#include "bench/plots/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

enum { CHUNK_BYTES = 65536, SAID_BYTES = 300, TAIL_BYTES = 64, POINTS_PER_INCH = 72 };

bool emp_gnuplot_exists(void)
{
    const char *path = getenv("PATH");
    char        file[4096];

    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/gnuplot", (int)length, path);
        if (access(file, X_OK) == 0) return true;
        path += length;
        if (*path == ':') path++;
    }
    return false;
}

/* The output of a child, terminated; the caller frees it. */
struct output {
    char  *text;
    size_t size; /* without the terminator */
};

static emp_status read_all(struct output *output, int from, emp_error *err)
{
    size_t  used = 0, size = 0;
    ssize_t got = 0;

    do {
        if (size - used < CHUNK_BYTES) {
            char *grown = emp_realloc(output->text, size + 2 * CHUNK_BYTES, 1);
            if (grown == NULL) return EMP_ERROR(EMP_ENOMEM, "figure of %zu bytes", used);
            output->text = grown;
            size += 2 * CHUNK_BYTES;
        }
        got = read(from, output->text + used, size - used - 1);
        if (got > 0) used += (size_t)got;
    } while (got > 0 || (got < 0 && errno == EINTR));
    output->text[used] = '\0';
    output->size = used;
    if (got < 0)
        return EMP_ERROR(EMP_EIO, "cannot read from gnuplot: %s", strerror(errno));
    return EMP_OK;
}

/* The end of what it said, on one line. */
static emp_status blame(FILE *said, emp_error *err)
{
    char text[SAID_BYTES + 1];
    long length = fseek(said, 0, SEEK_END) == 0 ? ftell(said) : 0;
    long start = length > SAID_BYTES ? length - SAID_BYTES : 0;

    fseek(said, start, SEEK_SET);
    text[fread(text, 1, SAID_BYTES, said)] = '\0';
    for (char *at = text; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ') *at = ' ';
    }
    if (strstr(text, "unknown or ambiguous terminal type") != NULL)
        return EMP_ERROR(EMP_EUNSUPPORTED, "this gnuplot has no terminal pdfcairo, which "
                                           "draws PDF files (Debian: apt-get install "
                                           "gnuplot-nox); SVG files need none");
    return EMP_ERROR(EMP_EEXTERNAL, "gnuplot failed: %s", text);
}

static emp_status start(pid_t *child, FILE *script, int out, FILE *said, emp_error *err)
{
    char        program[] = "gnuplot", strict[] = "-d";
    char *const argv[] = {program, strict, NULL}; /* -d: no user's settings */
    posix_spawn_file_actions_t actions;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(said), STDERR_FILENO);
    int cause = posix_spawnp(child, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (cause != 0)
        return EMP_ERROR(EMP_EEXTERNAL, "gnuplot cannot be started: %s", strerror(cause));
    return EMP_OK;
}

/* Identifiers would be of several figures, and titles, which become tooltips, are of the
 * script. */
static const struct {
    const char *begin, *end;
} left_out[] = {{" id=\"", "\""}, {"<title>", "</title>"}};

/* The next thing to leave out, from its beginning to behind its end; NULL = none. */
static const char *find_left_out(const char *text, const char **behind)
{
    const char *first = NULL;

    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        const char *begin = strstr(text, left_out[i].begin);
        const char *end =
            begin == NULL ? NULL
                          : strstr(begin + strlen(left_out[i].begin), left_out[i].end);
        if (end == NULL || (first != NULL && begin > first)) continue;
        first = begin;
        *behind = end + strlen(left_out[i].end);
    }
    return first;
}

/* The figure without what only a file of its own needs: prologue, titles, and markers,
 * whose ids would be there once a figure. */
static emp_status copy_figure(FILE *file, const char *svg, const char *name,
                              emp_error *err)
{
    const char *box = strstr(svg, "viewBox="), *from = strstr(svg, "</defs>");

    if (box == NULL || from == NULL)
        return EMP_ERROR(EMP_EEXTERNAL,
                         "this gnuplot writes SVG that is not understood here");
    fprintf(file, "<svg class=\"plot\" role=\"img\" aria-label=\"%s\" %.*s\">\n<g>", name,
            (int)strcspn(box + 9, "\"") + 9, box);
    from += strlen("</defs>");
    for (const char *begin, *behind; (begin = find_left_out(from, &behind)) != NULL;
         from = behind)
        fwrite(from, 1, (size_t)(begin - from), file);
    fputs(from, file);
    return EMP_OK;
}

/* Whether the mark is among the last bytes. */
static bool ends_with(const struct output *output, const char *mark)
{
    size_t from = output->size > TAIL_BYTES ? output->size - TAIL_BYTES : 0;

    return output->text != NULL && strstr(output->text + from, mark) != NULL;
}

/* True for a signal that asks the whole group to end. */
static bool is_request(int signal)
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

/* All that gnuplot draws of the script, which has the mark at its end. */
static emp_status draw(struct output *figure, FILE *script, const char *mark,
                       emp_error *err)
{
    emp_status st = EMP_OK;
    int        ends[2] = {-1, -1}, state = 0;
    pid_t      child = -1;
    FILE      *said = tmpfile();

    if (said == NULL || fflush(script) != 0 || lseek(fileno(script), 0, SEEK_SET) != 0 ||
        pipe2(ends, O_CLOEXEC) != 0)
        EMP_FAIL(EMP_EIO, "no files for gnuplot: %s", strerror(errno));
    EMP_TRY(start(&child, script, ends[1], said, err));
    close(ends[1]);
    ends[1] = -1;
    EMP_TRY(read_all(figure, ends[0], err));
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
    child = -1;
    if (WIFSIGNALED(state) && is_request(WTERMSIG(state)))
        EMP_FAIL(EMP_EINTERRUPTED, "gnuplot was interrupted");
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0 || !ends_with(figure, mark))
        EMP_TRY(blame(said, err));

cleanup:
    for (int i = 0; i < 2; i++) {
        if (ends[i] >= 0) close(ends[i]);
    }
    while (child > 0 && waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
    if (said != NULL) fclose(said);
    return st;
}

/* Runs a script, whose file has no name, so that nothing is left of it. */
static emp_status run_script(struct output *out, const char *terminal,
                             void (*write)(FILE *script, const void *what),
                             const void *what, const char *end, emp_error *err)
{
    FILE *script = tmpfile();

    if (script == NULL)
        return EMP_ERROR(EMP_EIO, "no temporary file for gnuplot: %s", strerror(errno));
    fprintf(script, "set terminal %s\nset encoding utf8\n", terminal);
    write(script, what);
    const emp_status st = draw(out, script, end, err);
    fclose(script);
    return st;
}

emp_status emp_gnuplot_draw(FILE *file, int width, int height,
                            void (*write)(FILE *script, const void *what),
                            const void *what, const char *name, emp_error *err)
{
    emp_status    st = EMP_OK;
    struct output svg = {0};
    char          terminal[128];

    snprintf(terminal, sizeof terminal,
             "svg size %d,%d dynamic noenhanced font 'sans-serif,12'", width, height);
    EMP_TRY(run_script(&svg, terminal, write, what, "</svg>", err));
    if (name == NULL)
        fputs(svg.text, file);
    else
        EMP_TRY(copy_figure(file, svg.text, name, err));

cleanup:
    emp_free(svg.text);
    return st;
}

/* By these scales a font has the size in points that it asks for, and a line of width 1 is 0.75
 * points wide. */
emp_status emp_gnuplot_draw_pdf(FILE *file, double width, double height,
                                void (*write)(FILE *script, const void *what),
                                const void *what, emp_error *err)
{
    struct output pdf = {0};
    char          terminal[128];

    if (!emp_gnuplot_exists())
        return EMP_ERROR(EMP_EUNSUPPORTED,
                         "%s; it draws PDF files, and SVG files need none",
                         EMP_GNUPLOT_ABSENCE);
    snprintf(
        terminal, sizeof terminal,
        "pdfcairo size %.4fin,%.4fin noenhanced fontscale 0.75 lw 1.5 font 'Helvetica,9'",
        width / POINTS_PER_INCH, height / POINTS_PER_INCH);
    const emp_status st = run_script(&pdf, terminal, write, what, "%%EOF", err);
    if (st == EMP_OK) fwrite(pdf.text, 1, pdf.size, file);
    emp_free(pdf.text);
    return st;
}
