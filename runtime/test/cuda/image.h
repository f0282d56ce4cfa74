// SPDX-License-Identifier: Apache-2.0

// Code of emulated kernels. An image that is an ELF object for this processor
// is loaded as it is. For PTX, code lies in a shared object named by its
// digest, "<sha256 of the text>.so" (with the 0 at its end, or without), in the
// folder WEFT_EMULATED_IMAGES or beside the stand-in. A kernel is a C function
// that runs a whole grid; no two kernels run at once, so that shared memory may
// be a global:
//
//   void name(void **params, const uint32_t grid[3], const uint32_t block[3],
//             uint32_t shared_bytes);
//
// Sizes of parameters come from the PTX, or from `const uint32_t
// name_param_bytes[]`, which ends with 0; without either, the kernel runs
// within its launch.

#ifndef WEFT_RT_TEST_CUDA_IMAGE_H
#define WEFT_RT_TEST_CUDA_IMAGE_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace emulated {

using KernelCode = void (*)(void **params, const uint32_t *grid,
                            const uint32_t *block, uint32_t sharedBytes);

struct Kernel {
  KernelCode code;
  std::optional<std::vector<uint32_t>> paramBytes;
};

/// A loaded image.
class Image {
public:
  /// Says whether it is machine code of a GPU, which nothing here runs.
  static bool isForGpu(const void *data);
  /// Null if there is no code for it; the reason goes to the standard error.
  static std::unique_ptr<Image> load(const void *data);
  ~Image();

  std::optional<Kernel> find(const char *name) const;

private:
  void *handle = nullptr;
  std::string ptx;
};

} // namespace emulated

#endif // WEFT_RT_TEST_CUDA_IMAGE_H
