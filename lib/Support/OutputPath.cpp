// SPDX-License-Identifier: Apache-2.0

// A temporary file in the same folder, then a rename: readers see the old file
// or the new one.

#include "weft/Support/OutputPath.h"

#include "weft/Support/Printable.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <optional>
#include <unistd.h>

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;
using namespace mlir::weft;

namespace {

bool isFile(llvm::StringRef path) { return !path.empty() && path != "-"; }

llvm::StringRef folderOf(llvm::StringRef file) {
  llvm::StringRef folder = path::parent_path(file);
  return folder.empty() ? "." : folder;
}

/// What a file is known by: its number if it is there, or else its folder's and
/// its name.
struct Identity {
  fs::UniqueID number;
  std::string name;

  bool operator==(const Identity &other) const {
    return number == other.number && name == other.name;
  }
};

Identity identify(llvm::StringRef file) {
  Identity result;
  if (!fs::getUniqueID(file, result.number))
    return result;
  result.name = path::filename(file).str();
  if (fs::getUniqueID(folderOf(file), result.number))
    result.name = file.str();
  return result;
}

/// Whether an input is the file `output`. "-" is what the standard input reads,
/// if that is a file.
bool isInput(llvm::StringRef input, const Identity &output) {
  if (isFile(input))
    return identify(input) == output;
  fs::file_status status;
  return input == "-" && !fs::status(STDIN_FILENO, status) &&
         status.type() == fs::file_type::regular_file &&
         Identity{status.getUniqueID(), ""} == output;
}

/// Writes to what takes bytes as they come; returns what went wrong.
std::error_code
writeStream(llvm::raw_fd_ostream &stream,
            llvm::function_ref<void(llvm::raw_ostream &)> write) {
  write(stream);
  stream.flush();
  std::error_code code = stream.error();
  stream.clear_error();
  return code;
}

} // namespace

bool mlir::weft::isDevice(llvm::StringRef file) {
  fs::file_status status;
  return !fs::status(file, status) &&
         status.type() == fs::file_type::character_file;
}

std::string mlir::weft::checkInputPath(llvm::StringRef file) {
  fs::file_status status;
  if (!isFile(file) || fs::status(file, status))
    return "";
  if (status.type() == fs::file_type::regular_file)
    return "";
  return ("cannot read '" + file + "': not a regular file").str();
}

std::string mlir::weft::checkOutputPath(llvm::StringRef file) {
  llvm::StringRef folder = folderOf(file);
  if (fs::is_symlink_file(file) && !fs::exists(file))
    return ("cannot write '" + file + "': a link that leads to no file").str();
  if (fs::is_directory(file))
    return ("cannot write '" + file + "': is a directory").str();
  if (!fs::is_directory(folder))
    return ("cannot write '" + file + "': no directory '" + folder + "'").str();
  if (isDevice(file))
    return "";
  if (fs::exists(file) && !fs::is_regular_file(file))
    return ("cannot write '" + file + "': not a regular file").str();
  if (fs::access(folder, fs::AccessMode::Write))
    return ("cannot write '" + file + "': directory '" + folder +
            "' is not writable")
        .str();
  return "";
}

std::string mlir::weft::checkDistinctPaths(llvm::ArrayRef<NamedPath> outputs,
                                           llvm::ArrayRef<NamedPath> inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const NamedPath &own = outputs[i];
    if (!isFile(own.path) || isDevice(own.path))
      continue;
    Identity identity = identify(own.path);
    for (const NamedPath &other : outputs.take_front(i))
      if (isFile(other.path) && identify(other.path) == identity)
        return (other.option + " and " + own.option + " name one file: '" +
                other.path + "' and '" + own.path + "'")
            .str();
    for (const NamedPath &input : inputs)
      if (isInput(input.path, identity))
        return (own.option + " would write over " + input.option + ": '" +
                own.path + "' and '" + input.path + "' are one file")
            .str();
  }
  return "";
}

bool mlir::weft::refusePaths(llvm::StringRef tool,
                             llvm::ArrayRef<const char *> arguments) {
  llvm::StringRef output;
  // What is read if no file is named.
  llvm::SmallVector<NamedPath> inputs = {{"the input", "-"}};
  for (size_t i = 1; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    if (!argument.starts_with("-")) {
      inputs.push_back({"the input", argument});
      continue;
    }
    argument = argument.ltrim('-');
    if (argument == "o" && i + 1 < arguments.size())
      output = arguments[++i];
    else if (argument.consume_front("o="))
      output = argument;
  }
  std::string problem = checkDistinctPaths({{"-o", output}}, inputs);
  for (const NamedPath &input : inputs)
    // MLIR says itself what is a directory; options may name some.
    if (problem.empty() && !fs::is_directory(input.path))
      problem = checkInputPath(input.path);
  if (problem.empty())
    return false;
  llvm::errs() << tool << ": error: " << makePrintable(problem) << "\n";
  return true;
}

std::string StagedFile::describe(std::error_code error) const {
  return error ? "cannot write '" + path + "': " + error.message() : "";
}

std::string
StagedFile::write(llvm::StringRef name,
                  llvm::function_ref<void(llvm::raw_ostream &)> write) {
  path = target = name.str();
  if (isDevice(path)) {
    std::error_code code;
    llvm::raw_fd_ostream stream(path, code, fs::CD_OpenExisting, fs::FA_Write,
                                fs::OF_None);
    return describe(code ? code : writeStream(stream, write));
  }
  // Where a link leads, so that the link stays.
  llvm::SmallString<128> real;
  if (fs::exists(path) && !fs::real_path(path, real))
    target = real.str().str();
  if (std::error_code code = file.create(target + ".%%%%%%.tmp"))
    return describe(code);
  std::error_code code;
  llvm::raw_fd_ostream stream(file.getPath(), code, fs::CD_OpenExisting,
                              fs::FA_Write, fs::OF_None);
  return describe(code ? code : writeStream(stream, write));
}

std::string StagedFile::keep() {
  return file.getPath().empty() ? "" : describe(file.keep(target));
}

std::string mlir::weft::writeOutputFile(
    llvm::StringRef file, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  StagedFile staged;
  std::string problem = staged.write(file, write);
  return problem.empty() ? staged.keep() : problem;
}
