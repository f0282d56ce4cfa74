// SPDX-License-Identifier: Apache-2.0

// From the program of one rank, in phase local or scheduled, to what each
// element of its values is. Kernels are looked through, and so are the starts
// of collectives. What is not known is a function of its operands, its
// attributes and what its regions do. Global programs, as a user writes them
// and in canonical form, are followed as well: through calls, branches and the
// passes of short loops.

#ifndef WEFT_LIB_VERIFY_ELEMENTS_PROGRAMELEMENTS_H
#define WEFT_LIB_VERIFY_ELEMENTS_PROGRAMELEMENTS_H

#include "AlikeOps.h"
#include "Elements.h"
#include "Places.h"

#include "weft/Analysis/OpAttributes.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::weft::proof {

enum class ProgramKind {
  /// What one rank does.
  Rank,
  /// What all ranks together do. Here slices begin where they are inside of
  /// their tensor, a lookup outside of one finds zero, and sums of floats are
  /// taken in f32 at least: so the language says.
  Global,
};

class ProgramElements {
public:
  ProgramElements(ElementTable &table, func::FuncOp func,
                  ProgramKind kind = ProgramKind::Rank,
                  const AlikeOps *alike = nullptr)
      : table(table), func(func), kind(kind), alike(alike) {}

  /// Follows the function, or emits what is in the way. Fails without a word
  /// if the table is full.
  LogicalResult run();

  ArrayRef<const Element *> getResults() const { return results; }
  /// The first op that made it, or null.
  Operation *getOrigin(const Element *element) const;
  /// Where slices and insertions begin, of programs that may assume that these
  /// are inside of their tensors.
  ArrayRef<PlaceUse> getPlaces() const { return places; }

private:
  using Elements = SmallVector<const Element *, 4>;

  // Ops.
  LogicalResult liftArguments();
  LogicalResult liftBlock(Block &block);
  LogicalResult liftBody(Block &body);
  void liftAlike(Operation *op, unsigned function);
  LogicalResult liftOp(Operation *op);
  LogicalResult liftConstant(Operation *op, Attribute value);
  void liftExtended(Operation *op, const Elements &operands,
                    DictionaryAttr details);
  LogicalResult liftScalar(Operation *op);
  LogicalResult liftFused(rt::FusedOp op);
  LogicalResult liftCollective(Operation *op);
  LogicalResult liftOther(Operation *op);
  Elements getUnknownLoops(unsigned count);
  LogicalResult liftRegion(Region &region, Element &other);
  const Element *getOperand(Value value);

  // Computation.
  /// A structured op, and what is asked of it often.
  struct Structured {
    explicit Structured(linalg::LinalgOp op);

    linalg::LinalgOp op;
    /// Of the operands, of which results are from `firstInit` on.
    SmallVector<AffineMap> maps;
    unsigned firstInit;
    /// Sizes of the loops, and which of them are reduced.
    SmallVector<int64_t> sizes;
    llvm::SmallBitVector isReduced;
  };
  bool isElementwise(linalg::LinalgOp linalg);
  LogicalResult liftElementwise(linalg::LinalgOp op);
  LogicalResult liftLinalg(linalg::LinalgOp op);
  static bool hasPlainResults(const Structured &structured);
  bool readLoops(const Structured &structured, const Elements &loops);
  const Element *reduce(const Structured &structured, unsigned index,
                        const Elements &loops);
  const Element *addToZero(linalg::LinalgOp op, unsigned index,
                           const Element *yielded);
  Elements getLoops(MatmulOp op, const Elements &factors,
                    ArrayRef<int64_t> sizes);
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
  void liftFromElements(tensor::FromElementsOp op);
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
  void spreadOnBase(const Element *base, SmallVectorImpl<Part> &parts);
  const Element *assemble(const Element *base, SmallVector<Part> parts,
                          ArrayRef<int64_t> shape);
  void appendParts(const Element *element, ArrayRef<int64_t> shape,
                   ArrayRef<int64_t> offsets, SmallVectorImpl<Part> &parts);
  bool openParts(const Element *element, ArrayRef<int64_t> shape,
                 ArrayRef<int64_t> offsets, SmallVectorImpl<Part> &parts,
                 const Element *&base);

  // Global programs.
  bool isGlobal() const { return kind == ProgramKind::Global; }
  LogicalResult liftCall(func::CallOp op);
  LogicalResult liftFor(scf::ForOp op);
  LogicalResult liftIf(scf::IfOp op);
  LogicalResult liftHere(scf::ExecuteRegionOp op);
  std::optional<int64_t> countPasses(scf::ForOp op);
  /// What one pass of a loop makes of what it carries.
  struct Pass {
    Elements next;
    /// What the loop gives if it ends with this pass.
    Elements results;
    /// What says how long it runs.
    Elements bounds;
  };
  const Element *getState(int64_t group, int64_t number, Type type);
  LogicalResult liftPass(Operation *op, const Elements &states, Pass &pass);
  LogicalResult liftStates(Operation *op, ValueRange inits,
                           const llvm::BitVector &kept, Elements &states,
                           Pass &pass);
  llvm::BitVector getNeededStates(const Pass &pass, unsigned result);
  LogicalResult liftLoop(Operation *op);
  const Element *addUp(StringRef name, const Element *summand,
                       const Elements &reduced, OrderAttr order);
  const Element *sum(linalg::LinalgOp op, const Element *yielded,
                     const Element *accumulator, const Element *init,
                     const Elements &reduced);
  const Element *splitChoice(const Element *element, ArrayRef<int64_t> shape);
  const Element *readInside(Value tensor, ArrayRef<const Element *> indices);
  const Element *clamp(const Element *offset, int64_t last);

  // Helpers.
  const Element *get(Value value) const { return values.lookup(value); }
  void set(Operation *op, Value value, const Element *element);
  Elements getIndices(ArrayRef<int64_t> shape);
  /// The element of a tensor at `indices`.
  const Element *readTensor(Value tensor, ArrayRef<const Element *> indices);
  const Element *readAt(const Element *element, ArrayRef<int64_t> shape,
                        ArrayRef<const Element *> indices);
  const Element *getIndexOf(OpFoldResult value);
  /// Where a slice of `span` elements of `size` begins.
  const Element *getOffset(Operation *op, OpFoldResult value, int64_t span,
                           int64_t size);
  DictionaryAttr getDetails(Operation *op, ArrayRef<StringRef> without = {});

  ElementTable &table;
  func::FuncOp func;
  ProgramKind kind;
  /// Ops of the function's body that are not looked into, if any.
  const AlikeOps *alike;
  /// Functions that are being followed.
  SmallVector<func::FuncOp> calls;
  int64_t numCalled = 0;
  /// A scalar, or the element of a tensor at the variables 0, 1, ....
  DenseMap<Value, const Element *> values;
  /// The loops, or indices, around the ops that are followed.
  SmallVector<Elements> around;
  /// Regions around them whose arguments stand for themselves.
  int64_t depth = 0;
  SmallVector<const Element *> results;
  std::vector<PlaceUse> places;
  /// What ops made, in their order, and by what each was made first. The
  /// latter is of use in diagnostics only, and made for them.
  std::vector<std::pair<const Element *, Operation *>> made;
  mutable DenseMap<const Element *, Operation *> origins;
  OpAttributes attributes;
  /// By iterators and maps.
  DenseMap<std::pair<Attribute, Attribute>, bool> elementwise;
};

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_ELEMENTS_PROGRAMELEMENTS_H
