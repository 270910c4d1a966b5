// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/report/report_what_if.h"

#include <stdio.h>

#include "base/text/text.h"
#include "base/text/units.h"

enum { SCOPE_WIDTH = 26 };

/* Below 0: the step is shorter. */
static double change_frac(const emp_explain *why, const emp_what_if_change *change)
{
    double old = (double)why->result.step_time_ns;

    return old > 0 ? (double)change->step_time_ns / old - 1.0 : 0.0;
}

static json_t *json_change(const emp_problem *problem, const emp_explain *why,
                           const emp_what_if_change *change)
{
    const emp_machine *m = problem->machine;
    json_t *o = json_pack("{s:s, s:I, s:f, s:b}", "change", emp_what_if_key(change->kind),
                          "step_time_ns", (json_int_t)change->step_time_ns, "change_frac",
                          change_frac(why, change), "feasible", change->is_feasible);

    if (change->link >= 0)
        json_object_set_new(o, "link", json_string(m->link[change->link].name));
    if (change->scope >= 0) {
        const emp_scope *scope = &why->scopes.scope[change->scope];
        json_object_set_new(o, "scope", json_stringn(scope->name, (size_t)scope->length));
        json_object_set_new(o, "to", json_string(m->device[change->to].name));
        json_object_set_new(o, "ops", json_integer(change->op_count));
    }
    return o;
}

json_t *cli_what_if_json(const emp_problem *problem, const emp_explain *why,
                         const emp_what_if *what_if)
{
    json_t *changes = json_array();

    for (int32_t i = 0; i < what_if->count; i++)
        json_array_append_new(changes, json_change(problem, why, &what_if->change[i]));
    return json_pack("{s:i, s:o}", "simulated", what_if->trial_count, "changes", changes);
}

static void print_words(const emp_problem *problem, const emp_explain *why,
                        const emp_what_if_change *change)
{
    const emp_scope *scope = &why->scopes.scope[change->scope < 0 ? 0 : change->scope];
    char             name[SCOPE_WIDTH + 1];

    switch (change->kind) {
    case EMP_WHAT_IF_LINK_QUEUE:
        printf("without the queue of link %s", problem->machine->link[change->link].name);
        break;
    case EMP_WHAT_IF_LINK:
        printf("with an endlessly fast link %s",
               problem->machine->link[change->link].name);
        break;
    case EMP_WHAT_IF_GPU: printf("with GPUs twice as fast"); break;
    case EMP_WHAT_IF_HOST: printf("with host threads twice as fast"); break;
    case EMP_WHAT_IF_CPU: printf("with CPUs twice as fast"); break;
    case EMP_WHAT_IF_MEMORY: printf("with twice the memory"); break;
    case EMP_WHAT_IF_MOVE:
        printf("scope %s to %s",
               emp_text_shorten(scope->name, (size_t)scope->length, SCOPE_WIDTH, name),
               problem->machine->device[change->to].name);
        break;
    case EMP_WHAT_IF_KINDS: break;
    }
}

static void print_change(const emp_problem *problem, const emp_explain *why,
                         const emp_what_if_change *change)
{
    char old[32], new[32], text[32];

    printf(
        "  %8s  %8s -> %-8s ",
        emp_units_format_change(change_frac(why, change), text, sizeof text),
        emp_units_format_seconds((double)why->result.step_time_ns * 1e-9, old,
                                 sizeof old),
        emp_units_format_seconds((double)change->step_time_ns * 1e-9, new, sizeof new));
    print_words(problem, why, change);
    if (!change->is_feasible) {
        printf(", OOM");
    } else if (!why->result.is_feasible) {
        printf(", fits");
    }
    printf("\n");
}

void cli_what_if_print(const emp_problem *problem, const emp_explain *why,
                       const emp_what_if *what_if)
{
    printf("\nwhat if; %d change%s simulated, these help\n", what_if->trial_count,
           emp_units_plural(what_if->trial_count));
    if (what_if->count == 0) printf("  none by 0.5 %% or more\n");
    for (int32_t i = 0; i < what_if->count; i++)
        print_change(problem, why, &what_if->change[i]);
}
