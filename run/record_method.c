// SPDX-License-Identifier: GPL-3.0-or-later
/* Queries of run/methods.h about the method of a record. */
#include <inttypes.h>
#include <string.h>

#include "base/text/text.h"
#include "baselines/baselines.h"
#include "run/methods.h"
#include "run/outside/outside.h"

/* The members of the portfolio in the order of its metric "winner", by which the first records
 * name theirs. It never changes, though the portfolio has more members now. */
static const char *const member_of_metric[] = {
    "expert", "m-etf", "metis", "mincut", "gpu",    "cpu",           "acyclic",
    "scotch", "heft",  "peft",  "etf",    "m-topo", "dp-contiguous", "refine"};
enum { MEMBERS_OF_METRIC = sizeof member_of_metric / sizeof *member_of_metric };

const char *emp_record_winner(const emp_record *r)
{
    if (r->winner[0] != '\0') return r->winner;
    if (strcmp(r->method, emp_method_portfolio.name) != 0 || r->point_count == 0)
        return NULL;
    const double *last =
        r->metric + (size_t)(r->point_count - 1) * (size_t)r->metric_count;
    for (int32_t m = 0; m < r->metric_count; m++) {
        if (strcmp(r->metric_name[m], "winner") == 0 && last[m] >= 0 &&
            last[m] < MEMBERS_OF_METRIC)
            return member_of_metric[(int)last[m]];
    }
    return NULL;
}

/* ---- the call that makes a run ---- */

static void add_hash(emp_text *text, const char *name, uint64_t hash)
{
    if (hash != 0) emp_text_add(text, " --%s HASH-%016" PRIx64, name, hash);
}

/* A run that CPU seconds or a gap have ended is repeated by as many evaluations as it made. */
static int64_t budget_of(const emp_record *r)
{
    const bool is_by_clock = r->budget_evaluations == 0 && r->budget_cpu_s > 0.0;

    return is_by_clock || strcmp(r->stopped_by, "gap") == 0 ? r->evaluations
                                                            : r->budget_evaluations;
}

/* Learners that several ranks share are trained; any other run is one of place. */
static void add_shell_call(emp_text *text, const emp_record *r)
{
    if (r->ranks > 1) emp_text_add(text, "mpirun -n %d ", r->ranks);
    emp_text_add(text, "emplace %s ", r->ranks > 1 ? "train" : "place");
    emp_text_add_word(text, r->workload);
    emp_text_add_option(text, "machine", r->machine);
    emp_text_add_option(text, "runtime", r->runtime);
    emp_text_add(text, "%s", r->overrides);
    emp_text_add_option(text, "method", r->method);
    emp_text_add_option(text, "preset", r->preset);
    emp_text_add_option(text, "options", r->options);
    if (r->has_order || r->has_fusion)
        emp_text_add_option(text, "decide", emp_record_decides(r));
    add_hash(text, "start", r->start_hash);
    add_hash(text, "weights", r->weights_hash);
    emp_text_add(text, " --seed %" PRIu64, r->seed);
    if (budget_of(r) > 0) emp_text_add(text, " --budget %" PRId64, budget_of(r));
    if (r->budget_s > 0) emp_text_add(text, " --seconds %.15g", r->budget_s);
    if (r->is_async) emp_text_add(text, " --async");
    if (r->ranks > 1) emp_text_add(text, " --record run.h5");
}

static void add_python_call(emp_text *text, const emp_record *r)
{
    emp_text_add(
        text, "emplace.place(emplace.Problem(\"%s\", \"%s\", \"%s\"), %s, seed=%" PRIu64,
        r->workload, r->machine, r->runtime, r->method, r->seed);
    if (budget_of(r) > 0) emp_text_add(text, ", budget=%" PRId64, budget_of(r));
    if (r->budget_s > 0) emp_text_add(text, ", seconds=%.15g", r->budget_s);
    if (r->options[0] != '\0') emp_text_add(text, ", options=\"%s\"", r->options);
    emp_text_add(text, ")");
}

void emp_record_command(char command[EMP_RECORD_COMMAND_BYTES], const emp_record *record)
{
    emp_text text = {command, EMP_RECORD_COMMAND_BYTES, 0};

    if (emp_method_exists(record->method) || emp_outside_is_name(record->method))
        add_shell_call(&text, record);
    else
        add_python_call(&text, record);
}
