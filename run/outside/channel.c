// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* SOCK_CLOEXEC, strsignal */
#include "run/outside/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io/process.h"
#include "base/mem.h"
#include "base/work.h"

enum {
    LOOK_MS = 200,        /* between two looks at `stop` */
    LINGER_MS = 500,      /* that a child gets to end by itself */
    STOPPED_MS = 100,     /* likewise, if a thread waits for the end */
    DROPPED_BYTES = 4096, /* by a call, of what a child says meanwhile */
    MOST_DROPS = 16,      /* at once: who floods does not keep us */
    EARLY_BYTES = 1 << 24 /* that a program may send before it has read everything */
};

/* ---- beginning ---- */

static emp_status open_pair(int pair[2], emp_error *err)
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) return EMP_OK;
    return EMP_ERROR(EMP_EEXTERNAL, "no socket for another program: %s", strerror(errno));
}

/* Makes \a to the descriptor \a from, and keeps it open in a program. */
static void move_descriptor(int from, int to)
{
    if (from != to)
        dup2(from, to);
    else
        fcntl(to, F_SETFD, 0);
}

static void be_shell(const char *command, int end)
{
    move_descriptor(end, STDIN_FILENO);
    move_descriptor(end, STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* The shell gives way to a command that is a single one, so that its end is the child's. One that
 * begins with A=1 needs env for that. */
static const char *prefix_of(const char *command)
{
    const char *word = command + strspn(command, " \t");

    if (strpbrk(command, ";&|<>()`\n") != NULL) return "";
    return memchr(word, '=', strcspn(word, " \t")) != NULL ? "exec env " : "exec ";
}

static emp_status spawn(pid_t *child, const char *command, int end, emp_error *err)
{
    char *whole = emp_calloc(strlen(command) + sizeof "exec env ", 1);

    if (whole == NULL) return EMP_ERROR(EMP_ENOMEM, "a command");
    sprintf(whole, "%s%s", prefix_of(command), command);
    *child = emp_watcher_fork();
    if (*child == 0) be_shell(whole, end);
    const int cause = errno;
    emp_free(whole);
    if (*child > 0) return EMP_OK;
    *child = 0;
    return EMP_ERROR(EMP_EEXTERNAL, "cannot start \"%s\": %s", command, strerror(cause));
}

emp_status emp_channel_start(emp_channel *channel, const char *command, emp_error *err)
{
    int pair[2];

    EMP_CHECK(open_pair(pair, err));
    const emp_status st = spawn(&channel->child, command, pair[1], err);
    close(pair[1]);
    channel->socket = pair[0];
    channel->is_open = true;
    return st;
}

static void become_worker(void)
{
    static const int own[] = {SIGINT,  SIGTERM, SIGPIPE, SIGHUP,
                              SIGUSR1, SIGALRM, SIGXCPU, SIGXFSZ};

    for (size_t i = 0; i < sizeof own / sizeof *own; i++) signal(own[i], SIG_DFL);
}

emp_status emp_channel_fork(emp_channel *channel,
                            void (*work)(emp_channel *channel, void *context),
                            void *context, emp_error *err)
{
    int pair[2];

    EMP_CHECK(open_pair(pair, err));
    const pid_t child = emp_watcher_fork();
    if (child == 0) {
        emp_channel own = {.is_open = true, .socket = pair[1]};
        close(pair[0]);
        become_worker();
        work(&own, context);
        _exit(0);
    }
    close(pair[1]);
    channel->socket = pair[0];
    channel->is_open = true;
    if (child < 0) return EMP_ERROR(EMP_EEXTERNAL, "cannot fork: %s", strerror(errno));
    channel->child = child;
    return EMP_OK;
}

emp_status emp_channel_adopt(emp_channel *channel, int socket, emp_error *err)
{
    int       type = 0;
    socklen_t size = sizeof type;

    if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM)
        return EMP_ERROR(EMP_EINVAL, "descriptor %d is no stream socket that is open",
                         socket);
    channel->socket = socket;
    channel->is_open = true;
    return EMP_OK;
}

/* ---- what has become of a child ---- */

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000},
              NULL);
}

/* Where a socket is closed with unread bytes, its other end reads an error instead of the end. */
static void drop_unread(const emp_channel *channel)
{
    char dropped[DROPPED_BYTES];

    for (int i = 0; i < MOST_DROPS; i++)
        if (recv(channel->socket, dropped, sizeof dropped, MSG_DONTWAIT) <= 0) return;
}

