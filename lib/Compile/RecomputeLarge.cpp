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

/// A plan that is more than one part in so many above its bound may lack room
/// for what is ahead, which is one part in so many of the limit.
static constexpr int64_t kBar = 100, kRoom = 50;

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

/// What keeps as much as `within` bytes allow, by the estimate; if nothing
/// does, what keeps least, with the bytes that it needs.
RecomputeSearch::Program RecomputeSearch::chooseWithin(int64_t within,
                                                       bool waists) {
  SmallVector<RecomputePrice> prices =
      getRecomputePrices(*plain, machine, waists);
  if (prices.size() < 2)
    return {};
  prices.back().price *= 2;
  ChoiceLine line(prices);
  Program best;
  int64_t others = estimatedAsWritten - line.getKept(0), tooLarge = -1;
  for (int i = 0; i < kMaxChoices; ++i) {
    int64_t place = std::min(std::max(line.find(within - others), tooLarge + 1),
                             line.getLast());
    auto [price, share, latePrice] = line.get(place);
    Program program = choose({price, share, latePrice, waists});
    if (!program.module)
      return {};
    program.bytes = makeLoop(*program.module).estimate().bytes;
    others = program.bytes - line.getKept(place);
    bool fits = program.bytes <= within;
    bool isEnough =
        fits && (within - program.bytes) / kLeftPercent < within / 100;
    if (fits || best.bytes == 0 || best.bytes > within)
      best = std::move(program);
    if (isEnough || (!fits && place >= line.getLast()))
      break;
    if (!fits)
      tooLarge = place;
  }
  return best;
}

