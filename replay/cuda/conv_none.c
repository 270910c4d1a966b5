// SPDX-License-Identifier: GPL-3.0-or-later
/* In place of cuda_conv.c where there is no cuDNN. */
#include "replay/cuda/conv.h"

emp_status emp_cuda_conv_create(emp_cuda_conv **out, int32_t op_count, const char *device,
                                cudaStream_t stream, emp_error *err)
{
    (void)op_count;
    (void)device;
    (void)stream;
    (void)err;
    *out = NULL;
    return EMP_OK;
}

void emp_cuda_conv_destroy(emp_cuda_conv *conv) { (void)conv; }

emp_status emp_cuda_conv_enqueue(emp_cuda_conv *conv, int32_t op,
                                 const emp_kernel_call *call, bool *is_done,
                                 emp_error *err)
{
    (void)conv;
    (void)op;
    (void)call;
    (void)err;
    *is_done = false;
    return EMP_OK;
}

long emp_cuda_conv_version(void) { return 0; }
