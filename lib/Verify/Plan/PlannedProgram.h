// SPDX-License-Identifier: Apache-2.0

// A planned function as the proofs see it: blocks of memory (*roots*), the
// bytes of each view of them (*places*), and for each op which places it reads
// and writes. All of it is read off the ops' own text; nothing is taken over
// from the planner.
//
// Worked example:
//   %w = weft_rt.buffer argument 0 "w" : memref<8x16xf32>    root 0, 512 bytes
//   %y = weft_rt.buffer arena 64 "y" : memref<8x4xf32>       root 1, 128 bytes
//   %x = weft_rt.view %w at 32 : ... to memref<4x16xf32>     root 0, 128..384
//   weft_rt.gemm %x, %b into %y ...      reads root 0 at 128..384, writes root
//   1
//
// The arenas, the arguments and the results are laid out one after another in
// one address space, so that "the same byte" is a question about numbers.

#ifndef WEFT_LIB_VERIFY_PLAN_PLANNEDPROGRAM_H
#define WEFT_LIB_VERIFY_PLAN_PLANNEDPROGRAM_H

#include "ByteSet.h"

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/AnalysisManager.h"
#include "llvm/ADT/DenseMap.h"

#include <deque>
#include <string>

namespace mlir::weft::proof {

struct Root {
  rt::BufferOp op;
  int64_t bytes = 0;
  /// First byte in the address space of all roots.
  int64_t begin = 0;
  /// In the host's memory: in its arena, or an argument that lies there.
  bool isOnHost = false;

  bool isArgument() const {
    return rt::BufferOp(op).getSpace() == rt::Space::Argument;
  }
  /// In the arena or that of the host: it may share its bytes with others.
  bool isArena() const {
    rt::Space space = rt::BufferOp(op).getSpace();
    return space == rt::Space::Arena || space == rt::Space::Host;
  }
};

/// The bytes of a buffer.
struct Place {
  unsigned root = 0;
  /// Counted from the beginning of the root.
  ByteSet region;
  /// Where it begins is only known at run time; `region` is all of the root.
  bool isDynamic = false;
  /// Of a dynamic place: what is added at run time to where `shifted` begins.
  Value shift;
  ByteSet shifted;

  /// Says whether the bytes are surely the same, in the same order or not.
  bool operator==(const Place &other) const {
    return root == other.root && region == other.region &&
           isDynamic == other.isDynamic &&
           (!isDynamic ||
            (shift && shift == other.shift && shifted == other.shifted));
  }
};

/// What an op does with one of its buffers.
struct Access {
  Value buffer;
  const Place *place = nullptr;
  /// Position among the op's buffers, which is that of its value id.
  unsigned number = 0;
  bool reads = false, writes = false;
};

using AccessList = SmallVector<Access, 6>;

class PlannedProgram {
public:
  /// Reads the function. An op that the proofs know nothing about is reported.
  explicit PlannedProgram(Operation *function);

  /// Says whether every op is known; the rest means nothing otherwise.
  bool isValid() const { return valid; }
  func::FuncOp getFunction() const { return function; }
  ArrayRef<Root> getRoots() const { return roots; }
  const Root &getRoot(const Place &place) const { return roots[place.root]; }
  /// Bytes of the arena, or of the host's, that a root lies in.
  int64_t getArenaBytes(const Root &root) const {
    return root.isOnHost ? hostBytes : arenaBytes;
  }
  /// Where in the arena, or the host's, a root begins.
  int64_t getArenaBegin(const Root &root) const {
    return root.begin - (root.isOnHost ? hostBegin : 0);
  }

  /// The places that `op` touches, in the order of its buffer operands. An
  /// operand that is a constant of the module has no entry.
  AccessList getAccesses(Operation *op) const;
  /// The place of a buffer of this function.
  const Place &getPlace(Value buffer) const;

  /// What a person calls a root.
  std::string getName(const Root &root) const;
  /// Describes bytes of a root: "bytes 64 to 128 of 'x'".
  std::string describe(const Place &place) const;

private:
  LogicalResult checkBuffers(Operation *op);
  void readOp(Operation *op);
  bool isOnHost(rt::BufferOp op) const;
  void addRoot(rt::BufferOp op);
  void addView(rt::ViewOp op);
  void layOutRoots();

  func::FuncOp function;
  bool valid = true;
  int64_t arenaBytes = 0, hostBytes = 0;
  /// Where the host's arena lies in the address space of all roots.
  int64_t hostBegin = 0;
  SmallVector<Root> roots;
  std::deque<Place> places;
  DenseMap<Value, const Place *> placeOf;
};

/// Runs a proof on each planned function of a module. `analyses` are the
/// module's; the proofs share what they read of a function.
template <typename Proof>
LogicalResult proveEach(ModuleOp module, AnalysisManager analyses) {
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr("weft_rt.arena_bytes"))
      continue;
    auto &program = analyses.getChildAnalysis<PlannedProgram>(function);
    if (!program.isValid() || failed(Proof(program).run()))
      return failure();
  }
  return success();
}

/// Elements from one subscript of a buffer to the next, per dim.
SmallVector<int64_t> getStrides(MemRefType type);

/// What a person calls an op: its `weft.op`, else its kind.
std::string getOpName(Operation *op);

/// Says whether the op touches memory, or orders what does.
bool isStep(Operation *op);

/// The start of a wait's ticket; null if it is not one.
rt::StartOp getStart(rt::WaitOp wait);

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PLAN_PLANNEDPROGRAM_H
