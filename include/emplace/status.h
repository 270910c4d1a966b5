/** \file emplace/status.h
 * Status codes, and where and why a call failed.
 *
 * Every function that can fail returns an emp_status and takes an `emp_error *err` as its last
 * argument, which may be NULL. A failed call leaves a code and one sentence there. The first
 * failure is kept, so zero an emp_error before it is used again:
 *
 *     emp_error err = {0};                       // in C++: emp_error err{};
 *     if (emp_graph_load(&graph, "nmt", &err) != EMP_OK) fprintf(stderr, "%s\n", err.msg);
 *
 * A pointer that must not be NULL and is gives EMP_EINVAL. A function `emp_x_create(&x, ...)` or
 * `emp_x_load(&x, ...)` that fails sets x to NULL. A function `emp_x_destroy()` takes NULL. The
 * library never prints, never exits and handles no signals.
 */
#ifndef EMP_EMPLACE_STATUS_H
#define EMP_EMPLACE_STATUS_H

#include <emplace/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The codes: name, value, text of emp_status_str(). */
#define EMP_STATUS_LIST(X)                                 \
    X(EMP_OK, 0, "success")                                \
    X(EMP_EINVAL, -1, "invalid argument")                  \
    X(EMP_ENOMEM, -2, "out of memory")                     \
    X(EMP_EIO, -3, "input/output failure")                 \
    X(EMP_EFORMAT, -4, "malformed input")                  \
    X(EMP_ECYCLE, -5, "graph has a cycle")                 \
    X(EMP_EINFEASIBLE, -6, "no feasible placement")        \
    X(EMP_EUNSUPPORTED, -7, "not supported")               \
    X(EMP_EEXTERNAL, -8, "failure in an external library") \
    X(EMP_EINTERRUPTED, -9, "interrupted")                 \
    X(EMP_EELSEWHERE, -10, "another rank has failed")

typedef enum {
#define X(name, value, text) name = value,
    EMP_STATUS_LIST(X)
#undef X
} emp_status;

enum { EMP_ERROR_MSG_BYTES = 512 };

/** The kinds of failure. Zero it before use and before reuse. Frozen: it never changes. */
typedef struct {
    emp_status  status;
    const char *file; /**< of the library's source, for reports; static storage */
    int         line;
    char        msg[EMP_ERROR_MSG_BYTES]; /**< one sentence without a full stop */
} emp_error;

/** The text of \a status, "unknown status" for a number that is no code; static storage. */
EMP_API const char *emp_status_str(emp_status status);

#ifdef __cplusplus
}
#endif

#endif /* EMP_EMPLACE_STATUS_H */
