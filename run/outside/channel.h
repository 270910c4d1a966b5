/** \file run/outside/channel.h
 * A program that works for this one at the other end of a socket: a command, a fork of this
 * process, or whoever has opened a descriptor before. Its faults are reported in a sentence that
 * begins with "its program".
 */
#ifndef EMP_RUN_OUTSIDE_CHANNEL_H
#define EMP_RUN_OUTSIDE_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/** Zero-initialise; emp_channel_close() releases it, also after a failure. */
typedef struct {
    bool  is_open;
    int   socket;
    pid_t child; /**< its watcher (base/io/process.h); 0: it is no child of ours */

    /* private: whether a wait was interrupted; what has come and is not yet read */
    bool   is_stopped;
    char  *bytes;
    size_t capacity, first, end;
} emp_channel;

/** How long to wait for the other end. */
typedef struct {
    double            until_s; /**< by emp_clock_now_s() */
    const atomic_int *stop;    /**< OPTIONAL; not 0 ends the wait */
} emp_channel_wait;

/** Starts a command of the shell whose standard input and output are the socket. The program
 * dies with the thread that calls, so call it from one that outlives the channel. A shell or a command that is
 * not there ends with status 127, which the first call to send or receive tells.
 * \retval EMP_EEXTERNAL  It cannot be started. \retval EMP_ENOMEM */
emp_status emp_channel_start(emp_channel *channel, const char *command, emp_error *err);

/** Forks; the child calls \a work and ends, at the latest with the thread that calls. The child has the memory of this process as it is
 * now, and one thread. \retval EMP_EEXTERNAL */
emp_status emp_channel_fork(emp_channel *channel,
                            void (*work)(emp_channel *channel, void *context),
                            void *context, emp_error *err);

/** Takes a socket that is open. \retval EMP_EINVAL  It is none. */
emp_status emp_channel_adopt(emp_channel *channel, int socket, emp_error *err);

/** Takes what the other end sends meanwhile, for later.
 * \retval EMP_EEXTERNAL     The other end has gone, or takes nothing for too long.
 * \retval EMP_EFORMAT       It sends very much before it has read everything. \retval EMP_ENOMEM
 * \retval EMP_EINTERRUPTED  \a stop is set. */
emp_status emp_channel_send(emp_channel *channel, const void *bytes, size_t size,
                            const emp_channel_wait *wait, emp_error *err);

/** Receives exactly \a size bytes. \retval EMP_EEXTERNAL, EMP_EINTERRUPTED */
emp_status emp_channel_receive(emp_channel *channel, void *bytes, size_t size,
                               const emp_channel_wait *wait, emp_error *err);

/** Receives a line of at most \a most bytes, and ends it with a zero in place of its newline.
 * \param[out] line  Borrowed until the next call.
 * \retval EMP_EFORMAT  It is longer. \retval EMP_EEXTERNAL, EMP_EINTERRUPTED, EMP_ENOMEM */
emp_status emp_channel_receive_line(emp_channel *channel, char **line, size_t *length,
                                    size_t most, const emp_channel_wait *wait,
                                    emp_error *err);

/** Ends the input of a child, which then has half a second to end by itself, or a tenth if `stop` was set.
 * Its further output is dropped. Then ends it and what it has started, and closes the socket. */
void emp_channel_close(emp_channel *channel);

#endif /* EMP_RUN_OUTSIDE_CHANNEL_H */
