/* SPDX-License-Identifier: Apache-2.0 */

/* The seam between a compiled step and the runtime: everything that compiled
 * code may call, and everything that it exports. C11, standalone, versioned.
 *
 * A compiled step is a shared object (or an object linked into an executable)
 * that defines one symbol, `weft_program`, a constant table. It says what the
 * step takes and gives (global shapes, types, shardings), which mesh, channels
 * and backend it was compiled for, which kernels it launches, how much memory a
 * rank needs, and where it starts. The runtime owns threads, memory and
 * communication; the program owns nothing and allocates nothing.
 *
 * This file has the types of fields; the structs themselves, and the functions
 * that the program may call, are listed with their meaning in weft-rt/abi.def.
 *
 * Example: a step on the mesh dp=2, tp=4 with a weight 256x512 f32 sharded
 * [{}, {"tp"}] has num_ranks 8, and for the weight shape {256, 512},
 * local_shape {256, 128}, shard lists {} and {{axis 1, pre 1, size 4}}. Rank r
 * has coordinates (r / 4, r % 4): rank ids are row-major over the mesh axes.
 */

#ifndef WEFT_RT_ABI_H
#define WEFT_RT_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a struct or function changes its meaning or layout. The
 * runtime refuses a program of another version. */
#define WEFT_RT_ABI_VERSION 9

/* A file that was linked by weft-compile ends with the SHA-256 of all bytes
 * before it, and these letters. */
#define WEFT_RT_FILE_MARK "weft-file-sha256"

/* Element types. Values are stable; they are stored in artifacts.
 * Sub-byte types are packed, low bits first. I1 is stored as one byte, 0 or 1.
 */
typedef enum weft_rt_type {
  WEFT_RT_I1 = 0,
  WEFT_RT_I8 = 1,
  WEFT_RT_U8 = 2,
  WEFT_RT_I16 = 3,
  WEFT_RT_U16 = 4,
  WEFT_RT_I32 = 5,
  WEFT_RT_U32 = 6,
  WEFT_RT_I64 = 7,
  WEFT_RT_U64 = 8,
  WEFT_RT_F16 = 9,
  WEFT_RT_BF16 = 10,
  WEFT_RT_F32 = 11,
  WEFT_RT_F64 = 12,
  WEFT_RT_F8E4M3FN = 13,
  WEFT_RT_F8E5M2 = 14,
  WEFT_RT_F8E8M0FNU = 15,
  WEFT_RT_F4E2M1FN = 16,
  WEFT_RT_NUM_TYPES = 17
} weft_rt_type;

/* How values of several ranks are combined. Sums are taken in rank order
 * within the group (lowest rank first): x0 + x1, then + x2, ... For bf16, f16
 * and f8 the running sum is f32 and is rounded once at the end. A collective
 * whose `tree` is 1 sums otherwise; see weft_rt_collective. */
typedef enum weft_rt_reduction {
  WEFT_RT_SUM = 0,
  WEFT_RT_MAX = 1, /* NaN wins, as in arith.maximumf */
  WEFT_RT_MIN = 2, /* NaN wins, as in arith.minimumf */
  WEFT_RT_PROD = 3,
  WEFT_RT_AND = 4, /* integers: bitwise and; I1: logical */
  WEFT_RT_OR = 5
} weft_rt_reduction;

typedef enum weft_rt_collective_kind {
  WEFT_RT_ALL_GATHER = 0,
  WEFT_RT_REDUCE_SCATTER = 1,
  WEFT_RT_ALL_REDUCE = 2,
  WEFT_RT_ALL_TO_ALL = 3,
  WEFT_RT_PERMUTE = 4
} weft_rt_collective_kind;

#define WEFT_RT_GEMM_MAX_DIMS 8
#define WEFT_RT_COPY_MAX_DIMS 8
#define WEFT_RT_ATTENTION_MAX_DIMS 8
#define WEFT_RT_ATTENTION_MAX_HEAD 2048 /* of depth, and of values */

typedef enum weft_rt_gemm_role {
  WEFT_RT_GEMM_BATCH = 0, /* in A, B and C */
  WEFT_RT_GEMM_M = 1,     /* in A and C */
  WEFT_RT_GEMM_N = 2,     /* in B and C */
  WEFT_RT_GEMM_K = 3      /* in A and B: summed */
} weft_rt_gemm_role;

