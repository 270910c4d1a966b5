/** \file bench/speed/stand.h
 * One network of a learner with synthetic inputs and fixed actions, ready to be updated again and
 * again. Networks are the placer and the grouper of the hierarchical planner, and those of GO, Placeto,
 * DOPPLER, HSDAG and GiPH.
 *
 * The same update is described to a peer by a file: the network's name and constants on
 * one line, then arrays, each a line "name float|int rows cols" and its numbers in the
 * machine's own 32-bit form.
 */
#ifndef EMP_BENCH_SPEED_STAND_H
#define EMP_BENCH_SPEED_STAND_H

#include <stdio.h>

#include "bench/speed/stand_doppler.h"
#include "bench/speed/stand_giph.h"
#include "bench/speed/stand_go.h"
#include "bench/speed/stand_hsdag.h"
#include "bench/speed/stand_placeto.h"
#include "policy/hdp/grouper.h"
#include "policy/seq2seq/device_net.h"

enum { EMP_STAND_GROUPER_HIDDEN = 64 };

typedef enum {
    EMP_STAND_PLACER,
    EMP_STAND_GROUPER,
    EMP_STAND_GO,
    EMP_STAND_PLACETO,
    EMP_STAND_DOPPLER,
    EMP_STAND_HSDAG,
    EMP_STAND_GIPH,
    EMP_STAND_COUNT
} emp_stand_kind;

/** "placer", "grouper", "go" and so on; static storage. */
const char *emp_stand_name(emp_stand_kind kind);

typedef struct {
    emp_stand_kind kind;
    int32_t  hidden;  /**< of the placer, DOPPLER and HSDAG; those of others are fixed */
    int32_t  samples; /**< placements; the grouper, Placeto and GiPH have one */
    int32_t  groups;  /**< of the planner; the nodes that Placeto, DOPPLER and GiPH
                                 place, one a step */
    int32_t  ops;     /**< of the grouper; GO's nodes, HSDAG's sets */
    int32_t  threads; /**< most that an update will have */
    uint64_t seed;
} emp_stand_params;

typedef struct {
    emp_stand_params  params;
    emp_device_net    placer;
    emp_grouper       grouper;
    emp_op_features  *ops;    /**< of the grouper */
    emp_real         *x;      /**< of the placer: [group][input] */
    int32_t          *action; /**< devices by sample and step, or groups by op */
    double           *weight; /**< [sample] */
    emp_stand_go      go;
    emp_stand_placeto placeto;
    emp_stand_doppler doppler;
    emp_stand_hsdag   hsdag;
    emp_stand_giph    giph;
} emp_stand;

emp_status emp_stand_init(emp_stand *stand, const emp_stand_params *params,
                          emp_error *err);
void       emp_stand_clear(emp_stand *stand); /**< legal after a failed init */

/** Makes one update; returns the loss before its last step. Of the planner it is minus the weighted
 * log-probability, of the others what their headers say. */
double emp_stand_update(emp_stand *stand, int32_t threads);

/** The parameters that updates change, of DOPPLER those of its second network; borrowed. */
emp_params *emp_stand_parameters(emp_stand *stand);

/** Describes the next update. */
void emp_stand_write(const emp_stand *stand, FILE *stream);

/** What the matrix products of an update must do. */
emp_stand_work emp_stand_work_of(const emp_stand *stand);
double         emp_stand_flops(const emp_stand_work *work);        /**< all of them */
double         emp_stand_stream_bytes(const emp_stand_work *work); /**< of weights */

#endif /* EMP_BENCH_SPEED_STAND_H */
