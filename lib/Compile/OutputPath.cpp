// SPDX-License-Identifier: Apache-2.0

// A temporary file in the same folder, then a rename: readers see the old file
// or the new one.

#include "OutputPath.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

std::string mlir::weft::checkOutputPath(llvm::StringRef file) {
  llvm::StringRef folder = path::parent_path(file);
  if (folder.empty())
    folder = ".";
  if (fs::is_directory(file))
    return ("cannot write '" + file + "': is a directory").str();
  if (!fs::is_directory(folder))
    return ("cannot write '" + file + "': no directory '" + folder + "'").str();
  if (fs::access(folder, fs::AccessMode::Write))
    return ("cannot write '" + file + "': directory '" + folder +
            "' is not writable")
        .str();
  return "";
}

std::string mlir::weft::writeOutputFile(
    llvm::StringRef file, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  auto describe = [&](llvm::Error error) {
    return ("cannot write '" + file + "': " + llvm::toString(std::move(error)))
        .str();
  };
  llvm::Expected<fs::TempFile> temp = fs::TempFile::create(
      file + ".%%%%%%.tmp", fs::all_read | fs::owner_write);
  if (!temp)
    return describe(temp.takeError());
  llvm::raw_fd_ostream stream(temp->FD, /*shouldClose=*/false);
  write(stream);
  stream.flush();
  if (std::error_code code = stream.error()) {
    stream.clear_error();
    llvm::consumeError(temp->discard());
    return describe(llvm::errorCodeToError(code));
  }
  if (llvm::Error error = temp->keep(file))
    return describe(std::move(error));
  return "";
}
