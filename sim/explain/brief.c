// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/explain/brief.h"

#include <math.h>

#include "base/text/options.h"
#include "base/text/units.h"

enum { BRIEF_DEVICES = 3, BRIEF_CAUSES = 3, BRIEF_MOVES = 3, SCOPE_WIDTH = 36 };

/* From this share of the step on, a device works nearly all the time. */
static const double NEARLY_ALL = 0.9;

/* Smaller shares would be "0.0 %". */
static const double LEAST = 0.0005;

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

/* Groups of causes of the critical path, and the limit that they are; the load of one device is recognised apart. */
static const struct {
    const char    *words;
    emp_limit_kind limit;
    uint32_t       causes;
} groups[] = {
    {"compute", EMP_LIMIT_SERIALISATION, 1u << EMP_CAUSE_GPU_OP | 1u << EMP_CAUSE_CPU_OP},
    {"queued behind other ops", EMP_LIMIT_SERIALISATION,
     1u << EMP_CAUSE_GPU_WAIT | 1u << EMP_CAUSE_CPU_WAIT |
         1u << EMP_CAUSE_COPY_COMPUTE_WAIT},
    {"host threads", EMP_LIMIT_HOST, 1u << EMP_CAUSE_ISSUE | 1u << EMP_CAUSE_HOST_WAIT},
    {"copies", EMP_LIMIT_COPIES,
     1u << EMP_CAUSE_SEND | 1u << EMP_CAUSE_COPY_STREAM_WAIT | 1u << EMP_CAUSE_LINK_WAIT |
         1u << EMP_CAUSE_TRANSFER | 1u << EMP_CAUSE_POLL | 1u << EMP_CAUSE_RECEIVE},
    {"messages", EMP_LIMIT_MESSAGES, 1u << EMP_CAUSE_MESSAGE},
    {"fixed cost", EMP_LIMIT_STEP, 1u << EMP_CAUSE_STEP}};
enum { GROUPS = sizeof groups / sizeof *groups };
_Static_assert((int)GROUPS == (int)EMP_PATH_GROUPS, "brief.h says how many there are");

const char *emp_explain_path_words(int32_t group) { return groups[group].words; }

void emp_explain_path(emp_time_ns time_ns[EMP_PATH_GROUPS], const emp_explanation *why)
{
    for (int g = 0; g < GROUPS; g++) {
        time_ns[g] = 0;
        for (int c = 0; c < EMP_CAUSE_COUNT; c++)
            if (groups[g].causes >> c & 1u) time_ns[g] += why->cause_ns[c];
    }
}

/* The group that takes most time; ties: the first. */
static int most_of(const emp_time_ns time_ns[GROUPS])
{
    int most = 0;

    for (int g = 1; g < GROUPS; g++)
        if (time_ns[g] > time_ns[most]) most = g;
    return most;
}

emp_limit_kind emp_explain_limit(const emp_explanation *why)
{
    emp_time_ns time_ns[GROUPS];

    if (share_of(why, why->device[emp_explain_busiest(why)].busy_ns) >= NEARLY_ALL)
        return EMP_LIMIT_LOAD;
    emp_explain_path(time_ns, why);
    return groups[most_of(time_ns)].limit;
}

const char *emp_limit_key(emp_limit_kind kind)
{
    static const char *const keys[] = {EMP_LIMIT_LIST(EMP_LIST_SECOND)};

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
        [EMP_LIMIT_HOST] = "host threads, which issue ops one after another",
        [EMP_LIMIT_COPIES] = "copies between devices",
        [EMP_LIMIT_MESSAGES] = "control messages between devices",
        [EMP_LIMIT_STEP] = "the fixed cost of a step"};
    const emp_limit_kind limit = emp_explain_limit(why);
    const emp_device_id  busiest = emp_explain_busiest(why);
    const char          *name = problem->machine->device[busiest].name;

    emp_text_add(text, "bound by     ");
    if (limit == EMP_LIMIT_LOAD || limit == EMP_LIMIT_SERIALISATION) {
        emp_text_add(text,
                     limit == EMP_LIMIT_LOAD
                         ? "the load of %s, which works "
                         : "serialisation: devices take turns; %s works most, ",
                     name);
        add_percent(text, share_of(why, why->device[busiest].busy_ns));
        emp_text_add(text, limit == EMP_LIMIT_LOAD ? " of the step\n" : "\n");
        return;
    }
    emp_text_add(text, "%s\n", words[limit]);
}

