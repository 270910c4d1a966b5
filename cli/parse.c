// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* open_memstream() */

#include "cli/cli.h"

#include <assert.h>
#include <gsl/gsl_version.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/blas/openblas.h"
#include "base/text/nearest.h"
#include "run/ranks/ranks.h"
#include "run/sheet/sheet.h"
#include "run/store/store.h"

/* ---- the options of a command ------------------------------------------------------ */

static const struct argp_option common[] = {
    {"help", 'h', NULL, 0, "Give this help", -1},
    {"version", 'V', NULL, 0, "Print the version", -1},
    {0},
};

static bool is_end(const struct argp_option *o) { return o->name == NULL && o->key == 0; }

static int32_t collect(const struct argp *argp, const struct argp_option **list,
                       int32_t count)
{
    for (const struct argp_option *o = argp->options; o != NULL && !is_end(o); o++) {
        assert(count < CLI_MOST_OPTIONS);
        list[count++] = o;
    }
    for (const struct argp_child *c = argp->children; c != NULL && c->argp != NULL; c++)
        count = collect(c->argp, list, count);
    return count;
}

int32_t cli_collect_options(const struct argp        *argp,
                            const struct argp_option *list[CLI_MOST_OPTIONS])
{
    return collect(argp, list, 0);
}

/* ---- words that begin with a dash --------------------------------------------------- */

/* A command line on its way through the options that a command has. */
struct scan {
    const char               *name; /* "emplace place" */
    const struct argp_option *option[CLI_MOST_OPTIONS];
    int32_t                   count;
    char                    **word;
    int                       word_count, at;
};

/* Whether the next word is its value, where it has none of its own. */
static bool takes_word(const struct argp_option *o)
{
    return o->arg != NULL && !(o->flags & OPTION_ARG_OPTIONAL);
}

/* The next word is the option's value. */
static void take_value(struct scan *s, const char *dashes, const char *option,
                       const char *arg)
{
    if (s->at + 1 >= s->word_count)
        cli_usage_error("%s%s needs a value, %s; %s --help has examples", dashes, option,
                        arg, s->name);
    s->at++;
}

static _Noreturn void refuse_name(const struct scan *s, const char *name, size_t length)
{
    emp_nearest near = emp_nearest_begin(name, length, "--");
    char        hint[EMP_NEAREST_BYTES];

    for (int32_t i = 0; i < s->count; i++)
        if (s->option[i]->name != NULL && !(s->option[i]->flags & OPTION_HIDDEN))
            emp_nearest_offer(&near, s->option[i]->name, strlen(s->option[i]->name));
    cli_usage_error("%s has no option \"--%.*s\"%s; %s --help lists what it has", s->name,
                    (int)length, name, emp_nearest_hint(&near, hint), s->name);
}

/* The option of that name, or the only one whose name begins so, as getopt takes it. */
static const struct argp_option *find_name(const struct scan *s, const char *name,
                                           size_t length)
{
    const struct argp_option *found = NULL;

    if (length == 0) refuse_name(s, name, length);
    for (int32_t i = 0; i < s->count; i++) {
        const struct argp_option *o = s->option[i];
        if (o->name == NULL || strncmp(o->name, name, length) != 0) continue;
        if (o->name[length] == '\0') return o;
        if (found != NULL)
            cli_usage_error("--%.*s may mean --%s or --%s; write it in full", (int)length,
                            name, found->name, o->name);
        found = o;
    }
    if (found == NULL) refuse_name(s, name, length);
    return found;
}

static void check_long(struct scan *s, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t      length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const struct argp_option *o = find_name(s, word, length);

    if (o->arg == NULL && equals != NULL)
        cli_usage_error("--%s takes no value, and \"%s\" is one", o->name, equals + 1);
    if (takes_word(o) && equals == NULL) take_value(s, "--", o->name, o->arg);
}

static void check_letters(struct scan *s, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        const struct argp_option *o = NULL;
        const char                letter[2] = {*letters, '\0'};
        for (int32_t i = 0; i < s->count; i++)
            if (s->option[i]->key == (unsigned char)*letters) o = s->option[i];
        if (o == NULL)
            cli_usage_error("%s has no option \"-%s\"; %s --help lists what it has",
                            s->name, letter, s->name);
        if (o->arg == NULL) continue;
        if (letters[1] == '\0' && takes_word(o)) take_value(s, "-", letter, o->arg);
        return;
    }
}

/* Refuses here what getopt would refuse, in a sentence that says what would be right. */
static void check_options(const struct argp *argp, int argc, char **argv)
{
    struct scan s = {.name = argv[0], .word = argv, .word_count = argc, .at = 1};

    s.count = cli_collect_options(argp, s.option);
    for (; s.at < argc && strcmp(argv[s.at], "--") != 0; s.at++) {
        const char *word = argv[s.at];
        if (strncmp(word, "--", 2) == 0)
            check_long(&s, word + 2);
        else if (word[0] == '-')
            check_letters(&s, word + 1);
    }
}

/* ---- help --------------------------------------------------------------------------- */

/* argp ends an option whose text just fills the line with a line of blanks. */
static void print_without_blanks(const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n"), shown = length;
        while (shown > 0 && text[shown - 1] == ' ') shown--;
        if (shown > 0 || length == 0) printf("%.*s\n", (int)shown, text);
        text += length + (text[length] == '\n');
    }
}

/* The blank at which a command is broken to fit in a line: before an option, or else between words; 0: it has
 * none. Quotes and comments stay whole. */
