/** \file bench/anchors/anchors.h
 * Anchors: public measurements that no cell of a paper's table uses, read from tables with
 * tabs between cells.
 *
 * A line of a table is an anchor, a comment that begins with '#', or empty. The first line
 * that is neither names the columns:
 *
 *     name  kind  role  device  spec  measured  bar  source
 *
 * `role` is "fit" where the anchor determines constants and "check" where it only checks
 * them. `device` and `spec` say what was measured (emp_anchor_predict()). `measured` is a
 * time, or a rate of what the spec moves or computes. `bar` is the error in percent that the
 * model may have.
 */
#ifndef EMP_BENCH_ANCHORS_ANCHORS_H
#define EMP_BENCH_ANCHORS_ANCHORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text/csv.h"
#include "base/text/units.h"
#include "run/sheet/sheet.h"
#include "sim/graph/graph.h"
#include "sim/machine/machine.h"
#include "sim/runtime/runtime.h"

/** The kinds of anchors, in the order in which tables list them. */
#define EMP_ANCHOR_KIND_WORDS "product|conv|memory|kernel|copy|host|cnn|lstm|net|cpu"

typedef enum {
    EMP_ANCHOR_PRODUCT, /**< a matrix product on a GPU */
    EMP_ANCHOR_CONV,    /**< a convolution on a GPU, or one of its gradients */
    EMP_ANCHOR_MEMORY,  /**< a pass over a GPU's memory */
    EMP_ANCHOR_KERNEL,  /**< a small kernel */
    EMP_ANCHOR_COPY,    /**< a transfer between devices */
    EMP_ANCHOR_HOST,    /**< what the host takes to issue ops */
    EMP_ANCHOR_CNN,     /**< a training step of an image classifier on a GPU */
    EMP_ANCHOR_LSTM,    /**< likewise, of a recurrent network */
    EMP_ANCHOR_NET,     /**< likewise, of another network */
    EMP_ANCHOR_CPU,     /**< anything on a CPU */
    EMP_ANCHOR_KINDS
} emp_anchor_kind;

typedef struct {
    const char     *name; /**< unique */
    emp_anchor_kind kind;
    bool            is_fit; /**< determines constants; else it only checks them */
    const char     *device;
    const char     *spec;
    double          measured; /**< in base units of \a unit */
    emp_unit        unit;     /**< seconds, bytes per second or FLOPs per second */
    double          bar_frac; /**< error that the model may have */
    const char     *source;
} emp_anchor;

/** All anchors of one or more tables. Zero-initialise; clear after use. */
typedef struct {
    emp_anchor *anchor; /**< by kind, then in the order of files and lines */
    int32_t     count, room;
    emp_csv    *table; /**< names, specs and sources are in them */
    int32_t     table_count, table_room;
} emp_anchors;

/** Adds the anchors of a table that is in memory. \a bytes is copied; \a name is for messages.
 * O(bytes + anchors squared).
 * \retval EMP_EFORMAT  The message names the file, the row and what is expected. */
emp_status emp_anchors_read(emp_anchors *anchors, const char *name, const char *bytes,
                            size_t size, emp_error *err);

/** Adds the anchors of all files *.tsv of a folder, in the order of their names, and sorts
 * all by kind. \retval EMP_EIO  No such folder, or no such file in it. */
emp_status emp_anchors_load(emp_anchors *anchors, const char *folder, emp_error *err);

void emp_anchors_clear(emp_anchors *anchors);

/* Anchors beside what the model says of them, kind by kind, and a paper's single-device cells
 * after them. */

