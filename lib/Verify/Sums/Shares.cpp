// SPDX-License-Identifier: Apache-2.0

// Shares of scalars. A sum commutes with what is linear: f(a + b) = f(a) +
// f(b). Over floats that holds for real numbers only, so forms of bits never
// get here with parts of a floating-point sum.

#include "Shares.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

std::optional<ReduceKind> mlir::weft::proof::getExactKind(Operation *op,
                                                          bool isOfReals) {
  if (isOfReals && isa<arith::AddFOp>(op))
    return ReduceKind::Sum;
  if (isOfReals && isa<arith::MulFOp>(op))
    return ReduceKind::Prod;
  return llvm::TypeSwitch<Operation *, std::optional<ReduceKind>>(op)
      .Case<arith::MaximumFOp, arith::MaxSIOp>(
          [](auto) { return ReduceKind::Max; })
      .Case<arith::MinimumFOp, arith::MinSIOp>(
          [](auto) { return ReduceKind::Min; })
      .Case([](arith::AndIOp) { return ReduceKind::And; })
      .Case([](arith::OrIOp) { return ReduceKind::Or; })
      .Case([](arith::AddIOp) { return ReduceKind::Sum; })
      .Case([](arith::MulIOp) { return ReduceKind::Prod; })
      .Default(std::nullopt);
}

bool mlir::weft::proof::isIdempotent(ReduceKind kind) {
  return kind != ReduceKind::Sum && kind != ReduceKind::Prod;
}

bool mlir::weft::proof::isZero(const Form *form) {
  if (!form || !form->value)
    return false;
  if (auto number = dyn_cast<FloatAttr>(form->value))
    return number.getValue().isZero();
  auto number = dyn_cast<IntegerAttr>(form->value);
  return number && number.getValue().isZero();
}

/// A sum of shares, or a choice between them.
static Share addShares(Share a, Share b) {
  if (a == b || b == Share::Zero)
    return a;
  return a == Share::Zero ? b : Share::Broken;
}

/// An op that is linear, on shares of which one is a part.
static Share getLinearShare(StringRef name, ArrayRef<Share> shares) {
  auto is = [&](ArrayRef<StringRef> names) {
    return llvm::is_contained(names, name);
  };
  if (is({"arith.addi", "arith.subi", "arith.addf", "arith.subf"}))
    return addShares(shares[0], shares[1]);
  if (is({"arith.muli", "arith.mulf"})) {
    if (shares[0] == Share::Zero || shares[1] == Share::Zero)
      return Share::Zero;
    return shares[0] == shares[1] ? Share::Broken : Share::Part;
  }
  // A shift multiplies in the ring of integers of a width.
  if (is({"arith.divf", "arith.shli"}))
    return shares[1] == Share::Whole ? Share::Part : Share::Broken;
  return is({"arith.negf", "arith.extf", "arith.truncf", "arith.trunci"})
             ? Share::Part
             : Share::Broken;
}

static bool hasInfinity(Type type) {
  auto number = dyn_cast_if_present<FloatType>(type);
  return number && llvm::APFloat::semanticsHasInf(number.getFloatSemantics());
}

/// An op on shares, of which one is a part.
static Share getScalarShare(const Form *form, ArrayRef<Share> shares,
                            ReduceKind kind) {
  StringRef name = form->name;
  if (name == "arith.select")
    return shares[0] == Share::Whole ? addShares(shares[1], shares[2])
                                     : Share::Broken;
  if (kind == ReduceKind::Sum)
    return getLinearShare(name, shares);
  // Monotonic, unless what is out of range becomes NaN; and a product has other
  // parts over the reals only, where casts change nothing.
  bool isExtremum = kind == ReduceKind::Max || kind == ReduceKind::Min;
  bool isCast = name == "arith.extf" || name == "arith.truncf";
  if (isCast && isExtremum)
    return hasInfinity(form->element) ? Share::Part : Share::Broken;
  if (isCast && kind == ReduceKind::Prod)
    return Share::Part;
  // (a b) (c d) = (a c) (b d).
  if (kind == ReduceKind::Prod &&
      (name == "arith.muli" || name == "arith.mulf"))
    return addShares(shares[0], shares[1]);
  auto combines = [&](ReduceKind other, ArrayRef<StringRef> names) {
    return kind == other && llvm::is_contained(names, name);
  };
  if (combines(ReduceKind::Max, {"arith.maximumf", "arith.maxsi"}) ||
      combines(ReduceKind::Min, {"arith.minimumf", "arith.minsi"}) ||
      combines(ReduceKind::And, {"arith.andi"}) ||
      combines(ReduceKind::Or, {"arith.ori"}))
    return Share::Part;
  return Share::Broken;
}

Share mlir::weft::proof::getShare(const Form *form,
                                  ArrayRef<const Form *> parts,
                                  ReduceKind kind) {
  const Form *tensor = form->kind == FormKind::Read ? form->operands[0] : form;
  if (llvm::is_contained(parts, tensor))
    return Share::Part;
  if (form->kind == FormKind::Constant)
    return kind == ReduceKind::Sum && isZero(form) ? Share::Zero : Share::Whole;
  if (form->kind != FormKind::Scalar)
    return Share::Whole;
  SmallVector<Share> shares =
      llvm::map_to_vector(form->operands, [&](const Form *operand) {
        return getShare(operand, parts, kind);
      });
  if (llvm::is_contained(shares, Share::Broken))
    return Share::Broken;
  return llvm::is_contained(shares, Share::Part)
             ? getScalarShare(form, shares, kind)
             : Share::Whole;
}
