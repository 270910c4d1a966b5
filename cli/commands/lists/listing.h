/** \file cli/commands/lists/listing.h
 * Lists of what there is: workloads, machines, runtimes, methods, instances.
 */
#ifndef EMP_CLI_COMMANDS_LISTS_LISTING_H
#define EMP_CLI_COMMANDS_LISTS_LISTING_H

#include <argp.h>
#include <jansson.h>

#include "base/error.h"
#include "run/sheet/sheet.h"

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

#endif /* EMP_CLI_COMMANDS_LISTS_LISTING_H */
