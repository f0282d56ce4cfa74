// SPDX-License-Identifier: Apache-2.0

// Replaces sizes in the mesh attribute. Shardings refer to axes by name, so
// nothing else changes; verifiers see whether sub-axes still fit.

#include "weft/Canonicalize/Passes.h"

#include "weft/Dialect/Weft/IR/MeshErrors.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::weft {
#define GEN_PASS_DEF_APPLYMESHPASS
#include "weft/Canonicalize/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Says whether a function of the module has local types.
bool hasLocalTypes(ModuleOp module) {
  auto isLocal = [](DictionaryAttr attrs) {
    return attrs && attrs.contains(WeftDialect::kGlobalTypeAttr);
  };
  for (auto func : module.getOps<FunctionOpInterface>())
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (isLocal(func.getArgAttrDict(i)))
        return true;
  return false;
}

/// Replaces the size of one axis, given as `name=size`.
LogicalResult applyEntry(MeshOp mesh, StringRef entry,
                         SmallVectorImpl<MeshAxisAttr> &axes,
                         llvm::StringSet<> &seen) {
  auto [name, text] = entry.split('=');
  int64_t size;
  if (text.getAsInteger(10, size) || size < 1)
    return emitMeshError(mesh)
           << "cannot take '" << entry
           << "': expected an axis and a size of at least 1, as in "
           << "dp=2";
  if (!seen.insert(name).second)
    return emitMeshError(mesh)
           << "is given two sizes for axis '" << name << "'";
  std::optional<unsigned> index = mesh.getMesh().getAxisIndex(name);
  if (!index)
    return emitMeshError(mesh) << "has no axis '" << name << "' to give size "
                               << size << ": " << mesh.getMesh();
  axes[*index] = MeshAxisAttr::get(mesh.getContext(), name, size);
  return success();
}

struct ApplyMeshPass : weft::impl::ApplyMeshPassBase<ApplyMeshPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto meshes = module.getOps<MeshOp>();
    if (meshes.empty()) {
      module.emitError("expected a weft.mesh to give sizes to, found none");
      return signalPassFailure();
    }
    MeshOp meshOp = *meshes.begin();
    if (hasLocalTypes(module)) {
      emitMeshError(meshOp) << "cannot change its sizes after partitioning";
      return signalPassFailure();
    }
    SmallVector<MeshAxisAttr> axes(meshOp.getMesh().getAxes());
    llvm::StringSet<> seen;
    for (StringRef entry : mesh)
      if (failed(applyEntry(meshOp, entry, axes, seen)))
        return signalPassFailure();
    auto emitError = [&] { return emitMeshError(meshOp) << "is not valid: "; };
    auto changed =
        MeshAttr::getChecked(function_ref<InFlightDiagnostic()>(emitError),
                             &getContext(), ArrayRef<MeshAxisAttr>(axes));
    if (!changed)
      return signalPassFailure();
    meshOp.setMeshAttr(changed);
  }
};

} // namespace
