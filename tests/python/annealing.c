// SPDX-License-Identifier: GPL-3.0-or-later
/* docs/examples/own_annealing.py in C: what `anneal` finds with moves=ops,near=0,propagate=0. Its
 * options are the peak FLOP/s of each device, separated by commas. */
#include <emplace/emplace.h>
#include <emplace/placer.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 4, WARMUP = 100, MOST_DRAWS = 20, MOST_DEVICES = 8 };
enum { MOVE, DECISION }; /* the streams of a move's number */
static const double HEAT = 0.2, COOLING = 1000.0;

typedef struct {
    uint32_t      number;
    int32_t       its_class;
    emp_device_id device;
} move;

typedef struct {
    emp_placer_params p;
    int32_t           op_count, device_count, movable_count;
    int32_t          *movable;             /* classes */
    emp_device_id    *here;                /* [class] */
    double            here_s;              /* 0: not yet scored */
    double            up_to[MOST_DEVICES]; /* running sums of the peaks */
    uint32_t          drafted;
    int64_t           told;
    double count, sum, sum_of_squares; /* of changes of cost, by the first moves */
    move   made[SAMPLES];
} annealer;

typedef struct {
    uint64_t seed, position;
    uint32_t stream, substream;
} stream;

static uint32_t next_word(stream *s)
{
    uint32_t word;

    emp_random_words(&word, 1, s->seed, s->stream, s->substream, s->position++);
    return word;
}

static int32_t below(stream *s, uint32_t bound)
{
    uint64_t product;

    do product = (uint64_t)next_word(s) * bound;
    while ((uint32_t)product < (0u - bound) % bound);
    return (int32_t)(product >> 32);
}

static double uniform(stream *s)
{
    const uint64_t high = next_word(s) >> 5, low = next_word(s) >> 6;

    return (double)(high << 26 | low) * 0x1p-53;
}

static emp_device_id first_gpu(const emp_machine *machine)
{
    emp_device_id device = 0;

    while (emp_machine_device_kind(machine, device) != EMP_DEVICE_GPU) device++;
    return device;
}

static emp_status read_peaks(annealer *a, const char *text)
{
    double sum = 0.0;

    for (emp_device_id d = 0; d < a->device_count; d++) {
        char *end;
        a->up_to[d] = sum += strtod(text, &end);
        if (end == text || (*end != ',' && *end != '\0')) return EMP_EINVAL;
        text = end + (*end == ',');
    }
    return EMP_OK;
}

static emp_status init(void *state, const emp_placer_params *params, emp_error *err)
{
    annealer           *a = state;
    const emp_device_id gpu = first_gpu(params->machine);
    const size_t        classes = (size_t)emp_problem_class_count(params->problem);

    (void)err;
    a->p = *params;
    a->op_count = emp_graph_op_count(params->graph);
    a->device_count = emp_machine_device_count(params->machine);
    a->movable = calloc(classes, sizeof *a->movable);
    a->here = calloc(classes, sizeof *a->here);
    if (a->movable == NULL || a->here == NULL) return EMP_ENOMEM;
    if (a->device_count > MOST_DEVICES || read_peaks(a, params->options) != EMP_OK)
        return EMP_EINVAL;
    for (emp_op_id op = 0; op < a->op_count; op++) {
        const int32_t its_class = emp_problem_class_of_op(params->problem, op);
        if (its_class >= 0 && emp_problem_allows(params->problem, op, gpu))
            a->here[its_class] = gpu;
    }
    for (int32_t c = 0; c < (int32_t)classes; c++)
        if (a->here[c] == gpu) a->movable[a->movable_count++] = c;
    return EMP_OK;
}

/* In proportion to peak FLOP/s. */
static emp_device_id draw_device(const annealer *a, stream *s)
{
    const double u = uniform(s), sum = a->up_to[a->device_count - 1];
    int          device = 0;

    while (device < a->device_count - 1 && u >= a->up_to[device] / sum) device++;
    return (emp_device_id)device;
}

