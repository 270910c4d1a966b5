// SPDX-License-Identifier: GPL-3.0-or-later
/* emplace serve: the oracle for programs in any language, as lines of JSON. */
#include "cli/cli.h"
#include "cli/serve/server.h"
#include "cli/stop.h"

enum { KEY_SOCKET = 256, KEY_PROBLEMS, KEY_MEMORY, KEY_CLIENTS, KEY_RUNS, KEY_LINE };

struct args {
    cli_server_params server;
    int32_t           problems;
    int64_t           memory; /* bytes */
};

static const struct argp_option options[] = {
    {"socket", KEY_SOCKET, "PATH", 0,
     "Serve at a Unix socket (default: standard input and output)", 0},
    {"problems", KEY_PROBLEMS, "N", 0, "Problems kept at a time (default 16)", 0},
    {"memory", KEY_MEMORY, "SIZE", 0, "Memory of the problems kept (default 2 GiB)", 0},
    {"clients", KEY_CLIENTS, "N", 0, "Clients at a time (default 128)", 0},
    {"most-runs", KEY_RUNS, "N", 0, "Runs of methods at a time (default 2)", 0},
    {"line-bytes", KEY_LINE, "SIZE", 0, "Longest request: 4 MiB if nothing is said", 0},
    {0},
};

static const char doc[] =
    "Answer requests, lines of JSON, with the oracle: load a problem, score placements, "
    "explain one, place by a method. docs/library.md lists requests and answers.\v"
    "Clients have their turn one after another. Of the problems kept, those not used for "
    "longest make room for a new one, which is refused if it takes more than --memory by "
    "itself. Nothing is reachable from the network. The "
    "socket is its owner's.\n\n"
    "  emplace serve < requests.jsonl > answers.jsonl\n"
    "  emplace serve --socket /run/user/1000/emplace";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
    case KEY_SOCKET: args->server.socket = arg; return 0;
    case KEY_PROBLEMS:
        args->problems = (int32_t)cli_integer("problems", arg, 1, 100000);
        return 0;
    case KEY_MEMORY: args->memory = cli_mebibytes("memory", arg); return 0;
    case KEY_CLIENTS:
        args->server.clients =
            (int32_t)cli_integer("clients", arg, 1, CLI_SERVE_CLIENTS_MAX);
        return 0;
    case KEY_RUNS:
        args->server.runs =
            (int32_t)cli_integer("most-runs", arg, 1, CLI_SERVE_CLIENTS_MAX);
        return 0;
    case KEY_LINE:
        args->server.line_bytes = (size_t)cli_mebibytes("line-bytes", arg);
        return 0;
    case ARGP_KEY_ARG: cli_usage_error("serve takes no argument, not \"%s\"", arg);
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cmd_serve_argp = {options, parse, NULL, doc, NULL, NULL, NULL};

emp_status cmd_serve(int argc, char **argv, emp_error *err)
{
    cli_desk   *desk = NULL;
    struct args args = {.server = {.clients = 128, .runs = 2, .line_bytes = 4 << 20},
                        .problems = 16,
                        .memory = INT64_C(2) << 30};

    cli_parse(&cmd_serve_argp, argc, argv, &args);
    args.server.stop = cli_stop_flag();
    cli_stop_unwatch();
    EMP_CHECK(cli_desk_create(&desk, args.problems, args.memory, err));
    emp_status st = cli_server_run(desk, &args.server, err);
    cli_desk_destroy(desk);
    return st == EMP_OK && cli_stop_is_asked() ? EMP_EINTERRUPTED : st;
}
