/** \file graphs/transformer/tape.h
 * Ops of a step of a network, and of its backward pass: each function of the forward pass adds an
 * op and, in training, notes it; emp_tape_differentiate() goes back over the notes.
 *
 *     emp_tape t;
 *     EMP_TRY(emp_tape_init(&t, &step, err));
 *     emp_port x = emp_tape_linear(&t, "layer", input, 10, true);
 *     ...
 *     emp_tape_loss(&t, "loss", x, labels, true);
 *     emp_tape_differentiate(&t);
 *     emp_tape_update(&t);
 *     st = emp_tape_finish(&t, &graph);
 *     emp_tape_clear(&t);
 *
 * The first failure sticks: later calls do nothing and return EMP_TAPE_NONE.
 *
 * A *unit* is an op with its weights, their update, and its backward ops: PyTorch runs them on one
 * device, so they have one number in emp_op_attrs.colocation. Activations are [tokens, size].
 *
 * Threads. Confined to one thread.
 */
#ifndef EMP_GRAPHS_TRANSFORMER_TAPE_H
#define EMP_GRAPHS_TRANSFORMER_TAPE_H

#include "base/collections.h"
#include "base/mem.h"
#include "sim/graph/graph_builder.h"
#include "sim/graph/op.h"

#define EMP_TAPE_NONE ((emp_port){-1, 0})

/* The use of a transformer in a step: how many tokens, in which element type, and whether it
 * trains, reads a prompt or writes one token. */

typedef enum {
    EMP_PHASE_TRAIN, /**< forward, backward and update of whole sequences */
    EMP_PHASE_PREFILL, /**< reads whole sequences and fills the cache; logits of the last tokens */
    EMP_PHASE_DECODE /**< one token more of each sequence, the last of `sequence` */
} emp_transformer_phase;

#define EMP_TRANSFORMER_PHASE_WORDS "train|prefill|decode"

/** Element types of caches of keys and values, as vLLM (fp8) and llama.cpp (q8_0, q4_0) name them. */
#define EMP_CACHE_DTYPE_WORDS "auto|fp8|q8_0|q4_0"

/** The element type of a word of that list; EMP_DTYPE_NONE: as activations. */
emp_dtype emp_cache_dtype_of(int32_t word);

typedef enum {
    EMP_UPDATE_ADAM, /**< two float32 states a weight */
    EMP_UPDATE_SGD   /**< none */
} emp_transformer_update;

#define EMP_TRANSFORMER_UPDATE_WORDS "adam|sgd"

/** The memory that holds the matrices of prompts and tokens. */
typedef enum {
    EMP_HOME_READER, /**< the memory of the device that reads them */
    EMP_HOME_HOST,   /**< a host's, from which they are streamed to their readers */
    EMP_HOME_ANY     /**< a placement says so for each matrix */
} emp_weight_home;

#define EMP_WEIGHT_HOME_WORDS "device|host|any"

/** Layers that can be read ahead of use. */
enum { EMP_AHEAD_MAX = 64 };

typedef struct {
    emp_transformer_phase phase;
    int64_t               batch;    /**< sequences */
    int64_t               sequence; /**< tokens of each, with those in the cache */
    int64_t source; /**< tokens of each that an encoder reads beside a decoder */
    int64_t
        micro_batch; /**< of prompts: tokens of all sequences that go through the layers together; 0 = all */
    int64_t
        window_spare; /**< tokens that caches of windows hold besides the window; 0 = a micro-batch's, if
                                there are several */
    int64_t
        cache_granule; /**< caches of keys and values have room for a multiple of it; 0 = 1 */
    emp_dtype dtype; /**< of weights and activations */
    emp_dtype
        cache_dtype; /**< of cached keys and values; EMP_DTYPE_NONE: as activations */
    emp_transformer_update update;
    bool
         is_frozen; /**< as the tasks of PlaceBench: losses of TensorFlow r1.3, norms as one op, float32 states, and
                         gradients of all functions read their argument */
    bool samples_on_host; /**< a CPU draws the next token from the logits */
    bool samples_top_p;   /**< else the device does, from the most likely ones */
    bool has_master; /**< float32 copies of weights of another element type, with Adam */
    bool updates_on_host; /**< Adam's states and the update are a host's */
    bool
        caches_on_host; /**< caches of keys and values are a host's, and stream to their readers */
    bool
        recomputes; /**< layers keep only their input, and run again for their gradients */
    emp_weight_home home;
    int32_t
        ahead; /**< layers whose weights are streamed before their turn: 1 = double buffers, 0 = a matrix leaves its home when
                      the op before its reader is done */
} emp_transformer_step;

