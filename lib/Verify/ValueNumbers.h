// SPDX-License-Identifier: Apache-2.0

// What the values of planned programs are made of, as numbers: two values of
// the same or of different programs have one number only if the same ops make
// them of the same arguments. By these it is seen whether the members of a
// collective send each other the same thing, whatever the order and the places
// of their programs.
//
// A part of a value has the number of the value. That ops read the values whose
// ids they name, the proof of freshness shows.

#ifndef WEFT_LIB_VERIFY_VALUENUMBERS_H
#define WEFT_LIB_VERIFY_VALUENUMBERS_H

#include "weft/Dialect/WeftRT/IR/WeftRTDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <vector>

namespace mlir::weft::proof {

class ValueNumbers {
public:
  /// Numbers the values of a planned function. Its context is that of all.
  void add(func::FuncOp function);
  /// The numbers of what a collective of such a function sends.
  ArrayRef<uint64_t> getSent(rt::StartOp start) const {
    return sent.find(start)->second;
  }

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
  DenseMap<Operation *, SmallVector<uint64_t, 2>> sent;
  /// Of the function that is being read: by id, and scalars.
  DenseMap<int64_t, uint64_t> numbers;
  DenseMap<Value, uint64_t> scalars;
};

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_VALUENUMBERS_H
