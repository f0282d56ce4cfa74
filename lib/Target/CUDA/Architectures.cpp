// SPDX-License-Identifier: Apache-2.0

// What LLVM 22 and the ptxas of CUDA 13 both take: test/Target/CUDA/ptxas.test
// assembles for each.

#include "Architectures.h"

#include "weft/Target/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::weft;

static constexpr Architecture kArchitectures[] = {
    {"sm_80", 80},   {"sm_86", 80},   {"sm_87", 80},   {"sm_88", 90},
    {"sm_89", 80},   {"sm_90", 80},   {"sm_90a", 80},  {"sm_100", 86},
    {"sm_100a", 86}, {"sm_100f", 88}, {"sm_103", 88},  {"sm_103a", 88},
    {"sm_103f", 88}, {"sm_110", 90},  {"sm_110a", 90}, {"sm_110f", 90},
    {"sm_120", 87},  {"sm_120a", 87}, {"sm_120f", 88}, {"sm_121", 88},
    {"sm_121a", 88}, {"sm_121f", 88}};

const Architecture *mlir::weft::findArchitecture(StringRef name) {
  const Architecture *it = llvm::find_if(
      kArchitectures, [&](const Architecture &a) { return a.name == name; });
  return it == std::end(kArchitectures) ? nullptr : it;
}

std::string mlir::weft::listArchitectures() {
  return llvm::join(
      llvm::map_range(kArchitectures,
                      [](const Architecture &a) { return StringRef(a.name); }),
      ", ");
}

StringRef mlir::weft::getArchitecture(ModuleOp module) {
  StringAttr arch = getTargetOption(module, "arch");
  return arch ? arch.getValue() : StringRef(kDefaultArchitecture);
}
