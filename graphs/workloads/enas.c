// SPDX-License-Identifier: GPL-3.0-or-later
/* Cells drawn at random, as ENAS's search does it (Pham et al., ICML 2018), whose graphs Placeto
 * places: image classifiers of convolutional cells, and language models of recurrent ones. A seed
 * is a graph. The ops are those of melodyguan/enas; what is drawn there by its controller is drawn
 * here evenly. */
#include "graphs/workloads/enas_internal.h"

enum { TASK, SEED, LAYERS, FILTERS, UNITS, BATCH, STEPS, COMMON };

enum { TASK_CIFAR10, TASK_PTB };

const char emp_enas_description[] =
    "cells drawn at random as in ENAS: a classifier of images, or a language model";

const emp_option emp_enas_params[] = {
    EMP_WORKLOAD_WORD(TASK, "task", "cifar10|ptb", "images, or sentences", TASK_CIFAR10),
    EMP_WORKLOAD_NUMBER(SEED, "seed", 0, 2147483647, "of the random numbers", 0),
    EMP_WORKLOAD_NUMBER(LAYERS, "layers", 3, 24, "cells of a classifier", 6),
    EMP_WORKLOAD_NUMBER(FILTERS, "filters", 1, 4096, "of a classifier's first cells", 20),
    EMP_WORKLOAD_NUMBER(UNITS, "units", 1, 65536, "of a language model", 720),
    EMP_WORKLOAD_NUMBER(BATCH, "batch", 0, 65536,
                        "images or sentences; 0 = 160 or 20, as in ENAS", 0),
    EMP_WORKLOAD_NUMBER(STEPS, "steps", 1, EMP_WORKLOAD_MAX_STEPS,
                        "words of a sentence, unrolled", 35),
    EMP_WORKLOAD_COMMON(COMMON, EMP_TF_SGD, 0, 0),
};

static void emit(emp_tf *tf, const int64_t *v)
{
    bool            is_image = v[TASK] == TASK_CIFAR10;
    int64_t         batch = v[BATCH] > 0 ? v[BATCH] : is_image ? 160 : 20;
    emp_tf_variable step = emp_tf_global_step(tf);
    emp_enas        e = {.tf = tf,
                         .layers = (int32_t)v[LAYERS],
                         .filters = (int32_t)v[FILTERS],
                         .units = v[UNITS],
                         .batch = batch,
                         .steps = (int32_t)v[STEPS]};

    emp_mt19937_seed_numpy(&e.rng, (uint32_t)v[SEED]);
    emp_port loss = is_image ? emp_enas_image_loss(&e) : emp_enas_language_loss(&e);
    emp_workload_train(tf, loss, &step, is_image ? 5.0 : 0.25, v + COMMON);
}

emp_status emp_enas_build(const int64_t *values, emp_graph **out, emp_error *err)
{
    return emp_workload_generate(emit, values, values + COMMON, out, err);
}
