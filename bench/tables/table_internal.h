/** \file bench/tables/table_internal.h
 * The printed forms of a table, one file a kind of reader.
 */
#ifndef EMP_BENCH_TABLES_TABLE_INTERNAL_H
#define EMP_BENCH_TABLES_TABLE_INTERNAL_H

#include "bench/tables/table.h"

/* For people: table_text.c */
void emp_table_print_text(FILE *out, const emp_table *table);
void emp_table_print_md(FILE *out, const emp_table *table);
/* For programs: table_data.c */
void       emp_table_print_csv(FILE *out, const emp_table *table);
emp_status emp_table_print_json(FILE *out, const emp_table *table, emp_error *err);

#endif /* EMP_BENCH_TABLES_TABLE_INTERNAL_H */
