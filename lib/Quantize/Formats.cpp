// SPDX-License-Identifier: Apache-2.0

#include "Formats.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::weft;

StringRef weft::stringifyFormat(QuantizationFormat format) {
  switch (format) {
  case QuantizationFormat::FP8:
    return "fp8";
  case QuantizationFormat::FP8Block:
    return "fp8-block";
  case QuantizationFormat::MXFP8:
    return "mxfp8";
  case QuantizationFormat::NVFP4:
    return "nvfp4";
  }
  llvm_unreachable("a format that is not listed");
}

std::optional<QuantizationFormat> weft::symbolizeFormat(StringRef name) {
  return llvm::StringSwitch<std::optional<QuantizationFormat>>(name)
      .Case("fp8", QuantizationFormat::FP8)
      .Case("fp8-block", QuantizationFormat::FP8Block)
      .Case("mxfp8", QuantizationFormat::MXFP8)
      .Case("nvfp4", QuantizationFormat::NVFP4)
      .Default(std::nullopt);
}

OperandFormat weft::getOperandFormat(MLIRContext *context,
                                     QuantizationFormat format,
                                     OperandRole role, LinearKind kind) {
  OperandFormat own;
  own.element = Float8E4M3FNType::get(context);
  switch (format) {
  case QuantizationFormat::FP8:
    // Gradients need range more than precision.
    if (role == OperandRole::Gradient)
      own.element = Float8E5M2Type::get(context);
    own.scale = Float32Type::get(context);
    return own;
  case QuantizationFormat::FP8Block:
    own.scale = Float32Type::get(context);
    own.block = 128;
    own.isSquare = role == OperandRole::Weight;
    own.powerOfTwo = true;
    return own;
  case QuantizationFormat::MXFP8:
    own.scale = Float8E8M0FNUType::get(context);
    own.block = 32;
    return own;
  case QuantizationFormat::NVFP4:
    own.element = Float4E2M1FNType::get(context);
    own.scale = Float8E4M3FNType::get(context);
    own.block = 16;
    own.isSquare = role == OperandRole::Weight;
    own.isMixed = kind == LinearKind::WeightGradient;
    own.isRandom = role == OperandRole::Gradient;
    return own;
  }
  llvm_unreachable("a format that is not listed");
}
