// SPDX-License-Identifier: Apache-2.0

// What the program says about itself, as data: mesh, arguments and results,
// channels, traffic; and the descriptors of contractions and collectives.

#ifndef WEFT_LIB_CONVERSION_WEFTTOHOST_PROGRAMTABLE_H
#define WEFT_LIB_CONVERSION_WEFTTOHOST_PROGRAMTABLE_H

#include "ConstantData.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <array>
#include <map>

namespace mlir::weft {

class ProgramTable {
public:
  ProgramTable(ModuleOp module, func::FuncOp planned);

  /// Emits the descriptor of a contraction; gives its symbol. Fails with an
  /// error at the op if it has too many dims or types without an ABI code.
  FailureOr<std::string> addGemm(rt::GemmOp op);
  /// Emits the descriptor of a collective, whose channel and traffic are noted.
  FailureOr<std::string> addCollective(rt::StartOp op, llvm::StringRef name);
  /// Lists an op that takes time and gives its number, for calls. Its name is
  /// its 'weft.op', or else `fallback`; of ops without either, the kind and a
  /// number.
  int addOp(Operation *op, llvm::StringRef kind, llvm::StringRef fallback = "");
  llvm::StringRef getOpName(int op) const { return ops[op]; }
  /// Emits `weft_program`.
  LogicalResult finish(llvm::ArrayRef<uint8_t> planHash,
                       llvm::StringRef entrySymbol);

  MeshAttr getMesh() const { return mesh; }

private:
  struct Traffic {
    int64_t count = 0, bytes = 0;
  };

  FailureOr<int64_t> getTypeCode(Operation *op, Type element);
  Datum getAxisRef(AxisRefAttr axis);
  Datum getAxisRefs(llvm::ArrayRef<AxisRefAttr> axes);
  bool isOf(ShardingAttr sharding, int64_t rank);
  FailureOr<Datum> getTensor(DictionaryAttr entry, int64_t alias);
  FailureOr<Datum> getTensors(ArrayAttr entries, bool areResults);
  void addChannel(ChannelOp op);
  FailureOr<int> getChannel(rt::StartOp op);
  FailureOr<Datum> getOperand(rt::StartOp op, unsigned i, int64_t groupSize);
  void noteTraffic(rt::StartOp op, int kind, int channel, int64_t groupSize);

  ModuleOp module;
  func::FuncOp planned;
  MeshAttr mesh;
  ConstantData data;
  std::vector<std::pair<std::string, Datum>> channels;
  std::map<std::pair<int, int>, Traffic> traffic;
  std::vector<std::string> ops;
  std::map<std::string, unsigned> unnamed; // per kind
  int64_t maxOperands = 0;
};

} // namespace mlir::weft

#endif // WEFT_LIB_CONVERSION_WEFTTOHOST_PROGRAMTABLE_H
