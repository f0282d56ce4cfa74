// SPDX-License-Identifier: Apache-2.0

// Descriptors come from compiled code, so a wrong one is a compiler's bug or a
// mismatch between ranks. Checking costs a few comparisons per operand and
// turns both into a message.

#include "core/collective.h"

#include "core/types.h"

#include <cstdint>

namespace weft::rt {
namespace {

/// Elements of one piece: what one member contributes to another.
int64_t pieceElements(const weft_rt_operand &operand) {
  return operand.outer * operand.extent * operand.inner;
}

/// What is checked, named only for a message: nothing is allocated while a step
/// goes well.
struct OperandName {
  const weft_rt_collective &collective;
  int32_t index;

  std::string operator+(const std::string &text) const {
    return collectiveName(collective) + format(": operand %d", index) + text;
  }
};

Status checkSizes(const weft_rt_collective &collective,
                  const weft_rt_operand &operand, int64_t size,
                  OperandName what) {
  if (!isKnownType(operand.type))
    return invalid(what + format(" has unknown type %d", operand.type));
  int64_t sizes[] = {size, operand.outer, operand.extent, operand.inner};
  int64_t sizes2[] = {size, operand.outer2, operand.extent2, operand.inner2};
  bool isAllToAll = collective.kind == WEFT_RT_ALL_TO_ALL;
  if (!elementCount(sizes, 4) || (isAllToAll && !elementCount(sizes2, 4)))
    return invalid(what + format(" has sizes %lld, %lld, %lld, which are "
                                 "negative or too large",
                                 (long long)operand.outer,
                                 (long long)operand.extent,
                                 (long long)operand.inner));
  bool isFlat = collective.kind == WEFT_RT_ALL_REDUCE ||
                collective.kind == WEFT_RT_PERMUTE;
  if (isFlat && (operand.outer != 1 || operand.inner != 1))
    return invalid(what + format(" has outer %lld and inner %lld, expected 1",
                                 (long long)operand.outer,
                                 (long long)operand.inner));
  int64_t pieceTo = operand.outer2 * operand.extent2 * operand.inner2;
  if (isAllToAll && pieceElements(operand) != pieceTo)
    return invalid(what + format(" sends pieces of %lld elements and receives "
                                 "pieces of %lld",
                                 (long long)pieceElements(operand),
                                 (long long)pieceTo));
  bool rowIsOdd = operand.extent * operand.inner % 2 != 0 ||
                  (isAllToAll && operand.extent2 * operand.inner2 % 2 != 0);
  if (bitWidth(operand.type) == 4 && !isFlat && rowIsOdd)
    return invalid(what + format(" has rows of %lld elements of %s, which do "
                                 "not fill whole bytes",
                                 (long long)(operand.extent * operand.inner),
                                 typeName(operand.type)));
  return Status();
}

bool overlap(const void *a, int64_t aBytes, const void *b, int64_t bBytes) {
  auto aBegin = reinterpret_cast<uintptr_t>(a);
  auto bBegin = reinterpret_cast<uintptr_t>(b);
  return aBytes > 0 && bBytes > 0 && aBegin < bBegin + bBytes &&
         bBegin < aBegin + aBytes;
}

Status checkBuffers(const weft_rt_collective &collective, int32_t index,
                    int64_t size, const void *in, void *out, OperandName what) {
  const weft_rt_operand &operand = collective.operands[index];
  int64_t inBytes = inputBytes(collective.kind, operand, size);
  int64_t outBytes = outputBytes(collective.kind, operand, size);
  if ((inBytes > 0 && !in) || (outBytes > 0 && !out))
    return invalid(what + " has a null buffer");
  bool inPlace = collective.kind == WEFT_RT_ALL_REDUCE && in == out;
  if (!inPlace && overlap(in, inBytes, out, outBytes))
    return invalid(what + format(" has overlapping buffers: in %p (%lld bytes) "
                                 "and out %p (%lld bytes)",
                                 in, (long long)inBytes, out,
                                 (long long)outBytes));
  return Status();
}

Status checkSources(const weft_rt_collective &collective, int64_t size) {
  if (collective.kind != WEFT_RT_PERMUTE)
    return Status();
  if (!collective.source_of)
    return invalid(collectiveName(collective) + " has no table of sources");
  for (int64_t i = 0; i < size; ++i)
    if (collective.source_of[i] < -1 || collective.source_of[i] >= size)
      return invalid(collectiveName(collective) +
                     format(": member %lld receives from member %d of %lld",
                            (long long)i, collective.source_of[i],
                            (long long)size));
  return Status();
}

bool sameOperand(const weft_rt_collective &collective, const weft_rt_operand &a,
                 const weft_rt_operand &b) {
  bool same = a.type == b.type && a.outer == b.outer && a.extent == b.extent &&
              a.inner == b.inner;
  if (collective.kind != WEFT_RT_ALL_TO_ALL)
    return same;
  return same && a.outer2 == b.outer2 && a.extent2 == b.extent2 &&
         a.inner2 == b.inner2;
}

std::string operandName(const weft_rt_operand &operand) {
  return format("%lld x %lld x %lld of %s", (long long)operand.outer,
                (long long)operand.extent, (long long)operand.inner,
                isKnownType(operand.type) ? typeName(operand.type) : "?");
}

} // namespace

int64_t inputBytes(weft_rt_collective_kind kind, const weft_rt_operand &operand,
                   int64_t size) {
  bool isWhole = kind == WEFT_RT_REDUCE_SCATTER || kind == WEFT_RT_ALL_TO_ALL;
  return byteSize(operand.type, pieceElements(operand) * (isWhole ? size : 1));
}

int64_t outputBytes(weft_rt_collective_kind kind,
                    const weft_rt_operand &operand, int64_t size) {
  bool isWhole = kind == WEFT_RT_ALL_GATHER || kind == WEFT_RT_ALL_TO_ALL;
  return byteSize(operand.type, pieceElements(operand) * (isWhole ? size : 1));
}

bool isReduction(weft_rt_collective_kind kind) {
  return kind == WEFT_RT_REDUCE_SCATTER || kind == WEFT_RT_ALL_REDUCE;
}

bool isTree(const weft_rt_collective &collective) {
  return isReduction(collective.kind) && collective.tree != 0;
}

int64_t receivedBytes(const weft_rt_collective &collective, int64_t size,
                      int64_t index) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < collective.num_operands; ++i) {
    const weft_rt_operand &operand = collective.operands[i];
    int64_t piece = byteSize(operand.type, pieceElements(operand));
    if (collective.kind == WEFT_RT_ALL_REDUCE)
      bytes += 2 * piece * (size - 1) / size;
    else if (collective.kind != WEFT_RT_PERMUTE)
      bytes += piece * (size - 1);
    else if (collective.source_of[index] >= 0 &&
             collective.source_of[index] != index)
      bytes += piece;
  }
  return bytes;
}

