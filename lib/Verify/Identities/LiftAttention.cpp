// SPDX-License-Identifier: Apache-2.0

// The formulas of weft.attention and its gradient, as WeftAttentionOps.td says.

#include "weft/Verify/Identities/Lift.h"

#include "weft/Dialect/Weft/IR/Attention.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// An op with the indices of its loops, of which some are bound in sums.
class AttentionFormula {
public:
  AttentionFormula(Lifter &lifter, Operation *op, unsigned result,
                   ArrayRef<DigitIndex> indices)
      : lifter(lifter), table(lifter.table), shape(getAttentionShape(op)),
        f32(Float32Type::get(op->getContext())),
        bit(IntegerType::get(op->getContext(), 1)),
        number(IndexType::get(op->getContext())), loops(shape.getNumLoops()),
        bound(shape.getNumLoops(), 0) {
    SmallVector<int64_t> sizes = shape.getLoopSizes();
    const AttentionPart &made =
        shape.parts[shape.parts.size() - op->getNumResults() + result];
    for (unsigned loop = 0; loop < loops.size(); ++loop) {
      std::optional<unsigned> dim =
          made.map.getResultPosition(getAffineDimExpr(loop, op->getContext()));
      bound[loop] = dim ? 0 : table.addLoop(sizes[loop]);
      loops[loop] = dim ? indices[*dim] : table.getIndex(bound[loop]);
    }
  }

  TermRef lift(AttentionTensor tensor) {
    switch (tensor) {
    case AttentionTensor::Out:
      return table.div(
          sum({shape.getKey()}, retained(table.mul(table.exp(getScore()),
                                                   get(AttentionTensor::V)))),
          getTotal());
    case AttentionTensor::Lse:
      return table.log(getTotal());
    case AttentionTensor::DQ:
      return scaled(sum({shape.getKey()},
                        table.mul(getGradient(), get(AttentionTensor::K))));
    case AttentionTensor::DK:
      return scaled(
          sumOfQueries(table.mul(getGradient(), get(AttentionTensor::Q))));
    default:
      return sumOfQueries(
          retained(table.mul(getWeight(), get(AttentionTensor::DOut))));
    }
  }

private:
  const AttentionPart *find(AttentionTensor tensor) const {
    const auto *part = llvm::find_if(
        shape.parts, [&](const auto &part) { return part.tensor == tensor; });
    return part == shape.parts.end() ? nullptr : part;
  }

  /// The element of an operand, as a number of f32 if it is one of a float.
  TermRef get(AttentionTensor tensor) {
    const AttentionPart *part = find(tensor);
    TermRef term = lifter.lift(
        part->value, *applyMap(part->map, loops, part->getType().getShape()));
    return isa<FloatType>(term->type) ? table.cast(f32, term) : term;
  }

  TermRef sum(ArrayRef<unsigned> over, TermRef body) {
    SmallVector<unsigned> own;
    for (unsigned loop : over)
      own.push_back(bound[loop]);
    return table.over(TermKind::Sum, own, body);
  }

  TermRef sumOfQueries(TermRef body) {
    SmallVector<int> loops = shape.getSummedLoops();
    return sum(SmallVector<unsigned>(loops.begin(), loops.end()), body);
  }

  TermRef scaled(TermRef term) {
    return table.mul(term, table.constant(f32, shape.config.getScaleValue()));
  }

  /// The term times 0 for keys that are dropped and the gain of the others.
  /// Which these are is some function of the query's seeds and the key, one for
  /// each rate.
  TermRef retained(TermRef term) {
    if (!shape.config.getDropout())
      return term;
    std::string name = "retained";
    llvm::raw_string_ostream(name) << ' ' << shape.config.getDropout();
    TermRef key = table.index(number, loops[shape.getKey()]);
    return table.mul(term,
                     table.function(f32, name,
                                    {get(AttentionTensor::LowSeeds),
                                     get(AttentionTensor::HighSeeds), key}));
  }

