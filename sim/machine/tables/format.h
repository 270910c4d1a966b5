/** \file sim/machine/tables/format.h
 * Number formats of matrix products.
 */
#ifndef EMP_SIM_MACHINE_TABLES_FORMAT_H
#define EMP_SIM_MACHINE_TABLES_FORMAT_H

#include <stdint.h>

#include "base/error.h"

/* name, bytes of an element. tf32 is fp32 in memory; products round its operands. */
#define EMP_FORMAT_LIST(X) \
    X(FP32, "fp32", 4)     \
    X(TF32, "tf32", 4)     \
    X(BF16, "bf16", 2)     \
    X(FP16, "fp16", 2)     \
    X(FP8, "fp8", 1)       \
    X(INT8, "int8", 1)

typedef enum {
#define X(format, name, bytes) EMP_FORMAT_##format,
    EMP_FORMAT_LIST(X)
#undef X
        EMP_FORMATS
} emp_format;

const char *emp_format_name(emp_format format);
int32_t     emp_format_bytes(emp_format format);

/** "half" is another name of fp16. \retval EMP_EINVAL  The message lists the known names. */
emp_status emp_format_parse(emp_format *format, const char *name, emp_error *err);

#endif /* EMP_SIM_MACHINE_TABLES_FORMAT_H */