/** Tokens of each sequence in a micro-batch. */
int64_t emp_transformer_round_tokens(const emp_transformer_step *step);
/** Number of micro-batches that prompts are read in. */
int64_t emp_transformer_rounds(const emp_transformer_step *step);

/** The text before the number of a round in names. */
#define EMP_TAPE_ROUND "/ubatch_"

enum { EMP_TAPE_INPUTS = 8, EMP_TAPE_NAME_BYTES = 192 };

/** The text behind the name of an op that runs again. */
#define EMP_TAPE_AGAIN "/recompute"

/** The kind of a note; each kind has a function that goes back over it. */
typedef enum {
    EMP_NOTE_LINEAR,
    EMP_NOTE_CONVOLUTION,
    EMP_NOTE_LOOKUP,
    EMP_NOTE_FUSED, /**< a gradient op of (dy, all inputs) gives all inputs' gradients */
    EMP_NOTE_SAME,  /**< a gradient op of (dy, x), or of dy alone */
    EMP_NOTE_VIEW,
    EMP_NOTE_PIECE, /**< a part of a split */
    EMP_NOTE_SLICE, /**< columns, by themselves */
    EMP_NOTE_JOIN,
    EMP_NOTE_SPREAD, /**< one row for all heads */
    EMP_NOTE_ADD,
    EMP_NOTE_MUL,
    EMP_NOTE_ATTENTION,
    EMP_NOTE_CHOICE, /**< of keys, trained by a loss of its own */
    EMP_NOTE_ROUTE,
    EMP_NOTE_EXPERTS,
    EMP_NOTE_COMBINE,
    EMP_NOTE_CAST,
    EMP_NOTE_LOSS
} emp_note_kind;

typedef struct {
    emp_note_kind kind;
    const char   *name; /**< of the op, in the arena */
    int32_t       unit;
    emp_op_id     op;
    emp_port      input[EMP_TAPE_INPUTS];
    int32_t       input_count;
    emp_op_attrs  attrs;
    const char   *gradient; /**< type of the gradient op, of FUSED and SAME */
    int32_t       first_piece, piece_count; /**< of PIECE: notes of the same split */
    int64_t       first_column;             /**< of SLICE */
    int32_t       stage;                    /**< that it is in, where stages stream */
} emp_note;

typedef enum {
    EMP_WEIGHT_TRAINED, /**< by its gradient */
    EMP_WEIGHT_RULED, /**< a parameter that a rule changes by its load, without a gradient */
    EMP_WEIGHT_FROZEN, /**< a parameter that stays as it is */
    EMP_WEIGHT_FIXED   /**< no parameter */
} emp_weight_kind;

typedef struct {
    emp_op_id       variable;
    int32_t         unit;
    emp_weight_kind kind;
} emp_tape_weight;

/** Ops and notes of a layer that runs again: [first, end). */
typedef struct {
    emp_op_id first_op, end_op;
    int32_t   first_note, end_note;
    emp_port  input;
} emp_tape_segment;

typedef struct emp_tape emp_tape;

/** Where a weight's element type comes from; NULL: the step's. */
typedef struct {
    emp_status (*find)(const void *context, const char *name, const emp_shape *shape,
                       emp_dtype *dtype, emp_error *err);
    const void *context;
} emp_weight_types;

struct emp_tape {
    emp_graph_builder          *builder;
    emp_error                  *err;
    emp_status                  status;
    const emp_transformer_step *step;  /**< Borrowed. */
    const emp_weight_types     *types; /**< Borrowed; NULL: all of the step's */
    emp_arena                   names;
    emp_strmap                  weight_of_name;
    bool scales_in_float32; /**< norms that are trained have their weights' product so */
    int32_t unit_count;
    int32_t round; /**< of the ops that follow, whose names have it from 1 on */
    uint8_t level; /**< of the ops that follow */

    emp_note        *note;
    int32_t          note_count, note_capacity;
    emp_tape_weight *weight;
    int32_t          weight_count, weight_capacity;

    emp_port *
        mark; /**< [stage begun so far]: an element of its input; only if weights are streamed */
    int32_t  mark_count, mark_capacity;
    emp_port latest; /**< of the ops that have inputs, likewise */

    emp_tape_segment *segment; /**< layers that run again, in order */
    int32_t           segment_count, segment_capacity;

    emp_port
        *gradient; /**< [op of the forward pass, or copy of one]; only while going back */
    int32_t gradient_count, gradient_capacity;
};

/* ---- lifecycle ---- */

emp_status emp_tape_init(emp_tape *t, const emp_transformer_step *step, emp_error *err);
emp_status emp_tape_finish(emp_tape *t, emp_graph **out);
/** Legal after a failed init. */
void emp_tape_clear(emp_tape *t);

