// SPDX-License-Identifier: Apache-2.0

// Building the rule of one op, and checking it against the op's types.

#include "weft/Interfaces/ShardingRuleOpInterface.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft;

ArrayRef<int64_t> mlir::weft::getTensorShape(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getShape() : ArrayRef<int64_t>();
}

bool mlir::weft::hasStaticTensors(Operation *op) {
  auto isStatic = [](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      return tensor.hasStaticShape();
    return !isa<ShapedType>(type);
  };
  return llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic);
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

RuleBuilder::RuleBuilder(Operation *op) {
  rule.operands.resize(op->getNumOperands());
  rule.results.resize(op->getNumResults());
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    rule.operands[i].resize(getTensorShape(operand).size());
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    rule.results[i].resize(getTensorShape(result).size());
}

int RuleBuilder::add(int64_t size, FactorKind kind, Reduction reduction) {
  rule.factors.push_back({size, kind, reduction});
  return static_cast<int>(rule.factors.size()) - 1;
}

SmallVector<int> RuleBuilder::addAll(ArrayRef<int64_t> sizes, FactorKind kind) {
  return llvm::map_to_vector(sizes,
                             [&](int64_t size) { return add(size, kind); });
}

void RuleBuilder::put(DimFactors &dim, int factor) {
  if (rule.factors[factor].size > 1)
    dim.push_back(factor);
}

void RuleBuilder::putAll(TensorFactors &tensor, ArrayRef<int> factors) {
  for (auto [dim, factor] : llvm::zip_equal(tensor, factors))
    put(dim, factor);
}

void RuleBuilder::putMap(TensorFactors &tensor, AffineMap map,
                         ArrayRef<int> factors) {
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    put(tensor[i], factors[map.getDimPosition(i)]);
}

std::optional<ShardingRule> mlir::weft::getIdentityRule(Operation *op) {
  RuleBuilder builder(op);
  ArrayRef<int64_t> shape = getTensorShape(op->getResult(0));
  SmallVector<int> factors = builder.addAll(shape);
  auto putSame = [&](Value value, TensorFactors &tensor) {
    if (!isa<RankedTensorType>(value.getType()))
      return true;
    if (getTensorShape(value) != shape)
      return false;
    builder.putAll(tensor, factors);
    return true;
  };
  for (auto [value, tensor] :
       llvm::zip(op->getOperands(), builder.rule.operands))
    if (!putSame(value, tensor))
      return std::nullopt;
  for (auto [value, tensor] : llvm::zip(op->getResults(), builder.rule.results))
    if (!putSame(value, tensor))
      return std::nullopt;
  return builder.rule;
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

namespace {

/// Checks c2 to c4 of one operand or result.
LogicalResult verifyTensor(Operation *op, const ShardingRule &rule, Value value,
                           const TensorFactors &tensor, const Twine &what) {
  ArrayRef<int64_t> shape = getTensorShape(value);
  if (tensor.size() != shape.size())
    return op->emitOpError("has a sharding rule with ")
           << tensor.size() << " dims for " << what << ", expected "
           << shape.size();
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t product = 1;
    for (int factor : tensor[dim]) {
      if (factor < 0 || factor >= static_cast<int>(rule.factors.size()))
        return op->emitOpError("has a sharding rule that names factor ")
               << factor << " of " << rule.factors.size() << " in dim " << dim
               << " of " << what;
      product *= rule.factors[factor].size;
    }
    // A dimension of no elements is never cut and has no factors either.
    if (product != std::max<int64_t>(size, 1))
      return op->emitOpError("has a sharding rule whose factors make dim ")
             << dim << " of " << what << " " << product << " long, expected "
             << size;
  }
  return success();
}

/// The sizes of loops, of which there are so many; 0 for one that is not there.
template <typename Sizes>
SmallVector<int64_t> getSizes(ArrayRef<int> loops, size_t count,
                              const Sizes &sizeOf) {
  return llvm::map_to_vector(loops, [&](int loop) -> int64_t {
    return loop >= 0 && static_cast<size_t>(loop) < count ? sizeOf(loop) : 0;
  });
}

/// Checks c6.
LogicalResult verifyOrder(Operation *op, const ShardingRule &rule) {
  auto own = dyn_cast<ShardingRuleOpInterface>(op);
  if (!own || !own.needsOrder())
    return success();
  SmallVector<int64_t> all = own.getLoopSizes();
  SmallVector<int64_t> reduced = getSizes(own.getReductionLoops(), all.size(),
                                          [&](int i) { return all[i]; });
  SmallVector<int64_t> ordered;
  if (rule.order)
    ordered = getSizes(rule.order->loops, rule.factors.size(),
                       [&](int i) { return rule.factors[i].size; });
  if (reduced == ordered)
    return success();
  auto getList = [](ArrayRef<int64_t> sizes) {
    std::string list;
    llvm::raw_string_ostream os(list);
    llvm::interleaveComma(sizes, os);
    return "[" + list + "]";
  };
  return op->emitOpError("needs an order of its reduction loops, of sizes ")
         << getList(reduced)
         << ", but its sharding rule has one of loops of sizes "
         << getList(ordered);
}

} // namespace

LogicalResult mlir::weft::verifyShardingRule(Operation *op,
                                             const ShardingRule &rule) {
  if (rule.operands.size() != op->getNumOperands() ||
      rule.results.size() != op->getNumResults())
    return op->emitOpError("has a sharding rule for ")
           << rule.operands.size() << " operands and " << rule.results.size()
           << " results, expected " << op->getNumOperands() << " and "
           << op->getNumResults();
  for (unsigned init : rule.inits)
    if (init >= op->getNumOperands())
      return op->emitOpError("has a sharding rule that starts from operand #")
             << init << " of " << op->getNumOperands();
  for (auto [i, value] : llvm::enumerate(op->getOperands()))
    if (failed(verifyTensor(op, rule, value, rule.operands[i],
                            "operand #" + Twine(i))))
      return failure();
  for (auto [i, value] : llvm::enumerate(op->getResults()))
    if (failed(verifyTensor(op, rule, value, rule.results[i],
                            "result #" + Twine(i))))
      return failure();
  return verifyOrder(op, rule);
}
