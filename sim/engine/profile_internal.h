/** \file sim/engine/profile_internal.h
 * Steps under the rules of other simulators, docs/profiles.md. An emp_sim whose runtime
 * has such rules holds an emp_sim_profile and nothing else of what sim_create.c makes.
 *
 * Ops are those of the graph that are not folded, in the order of their ids, so that ties
 * by op id are ties by number. A *port* is what edges leave an op from: its outputs in
 * order, then one for all its control edges. Repeated edges are one.
 */
#ifndef EMP_SIM_ENGINE_PROFILE_INTERNAL_H
#define EMP_SIM_ENGINE_PROFILE_INTERNAL_H

#include "sim/engine/sim_internal.h"

typedef struct {
    emp_op_id   id;
    uint32_t    kinds; /**< EMP_KIND_ mask */
    emp_time_ns cpu_ns, gpu_ns;
    int64_t     output_bytes; /**< memory of all outputs */
    int64_t     persistent_bytes, workspace_bytes;
    int32_t     port, in, out; /**< where its rows begin; they end at the next op's */
} emp_profile_op;

typedef struct {
    int64_t       bytes; /**< of a transfer; 0 of a control port */
    int32_t       op;
    emp_tensor_id id; /**< -1: of control edges */
} emp_profile_port;

typedef struct {
    int32_t consumer, port;
} emp_profile_edge;

/** What is to come next: the least (at, tie). */
typedef struct {
    emp_time_ns at;
    uint64_t    tie;
} emp_profile_key;

typedef struct {
    emp_profile_key *key;
    int32_t          count;
} emp_profile_heap;

/** What a set of rules does. */
typedef struct {
    /** Fills sim->profile->state and may lower memory limits; must ask
     * emp_profile_check_times(). */
    emp_status (*create)(emp_sim *sim, emp_error *err);
    /** One step of a placement that is in place: fills sim->result's step time, busy
     * times, traffic and transfers, and the memories of devices. */
    void (*run)(emp_sim *sim);
    void (*destroy)(void *state); /**< NULL is allowed */
} emp_profile_rules;

extern const emp_profile_rules emp_profile_placeto, emp_profile_baechi,
    emp_profile_msr_latency, emp_profile_msr_load;

struct emp_sim_profile {
    const emp_profile_rules *rules;
    int32_t                  op_count, port_count, edge_count;
    emp_profile_op          *op;   /**< [op + 1] */
    emp_profile_port        *port; /**< [port] */
    int32_t          *in;  /**< [edge] ports that an op waits for, by (producer, port) */
    emp_profile_edge *out; /**< [edge] of an op, by (consumer, port) */
    void             *state; /**< of the rules */

    /* state of a run */
    emp_profile_heap heap;     /**< room for op_count and for 4 per device */
    uint8_t         *device;   /**< [op] */
    emp_time_ns     *start_ns; /**< [op] */
    emp_time_ns     *end_ns;   /**< [op] */
};

emp_status emp_sim_profile_create(emp_sim *sim, emp_error *err);
emp_status emp_sim_profile_run(emp_sim *sim, const emp_device_id *device_of_op,
                               emp_sim_result *result, emp_error *err);
void       emp_sim_profile_destroy(emp_sim_profile *profile);

void            emp_profile_push(emp_profile_heap *heap, emp_time_ns at, uint64_t tie);
emp_profile_key emp_profile_pop(emp_profile_heap *heap);

/** A number of nanoseconds per byte, as a fraction. */
typedef struct {
    uint64_t numerator, denominator;
} emp_profile_rate;

/** Of a link of so many bytes a second, in whole bytes.
 * \retval EMP_EUNSUPPORTED  Less than one; the message names the \a key. */
emp_status emp_profile_rate_of(emp_profile_rate *rate, double bytes_per_s,
                               const char *key, emp_error *err);

/** round(bytes x rate), halves up, exact; at most EMP_COST_LIMIT_NS. */
emp_time_ns emp_profile_duration(emp_profile_rate rate, int64_t bytes);

/** Refuses what could reach EMP_SIM_LAST_NS: all costs of ops and \a others. */
emp_status emp_profile_check_times(const emp_sim_profile *profile, double others,
                                   emp_error *err);

/** Whether the port stands for control edges. */
static inline bool emp_profile_is_control(const emp_sim_profile *p, int32_t port)
{
    return p->port[port].id < 0;
}

static inline bool emp_profile_is_gpu(const emp_sim *sim, int32_t device)
{
    return sim->kind_of_device[device] == EMP_KIND_GPU;
}

/** Cost of an op on its device. */
static inline emp_time_ns emp_profile_cost(const emp_sim *sim, int32_t op)
{
    const emp_profile_op *o = &sim->profile->op[op];

    return emp_profile_is_gpu(sim, sim->profile->device[op]) ? o->gpu_ns : o->cpu_ns;
}

/** Adds bytes to a device for an op; notes the first that do not fit. */
void emp_profile_hold(emp_sim *sim, int32_t device, int32_t op, int64_t bytes,
                      emp_time_ns at);
void emp_profile_release(emp_sim *sim, int32_t device, int64_t bytes, emp_time_ns at);

/** An op from start to end; books its device's busy time. */
void emp_profile_run_op(emp_sim *sim, int32_t op, int32_t lane, emp_time_ns start,
                        emp_time_ns end);

/** Books a transfer. */
static inline void emp_profile_book(emp_sim *sim, int64_t bytes)
{
    sim->result.transfer_count++;
    sim->result.traffic_bytes += bytes;
}

/* In traced runs: */
void emp_profile_tell_ready(emp_sim *sim, int32_t op, emp_time_ns at);
/** A control port's transfer is told as a message that arrives at the end. */
void emp_profile_tell_transfer(emp_sim *sim, int32_t port, int32_t from, int32_t to,
                               emp_time_ns start, emp_time_ns end);

#endif /* EMP_SIM_ENGINE_PROFILE_INTERNAL_H */
