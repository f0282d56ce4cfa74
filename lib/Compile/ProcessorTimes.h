// SPDX-License-Identifier: Apache-2.0

// Seconds of the processor that passes and proofs take. MLIR's own timers go by
// the clock, which on a machine that others use as well says little.

#ifndef WEFT_LIB_COMPILE_PROCESSORTIMES_H
#define WEFT_LIB_COMPILE_PROCESSORTIMES_H

#include "mlir/Support/Timing.h"
#include "llvm/Support/raw_ostream.h"

#include <deque>
#include <mutex>

namespace mlir::weft {

/// Times are of all threads together: passes that run at the same time on
/// functions of a module count each other's.
class ProcessorTimes : public TimingManager {
public:
  void enable() { isEnabled = true; }

  /// Prints a line for each name, in the order in which they began, and the
  /// total; nothing unless times were taken.
  void print(raw_ostream &os) const;

protected:
  std::optional<void *> rootTimer() override;
  void startTimer(void *handle) override;
  void stopTimer(void *handle) override;
  void *nestTimer(void *handle, const void *id,
                  function_ref<std::string()> nameBuilder) override;
  void hideTimer(void *handle) override;

private:
  struct Entry {
    const void *parent = nullptr;
    std::string name;
    double begin = 0, seconds = 0;
    bool isHidden = false;
  };

  bool isEnabled = false;
  std::mutex mutex;
  /// Addresses are handles.
  std::deque<Entry> entries;
  /// The child of the total whose time is being taken.
  Entry *running = nullptr;
};

} // namespace mlir::weft

#endif // WEFT_LIB_COMPILE_PROCESSORTIMES_H
