// SPDX-License-Identifier: GPL-3.0-or-later
/* Do all commands speak one grammar? The properties of all tables of options. */
#include <ctype.h>

#include "cli/cli.h"
#include "sim/machine/machine.h"
#include "tests/cli/emplace.h"
#include "tests/test.h"

enum { MOST = 1024, LINE = 80 };

TestSuite(grammar, .init = emplace_set_up, .fini = emplace_tear_down);

/* An option, and the command that has it. */
struct use {
    char                      command[64];
    const struct argp        *argp;
    const struct argp_option *option;
};

static struct use use[MOST];
static int32_t    use_count;

static void walk(const cli_command *commands, const char *prefix,
                 void (*visit)(const char *name, const struct argp *argp))
{
    for (const cli_command *c = commands; c->name != NULL; c++) {
        const char *name =
            scratch_print("%.30s%s%.30s", prefix, prefix[0] == '\0' ? "" : " ", c->name);
        if (c->group != NULL)
            walk(c->group, name, visit);
        else
            visit(name, c->argp);
    }
}

static void collect(const char *name, const struct argp *argp)
{
    const struct argp_option *list[CLI_MOST_OPTIONS];
    int32_t                   count = cli_collect_options(argp, list);

    for (int32_t i = 0; i < count; i++) {
        cr_assert_lt(use_count, MOST);
        cr_assert_not_null(list[i]->name, "%s", name);
        cr_assert(list[i]->doc != NULL && strlen(list[i]->doc) > 5, "--%s of %s",
                  list[i]->name, name);
        snprintf(use[use_count].command, sizeof use[use_count].command, "%s", name);
        use[use_count].argp = argp;
        use[use_count++].option = list[i];
    }
}

static void collect_all(void)
{
    use_count = 0;
    walk(cli_commands, "", collect);
    cr_assert_gt(use_count, 100, "all tables are read");
}

static char letter_of(const struct argp_option *o)
{
    return o->key > 0 && o->key < 128 ? (char)o->key : '-';
}

/* A file or a folder is meant by either. Where there are several methods, options name theirs first. */
static const char *value_of(const struct argp_option *o)
{
    static const char of_method[] = "METHOD:";

    if (o->arg == NULL) return "";
    if (strncmp(o->arg, of_method, sizeof of_method - 1) == 0)
        return o->arg + sizeof of_method - 1;
    return strcmp(o->arg, "DIR") == 0 ? "FILE" : o->arg;
}

Test(grammar, a_name_is_one_thing_everywhere)
{
    collect_all();
    for (int32_t i = 0; i < use_count; i++) {
        const struct argp_option *a = use[i].option;
        for (int32_t j = 0; j < i; j++) {
            const struct argp_option *b = use[j].option;
            if (strcmp(a->name, b->name) != 0) continue;
            /* which GPUs a replay takes, and how many a plan has */
            if (strcmp(a->name, "gpus") == 0 &&
                strcmp(use[i].command, use[j].command) != 0 &&
                (strcmp(use[i].command, "plan") == 0 ||
                 strcmp(use[j].command, "plan") == 0))
                continue;
            cr_expect_neq(use[i].argp, use[j].argp, "%s has --%s twice", use[i].command,
                          a->name);
            cr_expect_eq(letter_of(a), letter_of(b), "--%s is -%c of %s and -%c of %s",
                         a->name, letter_of(a), use[i].command, letter_of(b),
                         use[j].command);
            cr_expect_str_eq(value_of(a), value_of(b), "--%s takes %s in %s and %s in %s",
                             a->name, value_of(a), use[i].command, value_of(b),
                             use[j].command);
        }
    }
}

Test(grammar, a_letter_is_one_thing_everywhere)
{
    collect_all();
    for (int32_t i = 0; i < use_count; i++) {
        cr_expect(strchr("hV", letter_of(use[i].option)) == NULL, "-%c of %s is taken",
                  letter_of(use[i].option), use[i].command);
        for (int32_t j = 0; j < i; j++) {
            if (letter_of(use[i].option) == '-' ||
                letter_of(use[i].option) != letter_of(use[j].option))
                continue;
            cr_expect_str_eq(use[i].option->name, use[j].option->name,
                             "-%c is --%s of %s and --%s of %s", letter_of(use[i].option),
                             use[i].option->name, use[i].command, use[j].option->name,
                             use[j].command);
        }
    }
}

