// SPDX-License-Identifier: Apache-2.0

// One table holds what is known of each element type; the functions read it.

#include "core/types.h"

#include <cstring>
#include <iterator>

namespace weft::rt {
namespace {

struct TypeInfo {
  const char *name;
  const char *safetensors;
  int bits;
};

// In the order of weft_rt_type.
constexpr TypeInfo typeTable[] = {
    {"i1", "BOOL", 8},        {"i8", "I8", 8},
    {"ui8", "U8", 8},         {"i16", "I16", 16},
    {"ui16", "U16", 16},      {"i32", "I32", 32},
    {"ui32", "U32", 32},      {"i64", "I64", 64},
    {"ui64", "U64", 64},      {"f16", "F16", 16},
    {"bf16", "BF16", 16},     {"f32", "F32", 32},
    {"f64", "F64", 64},       {"f8E4M3FN", "F8_E4M3", 8},
    {"f8E5M2", "F8_E5M2", 8}, {"f8E8M0FNU", "F8_E8M0", 8},
    {"f4E2M1FN", "F4", 4},
};
static_assert(std::size(typeTable) == WEFT_RT_NUM_TYPES);

template <typename T> T load(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

} // namespace

bool isKnownType(int64_t type) { return type >= 0 && type < WEFT_RT_NUM_TYPES; }

int bitWidth(weft_rt_type type) { return typeTable[type].bits; }

const char *typeName(weft_rt_type type) { return typeTable[type].name; }

const char *safetensorsName(weft_rt_type type) {
  return typeTable[type].safetensors;
}

std::optional<weft_rt_type> typeOfSafetensorsName(const std::string &name) {
  for (int i = 0; i < WEFT_RT_NUM_TYPES; ++i)
    if (name == typeTable[i].safetensors)
      return static_cast<weft_rt_type>(i);
  return std::nullopt;
}

int64_t byteSize(weft_rt_type type, int64_t count) {
  int bits = bitWidth(type);
  return bits == 4 ? count / 2 + count % 2 : count * (bits / 8);
}

bool hasWholeBytes(weft_rt_type type) { return bitWidth(type) % 8 == 0; }

int64_t loadScalar(weft_rt_type type, const void *address) {
  uint64_t bits = 0;
  int width = bitWidth(type);
  auto *bytes = static_cast<const uint8_t *>(address);
  // By value, in this machine's byte order.
  if (width == 8)
    bits = *bytes;
  else if (width == 16)
    bits = load<uint16_t>(bytes);
  else if (width == 32)
    bits = load<uint32_t>(bytes);
  else
    bits = load<uint64_t>(bytes);
  if (type == WEFT_RT_I8)
    return int8_t(bits);
  if (type == WEFT_RT_I16)
    return int16_t(bits);
  if (type == WEFT_RT_I32)
    return int32_t(bits);
  return int64_t(bits);
}

std::optional<int64_t> elementCount(const int64_t *shape, int64_t rank) {
  // 62 bits minus the widest element (8 bytes) keeps byte sizes in range too.
  constexpr int64_t limit = int64_t(1) << 58;
  int64_t count = 1;
  bool empty = false;
  for (int64_t i = 0; i < rank; ++i) {
    if (shape[i] < 0 || shape[i] > limit)
      return std::nullopt;
    if (shape[i] == 0)
      empty = true;
    else if (count > limit / shape[i])
      return std::nullopt;
    else
      count *= shape[i];
  }
  return empty ? 0 : count;
}

std::string tensorTypeName(weft_rt_type type, const int64_t *shape,
                           int64_t rank) {
  std::string text = "tensor<";
  for (int64_t i = 0; i < rank; ++i)
    text += std::to_string(shape[i]) + "x";
  return text + typeName(type) + ">";
}

const char *kindName(weft_rt_collective_kind kind) {
  constexpr const char *names[] = {"all_gather", "reduce_scatter", "all_reduce",
                                   "all_to_all", "permute"};
  return names[kind];
}

const char *reductionName(weft_rt_reduction reduction) {
  constexpr const char *names[] = {"sum", "max", "min", "prod", "and", "or"};
  return names[reduction];
}

} // namespace weft::rt
