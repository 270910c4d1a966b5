// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/speed/networks.h"

#include <inttypes.h>

#include "base/blas/openblas.h"
#include "base/mem.h"
#include "policy/nn/flush.h"

const emp_network *const emp_networks[EMP_NETWORKS] = {
    &emp_network_placer,  &emp_network_grouper, &emp_network_go,  &emp_network_placeto,
    &emp_network_doppler, &emp_network_hsdag,   &emp_network_giph};

const int32_t emp_network_offset[EMP_NETWORK_NEIGHBORS] = {-17, -1, 1, 17};

emp_status emp_network_create(void **state, const emp_network *network,
                              const emp_network_params *params, emp_error *err)
{
    emp_rng rng;

    EMP_CHECK(emp_openblas_open(err));
    *state = emp_calloc(1, network->bytes);
    if (*state == NULL) return EMP_ERROR(EMP_ENOMEM, "network %s", network->name);
    emp_rng_init(&rng, params->seed, 0, 0);
    const emp_status st = network->init(*state, params, &rng, err);
    if (st != EMP_OK) {
        emp_network_destroy(*state, network);
        *state = NULL;
    }
    return st;
}

void emp_network_destroy(void *state, const emp_network *network)
{
    if (state == NULL) return;
    network->clear(state);
    emp_free(state);
}

double emp_network_update(void *state, const emp_network *network, int32_t threads)
{
    const unsigned saved = emp_flush_begin();
    const double   loss = network->update(state, threads);

    emp_flush_end(saved);
    return loss;
}

int32_t emp_network_connect(int32_t *first, int32_t *neighbor, int32_t count)
{
    int32_t edges = 0;

    for (int32_t i = 0; i < count; i++) {
        first[i] = edges;
        for (int k = 0; k < EMP_NETWORK_NEIGHBORS; k++) {
            const int32_t other = i + emp_network_offset[k];
            if (other >= 0 && other < count) neighbor[edges++] = other;
        }
    }
    return first[count] = edges;
}

void emp_network_write_reals(FILE *stream, const char *name, const emp_real *value,
                             int32_t rows, int32_t cols)
{
    fprintf(stream, "%s float %d %d\n", name, rows, cols);
    fwrite(value, sizeof *value, (size_t)rows * (size_t)cols, stream);
}

void emp_network_write_ints(FILE *stream, const char *name, const int32_t *value,
                            int32_t rows, int32_t cols)
{
    fprintf(stream, "%s int %d %d\n", name, rows, cols);
    fwrite(value, sizeof *value, (size_t)rows * (size_t)cols, stream);
}

void emp_network_write_doubles(FILE *stream, const char *name, const double *value,
                               int32_t rows, int32_t cols)
{
    fprintf(stream, "%s float %d %d\n", name, rows, cols);
    for (int64_t i = 0; i < (int64_t)rows * cols; i++) {
        const emp_real x = (emp_real)value[i];
        fwrite(&x, sizeof x, 1, stream);
    }
}

void emp_network_write_parameters(FILE *stream, const emp_params *p, int32_t first)
{
    char name[16];

    for (int32_t i = 0; i < p->slice_count; i++) {
        snprintf(name, sizeof name, "p%d", first + i);
        emp_network_write_reals(stream, name, emp_params_value(p, i), p->slice[i].rows,
                                p->slice[i].cols);
    }
}

void emp_network_write_matrix(FILE *stream, const char *name, const int32_t *first,
                              const int32_t *node, int32_t count)
{
    fprintf(stream, "%s int %d %d\n", name, count, count);
    for (int32_t v = 0; v < count; v++)
        for (int32_t u = 0; u < count; u++) {
            int32_t times = 0;
            for (int32_t i = first[v]; i < first[v + 1]; i++) times += node[i] == u;
            fwrite(&times, sizeof times, 1, stream);
        }
}

enum { SPEC_BYTES = 64, SEEDS = 1000000 };

emp_status emp_network_task_load(emp_loaded_task *loaded, int32_t nodes, uint64_t seed,
                                 emp_error *err)
{
    char           spec[SPEC_BYTES], machine[SPEC_BYTES];
    const emp_task task = {.key = "giph",
                           .title = "giph",
                           .spec = spec,
                           .machine = machine,
                           .gpu_count = EMP_NETWORK_DEVICES};
    emp_runtime    runtime;

    snprintf(spec, sizeof spec, "giph:v=%d,alpha=0.5,seed=%" PRIu64, nodes, seed % SEEDS);
    snprintf(machine, sizeof machine, "giph:devices=%d,seed=%" PRIu64,
             EMP_NETWORK_DEVICES, seed % SEEDS);
    EMP_CHECK(emp_runtime_init(&runtime, "edges", err));
    return emp_tasks_load(loaded, &task, 1, &runtime, 1, err);
}
