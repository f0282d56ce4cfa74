// SPDX-License-Identifier: Apache-2.0

// Facts about element types: width, name, and the sizes of dense buffers.
// Sizes are computed with overflow checks, since shapes come from files.
//
// Example: 3 elements of f4e2m1fn are 12 bits and take 2 bytes.

#ifndef WEFT_RT_CORE_TYPES_H
#define WEFT_RT_CORE_TYPES_H

#include "weft-rt/abi.h"

#include <optional>
#include <string>

namespace weft::rt {

/// Says whether `type` is one of the WEFT_RT_NUM_TYPES element types.
bool isKnownType(int64_t type);

/// Bits of one element as stored: 4, 8, 16, 32 or 64.
int bitWidth(weft_rt_type type);

/// The name in MLIR's spelling, e.g. "f32", "f8E4M3FN", "ui8".
const char *typeName(weft_rt_type type);

/// The name in safetensors files, e.g. "F32", "F8_E4M3", "BOOL".
const char *safetensorsName(weft_rt_type type);

/// The type with this name in safetensors files, if there is one.
std::optional<weft_rt_type> typeOfSafetensorsName(const std::string &name);

/// Bytes that hold `count` elements: sub-byte types round up.
int64_t byteSize(weft_rt_type type, int64_t count);

/// Says whether an element has whole bytes to itself.
bool hasWholeBytes(weft_rt_type type);

/// The element at an address, as weft_rt_api.read_scalar gives it. It must have
/// whole bytes.
int64_t loadScalar(weft_rt_type type, const void *address);

/// Product of the sizes, or nothing when one is negative or the product does
/// exceed 2^58.
std::optional<int64_t> elementCount(const int64_t *shape, int64_t rank);

/// Prints a shape with its type as "tensor<2x3xf32>".
std::string tensorTypeName(weft_rt_type type, const int64_t *shape,
                           int64_t rank);

/// The name of a kind of collective, e.g. "all_gather".
const char *kindName(weft_rt_collective_kind kind);

/// The name of a reduction, e.g. "sum".
const char *reductionName(weft_rt_reduction reduction);

} // namespace weft::rt

#endif // WEFT_RT_CORE_TYPES_H
