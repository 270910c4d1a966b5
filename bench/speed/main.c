// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace-speed: how fast the oracle, searches, the learners' networks and readers of files are. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/speed/speed.h"

static const struct {
    const char *name;
    emp_status (*run)(emp_speed_table *table, const emp_speed_params *params,
                      emp_error *err);
    const char *says;
} commands[] = {
    {"oracle", emp_speed_oracle,
     "[SPEC...]  time the oracle beside other simulators, on synthetic graphs or those "
     "named"},
    {"search", emp_speed_search, "time the moves of searches beside the oracle alone"},
    {"policy", emp_speed_policy, "time updates of learners' networks beside PyTorch"},
    {"read", emp_speed_read, "FILE...  time the readers of graph files"}};
enum { ORACLE = 1, SEARCH = 2, POLICY = 4, READ = 8, ALL = 15, COMMANDS = 4 };

typedef struct {
    emp_speed_params params;
    const char      *format, *levels;
} arguments;

typedef enum { WORDS, NUMBER, LARGE /* 64 bits */, NUMBERS } option_kind;

#define AT(field) offsetof(arguments, field)
static const struct option {
    const char *name;
    int         commands;
    option_kind kind;
    size_t      at;
    int64_t     least, most;
    const char *says;
} options[] = {
    {"format", ALL, WORDS, AT(format), 0, 0, "text, md, csv or json"},
    {"repeats", ALL, NUMBER, AT(params.repeats), 1, 100000, "rounds (9)"},
    {"seed", ALL, LARGE, AT(params.seed), 0, INT32_MAX,
     "of graphs, placements, weights (1)"},
    {"machine", ORACLE | SEARCH, WORDS, AT(params.machine), 0, 0, "name or file (k40x4)"},
    {"sizes", ORACLE | SEARCH, NUMBERS, AT(params.sizes), 2, 100000000,
     "ops of synthetic graphs: 1k, 10k, 83k (82944), 1M, or numbers"},
    {"patterns", ORACLE, WORDS, AT(params.patterns), 0, 0,
     "placements: gpu, pipeline, groups (256 on random devices), random (all)"},
    {"profiles", ORACLE, WORDS, AT(params.profiles), 0, 0,
     "ideal, tf-r1.3; with an order of ops: ideal-levels, tf-r1.3-levels; with a device "
     "model for each device: ideal-models, tf-r1.3-models (the first two)"},
    {"levels", ORACLE, WORDS, AT(levels), 0, 0,
     "order of ops where there is one: random, or bottom, by critical path (random)"},
    {"peers", ORACLE | POLICY, WORDS, AT(params.peers), 0, 0,
     "none; textbook, simgrid, python; torch (all)"},
    {"runtime", SEARCH, WORDS, AT(params.runtime), 0, 0,
     "profile (ideal; of rows tf-r1.3)"},
    {"methods", SEARCH, WORDS, AT(params.methods), 0, 0, "(local,anneal,mcmc,refine)"},
    {"rows", SEARCH, WORDS, AT(params.rows), 0, 0,
     "of Table 1, or all, instead of synthetic graphs, each on its machine"},
    {"moves", SEARCH, LARGE, AT(params.moves), 16, 1000000000,
     "of a search (1000 on a row)"},
    {"networks", POLICY, WORDS, AT(params.networks), 0, 0,
     "placer, grouper, go, hsdag, doppler (the first two)"},
    {"hidden", POLICY, NUMBERS, AT(params.hidden), 1, 4096,
     "cells of the placer (512,256)"},
    {"batches", POLICY, NUMBERS, AT(params.samples), 1, 64,
     "placements in an update of the placer (1,4,16)"},
    {"groups", POLICY, NUMBER, AT(params.groups), 1, 4096, "of the planner (256)"},
    {"ops", POLICY, NUMBER, AT(params.ops), 1, 10000000, "of the grouper (82944)"},
    {"nodes", POLICY, NUMBER, AT(params.nodes), 1, 1000000, "that GO places (20000)"},
    {"sets", POLICY, NUMBER, AT(params.sets), 1, 100000, "that HSDAG places (1000)"},
    {"steps", POLICY, NUMBER, AT(params.steps), 1, 500, "of DOPPLER's episodes (64)"},
    {"threads", POLICY, NUMBER, AT(params.threads), 1, 256, "of an update (1)"}};
