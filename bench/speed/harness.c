// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/speed/speed.h"

#include "base/mem.h"
#include "base/text/options.h"
#include "base/work.h"
#include "run/sheet/sheet.h"

enum { ROUNDS_MIN = 3, WAY_S_MAX = 10, TASK_S_MAX = 60 };

/* The measurements of a way. */
typedef struct {
    double *seconds, *ratio; /* [round] */
    int32_t rounds;
    double  spent_s, difference;
} tally;

void emp_speed_table_init(emp_speed_table *t, const char *unit, double scale)
{
    const emp_sheet_column columns[] = {
        EMP_COLUMN("task", "task", EMP_SHEET_WORD),
        EMP_COLUMN("size", "size", EMP_SHEET_COUNT),
        EMP_COLUMN("variant", "variant", EMP_SHEET_WORD),
        EMP_COLUMN("way", "", EMP_SHEET_WORD),
        EMP_COLUMN("rounds", NULL, EMP_SHEET_COUNT),
        EMP_COLUMN("seconds", NULL, EMP_SHEET_REAL, .low = "seconds_q1",
                   .high = "seconds_q3"),
        EMP_COLUMN(NULL, unit, EMP_SHEET_REAL, .range = EMP_SHEET_BEHIND),
        EMP_COLUMN("ratio", "x", EMP_SHEET_REAL, .low = "ratio_q1", .high = "ratio_q3",
                   .range = EMP_SHEET_BEHIND),
        EMP_COLUMN("difference", NULL, EMP_SHEET_REAL)};

    EMP_SHEET_INIT(&t->sheet, columns);
    t->scale = scale;
}

static void add_line(emp_speed_table *table, const emp_speed_task *task, int32_t i,
                     tally *t)
{
    const emp_quartiles s = emp_quartiles_of(t->seconds, (size_t)t->rounds);
    const emp_quartiles x = emp_quartiles_of(t->ratio, (size_t)t->rounds);
    const double        scale = table->scale;

    EMP_SHEET_ADD(&table->sheet, EMP_V(task->name), EMP_V(task->size),
                  EMP_V(task->variant), EMP_V(task->way[i].name), EMP_V(t->rounds),
                  emp_quartiles_value(&s),
                  emp_value_range(s.median * scale, s.low * scale, s.high * scale),
                  emp_value_if(i > 0, emp_quartiles_value(&x)), EMP_V(t->difference));
    if (t->difference > task->way[i].tolerance)
        emp_sheet_note(&table->sheet,
                       "%s, %s: the result of %s differs from that of %s by %.2g.",
                       task->name, task->variant, task->way[i].name, task->way[0].name,
                       t->difference);
}

static emp_status run_round(const emp_speed_task *task, tally *tallies, int32_t round,
                            emp_error *err)
{
    emp_speed_sample base = {NAN, NAN};

    for (int32_t i = 0; i < task->way_count; i++) {
        tally           *t = &tallies[i];
        emp_speed_sample sample = {NAN, NAN};
        const double     start_s = emp_clock_now_s();
        if (i > 0 && round >= ROUNDS_MIN && t->spent_s > WAY_S_MAX) continue;
        EMP_CHECK(task->take(&sample, task->context, task->way[i].number, round, err));
        t->spent_s += emp_clock_now_s() - start_s;
        if (i == 0) base = sample;
        t->seconds[t->rounds] = sample.seconds;
        t->ratio[t->rounds++] = sample.seconds / base.seconds;
        const double off = fabs(sample.answer / base.answer - 1);
        if (i > 0 && !isnan(off)) t->difference = fmax(off, t->difference);
    }
    return EMP_OK;
}

emp_status emp_speed_measure(emp_speed_table *table, const emp_speed_task *task,
                             emp_error *err)
{
    const size_t rounds = (size_t)task->rounds;
    const double start_s = emp_clock_now_s();
    emp_status   st = EMP_OK;
    tally       *tallies = NULL;

    EMP_TRY(EMP_ALLOC(tallies, (size_t)task->way_count));
    for (int32_t i = 0; i < task->way_count; i++) {
        tallies[i].difference = NAN;
        EMP_TRY(EMP_ALLOC(tallies[i].seconds, rounds));
        EMP_TRY(EMP_ALLOC(tallies[i].ratio, rounds));
    }
    for (int32_t r = 0; r < task->rounds; r++) {
        if (r >= ROUNDS_MIN && emp_clock_now_s() - start_s > TASK_S_MAX) break;
        EMP_TRY(run_round(task, tallies, r, err));
    }
    for (int32_t i = 0; i < task->way_count; i++) add_line(table, task, i, &tallies[i]);

cleanup:
    for (int32_t i = 0; i < task->way_count && tallies != NULL; i++) {
        emp_free(tallies[i].seconds);
        emp_free(tallies[i].ratio);
    }
    emp_free(tallies);
    return st;
}

static const char *name_at(const void *context, int32_t i)
{
    return ((const char *const *)context)[i];
}

emp_status emp_speed_check_words(const char *list, const char *what,
                                 const char *const *names, emp_error *err)
{
    return emp_word_list_check(list, what, name_at, names, err);
}
