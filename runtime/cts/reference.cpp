// SPDX-License-Identifier: Apache-2.0

// Each output element is computed by itself from its coordinates.

#include "reference.h"

#include <cmath>

namespace weft::rt::cts {
namespace {

int64_t pieceElements(const weft_rt_operand &operand) {
  return operand.outer * operand.extent * operand.inner;
}

/// Joins values like a binary counter counts: two trees of equal size become
/// one as soon as both are there; what is left in the end joins from the right.
/// That is the tree that abi.h defines from the top.
uint64_t reduceTree(const weft_rt_collective &collective, weft_rt_type type,
                    const std::vector<Bytes> &inputs, int64_t at) {
  std::vector<uint64_t> trees; // larger ones first
  auto joinLastTwo = [&] {
    double right = decode(type, trees.back());
    trees.pop_back();
    double left = decode(type, trees.back());
    trees.back() =
        encode(type, combineFloats(type, collective.reduction, left, right));
  };
  for (size_t member = 0; member < inputs.size(); ++member) {
    trees.push_back(getElement(type, inputs[member], at));
    for (size_t count = member + 1; count % 2 == 0; count /= 2)
      joinLastTwo();
  }
  while (trees.size() > 1)
    joinLastTwo();
  return trees.back();
}

uint64_t reduceElement(const weft_rt_collective &collective, weft_rt_type type,
                       const std::vector<Bytes> &inputs, int64_t at) {
  uint64_t bits = getElement(type, inputs[0], at);
  if (!isFloat(type)) {
    for (size_t member = 1; member < inputs.size(); ++member)
      bits = combineIntegers(type, collective.reduction, bits,
                             getElement(type, inputs[member], at));
    return bits;
  }
  if (collective.tree)
    return reduceTree(collective, type, inputs, at);
  double value = decode(type, bits);
  for (size_t member = 1; member < inputs.size(); ++member)
    value = combineFloats(type, collective.reduction, value,
                          decode(type, getElement(type, inputs[member], at)));
  return encode(type, value);
}

/// The output element at `at` for the kinds that copy.
uint64_t copiedElement(const weft_rt_collective &collective,
                       const weft_rt_operand &operand,
                       const std::vector<Bytes> &inputs, int64_t index,
                       int64_t at) {
  int64_t size = inputs.size();
  if (collective.kind == WEFT_RT_PERMUTE) {
    int32_t source = collective.source_of[index];
    return source < 0 ? 0 : getElement(operand.type, inputs[source], at);
  }
  if (collective.kind == WEFT_RT_ALL_GATHER) {
    int64_t row = operand.extent * operand.inner;
    int64_t outer = at / (size * row), member = at / row % size;
    return getElement(operand.type, inputs[member], outer * row + at % row);
  }
  // ALL_TO_ALL: from a place in the output to a place in the piece, and from
  // there to a place in the sender's input.
  int64_t row2 = operand.extent2 * operand.inner2;
  int64_t outer2 = at / (size * row2), member = at / row2 % size;
  int64_t inPiece = outer2 * row2 + at % row2;
  int64_t row = operand.extent * operand.inner;
  int64_t source = (inPiece / row * size + index) * row + inPiece % row;
  return getElement(operand.type, inputs[member], source);
}

} // namespace

int64_t inputElements(const weft_rt_collective &collective,
                      const weft_rt_operand &operand, int64_t size) {
  bool isWhole = collective.kind == WEFT_RT_REDUCE_SCATTER ||
                 collective.kind == WEFT_RT_ALL_TO_ALL;
  return pieceElements(operand) * (isWhole ? size : 1);
}

int64_t outputElements(const weft_rt_collective &collective,
                       const weft_rt_operand &operand, int64_t size) {
  bool isWhole = collective.kind == WEFT_RT_ALL_GATHER ||
                 collective.kind == WEFT_RT_ALL_TO_ALL;
  return pieceElements(operand) * (isWhole ? size : 1);
}

Bytes expectedOutput(const weft_rt_collective &collective,
                     const weft_rt_operand &operand,
                     const std::vector<Bytes> &inputs, int64_t index) {
  int64_t size = inputs.size();
  int64_t count = outputElements(collective, operand, size);
  Bytes output = randomElements(operand.type, count, 0); // of the right size
  int64_t row = operand.extent * operand.inner;
  for (int64_t at = 0; at < count; ++at) {
    uint64_t bits;
    if (collective.kind == WEFT_RT_ALL_REDUCE)
      bits = reduceElement(collective, operand.type, inputs, at);
    else if (collective.kind == WEFT_RT_REDUCE_SCATTER)
      bits = reduceElement(collective, operand.type, inputs,
                           (at / row * size + index) * row + at % row);
    else
      bits = copiedElement(collective, operand, inputs, index, at);
    setElement(operand.type, output, at, bits);
  }
  return output;
}

bool sameElements(weft_rt_type type, const Bytes &a, const Bytes &b,
                  int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint64_t left = getElement(type, a, i), right = getElement(type, b, i);
    bool bothNaN = isFloat(type) && std::isnan(decode(type, left)) &&
                   std::isnan(decode(type, right));
    if (left != right && !bothNaN)
      return false;
  }
  return true;
}

} // namespace weft::rt::cts
