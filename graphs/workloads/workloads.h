/** \file graphs/workloads/workloads.h
 * Workload generators: training graphs as TensorFlow r1.3's graph construction emits
 * them.
 *
 * A spec is "family" or "family:key=value,key=value", e.g.
 * "nmt:layers=4,batch=64,units=1024,steps=40,vocab=32000". Keys not given take the
 * defaults that reproduce the paper's table; emp_workload_table() lists them. A new family is one
 * file and one line of workloads_internal.h; docs/extending.md shows how.
 */
#ifndef EMP_GRAPHS_WORKLOADS_WORKLOADS_H
#define EMP_GRAPHS_WORKLOADS_WORKLOADS_H

#include "base/text/options.h"
#include "graphs/transformer/model.h"
#include "sim/graph/graph.h"

enum { EMP_WORKLOAD_MAX_PARAMS = 32 };

/** The values of a spec: value[i] belongs to row i of the family's parameters. */
typedef struct {
    int32_t value[EMP_WORKLOAD_MAX_PARAMS];
    double  real[EMP_WORKLOAD_MAX_PARAMS]; /**< of rows that are no whole numbers */
} emp_workload_values;

typedef struct emp_workload {
    const char       *name;        /**< "nmt" */
    const char       *description; /**< one line */
    const emp_option *params;      /**< of an emp_workload_values; flags are 0 or 1 */
    /** Builds the whole graph; values[i] belongs to params[i]. A real number comes in millionths. */
    emp_status (*build)(const int64_t *values, emp_graph **out, emp_error *err);
} emp_workload;

/** The table of all families; sets \a *count. */
const emp_workload *emp_workload_table(int32_t *count);

/** True when \a spec names a family (up to the colon), so that it is not a file path. */
bool emp_workload_is_spec(const char *spec);

/** Builds the whole graph of a spec, its targets marked.
 * \retval EMP_EINVAL  Unknown family or key, or a value out of range; the message lists
 * what would be right. */
emp_status emp_workload_build(emp_graph **out, const char *spec, emp_error *err);

/** The model of the family `transformer` with parameters "layers=4,hidden=1024".
 * \param[out] model  The caller's, who clears it, also after a failure.
 * \retval EMP_EINVAL  As emp_workload_build(). \retval EMP_ENOMEM */
emp_status emp_workload_transformer(emp_transformer_model *model, const char *parameters,
                                    emp_error *err);

#endif /* EMP_GRAPHS_WORKLOADS_WORKLOADS_H */
