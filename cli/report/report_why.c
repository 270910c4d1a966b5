// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/report/report.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "base/text/units.h"
#include "sim/explain/brief.h"
#include "sim/explain/explain.h"

/* The use of each device's time, for people and as JSON. */

enum { NAME_WIDTH = 34 };

/* The subject of a share; the name of a scope is not terminated. */
struct subject {
    const char *key; /* in JSON */
    const char *name;
    size_t      length;
};

typedef struct subject name_share(const emp_problem *problem, const emp_explanation *why,
                                  int32_t id);

static struct subject name_type(const emp_problem *problem, const emp_explanation *why,
                                int32_t id)
{
    const char *name = problem->graph->type_name[id];

    (void)why;
    return (struct subject){"type", name, strlen(name)};
}

static struct subject name_op(const emp_problem *problem, const emp_explanation *why,
                              int32_t id)
{
    const char *name = problem->graph->name[id];

    (void)why;
    return (struct subject){"op", name, strlen(name)};
}

static struct subject name_scope(const emp_problem *problem, const emp_explanation *why,
                                 int32_t id)
{
    const emp_scope *scope = &why->scopes.scope[id];

    (void)problem;
    return (struct subject){"scope", scope->name, (size_t)scope->length};
}

static double part(emp_time_ns time, emp_time_ns whole)
{
    return whole > 0 ? (double)time / (double)whole : 0.0;
}

static double per_second(double amount, emp_time_ns time)
{
    return time > 0 ? amount / ((double)time * 1e-9) : 0.0;
}

/* ---- JSON ---- */

/* How near ops come to the peaks of their number formats. */
static double of_peak(const emp_explain_share *share)
{
    return per_second(share->at_peak_s, share->time_ns);
}

static json_t *json_share(const emp_explain_share *share, const emp_explain_share *whole)
{
    return json_pack("{s:I, s:f, s:i, s:f, s:f, s:I}", "time_ns",
                     (json_int_t)share->time_ns, "share",
                     part(share->time_ns, whole->time_ns), "count", share->op_count,
                     "flops", share->flops, "flops_peak_frac", of_peak(share), "bytes",
                     (json_int_t)share->bytes);
}

static json_t *json_top(const emp_problem *problem, const emp_explanation *why,
                        const emp_explain_device *device, const emp_explain_top *top,
                        name_share *name)
{
    json_t *all = json_array();

    for (int32_t i = 0; i < top->count; i++) {
        struct subject subject = name(problem, why, top->share[i].id);
        json_t        *o = json_share(&top->share[i], &device->ops);
        json_object_set_new(o, subject.key, json_stringn(subject.name, subject.length));
        json_array_append_new(all, o);
    }
    return all;
}

/* The object under "ops" of a device of docs/simulator.md; NULL when out of memory. */
static json_t *cli_ops_json(const emp_problem *problem, const emp_explanation *why,
                            emp_device_id d)
{
    const emp_explain_device *device = &why->device[d];
    const emp_explain_share  *bound = &device->launch_bound;
    const emp_device         *model = &problem->machine->device[d];

    return json_pack("{s:I, s:i, s:f, s:f, s:o, s:o, s:o, s:I, s:{s:i, s:I, s:f}}",
                     "time_ns", (json_int_t)device->ops.time_ns, "count",
                     device->ops.op_count, "peak_flops_per_s", model->peak_flops_per_s,
                     "peak_bytes_per_s", model->memory_bytes_per_s, "types",
                     json_top(problem, why, device, &device->types, name_type), "scopes",
                     json_top(problem, why, device, &device->scopes, name_scope),
                     "longest", json_top(problem, why, device, &device->longest, name_op),
                     "issue_ns", (json_int_t)device->issue_ns, "launch_bound", "count",
                     bound->op_count, "time_ns", (json_int_t)bound->time_ns, "share",
                     part(bound->time_ns, device->ops.time_ns));
}

/* ---- text ---- */

static void print_rate(double frac)
{
    char text[EMP_UNITS_TEXT_BYTES];

    printf(" %7s", isfinite(frac) && frac > 0.0
                       ? emp_units_format_percent(frac, text, sizeof text)
                       : "-");
}

