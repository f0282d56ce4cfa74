// SPDX-License-Identifier: Apache-2.0

// Structs and arrays are built from zero by inserting what is not zero. The
// text of a datum is its key.

#include "ConstantData.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

void printKey(llvm::raw_ostream &os, const Datum &datum) {
  os << "ilbpsa"[datum.kind];
  if (datum.kind == Datum::Pointer) {
    os << datum.symbol << ',';
    return;
  }
  if (datum.kind != Datum::Struct && datum.kind != Datum::Array) {
    os << datum.number << ',';
    return;
  }
  os << '(';
  for (const Datum &part : datum.parts)
    printKey(os, part);
  os << ')';
}

/// Elements of a row of a long array: LLVM makes a new array of each element
/// that is inserted.
constexpr size_t kRowLength = 64;

} // namespace

Datum Datum::array(std::vector<Datum> elements) {
  if (elements.size() <= kRowLength)
    return {Array, 0, {}, std::move(elements)};
  std::vector<Datum> rows;
  for (size_t i = 0; i < elements.size(); i += kRowLength) {
    auto begin = std::make_move_iterator(elements.begin() + i);
    size_t length = std::min(kRowLength, elements.size() - i);
    rows.push_back({Array, 0, {}, std::vector<Datum>(begin, begin + length)});
  }
  Datum rest = std::move(rows.back());
  rows.pop_back();
  return record({array(std::move(rows)), std::move(rest)});
}

ConstantData::ConstantData(ModuleOp module)
    : module(module), builder(OpBuilder::atBlockEnd(module.getBody())) {}

Type ConstantData::getType(const Datum &datum) {
  MLIRContext *context = module.getContext();
  switch (datum.kind) {
  case Datum::Int32:
    return builder.getI32Type();
  case Datum::Int64:
    return builder.getI64Type();
  case Datum::Byte:
    return builder.getI8Type();
  case Datum::Pointer:
    return LLVM::LLVMPointerType::get(context);
  case Datum::Array:
    return LLVM::LLVMArrayType::get(getType(datum.parts.front()),
                                    datum.parts.size());
  case Datum::Struct:
    break;
  }
  SmallVector<Type> types;
  for (const Datum &part : datum.parts)
    types.push_back(getType(part));
  return LLVM::LLVMStructType::getLiteral(context, types);
}

/// The value of `datum`; null for one that is zero, as the rest is already.
Value ConstantData::emitValue(OpBuilder &at, const Datum &datum) {
  Location loc = module.getLoc();
  Type type = getType(datum);
  if (datum.kind == Datum::Pointer)
    return datum.symbol.empty()
               ? Value()
               : LLVM::AddressOfOp::create(at, loc, type, datum.symbol);
  if (datum.kind != Datum::Struct && datum.kind != Datum::Array)
    return datum.number == 0
               ? Value()
               : LLVM::ConstantOp::create(
                     at, loc, type, at.getIntegerAttr(type, datum.number));
  Value whole = LLVM::ZeroOp::create(at, loc, type);
  for (auto [i, part] : llvm::enumerate(datum.parts))
    if (Value value = emitValue(at, part))
      whole = LLVM::InsertValueOp::create(at, loc, whole, value,
                                          static_cast<int64_t>(i));
  return whole;
}

void ConstantData::emit(StringRef name, const Datum &datum,
                        LLVM::Linkage linkage) {
  Type type = getType(datum);
  auto global =
      LLVM::GlobalOp::create(builder, module.getLoc(), type,
                             /*isConstant=*/true, linkage, name, Attribute());
  OpBuilder at(module.getContext());
  at.createBlock(&global.getInitializerRegion());
  LLVM::ReturnOp::create(at, module.getLoc(), emitValue(at, datum));
}

std::string ConstantData::add(const Datum &datum) {
  if (datum.kind == Datum::Array && datum.parts.empty())
    return {};
  std::string key;
  llvm::raw_string_ostream os(key);
  printKey(os, datum);
  std::string &name = known[key];
  if (name.empty()) {
    name = "weft_d" + std::to_string(known.size());
    emit(name, datum, LLVM::Linkage::Private);
  }
  return name;
}

std::string ConstantData::addString(StringRef text, StringRef section) {
  text = text.take_until([](char c) { return c == '\0'; });
  std::string &name = known[("\"" + section + "\"" + text).str()];
  if (name.empty()) {
    name = "weft_s" + std::to_string(known.size());
    std::string bytes = text.str();
    bytes.push_back('\0');
    auto global = LLVM::GlobalOp::create(
        builder, module.getLoc(),
        LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size()),
        /*isConstant=*/true, LLVM::Linkage::Private, name,
        builder.getStringAttr(bytes));
    if (!section.empty())
      global.setSection(section);
  }
  return name;
}

void ConstantData::define(StringRef name, const Datum &datum) {
  emit(name, datum, LLVM::Linkage::External);
}
