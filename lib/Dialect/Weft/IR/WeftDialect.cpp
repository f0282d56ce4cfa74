// SPDX-License-Identifier: Apache-2.0

// The dialect object: what it registers, and the checks on the attributes that
// it puts on functions (weft.name, weft.sharding, weft.alias).

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "weft/Dialect/Weft/IR/Formulas.h"
#include "weft/Dialect/Weft/IR/ScaledContraction.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/JSON.h"

#include <map>

using namespace mlir;
using namespace mlir::weft;

#include "weft/Dialect/Weft/IR/WeftDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "weft/Dialect/Weft/IR/WeftTypes.cpp.inc"

void WeftDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/Weft/IR/WeftOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "weft/Dialect/Weft/IR/WeftFormulaOps.cpp.inc"
      >();
}

void WeftDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "weft/Dialect/Weft/IR/WeftTypes.cpp.inc"
      >();
}

namespace {

/// Checks, at the first result that has an alias, that no two have the same.
LogicalResult verifyAliasesDiffer(FunctionOpInterface func, unsigned first) {
  auto getAlias = [&](unsigned result) {
    return func.getResultAttrOfType<IntegerAttr>(result,
                                                 WeftDialect::kAliasAttr);
  };
  for (unsigned i = 0; i < first; ++i)
    if (getAlias(i))
      return success();
  std::map<int64_t, unsigned> resultOf;
  for (unsigned i = first; i < func.getNumResults(); ++i) {
    IntegerAttr alias = getAlias(i);
    if (!alias)
      continue;
    auto [other, isNew] = resultOf.try_emplace(alias.getInt(), i);
    if (!isNew)
      return func.emitOpError("results #")
             << other->second << " and #" << i << " both alias argument #"
             << alias.getInt();
  }
  return success();
}

LogicalResult verifyAlias(FunctionOpInterface func, unsigned resultIndex,
                          Attribute value) {
  auto alias = dyn_cast<IntegerAttr>(value);
  if (!alias || !alias.getType().isIndex())
    return func.emitOpError("result #")
           << resultIndex << ": 'weft.alias' must be an index attribute, got "
           << value;
  int64_t arg = alias.getInt();
  if (arg < 0 || arg >= func.getNumArguments())
    return func.emitOpError("result #")
           << resultIndex << ": 'weft.alias' is " << arg
           << ", but the function has " << func.getNumArguments()
           << " arguments";
  Type argType = func.getArgumentTypes()[arg];
  Type resultType = func.getResultTypes()[resultIndex];
  if (argType != resultType)
    return func.emitOpError("result #")
           << resultIndex << " of type " << resultType
           << " cannot take the place of argument #" << arg << " of type "
           << argType;
  return verifyAliasesDiffer(func, resultIndex);
}

/// The shape that one rank holds of a tensor; the sharding must be valid.
SmallVector<int64_t> getLocalShape(MeshAttr mesh, ShardingAttr sharding,
                                   ArrayRef<int64_t> shape) {
  SmallVector<int64_t> local(shape);
  for (auto [size, dim] : llvm::zip(local, sharding.getDims()))
    size = llvm::divideCeil(size, getNumShards(mesh, dim.getAxes()));
  return local;
}

/// Checks that `type` is what one rank holds of `globalType`.
LogicalResult verifyGlobalType(FunctionOpInterface func, Type type,
                               Attribute globalType, ShardingAttr sharding,
                               StringRef place) {
  auto typeAttr = dyn_cast<TypeAttr>(globalType);
  auto global = dyn_cast_if_present<RankedTensorType>(
      typeAttr ? typeAttr.getValue() : Type());
  if (!global || !global.hasStaticShape())
    return func.emitOpError(place)
           << ": 'weft.global_type' must be a static tensor type, got "
           << globalType;
  Type local = global;
  if (sharding) {
    if (failed(verifySharding(func, sharding, global, place)))
      return failure();
    MeshAttr mesh = lookupMesh(func, sharding.getMesh());
    local = global.clone(getLocalShape(mesh, sharding, global.getShape()));
  }
  if (local != type)
    return func.emitOpError(place)
           << " has type " << type << ", but one rank holds " << local
           << " of the global " << global;
  return success();
}

/// Checks one attribute of an argument or result; `all` are all of its
/// attributes.
LogicalResult verifyTensorAttr(FunctionOpInterface func, Type type,
                               NamedAttribute attr, DictionaryAttr all,
                               const Twine &where) {
  std::string place = where.str();
  if (attr.getName() == WeftDialect::kGlobalTypeAttr)
    return verifyGlobalType(func, type, attr.getValue(),
                            all.getAs<ShardingAttr>(WeftDialect::kShardingAttr),
                            place);
  if (attr.getName() == WeftDialect::kNameAttr) {
    auto name = dyn_cast<StringAttr>(attr.getValue());
    if (!name)
      return func.emitOpError(place)
             << ": 'weft.name' must be a string, got " << attr.getValue();
    // Files of tensors have no other names, C has no zeros in texts, and what
    // looks like a line of its own passes for a message.
    if (!llvm::json::isUTF8(name) || name.getValue().contains('\0') ||
        name.getValue().contains('\n'))
      return func.emitOpError(place)
             << ": 'weft.name' must be UTF-8 without zeros and ends of lines, "
                "got "
             << name;
    return success();
  }
  if (attr.getName() == WeftDialect::kShardingAttr) {
    auto sharding = dyn_cast<ShardingAttr>(attr.getValue());
    if (!sharding)
      return func.emitOpError(place)
             << ": 'weft.sharding' must be a #weft.sharding, got "
             << attr.getValue();
    if (!sharding.getPartial().empty())
      return func.emitOpError(place) << ": a sharding at a function's border "
                                        "cannot be partial";
    return verifySharding(func, sharding, type, place);
  }
  return func.emitOpError(place)
         << ": unknown attribute '" << attr.getName().strref() << "'";
}

} // namespace

