// SPDX-License-Identifier: Apache-2.0

// What an instruction set provides: packers that bring pieces of A and B into
// the layout of its microkernel, and the microkernel, which computes one small
// tile of C over one block of K. Everything else is shared.

#ifndef WEFT_RT_GEMM_KERNELS_H
#define WEFT_RT_GEMM_KERNELS_H

#include "weft-rt/abi.h"

#include <cstdint>

namespace weft::rt::detail {

/// Sums that wait for others: a tile, and its row stride in elements.
struct Sums {
  void *data;
  int64_t ld;
};

/// Most sums that one tile joins with: one of its own leaf, and one per level
/// of a tree over at most 2^31 leaves.
constexpr int kMaxJoins = 32;

/// One tile: `rows` x `cols` sums over `steps` steps. To each, the sums in
/// `joins` are added, one after the other; the result goes to `to`, which may
/// be one of them. A is addressed as a + row * aRow + step * aStep, B's row of
/// a step as b + step * bStep, all in bytes; a step is KernelSet::kPerStep
/// elements of K.
/// Narrow tiles, of kernels with KernelSet::narrows: what is summed after the
/// first `wideJoins` joins is rounded to bf16; the other joins and `to` are
/// bf16, and each of their sums is rounded.
struct TileArgs {
  int64_t steps;
  const void *a;
  int64_t aRow, aStep;
  const void *b;
  int64_t bStep;
  int rows, cols;
  Sums to;
  const Sums *joins;
  int numJoins;
  bool narrow;
  int wideJoins;
};

/// A tile whose products are summed, in registers as it may be, so that it is
/// stored, joined and rounded while products of the next tile are computed.
struct TileInFlight {
  int rows = 0; // none: nothing is in flight
  int cols = 0;
  bool complete = false; // only has to be stored to `to`
  bool exact = false;    // narrow rows may meet subnormal numbers; stays
  bool narrow = false;
  int wideJoins = 0, numJoins = 0;
  Sums to;
  Sums joins[kMaxJoins];
  void *sums; // for a tile of them
};

/// Rounds sums to `type` and adds `joins`, one after the other, rounding each
/// result to `type`. `to` may be one of the joins.
struct FoldArgs {
  Sums sums; // overwritten
  int64_t rows, columns;
  weft_rt_type type;
  Sums to;
  const Sums *joins;
  int numJoins;
};

/// Copies lanes x k elements src[lane[i] + kOffset[j]], converted to the
/// kernel's operand type. The destination's layout is the packer's; what
/// pads it is zero.
struct PackArgs {
  void *dst;
  int64_t dstStride; // bytes between steps (packLanes) or rows (packRows)
  const void *src;
  weft_rt_type type;
  const int64_t *laneOffset;
  int lanes;
  int paddedLanes; // a multiple of KernelSet::lanes
  const int64_t *kOffset;
  int64_t k;
  bool unitLanes, unitK; // whether the offsets ascend by one
};

/// Finished sums on their way to C: element (r, j) is rounded to c's type and
/// goes to, or is added to, c[row[r] + column[j]].
struct FlushArgs {
  const void *sums;
  bool narrowSums; // bf16
  int64_t ld;      // in elements
  int64_t rows, columns;
  void *c;
  weft_rt_type type;
  const int64_t *row, *column;
  bool unitColumns; // whether `column` ascends by one
  bool add;
};

struct KernelSet {
  int rows;                 // most rows of a tile
  int cols;                 // most columns of a tile
  int lanes;                // packLanes pads to a multiple of this
  int kPerStep;             // elements of K that one step sums
  int kMultiple;            // packed K is padded to a multiple of this
  int operandBytes;         // of one packed element
  int accBytes;             // of one sum
  weft_rt_type operandType; // memory of this type may be used unpacked
  bool lanesA;       // A may be packed by packLanes; else always by packRows
  bool directB;      // whole panels of B may be used in place
  bool spreadsB;     // B that many tiles read is packed, where its rows fall on
                     // few sets of the first-level cache
  int tilesPerBlock; // tiles of rows of A that are packed together
  int directRows;    // A may be used in place by tiles of a multiple of this
  bool narrows;      // tiles may be narrow

  void (*begin)(); // before the tiles of a rectangle, or null
  void (*end)();
  /// May leave the tile in flight.
  void (*tile)(const TileArgs &, TileInFlight &);
  /// Finishes the tile that is in flight; null where none ever is.
  void (*drain)(TileInFlight &);
  /// [step][lane], the elements of a step together.
  void (*packLanes)(const PackArgs &);
  /// [lane][k].
  void (*packRows)(const PackArgs &);
  void (*flush)(const FlushArgs &);
  /// Null where C's type is always the sums', and with `narrows`.
  void (*fold)(const FoldArgs &);

  constexpr int stepBytes() const { return kPerStep * operandBytes; }
};

/// AmxChain: for bf16, with the bits of kAmxBf16.
extern const KernelSet kScalarF32, kScalarF64, kScalarAmxChain;
#ifdef WEFT_GEMM_X86
extern const KernelSet kAvx2F32, kAvx2F64, kAvx2AmxChain;
extern const KernelSet kAvx512F32, kAvx512F64, kAvx512AmxChain;
extern const KernelSet kAvx512Bf16;
extern const KernelSet kAmxBf16;
#endif

} // namespace weft::rt::detail

#endif // WEFT_RT_GEMM_KERNELS_H
