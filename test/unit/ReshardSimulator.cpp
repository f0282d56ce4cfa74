// SPDX-License-Identifier: Apache-2.0

// The simulated ranks of the reshard tests. Written without the planner's own
// arithmetic: coordinates of ranks are taken from the mesh, everything else is
// moved element by element.

#include "ReshardSimulator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir::weft;
using namespace mlir::weft::test;

static int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

static std::string text(llvm::ArrayRef<int64_t> shape) {
  std::string result = "[";
  for (int64_t size : shape)
    result += (result.size() > 1 ? "x" : "") + std::to_string(size);
  return result + "]";
}

//===----------------------------------------------------------------------===//
// Array
//===----------------------------------------------------------------------===//

Array::Array(Shape shape)
    : shape(shape),
      data(product(shape), std::numeric_limits<double>::quiet_NaN()) {}

/// Copies `count` slices along `dim`, from index `from` to index `to`.
static void copySlices(const Array &source, int64_t from, Array &target,
                       int64_t to, int64_t count, int64_t dim) {
  int64_t outer = product(llvm::ArrayRef(source.shape).take_front(dim));
  int64_t inner = product(llvm::ArrayRef(source.shape).drop_front(dim + 1));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < count * inner; ++i)
      target.data[(o * target.shape[dim] + to) * inner + i] =
          source.data[(o * source.shape[dim] + from) * inner + i];
}

Array Array::part(int64_t dim, int64_t part, int64_t parts) const {
  Shape partShape = shape;
  partShape[dim] /= parts;
  Array result(partShape);
  copySlices(*this, part * partShape[dim], result, 0, partShape[dim], dim);
  return result;
}

Array Array::resized(int64_t dim, int64_t extent) const {
  Shape newShape = shape;
  newShape[dim] = extent;
  Array result(newShape);
  copySlices(*this, 0, result, 0, std::min(extent, shape[dim]), dim);
  return result;
}

Array mlir::weft::test::concat(llvm::ArrayRef<Array> arrays, int64_t dim) {
  Shape shape = arrays[0].shape;
  int64_t extent = shape[dim];
  shape[dim] *= arrays.size();
  Array result(shape);
  for (auto [i, array] : llvm::enumerate(arrays))
    copySlices(array, 0, result, i * extent, extent, dim);
  return result;
}

//===----------------------------------------------------------------------===//
// What ranks hold
//===----------------------------------------------------------------------===//

static double combine(Reduction kind, double a, double b) {
  return kind == Reduction::Max ? (a > b || std::isnan(a) ? a : b) : a + b;
}

/// The tree over contributions in their order.
static double joinTree(llvm::ArrayRef<double> leaves) {
  if (leaves.size() == 1)
    return leaves[0];
  size_t half = 1;
  while (2 * half < leaves.size())
    half *= 2;
  return std::fmod(3 * joinTree(leaves.take_front(half)) +
                       7 * joinTree(leaves.drop_front(half)) + 1,
                   1000003);
}

double Simulator::join(Reduction kind,
                       llvm::ArrayRef<double> contributions) const {
  if (isOrdered)
    return joinTree(contributions);
  double value = contributions[0];
  for (double contribution : contributions.drop_front())
    value = combine(kind, value, contribution);
  return value;
}

Simulator::Simulator(const Mesh &mesh, Shape globalShape,
                     const Sharding &sharding, bool isOrdered)
    : mesh(mesh), globalShape(globalShape), loaded(sharding),
      isOrdered(isOrdered) {
  Shape local(sharding.localShape(globalShape));
  ranks.assign(mesh.numRanks(), Array(local));
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    for (int64_t i = 0; i < product(local); ++i)
      if (int64_t e = globalElement(sharding, rank, i); e >= 0)
        ranks[rank].data[i] = expected(sharding, rank, e);
}

std::vector<int64_t> Simulator::group(int64_t rank,
                                      llvm::ArrayRef<AxisRef> axes) const {
  std::vector<int64_t> members;
  for (int64_t i = 0; i < numShards(axes); ++i)
    members.push_back(mesh.groupMember(rank, axes, i));
  return members;
}

double Simulator::expected(const Sharding &sharding, int64_t rank,
                           int64_t element) const {
  AxisList combined = subtractAxes(loaded.partial, sharding.partial);
  std::vector<double> contributions;
  for (int64_t member : group(rank, combined))
    contributions.push_back(100.0 * (element + 1) +
                            mesh.groupIndex(member, loaded.partial));
  return join(loaded.kind, contributions);
}

