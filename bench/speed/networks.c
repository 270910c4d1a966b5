// SPDX-License-Identifier: GPL-3.0-or-later
#define _POSIX_C_SOURCE 200809L
#include "bench/speed/networks.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/blas/openblas.h"
#include "base/io/process.h"
#include "base/mem.h"
#include "base/text/options.h"
#include "base/work.h"
#include "bench/speed/speed.h"
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

static double update(void *state, const emp_network *network, int32_t threads)
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

/* ---- updates, timed ---- */

const emp_network *const emp_networks[EMP_NETWORKS] = {
    &emp_network_placer, &emp_network_grouper, &emp_network_go, &emp_network_hsdag,
    &emp_network_doppler};

enum { LINE_BYTES = 256, OURS, TORCH };

/* Losses agree to five digits; DOPPLER's to four, because it scales columns of nodes that are nearly alike. */
static const double TOLERANCE = 1e-3;

/* ---- PyTorch as a program of its own that makes an update each time it is asked to ---- */

typedef struct {
    FILE *network; /* the network; the file has no name */
    pid_t process;
    int   requests;
    FILE *answers;
} torch;

/* Debian's package is for Debian's Python, which need not be the first in PATH. */
static const char *const pythons[] = {"/usr/bin/python3", "python3"};

/* The Python that has PyTorch, or NULL. Starts it to find out, which takes seconds. */
static const char *find_torch(void)
{
    for (size_t i = 0; i < sizeof pythons / sizeof *pythons; i++) {
        const char *const import[] = {pythons[i], "-c", "import torch", NULL};
        if (emp_program_succeeds(import)) return pythons[i];
    }
    return NULL;
}

/* In the new process. OPENBLAS_CORETYPE, which makes OpenBLAS fast on CPUs that it does
 * not know, is in the environment if this program needed it. One pool of threads is
 * enough; and malloc shall keep what it has: to give 2 MB tensors back to the system and
 * clear them again takes as long as to compute them. */
static void become_torch(int socket, const char *python, const char *path)
{
    if (dup2(socket, STDIN_FILENO) < 0 || dup2(socket, STDOUT_FILENO) < 0) _exit(127);
    execlp("env", "env", "OPENBLAS_NUM_THREADS=1", "MALLOC_MMAP_THRESHOLD_=4294967296",
           "MALLOC_TRIM_THRESHOLD_=68719476736", "MALLOC_TOP_PAD_=67108864", python,
           EMP_POLICY_TORCH, path, (char *)NULL);
    _exit(127);
}

static emp_status start_torch(torch *t, const char *python, const char *path,
                              emp_error *err)
{
    emp_status st = EMP_OK;
    int        pair[2] = {-1, -1};

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        EMP_FAIL(EMP_EIO, "no socket: %s", strerror(errno));
    t->requests = pair[0];
    t->answers = fdopen(pair[0], "r");
    if (t->answers == NULL) EMP_FAIL(EMP_EIO, "no stream: %s", strerror(errno));
    t->process = emp_program_fork();
    if (t->process < 0) EMP_FAIL(EMP_EIO, "no process: %s", strerror(errno));
    if (t->process == 0) {
        close(pair[0]);
        become_torch(pair[1], python, path);
    }

cleanup:
    if (pair[1] >= 0) close(pair[1]);
    return st;
}

static emp_status create_torch(torch *t, const char *python, void *state,
                               const emp_network *network, emp_error *err)
{
    char path[EMP_PROGRAM_PATH_BYTES], line[LINE_BYTES];

    EMP_CHECK(emp_program_create_input(&t->network, err));
    network->write(state, t->network);
    EMP_CHECK(emp_program_finish_input(t->network, path, err));
    EMP_CHECK(start_torch(t, python, path, err));
    if (fgets(line, sizeof line, t->answers) == NULL || strcmp(line, "ready\n") != 0)
        return EMP_ERROR(EMP_EEXTERNAL, "%s %s did not start", python, EMP_POLICY_TORCH);
    return EMP_OK;
}

static emp_status run_torch(torch *t, int32_t threads, emp_speed_sample *sample,
                            emp_error *err)
{
    char      line[LINE_BYTES];
    const int length = snprintf(line, sizeof line, "%d\n", threads);
    double    cpu_s, wall_s;

    if (send(t->requests, line, (size_t)length, MSG_NOSIGNAL) != length ||
        fgets(line, sizeof line, t->answers) == NULL ||
        sscanf(line, "%lf %lf %lf", &cpu_s, &wall_s, &sample->answer) != 3)
        return EMP_ERROR(EMP_EEXTERNAL, "PyTorch ended early");
    sample->seconds = threads > 1 ? wall_s : cpu_s;
    return EMP_OK;
}

