// SPDX-License-Identifier: GPL-3.0-or-later
/* The clients of `emplace serve`: lines in, lines out, one request of each client in turn.
 */
#define _GNU_SOURCE /* accept4, SOCK_CLOEXEC */

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/serve/desk.h"
#include "cli/stop.h"

enum { CLI_SERVE_CLIENTS_MAX = 1024 };

typedef struct {
    const char *socket; /**< path of a Unix socket; NULL: standard input and output */
    int32_t     clients, runs; /**< at a time */
    size_t      line_bytes;    /**< of a request, at most */
    const atomic_int *stop;
} cli_server_params;

enum { READ_BYTES = 1 << 16, LOOK_MS = 200, BACKLOG = 64 };

typedef struct {
    int         in, out;   /* the same, of a socket */
    bool        is_ending; /* nothing more comes */
    char       *line;      /* what has come: [capacity], `used` of it */
    size_t      used, capacity;
    char       *answer; /* what is to be sent, from `sent` to `size`; by malloc() */
    size_t      sent, size;
    bool        is_running; /* a run makes the answer, which comes through the channel */
    emp_channel run;
    char       *loss; /* the answer if the run ends without one, by malloc() */
    size_t      loss_size;
} client;

typedef struct {
    cli_desk                *desk;
    const cli_server_params *params;
    int                      listener; /* -1: there is none */
    client                   client[CLI_SERVE_CLIENTS_MAX];
    int32_t                  count, next;        /* whose turn it is */
    bool                     has_lost_an_answer; /* standard output did not take it */
    struct pollfd            watched[CLI_SERVE_CLIENTS_MAX + 1];
} server;

/* ---- clients ---- */

static void add_client(server *s, int in, int out)
{
    s->client[s->count++] = (client){.in = in, .out = out};
}

static void remove_client(server *s, int32_t i)
{
    client *c = &s->client[i];

    if (c->is_running) emp_channel_close(&c->run);
    if (s->listener >= 0) {
        shutdown(c->in, SHUT_RDWR); /* runs of others hold the socket open */
        close(c->in);
    }
    emp_free(c->line);
    free(c->answer);
    free(c->loss);
    *c = s->client[--s->count];
}

static int32_t count_runs(const server *s)
{
    int32_t runs = 0;

    for (int32_t i = 0; i < s->count; i++) runs += s->client[i].is_running;
    return runs;
}

static bool has_answer(const client *c) { return c->answer != NULL; }

static bool has_line(const client *c)
{
    return c->used > 0 && memchr(c->line, '\n', c->used) != NULL;
}

/* Whether a request may be read from it: what it was sent before is answered. */
static bool is_open(const client *c)
{
    return !c->is_ending && !has_answer(c) && !c->is_running && !has_line(c);
}

/* ---- requests ---- */

static void refuse(const server *s, client *c, const char *sentence)
{
    emp_error why = {.status = EMP_EFORMAT};
    FILE     *out = open_memstream(&c->answer, &c->size);

    snprintf(why.msg, sizeof why.msg, "%s", sentence);
    if (out == NULL) return;
    cli_desk_refuse(s->desk, &why, out);
    if (fclose(out) != 0) c->size = 0;
}

static void begin_run(server *s, client *c, FILE *out)
{
    static const emp_error lost = {.status = EMP_EEXTERNAL,
                                   .msg = "the run has ended without an answer"};
    emp_error              why = {0};

    free(c->loss);
    c->loss = NULL;
    FILE *loss = open_memstream(&c->loss, &c->loss_size);

    if (loss != NULL) {
        cli_desk_refuse(s->desk, &lost, loss);
        if (fclose(loss) != 0) c->loss_size = 0;
    }
    if (emp_channel_fork(&c->run, cli_desk_place, s->desk, &why) == EMP_OK) {
        c->is_running = true;
    } else {
        emp_channel_close(&c->run);
        cli_desk_refuse(s->desk, &why, out);
    }
    cli_desk_let_go(s->desk);
}

