// SPDX-License-Identifier: Apache-2.0

// Linking, by running the C++ compiler driver. Objects and the output are
// temporary files until all went well; the output then takes its name.

#include "weft/Codegen/Machine/MachineCode.h"

#include "weft/Support/OutputPath.h"
#include "weft/Support/RunProgram.h"
#include "weft/Support/TemporaryFile.h"

#include "weft-rt/abi.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

LogicalResult writeFile(ModuleOp module, StringRef path,
                        ArrayRef<char> contents) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (!error) {
    os.write(contents.data(), contents.size());
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    return module.emitError("cannot write '")
           << path << "': " << error.message();
  return success();
}

LogicalResult createTemporary(ModuleOp module, StringRef suffix,
                              TemporaryFile &file) {
  if (std::error_code error = file.createInSystemFolder(suffix))
    return module.emitError("cannot make a temporary file: ")
           << error.message();
  return success();
}

LogicalResult runLinker(ModuleOp module, const BuildOptions &options,
                        ArrayRef<std::string> arguments) {
  llvm::ErrorOr<std::string> program =
      llvm::sys::findProgramByName(options.linker);
  if (!program)
    return module.emitError("cannot link: found no program '")
           << options.linker << "' (" << program.getError().message() << ")";
  llvm::ErrorOr<ProgramResult> result = runProgram(*program, arguments);
  if (!result)
    return module.emitError("cannot make a temporary file: ")
           << result.getError().message();
  if (result->exitCode == 0)
    return success();
  return module.emitError("'") << options.linker << "' failed with exit code "
                               << result->exitCode << ": " << result->said;
}

/// Puts the checksum of all bytes after them, where loaders do not look: the
/// runtime refuses a file of which a bit changed before it loads it.
LogicalResult sealFile(ModuleOp module, StringRef path) {
  auto contents = llvm::MemoryBuffer::getFile(path);
  std::error_code error = contents.getError();
  if (!error) {
    std::array<uint8_t, 32> digest = llvm::SHA256::hash(
        llvm::arrayRefFromStringRef((*contents)->getBuffer()));
    llvm::raw_fd_ostream os(path, error, llvm::sys::fs::CD_OpenExisting,
                            llvm::sys::fs::FA_Write, llvm::sys::fs::OF_Append);
    if (!error) {
      os << llvm::toStringRef(digest) << WEFT_RT_FILE_MARK;
      os.close();
      error = os.error();
      os.clear_error();
    }
  }
  if (error)
    return module.emitError("cannot write '")
           << path << "': " << error.message();
  return success();
}

/// Links to a temporary file and copies it to a device such as /dev/null.
LogicalResult linkToDevice(ModuleOp module, const BuildOptions &options,
                           StringRef path, std::vector<std::string> arguments) {
  TemporaryFile output;
  if (failed(createTemporary(module, "out", output)))
    return failure();
  arguments.insert(arguments.end(), {"-o", output.getPath()});
  if (failed(runLinker(module, options, arguments)))
    return failure();
  auto linked = llvm::MemoryBuffer::getFile(output.getPath());
  std::string problem = linked ? writeOutputFile(path,
                                                 [&](llvm::raw_ostream &os) {
                                                   os << (*linked)->getBuffer();
                                                 })
                               : linked.getError().message();
  return problem.empty() ? success()
                         : LogicalResult(module.emitError() << problem);
}

/// Compiles, then links with `flags` before and `libraries` after the objects.
LogicalResult compileAndLink(ModuleOp module, const BuildOptions &options,
                             StringRef path, ArrayRef<std::string> flags,
                             ArrayRef<std::string> libraries) {
  ObjectFiles objects;
  if (failed(emitObjects(module, options, objects)))
    return failure();
  std::vector<TemporaryFile> files;
  std::vector<std::string> arguments(flags.begin(), flags.end());
  for (const auto &object : objects) {
    TemporaryFile &file = files.emplace_back();
    if (failed(createTemporary(module, "o", file)) ||
        failed(writeFile(module, file.getPath(), object)))
      return failure();
    arguments.push_back(file.getPath());
  }
  arguments.insert(arguments.end(), libraries.begin(), libraries.end());
  if (isDevice(path))
    return linkToDevice(module, options, path, arguments);
  // Beside the output, so that renaming does not cross file systems.
  TemporaryFile output;
  if (std::error_code error = output.create(path + ".%%%%%%.tmp"))
    return module.emitError("cannot write '")
           << path << "': " << error.message();
  arguments.insert(arguments.end(), {"-o", output.getPath()});
  if (failed(runLinker(module, options, arguments)) ||
      failed(sealFile(module, output.getPath())))
    return failure();
  if (std::error_code error = output.keep(path))
    return module.emitError("cannot write '")
           << path << "': " << error.message();
  return success();
}

} // namespace

LogicalResult mlir::weft::linkSharedLibrary(ModuleOp module,
                                            const BuildOptions &options,
                                            StringRef path) {
  return compileAndLink(module, options, path,
                        {"-shared", "-Wl,--build-id=none", "-Wl,-z,defs"},
                        {"-lm"});
}

LogicalResult mlir::weft::linkExecutable(ModuleOp module,
                                         const BuildOptions &options,
                                         StringRef path) {
  std::vector<std::string> libraries;
  for (StringRef name : {"libweft_rt_main.a", "libweft_rt.a"}) {
    SmallString<128> library(options.runtimeDir);
    llvm::sys::path::append(library, name);
    if (!llvm::sys::fs::exists(library))
      return module.emitError("cannot link an executable: there is no '")
             << library << "'";
    libraries.push_back(library.str().str());
  }
  libraries.insert(libraries.end(), {"-lpthread", "-ldl", "-lm"});
  return compileAndLink(module, options, path,
                        {"-Wl,--build-id=none", "-rdynamic"}, libraries);
}
