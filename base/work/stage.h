/** \file base/work/stage.h
 * What a long piece of work is doing now, as a few words: the work sets them, a display reads
 * them. There is one such text in the process, as on one line of a terminal.
 *
 *     const char *before = emp_stage_set("solving the linear program");
 *     solve();
 *     (void)emp_stage_set(before);
 *
 * Threads. Any thread may set and get it; of several that set it, the last one is shown.
 */
#ifndef EMP_BASE_WORK_STAGE_H
#define EMP_BASE_WORK_STAGE_H

/** Sets the text, which is in static storage; NULL: nothing worth a name.
 * \return the text before. */
const char *emp_stage_set(const char *text);

/** The text; NULL if none is set. */
const char *emp_stage_get(void);

#endif /* EMP_BASE_WORK_STAGE_H */