static size_t find_break(const char *command, size_t room)
{
    size_t before_word = 0, before_option = 0;
    char   quote = '\0';

    for (size_t i = strspn(command, " "); i <= room && command[i] != '#'; i++) {
        if (quote != '\0')
            quote = command[i] == quote ? '\0' : quote;
        else if (command[i] == '"' || command[i] == '\'')
            quote = command[i];
        else if (command[i] == ' ')
            *(command[i + 1] == '-' ? &before_option : &before_word) = i;
    }
    return before_option > 0 ? before_option : before_word;
}

static void write_example(FILE *out, const char *line, size_t length, size_t width)
{
    static const char next[] = " \\\n      ";
    const size_t      backslash = 2, indent = sizeof next - 1 - 3;
    size_t            used = 0, at;

    while (used + length > width &&
           (at = find_break(line, width - used - backslash)) > 0) {
        fprintf(out, "%.*s%s", (int)at, line, next);
        line += at + 1;
        length -= at + 1;
        used = indent;
    }
    fprintf(out, "%.*s", (int)length, line);
}

/* The text of help with its long examples on several lines, as a shell takes them: argp would break them
 * anywhere. The caller frees it; NULL: out of memory. */
static char *break_examples(const char *doc, size_t width)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *out = open_memstream(&text, &size);

    if (out == NULL) return NULL;
    while (*doc != '\0') {
        const size_t length = strcspn(doc, "\n\v");
        if (strncmp(doc, "  emplace ", 10) == 0 || strncmp(doc, "  mpirun ", 9) == 0)
            write_example(out, doc, length, width);
        else
            fprintf(out, "%.*s", (int)length, doc);
        doc += length;
        if (*doc != '\0') fputc(*doc++, out);
    }
    fclose(out);
    return text;
}

static void print_help(const struct argp *whole, const char *name)
{
    const int   margin = cli_terminal_width(stdout) - 1;  /* lines are shorter */
    const bool  is_set = getenv("ARGP_HELP_FMT") != NULL; /* and meant: for manuals */
    char        layout[64], program[64], *text = NULL;
    struct argp shown = *whole;
    size_t      size = 0;
    FILE       *stream = open_memstream(&text, &size);

    if (stream == NULL) return;
    snprintf(program, sizeof program, "%s", name);
    snprintf(layout, sizeof layout, "no-dup-args-note,rmargin=%d", margin);
    setenv("ARGP_HELP_FMT", layout, 0);
    char *doc = is_set ? NULL : break_examples(whole->doc, (size_t)margin - 1);
    if (doc != NULL) shown.doc = doc;
    argp_help(&shown, stream, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC,
              program);
    fclose(stream);
    print_without_blanks(text);
    free(text);
    free(doc);
}

/* ---- parsing ------------------------------------------------------------------------ */

struct parse_input {
    const struct argp *whole;
    void              *args;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    const struct parse_input *input = (const struct parse_input *)state->input;

    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = input->args; return 0;
    case 'h': print_help(input->whole, state->name); exit(0);
    case 'V': cli_print_version(false); exit(0);
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* The command's own options, and the options of all commands. */
struct whole {
    struct argp       own, argp;
    struct argp_child children[2];
};

static void join(struct whole *w, const struct argp *argp)
{
    w->own = *argp;
    w->own.doc = w->own.args_doc = NULL;
    memset(w->children, 0, sizeof w->children);
    w->children[0].argp = &w->own;
    w->argp = (struct argp){.options = common,
                            .parser = parse,
                            .args_doc = argp->args_doc,
                            .doc = argp->doc,
                            .children = w->children};
}

void cli_print_help(const struct argp *argp, const char *name)
{
    struct whole whole;

    join(&whole, argp);
    print_help(&whole.argp, name);
}

void cli_parse(const struct argp *argp, int argc, char **argv, void *args)
{
    struct whole       whole;
    struct parse_input input = {&whole.argp, args};

    join(&whole, argp);
    check_options(&whole.argp, argc, argv);
    argp_err_exit_status = CLI_EXIT_USAGE;
    if (argp_parse(&whole.argp, argc, argv, ARGP_NO_HELP, NULL, &input) != 0)
        exit(CLI_EXIT_USAGE);
}

/* Which matrix kernels run, and what was done about it. */
static void print_blas(void)
{
    const char *core = emp_openblas_core_name();
    const char *mistaken = emp_openblas_mistaken_core_name();

    if (core == NULL) {
        printf("OpenBLAS: not found; learners need it\n");
        return;
    }
    printf("OpenBLAS core %s (", core);
    if (mistaken != NULL)
        printf("set by this program: OpenBLAS took the CPU for %s)\n", mistaken);
    else if (getenv("OPENBLAS_CORETYPE") != NULL)
        printf("set by OPENBLAS_CORETYPE)\n");
    else
        printf("its own choice)\n");
}

void cli_print_version(bool is_verbose)
{
    emp_manifest manifest = emp_manifest_get();

    printf("emplace %s (commit %.12s%s)\n", manifest.version, manifest.commit,
           manifest.is_dirty ? ", modified" : "");
    if (!is_verbose) return;
    printf("compiler %s\n", manifest.code);
    printf("GSL %s\n%s\n", gsl_version, emp_store_library_version());
    print_blas();
    printf("jansson %s\nzlib %s\n", JANSSON_VERSION, zlibVersion());
    printf("MPI: %s\n",
           emp_ranks_library() != NULL ? emp_ranks_library() : "not in this build");
}
