// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/workloads/workloads.h"

#include <math.h>
#include <string.h>

#include "base/text/text.h"
#include "graphs/workloads/workloads_internal.h"

/* ---- the table ---- */

static const emp_workload families[] = {
#define X(name) \
    {#name, emp_##name##_description, emp_##name##_params, emp_##name##_build},
    EMP_WORKLOAD_LIST(X)
#undef X
};

enum { FAMILY_COUNT = sizeof families / sizeof families[0] };

const emp_workload *emp_workload_table(int32_t *count)
{
    *count = FAMILY_COUNT;
    return families;
}

static const emp_workload *find_family(const char *spec)
{
    size_t length = strcspn(spec, ":");

    for (int32_t i = 0; i < FAMILY_COUNT; i++) {
        if (strlen(families[i].name) == length &&
            memcmp(families[i].name, spec, length) == 0) {
            return &families[i];
        }
    }
    return NULL;
}

bool emp_workload_is_spec(const char *spec) { return find_family(spec) != NULL; }

/* ---- specs ---- */

static emp_status refuse_family(const char *spec, emp_error *err)
{
    char     names[128];
    emp_text list = {names, sizeof names, 0};

    for (int32_t i = 0; i < FAMILY_COUNT; i++)
        emp_text_add(&list, "%s%s", i == 0 ? "" : ", ", families[i].name);
    return EMP_ERROR(EMP_EINVAL, "no workload \"%.*s\"; there are %s",
                     (int)strcspn(spec, ":"), spec, names);
}

emp_status emp_workload_build(emp_graph **out, const char *spec, emp_error *err)
{
    const emp_workload *family = find_family(spec);
    emp_workload_values given;
    int64_t             values[EMP_WORKLOAD_MAX_PARAMS];

    *out = NULL;
    if (family == NULL) return refuse_family(spec, err);
    const emp_option_table table = {family->name, NULL, family->params};
    const char            *text = spec + strlen(family->name); /* "" or ":..." */
    EMP_CHECK(
        emp_options_parse(&given, &table, NULL, *text == ':' ? text + 1 : text, err));
    for (int32_t i = 0; family->params[i].name != NULL; i++)
        values[i] = family->params[i].kind == EMP_OPTION_REAL
                        ? llround(given.real[i] * 1e6)
                        : given.value[i];
    return family->build(values, out, err);
}

/* ---- what families share ---- */

emp_status emp_workload_generate(void (*emit)(emp_tf *tf, const int64_t *values),
                                 const int64_t *values, const int64_t *common,
                                 emp_graph **out, emp_error *err)
{
    emp_status st = EMP_OK;
    emp_tf     tf;

    *out = NULL;
    EMP_TRY(emp_tf_init(&tf, err));
    tf.gate_gradients = common[EMP_COMMON_GATE_GRADIENTS] != 0;
    tf.old_broadcast_grads = common[EMP_COMMON_OLD_BROADCAST_GRADS] != 0;
    tf.const_zeros = common[EMP_COMMON_CONST_ZEROS] != 0;
    emit(&tf, values);
    EMP_TRY(emp_tf_finish(&tf, out));

cleanup:
    emp_tf_clear(&tf);
    return st;
}

void emp_workload_train(emp_tf *tf, emp_port loss, const emp_tf_variable *global_step,
                        double clip_norm, const int64_t *common)
{
    emp_op_id train_op = emp_tf_minimize(
        tf, loss, global_step, (emp_tf_optimizer)common[EMP_COMMON_OPTIMIZER], clip_norm);

    emp_tf_add_init_and_saver(tf, common[EMP_COMMON_SAVER] != 0);
    emp_tf_set_target(tf, train_op);
    emp_tf_set_target(tf, loss.op);
}