static void expect_example(const char *name, const struct argp *argp)
{
    const char *text = strchr(argp->doc, '\v');

    const char *example = scratch_print("  emplace %s ", name);
    cr_assert_not_null(text, "%s", name);
    if (strstr(text, example) == NULL) {
        example = scratch_print("  emplace %s\n", name);
        cr_expect_not_null(strstr(text, example), "%s has no example", name);
    }
}

static void expect_lines_that_fit(const char *name, const char *text)
{
    const char *before = "x";

    while (*text != '\0') {
        int length = (int)strcspn(text, "\n");
        cr_expect_lt(length, LINE, "%s: %.*s", name, length, text);
        cr_expect(length == 0 || !isspace((unsigned char)text[length - 1]),
                  "%s: blanks end \"%.*s\"", name, length, text);
        cr_expect(length > 0 || before[0] != '\n', "%s: two empty lines", name);
        before = text;
        text += length + (text[length] == '\n');
    }
}

/* Between the first option and the last there is no empty line. */
static void expect_block(const char *name, const char *text)
{
    const char *first = strstr(text, "\n  -"), *last = strstr(text, "--version ");

    cr_assert(first != NULL && last != NULL && first < last, "%s: %s", name, text);
    const char *empty = strstr(first, "\n\n");
    cr_expect(empty == NULL || empty > last, "%s: an empty line among options", name);
}

/* Copies the text with what stands on lines that end with a backslash on one. */
static void join_lines(char *joined, size_t size, const char *text)
{
    size_t used = 0;

    while (*text != '\0' && used + 1 < size)
        if (text[0] == '\\' && text[1] == '\n')
            text += 2 + strspn(text + 2, " ");
        else
            joined[used++] = *text++;
    joined[used] = '\0';
}

static bool is_known(const char *folder, const char *name, size_t length)
{
    emp_data_names names;

    emp_data_find(&names, folder);
    for (int32_t i = 0; i < names.count; i++)
        if (strlen(names.name[i]) == length && strncmp(names.name[i], name, length) == 0)
            return true;
    return false;
}

/* Machines of examples are there, unless they are files or made from parameters. */
static void expect_known_machine(const char *command, const char *line)
{
    static const char *const options[] = {" -m ", " --machine "};

    for (int i = 0; i < 2; i++) {
        const char *at = strstr(line, options[i]);
        if (at == NULL) continue;
        const char  *name = at + strlen(options[i]);
        const size_t length = strcspn(name, " \n");
        if (strcspn(name, ".:") < length) continue;
        cr_expect(is_known("machines", name, length) ||
                      is_known("clusters", name, length) ||
                      is_known("machines/models", name, length),
                  "%s: %s", command, line);
    }
}

/* Examples are indented. An example that is broken without a backslash cannot be pasted. */
static void expect_whole_examples(const char *name, const char *help,
                                  const struct argp *argp)
{
    char printed[32768], doc[8192];

    join_lines(printed, sizeof printed, help);
    join_lines(doc, sizeof doc, argp->doc);
    for (char *rest = doc, *line; (line = strsep(&rest, "\n\v")) != NULL;)
        if (strncmp(line, "  ", 2) == 0) {
            cr_expect_not_null(strstr(printed, line), "%s: %s", name, line);
            if (strstr(line, "emplace ") != NULL) expect_known_machine(name, line);
        }
}

static void expect_version(const char *name)
{
    for (int i = 0; i < 2; i++) {
        emplace_ok(scratch_print("%s %s", name, i == 0 ? "--version" : "-V"));
        cr_expect_eq(strncmp(program_out, "emplace ", 8), 0, "%s: %s", name, program_out);
    }
}

