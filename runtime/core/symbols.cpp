// SPDX-License-Identifier: Apache-2.0

// Looks the address up in the symbol table of the ELF file that is mapped
// there. The file was loaded before, so its tables are taken to be sound as far
// as they lie within the file.

#include "core/symbols.h"

#include "core/status.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <vector>

namespace weft::rt {
namespace {

/// The bytes of a file, and views of tables in it.
class Image {
public:
  explicit Image(const char *path) {
    std::FILE *file = std::fopen(path, "rb");
    if (!file)
      return;
    char block[1 << 16];
    while (size_t count = std::fread(block, 1, sizeof(block), file))
      bytes.insert(bytes.end(), block, block + count);
    std::fclose(file);
  }

  /// `count` values at an offset; empty if they do not lie in the file.
  template <typename T>
  std::vector<T> table(uint64_t offset, uint64_t count) const {
    if (offset > bytes.size() || count > (bytes.size() - offset) / sizeof(T))
      return {};
    std::vector<T> values(count);
    if (count > 0)
      std::memcpy(values.data(), bytes.data() + offset, count * sizeof(T));
    return values;
  }

private:
  std::vector<char> bytes;
};

std::string nameIn(const Image &image, const Elf64_Shdr &symbols,
                   const Elf64_Shdr &strings, uint64_t value) {
  std::vector<char> names =
      image.table<char>(strings.sh_offset, strings.sh_size);
  if (names.empty())
    return "";
  names.back() = 0;
  for (const Elf64_Sym &symbol : image.table<Elf64_Sym>(
           symbols.sh_offset, symbols.sh_size / sizeof(Elf64_Sym)))
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_value == value &&
        symbol.st_name < names.size())
      return names.data() + symbol.st_name;
  return "";
}

std::string nameAt(const Image &image, uint64_t value) {
  std::vector<Elf64_Ehdr> header = image.table<Elf64_Ehdr>(0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      header[0].e_ident[EI_CLASS] != ELFCLASS64)
    return "";
  std::vector<Elf64_Shdr> sections =
      image.table<Elf64_Shdr>(header[0].e_shoff, header[0].e_shnum);
  for (const Elf64_Shdr &section : sections)
    if (section.sh_type == SHT_SYMTAB && section.sh_link < sections.size())
      return nameIn(image, section, sections[section.sh_link], value);
  return "";
}

} // namespace

std::string functionName(const void *address) {
  Dl_info info;
  if (!dladdr(address, &info))
    return format("function at %p", address);
  if (info.dli_sname && info.dli_saddr == address)
    return info.dli_sname;
  uint64_t offset = static_cast<const char *>(address) -
                    static_cast<const char *>(info.dli_fbase);
  std::string name = nameAt(Image(info.dli_fname), offset);
  return name.empty() ? format("function at 0x%llx", (unsigned long long)offset)
                      : name;
}

} // namespace weft::rt