/* Answers the first line of a client, or lets a run do so. \return  false: it has to wait. */
static bool answer(server *s, client *c)
{
    char          *newline = memchr(c->line, '\n', c->used);
    const size_t   length = (size_t)(newline - c->line);
    const bool     may_run = count_runs(s) < s->params->runs;
    cli_desk_reply reply = CLI_DESK_ANSWERED;
    FILE          *out = open_memstream(&c->answer, &c->size);

    if (out == NULL) {
        c->is_ending = true;
        c->used = 0;
        return true;
    }
    c->sent = 0;
    if (length > 0) reply = cli_desk_answer(s->desk, c->line, length, may_run, out);
    if (reply == CLI_DESK_RUNS) begin_run(s, c, out);
    const bool is_whole = fclose(out) == 0;
    if (!is_whole || c->size == 0) { /* a run answers, or the line was empty */
        free(c->answer);
        c->answer = NULL;
        c->is_ending = c->is_ending || !is_whole;
    }
    if (reply == CLI_DESK_WAITS) return false;
    c->used -= length + 1;
    memmove(c->line, newline + 1, c->used);
    return true;
}

/* One request of each client that has one, beginning with another client each time. */
static bool answer_all(server *s)
{
    bool is_busy = false;

    for (int32_t k = 0; k < s->count; k++) {
        client *c = &s->client[(s->next + k) % s->count];
        if (!has_answer(c) && !c->is_running && has_line(c) && answer(s, c))
            is_busy = true;
    }
    s->next = s->count > 0 ? (s->next + 1) % s->count : 0;
    return is_busy;
}

/* ---- bytes ---- */

static bool grow(client *c, size_t most)
{
    if (c->capacity - c->used >= READ_BYTES) return true;
    size_t capacity = c->capacity == 0 ? 2 * READ_BYTES : 2 * c->capacity;
    char  *moved = capacity <= 2 * (most + READ_BYTES) + READ_BYTES
                       ? emp_realloc(c->line, capacity, 1)
                       : NULL;
    if (moved == NULL) return false;
    c->line = moved;
    c->capacity = capacity;
    return true;
}

static void receive(const server *s, client *c)
{
    if (!grow(c, s->params->line_bytes)) {
        c->is_ending = true;
        return;
    }
    const ssize_t came = read(c->in, c->line + c->used, READ_BYTES);
    if (came < 0 && errno == EINTR) return;
    if (came <= 0) {
        c->is_ending = true;
        if (c->used > 0 && c->line[c->used - 1] != '\n') c->line[c->used++] = '\n';
        return;
    }
    c->used += (size_t)came;
    if (c->used > s->params->line_bytes && !has_line(c)) {
        refuse(s, c, "the request is longer than --line-bytes; the connection ends");
        c->is_ending = true;
        c->used = 0;
    }
}

static void transmit(server *s, client *c)
{
    const size_t left = c->size - c->sent;
    ssize_t      sent = c->in == c->out ? send(c->out, c->answer + c->sent, left,
                                               MSG_DONTWAIT | MSG_NOSIGNAL)
                                        : write(c->out, c->answer + c->sent, left);

    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent < 0) {
        s->has_lost_an_answer = c->in != c->out;
        c->is_ending = true;
        c->used = 0;
        sent = (ssize_t)left;
    }
    c->sent += (size_t)sent;
    if (c->sent < c->size) return;
    free(c->answer);
    c->answer = NULL;
    c->sent = c->size = 0;
}

/* The end of a run: its line, or what has become of it. */
static void collect(client *c)
{
    const emp_channel_wait forever = {.until_s = 1e300};
    emp_error              why = {0};
    char                  *line;
    size_t                 length;

    emp_status st =
        emp_channel_receive_line(&c->run, &line, &length, SIZE_MAX / 4, &forever, &why);
    if (st == EMP_OK) {
        c->answer = malloc(length + 1);
        if (c->answer != NULL) {
            memcpy(c->answer, line, length);
            c->answer[length] = '\n';
            c->size = length + 1;
        }
    } else {
        c->answer = c->loss;
        c->size = c->loss_size;
        c->loss = NULL;
    }
    c->sent = 0;
    c->is_ending = c->is_ending || c->answer == NULL;
    c->is_running = false;
    emp_channel_close(&c->run);
}

