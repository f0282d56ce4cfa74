// SPDX-License-Identifier: Apache-2.0

// Expressions are found by what makes them up. Scalar ops are folded by the
// folders of their dialects, as they would be wherever they stand in one body:
// each has an op of its own in a block that nobody runs.

#include "Elements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::weft::proof;

/// Where the variables begin that stand for what reductions have so far.
static constexpr unsigned kFirstAccumulator = 1 << 16;

//===----------------------------------------------------------------------===//
// Taking in
//===----------------------------------------------------------------------===//

ElementTable::ElementTable(MLIRContext *context, ElementLimits limits)
    : context(context), limits(limits) {}

ElementTable::~ElementTable() {
  for (auto &entry : scalarOps)
    if (Operation *prototype = entry.second.prototype)
      prototype->destroy();
}

void ElementTable::reserve(size_t numOps) {
  known.reserve(numOps);
  substituted.reserve(numOps);
  ofValues.reserve(numOps / 2);
}

static size_t getHash(const Element &e) {
  // Short, as it is asked for each time that one is looked for.
  uint64_t hash = uint64_t(e.kind);
  auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  for (const void *unique :
       {e.name.getAsOpaquePointer(), e.details.getAsOpaquePointer(),
        e.type.getAsOpaquePointer()})
    mix(reinterpret_cast<uintptr_t>(unique));
  for (int64_t number : e.numbers)
    mix(number);
  for (const Element *operand : e.operands)
    mix(reinterpret_cast<uintptr_t>(operand));
  for (int64_t size : e.shape)
    mix(size);
  return hash;
}

bool ElementTable::Info::isEqual(Known known, Known other) {
  const Element *a = known.element, *b = other.element;
  if (a == b || known.hash != other.hash)
    return a == b;
  for (Known key : {getEmptyKey(), getTombstoneKey()})
    if (a == key.element || b == key.element)
      return false;
  return a->kind == b->kind && a->name == b->name && a->details == b->details &&
         a->type == b->type && a->numbers == b->numbers &&
         a->operands == b->operands && a->shape == b->shape;
}

/// Numbers for what has only an address, in the order in which they are met.
unsigned ElementTable::getNumber(const void *unique) {
  return numbers.try_emplace(unique, numbers.size()).first->second;
}

/// Adds the variables of an operand, and which of them occur by themselves.
static void takeVariables(Element &element, const Element &operand) {
  bool isAlone =
      operand.kind == ElementKind::Variable && element.kind != ElementKind::Sum;
  for (auto [i, variable] : llvm::enumerate(operand.variables)) {
    size_t own =
        llvm::find(element.variables, variable) - element.variables.begin();
    if (own == element.variables.size())
      element.variables.push_back(variable);
    if (own < 64 && (isAlone || operand.isAlone(i)))
      element.alone |= uint64_t(1) << own;
  }
}

/// Finds what follows from the operands.
void ElementTable::complete(Element &element) {
  element.id = numElements++;
  element.range = getRange(element);
  if (element.kind == ElementKind::Argument)
    element.depth = element.numbers[0];
  for (const Element *operand : element.operands)
    element.depth = std::max(element.depth, operand->depth);
  // What an op with regions carries is its own.
  if (element.kind == ElementKind::Other && element.numbers.size() > 1)
    element.depth = std::min(element.depth, element.numbers[1]);
  bool isVariable = element.kind == ElementKind::Variable;
  // FNV-1a: the same in each run.
  uint64_t pattern = 0xcbf29ce484222325;
  auto mix = [&](uint64_t word) { pattern = (pattern ^ word) * 0x100000001b3; };
  mix(uint64_t(element.kind));
  if (element.isFunction()) {
    mix(element.id);
    element.pattern = pattern;
    return;
  }
  mix(getNumber(element.name.getAsOpaquePointer()));
  mix(getNumber(element.details.getAsOpaquePointer()));
  mix(getNumber(element.type.getAsOpaquePointer()));
  for (int64_t number : ArrayRef(element.numbers)
                            .drop_front(isVariable && element.type.isIndex()))
    mix(number);
  element.divides = element.kind == ElementKind::Quotient &&
                    element.operands[0]->kind == ElementKind::Variable;
  for (const Element *operand : element.operands) {
    mix(operand->pattern);
    element.divides |= operand->divides;
    takeVariables(element, *operand);
  }
  element.pattern = pattern;
}

