// SPDX-License-Identifier: Apache-2.0

// The registry: a list by name, which only grows.

#include "weft/Target/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>
#include <mutex>

using namespace mlir;
using namespace mlir::weft;

namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Target>> targets;
};

Registry &getRegistry() {
  static Registry registry;
  return registry;
}

/// The target of modules that do not name one.
constexpr llvm::StringLiteral kDefaultTarget = "host";

TargetAttr getTargetAttr(ModuleOp module) {
  return module->getAttrOfType<TargetAttr>(WeftDialect::kTargetAttr);
}

} // namespace

void weft::registerTarget(std::unique_ptr<Target> target) {
  Registry &registry = getRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  std::string name = target->getName().str();
  registry.targets.try_emplace(std::move(name), std::move(target));
}

std::string weft::listTargets() {
  Registry &registry = getRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  return llvm::join(llvm::make_first_range(registry.targets), ", ");
}

const Target *weft::findTarget(llvm::StringRef name) {
  Registry &registry = getRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  auto it = registry.targets.find(name.str());
  return it == registry.targets.end() ? nullptr : it->second.get();
}

const Target *weft::lookupTarget(ModuleOp module) {
  StringRef name = getTargetName(module);
  const Target *target = findTarget(name);
  if (!target) {
    module.emitError("unknown target '")
        << name << "': expected " << listTargets();
    return nullptr;
  }
  return succeeded(target->verifyOptions(module)) ? target : nullptr;
}

StringRef weft::getTargetName(ModuleOp module) {
  TargetAttr attribute = getTargetAttr(module);
  return attribute ? attribute.getName().getValue() : StringRef(kDefaultTarget);
}

static void setTargetAttr(ModuleOp module, llvm::StringRef name,
                          DictionaryAttr options) {
  MLIRContext *context = module.getContext();
  // A module without any op of weft has not loaded it.
  context->loadDialect<WeftDialect>();
  module->setAttr(
      WeftDialect::kTargetAttr,
      TargetAttr::get(context, StringAttr::get(context, name), options));
}

static constexpr StringRef kCPU = "cpu";

void weft::setTarget(ModuleOp module, llvm::StringRef name) {
  StringAttr cpu = getTargetOption(module, kCPU);
  setTargetAttr(module, name, /*options=*/nullptr);
  if (cpu)
    setTargetOption(module, kCPU, cpu);
}

DictionaryAttr weft::getOwnTargetOptions(ModuleOp module) {
  TargetAttr attribute = getTargetAttr(module);
  NamedAttrList options(attribute ? attribute.getOptions() : DictionaryAttr());
  options.erase(kCPU);
  return options.getDictionary(module.getContext());
}

void weft::setTargetOption(ModuleOp module, llvm::StringRef name,
                           llvm::StringRef value) {
  TargetAttr attribute = getTargetAttr(module);
  NamedAttrList options(attribute ? attribute.getOptions() : DictionaryAttr());
  options.set(name, StringAttr::get(module.getContext(), value));
  setTargetAttr(module, getTargetName(module),
                options.getDictionary(module.getContext()));
}

StringAttr weft::getTargetOption(ModuleOp module, llvm::StringRef name) {
  TargetAttr attribute = getTargetAttr(module);
  if (!attribute || !attribute.getOptions())
    return nullptr;
  return attribute.getOptions().getAs<StringAttr>(name);
}
