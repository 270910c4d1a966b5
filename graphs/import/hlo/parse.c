// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphs/import/hlo/parse.h"

#include <stdarg.h>
#include <stdio.h>

enum { NAME_BYTES_MAX = 1024, OPCODE_BYTES_MAX = 48, PARAMETERS_MAX = 1 << 24 };

/* Problems of an instruction: one sentence, and it is broken. */
#define BROKEN(r, i, ...)             \
    do {                              \
        note_problem(r, __VA_ARGS__); \
        (i)->is_broken = true;        \
    } while (0)

EMP_PRINTF_LIKE(2, 3)
static void note_problem(emp_hlo_reader *r, const char *format, ...)
{
    char    reason[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    if (r->notes->problem_count >= EMP_NOTES_MAX)
        emp_import_notes_problem(r->notes, "%s", reason);
    else
        emp_import_notes_problem(r->notes, "line %d: %s", emp_hlo_line(r->m, r->text.at),
                                 reason);
}

/* ---- attributes ---- */

static emp_status read_attributes(emp_hlo_reader *r, int32_t *first, int32_t *count,
                                  emp_error *err)
{
    emp_hlo_module *m = r->m;
    emp_slice       key, value;

    *first = r->m->attr_count;
    while (emp_hlo_text_take(&r->text, ',')) {
        if (!emp_hlo_text_pair(&r->text, &key, &value))
            return emp_hlo_text_fail(&r->text, "an attribute such as index=0", err);
        EMP_CHECK(EMP_HLO_GROW(m, attr));
        m->attr[m->attr_count++] =
            (emp_hlo_attr){(uint32_t)(key.data - m->begin), (uint32_t)key.size,
                           (uint32_t)(value.data - m->begin), (uint32_t)value.size};
    }
    *count = m->attr_count - *first;
    return EMP_OK;
}

/* ---- instructions ---- */

static emp_status add_operand(emp_hlo_reader *r, emp_hlo_instruction *i, emp_slice name,
                              emp_error *err)
{
    int32_t index = emp_strmap_get(&r->index_of_name, name.data, name.size);

    if (index < 0) {
        if (!i->is_broken)
            BROKEN(r, i, "%.*s reads \"%.*s\", which no instruction before it makes",
                   EMP_SLICE_ARG(emp_hlo_name(r->m, i)), EMP_SLICE_ARG(name));
        return EMP_OK;
    }
    if (r->m->instruction[index].is_broken) i->is_broken = true;
    EMP_CHECK(EMP_HLO_GROW(r->m, operand));
    r->m->operand[r->m->operand_count++] = index;
    i->operand_count++;
    return EMP_OK;
}

/* "f32[2]{0} %a, (f32[2], s32[]) %b" or "%a, %b"; the opening parenthesis is taken. */
static emp_status read_operands(emp_hlo_reader *r, emp_hlo_instruction *i, emp_error *err)
{
    emp_slice name;

    i->first_operand = r->m->operand_count;
    while (!emp_hlo_text_take(&r->text, ')')) {
        if (emp_hlo_text_is_shape(&r->text))
            EMP_CHECK(emp_hlo_text_shape(&r->text, r->m, NULL, err));
        if (!emp_hlo_text_name(&r->text, &name))
            return emp_hlo_text_fail(&r->text, "the name of an operand", err);
        EMP_CHECK(add_operand(r, i, name, err));
        (void)emp_hlo_text_take(&r->text, ',');
    }
    return EMP_OK;
}

static emp_status add_parameter(emp_hlo_reader *r, emp_hlo_instruction *i,
                                emp_hlo_computation *c, emp_slice number, emp_error *err)
{
    int64_t at = emp_hlo_number(number, -1);

    i->number = at < 0 || at > PARAMETERS_MAX ? -1 : (int32_t)at;
    if (i->number < 0) {
        BROKEN(r, i, "%.*s is parameter \"%.*s\", which is no number up to %d",
               EMP_SLICE_ARG(emp_hlo_name(r->m, i)), EMP_SLICE_ARG(number),
               PARAMETERS_MAX);
        return EMP_OK;
    }
    EMP_CHECK(EMP_HLO_GROW(r->m, parameter));
    r->m->parameter[r->m->parameter_count++] = r->m->instruction_count;
    c->parameter_count++;
    return EMP_OK;
}

/* The instructions of control-predecessors={%a, %b}. */
static emp_status add_controls(emp_hlo_reader *r, emp_hlo_instruction *i, emp_error *err)
{
    emp_slice list = emp_hlo_text_of(r->m, i, "control-predecessors"), name;

    while (emp_hlo_next_item(&list, &name)) {
        int32_t index = emp_strmap_get(&r->index_of_name, name.data, name.size);
        if (index < 0) continue;
        EMP_CHECK(EMP_HLO_GROW(r->m, operand));
        r->m->operand[r->m->operand_count++] = index;
        i->control_count++;
    }
    return EMP_OK;
}

static const char *key_of_called(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    switch (emp_hlo_op(m, i)->what) {
    case EMP_HLO_FUSION: return "calls";
    case EMP_HLO_CALL:
        return emp_hlo_attr_of(m, i, "calls").size > 0 ? "calls" : "to_apply";
    case EMP_HLO_WHILE: return "body";
    default: return NULL;
    }
}

static void find_called(emp_hlo_reader *r, emp_hlo_instruction *i)
{
    const char *key = key_of_called(r->m, i);
    emp_slice   name;

    i->called = -1;
    if (key == NULL) return;
    emp_slice list = emp_hlo_text_of(r->m, i, key);
    (void)emp_hlo_next_item(&list, &name);
    i->called = emp_hlo_find(r->m, name);
    if (i->called == r->m->entry) i->called = -1;
    if (i->called < 0 && !i->is_broken)
        BROKEN(r, i, "%.*s has %s=\"%.*s\", which no computation before it is called",
               EMP_SLICE_ARG(emp_hlo_name(r->m, i)), key, EMP_SLICE_ARG(name));
}

static int32_t operands_at_least(emp_hlo_what what)
{
    switch (what) {
    case EMP_HLO_VIEW:
    case EMP_HLO_PART:
    case EMP_HLO_DONE:
    case EMP_HLO_SLICE:
    case EMP_HLO_CONDITIONAL:
    case EMP_HLO_WHILE: return 1;
    case EMP_HLO_UPDATE: return 2;
    case EMP_HLO_SCATTER: return 3;
    default: return 0;
    }
}

static void check_part(emp_hlo_reader *r, emp_hlo_instruction *i)
{
    const emp_hlo_instruction *tuple = emp_hlo_operand(r->m, i, 0);
    int64_t number = emp_hlo_number(emp_hlo_attr_of(r->m, i, "index"), -1);

    if (number < 0 || number >= tuple->part_count)
        BROKEN(r, i, "%.*s takes part \"%.*s\" of %.*s, which has %d",
               EMP_SLICE_ARG(emp_hlo_name(r->m, i)),
               EMP_SLICE_ARG(emp_hlo_attr_of(r->m, i, "index")),
               EMP_SLICE_ARG(emp_hlo_name(r->m, tuple)), tuple->part_count);
    else
        i->number = (int32_t)number;
    if (!i->is_broken && emp_hlo_part_end(r->m, tuple, i->number) -
                                 emp_hlo_part_begin(r->m, tuple, i->number) !=
                             i->tensor_count)
        BROKEN(r, i, "%.*s is not as part %d of %.*s is",
               EMP_SLICE_ARG(emp_hlo_name(r->m, i)), i->number,
               EMP_SLICE_ARG(emp_hlo_name(r->m, tuple)));
}

/* Tensors that a view or a tuple hands on. */
static void check_tensors(emp_hlo_reader *r, emp_hlo_instruction *i)
{
    int64_t tensors = 0;

    for (int32_t k = 0; k < i->operand_count; k++) {
        tensors += emp_hlo_operand(r->m, i, k)->tensor_count;
        if (emp_hlo_op(r->m, i)->what == EMP_HLO_VIEW) break;
    }
    if (tensors != i->tensor_count)
        BROKEN(r, i, "%.*s has %d tensors, and its operands have %lld",
               EMP_SLICE_ARG(emp_hlo_name(r->m, i)), i->tensor_count, (long long)tensors);
}

static void check(emp_hlo_reader *r, emp_hlo_instruction *i)
{
    emp_hlo_what what = emp_hlo_op(r->m, i)->what;

    if (i->is_broken) return;
    if (i->operand_count < operands_at_least(what))
        BROKEN(r, i, "%.*s has %d operands, and its opcode needs %d",
               EMP_SLICE_ARG(emp_hlo_name(r->m, i)), i->operand_count,
               operands_at_least(what));
    else if (what == EMP_HLO_PART)
        check_part(r, i);
    else if (what == EMP_HLO_VIEW || what == EMP_HLO_TUPLE)
        check_tensors(r, i);
}

/* "32", "-1" or "true"; INT64_MIN: anything else. */
static int64_t constant_of(emp_slice text)
{
    text = emp_slice_trim(text);
    bool is_negative = emp_slice_starts(text, "-");

    if (emp_slice_is(text, "true") || emp_slice_is(text, "false"))
        return emp_slice_is(text, "true");
    if (is_negative) text = (emp_slice){text.data + 1, text.size - 1};
    int64_t value = emp_hlo_number(text, INT64_MIN);
    return is_negative && value != INT64_MIN ? -value : value;
}

/* Custom calls by which XLA's front ends and passes mark a tensor, as it is. */
static bool hands_on(const emp_hlo_module *m, const emp_hlo_instruction *i)
{
    static const char *const marks[] = {
        "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape",
        "AssumeGatherIndicesInBound", "annotate_device_placement"};

    if (emp_hlo_op(m, i)->what != EMP_HLO_CUSTOM || i->operand_count != 1 ||
        i->tensor_count != emp_hlo_operand(m, i, 0)->tensor_count)
        return false;
    emp_slice target = emp_hlo_text_of(m, i, "custom_call_target");
    for (size_t k = 0; k < sizeof marks / sizeof marks[0]; k++)
        if (emp_slice_is(target, marks[k])) return true;
    return false;
}

/* [ROOT] name = shape opcode(operands), attributes */
static emp_status read_instruction(emp_hlo_reader *r, emp_hlo_computation *c,
                                   emp_error *err)
{
    emp_hlo_instruction i = {0};
    emp_hlo_shape       shape;
    emp_slice           name, word, inside;
    int32_t             there;
    bool                is_root = emp_hlo_text_word(&r->text, "ROOT");

    if (!emp_hlo_text_name(&r->text, &name) || !emp_hlo_text_take(&r->text, '='))
        return emp_hlo_text_fail(
            &r->text, "an instruction such as %a = f32[2]{0} add(%b, %c)", err);
    if (name.size > NAME_BYTES_MAX)
        return emp_hlo_text_fail(&r->text, "a name of at most 1024 bytes", err);
    i.name_at = (uint32_t)(name.data - r->m->begin);
    i.name_size = (uint16_t)name.size;
    EMP_CHECK(emp_hlo_text_shape(&r->text, r->m, &shape, err));
    i.first_tensor = shape.first_tensor;
    i.tensor_count = shape.tensor_count;
    i.first_part = shape.first_part;
    i.part_count = shape.part_count;
    i.is_tuple = shape.is_tuple;
    if (shape.problem != NULL)
        BROKEN(r, &i, "%.*s %s", EMP_SLICE_ARG(name), shape.problem);
    if (!emp_hlo_text_name(&r->text, &word) || word.size > OPCODE_BYTES_MAX ||
        !emp_hlo_text_is(&r->text, '('))
        return emp_hlo_text_fail(&r->text, "an opcode and its operands", err);
    EMP_CHECK(emp_hlo_opcode_of(r->m, word, &i.opcode, err));
    emp_hlo_what what = emp_hlo_op(r->m, &i)->what;
    if (what == EMP_HLO_PARAMETER || what == EMP_HLO_CONSTANT) {
        if (!emp_hlo_text_bracket(&r->text, &inside))
            return emp_hlo_text_fail(&r->text, "a parenthesis that is closed", err);
        i.constant = constant_of(inside);
        if (what == EMP_HLO_PARAMETER) EMP_CHECK(add_parameter(r, &i, c, inside, err));
    } else {
        (void)emp_hlo_text_take(&r->text, '(');
        EMP_CHECK(read_operands(r, &i, err));
    }
    EMP_CHECK(read_attributes(r, &i.first_attr, &i.attr_count, err));
    EMP_CHECK(add_controls(r, &i, err));
    if (hands_on(r->m, &i))
        EMP_CHECK(emp_hlo_opcode_of(r->m, (emp_slice){"bitcast", 7}, &i.opcode, err));
    find_called(r, &i);
    check(r, &i);
    EMP_CHECK(EMP_HLO_GROW(r->m, instruction));
    EMP_CHECK(emp_strmap_add(&r->index_of_name, name.data, name.size,
                             r->m->instruction_count, &there, err));
    if (there >= 0)
        return emp_hlo_text_fail(&r->text, "a name that no instruction has yet", err);
    if (is_root || !c->has_root) c->root = r->m->instruction_count;
    c->has_root = c->has_root || is_root;
    r->m->instruction[r->m->instruction_count++] = i;
    c->count++;
    return EMP_OK;
}

/* ---- computations ---- */

static int32_t number_of(const emp_hlo_reader *r, int32_t instruction)
{
    return r->m->instruction[instruction].number;
}

/* Puts each parameter where its number says; the numbers are 0 to their count. */
static void order_parameters(emp_hlo_reader *r, const emp_hlo_computation *c)
{
    if (c->parameter_count == 0) return;
    int32_t *list = r->m->parameter + c->first_parameter;
    for (int32_t n = 0; n < c->parameter_count; n++) {
        for (;;) {
            int32_t own = list[n], place = number_of(r, own);
            if (place >= c->parameter_count || number_of(r, list[place]) == place) break;
            list[n] = list[place];
            list[place] = own;
        }
    }
    bool is_right = true;
    for (int32_t n = 0; n < c->parameter_count; n++) {
        emp_hlo_instruction *i = &r->m->instruction[list[n]];
        if (i->number == n) continue;
        i->is_broken = true;
        is_right = false;
    }
    if (!is_right)
        note_problem(r, "the parameters of %.*s have not the numbers 0 to %d, each once",
                     EMP_SLICE_ARG(c->name), c->parameter_count - 1);
}

/* The instructions up to the "}" of a computation that is not one of the module yet, or is forgotten. */
static emp_status read_instructions(emp_hlo_reader *r, emp_hlo_computation *c,
                                    emp_error *err)
{
    c->body = r->text.at;
    c->first = r->m->instruction_count;
    c->first_parameter = r->m->parameter_count;
    c->root = -1;
    c->count = c->parameter_count = 0;
    c->is_forgotten = c->has_root = false;
    emp_strmap_empty(&r->index_of_name);
    while (!emp_hlo_text_take(&r->text, '}')) EMP_CHECK(read_instruction(r, c, err));
    return EMP_OK;
}

/* name [(parameters) -> shape] { instructions } */
static emp_status read_computation(emp_hlo_reader *r, emp_slice name, bool is_entry,
                                   emp_error *err)
{
    emp_hlo_module     *m = r->m;
    emp_slice           skipped;
    int32_t             first, count;
    emp_hlo_computation c = {.name = name};

    if (emp_hlo_text_is(&r->text, '(') && !emp_hlo_text_bracket(&r->text, &skipped))
        return emp_hlo_text_fail(&r->text, "a parenthesis that is closed", err);
    if (emp_hlo_text_word(&r->text, "->"))
        EMP_CHECK(emp_hlo_text_shape(&r->text, m, NULL, err));
    if (!emp_hlo_text_take(&r->text, '{'))
        return emp_hlo_text_fail(&r->text, "the \"{\" of a computation", err);
    EMP_CHECK(read_instructions(r, &c, err));
    EMP_CHECK(read_attributes(r, &first, &count, err));
    m->attr_count = first;
    if (c.root < 0)
        return emp_hlo_text_fail(&r->text, "a computation with an instruction", err);
    if (emp_hlo_find(m, name) >= 0)
        return emp_hlo_text_fail(&r->text, "a computation whose name is new", err);
    order_parameters(r, &c);
    EMP_CHECK(EMP_HLO_GROW(m, computation));
    EMP_CHECK(emp_strmap_set(&m->computation_of_name, name.data, name.size,
                             m->computation_count, err));
    if (is_entry) m->entry = m->computation_count;
    m->computation[m->computation_count++] = c;
    if (m->read_count > INT32_MAX - c.count)
        return EMP_ERROR(EMP_EUNSUPPORTED, "more than %d instructions", INT32_MAX);
    m->read_count += c.count;
    return EMP_OK;
}

static emp_status read_header(emp_hlo_reader *r, emp_error *err)
{
    int32_t first, count;

    if (!emp_hlo_text_word(&r->text, "HloModule") ||
        !emp_hlo_text_name(&r->text, &r->m->name))
        return emp_hlo_text_fail(&r->text, "HloModule and its name", err);
    EMP_CHECK(read_attributes(r, &first, &count, err));
    emp_hlo_instruction header = {.first_attr = first, .attr_count = count};
    r->m->is_scheduled =
        emp_slice_is(emp_hlo_attr_of(r->m, &header, "is_scheduled"), "true");
    r->m->replicas = emp_hlo_attr_of(r->m, &header, "replica_count");
    r->m->partitions = emp_hlo_attr_of(r->m, &header, "num_partitions");
    r->m->aliases = emp_hlo_text_of(r->m, &header, "input_output_alias");
    r->m->attr_count = first;
    return EMP_OK;
}

emp_status emp_hlo_reader_begin(emp_hlo_reader *r, emp_hlo_module *m, emp_slice text,
                                emp_import_notes *notes, emp_error *err)
{
    *m = (emp_hlo_module){.begin = text.data, .entry = -1};
    *r = (emp_hlo_reader){
        .m = m, .notes = notes, .text = {m, text.data, text.data + text.size}};
    return read_header(r, err);
}

/* Notes how much of the module is there, for emp_hlo_reader_forget(). */
static void note_before(emp_hlo_reader *r)
{
    const emp_hlo_module *m = r->m;

    r->before.instruction = m->instruction_count;
    r->before.tensor = m->tensor_count;
    r->before.part = m->part_count;
    r->before.operand = m->operand_count;
    r->before.parameter = m->parameter_count;
    r->before.attr = m->attr_count;
}

emp_status emp_hlo_reader_next(emp_hlo_reader *r, bool *is_there, emp_error *err)
{
    emp_slice name;

    *is_there = true;
    note_before(r);
    while (!emp_hlo_text_ends(&r->text)) {
        bool is_entry = emp_hlo_text_word(&r->text, "ENTRY");
        if (!emp_hlo_text_name(&r->text, &name))
            return emp_hlo_text_fail(&r->text, "a computation", err);
        if (is_entry || !emp_hlo_text_skip_table(&r->text, name))
            return read_computation(r, name, is_entry, err);
    }
    *is_there = false;
    if (r->m->entry < 0)
        return emp_hlo_text_fail(&r->text, "the computation that begins with ENTRY", err);
    return EMP_OK;
}

static bool is_like_a_kernel(const emp_hlo_module *m, const emp_hlo_computation *c)
{
    for (int32_t n = c->first; n < c->first + c->count; n++) {
        const emp_hlo_instruction *i = &m->instruction[n];
        const emp_hlo_what         what = emp_hlo_op(m, i)->what;
        if (i->called >= 0 || what == EMP_HLO_CUSTOM || what == EMP_HLO_COLLECTIVE ||
            what == EMP_HLO_CONDITIONAL)
            return false;
    }
    return true;
}

void emp_hlo_reader_forget(emp_hlo_reader *r)
{
    emp_hlo_module      *m = r->m;
    emp_hlo_computation *c = &m->computation[m->computation_count - 1];

    if (m->entry == m->computation_count - 1 || !is_like_a_kernel(m, c)) return;
    c->is_forgotten = true;
    m->instruction_count = r->before.instruction;
    m->tensor_count = r->before.tensor;
    m->part_count = r->before.part;
    m->operand_count = r->before.operand;
    m->parameter_count = r->before.parameter;
    m->attr_count = r->before.attr;
}

emp_status emp_hlo_reader_recall(emp_hlo_reader *r, int32_t computation, emp_error *err)
{
    emp_hlo_computation c = r->m->computation[computation];

    if (!c.is_forgotten) return EMP_OK;
    r->text.at = c.body;
    EMP_CHECK(read_instructions(r, &c, err));
    order_parameters(r, &c);
    r->m->computation[computation] = c;
    return EMP_OK;
}

void emp_hlo_reader_clear(emp_hlo_reader *r)
{
    emp_strmap_clear(&r->index_of_name);
    *r = (emp_hlo_reader){0};
}
