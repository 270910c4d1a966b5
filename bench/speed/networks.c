// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/speed/networks.h"

#include "base/blas/openblas.h"
#include "base/mem.h"
#include "policy/nn/threads.h"

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
