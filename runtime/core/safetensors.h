// SPDX-License-Identifier: Apache-2.0

// Tensors in files. A safetensors file is an 8-byte length, a JSON header that
// gives each tensor's type, shape and byte range, and the bytes.
//
// Reading is strict: the ranges must cover the data exactly, without holes and
// overlaps, and fit the types and shapes; every refusal names the file, the
// tensor and the values. Writing is deterministic, in the order and spelling
// of the reference implementation.
//
// Example: `{"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}`.

#ifndef WEFT_RT_CORE_SAFETENSORS_H
#define WEFT_RT_CORE_SAFETENSORS_H

#include "core/output_file.h"
#include "weft-rt/abi.h"

#include <memory>
#include <vector>

namespace weft::rt {

/// A tensor of a file: its description, and where its bytes lie.
struct TensorEntry {
  std::string name;
  weft_rt_type type;
  std::vector<int64_t> shape;
  int64_t begin = 0, end = 0; // byte range in the data section
};

/// Reads the header of a file image of `size` bytes. Entries are in order of
/// their bytes; `*dataStart` receives where the data section begins. `file`
/// names the file in messages.
Result<std::vector<TensorEntry>> parseSafetensors(const uint8_t *image,
                                                  int64_t size,
                                                  const std::string &file,
                                                  int64_t *dataStart);

/// A file that is open for reading. Its bytes are mapped, not copied; the
/// mapping lives as long as the object.
class SafetensorsReader {
public:
  static Result<std::unique_ptr<SafetensorsReader>>
  open(const std::string &path);

  ~SafetensorsReader();
  SafetensorsReader(const SafetensorsReader &) = delete;
  SafetensorsReader &operator=(const SafetensorsReader &) = delete;

  const std::vector<TensorEntry> &tensors() const { return entries; }

  /// The tensor with this name, or null.
  const TensorEntry *find(const std::string &name) const;

  /// The tensor's bytes; not aligned.
  const uint8_t *data(const TensorEntry &entry) const {
    return image + dataStart + entry.begin;
  }

  /// Gives the memory of a tensor's bytes back, which are read from the file
  /// again if they are needed again.
  void release(const TensorEntry &entry) const;

private:
  SafetensorsReader() = default;

  const uint8_t *image = nullptr;
  int64_t size = 0, dataStart = 0;
  std::vector<TensorEntry> entries;
};

/// Lays a file out: gives byte ranges to tensors, in the order of their bytes.
/// `file` names the file in messages.
Result<std::vector<TensorEntry>>
layOutSafetensors(std::vector<TensorEntry> tensors, const std::string &file);

/// Lays a file out and writes its header. Takes names, types and shapes, and
/// returns them with byte ranges, in the order in which their bytes must be
/// appended to `file`.
Result<std::vector<TensorEntry>>
beginSafetensors(OutputFile &file, std::vector<TensorEntry> tensors);

} // namespace weft::rt

#endif // WEFT_RT_CORE_SAFETENSORS_H
