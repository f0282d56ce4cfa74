// SPDX-License-Identifier: Apache-2.0

// Forms are interned by digest. What rewrites them (joining a level, +0.0)
// walks through movement, which commutes with both.

#include "Forms.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SHA256.h"

#include <numeric>

using namespace mlir;
using namespace mlir::weft::proof;

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

void Order::join(Level outer) {
  if (outer.parts == 1)
    return;
  if (!levels.empty() && levels.front().type == outer.type &&
      llvm::isPowerOf2_64(levels.front().parts))
    levels.front().parts *= outer.parts;
  else
    levels.insert(levels.begin(), outer);
}

int64_t Order::leaves() const {
  int64_t count = 1;
  for (const Level &level : levels)
    count *= level.parts;
  return count;
}

std::string Order::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Level &level : levels)
    os << "tree " << level.parts << " in " << level.type << " of ";
  os << "chain " << leaf;
  if (lanes > 1)
    os << " in " << lanes << " lanes";
  return text;
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

std::string Form::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << name;
  if (!shape.empty() || kind == FormKind::Tensor) {
    os << ' ';
    for (int64_t size : shape)
      if (size == kAnySize)
        os << "?x";
      else
        os << size << 'x';
    os << element;
  }
  if (order.isNeeded())
    os << ": " << order.str();
  else if (!details.empty())
    os << " (" << StringRef(details).take_front(80) << ')';
  return text;
}

/// Whether elements depend on the sizes: most forms say what an element at any
/// index is.
static bool dependsOnShape(const Form &form) {
  if (form.kind == FormKind::Argument || form.name == "reshape")
    return true;
  return form.kind == FormKind::Tensor &&
         (form.name == "constant" || form.name == "pad");
}

/// Whether a reshape only adds or removes dimensions of one element, which its
/// groups say: no element's place depends on other sizes then.
static bool movesUnitsOnly(const Form &form) {
  if (form.name != "reshape" || !StringRef(form.details).starts_with("["))
    return false;
  auto count = [](ArrayRef<int64_t> shape) {
    return shape.size() - llvm::count(shape, 1);
  };
  ArrayRef<int64_t> from = form.operands[0]->shape;
  return !from.empty() && count(form.shape) == count(from);
}

static std::string computeDigest(const Form &form) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << int(form.kind) << '\n' << form.name << '\n';
  os << form.details.size() << '\n' << form.details << '\n';
  if (movesUnitsOnly(form)) {
    for (int64_t size : form.shape)
      os << (size == 1 ? "1" : "n");
    os << " of ";
    for (int64_t size : form.operands[0]->shape)
      os << (size == 1 ? "1" : "n");
  } else if (dependsOnShape(form)) {
    llvm::interleave(form.shape, os, "x");
    os << " of ";
    for (const Form *operand : form.operands)
      llvm::interleave(operand->shape, os, "x");
  }
  os << '\n' << form.element << '\n';
  if (form.order.isNeeded())
    os << form.order.str();
  os << '\n' << form.operands.size() << '\n';
  for (const Form *operand : form.operands)
    os << operand->digest;
  auto hash = llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
  return std::string(hash.begin(), hash.end());
}

const Form *FormTable::get(Form form) {
  form.digest = computeDigest(form);
  auto [it, isNew] = byDigest.try_emplace(form.digest, nullptr);
  if (isNew) {
    forms.push_back(std::move(form));
    it->second = &forms.back();
  }
  return it->second;
}

const Form *FormTable::find(Form form) const {
  return byDigest.lookup(computeDigest(form));
}

const Form *FormTable::getConstant(Attribute value, Type element) {
  Form form{FormKind::Constant, "constant"};
  llvm::raw_string_ostream(form.details) << value;
  form.element = element;
  form.value = value;
  return get(std::move(form));
}

const Form *FormTable::getRead(const Form *tensor, AffineMap map) {
  if (tensor->shape.empty())
    return tensor; // the same everywhere
  Form form{FormKind::Read, "element"};
  llvm::raw_string_ostream(form.details) << map;
  form.operands = {tensor};
  form.element = tensor->element;
  form.map = map;
  form.dependsOnLoops = true;
  return get(std::move(form));
}

