// SPDX-License-Identifier: Apache-2.0

// Terms are written with tensors and terms numbered as they come, so that what
// differs in these alone is written alike. Nothing is left out: answers are for
// what is equal, not for what has one hash.

#include "ComparedTerms.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

class ComparisonWriter {
public:
  explicit ComparisonWriter(const TermTable &table) : table(table) {}

  void add(uint64_t word) { words.push_back(word); }
  void add(double number) { add(llvm::bit_cast<uint64_t>(number)); }

  void add(TermRef term) {
    auto [place, isNew] = terms.try_emplace(term, terms.size());
    add(place->second << 1 | uint64_t(isNew));
    if (!isNew)
      return;
    add(uint64_t(term->kind));
    addPointer(term->type.getAsOpaquePointer());
    add(term->number);
    addValue(term->value);
    add(uint64_t(term->indices.size()));
    for (const DigitIndex &index : term->indices)
      addIndex(index);
    add(uint64_t(term->name.size()));
    for (char c : term->name)
      add(uint64_t(c));
    add(uint64_t(term->loops.size()));
    for (unsigned loop : term->loops)
      addLoop(loop);
    add(uint64_t(term->operands.size()));
    for (TermRef operand : term->operands)
      add(operand);
  }

  StringRef getBytes() const {
    return StringRef(reinterpret_cast<const char *>(words.data()),
                     words.size() * sizeof(uint64_t));
  }

private:
  void addPointer(const void *pointer) {
    add(uint64_t(reinterpret_cast<uintptr_t>(pointer)));
  }

  /// Loops are not numbered anew: random points depend on their numbers.
  void addLoop(unsigned loop) {
    add(uint64_t(loop));
    add(uint64_t(table.getLoopSize(loop)));
  }

  void addIndex(const DigitIndex &index) {
    add(uint64_t(index.size()));
    for (const Digit &digit : index) {
      addLoop(digit.loop);
      add(uint64_t(digit.stride));
      add(uint64_t(digit.size));
    }
  }

  void addValue(Value value) {
    if (!value)
      return add(uint64_t(0));
    auto [place, isNew] = values.try_emplace(value, values.size() + 1);
    add(place->second);
    if (!isNew)
      return;
    Attribute constant;
    matchPattern(value, m_Constant(&constant));
    addPointer(value.getType().getAsOpaquePointer());
    addPointer(constant.getAsOpaquePointer());
  }

  const TermTable &table;
  SmallVector<uint64_t> words;
  llvm::DenseMap<TermRef, uint64_t> terms;
  llvm::DenseMap<Value, uint64_t> values;
};

} // namespace

bool ComparedTerms::areEqual(const TermTable &table, TermRef a, TermRef b,
                             const ComparedAttention &attention,
                             llvm::function_ref<bool()> compare) {
  ComparisonWriter writer(table);
  writer.add(uint64_t(attention.factors.size()));
  for (double factor : attention.factors)
    writer.add(factor);
  writer.add(uint64_t(attention.queries));
  writer.add(uint64_t(attention.keys));
  writer.add(a);
  writer.add(b);
  auto [place, isNew] = known.try_emplace(writer.getBytes(), false);
  if (isNew)
    place->second = compare();
  return place->second;
}
