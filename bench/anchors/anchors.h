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
 * them. `device` and `spec` say what was measured (bench/anchors/predict.h). `measured` is a
 * time, or a rate of what the spec moves or computes. `bar` is the error in percent that the
 * model may have.
 */
#ifndef EMP_BENCH_ANCHORS_ANCHORS_H
#define EMP_BENCH_ANCHORS_ANCHORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text/units.h"

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
    int32_t         line; /**< in its file */
} emp_anchor;

/** All anchors of one or more tables. Zero-initialise; clear after use. */
typedef struct {
    emp_anchor *anchor; /**< by kind, then in the order of files and lines */
    int32_t     count, room;
    char      **text; /**< of the files; names, specs and sources are in it */
    int32_t     text_count, text_room;
} emp_anchors;

/** Adds the anchors of a table that is in memory. \a bytes is copied; \a name is for messages.
 * O(bytes + anchors squared).
 * \retval EMP_EFORMAT  The message names the file, the line and what is expected. */
emp_status emp_anchors_read(emp_anchors *anchors, const char *name, const char *bytes,
                            size_t size, emp_error *err);

/** Adds the anchors of all files *.tsv of a folder, in the order of their names, and sorts
 * all by kind. \retval EMP_EIO  No such folder, or no such file in it. */
emp_status emp_anchors_load(emp_anchors *anchors, const char *folder, emp_error *err);

void emp_anchors_clear(emp_anchors *anchors);

#endif /* EMP_BENCH_ANCHORS_ANCHORS_H */
