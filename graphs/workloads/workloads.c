// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/workloads/workloads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphs/workloads/workloads_internal.h"

enum { MAX_PARAMS = 32, LIST_BYTES = 320 };

/* ---- what the families share ------------------------------------------------------- */

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

/* ---- the table --------------------------------------------------------------------- */

static const emp_workload families[] = {
    {"nmt", "translation: LSTM encoder and decoder with attention, statically unrolled",
     emp_nmt_params, emp_nmt_build},
    {"rnnlm", "language model: LSTM layers, sampled or full softmax, statically unrolled",
     emp_rnnlm_params, emp_rnnlm_build},
    {"inception_v3", "image classifier: Inception-V3 with auxiliary head, 299 x 299",
     emp_inception_v3_params, emp_inception_v3_build},
    {"resnet", "image classifier: ResNet v1 with bottleneck units, 224 x 224",
     emp_resnet_params, emp_resnet_build},
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

/* ---- specs ------------------------------------------------------------------------- */

/* Appends "name, " lists for messages; what does not fit is left out. */
static void append_name(char *list, const char *name)
{
    size_t used = strlen(list);

    snprintf(list + used, LIST_BYTES - used, "%s%s", used == 0 ? "" : ", ", name);
}

static void list_families(char *list)
{
    list[0] = '\0';
    for (int32_t i = 0; i < FAMILY_COUNT; i++) append_name(list, families[i].name);
}

static void list_keys(const emp_workload *family, char *list)
{
    list[0] = '\0';
    for (const emp_workload_param *p = family->params; p->key != NULL; p++) {
        append_name(list, p->key);
    }
}

static void list_values(const emp_workload_param *param, char *list)
{
    list[0] = '\0';
    if (param->names == NULL) {
        snprintf(list, LIST_BYTES, "an integer in %lld..%lld", (long long)param->minimum,
                 (long long)param->maximum);
        return;
    }
    for (const char *const *name = param->names; *name != NULL; name++) {
        append_name(list, *name);
    }
}

static bool equals(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(text, name, length) == 0;
}

/* A number in range, or one of the names. */
static bool parse_value(const emp_workload_param *param, const char *text, size_t length,
                        int64_t *value)
{
    char  digits[24];
    char *end = NULL;

    for (int64_t i = 0; param->names != NULL && param->names[i] != NULL; i++) {
        if (equals(text, length, param->names[i])) {
            *value = i;
            return true;
        }
    }
    if (param->names != NULL || length == 0 || length >= sizeof digits) return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    errno = 0;
    *value = strtoll(digits, &end, 10);
    return errno == 0 && *end == '\0' && digits[0] != ' ' && *value >= param->minimum &&
           *value <= param->maximum;
}

/* Reads one "key=value" of \a length bytes. */
static emp_status parse_setting(const emp_workload *family, const char *text,
                                size_t length, int64_t *values, emp_error *err)
{
    char        list[LIST_BYTES];
    const char *equal = (const char *)memchr(text, '=', length);
    size_t      key_length = equal == NULL ? length : (size_t)(equal - text);
    int32_t     index = 0;

    while (family->params[index].key != NULL &&
           !equals(text, key_length, family->params[index].key)) {
        index++;
    }
    const emp_workload_param *param = &family->params[index];
    if (param->key == NULL) {
        list_keys(family, list);
        return EMP_ERROR(EMP_EINVAL, "%s has no key \"%.*s\"; its keys are %s",
                         family->name, (int)key_length, text, list);
    }
    list_values(param, list);
    if (equal == NULL) {
        return EMP_ERROR(EMP_EINVAL, "%s: %s has no value; write %s=..., %s",
                         family->name, param->key, param->key, list);
    }
    if (!parse_value(param, equal + 1, length - key_length - 1, &values[index])) {
        return EMP_ERROR(EMP_EINVAL, "%s: %.*s is not allowed; %s is %s%s", family->name,
                         (int)length, text, param->key,
                         param->names == NULL ? "" : "one of ", list);
    }
    return EMP_OK;
}

emp_status emp_workload_build(emp_graph **out, const char *spec, emp_error *err)
{
    char                list[LIST_BYTES];
    int64_t             values[MAX_PARAMS];
    const emp_workload *family = find_family(spec);

    *out = NULL;
    if (family == NULL) {
        list_families(list);
        return EMP_ERROR(EMP_EINVAL, "no workload \"%.*s\"; there are %s",
                         (int)strcspn(spec, ":"), spec, list);
    }
    for (int32_t i = 0; family->params[i].key != NULL; i++) {
        values[i] = family->params[i].value;
    }
    const char *text = spec + strlen(family->name);
    while (*text != '\0') {
        text++; /* the colon, or the comma before the next setting */
        size_t length = strcspn(text, ",");
        EMP_CHECK(parse_setting(family, text, length, values, err));
        text += length;
    }
    return family->build(values, out, err);
}