static void print_top(const emp_problem *problem, const emp_explanation *why,
                      emp_device_id d, const emp_explain_top *top, name_share *name,
                      const char *title)
{
    const emp_explain_device *device = &why->device[d];
    const emp_device         *model = &problem->machine->device[d];
    char                      words[NAME_WIDTH + 1], time[32], part_text[32];

    printf("  %s\n", title);
    for (int32_t i = 0; i < top->count; i++) {
        const emp_explain_share *share = &top->share[i];
        struct subject           subject = name(problem, why, share->id);
        if (subject.length == 0) subject = (struct subject){"scope", "(no scope)", 10};
        printf("    %-*s %8s %7s %6d", NAME_WIDTH,
               emp_text_shorten(subject.name, subject.length, NAME_WIDTH, words),
               emp_units_format_seconds((double)share->time_ns * 1e-9, time, sizeof time),
               emp_units_format_percent(part(share->time_ns, device->ops.time_ns),
                                        part_text, sizeof part_text),
               share->op_count);
        print_rate(of_peak(share));
        print_rate(per_second((double)share->bytes, share->time_ns) /
                   model->memory_bytes_per_s);
        printf("\n");
    }
}

static void print_issue(const emp_explanation *why, emp_device_id d)
{
    const emp_explain_device *device = &why->device[d];
    char                      time[32], share[32];

    if (device->issue_ns == 0) return;
    printf("  its host thread issues ops for %s, %s of the step\n",
           emp_units_format_seconds((double)device->issue_ns * 1e-9, time, sizeof time),
           emp_units_format_percent(part(device->issue_ns, why->result.step_time_ns),
                                    share, sizeof share));
    printf(
        "  launch-bound (longer to issue than to run): %d op%s, %s of the time\n",
        device->launch_bound.op_count, emp_units_plural(device->launch_bound.op_count),
        emp_units_format_percent(part(device->launch_bound.time_ns, device->ops.time_ns),
                                 share, sizeof share));
}

/* The same in tables on standard output, for each device that runs ops. */
static void cli_ops_print(const emp_problem *problem, const emp_explanation *why)
{
    for (emp_device_id d = 0; d < why->result.device_count; d++) {
        const emp_explain_device *device = &why->device[d];
        char                      title[96], time[32];
        if (device->ops.op_count == 0) continue;
        emp_units_format_seconds((double)device->ops.time_ns * 1e-9, time, sizeof time);
        snprintf(title, sizeof title, "%s runs ops for %s",
                 problem->machine->device[d].name, time);
        printf("\n%-38s     time   share    ops  FLOP/s    B/s\n", title);
        print_top(problem, why, d, &device->types, name_type,
                  "op types; rates as shares of the peaks, FLOP/s by number format");
        print_top(problem, why, d, &device->scopes, name_scope,
                  "name scopes, with their gradients");
        print_top(problem, why, d, &device->longest, name_op, "longest ops");
        print_issue(why, d);
    }
}

/* Below 0: the step is shorter. */
static double change_frac(const emp_explanation *why, const emp_what_if_change *change)
{
    double old = (double)why->result.step_time_ns;

    return old > 0 ? (double)change->step_time_ns / old - 1.0 : 0.0;
}

static json_t *json_change(const emp_problem *problem, const emp_explanation *why,
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
    if (change->op >= 0) {
        json_object_set_new(o, "op", json_string(problem->graph->name[change->op]));
        json_object_set_new(o, "to", json_string(m->device[change->to].name));
        json_object_set_new(o, "ops", json_integer(change->op_count));
    }
    return o;
}

/* The object under "what_if" of docs/simulator.md; NULL when out of memory. */
static json_t *cli_what_if_json(const emp_problem *problem, const emp_explanation *why,
                                const emp_what_if *what_if)
{
    json_t *changes = json_array();

    for (int32_t i = 0; i < what_if->count; i++)
        json_array_append_new(changes, json_change(problem, why, &what_if->change[i]));
    return json_pack("{s:i, s:o}", "simulated", what_if->trial_count, "changes", changes);
}

