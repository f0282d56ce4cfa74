// SPDX-License-Identifier: Apache-2.0

// What is outside of the table is passed over.

#include "weft/Codegen/Kernels/ScatterEmitter.h"

#include "weft/Codegen/Program/EmitMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Emits the kernel of one scatter, statement by statement.
class ScatterEmitter {
public:
  ScatterEmitter(OpBuilder &builder, rt::ScatterAddOp op,
                 const KernelArguments &kernel, ArrayRef<unsigned> bufferOf,
                 ArrayRef<Value> given)
      : op(op), kernel(kernel), bufferOf(bufferOf), loc(op.getLoc()),
        builder(builder), updates(op.getUpdates().getType()),
        table(op.getTable().getType()), indices(op.getIndices().getType()),
        index(given) {}

  void run(GetRange getRange);

private:
  void openLoops(GetRange getRange);
  Value emitRow();
  void emitUpdate(Value row);
  Value emitPlace(MemRefType type, AffineMap map, Value row = {});
  Value getAddress(unsigned operand, MemRefType type, Value place);

  rt::ScatterAddOp op;
  const KernelArguments &kernel;
  ArrayRef<unsigned> bufferOf;
  Location loc;
  OpBuilder &builder;
  MemRefType updates, table, indices;
  /// The counter of the loop over each dim of the updates.
  SmallVector<Value> index;
};

/// Emits the loops over the updates, and goes on inside of them.
void ScatterEmitter::openLoops(GetRange getRange) {
  for (int dim = 0; dim < updates.getRank(); ++dim) {
    if (index[dim])
      continue;
    auto [lower, upper] = getRange(dim);
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

void ScatterEmitter::run(GetRange getRange) {
  OpBuilder::InsertionGuard guard(builder);
  openLoops(getRange);
  Value row = emitRow();
  Value inside = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ult, row,
      emitInt(builder, loc, table.getDimSize(op.getAxis())));
  auto branch = scf::IfOp::create(builder, loc, inside, /*withElse=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitUpdate(row);
}

} // namespace

SmallVector<int> mlir::weft::getScatterDims(rt::ScatterAddOp op) {
  SmallVector<int> dims;
  for (AffineExpr expr : op.getTableMap().getResults())
    dims.push_back(cast<AffineDimExpr>(expr).getPosition());
  return dims;
}

void mlir::weft::emitScatterLoops(OpBuilder &builder, rt::ScatterAddOp op,
                                  const KernelArguments &kernel,
                                  ArrayRef<unsigned> bufferOf,
                                  ArrayRef<Value> given, GetRange getRange) {
  ScatterEmitter(builder, op, kernel, bufferOf, given).run(getRange);
}
