/* SPDX-License-Identifier: Apache-2.0 */

/* The seam between a compiled step and the runtime: everything that compiled
 * code may call, and everything that it exports. C11, standalone, versioned.
 *
 * A compiled step is a shared object (or an object linked into an executable)
 * that defines one symbol, `weft_program`, a constant table. It says what the
 * step takes and gives (global shapes, types, shardings), which mesh and
 * channels it was compiled for, how much memory a rank needs, and where it
 * starts. The runtime owns threads, memory and communication; the program owns
 * nothing and allocates nothing.
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

/* Raised whenever a struct or function below changes its meaning or layout.
 * The runtime refuses a program of another version. */
#define WEFT_RT_ABI_VERSION 4

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

/* ---- manifest -------------------------------------------------------- */

/* A mesh axis. */
typedef struct weft_rt_axis {
  const char *name;
  int64_t size;
} weft_rt_axis;

/* One (sub-)axis. A full axis has pre = 1 and size = the axis' size. A
 * sub-axis "tp":(pre)size splits the coordinate c along the axis as
 * c = (hi * size + mid) * post + lo with hi in [0, pre); it means `mid`. */
typedef struct weft_rt_axis_ref {
  int32_t axis; /* index in weft_rt_program.axes */
  int64_t pre;
  int64_t size;
} weft_rt_axis_ref;

/* The axes that shard one dimension, major first. A dimension of n elements
 * over t = product of sizes shards is cut in chunks of ceil(n / t); a rank's
 * chunk index is the mixed-radix number of its coordinates. The last chunks
 * may be short or empty; local buffers have the full chunk size, and what lies
 * past the end is unspecified. */
typedef struct weft_rt_dim_sharding {
  int32_t num_axes;
  const weft_rt_axis_ref *axes;
} weft_rt_dim_sharding;

/* An argument or a result of the step. Layout of local buffers: row-major,
 * dense. */
typedef struct weft_rt_tensor {
  const char *name; /* weft.name, unique among arguments, and among results */
  weft_rt_type type;
  int32_t rank;
  const int64_t *shape;       /* global */
  const int64_t *local_shape; /* what one rank holds: ceil(shape / shards) */
  const weft_rt_dim_sharding *sharding; /* `rank` entries */
  int32_t alias; /* results: the donated argument that this is, or -1.
                    arguments: the result that takes its place, or -1 */
} weft_rt_tensor;

/* A communicator and its stream: the ranks that differ only in the
 * coordinates along `axes` form one group. Within a group, members are ordered
 * by the mixed-radix number of those coordinates, first axis major. */
typedef struct weft_rt_channel {
  const char *name; /* e.g. "gather.fsdp" */
  int32_t num_axes;
  const weft_rt_axis_ref *axes;
} weft_rt_channel;

/* ---- calls ------------------------------------------------------------ */

/* The rank that runs the program. The first fields are read by compiled code;
 * the rest is the runtime's. */
typedef struct weft_rt_rank {
  int64_t rank; /* 0 .. num_ranks - 1 */
  void *session;
} weft_rt_rank;

/* One operand of a (grouped) collective. Every buffer is seen as
 * [outer][extent][inner] with dense row-major layout, where `extent` is the
 * dimension that is gathered, scattered or split, in elements. Let g be the
 * group's size.
 *   ALL_GATHER      in [outer][extent][inner], out [outer][g * extent][inner]
 *   REDUCE_SCATTER  in [outer][g * extent][inner], out [outer][extent][inner]
 *   ALL_REDUCE      outer = inner = 1, extent elements in and out
 *   ALL_TO_ALL      the local tensor is seen as [outer][g * extent][inner] and
 *                   is cut in g pieces along `extent`; piece j goes to member
 *                   j. Out is seen as [outer2][g * extent2][inner2]; the piece
 *                   from member i, itself [outer][extent][inner] row-major with
 *                   the same elements, lands as the i-th block
 *                   along extent2. `outer * extent * inner` =
 *                   `outer2 * extent2 * inner2`.
 *   PERMUTE         extent elements; member `source_of[i]` sends to member i,
 *                   -1: member i receives zeros.
 * `in` and `out` never overlap, except that they may be equal for ALL_REDUCE.
 */
