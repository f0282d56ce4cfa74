// SPDX-License-Identifier: Apache-2.0

// The sharding value class: local shapes and ranges, canonical form, checks,
// text.

#include "weft/Sharding/Sharding.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir::weft;

llvm::StringRef mlir::weft::stringifyReduction(Reduction kind) {
  switch (kind) {
  case Reduction::Sum:
    return "sum";
  case Reduction::Max:
    return "max";
  case Reduction::Min:
    return "min";
  case Reduction::Prod:
    return "prod";
  case Reduction::And:
    return "and";
  case Reduction::Or:
    return "or";
  }
  llvm_unreachable("all kinds are handled");
}

/// Returns the mask of the lowest `rank` bits.
static uint64_t dimMask(int64_t rank) {
  return rank >= Sharding::kMaxRank ? ~uint64_t(0) : (uint64_t(1) << rank) - 1;
}

//===----------------------------------------------------------------------===//
// Making and asking
//===----------------------------------------------------------------------===//

Sharding Sharding::replicated(int64_t rank) {
  Sharding sharding;
  sharding.dims.resize(rank);
  return sharding;
}

Sharding Sharding::fullyOpen(int64_t rank) {
  Sharding sharding = replicated(rank);
  sharding.openDims = dimMask(rank);
  return sharding;
}

void Sharding::setOpen(int64_t dim, bool open) {
  uint64_t bit = uint64_t(1) << dim;
  openDims = open ? openDims | bit : openDims & ~bit;
}

bool Sharding::isReplicated() const {
  return numShards(partial) == 1 &&
         llvm::all_of(
             dims, [](const AxisList &axes) { return numShards(axes) == 1; });
}

int64_t Sharding::chunkSize(int64_t dim, int64_t globalSize) const {
  return llvm::divideCeilSigned(globalSize, shardCount(dim));
}

llvm::SmallVector<int64_t>
Sharding::localShape(llvm::ArrayRef<int64_t> shape) const {
  llvm::SmallVector<int64_t> local;
  for (auto [dim, size] : llvm::enumerate(shape))
    local.push_back(chunkSize(dim, size));
  return local;
}

bool Sharding::isEven(llvm::ArrayRef<int64_t> globalShape) const {
  for (auto [dim, size] : llvm::enumerate(globalShape))
    if (size % shardCount(dim) != 0)
      return false;
  return true;
}

IndexRange Sharding::range(const Mesh &mesh, int64_t rankId, int64_t dim,
                           int64_t globalSize) const {
  int64_t chunk = chunkSize(dim, globalSize);
  int64_t begin = chunkIndex(mesh, rankId, dim) * chunk;
  return {std::min(globalSize, begin), std::min(globalSize, begin + chunk)};
}

AxisList Sharding::usedAxes() const {
  AxisList all;
  for (const AxisList &axes : dims)
    all.append(axes.begin(), axes.end());
  return canonicalAxisSet(all);
}

//===----------------------------------------------------------------------===//
// Derived shardings
//===----------------------------------------------------------------------===//

Sharding Sharding::canonical() const {
  Sharding result;
  for (const AxisList &axes : dims)
    result.dims.push_back(canonicalAxes(axes));
  result.partial = canonicalAxes(partial);
  result.kind = result.partial.empty() ? Reduction::Sum : kind;
  result.storage = canonicalAxisSet(storage);
  result.openDims = openDims & dimMask(rank());
  return result;
}

Sharding Sharding::withoutAxes(llvm::ArrayRef<AxisRef> axes) const {
  Sharding result = *this;
  for (AxisList &list : result.dims)
    list = subtractAxes(list, axes);
  result.partial = subtractAxes(partial, axes);
  result.storage = subtractAxes(storage, axes);
  return result.canonical();
}

Sharding Sharding::withoutStorage() const {
  Sharding result = *this;
  for (AxisList &list : result.dims)
    list = subtractAxes(list, storage);
  result.storage.clear();
  return result.canonical();
}

Sharding Sharding::resolved() const {
  Sharding result = *this;
  result.partial.clear();
  return result.canonical();
}

Sharding Sharding::closed() const {
  Sharding result = canonical();
  result.openDims = 0;
  return result;
}

Sharding Sharding::unordered() const {
  Sharding result = canonical();
  result.partial = canonicalAxisSet(partial);
  return result;
}

