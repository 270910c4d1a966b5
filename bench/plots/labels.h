/** \file bench/plots/labels.h
 * Where labels stand: how wide a text is, and labels in a column that do not overlap.
 */
#ifndef EMP_BENCH_PLOTS_LABELS_H
#define EMP_BENCH_PLOTS_LABELS_H

#include <stddef.h>
#include <stdint.h>

/** Width of one line of text at that font size. Widths are those of DejaVu Sans, the widest of
 * the usual sans-serif fonts; other characters than ASCII count as square. */
double emp_label_width(const char *text, double font_size);

/** Copies a text that is at most so wide: of a wider one beginning and end, with an ellipsis
 * between them. Characters stay whole. */
void emp_label_shorten(char *label, size_t size, const char *text, double width,
                       double font_size);

/** Moves places of labels so that neighbours are \a apart at least and all are within \a low ..
 * \a high, by the least sum of squared moves. Where there is not so much room, they share it
 * evenly. O(count).
 * \param place  [count] where each would be at best, none before the one in front of it. */
void emp_labels_spread(double *place, int32_t count, double apart, double low,
                       double high);

#endif /* EMP_BENCH_PLOTS_LABELS_H */
