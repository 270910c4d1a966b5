// SPDX-License-Identifier: GPL-3.0-or-later
/* Schedules of one's own: YAML files. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "parallel/schedule.h"
#include "sim/machine/config.h"

struct raw_schedule {
    char   **stages;
    unsigned stages_count;
};

static const cyaml_schema_value_t stage_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char *, 0, CYAML_UNLIMITED)};
static const cyaml_schema_field_t schedule_fields[] = {
    CYAML_FIELD_SEQUENCE("stages", CYAML_FLAG_POINTER, struct raw_schedule, stages,
                         &stage_schema, 1, CYAML_UNLIMITED),
    CYAML_FIELD_END};
static const cyaml_schema_value_t schedule_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_schedule, schedule_fields)};

static const char letters[] = "FBW";

/* Reads "F3" or "B0.1". \return false: it is no pass. */
static bool read_word(emp_turn *turn, const char *word, size_t length, int32_t stage,
                      const emp_degrees *d)
{
    const char *kind = strchr(letters, word[0]);
    char       *end;
    long        micro_batch, part = 0;

    if (kind == NULL || length < 2 || !isdigit((unsigned char)word[1])) return false;
    micro_batch = strtol(word + 1, &end, 10);
    if (*end == '.' && isdigit((unsigned char)end[1])) part = strtol(end + 1, &end, 10);
    if (end != word + length || micro_batch >= d->micro_batches || part >= d->vp)
        return false;
    *turn = (emp_turn){(int32_t)(kind - letters), (int32_t)part * d->pp + stage,
                       (int32_t)micro_batch};
    return true;
}

static emp_status read_stage(emp_pipeline_order *s, const emp_config *config,
                             const char *text, int32_t stage, const emp_degrees *d,
                             emp_error *err)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, " \t\n");
        if (length > 0) {
            EMP_CHECK(EMP_GROW(s->task, (int64_t)s->count + 1, s->capacity));
            if (!read_word(&s->task[s->count], text, length, stage, d))
                return EMP_ERROR(
                    EMP_EFORMAT,
                    "%s: stage %d has \"%.*s\", want F, B or W and a "
                    "micro-batch from 0 to %d, and perhaps a part from .0 to "
                    ".%d",
                    config->path, stage, (int)length, text, d->micro_batches - 1,
                    d->vp - 1);
            s->has_weights |= s->task[s->count++].kind == EMP_TURN_WEIGHT;
        }
        text += length + (text[length] != '\0');
    }
    s->first[stage + 1] = s->count;
    return EMP_OK;
}

/* Each stage has each pass once. */
static emp_status check_stage(const emp_pipeline_order *s, const emp_config *config,
                              int32_t stage, const emp_degrees *d, emp_error *err)
{
    emp_status    st = EMP_OK;
    int32_t      *seen = NULL;
    const int32_t each = d->vp * d->micro_batches;

    EMP_TRY(EMP_ALLOC(seen, (size_t)EMP_TURN_KINDS * (size_t)each));
    for (int32_t i = s->first[stage]; i < s->first[stage + 1]; i++) {
        const emp_turn *t = &s->task[i];
        seen[t->kind * each + t->chunk / d->pp * d->micro_batches + t->micro_batch]++;
    }
    for (int32_t i = 0; i < EMP_TURN_KINDS * each; i++) {
        const int32_t kind = i / each, within = i % each;
        if (seen[i] == 1 || (kind == EMP_TURN_WEIGHT && !s->has_weights)) continue;
        EMP_FAIL(EMP_EFORMAT, "%s: stage %d has %c%d.%d %d times, want it once",
                 config->path, stage, letters[kind], within % d->micro_batches,
                 within / d->micro_batches, seen[i]);
    }

cleanup:
    emp_free(seen);
    return st;
}

emp_status emp_pipeline_order_load(emp_pipeline_order *out, const emp_degrees *d,
                                   const char *path, emp_error *err)
{
    emp_status                 st = EMP_OK;
    emp_config                 config = {0};
    const struct raw_schedule *raw;

    EMP_TRY(emp_pipeline_order_begin(out, d, err));
    EMP_TRY(emp_config_open(&config, path, &schedule_schema, err));
    raw = config.data;
    if (raw->stages_count != (unsigned)d->pp)
        EMP_FAIL(EMP_EFORMAT, "%s has %u stages, and pp is %d", path, raw->stages_count,
                 d->pp);
    for (int32_t stage = 0; stage < d->pp; stage++)
        EMP_TRY(read_stage(out, &config, raw->stages[stage], stage, d, err));
    for (int32_t stage = 0; stage < d->pp; stage++)
        EMP_TRY(check_stage(out, &config, stage, d, err));

cleanup:
    emp_config_close(&config);
    return st;
}
