// SPDX-License-Identifier: Apache-2.0

// As much of ELF as tables of programs need: segments, dynamic symbols, and the
// relocations that make addresses. Others are left alone: what they would have
// written is then not there, and the table's checks find that.

#include "core/elf_image.h"

#include "core/sha256.h"
#include "weft-rt/abi.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::rt {
namespace {

#if defined(__aarch64__)
constexpr uint16_t ownMachine = EM_AARCH64;
constexpr uint32_t relative = R_AARCH64_RELATIVE, absolute = R_AARCH64_ABS64;
#else
constexpr uint16_t ownMachine = EM_X86_64;
constexpr uint32_t relative = R_X86_64_RELATIVE, absolute = R_X86_64_64;
#endif

Status notElf(const char *what) {
  return Status(WEFT_RT_INCOMPATIBLE,
                format("it is no shared object or executable of this "
                       "architecture: %s",
                       what));
}

Status systemError(const char *action) {
  return ioError(format("cannot %s it: %s", action, std::strerror(errno)));
}

} // namespace

Result<std::unique_ptr<ElfImage>> ElfImage::read(const std::string &path) {
  std::unique_ptr<ElfImage> image(new ElfImage());
  WEFT_RT_RETURN_IF_ERROR(image->map(path));
  WEFT_RT_RETURN_IF_ERROR(image->checkSeal());
  WEFT_RT_RETURN_IF_ERROR(image->readSegments());
  WEFT_RT_RETURN_IF_ERROR(image->readSections());
  return image;
}

Status ElfImage::checkFile(const std::string &path) {
  ElfImage image;
  WEFT_RT_RETURN_IF_ERROR(image.map(path));
  return image.checkSeal();
}

ElfImage::~ElfImage() {
  if (bytes)
    munmap(bytes, size);
}

/// Opening a FIFO would wait for somebody to write to it.
Status ElfImage::map(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return errno == ENOENT ? ioError("no such file") : systemError("open");
  struct stat info;
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return ioError("it is not a regular file");
  }
  size = uint64_t(info.st_size);
  void *place = size == 0 ? MAP_FAILED
                          : mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE, descriptor, 0);
  ::close(descriptor);
  if (size == 0)
    return notElf("it is empty");
  if (place == MAP_FAILED)
    return systemError("map");
  bytes = static_cast<uint8_t *>(place);
  return Status();
}

/// Where the last of what the file's headers name ends; 0 if they are no
/// headers.
uint64_t ElfImage::findEnd() const {
  const auto *header = table<Elf64_Ehdr>(0, 1);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return 0;
  const auto *segments = table<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  const auto *sections = table<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  if (!segments || !sections)
    return 0;
  uint64_t end = std::max<uint64_t>(
      header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr),
      header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr));
  auto include = [&](uint64_t offset, uint64_t bytes) {
    if (offset <= size && bytes <= size - offset)
      end = std::max(end, offset + bytes);
  };
  for (uint64_t i = 0; i < header->e_phnum; ++i)
    include(segments[i].p_offset, segments[i].p_filesz);
  for (uint64_t i = 0; i < header->e_shnum; ++i)
    if (sections[i].sh_type != SHT_NOBITS)
      include(sections[i].sh_offset, sections[i].sh_size);
  return end;
}

/// A file that weft-compile linked ends with the digest of what lies before it.
/// One that was linked by hand, or stripped, does not.
Status ElfImage::checkSeal() const {
  static constexpr char mark[] = WEFT_RT_FILE_MARK;
  constexpr uint64_t markBytes = sizeof(mark) - 1, digestBytes = 32;
  if (size < digestBytes + markBytes ||
      std::memcmp(bytes + size - markBytes, mark, markBytes) != 0) {
    uint64_t end = findEnd();
    if (end == 0 || end >= size)
      return Status();
    return Status(
        WEFT_RT_INCOMPATIBLE,
        format("the file is damaged: it goes on for %llu bytes, which "
               "are no checksum, after its last section",
               static_cast<unsigned long long>(size - end)));
  }
  uint64_t sealed = size - markBytes - digestBytes;
  Sha256 hash;
  hash.add(bytes, sealed);
  std::string found = hash.finish();
  std::string declared = hexText(bytes + sealed, digestBytes);
  if (found == declared)
    return Status();
  return Status(WEFT_RT_INCOMPATIBLE,
                format("the file is damaged: its checksum is %s, and it says "
                       "%s",
                       found.c_str(), declared.c_str()));
}