LogicalResult WeftDialect::verifyRegionArgAttribute(Operation *op,
                                                    unsigned regionIndex,
                                                    unsigned argIndex,
                                                    NamedAttribute attr) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (!func)
    return success();
  if (attr.getName() == kHostAttr) {
    if (isa<UnitAttr>(attr.getValue()))
      return success();
    return func.emitOpError("argument #")
           << argIndex << ": 'weft.host' has no value, got " << attr.getValue();
  }
  return verifyTensorAttr(func, func.getArgumentTypes()[argIndex], attr,
                          func.getArgAttrDict(argIndex),
                          "argument #" + Twine(argIndex));
}

LogicalResult WeftDialect::verifyRegionResultAttribute(Operation *op,
                                                       unsigned regionIndex,
                                                       unsigned resultIndex,
                                                       NamedAttribute attr) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (!func)
    return success();
  if (attr.getName() == kAliasAttr)
    return verifyAlias(func, resultIndex, attr.getValue());
  return verifyTensorAttr(func, func.getResultTypes()[resultIndex], attr,
                          func.getResultAttrDict(resultIndex),
                          "result #" + Twine(resultIndex));
}

bool weft::mayUseTF32(Operation *contraction) {
  auto module = contraction->getParentOfType<ModuleOp>();
  return module && module->hasAttr(WeftDialect::kTF32Attr) &&
         !contraction->hasAttr(WeftDialect::kOrderAttr);
}

LogicalResult WeftDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  if (attr.getName() == kOpNameAttr && !isa<StringAttr>(attr.getValue()))
    return op->emitOpError("'weft.op' must be a string, got ")
           << attr.getValue();
  if (attr.getName() == kScheduleAttr && !isa<DictionaryAttr>(attr.getValue()))
    return op->emitOpError("'weft.schedule' must be a dictionary, got ")
           << attr.getValue();
  if (attr.getName() == kOrderAttr && !isa<OrderAttr>(attr.getValue()))
    return op->emitOpError("'weft.order' must be a #weft.order, got ")
           << attr.getValue();
  if (attr.getName() == kInvarianceAttr &&
      !(isa<ModuleOp>(op) && isa<InvarianceAttr>(attr.getValue())))
    return op->emitOpError("'weft.invariance' must be a #weft.invariance on a "
                           "module, got ")
           << attr.getValue();
  if (attr.getName() == kCertificateAttr && !isa<StringAttr>(attr.getValue()))
    return op->emitOpError("'weft.certificate' must be a string, got ")
           << attr.getValue();
  if (attr.getName() == kTargetAttr &&
      !(isa<ModuleOp>(op) && isa<TargetAttr>(attr.getValue())))
    return op->emitOpError("'weft.target' must be a #weft.target on a module, "
                           "got ")
           << attr.getValue();
  if (attr.getName() == kTargetAttr &&
      cast<TargetAttr>(attr.getValue()).getName().empty())
    return op->emitOpError("'weft.target' has an empty name");
  if (attr.getName() == kTF32Attr &&
      !(isa<ModuleOp>(op) && isa<UnitAttr>(attr.getValue())))
    return op->emitOpError("'weft.tf32' must be without a value, on a module, "
                           "got ")
           << attr.getValue();
  // On an op whose global result type cannot be seen from the local one.
  if (attr.getName() == kGlobalTypeAttr && !isa<TypeAttr>(attr.getValue()))
    return op->emitOpError("'weft.global_type' must be a type, got ")
           << attr.getValue();
  if (attr.getName() == kScalesContractionAttr &&
      !isa<UnitAttr>(attr.getValue()))
    return op->emitOpError("'weft.scales_contraction' has no value, got ")
           << attr.getValue();
  if (llvm::is_contained({kOpNameAttr, kScheduleAttr, kOrderAttr,
                          kGlobalTypeAttr, kInvarianceAttr, kCertificateAttr,
                          kTargetAttr, kScalesContractionAttr, kTF32Attr},
                         attr.getName().getValue()))
    return success();
  if (attr.getName() != kShardingsAttr)
    return op->emitOpError("unknown attribute '")
           << attr.getName().strref() << "'";
  auto list = dyn_cast<ArrayAttr>(attr.getValue());
  if (!list || list.size() != op->getNumResults() ||
      !llvm::all_of(list, llvm::IsaPred<ShardingAttr>))
    return op->emitOpError("'weft.shardings' must hold one #weft.sharding for "
                           "each of ")
           << op->getNumResults() << " results, got " << attr.getValue();
  for (auto [sharding, result] : llvm::zip(list, op->getResults()))
    if (failed(verifySharding(op, cast<ShardingAttr>(sharding),
                              result.getType(), "'weft.shardings'")))
      return failure();
  return success();
}