/// The one that equals `element`, which gets its hash, or null.
const Element *ElementTable::find(Element &element) const {
  element.hash = getHash(element);
  auto it = known.find({&element, element.hash});
  return it == known.end() ? nullptr : it->element;
}

/// Takes in an element that was looked for, and is new.
const Element *ElementTable::takeIn(Element element) {
  complete(element);
  auto *made = new (elements.Allocate()) Element(std::move(element));
  if (made->kind == ElementKind::Variable)
    made->variables = {made};
  known.insert({made, made->hash});
  return made;
}

const Element *ElementTable::get(Element element) {
  const Element *found = find(element);
  return found ? found : takeIn(std::move(element));
}

TypedAttr ElementTable::getConstantValue(const Element *element) {
  return element->kind == ElementKind::Constant
             ? cast<TypedAttr>(element->details)
             : TypedAttr();
}

std::string Element::str() const {
  const Element *of = kind == ElementKind::Rounded ? operands[0] : this;
  if (of->kind == ElementKind::Read)
    of = of->operands[0];
  std::string text;
  llvm::raw_string_ostream os(text);
  switch (of->kind) {
  case ElementKind::Undefined:
    return "something undefined";
  case ElementKind::Constant:
    os << "constant " << of->details;
    return text;
  case ElementKind::Variable:
  case ElementKind::Sum:
  case ElementKind::Quotient:
    return "an index";
  case ElementKind::Argument:
    os << "argument " << of->numbers.back();
    return text;
  case ElementKind::Data:
    return "elements of a constant";
  case ElementKind::Parts:
    os << "a concatenation of " << of->operands.size() - 1 << " parts";
    break;
  case ElementKind::Reduction:
    os << "a reduction";
    break;
  case ElementKind::Total:
    os << "a sum of " << of->operands.size() << " addends";
    return text;
  case ElementKind::Contraction:
    os << (of->operands.size() == 1 ? "a sum" : "weft.matmul");
    break;
  default:
    if (of->name)
      os << cast<StringAttr>(of->name).getValue();
    else
      os << "a tensor";
  }
  for (auto [i, size] : llvm::enumerate(of->shape))
    os << (i ? "x" : " ") << size;
  if (of->details &&
      of->details != DictionaryAttr::get(of->details.getContext()))
    os << ' ' << of->details;
  return text;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

const Element *ElementTable::getUndefined(Type type) {
  Element element{ElementKind::Undefined};
  element.type = type;
  return get(std::move(element));
}

const Element *ElementTable::getConstant(TypedAttr value) {
  Element element{ElementKind::Constant};
  element.details = value;
  element.type = value.getType();
  return get(std::move(element));
}

const Element *ElementTable::getVariable(unsigned position, int64_t size) {
  if (size == 1)
    return getIndex(0);
  auto make = [&] {
    Element element{ElementKind::Variable};
    element.type = IndexType::get(context);
    element.numbers = {position, size};
    return get(std::move(element));
  };
  if (size < 0 || !llvm::isUInt<31>(size))
    return make();
  const Element *&variable = variables[{position, unsigned(size)}];
  if (!variable)
    variable = make();
  return variable;
}

const Element *ElementTable::getAccumulator(unsigned number, Type type) {
  Element element{ElementKind::Variable};
  // Not an index, even if it has the type: nothing is known of its range.
  element.type = TupleType::get(context, type);
  element.numbers = {kFirstAccumulator + number};
  return get(std::move(element));
}

void ElementTable::sortOperands(SmallVectorImpl<const Element *> &operands) {
  llvm::stable_sort(operands, [](const Element *a, const Element *b) {
    bool isA = a->kind == ElementKind::Constant;
    bool isB = b->kind == ElementKind::Constant;
    if (std::tuple(isA, a->pattern) != std::tuple(isB, b->pattern))
      return std::tuple(isA, a->pattern) < std::tuple(isB, b->pattern);
    // Of two elements of one tensor that of the outer variables: which of them
    // was read first is another thing in another program.
    auto getPositions = [](const Element *element) {
      return llvm::map_to_vector<4>(
          element->variables,
          [](const Element *variable) { return variable->numbers[0]; });
    };
    SmallVector<int64_t, 4> own = getPositions(a), other = getPositions(b);
    return own == other
               ? a->id < b->id
               : std::lexicographical_compare(own.begin(), own.end(),
                                              other.begin(), other.end());
  });
}

Value ElementTable::getValue(const Element *element) {
  Value &value = element->value;
  if (value)
    return value;
  Location loc = UnknownLoc::get(context);
  if (TypedAttr constant = getConstantValue(element)) {
    OpBuilder builder(context);
    builder.setInsertionPointToEnd(&scratch);
    value = arith::ConstantOp::create(builder, loc, constant);
  } else {
    Type type = element->type;
    if (auto accumulator = dyn_cast<TupleType>(type))
      type = accumulator.getType(0);
    value = scratch.addArgument(type, loc);
  }
  ofValues[value] = element;
  return value;
}

/// What a folder has found: one of the operands, or of theirs.
const Element *ElementTable::getOfValue(Value value) {
  return ofValues.lookup(value);
}

/// An op on elements of constants at one place is a constant of its own.
const Element *ElementTable::foldData(const Element &element) {
  ArrayRef<const Element *> at;
  for (const Element *operand : element.operands)
    if (operand->kind == ElementKind::Read &&
        isa_and_present<DenseElementsAttr>(operand->operands[0]->details))
      at = ArrayRef(operand->operands).drop_front();
  if (at.empty())
    return nullptr;
  int64_t size = 0;
  for (const Element *operand : element.operands)
    if (operand->kind == ElementKind::Read &&
        operand->operands[0]->kind == ElementKind::Data &&
        ArrayRef(operand->operands).drop_front() == at)
      size = operand->operands[0]->shape[0];
    else if (!getConstantValue(operand))
      return nullptr;
  OperationState state(UnknownLoc::get(context),
                       cast<StringAttr>(element.name).getValue());
  SmallVector<Attribute> constants;
  for (const Element *operand : element.operands) {
    auto type = RankedTensorType::get(size, operand->type);
    TypedAttr value = getConstantValue(operand);
    constants.push_back(
        value ? DenseElementsAttr::get(type, value)
              : cast<DenseElementsAttr>(operand->operands[0]->details));
    state.operands.push_back(scratch.addArgument(type, state.location));
  }
  state.types.push_back(RankedTensorType::get(size, element.type));
  state.addAttributes(cast<DictionaryAttr>(element.details).getValue());
  Operation *op = Operation::create(state);
  SmallVector<OpFoldResult> folded;
  bool isFolded = succeeded(op->fold(constants, folded)) && !folded.empty();
  op->destroy();
  scratch.eraseArguments(scratch.getNumArguments() - constants.size(),
                         constants.size());
  auto value = isFolded ? dyn_cast_if_present<DenseElementsAttr>(
                              dyn_cast<Attribute>(folded[0]))
                        : DenseElementsAttr();
  if (!value)
    return nullptr;
  if (value.isSplat())
    return getConstant(cast<TypedAttr>(value.getSplatValue<Attribute>()));
  Element data{ElementKind::Data};
  data.type = element.type;
  data.shape = {size};
  data.details = value;
  return getRead(get(std::move(data)), at);
}

const ElementTable::ScalarOp &
ElementTable::getScalarOp(Attribute name, DictionaryAttr details) {
  ScalarOp &scalar = scalarOps[{name, details}];
  StringRef opName = cast<StringAttr>(name).getValue();
  if (scalar.prototype ||
      !(opName.starts_with("arith.") || opName.starts_with("math.")))
    return scalar;
  OperationState state(UnknownLoc::get(context), opName);
  state.addAttributes(details.getValue());
  scalar.prototype = Operation::create(state);
  scalar.isFolded = true;
  scalar.isCommutative = state.name.hasTrait<OpTrait::IsCommutative>();
  return scalar;
}

DictionaryAttr ElementTable::getDetails(StringAttr name,
                                        ArrayRef<NamedAttribute> attrs) {
  DictionaryAttr &details =
      defaults[{name, DictionaryAttr::get(context, attrs)}];
  if (details)
    return details;
  OperationState state(UnknownLoc::get(context), name.getValue());
  state.addAttributes(attrs);
  Operation *op = Operation::create(state); // has all that it has by default
  details = op->getAttrDictionary();
  op->destroy();
  return details;
}

const Element *ElementTable::getScalar(Attribute name, DictionaryAttr details,
                                       Type type,
                                       ArrayRef<const Element *> operands,
                                       int64_t result) {
  if (type.isIndex())
    if (const Element *index = foldIndex(name, operands))
      return index;
  StringRef opName = cast<StringAttr>(name).getValue();
  if (ofReals && opName == "arith.addf")
    return round(getTotal(operands), type);
  if (ofReals && opName == "arith.mulf")
    if (const Element *product = multiply(name, details, type, operands))
      return product;
  if (ofReals && (opName == "arith.extf" || opName == "arith.truncf") &&
      operands[0]->kind == ElementKind::Rounded)
    return round(operands[0]->operands[0], type);
  // Each widening is exact, and so are two.
  if (opName == "arith.extf" && operands[0]->isOp("arith.extf"))
    return getScalar(name, details, type, operands[0]->operands, result);
  if (const Element *joined = joinPads(name, details, type, operands))
    return joined;
  if (const Element *known = foldComparison(name, details, type, operands))
    return known;
  if (const Element *same = foldAlgebra(name, details, type, operands))
    return same;
  if (opName == "arith.cmpi")
    if (const Element *opposite = foldInverted(name, details, type, operands))
      return opposite;
  if (opName == "arith.ori" && type.isInteger(1))
    return negateBoth(operands);
  if (opName == "arith.select")
    if (const Element *known = foldChoice(name, details, type, operands))
      return known;
  if (opName == "arith.andi" && type.isInteger(1))
    if (const Element *known = foldConjunction(name, details, type, operands))
      return known;
  return makeScalar(name, details, type, operands, result);
}

/// An op that is not told in another way, folded as upstream does.
const Element *ElementTable::makeScalar(Attribute name, DictionaryAttr details,
                                        Type type,
                                        ArrayRef<const Element *> operands,
                                        int64_t result) {
  StringRef opName = cast<StringAttr>(name).getValue();
  Element element{ElementKind::Scalar, name, details, type};
  element.operands.assign(operands.begin(), operands.end());
  element.numbers = {result};
  ScalarOp scalar = getScalarOp(name, details);
  bool isFolded = result == 0 && scalar.isFolded;
  if (isFolded)
    if (const Element *data = foldData(element))
      return data;
  constexpr int kMaxFolds = 8;
  for (int i = 0; isFolded && i < kMaxFolds; ++i) {
    if (i > 0)
      scalar = getScalarOp(name, cast<DictionaryAttr>(element.details));
    if (scalar.isCommutative)
      sortOperands(element.operands);
    if (const Element *found = find(element))
      return found;
    SmallVector<Value> values;
    for (const Element *operand : element.operands)
      values.push_back(getValue(operand));
    Operation *like = scalar.prototype;
    Operation *op = Operation::create(
        like->getLoc(), like->getName(), type, values,
        like->getDiscardableAttrDictionary(), like->getPropertiesStorage(),
        /*successors=*/{}, /*numRegions=*/0);
    scratch.push_back(op);
    SmallVector<OpFoldResult> folded;
    if (failed(op->fold(folded))) {
      const Element *made = takeIn(std::move(element));
      made->value = op->getResult(0);
      ofValues[op->getResult(0)] = made;
      return made;
    }
    if (folded.empty()) { // changed in place
      element.details = op->getAttrDictionary();
      for (auto [operand, value] :
           llvm::zip(element.operands, op->getOperands()))
        operand = getOfValue(value);
      op->erase();
      if (opName == "arith.cmpi")
        if (const Element *opposite =
                foldInverted(name, cast<DictionaryAttr>(element.details), type,
                             element.operands))
          return opposite;
      continue;
    }
    const Element *found = nullptr;
    if (auto attr = dyn_cast<Attribute>(folded[0]))
      found =
          isa<TypedAttr>(attr) ? getConstant(cast<TypedAttr>(attr)) : nullptr;
    else
      found = getOfValue(cast<Value>(folded[0]));
    op->erase();
    if (found)
      return found;
    break;
  }
  return get(std::move(element));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// The part in which all of `indices` are, or null.
const Element *ElementTable::readPart(const Element *parts,
                                      ArrayRef<const Element *> indices) {
  unsigned rank = indices.size();
  bool isOutside = true;
  for (unsigned part = 0; part + 1 < parts->operands.size(); ++part) {
    ArrayRef<int64_t> box =
        ArrayRef(parts->numbers).slice(part * 2 * rank, 2 * rank);
    bool isIn = true, isOut = false;
    for (unsigned i = 0; i < rank; ++i) {
      Range range = indices[i]->range;
      int64_t begin = box[i], end = begin + box[rank + i];
      isIn &= range && range->first >= begin && range->second < end;
      isOut |= range && (range->second < begin || range->first >= end);
    }
    isOutside &= isOut;
    if (!isIn)
      continue;
    Assignment inPart;
    for (unsigned i = 0; i < rank; ++i)
      if (box[rank + i] != 1)
        inPart.push_back({getVariable(i, box[rank + i]),
                          add(indices[i], getIndex(-box[i]))});
    return substitute(parts->operands[part + 1], inPart);
  }
  if (!isOutside)
    return nullptr;
  Assignment whole;
  for (unsigned i = 0; i < rank; ++i)
    whole.push_back({getVariable(i, parts->shape[i]), indices[i]});
  return substitute(parts->operands[0], whole);
}

const Element *ElementTable::getRead(const Element *function,
                                     ArrayRef<const Element *> indices) {
  if (function->kind == ElementKind::Parts)
    if (const Element *part = readPart(function, indices))
      return part;
  if (function->kind == ElementKind::Data)
    if (auto number =
            dyn_cast_if_present<IntegerAttr>(getConstantValue(indices[0])))
      if (auto dense = dyn_cast<DenseElementsAttr>(function->details))
        if (number.getInt() >= 0 && number.getInt() < dense.getNumElements())
          return getConstant(
              cast<TypedAttr>(dense.getValues<Attribute>()[number.getInt()]));
  Element element{ElementKind::Read};
  element.type = function->type;
  element.operands.push_back(function);
  element.operands.append(indices.begin(), indices.end());
  return get(std::move(element));
}

const Element *ElementTable::getTensor(const Element *element,
                                       ArrayRef<int64_t> shape) {
  Element tensor{ElementKind::Tensor};
  tensor.type = element->type;
  tensor.operands = {element};
  tensor.shape.assign(shape.begin(), shape.end());
  return get(std::move(tensor));
}

//===----------------------------------------------------------------------===//
// Substitution
//===----------------------------------------------------------------------===//

const Element *ElementTable::rebuild(const Element *element,
                                     ArrayRef<const Element *> operands) {
  switch (element->kind) {
  case ElementKind::Sum: {
    Terms terms;
    terms.constant = element->numbers[0];
    for (auto [i, operand] : llvm::enumerate(operands))
      addTerms(terms, getTerms(operand), element->numbers[i + 1]);
    return getSum(std::move(terms));
  }
  case ElementKind::Quotient:
    return floorDiv(operands[0], element->numbers[0]);
  case ElementKind::Scalar:
    return getScalar(element->name, cast<DictionaryAttr>(element->details),
                     element->type, operands, element->numbers[0]);
  case ElementKind::Read:
    return getRead(operands[0], operands.drop_front());
  case ElementKind::Total:
    return getTotal(operands);
  case ElementKind::Rounded:
    return round(operands[0], element->type);
  default:
    llvm_unreachable("has no variables");
  }
}

const Element *ElementTable::substitute(const Element *root,
                                        const Assignment &values) {
  Assignment changed;
  for (auto pair : values)
    if (pair.first != pair.second)
      changed.push_back(pair);
  auto getDirect = [&](const Element *element) -> const Element * {
    if (element->kind == ElementKind::Variable) {
      for (auto [variable, value] : changed)
        if (variable == element)
          return value;
      return element;
    }
    for (const Element *variable : element->variables)
      for (auto &pair : changed)
        if (pair.first == variable)
          return nullptr;
    return element;
  };
  if (const Element *direct = getDirect(root))
    return direct;
  std::vector<std::pair<unsigned, unsigned>> key;
  for (auto [variable, value] : changed)
    key.push_back({variable->id, value->id});
  llvm::sort(key);
  unsigned assignment =
      assignments.try_emplace(std::move(key), assignments.size()).first->second;
  auto lookup = [&](const Element *element) -> const Element * {
    if (const Element *direct = getDirect(element))
      return direct;
    return substituted.lookup({element->id, assignment});
  };
  // Chains of ops are longer than the stack is deep.
  SmallVector<const Element *> stack = {root};
  while (!stack.empty()) {
    const Element *element = stack.back();
    if (lookup(element)) {
      stack.pop_back();
      continue;
    }
    SmallVector<const Element *> operands;
    size_t depth = stack.size();
    for (const Element *operand : element->operands) {
      operands.push_back(lookup(operand));
      if (!operands.back())
        stack.push_back(operand);
    }
    if (stack.size() > depth)
      continue;
    const Element *made = rebuild(element, operands);
    substituted[{element->id, assignment}] = made;
    stack.pop_back();
  }
  return lookup(root);
}