/// `best`, or the program with as much computed again as brings it below what
/// that needs: until it needs no more than `enough`, or no less than before. So
/// of one program an error names the same bytes for all limits below them.
RecomputeSearch::Program RecomputeSearch::repeatMore(const Program &program,
                                                     Program best,
                                                     int64_t enough) {
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

/// The program with single kernels computed again: all that there is, or as
/// much as needs less than that.
RecomputeSearch::Program RecomputeSearch::repeatMost(const Program &program,
                                                     int64_t enough) {
  Program best = repeat(program, 0);
  if (!best.module)
    return best;
  best.bytes = getLeast(*best.module);
  return repeatMore(program, std::move(best), enough);
}

/// Takes a program that has a plan of no more than `within` bytes: the fastest
/// of them, or, where only the least bytes are looked for, none.
bool RecomputeSearch::find(Program &program, int64_t within, Found &found) {
  if (looksForLeast) {
    int64_t bytes = makeLoop(*program.module).getLeastBytes(within);
    bool isLess = bytes > 0 && bytes <= within;
    if (isLess) {
      found.program = std::move(program);
      found.program.bytes = bytes;
    }
    return isLess;
  }
  found.attempt = attempt(program, within);
  bool isFound = bool(found.attempt.fitted.planned);
  if (isFound) {
    found.program = std::move(program);
    found.program.bytes = found.attempt.fitted.bytes;
  }
  return isFound;
}

/// Whether the step as written is not clearly too large for so many bytes.
bool RecomputeSearch::mayFitAsWritten(int64_t bytes) const {
  return estimatedAsWritten / 51 <= bytes / 50;
}

RecomputeSearch::Found RecomputeSearch::findAsWritten(int64_t within) {
  Found found;
  Program program = getAsWritten();
  found.isAsWritten = find(program, within, found);
  return found;
}

/// A plan that needs no more than `within` bytes, which may be more than the
/// limit: of the step as written, unless that is clearly too large; else of
/// what computes more again.
RecomputeSearch::Found RecomputeSearch::findWithin(int64_t within) {
  Found found = mayFitAsWritten(within) ? findAsWritten(within) : Found();
  return found.isAsWritten ? std::move(found) : findRecomputed(within, within);
}

/// A plan that needs no more than `within` bytes: with what is handed on
/// between layers kept, then without. By the estimate an order of it needs no
/// more than `needed`. Of what needs more, the least is in `least`.
RecomputeSearch::Found
RecomputeSearch::findChosen(int64_t within, int64_t needed, Program &least) {
  Found found;
  if (!plain && failed(makePlain(makeUnmarked())))
    return found;
  for (bool waists : {true, false}) {
    Program program = chooseWithin(needed, waists);
    if (!program.module)
      continue;
    if ((looksForLeast || program.bytes <= needed) &&
        find(program, within, found))
      return found;
    if (least.bytes == 0 || program.bytes < least.bytes)
      least = std::move(program);
  }
  return found;
}

/// The same, else with single kernels computed again.
RecomputeSearch::Found RecomputeSearch::findRecomputed(int64_t within,
                                                       int64_t needed) {
  Program least = getAsWritten();
  Found found = findChosen(within, needed, least);
  if (found.program.module || !plain)
    return found;
  Program repeated = repeat(least, needed);
  if (!repeated.module || !find(repeated, within, found))
    return {};
  return found;
}

/// A program that needs less than this one. With all effort an order is found
/// within less at times, so the last answer is of that.
RecomputeSearch::Program RecomputeSearch::findLess(const Program &program) {
  int64_t bytes = program.bytes;
  looksForLeast = true;
  Found found = findWithin(bytes - 1 - bytes / 100);
  looksForLeast = false;
  Program same = copy(program);
  if (!found.program.module && !find(same, bytes - 1, found))
    found = findWithin(bytes - 1);
  return std::move(found.program);
}

/// What no choice fits: less and less is looked for, from what computing all
/// again needs, until the limit is kept or nothing less is found. That does not
/// depend on the limit, and with a limit of one byte less than the last the
/// same was looked for, so it is the least.
MemoryLoop::Fitted RecomputeSearch::fitLeastOfLarge() {
  Program least = getAsWritten();
  least.bytes = getLeast(fused);
  if (least.bytes <= 0) // It has no plan.
    return tell(attempt(least));
  Program most;
  for (bool waists : {true, false})
    if (Program program = chooseWithin(0, waists);
        program.module && (!most.module || program.bytes < most.bytes))
      most = std::move(program);
  if (most.module)
    if (Program repeated = repeatMost(most, limit);
        repeated.module && repeated.bytes > 0 && repeated.bytes < least.bytes)
      least = std::move(repeated);
  if (least.bytes <= limit)
    return tell(attempt(least));
  for (int i = 0; i < kMaxRounds; ++i) {
    Program less = findLess(least);
    if (!less.module)
      break;
    Program same = copy(less);
    least = repeatMore(less, std::move(same), limit);
    if (least.bytes <= limit)
      return tell(attempt(least));
  }
  makeLoop(*least.module).reportTooLarge(least.bytes);
  return {};
}

/// What fills the limit leaves no memory to gathers ahead, and each is waited
/// for: computing some more again may take less time than that. Only with
/// `best`, so that it is no slower than other policies.
void RecomputeSearch::leaveRoom(Found &found) {
  const MemoryLoop::Fitted &fitted = found.attempt.fitted;
  bool isAtBar = fitted.nanoseconds - fitted.boundNanoseconds <=
                 fitted.boundNanoseconds / kBar;
  // The step as written, where it needs so much less, has that room.
  int64_t needed = limit - limit / kRoom;
  if (isAtBar || limit == kUnlimited ||
      (found.isAsWritten && mayFitAsWritten(needed)) ||
      !makeLoop(fused).takesBest())
    return;
  Found other = findRecomputed(limit, needed);
  if (other.program.module)
    takeFaster(found.attempt, std::move(other.attempt));
}

/// Of a step with marks, what keeps as much as there is memory for: what is
/// computed again costs time also where the step as written fits. Where nobody
/// says how much there is, the step as it is marked does, which `written` is.
RecomputeSearch::Found RecomputeSearch::findUnmarked(Found &written) {
  MemoryLoop loop = makeLoop(fused);
  if (!hasBarriers(unfused) || !loop.takesBest() || loop.isQuick())
    return {};
  int64_t within = limit;
  if (limit == kUnlimited) {
    written = findAsWritten(limit);
    within = written.attempt.fitted.bytes;
  }
  Program least;
  return findChosen(within, within, least);
}

MemoryLoop::Fitted RecomputeSearch::fitLarge() {
  MemoryLoop::Estimate estimate = makeLoop(fused).estimate();
  estimatedAsWritten = estimate.bytes;
  Found written, found = findUnmarked(written);
  if (!found.program.module) {
    found = written.isAsWritten ? std::move(written) : findWithin(limit);
  } else if (mayFitAsWritten(limit) &&
             // No order of the step as written takes less than what it
             // computes.
             found.attempt.fitted.nanoseconds > estimate.computeNanoseconds) {
    if (!written.isAsWritten)
      written = findAsWritten(limit);
    if (written.isAsWritten &&
        written.attempt.fitted.nanoseconds < found.attempt.fitted.nanoseconds)
      found = std::move(written);
  }
  if (!found.program.module)
    return fitLeastOfLarge();
  leaveRoom(found);
  return tell(std::move(found.attempt));
}
