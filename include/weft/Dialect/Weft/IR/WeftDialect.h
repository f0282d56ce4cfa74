// SPDX-License-Identifier: Apache-2.0

// The weft dialect: its attributes and ops, and how they relate to the value
// classes of weft/Sharding (Mesh, Sharding), which do the arithmetic.

#ifndef WEFT_DIALECT_WEFT_IR_WEFTDIALECT_H
#define WEFT_DIALECT_WEFT_IR_WEFTDIALECT_H

#include "weft/Interfaces/CostOpInterface.h"
#include "weft/Interfaces/PartitionOpInterface.h"
#include "weft/Interfaces/ShardingRuleOpInterface.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::weft {

/// What collectives read and write beside their operands: the ranks' common
/// order of communication.
struct CommunicationResource
    : public SideEffects::Resource::Base<CommunicationResource> {
  StringRef getName() override { return "weft.communication"; }
};

} // namespace mlir::weft

#include "weft/Dialect/Weft/IR/WeftDialect.h.inc"
#include "weft/Dialect/Weft/IR/WeftEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "weft/Dialect/Weft/IR/WeftAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "weft/Dialect/Weft/IR/WeftTypes.h.inc"

namespace mlir::weft {

/// Finds the mesh that `symbol` names, from `op` outwards; null if there is
/// none.
MeshAttr lookupMesh(Operation *op, FlatSymbolRefAttr symbol);

/// Number of shards that `axes` make on `mesh`. The axes must be valid.
int64_t getNumShards(MeshAttr mesh, llvm::ArrayRef<AxisRefAttr> axes);

/// Says whether a contraction may round factors of f32 to TF32: its module says
/// so (kTF32Attr), and it has no declared order.
bool mayUseTF32(Operation *contraction);

class CollectiveOpInterface;

namespace detail {
/// Checks the constraints of CollectiveOpInterface.
LogicalResult verifyCollectiveOpInterface(CollectiveOpInterface op);
} // namespace detail

} // namespace mlir::weft

#include "weft/Dialect/Weft/IR/CollectiveOpInterface.h.inc"

#define GET_OP_CLASSES
#include "weft/Dialect/Weft/IR/WeftOps.h.inc"

namespace mlir::weft {

/// Finds the channel that `symbol` names, from `op` outwards; null if there is
/// none.
ChannelOp lookupChannel(Operation *op, FlatSymbolRefAttr symbol);

/// Whether a collective, on tensors or buffers, is a copy to the host's memory
/// (Purpose::Offload) or from it (Purpose::Fetch): what its channel says.
std::optional<Purpose> getHostCopy(Operation *op);

/// The tensor type of a tensor or future.
RankedTensorType getTensorType(Type type);

/// Says whether members only exchange what each has for the others: nothing is
/// put together that all of them have, and nothing combined.
bool isExchange(CollectiveKind kind);

/// Makes a collective like `op`, on the same channel, without names or orders;
/// operand i moves along `gathered[i]` and `scattered[i]`, if the kind has such
/// dims.
CollectiveOpInterface createLike(OpBuilder &builder, Location loc,
                                 CollectiveOpInterface op, TypeRange types,
                                 ValueRange inputs,
                                 llvm::ArrayRef<int64_t> gathered,
                                 llvm::ArrayRef<int64_t> scattered);

/// Returns the weft.wait of a started collective, or null for other ops.
WaitOp getWait(Operation *op);

/// Checks `sharding` against the mesh that it names and against `type`:
/// known axes, no axis used twice, one list per dimension. Emits at `op`,
/// naming `what`, and fails if it does not hold.
LogicalResult verifySharding(Operation *op, ShardingAttr sharding, Type type,
                             llvm::StringRef what);

/// The size of `axis` on `mesh`, or nullopt if the mesh does not have it or
/// the sub-axis does not fit.
std::optional<int64_t> getAxisRefSize(MeshAttr mesh, AxisRefAttr axis);

} // namespace mlir::weft

#endif // WEFT_DIALECT_WEFT_IR_WEFTDIALECT_H
