// SPDX-License-Identifier: Apache-2.0

// Arithmetic on mesh coordinates. A reference is seen as the interval
// [pre, pre * size) of the divisors of its axis: overlap, containment and
// subtraction of references are those of intervals.

#include "weft/Sharding/Mesh.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>
#include <array>

using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// AxisRef
//===----------------------------------------------------------------------===//

bool AxisRef::overlaps(const AxisRef &other) const {
  return axis == other.axis && pre < other.pre * other.size &&
         other.pre < pre * size;
}

bool AxisRef::contains(const AxisRef &other) const {
  return axis == other.axis && isCompatibleWith(other) && pre <= other.pre &&
         other.pre * other.size <= pre * size;
}

bool AxisRef::isCompatibleWith(const AxisRef &other) const {
  if (axis != other.axis)
    return true;
  std::array<int64_t, 4> bounds = {pre, pre * size, other.pre,
                                   other.pre * other.size};
  llvm::sort(bounds);
  for (size_t i = 1; i < bounds.size(); ++i)
    if (bounds[i] % bounds[i - 1] != 0)
      return false;
  return true;
}

llvm::hash_code mlir::weft::hash_value(const AxisRef &ref) {
  return llvm::hash_combine(ref.axis, ref.pre, ref.size);
}

//===----------------------------------------------------------------------===//
// Lists of axes
//===----------------------------------------------------------------------===//

int64_t mlir::weft::numShards(llvm::ArrayRef<AxisRef> axes) {
  int64_t product = 1;
  for (const AxisRef &ref : axes)
    product *= ref.size;
  return product;
}

AxisList mlir::weft::canonicalAxes(llvm::ArrayRef<AxisRef> axes) {
  AxisList result;
  for (const AxisRef &ref : axes) {
    if (ref.size == 1)
      continue;
    if (!result.empty() && result.back().isFollowedBy(ref))
      result.back().size *= ref.size;
    else
      result.push_back(ref);
  }
  return result;
}

AxisList mlir::weft::canonicalAxisSet(llvm::ArrayRef<AxisRef> axes) {
  AxisList sorted(axes.begin(), axes.end());
  llvm::sort(sorted);
  return canonicalAxes(sorted);
}

/// Appends what `removed` leaves of `ref`: nothing, one or two pieces.
static void appendRest(AxisList &result, const AxisRef &ref,
                       const AxisRef &removed) {
  int64_t begin = ref.pre, end = ref.pre * ref.size;
  int64_t cutBegin = std::max(begin, removed.pre);
  int64_t cutEnd = std::min(end, removed.pre * removed.size);
  if (begin < cutBegin)
    result.push_back({ref.axis, begin, cutBegin / begin});
  if (cutEnd < end)
    result.push_back({ref.axis, cutEnd, end / cutEnd});
}

AxisList mlir::weft::subtractAxes(llvm::ArrayRef<AxisRef> axes,
                                  llvm::ArrayRef<AxisRef> removed) {
  AxisList result(axes.begin(), axes.end());
  for (const AxisRef &cut : removed) {
    AxisList rest;
    for (const AxisRef &ref : result) {
      if (ref.overlaps(cut))
        appendRest(rest, ref, cut);
      else
        rest.push_back(ref);
    }
    result = std::move(rest);
  }
  return result;
}

bool mlir::weft::anyOverlap(llvm::ArrayRef<AxisRef> a,
                            llvm::ArrayRef<AxisRef> b) {
  return llvm::any_of(a, [&](const AxisRef &ref) {
    return llvm::any_of(
        b, [&](const AxisRef &other) { return ref.overlaps(other); });
  });
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

Mesh::Mesh(llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> axes) {
  for (const auto &[name, size] : axes) {
    names.push_back(name.str());
    sizes.push_back(size);
  }
}

std::optional<int> Mesh::axisIndex(llvm::StringRef name) const {
  const auto *it = llvm::find(names, name);
  if (it == names.end())
    return std::nullopt;
  return static_cast<int>(it - names.begin());
}

int64_t Mesh::numRanks() const {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

int64_t Mesh::stride(const AxisRef &ref) const {
  int64_t stride = sizes[ref.axis] / (ref.pre * ref.size);
  for (int axis = ref.axis + 1; axis < numAxes(); ++axis)
    stride *= sizes[axis];
  return stride;
}

int64_t Mesh::coordinate(int64_t rank, const AxisRef &ref) const {
  return rank / stride(ref) % ref.size;
}

int64_t Mesh::groupIndex(int64_t rank, llvm::ArrayRef<AxisRef> axes) const {
  int64_t index = 0;
  for (const AxisRef &ref : axes)
    index = index * ref.size + coordinate(rank, ref);
  return index;
}

int64_t Mesh::groupMember(int64_t rank, llvm::ArrayRef<AxisRef> axes,
                          int64_t index) const {
  for (const AxisRef &ref : llvm::reverse(axes)) {
    rank += (index % ref.size - coordinate(rank, ref)) * stride(ref);
    index /= ref.size;
  }
  return rank;
}

void Mesh::print(llvm::raw_ostream &os, const AxisRef &ref) const {
  os << '"' << names[ref.axis] << '"';
  if (ref.pre != 1 || ref.size != sizes[ref.axis])
    os << ":(" << ref.pre << ')' << ref.size;
}

void Mesh::print(llvm::raw_ostream &os, llvm::ArrayRef<AxisRef> axes) const {
  os << '{';
  llvm::interleaveComma(axes, os, [&](const AxisRef &ref) { print(os, ref); });
  os << '}';
}

void Mesh::print(llvm::raw_ostream &os) const {
  os << "<[";
  llvm::interleaveComma(llvm::seq<int>(0, numAxes()), os, [&](int axis) {
    os << '"' << names[axis] << "\"=" << sizes[axis];
  });
  os << "]>";
}