/* ---- the loop ---- */

/* The event that is awaited from a client. */
static struct pollfd watch(const client *c)
{
    if (c->is_running) return (struct pollfd){.fd = c->run.socket, .events = POLLIN};
    if (has_answer(c)) return (struct pollfd){.fd = c->out, .events = POLLOUT};
    return (struct pollfd){.fd = is_open(c) ? c->in : -1, .events = POLLIN};
}

static void exchange(server *s, client *c, short events)
{
    if (events == 0) return;
    if (c->is_running)
        collect(c);
    else if (has_answer(c))
        transmit(s, c);
    else
        receive(s, c);
}

static void sweep(server *s)
{
    for (int32_t i = s->count - 1; i >= 0; i--) {
        const client *c = &s->client[i];
        if (c->is_ending && !has_answer(c) && !c->is_running && !has_line(c))
            remove_client(s, i);
    }
}

/* Clients that have closed the connection read no answer. They are forgotten at once where others wait for
 * their places. */
static void forget_gone(server *s)
{
    for (int32_t i = 0; i < s->count; i++) {
        client       *c = &s->client[i];
        struct pollfd gone = {.fd = c->out};
        if (c->in != c->out || c->is_running || poll(&gone, 1, 0) != 1) continue;
        if (!(gone.revents & POLLHUP)) continue;
        free(c->answer);
        c->answer = NULL;
        c->used = c->sent = c->size = 0;
        c->is_ending = true;
    }
    sweep(s);
}

