// SPDX-License-Identifier: Apache-2.0

// A condition whose comparisons are of differences of the two indices is looked
// at once for each difference, any other for each pair.

#include "weft/Verify/Identities/Window.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::weft;

/// Pairs of indices that are looked at, at most.
static constexpr int64_t kMostPairs = int64_t(1) << 24;

void weft::splitConditions(TermRef condition, SmallVectorImpl<TermRef> &all) {
  if (condition->kind != TermKind::And)
    return all.push_back(condition);
  for (TermRef operand : condition->operands)
    splitConditions(operand, all);
}

bool weft::seesKeys(const TermTable &table, const Window &window) {
  int64_t queries = table.getLoopSize(window.query),
          keys = table.getLoopSize(window.key);
  if (window.high && *window.high < 0)
    return false;
  // The last query's window begins before the keys end.
  return !window.low ||
         (*window.low <= 0 && queries - 1 + *window.low <= keys - 1);
}

namespace {

/// c + query * a + key * b.
struct Linear {
  int64_t constant = 0, query = 0, key = 0;
};

class WindowMatcher {
public:
  WindowMatcher(const TermTable &table, unsigned query, unsigned key)
      : table(table), query(query), key(key), queries(table.getLoopSize(query)),
        keys(table.getLoopSize(key)) {}

  std::optional<Window> match(TermRef condition) {
    if (!condition->type.isInteger(1) || !isReadable(condition))
      return std::nullopt;
    // Whether the condition holds, by key - query + queries - 1.
    SmallVector<bool> holds(queries + keys - 1, false);
    if (isOfDifferences(condition)) {
      for (int64_t i : {int64_t(0), queries - 1})
        for (int64_t j : {int64_t(0), keys - 1})
          evaluate(condition, i, j); // do numbers fit their types?
      for (int64_t i = 0; i < int64_t(holds.size()); ++i) {
        int64_t difference = i - (queries - 1);
        holds[i] = evaluate(condition, std::max<int64_t>(-difference, 0),
                            std::max<int64_t>(difference, 0)) != 0;
      }
    } else if (!lookAtPairs(condition, holds)) {
      return std::nullopt;
    }
    return failed ? std::nullopt : makeWindow(holds);
  }

private:
  /// Reads constants and the two indices only.
  bool isReadable(TermRef term) {
    for (unsigned loop : term->freeLoops)
      if (loop != query && loop != key)
        return false;
    switch (term->kind) {
    case TermKind::Constant:
      return true;
    case TermKind::Index:
      return term->indices[0].size() == 1 &&
             isWhole(table, term->indices[0][0]);
    case TermKind::Load:
      return isReadableLoad(term);
    case TermKind::Cast:
      return isa<IntegerType, IndexType>(term->type) &&
             isReadable(term->operands[0]);
    case TermKind::Add:
    case TermKind::Mul:
      return isa<IntegerType, IndexType>(term->type) &&
             llvm::all_of(term->operands,
                          [&](TermRef operand) { return isReadable(operand); });
    case TermKind::Select:
    case TermKind::Compare:
    case TermKind::And:
    case TermKind::Or:
    case TermKind::Xor:
      return llvm::all_of(term->operands,
                          [&](TermRef operand) { return isReadable(operand); });
    default:
      return false;
    }
  }

  /// A constant of integers that the two loops index.
  bool isReadableLoad(TermRef term) {
    DenseElementsAttr attr;
    auto type = dyn_cast<IntegerType>(term->type);
    if (!type || type.getWidth() > 32 ||
        !matchPattern(term->value, m_Constant(&attr)))
      return false;
    for (const DigitIndex &index : term->indices)
      if (index.size() > 1 || (index.size() == 1 && !isWhole(table, index[0])))
        return false;
    std::vector<int32_t> &numbers = constants[term];
    if (!numbers.empty())
      return true;
    // A bit is 0 or 1.
    for (const llvm::APInt &number : attr.getValues<llvm::APInt>())
      numbers.push_back(type.isInteger(1) ? number.getZExtValue()
                                          : number.getSExtValue());
    return true;
  }

