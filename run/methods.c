// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/methods.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"
#include "base/text/text.h"
#include "baselines/baselines.h"
#include "policy/colocrl/colocrl.h"
#include "policy/doppler/doppler.h"
#include "policy/dyna/dyna.h"
#include "policy/giph/giph.h"
#include "policy/go/go.h"
#include "policy/hdp/hdp.h"
#include "policy/hsdag/hsdag.h"
#include "policy/placeto/placeto.h"
#include "run/outside/outside.h"

static const emp_method *const policies[] = {
    &emp_method_hdp,  &emp_method_hsdag,   &emp_method_colocrl, &emp_method_placeto,
    &emp_method_giph, &emp_method_doppler, &emp_method_go,      &emp_method_dyna};
enum { POLICY_COUNT = sizeof policies / sizeof *policies };
enum { NAME_BYTES = 256 };

const emp_method *emp_method_at(int32_t index)
{
    int32_t                  baseline_count = 0;
    const emp_method *const *baselines = emp_baselines(&baseline_count);

    if (index < baseline_count) return baselines[index];
    return index - baseline_count < POLICY_COUNT ? policies[index - baseline_count]
                                                 : NULL;
}

emp_method_kind emp_method_kind_of(const emp_method *type)
{
    if (type->members != NULL) return EMP_METHOD_PORTFOLIO;
    if (type->place != NULL) return EMP_METHOD_PROPOSER;
    return type->learning != NULL ? EMP_METHOD_LEARNER : EMP_METHOD_SEARCH;
}

static const emp_method *lookup(const char *name)
{
    const emp_method *method = NULL;

    for (int32_t i = 0; (method = emp_method_at(i)) != NULL; i++) {
        if (strcmp(method->name, name) == 0) return method;
    }
    return NULL;
}

bool emp_method_exists(const char *name) { return lookup(name) != NULL; }

emp_status emp_method_find(const emp_method **method, const char *name, emp_error *err)
{
    char              names[512] = "", hint[EMP_NEAREST_BYTES];
    size_t            used = 0;
    const emp_method *other = NULL;
    emp_nearest       near = emp_nearest_begin(name, strlen(name), "");

    *method = lookup(name);
    if (*method != NULL) return EMP_OK;
    if (emp_outside_is_name(name)) {
        EMP_CHECK(emp_outside_find(method, name, err));
        if (lookup((*method)->name) == NULL) return EMP_OK;
        return EMP_ERROR(
            EMP_EINVAL,
            "a method from outside cannot have the name \"%s\", which is that "
            "of a method of emplace; give it another name",
            (*method)->name);
    }
    for (int32_t i = 0; (other = emp_method_at(i)) != NULL && used < sizeof names; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                 i == 0 ? "" : ", ", other->name);
        emp_nearest_offer(&near, other->name, strlen(other->name));
    }
    if (strcmp(name, "hdp-emplace") == 0) /* as a column of Table 1 was called */
        return EMP_ERROR(EMP_EINVAL,
                         "there is no method \"%s\" any more; it is method refine", name);
    return EMP_ERROR(EMP_EINVAL, "there is no method \"%s\"%s; there are %s", name,
                     emp_nearest_hint(&near, hint), names);
}

emp_status emp_methods_find(const emp_method **method, int32_t *count, int32_t most,
                            const char *list, emp_error *err)
{
    char name[NAME_BYTES];

    *count = 0;
    do {
        const size_t length = strcspn(list, ",");
        if (*count == most)
            return EMP_ERROR(EMP_EINVAL, "the list of methods has more than %d", most);
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        if (emp_outside_is_name(name))
            return EMP_ERROR(EMP_EINVAL,
                             "method %.*s is one from outside; only the program's own "
                             "methods can be compared here",
                             (int)length, list);
        EMP_CHECK(emp_method_find(&method[(*count)++], name, err));
        list += length + (list[length] == ',');
    } while (*list != '\0');
    return EMP_OK;
}

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

static void add_option(emp_text *text, const char *name, const char *value)
{
    if (value[0] == '\0') return;
    emp_text_add(text, " --%s ", name);
    emp_text_add_word(text, value);
}

static void add_hash(emp_text *text, const char *name, uint64_t hash)
{
    if (hash != 0) emp_text_add(text, " --%s HASH-%016" PRIx64, name, hash);
}

/* Learners that several ranks share are trained; any other run is one of place. */
static void add_shell_call(emp_text *text, const emp_record *r)
{
    if (r->ranks > 1) emp_text_add(text, "mpirun -n %d ", r->ranks);
    emp_text_add(text, "emplace %s ", r->ranks > 1 ? "train" : "place");
    emp_text_add_word(text, r->workload);
    add_option(text, "machine", r->machine);
    add_option(text, "runtime", r->runtime);
    add_option(text, "method", r->method);
    add_option(text, "preset", r->preset);
    add_option(text, "options", r->options);
    if (r->has_order || r->has_fusion) add_option(text, "decide", emp_record_decides(r));
    add_hash(text, "start", r->start_hash);
    add_hash(text, "weights", r->weights_hash);
    emp_text_add(text, " --seed %" PRIu64, r->seed);
    if (r->budget_evaluations > 0)
        emp_text_add(text, " --budget %" PRId64, r->budget_evaluations);
    if (r->budget_s > 0) emp_text_add(text, " --seconds %g", r->budget_s);
    if (r->is_async) emp_text_add(text, " --async");
}

static void add_python_call(emp_text *text, const emp_record *r)
{
    emp_text_add(
        text, "emplace.place(emplace.Problem(\"%s\", \"%s\", \"%s\"), %s, seed=%" PRIu64,
        r->workload, r->machine, r->runtime, r->method, r->seed);
    if (r->budget_evaluations > 0)
        emp_text_add(text, ", budget=%" PRId64, r->budget_evaluations);
    if (r->budget_s > 0) emp_text_add(text, ", seconds=%g", r->budget_s);
    if (r->options[0] != '\0') emp_text_add(text, ", options=\"%s\"", r->options);
    emp_text_add(text, ")");
}

void emp_record_command(char command[EMP_RECORD_COMMAND_BYTES], const emp_record *record)
{
    emp_text text = {command, EMP_RECORD_COMMAND_BYTES, 0};

    if (lookup(record->method) != NULL || emp_outside_is_name(record->method))
        add_shell_call(&text, record);
    else
        add_python_call(&text, record);
}
