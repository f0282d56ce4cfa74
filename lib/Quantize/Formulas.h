// SPDX-License-Identifier: Apache-2.0

// The formulas of quantization on one element, as arithmetic on f32 and on its
// bits: what the ops of WeftQuantizeOps.td on numbers become.
// docs/quantization.md has them in words; python-bindings' module
// weft.quantization in numpy.

#ifndef WEFT_LIB_QUANTIZE_FORMULAS_H
#define WEFT_LIB_QUANTIZE_FORMULAS_H

#include "mlir/IR/Builders.h"

namespace mlir::weft {

/// The greatest finite number of f8E4M3FN, f8E5M2 or f4E2M1FN.
float getGreatest(Type element);

/// The f32 that an f8E8M0FNU stands for, or the f4E2M1FN in a half (an index)
/// of an i8.
Value emitDecode(OpBuilder &builder, Location loc, Value value, Value half);

struct Scale {
  Value multiplier, scale;
};

/// Of the greatest magnitudes of a block and, for scales that are f8E4M3FN, of
/// the tensor: see weft.block_scale.
Scale emitScale(OpBuilder &builder, Location loc, Value amax, Value tensorAmax,
                Type element, Type scale, bool powerOfTwo);

/// An f32 rounded to nearest as f8E4M3FN or f8E5M2, in its range.
Value emitCast8(OpBuilder &builder, Location loc, Value product, Type element);

/// The 4 bits of f4E2M1FN in a half (an index) of an i8, rounded to nearest, or
/// if there are 8 random bits (an i32), up with the probability that the
/// product is past its neighbor.
Value emitCast4(OpBuilder &builder, Location loc, Value product, Value random,
                Value half);

/// A bijection of 32 bits that mixes high into low ones, and back.
Value emitMix(OpBuilder &builder, Location loc, Value value);

/// 8 random bits, in an i32, that follow from two keys and the index of an
/// element (i64, or i32 if that holds all of them).
Value emitRandom(OpBuilder &builder, Location loc, Value first, Value second,
                 Value index);

} // namespace mlir::weft

#endif // WEFT_LIB_QUANTIZE_FORMULAS_H
