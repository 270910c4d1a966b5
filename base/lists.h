/** \file base/lists.h
 * Columns of lists whose entries are X(name, key, words), as initialisers of an array:
 *
 *     static const char *const keys[] = {EMP_LIMIT_LIST(EMP_LIST_SECOND)};
 */
#ifndef EMP_BASE_LISTS_H
#define EMP_BASE_LISTS_H

#define EMP_LIST_SECOND(first, ...)        EMP_LIST_HEAD_(__VA_ARGS__, 0)
#define EMP_LIST_THIRD(first, second, ...) EMP_LIST_HEAD_(__VA_ARGS__, 0)
#define EMP_LIST_HEAD_(head, ...)          head,

#endif /* EMP_BASE_LISTS_H */
