// SPDX-License-Identifier: Apache-2.0

// Between the shardings of an op's tensors and the axes of its factors.
//
// A dimension that is made of several factors f0 f1 ... takes its axes from
// major to minor: as many as divide f0 go to f0, and once f0 is cut in single
// elements the rest goes on to f1. An axis that reaches over the border is cut
// in two sub-axes there.

#include "weft/Rules/ReductionOrder.h"

#include <numeric>

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Spreads axes over the factors of one dimension; returns what is left.
AxisList spread(const ShardingRule &rule, const DimFactors &dim, AxisList rest,
                FactorSharding &sharding) {
  for (int factor : dim) {
    if (rest.empty() || rule.factors[factor].kind == FactorKind::Replicated)
      break;
    if (dim.size() == 1) {
      sharding.axes[factor] = rest;
      return {};
    }
    if (takeEvenAxes(sharding.axes[factor], rest, rule.factors[factor].size) !=
        1)
      break;
  }
  return rest;
}

/// Says whether the axes of a dimension's factors are an exact cut of it: each
/// factor before the last sharded one in single elements, and all evenly.
bool isExactCut(const ShardingRule &rule, const DimFactors &dim,
                const FactorSharding &sharding) {
  if (dim.size() <= 1)
    return true;
  bool mayGoOn = true;
  for (int factor : dim) {
    int64_t shards = numShards(sharding.axes[factor]);
    int64_t size = rule.factors[factor].size;
    if (shards > 1 && (!mayGoOn || size % shards != 0))
      return false;
    mayGoOn = mayGoOn && shards == size;
  }
  return true;
}

bool areExactCuts(const ShardingRule &rule, ArrayRef<TensorFactors> tensors,
                  const FactorSharding &sharding) {
  return llvm::all_of(tensors, [&](const TensorFactors &tensor) {
    return llvm::all_of(tensor, [&](const DimFactors &dim) {
      return isExactCut(rule, dim, sharding);
    });
  });
}

/// Adds what one tensor says to what others said. Returns false if they do
/// not agree.
bool mergeTensor(const ShardingRule &rule, const TensorFactors &tensor,
                 const Sharding &sharding, FactorSharding &merged) {
  bool isExact = true;
  FactorSharding own = projectToFactors(rule, tensor, sharding, &isExact);
  if (!isExact)
    return false;
  for (auto [all, mine] : llvm::zip_equal(merged.axes, own.axes))
    if (all.empty())
      all = mine;
    else if (!mine.empty() && canonicalAxes(all) != canonicalAxes(mine))
      return false;
  return true;
}

bool hasDims(const TensorFactors &tensor, const Sharding &sharding,
             const FactorSharding &factors) {
  Sharding expected = getTensorSharding(tensor, factors);
  return expected.dims == sharding.canonical().dims;
}

} // namespace

int64_t mlir::weft::takeEvenAxes(AxisList &taken, AxisList &rest,
                                 int64_t size) {
  while (!rest.empty() && size > 1) {
    int64_t common = std::gcd(size, rest.front().size);
    if (common == 1)
      break;
    if (common == rest.front().size) {
      taken.push_back(rest.front());
      rest.erase(rest.begin());
      size /= common;
      continue;
    }
    // The axis goes on into the next factor, if it uses this one up.
    if (common != size)
      break;
    auto [major, minor] = rest.front().split(common);
    taken.push_back(major);
    rest.front() = minor;
    size = 1;
  }
  return size;
}

Sharding mlir::weft::getTensorSharding(const TensorFactors &tensor,
                                       const FactorSharding &sharding) {
  Sharding result = Sharding::replicated(tensor.size());
  for (auto [dim, axes] : llvm::zip_equal(tensor, result.dims)) {
    for (int factor : dim)
      llvm::append_range(axes, sharding.axes[factor]);
    axes = canonicalAxes(axes);
  }
  return result;
}

Sharding mlir::weft::getResultSharding(const ShardingRule &rule, unsigned index,
                                       const FactorSharding &sharding) {
  Sharding result = getTensorSharding(rule.results[index], sharding);
  // What one result sums may be a dimension of another.
  FactorSharding summed = sharding;
  for (const DimFactors &dim : rule.results[index])
    for (int factor : dim)
      summed.axes[factor].clear();
  result.partial = getReductionAxes(rule, summed);
  if (!result.partial.empty())
    result.kind = getReductionKind(rule, summed);
  return result;
}

AxisList mlir::weft::getReductionAxes(const ShardingRule &rule,
                                      const FactorSharding &sharding) {
  if (rule.order)
    return getOrderedAxes(rule, sharding);
  AxisList axes;
  for (auto [factor, list] : llvm::zip_equal(rule.factors, sharding.axes))
    if (factor.kind == FactorKind::Reduction)
      llvm::append_range(axes, list);
  return canonicalAxisSet(axes);
}

Reduction mlir::weft::getReductionKind(const ShardingRule &rule,
                                       const FactorSharding &sharding) {
  for (auto [factor, list] : llvm::zip_equal(rule.factors, sharding.axes))
    if (factor.kind == FactorKind::Reduction && !list.empty())
      return factor.reduction;
  return Reduction::Sum;
}

FactorSharding mlir::weft::projectToFactors(const ShardingRule &rule,
                                            const TensorFactors &tensor,
                                            const Sharding &sharding,
                                            bool *isExact) {
  FactorSharding result(rule);
  bool nothingLeft = true;
  for (auto [dim, axes] : llvm::zip_equal(tensor, sharding.dims))
    nothingLeft &= spread(rule, dim, canonicalAxes(axes), result).empty();
  if (isExact)
    *isExact = nothingLeft;
  return result;
}

bool mlir::weft::isLegal(const ShardingRule &rule,
                         const FactorSharding &sharding) {
  AxisList seen;
  std::optional<Reduction> kind;
  for (auto [factor, list] : llvm::zip_equal(rule.factors, sharding.axes)) {
    if (list.empty())
      continue;
    if (factor.kind == FactorKind::Replicated)
      return false;
    if (factor.kind == FactorKind::Reduction) {
      if (kind && *kind != factor.reduction)
        return false;
      kind = factor.reduction;
    }
    for (const AxisRef &axis : list) {
      if (anyOverlap(seen, axis))
        return false;
      seen.push_back(axis);
    }
  }
  return areExactCuts(rule, rule.operands, sharding) &&
         areExactCuts(rule, rule.results, sharding) &&
         keepsOrder(rule, sharding);
}

std::optional<FactorSharding>
mlir::weft::getFactorSharding(const ShardingRule &rule,
                              ArrayRef<Sharding> operands,
                              ArrayRef<Sharding> results) {
  FactorSharding merged(rule);
  auto forEach = [&](auto check) {
    for (auto [tensor, sharding] : llvm::zip_equal(rule.operands, operands))
      if (!tensor.empty() && !check(tensor, sharding))
        return false;
    for (auto [tensor, sharding] : llvm::zip_equal(rule.results, results))
      if (!tensor.empty() && !check(tensor, sharding))
        return false;
    return true;
  };
  auto merge = [&](const TensorFactors &tensor, const Sharding &sharding) {
    return mergeTensor(rule, tensor, sharding, merged);
  };
  auto agrees = [&](const TensorFactors &tensor, const Sharding &sharding) {
    return hasDims(tensor, sharding, merged);
  };
  if (!forEach(merge) || !isLegal(rule, merged) || !forEach(agrees))
    return std::nullopt;
  return merged;
}
