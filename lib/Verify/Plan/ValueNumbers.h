// SPDX-License-Identifier: Apache-2.0

// What the values of planned programs are made of, as numbers: two values of
// the same or of different programs have one number only if the same ops make
// them of the same arguments. By these it is seen whether the members of a
// collective send each other the same thing, whatever the order and the places
// of their programs.
//
// A part of a value has the number of the value; which part an op takes is told
// with it, and where the parts of a whole are (ValueParts.h). That ops read the
// values whose ids they name, the proof of freshness shows.

#ifndef WEFT_LIB_VERIFY_PLAN_VALUENUMBERS_H
#define WEFT_LIB_VERIFY_PLAN_VALUENUMBERS_H

#include "ValueParts.h"

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>
#include <vector>

namespace mlir::weft::proof {

class ValueNumbers {
public:
  /// What an op takes: the numbers of values, and which parts of them.
  struct Taken {
    std::vector<uint64_t> values, parts;

    bool operator==(const Taken &other) const {
      return values == other.values && parts == other.parts;
    }
  };

  /// Numbers the values of a planned program. Its context is that of all.
  void add(const PlannedProgram &program);
  /// What a collective of such a program sends.
  const Taken &getSent(rt::StartOp start) const {
    return sent.find(start)->second;
  }
  /// What a result of the program that was added last is.
  Taken getResult(const PlannedProgram &program, unsigned number);

private:
  using Key = std::vector<uint64_t>;

  uint64_t intern(const Key &key);
  void addBlock(Block &block);
  void addStep(Operation *op);
  void addScalars(Operation *op);
  void addAssemble(rt::AssembleOp op);
  void addFor(scf::ForOp loop);
  void addRegions(Operation *op, Key &key, DenseMap<Value, uint64_t> &local);
  uint64_t get(int64_t id);
  uint64_t get(Value scalar);

  std::map<Key, uint64_t> known;
  DenseMap<Operation *, Taken> sent;
  /// Of the function that is being read: by id, and scalars.
  DenseMap<int64_t, uint64_t> numbers;
  DenseMap<Value, uint64_t> scalars;
  std::optional<ValueParts> parts;
};

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PLAN_VALUENUMBERS_H
