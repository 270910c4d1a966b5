/** \file emplace/api.h
 * What every public header needs, and the version.
 *
 * A program that is compiled against version 0.x runs with any library of the same soname,
 * libemplace.so.0. Functions may be added to it, and no function or struct changes.
 */
#ifndef EMP_EMPLACE_API_H
#define EMP_EMPLACE_API_H

#define EMP_VERSION_MAJOR 0
#define EMP_VERSION_MINOR 2
#define EMP_VERSION_PATCH 0

#if defined(__GNUC__)
#define EMP_API __attribute__((visibility("default"))) /**< exported by the library */
#else
#define EMP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the library at run time, "0.2.0"; static storage. */
EMP_API const char *emp_version(void);

#ifdef __cplusplus
}
#endif

#endif /* EMP_EMPLACE_API_H */