bool Sharding::isSameLayout(const Sharding &other) const {
  Sharding a = unordered(), b = other.unordered();
  return a.dims == b.dims && a.partial == b.partial && a.kind == b.kind;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

namespace {

/// An axis reference and the place in the sharding where it stands.
struct PlacedAxis {
  AxisRef ref;
  int64_t dim; // -1: in the partial state

  std::string where() const {
    return dim < 0 ? "the partial state" : "dimension " + std::to_string(dim);
  }
};

/// Collects the errors of one sharding; the first one is kept.
class Validator {
public:
  Validator(const Sharding &sharding, const Mesh &mesh)
      : sharding(sharding), mesh(mesh) {}

  std::string run(llvm::ArrayRef<int64_t> shape) {
    checkShape(shape);
    if (error.empty())
      collectAxes();
    if (error.empty())
      checkDisjoint();
    if (error.empty())
      checkStorage();
    return error;
  }

private:
  void fail(const llvm::Twine &text) {
    if (error.empty())
      error = text.str();
  }

  std::string text(const AxisRef &ref) const {
    std::string result;
    llvm::raw_string_ostream os(result);
    mesh.print(os, ref);
    return result;
  }

  void checkShape(llvm::ArrayRef<int64_t> shape) {
    if (sharding.rank() != static_cast<int64_t>(shape.size()))
      return fail("sharding of " + llvm::Twine(sharding.rank()) +
                  " dimensions on a tensor of " + llvm::Twine(shape.size()));
    if (sharding.rank() > Sharding::kMaxRank)
      return fail("tensor of " + llvm::Twine(sharding.rank()) +
                  " dimensions; at most " + llvm::Twine(Sharding::kMaxRank) +
                  " can be sharded");
    for (auto [dim, size] : llvm::enumerate(shape))
      if (size < 0)
        fail("dimension " + llvm::Twine(dim) + " has no static size");
  }

  void checkRef(const AxisRef &ref) {
    if (ref.axis < 0 || ref.axis >= mesh.numAxes())
      return fail("axis number " + llvm::Twine(ref.axis) + " on a mesh of " +
                  llvm::Twine(mesh.numAxes()) + " axes");
    int64_t size = mesh.axisSize(ref.axis);
    if (ref.pre < 1 || ref.size < 1 || size % ref.pre != 0 ||
        size / ref.pre % ref.size != 0)
      fail("sub-axis " + text(ref) + " does not divide the axis of size " +
           llvm::Twine(size));
  }

  void collectAxes() {
    for (auto [dim, axes] : llvm::enumerate(sharding.dims))
      for (const AxisRef &ref : axes)
        placed.push_back({ref, static_cast<int64_t>(dim)});
    for (const AxisRef &ref : sharding.partial)
      placed.push_back({ref, -1});
    for (const PlacedAxis &axis : placed)
      checkRef(axis.ref);
    for (const AxisRef &ref : sharding.storage)
      checkRef(ref);
  }

  void checkDisjoint() {
    for (size_t i = 0; i < placed.size(); ++i)
      for (size_t j = i + 1; j < placed.size(); ++j)
        checkPair(placed[i], placed[j]);
  }

  void checkPair(const PlacedAxis &a, const PlacedAxis &b) {
    if (!a.ref.overlaps(b.ref) && a.ref.isCompatibleWith(b.ref))
      return;
    if (a.ref == b.ref)
      return fail("axis " + text(a.ref) + " is used twice: in " + a.where() +
                  " and in " + b.where());
    fail("axes " + text(a.ref) + " in " + a.where() + " and " + text(b.ref) +
         " in " + b.where() + " overlap");
  }

  void checkStorage() {
    AxisList used = sharding.usedAxes();
    for (const AxisRef &ref : sharding.storage) {
      if (!isPartOf(ref, used))
        fail("storage axis " + text(ref) + " shards no dimension");
    }
    for (size_t i = 0; i < sharding.storage.size(); ++i)
      for (size_t j = i + 1; j < sharding.storage.size(); ++j)
        if (sharding.storage[i].overlaps(sharding.storage[j]))
          fail("storage axes " + text(sharding.storage[i]) + " and " +
               text(sharding.storage[j]) + " overlap");
  }

  static bool isPartOf(const AxisRef &ref, llvm::ArrayRef<AxisRef> axes) {
    bool compatible = llvm::all_of(
        axes, [&](const AxisRef &a) { return a.isCompatibleWith(ref); });
    return compatible && canonicalAxes(subtractAxes({ref}, axes)).empty();
  }

  const Sharding &sharding;
  const Mesh &mesh;
  llvm::SmallVector<PlacedAxis> placed;
  std::string error;
};

} // namespace

std::string Sharding::validate(const Mesh &mesh,
                               llvm::ArrayRef<int64_t> shape) const {
  return Validator(*this, mesh).run(shape);
}

//===----------------------------------------------------------------------===//
// Text and comparison
//===----------------------------------------------------------------------===//

void Sharding::print(llvm::raw_ostream &os, const Mesh &mesh) const {
  os << '[';
  llvm::interleaveComma(llvm::enumerate(dims), os, [&](const auto &dim) {
    os << '{';
    llvm::interleaveComma(dim.value(), os,
                          [&](const AxisRef &ref) { mesh.print(os, ref); });
    if (isOpen(dim.index()))
      os << (dim.value().empty() ? "?" : ", ?");
    os << '}';
  });
  os << ']';
  if (!storage.empty()) {
    os << ", storage = ";
    mesh.print(os, storage);
  }
  if (!partial.empty()) {
    os << ", partial = " << stringifyReduction(kind) << ' ';
    mesh.print(os, partial);
  }
}

std::string Sharding::str(const Mesh &mesh) const {
  std::string result;
  llvm::raw_string_ostream os(result);
  print(os, mesh);
  return result;
}

bool Sharding::operator==(const Sharding &other) const {
  return dims == other.dims && partial == other.partial && kind == other.kind &&
         storage == other.storage && openDims == other.openDims;
}

bool Sharding::operator<(const Sharding &other) const {
  return std::tie(dims, partial, kind, storage, openDims) <
         std::tie(other.dims, other.partial, other.kind, other.storage,
                  other.openDims);
}

llvm::hash_code mlir::weft::hash_value(const Sharding &sharding) {
  llvm::hash_code hash =
      llvm::hash_combine(sharding.kind, sharding.openDims,
                         llvm::hash_combine_range(sharding.partial.begin(),
                                                  sharding.partial.end()),
                         llvm::hash_combine_range(sharding.storage.begin(),
                                                  sharding.storage.end()));
  for (const AxisList &axes : sharding.dims)
    hash = llvm::hash_combine(
        hash, llvm::hash_combine_range(axes.begin(), axes.end()));
  return hash;
}