/// `count` values at an offset of the file, or null. Files are read where they
/// are: a table that is not aligned is damaged.
template <typename T>
const T *ElfImage::table(uint64_t offset, uint64_t count) const {
  if (offset % alignof(T) != 0 || offset > size ||
      count > (size - offset) / sizeof(T))
    return nullptr;
  return reinterpret_cast<const T *>(bytes + offset);
}

Status ElfImage::readSegments() {
  const auto *header = table<Elf64_Ehdr>(0, 1);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return notElf("it is not ELF");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_machine != ownMachine)
    return notElf("it is for another machine");
  if (header->e_type != ET_DYN && header->e_type != ET_EXEC)
    return notElf("it is not linked");
  const auto *list = table<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  if (!list)
    return notElf("its segments are not in the file");
  for (uint64_t i = 0; i < header->e_phnum; ++i) {
    if (list[i].p_type != PT_LOAD)
      continue;
    // Loaded, what is not in the file would be there and end the process.
    if (list[i].p_offset > size || list[i].p_filesz > size - list[i].p_offset)
      return notElf("a segment is not in the file");
    segments.push_back(list[i]);
  }
  return Status();
}

bool ElfImage::readSymbols(const Elf64_Shdr &section,
                           const Elf64_Shdr &strings) {
  uint64_t count = section.sh_size / sizeof(Elf64_Sym);
  const auto *list = table<Elf64_Sym>(section.sh_offset, count);
  const auto *texts = table<char>(strings.sh_offset, strings.sh_size);
  if (!list || !texts)
    return false;
  symbols.assign(list, list + count);
  names.assign(texts, texts + strings.sh_size);
  names.push_back(0);
  return true;
}

/// Relocations that only add where the file is loaded (SHT_RELR) are nothing to
/// do: it is loaded at 0.
Status ElfImage::readSections() {
  const auto *header = table<Elf64_Ehdr>(0, 1);
  const auto *list = table<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  if (!list)
    return notElf("its sections are not in the file");
  std::vector<Elf64_Shdr> sections(list, list + header->e_shnum);
  bool hasSymbols = false;
  for (const Elf64_Shdr &section : sections)
    if (section.sh_type == SHT_DYNSYM && section.sh_link < sections.size())
      hasSymbols = readSymbols(section, sections[section.sh_link]);
  if (!hasSymbols)
    return notElf("it has no dynamic symbols");
  for (const Elf64_Shdr &section : sections)
    if (section.sh_type == SHT_RELA)
      relocate(section);
  return Status();
}

uint64_t ElfImage::findSymbol(const char *name) const {
  for (const Elf64_Sym &symbol : symbols)
    if (symbol.st_name < names.size() && symbol.st_shndx != SHN_UNDEF &&
        std::strcmp(names.data() + symbol.st_name, name) == 0)
      return symbol.st_value;
  return 0;
}

const uint8_t *ElfImage::at(uint64_t address, uint64_t count) const {
  for (const Elf64_Phdr &segment : segments) {
    uint64_t offset = address - segment.p_vaddr;
    if (address >= segment.p_vaddr && offset <= segment.p_filesz &&
        count <= segment.p_filesz - offset)
      return bytes + segment.p_offset + offset;
  }
  return nullptr;
}

uint64_t ElfImage::bytesFrom(uint64_t address) const {
  for (const Elf64_Phdr &segment : segments)
    if (address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return segment.p_filesz - (address - segment.p_vaddr);
  return 0;
}

bool ElfImage::isCode(uint64_t address) const {
  for (const Elf64_Phdr &segment : segments)
    if ((segment.p_flags & PF_X) && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return true;
  return false;
}

void ElfImage::store(uint64_t address, uint64_t value) {
  if (const uint8_t *place = at(address, sizeof(value)))
    std::memcpy(const_cast<uint8_t *>(place), &value, sizeof(value));
}

void ElfImage::relocate(const Elf64_Shdr &section) {
  uint64_t count = section.sh_size / sizeof(Elf64_Rela);
  const auto *list = table<Elf64_Rela>(section.sh_offset, count);
  if (!list)
    return;
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t type = ELF64_R_TYPE(list[i].r_info);
    uint64_t symbol = ELF64_R_SYM(list[i].r_info);
    uint64_t addend = uint64_t(list[i].r_addend);
    if (type == relative)
      store(list[i].r_offset, addend);
    else if (type == absolute && symbol < symbols.size())
      store(list[i].r_offset, symbols[symbol].st_value + addend);
  }
}

} // namespace weft::rt
