// SPDX-License-Identifier: Apache-2.0

// Constant data of the program: C structs of weft-rt/abi.h as globals of the
// LLVM dialect. Equal data is emitted once.

#ifndef WEFT_LIB_CODEGEN_PROGRAM_CONSTANTDATA_H
#define WEFT_LIB_CODEGEN_PROGRAM_CONSTANTDATA_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace mlir::weft {

/// A number, the address of a global or function, or a struct or array of such.
struct Datum {
  enum Kind { Int32, Int64, Byte, Pointer, Struct, Array } kind = Int64;
  int64_t number = 0;
  /// Pointer: the symbol; empty for null.
  std::string symbol;
  std::vector<Datum> parts;

  static Datum i32(int64_t value) { return {Int32, value, {}, {}}; }
  static Datum i64(int64_t value) { return {Int64, value, {}, {}}; }
  /// A number of 1, 4 or 8 bytes.
  static Datum integer(int64_t value, size_t numBytes) {
    return {numBytes == 1   ? Byte
            : numBytes == 4 ? Int32
                            : Int64,
            value,
            {},
            {}};
  }
  static Datum pointer(llvm::StringRef symbol) {
    return {Pointer, 0, symbol.str(), {}};
  }
  /// A struct of one field lies in memory as the field does.
  static Datum record(std::vector<Datum> fields) {
    if (fields.size() == 1)
      return std::move(fields.front());
    return {Struct, 0, {}, std::move(fields)};
  }
  /// A long one is rows and a rest, which lie in memory as it does.
  static Datum array(std::vector<Datum> elements);
};

class ConstantData {
public:
  explicit ConstantData(ModuleOp module);

  /// Emits `datum` as a private constant; gives its symbol. An empty array has
  /// no symbol.
  std::string add(const Datum &datum);
  /// Emits a string up to its first zero, which ends it, in a section of its
  /// own if that has a name; gives its symbol.
  std::string addString(llvm::StringRef text, llvm::StringRef section = "");
  Datum text(llvm::StringRef text, llvm::StringRef section = "") {
    return Datum::pointer(addString(text, section));
  }
  Datum list(std::vector<Datum> elements) {
    return Datum::pointer(add(Datum::array(std::move(elements))));
  }
  /// Emits `datum` under a name of its own, visible from outside.
  void define(llvm::StringRef name, const Datum &datum);

private:
  Type getType(const Datum &datum);
  void emit(llvm::StringRef name, const Datum &datum, LLVM::Linkage linkage);
  Value emitValue(OpBuilder &at, const Datum &datum);

  ModuleOp module;
  OpBuilder builder;
  llvm::StringMap<std::string> known;
};

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_PROGRAM_CONSTANTDATA_H
