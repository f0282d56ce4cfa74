// SPDX-License-Identifier: Apache-2.0

// What the program says about itself, as data: mesh, arguments and results,
// channels, traffic; and the descriptors of contractions and collectives.

#ifndef WEFT_LIB_CODEGEN_PROGRAM_PROGRAMTABLE_H
#define WEFT_LIB_CODEGEN_PROGRAM_PROGRAMTABLE_H

#include "ConstantData.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"
#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <array>
#include <map>

namespace mlir::weft {

namespace record {
struct weft_rt_program;
} // namespace record

class ProgramTable {
public:
  ProgramTable(ModuleOp module, func::FuncOp planned);

  /// Emits the descriptor of a contraction; gives its symbol. Fails with an
  /// error at the op if it has too many dims or types without an ABI code.
  FailureOr<std::string> addGemm(rt::GemmOp op);
  /// As addGemm, of attention or its gradient.
  FailureOr<std::string> addAttention(rt::AttentionOp op);
  /// Emits the descriptor of a collective, whose channel and traffic are noted.
  FailureOr<std::string> addCollective(rt::StartOp op, llvm::StringRef name);
  /// The number of a channel.
  int getChannel(FlatSymbolRefAttr channel);
  /// The program names this event.
  void noteEvent(int64_t event) { numEvents = std::max(numEvents, event + 1); }
  /// Emits the descriptor of a copy; gives its symbol.
  std::string addCopy(rt::CopyOp op);
  /// Emits the descriptor of a launch; gives its symbol. Lists its kernel, a
  /// function of the module. One that is only declared has its code in an
  /// image, which its attribute `weft_rt.image` names: a global of bytes, or
  /// several that are forms of one code.
  FailureOr<std::string> addLaunch(rt::LaunchOp op);
  /// Emits an error at the op if the runtime has no such elements.
  FailureOr<int64_t> getTypeCode(Operation *op, Type element);
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
  struct Kernel {
    std::string name;
    int64_t numBuffers, numScalars;
  };
  struct Traffic {
    int64_t count = 0, bytes = 0;
  };

  FailureOr<int> getKernel(rt::LaunchOp op);
  Datum getAxisRef(AxisRefAttr axis);
  Datum getAxisRefs(llvm::ArrayRef<AxisRefAttr> axes);
  FailureOr<Datum> getTensor(rt::TensorAttr tensor, llvm::StringRef name,
                             int64_t alias);
  FailureOr<Datum> getTensors(llvm::ArrayRef<rt::TensorAttr> list,
                              bool areResults);
  void addChannel(ChannelOp op);
  FailureOr<Datum> getOperand(rt::StartOp op, unsigned i, int64_t groupSize);
  LogicalResult finishKernels(record::weft_rt_program &program);
  FailureOr<int64_t> addImages(LLVM::LLVMFuncOp kernel, Attribute named);
  void noteTraffic(rt::StartOp op, int kind, int channel, int64_t groupSize);

  ModuleOp module;
  func::FuncOp planned;
  MeshAttr mesh;
  ConstantData data;
  std::vector<std::pair<std::string, Datum>> channels;
  std::map<std::pair<int, int>, Traffic> traffic;
  std::vector<Kernel> kernels;
  std::vector<Datum> images;
  llvm::DenseMap<Attribute, int64_t> numberOfImage;
  std::vector<std::string> ops;
  std::map<std::string, unsigned> unnamed; // per kind
  int64_t maxOperands = 0, numEvents = 0;
};

} // namespace mlir::weft

#endif // WEFT_LIB_CODEGEN_PROGRAM_PROGRAMTABLE_H
