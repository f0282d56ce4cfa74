// SPDX-License-Identifier: Apache-2.0

// Both programs, the one of a rank of the mesh and the one-rank program inside
// its module, are brought into forms in one table. Results are equal if their
// forms are one object; if not, the first ops that differ are those with equal
// operands.

#include "Certificate.h"
#include "Invariance.h"
#include "LocalLifter.h"
#include "Parting.h"

#include "weft/Rules/ReductionOrder.h"
#include "weft/Rules/ShardingConversion.h"
#include "weft/Verify/Sums/Passes.h"

namespace mlir::weft {
#define GEN_PASS_DEF_VERIFYINVARIANCEPASS
#include "weft/Verify/Sums/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

class InvarianceProof {
public:
  InvarianceProof(ModuleOp module, ModuleOp reference,
                  InvarianceAttr invariance)
      : module(module), reference(reference), invariance(invariance) {}

  /// With `certifies`, the module gets the certificate.
  LogicalResult run(bool certifies) {
    Mesh own = getMesh(module), other = getMesh(reference);
    if (failed(checkMeshes(own, other)))
      return failure();
    auto funcs = module.getOps<func::FuncOp>();
    auto others = reference.getOps<func::FuncOp>();
    if (!llvm::hasSingleElement(funcs) || !llvm::hasSingleElement(others))
      return module.emitError("has ")
             << std::distance(funcs.begin(), funcs.end())
             << " functions and a one-rank program of "
             << std::distance(others.begin(), others.end())
             << ", expected one each";
    func::FuncOp func = *funcs.begin(), otherFunc = *others.begin();
    if (failed(checkOneBlock(func)) || failed(checkOneBlock(otherFunc)) ||
        failed(checkBorders(func, otherFunc)))
      return failure();
    LocalLifter otherProgram(forms, otherFunc, other, /*isReference=*/true);
    LocalLifter program(forms, func, own, /*isReference=*/false);
    if (failed(otherProgram.run()) || failed(program.run()) ||
        failed(compare(func, program, otherProgram)))
      return failure();
    if (certifies)
      module->setAttr(WeftDialect::kCertificateAttr,
                      StringAttr::get(module.getContext(),
                                      writeCertificate(otherProgram, otherFunc,
                                                       invariance)));
    return success();
  }

private:
  static Mesh getMesh(ModuleOp module) {
    std::optional<NamedMesh> mesh = findMesh(module);
    return mesh ? mesh->mesh : Mesh();
  }

  /// The axes that must not matter have size 1, the others their own. One of
  /// the former whose parts ranks compute one after the other is no axis of
  /// theirs any more.
  LogicalResult checkMeshes(const Mesh &own, const Mesh &other) {
    SmallVector<int> kept = getFreeAxes(own), free = getFreeAxes(other);
    auto isSame = [&](int a, int b) {
      return own.axisName(a) == other.axisName(b);
    };
    if (!std::equal(kept.begin(), kept.end(), free.begin(), free.end(), isSame))
      return reference.emitError("has a mesh with other axes");
    SmallVector<int64_t> expected(other.numAxes(), 1);
    for (auto [a, b] : llvm::zip_equal(kept, free))
      expected[b] = own.axisSize(a);
    for (int axis = 0; axis < other.numAxes(); ++axis)
      if (other.axisSize(axis) != expected[axis])
        return reference.emitError("has an axis \"")
               << other.axisName(axis) << "\" of size " << other.axisSize(axis)
               << ", expected " << expected[axis];
    return success();
  }

  SmallVector<int> getFreeAxes(const Mesh &mesh) const {
    auto isFree = [&](int axis) {
      return !invariance.hasAxis(mesh.axisName(axis));
    };
    return llvm::filter_to_vector(llvm::seq(mesh.numAxes()), isFree);
  }

  /// Both take and give the same tensors.
  LogicalResult checkBorders(func::FuncOp func, func::FuncOp other) {
    if (func.getNumArguments() != other.getNumArguments() ||
        func.getNumResults() != other.getNumResults())
      return other.emitOpError("has ")
             << other.getNumArguments() << " arguments and "
             << other.getNumResults() << " results, expected "
             << func.getNumArguments() << " and " << func.getNumResults();
    auto isSame = [](DictionaryAttr a, Type typeA, DictionaryAttr b,
                     Type typeB) {
      auto get = [](DictionaryAttr attrs, StringRef name) {
        return attrs ? attrs.get(name) : Attribute();
      };
      auto getGlobal = [&](DictionaryAttr attrs, Type type) {
        Attribute global = get(attrs, WeftDialect::kGlobalTypeAttr);
        return global ? cast<TypeAttr>(global).getValue() : type;
      };
      return get(a, WeftDialect::kNameAttr) == get(b, WeftDialect::kNameAttr) &&
             get(a, WeftDialect::kAliasAttr) ==
                 get(b, WeftDialect::kAliasAttr) &&
             getGlobal(a, typeA) == getGlobal(b, typeB);
    };
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (!isSame(func.getArgAttrDict(i), func.getArgumentTypes()[i],
                  other.getArgAttrDict(i), other.getArgumentTypes()[i]))
        return other.emitOpError("argument #") << i << " is another one";
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (!isSame(func.getResultAttrDict(i), func.getResultTypes()[i],
                  other.getResultAttrDict(i), other.getResultTypes()[i]))
        return other.emitOpError("result #") << i << " is another one";
    return success();
  }

  LogicalResult compare(func::FuncOp func, const LocalLifter &program,
                        const LocalLifter &otherProgram) {
    for (auto [i, form] : llvm::enumerate(program.getResults()))
      if (const Form *expected = otherProgram.getResults()[i]; form != expected)
        return report(func, i,
                      findParting(program, form, otherProgram, expected));
    return success();
  }

  LogicalResult report(func::FuncOp func, unsigned result, Parting parting) {
    Operation *op =
        parting.ownOp ? parting.ownOp : func.getBody().front().getTerminator();
    InFlightDiagnostic diag =
        op->emitOpError("makes result #")
        << result << " depend on the mesh: " << parting.own->str()
        << ", but on one rank " << parting.reference->str();
    if (parting.referenceOp)
      diag.attachNote(parting.referenceOp->getLoc())
          << "this op of the one-rank program makes "
          << parting.reference->str();
    return diag;
  }

  ModuleOp module, reference;
  InvarianceAttr invariance;
  FormTable forms;
};

struct VerifyInvariancePass
    : public weft::impl::VerifyInvariancePassBase<VerifyInvariancePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr(WeftDialect::kInvarianceAttr))
      return markAllAnalysesPreserved();
    if (failed(proveInvariance(module, /*certifies=*/true)))
      signalPassFailure();
  }
};

} // namespace

LogicalResult mlir::weft::proof::proveInvariance(ModuleOp module,
                                                 bool certifies) {
  auto reference = module.lookupSymbol<ModuleOp>(kOneRankModule);
  if (!reference)
    return module.emitError("has 'weft.invariance', but no module @")
           << kOneRankModule << " to compare with";
  auto invariance =
      module->getAttrOfType<InvarianceAttr>(WeftDialect::kInvarianceAttr);
  return InvarianceProof(module, reference, invariance).run(certifies);
}
