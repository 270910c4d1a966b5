// SPDX-License-Identifier: GPL-3.0-or-later
/* A placed step as tasks of StarPU in its SimGrid mode: starpu_step RULE FILE prints the step time
 * in seconds. Tasks are pinned to workers, each tensor is a data handle.
 *
 *   arrived    a task is submitted when its last input has arrived in the memory of its device;
 *              tensors are requested there as soon as they are made: the rules of `ideal`
 *   submitted  all tasks are submitted at the start, and StarPU decides when it copies
 *
 * The file is made by tests/witness/placed.py, of a machine of one host. */
#include <starpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPS = 4096, MAX_READERS = 64, MAX_INPUTS = 7 };

typedef struct {
    int                  device, reader[MAX_READERS], reader_count;
    int                  input[MAX_INPUTS], input_count, missing;
    double               seconds;
    size_t               bytes;
    starpu_data_handle_t made;
} op_type;

typedef struct {
    int op, device;
} copy_type;

static op_type op[MAX_OPS];
static int     op_count, device_count, left;
static bool    is_eager; /* the rule "arrived" */
static int     worker_of_device[STARPU_NMAXWORKERS];
static double  end_us;

static void work(void *buffers[], void *argument)
{
    (void)buffers;
    (void)argument;
}

static double cost_us(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                      unsigned variant)
{
    (void)arch;
    (void)variant;
    return ((const op_type *)task->cl_arg)->seconds * 1e6;
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH, .arch_cost_function = cost_us, .symbol = "op"};
static struct starpu_codelet codelet = {.where = STARPU_CPU | STARPU_CUDA,
                                        .cpu_funcs = {work},
                                        .cuda_funcs = {work},
                                        .cuda_flags = {STARPU_CUDA_ASYNC},
                                        .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                        .model = &model};

static void end(void *argument);

static void submit(op_type *o)
{
    struct starpu_task *task = starpu_task_create();

    task->cl = &codelet;
    task->cl_arg = o;
    task->cl_arg_size = sizeof *o;
    task->nbuffers = o->input_count + 1;
    for (int i = 0; i < o->input_count; i++) {
        task->handles[i] = op[o->input[i]].made;
        task->modes[i] = STARPU_R;
    }
    task->handles[o->input_count] = o->made;
    task->modes[o->input_count] = STARPU_W;
    task->execute_on_a_specific_worker = 1;
    task->workerid = (unsigned)worker_of_device[o->device];
    task->callback_func = end;
    task->callback_arg = o;
    if (starpu_task_submit(task) != 0) abort();
}

static void arrive(op_type *o)
{
    if (--o->missing == 0) submit(o);
}

static unsigned node_of(int device)
{
    return starpu_worker_get_memory_node((unsigned)worker_of_device[device]);
}

static void end_copy(void *argument)
{
    copy_type     *c = argument;
    const op_type *o = &op[c->op];

    starpu_data_release_on_node(o->made, (int)node_of(c->device));
    for (int i = 0; i < o->reader_count; i++)
        if (op[o->reader[i]].device == c->device) arrive(&op[o->reader[i]]);
    free(c);
}

static void request(op_type *o, int device)
{
    copy_type *c = malloc(sizeof *c);

    if (c == NULL) abort();
    *c = (copy_type){(int)(o - op), device};
    starpu_data_acquire_on_node_cb(o->made, (int)node_of(device), STARPU_R, end_copy, c);
}

static void end(void *argument)
{
    op_type *o = argument;
    bool     is_requested[STARPU_NMAXWORKERS] = {false};

    if (starpu_timing_now() > end_us) end_us = starpu_timing_now();
    left--;
    if (!is_eager) return;
    is_requested[o->device] = true;
    for (int i = 0; i < o->reader_count; i++)
        if (op[o->reader[i]].device == o->device) arrive(&op[o->reader[i]]);
    for (int i = 0; i < o->reader_count; i++) {
        int device = op[o->reader[i]].device;
        if (is_requested[device]) continue;
        is_requested[device] = true;
        request(o, device);
    }
}

static void read_step(const char *path)
{
    FILE *in = fopen(path, "r");
    int   link_count = 0, edge_count = 0, n = 0;
    bool  is_whole =
        in != NULL &&
        fscanf(in, "%d%d%d%d", &device_count, &link_count, &op_count, &edge_count) == 4 &&
        op_count <= MAX_OPS;

    for (int d = 0; is_whole && d < device_count; d++)
        is_whole = fscanf(in, "%*s%d", &n) == 1;
    for (int l = 0; is_whole && l < link_count; l++) is_whole = fscanf(in, "%*f%*f") == 0;
    for (int r = 0; is_whole && r < device_count * device_count; r++) {
        is_whole = fscanf(in, "%*f%d", &n) == 1;
        while (is_whole && n-- > 0) is_whole = fscanf(in, "%*d") == 0;
    }
    for (op_type *o = op; is_whole && o < op + op_count; o++)
        is_whole = fscanf(in, "%d%lf%zu", &o->device, &o->seconds, &o->bytes) == 3;
    for (int e = 0; is_whole && e < edge_count; e++) {
        int a = 0, b = 0;
        is_whole = fscanf(in, "%d%d", &a, &b) == 2 && op[a].reader_count < MAX_READERS &&
                   op[b].input_count < MAX_INPUTS;
        if (!is_whole) break;
        op[a].reader[op[a].reader_count++] = b;
        op[b].input[op[b].input_count++] = a;
        op[b].missing++;
    }
    if (!is_whole) {
        fprintf(stderr, "%s is no placed step\n", path);
        exit(2);
    }
    fclose(in);
}

int main(int argc, char **argv)
{
    struct starpu_conf conf;

    if (argc != 3) return 2;
    is_eager = strcmp(argv[1], "arrived") == 0;
    read_step(argv[2]);
    starpu_conf_init(&conf);
    conf.ncpus = 1;
    conf.ncuda = device_count - 1;
    conf.nopencl = 0;
    conf.sched_policy_name = "eager";
    if (starpu_init(&conf) != 0) return 2;
    worker_of_device[0] = starpu_worker_get_by_type(STARPU_CPU_WORKER, 0);
    for (int d = 1; d < device_count; d++)
        worker_of_device[d] = starpu_worker_get_by_type(STARPU_CUDA_WORKER, d - 1);
    for (op_type *o = op; o < op + op_count; o++)
        starpu_vector_data_register(&o->made, -1, 0,
                                    o->bytes > 0 ? (uint32_t)o->bytes : 1, 1);
    left = op_count;
    double start_us = starpu_timing_now();
    for (op_type *o = op; o < op + op_count; o++)
        if (!is_eager || o->input_count == 0) submit(o);
    while (left > 0) starpu_sleep(0.0001f);
    starpu_task_wait_for_all();
    printf("%.9f\n", (end_us - start_us) * 1e-6);
    for (op_type *o = op; o < op + op_count; o++)
        starpu_data_unregister_no_coherency(o->made);
    starpu_shutdown();
    return 0;
}
