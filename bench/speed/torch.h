/** \file bench/speed/torch.h
 * PyTorch as a program of its own (bench/peers/policy_torch.py) that makes an update each
 * time it is asked to.
 */
#ifndef EMP_BENCH_SPEED_TORCH_H
#define EMP_BENCH_SPEED_TORCH_H

#include "bench/speed/stand.h"

/** The Python that has PyTorch, or NULL; static storage. Starts it to find out, which
 * takes seconds. */
const char *emp_torch_find(void);

typedef struct emp_torch emp_torch;

typedef struct {
    double cpu_s, wall_s;
    double loss; /**< before the update */
} emp_torch_update;

/** Starts \a python with the network of \a stand as it is now. \retval EMP_EIO
 * \retval EMP_EEXTERNAL  It ended early. */
emp_status emp_torch_create(emp_torch **out, const char *python, const emp_stand *stand,
                            emp_error *err);

emp_status emp_torch_run(emp_torch *torch, int32_t threads, emp_torch_update *update,
                         emp_error *err);

/** Ends the program; NULL is allowed. */
void emp_torch_destroy(emp_torch *torch);

#endif /* EMP_BENCH_SPEED_TORCH_H */
