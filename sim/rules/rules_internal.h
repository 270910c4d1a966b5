/** \file sim/rules/rules_internal.h
 * What rule sets share, and what each of them does. docs/simulator.md states the rules.
 *
 * Ops are the graph's ops that are not folded, in the order of their ids, so that ties
 * by op id are ties by number. A *port* is what edges leave an op from: its outputs in
 * order, then one for all its control edges. Repeated edges are one.
 */
#ifndef EMP_SIM_RULES_RULES_INTERNAL_H
#define EMP_SIM_RULES_RULES_INTERNAL_H

#include "base/mem.h"
#include "sim/rules/rules.h"

typedef struct {
    emp_op_id id;
    uint32_t  kinds;        /**< EMP_KIND_ mask */
    int64_t   output_bytes; /**< memory of all outputs */
    int64_t   persistent_bytes, workspace_bytes;
    int32_t   port, in, out; /**< where its rows begin; they end at the next op's */
} emp_rules_op;

typedef struct {
    int64_t       bytes; /**< of a transfer; 0 of a control port */
    int32_t       op;
    emp_tensor_id id; /**< -1: of control edges */
} emp_rules_port;

typedef struct {
    int32_t consumer, port;
} emp_rules_edge;

/** The next item: the least (at, tie). */
typedef struct {
    emp_time_ns at;
    uint64_t    tie;
} emp_rules_key;

typedef struct {
    emp_rules_key *key;
    int32_t        count;
} emp_rules_heap;

/** Bytes of a device's memory. */
typedef struct {
    int64_t used, peak, limit;
} emp_rules_memory;

/** A rule set. */
typedef struct {
    size_t state_bytes;
    /** Fills `state`, which is zeroed, and may change memory limits; must ask emp_rules_check_times(). */
    emp_status (*create)(emp_rules_sim *p, emp_error *err);
    /** One step of a placement that is in place: fills the result's step time, busy times,
     * traffic and transfers, and the memories of devices. */
    void (*run)(emp_rules_sim *p);
} emp_rules_type;

extern const emp_rules_type emp_rules_placeto, emp_rules_baechi, emp_rules_msr_latency,
    emp_rules_msr_load, emp_rules_edges;

struct emp_rules_sim {
    const emp_rules_type *type;
    emp_arrays            arrays; /**< all that follow, and the state's */
    const emp_problem    *problem;
    int32_t               device_count;
    uint8_t               kind_of_device[EMP_MAX_DEVICES]; /**< EMP_KIND_ masks */
    int32_t               op_count, port_count, edge_count;
    emp_rules_op         *op; /**< [op + 1] */
    int32_t               column_count;
    uint8_t               column_of_device[EMP_MAX_DEVICES];
    emp_time_ns          *time_ns; /**< [op][column] on a device model */
    emp_rules_port       *port;    /**< [port] */
    int32_t        *in;    /**< [edge] ports that an op waits for, by (producer, port) */
    emp_rules_edge *out;   /**< [edge] of an op, by (consumer, port) */
    void           *state; /**< of the rule set */

    /* state of a run */
    bool                 is_traced;
    const emp_sim_trace *trace; /**< or NULL */
    const emp_sim_times *times; /**< or NULL */
    emp_sim_result       result;
    emp_rules_memory     memory[EMP_MAX_DEVICES];
    emp_rules_heap       heap;     /**< room for op_count and for 4 per device */
    uint8_t             *device;   /**< [op] */
    emp_time_ns         *start_ns; /**< [op] */
    emp_time_ns         *end_ns;   /**< [op] */
};

/** A rule set asks once, after it has added its arrays.
 * \retval EMP_ENOMEM An allocation of one of them failed. */
emp_status emp_rules_check_memory(const emp_rules_sim *p, emp_error *err);

void          emp_rules_push(emp_rules_heap *heap, emp_time_ns at, uint64_t tie);
emp_rules_key emp_rules_pop(emp_rules_heap *heap);

/** A number of nanoseconds per byte, as a fraction. */
typedef struct {
    uint64_t numerator, denominator;
} emp_rules_rate;

/** The duration on a link of so many bytes a second, in whole bytes.
 * \retval EMP_EUNSUPPORTED  Less than one; the message names the \a key. */
emp_status emp_rules_rate_of(emp_rules_rate *rate, double bytes_per_s, const char *key,
                             emp_error *err);

/** round(bytes x rate), halves up, exact; at most EMP_COST_LIMIT_NS. */
emp_time_ns emp_rules_duration(emp_rules_rate rate, int64_t bytes);

/** Refuses a step whose times could overflow: all costs of ops and \a others. */
emp_status emp_rules_check_times(const emp_rules_sim *p, double others, emp_error *err);

/** Whether the port stands for control edges. */
static inline bool emp_rules_is_control(const emp_rules_sim *p, int32_t port)
{
    return p->port[port].id < 0;
}

/** Cost of an op on its device. */
static inline emp_time_ns emp_rules_cost(const emp_rules_sim *p, int32_t op)
{
    return p->time_ns[(size_t)op * (size_t)p->column_count +
                      p->column_of_device[p->device[op]]];
}

/** Adds bytes to a device for an op; notes the first that do not fit. */
void emp_rules_hold(emp_rules_sim *p, int32_t device, int32_t op, int64_t bytes,
                    emp_time_ns at);
void emp_rules_release(emp_rules_sim *p, int32_t device, int64_t bytes, emp_time_ns at);

/** An op from start to end; books its device's busy time. */
void emp_rules_run_op(emp_rules_sim *p, int32_t op, int32_t lane, emp_time_ns start,
                      emp_time_ns end);

/** Books a transfer. */
static inline void emp_rules_book(emp_rules_sim *p, int64_t bytes)
{
    p->result.transfer_count++;
    p->result.traffic_bytes += bytes;
}

/* In traced runs: */
void emp_rules_tell_ready(emp_rules_sim *p, int32_t op, emp_time_ns at);
/** A control port's transfer is reported as a message that arrives at the end. */
void emp_rules_tell_transfer(emp_rules_sim *p, int32_t port, int32_t from, int32_t to,
                             emp_time_ns start, emp_time_ns end);

/* Ops served one after another by ready time, over all devices together: what the rules
 * `baechi` and `edges` share. docs/simulator.md states the order. */

/** When what an edge of \a op carries is there on its consumer's device. The op has been served. */
typedef emp_time_ns emp_rules_deliver(emp_rules_sim *p, int32_t op, emp_rules_edge edge);

typedef struct {
    int64_t      number;         /**< of the op in service, over all runs */
    int32_t     *consumer_count; /**< [op] distinct */
    int32_t     *missing;        /**< [op] edges from ops that are not served */
    int32_t     *reading;        /**< [op] consumers that are not served */
    emp_time_ns *ready_ns;       /**< [op] */
    emp_time_ns  free_ns[EMP_MAX_DEVICES];
} emp_rules_service;

/** Adds the arrays to the simulator's; a rule set asks for memory afterwards. */
void emp_rules_service_add(emp_rules_service *s, emp_rules_sim *p);

/** Counts consumers, once there is memory. O(E). */
void emp_rules_service_count(emp_rules_service *s, const emp_rules_sim *p);

/** Serves every op of the placement. Fills all of the result but transfers. O((V + E) log V). */
void emp_rules_service_run(emp_rules_service *s, emp_rules_sim *p,
                           emp_rules_deliver *deliver);

#endif /* EMP_SIM_RULES_RULES_INTERNAL_H */