static void expect_help(const char *name, const struct argp *argp)
{
    char arguments[3][96], told[32768];

    snprintf(arguments[0], sizeof arguments[0], "%s --help", name);
    snprintf(arguments[1], sizeof arguments[1], "%s -h", name);
    snprintf(arguments[2], sizeof arguments[2], "help %s", name);
    for (int i = 0; i < 3; i++) {
        emplace_ok(arguments[i]);
        if (i == 0) snprintf(told, sizeof told, "%s", program_out);
        cr_expect_str_eq(program_out, told, "%s", arguments[i]);
    }
    expect_lines_that_fit(name, told);
    expect_block(name, told);
    expect_example(name, argp);
    expect_whole_examples(name, told, argp);
    expect_version(name);
}

Test(grammar, help_fits_and_is_the_same_by_every_way)
{
    walk(cli_commands, "", expect_help);
}

Test(grammar, the_program_and_groups_give_help_and_the_version)
{
    static const char *const help[] = {
        "bench -h",       "bench --help", "help bench", "calibrate -h",
        "help calibrate", "--help",       "-h",         "help"};
    static const char *const version[] = {"-V", "--version", "bench -V",
                                          "calibrate --version"};

    for (size_t i = 0; i < sizeof help / sizeof *help; i++) {
        emplace_prints(help[i], "Usage: emplace ");
        expect_lines_that_fit(help[i], program_out);
    }
    for (const cli_command *c = cli_commands; c->name != NULL; c++)
        cr_expect_not_null(strstr(program_out, c->name), "%s is not listed", c->name);
    for (size_t i = 0; i < sizeof version / sizeof *version; i++) {
        emplace_ok(version[i]);
        cr_expect_eq(strncmp(program_out, "emplace ", 8), 0, "%s", version[i]);
    }
}

Test(grammar, results_are_printed_in_every_format)
{
    static const char *const commands[] = {
        "methods",  "methods hdp",    "machines",  "machines k40x2",
        "runtimes", "runtimes ideal", "workloads", "workloads nmt"};
    static const struct {
        const char *name, *begins;
    } formats[] = {{"json", "{"}, {"md", "|"}, {"csv", "# made by: "}};

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
            const char *arguments =
                scratch_print("%s -f %s", commands[i], formats[f].name);
            emplace_ok(arguments);
            cr_expect_eq(
                strncmp(program_out, formats[f].begins, strlen(formats[f].begins)), 0,
                "%s: %.60s", arguments, program_out);
        }
}

Test(grammar, counts_and_times_are_read_as_people_write_them)
{
    static const char *const good[] = {"-b 1e1", "-b 0.01k",      "-s 1",
                                       "-s 60s", "-s 2m",         "--seconds '1 h'",
                                       "-k 1e3", "-b 10 -s 500ms"};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const char *arguments =
            scratch_print("place small.pbtxt -m k40x2 -M %s %s --no-bound",
                          strncmp(good[i], "-s 1", 4) == 0 ? "random" : "gpu", good[i]);
        cr_expect_eq(emplace_run(arguments), 0, "%s: %s", arguments, program_err);
    }
}

Test(grammar, what_was_meant_is_guessed)
{
    static const struct {
        const char *arguments, *hint;
    } cases[] = {
        {"plcae rnnlm", "(did you mean \"place\"?)"},
        {"bench placres", "(did you mean \"placers\"?)"},
        {"place rnnlm --machin3 k40x2", "(did you mean \"--machine\"?)"},
        {"methods hpd", "(did you mean \"hdp\"?)"},
        {"machines k40x3", "(did you mean \"k40x1\"?)"},
        {"runtimes idael", "(did you mean \"ideal\"?)"},
        {"workloads nmtt", "(did you mean \"nmt\"?)"},
        {"graph rnnml", "(did you mean \"rnnlm\"?)"},
        {"graph nmt:layer=2", "(did you mean \"layers\"?)"},
        {"place small.pbtxt -m k40x2 -M metis --options imbalence=0.1",
         "(did you mean \"imbalance\"?)"},
        {"place small.pbtxt -m k40x2 -M hdp --preset papr", "(did you mean \"paper\"?)"},
        {"table 1 --rows nmt9", "(did you mean \"nmt2\"?)"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_neq(emplace_run(cases[i].arguments), 0);
        cr_expect_not_null(strstr(program_err, cases[i].hint), "%s: %s",
                           cases[i].arguments, program_err);
    }
}