/* The three groups of causes on which the critical path spends most time. */
static void add_path(emp_text *text, const emp_explanation *why)
{
    emp_time_ns time_ns[GROUPS];

    emp_explain_path(time_ns, why);
    for (int k = 0; k < BRIEF_CAUSES; k++) {
        const int most = most_of(time_ns);
        if (k > 0 && share_of(why, time_ns[most]) < LEAST) break;
        emp_text_add(text, "%s%s ", k == 0 ? "path         " : ", ", groups[most].words);
        add_percent(text, share_of(why, time_ns[most]));
        time_ns[most] = -1;
    }
    emp_text_add(text, "\n");
}

const char *emp_explain_idle_words(int32_t idle, emp_device_kind of)
{
    static const char *const words[EMP_IDLE_COUNT] = {
        [EMP_IDLE_TRANSFER] = "for copies",
        [EMP_IDLE_OTHER_DEVICE] = "for other GPUs",
        [EMP_IDLE_CPU] = "for the CPU",
        [EMP_IDLE_ISSUE] = "for host threads",
        [EMP_IDLE_MESSAGE] = "for control messages",
        [EMP_IDLE_NOTHING_LEFT] = "after its last op",
        [EMP_IDLE_STEP] = "for the fixed cost"};

    if (idle == EMP_IDLE_OTHER_DEVICE && of == EMP_DEVICE_CPU) return "for GPUs";
    return words[idle];
}

/* The two things for which the device idles longest. */
static void add_idle(emp_text *text, const emp_explanation *why,
                     const emp_explain_device *device, emp_device_kind kind)
{
    int first = -1;

    for (int k = 0; k < 2; k++) {
        int most = -1;
        for (int i = 0; i < EMP_IDLE_COUNT; i++)
            if (i != first && device->idle_ns[i] > 0 &&
                (most < 0 || device->idle_ns[i] > device->idle_ns[most]))
                most = i;
        if (most < 0 || share_of(why, device->idle_ns[most]) < LEAST) break;
        emp_text_add(text, k == 0 ? ", idles " : ", ");
        add_percent(text, share_of(why, device->idle_ns[most]));
        emp_text_add(text, " %s", emp_explain_idle_words(most, kind));
        first = most;
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
        add_idle(text, why, &why->device[next], problem->machine->device[next].kind);
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
    case EMP_WHAT_IF_OP:
        emp_text_add(text, "op %s to %s",
                     emp_text_shorten(problem->graph->name[change->op],
                                      strlen(problem->graph->name[change->op]),
                                      SCOPE_WIDTH, name),
                     m->device[change->to].name);
        break;
    case EMP_WHAT_IF_KINDS: break;
    }
}

static bool is_move(const emp_what_if_change *c)
{
    return c->kind == EMP_WHAT_IF_MOVE || c->kind == EMP_WHAT_IF_OP;
}

static bool is_better(const emp_what_if_change *a, const emp_what_if_change *b)
{
    return a->is_feasible != b->is_feasible ? a->is_feasible
                                            : a->step_time_ns < b->step_time_ns;
}

static void add_move(emp_text *text, const emp_problem *problem,
                     const emp_explanation *why, const emp_what_if_change *c)
{
    const double step_s = (double)why->result.step_time_ns * 1e-9;
    const double after_s = (double)c->step_time_ns * 1e-9;
    char         change[EMP_UNITS_TEXT_BYTES], after[EMP_UNITS_TEXT_BYTES];

    emp_text_add(text, "move         %s to %s: ",
                 emp_units_format_change(after_s / step_s - 1.0, change, sizeof change),
                 emp_units_format_seconds(after_s, after, sizeof after));
    emp_what_if_add_words(text, problem, why, c);
    emp_text_add(text, "%s\n",
                 !c->is_feasible            ? ", OOM"
                 : !why->result.is_feasible ? ", fits"
                                            : "");
}

/* The moves that shorten the step most, the best first. */
static void add_moves(emp_text *text, const emp_problem *problem,
                      const emp_explanation *why, const emp_what_if *what_if)
{
    bool is_told[EMP_WHAT_IF_CHANGES] = {false};

    for (int told = 0; told < BRIEF_MOVES; told++) {
        int32_t best = -1;
        for (int32_t i = 0; i < what_if->count; i++) {
            if (is_told[i] || !is_move(&what_if->change[i])) continue;
            if (best < 0 || is_better(&what_if->change[i], &what_if->change[best]))
                best = i;
        }
        if (best < 0 && told == 0)
            emp_text_add(
                text,
                "move         no move of a name scope or an op saves 0.5 %% or more\n");
        if (best < 0) return;
        is_told[best] = true;
        add_move(text, problem, why, &what_if->change[best]);
    }
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
    emp_text_add(text, " %s\n", words[most]);
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
