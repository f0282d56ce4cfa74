// SPDX-License-Identifier: Apache-2.0

// A permute over a serial axis and others, on ranks that go through the serial
// one. Where all ranks need the same other microbatch for one of theirs, that
// is a permute of ranks. Else it is done in *rounds*, as many as there are
// microbatches: in each a rank sends one of its microbatches, and gets one. So
// a rank receives what it would as several ranks, or less. Which ones these are
// depends on the rank: they are picked by a number.
//
// Worked example. On ["b"=2, "mb"=2] microbatch d of rank r is to become
// microbatch r of rank d. Rank 0 needs its own first and the first of rank 1,
// rank 1 the second of rank 0 and its own second. In round 0 each keeps
// microbatch r, in round 1 it sends microbatch 1 - r to the other one.
// Microbatch d of rank r comes in round 0 if d is r, else in round 1.

#include "Accumulate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::weft;

//===----------------------------------------------------------------------===//
// Where values come from
//===----------------------------------------------------------------------===//

namespace {

/// Where a member of a permute is, and where its source is: as a position among
/// the ranks, and along the serial axis.
struct Place {
  int64_t rank, digit;

  Place(int64_t member, const AxesSplit &axes)
      : rank(member / (axes.size * axes.numMinor) * axes.numMinor +
             member % axes.numMinor),
        digit(member / axes.numMinor % axes.size) {}
};

/// Where one coordinate's values of a permute come from, rank by rank.
struct Sources {
  /// The source's coordinate, or -1 for zeros; and its rank.
  SmallVector<int64_t> digits, ranks;

  /// The one coordinate that all values come from, if they do; -1: zeros only.
  std::optional<int64_t> getDigit() const {
    int64_t digit = *std::max_element(digits.begin(), digits.end());
    bool isOne = llvm::all_of(
        digits, [&](int64_t other) { return other == digit || other < 0; });
    return isOne ? std::optional<int64_t>(digit) : std::nullopt;
  }
};

/// Those of each coordinate.
SmallVector<Sources> getSources(ArrayRef<int64_t> sources,
                                const AxesSplit &axes) {
  SmallVector<int64_t> none(axes.numMajor * axes.numMinor, -1);
  SmallVector<Sources> result(axes.size, Sources{none, none});
  for (auto [member, source] : llvm::enumerate(sources)) {
    if (source < 0)
      continue;
    Place to(member, axes), from(source, axes);
    result[to.digit].digits[to.rank] = from.digit;
    result[to.digit].ranks[to.rank] = from.rank;
  }
  return result;
}

/// Of the list of other axes, a part of prime size, and how far ranks are apart
/// that differ by one along it.
struct Digit {
  AxisRefAttr axis;
  int64_t size, weight;

  int64_t get(int64_t rank) const { return rank / weight % size; }
};

SmallVector<Digit> getDigits(ArrayRef<AxisRefAttr> axes, MeshAttr mesh) {
  SmallVector<Digit> digits;
  for (AxisRefAttr axis : axes) {
    int64_t size =
        axis.isWholeAxis() ? *mesh.getAxisSize(axis.getName()) : axis.getSize();
    int64_t left = size, before = axis.getPreSize();
    for (int64_t prime = 2; left > 1; ++prime)
      for (; left % prime == 0; left /= prime, before *= prime) {
        auto part =
            AxisRefAttr::get(axis.getContext(), axis.getName(), before, prime);
        digits.push_back({prime == size ? axis : part, prime, 1});
      }
  }
  int64_t weight = 1;
  for (Digit &digit : llvm::reverse(digits)) {
    digit.weight = weight;
    weight *= digit.size;
  }
  return digits;
}

/// The digits on which something that is said of ranks depends.
template <typename T>
SmallVector<Digit> findDigits(ArrayRef<Digit> digits, ArrayRef<T> ofRanks) {
  return llvm::filter_to_vector(digits, [&](const Digit &digit) {
    return llvm::any_of(llvm::seq<int64_t>(ofRanks.size()), [&](int64_t rank) {
      return ofRanks[rank] != ofRanks[rank - digit.get(rank) * digit.weight];
    });
  });
}

/// The position of a rank along digits, major first.
int64_t getNumber(ArrayRef<Digit> digits, int64_t rank) {
  int64_t number = 0;
  for (const Digit &digit : digits)
    number = number * digit.size + digit.get(rank);
  return number;
}

int64_t count(ArrayRef<Digit> digits) {
  int64_t product = 1;
  for (const Digit &digit : digits)
    product *= digit.size;
  return product;
}

} // namespace

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

