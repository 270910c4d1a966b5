/** \file parallel/plan.h
 * Every way to spread a training step over so many GPUs that degrees allow: timed, and ranked.
 *
 * Keys that the spec decides stay; all others are searched: tp, pp, vp, ep, cp and with them dp, micro-batch, recomputation, schedule.
 * Context parallelism is searched for sequences of 8192 tokens and more.
 */
#ifndef EMP_PARALLEL_PLAN_H
#define EMP_PARALLEL_PLAN_H

#include "parallel/spec.h"
#include "parallel/step.h"

/** The memory that a process needs of a GPU besides tensors: data/runtimes/torch-eager.yaml has the sources. */
#define EMP_PARALLEL_PROCESS_BYTES (1411.0 * 1048576.0)

/** Predicted steps that are no farther apart than this part of the shorter one are ties. Predicted ratios of two measured
 * ways with the same model, batch and number of GPUs are 1.6 % off on average (7 pairs on 8 B200, docs/pipelines.md). */
#define EMP_PLAN_TIE_FRAC 0.016

enum { EMP_PLAN_WHY_BYTES = EMP_ERROR_MSG_BYTES, EMP_PLAN_ON_BYTES = 192 };

/** The units of work whose number differs between GPUs of several models. */
typedef enum {
    EMP_SHARES_NONE,
    EMP_SHARES_LAYERS,
    EMP_SHARES_MICRO_BATCHES
} emp_way_shares;

/** The reason for which a way fails. */
typedef enum {
    EMP_WAY_FITS,
    EMP_WAY_IS_INVALID, /**< its degrees do not divide, or do not go together */
    EMP_WAY_NEEDS_MEMORY,
    EMP_WAY_NEEDS_HOST, /**< more of the host's memory than a GPU's share */
    EMP_WAY_FAULTS
} emp_way_fault;

typedef struct {
    emp_degrees       degrees;
    emp_parallel_step step;
    emp_way_fault     fault;
    char              why[EMP_PLAN_WHY_BYTES]; /**< the fault in words; "" = it fits */
    emp_way_shares    shares;
    char
        on[EMP_PLAN_ON_BYTES]; /**< GPUs of which model do how much; "" = all are alike */
} emp_way;

/** Zero-initialise; emp_ways_clear() releases it, also after a failure. */
typedef struct {
    emp_way *row; /**< feasible ones first, in the order of emp_ways_sort() */
    int32_t  count, feasible, capacity;
    int32_t
        tied; /**< feasible ways whose steps are as short as the shortest, or ties with it */
    int32_t batch;        /**< sequences of a step */
    double  memory_bytes; /**< of a GPU, less what the process needs */
} emp_ways;

/** Makes the plan. O(ways).
 * \param gpus  How many; 0 = what the degrees of the spec need.
 * \retval EMP_EINVAL  No degrees fit so many GPUs, layers, heads and sequences; the message says why.
 * \retval EMP_EUNSUPPORTED, EMP_ENOMEM  As emp_parallel_predict(). */
emp_status emp_ways_find(emp_ways *out, const emp_parallel_spec *spec,
                         const emp_cluster *cluster, int32_t gpus, bool all_ranks,
                         emp_error *err);

/** Makes a plan for GPUs of several models: on the GPUs of one model only, as a pipeline whose stages have layers by the speed and
 * memory of their GPUs, and as replicas that take micro-batches by their speed. The ranks of a stage, and the stages of a
 * replica in the last case, have GPUs of one model. Experts are not shared out, and a stage has one part of the model.
 * O(ways layers^2).
 * \retval EMP_EINVAL  No degrees fit; the message says why.
 * \retval EMP_EUNSUPPORTED, EMP_ENOMEM  As emp_parallel_predict(). */
emp_status emp_ways_find_mixed(emp_ways *out, const emp_parallel_spec *spec,
                               const emp_fleet *fleet, emp_error *err);

/** Sorts the rows: feasible ones first, by their time, in classes: the first has the shortest step and those that tie with it,
 * the next the shortest of the rest, and so on. Within a class they are sorted by their memory, as the prediction cannot tell
 * which step is shorter. O(ways log ways). */
void emp_ways_sort(emp_ways *plan);

void emp_ways_clear(emp_ways *plan);

/* flags.c: ways as flags of Megatron-LM and as configurations of DeepSpeed.
 *
 * Flags have the names of Megatron-LM's megatron/training/arguments.py at commit 000c4ac, and keys those of DeepSpeed's
 * configuration. A way is refused if a program has nothing for a part of it, or stops with an error at its flags: the
 * program's step would not be the one that was predicted. */

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

#endif /* EMP_PARALLEL_PLAN_H */