  /// Which keys a query sees; null: all.
  TermRef getSeen() {
    TermRef seen = nullptr;
    auto also = [&](TermRef condition) {
      seen = seen ? table.logical(TermKind::And, seen, condition) : condition;
    };
    TermRef query = table.index(number, loops[shape.getQuery()]);
    TermRef key = table.index(number, loops[shape.getKey()]);
    if (std::optional<int64_t> right = shape.config.getRight())
      also(table.compare(bit, "sle", key,
                         table.add(query, table.constant(number, *right))));
    if (std::optional<int64_t> left = shape.config.getLeft())
      also(table.compare(
          bit, "sle", table.add(query, table.constant(number, -*left)), key));
    if (find(AttentionTensor::QSegments))
      also(table.compare(bit, "eq", get(AttentionTensor::QSegments),
                         get(AttentionTensor::KSegments)));
    return seen;
  }

  /// Over a depth of its own: that of the result may be another one.
  TermRef getProduct() {
    unsigned loop = shape.getDepth();
    if (!product) {
      unsigned depth = table.addLoop(shape.getLoopSizes()[loop]);
      DigitIndex outer = table.getIndex(depth);
      std::swap(loops[loop], outer);
      product = scaled(table.over(
          TermKind::Sum, depth,
          table.mul(get(AttentionTensor::Q), get(AttentionTensor::K))));
      std::swap(loops[loop], outer);
    }
    return product;
  }

  TermRef getTanh() {
    TermRef cap = table.constant(f32, shape.config.getSoftcapValue());
    return table.function(f32, "tanh", {table.div(getProduct(), cap)});
  }

  TermRef getScore() {
    const double lowest = -std::numeric_limits<double>::infinity();
    TermRef score =
        shape.config.getSoftcap()
            ? table.mul(getTanh(),
                        table.constant(f32, shape.config.getSoftcapValue()))
            : getProduct();
    if (find(AttentionTensor::Bias))
      score = table.add(score, get(AttentionTensor::Bias));
    if (find(AttentionTensor::Mask))
      score = table.select(get(AttentionTensor::Mask), score,
                           table.constant(f32, shape.config.getFillValue()));
    if (TermRef seen = getSeen())
      score = table.select(seen, score, table.constant(f32, lowest));
    return score;
  }

  /// The sum of exponentials of a query.
  TermRef getTotal() { return sum({shape.getKey()}, table.exp(getScore())); }

  TermRef getWeight() {
    return table.exp(table.sub(getScore(), get(AttentionTensor::Lse)));
  }

  /// The gradient of the scores, before the scale.
  TermRef getGradient() {
    unsigned value = shape.getValue();
    if (!gradient) {
      TermRef delta = sum({value}, table.mul(get(AttentionTensor::DOut),
                                             get(AttentionTensor::Out)));
      TermRef change =
          retained(sum({value}, table.mul(get(AttentionTensor::DOut),
                                          get(AttentionTensor::V))));
      gradient = table.mul(getWeight(), table.sub(change, delta));
      if (find(AttentionTensor::Mask))
        gradient = table.select(get(AttentionTensor::Mask), gradient,
                                table.constant(f32, 0));
      if (shape.config.getSoftcap()) {
        TermRef tanh = getTanh();
        gradient = table.mul(
            gradient, table.sub(table.constant(f32, 1), table.mul(tanh, tanh)));
      }
    }
    return gradient;
  }

  Lifter &lifter;
  TermTable &table;
  AttentionShape shape;
  Type f32, bit, number;
  SmallVector<DigitIndex> loops;
  /// For each loop that does not index the result.
  SmallVector<unsigned> bound;
  TermRef product = nullptr, gradient = nullptr;
};

} // namespace

TermRef weft::liftAttention(Lifter &lifter, Operation *op, unsigned result,
                            ArrayRef<DigitIndex> indices) {
  AttentionShape shape = getAttentionShape(op);
  if (op->getNumOperands() + op->getNumResults() != shape.parts.size())
    return nullptr; // with a start it is a part of something
  unsigned place = shape.parts.size() - op->getNumResults() + result;
  return AttentionFormula(lifter, op, result, indices)
      .lift(shape.parts[place].tensor);
}