static void print_change(const emp_problem *problem, const emp_explanation *why,
                         const emp_what_if_change *change)
{
    char old[32], new[32], text[32];

    printf(
        "  %8s  %8s -> %-8s ",
        emp_units_format_change(change_frac(why, change), text, sizeof text),
        emp_units_format_seconds((double)why->result.step_time_ns * 1e-9, old,
                                 sizeof old),
        emp_units_format_seconds((double)change->step_time_ns * 1e-9, new, sizeof new));
    char     words[160];
    emp_text text_of_words = {words, sizeof words, 0};
    emp_what_if_add_words(&text_of_words, problem, why, change);
    printf("%s", words);
    if (!change->is_feasible) {
        printf(", OOM");
    } else if (!why->result.is_feasible) {
        printf(", fits");
    }
    printf("\n");
}

/* The same as lines on standard output. */
static void cli_what_if_print(const emp_problem *problem, const emp_explanation *why,
                              const emp_what_if *what_if)
{
    printf("\nwhat if; %d change%s simulated, these help\n", what_if->trial_count,
           emp_units_plural(what_if->trial_count));
    if (what_if->count == 0) printf("  none by 0.5 %% or more\n");
    for (int32_t i = 0; i < what_if->count; i++)
        print_change(problem, why, &what_if->change[i]);
}

static const char *device_name(const emp_problem *problem, emp_device_id device)
{
    return problem->machine->device[device].name;
}

/* The object under "bottleneck" of docs/simulator.md; NULL when out of memory. */
static json_t *cli_bottleneck_json(const emp_problem *problem, const emp_explanation *why)
{
    emp_bottleneck b = emp_explain_bottleneck(why);
    json_t *o = json_pack("{s:s, s:I}", "kind", emp_bottleneck_key(b.kind), "time_ns",
                          (json_int_t)b.time_ns);

    if (b.device < 0) return o;
    json_object_set_new(o, "device", json_string(device_name(problem, b.device)));
    if (b.to >= 0) json_object_set_new(o, "to", json_string(device_name(problem, b.to)));
    json_object_set_new(o, "device_ns", json_integer((json_int_t)b.device_ns));
    return o;
}

/* ---- text ---- */

static const char *percent(const emp_explanation *why, emp_time_ns part,
                           char text[EMP_UNITS_TEXT_BYTES])
{
    emp_time_ns whole = why->result.step_time_ns;

    return emp_units_format_percent(whole > 0 ? (double)part / (double)whole : 0.0, text,
                                    EMP_UNITS_TEXT_BYTES);
}

static void print_kind(const emp_explanation *why, const emp_bottleneck *b)
{
    static const char *const names[EMP_BOTTLENECK_KINDS] = {
        [EMP_BOTTLENECK_COMPUTE] = "compute",
        [EMP_BOTTLENECK_HOST] = "host threads",
        [EMP_BOTTLENECK_COPIES] = "copies",
        [EMP_BOTTLENECK_MESSAGES] = "control messages",
        [EMP_BOTTLENECK_STEP] = "its fixed cost"};
    static const char *const words[EMP_BOTTLENECK_KINDS] = {
        [EMP_BOTTLENECK_COMPUTE] = "Ops that run, and waits for busy devices, are",
        [EMP_BOTTLENECK_HOST] = "Host threads that issue ops, and waits for them, are",
        [EMP_BOTTLENECK_COPIES] = "Copies between devices are",
        [EMP_BOTTLENECK_MESSAGES] = "Control messages between devices are",
        [EMP_BOTTLENECK_STEP] = "The fixed cost of a step is"};
    char share[EMP_UNITS_TEXT_BYTES];

    printf("\ncritical path: mostly %s\n", names[b->kind]);
    printf("  It is the chain of events that ends last.\n");
    printf("  %s %s of it.\n", words[b->kind], percent(why, b->time_ns, share));
}

