// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/serve/request.h"

#include <inttypes.h>
#include <string.h>

enum { ID_BYTES = 64 };

static const char *const word_of_verb[] = {
#define X(name, word) word,
    CLI_VERB_LIST(X)
#undef X
};

#define FOR(verb) (1u << CLI_VERB_##verb)
enum { EVERY = (1u << CLI_VERBS) - 1 };

/* A member of a request: which verbs have it, and which of them must. */
typedef struct {
    const char   *key;
    unsigned      has, needs;
    emp_json_kind kind;
    int64_t       low, high; /* of integers */
    size_t        offset;    /* of the text, the integer or the value in cli_request */
} member;

#define TEXT(key, has, needs)                                               \
    {                                                                       \
#key, has, needs, EMP_JSON_STRING, 0, 0, offsetof(cli_request, key) \
    }
#define INTEGER(key, has, needs, low, high)                                       \
    {                                                                             \
#key, has, needs, EMP_JSON_INTEGER, low, high, offsetof(cli_request, key) \
    }
#define ARRAY(key, has, needs)                                             \
    {                                                                      \
#key, has, needs, EMP_JSON_ARRAY, 0, 0, offsetof(cli_request, key) \
    }

static const member members[] = {
    TEXT(graph, FOR(LOAD), FOR(LOAD)),
    TEXT(machine, FOR(LOAD), FOR(LOAD)),
    TEXT(runtime, FOR(LOAD), 0),
    INTEGER(problem, EVERY & ~FOR(LOAD) & ~FOR(STATUS), EVERY & ~FOR(LOAD) & ~FOR(STATUS),
            1, INT64_MAX),
    ARRAY(placements, FOR(SCORE), 0),
    ARRAY(classes, FOR(SCORE), 0),
    ARRAY(placement, FOR(EXPLAIN), FOR(EXPLAIN)),
    TEXT(method, FOR(PLACE), FOR(PLACE)),
    TEXT(options, FOR(PLACE), 0),
    TEXT(preset, FOR(PLACE), 0),
    INTEGER(budget, FOR(PLACE), FOR(PLACE), 1, CLI_REQUEST_BUDGET_MAX),
    INTEGER(seed, FOR(PLACE), 0, 0, INT64_MAX),
};
enum { MEMBERS = sizeof members / sizeof *members };

static emp_status read_id(cli_request *r, const emp_json *value, emp_error *err)
{
    const bool is_text = emp_json_is(value, EMP_JSON_STRING);

    if (!is_text && !emp_json_is(value, EMP_JSON_INTEGER))
        return EMP_ERROR(EMP_EFORMAT, "\"id\" is neither a whole number nor a text");
    if (is_text && strlen(emp_json_string(value)) > ID_BYTES)
        return EMP_ERROR(EMP_EFORMAT, "\"id\" has more than %d bytes", ID_BYTES);
    r->id = value;
    return EMP_OK;
}

static emp_status read_verb(cli_request *r, emp_error *err)
{
    const char *word = emp_json_string(emp_json_get(r->document.root, "do"));

    for (int v = 0; word != NULL && v < CLI_VERBS; v++) {
        r->verb = (cli_verb)v;
        if (strcmp(word, word_of_verb[v]) == 0) return EMP_OK;
    }
    if (word == NULL)
        return EMP_ERROR(EMP_EFORMAT,
                         "a request has \"do\": load, score, explain, place, "
                         "drop or status");
    return EMP_ERROR(
        EMP_EFORMAT,
        "\"do\" is \"%.40s\"; it is load, score, explain, place, drop or status", word);
}

static emp_status read_member(cli_request *r, const member *m, const emp_json *value,
                              emp_error *err)
{
    static const char *const kind[] = {[EMP_JSON_STRING] = "text",
                                       [EMP_JSON_INTEGER] = "whole number",
                                       [EMP_JSON_ARRAY] = "list"};
    void                    *to = (char *)r + m->offset;

    if (!emp_json_is(value, m->kind))
        return EMP_ERROR(EMP_EFORMAT, "\"%s\" is no %s", m->key, kind[m->kind]);
    if (m->kind == EMP_JSON_STRING) {
        *(const char **)to = emp_json_string(value);
    } else if (m->kind == EMP_JSON_ARRAY) {
        *(const emp_json **)to = value;
    } else {
        const int64_t number = emp_json_integer(value);
        if (number < m->low || number > m->high)
            return EMP_ERROR(EMP_EFORMAT,
                             "\"%s\" is %" PRId64 ", and not from %" PRId64
                             " to %" PRId64,
                             m->key, number, m->low, m->high);
        *(int64_t *)to = number;
    }
    return EMP_OK;
}

static const member *find(const char *key, cli_verb verb)
{
    for (int i = 0; i < MEMBERS; i++) {
        if (members[i].has >> verb & 1u && strcmp(members[i].key, key) == 0)
            return &members[i];
    }
    return NULL;
}

static emp_status read_members(cli_request *r, emp_error *err)
{
    const emp_json *root = r->document.root;

    for (const emp_json *v = emp_json_first(root); v != NULL; v = emp_json_next(v)) {
        const char *key = emp_json_key(v);
        if (strcmp(key, "id") == 0 || strcmp(key, "do") == 0) continue;
        const member *m = find(key, r->verb);
        if (m == NULL)
            return EMP_ERROR(EMP_EFORMAT, "\"%s\" has no member \"%.40s\"",
                             word_of_verb[r->verb], key);
        EMP_CHECK(read_member(r, m, v, err));
    }
    for (int i = 0; i < MEMBERS; i++) {
        if (members[i].needs >> r->verb & 1u &&
            emp_json_get(root, members[i].key) == NULL)
            return EMP_ERROR(EMP_EFORMAT, "\"%s\" needs \"%s\"", word_of_verb[r->verb],
                             members[i].key);
    }
    return EMP_OK;
}

/* What one member alone does not tell. */
static emp_status check_rows(const cli_request *r, emp_error *err)
{
    const emp_json *rows = r->placements != NULL ? r->placements : r->classes;

    if (r->verb != CLI_VERB_SCORE) return EMP_OK;
    if ((r->placements != NULL) == (r->classes != NULL))
        return EMP_ERROR(EMP_EFORMAT, "\"score\" needs one of \"placements\" and "
                                      "\"classes\"");
    if (emp_json_count(rows) > CLI_REQUEST_ROWS_MAX)
        return EMP_ERROR(EMP_EFORMAT, "%d placements; a request has %d at most",
                         emp_json_count(rows), CLI_REQUEST_ROWS_MAX);
    return EMP_OK;
}

emp_status cli_request_parse(cli_request *r, const char *line, size_t length,
                             emp_error *err)
{
    r->seed = 1;
    EMP_CHECK(emp_json_parse(&r->document, line, length, err));
    if (!emp_json_is(r->document.root, EMP_JSON_OBJECT))
        return EMP_ERROR(EMP_EFORMAT, "a request is an object, as {\"do\": \"status\"}");
    const emp_json *id = emp_json_get(r->document.root, "id");
    if (id != NULL) EMP_CHECK(read_id(r, id, err));
    EMP_CHECK(read_verb(r, err));
    EMP_CHECK(read_members(r, err));
    return check_rows(r, err);
}

void cli_request_clear(cli_request *r)
{
    emp_json_clear(&r->document);
    *r = (cli_request){0};
}
