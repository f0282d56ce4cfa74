// SPDX-License-Identifier: Apache-2.0

// Whether keys of an attention are gathered, travel, or travel in a balanced
// ring: what a rank needs for each, and how long each takes.

#ifndef WEFT_LIB_ATTENTION_RINGFORMS_H
#define WEFT_LIB_ATTENTION_RINGFORMS_H

#include "RingPieces.h"

#include "weft/Cost/Machine.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <memory>

namespace mlir::weft {

enum class RingForm { Gathered, Ring, Balanced };

StringRef stringifyRingForm(RingForm form);

/// The plan of an attention by itself, with its gradient.
struct RingPlan {
  RingForm form;
  /// Of the arena.
  int64_t bytes = 0;
  /// Of the step; 0 if the machine has too few ranks to say.
  int64_t ns = 0;
  /// Whether that is in the room that there is.
  bool fits = true;
};

struct RingChoice {
  RingForm form = RingForm::Gathered;
  std::string reason;
};

/// Takes the fastest form, and of those that take as long, up to 2 %, the first
/// one; or the one that needs least of those that take up to 10 % longer, if it
/// needs at least `minSpared` bytes less. What does not fit is taken if nothing
/// fits, and then what needs least.
RingChoice chooseRingForm(ArrayRef<RingPlan> plans, int64_t minSpared);

/// Whether a later part of the queries sees more than an earlier one, and
/// parts can be told: they begin with those of keys, and have halves.
bool canBalance(const Ring &ring);

/// Plans attention in its forms, each kind of attention once.
class RingPlanner {
public:
  /// In a context like this one, with nobody to hear what passes say.
  RingPlanner(MLIRContext &context, const Machine &machine,
              StringRef machineName);
  ~RingPlanner();

  /// In the order of `forms`. `room` is what the arena may have; 0: any number
  /// of bytes.
  SmallVector<RingPlan> plan(const Ring &forward, ArrayRef<RingForm> forms,
                             int64_t room);

private:
  RingPlan planForm(StringRef probe, RingForm form, int64_t room);
  bool runPasses(ModuleOp probe, int64_t memoryLimit);

  const Machine &machine;
  std::string machineName;
  std::unique_ptr<MLIRContext> context;
  llvm::StringMap<RingPlan> planned;
};

} // namespace mlir::weft

#endif // WEFT_LIB_ATTENTION_RINGFORMS_H
