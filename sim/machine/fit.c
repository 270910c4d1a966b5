// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/machine/fit.h"

#include "sim/machine/machine.h"

#define STRING(type, key) \
    CYAML_FIELD_STRING_PTR(#key, CYAML_FLAG_POINTER, struct type, key, 0, CYAML_UNLIMITED)

static const cyaml_schema_field_t constant_fields[] = {
    STRING(emp_raw_fit_constant, name), STRING(emp_raw_fit_constant, low),
    STRING(emp_raw_fit_constant, high), STRING(emp_raw_fit_constant, leans_on),
    CYAML_FIELD_END};
static const cyaml_schema_value_t constant_schema = {CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, struct emp_raw_fit_constant, constant_fields)};

static const cyaml_schema_field_t cell_fields[] = {
    CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct emp_raw_fit_cell, name, 1,
                           EMP_FIT_NAME_BYTES - 1),
    STRING(emp_raw_fit_cell, published),
    STRING(emp_raw_fit_cell, fitted),
    STRING(emp_raw_fit_cell, off),
    STRING(emp_raw_fit_cell, left_out),
    CYAML_FIELD_END};
static const cyaml_schema_value_t cell_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct emp_raw_fit_cell, cell_fields)};

const cyaml_schema_field_t emp_fit_fields[] = {
    STRING(emp_raw_fit, source), STRING(emp_raw_fit, command),
    CYAML_FIELD_SEQUENCE("constants", CYAML_FLAG_POINTER, struct emp_raw_fit, constants,
                         &constant_schema, 1, CYAML_UNLIMITED),
    CYAML_FIELD_SEQUENCE("cells", CYAML_FLAG_POINTER, struct emp_raw_fit, cells,
                         &cell_schema, 1, EMP_MAX_FITTED),
    CYAML_FIELD_END};
