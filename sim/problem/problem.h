/** \file sim/problem/problem.h
 * A problem is all that a placement method receives: graph, machine, costs, and which devices each op may
 * use; it is read-only and shared by all threads. A decision is all that a method answers.
 */
#ifndef EMP_SIM_PROBLEM_PROBLEM_H
#define EMP_SIM_PROBLEM_PROBLEM_H

#include <emplace/problem.h>

#include "sim/cost/cost.h"
#include "sim/graph/graph.h"

/** <emplace/problem.h> has what programs see of it. */
struct emp_problem {
    const emp_graph   *graph;   /**< the step graph; borrowed */
    const emp_machine *machine; /**< `given`, or `adapted` */
    const emp_machine *given;   /**< borrowed; what makes the problem again takes it */
    /** The machine less the memory that the runtime keeps of GPUs, with its hops between hosts; owned, its text is
     * borrowed. NULL where the runtime has neither. */
    emp_machine *adapted;
    emp_graph   *loaded_graph; /**< owned: what emp_problem_load() has loaded, or NULL */
    emp_machine *loaded_machine; /**< likewise */
    emp_runtime  runtime;
    emp_cost_table *costs;    /**< owned */
    uint32_t *kinds_of_class; /**< [class]: EMP_KIND_ mask that all members allow and the
                                          machine has, never 0 */
    emp_op_id
        *leader_of_class; /**< [class]: its first op, folded ones last; decides for it */
    int32_t *class_of_op; /**< [op]: colocation class that binds it, -1 = folded */
    struct emp_sequence *
        sequence; /**< owned; units of a pipeline (emp_problem_set_sequence()), or NULL */
    char workload[256]; /**< spec or path, for records and for expert rules */
    char overrides
        [256]; /**< for records: the options that change costs, devices or classes
                                besides the three files, " --forbid cpu"; "" = none */
};

/** More bytes than a step can hold or move. */
#define EMP_SIM_ENDLESS (INT64_C(1) << 62)

/** Bytes that a placement may hold on a device: its memory, or EMP_SIM_ENDLESS where the runtime does not check that
 * what is held fits. */
int64_t emp_problem_memory_bytes(const emp_problem *problem, emp_device_id device);

/** Seconds of a copy's latency that are the hop of the runtime: a copy to another host or, where the runtime has a
 * client, to a host other than the client's has it, others 0. */
double emp_problem_hop_s(const emp_problem *problem, int32_t from, int32_t to);

/** Multiplies the latencies of all routes of a changed copy of the problem's machine. The hops of the runtime stay. */
void emp_problem_scale_latencies(const emp_problem *problem, emp_machine *machine,
                                 double factor);

/** The rates and latencies of all routes of a changed copy of the problem's machine, after a change of its links: what
 * follows from the links, with the hops of the runtime and the ways through its client.
 * \retval EMP_EUNSUPPORTED  As emp_problem_create(). */
emp_status emp_problem_time_routes(const emp_problem *problem, emp_machine *machine,
                                   emp_error *err);

/** Forbids CPUs to all classes that a GPU can have. Before a simulator or a method uses the problem.
 * Ops without a GPU kernel stay. emp_problem_legalize() then moves a class from a CPU to the first GPU of its
 * host, or else of the machine.
 * \param[out] kept_count  Ops that stay on CPUs, as their class has no kernel for a GPU. NULL is allowed.
 * O(V). \retval EMP_EINVAL  The machine has no GPU. */
emp_status emp_problem_forbid_cpus(emp_problem *problem, int32_t *kept_count,
                                   emp_error *err);

/** True if a placement has no op on a CPU whose class may be on a GPU. O(V). */
bool emp_problem_keeps_gpu_kernels(const emp_problem   *problem,
                                   const emp_device_id *device_of_op);

/** Whether some op that is not folded may be on more than one device. O(V). */
bool emp_problem_has_choice(const emp_problem *problem);

/** Bytes of variables that cannot be held by the devices that may have them. */
typedef struct {
    uint32_t kinds; /**< EMP_KIND_ mask of those devices; 0 = all variables can be held */
    int64_t  held_bytes, memory_bytes;
} emp_problem_shortage;

/** Says whether memory rules out every placement: the variables of classes that may be only on GPUs, only
 * on CPUs, or all variables, are larger than the memories of such devices together. O(V + devices). */
emp_problem_shortage emp_problem_find_shortage(const emp_problem *problem);

/*
 * A user's own colocation, beside the references' and the file's: sets of ops that share a device.
 */

/** Has the ops of each set share a device, with all ops that share one with them already. The graph may
 * have no other holder yet. Its hash stays. O(V log V).
 * \param set_of_op  [op count] numbers below the op count; -1: of no set.
 * \retval EMP_ENOMEM  The graph is unchanged. */
emp_status emp_graph_join_classes(emp_graph *graph, const int32_t *set_of_op,
                                  emp_error *err);

/*
 * A copy of a problem whose costs, machine and runtime may be changed, for studies of what
 * the same placements would cost if.
 *
 * Colocation, devices that ops may use, and hashes stay the original's.
 */

/** Zero-initialise. Change what `costs`, `machine` and `problem.runtime` hold, but for the
 * offsets of tasks, before a simulator is created. */
typedef struct {
    const emp_problem *original; /**< borrowed */
    emp_problem        problem;  /**< to be simulated; graph and classes are borrowed */
    emp_cost_table
        costs; /**< owned, but for cpu_offset; gpu_beside_ns as in the original */
    emp_machine *machine; /**< owned */
} emp_problem_variant;

/** A variant that is like \a original, which must outlive it. O(V).
 * \retval EMP_ENOMEM  Clear it also then. */
