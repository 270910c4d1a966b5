/** \file base/error.h
 * Status codes, and where and why a call failed.
 *
 * Every function that can fail returns an emp_status and takes an `emp_error *err` as its
 * last argument (NULL is allowed). The first failure recorded is the one kept, because
 * outer layers know less. Libraries never print and never exit.
 */
#ifndef EMP_BASE_ERROR_H
#define EMP_BASE_ERROR_H

/* One list; expanded to the enum here and to emp_status_str() in error.c. */
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

/** Zero it before use and before reuse. */
typedef struct {
    emp_status  status;
    const char *file; /**< static storage, never freed */
    int         line;
    char        msg[EMP_ERROR_MSG_BYTES];
} emp_error;

/** Returns the text of \a status; static storage. */
const char *emp_status_str(emp_status status);

#if defined(__GNUC__)
#define EMP_PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define EMP_UNUSED                  __attribute__((unused)) /**< a parameter */
#else
#define EMP_PRINTF_LIKE(fmt, first)
#define EMP_UNUSED
#endif

/** Records the first failure into \a err (NULL is fine) and returns \a status. */
EMP_PRINTF_LIKE(5, 6)
emp_status emp_error_set(emp_error *err, emp_status status, const char *file, int line,
                         const char *fmt, ...);

/** Records a failure into the local `err`; its value is the status. For
 * `return EMP_ERROR(EMP_EINVAL, "%d ops", count);` */
#define EMP_ERROR(code, ...) emp_error_set(err, (code), __FILE__, __LINE__, __VA_ARGS__)

/** Returns from the function when \a call fails. */
#define EMP_CHECK(call)                          \
    do {                                         \
        const emp_status check_st = (call);      \
        if (check_st != EMP_OK) return check_st; \
    } while (0)

/* For functions that free something before they return: these two need a local
 * `emp_status st` and a label `cleanup`. */
#define EMP_FAIL(code, ...)                                               \
    do {                                                                  \
        st = emp_error_set(err, (code), __FILE__, __LINE__, __VA_ARGS__); \
        goto cleanup;                                                     \
    } while (0)

#define EMP_TRY(call)                              \
    do {                                           \
        if ((st = (call)) != EMP_OK) goto cleanup; \
    } while (0)

#endif /* EMP_BASE_ERROR_H */