  std::optional<Linear> getLinear(TermRef term) {
    if (term->kind == TermKind::Constant)
      return Linear{int64_t(term->number), 0, 0};
    if (term->kind == TermKind::Cast)
      return getLinear(term->operands[0]);
    if (term->kind == TermKind::Index)
      return term->indices[0][0].loop == query ? Linear{0, 1, 0}
                                               : Linear{0, 0, 1};
    if (term->kind != TermKind::Add && term->kind != TermKind::Mul)
      return std::nullopt;
    std::optional<Linear> a = getLinear(term->operands[0]),
                          b = getLinear(term->operands[1]);
    if (!a || !b)
      return std::nullopt;
    if (term->kind == TermKind::Add)
      return Linear{a->constant + b->constant, a->query + b->query,
                    a->key + b->key};
    if (b->query || b->key)
      return std::nullopt;
    return Linear{a->constant * b->constant, a->query * b->constant,
                  a->key * b->constant};
  }

  bool isOfDifferences(TermRef term) {
    if (term->kind == TermKind::Constant)
      return true;
    if (term->kind == TermKind::Compare) {
      std::optional<Linear> a = getLinear(term->operands[0]),
                            b = getLinear(term->operands[1]);
      return a && b && a->query - b->query == b->key - a->key &&
             !StringRef(term->name).starts_with("u");
    }
    return (term->kind == TermKind::And || term->kind == TermKind::Or ||
            term->kind == TermKind::Xor) &&
           llvm::all_of(term->operands, [&](TermRef operand) {
             return isOfDifferences(operand);
           });
  }

  bool lookAtPairs(TermRef condition, SmallVectorImpl<bool> &holds) {
    if (queries * keys > kMostPairs)
      return false;
    SmallVector<bool> known(holds.size(), false);
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = 0; j < keys; ++j) {
        int64_t place = j - i + queries - 1;
        bool isTrue = evaluate(condition, i, j) != 0;
        if (known[place] && holds[place] != isTrue)
          return false;
        known[place] = true;
        holds[place] = isTrue;
      }
    return true;
  }

  int64_t readConstant(TermRef term, int64_t i, int64_t j) {
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(term->value.getType()).getShape();
    int64_t place = 0;
    for (auto [index, size] : llvm::zip_equal(term->indices, shape))
      place = place * size + (index.empty()            ? 0
                              : index[0].loop == query ? i
                                                       : j);
    return constants[term][place];
  }

  /// The number, which has to fit its type.
  int64_t fit(Type type, int64_t number) {
    if (auto integer = dyn_cast<IntegerType>(type))
      if (!integer.isInteger(1) &&
          !llvm::isIntN(std::min(integer.getWidth(), 62u), number))
        failed = true;
    return number;
  }

  int64_t compare(StringRef predicate, int64_t a, int64_t b) {
    if (predicate.starts_with("u") && (a < 0 || b < 0))
      failed = true;
    if (predicate == "eq")
      return a == b;
    return predicate.ends_with("lt") ? a < b : a <= b;
  }

  int64_t evaluate(TermRef term, int64_t i, int64_t j) {
    auto operand = [&](unsigned place) {
      return evaluate(term->operands[place], i, j);
    };
    switch (term->kind) {
    case TermKind::Constant:
      return int64_t(term->number);
    case TermKind::Index:
      return term->indices[0][0].loop == query ? i : j;
    case TermKind::Load:
      return readConstant(term, i, j);
    case TermKind::Cast:
      return fit(term->type, operand(0));
    case TermKind::Add:
      return fit(term->type, operand(0) + operand(1));
    case TermKind::Mul:
      return fit(term->type, operand(0) * operand(1));
    case TermKind::Select:
      return operand(0) ? operand(1) : operand(2);
    case TermKind::Compare:
      return compare(term->name, operand(0), operand(1));
    case TermKind::And:
      return operand(0) & operand(1);
    case TermKind::Or:
      return operand(0) | operand(1);
    default:
      return operand(0) ^ operand(1);
    }
  }

  /// The run of differences where it holds.
  std::optional<Window> makeWindow(ArrayRef<bool> holds) {
    auto first = llvm::find(holds, true);
    if (first == holds.end())
      return std::nullopt;
    auto end = std::find(first, holds.end(), false);
    if (std::find(end, holds.end(), true) != holds.end())
      return std::nullopt;
    Window window{query, key, std::nullopt, std::nullopt};
    if (first != holds.begin())
      window.low = first - holds.begin() - (queries - 1);
    if (end != holds.end())
      window.high = end - holds.begin() - 1 - (queries - 1);
    return window;
  }

  const TermTable &table;
  unsigned query, key;
  int64_t queries, keys;
  bool failed = false;
  llvm::DenseMap<TermRef, std::vector<int32_t>> constants;
};

} // namespace

std::optional<Window> weft::matchWindow(const TermTable &table,
                                        TermRef condition, unsigned query,
                                        unsigned key) {
  return WindowMatcher(table, query, key).match(condition);
}