static void clear_torch(torch *t)
{
    if (t->answers != NULL)
        fclose(t->answers);
    else if (t->requests >= 0)
        close(t->requests);
    if (t->process > 0) waitpid(t->process, NULL, 0);
    if (t->network != NULL) fclose(t->network);
}

/* ---- measuring ---- */

typedef struct {
    const emp_network *network;
    void              *state;
    int32_t            threads;
    torch              torch;
} stand;

/* On one thread times are CPU times, on more they are wall-clock times. */
static emp_status take(emp_speed_sample *sample, void *context, int32_t number,
                       int32_t round, emp_error *err)
{
    stand *s = (stand *)context;

    (void)round;
    if (number == TORCH) return run_torch(&s->torch, s->threads, sample, err);
    const double wall_s = emp_clock_now_s(), cpu_s = emp_clock_thread_s();
    sample->answer = update(s->state, s->network, s->threads);
    sample->seconds =
        s->threads > 1 ? emp_clock_now_s() - wall_s : emp_clock_thread_s() - cpu_s;
    return EMP_OK;
}

static emp_status measure_network(emp_speed_table *table, const emp_speed_params *p,
                                  const emp_network        *network,
                                  const emp_network_params *params, const char *python,
                                  emp_error *err)
{
    const emp_speed_way ways[] = {{"ours", OURS, 0}, {"PyTorch", TORCH, TOLERANCE}};
    const int32_t       way_count = python != NULL ? 2 : 1;
    emp_status          st = EMP_OK;
    stand s = {.network = network, .threads = p->threads, .torch.requests = -1};
    emp_speed_sample unused;
    char             variant[64];

    snprintf(variant, sizeof variant, p->threads > 1 ? "%d x %d, %d threads" : "%d x %d",
             params->hidden, params->samples, p->threads);
    EMP_TRY(emp_network_create(&s.state, network, params, err));
    if (python != NULL) EMP_TRY(create_torch(&s.torch, python, s.state, network, err));
    /* The first updates pay for cold memory and start threads. */
    for (int32_t i = 0; i < way_count; i++)
        EMP_TRY(take(&unused, &s, ways[i].number, 0, err));
    EMP_TRY(emp_speed_measure(table,
                              &(emp_speed_task){network->name, variant, params->size,
                                                ways, way_count, p->repeats, take, &s},
                              err));

cleanup:
    clear_torch(&s.torch);
    emp_network_destroy(s.state, network);
    return st;
}

static int32_t size_of(const emp_network *n, const emp_speed_params *p)
{
    if (n == &emp_network_placer) return p->groups;
    if (n == &emp_network_grouper) return p->ops;
    if (n == &emp_network_go) return p->nodes;
    return n == &emp_network_hsdag ? p->sets : p->steps;
}

/* A placer for each number of cells and of samples; the others have one of each. */
static emp_status measure_sizes(emp_speed_table *table, const emp_speed_params *p,
                                const emp_network *n, const char *python, emp_error *err)
{
    emp_network_params params = {.hidden = n->hidden,
                                 .samples = n->samples,
                                 .size = size_of(n, p),
                                 .groups = p->groups,
                                 .threads = p->threads,
                                 .seed = p->seed};

    if (n->hidden > 0) return measure_network(table, p, n, &params, python, err);
    for (int32_t i = 0; i < p->hidden.count * p->samples.count; i++) {
        params.hidden = p->hidden.value[i / p->samples.count];
        params.samples = p->samples.value[i % p->samples.count];
        EMP_CHECK(measure_network(table, p, n, &params, python, err));
    }
    return EMP_OK;
}

emp_status emp_speed_policy(emp_speed_table *table, const emp_speed_params *p,
                            emp_error *err)
{
    static const char *const peers[] = {"none", "torch", NULL};
    const bool               has_torch = emp_word_list_has(p->peers, "torch");
    const char              *names[EMP_NETWORKS + 1] = {NULL};

    emp_speed_table_init(table, "ms/update", 1e3);
    for (int i = 0; i < EMP_NETWORKS; i++) names[i] = emp_networks[i]->name;
    EMP_CHECK(emp_speed_check_words(p->networks, "there is no network", names, err));
    EMP_CHECK(emp_speed_check_words(p->peers, "there is no peer", peers, err));
    const char *python = has_torch ? find_torch() : NULL;
    for (int i = 0; i < EMP_NETWORKS; i++)
        if (emp_word_list_has(p->networks, emp_networks[i]->name))
            EMP_CHECK(measure_sizes(table, p, emp_networks[i], python, err));
    emp_sheet_note(&table->sheet, "Variant: hidden units x samples. %s time.",
                   p->threads > 1 ? "Wall-clock" : "CPU");
    if (has_torch && python == NULL)
        emp_sheet_note(&table->sheet, "For PyTorch install python3-torch.");
    return EMP_OK;
}
