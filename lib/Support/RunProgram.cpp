// SPDX-License-Identifier: Apache-2.0

#include "weft/Support/RunProgram.h"

#include "weft/Support/TemporaryFile.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <optional>

using namespace mlir::weft;

llvm::ErrorOr<ProgramResult>
mlir::weft::runProgram(llvm::StringRef path,
                       llvm::ArrayRef<std::string> arguments,
                       unsigned seconds) {
  TemporaryFile messages;
  if (std::error_code error = messages.createInSystemFolder("txt"))
    return error;
  llvm::SmallVector<llvm::StringRef> command = {path};
  command.append(arguments.begin(), arguments.end());
  std::optional<llvm::StringRef> redirects[] = {
      std::nullopt, llvm::StringRef(messages.getPath()),
      llvm::StringRef(messages.getPath())};
  std::string error;
  int exitCode = llvm::sys::ExecuteAndWait(path, command, std::nullopt,
                                           redirects, seconds, 0, &error);
  if (exitCode == 0)
    return ProgramResult{0, ""};
  auto text = llvm::MemoryBuffer::getFile(messages.getPath());
  llvm::StringRef said = text ? (*text)->getBuffer().trim() : "";
  return ProgramResult{exitCode, said.empty() ? error : said.str()};
}