void emp_tape_fail(emp_tape *t, emp_status status);
bool emp_tape_is_ok(const emp_tape *t);
/** Whether a backward pass follows. */
bool emp_tape_is_training(const emp_tape *t);

/* ---- parts (tape.c) ---- */

/** A new unit. */
int32_t emp_tape_unit(emp_tape *t);
/** a + b in the arena. */
const char *emp_tape_join_names(emp_tape *t, const char *a, const char *b);

/** An op named \a name, or name/ubatch_1 of the second round; notes nothing. */
emp_port emp_tape_op(emp_tape *t, const char *type, const char *name, int32_t unit,
                     const emp_op_attrs *attrs, const emp_port *inputs, int32_t count);
/** An int32 vector. */
emp_port emp_tape_constant(emp_tape *t, const char *name, const int64_t *values,
                           int32_t count);
/** A number of the step's element type, which nothing trains. */
emp_port emp_tape_factor(emp_tape *t, const char *name);
/** The number of an axis, as the int32 vector that ops read. */
emp_port emp_tape_axis(emp_tape *t, int64_t axis);
emp_port emp_tape_placeholder(emp_tape *t, const char *name, emp_dtype dtype,
                              emp_shape shape);
/** Begins a stage, such as a layer, whose input is \a x. With `ahead` above 0, matrices that are streamed to a
 * stage leave their home when the input of the stage `ahead` stages before it is done, so that 1 + ahead stages have buffers. */
void emp_tape_stage(emp_tape *t, emp_port x);
/** The weight of that name, made once. Weights that share a name are one and need one unit. A matrix whose home is not its
 * reader's device has a unit of its own, and the port belongs to an op that streams it. */
emp_port emp_tape_weight_of(emp_tape *t, const char *name, emp_shape shape, int32_t unit,
                            emp_weight_kind kind);
/** An op in the home of \a x, of unit \a unit, whose output is copied to its reader when the turn of its stage comes. */
emp_port emp_tape_stream(emp_tape *t, const char *name, emp_port x, int32_t unit);
/** A table that is looked up where it is, whatever the home of matrices. */
emp_port emp_tape_table(emp_tape *t, const char *name, emp_shape shape, int32_t unit);
/** The unit of the weight of that name; -1: there is none. */
int32_t   emp_tape_unit_of(const emp_tape *t, const char *weight);
emp_shape emp_tape_shape(const emp_tape *t, emp_port port);
int64_t   emp_tape_size(const emp_tape *t, emp_port port, int32_t dim);
/* ---- the forward pass (forward.c) ---- */

/** x W' (+ b): weights NAME.weight [size, last size of x] and NAME.bias. */
emp_port emp_tape_linear(emp_tape *t, const char *name, emp_port x, int64_t size,
                         bool has_bias);
/** The same by a weight that is there already: tied heads. */
emp_port emp_tape_linear_by(emp_tape *t, const char *name, emp_port x, emp_port weight,
                            int32_t unit);
/** x [batch, channels, frames] by NAME.weight [size, channels, taps] and NAME.bias, with taps/2 zeros at each end. */
emp_port emp_tape_convolution(emp_tape *t, const char *name, emp_port x, int64_t size,
                              int32_t taps, int32_t stride);
/** Rows of a table; the table's unit is the op's. */
emp_port emp_tape_lookup(emp_tape *t, const char *name, emp_port table, emp_port rows,
                         int32_t unit);
/** An op whose gradient op, of type TYPEGrad and with the same attributes, reads dy and all inputs and
 * gives the gradients of all inputs. */
emp_port emp_tape_fused(emp_tape *t, const char *name, const char *type, int32_t unit,
                        const emp_op_attrs *attrs, const emp_port *inputs, int32_t count);
/** A norm over the last dimension; type RMSNorm or LayerNorm. In training an RMS norm is the ops that transformers has, as
 * PyTorch has one op for a layer norm alone. */
emp_port emp_tape_norm(emp_tape *t, const char *name, const char *type, emp_port x,
                       bool has_weight, bool has_bias);
/** An element-wise op of one input, whose gradient op reads dy and x, or the result where PyTorch keeps that. */
emp_port emp_tape_map(emp_tape *t, const char *name, const char *type,
                      const char *gradient, emp_port x);
