// SPDX-License-Identifier: Apache-2.0

// A constant is built from zero by inserting what is not zero. The text of a
// datum is its key.

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

} // namespace

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

Value ConstantData::emitLeaves(OpBuilder &at, Value whole, const Datum &datum,
                               SmallVectorImpl<int64_t> &position) {
  Location loc = module.getLoc();
  if (datum.kind == Datum::Struct || datum.kind == Datum::Array) {
    for (auto [i, part] : llvm::enumerate(datum.parts)) {
      position.push_back(i);
      whole = emitLeaves(at, whole, part, position);
      position.pop_back();
    }
    return whole;
  }
  Type type = getType(datum);
  Value leaf;
  if (datum.kind != Datum::Pointer) {
    if (datum.number == 0)
      return whole;
    leaf = LLVM::ConstantOp::create(at, loc, type,
                                    at.getIntegerAttr(type, datum.number));
  } else {
    if (datum.symbol.empty())
      return whole;
    leaf = LLVM::AddressOfOp::create(at, loc, type, datum.symbol);
  }
  return LLVM::InsertValueOp::create(at, loc, whole, leaf, position);
}

void ConstantData::emit(StringRef name, const Datum &datum,
                        LLVM::Linkage linkage) {
  Type type = getType(datum);
  auto global = LLVM::GlobalOp::create(builder, module.getLoc(), type,
                                       /*isConstant=*/true, linkage, name,
                                       Attribute());
  OpBuilder at(module.getContext());
  at.createBlock(&global.getInitializerRegion());
  Value zero = LLVM::ZeroOp::create(at, module.getLoc(), type);
  SmallVector<int64_t> position;
  LLVM::ReturnOp::create(at, module.getLoc(),
                         emitLeaves(at, zero, datum, position));
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

std::string ConstantData::addString(StringRef text) {
  std::string &name = known[("\"" + text).str()];
  if (name.empty()) {
    name = "weft_s" + std::to_string(known.size());
    std::string bytes = text.str();
    bytes.push_back('\0');
    LLVM::GlobalOp::create(
        builder, module.getLoc(),
        LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size()),
        /*isConstant=*/true, LLVM::Linkage::Private, name,
        builder.getStringAttr(bytes));
  }
  return name;
}

void ConstantData::define(StringRef name, const Datum &datum) {
  emit(name, datum, LLVM::Linkage::External);
}
