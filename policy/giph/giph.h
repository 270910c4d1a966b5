/** \file policy/giph/giph.h
 * The method "giph": a policy that moves one op after another (Hu et al., MLSys 2023).
 */
#ifndef EMP_POLICY_GIPH_GIPH_H
#define EMP_POLICY_GIPH_GIPH_H

#include "search/method.h"

extern const emp_method emp_method_giph;

#endif /* EMP_POLICY_GIPH_GIPH_H */
