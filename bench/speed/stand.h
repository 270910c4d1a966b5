/** \file bench/speed/stand.h
 * One network of the hierarchical planner with synthetic inputs and fixed actions, ready
 * to be updated again and again: forward, backward, clipping, Adam.
 *
 * The same update is described to a peer by a file: the network's name and constants on
 * one line, then arrays, each a line "name float|int rows cols" and its numbers in the
 * machine's own 32-bit form.
 */
#ifndef EMP_BENCH_SPEED_STAND_H
#define EMP_BENCH_SPEED_STAND_H

#include <stdio.h>

#include "policy/hdp/grouper.h"
#include "policy/seq2seq/device_net.h"

enum { EMP_STAND_GROUPER_HIDDEN = 64 };

typedef enum { EMP_STAND_PLACER, EMP_STAND_GROUPER, EMP_STAND_COUNT } emp_stand_kind;

/** "placer", "grouper"; static storage. */
const char *emp_stand_name(emp_stand_kind kind);

typedef struct {
    emp_stand_kind kind;
    int32_t        hidden;  /**< of the placer; the grouper's are fixed */
    int32_t        samples; /**< of the placer; the grouper has one grouping */
    int32_t        groups, ops;
    uint64_t       seed;
} emp_stand_params;

typedef struct {
    emp_stand_params params;
    emp_device_net   placer;
    emp_grouper      grouper;
    emp_op_features *ops;    /**< of the grouper */
    emp_real        *x;      /**< of the placer: [group][input] */
    int32_t         *action; /**< devices by sample and step, or groups by op */
    double          *weight; /**< [sample] */
} emp_stand;

emp_status emp_stand_init(emp_stand *stand, const emp_stand_params *params,
                          emp_error *err);
void       emp_stand_clear(emp_stand *stand); /**< legal after a failed init */

/** Makes one update; returns minus the weighted log-probability before it. */
double emp_stand_update(emp_stand *stand, int32_t threads);

/** Describes the next update. */
void emp_stand_write(const emp_stand *stand, FILE *stream);

/** What matrix products of an update must do. */
typedef struct {
    double large_flops; /**< products that reuse their operands */
    struct {
        double weights; /**< numbers of a matrix, read whole ... */
        double passes;  /**< ... so many times, one after another ... */
        double rows;    /**< ... for so few rows */
    } stream[2];        /**< encoder, decoder */
} emp_stand_work;

emp_stand_work emp_stand_work_of(const emp_stand *stand);
double         emp_stand_flops(const emp_stand_work *work);        /**< all of them */
double         emp_stand_stream_bytes(const emp_stand_work *work); /**< of weights */

#endif /* EMP_BENCH_SPEED_STAND_H */