emp_status emp_problem_variant_init(emp_problem_variant *variant,
                                    const emp_problem *original, emp_error *err);

/** Back to the original. O(V). */
void emp_problem_variant_restore(emp_problem_variant *variant);
void emp_problem_variant_clear(emp_problem_variant *variant);

/* Placements that an output form can state where colocation classes do not suffice: some classes are units of a
 * pipeline, and the units of a device follow one another. A CPU, where the form allows one, has the first units.
 * 
 * emp_problem_legalize() moves a placement without that form to one near by: the GPUs have their units in the
 * order of the units' mean positions, and as few units as possible change their devices. A placement with the form
 * stays. So a method searches only what can be written.
 * 
 * A form may also be without some devices, such as the CPUs of other hosts. emp_problem_legalize() gives what is
 * there to a device that stands in for them.
 * 
 *     EMP_TRY(emp_problem_set_sequence(problem, unit_of_class, unit_count, home_of_class, err));
 *     emp_sequence_withhold(problem, device, stand_in); */

enum { EMP_SEQUENCE_UNITS_MAX = 2064 }; /* layers of a model, and what is around them */

struct emp_sequence {
    int32_t  unit_count;
    int32_t *class_of_unit; /**< [unit] */
    int32_t *unit_of_class; /**< [class] -1 = it may be anywhere */
    int32_t *
        home_of_class; /**< [class] a unit that it follows when that is moved; -1 = none */
    emp_device_id
        stand_in[EMP_MAX_DEVICES]; /**< [device] itself, unless it is withheld */
};

/** Has the units follow one another. Before a simulator or a method uses the problem.
 * \param class_of_unit  [unit_count] The classes in the order of the pipeline, none of them twice; copied.
 * \param home_of_class  [class count] For classes that are no units but belong to one, such as single weights of a
 *                       layer: the unit; -1 for others. Copied.
 * O(classes). \retval EMP_EINVAL  More units than EMP_SEQUENCE_UNITS_MAX. \retval EMP_ENOMEM */
emp_status emp_problem_set_sequence(emp_problem *problem, const int32_t *class_of_unit,
                                    int32_t unit_count, const int32_t *home_of_class,
                                    emp_error *err);

/** Takes a device from all ops of a problem that has a sequence. Before a simulator or a method uses the problem.
 * \param stand_in  A device of the same kind that is not withheld. */
void emp_sequence_withhold(emp_problem *problem, emp_device_id device,
                           emp_device_id stand_in);

/* Decisions that can be written and are kept: the one noun between methods, files and records.
 * emp_decision (<emplace/problem.h>) is the read-only view that a simulator takes; its arrays are
 * borrowed. An emp_owned_decision has the same arrays, writable, and their number of ops. A
 * method fills it, a placement file is read into it, a record keeps it, and emp_decision_view()
 * shows it to a simulator. A later kind of decision, such as homes of tensors, becomes one more
 * array here and one more bit of emp_decides. */

/** The parts of a decision about a step: bits of a mask. */
typedef enum {
    EMP_DECIDES_DEVICES = 1, /**< every method does */
    EMP_DECIDES_ORDER = 2,
    EMP_DECIDES_FUSION = 4,
    EMP_DECIDES_MORE = EMP_DECIDES_ORDER | EMP_DECIDES_FUSION
} emp_decides;

/** In place of a leader that a method proposes: the op joins the set of its readers if that is legal
 * (emp_fusion_legalize()), else it stays by itself. Scoring puts the leader there. */
enum { EMP_JOINS_READERS = -1 };

typedef struct {
    emp_device_id *device_of_op; /**< [op] */
    uint8_t   *level_of_op;  /**< [op] below EMP_LEVELS; NULL: the order is not decided */
    emp_op_id *leader_of_op; /**< [op]; NULL: the fusion is not decided */
    int32_t    op_count;
} emp_owned_decision;

/** A decision among several, and the label that tells it from the others. Borrowed. */
typedef struct {
    const char  *label;
    emp_decision decision;
} emp_labelled_decision;

/** The problem of a decision, as its file says. */
typedef struct {
    char     workload[256], machine[64]; /**< "": not said */
    char     runtime[64];                /**< likewise; only records say it */
    uint64_t run;         /**< a number of the run that found it; 0: not said */
    double   step_time_s; /**< below 0: it does not fit in memory; NaN: not said */
} emp_decision_origin;

/** Makes room for a decision of \a op_count ops: all on device 0, at level 0, and led by themselves.
 * Clear it afterwards, also after a failure.
 * \param decides  A mask of emp_decides.
 * \retval EMP_ENOMEM */
emp_status emp_decision_init(emp_owned_decision *decision, int32_t op_count,
                             int32_t decides, emp_error *err);
/** Frees the arrays and zeroes the rest. */
void emp_decision_clear(emp_owned_decision *decision);

/** The mask of emp_decides that its arrays make. */
int32_t emp_decision_decides(const emp_owned_decision *decision);

/** The decision as a simulator takes it; borrowed. */
emp_decision emp_decision_view(const emp_owned_decision *decision);

/** Copies the arrays that both have. O(ops). */
void emp_decision_copy(const emp_owned_decision *to, const emp_owned_decision *from);

/** Sets all levels to 0 and has every op lead itself; devices stay. O(ops). */
void emp_decision_reset(const emp_owned_decision *decision);

/** Whether all devices, levels and leaders are such. O(ops). */
bool emp_decision_is_valid(const emp_owned_decision *decision, int32_t device_count);

#endif /* EMP_SIM_PROBLEM_PROBLEM_H */
