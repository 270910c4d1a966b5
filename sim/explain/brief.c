// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/explain/brief.h"

#include <math.h>

#include "base/mem.h"
#include "base/text/units.h"

enum { BRIEF_DEVICES = 3, BRIEF_MOVES = 3, SCOPE_WIDTH = 26 };

/* From this share of the step on, a device works nearly all the time. */
static const double NEARLY_ALL = 0.9;

/* ---- what bounds the step ---- */

static double share_of(const emp_explanation *why, emp_time_ns part)
{
    const emp_time_ns whole = why->result.step_time_ns;

    return whole > 0 ? (double)part / (double)whole : 0.0;
}

emp_device_id emp_explain_busiest(const emp_explanation *why)
{
    emp_device_id busiest = 0;

    for (emp_device_id d = 1; d < why->result.device_count; d++)
        if (why->device[d].busy_ns > why->device[busiest].busy_ns) busiest = d;
    return busiest;
}

emp_limit_kind emp_explain_limit(const emp_explanation *why)
{
    const emp_device_id busiest = emp_explain_busiest(why);

    switch (emp_explain_bottleneck(why).kind) {
    case EMP_BOTTLENECK_HOST: return EMP_LIMIT_HOST;
    case EMP_BOTTLENECK_COPIES: return EMP_LIMIT_COPIES;
    case EMP_BOTTLENECK_MESSAGES: return EMP_LIMIT_MESSAGES;
    case EMP_BOTTLENECK_STEP: return EMP_LIMIT_STEP;
    case EMP_BOTTLENECK_COMPUTE:
    case EMP_BOTTLENECK_KINDS: break;
    }
    return share_of(why, why->device[busiest].busy_ns) >= NEARLY_ALL
               ? EMP_LIMIT_LOAD
               : EMP_LIMIT_SERIALISATION;
}

const char *emp_limit_key(emp_limit_kind kind)
{
    static const char *const keys[] = {
#define X(name, key) key,
        EMP_LIMIT_LIST(X)
#undef X
    };
    return keys[kind];
}

/* ---- the lines ---- */

static void add_percent(emp_text *text, double frac)
{
    char percent[EMP_UNITS_TEXT_BYTES];

    emp_text_add(text, "%s", emp_units_format_percent(frac, percent, sizeof percent));
}

static void add_limit(emp_text *text, const emp_problem *problem,
                      const emp_explanation *why)
{
    static const char *const words[EMP_LIMIT_KINDS] = {
        [EMP_LIMIT_LOAD] = "the load of one device",
        [EMP_LIMIT_SERIALISATION] = "serialisation, as devices wait for each other",
        [EMP_LIMIT_HOST] = "host threads, which issue ops one after another",
        [EMP_LIMIT_COPIES] = "copies between devices",
        [EMP_LIMIT_MESSAGES] = "control messages between devices",
        [EMP_LIMIT_STEP] = "the fixed cost of a step"};
    const emp_limit_kind limit = emp_explain_limit(why);
    const emp_device_id  busiest = emp_explain_busiest(why);

    emp_text_add(text, "bound by     %s: ", words[limit]);
    if (limit == EMP_LIMIT_LOAD || limit == EMP_LIMIT_SERIALISATION) {
        emp_text_add(text, "%s%s works ",
                     limit == EMP_LIMIT_LOAD ? "" : "the busiest one, ",
                     problem->machine->device[busiest].name);
        add_percent(text, share_of(why, why->device[busiest].busy_ns));
        emp_text_add(text, " of the step\n");
        return;
    }
    add_percent(text, share_of(why, emp_explain_bottleneck(why).time_ns));
    emp_text_add(text, " of the critical path\n");
}