static void print_device(const emp_problem *problem, const emp_explanation *why,
                         const emp_bottleneck *b)
{
    char share[EMP_UNITS_TEXT_BYTES];

    if (b->device < 0) return;
    printf("  The largest part, %s, is %s %s", percent(why, b->device_ns, share),
           b->to >= 0 ? "from" : "on", device_name(problem, b->device));
    if (b->to >= 0) printf(" to %s", device_name(problem, b->to));
    printf(".\n");
}

/* How long the device is busy, and what it idles for most. */
static void print_busy(const emp_problem *problem, const emp_explanation *why,
                       emp_device_id id)
{
    const emp_explain_device *device = &why->device[id];
    char                      share[EMP_UNITS_TEXT_BYTES];
    int                       most = 0;

    for (int i = 1; i < EMP_IDLE_COUNT; i++) {
        if (device->idle_ns[i] > device->idle_ns[most]) most = i;
    }
    printf("  %s is busy %s of the step", device_name(problem, id),
           percent(why, device->busy_ns, share));
    if (device->idle_ns[most] > 0) {
        printf(" and idles most %s, %s",
               emp_explain_idle_words(most, problem->machine->device[id].kind),
               percent(why, device->idle_ns[most], share));
    }
    printf(".\n");
}

/* The same in sentences on standard output, for readers who see an explanation for the
 * first time. */
static void cli_bottleneck_print(const emp_problem *problem, const emp_explanation *why)
{
    emp_bottleneck b = emp_explain_bottleneck(why);
    bool           has_ends = b.to >= 0 || b.device < 0;

    print_kind(why, &b);
    print_device(problem, why, &b);
    print_busy(problem, why, has_ends ? emp_explain_busiest(why) : b.device);
}

emp_status cli_why_create(emp_explanation **out, const emp_problem *problem,
                          const emp_decision *decision, const emp_sim_result *result,
                          bool is_wanted, emp_error *err)
{
    emp_error  unsaid = {0};
    emp_status st;

    *out = NULL;
    if (is_wanted) return emp_explain_create(out, problem, decision, err);
    if (result->is_feasible) return EMP_OK;
    st = emp_explain_create_memory(out, problem, decision, &unsaid);
    if (st == EMP_OK || st == EMP_EUNSUPPORTED) return EMP_OK;
    return EMP_ERROR(st, "%s", unsaid.msg);
}

static const char *type_of(const emp_problem *problem, emp_op_id op)
{
    return problem->graph->type_name[problem->graph->type[op]];
}

/* Which of its op's outputs a tensor is. */
static int32_t output_of(const emp_problem *problem, emp_tensor_id tensor)
{
    const emp_graph *g = problem->graph;

    return tensor - g->output_offset[g->tensor[tensor].producer];
}

/* ---- JSON ---- */

static json_t *json_buffer(const emp_problem *problem, const emp_explain_buffer *b)
{
    json_t *o = json_pack("{s:I, s:s, s:s, s:s}", "bytes", (json_int_t)b->bytes, "op",
                          problem->graph->name[b->op], "type", type_of(problem, b->op),
                          "kind", emp_explain_kind_key(b->kind));

    if (o != NULL && b->tensor >= 0 &&
        json_object_set_new(o, "output", json_integer(output_of(problem, b->tensor))) !=
            0) {
        json_decref(o);
        o = NULL;
    }
    return o;
}

bool cli_why_add_memory(json_t *object, const emp_problem *problem,
                        const emp_explain_memory *m)
{
    json_t *kinds = json_object(), *largest = json_array();
    bool    is_whole = true;

    for (int k = 0; k < EMP_HELD_COUNT; k++) {
        json_t     *kind = json_pack("{s:I, s:i}", "bytes", (json_int_t)m->kind_bytes[k],
                                     "count", m->kind_count[k]);
        const char *key = emp_explain_kind_key((emp_explain_kind)k);
        is_whole = json_object_set_new(kinds, key, kind) == 0 && is_whole;
    }
    for (int32_t i = 0; i < m->largest_count; i++) {
        json_t *buffer = json_buffer(problem, &m->largest[i]);
        is_whole = json_array_append_new(largest, buffer) == 0 && is_whole;
    }
    json_t *rest = json_pack("{s:i, s:I}", "count", m->count - m->largest_count, "bytes",
                             (json_int_t)m->rest_bytes);
    is_whole = json_object_set_new(object, "kinds", kinds) == 0 && is_whole;
    is_whole = json_object_set_new(object, "largest", largest) == 0 && is_whole;
    return json_object_set_new(object, "rest", rest) == 0 && is_whole;
}