/* Waits a while for the end of the child and of what it has started, and leaves its number in use. */
static bool has_ended(const emp_channel *channel)
{
    const long most_ms = channel->is_stopped ? STOPPED_MS : LINGER_MS;

    for (long waited_ms = 0; waited_ms <= most_ms; waited_ms += 5) {
        siginfo_t end = {0};
        drop_unread(channel);
        if (waitid(P_PID, (id_t)channel->child, &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            end.si_pid == channel->child)
            return true;
        sleep_ms(5);
    }
    return false;
}

/* Ends the child and what it has started. \return how it has ended. */
static int end_child(emp_channel *channel)
{
    const int how = emp_watcher_end(channel->child);

    channel->child = 0;
    return how;
}

static emp_status say_end(emp_channel *channel, emp_error *err)
{
    if (channel->child == 0 || !has_ended(channel))
        return EMP_ERROR(EMP_EEXTERNAL, "its program has closed the connection");
    const int how = end_child(channel);
    if (WIFSIGNALED(how))
        return EMP_ERROR(EMP_EEXTERNAL, "its program has ended by signal %d (%s)",
                         WTERMSIG(how), strsignal(WTERMSIG(how)));
    return EMP_ERROR(EMP_EEXTERNAL, "its program has ended with status %d",
                     WEXITSTATUS(how));
}

void emp_channel_close(emp_channel *channel)
{
    if (channel->child > 0) {
        shutdown(channel->socket, SHUT_WR);
        (void)has_ended(channel); /* by itself, as its input has */
        (void)end_child(channel);
    }
    if (channel->is_open) {
        drop_unread(channel);
        close(channel->socket);
    }
    emp_free(channel->bytes);
    *channel = (emp_channel){0};
}

/* ---- bytes ---- */

/* Until the socket is ready. */
static emp_status await(emp_channel *channel, short events, const emp_channel_wait *wait,
                        emp_error *err)
{
    const double begin_s = emp_clock_now_s();

    for (;;) {
        struct pollfd watched = {.fd = channel->socket, .events = events};
        const double  left_s = wait->until_s - emp_clock_now_s();
        channel->is_stopped = emp_stop_is_set(wait->stop);
        if (channel->is_stopped) return EMP_ERROR(EMP_EINTERRUPTED, "interrupted");
        if (left_s <= 0)
            return EMP_ERROR(EMP_EEXTERNAL, "its program has not answered for %.3g s",
                             emp_clock_now_s() - begin_s);
        int ms = left_s * 1e3 < LOOK_MS ? (int)(left_s * 1e3) + 1 : LOOK_MS;
        if (poll(&watched, 1, ms) > 0) return EMP_OK;
    }
}

/* At least one byte more, to the end of what has come. */
static emp_status receive_more(emp_channel *channel, const emp_channel_wait *wait,
                               emp_error *err)
{
    for (;;) {
        ssize_t came = recv(channel->socket, channel->bytes + channel->end,
                            channel->capacity - channel->end, MSG_DONTWAIT);
        if (came > 0) {
            channel->end += (size_t)came;
            return EMP_OK;
        }
        if (came == 0 || (errno != EAGAIN && errno != EINTR))
            return say_end(channel, err);
        EMP_CHECK(await(channel, POLLIN, wait, err));
    }
}

/* Room for more behind what has come. */
static emp_status make_room(emp_channel *channel, emp_error *err)
{
    if (channel->first > 0) {
        memmove(channel->bytes, channel->bytes + channel->first,
                channel->end - channel->first);
        channel->end -= channel->first;
        channel->first = 0;
    }
    if (channel->end < channel->capacity) return EMP_OK;
    size_t capacity = channel->capacity == 0 ? 4096 : 2 * channel->capacity;
    char  *moved = emp_realloc(channel->bytes, capacity, 1);
    if (moved == NULL) return EMP_ERROR(EMP_ENOMEM, "an answer of %zu bytes", capacity);
    channel->bytes = moved;
    channel->capacity = capacity;
    return EMP_OK;
}

/* Reads, without waiting, the text that a program sends before it has read everything: it may read no more until that is
 * taken. */
static emp_status take_early(emp_channel *channel, emp_error *err)
{
    if (channel->end - channel->first > EARLY_BYTES)
        return EMP_ERROR(
            EMP_EFORMAT,
            "its program sends over %d bytes before it reads what it is told",
            EARLY_BYTES);
    EMP_CHECK(make_room(channel, err));
    ssize_t came = recv(channel->socket, channel->bytes + channel->end,
                        channel->capacity - channel->end, MSG_DONTWAIT);
    if (came == 0) return say_end(channel, err);
    if (came > 0) channel->end += (size_t)came;
    return EMP_OK;
}

emp_status emp_channel_send(emp_channel *channel, const void *bytes, size_t size,
                            const emp_channel_wait *wait, emp_error *err)
{
    const char *from = bytes;

    while (size > 0) {
        ssize_t sent = send(channel->socket, from, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            from += sent;
            size -= (size_t)sent;
        } else if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
            EMP_CHECK(take_early(channel, err));
            EMP_CHECK(await(channel, POLLIN | POLLOUT, wait, err));
        } else {
            return say_end(channel, err);
        }
    }
    return EMP_OK;
}

emp_status emp_channel_receive(emp_channel *channel, void *bytes, size_t size,
                               const emp_channel_wait *wait, emp_error *err)
{
    char *to = bytes;

    while (size > 0) {
        size_t there = channel->end - channel->first;
        if (there == 0) {
            EMP_CHECK(make_room(channel, err));
            EMP_CHECK(receive_more(channel, wait, err));
            continue;
        }
        if (there > size) there = size;
        memcpy(to, channel->bytes + channel->first, there);
        channel->first += there;
        to += there;
        size -= there;
    }
    return EMP_OK;
}

emp_status emp_channel_receive_line(emp_channel *channel, char **line, size_t *length,
                                    size_t most, const emp_channel_wait *wait,
                                    emp_error *err)
{
    size_t seen = 0;

    for (;;) {
        size_t there = channel->end - channel->first;
        char  *begin = there > 0 ? channel->bytes + channel->first : NULL;
        char  *newline = there > seen ? memchr(begin + seen, '\n', there - seen) : NULL;
        if (newline != NULL) {
            *newline = '\0';
            *line = begin;
            *length = (size_t)(newline - begin);
            channel->first += *length + 1;
            return EMP_OK;
        }
        seen = there;
        if (seen > most)
            return EMP_ERROR(EMP_EFORMAT,
                             "its program answers with a line of more than %zu bytes",
                             most);
        EMP_CHECK(make_room(channel, err));
        EMP_CHECK(receive_more(channel, wait, err));
    }
}
