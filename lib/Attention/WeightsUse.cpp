// SPDX-License-Identifier: Apache-2.0

// Finds the scores in weights. Loops are taken apart first, until each dim of
// what is read is one or more of them.

#include "WeightsUse.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace mlir::weft;

void weft::walkTerms(TermRef root, llvm::function_ref<bool(TermRef)> visit) {
  llvm::SetVector<TermRef> seen;
  seen.insert(root);
  for (size_t i = 0; i < seen.size(); ++i) {
    TermRef term = seen[i];
    if (visit(term))
      seen.insert(term->operands.begin(), term->operands.end());
  }
}

bool WeightsUse::sumsOver(unsigned loop) {
  for (auto [i, index] : llvm::enumerate(loops)) {
    AffineExpr dim = getAffineDimExpr(i, op.getContext());
    if (!op.getResultMap().getResultPosition(dim) &&
        llvm::any_of(index, [&](const Digit &d) { return d.loop == loop; }))
      return true;
  }
  return false;
}

namespace {

/// The sum of products of two Loads over one loop, from a contraction.
bool isProduct(TermRef term) {
  if (term->kind != TermKind::Sum || !term->value || term->loops.size() != 1 ||
      term->operands[0]->kind != TermKind::Mul)
    return false;
  return llvm::all_of(term->operands[0]->operands, [&](TermRef factor) {
    factor = skipCasts(factor);
    return factor->kind == TermKind::Load && factor->dependsOn(term->loops[0]);
  });
}

/// A product below, not counting what is summed up or maximized; null: none.
TermRef findProduct(TermRef root) {
  TermRef found = nullptr;
  walkTerms(root, [&](TermRef term) {
    if (!found && isProduct(term))
      found = term;
    return term->kind != TermKind::Sum && term->kind != TermKind::MaxOver;
  });
  return found;
}

bool hasProduct(TermRef root) { return findProduct(root) != nullptr; }

/// What weights are normalized by, or shifted by; null: nothing.
TermRef findRow(TermRef weights) {
  TermRef row = nullptr;
  walkTerms(weights, [&](TermRef term) {
    if (!row &&
        (term->kind == TermKind::Sum || term->kind == TermKind::MaxOver) &&
        !isProduct(term) && hasProduct(term->operands[0]))
      row = term;
    return !row;
  });
  return row;
}

/// Reads an exponent.
class ScoreReader {
public:
  explicit ScoreReader(TermTable &table) : table(table) {}

  bool read(TermRef term, double factor) {
    term = skipCasts(term);
    if (isProduct(term))
      return readProduct(term, factor);
    switch (term->kind) {
    case TermKind::Mul:
      return term->operands[1]->kind == TermKind::Constant &&
             read(term->operands[0], factor * term->operands[1]->number);
    case TermKind::Add:
      return readSum(term, factor);
    case TermKind::Select:
      return readMask(term, factor);
    case TermKind::Function:
      return readSoftcap(term, factor);
    default:
      return false;
    }
  }

  Scores scores;

private:
  bool readProduct(TermRef term, double factor) {
    scores.product = term->value;
    scores.depth = term->loops[0];
    scores.scale = factor;
    scores.query = skipCasts(term->operands[0]->operands[0]);
    scores.key = skipCasts(term->operands[0]->operands[1]);
    return true;
  }

  bool readSum(TermRef term, double factor) {
    TermRef inner = term->operands[0], addend = term->operands[1];
    if (!hasProduct(inner))
      std::swap(inner, addend);
    // An infinity times 0 is no number, which must not get lost.
    bool isFinite = addend->kind != TermKind::Constant ||
                    std::isfinite(addend->number * factor);
    if (hasProduct(addend) || isCapped || !isFinite)
      return false;
    scores.addends.push_back(
        table.mul(addend, table.constant(addend->type, factor)));
    return read(inner, factor);
  }

