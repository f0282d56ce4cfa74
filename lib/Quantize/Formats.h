// SPDX-License-Identifier: Apache-2.0

// The formats of --quantize: elements, scales and blocks of each operand.

#ifndef WEFT_LIB_QUANTIZE_FORMATS_H
#define WEFT_LIB_QUANTIZE_FORMATS_H

#include "Linears.h"

#include <optional>

namespace mlir::weft {

enum class QuantizationFormat { FP8, FP8Block, MXFP8, NVFP4 };

/// "fp8", "fp8-block", "mxfp8" or "nvfp4".
llvm::StringRef stringifyFormat(QuantizationFormat format);

/// The format of that name, or nullopt.
std::optional<QuantizationFormat> symbolizeFormat(llvm::StringRef name);

/// How one operand of a contraction becomes narrow.
struct OperandFormat {
  Type element, scale;
  /// Elements of a block along the summed dimension; 0: one scale a tensor.
  int64_t block = 0;
  /// Blocks are squares: as long along what a weight keeps.
  bool isSquare = false;
  bool powerOfTwo = false;
  /// Runs of elements are mixed by a Hadamard matrix first.
  bool isMixed = false;
  /// Rounded up or down at random.
  bool isRandom = false;

  /// A scale for the tensor stands beside those of blocks.
  bool hasTensorScale() const { return llvm::isa<Float8E4M3FNType>(scale); }
};

OperandFormat getOperandFormat(MLIRContext *context, QuantizationFormat format,
                               OperandRole role, LinearKind kind);

} // namespace mlir::weft

#endif // WEFT_LIB_QUANTIZE_FORMATS_H
