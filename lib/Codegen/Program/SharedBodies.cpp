// SPDX-License-Identifier: Apache-2.0

#include "SharedBodies.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

constexpr auto kFlags = OperationEquivalence::IgnoreLocations;

/// Of all ops, without their operands.
llvm::hash_code hashBody(LLVM::LLVMFuncOp body) {
  llvm::hash_code hash = hash_value(Type(body.getFunctionType()));
  body.getBody().walk([&](Operation *op) {
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(
                  op, OperationEquivalence::ignoreHashValue,
                  OperationEquivalence::ignoreHashValue, kFlags));
  });
  return hash;
}

/// Says whether two functions differ in their names and locations at most.
bool areSame(LLVM::LLVMFuncOp one, LLVM::LLVMFuncOp other) {
  auto getAttributes = [](LLVM::LLVMFuncOp func) {
    NamedAttrList attributes(func->getAttrDictionary());
    attributes.erase(SymbolTable::getSymbolAttrName());
    attributes.erase(func.getNoInlineAttrName());
    return attributes.getDictionary(func.getContext());
  };
  return getAttributes(one) == getAttributes(other) &&
         OperationEquivalence::isRegionEquivalentTo(&one.getBody(),
                                                    &other.getBody(), kFlags);
}

/// The one call in a kernel; null if it is not of one function of the kernel's
/// own.
LLVM::CallOp findCall(ModuleOp module, StringRef kernel) {
  auto func = module.lookupSymbol<LLVM::LLVMFuncOp>(kernel);
  LLVM::CallOp found;
  if (!func || func.isExternal())
    return found;
  for (auto call : func.getOps<LLVM::CallOp>()) {
    if (found || !call.getCallee())
      return {};
    found = call;
  }
  bool isOwn = found && found.getCallee()->starts_with(kernel) &&
               found.getCallee()->substr(kernel.size()).starts_with("_");
  return isOwn ? found : LLVM::CallOp();
}

} // namespace

void SharedBodies::share(StringRef kernel) {
  LLVM::CallOp call = findCall(module, kernel);
  if (!call)
    return;
  auto body = module.lookupSymbol<LLVM::LLVMFuncOp>(*call.getCallee());
  if (!body || body.isExternal() ||
      body.getLinkage() != LLVM::Linkage::Internal)
    return;
  auto &alike = bodies[hashBody(body)];
  for (LLVM::LLVMFuncOp other : alike) {
    if (!areSame(body, other))
      continue;
    call.setCallee(other.getSymName());
    // Else it would be compiled in each kernel again.
    other.setNoInline(true);
    body.erase();
    return;
  }
  alike.push_back(body);
}
