/** \file cli/cli.h
 * What the sub-commands share: their table's entry, how options are parsed, and how they
 * speak and print results. A command returns a status; main() prints its one sentence and exits with 0, 1
 * (bad input), 130 (interrupted) or 75 (a part of a study that a scheduler has interrupted).
 * Bad usage ends the program at once with 2.
 */
#ifndef EMP_CLI_CLI_H
#define EMP_CLI_CLI_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/stop.h"
#include "run/sheet/sheet.h"

/** A command, or a group of commands: what lists of them and tests of all options read. */
typedef struct cli_command {
    const char *name;    /**< "place"; NULL ends a list */
    const char *summary; /**< one line for the list of commands */
    emp_status (*run)(int argc, char **argv, emp_error *err); /**< NULL of a group */
    const struct argp *argp; /**< its options; NULL of a group */
    const struct cli_command
        *group; /**< OPTIONAL. The commands of a group: "bench placers" */
} cli_command;

/** All commands, in the order of listings. */
extern const cli_command cli_commands[];

#define EMP_CLI_COMMAND(name)                                                   \
    emp_status               cmd_##name(int argc, char **argv, emp_error *err); \
    extern const struct argp cmd_##name##_argp
EMP_CLI_COMMAND(ablate);
EMP_CLI_COMMAND(bench_adversary);
EMP_CLI_COMMAND(bench_anomalies);
EMP_CLI_COMMAND(bench_mechanisms);
EMP_CLI_COMMAND(bench_order);
EMP_CLI_COMMAND(bench_fusion);
EMP_CLI_COMMAND(bench_transfer);
EMP_CLI_COMMAND(bench_placers);
EMP_CLI_COMMAND(bench_surrogate);
EMP_CLI_COMMAND(bound);
EMP_CLI_COMMAND(calibrate_check);
EMP_CLI_COMMAND(calibrate_fit);
EMP_CLI_COMMAND(calibrate_iterations);
EMP_CLI_COMMAND(calibrate_measure);
EMP_CLI_COMMAND(calibrate_ops);
EMP_CLI_COMMAND(compare);
EMP_CLI_COMMAND(cost_attention);
EMP_CLI_COMMAND(cost_comm);
EMP_CLI_COMMAND(cost_gemm);
EMP_CLI_COMMAND(graph);
EMP_CLI_COMMAND(instances);
EMP_CLI_COMMAND(machines);
EMP_CLI_COMMAND(merge);
EMP_CLI_COMMAND(methods);
EMP_CLI_COMMAND(place);
EMP_CLI_COMMAND(plan);
EMP_CLI_COMMAND(plot);
EMP_CLI_COMMAND(record);
EMP_CLI_COMMAND(replay);
EMP_CLI_COMMAND(report);
EMP_CLI_COMMAND(runtimes);
EMP_CLI_COMMAND(score);
EMP_CLI_COMMAND(serve);
EMP_CLI_COMMAND(simulate);
EMP_CLI_COMMAND(study);
EMP_CLI_COMMAND(table);
EMP_CLI_COMMAND(train);
EMP_CLI_COMMAND(validate);
EMP_CLI_COMMAND(workloads);
#undef EMP_CLI_COMMAND

/** Prints a sentence to standard error, as one line without control characters, since names in it may
 * come from files. */
void cli_say(const char *prefix, const char *sentence);

/** Whether a sentence was printed after a signal had asked the program to end. */
bool cli_has_answered(void);

/** Prints "emplace: <message>" and exits 2. */
EMP_PRINTF_LIKE(1, 2) _Noreturn void cli_usage_error(const char *format, ...);

/** Prints "emplace: warning: <message>" to standard error. */
EMP_PRINTF_LIKE(1, 2) void cli_warn(const char *format, ...);

/** Prints "emplace: <message>" to standard error: information that is no reason to worry. */
EMP_PRINTF_LIKE(1, 2) void cli_inform(const char *format, ...);

/** Has cli_warn() and cli_inform() print nothing while \a is_repeated, where a command does once more what it has
 * warned of. Belongs to the calling thread. */
void cli_warn_only_once(bool is_repeated);

/** The value of an option: a whole number in minimum..maximum, as 400, 10k, 2M or, to 2^53, 1e6;
 * exits 2 otherwise. */
long long cli_integer(const char *option, const char *text, long long minimum,
                      long long maximum);

/** The value of an option: a time above 0, in seconds or with a unit, as 90, 1.5s, 2m or 1h;
 * exits 2 otherwise. \return seconds. */
double cli_seconds(const char *option, const char *text);
/** Likewise a share in percent, from 0 on; "5" or "5%" is 0.05. */
double cli_percent(const char *option, const char *text);
/** The value of --why: whether it is "full", as in --why=full; NULL: it has none. Exits 2 otherwise. */
bool cli_why_is_full(const char *text);

/** The value of an option: a size above 0, in MiB or with a unit, as 500 MB or 2 GiB; exits 2
 * otherwise. \return bytes. */
int64_t cli_mebibytes(const char *option, const char *text);

/** The machine that --machine names: "k40" is machine k40x1; what names a machine or a file
 * stays. \return \a buffer. */
const char *cli_machine_of(const char *name, char *buffer, size_t size);

/** Keys of options without a letter that need no case in a parser: cli_store() puts their word into a field of the
 * arguments, of the type const char *, or sets it, of the type bool.
 *
 *     {"layers", CLI_TEXT(struct args, layers), "FILE", 0, "Table of layers", 0} */