typedef enum weft_rt_attention_role {
  WEFT_RT_ATTENTION_BATCH = 0, /* in all tensors; bias, mask,
                                * segments and seeds may lack it */
  WEFT_RT_ATTENTION_GROUP = 1, /* as that, but keys and values lack it */
  WEFT_RT_ATTENTION_QUERY = 2, /* the sequence of queries; exactly one */
  WEFT_RT_ATTENTION_KEY = 3,   /* the sequence of keys; exactly one */
  WEFT_RT_ATTENTION_DEPTH = 4, /* in queries and keys: summed; exactly one */
  WEFT_RT_ATTENTION_VALUE = 5  /* in values and outputs; exactly one */
} weft_rt_attention_role;

/* The tensors of attention and of its gradient, as positions in the array of
 * pointers that weft_rt_api.attention takes. Null: there is no such tensor. */
typedef enum weft_rt_attention_buffer {
  WEFT_RT_ATTENTION_Q = 0,
  WEFT_RT_ATTENTION_K = 1,
  WEFT_RT_ATTENTION_V = 2,
  WEFT_RT_ATTENTION_BIAS = 3, /* may be null */
  WEFT_RT_ATTENTION_MASK = 4, /* I1; may be null */
  /* I32: where a query's and a key's differ, the query does not see the key.
   * Both or neither may be null. */
  WEFT_RT_ATTENTION_Q_SEGMENTS = 5,
  WEFT_RT_ATTENTION_K_SEGMENTS = 6,
  /* I32, of queries: which keys are dropped. Both or neither may be null. */
  WEFT_RT_ATTENTION_LOW_SEEDS = 7,
  WEFT_RT_ATTENTION_HIGH_SEEDS = 8,
  WEFT_RT_ATTENTION_OUT = 9,
  WEFT_RT_ATTENTION_LSE = 10, /* F32 */
  /* Of the gradient only: the gradient of `out`, and what it gives. */
  WEFT_RT_ATTENTION_DOUT = 11,
  WEFT_RT_ATTENTION_DQ = 12,
  WEFT_RT_ATTENTION_DK = 13,
  WEFT_RT_ATTENTION_DV = 14,
  WEFT_RT_ATTENTION_NUM_BUFFERS = 15
} weft_rt_attention_buffer;

/* The rank that runs the program. The first field is read by compiled code;
 * the rest is the runtime's. */
typedef struct weft_rt_rank {
  int64_t rank; /* 0 .. num_ranks - 1 */
  void *session;
} weft_rt_rank;

/* What the runtime gives to the program: the functions of weft-rt/abi.def. */
typedef struct weft_rt_api weft_rt_api;

/* Compiled code for one fused loop nest. `begin` and `end` bound its outermost
 * parallel loop, so that the runtime may cut it over threads; chunks touch
 * disjoint outputs. */
typedef void (*weft_rt_kernel)(void *const *buffers, const int64_t *scalars,
                               int64_t begin, int64_t end);

/* Runs one step on one rank. `args` and `results` hold one local buffer per
 * manifest entry, aligned to 64 bytes; a result that aliases an argument has
 * the same pointer as the argument. `arena` holds arena_bytes, aligned to 64
 * bytes; its contents need not survive the step. These are addresses in the
 * rank's memory, which may be a device's: the entry computes with them, and
 * only kernels and calls look at what lies there. `host` holds host_bytes of
 * the host's memory, aligned and lived as the arena; only collectives in groups
 * of one rank read or write it. It is null if there are none. */
typedef void (*weft_rt_entry)(const weft_rt_api *, weft_rt_rank *,
                              void *const *args, void *const *results,
                              void *arena, void *host);

#define WEFT_RT_STRUCT(name) typedef struct name {
#define WEFT_RT_NUMBER(type, field) type field;
#define WEFT_RT_TEXT(field) const char *field;
#define WEFT_RT_LIST(type, field, count) const type *field;
#define WEFT_RT_POINTER(type, field) const type *field;
#define WEFT_RT_ARRAY(type, field, size) type field[size];
#define WEFT_RT_BYTES(field, size) uint8_t field[size];
#define WEFT_RT_CODE(type, field) type field;
#define WEFT_RT_END(name)                                                      \
  }                                                                            \
  name;
#include "weft-rt/abi.def"

struct weft_rt_api {
  uint32_t abi_version;
  uint32_t struct_size;
#define WEFT_RT_FUNCTION(result, name, ...)                                    \
  result (*name)(weft_rt_rank *, __VA_ARGS__);
#include "weft-rt/abi.def"
  /* Ends the step on all ranks with a message (copied). */
  void (*fail)(weft_rt_rank *, const char *message);
};

extern const weft_rt_program weft_program;

#ifdef __cplusplus
}
#endif

#endif /* WEFT_RT_ABI_H */