typedef struct weft_rt_operand {
  weft_rt_type type;
  int64_t outer, extent, inner;
  int64_t outer2, extent2, inner2; /* ALL_TO_ALL only */
} weft_rt_operand;

/* A collective, constant data of the program. All members of the group pass
 * equal descriptors. */
typedef struct weft_rt_collective {
  weft_rt_collective_kind kind;
  weft_rt_reduction reduction;
  int32_t channel; /* index in weft_rt_program.channels */
  int32_t num_operands;
  const weft_rt_operand *operands;
  const int32_t *source_of; /* PERMUTE: one entry per member */
  const char *name;         /* for diagnostics, e.g. "all_gather wq" */
  /* REDUCE_SCATTER, ALL_REDUCE: 0: one sum in the order of members, rounded
   * once. 1: members' parts join in a binary tree, and each join is rounded to
   * the operand's type: n parts are the tree of the first m and the tree of the
   * rest, where m is the largest power of two below n. */
  int32_t tree;
} weft_rt_collective;

#define WEFT_RT_GEMM_MAX_DIMS 8

typedef enum weft_rt_gemm_role {
  WEFT_RT_GEMM_BATCH = 0, /* in A, B and C */
  WEFT_RT_GEMM_M = 1,     /* in A and C */
  WEFT_RT_GEMM_N = 2,     /* in B and C */
  WEFT_RT_GEMM_K = 3      /* in A and B: summed */
} weft_rt_gemm_role;

/* One dimension of a contraction; strides in elements (unused ones are 0). */
typedef struct weft_rt_gemm_dim {
  int32_t role;
  int64_t size;
  int64_t stride_a, stride_b, stride_c;
} weft_rt_gemm_dim;

/* C = A * B, or C += A * B. Types: operands of f32 and bf16 in any combination
 * -> f32 or bf16, f16 x f16 -> f32 or f16, f64 x f64 -> f64. Sums are f32 (f64
 * for f64), rounded to C's type once (but see `rounded`). Any number of
 * dimensions of each role (K may be empty: an outer product; a K of size 0
 * gives zeros). Strides are at least 0; C's strides address each element of C
 * once. C does not overlap A or B. */
typedef struct weft_rt_gemm {
  weft_rt_type type_a, type_b, type_c;
  int32_t accumulate; /* 1: C += A * B */
  /* 0: any order of summation. n > 0: the declared one: the flattened K is cut
   * in n equal leaves, which join in a binary tree; see runtime/gemm/gemm.h. n
   * divides K's size. */
  int32_t leaves;
  int32_t rounded; /* 1: leaves and joins are rounded to C's type */
  int32_t num_dims;
  weft_rt_gemm_dim dims[WEFT_RT_GEMM_MAX_DIMS];
} weft_rt_gemm;

/* Compiled code for one fused loop nest. `begin` and `end` bound its outermost
 * parallel loop, so that the runtime may cut it over threads; chunks touch
 * disjoint outputs. */
typedef void (*weft_rt_kernel)(void *const *buffers, int64_t begin,
                               int64_t end);

/* An op of the program that takes time, as people know it: its name stands in
 * the schedule, in the simulator, and in traces and profiles of runs. */
typedef struct weft_rt_op {
  const char *name; /* e.g. "all_gather params.wq"; of a wait: what for */
} weft_rt_op;

/* What the runtime gives to the program. No function returns after a failure:
 * the runtime unwinds the rank to where it entered the program. `op` is an
 * index in weft_rt_program.ops, or -1 for an op without a name. */