enum {
    CLI_TEXT_KIND = 1,
    CLI_FLAG_KIND,
    CLI_FIELD_BITS = 20
}; /* argp keeps 24 bits of a key */
#define CLI_TEXT(type, field) CLI_KEY_(CLI_TEXT_KIND, type, field, const char *)
#define CLI_FLAG(type, field) CLI_KEY_(CLI_FLAG_KIND, type, field, bool)
#define CLI_KEY_(kind, type, field, kind_of_field) \
    ((kind) << CLI_FIELD_BITS |                    \
     (int)(offsetof(type, field) *                 \
           sizeof(char[_Generic(((type *)0)->field, kind_of_field : 1)])))

/** Stores the value of an option that the parser has no case for. \retval ARGP_ERR_UNKNOWN  A key of another kind. */
error_t cli_store(int key, const char *arg, void *args);

/** The row of --force in a command's table of options; it sets the field is_forced. */
#define CLI_FORCE_OPTION(type)                               \
    {                                                        \
        "force", CLI_FLAG(type, is_forced), NULL, 0,         \
            "Replace output files that are there already", 0 \
    }

/** The next word of the value of an option that is a list, copied to \a word; false at the
 * end. Exits 2 if it is longer than \a size - 1. */
bool cli_next_word(const char **list, char *word, size_t size);

/** Prints the sheet and those that follow it to standard output, and clears it. */
emp_status cli_print_sheet(emp_sheet *sheet, emp_sheet_format format, emp_error *err);

/** The sheet as a CSV file that appears whole; nothing if \a path is NULL. */
emp_status cli_write_sheet(const char *path, const emp_sheet *sheet, emp_error *err);

/** Number of processors this program may use. */
int cli_default_threads(void);

/** A number, or null for NaN and infinity, which JSON lacks. */
json_t *cli_json_number(double value);

/** Prints one JSON object to standard output and releases it. NULL (no memory) fails. For
 * cli_print_object(), which commands call. */
emp_status cli_print_json(json_t *object, emp_error *err);

/* parse.c: the grammar of all commands, options as their tables say, -h and -V everywhere, and one
 * sentence for what is wrong. */

enum { CLI_MOST_OPTIONS = 64 };

/** Parses the options of a command into \a args, which its parser finds in state->input.
 * Prints help or the version to standard output and exits 0 where they are asked for; exits 2
 * on bad usage. */
void cli_parse(const struct argp *argp, int argc, char **argv, void *args);

/** Prints the help of a command, \a name being "emplace place", for the width of the terminal. */
void cli_print_help(const struct argp *argp, const char *name);

/** The options of a command and of all its argp children, in \a list; hidden ones, too.
 * \return their number. */
int32_t cli_collect_options(const struct argp        *argp,
                            const struct argp_option *list[CLI_MOST_OPTIONS]);

/** Prints the version and commit; \a is_verbose: the libraries, too. */
void cli_print_version(bool is_verbose);

/* The option --format, the same in every command that prints a result. */

/** The option and its parser. A command adds it as an argp child with an emp_sheet_format as
 * input, which keeps its value unless the option is given; zero is text. */
extern const struct argp cli_format_argp;

/** Whether people read the format: text and Markdown. */
bool cli_format_is_for_people(emp_sheet_format format);

/** Prints one JSON object to standard output and releases it: as it is, or as lines of a key
 * and a value. Keys of objects within it are joined by dots, places in lists likewise. The
 * ending of a key states the unit in which people read the number: step_time_s, peak_bytes.
 * \retval EMP_ENOMEM  Also if \a object is NULL.
 * \retval EMP_EIO     Standard output has failed. */
emp_status cli_print_object(json_t *object, emp_sheet_format format, emp_error *err);

/** Columns of the terminal that \a stream is: at least 40; 80 if it is none. */
int cli_terminal_width(FILE *stream);

/** Prints "  word  text" on standard output, the text from column \a column on and broken
 * between words where the terminal ends. */
void cli_print_entry(const char *word, int column, const char *text);

/* Lists of what there is: workloads, machines, runtimes, methods, instances. */

enum { CLI_LISTING_COLUMN = 17 }; /**< of descriptions */

/** The arguments of a command that lists things: `[NAME] [--format F]`. */
typedef struct {
    const char      *name; /**< the only one that is wanted, or NULL */
    emp_sheet_format format;
} cli_listing_args;

/** The parser of cli_listing_args, and the options that go with it. */
error_t cli_listing_parse(int key, char *arg, struct argp_state *state);
extern const struct argp_child cli_listing_children[];

/** A line a thing; an object of all in JSON. */
typedef struct {
    emp_sheet_format format;
    json_t          *object; /**< of JSON */
    emp_sheet        sheet;  /**< of Markdown and CSV */
} cli_listing;

void cli_listing_begin(cli_listing *l, emp_sheet_format format);

/** Takes over the object. */
void cli_listing_add(cli_listing *l, const char *name, const char *text, json_t *object);

/** Prints the list unless something went wrong before. */
emp_status cli_listing_end(cli_listing *l, emp_status st, emp_error *err);

/** The last line of a list for people. */
void cli_listing_more(emp_sheet_format format, const char *command);

/** One of them, which is an object of a list of one in JSON. Takes over the object. */
emp_status cli_listing_one(const char *name, json_t *object, emp_sheet_format format,
                           emp_error *err);

#endif /* EMP_CLI_CLI_H */