namespace mlir::weft {

/// A number for each rank, by its position along axes.
struct RankTable {
  SmallVector<AxisRefAttr> axes;
  SmallVector<int64_t> numbers;
};

/// A permute in rounds.
struct Rounds {
  /// The rank that each rank gets its value from, and the microbatch that each
  /// rank sends.
  struct Round {
    SmallVector<int64_t> sources;
    RankTable sent;
  };
  SmallVector<Round> rounds;
  /// The round in which each microbatch comes.
  SmallVector<RankTable> arrivals;
};

} // namespace mlir::weft

namespace {

/// Finds rounds: in each a microbatch of each rank that comes from another rank
/// than those of the others.
class RoundFinder {
public:
  RoundFinder(ArrayRef<Sources> from, ArrayRef<AxisRefAttr> rest, MeshAttr mesh)
      : from(from), numRanks(from.front().ranks.size()), size(from.size()),
        digits(getDigits(rest, mesh)) {}

  std::optional<Rounds> find() {
    bool hasZeros = llvm::any_of(from, [](const Sources &sources) {
      return llvm::is_contained(sources.digits, -1);
    });
    if (hasZeros || (!exchangeDigits() && !match()))
      return std::nullopt;
    Rounds rounds;
    SmallVector<SmallVector<int64_t>> arrivals(size,
                                               SmallVector<int64_t>(numRanks));
    for (auto [number, coordinates] : llvm::enumerate(taken)) {
      SmallVector<int64_t> sources, sent(numRanks);
      for (int64_t rank = 0; rank < numRanks; ++rank) {
        const Sources &way = from[coordinates[rank]];
        sources.push_back(way.ranks[rank]);
        sent[way.ranks[rank]] = way.digits[rank];
        arrivals[coordinates[rank]][rank] = number;
      }
      rounds.rounds.push_back({sources, makeTable(sent)});
    }
    for (ArrayRef<int64_t> ofRanks : arrivals)
      rounds.arrivals.push_back(makeTable(ofRanks));
    bool isTooLong =
        llvm::any_of(rounds.arrivals, isLong) ||
        llvm::any_of(rounds.rounds, [](const Rounds::Round &round) {
          return isLong(round.sent);
        });
    return isTooLong ? std::nullopt : std::optional<Rounds>(std::move(rounds));
  }

private:
  /// More would be many ops for a number.
  static bool isLong(const RankTable &table) {
    constexpr size_t kMaxNumbers = 64;
    return table.numbers.size() > kMaxNumbers;
  }

  RankTable makeTable(ArrayRef<int64_t> ofRanks) const {
    SmallVector<Digit> used = findDigits(ArrayRef(digits), ofRanks);
    RankTable table;
    table.numbers.resize(count(used));
    for (int64_t rank = 0; rank < numRanks; ++rank)
      table.numbers[getNumber(used, rank)] = ofRanks[rank];
    for (const Digit &digit : used)
      table.axes.push_back(digit.axis);
    return table;
  }

