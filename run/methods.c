// SPDX-License-Identifier: GPL-3.0-or-later
#include "run/methods.h"

#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"
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
        EMP_CHECK(emp_method_find(&method[(*count)++], name, err));
        list += length + (list[length] == ',');
    } while (*list != '\0');
    return EMP_OK;
}
