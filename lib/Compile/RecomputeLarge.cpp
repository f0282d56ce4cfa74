// SPDX-License-Identifier: Apache-2.0

// Of a large step few programs are made: the bytes that a choice keeps are
// known before, so that what fits is found from what others turned out to need.

#include "RecomputeSearch.h"

#include "weft/Schedule/Recomputation.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::weft;

/// How many choices are tried, and how many percent of the limit one may leave.
static constexpr int kMaxChoices = 4;
static constexpr int64_t kLeftPercent = 1;

/// How often less is looked for than computing all again needs, and how much
/// less, in thousandths: what is aimed at is an estimate.
static constexpr int kMaxRounds = 8;
static constexpr int64_t kLowered[] = {0, 3, 10, 30};

namespace {

/// Choices from the lowest price to the highest, with those between two of them
/// by shares of the forward pass: a line on which less is kept at each place.
class ChoiceLine {
public:
  static constexpr int64_t kShares = 100;

  /// `prices` are ascending. At the highest one as much is kept as at the one
  /// before: twice that is beyond all choices.
  ChoiceLine(ArrayRef<RecomputePrice> given) : prices(given) {}

  int64_t getLast() const { return int64_t(prices.size() - 1) * kShares; }

  /// Bytes that are kept at a place, about.
  int64_t getKept(int64_t place) const {
    int64_t index = place / kShares, share = place % kShares;
    int64_t kept = prices[index].keptBytes;
    if (share == 0)
      return kept;
    return kept - (kept - prices[index + 1].keptBytes) / kShares * share;
  }

  /// The first place at which no more than so many bytes are kept; the last
  /// one if there is none.
  int64_t find(int64_t bytes) const {
    int64_t low = 0, high = getLast();
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (getKept(middle) <= bytes)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

  /// Price, share and the price for the rest.
  std::tuple<int64_t, int64_t, int64_t> get(int64_t place) const {
    int64_t index = place / kShares, share = place % kShares;
    if (share == 0)
      return {prices[index].price, kShares, 0};
    return {prices[index + 1].price, share, prices[index].price};
  }

private:
  ArrayRef<RecomputePrice> prices;
};

} // namespace

/// What keeps as much as fits, by the estimate; if nothing does, what keeps
/// least, with the bytes that it needs. `estimated` is what the step as written
/// needs.
RecomputeSearch::Program RecomputeSearch::chooseForLimit(bool waists,
                                                         int64_t estimated) {
  SmallVector<RecomputePrice> prices =
      getRecomputePrices(*plain, machine, waists);
  if (prices.size() < 2)
    return {};
  prices.back().price *= 2;
  ChoiceLine line(prices);
  Program best;
  int64_t others = estimated - line.getKept(0), tooLarge = -1;
  for (int i = 0; i < kMaxChoices; ++i) {
    int64_t place = std::min(std::max(line.find(limit - others), tooLarge + 1),
                             line.getLast());
    auto [price, share, latePrice] = line.get(place);
    Program program = choose({price, share, latePrice, waists});
    if (!program.module)
      return {};
    program.bytes = makeLoop(*program.module).estimate().bytes;
    others = program.bytes - line.getKept(place);
    bool fits = program.bytes <= limit;
    bool isEnough =
        fits && (limit - program.bytes) / kLeftPercent < limit / 100;
    if (fits || best.bytes == 0 || best.bytes > limit)
      best = std::move(program);
    if (isEnough || (!fits && place >= line.getLast()))
      break;
    if (!fits)
      tooLarge = place;
  }
  return best;
}

/// The program with single kernels computed again, all that there is or, where
/// that needs more, as much as brings it below what was needed before: until it
/// needs no more than `enough`, or no less than before. So of one program an
/// error names the same bytes for all limits below them.
RecomputeSearch::Program RecomputeSearch::repeatMost(const Program &program,
                                                     int64_t enough) {
  Program best = repeat(program, 0);
  if (!best.module)
    return best;
  best.bytes = getLeast(*best.module);
  auto isLess = [&](int64_t target) {
    Program other = repeat(program, target);
    if (!other.module)
      return false;
    other.bytes = getLeast(*other.module);
    bool isLess = other.bytes > 0 && other.bytes < best.bytes;
    if (isLess)
      best = std::move(other);
    return isLess;
  };
  for (int i = 0; i < kMaxRounds && best.bytes > enough; ++i)
    if (llvm::none_of(kLowered, [&](int64_t part) {
          return isLess(best.bytes - 1 - best.bytes * part / 1000);
        }))
      break;
  return best;
}

/// Of what keeps least, single kernels are computed again: as much as brings it
/// to the limit, or else as much as needs least.
MemoryLoop::Fitted
RecomputeSearch::fitLeastOfLarge(std::vector<Program> least) {
  if (least.empty())
    least.push_back({fused.clone(), recomputed, {}, -1, 0});
  const Program &first = *std::min_element(
      least.begin(), least.end(),
      [](const Program &a, const Program &b) { return a.bytes < b.bytes; });
  Program repeated = repeat(first, limit);
  if (!repeated.module)
    return {};
  Attempt attempted = attempt(repeated);
  if (attempted.fitted.planned)
    return tell(std::move(attempted));
  Program most = repeatMost(first, limit);
  return most.module ? tell(attempt(most)) : MemoryLoop::Fitted();
}

/// With what is handed on between layers kept, then without. `estimated` is
/// what the step as written needs.
MemoryLoop::Fitted RecomputeSearch::fitLarge(int64_t estimated) {
  if (failed(makePlain()))
    return {};
  std::vector<Program> least;
  for (bool waists : {true, false}) {
    Program program = chooseForLimit(waists, estimated);
    if (!program.module)
      continue;
    if (program.bytes <= limit) {
      Attempt attempted = attempt(program);
      if (attempted.fitted.planned)
        return tell(std::move(attempted));
    }
    least.push_back(std::move(program));
  }
  return fitLeastOfLarge(std::move(least));
}
