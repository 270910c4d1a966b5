/** \file parallel/flags.h
 * Ways to train as flags of Megatron-LM and as configurations of DeepSpeed.
 *
 * Flags have the names of Megatron-LM's megatron/training/arguments.py at commit 000c4ac, and keys those of DeepSpeed's
 * configuration. A way is refused if a program has nothing for a part of it, or stops with an error at its flags: a step would
 * be another one than was predicted.
 */
#ifndef EMP_PARALLEL_FLAGS_H
#define EMP_PARALLEL_FLAGS_H

#include "parallel/plan.h"

typedef enum { EMP_TRAINER_MEGATRON, EMP_TRAINER_DEEPSPEED, EMP_TRAINERS } emp_trainer;

enum { EMP_FLAGS_BYTES = 8192 };

/** "Megatron-LM" and "DeepSpeed". */
extern const char *const emp_trainer_names[EMP_TRAINERS];

/** Writes the flags of Megatron-LM, or the configuration of DeepSpeed in one line of JSON, for a way of a plan. O(layers).
 * \param batch  Sequences of a step.
 * \retval EMP_EINVAL        Degrees that do not divide, as emp_degrees_resolve().
 * \retval EMP_EUNSUPPORTED  The program has no flags for the way; the message names the key. */
emp_status emp_flags_write(char text[EMP_FLAGS_BYTES], emp_trainer trainer,
                           const emp_parallel_spec *spec, const emp_way *way,
                           int32_t batch, emp_error *err);

#endif /* EMP_PARALLEL_FLAGS_H */