enum { OPTIONS = sizeof options / sizeof *options };

static void print_help(void)
{
    for (int i = 0; i < COMMANDS; i++)
        printf("emplace-speed %s %s\n", commands[i].name, commands[i].says);
    for (int i = 0; i < OPTIONS; i++) {
        printf("  --%s", options[i].name);
        for (int c = 0; options[i].commands != ALL && c < COMMANDS; c++)
            if (options[i].commands >> c & 1) printf(" (%s)", commands[c].name);
        printf(": %s\n", options[i].says);
    }
}

static emp_status parse_number(int64_t *number, const struct option *o, const char *word,
                               size_t length, emp_error *err)
{
    static const struct {
        const char *suffix;
        int64_t     factor;
    } units[] = {{"", 1}, {"k", 1000}, {"M", 1000000}};
    char     *end = NULL;
    const int count = o->kind == NUMBERS ? 3 : 1;

    if (length == 3 && strncmp(word, "83k", 3) == 0) {
        *number = 82944;
        return EMP_OK;
    }
    const long value = strtol(word, &end, 10);
    for (int i = 0; i < count && end > word; i++) {
        const size_t rest = (size_t)(word + length - end);
        if (rest != strlen(units[i].suffix) || strncmp(end, units[i].suffix, rest) != 0)
            continue;
        *number = value * units[i].factor;
        if (*number >= o->least && *number <= o->most) return EMP_OK;
    }
    return EMP_ERROR(EMP_EINVAL, "--%s takes a number from %lld to %lld, not \"%.*s\"",
                     o->name, (long long)o->least, (long long)o->most, (int)length, word);
}

static emp_status parse_list(emp_speed_list *numbers, const struct option *o,
                             const char *list, emp_error *err)
{
    numbers->count = 0;
    for (const char *at = list; at != NULL;) {
        const char  *comma = strchr(at, ',');
        const size_t length = comma != NULL ? (size_t)(comma - at) : strlen(at);
        int64_t      number;
        if (numbers->count == EMP_SPEED_MAX)
            return EMP_ERROR(EMP_EINVAL, "--%s takes at most %d numbers", o->name,
                             EMP_SPEED_MAX);
        EMP_CHECK(parse_number(&number, o, at, length, err));
        numbers->value[numbers->count++] = (int32_t)number;
        at = comma != NULL ? comma + 1 : NULL;
    }
    return EMP_OK;
}

static emp_status set_option(arguments *a, const struct option *o, const char *value,
                             emp_error *err)
{
    void   *to = (char *)a + o->at;
    int64_t number;

    if (o->kind == NUMBERS) return parse_list((emp_speed_list *)to, o, value, err);
    if (o->kind == WORDS) {
        *(const char **)to = value;
        return EMP_OK;
    }
    EMP_CHECK(parse_number(&number, o, value, strlen(value), err));
    if (o->kind == LARGE)
        *(int64_t *)to = number;
    else
        *(int32_t *)to = (int32_t)number;
    return EMP_OK;
}

