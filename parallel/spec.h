/** \file parallel/spec.h
 * Specs of models that are trained in parallel: a model, and as many degrees as the user has decided.
 *
 *     hf:path=config.json,tp=2,pp=4,micro_batches=32
 *     transformer:layers=32,hidden=4096,heads=32,gated=1,tp=8
 *     llama3-70b:layers=12,tp=2,dp=4,batch=128
 *
 * The last form names a file of data/models. `batch` counts the sequences of a step on all replicas, `layers` keeps the first
 * layers of a config, `stages` has the layers of each part ("stages=15,16,16,14"), and `schedule` may be a YAML file. `loads` is a CSV
 * file of the tokens of experts.
 */
#ifndef EMP_PARALLEL_SPEC_H
#define EMP_PARALLEL_SPEC_H

#include "parallel/loads.h"

/** Zero-initialise; emp_parallel_spec_clear() releases it, also after a failure. */
typedef struct {
    emp_transformer_model model;
    emp_degrees           degrees;
    uint32_t              given; /**< bit i: the spec has key i of emp_degrees_options */
    int32_t               batch; /**< 0 = not given */
    char                  schedule[256]; /**< file, or "" */
    emp_expert_loads      loads;         /**< without shares: not given */
} emp_parallel_spec;

/** Whether a spec has a key that only training in parallel knows. */
bool emp_parallel_spec_is(const char *text);

/** Whether the spec has a key of emp_degrees_options. */
bool emp_parallel_spec_has(const emp_parallel_spec *spec, const char *key);

/** Reads a spec.
 * \retval EMP_EINVAL  An unknown key or a value out of range; the message lists what would be right.
 * \retval EMP_EIO, EMP_EFORMAT, EMP_EUNSUPPORTED, EMP_ENOMEM  As emp_parallel_model_load(). */
emp_status emp_parallel_spec_read(emp_parallel_spec *spec, const char *text,
                                  emp_error *err);

void emp_parallel_spec_clear(emp_parallel_spec *spec);

#endif /* EMP_PARALLEL_SPEC_H */
