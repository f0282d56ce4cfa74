// SPDX-License-Identifier: Apache-2.0

// Structs are copied from the file as they are, and their pointers, which are
// addresses in it, are followed one by one.

#include "core/program_file.h"

#include "core/checksum.h"
#include "core/elf_image.h"
#include "core/manifest.h"
#include "core/table_walk.h"

#include <cstring>

namespace weft::rt {
namespace {

/// Stands for code, which is not in this process.
template <typename... Parameters> void noCode(Parameters...) {}

/// Replaces addresses of the file by pointers to copies of what lies there.
class Copier {
public:
  Copier(const ElfImage &image, std::vector<std::unique_ptr<char[]>> &storage)
      : image(image), storage(storage) {}

  template <typename T> void number(T &) {}
  template <size_t n> void bytes(uint8_t (&)[n]) {}

  void text(const char *&pointer) {
    if (!pointer || !failure.empty())
      return;
    uint64_t address = addressOf(pointer), most = image.bytesFrom(address);
    const auto *found = reinterpret_cast<const char *>(image.at(address, most));
    size_t length = found ? strnlen(found, most) : 0;
    if (!found || length == most)
      return fail(pointer, "a string");
    if (copied > mostCopied)
      return fail(pointer, "more than any program has");
    pointer = copy(found, length + 1);
  }

  template <typename T, typename Walk>
  void list(const T *&pointer, int64_t count, Walk walk) {
    if (!pointer || !failure.empty())
      return;
    uint64_t address = addressOf(pointer);
    bool isPossible =
        count >= 0 && uint64_t(count) <= image.bytesFrom(address) / sizeof(T);
    if (count != 0 && !isPossible)
      return fail(pointer, "a list");
    if (copied > mostCopied)
      return fail(pointer, "more than any program has");
    char *own = copy(image.at(address, uint64_t(count) * sizeof(T)),
                     size_t(count) * sizeof(T));
    auto *values = reinterpret_cast<T *>(own);
    for (int64_t i = 0; i < count; ++i)
      walk(values[i]);
    pointer = values;
  }

  template <typename... Parameters>
  void code(void (*&function)(Parameters...)) {
    if (!function || !failure.empty())
      return;
    auto address = reinterpret_cast<uint64_t>(function);
    if (!image.isCode(address))
      return fail(reinterpret_cast<void *>(function), "a function");
    function = noCode<Parameters...>;
  }

  const std::string &problem() const { return failure; }

private:
  static uint64_t addressOf(const void *pointer) {
    return reinterpret_cast<uint64_t>(pointer);
  }
  char *copy(const void *data, size_t size) {
    copied += size;
    storage.emplace_back(new char[size + 1]);
    if (data && size > 0)
      std::memcpy(storage.back().get(), data, size);
    return storage.back().get();
  }
  void fail(const void *pointer, const char *what) {
    failure = format("the program's table is damaged: %s lies at address "
                     "0x%llx, which is not in the file",
                     what, (unsigned long long)addressOf(pointer));
  }

  /// Lists of a hostile file may share their bytes, which are few, and be many.
  static constexpr size_t mostCopied = size_t(256) << 20;

  const ElfImage &image;
  std::vector<std::unique_ptr<char[]>> &storage;
  size_t copied = 0;
  std::string failure;
};

/// The message of a failure, with the file's name before it.
Status inFile(const std::string &path, const Status &status) {
  return Status(status.code(),
                "cannot load " + quote(path) + ": " + status.message());
}

/// A table of another version has other fields: it must not be walked.
Status copyTable(const ElfImage &image, weft_rt_program &table,
                 std::vector<std::unique_ptr<char[]>> &storage) {
  uint64_t address = image.findSymbol("weft_program");
  if (!address)
    return Status(WEFT_RT_INCOMPATIBLE, "it does not define weft_program");
  constexpr uint64_t versionBytes = 2 * sizeof(uint32_t);
  const uint8_t *found = image.at(address, versionBytes);
  if (found)
    std::memcpy(&table, found, versionBytes);
  if (found)
    WEFT_RT_RETURN_IF_ERROR(checkVersion(table));
  found = image.at(address, sizeof(table));
  if (!found)
    return Status(WEFT_RT_INCOMPATIBLE, "weft_program is not in the file");
  std::memcpy(&table, found, sizeof(table));
  Copier copier(image, storage);
  walk(copier, table);
  if (!copier.problem().empty())
    return Status(WEFT_RT_INCOMPATIBLE, copier.problem());
  WEFT_RT_RETURN_IF_ERROR(checkChecksum(table));
  return checkProgram(table);
}

} // namespace

Result<std::unique_ptr<ProgramFile>>
ProgramFile::read(const std::string &path) {
  Result<std::unique_ptr<ElfImage>> image = ElfImage::read(path);
  if (!image.ok())
    return inFile(path, image.status());
  std::unique_ptr<ProgramFile> file(new ProgramFile());
  Status status = copyTable(**image, file->table, file->storage);
  if (!status.ok())
    return inFile(path, status);
  return file;
}

} // namespace weft::rt
