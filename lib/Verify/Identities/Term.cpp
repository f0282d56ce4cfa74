// SPDX-License-Identifier: Apache-2.0

// Terms are made once each: a text of kind and operands is the key.

#include "weft/Verify/Identities/Term.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::weft;

TermRef weft::skipCasts(TermRef term) {
  while (term->kind == TermKind::Cast)
    term = term->operands[0];
  return term;
}

bool weft::isPositive(TermRef term) {
  auto isPart = [](TermRef operand) { return isPositive(operand); };
  switch (term->kind) {
  case TermKind::Constant:
    return term->number > 0;
  case TermKind::Exp:
    return true;
  case TermKind::Cast:
  case TermKind::Sum:
  case TermKind::MaxOver:
  case TermKind::Add:
  case TermKind::Mul:
  case TermKind::Div:
    return llvm::all_of(term->operands, isPart);
  default:
    return false;
  }
}

bool weft::isWhole(const TermTable &table, const Digit &digit) {
  return digit.stride == 1 && digit.size == table.getLoopSize(digit.loop);
}

/// The number in a type, rounded as a cast rounds it.
static double roundTo(Type type, double number) {
  auto floating = dyn_cast<FloatType>(type);
  if (!floating)
    return number;
  llvm::APFloat rounded(number);
  bool loses = false;
  rounded.convert(floating.getFloatSemantics(),
                  llvm::APFloat::rmNearestTiesToEven, &loses);
  rounded.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &loses);
  return rounded.convertToDouble();
}

static void writeKey(llvm::raw_ostream &os, const Term &term) {
  os << int(term.kind) << ' ' << term.type.getAsOpaquePointer() << ' ';
  for (TermRef operand : term.operands)
    os << operand->id << ',';
  os << ' ' << llvm::bit_cast<uint64_t>(term.number) << ' '
     << term.value.getAsOpaquePointer() << ' ' << term.name << ' ';
  for (const DigitIndex &index : term.indices) {
    for (const Digit &digit : index)
      os << digit.loop << '/' << digit.stride << '%' << digit.size << ';';
    os << '|';
  }
  for (unsigned loop : term.loops)
    os << loop << ',';
}

static void findFreeLoops(Term &term) {
  for (const DigitIndex &index : term.indices)
    for (const Digit &digit : index)
      term.freeLoops.push_back(digit.loop);
  for (TermRef operand : term.operands)
    term.freeLoops.append(operand->freeLoops.begin(), operand->freeLoops.end());
  llvm::sort(term.freeLoops);
  term.freeLoops.erase(llvm::unique(term.freeLoops), term.freeLoops.end());
  llvm::erase_if(term.freeLoops, [&](unsigned loop) {
    return llvm::is_contained(term.loops, loop);
  });
}

TermRef TermTable::insert(Term term) {
  std::string key;
  llvm::raw_string_ostream os(key);
  writeKey(os, term);
  auto [place, isNew] = known.try_emplace(key, terms.size());
  if (!isNew)
    return &terms[place->second];
  term.id = terms.size();
  findFreeLoops(term);
  terms.push_back(std::move(term));
  return &terms.back();
}

TermRef TermTable::make(TermKind kind, Type type, ArrayRef<TermRef> operands) {
  Term term(kind, type);
  term.operands.append(operands.begin(), operands.end());
  return insert(std::move(term));
}

void TermTable::setOrigin(TermRef term, Value value,
                          ArrayRef<DigitIndex> indices) {
  Term &own = terms[term->id];
  if (own.origin)
    return;
  own.origin = value;
  own.originIndices.assign(indices.begin(), indices.end());
}

TermRef TermTable::constant(Type type, double number) {
  Term term(TermKind::Constant, type);
  term.number = number == 0 ? 0 : number; // one zero
  return insert(std::move(term));
}

TermRef TermTable::load(Type type, Value value, ArrayRef<DigitIndex> indices) {
  Term term(TermKind::Load, type);
  term.value = value;
  term.indices.append(indices.begin(), indices.end());
  return insert(std::move(term));
}

TermRef TermTable::index(Type type, const DigitIndex &index) {
  if (index.empty())
    return constant(type, 0);
  Term term(TermKind::Index, type);
  term.indices.push_back(index);
  return insert(std::move(term));
}

/// One of two constants, as a bit makes of itself: what is computed of it by
/// constants is one as well.
static bool isChoice(TermRef term) {
  return term->kind == TermKind::Select &&
         term->operands[1]->kind == TermKind::Constant &&
         term->operands[2]->kind == TermKind::Constant;
}

/// 1 or 0, as a bit says: what is multiplied by it is chosen.
static bool isZeroOrOne(TermRef term) {
  return isChoice(term) && term->operands[1]->isConstant(1) &&
         term->operands[2]->isConstant(0);
}

TermRef TermTable::cast(Type type, TermRef in) {
  if (in->type == type)
    return in;
  if (in->kind == TermKind::Constant)
    return constant(type, roundTo(type, in->number));
  if (in->type.isInteger(1))
    return select(in, constant(type, 1), constant(type, 0));
  if (isChoice(in))
    return select(in->operands[0], cast(type, in->operands[1]),
                  cast(type, in->operands[2]));
  return make(TermKind::Cast, type, {in});
}

