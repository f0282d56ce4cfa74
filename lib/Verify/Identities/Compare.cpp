// SPDX-License-Identifier: Apache-2.0

// Evaluates two terms at random points of a finite field. Loads, maxima and
// functions are random numbers that depend on what they are of, conditions on
// indices and data random bits. Loops are made short: of each size one number
// of passes, another for each other size, so that an identity of sums is not
// taken for one that holds by their length.

#include "weft/Verify/Identities/Compare.h"

#include "Field.h"
#include "weft/Verify/Identities/Window.h"

using namespace mlir;
using namespace mlir::weft;

/// What a key may have as its score that is not to be seen.
static constexpr double kLowScore = -1e4;

namespace {

/// The numbers of a term's constants: those that are products of the factors up
/// to rounding are these products.
class Constants {
public:
  explicit Constants(ArrayRef<double> factors) {
    known.push_back({1, makeNumber(1)});
    for (double factor : factors)
      addFactor(factor);
  }

  Number get(double number) {
    double size = std::fabs(number);
    for (const auto &[value, own] : known)
      if (std::fabs(value - size) <= 1e-6 * value)
        return number < 0 ? *multiply(own, makeNumber(-1)) : own;
    return makeNumber(number);
  }

private:
  void addFactor(double factor) {
    size_t count = known.size();
    Number own = makeNumber(factor);
    std::optional<Number> inverse = invert(own);
    for (size_t i = 0; inverse && i < count; ++i) {
      auto up = known[i], down = known[i];
      for (int power = 1; power <= 2; ++power) {
        up = {up.first * factor, *multiply(up.second, own)};
        down = {down.first / factor, *multiply(down.second, *inverse)};
        known.push_back(up);
        known.push_back(down);
      }
    }
  }

  SmallVector<std::pair<double, Number>> known;
};

/// What is found out about terms once for all points.
struct KnownTerms {
  explicit KnownTerms(ArrayRef<double> factors) : constants(factors) {}

  Constants constants;
  llvm::DenseMap<TermRef, std::optional<Window>> windows;
  llvm::DenseMap<TermRef, bool> leaving;
};

/// One point.
class Evaluator {
public:
  using Result = std::optional<Number>;

  Evaluator(const TermTable &table, const ComparedAttention &attention,
            KnownTerms &terms, uint64_t seed, int64_t shortest)
      : table(table), attention(attention), terms(terms), seed(seed),
        shortest(shortest) {}

  void setLoop(unsigned loop, uint64_t value) {
    if (places.size() <= loop)
      places.resize(loop + 1, 0);
    places[loop] = value;
  }

  uint64_t getPasses(unsigned loop) {
    int64_t size = table.getLoopSize(loop);
    auto [place, isNew] = passes.try_emplace(size, shortest + passes.size());
    return place->second;
  }

  /// Nullopt where it is not known, as of a division by 0.
  Result evaluate(TermRef term) {
    std::optional<uint64_t> key = getKey(term);
    if (!key)
      return std::nullopt;
    auto known = numbers.find(*key);
    if (known != numbers.end())
      return known->second;
    Result result = evaluateUncached(term);
    numbers[*key] = result;
    return result;
  }

private:
  /// The term and the places of its loops, four bits each.
  std::optional<uint64_t> getKey(TermRef term) {
    if (term->id + 1 >= (1u << 24) || term->freeLoops.size() > 10)
      return std::nullopt;
    uint64_t key = 0;
    for (unsigned loop : term->freeLoops) {
      if (getPasses(loop) > 16)
        return std::nullopt;
      setLoop(loop, loop < places.size() ? places[loop] : 0);
      key = key << 4 | places[loop];
    }
    return uint64_t(term->id) << 40 | key;
  }

  Mixer mixer(TermRef term) {
    Mixer mixer(seed);
    mixer.add(uint64_t(term->kind));
    return mixer;
  }

  void addIndex(Mixer &mixer, const DigitIndex &index) {
    mixer.add(index.size());
    for (const Digit &digit : index)
      mixer.add(places[digit.loop])
          .add(uint64_t(table.getLoopSize(digit.loop)))
          .add(uint64_t(digit.stride))
          .add(uint64_t(digit.size));
  }