  bool readMask(TermRef term, double factor) {
    TermRef condition = term->operands[0], inner = term->operands[1],
            fill = skipCasts(term->operands[2]);
    if (!hasProduct(inner) || fill->kind != TermKind::Constant || isCapped ||
        factor <= 0 || std::isnan(fill->number * factor))
      return false;
    scores.masks.push_back({condition, fill->number * factor});
    return read(inner, factor);
  }

  bool readSoftcap(TermRef term, double factor) {
    if (term->name != "tanh" || isCapped || factor <= 0)
      return false;
    scores.softcap = factor;
    isCapped = true;
    if (!read(term->operands[0], 1))
      return false;
    scores.scale *= factor;
    return true;
  }

  TermTable &table;
  bool isCapped = false;
};

/// Finds the loop that weights are normalized over, and which factor of the
/// product are the queries.
bool findKeyLoop(WeightsUse &use) {
  Scores &scores = use.scores;
  TermRef row = findRow(use.weights);
  use.isNormalized = row != nullptr;
  auto isKeyLoop = [&](unsigned loop) {
    return loop != scores.depth &&
           (row ? !row->dependsOn(loop) : use.sumsOver(loop));
  };
  for (int turn = 0; turn < 2; ++turn) {
    SmallVector<unsigned> keys;
    for (unsigned loop : scores.key->freeLoops)
      if (!scores.query->dependsOn(loop) && isKeyLoop(loop))
        keys.push_back(loop);
    if (keys.size() == 1) {
      use.key = keys[0];
      return true;
    }
    std::swap(scores.query, scores.key);
  }
  return false;
}

/// Appends the digits of `indices` that are parts of loops.
void findParts(const TermTable &table, TermRef load,
               SmallVectorImpl<Digit> &parts) {
  for (const DigitIndex &index : load->indices)
    for (const Digit &digit : index)
      if (!isWhole(table, digit) && !llvm::is_contained(parts, digit))
        parts.push_back(digit);
}

/// Reads the use with these loops of the contraction, null if there is none.
bool readWith(WeightsUse &use, Value weights, AffineMap weightsMap, Value other,
              AffineMap otherMap, Value &unread) {
  auto getIndices = [&](Value value, AffineMap map) {
    return *applyMap(map, use.loops,
                     cast<RankedTensorType>(value.getType()).getShape());
  };
  use.weights = use.lifter->lift(weights, getIndices(weights, weightsMap));
  use.other = skipCasts(use.lifter->follow(other, getIndices(other, otherMap)));
  TermRef exponent = nullptr;
  walkTerms(use.weights, [&](TermRef term) {
    if (term->kind == TermKind::Exp && !exponent &&
        hasProduct(term->operands[0]))
      exponent = term->operands[0];
    return term->kind != TermKind::Sum && term->kind != TermKind::MaxOver;
  });
  if (!exponent)
    return false;
  ScoreReader reader(use.getTable());
  if (!reader.read(exponent, 1)) {
    if (findRow(use.weights))
      unread = findProduct(exponent)->value;
    return false;
  }
  use.scores = std::move(reader.scores);
  return true;
}

/// The index of a loop in digits whose borders are those of `parts`.
DigitIndex takeApart(TermTable &table, int64_t size, ArrayRef<Digit> parts) {
  SmallVector<int64_t> borders = {1, size};
  for (const Digit &part : parts) {
    borders.push_back(part.stride);
    borders.push_back(part.stride * part.size);
  }
  llvm::sort(borders);
  borders.erase(llvm::unique(borders), borders.end());
  DigitIndex index;
  for (size_t i = borders.size() - 1; i > 0; --i) {
    if (borders[i] % borders[i - 1] != 0)
      return table.getIndex(table.addLoop(size));
    index.append(table.getIndex(table.addLoop(borders[i] / borders[i - 1])));
  }
  return index;
}

/// The strides of the digits of a dim's index.
SmallVector<int64_t> getBorders(const DigitIndex &index) {
  SmallVector<int64_t> borders;
  int64_t stride = 1;
  for (const Digit &digit : llvm::reverse(index)) {
    borders.push_back(stride);
    stride *= digit.size;
  }
  return borders;
}

/// Appends the parts of digits of `load` that begin at `borders` of its dims.
void findPartsAt(TermRef load, ArrayRef<SmallVector<int64_t>> borders,
                 SmallVectorImpl<Digit> &parts) {
  if (borders.size() != load->indices.size())
    return;
  for (auto [index, wanted] : llvm::zip_equal(load->indices, borders)) {
    int64_t stride = 1;
    for (const Digit &digit : llvm::reverse(index)) {
      for (int64_t border : wanted)
        if (border > stride && border < stride * digit.size &&
            border % stride == 0 && digit.size % (border / stride) == 0)
          parts.push_back(
              {digit.loop, border / stride, digit.size / (border / stride)});
      stride *= digit.size;
    }
  }
}

} // namespace

