/** \file base/text/spec.h
 * Specs with texts of their own: "family:path=FILE,batch=8" names a file among its options.
 */
#ifndef EMP_BASE_TEXT_SPEC_H
#define EMP_BASE_TEXT_SPEC_H

#include "base/error.h"

enum { EMP_SPEC_BYTES = 4096, EMP_SPEC_TEXTS_MAX = 5 };

/** What follows the family, cut at commas. */
typedef struct {
    char text[EMP_SPEC_TEXTS_MAX]
             [EMP_SPEC_BYTES]; /**< by key; "" where it is not given */
    char rest[EMP_SPEC_BYTES]; /**< the other items, for emp_options_parse() */
} emp_spec_parts;

/** Cuts \a spec. \a keys are those of texts, each with its equals sign, and end with NULL: "path=". A key
 * that ends with a point, as "dim." of "dim.N=3,dim.M=4", may be there several times; its text is "N=3,M=4".
 * \retval EMP_EINVAL  The spec is too long, or has one of them twice. */
emp_status emp_spec_cut(emp_spec_parts *parts, const char *spec, const char *const *keys,
                        emp_error *err);

#endif /* EMP_BASE_TEXT_SPEC_H */
