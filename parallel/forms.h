/** \file parallel/forms.h
 * Degrees as flags or configurations of the programs that train with them. Names of flags are those of Megatron-LM's
 * megatron/training/arguments.py and of DeepSpeed's configuration.
 */
#ifndef EMP_PARALLEL_FORMS_H
#define EMP_PARALLEL_FORMS_H

#include "parallel/degrees.h"

/** True if Megatron-LM has flags for all that the degrees say: its weights and activations stay on GPUs. */
bool emp_degrees_fit_megatron(const emp_degrees *d);
/** True if ZeRO of DeepSpeed is all that the degrees need: no model, pipeline or context parallelism. */
bool emp_degrees_fit_deepspeed(const emp_degrees *d);

/** The flags of Megatron-LM for these degrees; returns \a text. */
const char *emp_degrees_megatron_flags(char *text, size_t size, const emp_degrees *d,
                                       int32_t batch);
/** The configuration of DeepSpeed, JSON in one line; returns \a text. */
const char *emp_degrees_deepspeed_config(char *text, size_t size, const emp_degrees *d,
                                         int32_t batch);

/** The name of the program that has flags for the degrees, Megatron-LM first. */
const char *emp_degrees_form(const emp_degrees *d);
/** Its flags; returns \a text, in words where no program has such flags. */
const char *emp_degrees_flags(char *text, size_t size, const emp_degrees *d,
                              int32_t batch);

#endif /* EMP_PARALLEL_FORMS_H */
