// SPDX-License-Identifier: GPL-3.0-or-later
/* A method as a shared library: random devices for colocation classes, the same that method
 * `random` draws. Build and run it:
 *
 *     cc -shared -fPIC own_placer.c -o own_placer.so $(pkg-config --cflags emplace)
 *     emplace place nmt:layers=2 --machine k40x2 --method ./own_placer.so --budget 200
 */
#include <emplace/emplace.h>
#include <emplace/placer.h>
#include <stdlib.h>

typedef struct {
    uint32_t          candidate; /* number of the next one */
    int32_t           op_count, class_count;
    uint32_t          device_count;
    emp_device_id    *device_of_class;
    emp_placer_params params;
} placer;

static emp_status init(void *state, const emp_placer_params *params, emp_error *err)
{
    placer *p = state;

    (void)err;
    p->params = *params;
    p->op_count = emp_graph_op_count(params->graph);
    p->class_count = emp_problem_class_count(params->problem);
    p->device_count = (uint32_t)emp_machine_device_count(params->machine);
    p->device_of_class = calloc((size_t)p->class_count, sizeof *p->device_of_class);
    return p->device_of_class != NULL ? EMP_OK : EMP_ENOMEM;
}

/* One number below a bound from each word of the stream that <emplace/random.h> does not skip. */
static void draw(placer *p)
{
    const uint32_t bound = p->device_count, skipped_below = (0u - bound) % bound;
    uint64_t       position = 0;

    for (int32_t c = 0; c < p->class_count;) {
        uint32_t word;
        emp_random_words(&word, 1, p->params.seed, p->candidate, 0, position++);
        const uint64_t product = (uint64_t)word * bound;
        if ((uint32_t)product >= skipped_below)
            p->device_of_class[c++] = (emp_device_id)(product >> 32);
    }
    p->candidate++;
}

static emp_status ask(void *state, emp_device_id *const *device_of_op, int32_t max,
                      int32_t *count, emp_error *err)
{
    placer *p = state;

    (void)err;
    for (int32_t i = 0; i < max; i++) {
        draw(p);
        for (emp_op_id op = 0; op < p->op_count; op++) {
            const int32_t its_class = emp_problem_class_of_op(p->params.problem, op);
            device_of_op[i][op] = its_class < 0 ? 0 : p->device_of_class[its_class];
        }
    }
    *count = max;
    return EMP_OK;
}

static void clear(void *state) { free(((placer *)state)->device_of_class); }

const emp_placer_type emp_placer = {
    .abi = EMP_PLACER_ABI,
    .name = "own random",
    .state_bytes = sizeof(placer),
    .init = init,
    .ask = ask,
    .clear = clear,
};
