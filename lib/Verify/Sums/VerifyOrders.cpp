// SPDX-License-Identifier: Apache-2.0

// Orders of sums, from the global program to that of a rank. What ranks compute
// over the reals says nothing of them. In invariant mode the program of a rank
// is compared with the one-rank program inside, and that with the global one,
// both bit by bit. Else an order is a promise of single ops: each has the
// leaves of the global program's op, divided by the parts in which ranks have
// it.

#include "Invariance.h"
#include "LocalLifter.h"
#include "Parting.h"

#include "weft/Rules/ReductionOrder.h"
#include "weft/Rules/ShardingConversion.h"
#include "weft/Verify/Sums/Partitioning.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::proof;

namespace {

class OrdersProof {
public:
  OrdersProof(Equality equality, ModuleOp global, ModuleOp local)
      : forms(equality), named(findMesh(local)),
        mesh(named ? named->mesh : Mesh()), func(findFunction(local)),
        expected(forms, findFunction(global), one, /*isReference=*/true),
        program(forms, func, mesh, /*isReference=*/false) {}

  /// Both have the orders that they have, bit by bit.
  LogicalResult compareBits() {
    if (failed(expected.run()) || failed(program.run()))
      return failure();
    for (auto [i, form] : llvm::enumerate(program.getResults()))
      if (const Form *other = expected.getResults()[i]; form != other)
        return reportParting(func, i,
                             findParting(program, form, expected, other));
    return success();
  }

  /// Each op that declares an order has that of the global program's op.
  LogicalResult compareDeclared() {
    if (failed(expected.run()) || failed(program.run()))
      return failure();
    // One sum may be taken twice, in two orders.
    llvm::MapVector<const Form *, SmallVector<const DeclaredOrder *, 1>> known;
    llvm::DenseSet<const DeclaredOrder *> kept;
    for (const DeclaredOrder &order : expected.getDeclaredOrders())
      known[expected.getFormOf(order.op)].push_back(&order);
    for (const DeclaredOrder &order : program.getDeclaredOrders()) {
      auto others = known.lookup(program.getFormOf(order.op));
      bool isKnown = false;
      for (const DeclaredOrder *other : others)
        if (isPartOf(order, *other)) {
          kept.insert(other);
          isKnown = true;
        }
      if (!isKnown)
        return report(order, others.empty() ? nullptr : others.front());
    }
    for (auto &[form, orders] : known)
      for (const DeclaredOrder *order : orders)
        if (!kept.contains(order))
          return order->op->emitOpError("has an order of ")
                 << order->leaves
                 << " leaves, which the program of a rank does not have";
    return success();
  }

private:
  /// The proof of partitioning has found one.
  static func::FuncOp findFunction(ModuleOp module) {
    return *llvm::find_if(module.getOps<func::FuncOp>(),
                          [](func::FuncOp func) { return func.isPublic(); });
  }

  static bool isPartOf(const DeclaredOrder &order, const DeclaredOrder &whole) {
    return order.leaves * order.parts == whole.leaves &&
           order.lanes == whole.lanes && order.isRounded == whole.isRounded;
  }

  static StringRef describeRounding(const DeclaredOrder &order) {
    return order.isRounded ? ", each leaf rounded" : "";
  }

  LogicalResult report(const DeclaredOrder &order, const DeclaredOrder *other) {
    InFlightDiagnostic diag = order.op->emitOpError("has an order of ")
                              << order.leaves << " leaves in " << order.parts
                              << " parts and " << order.lanes << " lanes"
                              << describeRounding(order)
                              << ", but in the global program ";
    if (!other)
      return diag << "it has none";
    diag << other->leaves << " leaves and " << other->lanes << " lanes"
         << describeRounding(*other);
    diag.attachNote(other->op->getLoc()) << "this op of the global program";
    return diag;
  }

  FormTable forms;
  std::optional<NamedMesh> named;
  Mesh mesh, one;
  func::FuncOp func;
  LocalLifter expected, program;
};

} // namespace

/// In invariant mode: by way of the one-rank program, which must be that of the
/// global one. Axes that may matter are still its own; what they cut is told
/// over the reals.
static LogicalResult verifyInvariantOrders(ModuleOp global, ModuleOp local) {
  if (failed(proveInvariance(local, /*certifies=*/false)))
    return failure();
  auto oneRank = local.lookupSymbol<ModuleOp>(kOneRankModule);
  if (failed(verifyPartitioning(global, oneRank)))
    return failure();
  std::optional<NamedMesh> named = findMesh(oneRank);
  if (named && named->mesh.numRanks() > 1)
    return success();
  return OrdersProof(Equality::Bits, global, oneRank).compareBits();
}

LogicalResult mlir::weft::verifyOrders(ModuleOp global, ModuleOp local) {
  Attribute declared = global->getAttr(WeftDialect::kInvarianceAttr);
  if (local->getAttr(WeftDialect::kInvarianceAttr) != declared)
    return local.emitError("has another 'weft.invariance' than the global "
                           "program");
  if (declared)
    return verifyInvariantOrders(global, local);
  return OrdersProof(Equality::Reals, global, local).compareDeclared();
}
