/** \file tests/graphs/import/models/gguf_writer.h
 * Headers of GGUF files, written by hand: facts, then tensors, no data.
 */
#ifndef EMP_TESTS_GRAPHS_IMPORT_MODELS_GGUF_WRITER_H
#define EMP_TESTS_GRAPHS_IMPORT_MODELS_GGUF_WRITER_H

#include <stddef.h>
#include <stdint.h>

enum { GGUF_WRITER_BYTES = 1 << 21 };

/** Zero-initialise; the file is bytes[0 .. size) after gguf_finish(). */
typedef struct {
    char     bytes[GGUF_WRITER_BYTES];
    size_t   size;
    uint64_t fact_count, tensor_count;
    int64_t  elements;     /**< of all tensors */
    double   tensor_bytes; /**< of all tensors */
} gguf_writer;

void gguf_begin(gguf_writer *w, const char *architecture);
/** "llama.KEY", an integer of 32 bits. */
void gguf_integer(gguf_writer *w, const char *key, uint32_t value);
/** Several of them: "block_count=24 embedding_length=2880". */
void gguf_integers_of(gguf_writer *w, const char *text);
/** The same, one a layer. */
void gguf_integers(gguf_writer *w, const char *key, const uint32_t *values,
                   uint64_t count);
/** That the file is a part of several, which count from 0, and how many tensors all of them have. */
void gguf_split(gguf_writer *w, uint32_t part, uint32_t parts, uint32_t tensors);
/** An array of texts, as tokens are. */
void gguf_texts(gguf_writer *w, const char *key, uint64_t count);

/** A tensor of ggml's type, of \a rows rows of \a columns, \a depth times; \a bits a weight are for
 * the sum. Rows of 0: a vector. */
void gguf_tensor(gguf_writer *w, const char *name, uint32_t type, double bits,
                 uint64_t columns, uint64_t rows, uint64_t depth);
/** The same in layer \a layer. */
void gguf_layer_tensor(gguf_writer *w, int layer, const char *leaf, uint32_t type,
                       double bits, uint64_t columns, uint64_t rows, uint64_t depth);
/** Tensors of layer \a layer, or of none if that is negative, by a format of printf():
 * "attn_q Q4_K 4096x1024; attn_q.bias F32 1024". A name without an ending is a weight's. */
void gguf_tensors(gguf_writer *w, int layer, const char *format, ...);
/** Puts the counts into the header. */
void gguf_finish(gguf_writer *w);

#endif /* EMP_TESTS_GRAPHS_IMPORT_MODELS_GGUF_WRITER_H */
