// SPDX-License-Identifier: Apache-2.0

// Sets of bytes as views make them: runs of equal length at strided distances.
//
// Worked example. Columns 2 and 3 of a 4x8 matrix of f32 at byte 64: four runs
// of 8 bytes, the first at 64 + 8, 32 bytes from one to the next:
//   begin = 72, dims = {(4, 32)}, run = 8, bytes() = 32, end() = 72 + 96 + 8.
// Columns 4 and 5 are begin = 80 with the same dims and run. The two do not
// overlap, although their bounds do; neither contains the other.
//
// Both questions are answered exactly where the distances of one region are
// multiples of the other's, as they are for parts of one tensor. Elsewhere
// `overlaps` says yes and `contains` says no.

#ifndef WEFT_LIB_VERIFY_PLAN_BYTESET_H
#define WEFT_LIB_VERIFY_PLAN_BYTESET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace mlir::weft::proof {

struct ByteSet {
  struct Dim {
    int64_t size, stride;
    bool operator==(const Dim &other) const {
      return size == other.size && stride == other.stride;
    }
  };
  int64_t begin = 0;
  /// Largest stride first; no size is 1.
  llvm::SmallVector<Dim, 2> dims;
  /// Length of a run; 0 for no bytes at all.
  int64_t run = 0;

  /// Makes the region of a view that begins at byte `begin`; strides are in
  /// elements of `elementBytes`.
  static ByteSet get(int64_t begin, llvm::ArrayRef<int64_t> sizes,
                     llvm::ArrayRef<int64_t> strides, int64_t elementBytes);

  int64_t bytes() const;
  /// The byte past the last one.
  int64_t end() const;
  bool operator==(const ByteSet &other) const {
    return begin == other.begin && dims == other.dims && run == other.run;
  }
};

/// Says whether a byte is in both.
bool overlaps(const ByteSet &a, const ByteSet &b);
/// Says whether all bytes of `inner` are in `outer`.
bool contains(const ByteSet &outer, const ByteSet &inner);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PLAN_BYTESET_H
