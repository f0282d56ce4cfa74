// SPDX-License-Identifier: Apache-2.0

// The kernel of a scatter: serial loops over the updates, with the table's row
// by the index of each. What is outside of the table is passed over.

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Emits the kernel of one scatter, statement by statement.
class ScatterEmitter {
public:
  ScatterEmitter(rt::ScatterAddOp op, const KernelFunction &kernel,
                 ArrayRef<unsigned> bufferOf)
      : op(op), kernel(kernel), bufferOf(bufferOf), loc(op.getLoc()),
        builder(OpBuilder::atBlockEnd(&getBlock())),
        updates(op.getUpdates().getType()), table(op.getTable().getType()),
        indices(op.getIndices().getType()), index(updates.getRank()) {}

  int64_t run();

private:
  Block &getBlock() { return LLVM::LLVMFuncOp(kernel.func).getBody().front(); }
  int findCutDim();
  void openLoops(int cut);
  Value emitRow();
  void emitUpdate(Value row);
  Value emitPlace(MemRefType type, AffineMap map, Value row = {});
  Value getAddress(unsigned operand, MemRefType type, Value place);

  rt::ScatterAddOp op;
  const KernelFunction &kernel;
  ArrayRef<unsigned> bufferOf;
  Location loc;
  OpBuilder builder;
  MemRefType updates, table, indices;
  /// The counter of the loop over each dim of the updates.
  SmallVector<Value> index;
};

/// The dim that threads share: the largest that gives different rows different
/// elements; -1 if there is none.
int ScatterEmitter::findCutDim() {
  int cut = -1;
  for (AffineExpr expr : op.getTableMap().getResults()) {
    int dim = cast<AffineDimExpr>(expr).getPosition();
    if (cut < 0 || updates.getDimSize(dim) >= updates.getDimSize(cut))
      cut = dim;
  }
  return cut;
}

/// Emits the loops over the updates, and goes on inside of them.
void ScatterEmitter::openLoops(int cut) {
  for (int dim = 0; dim < updates.getRank(); ++dim) {
    Value lower = dim == cut ? kernel.begin : emitInt(builder, loc, 0);
    Value upper = dim == cut ? kernel.end
                             : emitInt(builder, loc, updates.getDimSize(dim));
    auto loop = scf::ForOp::create(builder, loc, lower, upper,
                                   emitInt(builder, loc, 1));
    index[dim] = loop.getInductionVar();
    builder.setInsertionPointToStart(loop.getBody());
  }
}

/// Where an element lies that the map finds by the loops' counters, in the
/// given row of the table.
Value ScatterEmitter::emitPlace(MemRefType type, AffineMap map, Value row) {
  SmallVector<Value> subscripts;
  for (AffineExpr expr : map.getResults())
    subscripts.push_back(index[cast<AffineDimExpr>(expr).getPosition()]);
  if (row)
    subscripts.insert(subscripts.begin() + op.getAxis(), row);
  Value place = emitInt(builder, loc, 0);
  for (auto [subscript, stride] :
       llvm::zip(subscripts, rt::getBufferStrides(type)))
    place = arith::AddIOp::create(
        builder, loc, place,
        arith::MulIOp::create(builder, loc, subscript,
                              emitInt(builder, loc, stride)));
  return place;
}

Value ScatterEmitter::getAddress(unsigned operand, MemRefType type,
                                 Value place) {
  return emitAddress(builder, loc, kernel.buffers[bufferOf[operand]],
                     type.getElementType(), place);
}

/// The row of the table that the update goes to, which may be outside.
Value ScatterEmitter::emitRow() {
  Value row =
      emitLoad(builder, loc, indices.getElementType(),
               getAddress(1, indices, emitPlace(indices, op.getIndexMap())));
  Type i64 = builder.getI64Type();
  if (row.getType() != i64)
    row = arith::ExtSIOp::create(builder, loc, i64, row);
  if (!op.getBase())
    return row;
  Value base = arith::IndexCastOp::create(builder, loc, i64, kernel.scalars[0]);
  return arith::SubIOp::create(builder, loc, row, base);
}

void ScatterEmitter::emitUpdate(Value row) {
  Value address = getAddress(0, table, emitPlace(table, op.getTableMap(), row));
  Value old = emitLoad(builder, loc, table.getElementType(), address);
  AffineMap all = builder.getMultiDimIdentityMap(updates.getRank());
  Value update = emitLoad(builder, loc, updates.getElementType(),
                          getAddress(2, updates, emitPlace(updates, all)));
  Value sum =
      isa<FloatType>(table.getElementType())
          ? arith::AddFOp::create(builder, loc, old, update).getResult()
          : arith::AddIOp::create(builder, loc, old, update).getResult();
  emitStore(builder, loc, sum, address);
}

int64_t ScatterEmitter::run() {
  int cut = findCutDim();
  openLoops(cut);
  Value row = emitRow();
  Value inside = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ult, row,
      emitInt(builder, loc, table.getDimSize(op.getAxis())));
  auto branch = scf::IfOp::create(builder, loc, inside, /*withElse=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitUpdate(row);
  builder.setInsertionPointToEnd(&getBlock());
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return cut < 0 ? 1 : updates.getDimSize(cut);
}

} // namespace

int64_t mlir::weft::emitScatterAdd(rt::ScatterAddOp op,
                                   const KernelFunction &kernel,
                                   ArrayRef<unsigned> bufferOf) {
  return ScatterEmitter(op, kernel, bufferOf).run();
}
