// SPDX-License-Identifier: Apache-2.0

// The user's program and its canonical form are brought into one table of
// expressions, as in the proof of scheduling. Results are equal if they are one
// object.

#include "weft/Dialect/Weft/IR/RoundingErrors.h"
#include "weft/Verify/Elements/Canonicalization.h"

#include "ElementEffort.h"
#include "ElementParting.h"

#include "weft/Canonicalize/Passes.h"
#include "weft/Dialect/Weft/IR/ScaledContraction.h"
#include "weft/Verify/Elements/Passes.h"

#include "mlir/Parser/Parser.h"

namespace mlir::weft {
#define GEN_PASS_DEF_VERIFYCANONICALIZATIONPASS
#include "weft/Verify/Elements/Passes.h.inc"
} // namespace mlir::weft

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

/// The name of the user's module inside of the canonical one.
static constexpr llvm::StringLiteral kSourceModule = "source";

/// The only public function with a body, or null.
static func::FuncOp findEntry(ModuleOp module) {
  func::FuncOp found;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (!func.isPublic() || func.isExternal())
      continue;
    if (found)
      return nullptr;
    found = func;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// The border
//===----------------------------------------------------------------------===//

/// Whether dims have the axes that the user gave them. One axis, the same in
/// all dims, may have become the last: the one that ranks go through one by
/// one.
static bool haveSameAxes(ArrayRef<DimShardingAttr> dims,
                         ArrayRef<DimShardingAttr> givenDims) {
  auto areSame = [&](StringRef last) {
    return llvm::equal(dims, givenDims, [&](auto dim, auto given) {
      SmallVector<AxisRefAttr> axes(given.getAxes());
      std::stable_partition(axes.begin(), axes.end(), [&](AxisRefAttr axis) {
        return axis.getName() != last;
      });
      return dim.getIsOpen() == given.getIsOpen() &&
             llvm::equal(axes, dim.getAxes());
    });
  };
  if (areSame(""))
    return true;
  for (DimShardingAttr dim : givenDims)
    for (AxisRefAttr axis : dim.getAxes())
      if (areSame(axis.getName()))
        return true;
  return false;
}

/// What is said of an argument or result. On which ranks it is stored is
/// inferred, and in which memory is for --offload to say.
static bool isGivenBorder(DictionaryAttr own, DictionaryAttr given) {
  auto drop = [](DictionaryAttr attrs) {
    NamedAttrList list(attrs);
    list.erase(WeftDialect::kShardingAttr);
    list.erase(WeftDialect::kHostAttr);
    return list.getDictionary(attrs.getContext());
  };
  if (drop(own) != drop(given))
    return false;
  auto wanted = given.getAs<ShardingAttr>(WeftDialect::kShardingAttr);
  auto sharding = own.getAs<ShardingAttr>(WeftDialect::kShardingAttr);
  if (!wanted)
    return true;
  return sharding && sharding.getMesh() == wanted.getMesh() &&
         sharding.getPartialKind() == wanted.getPartialKind() &&
         sharding.getPartial() == wanted.getPartial() &&
         haveSameAxes(sharding.getDims(), wanted.getDims());
}

/// The sizes of axes may be others. A program without a mesh may have got one
/// of one rank, which copies to the host's memory are on.
static LogicalResult checkGivenMeshes(ModuleOp canonical, ModuleOp source) {
  auto meshes = canonical.getOps<MeshOp>(), given = source.getOps<MeshOp>();
  auto haveSameAxes = [](MeshOp a, MeshOp b) {
    return a.getSymName() == b.getSymName() &&
           llvm::equal(a.getMesh().getAxes(), b.getMesh().getAxes(),
                       [](auto axis, auto other) {
                         return axis.getName() == other.getName();
                       });
  };
  auto isOfOneRank = [](MeshOp op) { return op.getMesh().getNumRanks() == 1; };
  bool isSame = given.empty()
                    ? llvm::all_of(meshes, isOfOneRank)
                    : std::equal(meshes.begin(), meshes.end(), given.begin(),
                                 given.end(), haveSameAxes);
  return isSame ? success()
                : canonical.emitError(
                      "has other meshes than the module that it was made from");
}

//===----------------------------------------------------------------------===//
// What is no canonicalization
//===----------------------------------------------------------------------===//

/// On a contraction of narrow operands: what it multiplies.
static constexpr llvm::StringLiteral kProductType = "weft_rt.product_type";

/// Contractions of operands that were made narrow, with what scales their
/// results.
static SmallVector<Operation *> findNarrowContractions(ModuleOp module) {
  SmallVector<Operation *> found;
  auto product = StringAttr::get(module.getContext(), kProductType);
  auto scales = StringAttr::get(module.getContext(), kScalesContractionAttr);
  module.walk([&](Operation *op) {
    DictionaryAttr attrs = op->getDiscardableAttrDictionary();
    if (!attrs.empty() && (attrs.contains(product) || attrs.contains(scales)))
      found.push_back(op);
  });
  return found;
}

/// --quantize computes otherwise than what was written, as it was asked to:
/// there is nothing to prove between the two.
static LogicalResult checkNotQuantized(ModuleOp canonical, ModuleOp source) {
  SmallVector<Operation *> narrow = findNarrowContractions(canonical);
  if (narrow.empty() || narrow.size() <= findNarrowContractions(source).size())
    return success();
  return narrow.front()->emitOpError(
      "is of narrow operands, as --quantize makes them, and rounds otherwise "
      "than the user's module: that is not proved. --from source proves the "
      "canonical form without --quantize, and --from global what is made of "
      "this one");
}

//===----------------------------------------------------------------------===//
// The proof
//===----------------------------------------------------------------------===//

static InFlightDiagnostic report(func::FuncOp func, unsigned result,
                                 ElementParting parting, StringRef what) {
  Operation *op =
      parting.ownOp ? parting.ownOp : func.getBody().front().getTerminator();
  InFlightDiagnostic diag = op->emitOpError("makes result #")
                            << result << " another one than " << what << ": "
                            << parting.own->str() << ", expected "
                            << parting.other->str();
  if (parting.otherOp)
    diag.attachNote(parting.otherOp->getLoc())
        << "this op of " << what << " makes " << parting.other->str();
  return diag;
}

/// A copy in which no op stands for several ones; null if there are none.
static OwningOpRef<ModuleOp> decompose(ModuleOp source) {
  if (!source.walk([](linalg::SoftmaxOp) { return WalkResult::interrupt(); })
           .wasInterrupted())
    return nullptr;
  OwningOpRef<ModuleOp> copy = source.clone();
  copy->walk([](linalg::SoftmaxOp op) {
    OpBuilder builder(op);
    FailureOr<SmallVector<Value>> results = op.decomposeOperation(builder);
    if (failed(results))
      return;
    op->replaceAllUsesWith(*results);
    op.erase();
  });
  return copy;
}

/// Compares what the functions return; says what differs from `what` if `says`.
static Outcome compare(ElementTable &table, func::FuncOp given,
                       func::FuncOp func, StringRef what, bool says) {
  std::unique_ptr<AlikeOps> alike;
  if (table.namesAlikeOps())
    alike = std::make_unique<AlikeOps>(given, func, AlikeOps::Kind::All);
  ProgramElements expected(table, given, ProgramKind::Global, alike.get());
  ProgramElements program(table, func, ProgramKind::Global, alike.get());
  if (failed(expected.run()) || failed(program.run()))
    return table.isFull() ? Outcome::Full : Outcome::Failed;
  for (auto [i, element] : llvm::enumerate(program.getResults()))
    if (const Element *other = expected.getResults()[i]; element != other) {
      if (says)
        report(func, i, findParting(program, element, expected, other), what);
      return Outcome::Different;
    }
  return Outcome::Equal;
}

LogicalResult weft::verifyCanonicalization(ModuleOp source, ModuleOp canonical,
                                           StringRef what) {
  OwningOpRef<ModuleOp> decomposed = decompose(source);
  func::FuncOp func = findEntry(canonical),
               given = findEntry(decomposed ? *decomposed : source);
  if (!func || !given)
    return (func ? source : canonical)
        .emitError("has no single public function to compare");
  if (failed(checkGivenMeshes(canonical, source)) ||
      failed(checkBorder(func, given, isGivenBorder)) ||
      failed(checkNotQuantized(canonical, source)) ||
      failed(verifySameProducts(canonical, source, what)) ||
      failed(checkOrders(canonical)))
    return failure();
  // Sums have been given orders, some have been joined.
  bool isOfReals = canonical->hasAttr(WeftDialect::kInvarianceAttr) &&
                   !source->hasAttr(WeftDialect::kInvarianceAttr);
  return compareWithEffort(func, countOps(given, func),
                           [&](ElementTable &table, bool says) {
                             if (isOfReals)
                               table.setOfReals();
                             return compare(table, given, func, what, says);
                           });
}

namespace {

struct VerifyCanonicalizationPass
    : public weft::impl::VerifyCanonicalizationPassBase<
          VerifyCanonicalizationPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    OwningOpRef<ModuleOp> file;
    auto inside = module.lookupSymbol<ModuleOp>(kSourceModule);
    if (!source.empty()) {
      file = parseSourceFile<ModuleOp>(source, &getContext());
      if (!file || failed(checkValues(*file)))
        return signalPassFailure();
    } else if (!inside) {
      module.emitError("has no module @")
          << kSourceModule << " to compare with";
      return signalPassFailure();
    }
    markAllAnalysesPreserved();
    if (failed(verifyCanonicalization(file ? *file : inside, module)))
      signalPassFailure();
  }
};

} // namespace
