// SPDX-License-Identifier: Apache-2.0

// From the program of one rank, in phase local or scheduled, to what each
// element of its values is. Kernels are looked through, and so are the starts
// of collectives. What is not known is a function of its operands, its
// attributes and what its regions do.

#ifndef WEFT_LIB_VERIFY_PROGRAMELEMENTS_H
#define WEFT_LIB_VERIFY_PROGRAMELEMENTS_H

#include "Elements.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::weft::proof {

class ProgramElements {
public:
  ProgramElements(ElementTable &table, func::FuncOp func)
      : table(table), func(func) {}

  /// Follows the function, or emits what is in the way.
  LogicalResult run();

  ArrayRef<const Element *> getResults() const { return results; }
  /// The first op that made it, or null.
  Operation *getOrigin(const Element *element) const;

private:
  using Elements = SmallVector<const Element *, 4>;

  // Ops.
  LogicalResult liftArguments();
  LogicalResult liftBlock(Block &block);
  LogicalResult liftOp(Operation *op);
  LogicalResult liftConstant(Operation *op, Attribute value);
  LogicalResult liftScalar(Operation *op);
  LogicalResult liftFused(rt::FusedOp op);
  LogicalResult liftCollective(Operation *op);
  LogicalResult liftOther(Operation *op);
  Elements getUnknownLoops(unsigned count);
  LogicalResult liftRegion(Region &region, Element &other);
  const Element *getOperand(Value value);

  // Computation.
  LogicalResult liftLinalg(linalg::LinalgOp op);
  bool readLoops(linalg::LinalgOp op, Elements &loops);
  const Element *reduce(linalg::LinalgOp op, unsigned index,
                        const Elements &loops);
  const Element *addToZero(linalg::LinalgOp op, unsigned index,
                           const Element *yielded);
  LogicalResult liftMatmul(MatmulOp op);
  LogicalResult liftTake(TakeOp op);
  LogicalResult liftScatterAdd(ScatterAddOp op);
  const Element *getLocalIndex(const Element *index, Value base);
  const Element *convert(const Element *element, Type type);
  /// An op of `arith` with the attributes that it has by itself.
  const Element *compute(StringRef name, Type type,
                         ArrayRef<const Element *> operands,
                         ArrayRef<NamedAttribute> attrs = {});
  const Element *compare(arith::CmpIPredicate predicate, const Element *a,
                         const Element *b);

  // Movement.
  bool liftMovement(Operation *op);
  bool liftExtractSlice(tensor::ExtractSliceOp op);
  bool liftInsertSlice(tensor::InsertSliceOp op);
  void insertBetween(tensor::InsertSliceOp op);
  bool liftConcat(tensor::ConcatOp op);
  bool liftPad(tensor::PadOp op);
  bool liftGenerate(tensor::GenerateOp op);
  void liftCollapse(tensor::CollapseShapeOp op);
  void liftExpand(tensor::ExpandShapeOp op);
  const Element *getBodyElement(Block &body, const Elements &indices);
  /// A box of a tensor that has elements of its own.
  struct Part {
    const Element *element;
    SmallVector<int64_t> offsets, sizes;
  };
  const Element *assemble(const Element *base, SmallVector<Part> parts,
                          ArrayRef<int64_t> shape);
  bool openParts(const Element *element, ArrayRef<int64_t> shape,
                 ArrayRef<int64_t> offsets, SmallVectorImpl<Part> &parts,
                 const Element *&base);

  // Helpers.
  const Element *get(Value value) const { return values.lookup(value); }
  void set(Operation *op, Value value, const Element *element);
  Elements getIndices(ArrayRef<int64_t> shape);
  /// The element of a tensor at `indices`.
  const Element *readTensor(Value tensor, ArrayRef<const Element *> indices);
  const Element *readAt(const Element *element, ArrayRef<int64_t> shape,
                        ArrayRef<const Element *> indices);
  const Element *getIndexOf(OpFoldResult value);
  DictionaryAttr getDetails(Operation *op, ArrayRef<StringRef> without = {});

  ElementTable &table;
  func::FuncOp func;
  /// A scalar, or the element of a tensor at the variables 0, 1, ....
  DenseMap<Value, const Element *> values;
  /// The loops, or indices, around the ops that are followed.
  SmallVector<Elements> around;
  /// Regions around them whose arguments stand for themselves.
  int64_t depth = 0;
  SmallVector<const Element *> results;
  DenseMap<const Element *, Operation *> origins;
};

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PROGRAMELEMENTS_H