typedef struct weft_rt_api {
  uint32_t abi_version;
  uint32_t struct_size;

  /* Contraction; see weft_rt_gemm. Blocks. */
  void (*gemm)(weft_rt_rank *, int32_t op, const weft_rt_gemm *, const void *a,
               const void *b, void *c);

  /* Runs kernel over [0, extent), in chunks of at least `grain` iterations,
   * on the rank's threads. Blocks. */
  void (*launch)(weft_rt_rank *, int32_t op, weft_rt_kernel kernel,
                 void *const *buffers, int64_t extent, int64_t grain);

  /* Begins a collective on its channel and returns a ticket. Collectives of one
   * channel run in the order of their starts, those of different channels
   * beside each other and beside what the program computes. `in` and `out` hold
   * num_operands pointers, and are read before the call returns; the buffers
   * that they point to belong to the runtime until the wait: `in` must not be
   * written, `out` neither read nor written. A rank may have 1024 collectives
   * in flight. */
  int64_t (*start)(weft_rt_rank *, int32_t op, const weft_rt_collective *,
                   const void *const *in, void *const *out);

  /* Blocks until the collective behind the ticket is done. Exactly once per
   * ticket, in any order, before the step ends. */
  void (*wait)(weft_rt_rank *, int32_t op, int64_t ticket);

  /* Ends the step on all ranks with a message (copied). */
  void (*fail)(weft_rt_rank *, const char *message);
} weft_rt_api;

/* Runs one step on one rank. `args` and `results` hold one local buffer per
 * manifest entry, aligned to 64 bytes; a result that aliases an argument has
 * the same pointer as the argument. `arena` holds arena_bytes, aligned to 64
 * bytes; its contents need not survive the step. */
typedef void (*weft_rt_entry)(const weft_rt_api *, weft_rt_rank *,
                              void *const *args, void *const *results,
                              void *arena);

/* Bytes moved by a step, per kind of collective, as a rank receives them:
 * all_gather and reduce_scatter (g-1)/g of the full buffer, all_reduce twice
 * that, all_to_all (g-1)/g of the local buffer, permute the local buffer. */
typedef struct weft_rt_traffic {
  weft_rt_collective_kind kind;
  const char *channel;
  int64_t count; /* operands moved */
  int64_t bytes; /* per rank and step */
} weft_rt_traffic;

/* The one exported symbol of a compiled step. */
typedef struct weft_rt_program {
  uint32_t abi_version;
  uint32_t struct_size;
  const char *name; /* the function's name in the source */
  int32_t num_ranks;
  int32_t num_axes;
  const weft_rt_axis *axes;
  int32_t num_args;
  const weft_rt_tensor *args;
  int32_t num_results;
  const weft_rt_tensor *results;
  int32_t num_channels;
  const weft_rt_channel *channels;
  int32_t num_traffic;
  const weft_rt_traffic *traffic;
  int32_t num_ops;
  const weft_rt_op *ops;
  int32_t max_operands;  /* of a collective */
  int64_t arena_bytes;   /* per rank, arguments and results not included */
  uint8_t plan_hash[32]; /* equal on all ranks, or nothing starts */
  /* What the bits of results depend on (JSON), or null: not proved. Programs
   * with equal certificates give equal bits. */
  const char *certificate;
  /* The processor that the code was made for, as LLVM names it, and what the
   * code may use of it beyond every processor of the architecture: LLVM's names
   * of features, with commas between them. Null: the code does not say. */
  const char *cpu;
  const char *features;
  /* SHA-256 over this table with all that it points to, without addresses: the
   * fields in their order, in this machine's byte order, without padding; for a
   * pointer a byte 0 if it is null, 2 if it points to code, and else a byte 1,
   * the number of elements in 8 bytes, and the elements; a string's elements
   * are its bytes and the 0 at its end. This field counts as zeros. All zeros,
   * as in a table that was written by hand: there is no checksum. */
  uint8_t checksum[32];
  weft_rt_entry entry;
} weft_rt_program;

extern const weft_rt_program weft_program;

#ifdef __cplusplus
}
#endif

#endif /* WEFT_RT_ABI_H */
