// SPDX-License-Identifier: Apache-2.0

#include "weft/Support/TemporaryFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"

#include <climits>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace fs = llvm::sys::fs;
using namespace mlir::weft;

namespace {

/// Empty names are free places.
struct SharedNames {
  char names[256][PATH_MAX];
};

SharedNames *shared = nullptr;
std::mutex sharedLock;

/// Replaces one name by another; without a place for it a file is only removed
/// by the process that made it.
void replaceShared(llvm::StringRef name, llvm::StringRef by) {
  std::lock_guard<std::mutex> lock(sharedLock);
  if (!shared || by.size() >= PATH_MAX)
    return;
  for (char *place : shared->names)
    if (name == place) {
      std::memcpy(place, by.data(), by.size());
      place[by.size()] = 0;
      return;
    }
}

void note(llvm::StringRef name) {
  llvm::sys::RemoveFileOnSignal(name);
  replaceShared("", name);
}

void forget(llvm::StringRef name) {
  llvm::sys::DontRemoveFileOnSignal(name);
  replaceShared(name, "");
}

} // namespace

void mlir::weft::shareTemporaryNames() {
  void *memory = mmap(nullptr, sizeof(SharedNames), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED)
    shared = static_cast<SharedNames *>(memory);
}

void mlir::weft::removeSharedTemporaries() {
  if (!shared)
    return;
  for (const char *name : shared->names)
    if (*name)
      unlink(name);
}

TemporaryFile::TemporaryFile(TemporaryFile &&other)
    : path(std::exchange(other.path, "")) {}

TemporaryFile::~TemporaryFile() {
  if (path.empty())
    return;
  fs::remove(path);
  forget(path);
}

std::error_code TemporaryFile::create(const llvm::Twine &model, unsigned mode) {
  constexpr int mostTries = 128;
  std::error_code error;
  for (int i = 0; i < mostTries; ++i) {
    llvm::SmallString<128> name;
    fs::createUniquePath(model, name, /*MakeAbsolute=*/false);
    note(name);
    int descriptor = -1;
    error = fs::openFileForWrite(name, descriptor, fs::CD_CreateNew,
                                 fs::OF_None, mode);
    if (!error) {
      path = name.str().str();
      return llvm::sys::Process::SafelyCloseFileDescriptor(descriptor);
    }
    forget(name);
    if (error != std::errc::file_exists)
      return error;
  }
  return error;
}

std::error_code TemporaryFile::createInSystemFolder(llvm::StringRef suffix) {
  llvm::SmallString<128> model;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, model);
  llvm::sys::path::append(model, "weft-%%%%%%." + suffix);
  return create(model, fs::owner_read | fs::owner_write);
}

std::error_code TemporaryFile::keep(llvm::StringRef target) {
  if (std::error_code error = fs::rename(path, target))
    return error;
  forget(path);
  path.clear();
  return {};
}
