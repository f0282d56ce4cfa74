// SPDX-License-Identifier: Apache-2.0

// A key is the op's name, its attributes, the types of its results and the
// numbers of its operands: names, attributes and types are unique in a context.

#include "ScalarNumbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::weft::proof;

void LinearForm::add(const LinearForm &other, uint64_t factor) {
  constant += factor * other.constant;
  for (auto [number, times] : other.terms)
    if ((terms[number] += factor * times) == 0)
      terms.erase(number);
}

unsigned ScalarNumbers::makeNew() {
  unsigned number = forms.size();
  forms.emplace_back();
  forms.back().terms[number] = 1;
  return number;
}

std::optional<unsigned> ScalarNumbers::find(Value value) const {
  auto it = numbers.find(value);
  return it == numbers.end() ? std::nullopt
                             : std::optional<unsigned>(it->second);
}

bool ScalarNumbers::isSame(Value a, Value b) const {
  std::optional<unsigned> first = find(a), second = find(b);
  return first && second && *first == *second;
}

void ScalarNumbers::unite(Value scheduled, Value planned) {
  numbers[scheduled] = numbers[planned] = makeNew();
}

/// Sums of indices, and multiples by a constant, are taken apart.
LinearForm ScalarNumbers::makeForm(Operation *op, unsigned number) const {
  LinearForm form;
  APInt constant;
  if (op->getResult(0).getType().isIndex()) {
    if (matchPattern(op, m_ConstantInt(&constant))) {
      form.constant = constant.getSExtValue();
      return form;
    }
    if (isa<arith::AddIOp>(op)) {
      form.add(getForm(*find(op->getOperand(0))), 1);
      form.add(getForm(*find(op->getOperand(1))), 1);
      return form;
    }
    if (isa<arith::MulIOp>(op))
      for (unsigned side : {0, 1})
        if (const LinearForm &factor = getForm(*find(op->getOperand(side)));
            factor.terms.empty()) {
          form.add(getForm(*find(op->getOperand(1 - side))), factor.constant);
          return form;
        }
  }
  form.terms[number] = 1;
  return form;
}

bool ScalarNumbers::add(Operation *op) {
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  if (op->getNumRegions() != 0 || op->getNumResults() == 0 ||
      !llvm::all_of(op->getOperandTypes(), isScalar) ||
      !llvm::all_of(op->getResultTypes(), isScalar) || !isMemoryEffectFree(op))
    return false;
  std::vector<const void *> key = {
      op->getName().getAsOpaquePointer(),
      op->getAttrDictionary().getAsOpaquePointer()};
  for (Type type : op->getResultTypes())
    key.push_back(type.getAsOpaquePointer());
  for (Value operand : op->getOperands()) {
    std::optional<unsigned> number = find(operand);
    if (!number)
      return false;
    key.push_back(reinterpret_cast<const void *>(uintptr_t(*number)));
  }
  auto [it, isNew] = known.insert({key, static_cast<unsigned>(forms.size())});
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    if (isNew) {
      unsigned number = makeNew();
      if (i == 0)
        forms[number] = makeForm(op, number);
    }
    numbers[result] = it->second + i;
  }
  return true;
}