/* Predicts the time of an anchor by the model.
 *
 * A device is a machine, and what differs from it after a colon, e.g. "k40x1:clock=875":
 *
 *     clock=MHz       of the GPU; what a product takes scales with it
 *     stream=GB/s     of the GPU's memory
 *     cores=N         of the CPU, which has as many slots for ops
 *     host=MHz        highest clock of the CPU whose host costs were measured; those of the
 *                     runtime hold at EMP_ANCHOR_HOST_MHZ
 *     cpu=1           the work is on the CPU, not on the first GPU
 *
 * A spec is one of
 *
 *     matmul M N K [tn|nt]     a matrix product: [M, K] times [K, N]; the first operand, or
 *                              the second, is transposed
 *     conv BATCH SIZE CHANNELS FILTERS WINDOW PADDING OF
 *                              a convolution with stride 1 of square images in NCHW;
 *                              PADDING is valid or same, OF is output, input (the gradient
 *                              of the images) or filter (that of the filter)
 *     pass READS WRITES BYTES  a kernel that reads and writes so many tensors of BYTES
 *     kernel                   the smallest kernel
 *     copy FROM TO BYTES       from "cpu:0" to "gpu:0"
 *     host GRAPH               the host's time to issue a step, on one GPU
 *     step GRAPH [nchw]        a training step; with activations in NCHW: nothing is transposed
 *
 * where BYTES is a number with its unit, without space, and GRAPH a workload
 * (graphs/workloads/workloads.h) or a network (emp_net_build()). */

enum { EMP_ANCHOR_HOST_MHZ = 2300 };

/** Measured and predicted time of an anchor. */
typedef struct {
    double measured_s, model_s;
} emp_anchor_times;

/** Builds what the spec says and predicts its time; a measured rate becomes a time.
 * \retval EMP_EINVAL  A device or spec that makes no sense; the message says what would. */
emp_status emp_anchor_predict(emp_anchor_times *times, const emp_anchor *anchor,
                              const emp_runtime *runtime, emp_error *err);

/** How far off the model is of some anchors. */
typedef struct {
    int32_t count, within; /**< within: those whose error is at most their bar */
    double  mean_frac;     /**< of the errors without their signs; NaN = no anchors */
    double  worst_frac;    /**< the error that is farthest from 0, with its sign */
} emp_anchor_errors;

/** At most a table of each kind of anchors, then one of cells. */
enum { EMP_ANCHOR_SHEETS = EMP_ANCHOR_KINDS + 1 };

/** Predicts all anchors; \a times has room for all. Results do not depend on \a threads. */
emp_status emp_anchors_predict(emp_anchor_times *times, const emp_anchors *anchors,
                               const emp_runtime *runtime, int32_t threads,
                               emp_error *err);

/** Whether anchors are of the machine's GPU model, by its name. Reads their machines.
 * \retval EMP_EUNSUPPORTED  None is; the message names the models that there are. */
emp_status emp_anchors_check_model(const emp_anchors *anchors, const emp_machine *machine,
                                   emp_error *err);

/** Relative distance of the model from what was measured. */
double emp_anchor_off(const emp_anchor_times *times);

/** Errors of the anchors of a kind, or of all: EMP_ANCHOR_KINDS; of the CPU's anchors only
 * if \a kind is EMP_ANCHOR_CPU. */
emp_anchor_errors emp_anchors_errors(const emp_anchors      *anchors,
                                     const emp_anchor_times *times, emp_anchor_kind kind);

/** Fills a chain of sheets, which the caller prints from the first one on and clears, all. Kinds without an anchor
 * have none. Cells are the paper's, on \a machine; they are simulated here if \a with_cells.
 * \retval EMP_EUNSUPPORTED  There are no anchors. */
emp_status emp_anchors_tabulate(emp_sheet          sheets[EMP_ANCHOR_SHEETS],
                                const emp_anchors *anchors, const emp_anchor_times *times,
                                const emp_machine *machine, const emp_runtime *runtime,
                                bool with_cells, int32_t threads, emp_error *err);

/* Networks that public benchmarks measured and no paper of this project places: layer lists,
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
 * with a target. */

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

#endif /* EMP_BENCH_ANCHORS_ANCHORS_H */