/* Shares of the critical path by groups of causes, in the order of the list. */
static void add_path(emp_text *text, const emp_explanation *why)
{
    static const struct {
        const char *words;
        uint32_t    causes;
    } groups[] = {{"compute", 1u << EMP_CAUSE_GPU_OP | 1u << EMP_CAUSE_CPU_OP},
                  {"waits for busy devices", 1u << EMP_CAUSE_GPU_WAIT |
                                                 1u << EMP_CAUSE_CPU_WAIT |
                                                 1u << EMP_CAUSE_COPY_COMPUTE_WAIT},
                  {"host threads", 1u << EMP_CAUSE_ISSUE | 1u << EMP_CAUSE_HOST_WAIT},
                  {"copies", 1u << EMP_CAUSE_SEND | 1u << EMP_CAUSE_COPY_STREAM_WAIT |
                                 1u << EMP_CAUSE_LINK_WAIT | 1u << EMP_CAUSE_TRANSFER |
                                 1u << EMP_CAUSE_POLL | 1u << EMP_CAUSE_RECEIVE},
                  {"messages", 1u << EMP_CAUSE_MESSAGE},
                  {"fixed cost", 1u << EMP_CAUSE_STEP}};
    const char *separator = "path         ";

    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        emp_time_ns time_ns = 0;
        for (int c = 0; c < EMP_CAUSE_COUNT; c++)
            if (groups[g].causes >> c & 1u) time_ns += why->cause_ns[c];
        if (time_ns == 0) continue;
        emp_text_add(text, "%s%s ", separator, groups[g].words);
        add_percent(text, share_of(why, time_ns));
        separator = ", ";
    }
    emp_text_add(text, "\n");
}

/* The two things for which the device idles longest. */
static void add_idle(emp_text *text, const emp_explanation *why,
                     const emp_explain_device *device)
{
    static const char *const words[EMP_IDLE_COUNT] = {
        [EMP_IDLE_TRANSFER] = "for copies",
        [EMP_IDLE_OTHER_DEVICE] = "for other GPUs",
        [EMP_IDLE_CPU] = "for the CPU",
        [EMP_IDLE_ISSUE] = "for host threads",
        [EMP_IDLE_MESSAGE] = "for control messages",
        [EMP_IDLE_NOTHING_LEFT] = "after its last op",
        [EMP_IDLE_STEP] = "for the fixed cost"};
    int told = -1;

    for (int k = 0; k < 2; k++) {
        int most = -1;
        for (int i = 0; i < EMP_IDLE_COUNT; i++)
            if (i != told && device->idle_ns[i] > 0 &&
                (most < 0 || device->idle_ns[i] > device->idle_ns[most]))
                most = i;
        if (most < 0) break;
        emp_text_add(text, k == 0 ? ", idles " : " and ");
        add_percent(text, share_of(why, device->idle_ns[most]));
        emp_text_add(text, " %s", words[most]);
        told = most;
    }
    emp_text_add(text, "\n");
}

/* The devices that work longest, longest first. */
static void add_devices(emp_text *text, const emp_problem *problem,
                        const emp_explanation *why)
{
    uint64_t told = 0; /* EMP_MAX_DEVICES are 64 */

    for (int k = 0; k < BRIEF_DEVICES; k++) {
        emp_device_id next = -1;
        for (emp_device_id d = 0; d < why->result.device_count; d++) {
            if (told >> d & 1u || why->device[d].busy_ns == 0) continue;
            if (next < 0 || why->device[d].busy_ns > why->device[next].busy_ns) next = d;
        }
        if (next < 0) return;
        told |= UINT64_C(1) << next;
        emp_text_add(text, "%-12s works ", problem->machine->device[next].name);
        add_percent(text, share_of(why, why->device[next].busy_ns));
        add_idle(text, why, &why->device[next]);
    }
}

void emp_what_if_add_words(emp_text *text, const emp_problem *problem,
                           const emp_explanation *why, const emp_what_if_change *change)
{
    const emp_machine *m = problem->machine;
    const emp_scope   *scope = &why->scopes.scope[change->scope < 0 ? 0 : change->scope];
    char               name[SCOPE_WIDTH + 1];

    switch (change->kind) {
    case EMP_WHAT_IF_LINK_QUEUE:
        emp_text_add(text, "without the queue of link %s", m->link[change->link].name);
        break;
    case EMP_WHAT_IF_LINK:
        emp_text_add(text, "with an endlessly fast link %s", m->link[change->link].name);
        break;
    case EMP_WHAT_IF_GPU: emp_text_add(text, "with GPUs twice as fast"); break;
    case EMP_WHAT_IF_HOST: emp_text_add(text, "with host threads twice as fast"); break;
    case EMP_WHAT_IF_CPU: emp_text_add(text, "with CPUs twice as fast"); break;
    case EMP_WHAT_IF_MEMORY: emp_text_add(text, "with twice the memory"); break;
    case EMP_WHAT_IF_MOVE:
        emp_text_add(
            text, "scope %s to %s",
            emp_text_shorten(scope->name, (size_t)scope->length, SCOPE_WIDTH, name),
            m->device[change->to].name);
        break;
    case EMP_WHAT_IF_KINDS: break;
    }
}

