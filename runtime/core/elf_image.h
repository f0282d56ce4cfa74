// SPDX-License-Identifier: Apache-2.0

// A shared object or executable as it would lie in memory, without loading it:
// segments at their addresses, with relocations applied to a private copy.
// Everything in the file may be wrong.

#ifndef WEFT_RT_CORE_ELF_IMAGE_H
#define WEFT_RT_CORE_ELF_IMAGE_H

#include "core/status.h"

#include <cstdint>
#include <elf.h>
#include <memory>
#include <vector>

namespace weft::rt {

/// A file's segments. Addresses count from where the file would be loaded.
class ElfImage {
public:
  static Result<std::unique_ptr<ElfImage>> read(const std::string &path);

  /// Fails if bytes of the file changed since it was linked, as far as it says
  /// what they were.
  static Status checkFile(const std::string &path);

  ~ElfImage();
  ElfImage(const ElfImage &) = delete;
  ElfImage &operator=(const ElfImage &) = delete;

  /// The address of the dynamic symbol with this name, or 0.
  uint64_t findSymbol(const char *name) const;

  /// The bytes at an address, or null unless all `size` lie in one segment of
  /// the file.
  const uint8_t *at(uint64_t address, uint64_t size) const;

  /// How many bytes there are from an address to the end of its segment.
  uint64_t bytesFrom(uint64_t address) const;

  /// Says whether code lies at the address.
  bool isCode(uint64_t address) const;

private:
  ElfImage() = default;

  Status map(const std::string &path);
  uint64_t findEnd() const;
  Status checkSeal() const;
  Status readSegments();
  Status readSections();
  bool readSymbols(const Elf64_Shdr &section, const Elf64_Shdr &strings);
  template <typename T> const T *table(uint64_t offset, uint64_t count) const;
  void relocate(const Elf64_Shdr &section);
  void store(uint64_t address, uint64_t value);

  uint8_t *bytes = nullptr; // the file, copied on write
  uint64_t size = 0;
  std::vector<Elf64_Phdr> segments;
  // Copies: relocations may write anywhere in the segments.
  std::vector<Elf64_Sym> symbols;
  std::vector<char> names; // of symbols; the last byte is 0
};

} // namespace weft::rt

#endif // WEFT_RT_CORE_ELF_IMAGE_H
