// SPDX-License-Identifier: Apache-2.0

// What is outside of the table is passed over.

#include "weft/Codegen/Kernels/ScatterEmitter.h"

#include "weft/Codegen/Program/EmitMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::weft;

ScatterEmitter::ScatterEmitter(OpBuilder &builder, rt::ScatterAddOp op,
                               const KernelArguments &kernel,
                               ArrayRef<unsigned> bufferOf)
    : index(op.getUpdates().getType().getRank()), builder(builder), op(op),
      kernel(kernel), bufferOf(bufferOf), loc(op.getLoc()),
      updates(op.getUpdates().getType()), table(op.getTable().getType()),
      indices(op.getIndices().getType()) {}

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

Value ScatterEmitter::emitIsInside(Value row) {
  return arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ult, row,
      emitInt(builder, loc, table.getDimSize(op.getAxis())));
}

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
  OpBuilder::InsertionGuard guard(builder);
  Location loc = op.getLoc();
  ScatterEmitter emitter(builder, op, kernel, bufferOf);
  for (int dim = 0, e = emitter.index.size(); dim < e; ++dim) {
    emitter.index[dim] = given[dim];
    if (given[dim])
      continue;
    auto [lower, upper] = getRange(dim);
    auto loop = scf::ForOp::create(builder, loc, lower, upper,
                                   emitInt(builder, loc, 1));
    emitter.index[dim] = loop.getInductionVar();
    builder.setInsertionPointToStart(loop.getBody());
  }
  Value row = emitter.emitRow();
  auto branch = scf::IfOp::create(builder, loc, emitter.emitIsInside(row),
                                  /*withElse=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitter.emitUpdate(row);
}