  /// Rounds of a permute that exchanges digits of members' numbers, as it
  /// stands where the order of axes changes: what a rank does depends on the
  /// digits alone that the serial axis gets, or gives. False if it is none.
  bool exchangeDigits() {
    SmallVector<SmallVector<int64_t>> got(numRanks, SmallVector<int64_t>(size)),
        given = got;
    for (auto [coordinate, sources] : llvm::enumerate(from))
      for (int64_t rank = 0; rank < numRanks; ++rank) {
        got[rank][coordinate] = sources.digits[rank];
        given[sources.ranks[rank]][sources.digits[rank]] = coordinate;
      }
    SmallVector<Digit> receivers = findDigits(ArrayRef(digits), ArrayRef(got));
    SmallVector<Digit> senders = findDigits(ArrayRef(digits), ArrayRef(given));
    int64_t numKinds = count(receivers);
    if (count(senders) != numKinds || size % numKinds != 0)
      return false;
    // The microbatches that a receiver gets from a sender.
    std::vector<SmallVector<int64_t>> ways(numKinds * numKinds);
    SmallVector<bool> isSeen(numKinds, false);
    for (int64_t rank = 0; rank < numRanks; ++rank) {
      int64_t to = getNumber(receivers, rank);
      for (int64_t coordinate = 0; coordinate < size && !isSeen[to];
           ++coordinate) {
        int64_t by = getNumber(senders, from[coordinate].ranks[rank]);
        ways[to * numKinds + by].push_back(coordinate);
      }
      isSeen[to] = true;
    }
    int64_t numLanes = size / numKinds;
    bool isEqual = llvm::all_of(ways, [&](ArrayRef<int64_t> own) {
      return int64_t(own.size()) == numLanes;
    });
    for (int64_t round = 0; isEqual && round < size; ++round) {
      SmallVector<int64_t> coordinates;
      SmallVector<bool> isSource(numRanks, false);
      for (int64_t rank = 0; isEqual && rank < numRanks; ++rank) {
        int64_t to = getNumber(receivers, rank);
        int64_t by = (to + round) % numKinds;
        coordinates.push_back(ways[to * numKinds + by][round / numKinds]);
        int64_t source = from[coordinates.back()].ranks[rank];
        isEqual = !std::exchange(isSource[source], true);
      }
      taken.push_back(std::move(coordinates));
    }
    if (!isEqual)
      taken.clear();
    return isEqual;
  }

  /// Rounds of any permute: ranks get as many microbatches as they send, so
  /// that there always is one from another rank for each that is left (Koenig).
  bool match() {
    left.assign(numRanks, {});
    for (int64_t rank = 0; rank < numRanks; ++rank) {
      left[rank] = llvm::to_vector(llvm::seq(size));
      // What a rank has itself is not sent.
      llvm::stable_sort(left[rank], [&](int64_t a, int64_t b) {
        return (from[a].ranks[rank] == rank) > (from[b].ranks[rank] == rank);
      });
    }
    for (int64_t round = 0; round < size; ++round) {
      receiver.assign(numRanks, -1);
      chosen.assign(numRanks, -1);
      for (int64_t rank = 0; rank < numRanks; ++rank) {
        SmallVector<bool> isTried(numRanks, false);
        if (!findSource(rank, isTried))
          return false;
      }
      taken.push_back(chosen);
      for (int64_t rank = 0; rank < numRanks; ++rank)
        llvm::erase(left[rank], chosen[rank]);
    }
    return true;
  }

  /// Finds a source for one more rank, for which others may take another one.
  bool findSource(int64_t rank, SmallVectorImpl<bool> &isTried) {
    for (int64_t coordinate : left[rank]) {
      int64_t source = from[coordinate].ranks[rank];
      if (std::exchange(isTried[source], true) ||
          (receiver[source] >= 0 && !findSource(receiver[source], isTried)))
        continue;
      receiver[source] = rank;
      chosen[rank] = coordinate;
      return true;
    }
    return false;
  }

  ArrayRef<Sources> from;
  int64_t numRanks, size;
  SmallVector<Digit> digits;
  /// Of each round, the microbatch that each rank gets.
  SmallVector<SmallVector<int64_t>> taken;
  /// While rounds are matched: microbatches that are in none, who gets one from
  /// each rank, and which.
  std::vector<SmallVector<int64_t>> left;
  SmallVector<int64_t> receiver, chosen;
};

} // namespace

/// Whether each coordinate has one that its values come from on all ranks.
static bool haveDigits(ArrayRef<Sources> from) {
  return llvm::all_of(from, [](const Sources &sources) {
    return sources.getDigit().has_value();
  });
}

LogicalResult weft::checkSerialPermute(PermuteOp op, const AxesSplit &axes,
                                       const SerialAxis &serial) {
  SmallVector<Sources> from = getSources(op.getSources(), axes);
  if (haveDigits(from) || RoundFinder(from, axes.getRest(), serial.mesh).find())
    return success();
  return op.emitOpError("has sources ")
         << op.getSources() << " in no order that coordinates along '"
         << serial.name << "' can take: the axis cannot be serial";
}

