// SPDX-License-Identifier: Apache-2.0

// Forms are interned by what makes them up. What rewrites them (joining a
// level) walks through movement, which commutes with both.

#include "Forms.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/xxhash.h"

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

bool mlir::weft::proof::isDenseConstant(const Form &form) {
  return form.kind == FormKind::Tensor && form.name == kDenseConstant;
}

/// Whether elements depend on the sizes: most forms say what an element at any
/// index is.
static bool dependsOnShape(const Form &form) {
  if (form.kind == FormKind::Argument || form.name == "reshape")
    return true;
  return isDenseConstant(form);
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

/// The sizes that go into the digest. Those of operands follow from these.
static SmallVector<int64_t, 1> getTold(const Form &form) {
  // No size is below -1.
  enum : int64_t { Unit = -2, Other = -3, None = -4 };
  SmallVector<int64_t, 1> told;
  if (movesUnitsOnly(form))
    for (int64_t size : form.shape)
      told.push_back(size == 1 ? Unit : Other);
  else if (dependsOnShape(form))
    told.assign(form.shape.begin(), form.shape.end());
  else
    told.push_back(None);
  return told;
}

static size_t getHash(const Form &form) {
  // Short, as it is asked for each time that one is looked for.
  uint64_t hash = uint64_t(form.kind);
  auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  for (const std::string *text : {&form.name, &form.details})
    mix(llvm::xxh3_64bits(*text));
  mix(reinterpret_cast<uintptr_t>(form.element.getAsOpaquePointer()));
  mix(form.order.leaf);
  mix(form.order.levels.size());
  for (int64_t size : form.told)
    mix(size);
  for (const Form *operand : form.operands)
    mix(reinterpret_cast<uintptr_t>(operand));
  return hash;
}

static bool isSameOrder(const Order &a, const Order &b) {
  if (!a.isNeeded() || !b.isNeeded())
    return a.isNeeded() == b.isNeeded();
  return a.levels == b.levels && a.leaf == b.leaf &&
         std::max<int64_t>(a.lanes, 1) == std::max<int64_t>(b.lanes, 1);
}

bool FormTable::Info::isEqual(Known known, Known other) {
  const Form *a = known.form, *b = other.form;
  if (a == b || known.hash != other.hash)
    return a == b;
  for (Known key : {getEmptyKey(), getTombstoneKey()})
    if (a == key.form || b == key.form)
      return false;
  return a->kind == b->kind && a->operands == b->operands &&
         a->element == b->element && a->told == b->told && a->name == b->name &&
         a->details == b->details && isSameOrder(a->order, b->order);
}

const Form *FormTable::get(Form form) {
  form.told = getTold(form);
  form.hash = getHash(form);
  auto [it, isNew] = known.insert({&form, form.hash});
  if (!isNew)
    return count(it->form);
  if (!isOfReals())
    form.digest = computeDigest(form);
  form.isOfReference = !isReferenceKnown;
  auto *made = new (forms.Allocate()) Form(std::move(form));
  // Equal to what it was found by, and at its place.
  it->form = made;
  return count(made);
}

const Form *FormTable::getPart(Form form, int64_t parts, Type type) {
  Form whole = form;
  whole.order.join({parts, type});
  bool isOfWhole = parts > 1 && form.order.isNeeded() && find(std::move(whole));
  const int64_t before = others;
  const Form *part = get(std::move(form));
  if (isOfWhole)
    others = before;
  return part;
}

const Form *FormTable::find(Form form) const {
  form.told = getTold(form);
  form.hash = getHash(form);
  auto it = known.find({&form, form.hash});
  return it == known.end() || !it->form->isOfReference ? nullptr : it->form;
}

StringRef FormTable::getText(Attribute attr) {
  std::string &text = attrTexts[attr];
  if (text.empty())
    llvm::raw_string_ostream(text) << attr;
  return text;
}

StringRef FormTable::getText(AffineMap map) {
  std::string &text = mapTexts[map];
  if (text.empty())
    llvm::raw_string_ostream(text) << map;
  return text;
}

const Form *FormTable::getConstant(Attribute value, Type element) {
  Form form{FormKind::Constant, "constant"};
  form.details = getText(value).str();
  form.element = element;
  form.value = value;
  return get(std::move(form));
}

const Form *FormTable::getRead(const Form *tensor, AffineMap map) {
  if (tensor->shape.empty())
    return tensor; // the same everywhere
  const Form *&read = reads[{tensor, map}];
  if (read)
    return count(read);
  Form form{FormKind::Read, "element"};
  form.details = getText(map).str();
  form.operands = {tensor};
  form.element = tensor->element;
  form.map = map;
  form.dependsOnLoops = true;
  read = get(std::move(form));
  return read;
}

static Form makeMove(StringRef name, std::string details, const Form *operand,
                     ArrayRef<int64_t> shape, ArrayRef<const Form *> places) {
  Form form{FormKind::Move, name.str(), std::move(details)};
  form.operands = {operand};
  form.operands.append(places.begin(), places.end());
  form.shape.assign(shape.begin(), shape.end());
  form.element = operand->element;
  return form;
}

bool FormTable::hasMove(StringRef name, std::string details,
                        const Form *operand, ArrayRef<int64_t> shape,
                        ArrayRef<const Form *> places) const {
  return find(makeMove(name, std::move(details), operand, shape, places));
}

const Form *FormTable::getMove(StringRef name, std::string details,
                               const Form *operand, ArrayRef<int64_t> shape,
                               Operation *op, ArrayRef<const Form *> places) {
  Form form = makeMove(name, std::move(details), operand, shape, places);
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
  // One number for all elements, or for those of any shape.
  if (operand->shape.empty() && !shape.empty() &&
      (operand->kind == FormKind::Constant ||
       llvm::all_of(shape, [](int64_t size) { return size == kAnySize; })))
    return operand;
  // Dimensions that were made of one and become it again.
  if (operand->kind == FormKind::Move && operand->name == "reshape" &&
      operand->details == groups && StringRef(groups).starts_with("[") &&
      isPossible(operand->operands[0]->shape, shape))
    return operand->operands[0];
  if (!llvm::is_contained(shape, kAnySize))
    if (auto it = reshaped.find(operand); it != reshaped.end())
      return getReshapeOf(operand->operands[0],
                          SmallVector<int64_t>(it->second), shape, op);
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

const Form *FormTable::getReshapeOf(const Form *operand,
                                    ArrayRef<int64_t> sizes,
                                    ArrayRef<int64_t> shape, Operation *op) {
  if (shape == sizes)
    return operand;
  std::string details = "of ";
  llvm::raw_string_ostream os(details);
  llvm::interleave(sizes, os, "x");
  const Form *form = getMove("reshape", details, operand, shape, op);
  reshaped.try_emplace(form, sizes);
  return form;
}

const Form *FormTable::rebuild(const Form *move, const Form *operand) {
  if (auto it = reshaped.find(move); it != reshaped.end())
    return getReshapeOf(operand, SmallVector<int64_t>(it->second), move->shape,
                        move->op);
  return getMove(move->name, move->details, operand, move->shape, move->op,
                 ArrayRef(move->operands).drop_front());
}

const Form *mlir::weft::proof::getMovedRead(const Form *form) {
  if (form->kind != FormKind::Map || form->operands.size() != 1 ||
      form->operands[0]->kind != FormKind::Read)
    return nullptr;
  return form->operands[0];
}

const Form *FormTable::getJoined(const Form *form, Level level) {
  if (form->kind == FormKind::Move) {
    const Form *operand = getJoined(form->operands[0], level);
    return operand ? rebuild(form, operand) : nullptr;
  }
  if (const Form *read = getMovedRead(form)) {
    const Form *operand = getJoined(read->operands[0], level);
    if (!operand)
      return nullptr;
    Form moved = *form;
    moved.operands = {getRead(operand, read->map)};
    return get(std::move(moved));
  }
  if (!form->order.isNeeded())
    return nullptr;
  Form joined = *form;
  joined.order.join(level);
  return get(std::move(joined));
}

/// What a tensor is reshaped from.
static const Form *getReshaped(const Form *form) {
  while (form->kind == FormKind::Move && form->name == "reshape")
    form = form->operands[0];
  return form;
}

void FormTable::noteExpansion(const Form *source, StringRef groups,
                              ArrayRef<int64_t> shape) {
  auto add = [&](SmallVector<SmallVector<int64_t>> &known) {
    if (!llvm::is_contained(known, SmallVector<int64_t>(shape)))
      known.emplace_back(shape);
  };
  add(expansions[{source, groups.str()}]);
  add(shapes[getReshaped(source)]);
}

uint64_t FormTable::hashCutOfSum(const Form *sum, StringRef details) {
  llvm::hash_code hash = llvm::hash_value(details);
  for (; sum->kind == FormKind::Move; sum = sum->operands[0])
    hash = llvm::hash_combine(hash, sum->name, sum->details);
  hash = llvm::hash_combine(
      hash, sum->name, sum->details,
      llvm::hash_combine_range(sum->operands.begin(), sum->operands.end()));
  // Not one of a set's own keys.
  return uint64_t(hash) >> 1;
}

void FormTable::noteSizes(const Form *source, ArrayRef<int64_t> noted) {
  SmallVector<SmallVector<int64_t>> &known = sizes[source];
  if (!llvm::is_contained(known, SmallVector<int64_t>(noted)))
    known.emplace_back(noted);
}

ArrayRef<SmallVector<int64_t>>
FormTable::getNotedSizes(const Form *source) const {
  auto it = sizes.find(source);
  if (it == sizes.end())
    return {};
  return it->second;
}

void FormTable::noteReduced(const Form *source, ArrayRef<int64_t> noted) {
  std::vector<SmallVector<int64_t>> &known = reduced[source];
  if (!llvm::is_contained(known, SmallVector<int64_t>(noted)))
    known.emplace_back(noted);
}

bool FormTable::isSeenOtherwise(const Form *form) const {
  return shapes.contains(getReshaped(form)) || slices.contains(form) ||
         placings.contains(form) || transposes.contains(form);
}

SmallVector<SmallVector<int64_t>> FormTable::getShapes(const Form *form) const {
  const Form *source = getReshaped(form);
  SmallVector<SmallVector<int64_t>> known = shapes.lookup(source);
  if (!known.empty())
    known.push_back(source->shape);
  return known;
}

ArrayRef<SmallVector<int64_t>>
FormTable::getExpansions(const Form *source, StringRef groups) const {
  auto it = expansions.find({source, groups.str()});
  if (it == expansions.end())
    return {};
  return it->second;
}

std::string mlir::weft::proof::digestToHex(StringRef digest) {
  return llvm::toHex(digest, /*LowerCase=*/true);
}
