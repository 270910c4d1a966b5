/** \file bench/anchors/nets.h
 * Networks that public benchmarks measured and no paper of this project places: layer lists,
 * built into training graphs by the miniature of TensorFlow's graph construction.
 *
 * A spec is "network" or "network:key=value,key=value", e.g. "vgg16:batch=32". The image
 * classifiers are
 *
 *     alexnet      Krizhevsky (2014), as in TensorFlow's tf_cnn_benchmarks
 *     alexnet_lrn  Krizhevsky et al. (2012) without groups, as in PaddlePaddle's benchmark
 *     vgg16        Simonyan and Zisserman (2014), configuration D
 *     googlenet    Szegedy et al. (2014) without auxiliary heads
 *     smallnet     Caffe's cifar10_quick
 *
 * and `lstm` is a statically unrolled LSTM whose last output is classified, or compared
 * with a target.
 */
#ifndef EMP_BENCH_ANCHORS_NETS_H
#define EMP_BENCH_ANCHORS_NETS_H

#include <stdbool.h>

#include "sim/graph/graph.h"

/** True when \a spec names one of the networks (up to the colon). */
bool emp_net_is_spec(const char *spec);

/** Builds what one training step of a spec runs.
 * \retval EMP_EINVAL  Unknown network or key, or a value out of range; the message lists
 * what would be right. */
emp_status emp_net_build(emp_graph **step, const char *spec, emp_error *err);

/** One layer: a convolution with stride 1 of square images in NCHW, and both its gradients. */
typedef struct {
    int32_t batch, size, channels, filters, window;
    bool    is_same; /**< zeros around the image keep its size */
} emp_net_convolution;

/** Builds a graph with one Conv2D, one Conv2DBackpropInput and one Conv2DBackpropFilter.
 * \retval EMP_EINVAL  The window does not fit into the image. */
emp_status emp_net_build_convolution(emp_graph **step, const emp_net_convolution *of,
                                     emp_error *err);

/** Takes back what cuDNN's ops do to work on NHWC activations, as if they were NCHW. \retval EMP_ENOMEM */
emp_status emp_net_set_nchw(emp_graph *graph, emp_error *err);

#endif /* EMP_BENCH_ANCHORS_NETS_H */