  static Number makeRandom(TermRef term, const Mixer &mixer) {
    return term->type.isInteger(1) ? makeNumber(mixer.getBit())
                                   : mixer.getNumber();
  }

  Result evaluateLoad(TermRef term) {
    Mixer own = mixer(term);
    if (term->value)
      own.add(values.try_emplace(term->value, values.size()).first->second);
    for (const DigitIndex &index : term->indices)
      addIndex(own, index);
    return makeRandom(term, own);
  }

  /// A function of the operands; `commutes`: in any order.
  Result evaluateFunction(TermRef term, bool commutes) {
    Mixer own = mixer(term);
    own.add(StringRef(term->name));
    uint64_t sum = 0;
    for (TermRef operand : term->operands) {
      if (operand->kind == TermKind::Constant && std::isinf(operand->number)) {
        own.add(StringRef(operand->number < 0 ? "-inf" : "inf"));
        continue;
      }
      Result number = evaluate(operand);
      if (!number)
        return std::nullopt;
      if (commutes)
        sum += Mixer(seed).add(*number).getWord();
      else
        own.add(*number);
    }
    return makeRandom(term, own.add(sum));
  }

  /// Calls `each` with the body's number for each pass; false if one is not
  /// known.
  template <typename Each> bool visit(TermRef term, size_t depth, Each each) {
    if (depth == term->loops.size()) {
      Result number = evaluate(term->operands[0]);
      return number && each(*number);
    }
    unsigned loop = term->loops[depth];
    for (uint64_t i = 0, end = getPasses(loop); i < end; ++i) {
      setLoop(loop, i);
      if (!visit(term, depth + 1, each))
        return false;
    }
    return true;
  }

  Result evaluateSum(TermRef term) {
    Number sum;
    if (!visit(term, 0, [&](const Number &number) {
          sum = sum + number;
          return !number.isLowest;
        }))
      return std::nullopt;
    return sum;
  }

  /// Of what a maximum is does not matter, but that it is one number.
  Result evaluateMax(TermRef term) {
    uint64_t sum = 0;
    if (!visit(term, 0, [&](const Number &number) {
          if (!number.isLowest)
            sum += Mixer(seed).add(number).getWord();
          return true;
        }))
      return std::nullopt;
    return mixer(term).add(sum).getNumber();
  }

  /// Adds up an exponent; logarithms in it become factors of `product`.
  bool addExponent(TermRef term, bool isNegative, Number &sum,
                   Number &product) {
    term = skipCasts(term);
    if (term->kind == TermKind::Add)
      return addExponent(term->operands[0], isNegative, sum, product) &&
             addExponent(term->operands[1], isNegative, sum, product);
    if (term->kind == TermKind::Mul && term->operands[1]->isConstant(-1))
      return addExponent(term->operands[0], !isNegative, sum, product);
    Result number =
        evaluate(term->kind == TermKind::Log ? term->operands[0] : term);
    if (!number)
      return false;
    if (term->kind == TermKind::Log) {
      Result factor = isNegative ? invert(*number) : number;
      Result all = factor ? multiply(product, *factor) : std::nullopt;
      if (!all)
        return false;
      all->hasInside = false;
      product = *all;
      return true;
    }
    if (number->isLowest && isNegative)
      return false;
    Result signed_ = number->isLowest || !isNegative
                         ? number
                         : multiply(*number, makeNumber(-1));
    sum = sum + *signed_;
    return sum.hasInside;
  }

  Result evaluateExp(TermRef term) {
    Number sum, product = makeNumber(1);
    if (!addExponent(term->operands[0], false, sum, product))
      return std::nullopt;
    if (sum.isLowest && sum.low > kLowScore)
      return std::nullopt; // not low enough to be nothing
    if (sum.isLowest)
      return Number{0, 0, true};
    Number power{powMod(kGenerator, sum.inside, kOutside), 0, false};
    return multiply(power, product);
  }

  Result evaluateMul(const Number &a, const Number &b, TermRef right) {
    // -inf times a positive constant.
    if (a.isLowest && right->kind == TermKind::Constant && right->number > 0)
      return Number{0, 0, true, true, a.low * right->number};
    return multiply(a, b);
  }

