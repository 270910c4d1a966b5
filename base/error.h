/** \file base/error.h
 * How functions record a failure and return. <emplace/status.h> has the codes and the rules.
 *
 * The first failure recorded is the one kept, because outer layers know less. Libraries never
 * print and never exit.
 */
#ifndef EMP_BASE_ERROR_H
#define EMP_BASE_ERROR_H

#include <stddef.h>

#include <emplace/status.h>

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

/** For arguments of public functions: returns from the function when \a pointer is NULL. */
#define EMP_NEED(pointer)                                                       \
    do {                                                                        \
        if ((pointer) == NULL)                                                  \
            return EMP_ERROR(EMP_EINVAL, "%s() takes no NULL for %s", __func__, \
                             #pointer);                                         \
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
