// SPDX-License-Identifier: Apache-2.0

// What lies in the roots at one point of a planned program, as the proof of
// planning follows it: which elements of which values of the scheduled program.
//
// Each root has *layers*, oldest first: bytes, and what they hold. A write
// hides what is below it; a name says of bytes what they hold besides. Two
// roots of the arena that share bytes are never alive at once: the first write
// to one ends what the other held.

#ifndef WEFT_LIB_VERIFY_PLAN_CONTENTS_H
#define WEFT_LIB_VERIFY_PLAN_CONTENTS_H

#include "AliveRoots.h"
#include "ElementMap.h"
#include "PlannedProgram.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::weft::proof {

struct Layer {
  enum class Kind {
    Written,
    /// A collective is about to write it.
    InFlight,
    /// What is below holds, and this as well.
    Named
  };
  Kind kind = Kind::Written;
  Spot spot;
  /// Null if nothing is known of what the bytes hold.
  std::optional<ElementMap> map;
  /// What wrote or named it; null for what the caller gives.
  Operation *op = nullptr;
  /// A later write hides some of it.
  bool isPartial = false;
};

/// A tensor, and the buffer in which it has to be.
struct Placed {
  Elements elements;
  Spot spot;
};

/// Why a tensor is not where it has to be: the layer that is there, or null.
struct Obstacle {
  const Layer *layer = nullptr;
};

class Contents {
public:
  Contents(const PlannedProgram &program, const ScalarNumbers &scalars);

  /// `elements` is null if nothing is known of what is written.
  void write(const Spot &spot, const Elements *elements, Operation *op,
             Layer::Kind kind = Layer::Kind::Written);
  void name(const Spot &spot, const Elements &elements, Operation *op);
  /// What a collective was about to write is there.
  void arrive(rt::StartOp start, unsigned root);

  /// Says why a tensor is not where it has to be. Bytes that hold one of
  /// `others`, which lie in the same root, do not count.
  std::optional<Obstacle> find(const Placed &wanted,
                               ArrayRef<Placed> others = {}) const;
  /// All that a buffer is known to hold.
  SmallVector<Elements> getAll(const Spot &spot) const;

  /// Remembers what changes from here on, until `restore` takes it back.
  void open();
  void restore();

private:
  struct RootState {
    bool isAlive = false;
    SmallVector<Layer, 2> layers;
  };
  using Saved = llvm::MapVector<unsigned, RootState>;

  void save(unsigned root);
  void set(unsigned root, RootState state);
  void claim(unsigned root);
  bool holds(const Layer &layer, const Placed &placed) const;

  const ScalarNumbers &scalars;
  std::vector<RootState> states;
  AliveRoots alive;
  std::vector<Saved> scopes;
};

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PLAN_CONTENTS_H
