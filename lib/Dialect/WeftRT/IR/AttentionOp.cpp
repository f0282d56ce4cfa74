// SPDX-License-Identifier: Apache-2.0

// The verifier of weft_rt.attention.

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

using namespace mlir;
using namespace mlir::weft;
using namespace mlir::weft::rt;

/// Which tensors the forward pass, or the gradient, needs and makes.
static bool isNeeded(AttentionTensor tensor, bool isGradient) {
  switch (tensor) {
  case AttentionTensor::Bias:
  case AttentionTensor::Mask:
  case AttentionTensor::QSegments:
  case AttentionTensor::KSegments:
  case AttentionTensor::LowSeeds:
  case AttentionTensor::HighSeeds:
    return false;
  case AttentionTensor::DOut:
  case AttentionTensor::DQ:
  case AttentionTensor::DK:
  case AttentionTensor::DV:
    return isGradient;
  default:
    return true;
  }
}

SmallVector<std::pair<AttentionTensor, Value>> rt::AttentionOp::getValues() {
  SmallVector<std::pair<AttentionTensor, Value>> values;
  SmallVector<Value> buffers(getIns());
  llvm::append_range(buffers, getOuts());
  for (auto [name, buffer] :
       llvm::zip(getTensors().getAsValueRange<StringAttr>(), buffers))
    if (std::optional<AttentionTensor> tensor = symbolizeAttentionTensor(name))
      values.push_back({*tensor, buffer});
  return values;
}

LogicalResult rt::AttentionOp::verify() {
  SmallVector<std::pair<AttentionTensor, Value>> values = getValues();
  size_t count = getIns().size() + getOuts().size();
  bool isRight = values.size() == count && getTensors().size() == count &&
                 llvm::is_sorted(values, [](const auto &a, const auto &b) {
                   return a.first < b.first;
                 });
  for (size_t i = 1; isRight && i < count; ++i)
    isRight = values[i - 1].first != values[i].first;
  bool isGradient = getOuts().size() == 3;
  isRight = isRight && (isGradient || getOuts().size() == 2);
  for (int i = 0; isRight && i <= int(AttentionTensor::DV); ++i) {
    auto tensor = static_cast<AttentionTensor>(i);
    bool isThere = llvm::is_contained(llvm::make_first_range(values), tensor);
    bool mayBe = isGradient || tensor < AttentionTensor::DOut;
    isRight = isThere ? mayBe : !isNeeded(tensor, isGradient);
  }
  if (!isRight) // attention_c1
    return emitOpError("has ")
           << getIns().size() << " inputs and " << getOuts().size()
           << " outputs called " << getTensors()
           << ", which are not the tensors of attention or of its gradient";
  return verifyAttention(*this, getIndexingMaps(), getConfig(), getStart(),
                         values);
}