std::optional<WeightsUse>
weft::readWeightsUse(MatmulOp op, bool weightsAreLeft, Value &unread,
                     ArrayRef<SmallVector<int64_t>> borders) {
  constexpr int kMostRounds = 4;
  WeightsUse use;
  use.op = op;
  use.weightsAreLeft = weightsAreLeft;
  Value weights = op.getLhs(), other = op.getRhs();
  AffineMap weightsMap = op.getLhsMap(), otherMap = op.getRhsMap();
  if (!weightsAreLeft) {
    std::swap(weights, other);
    std::swap(weightsMap, otherMap);
  }
  SmallVector<int64_t> sizes(weightsMap.getNumDims(), 1);
  for (auto [value, map] :
       {std::pair(weights, weightsMap), std::pair(other, otherMap)})
    for (auto [i, expr] : llvm::enumerate(map.getResults()))
      sizes[cast<AffineDimExpr>(expr).getPosition()] =
          cast<RankedTensorType>(value.getType()).getDimSize(i);
  SmallVector<SmallVector<Digit>> parts(sizes.size());
  for (int round = 0; round < kMostRounds; ++round) {
    use.lifter = std::make_unique<Lifter>(/*limit=*/1200);
    use.lifter->followOperands();
    use.loops.clear();
    llvm::DenseMap<unsigned, size_t> loopOf;
    for (auto [i, size] : llvm::enumerate(sizes)) {
      use.loops.push_back(takeApart(use.getTable(), size, parts[i]));
      if (use.loops.back().size() == 1)
        loopOf[use.loops.back()[0].loop] = i;
    }
    if (!readWith(use, weights, weightsMap, other, otherMap, unread))
      return std::nullopt;
    SmallVector<Digit> found;
    for (TermRef load : {use.scores.query, use.scores.key, use.other})
      findParts(use.getTable(), load, found);
    if (found.empty()) {
      if (!findKeyLoop(use))
        return std::nullopt;
      findPartsAt(use.scores.query, borders, found);
      llvm::erase_if(found, [&](const Digit &digit) {
        return !loopOf.contains(digit.loop);
      });
      if (found.empty() || round + 1 == kMostRounds)
        return use;
    }
    for (const Digit &digit : found) {
      auto place = loopOf.find(digit.loop);
      if (place == loopOf.end())
        return std::nullopt;
      parts[place->second].push_back(digit);
    }
  }
  return std::nullopt;
}

void weft::takeApartAlike(MutableArrayRef<WeightsUse> uses) {
  SmallVector<SmallVector<int64_t>> all;
  for (const WeightsUse &use : uses) {
    ArrayRef<DigitIndex> indices = use.scores.query->indices;
    all.resize(std::max(all.size(), indices.size()));
    for (auto [borders, index] : llvm::zip(all, indices))
      borders.append(getBorders(index));
  }
  for (WeightsUse &use : uses) {
    SmallVector<Digit> missing;
    findPartsAt(use.scores.query, all, missing);
    Value unread;
    if (missing.empty())
      continue;
    if (std::optional<WeightsUse> again =
            readWeightsUse(use.op, use.weightsAreLeft, unread, all))
      use = std::move(*again);
  }
}
