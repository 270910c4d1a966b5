// SPDX-License-Identifier: GPL-3.0-or-later
/* The experts of N layers on the CPU and all else on the GPUs, as llama.cpp does it with --n-cpu-moe N: for each N from
 * none to all layers the rest is split in proportion to the GPUs' memory. The oracle says which N is best, and from
 * which N on the model fits. Proposals come in the order of N, so that a budget cuts off the largest ones. */
#include "base/mem.h"
#include "baselines/baselines.h"
#include "baselines/partitioners/by_memory.h"
#include "search/groups/expert_groups.h"

enum { FROM_FIRST, FROM_LAST };

typedef struct {
    int32_t from;
} options;

typedef struct {
    const emp_problem *problem; /* borrowed */
    options            options;
    int32_t            layer_count;
    int64_t            next; /* the N that is proposed next */
    int32_t           *layer_of_class;
    bool              *is_left_out; /* [class] */
    emp_arrays         arrays;
} search;

static emp_status init(void *state, const emp_problem *problem,
                       const emp_method_params *params, emp_error *err)
{
    search      *s = (search *)state;
    const size_t classes = (size_t)problem->graph->class_count;

    s->problem = problem;
    EMP_CHECK(emp_method_options_parse(&s->options, params->type, params, err));
    if (emp_machine_count(problem->machine, EMP_DEVICE_GPU) == 0)
        return EMP_ERROR(EMP_EUNSUPPORTED, "method experts-on-cpu: machine %s has no GPU",
                         problem->machine->name);
    s->layer_of_class = EMP_ADD_ARRAY(&s->arrays, int32_t, classes);
    s->is_left_out = EMP_ADD_ARRAY(&s->arrays, bool, classes);
    if (s->arrays.is_short) return EMP_ERROR(EMP_ENOMEM, "%zu classes", classes);
    EMP_CHECK(emp_expert_groups(s->layer_of_class, &s->layer_count, problem, err));
    if (s->layer_count == 0 && params->warn != NULL)
        params->warn(
            params->warn_context,
            "experts-on-cpu has found no experts in the names of ops, and splits "
            "by memory as memory-split does");
    return EMP_OK;
}

static bool is_left_out(const search *s, int32_t layer)
{
    if (layer < 0) return false;
    return s->options.from == FROM_FIRST ? layer < s->next
                                         : layer >= s->layer_count - s->next;
}

static emp_status ask(void *state, const emp_owned_decision *candidates, int32_t max,
                      int32_t *count, emp_error *err)
{
    search *s = (search *)state;

    if (s->next < 0) /* a restored state may come from anywhere */
        return EMP_ERROR(EMP_EFORMAT, "the saved state of experts-on-cpu is damaged");
    for (*count = 0; *count < max && s->next <= s->layer_count; s->next++, ++*count) {
        for (int32_t c = 0; c < s->problem->graph->class_count; c++)
            s->is_left_out[c] = is_left_out(s, s->layer_of_class[c]);
        EMP_CHECK(emp_split_by_memory(candidates[*count].device_of_op, s->problem,
                                      s->is_left_out, err));
    }
    return EMP_OK;
}

static int32_t list_state(void *state, emp_named_array arrays[EMP_MAX_NAMED_ARRAYS])
{
    search *s = (search *)state;

    arrays[0] = (emp_named_array){"next", EMP_ARRAY_INT64, 1, &s->next};
    return 1;
}

static void clear(void *state) { emp_arrays_clear(&((search *)state)->arrays); }

static const emp_option option_list[] = {
    EMP_WORD_OPTION("from", options, from, "first|last",
                    "whose experts go to the CPU first: those of the first layers, as "
                    "llama.cpp has it, or of the last",
                    FROM_FIRST),
    EMP_NO_OPTION};

const emp_method emp_method_experts_on_cpu = {
    .options = option_list,
    .name = "experts-on-cpu",
    .description = "experts of N layers on the CPU for each N, the rest by memory, as "
                   "llama.cpp's --n-cpu-moe",
    .advice = "mixtures of experts that the GPUs do not hold",
    .state_bytes = sizeof(search),
    .init = init,
    .ask = ask,
    .list_state = list_state,
    .clear = clear,
};
