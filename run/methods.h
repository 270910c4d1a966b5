/** \file run/methods.h
 * The one list that knows every placement method: the baselines and the learned policies.
 */
#ifndef EMP_RUN_METHODS_H
#define EMP_RUN_METHODS_H

#include "run/store/store.h"
#include "search/method.h"

/** Kinds of methods, in the order of lists: X(name, word, heading of a list). */
#define EMP_METHOD_KIND_LIST(X)                                       \
    X(EMP_METHOD_PORTFOLIO, "portfolio", "Run other methods in turn") \
    X(EMP_METHOD_PROPOSER, "proposer", "Propose at once")             \
    X(EMP_METHOD_SEARCH, "search", "Search until the budget ends")    \
    X(EMP_METHOD_LEARNER, "learner", "Learn until the budget ends")

typedef enum {
#define X(name, word, heading) name,
    EMP_METHOD_KIND_LIST(X)
#undef X
        EMP_METHOD_KINDS
} emp_method_kind;

/** The kind of a method, which follows from its functions. */
emp_method_kind emp_method_kind_of(const emp_method *type);

/** The method of that position, in the order of listings; NULL past the last one. */
const emp_method *emp_method_at(int32_t index);

/** The method of that name, also one from outside (run/outside/outside.h).
 * \retval EMP_EINVAL  There is none; the message lists what there is. */
emp_status emp_method_find(const emp_method **method, const char *name, emp_error *err);

/** Finds the methods of a list, "heft,m-etf,mine.py".
 * \param[out] method  [most]
 * \param[out] count   How many there are.
 * \retval EMP_EINVAL  There are more than \a most, or one of them does not exist. */
emp_status emp_methods_find(const emp_method **method, int32_t *count, int32_t most,
                            const char *list, emp_error *err);

/** True when there is a method of that name. */
bool emp_method_exists(const char *name);

/** Name of the member whose placement is the best of a run of a portfolio; NULL for other methods,
 * and before anything is evaluated. Borrowed from the record. */
const char *emp_record_winner(const emp_record *record);

enum { EMP_RECORD_COMMAND_BYTES = 2048 };

/** Writes the call that makes a run, as far as its record knows it: a command of the shell, or for a
 * method in Python the call of emplace.place(). The record has only a hash of a start or weights,
 * which stands in place of the file. */
void emp_record_command(char command[EMP_RECORD_COMMAND_BYTES], const emp_record *record);

#endif /* EMP_RUN_METHODS_H */
