/** \file graphs/workloads/enas_internal.h
 * What the two tasks of ENAS share. Not for other folders.
 */
#ifndef EMP_GRAPHS_WORKLOADS_ENAS_INTERNAL_H
#define EMP_GRAPHS_WORKLOADS_ENAS_INTERNAL_H

#include "base/random/mt19937.h"
#include "graphs/tensorflow/tf_ops.h"
#include "graphs/tensorflow/tf_slim.h"
#include "graphs/workloads/workloads_internal.h"

typedef struct {
    emp_tf     *tf;
    emp_mt19937 rng;
    int32_t     layers, filters; /**< of a classifier */
    int64_t     units, batch;
    int32_t     steps; /**< of a language model */
} emp_enas;

/** A classifier of CIFAR-10's images; its loss. */
emp_port emp_enas_image_loss(emp_enas *e);
/** A language model of the Penn Treebank; its loss. */
emp_port emp_enas_language_loss(emp_enas *e);

#endif /* EMP_GRAPHS_WORKLOADS_ENAS_INTERNAL_H */
