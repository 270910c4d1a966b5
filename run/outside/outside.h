/** \file run/outside/outside.h
 * Methods that are no part of the program, by their names:
 *
 *     ./mine.so                a shared library with an emp_placer_type (<emplace/placer.h>)
 *     cmd:python3 mine.py      a command that speaks lines of JSON (docs/add-a-method.md)
 *     socket:5                 whoever has the other end of an open socket; the same lines
 *     socket:5:Mine:1a2b3c4d   likewise; its name, and a hash of its code in hexadecimal digits
 *
 * Records have the name and the hash of the code, so that runs of a method that was edited are other runs.
 * Of a shared library the hash is that of the file. Of a command it is that of all files that its words
 * name, or of the program on the PATH if they name none; files that those read do not count.
 *
 * The program keeps the loop: budget, clock, log and scores. A method that hangs, ends or answers
 * nonsense fails in ask(), and a run keeps what was found before.
 *
 * Options of all: timeout=SECONDS that an answer may take, 60 if nothing is said. The method gets
 * the text of its options, too.
 */
#ifndef EMP_RUN_OUTSIDE_OUTSIDE_H
#define EMP_RUN_OUTSIDE_OUTSIDE_H

#include "search/method.h"

/** Whether a name is one of the three forms. */
bool emp_outside_is_name(const char *name);

/** The method of such a name; the same for the same name, with the hash of its code as it is now. Not
 * for several threads at once.
 * \param[out] method  Static storage.
 * \retval EMP_EIO           There is no such shared library.
 * \retval EMP_EINVAL        The name is too long, or its socket no number.
 * \retval EMP_EUNSUPPORTED  More methods from outside than one process can have. */
emp_status emp_outside_find(const emp_method **method, const char *name, emp_error *err);

#endif /* EMP_RUN_OUTSIDE_OUTSIDE_H */