int64_t Simulator::globalElement(const Sharding &sharding, int64_t rank,
                                 int64_t local) const {
  const Shape &shape = ranks[rank].shape;
  int64_t element = 0, stride = 1;
  for (int64_t dim = sharding.rank() - 1; dim >= 0; --dim) {
    int64_t index = local % shape[dim];
    local /= shape[dim];
    index += mesh.groupIndex(rank, sharding.dims[dim]) * shape[dim];
    if (index >= globalShape[dim])
      return -1;
    element += index * stride;
    stride *= globalShape[dim];
  }
  return element;
}

std::string Simulator::check(const Sharding &sharding) const {
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    for (size_t i = 0; i < ranks[rank].data.size(); ++i) {
      int64_t element = globalElement(sharding, rank, i);
      if (element < 0)
        continue;
      double value = expected(sharding, rank, element);
      if (ranks[rank].data[i] != value)
        return llvm::formatv("rank {0}, local element {1}: {2}, expected {3}",
                             rank, i, ranks[rank].data[i], value);
    }
  return "";
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Array Simulator::reduce(Reduction kind, llvm::ArrayRef<Array> arrays) const {
  Array result = arrays[0];
  for (size_t i = 0; i < result.data.size(); ++i) {
    std::vector<double> contributions;
    for (const Array &array : arrays)
      contributions.push_back(array.data[i]);
    result.data[i] = join(kind, contributions);
  }
  return result;
}

Array Simulator::run(const ReshardStep &step, int64_t rank,
                     int64_t &received) const {
  std::vector<int64_t> members = group(rank, step.axes);
  int64_t g = members.size(), self = mesh.groupIndex(rank, step.axes);
  const Array &own = ranks[rank];
  std::vector<Array> parts;
  switch (step.kind) {
  case ReshardStepKind::AllGather:
    for (int64_t member : members)
      parts.push_back(ranks[member]);
    received = (g - 1) * own.data.size();
    return concat(parts, step.dim);
  case ReshardStepKind::AllToAll:
    for (int64_t member : members)
      parts.push_back(ranks[member].part(step.splitDim, self, g));
    received = (g - 1) * parts[0].data.size();
    return concat(parts, step.dim);
  case ReshardStepKind::ReduceScatter:
    for (int64_t member : members)
      parts.push_back(ranks[member].part(step.dim, self, g));
    received = (g - 1) * parts[0].data.size();
    return reduce(step.reduction, parts);
  case ReshardStepKind::AllReduce:
    for (int64_t member : members)
      parts.push_back(ranks[member]);
    // As a reduce_scatter and an all_gather: ceil(2 (g-1)/g n).
    received = (2 * (g - 1) * own.data.size() + g - 1) / g;
    return reduce(step.reduction, parts);
  case ReshardStepKind::Permute:
    received = step.sources[self] == self ? 0 : own.data.size();
    return ranks[members[step.sources[self]]];
  case ReshardStepKind::Slice:
    return own.part(step.dim, self, g);
  case ReshardStepKind::Pad:
  case ReshardStepKind::Unpad:
    return own.resized(step.dim, step.localShape[step.dim]);
  }
  llvm_unreachable("all kinds are handled");
}

/// Returns what forbids a step on tensors of this local shape.
static std::string checkForm(const ReshardStep &step, const Shape &shape) {
  int64_t parts = numShards(step.axes);
  int64_t split =
      step.kind == ReshardStepKind::AllToAll ? step.splitDim : step.dim;
  bool cuts = step.kind == ReshardStepKind::AllToAll ||
              step.kind == ReshardStepKind::ReduceScatter ||
              step.kind == ReshardStepKind::Slice;
  if (cuts && shape[split] % parts != 0)
    return llvm::formatv("{0} does not divide by {1}", text(shape), parts);
  if (step.kind != ReshardStepKind::Permute)
    return "";
  std::vector<int64_t> sources(step.sources.begin(), step.sources.end());
  llvm::sort(sources);
  for (int64_t i = 0; i < parts; ++i)
    if (static_cast<int64_t>(sources.size()) != parts || sources[i] != i)
      return "permute is no bijection";
  return "";
}

std::string Simulator::execute(const ReshardStep &step) {
  if (std::string error = checkForm(step, ranks[0].shape); !error.empty())
    return error;
  std::vector<Array> after;
  int64_t most = 0;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    int64_t received = 0;
    after.push_back(run(step, rank, received));
    most = std::max(most, received);
  }
  ranks = std::move(after);
  // The tests plan for elements of one byte.
  if (most != step.bytes)
    return llvm::formatv("claims {0} bytes, moves {1}", step.bytes, most);
  if (ranks[0].shape != step.localShape)
    return llvm::formatv("claims {0}, has {1}", text(step.localShape),
                         text(ranks[0].shape));
  return "";
}
