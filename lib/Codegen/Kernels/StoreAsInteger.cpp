// SPDX-License-Identifier: Apache-2.0

// Types and constants are replaced everywhere in a function; bit casts between
// a float and its integer are then casts to the same type.

#include "StoreAsInteger.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::weft;

Type weft::withElement(Type type, Type element) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Type(shaped.clone(element)) : element;
}

Value weft::createInteger(OpBuilder &builder, Location loc, Type type,
                          int64_t value) {
  TypedAttr attr = builder.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attr = DenseElementsAttr::get(shaped, Attribute(attr));
  return arith::ConstantOp::create(builder, loc, attr);
}

static void storeAsInteger(LLVM::LLVMFuncOp func,
                           function_ref<bool(Type)> isStored) {
  auto getInteger = [](Type type) {
    return IntegerType::get(type.getContext(), type.getIntOrFloatBitWidth());
  };
  AttrTypeReplacer replacer;
  replacer.addReplacement([=](FloatType type) -> Type {
    return isStored(type) ? Type(getInteger(type)) : type;
  });
  replacer.addReplacement([=](FloatAttr attr) -> Attribute {
    if (!isStored(attr.getType()))
      return attr;
    return IntegerAttr::get(getInteger(attr.getType()),
                            attr.getValue().bitcastToAPInt());
  });
  replacer.addReplacement([=](DenseElementsAttr attr) -> Attribute {
    Type element = attr.getElementType();
    return isStored(element) ? attr.bitcast(getInteger(element)) : attr;
  });
  replacer.recursivelyReplaceElementsIn(func, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  func.walk([](arith::BitcastOp op) {
    if (op.getType() != op.getIn().getType())
      return;
    op.replaceAllUsesWith(op.getIn());
    op.erase();
  });
}

LogicalResult weft::expandCasts(Operation *root, RewritePatternSet patterns,
                                function_ref<bool(Type)> isStored) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isa<arith::ExtFOp, arith::TruncFOp, arith::MaximumFOp,
            arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op))
      ops.push_back(op);
  });
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
  // Conversions that upstream's emulation puts around each op may be folded
  // away, and ops with them would not round.
  config.enableFolding(false);
  if (failed(applyOpPatternsGreedily(ops, std::move(patterns), config)))
    return failure();
  root->walk([&](LLVM::LLVMFuncOp func) { storeAsInteger(func, isStored); });
  return success();
}