  /// The same window is the same bit, however it is written.
  std::optional<bool> evaluateWindow(TermRef term) {
    if (term->freeLoops.size() != 2)
      return std::nullopt;
    auto [place, isNew] = terms.windows.try_emplace(term);
    if (isNew) {
      unsigned a = term->freeLoops[0], b = term->freeLoops[1];
      place->second = matchWindow(table, term, a, b);
    }
    if (!place->second)
      return std::nullopt;
    Window window = *place->second;
    if (window.isAlways())
      return true;
    auto getBounds = [&] {
      return std::tuple(table.getLoopSize(window.query),
                        table.getLoopSize(window.key), window.low, window.high);
    };
    auto bounds = getBounds();
    Window turned{window.key, window.query, std::nullopt, std::nullopt};
    if (window.high)
      turned.low = -*window.high;
    if (window.low)
      turned.high = -*window.low;
    std::swap(window, turned);
    bool isSymmetric = getBounds() == bounds;
    if (getBounds() > bounds)
      std::swap(window, turned);
    uint64_t first = places[window.query], second = places[window.key];
    if (isSymmetric && first > second)
      std::swap(first, second);
    Mixer mixer(seed);
    mixer.add(uint64_t(table.getLoopSize(window.query)))
        .add(uint64_t(table.getLoopSize(window.key)));
    for (std::optional<int64_t> bound : {window.low, window.high})
      mixer.add(uint64_t(bound.has_value())).add(uint64_t(bound.value_or(0)));
    return mixer.add(first).add(second).getBit();
  }

  /// Says whether the condition leaves each query a key to see.
  bool leavesKeys(TermRef condition) {
    SmallVector<TermRef> all;
    splitConditions(condition, all);
    if (matchesWindow(condition, /*needsSelf=*/false))
      return true;
    return attention.queries <= attention.keys &&
           llvm::all_of(all, [&](TermRef one) {
             return matchesWindow(one, /*needsSelf=*/true) ||
                    isEqualSegment(one);
           });
  }

  bool matchesWindow(TermRef condition, bool needsSelf) {
    if (condition->freeLoops.size() != 2)
      return false;
    unsigned a = condition->freeLoops[0], b = condition->freeLoops[1];
    if (table.getLoopSize(a) != attention.queries)
      std::swap(a, b);
    if (table.getLoopSize(a) != attention.queries ||
        table.getLoopSize(b) != attention.keys)
      return false;
    std::optional<Window> window = matchWindow(table, condition, a, b);
    if (!window)
      return false;
    bool seesSelf =
        window->low.value_or(0) <= 0 && window->high.value_or(0) >= 0;
    // Where there are as many queries as keys, either loop may be that of keys.
    return needsSelf || attention.queries == attention.keys
               ? seesSelf
               : seesKeys(table, *window);
  }

  /// An element of a tensor equal to another one of it, which are the same
  /// where query and key are.
  bool isEqualSegment(TermRef condition) {
    if (condition->kind != TermKind::Compare || condition->name != "eq" ||
        attention.queries != attention.keys)
      return false;
    TermRef a = skipCasts(condition->operands[0]),
            b = skipCasts(condition->operands[1]);
    if (a->kind != TermKind::Load || b->kind != TermKind::Load ||
        a->value != b->value)
      return false;
    unsigned different = 0;
    for (auto [x, y] : llvm::zip_equal(a->indices, b->indices)) {
      if (x == y)
        continue;
      if (x.size() != 1 || y.size() != 1 || !isWhole(table, x[0]) ||
          !isWhole(table, y[0]) ||
          table.getLoopSize(x[0].loop) != attention.queries)
        return false;
      ++different;
    }
    return different == 1;
  }

  Result evaluateSelect(TermRef term) {
    Result condition = evaluate(term->operands[0]);
    if (!condition)
      return std::nullopt;
    bool isTrue = condition->outside != 0;
    TermRef other = skipCasts(term->operands[2]);
    if (!isTrue && other->kind == TermKind::Constant &&
        other->number <= kLowScore) {
      auto [place, isNew] = terms.leaving.try_emplace(term->operands[0], false);
      if (isNew)
        place->second = leavesKeys(term->operands[0]);
      if (place->second)
        return Number{0, 0, true, true, other->number};
    }
    return evaluate(term->operands[isTrue ? 1 : 2]);
  }

