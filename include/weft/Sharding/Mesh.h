// SPDX-License-Identifier: Apache-2.0

// A mesh: the ranks of a job, arranged along named axes; and axis references:
// one axis of a mesh, or a part of one.
//
// Worked example. On the mesh ["dp"=2, "tp"=4] there are 8 ranks; ids are
// row-major, so rank 6 has the coordinates (1, 2). The reference "tp" is
// {axis 1, pre 1, size 4} and rank 6 has coordinate 2 along it. A sub-axis
// "tp":(pre)size cuts the coordinate c along the axis as
// c = (hi * size + mid) * post + lo with hi in [0, pre), and means `mid`:
// rank 6 has coordinate 1 along "tp":(1)2 and 0 along "tp":(2)2. Listed one
// after the other, the two are the whole axis again.
//
// The group of a rank over a list of axes: the ranks that differ from it only
// in the coordinates along these. Its members are ordered by the mixed-radix
// number of those coordinates, first axis major. On the mesh above the group
// of rank 6 over {"tp"} is 4, 5, 6, 7; over {"tp":(1)2, "dp"} it is 0, 4, 2, 6.
//
// Values of these classes are plain data: they know no MLIR, own what they
// hold, and never emit diagnostics. Axis references must fit their mesh, which
// Sharding::validate checks; the queries here assume it.

#ifndef WEFT_SHARDING_MESH_H
#define WEFT_SHARDING_MESH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace mlir::weft {

/// A mesh axis (pre = 1 and size = the axis' size), or a sub-axis.
struct AxisRef {
  int axis = 0;
  int64_t pre = 1;
  int64_t size = 1;

  /// Says whether some coordinate bit is meant by both references.
  bool overlaps(const AxisRef &other) const;

  /// Says whether `other` is this reference or a part of it.
  bool contains(const AxisRef &other) const;

  /// Says whether `minor` continues this reference, as (2)2 does (1)2.
  bool isFollowedBy(const AxisRef &minor) const {
    return axis == minor.axis && pre * size == minor.pre;
  }

  /// Says whether both references can be cut in common parts: their bounds,
  /// put together, divide one another. False for "x":(1)2 and "x":(1)3.
  bool isCompatibleWith(const AxisRef &other) const;

  /// Cuts the reference in its `majorSize` major parts and the rest, major
  /// first. `majorSize` divides the size.
  std::pair<AxisRef, AxisRef> split(int64_t majorSize) const {
    return {{axis, pre, majorSize}, {axis, pre * majorSize, size / majorSize}};
  }

  bool operator==(const AxisRef &other) const { return key() == other.key(); }
  bool operator!=(const AxisRef &other) const { return key() != other.key(); }
  bool operator<(const AxisRef &other) const { return key() < other.key(); }

private:
  std::tuple<int, int64_t, int64_t> key() const { return {axis, pre, size}; }
};

llvm::hash_code hash_value(const AxisRef &ref);

/// Axes in order, major first.
using AxisList = llvm::SmallVector<AxisRef, 2>;

/// Returns the product of the sizes.
int64_t numShards(llvm::ArrayRef<AxisRef> axes);

/// Drops axes of size 1 and joins neighbours that continue each other; keeps
/// the order.
AxisList canonicalAxes(llvm::ArrayRef<AxisRef> axes);

/// Returns the canonical form of a set of axes: sorted, then as above.
AxisList canonicalAxisSet(llvm::ArrayRef<AxisRef> axes);

/// Returns what is left of `axes` without the parts that `removed` means.
/// The references must be compatible.
AxisList subtractAxes(llvm::ArrayRef<AxisRef> axes,
                      llvm::ArrayRef<AxisRef> removed);

/// Says whether any reference of `a` overlaps one of `b`.
bool anyOverlap(llvm::ArrayRef<AxisRef> a, llvm::ArrayRef<AxisRef> b);

/// The ranks of a job, arranged along named axes, row-major.
class Mesh {
public:
  /// Makes a mesh of no axes: one rank.
  Mesh() = default;

  /// Makes a mesh from names and sizes, major axis first.
  explicit Mesh(llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> axes);

  int numAxes() const { return static_cast<int>(sizes.size()); }
  llvm::StringRef axisName(int axis) const { return names[axis]; }
  int64_t axisSize(int axis) const { return sizes[axis]; }

  /// Finds an axis by its name.
  std::optional<int> axisIndex(llvm::StringRef name) const;

  /// Returns the reference to a whole axis.
  AxisRef wholeAxis(int axis) const { return {axis, 1, sizes[axis]}; }

  int64_t numRanks() const;

  /// Returns the coordinate of a rank along an axis or sub-axis.
  int64_t coordinate(int64_t rank, const AxisRef &ref) const;

  /// Returns the rank's position in its group over `axes`: the mixed-radix
  /// number of its coordinates, first axis major.
  int64_t groupIndex(int64_t rank, llvm::ArrayRef<AxisRef> axes) const;

  /// Returns the rank in the group of `rank` over `axes` at position `index`.
  int64_t groupMember(int64_t rank, llvm::ArrayRef<AxisRef> axes,
                      int64_t index) const;

  /// Prints `"tp"` or `"tp":(2)2`.
  void print(llvm::raw_ostream &os, const AxisRef &ref) const;

  /// Prints `{"dp", "tp":(2)2}`.
  void print(llvm::raw_ostream &os, llvm::ArrayRef<AxisRef> axes) const;

  /// Prints `<["dp"=2, "tp"=4]>`.
  void print(llvm::raw_ostream &os) const;

  bool operator==(const Mesh &other) const {
    return names == other.names && sizes == other.sizes;
  }
  bool operator!=(const Mesh &other) const { return !(*this == other); }

private:
  /// The rank-id distance of neighbours along a reference, in ranks.
  int64_t stride(const AxisRef &ref) const;

  llvm::SmallVector<std::string, 4> names;
  llvm::SmallVector<int64_t, 4> sizes;
};

} // namespace mlir::weft

#endif // WEFT_SHARDING_MESH_H
