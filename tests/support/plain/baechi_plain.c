// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/plain/baechi_plain.h"

#undef NDEBUG
#include <assert.h>
#include <string.h>

#include "base/mem.h"

typedef struct {
    const plain_step *step;
    plain_result     *result;
    int32_t          *output_row, *edge_row;
    int64_t          *ready_ns, *start_ns; /* [op] */
    int32_t          *waiting_for;         /* [op] edges from ops not yet served */
    int32_t          *readers_left;        /* [op] edges to ops not yet served */
    bool             *is_served;           /* [op] */
    int64_t          *received_ns; /* [(op or tensor) * devices + device]; -1 = not there:
                                    * control tensors by op, then tensors */
    int64_t           device_free_ns[PLAIN_MAX_DEVICES];
    int64_t           channel_free_ns[PLAIN_MAX_DEVICES];
    int64_t           used_bytes[PLAIN_MAX_DEVICES];
} simulation;

int64_t baechi_transfer_ns(int64_t bytes)
{
    return plain_scale(bytes, 877, 5000) + BAECHI_LATENCY_NS;
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

static void allocate(simulation *sim, int32_t device, int64_t bytes)
{
    sim->used_bytes[device] += bytes;
    sim->result->peak_bytes[device] =
        later(sim->result->peak_bytes[device], sim->used_bytes[device]);
}

static int64_t output_bytes(const simulation *sim, int32_t op)
{
    int64_t bytes = 0;

    for (int32_t t = sim->output_row[op]; t < sim->output_row[op + 1]; t++)
        bytes += sim->step->tensor[t].memory_bytes;
    return bytes;
}

/* Books the op's memory, and frees what it was the last to wait for. */
static void use_memory(simulation *sim, int32_t op)
{
    const plain_step *s = sim->step;
    int32_t           device = s->device_of_op[op];

    allocate(sim, device, output_bytes(sim, op) + s->persistent_bytes[op]);
    allocate(sim, device, s->temporary_bytes[op]);
    sim->used_bytes[device] -= s->temporary_bytes[op];
    for (int32_t e = 0; e < s->edge_count; e++) {
        int32_t producer = s->edge[e].producer;
        if (s->edge[e].consumer != op) continue;
        if (--sim->readers_left[producer] > 0) continue;
        sim->used_bytes[s->device_of_op[producer]] -= output_bytes(sim, producer);
    }
}

/* When what the edge carries is on the consumer's device; sends it if it is not. */
static int64_t deliver(simulation *sim, const plain_edge *edge, int64_t end_ns)
{
    const plain_step *s = sim->step;
    bool              is_control = edge->tensor == PLAIN_CONTROL;
    int32_t           from = s->device_of_op[edge->producer];
    int32_t           to = s->device_of_op[edge->consumer];
    int32_t           row = is_control ? edge->producer : s->op_count + edge->tensor;
    int64_t          *received_ns = &sim->received_ns[row * s->device_count + to];

    if (from == to) return end_ns;
    if (*received_ns >= 0) return *received_ns;
    int64_t bytes =
        is_control ? BAECHI_CONTROL_BYTES : s->tensor[edge->tensor].transfer_bytes;
    int64_t duration_ns = baechi_transfer_ns(bytes);
    int64_t send_ns = later(end_ns, sim->channel_free_ns[from]);
    sim->channel_free_ns[from] = send_ns + duration_ns;
    int64_t receive_ns = later(send_ns, sim->channel_free_ns[to]);
    sim->channel_free_ns[to] = receive_ns + duration_ns;
    *received_ns = receive_ns + duration_ns;
    sim->result->transfer_count++;
    sim->result->traffic_bytes += bytes;
    return *received_ns;
}

static void serve(simulation *sim, int32_t op)
{
    const plain_step *s = sim->step;
    int32_t           device = s->device_of_op[op];
    int64_t           cost_ns = plain_step_cost_ns(s, op);

    sim->is_served[op] = true;
    sim->start_ns[op] = later(sim->ready_ns[op], sim->device_free_ns[device]);
    int64_t end_ns = sim->start_ns[op] + cost_ns;
    sim->device_free_ns[device] = end_ns;
    sim->result->busy_ns[device] += cost_ns;
    sim->result->step_time_ns = later(sim->result->step_time_ns, end_ns);
    use_memory(sim, op);
    for (int32_t e = sim->edge_row[op]; e < sim->edge_row[op + 1]; e++) {
        int32_t consumer = s->edge[e].consumer;
        int64_t there_ns = deliver(sim, &s->edge[e], end_ns);
        sim->ready_ns[consumer] = later(sim->ready_ns[consumer], there_ns);
        sim->waiting_for[consumer]--;
    }
}

/* The next op to serve, or -1. */
static int32_t next_op(const simulation *sim)
{
    int32_t next = -1;

    for (int32_t op = 0; op < sim->step->op_count; op++) {
        if (sim->is_served[op] || sim->waiting_for[op] > 0) continue;
        if (next < 0 || sim->ready_ns[op] < sim->ready_ns[next]) next = op;
    }
    return next;
}

void baechi_plain_run(const plain_step *s, int64_t *start_ns, plain_result *result)
{
    const size_t ops = (size_t)s->op_count;
    const size_t copies = (ops + (size_t)s->tensor_count) * (size_t)s->device_count;
    simulation   sim = {.step = s,
                        .result = result,
                        .output_row = plain_step_output_rows(s),
                        .edge_row = plain_step_edge_rows(s),
                        .ready_ns = EMP_NEW_ARRAY(int64_t, ops),
                        .start_ns = EMP_NEW_ARRAY(int64_t, ops),
                        .waiting_for = EMP_NEW_ARRAY(int32_t, ops),
                        .readers_left = EMP_NEW_ARRAY(int32_t, ops),
                        .is_served = EMP_NEW_ARRAY(bool, ops),
                        .received_ns = EMP_NEW_ARRAY(int64_t, copies)};

    assert(sim.ready_ns && sim.start_ns && sim.waiting_for && sim.readers_left);
    assert(sim.is_served && sim.received_ns);
    *result = (plain_result){0};
    for (size_t i = 0; i < copies; i++) sim.received_ns[i] = -1;
    for (int32_t e = 0; e < s->edge_count; e++) {
        sim.waiting_for[s->edge[e].consumer]++;
        sim.readers_left[s->edge[e].producer]++;
    }
    for (int32_t count = 0; count < s->op_count; count++) {
        int32_t op = next_op(&sim);
        assert(op >= 0);
        serve(&sim, op);
    }
    if (start_ns != NULL) memcpy(start_ns, sim.start_ns, ops * sizeof *start_ns);
    emp_free(sim.output_row);
    emp_free(sim.edge_row);
    emp_free(sim.ready_ns);
    emp_free(sim.start_ns);
    emp_free(sim.waiting_for);
    emp_free(sim.readers_left);
    emp_free(sim.is_served);
    emp_free(sim.received_ns);
}