static json_t *json_peak(const emp_problem *problem, const emp_explain_memory *m)
{
    if (m->device < 0) return json_null();
    json_t *o =
        json_pack("{s:I, s:I, s:I}", "bytes", (json_int_t)m->bytes, "hole_bytes",
                  (json_int_t)(m->bytes - m->held_bytes), "at_ns", (json_int_t)m->at_ns);
    if (o == NULL || cli_why_add_memory(o, problem, m)) return o;
    json_decref(o);
    return NULL;
}

static json_t *json_devices(const emp_problem *problem, const emp_explanation *why)
{
    json_t *devices = json_object();

    for (int32_t d = 0; d < why->result.device_count; d++) {
        const emp_explain_device *device = &why->device[d];
        json_t                   *idle = json_object();
        for (int i = 0; i < EMP_IDLE_COUNT; i++) {
            json_object_set_new(idle, emp_explain_idle_key((emp_explain_idle)i),
                                json_integer((json_int_t)device->idle_ns[i]));
        }
        json_t *o =
            json_pack("{s:I, s:o, s:o, s:o}", "busy_ns", (json_int_t)device->busy_ns,
                      "idle_ns", idle, "ops", cli_ops_json(problem, why, d), "peak",
                      json_peak(problem, &device->peak));
        if (json_object_set_new(devices, device_name(problem, d), o) != 0) {
            json_decref(devices);
            return NULL;
        }
    }
    return devices;
}

static void set_device(json_t *object, const char *key, const emp_problem *problem,
                       emp_device_id device)
{
    if (device < 0) return;
    json_object_set_new(object, key, json_string(device_name(problem, device)));
}

static json_t *json_item(const emp_problem *problem, const emp_explanation *why,
                         const emp_explain_item *item)
{
    const emp_explain_segment *s = &why->segment[item->segment];
    const emp_explain_work    *work = &item->behind;
    emp_time_ns                time = s->end_ns - s->start_ns;
    json_t                    *o =
        json_pack("{s:s, s:I, s:I, s:f}", "cause", emp_explain_cause_key(s->cause),
                  "start_ns", (json_int_t)s->start_ns, "time_ns", (json_int_t)time,
                  "share", (double)time / (double)why->result.step_time_ns);

    if (s->op >= 0) {
        json_object_set_new(o, "op", json_string(problem->graph->name[s->op]));
        json_object_set_new(o, "type", json_string(type_of(problem, s->op)));
    }
    if (s->tensor >= 0) {
        const emp_tensor *t = &problem->graph->tensor[s->tensor];
        json_object_set_new(o, "output", json_integer(output_of(problem, s->tensor)));
        json_object_set_new(o, "bytes", json_integer((json_int_t)t->copy_bytes));
    }
    set_device(o, "device", problem, s->device);
    set_device(o, "to", problem, s->to);
    if (work->op_count > 0) {
        json_t *behind =
            json_pack("{s:i, s:s, s:I, s:I}", "ops", work->op_count, "type",
                      problem->graph->type_name[work->type], "type_ns",
                      (json_int_t)work->type_ns, "time_ns", (json_int_t)work->time_ns);
        set_device(behind, "device", problem, s->busy);
        json_object_set_new(o, "behind", behind);
    }
    return o;
}

