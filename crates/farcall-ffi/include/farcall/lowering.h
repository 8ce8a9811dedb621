/* Lowerings of libraries that are not written with farcall-ffi.
 *
 * A block is a part of a program with a tag, options, inputs, outputs and a default body: a
 * stablehlo.composite, as made by jax.lax.composite. While farcall compiles a program, it calls the lowerings
 * for the tag of each block. A lowering replaces the block with a custom call, or skips the block and gives a
 * reason.
 *
 * A library exports its lowerings as a table, which farcall reads when it loads the library:
 *
 *   static void lower(farcall_lower_question *question) {
 *     if (question->operand_count != 1 || farcall_operand(question, 0)->dtype != FARCALL_F32) {
 *       question->skip(question->host, farcall_text("it takes one operand, of f32"));
 *       return;
 *     }
 *     farcall_lower_call call = {sizeof call};
 *     call.target = farcall_text("my_target");
 *     question->call(question->host, &call);
 *   }
 *
 *   const farcall_lowering_table *farcall_lowerings_v1(void) {
 *     static farcall_lowering entry;
 *     static farcall_lowering_table table = {sizeof table, &entry, 1, sizeof entry};
 *     entry.tag = farcall_text("my.tag");
 *     entry.lower = lower;
 *     return &table;
 *   }
 *
 * The targets that lowerings call are registered as usual: through XLA_FFI_GetApi, or by the names of their
 * symbols.
 *
 * Rules. A lowering calls one of skip, call and fail before it returns. A pointer that one side passes to a
 * function of the other is only valid until this function returns. The answer must only depend on the
 * question. A lowering may be called from any thread, and from several threads at once. All texts are UTF-8,
 * without a terminating null character. struct_size is the size of the struct as its writer knows it; members
 * are only added at the end, so a library works with every later farcall. Members that are zero mean "not
 * given".
 */
#ifndef FARCALL_LOWERING_H_
#define FARCALL_LOWERING_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A text or other bytes; has the layout of XLA_FFI_ByteSpan. */
typedef struct {
  const char *ptr;
  size_t len;
} farcall_span;

/* Element types: a subset of XLA_FFI_DataType, with the same numbers. */
enum {
  FARCALL_PRED = 1,
  FARCALL_S8 = 2,
  FARCALL_S16 = 3,
  FARCALL_S32 = 4,
  FARCALL_S64 = 5,
  FARCALL_U8 = 6,
  FARCALL_U16 = 7,
  FARCALL_U32 = 8,
  FARCALL_U64 = 9,
  FARCALL_F16 = 10,
  FARCALL_F32 = 11,
  FARCALL_F64 = 12,
  FARCALL_C64 = 15,
  FARCALL_BF16 = 16,
  FARCALL_C128 = 18
};

/* The type of an operand or a result. */
typedef struct {
  int32_t dtype;
  uint32_t reserved;
  size_t rank;
  const int64_t *dims; /* rank sizes */
} farcall_template;

/* A name and a text, such as "eps" and "1.000000e-05 : f32". */
typedef struct {
  farcall_span name;
  farcall_span text;
} farcall_named_text;

/* Element type of the operand or result with this index, if it is not the block's. */
typedef struct {
  size_t index;
  int32_t dtype;
  uint32_t reserved;
} farcall_numbered_type;

/* Layout in memory of the operand or result with this index: its dimensions, from the fastest-varying to the
 * slowest. */
typedef struct {
  size_t index;
  const int64_t *minor_to_major;
  size_t rank;
} farcall_numbered_layout;

/* A result in the memory of an operand. */
typedef struct {
  size_t result;
  size_t operand;
} farcall_alias;

/* A custom call that replaces a block. Operands and results that are not mentioned have the block's types and
 * a row-major layout. If the target is not registered for the platform, the block is skipped. */
typedef struct {
  size_t struct_size;
  farcall_span target;
  const void *values; /* attributes as XLA_FFI_Attrs *, or null */
  const farcall_named_text *attributes; /* further attributes, as text in MLIR's syntax: "42 : i64" */
  size_t attribute_count;
  const farcall_numbered_type *operand_types; /* operands that are converted */
  size_t operand_type_count;
  const farcall_numbered_type *result_types; /* results that are converted back */
  size_t result_type_count;
  const farcall_numbered_layout *operand_layouts;
  size_t operand_layout_count;
  const farcall_numbered_layout *result_layouts;
  size_t result_layout_count;
  const farcall_alias *aliases;
  size_t alias_count;
  uint32_t has_side_effect; /* nonzero if the call has effects besides its results */
  uint32_t reserved;        /* 0 */
} farcall_lower_call;

/* A block to be lowered, and the functions to answer with. */
typedef struct {
  size_t struct_size;
  farcall_span tag;
  int64_t version;            /* version of the tag's meaning */
  const void *values;         /* options that XLA's C interface can represent, as XLA_FFI_Attrs * */
  const farcall_named_text *options; /* all options, as text in MLIR's syntax, text_stride bytes apart */
  size_t option_count;
  const farcall_named_text *client_options; /* options of the engine, such as "denormals" and "ieee" */
  size_t client_option_count;
  size_t text_stride;
  const farcall_template *operands; /* tensor_stride bytes apart */
  size_t operand_count;
  const farcall_template *results;
  size_t result_count;
  size_t tensor_stride;
  farcall_span platform; /* the program is compiled for this platform: "Host", "CUDA" */
  farcall_span engine;   /* "farcall" */
  farcall_span engine_version;
  void *host; /* first argument of the functions below */
  void (*fail)(void *host, farcall_span message); /* compilation fails with this message */
  void (*skip)(void *host, farcall_span reason);
  void (*call)(void *host, const farcall_lower_call *call);
} farcall_lower_question;

/* A lowering of a library. */
typedef struct {
  farcall_span tag;
  farcall_span platform; /* platform of the programs to be lowered; empty for any */
  void (*lower)(farcall_lower_question *question);
} farcall_lowering;

/* The lowerings of a library. */
typedef struct {
  size_t struct_size;
  const farcall_lowering *lowerings; /* lowering_stride bytes apart */
  size_t lowering_count;
  size_t lowering_stride;
} farcall_lowering_table;

/* The function that the library exports. The table stays valid as long as the library is loaded. */
const farcall_lowering_table *farcall_lowerings_v1(void);

/* Converts a null-terminated text. */
static inline farcall_span farcall_text(const char *text) {
  farcall_span span;
  span.ptr = text;
  span.len = strlen(text);
  return span;
}

static inline int farcall_equal(farcall_span span, const char *text) {
  return span.len == strlen(text) && memcmp(span.ptr, text, span.len) == 0;
}

static inline const farcall_template *farcall_operand(const farcall_lower_question *question, size_t i) {
  return (const farcall_template *)((const char *)question->operands + i * question->tensor_stride);
}

static inline const farcall_template *farcall_result(const farcall_lower_question *question, size_t i) {
  return (const farcall_template *)((const char *)question->results + i * question->tensor_stride);
}

/* Returns the text of an option of the block; ptr is null if the block has no such option. */
static inline farcall_span farcall_option(const farcall_lower_question *question, const char *name) {
  farcall_span none = {0, 0};
  size_t i;
  for (i = 0; i < question->option_count; i++) {
    const farcall_named_text *option =
        (const farcall_named_text *)((const char *)question->options + i * question->text_stride);
    if (farcall_equal(option->name, name)) return option->text;
  }
  return none;
}

#ifdef __cplusplus
}
#endif

#endif /* FARCALL_LOWERING_H_ */