//===----------------------------------------------------------------------===//
// Local forms
//===----------------------------------------------------------------------===//

Value LocalCollective::permuteRanks(Value value,
                                    ArrayRef<int64_t> sources) const {
  if (llvm::equal(sources, llvm::seq<int64_t>(sources.size())))
    return value;
  return PermuteOp::create(
             builder, loc, TypeRange(value.getType()), value, op.getMeshAttr(),
             AxesAttr::get(op->getContext(), axes.getRest()),
             builder.getDenseI64ArrayAttr(sources), FlatSymbolRefAttr())
      .getResult(0);
}

SmallVector<Value> LocalCollective::permute(ArrayRef<Value> members,
                                            ArrayRef<int64_t> list) const {
  SmallVector<Sources> sources = getSources(list, axes);
  if (!haveDigits(sources))
    return exchangeRounds(members,
                          *RoundFinder(sources, axes.getRest(), mesh).find());
  auto type = cast<RankedTensorType>(members.front().getType());
  return llvm::map_to_vector(sources, [&](const Sources &from) {
    int64_t digit = *from.getDigit();
    return digit < 0 ? makeZeros(builder, loc, type)
                     : permuteRanks(members[digit], from.ranks);
  });
}

SmallVector<Value> LocalCollective::exchangeRounds(ArrayRef<Value> members,
                                                   const Rounds &rounds) const {
  SmallVector<Value> received;
  Value all = stack(members);
  for (const Rounds::Round &round : rounds.rounds)
    received.push_back(
        permuteRanks(pick(members, all, round.sent), round.sources));
  all = stack(received);
  return llvm::map_to_vector(rounds.arrivals, [&](const RankTable &table) {
    return pick(received, all, table);
  });
}

/// The rank's number in a table: the first one, and what is added to it from
/// each position on where it changes.
Value LocalCollective::lookUp(const RankTable &table) const {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  ArrayRef<int64_t> numbers = table.numbers;
  Value number = constant(numbers.front());
  Value place = AxisIndexOp::create(
      builder, loc, builder.getIndexType(), op.getMeshAttr(),
      AxesAttr::get(op->getContext(), table.axes));
  for (int64_t i = 1, e = numbers.size(); i < e; ++i) {
    int64_t step = numbers[i] - numbers[i - 1];
    if (step == 0)
      continue;
    // 1 from position i on, 0 before.
    Value isFrom = place;
    if (i > 1) {
      isFrom = arith::SubIOp::create(builder, loc, place, constant(i - 1));
      isFrom = arith::MaxSIOp::create(builder, loc, isFrom, constant(0));
    }
    if (i + 1 < e)
      isFrom = arith::MinSIOp::create(builder, loc, isFrom, constant(1));
    Value added = arith::MulIOp::create(builder, loc, isFrom, constant(step));
    number = arith::AddIOp::create(builder, loc, number, added);
  }
  return number;
}

/// Values below each other, along a new first dim.
Value LocalCollective::stack(ArrayRef<Value> values) const {
  return concat(
      llvm::map_to_vector(values, [&](Value value) { return addDim(value); }),
      0);
}

/// One of values that are also stacked: for each rank the one that a table
/// says.
Value LocalCollective::pick(ArrayRef<Value> values, Value stack,
                            const RankTable &table) const {
  if (table.numbers.size() == 1)
    return values[table.numbers.front()];
  auto whole = cast<RankedTensorType>(stack.getType());
  SmallVector<OpFoldResult> offsets(whole.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(whole.getRank(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(builder.getContext(), whole.getShape());
  offsets[0] = lookUp(table);
  sizes[0] = builder.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(
      builder, loc, whole.clone(whole.getShape().drop_front()), stack, offsets,
      sizes, strides);
}

/// Sees a tensor as the only part of one with another first dim.
Value LocalCollective::addDim(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape = {1};
  llvm::append_range(shape, type.getShape());
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0; d < type.getRank(); ++d)
    groups.push_back({d + 1});
  if (!groups.empty())
    groups.front().insert(groups.front().begin(), 0);
  return tensor::ExpandShapeOp::create(builder, loc, type.clone(shape), value,
                                       groups);
}
