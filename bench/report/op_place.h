/** \file bench/report/op_place.h
 * What the name of an op says of its place in a picture of the model: pass, layer, and how
 * often its like came before it. See cells.h.
 */
#ifndef EMP_BENCH_REPORT_OP_PLACE_H
#define EMP_BENCH_REPORT_OP_PLACE_H

#include "bench/report/cells.h"

enum { EMP_OP_NAME_BYTES = 256 /* of longer names the rest is not read */ };

typedef struct {
    emp_pass pass;
    char     forward[EMP_OP_NAME_BYTES]; /**< the op or variable that it is about */
    char     like[EMP_OP_NAME_BYTES];    /**< the same without the N of "_N" */
    int32_t  number;  /**< the N of the outermost "_N"; 0 without one */
    bool     is_cell; /**< of a recurrent layer, so that its number tells a step */
    bool     is_right_to_left;
    int32_t  rank; /**< recurrent models: rows with higher ranks stand higher */
    char     row[EMP_CELLS_NAME_BYTES]; /**< recurrent models: the layer */
} emp_op_place;

/** Reads a name. \a has_decoder: the model has encoder and decoder. */
void emp_op_place_read(emp_op_place *place, const char *name, bool has_decoder);

/** The first \a depth scopes of a forward name, after \a model and its repetitions ("" =
 * there is none); "(top)" if it has none. */
void emp_op_place_scope(char scope[EMP_CELLS_NAME_BYTES], const char *forward,
                        const char *model, int32_t depth);

#endif /* EMP_BENCH_REPORT_OP_PLACE_H */