static void add_moves(emp_text *text, const emp_problem *problem,
                      const emp_explanation *why, const emp_what_if *what_if)
{
    const double step_s = (double)why->result.step_time_ns * 1e-9;
    char         change[EMP_UNITS_TEXT_BYTES], after[EMP_UNITS_TEXT_BYTES];
    int          told = 0;

    for (int32_t i = 0; i < what_if->count && told < BRIEF_MOVES; i++) {
        const emp_what_if_change *c = &what_if->change[i];
        const double              after_s = (double)c->step_time_ns * 1e-9;
        if (c->kind != EMP_WHAT_IF_MOVE) continue;
        told++;
        emp_text_add(
            text, "move         %s to %s: ",
            emp_units_format_change(after_s / step_s - 1.0, change, sizeof change),
            emp_units_format_seconds(after_s, after, sizeof after));
        emp_what_if_add_words(text, problem, why, c);
        emp_text_add(text, " (%d op%s)%s\n", c->op_count, emp_units_plural(c->op_count),
                     !c->is_feasible            ? ", which does not fit"
                     : !why->result.is_feasible ? ", which fits"
                                                : "");
    }
    if (told == 0)
        emp_text_add(text, "move         no move of a name scope saves 0.5 %% or more\n");
}

/* The memory with the largest share in use at its peak. */
static void add_memory(emp_text *text, const emp_problem *problem,
                       const emp_explanation *why)
{
    static const char *const words[EMP_HELD_COUNT] = {
        [EMP_HELD_PERSISTENT] = "variables",
        [EMP_HELD_ACTIVATION] = "activations",
        [EMP_HELD_COPY] = "copies",
        [EMP_HELD_WORKSPACE] = "workspaces"};
    double        fullest_frac = -1.0;
    emp_device_id fullest = -1;
    char          used[EMP_UNITS_TEXT_BYTES], all[EMP_UNITS_TEXT_BYTES];
    int           most = 0;

    for (emp_device_id d = 0; d < why->result.device_count; d++) {
        const double frac = (double)why->device[d].peak.bytes /
                            fmax(1.0, (double)problem->machine->device[d].memory_bytes);
        if (why->device[d].peak.device < 0 || frac <= fullest_frac) continue;
        fullest_frac = frac;
        fullest = d;
    }
    if (fullest < 0) return;
    const emp_explain_memory *peak = &why->device[fullest].peak;
    for (int k = 1; k < EMP_HELD_COUNT; k++)
        if (peak->kind_bytes[k] > peak->kind_bytes[most]) most = k;
    emp_text_add(text, "memory       %s %s %s of %s at its peak, ",
                 problem->machine->device[fullest].name,
                 why->result.is_feasible ? "holds" : "would need",
                 emp_units_format_bytes(peak->bytes, used, sizeof used),
                 emp_units_format_bytes(problem->machine->device[fullest].memory_bytes,
                                        all, sizeof all));
    add_percent(text,
                (double)peak->kind_bytes[most] / fmax(1.0, (double)peak->held_bytes));
    emp_text_add(text, " of it %s\n", words[most]);
}

void emp_explain_brief(emp_text *text, const emp_problem *problem,
                       const emp_explanation *why, const emp_what_if *what_if)
{
    add_limit(text, problem, why);
    add_path(text, why);
    add_devices(text, problem, why);
    add_moves(text, problem, why, what_if);
    add_memory(text, problem, why);
}

/* ---- <emplace/place.h> ---- */

emp_status emp_explain(char *text, size_t size, const emp_problem *problem,
                       const emp_device_id *device_of_op, emp_error *err)
{
    emp_status       st = EMP_OK;
    emp_explanation *why = NULL;
    emp_what_if      what_if;
    emp_text         lines = {text, size, 0};

    if (err != NULL) *err = (emp_error){0};
    EMP_NEED(text);
    EMP_NEED(problem);
    EMP_NEED(device_of_op);
    if (size == 0) return EMP_ERROR(EMP_EINVAL, "there is no room for an explanation");
    text[0] = '\0';
    const emp_decision decision = {.device_of_op = device_of_op};
    EMP_TRY(emp_explain_create(&why, problem, &decision, err));
    EMP_TRY(emp_what_if_find(&what_if, problem, &decision, why, err));
    emp_explain_brief(&lines, problem, why, &what_if);

cleanup:
    emp_explain_destroy(why);
    return st;
}