/* Options "--name value" or "--name=value"; other words are moved to the front. */
static emp_status parse(arguments *a, int command, int argc, char **argv, emp_error *err)
{
    int words = 0;

    for (int i = 0; i < argc; i++) {
        const char *name = argv[i] + 2, *equals = strchr(argv[i], '=');
        if (strncmp(argv[i], "--", 2) != 0) {
            argv[words++] = argv[i];
            continue;
        }
        const size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
        int          o = 0;
        while (o < OPTIONS && (strlen(options[o].name) != length ||
                               strncmp(options[o].name, name, length) != 0 ||
                               !(options[o].commands >> command & 1)))
            o++;
        if (o == OPTIONS)
            return EMP_ERROR(EMP_EINVAL, "%s has no option %s", commands[command].name,
                             argv[i]);
        if (equals == NULL && ++i == argc)
            return EMP_ERROR(EMP_EINVAL, "%s needs a value", argv[i - 1]);
        EMP_CHECK(set_option(a, &options[o], equals != NULL ? equals + 1 : argv[i], err));
    }
    if (words > ((1 << command) & (ORACLE | READ) ? EMP_SPEED_MAX : 0))
        return EMP_ERROR(EMP_EINVAL, "\"%s\" is one argument too many", argv[words - 1]);
    a->params.source = (const char *const *)argv;
    a->params.source_count = words;
    return EMP_OK;
}

/* Defaults that depend on other options. */
static emp_status complete(arguments *a, int command, emp_error *err)
{
    emp_speed_params *p = &a->params;
    const bool        is_search = 1 << command == SEARCH;

    if (p->runtime == NULL) p->runtime = p->rows != NULL ? "tf-r1.3" : "ideal";
    if (p->sizes.count == 0 && p->source_count == 0)
        p->sizes = (emp_speed_list){{10000, 82944, 1000, 1000000}, is_search ? 2 : 4};
    if (a->levels == NULL || strcmp(a->levels, "random") == 0) return EMP_OK;
    p->has_bottom_levels = strcmp(a->levels, "bottom") == 0;
    if (p->has_bottom_levels) return EMP_OK;
    return EMP_ERROR(EMP_EINVAL, "--levels is random or bottom, not \"%s\"", a->levels);
}

static char made_by[1024] = "emplace-speed";

static void note_command(int argc, char **argv)
{
    size_t used = strlen(made_by);

    for (int i = 1; i < argc && used < sizeof made_by; i++)
        used += (size_t)snprintf(made_by + used, sizeof made_by - used, " %s", argv[i]);
}

static emp_status run(int command, int argc, char **argv, emp_error *err)
{
    arguments        a = {.format = "text",
                          .params = {.machine = "k40x4",
                                     .profiles = "ideal,tf-r1.3",
                                     .methods = "local,anneal,mcmc,refine",
                                     .networks = "placer,grouper",
                                     .hidden = {{512, 256}, 2},
                                     .samples = {{1, 4, 16}, 3},
                                     .groups = 256,
                                     .ops = 82944,
                                     .nodes = 20000,
                                     .sets = 1000,
                                     .steps = 64,
                                     .threads = 1,
                                     .repeats = 9,
                                     .seed = 1}};
    emp_speed_table  table;
    emp_sheet_format format;

    EMP_CHECK(parse(&a, command, argc, argv, err));
    EMP_CHECK(complete(&a, command, err));
    EMP_CHECK(emp_sheet_format_parse(&format, a.format, err));
    emp_status st = commands[command].run(&table, &a.params, err);
    table.sheet.command = made_by;
    if (st == EMP_OK) st = emp_sheet_print(stdout, &table.sheet, format, err);
    emp_sheet_clear(&table.sheet);
    return st;
}

int main(int argc, char **argv)
{
    emp_error err = {0};
    int       command = 0;

    while (argc > 1 && command < COMMANDS && strcmp(argv[1], commands[command].name) != 0)
        command++;
    if (argc < 2 || command == COMMANDS) {
        print_help();
        return argc == 2 && strcmp(argv[1], "--help") == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    note_command(argc, argv);
    if (run(command, argc - 2, argv + 2, &err) == EMP_OK) return EXIT_SUCCESS;
    fprintf(stderr, "emplace-speed: %s\n", err.msg);
    return EXIT_FAILURE;
}
