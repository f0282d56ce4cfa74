// SPDX-License-Identifier: Apache-2.0

// Elements of any type as numbers and as bits, one at a time and slowly: the
// yardstick for the runtime's fast loops, which must share no code with it.

#ifndef WEFT_RT_CTS_ELEMENT_H
#define WEFT_RT_CTS_ELEMENT_H

#include "weft-rt/abi.h"

#include <cstdint>
#include <vector>

namespace weft::rt::cts {

/// A dense buffer of one type, aligned to 64 bytes by copying on use.
using Bytes = std::vector<uint8_t>;

/// The element's bits, zero-extended.
uint64_t getElement(weft_rt_type type, const Bytes &buffer, int64_t index);
void setElement(weft_rt_type type, Bytes &buffer, int64_t index, uint64_t bits);

/// A buffer of `count` elements with pseudo-random bits; i1 holds 0 and 1.
Bytes randomElements(weft_rt_type type, int64_t count, uint64_t seed);

/// Like randomElements, but floats are mostly of moderate size, with a few
/// zeros, infinities, NaNs and subnormals among them.
Bytes randomNumbers(weft_rt_type type, int64_t count, uint64_t seed);

bool isFloat(weft_rt_type type);

/// The value of a float's bits.
double decode(weft_rt_type type, uint64_t bits);

/// The bits of the nearest value, ties to even. f32 for the narrow types has
/// been rounded to f32 by the caller.
uint64_t encode(weft_rt_type type, double value);

/// Combines two values; both are running values: f32 for narrow floats, bits
/// for integers.
double combineFloats(weft_rt_type type, weft_rt_reduction reduction, double a,
                     double b);
uint64_t combineIntegers(weft_rt_type type, weft_rt_reduction reduction,
                         uint64_t a, uint64_t b);

/// Says whether abi.h allows the reduction on the type.
bool mayReduce(weft_rt_type type, weft_rt_reduction reduction);

} // namespace weft::rt::cts

#endif // WEFT_RT_CTS_ELEMENT_H