json_t *cli_why_json(const emp_problem *problem, const emp_explanation *why,
                     const emp_what_if *what_if)
{
    json_t *causes = json_object(), *worst = json_array();

    for (int c = 0; c < EMP_CAUSE_COUNT; c++) {
        json_t *cause = json_pack("{s:I, s:i}", "time_ns", (json_int_t)why->cause_ns[c],
                                  "count", why->cause_count[c]);
        const char *key = emp_explain_cause_key((emp_explain_cause)c);
        json_object_set_new(causes, key, cause);
    }
    for (int32_t i = 0; i < why->worst_count; i++) {
        json_array_append_new(worst, json_item(problem, why, &why->worst[i]));
    }
    return json_pack("{s:I, s:s, s:o, s:{s:i, s:o, s:o}, s:o, s:o}", "step_time_ns",
                     (json_int_t)why->result.step_time_ns, "bound_by",
                     emp_limit_key(emp_explain_limit(why)), "bottleneck",
                     cli_bottleneck_json(problem, why), "critical_path", "segment_count",
                     why->segment_count, "causes", causes, "worst", worst, "devices",
                     json_devices(problem, why), "what_if",
                     cli_what_if_json(problem, why, what_if));
}

/* ---- text ---- */

enum { ITEM_WIDTH = 69, BUFFER_WIDTH = 54, TYPE_WIDTH = 22 };

static void print_time(emp_time_ns t)
{
    char text[32];

    printf("%8s", emp_units_format_seconds((double)t * 1e-9, text, sizeof text));
}

/* An op, or one of its outputs, and its type, in at most \a width characters. */
static void print_op(const emp_problem *problem, emp_op_id op, emp_tensor_id tensor,
                     size_t width)
{
    const char *name = problem->graph->name[op], *type = type_of(problem, op);
    char        output[16] = "", text[ITEM_WIDTH + 1], type_text[TYPE_WIDTH + 1];

    if (tensor >= 0) snprintf(output, sizeof output, ":%d", output_of(problem, tensor));
    emp_text_shorten(type, strlen(type), TYPE_WIDTH, type_text);
    width -= strlen(output) + strlen(type_text) + strlen(" ()");
    printf("%s%s (%s)", emp_text_shorten(name, strlen(name), width, text), output,
           type_text);
}

static double share_of(emp_time_ns part, emp_time_ns whole)
{
    return whole > 0 ? (double)part / (double)whole : 0.0;
}

static void print_share(emp_time_ns part, emp_time_ns whole)
{
    char text[EMP_UNITS_TEXT_BYTES];

    printf(" %7s", emp_units_format_percent(share_of(part, whole), text, sizeof text));
}

static void print_causes(const emp_explanation *why)
{
    emp_time_ns step = why->result.step_time_ns;

    printf("\ncritical path\n");
    for (int c = 0; c < EMP_CAUSE_COUNT; c++) {
        if (why->cause_ns[c] == 0) continue;
        printf("  %-30s ", emp_explain_cause_words((emp_explain_cause)c));
        print_time(why->cause_ns[c]);
        print_share(why->cause_ns[c], step);
        printf(" %7d time%s\n", why->cause_count[c],
               emp_units_plural(why->cause_count[c]));
    }
    printf("  %-30s ", "step time");
    print_time(step);
    printf("\n");
}

static void print_work(const emp_problem *problem, const emp_explain_segment *s,
                       const emp_explain_work *work)
{
    if (work->op_count == 0) return;
    char text[EMP_UNITS_TEXT_BYTES];
    printf("           behind %d op%s on %s, %s %s\n", work->op_count,
           emp_units_plural(work->op_count), device_name(problem, s->busy),
           emp_units_format_percent(share_of(work->type_ns, work->time_ns), text,
                                    sizeof text),
           problem->graph->type_name[work->type]);
}

static void print_item(const emp_problem *problem, const emp_explanation *why,
                       const emp_explain_item *item)
{
    const emp_explain_segment *s = &why->segment[item->segment];
    char                       text[32];

    printf("  ");
    print_time(s->end_ns - s->start_ns);
    print_share(s->end_ns - s->start_ns, why->result.step_time_ns);
    printf("  %s", emp_explain_cause_words(s->cause));
    if (s->tensor >= 0) {
        printf(", %s",
               emp_units_format_bytes(problem->graph->tensor[s->tensor].copy_bytes, text,
                                      sizeof text));
    }
    if (s->device >= 0) printf(", %s", device_name(problem, s->device));
    if (s->to >= 0) printf(" -> %s", device_name(problem, s->to));
    printf("\n");
    if (s->op < 0) return;
    printf("           ");
    print_op(problem, s->op, s->tensor, ITEM_WIDTH);
    printf("\n");
    print_work(problem, s, &item->behind);
}