static move draw_move(annealer *a)
{
    for (;;) {
        move   m = {.number = a->drafted++};
        stream s = {.seed = a->p.seed, .stream = m.number, .substream = MOVE};
        for (int i = 0; i < MOST_DRAWS; i++) {
            below(&s, 100); /* whether a device is copied along edges: never here */
            below(&s, 1);   /* what is moved: always a class */
            m.its_class = a->movable[below(&s, (uint32_t)a->movable_count)];
            below(&s, 100); /* whether it goes to a neighbour: never here */
            m.device = draw_device(a, &s);
            if (a->here[m.its_class] != m.device) return m;
        }
    }
}

static void write_row(const annealer *a, const move *m, emp_device_id *device_of_op)
{
    for (emp_op_id op = 0; op < a->op_count; op++) {
        const int32_t c = emp_problem_class_of_op(a->p.problem, op);
        device_of_op[op] = c < 0                            ? 0
                           : m != NULL && c == m->its_class ? m->device
                                                            : a->here[c];
    }
}

static emp_status ask(void *state, emp_device_id *const *device_of_op, int32_t max,
                      int32_t *count, emp_error *err)
{
    annealer *a = state;

    (void)err;
    if (a->here_s == 0.0) {
        *count = 1;
        write_row(a, NULL, device_of_op[0]);
        return EMP_OK;
    }
    *count = max < SAMPLES ? max : SAMPLES;
    for (int32_t i = 0; i < *count; i++) a->made[i] = draw_move(a);
    for (int32_t i = 0; i < *count; i++) write_row(a, &a->made[i], device_of_op[i]);
    return EMP_OK;
}

/* Step time in seconds, and more for what does not fit in memory. */
static double cost_s(const emp_placer_score *score)
{
    const double step_s = (double)score->step_time_ns * 1e-9;

    return score->is_feasible ? step_s : step_s * (2.0 + 10.0 * score->overflow_frac);
}

static double temperature(const annealer *a)
{
    if (a->told <= WARMUP || a->count == 0.0) return 0.0;
    const double mean = a->sum / a->count,
                 left = (double)(a->p.budget_evaluations - WARMUP);
    const double done = left > 0.0 ? fmin(1.0, (double)(a->told - WARMUP) / left) : 1.0;
    return HEAT * sqrt(fmax(0.0, a->sum_of_squares / a->count - mean * mean)) *
           pow(COOLING, -done);
}

static bool accepts(const annealer *a, double change, double t, uint32_t number)
{
    stream s = {.seed = a->p.seed, .stream = number, .substream = DECISION};

    return change <= 0.0 || (t > 0.0 && uniform(&s) < exp(-change / t));
}

static emp_status tell(void *state, const emp_placer_score *scores, int32_t count,
                       emp_error *err)
{
    annealer    *a = state;
    const double t = temperature(a), before_s = a->here_s;
    const move  *taken = NULL;

    (void)err;
    if (before_s == 0.0) a->here_s = cost_s(&scores[0]);
    for (int32_t i = 0; before_s > 0.0 && i < count; i++) {
        const double cost = cost_s(&scores[i]), change = cost / before_s - 1.0;
        if (a->told <= WARMUP) {
            a->count += 1.0;
            a->sum += change;
            a->sum_of_squares += change * change;
        }
        if (!accepts(a, cost / a->here_s - 1.0, t, a->made[i].number)) continue;
        a->here_s = cost;
        taken = &a->made[i];
    }
    if (taken != NULL) a->here[taken->its_class] = taken->device;
    a->told += count;
    return EMP_OK;
}

static void clear(void *state)
{
    annealer *a = state;

    free(a->movable);
    free(a->here);
}

const emp_placer_type emp_placer = {
    .abi = EMP_PLACER_ABI,
    .name = "own annealing",
    .state_bytes = sizeof(annealer),
    .init = init,
    .ask = ask,
    .tell = tell,
    .clear = clear,
};
