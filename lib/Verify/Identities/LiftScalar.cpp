// SPDX-License-Identifier: Apache-2.0

// Ops on scalars as terms. What has no kind of its own is a function of its
// operands, by its name and attributes.

#include "weft/Verify/Identities/Lift.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::weft;

/// The name of an op with its attributes and types.
static std::string describe(Operation &op) {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << op.getName().getStringRef();
  os << op.getDiscardableAttrDictionary();
  if (Attribute properties = op.getPropertiesAsAttribute())
    os << properties;
  for (Value operand : op.getOperands())
    os << ',' << operand.getType();
  return name;
}

/// Casts that keep the number, or round it.
static bool keepsNumber(Operation &op) {
  return isa<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::SIToFPOp,
             arith::IndexCastOp>(op) ||
         (isa<arith::ExtUIOp, arith::UIToFPOp>(op) &&
          op.getOperand(0).getType().isInteger(1));
}

/// Says whether an index is cut off to a type that holds all its values.
static bool keepsIndex(Operation &op, TermRef operand) {
  TermRef index = skipCasts(operand);
  if (index->kind != TermKind::Index)
    return false;
  int64_t size = 1;
  for (const Digit &digit : index->indices[0])
    size *= digit.size;
  return llvm::isIntN(op.getResult(0).getType().getIntOrFloatBitWidth(),
                      size - 1);
}

static TermRef liftArithmetic(TermTable &table, Operation &op,
                              ArrayRef<TermRef> operands) {
  if (isa<arith::AddFOp, arith::AddIOp>(op))
    return table.add(operands[0], operands[1]);
  if (isa<arith::SubFOp, arith::SubIOp>(op))
    return table.sub(operands[0], operands[1]);
  if (isa<arith::MulFOp, arith::MulIOp>(op))
    return table.mul(operands[0], operands[1]);
  if (isa<arith::DivFOp>(op))
    return table.div(operands[0], operands[1]);
  if (isa<arith::NegFOp>(op))
    return table.mul(operands[0], table.constant(operands[0]->type, -1));
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(op))
    return table.max(operands[0], operands[1]);
  if (isa<math::ExpOp>(op))
    return table.exp(operands[0]);
  if (isa<math::AbsFOp>(op) && isPositive(operands[0]))
    return operands[0];
  if (isa<math::LogOp>(op))
    return table.log(operands[0]);
  if (isa<math::TanhOp>(op))
    return table.function(op.getResult(0).getType(), "tanh", operands);
  return nullptr;
}

static TermRef liftLogical(TermTable &table, Operation &op,
                           ArrayRef<TermRef> operands) {
  if (isa<arith::AndIOp>(op))
    return table.logical(TermKind::And, operands[0], operands[1]);
  if (isa<arith::OrIOp>(op))
    return table.logical(TermKind::Or, operands[0], operands[1]);
  if (isa<arith::XOrIOp>(op))
    return table.logical(TermKind::Xor, operands[0], operands[1]);
  return nullptr;
}

/// What is known of a comparison of a sum of exponentials with 0, or of one of
/// two constants with another; null if anything else is compared.
static TermRef liftComparison(TermTable &table, arith::CmpFOp op,
                              ArrayRef<TermRef> operands) {
  TermRef choice = operands[0], constant = operands[1];
  if (constant->isConstant(0) && isPositive(choice))
    return table.constant(op.getType(),
                          arith::applyCmpPredicate(op.getPredicate(),
                                                   llvm::APFloat(1.0),
                                                   llvm::APFloat(0.0)));
  if (choice->kind != TermKind::Select ||
      constant->kind != TermKind::Constant ||
      !llvm::all_of(ArrayRef(choice->operands).drop_front(), [](TermRef term) {
        return term->kind == TermKind::Constant;
      }))
    return nullptr;
  auto holds = [&](TermRef term) {
    return table.constant(
        op.getType(),
        arith::applyCmpPredicate(op.getPredicate(), llvm::APFloat(term->number),
                                 llvm::APFloat(constant->number)));
  };
  return table.select(choice->operands[0], holds(choice->operands[1]),
                      holds(choice->operands[2]));
}

TermRef weft::liftScalarOp(TermTable &table, Operation &op,
                           ArrayRef<TermRef> operands) {
  Type type = op.getResult(0).getType();
  bool isBit = type.isInteger(1);
  if (!isBit)
    if (TermRef term = liftArithmetic(table, op, operands))
      return term;
  if (isBit)
    if (TermRef term = liftLogical(table, op, operands))
      return term;
  if (isa<arith::SelectOp>(op))
    return table.select(operands[0], operands[1], operands[2]);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    if (!compare.getLhs().getType().isInteger(1))
      return table.compare(
          type, arith::stringifyCmpIPredicate(compare.getPredicate()),
          operands[0], operands[1]);
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    if (TermRef term = liftComparison(table, compare, operands))
      return term;
  if (isa<arith::TruncIOp>(op) && keepsIndex(op, operands[0]))
    return table.cast(type, skipCasts(operands[0]));
  if (keepsNumber(op) && !(isa<arith::ExtSIOp, arith::SIToFPOp>(op) &&
                           operands[0]->type.isInteger(1)))
    return table.cast(type, operands[0]);
  return table.function(type, describe(op), operands);
}
