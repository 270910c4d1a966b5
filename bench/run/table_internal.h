/** \file bench/run/table_internal.h
 * The printed forms of a table, one file a kind of reader.
 */
#ifndef EMP_BENCH_RUN_TABLE_INTERNAL_H
#define EMP_BENCH_RUN_TABLE_INTERNAL_H

#include "bench/run/table.h"

/* For people: table_text.c */
enum { EMP_CELL_BYTES = 64 };
/* Three significant digits, as the paper's tables have; - for NaN, OOM for infinity. Returns
 * text. */
const char *emp_table_number(double value, char text[EMP_CELL_BYTES]);
void        emp_table_print_text(FILE *out, const emp_table *table);
void        emp_table_print_md(FILE *out, const emp_table *table);
/* For programs: table_data.c */
void emp_table_print_csv(FILE *out, const emp_table *table);
/* A comma and a number; nothing for NaN, OOM for infinity. */
void       emp_table_csv_number(FILE *out, double value);
emp_status emp_table_print_json(FILE *out, const emp_table *table, emp_error *err);

#endif /* EMP_BENCH_RUN_TABLE_INTERNAL_H */