TermRef TermTable::add(TermRef a, TermRef b) {
  if (a->kind == TermKind::Constant)
    std::swap(a, b);
  if (b->isConstant(0))
    return a;
  if (a->kind == TermKind::Constant && b->kind == TermKind::Constant)
    return constant(a->type, a->number + b->number);
  if (b->kind == TermKind::Constant && isChoice(a))
    return select(a->operands[0], add(a->operands[1], b),
                  add(a->operands[2], b));
  if (a->kind == TermKind::Select && b->kind == TermKind::Select &&
      a->operands[0] == b->operands[0] && (isChoice(a) || isChoice(b)))
    return select(a->operands[0], add(a->operands[1], b->operands[1]),
                  add(a->operands[2], b->operands[2]));
  return make(TermKind::Add, a->type, {a, b});
}

TermRef TermTable::sub(TermRef a, TermRef b) {
  return add(a, mul(b, constant(b->type, -1)));
}

TermRef TermTable::mul(TermRef a, TermRef b) {
  if (a->kind == TermKind::Constant)
    std::swap(a, b);
  if (b->kind != TermKind::Constant) {
    if (isZeroOrOne(a))
      std::swap(a, b);
    if (isZeroOrOne(b))
      return select(b->operands[0], a, b->operands[2]);
    return make(TermKind::Mul, a->type, {a, b});
  }
  if (a->kind == TermKind::Constant)
    return constant(a->type, a->number * b->number);
  if (b->number == 1)
    return a;
  if (isChoice(a))
    return select(a->operands[0], mul(a->operands[1], b),
                  mul(a->operands[2], b));
  if (a->kind == TermKind::Mul && a->operands[1]->kind == TermKind::Constant)
    return mul(a->operands[0],
               constant(a->type, a->operands[1]->number * b->number));
  return make(TermKind::Mul, a->type, {a, b});
}

TermRef TermTable::div(TermRef a, TermRef b) {
  if (b->kind == TermKind::Constant && b->number != 0)
    return mul(a, constant(b->type, 1 / b->number));
  return make(TermKind::Div, a->type, {a, b});
}

TermRef TermTable::max(TermRef a, TermRef b) {
  const double lowest = -std::numeric_limits<double>::infinity();
  if (a->isConstant(lowest))
    return b;
  if (b->isConstant(lowest) || a == b)
    return a;
  return make(TermKind::Max, a->type, {a, b});
}

TermRef TermTable::select(TermRef condition, TermRef a, TermRef b) {
  if (condition->kind == TermKind::Constant)
    return condition->number != 0 ? a : b;
  if (a == b)
    return a;
  if (a->type == condition->type && a->isConstant(1) && b->isConstant(0))
    return condition;
  auto standsRight = [](TermRef x, TermRef other) {
    return x->kind == TermKind::Constant &&
           (other->kind != TermKind::Constant || x->number < other->number);
  };
  TermRef isTrue = constant(condition->type, 1);
  if (standsRight(a, b))
    return select(logical(TermKind::Xor, condition, isTrue), b, a);
  if (condition->kind == TermKind::Xor && condition->operands[1] == isTrue &&
      !standsRight(b, a))
    return select(condition->operands[0], b, a);
  return make(TermKind::Select, a->type, {condition, a, b});
}

/// a > b is b < a, and a != b is not a == b.
TermRef TermTable::compare(Type type, StringRef predicate, TermRef a,
                           TermRef b) {
  if (predicate == "ne")
    return logical(TermKind::Xor, compare(type, "eq", a, b), constant(type, 1));
  if (predicate.ends_with("gt") || predicate.ends_with("ge")) {
    std::string turned = predicate.str();
    turned[turned.size() - 2] = 'l';
    return compare(type, turned, b, a);
  }
  // Integers have eq, slt, sle, ult and ule here, of which the constants of a
  // choice are told apart.
  if (isChoice(a) && b->kind == TermKind::Constant && predicate[0] != 'u') {
    auto holds = [&](TermRef x) {
      double left = x->number, right = b->number;
      return constant(type, predicate == "eq"    ? left == right
                            : predicate == "slt" ? left < right
                                                 : left <= right);
    };
    return select(a->operands[0], holds(a->operands[1]), holds(a->operands[2]));
  }
  Term term(TermKind::Compare, type);
  term.operands = {a, b};
  term.name = predicate.str();
  return insert(std::move(term));
}

TermRef TermTable::logical(TermKind kind, TermRef a, TermRef b) {
  if (a->kind == TermKind::Constant)
    std::swap(a, b);
  if (a == b && kind != TermKind::Xor)
    return a;
  if (b->kind == TermKind::Constant) {
    bool isTrue = b->number != 0;
    if (kind == TermKind::And)
      return isTrue ? a : b;
    if (kind == TermKind::Or)
      return isTrue ? b : a;
    if (!isTrue)
      return a;
    if (a->kind == TermKind::Constant)
      return constant(a->type, a->number == 0);
    if (a->kind == TermKind::Xor && a->operands[1]->isConstant(1))
      return a->operands[0];
  }
  return make(kind, a->type, {a, b});
}

TermRef TermTable::function(Type type, StringRef name,
                            ArrayRef<TermRef> operands) {
  Term term(TermKind::Function, type);
  term.operands.append(operands.begin(), operands.end());
  term.name = name.str();
  return insert(std::move(term));
}

TermRef TermTable::over(TermKind kind, ArrayRef<unsigned> loops, TermRef body,
                        Value value) {
  Term term(kind, body->type);
  term.operands = {body};
  term.value = value;
  for (unsigned loop : loops)
    if (getLoopSize(loop) != 1)
      term.loops.push_back(loop);
  return term.loops.empty() ? body : insert(std::move(term));
}
