// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/commands/lists/listing.h"

#include <stdio.h>

#include "cli/cli.h"
#include "cli/format.h"

static const emp_sheet_column columns[] = {
    EMP_COLUMN("name", "name", EMP_SHEET_WORD),
    EMP_COLUMN("description", "description", EMP_SHEET_WORD)};

const struct argp_child cli_listing_children[] = {{&cli_format_argp, 0, NULL, 0}, {0}};

error_t cli_listing_parse(int key, char *arg, struct argp_state *state)
{
    cli_listing_args *args = (cli_listing_args *)state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->format; return 0;
    case ARGP_KEY_ARG:
        if (args->name != NULL) cli_usage_error("one NAME only, not also \"%s\"", arg);
        args->name = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void cli_listing_begin(cli_listing *l, emp_sheet_format format)
{
    *l = (cli_listing){.format = format, .object = json_object()};
    EMP_SHEET_INIT(&l->sheet, columns);
}

void cli_listing_add(cli_listing *l, const char *name, const char *text, json_t *object)
{
    json_object_set_new(l->object, name, object);
    if (l->format == EMP_SHEET_TEXT)
        cli_print_entry(name, CLI_LISTING_COLUMN, text);
    else
        EMP_SHEET_ADD(&l->sheet, EMP_V(name), EMP_V(text));
}

emp_status cli_listing_end(cli_listing *l, emp_status st, emp_error *err)
{
    if (st == EMP_OK && l->format == EMP_SHEET_JSON)
        st = cli_print_json(json_incref(l->object), err);
    else if (st == EMP_OK && l->format != EMP_SHEET_TEXT)
        st = emp_sheet_print(stdout, &l->sheet, l->format, err);
    json_decref(l->object);
    emp_sheet_clear(&l->sheet);
    return st;
}

void cli_listing_more(emp_sheet_format format, const char *command)
{
    if (format == EMP_SHEET_TEXT) printf("emplace %s NAME describes one.\n", command);
}

emp_status cli_listing_one(const char *name, json_t *object, emp_sheet_format format,
                           emp_error *err)
{
    if (format != EMP_SHEET_JSON) return cli_print_object(object, format, err);
    json_t *list = json_object();
    json_object_set_new(list, name, object);
    return cli_print_json(list, err);
}