std::string collectiveName(const weft_rt_collective &collective) {
  std::string kind = kindName(collective.kind);
  std::string name = collective.name ? collective.name : "";
  bool namesKind = name.compare(0, kind.size(), kind) == 0;
  return (namesKind ? "" : kind + " ") + quote(name) +
         (isTree(collective) ? " (tree)" : "");
}

Status checkCollective(const weft_rt_collective &collective, int64_t size,
                       const void *const *in, void *const *out) {
  if (collective.kind < 0 || collective.kind > WEFT_RT_PERMUTE)
    return invalid(format("collective of unknown kind %d", collective.kind));
  if (collective.reduction < 0 || collective.reduction > WEFT_RT_OR)
    return invalid(collectiveName(collective) +
                   format(" has unknown reduction %d", collective.reduction));
  if (isReduction(collective.kind) && collective.tree != 0 &&
      collective.tree != 1)
    return invalid(collectiveName(collective) +
                   format(" has unknown order %d", collective.tree));
  if (collective.num_operands < 0 ||
      (collective.num_operands > 0 && (!collective.operands || !in || !out)))
    return invalid(
        collectiveName(collective) +
        format(" has no table for its %d operands", collective.num_operands));
  WEFT_RT_RETURN_IF_ERROR(checkSources(collective, size));
  for (int32_t i = 0; i < collective.num_operands; ++i) {
    OperandName what{collective, i};
    WEFT_RT_RETURN_IF_ERROR(
        checkSizes(collective, collective.operands[i], size, what));
    WEFT_RT_RETURN_IF_ERROR(
        checkBuffers(collective, i, size, in[i], out[i], what));
  }
  return Status();
}

std::string differenceOf(const weft_rt_collective &a,
                         const weft_rt_collective &b, int64_t size) {
  if (&a == &b)
    return "";
  if (a.kind != b.kind)
    return "kinds differ";
  if (isReduction(a.kind) && a.reduction != b.reduction)
    return format("reductions %s and %s differ", reductionName(a.reduction),
                  reductionName(b.reduction));
  if (isTree(a) != isTree(b))
    return format("orders %s and %s differ", isTree(a) ? "tree" : "chain",
                  isTree(b) ? "tree" : "chain");
  if (a.num_operands != b.num_operands)
    return format("numbers of operands %d and %d differ", a.num_operands,
                  b.num_operands);
  for (int32_t i = 0; i < a.num_operands; ++i)
    if (!sameOperand(a, a.operands[i], b.operands[i]))
      return format("operands %d, %s and %s, differ", i,
                    operandName(a.operands[i]).c_str(),
                    operandName(b.operands[i]).c_str());
  for (int64_t i = 0; a.kind == WEFT_RT_PERMUTE && i < size; ++i)
    if (a.source_of[i] != b.source_of[i])
      return format("sources %d and %d of member %lld differ", a.source_of[i],
                    b.source_of[i], (long long)i);
  return "";
}

} // namespace weft::rt
