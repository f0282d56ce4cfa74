// SPDX-License-Identifier: Apache-2.0

// Which attention can become a ring, and those that did.

#ifndef WEFT_LIB_ATTENTION_RINGFINDER_H
#define WEFT_LIB_ATTENTION_RINGFINDER_H

#include "RingPieces.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::weft {

/// The attention of a module that became rings.
class RingSet {
public:
  /// What is known of one, for its gradient.
  struct Made {
    Value k, v;
    AttentionAttr config;
    FlatSymbolRefAttr mesh;
    AxesAttr axes;
    SmallVector<int64_t> steps;
    bool isBalanced = false;
    /// The log-sum-exp of each block's keys.
    SmallVector<Value> sums;
  };

  /// The forward pass that made a log-sum-exp of all keys, or null.
  const Made *find(Value sum) const;

  /// Replaces the op by its pieces.
  void build(const Ring &ring);

  /// Erases the gathers that nobody reads any more.
  void eraseGathers();

private:
  DenseMap<Value, Made> made;
  llvm::SetVector<Operation *> gathers;
};

/// Finds a ring in an op, or why there is none.
class RingFinder {
public:
  RingFinder(Operation *op, const RingSet &rings) : rings(rings) {
    ring.op = op;
    ring.shape = getAttentionShape(op);
  }

  /// Returns false if the op stays. `reason` is empty then if nothing is
  /// gathered.
  bool find();

  Ring ring;
  std::string reason;

private:
  bool keep(std::string why) {
    reason = std::move(why);
    return false;
  }
  bool findPieces();
  bool checkGradients();
  bool findKeys();
  bool mayFillRows() const;
  bool findScatters();
  bool findScatter(Value sum, AttentionTensor tensor, Ring::Reduced &reduced);
  void findSteps();
  bool findSums();
  bool startsWithPiece() const;

  const RingSet &rings;
};

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_RINGFINDER_H
