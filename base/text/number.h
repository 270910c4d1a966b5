/** \file base/text/number.h
 * Numbers in files, which have a decimal point in every locale of the program.
 */
#ifndef EMP_BASE_TEXT_NUMBER_H
#define EMP_BASE_TEXT_NUMBER_H

#include <stdio.h>

/** What strtod() does in the locale "C". */
double emp_number_parse(const char *text, char **end);

/** Writes a finite number so that the same number is read again. */
void emp_number_write(FILE *stream, double value);

#endif /* EMP_BASE_TEXT_NUMBER_H */
