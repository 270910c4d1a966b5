/** \file sim/machine/tables/tables.h
 * What was measured of a device model: times of matrix products, of attention, and of
 * collectives among devices of one host. CSV files of data/machines/tables:
 *
 *     MODEL.gemm.csv       format,m,n,k,us
 *     MODEL.attention.csv  phase,format,length,kv_heads,group,us
 *     MODEL.comm.csv       op,format,gpus,bytes,us
 *
 * A product is C[m,n] = A[m,k] B[k,n]. Attention is the forward pass with heads of 128: of `length`
 * new tokens (phase context, causal), or of one new token beside `length` cached ones (phase decode).
 * `kv_heads` counts those of all sequences of the batch, `group` the heads that share one. Bytes of
 * a collective are the buffer of one GPU (all_reduce, alltoall) or the whole (all_gather,
 * reduce_scatter). No time has the host's launch in it.
 *
 * Threads. Immutable after reading, and shared by count: machines and their copies hold the same.
 */
#ifndef EMP_SIM_MACHINE_TABLES_TABLES_H
#define EMP_SIM_MACHINE_TABLES_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text/csv.h"
#include "base/text/units.h"

/* Times that were measured at the points of a grid of sizes, and what lies between them.
 * 
 * Between two points the logarithm of the time is linear in the logarithm of each size. Beyond
 * the greatest point of an axis it goes on as in the axis's last cell; below the least point
 * the time is the least point's.
 * 
 * Threads. Immutable after creation. */

enum { EMP_GRID_AXES = 3 };

typedef struct {
    int32_t axes; /**< 1 .. EMP_GRID_AXES */
    int32_t points[EMP_GRID_AXES];
    double *knot[EMP_GRID_AXES]; /**< [points] logarithms of sizes, ascending */
    double *log_s;               /**< [product of points], the last axis fastest */
} emp_grid;

/** A time at a place: what a grid is made from. */
typedef struct {
    double  size[EMP_GRID_AXES];
    double  us;
    int32_t row; /**< where it stands, for messages */
} emp_grid_sample;

/** Makes a grid of samples in any order. O(samples log samples).
 * \param unordered  Along that many of the first axes times may fall.
 * \retval EMP_EFORMAT  A sample is missing or is there twice, or a time falls as a size grows; the
 *                      message names \a path, the row and the sizes by their \a names.
 * \retval EMP_ENOMEM */
emp_status emp_grid_create(emp_grid **out, int32_t axes, int32_t unordered,
                           const emp_grid_sample *sample, int32_t count, const char *path,
                           const char *const *names, emp_error *err);
void       emp_grid_destroy(emp_grid *grid);

/** Seconds at sizes above zero. O(2^axes + log points). */
double emp_grid_at(const emp_grid *grid, const double *size);

/** Whether no size is beyond the greatest or below the least of its axis. */
bool emp_grid_covers(const emp_grid *grid, const double *size);

typedef enum {
    EMP_ATTENTION_OF_PROMPT,
    EMP_ATTENTION_OF_TOKEN,
    EMP_ATTENTION_PHASES
} emp_phase;

/** Size of heads that the tables of attention were measured with. */
#define EMP_HEAD_SIZE 128

/* Number formats of matrix products. */

/* name, bytes of an element. tf32 is fp32 in memory; products round its operands. fp4 is nvfp4, less its scales. */
#define EMP_FORMAT_LIST(X) \
    X(FP32, "fp32", 4)     \
    X(TF32, "tf32", 4)     \
    X(BF16, "bf16", 2)     \
    X(FP16, "fp16", 2)     \
    X(FP8, "fp8", 1)       \
    X(INT8, "int8", 1)     \
    X(FP4, "fp4", 0.5)     \
    X(FP64, "fp64", 8)

typedef enum {
#define X(format, name, bytes) EMP_FORMAT_##format,
    EMP_FORMAT_LIST(X)
#undef X
        EMP_FORMATS
} emp_format;

const char *emp_format_name(emp_format format);
double      emp_format_bytes(emp_format format);

/** "half" is another name of fp16. \retval EMP_EINVAL  The message lists the known names. */
emp_status emp_format_parse(emp_format *format, const char *name, emp_error *err);

typedef struct {
    int32_t   holders;
    emp_grid *gemm[EMP_FORMATS]; /**< m, n, k; NULL = no table */
    emp_grid
        *attention[EMP_ATTENTION_PHASES][EMP_FORMATS];  /**< length, kv_heads, group */
    emp_grid *collective[EMP_COLLECTIVES][EMP_FORMATS]; /**< gpus, bytes */
} emp_tables;

/** Which file a table is. */
typedef enum {
    EMP_TABLE_GEMM,
    EMP_TABLE_ATTENTION,
    EMP_TABLE_COMM,
    EMP_TABLE_KINDS
} emp_table_kind;

/** An empty set with one holder. NULL: no memory. */
emp_tables *emp_tables_create(void);
/** One holder more. \return \a tables, which may be NULL. */
emp_tables *emp_tables_hold(emp_tables *tables);
/** One holder less; the last one's call destroys them. NULL is allowed. */
void emp_tables_release(emp_tables *tables);

/** Adds what a file has, and mixes it into \a *hash. O(rows log rows).
 * \retval EMP_EFORMAT  The message names the file and the row. */
emp_status emp_tables_add(emp_tables *tables, emp_table_kind kind, const emp_csv *csv,
                          const char *path, uint64_t *hash, emp_error *err);

#endif /* EMP_SIM_MACHINE_TABLES_TABLES_H */
