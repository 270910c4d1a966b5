// SPDX-License-Identifier: GPL-3.0-or-later
/* In place of conv.c where there is no cuDNN. */
#include "replay/cuda/work.h"

emp_status emp_cuda_conv_create(emp_cuda_conv **out, int32_t op_count EMP_UNUSED,
                                const char *device  EMP_UNUSED,
                                cudaStream_t stream EMP_UNUSED, emp_error *err EMP_UNUSED)
{
    *out = NULL;
    return EMP_OK;
}

void emp_cuda_conv_destroy(emp_cuda_conv *conv EMP_UNUSED) {}

emp_status emp_cuda_conv_enqueue(emp_cuda_conv *conv EMP_UNUSED, int32_t op EMP_UNUSED,
                                 const emp_kernel_call *call EMP_UNUSED, bool *is_done,
                                 emp_error *err EMP_UNUSED)
{
    *is_done = false;
    return EMP_OK;
}

long emp_cuda_conv_version(void) { return 0; }
