// SPDX-License-Identifier: Apache-2.0

// The loops of a kernel are cut to what a core's caches and vectors like, after
// the ops of the kernel are known. What is computed once for a short row, as
// the scale of a block is, would be one number at a time: several rows become
// one, and such numbers a vector. Rows whose phases walk more than the
// first-level cache holds are cut, so that a phase finds there what the one
// before it read.

#include "TileRows.h"

#include "weft/Dialect/Weft/IR/Formulas.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Iterations of a kernel that are left to be shared out.
constexpr int64_t kMinExtent = 16;
/// Elements of a row that is short, and rows that may become one.
constexpr int64_t kShortRow = 256, kMinRows = 8, kMaxRows = 32;
/// Ops that are worth a vector.
constexpr size_t kMinOps = 8;
/// Bytes that a row may walk, and the least elements of a part.
constexpr int64_t kMaxBytes = 16 << 10, kMinPart = 64;
/// Bytes of a line of a part, which lies apart from the next one: fewer often
/// fall into few sets of the first-level cache. The part stays in the
/// second-level one.
constexpr int64_t kLineBytes = 1 << 10, kMaxPartBytes = 128 << 10;

uint64_t bit(int dim) { return uint64_t(1) << dim; }

/// Whether a reduction has an order.
bool isFixed(const Member &member) { return bool(member.order); }

int64_t getInnerElements(const KernelShape &shape, const Phase &phase) {
  int64_t elements = 1;
  for (int dim : phase.loops)
    elements *= shape.sizes[dim];
  return elements;
}

/// Makes of `dim` an outer dim of the same name and an inner one of `size`, a
/// divisor. Returns the inner one.
int split(KernelShape &shape, int dim, int64_t size) {
  int inner = shape.sizes.size();
  shape.sizes.push_back(size);
  shape.sizes[dim] /= size;
  auto &parts = shape.innerParts[dim];
  parts.insert(parts.begin(), inner);
  for (Member &member : shape.members) {
    if (member.loopDims & bit(dim))
      member.loopDims |= bit(inner);
    if (member.reductionDims & bit(dim))
      member.reductionDims |= bit(inner);
    for (Access &access :
         llvm::concat<Access>(member.accesses, member.initAccesses)) {
      int64_t stride = access.strides[dim];
      access.strides.push_back(stride);
      access.strides[dim] *= size;
    }
  }
  for (auto &[value, dims] : shape.valueDims)
    if (dims & bit(dim))
      dims |= bit(inner);
  return inner;
}

/// Puts a dim among the loops of a phase, outside of those that lie closer
/// together in memory, of sums, and of vectors.
void insertLoop(const KernelShape &shape, Phase &phase, int dim) {
  auto getStrides = [&](int loop) {
    SmallVector<int64_t> strides;
    for (unsigned member : phase.members)
      for (const Access &access : shape.members[member].accesses)
        strides.push_back(access.strides[loop]);
    return strides;
  };
  auto isSummed = [&](int loop) {
    return llvm::any_of(phase.members, [&](unsigned member) {
      return shape.members[member].reductionDims & bit(loop);
    });
  };
  int64_t reach = llvm::sum_of(getStrides(dim));
  auto *place = llvm::find_if(phase.loops, [&](int loop) {
    SmallVector<int64_t> strides = getStrides(loop);
    return isSummed(loop) || llvm::is_contained(strides, 1) ||
           llvm::sum_of(strides) <= reach;
  });
  phase.loops.insert(place, dim);
}

/// Short rows with numbers of their own: several of the innermost become one.
void joinShortRows(KernelShape &shape) {
  size_t numOps = 0;
  for (const Phase &phase : shape.phases) {
    if (getInnerElements(shape, phase) > kShortRow)
      return;
    for (unsigned member : phase.members)
      if (phase.loops.empty())
        for (Operation &op :
             *linalg::GenericOp(shape.members[member].op).getBody())
          numOps += getFormulaSize(&op).value_or(1);
  }
  int dim = shape.rows.back();
  int64_t most = std::min(kMaxRows, shape.getExtent() / kMinExtent);
  int64_t count = findDivisor(shape.sizes[dim], kMinRows, most);
  if (numOps < kMinOps || count == 0)
    return;
  int inner = split(shape, dim, count);
  for (Phase &phase : shape.phases)
    insertLoop(shape, phase, inner);
}

/// The inner dim that is a loop of every phase, and parallel in all members;
/// -1 if there is none.
int findSharedLoop(const KernelShape &shape) {
  uint64_t dims = ~uint64_t(0);
  for (const Member &member : shape.members)
    dims &= member.loopDims & ~member.reductionDims;
  for (int dim : shape.phases.front().loops)
    if (dims & bit(dim))
      return dim;
  return -1;
}

/// Long rows: parts of the dim that all phases walk become rows.
void cutLongRows(KernelShape &shape) {
  int dim = findSharedLoop(shape);
  // A dim of no elements has no parts either.
  if (dim < 0 || shape.sizes[dim] <= kMinPart)
    return;
  int64_t bytes = 0, widest = 1;
  for (const Member &member : shape.members) {
    linalg::GenericOp op = member.op;
    for (Value operand : op->getOperands()) {
      int64_t element = rt::getElementBytes(getElementTypeOrSelf(operand));
      widest = std::max(widest, element);
      bytes = std::max(
          bytes, element * getInnerElements(shape, shape.phases[member.phase]));
    }
  }
  int64_t perElement = std::max<int64_t>(1, bytes / shape.sizes[dim]);
  int64_t line = std::min(kLineBytes / widest, kMaxPartBytes / perElement);
  int64_t most = std::max({kMinPart, kMaxBytes / perElement, line});
  int64_t part = findDivisor(shape.sizes[dim], kMinPart, most);
  if (bytes <= kMaxBytes || part == 0)
    return;
  int inner = split(shape, dim, part);
  shape.rows.push_back(dim);
  for (Phase &phase : shape.phases)
    llvm::replace(phase.loops, dim, inner);
}

} // namespace

int64_t mlir::weft::findDivisor(int64_t size, int64_t least, int64_t most) {
  for (int64_t divisor = std::min(size, most); divisor >= least; --divisor)
    if (size % divisor == 0)
      return divisor;
  return 0;
}

void mlir::weft::tileRows(KernelShape &shape) {
  if (shape.rows.empty() || shape.cutDim >= 0 || shape.phases.size() < 2 ||
      llvm::any_of(shape.members, isFixed))
    return;
  cutLongRows(shape);
  joinShortRows(shape);
}
