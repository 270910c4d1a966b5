/** \file graphs/tf_spec.h
 * Specs of TensorFlow's graph files: "tf:path=graph.pb,batch=64,loops=10" says what the file leaves
 * open. A path has no comma in it.
 */
#ifndef EMP_GRAPHS_TF_SPEC_H
#define EMP_GRAPHS_TF_SPEC_H

#include "base/text/options.h"

enum { EMP_TF_PATH_BYTES = 1024 };

typedef struct {
    char    path[EMP_TF_PATH_BYTES];
    int32_t batch; /**< in place of unknown leading sizes; 0 = not given */
    int32_t loops; /**< iterations of While ops, which call functions */
} emp_tf_spec;

/** Whether \a source is such a spec, and so no path. */
bool emp_tf_spec_is(const char *source);

/** The keys of a spec beside path; ends with EMP_NO_OPTION. */
const emp_option *emp_tf_spec_options(void);

/** \retval EMP_EINVAL  No path, one that is too long, an unknown key or a value out of range. */
emp_status emp_tf_spec_read(emp_tf_spec *out, const char *source, emp_error *err);

/** The file of a spec, in \a buffer; \a source itself where it is no right spec. */
const char *emp_tf_spec_file(const char *source, emp_tf_spec *buffer);

#endif /* EMP_GRAPHS_TF_SPEC_H */