static Form makeMove(StringRef name, std::string details, const Form *operand,
                     ArrayRef<int64_t> shape) {
  Form form{FormKind::Move, name.str(), std::move(details)};
  form.operands = {operand};
  form.shape.assign(shape.begin(), shape.end());
  form.element = operand->element;
  return form;
}

bool FormTable::hasMove(StringRef name, std::string details,
                        const Form *operand, ArrayRef<int64_t> shape) const {
  return find(makeMove(name, std::move(details), operand, shape));
}

const Form *FormTable::getMove(StringRef name, std::string details,
                               const Form *operand, ArrayRef<int64_t> shape,
                               Operation *op) {
  Form form = makeMove(name, std::move(details), operand, shape);
  form.op = op;
  return get(std::move(form));
}

/// Whether a value of one shape may have the other, where any size fits.
static bool isPossible(ArrayRef<int64_t> shape, ArrayRef<int64_t> other) {
  return shape.size() == other.size() &&
         llvm::all_of(llvm::zip(shape, other), [](auto sizes) {
           auto [a, b] = sizes;
           return a == kAnySize || a == b;
         });
}

static int64_t countElements(ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

const Form *FormTable::getReshape(const Form *operand, ArrayRef<int64_t> shape,
                                  std::string groups, Operation *op) {
  if (operand->shape.empty() && !shape.empty() &&
      llvm::all_of(shape, [](int64_t size) { return size == kAnySize; }))
    return operand;
  // Dimensions that were made of one and become it again.
  if (operand->kind == FormKind::Move && operand->name == "reshape" &&
      operand->details == groups && StringRef(groups).starts_with("[") &&
      isPossible(operand->operands[0]->shape, shape))
    return operand->operands[0];
  if (llvm::is_contained(shape, kAnySize) ||
      llvm::is_contained(operand->shape, kAnySize))
    return getMove("reshape", std::move(groups), operand, shape, op);
  // Of several reshapes only the first and the last shape count.
  while (operand->kind == FormKind::Move && operand->name == "reshape" &&
         operand->details.empty())
    operand = operand->operands[0];
  if (operand->shape == SmallVector<int64_t>(shape))
    return operand;
  // A dimension of any size gets it from the number of elements.
  if (operand->kind == FormKind::Move && operand->name == "reshape" &&
      StringRef(operand->details).starts_with("[") &&
      llvm::count(operand->operands[0]->shape, kAnySize) == 1 &&
      countElements(operand->shape) == countElements(shape) &&
      isPossible(operand->operands[0]->shape, shape))
    return operand->operands[0];
  return getMove("reshape", "", operand, shape, op);
}

const Form *FormTable::rebuild(const Form *move, const Form *operand) {
  return getMove(move->name, move->details, operand, move->shape, move->op);
}

const Form *FormTable::getAddZero(const Form *operand, Operation *op) {
  if (isOfReals() || operand->kind == FormKind::AddZero)
    return operand;
  if (operand->kind == FormKind::Move)
    return rebuild(operand, getAddZero(operand->operands[0], op));
  Form form{FormKind::AddZero, "add zero"};
  form.operands = {operand};
  form.shape = operand->shape;
  form.element = operand->element;
  form.op = op;
  return get(std::move(form));
}

const Form *FormTable::getJoined(const Form *form, Level level) {
  if (form->kind == FormKind::Move) {
    const Form *operand = getJoined(form->operands[0], level);
    return operand ? rebuild(form, operand) : nullptr;
  }
  if (!form->order.isNeeded())
    return nullptr;
  Form joined = *form;
  joined.order.join(level);
  return get(std::move(joined));
}

void FormTable::noteExpansion(const Form *source, StringRef groups,
                              ArrayRef<int64_t> shape) {
  auto &known = expansions[{source->digest, groups.str()}];
  if (!llvm::is_contained(known, SmallVector<int64_t>(shape)))
    known.emplace_back(shape);
}

ArrayRef<SmallVector<int64_t>>
FormTable::getExpansions(const Form *source, StringRef groups) const {
  auto it = expansions.find({source->digest, groups.str()});
  if (it == expansions.end())
    return {};
  return it->second;
}

std::string mlir::weft::proof::digestToHex(StringRef digest) {
  return llvm::toHex(digest, /*LowerCase=*/true);
}
