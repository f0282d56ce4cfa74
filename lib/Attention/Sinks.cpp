// SPDX-License-Identifier: Apache-2.0

#include "Sinks.h"

using namespace mlir;
using namespace mlir::weft;

/// Appends what a sum is of.
static void findAddends(TermRef term, SmallVectorImpl<TermRef> &addends) {
  term = skipCasts(term);
  if (term->kind != TermKind::Add) {
    addends.push_back(term);
    return;
  }
  for (TermRef operand : term->operands)
    findAddends(operand, addends);
}

static bool isSum(TermRef term) {
  return term->kind == TermKind::Sum && !term->value &&
         skipCasts(term->operands[0])->kind == TermKind::Exp;
}

/// The score in `beside`, which is added to a sum of exponentials.
static TermRef readSink(TermTable &table, TermRef sum, TermRef beside) {
  sum = skipCasts(sum);
  beside = skipCasts(beside);
  if (!isSum(sum))
    return nullptr;
  TermRef each = skipCasts(sum->operands[0]);
  auto isOfRow = [&](TermRef term) {
    return llvm::none_of(sum->loops,
                         [&](unsigned loop) { return term->dependsOn(loop); });
  };
  if (!isOfRow(beside))
    return nullptr;
  // All scores are less the same number, so that no exponential is too large.
  SmallVector<TermRef> shifts, own;
  findAddends(each->operands[0], shifts);
  llvm::erase_if(shifts, [&](TermRef term) { return !isOfRow(term); });
  if (beside->kind == TermKind::Exp)
    findAddends(beside->operands[0], own);
  else if (!beside->isConstant(1))
    return nullptr;
  for (TermRef shift : shifts) {
    auto *place = llvm::find(own, shift);
    if (place == own.end())
      return nullptr;
    own.erase(place);
  }
  TermRef sink = table.constant(beside->type, 0);
  for (TermRef term : own)
    sink = table.add(sink, table.cast(sink->type, term));
  return sink;
}

TermRef weft::findSink(WeightsUse &use, TermRef root) {
  TermRef sink = nullptr;
  SmallVector<TermRef> sums;
  walkTerms(root, [&](TermRef term) {
    if (term->kind == TermKind::Add && !term->dependsOn(use.key))
      sums.push_back(term);
    return true;
  });
  for (TermRef sum : sums)
    for (int i = 0; i < 2 && !sink; ++i)
      sink = readSink(use.getTable(), sum->operands[i], sum->operands[1 - i]);
  return sink;
}

bool weft::hasSum(TermRef root) {
  bool found = false;
  walkTerms(root, [&](TermRef term) {
    found = found || isSum(term);
    return !found;
  });
  return found;
}