  Result evaluateLogical(TermRef term, const Number &a, const Number &b) {
    bool x = a.outside != 0, y = b.outside != 0;
    if (term->kind == TermKind::And)
      return makeNumber(x && y);
    return makeNumber(term->kind == TermKind::Or ? x || y : x != y);
  }

  Result evaluateBinary(TermRef term) {
    Result a = evaluate(term->operands[0]), b = evaluate(term->operands[1]);
    if (!a || !b)
      return std::nullopt;
    switch (term->kind) {
    case TermKind::Add:
      return *a + *b;
    case TermKind::Mul:
      return evaluateMul(*a, *b, term->operands[1]);
    case TermKind::Div: {
      Result inverse = invert(*b);
      return inverse ? multiply(*a, *inverse) : std::nullopt;
    }
    default:
      return evaluateLogical(term, *a, *b);
    }
  }

  Result evaluateUncached(TermRef term) {
    if (term->type.isInteger(1))
      if (std::optional<bool> bit = evaluateWindow(term))
        return makeNumber(*bit);
    switch (term->kind) {
    case TermKind::Constant:
      if (std::isinf(term->number))
        return term->number < 0 ? Result(Number{0, 0, true, true, term->number})
                                : std::nullopt;
      return terms.constants.get(term->number);
    case TermKind::Load:
    case TermKind::Index:
      return evaluateLoad(term);
    case TermKind::Cast:
      return evaluate(term->operands[0]);
    case TermKind::Exp:
      return evaluateExp(term);
    case TermKind::Log:
    case TermKind::Function:
      return evaluateFunction(term, /*commutes=*/false);
    case TermKind::Compare:
      return evaluateFunction(term, /*commutes=*/term->name == "eq");
    case TermKind::Max:
      return evaluateFunction(term, /*commutes=*/true);
    case TermKind::Select:
      return evaluateSelect(term);
    case TermKind::Sum:
      return evaluateSum(term);
    case TermKind::MaxOver:
      return evaluateMax(term);
    default:
      return evaluateBinary(term);
    }
  }

  const TermTable &table;
  const ComparedAttention &attention;
  KnownTerms &terms;
  uint64_t seed;
  int64_t shortest;
  SmallVector<uint64_t> places;
  llvm::DenseMap<uint64_t, Result> numbers;
  llvm::DenseMap<int64_t, uint64_t> passes;
  llvm::DenseMap<Value, uint64_t> values;
};

/// Whether the terms are equal at one point; nullopt if that is not known.
std::optional<bool> areEqualAt(const TermTable &table, TermRef a, TermRef b,
                               const ComparedAttention &attention,
                               KnownTerms &terms, uint64_t seed,
                               int64_t shortest) {
  Evaluator evaluator(table, attention, terms, seed, shortest);
  for (TermRef term : {a, b})
    for (unsigned loop : term->freeLoops)
      evaluator.setLoop(loop, Mixer(seed).add(uint64_t(loop)).getWord() %
                                  evaluator.getPasses(loop));
  std::optional<Number> left = evaluator.evaluate(a),
                        right = evaluator.evaluate(b);
  if (!left || !right)
    return std::nullopt;
  return *left == *right;
}

} // namespace

bool weft::areEqual(const TermTable &table, TermRef a, TermRef b,
                    const ComparedAttention &attention) {
  // Of a mask that is no window, most points may leave a query no key: that is
  // a division by 0.
  constexpr int kMostTries = 100;
  KnownTerms terms(attention.factors);
  int wanted = 4, tries = 0;
  for (uint64_t seed = 1; wanted > 0 && tries < kMostTries; ++seed, ++tries) {
    std::optional<bool> equal =
        areEqualAt(table, a, b, attention, terms, seed, 2 + int64_t(seed % 2));
    if (equal && !*equal)
      return false;
    wanted -= equal.has_value();
  }
  return wanted == 0;
}