/* \return false: no client waits. */
static bool welcome(server *s)
{
    static const char full[] = "{\"id\":null,\"status\":\"EMP_EUNSUPPORTED\",\"error\":"
                               "\"there are too many clients; come again\"}\n";
    int               fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0 &&
        (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
        (void)poll(NULL, 0,
                   20); /* until a client leaves; it would be asked again at once */
    if (fd < 0) return false;
    if (s->count == s->params->clients) forget_gone(s);
    if (s->count < s->params->clients) {
        add_client(s, fd, fd);
        return true;
    }
    (void)!send(fd, full, sizeof full - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    close(fd);
    return true;
}

/* All who wait, so that newcomers have their turn as soon as the others have had theirs. */
static void welcome_all(server *s)
{
    for (int i = 0; i < BACKLOG && welcome(s); i++) {
    }
}

static void serve(server *s)
{
    bool is_busy = false;

    while (*s->params->stop == 0 && (s->listener >= 0 || s->count > 0)) {
        for (int32_t i = 0; i < s->count; i++) s->watched[i] = watch(&s->client[i]);
        s->watched[s->count] = (struct pollfd){.fd = s->listener, .events = POLLIN};
        if (poll(s->watched, (nfds_t)s->count + 1, is_busy ? 0 : LOOK_MS) < 0) continue;
        const int32_t count = s->count;
        for (int32_t i = 0; i < count; i++)
            exchange(s, &s->client[i], s->watched[i].revents);
        if (s->watched[count].revents != 0) welcome_all(s);
        is_busy = answer_all(s);
        sweep(s);
    }
    cli_stop_unwatch(); /* what is left takes no longer than it must */
    while (s->count > 0) remove_client(s, s->count - 1);
}

/* ---- the socket ---- */

/* A socket that a server has left behind is removed; anything else stays. */
static emp_status clear_place(const struct sockaddr_un *address, emp_error *err)
{
    struct stat status;
    const char *path = address->sun_path;

    if (lstat(path, &status) != 0) return EMP_OK;
    if (!S_ISSOCK(status.st_mode))
        return EMP_ERROR(EMP_EIO, "%s is there already, and is no socket", path);
    int  probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_served =
        connect(probe, (const struct sockaddr *)address, sizeof *address) == 0;
    close(probe);
    if (is_served) return EMP_ERROR(EMP_EIO, "another server is at %s", path);
    unlink(path);
    return EMP_OK;
}

static emp_status listen_at(int *listener, const char *path, emp_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (snprintf(address.sun_path, sizeof address.sun_path, "%s", path) >=
        (int)sizeof address.sun_path)
        return EMP_ERROR(EMP_EIO, "the path of a socket has %zu characters at most",
                         sizeof address.sun_path - 1);
    if (*path == '\0') /* would be a socket without a file, open to everybody */
        return EMP_ERROR(EMP_EINVAL, "a socket needs a path");
    EMP_CHECK(clear_place(&address, err));
    *listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const mode_t before = umask(0177); /* for its owner alone */
    const bool   is_bound =
        *listener >= 0 &&
        bind(*listener, (const struct sockaddr *)&address, sizeof address) == 0 &&
        listen(*listener, BACKLOG) == 0;
    const int why = errno;
    umask(before);
    if (!is_bound)
        return EMP_ERROR(EMP_EIO, "cannot serve at %s: %s", path, strerror(why));
    return EMP_OK;
}

/* Serves until stop is set, or standard input ends. A client that sends too long a line gets
 * an error and is dropped. The run of one that has left goes on to its end. Memory: at most clients lines, and an answer for each.
 * \retval EMP_EIO  The socket cannot be opened; a file is in its place, or another server. */
static emp_status cli_server_run(cli_desk *desk, const cli_server_params *params,
                                 emp_error *err)
{
    emp_status st = EMP_OK;
    server    *s = NULL;

    EMP_TRY(EMP_ALLOC(s, 1));
    *s = (server){.desk = desk, .params = params, .listener = -1};
    if (params->socket != NULL)
        EMP_TRY(listen_at(&s->listener, params->socket, err));
    else
        add_client(s, STDIN_FILENO, STDOUT_FILENO);
    serve(s);
    if (params->socket != NULL) unlink(params->socket);
    if (s->has_lost_an_answer) EMP_FAIL(EMP_EIO, "cannot write to standard output");

cleanup:
    if (s != NULL && s->listener >= 0) close(s->listener);
    emp_free(s);
    return st;
}

/* emplace serve: the oracle for programs in any language, as lines of JSON. */
enum { KEY_PROBLEMS = 256, KEY_MEMORY, KEY_CLIENTS, KEY_RUNS, KEY_LINE };

struct args {
    cli_server_params server;
    int32_t           problems;
    int64_t           memory; /* bytes */
};

static const struct argp_option options[] = {
    {"socket", CLI_TEXT(struct args, server.socket), "PATH", 0,
     "Serve at a Unix socket (default: standard input and output)", 0},
    {"problems", KEY_PROBLEMS, "N", 0, "Problems kept at a time (default 16)", 0},
    {"memory", KEY_MEMORY, "SIZE", 0, "Memory of the problems kept (default 2 GiB)", 0},
    {"clients", KEY_CLIENTS, "N", 0, "Clients at a time (default 128)", 0},
    {"most-runs", KEY_RUNS, "N", 0, "Runs of methods at a time (default 2)", 0},
    {"line-bytes", KEY_LINE, "SIZE", 0, "Longest request (default 4 MiB)", 0},
    {0},
};

static const char doc[] =
    "Answer requests, lines of JSON, with the oracle: load a problem, score placements, "
    "explain one, place by a method. docs/library.md lists requests and answers.\v"
    "Clients have their turn one after another. The kept problems that were not used for "
    "longest make room for a new one, which is refused if it takes more than --memory by "
    "itself. Nothing is reachable from the network. The socket is its owner's.\n\n"
    "  emplace serve < requests.jsonl > answers.jsonl\n"
    "  emplace serve --socket /run/user/1000/emplace";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *args = (struct args *)state->input;

    switch (key) {
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
    default: return cli_store(key, arg, args);
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
    EMP_CHECK(cli_desk_create(&desk, args.problems, args.memory, err));
    emp_status st = cli_server_run(desk, &args.server, err);
    cli_desk_destroy(desk);
    return st == EMP_OK && cli_stop_is_asked() ? EMP_EINTERRUPTED : st;
}
