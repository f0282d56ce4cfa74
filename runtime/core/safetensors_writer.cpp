// SPDX-License-Identifier: Apache-2.0

// Layout and header of a file: the same bytes as the reference implementation
// writes for the same tensors.

#include "core/json.h"
#include "core/safetensors.h"
#include "core/types.h"

#include <algorithm>
#include <iterator>

namespace weft::rt {
namespace {

/// Position of the type in the reference implementation, which writes larger
/// positions first.
int typePosition(weft_rt_type type) {
  constexpr weft_rt_type order[] = {
      WEFT_RT_I1,     WEFT_RT_F4E2M1FN, WEFT_RT_U8,        WEFT_RT_I8,
      WEFT_RT_F8E5M2, WEFT_RT_F8E4M3FN, WEFT_RT_F8E8M0FNU, WEFT_RT_I16,
      WEFT_RT_U16,    WEFT_RT_F16,      WEFT_RT_BF16,      WEFT_RT_I32,
      WEFT_RT_U32,    WEFT_RT_F32,      WEFT_RT_F64,       WEFT_RT_I64,
      WEFT_RT_U64};
  return std::find(std::begin(order), std::end(order), type) -
         std::begin(order);
}

std::string entryText(const TensorEntry &entry) {
  std::string text = jsonString(entry.name) + ":{\"dtype\":\"" +
                     safetensorsName(entry.type) + "\",\"shape\":[";
  for (size_t i = 0; i < entry.shape.size(); ++i)
    text += (i ? "," : "") + std::to_string(entry.shape[i]);
  return text + format("],\"data_offsets\":[%lld,%lld]}",
                       (long long)entry.begin, (long long)entry.end);
}

std::string headerText(const std::vector<TensorEntry> &tensors) {
  std::string text = "{";
  for (size_t i = 0; i < tensors.size(); ++i)
    text += (i ? "," : "") + entryText(tensors[i]);
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' '); // the data stays aligned
  return text;
}

} // namespace

Result<std::vector<TensorEntry>>
layOutSafetensors(std::vector<TensorEntry> tensors, const std::string &file) {
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorEntry &a, const TensorEntry &b) {
              int left = typePosition(a.type), right = typePosition(b.type);
              return left != right ? left > right : a.name < b.name;
            });
  int64_t at = 0;
  for (TensorEntry &entry : tensors) {
    std::optional<int64_t> count =
        elementCount(entry.shape.data(), entry.shape.size());
    if (!count || (bitWidth(entry.type) == 4 && *count % 2 != 0))
      return invalid(
          "cannot write " + quote(entry.name) + " to " + quote(file) + ": " +
          tensorTypeName(entry.type, entry.shape.data(), entry.shape.size()) +
          " does not fill whole bytes");
    entry.begin = at;
    at += byteSize(entry.type, *count);
    entry.end = at;
  }
  return tensors;
}

Result<std::vector<TensorEntry>>
beginSafetensors(OutputFile &file, std::vector<TensorEntry> given) {
  Result<std::vector<TensorEntry>> tensors =
      layOutSafetensors(std::move(given), file.path());
  if (!tensors.ok())
    return tensors;
  std::string header = headerText(*tensors);
  uint8_t length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<uint64_t>(header.size()) >> (8 * i) & 0xff;
  WEFT_RT_RETURN_IF_ERROR(file.append(length, sizeof(length)));
  WEFT_RT_RETURN_IF_ERROR(file.append(header));
  return tensors;
}

} // namespace weft::rt
