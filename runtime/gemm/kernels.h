// SPDX-License-Identifier: Apache-2.0

// What an instruction set provides: packers that bring pieces of A and B into
// the layout of its microkernel, and the microkernel, which computes one small
// tile of C over one block of K. Everything else is shared.

#ifndef WEFT_RT_GEMM_KERNELS_H
#define WEFT_RT_GEMM_KERNELS_H

#include "weft-rt/abi.h"

#include <cstdint>

namespace weft::rt::detail {

/// One tile: `rows` x `cols` sums over `steps` steps, written to `c` (row
/// stride ldc, in elements of the accumulator) or added to it. A is addressed
/// as a + row * aRow + step * aStep, B's row of a step as b + step * bStep, all
/// in bytes; a step is KernelSet::kPerStep elements of K.
struct TileArgs {
  int64_t steps;
  const void *a;
  int64_t aRow, aStep;
  const void *b;
  int64_t bStep;
  void *c;
  int64_t ldc;
  int rows, cols;
  bool add;
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
  int64_t ld; // in elements
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
  bool lanesA;    // A may be packed by packLanes; else always by packRows
  bool directB;   // whole panels of B may be used in place
  int directRows; // A may be used in place by tiles of a multiple of this

  void (*begin)(); // before the tiles of a rectangle, or null
  void (*end)();
  void (*tile)(const TileArgs &);
  /// [step][lane], the elements of a step together.
  void (*packLanes)(const PackArgs &);
  /// [lane][k].
  void (*packRows)(const PackArgs &);
  void (*flush)(const FlushArgs &);

  constexpr int stepBytes() const { return kPerStep * operandBytes; }
};

extern const KernelSet kScalarF32, kScalarF64;
#ifdef WEFT_GEMM_X86
extern const KernelSet kAvx2F32, kAvx2F64;
extern const KernelSet kAvx512F32, kAvx512F64;
extern const KernelSet kAvx512Bf16;
extern const KernelSet kAmxBf16;
#endif

} // namespace weft::rt::detail

#endif // WEFT_RT_GEMM_KERNELS_H
