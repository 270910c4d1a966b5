// SPDX-License-Identifier: GPL-3.0-or-later
#define _GNU_SOURCE /* strtod_l */
#include "base/text/number.h"

#include <locale.h>
#include <stdlib.h>

/* glibc keeps this locale for good: to ask for it and to release it cost nothing. */
static locale_t plain_locale(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }

double emp_number_parse(const char *text, char **end)
{
    locale_t plain = plain_locale();
    double   value = strtod_l(text, end, plain);

    freelocale(plain);
    return value;
}

void emp_number_write(FILE *stream, double value)
{
    locale_t plain = plain_locale();
    locale_t before = uselocale(plain);

    fprintf(stream, "%.17g", value);
    uselocale(before);
    freelocale(plain);
}
