// SPDX-License-Identifier: Apache-2.0

// Which value lies where, at one point of a planned program.
//
// Each root has *patches*, oldest first: bytes, the id of the value that they
// hold, and which elements of it (Layouts.h). What a byte holds is said by the
// newest patch that covers it.
//
// Worked example, with a root of 512 bytes:
//   a kernel writes value 7 to all of it       [0..512: 7]
//   a copy writes value 9 to 128..256          [0..512: 7] [128..256: 9]
//   assemble says that 7 and 9 are value 10    ... [0..512: named 10]
//   now reads of 10 are right everywhere, reads of 9 at 128..256, and reads
//   of 7 nowhere: a part of it was overwritten.
//
// A name adds to what lies below it; a write hides it. Where ways through the
// program meet, a root has the patches of each *way*; a read must be right in
// all of them.
//
// Two roots of the arena that share bytes are never alive at once: the first
// write to one ends what the other held.

#ifndef WEFT_LIB_VERIFY_PLAN_VALUESTATE_H
#define WEFT_LIB_VERIFY_PLAN_VALUESTATE_H

#include "AliveRoots.h"
#include "Layouts.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <optional>

namespace mlir::weft::proof {

struct Patch {
  enum class Kind {
    /// The bytes hold the value.
    Written,
    /// A collective is about to write the value.
    InFlight,
    /// Some of the bytes may have got the value, others hold what they held.
    MayBeWritten,
    /// The bytes hold the value, under whichever names they had before too.
    Named
  };
  Kind kind = Kind::Written;
  ByteSet bytes;
  int64_t id = -1;
  /// Which elements of the value.
  const Layout *layout = nullptr;
  /// What wrote or named it; null for what the caller gives.
  Operation *op = nullptr;
  /// A later write hides a part of it.
  bool isPartial = false;
  /// Of a place that is only known at run time: see Place. `bytes` are all that
  /// it may be.
  bool isDynamic = false;
  Value shift;
  ByteSet shifted;

  bool operator==(const Patch &other) const {
    return kind == other.kind && id == other.id && bytes == other.bytes &&
           isPartial == other.isPartial && isDynamic == other.isDynamic &&
           shift == other.shift && shifted == other.shifted &&
           (layout == other.layout || *layout == *other.layout);
  }
};

using Patches = SmallVector<Patch, 2>;

struct RootState {
  /// Its bytes are its own: no other root has been written there since.
  bool isAlive = false;
  SmallVector<Patches, 1> ways;
  /// What took its bytes, and for which root.
  Operation *takenBy = nullptr;
  unsigned takenFor = 0;
};

/// What bytes have to hold: elements of a value.
struct Wanted {
  int64_t id;
  const Layout *layout;
  /// Elsewhere they would be in the place of others that are wanted.
  bool isOnlyThere = false;
};

/// Why a read is wrong: the patch that it meets, or null if nothing was
/// written there.
struct Mismatch {
  const Patch *patch = nullptr;
  /// It is of the value that is wanted, but of other elements.
  bool isOtherPart = false;
};

class ValueState {
public:
  /// The caller's arguments are there, argument i under the id i.
  ValueState(const PlannedProgram &program, Layouts &layouts);

  void write(const Wanted &written, Operation *op,
             Patch::Kind kind = Patch::Kind::Written);
  /// Gives what lies there one more name.
  void name(const Wanted &named, Operation *op);
  /// What `start` was about to write to the root is there.
  void arrive(unsigned root, Operation *start);

  /// Says why not all bytes of the place hold one of `wanted`; nullopt if they
  /// do.
  std::optional<Mismatch> find(const Place &place,
                               ArrayRef<Wanted> wanted) const;
  /// Says whether the place is put together of all of `parts`. If the first one
  /// was there as a whole, the others were written into it since.
  bool hasAll(const Place &place, ArrayRef<Wanted> parts) const;
  const RootState &get(unsigned root) const { return states[root]; }

  /// Begins a piece of the program after which another way comes back to here.
  void open();
  /// Ends it where it began, as a pass of a loop does: what was there holds or
  /// what is there now. Says whether that is more than what was there. `body`
  /// is the pass: numbers that it computes are other ones in the next.
  bool closeLoop(Region &body);
  /// Ends the first of two branches: goes back to where it began.
  void switchBranch();
  /// Ends the second: what either branch left holds.
  void closeBranches();

private:
  /// The states that an open piece has changed, as they were before it, and
  /// those that the first branch left.
  struct Scope {
    llvm::MapVector<unsigned, RootState> before, firstBranch;
  };

  void save(unsigned root);
  void set(unsigned root, const RootState &state);
  void claim(unsigned root, Operation *op);
  void popScope();

  std::vector<RootState> states;
  AliveRoots alive;
  std::vector<Scope> scopes;
  /// Values of no bytes, which lie nowhere.
  llvm::DenseSet<int64_t> emptyIds;
};

} // namespace mlir::weft::proof

#endif // WEFT_LIB_VERIFY_PLAN_VALUESTATE_H