static void print_idle(const emp_problem *problem, const emp_explanation *why)
{
    static const char *const heads[EMP_IDLE_COUNT] = {
        "transfer", "other GPU", "CPU", "host", "message", "ended", "fixed"};
    emp_time_ns step = why->result.step_time_ns;

    printf("\ntime of the devices, %% of the step: busy, then what they idle for\n"
           "  %-10s %7s",
           "", "busy");
    for (int i = 0; i < EMP_IDLE_COUNT; i++) printf("  %s", heads[i]);
    printf("\n");
    for (int32_t d = 0; d < why->result.device_count; d++) {
        printf("  %-10s %7.1f", device_name(problem, d),
               100.0 * share_of(why->device[d].busy_ns, step));
        for (int i = 0; i < EMP_IDLE_COUNT; i++) {
            printf("  %*.1f", (int)strlen(heads[i]),
                   100.0 * share_of(why->device[d].idle_ns[i], step));
        }
        printf("\n");
    }
}

void cli_why_print_memory(const emp_problem *problem, const emp_explain_memory *m)
{
    char text[32];

    for (int32_t i = 0; i < m->largest_count; i++) {
        const emp_explain_buffer *b = &m->largest[i];
        printf("  %10s  %-10s  ", emp_units_format_bytes(b->bytes, text, sizeof text),
               emp_explain_kind_key(b->kind));
        print_op(problem, b->op, b->tensor, BUFFER_WIDTH);
        printf("\n");
    }
    if (m->count > m->largest_count) {
        printf("  %10s  in %d more\n",
               emp_units_format_bytes(m->rest_bytes, text, sizeof text),
               m->count - m->largest_count);
    }
}

static void print_peak(const emp_problem *problem, const emp_explain_memory *m)
{
    char text[32];

    printf("\n%s at its peak of %s, ", device_name(problem, m->device),
           emp_units_format_bytes(m->bytes, text, sizeof text));
    printf("%s into the step\n",
           emp_units_format_seconds((double)m->at_ns * 1e-9, text, sizeof text));
    for (int k = 0; k < EMP_HELD_COUNT; k++) {
        if (m->kind_count[k] == 0) continue;
        printf("  %10s  %-10s  in %d\n",
               emp_units_format_bytes(m->kind_bytes[k], text, sizeof text),
               emp_explain_kind_key((emp_explain_kind)k), m->kind_count[k]);
    }
    printf("  largest\n");
    cli_why_print_memory(problem, m);
    if (m->bytes > m->held_bytes) {
        printf("  %10s  in holes between them\n",
               emp_units_format_bytes(m->bytes - m->held_bytes, text, sizeof text));
    }
}

static void print_lines(const emp_problem *problem, const emp_explanation *why,
                        const emp_what_if *what_if)
{
    char     lines[EMP_EXPLANATION_BYTES];
    emp_text text = {lines, sizeof lines, 0};

    emp_explain_brief(&text, problem, why, what_if);
    printf("\n%s", lines);
}

void cli_why_print(const emp_problem *problem, const emp_explanation *why,
                   const emp_what_if *what_if)
{
    print_lines(problem, why, what_if);
    cli_bottleneck_print(problem, why);
    print_causes(why);
    printf("\nlongest pieces of the critical path\n");
    for (int32_t i = 0; i < why->worst_count; i++) {
        print_item(problem, why, &why->worst[i]);
    }
    print_idle(problem, why);
    cli_ops_print(problem, why);
    cli_what_if_print(problem, why, what_if);
    for (int32_t d = 0; d < why->result.device_count; d++) {
        if (why->device[d].peak.device >= 0) print_peak(problem, &why->device[d].peak);
    }
}

void cli_why_print_brief(const emp_problem *problem, const emp_explanation *why,
                         const emp_what_if *what_if)
{
    print_lines(problem, why, what_if);
    printf("--why=full has the critical path, idle times, ops and memory in tables.\n");
}
