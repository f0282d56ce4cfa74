// SPDX-License-Identifier: Apache-2.0

// The C header of a program: its tensors' names as numbers.

#include "weft/Codegen/Program/EmitHeader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::weft;

/// A C identifier for a tensor's name. Names that differ only in what C does
/// not allow get their index at the end.
static std::string getIdentifier(std::string identifier, StringRef name,
                                 size_t index, llvm::StringSet<> &used) {
  for (char c : name)
    identifier += llvm::isAlnum(c) ? c : '_';
  while (!used.insert(identifier).second)
    identifier += "_" + std::to_string(index);
  return identifier;
}

LogicalResult mlir::weft::emitHeader(ModuleOp module, llvm::raw_ostream &os) {
  os << "/* Made by weft. The compiled step, as weft-rt/abi.h describes it. "
        "*/\n"
     << "#ifndef WEFT_PROGRAM_H\n#define WEFT_PROGRAM_H\n\n"
     << "#include \"weft-rt/abi.h\"\n\n";
  auto list = [&](StringRef attribute, StringRef kind) {
    auto names = module->getAttrOfType<ArrayAttr>(attribute);
    if (!names)
      return;
    os << "#define WEFT_NUM_" << kind << "S " << names.size() << "\n";
    llvm::StringSet<> used;
    for (auto [i, name] : llvm::enumerate(names.getAsRange<StringAttr>()))
      os << "#define "
         << getIdentifier(("WEFT_" + kind + "_").str(), name.getValue(), i,
                          used)
         << " " << i << "\n";
    os << "\n";
  };
  list("weft_rt.arg_names", "ARG");
  list("weft_rt.result_names", "RESULT");
  os << "#endif /* WEFT_PROGRAM_H */\n";
  return success();
}
