// SPDX-License-Identifier: Apache-2.0

// An ELF object's size is where its table of sections ends.

#include "image.h"

#include "core/sha256.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

namespace emulated {
namespace {

void *loadObject(const void *data) {
  auto &header = *static_cast<const Elf64_Ehdr *>(data);
  size_t size = header.e_shoff + size_t(header.e_shnum) * header.e_shentsize;
  int file = memfd_create("image", 0);
  if (file < 0 || write(file, data, size) != ssize_t(size))
    return nullptr;
  std::string path = "/proc/self/fd/" + std::to_string(file);
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  close(file);
  return handle;
}

/// The folder of this library.
std::string ownFolder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&ownFolder), &info))
    return ".";
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

/// The digest of a text, with or without the 0 at its end.
std::string digestOf(const std::string &text, bool withEnd) {
  weft::rt::Sha256 hash;
  hash.add(text.c_str(), text.size() + withEnd);
  return hash.finish();
}

void *loadText(const std::string &ptx) {
  const char *given = std::getenv("WEFT_EMULATED_IMAGES");
  for (const std::string &folder :
       {std::string(given ? given : ""), ownFolder()})
    for (bool withEnd : {false, true}) {
      std::string file = folder + "/" + digestOf(ptx, withEnd) + ".so";
      if (void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))
        return handle;
    }
  std::fprintf(stderr, "emulated GPU: no code for the image %s\n",
               digestOf(ptx, false).c_str());
  return nullptr;
}

/// Bytes of one declared parameter: ".param .u64 .ptr .align 1 x" or
/// ".param .align 8 .b8 x[104]".
uint32_t declaredBytes(const std::string &text) {
  std::istringstream words(text);
  std::string word;
  uint32_t bits = 0;
  while (words >> word)
    if (word.size() > 2 && word[0] == '.' && std::isdigit(word[2]))
      bits = uint32_t(std::atoi(word.c_str() + 2));
  size_t bracket = text.find('[');
  bool isArray = bracket != std::string::npos;
  uint32_t count = isArray ? uint32_t(std::atoi(&text[bracket + 1])) : 1;
  return bits / 8 * count;
}

} // namespace

bool Image::isForGpu(const void *data) {
  constexpr Elf64_Half cuda = 190;
  return std::memcmp(data, ELFMAG, SELFMAG) == 0 &&
         static_cast<const Elf64_Ehdr *>(data)->e_machine == cuda;
}

std::unique_ptr<Image> Image::load(const void *data) {
  auto image = std::make_unique<Image>();
  if (std::memcmp(data, ELFMAG, SELFMAG) == 0) {
    image->handle = loadObject(data);
  } else {
    image->ptx = static_cast<const char *>(data);
    image->handle = loadText(image->ptx);
  }
  return image->handle ? std::move(image) : nullptr;
}

Image::~Image() {
  if (handle)
    dlclose(handle);
}

std::optional<Kernel> Image::find(const char *name) const {
  Kernel kernel;
  kernel.code = reinterpret_cast<KernelCode>(dlsym(handle, name));
  if (!kernel.code)
    return std::nullopt;
  std::string sizes = std::string(name) + "_param_bytes";
  if (auto *known =
          static_cast<const uint32_t *>(dlsym(handle, sizes.c_str()))) {
    kernel.paramBytes.emplace();
    while (*known)
      kernel.paramBytes->push_back(*known++);
    return kernel;
  }
  size_t head = ptx.find(std::string(".entry ") + name + "(");
  if (head == std::string::npos)
    return kernel;
  kernel.paramBytes.emplace();
  size_t end = ptx.find(')', head);
  for (size_t at = ptx.find(".param", head); at < end;
       at = ptx.find(".param", at + 1)) {
    size_t stop = std::min(ptx.find(',', at), end);
    kernel.paramBytes->push_back(declaredBytes(ptx.substr(at, stop - at)));
  }
  return kernel;
}

} // namespace emulated
