// SPDX-License-Identifier: Apache-2.0

// What programs are compiled for. A target is named by the module's attribute
// `weft.target` (#weft.target<"host">, the default), which travels with it, so
// that text of any phase can be taken up where it stopped. Passes that all
// targets share ask it for what differs: which contractions it has, how large a
// kernel may be, what a kernel may overwrite, and for the code of kernels.
//
// There is one object of each target, which lives as long as the program; it
// has no state, and may be asked from several threads. Each of its questions is
// about one module, whose #weft.target may have options, and errors are emitted
// there. The option `cpu` is every target's: what calls the backend runs on
// one.

#ifndef WEFT_TARGET_TARGET_H
#define WEFT_TARGET_TARGET_H

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <memory>
#include <optional>
#include <string>

namespace mlir::weft {

struct KernelShape;

/// What may be fused into one kernel.
struct FusionLimits {
  /// Bytes that one row of a kernel may keep for its later phases.
  int64_t scratchBytes = 0;
  unsigned numOps = 0;
  /// What a kernel may cost to compile: an instruction is 1, a formula 32.
  size_t compileCost = 0;
  /// Kernels that read one tensor in blocks of different shapes become one. It
  /// reads the tensor once, and walks in blocks: rows of a few elements each,
  /// far from each other, of which a core's first-level cache holds few.
  bool alignsViews = false;
  /// A long sum without an order that is one of few becomes two kernels: about
  /// so many sums of parts, and what joins them. 0: sums stay whole.
  int64_t sumParts = 0;
  /// Kernels stay apart if one would be a row with several results of a sum,
  /// each of which is one thread's, and little is handed on between them or the
  /// sums are as long as those that are cut into parts.
  bool spreadsSums = false;
  /// Numbers of several tensors that one collective waits for are made by one
  /// kernel, one after the other.
  bool joinsNumbers = false;
  /// How the target cuts a kernel's rows before it makes code of it: what later
  /// phases read is as much as a part has. Null: rows stay whole.
  void (*tileRows)(KernelShape &) = nullptr;
};

/// The buffers of a kernel: each that its op takes once.
struct KernelBuffers {
  /// For each buffer operand of the op, which buffer it is.
  llvm::SmallVector<unsigned> indexOf;
  /// For each buffer: no other one overlaps it, or none of them is written.
  llvm::SmallVector<bool> isPrivate;
  /// Whether all buffers start at a multiple of 16 bytes; none if only a run of
  /// the program tells.
  std::optional<bool> areAligned;
};

/// The code of parts of launches, which those that are alike have in common.
struct PartCode {
  /// For the name of its function: that of the first launch that has it.
  std::string name;
  /// How many blocks run it: what emitTogether said; 0 before there is code.
  int64_t numBlocks = 0;
};

/// One of the kernels that a launch runs at one time.
struct LaunchPart {
  rt::FusedOp op;
  /// In this launch and in others; the outliner's.
  PartCode *code = nullptr;
  KernelBuffers buffers;
  /// Which of the launch's buffers and scalars are its own, in order.
  llvm::SmallVector<unsigned> bufferNumbers, scalarNumbers;
};

class Target {
public:
  virtual ~Target() = default;

  /// The name in #weft.target.
  virtual llvm::StringRef getName() const = 0;

  /// The backend of the runtime that its programs run on.
  virtual llvm::StringRef getBackend(ModuleOp module) const {
    return getName();
  }

  /// The option that `--target NAME:VALUE` of a command line means.
  virtual llvm::StringRef getMainOption() const { return "cpu"; }

  /// The CPU that a program's code on the host is for unless the option `cpu`
  /// says another: "native", or a name that LLVM knows on each architecture.
  virtual llvm::StringRef getDefaultCPU() const { return "native"; }

  /// Checks the options of the module's #weft.target; see checkCPU in
  /// weft/Codegen/Machine/MachineCode.h.
  virtual LogicalResult verifyOptions(ModuleOp module) const = 0;

  /// The name of the shipped machine that programs are ordered for unless
  /// another is asked for; see docs/machines.md.
  virtual llvm::StringRef getDefaultMachine(ModuleOp module) const = 0;

  // Decisions.

  /// Says whether a weft.matmul of such elements is one op of the runtime.
  virtual bool supportsGemm(ModuleOp module, Type lhs, Type rhs,
                            Type result) const = 0;

  virtual FusionLimits getFusionLimits(ModuleOp module) const = 0;

  /// Says whether a kernel may write `output`, which it computes, over `input`:
  /// docs/memory-plan.md, "Updates in place".
  virtual bool mayUpdateInPlace(const KernelShape &shape, Value input,
                                Value output) const = 0;

  /// How many buffers and scalars a launch may have that runs several kernels;
  /// 0: each kernel is a launch of its own.
  virtual unsigned getLaunchOperands(ModuleOp module) const { return 0; }

  /// Says whether a kernel may be one of several in a launch.
  virtual bool mayShareLaunch(const KernelShape &shape) const { return false; }

  /// Says whether what is on the stream of a channel never holds up who
  /// enqueues it, so that it is best enqueued as early as it can run.
  virtual bool hasStreams() const { return false; }

  // Code.

  /// Makes the function `name` of a weft_rt.fused or weft_rt.scatter_add on
  /// buffers, at the builder's place in the module, and says how to launch it.
  virtual FailureOr<rt::LaunchConfig>
  emitKernel(OpBuilder &builder, Operation *op, llvm::StringRef name,
             const KernelBuffers &buffers) const = 0;

  /// Makes the function `name` of kernels that are one launch of `numBuffers`
  /// buffers and of scalars of these types. Asked where getLaunchOperands is
  /// not 0.
  virtual FailureOr<rt::LaunchConfig>
  emitTogether(OpBuilder &builder, llvm::ArrayRef<LaunchPart> parts,
               llvm::StringRef name, unsigned numBuffers,
               TypeRange scalars) const {
    return failure();
  }

  /// Adds the passes from `planned` to the LLVM dialect: the entry, the table,
  /// and the kernels as functions or as images in the table. How that becomes a
  /// file is the same for all targets; see weft/Codegen/Machine/MachineCode.h.
  virtual void buildLowerPipeline(ModuleOp module, OpPassManager &pm) const = 0;
};

/// Makes a target known. Of two with the same name the first stays.
void registerTarget(std::unique_ptr<Target> target);

/// Names of the known targets, sorted, with commas.
std::string listTargets();

/// The target of that name, or null.
const Target *findTarget(llvm::StringRef name);

/// The module's target. Emits an error at the module if it is not known, or
/// does not know its options; null then.
const Target *lookupTarget(ModuleOp module);

/// The name of the module's target: the default one's if it does not say.
StringRef getTargetName(ModuleOp module);

/// Makes `name` the module's target, without options but `cpu`.
void setTarget(ModuleOp module, llvm::StringRef name);

/// Sets the option `name` of the module's #weft.target.
void setTargetOption(ModuleOp module, llvm::StringRef name,
                     llvm::StringRef value);

/// The options of the module's #weft.target but `cpu`; empty if it has none.
DictionaryAttr getOwnTargetOptions(ModuleOp module);

/// The option `name` of the module's #weft.target; null if it has none.
StringAttr getTargetOption(ModuleOp module, llvm::StringRef name);

} // namespace mlir::weft

#endif // WEFT_TARGET_TARGET_H
