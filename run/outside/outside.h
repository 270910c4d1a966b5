/** \file run/outside/outside.h
 * Methods that are no part of the program, by their names:
 *
 *     ./mine.so                a shared library with an emp_placer_type (<emplace/placer.h>)
 *     mine.py, mine.py:Agent   a file of Python, and a class or function of it, run by the module
 *                              emplace.agent
 *     cmd:python3 mine.py      a command that speaks lines of JSON (docs/extending.md)
 *     NAME=mine.py             any of the three above under a name of its own
 *     socket:5                 whoever has the other end of an open socket; the same lines
 *     socket:5:Mine:1a2b3c4d   likewise; its name, and a hash of its code in hexadecimal digits
 *
 * Records have the name and the hash of the code, so that runs of a method that was edited are other runs.
 * For a shared library or a file of Python, the file gives the hash. For a command, all files that its words name give
 * it, or of the program on the PATH if they name none; files that those read do not count.
 *
 * The program keeps the loop: budget, clock, log and scores. A method that hangs, ends or answers
 * nonsense fails in ask(), and a run keeps what was found before.
 *
 * Options of all: timeout=SECONDS that an answer may take, 60 if nothing is said. The method gets
 * the text of its options, too.
 */
#ifndef EMP_RUN_OUTSIDE_OUTSIDE_H
#define EMP_RUN_OUTSIDE_OUTSIDE_H

#include <stdatomic.h>

#include "run/outside/channel.h"
#include "search/method.h"

/** Whether a name is one of these forms. */
bool emp_outside_is_name(const char *name);

/** Copies a short name for tables: NAME of "NAME=...", the class or the file without its folder and ending,
 * or the text of a command. */
void emp_outside_title(char *title, size_t size, const char *name);

/** The method of such a name; the same for the same name, with the hash of its code as it is now. Not
 * for several threads at once.
 * \param[out] method  Static storage.
 * \retval EMP_EIO           There is no such shared library.
 * \retval EMP_EINVAL        The name is too long, or its socket no number.
 * \retval EMP_EUNSUPPORTED  More methods from outside than one process can have. */
emp_status emp_outside_find(const emp_method **method, const char *name, emp_error *err);

/* Functions that methods from outside share. */

/** The first part of the state of each. */
typedef struct {
    const emp_problem *problem;
    const char        *name;       /**< of the method, as records have it */
    const char        *address;    /**< where it is: the name that was asked for */
    double             timeout_s;  /**< of one answer */
    double             deadline_s; /**< of the run; 0 = none */
    const atomic_int  *stop;
    emp_channel        channel;
} emp_outsider;

/** Reads what all have in common. \retval EMP_EINVAL  The timeout is no time. */
emp_status emp_outsider_init(emp_outsider *outsider, const emp_problem *problem,
                             const emp_method_params *params, emp_error *err);

/** Until when the next answer is waited for. */
emp_channel_wait emp_outsider_wait(const emp_outsider *outsider);

/** The status that ask() and tell() return for the failure \a why: with the method's name, and
 * EMP_OK where the run's time was up, so that it ends. */
emp_status emp_outsider_fail(const emp_outsider *outsider, emp_status st,
                             const emp_error *why, emp_error *err);

/** Whether all devices of candidate \a number are such.
 * \retval EMP_EFORMAT  The sentence names the op. */
emp_status emp_outsider_check(const emp_outsider *outsider, int32_t number,
                              const emp_device_id *device_of_op, emp_error *err);

/** The functions of the two kinds. */
extern const emp_method emp_outside_lines, emp_outside_plugin;

#endif /* EMP_RUN_OUTSIDE_OUTSIDE_H */
