/** \file parallel/spec.h
 * Specs of models that are trained or served in parallel: a model, and as many degrees as the user has decided.
 *
 *     hf:path=config.json,tp=2,pp=4,micro_batches=32
 *     transformer:layers=32,hidden=4096,heads=32,gated=1,tp=8
 *     llama3-70b:layers=12,tp=2,dp=4,batch=128
 *     llama3-70b:phase=decode,seq=8192,batch=32,quant=fp8
 *
 * The last form names a file of data/models. `batch` counts the sequences of a step on all replicas, `layers` keeps the first
 * layers of a config, `stages` has the layers of each part ("stages=15,16,16,14"), and `schedule` may be a YAML file. `loads` is a CSV
 * file of the tokens of experts.
 */
#ifndef EMP_PARALLEL_SPEC_H
#define EMP_PARALLEL_SPEC_H

#include "graphs/transformer/tape.h"
#include "parallel/loads.h"
#include "parallel/models.h"

/** The use of a model that is served, by the keys that specs of `hf:` have, too. */
typedef struct {
    int32_t phase; /**< emp_transformer_phase; EMP_PHASE_TRAIN: the model is trained */
    int32_t
        quant; /**< a word of EMP_QUANTISED_WORDS, from 1 on; 0 = as the config says */
    int32_t cache_dtype; /**< a word of EMP_CACHE_DTYPE_WORDS */
    int32_t chunk;       /**< tokens of prompts that the server reads together */
} emp_serving;

/** The keys of a spec that fill it. */
extern const emp_option emp_serving_options[];

/** Zero-initialise; emp_parallel_spec_clear() releases it, also after a failure. */
typedef struct {
    emp_transformer_model model;
    emp_model_files       files; /**< of the model; empty where sizes describe it */
    char                  folder
        [256]; /**< of a checkpoint, whose file config.json is read; "" = not said */
    emp_serving      serving;
    emp_degrees      degrees;
    uint32_t         given; /**< bit i: the spec has key i of emp_degrees_options */
    int32_t          batch; /**< 0 = not given */
    char             schedule[256]; /**< file, or "" */
    emp_expert_loads loads;         /**< without shares: not given */
} emp_parallel_spec;

/** True if the model is served: its phase is prefill or decode. */
static inline bool emp_parallel_spec_serves(const emp_parallel_spec *spec)
{
    return spec->serving.phase != EMP_PHASE_TRAIN;
}

/** Whether a spec has a key that only steps on many GPUs know. */
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
