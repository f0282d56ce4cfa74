// SPDX-License-Identifier: Apache-2.0

// Finds machine descriptions and answers questions about them. Reading their
// text is in another file.

#include "weft/Cost/Machine.h"

#include "ShippedMachines.h"

#include "weft/Support/OutputPath.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir::weft;
using llvm::StringRef;

double EfficiencyTable::at(double size) const {
  if (points.empty())
    return 1;
  if (size <= points.front().first)
    return points.front().second;
  for (size_t i = 1; i < points.size(); ++i) {
    auto [x0, y0] = points[i - 1];
    auto [x1, y1] = points[i];
    if (size <= x1)
      return y0 + (y1 - y0) * ((size - x0) / (x1 - x0));
  }
  return points.back().second;
}

std::vector<StringRef> Machine::getShippedNames() {
  std::vector<StringRef> names;
  for (const ShippedMachine &machine : getShippedMachines())
    names.push_back(machine.name);
  return names;
}

bool Machine::isShipped(StringRef name) {
  return llvm::is_contained(getShippedNames(), name);
}

llvm::FailureOr<Machine> Machine::load(StringRef nameOrPath,
                                       std::string &error) {
  for (const ShippedMachine &machine : getShippedMachines())
    if (nameOrPath == machine.name)
      return parse(machine.text, (nameOrPath + ".json").str(), error);
  error = checkInputPath(nameOrPath);
  if (!error.empty())
    return llvm::failure();
  auto file = llvm::MemoryBuffer::getFile(nameOrPath, /*IsText=*/true);
  if (std::error_code code = file.getError()) {
    error = "no machine '" + nameOrPath.str() + "': not one of " +
            llvm::join(getShippedNames(), ", ") +
            ", and as a file: " + code.message();
    return llvm::failure();
  }
  return parse((*file)->getBuffer(), nameOrPath, error);
}

StringRef Machine::getRunType(StringRef type) const {
  if (auto run = runsAs.find(type.str()); run != runsAs.end())
    return run->second;
  // Where to look for a type, in order. f32 is always there.
  static constexpr StringRef wider[][5] = {{"f4", "f8", "bf16", "f16", "f32"},
                                           {"f8", "bf16", "f16", "f32"},
                                           {"bf16", "f16", "f32"},
                                           {"f16", "bf16", "f32"},
                                           {"f64", "f32"},
                                           {"i8", "i32", "f32"}};
  for (const auto &names : wider)
    if (type == names[0])
      for (StringRef name : names)
        if (rates.count(name.str()))
          return rates.find(name.str())->first;
  auto own = rates.find(type.str());
  return own == rates.end() ? "f32" : StringRef(own->first);
}

const ComputeRate &Machine::getRate(StringRef type) const {
  return rates.at(getRunType(type).str());
}

std::string Machine::checkRanks(int64_t ranks) const {
  int64_t most = levels.empty() ? 1 : levels.back().ranks;
  if (levels.size() && most == 0)
    return "";
  if (ranks <= most)
    return "";
  return "machine '" + name + "' has " + std::to_string(most) +
         (most == 1 ? " rank" : " ranks") + ", but the mesh has " +
         std::to_string(ranks);
}
