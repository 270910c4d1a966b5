/** \file cli/report/certificate.h
 * Certificates of lower bounds, which scripts/bounds/check-bound checks: docs/formats.md.
 */
#ifndef EMP_CLI_REPORT_CERTIFICATE_H
#define EMP_CLI_REPORT_CERTIFICATE_H

#include <jansson.h>

#include "sim/bounds/bounds.h"
#include "sim/bounds/why.h"

/** The facts of a problem that its bounds follow from, and the proofs of both bounds.
 * \param how        As of emp_bounds_explain(), with has_proof.
 * \param all, gpus  As emp_bounds_explain() has set them.
 * \param[out] out   The caller's.
 * \retval EMP_EUNSUPPORTED  Nothing fits, so there is no bound. \retval EMP_ENOMEM */
emp_status cli_certificate_json(json_t **out, const emp_problem *problem,
                                const emp_bounds_options *how, const emp_bounds *bounds,
                                const emp_bounds_why *all, const emp_bounds_why *gpus,
                                emp_error *err);

#endif /* EMP_CLI_REPORT_CERTIFICATE_H */
