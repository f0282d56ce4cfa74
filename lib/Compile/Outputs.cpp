// SPDX-License-Identifier: Apache-2.0

// Each file is printed into memory, then staged beside its place: what fails
// leaves no file.

#include "Outputs.h"

#include "weft/Codegen/Machine/MachineCode.h"
#include "weft/Codegen/Program/EmitHeader.h"
#include "weft/Cost/Machine.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;
using namespace mlir::weft;

LogicalResult Outputs::succeedUnless(const std::string &problem) const {
  return problem.empty() ? success() : emitError(place) << problem;
}

LogicalResult Outputs::checkPaths() const {
  for (StringRef path : {options.output, options.header, options.report}) {
    bool isFile = !path.empty() && path != "-";
    if (isFile && failed(succeedUnless(checkOutputPath(path))))
      return failure();
  }
  StringRef machine = options.machine;
  return succeedUnless(checkDistinctPaths(
      {{"-o", options.output},
       {"--emit-header", options.header},
       {"--report", options.report}},
      {{"the input", options.input},
       {"--machine", Machine::isShipped(machine) ? StringRef() : machine}}));
}

LogicalResult Outputs::stage(StagedFile &file, StringRef path, Print print) {
  SmallVector<char, 0> contents;
  llvm::raw_svector_ostream stream(contents);
  if (failed(print(stream)))
    return failure();
  return succeedUnless(
      file.write(path, [&](raw_ostream &os) { os << stream.str(); }));
}

LogicalResult Outputs::writeFile(StringRef path, Print print) {
  StagedFile file;
  if (failed(stage(file, path, print)))
    return failure();
  return succeedUnless(file.keep());
}

LogicalResult Outputs::writeModule(ModuleOp module) {
  auto printText = [&](raw_ostream &stream) {
    // Each phase checks its ops.
    module->print(stream, OpPrintingFlags().assumeVerified());
    return success();
  };
  BuildOptions build;
  build.linker = options.linker;
  build.runtimeDir = options.runtimeDir;
  switch (kind) {
  case OutputKind::Text:
    return options.output == "-" ? printText(os)
                                 : writeFile(options.output, printText);
  case OutputKind::LLVMIR:
    return writeFile(options.output, [&](raw_ostream &stream) {
      return emitLLVMIR(module, stream);
    });
  case OutputKind::Object:
    return writeFile(options.output, [&](raw_ostream &stream) {
      return emitObject(module, stream);
    });
  case OutputKind::SharedLibrary:
    return linkSharedLibrary(module, build, options.output);
  case OutputKind::Executable:
    return linkExecutable(module, build, options.output);
  }
  llvm_unreachable("an output kind that is not listed");
}

LogicalResult Outputs::write(ModuleOp module, StringRef page,
                             PassRunner &runner) {
  // A program is there when its header and report are.
  StagedFile header, report;
  if (!options.header.empty() &&
      failed(stage(header, options.header, [&](raw_ostream &stream) {
        return emitHeader(module, stream);
      })))
    return failure();
  if (!options.report.empty() &&
      failed(stage(report, options.report, [&](raw_ostream &stream) {
        stream << page;
        return success();
      })))
    return failure();
  if (failed(runner.timed("writing", [&] { return writeModule(module); })))
    return failure();
  for (StagedFile *file : {&header, &report})
    if (failed(succeedUnless(file->keep())))
      return failure();
  return success();
}