emp_port emp_tape_add(emp_tape *t, const char *name, emp_port x, emp_port y);
/** The same sum by an op that adds y to x where x is, if nothing reads x afterwards. */
emp_port emp_tape_add_to(emp_tape *t, const char *name, emp_port x, emp_port y);
emp_port emp_tape_mul(emp_tape *t, const char *name, emp_port x, emp_port y);
/** x by a factor that a weight NAME [size] gives each column. */
emp_port emp_tape_scale(emp_tape *t, const char *name, emp_port x, int64_t size,
                        emp_weight_kind kind);
/** The same by a weight that is there already. */
emp_port emp_tape_scale_by(emp_tape *t, const char *name, emp_port x, emp_port weight,
                           int32_t unit);
emp_port emp_tape_view(emp_tape *t, const char *name, emp_port x, emp_shape shape);
/** Parts of the last dimension, as views. */
void emp_tape_split(emp_tape *t, const char *name, emp_port x, const int64_t *sizes,
                    int32_t count, emp_port *parts);
/** \a size columns of x [rows, columns] from number \a first on, as a view. Its gradient is as wide as x, with zeros. */
emp_port emp_tape_slice(emp_tape *t, const char *name, emp_port x, int64_t first,
                        int64_t size);
/** Two tensors, one behind the other in the last dimension. */
emp_port emp_tape_concat(emp_tape *t, const char *name, emp_port x, emp_port y);
/** [..., 1, size] for all \a heads, as a view. */
emp_port emp_tape_spread(emp_tape *t, const char *name, emp_port x, int64_t heads);
/** Attention to all keys, or to those whose numbers are \a chosen, which may be EMP_TAPE_NONE, and so may the sinks. */
emp_port emp_tape_attention(emp_tape *t, const char *name, int32_t unit,
                            const emp_op_attrs *attrs, emp_port q, emp_port k, emp_port v,
                            emp_port chosen, emp_port sinks);
/** Trains the heads that chose keys, \a index (queries, keys, and their weights, which may be EMP_TAPE_NONE), by what
 * attention of q to k gives the \a chosen ones. Adds nothing to the forward pass. */
void emp_tape_train_choice(emp_tape *t, const char *name, int32_t unit,
                           const emp_op_attrs *attrs, const emp_port index[3],
                           emp_port chosen, emp_port q, emp_port k);
/** x, through which no gradient goes back. */
emp_port emp_tape_detach(emp_tape *t, const char *name, emp_port x);
/** The chosen experts of each token: output 0 weights, output 1 numbers. The bias of the choice, if
 * there is one, is changed by the load of experts. */
emp_port emp_tape_route(emp_tape *t, const char *name, emp_port logits, emp_port bias,
                        int32_t chosen);
/** The same where numbers [tokens, chosen] say which experts each token has. */
emp_port emp_tape_route_to(emp_tape *t, const char *name, emp_port logits,
                           emp_port numbers, int32_t chosen);
/** Rows by the weights NAME.weight [experts, size, last size of x] of their experts. */
emp_port emp_tape_experts(emp_tape *t, const char *name, emp_port rows, emp_port route,
                          int64_t experts, int64_t size, bool has_bias);
emp_port emp_tape_combine(emp_tape *t, const char *name, emp_port rows, emp_port route);
/** The mean over rows of the cross entropies; what a step fetches. Decoders of Hugging Face take it \a in_float32, models with an
 * encoder in the step's element type. */
void emp_tape_loss(emp_tape *t, const char *name, emp_port logits, emp_port labels,
                   bool in_float32);

/* ---- layers that run again (recompute.c) ---- */

/** Begins and ends what runs again as a whole, from \a x; nothing happens in a step that does not recompute. */
void emp_tape_begin_segment(emp_tape *t, emp_port x);
void emp_tape_end_segment(emp_tape *t);
/** Adds the ops of a segment again, behind the gradient of its last one, for the gradients of the others. */
void emp_tape_recompute(emp_tape *t, const emp_tape_segment *segment);

/** Holds the input of a segment until all its gradients are there, as the closure of a checkpoint does. */
void emp_tape_hold_input(emp_tape *t, const emp_tape_segment *segment);

/* ---- the backward pass and the update (backward.c) ---- */

/** Streams a weight whose home is a host for the way back, once. */
emp_port emp_tape_stream_back(emp_tape *t, emp_port weight);
/** True if autograd keeps the result of the function whose gradient has that type; of others it keeps the argument. */
bool emp_tape_keeps_result(const char *gradient);
/** Makes room for the gradients of all ops so far. */
void emp_tape_grow_gradients(emp_tape *t);

/** Adds the gradients that the losses have in all weights. */
void emp_tape_differentiate(emp_tape *t);
/** Adds an update for each trained weight, and marks it as what a step runs. */
void emp_tape_update(emp_tape *t);

#endif /* EMP_GRAPHS_TRANSFORMER_TAPE_H */
