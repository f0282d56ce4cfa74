// SPDX-License-Identifier: Apache-2.0

// One line per figure, then the collectives that cost most.

#include "weft/Schedule/Figures.h"

#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Nanoseconds as in "1.234 ms".
std::string inMs(int64_t ns) {
  return llvm::formatv("{0:F3} ms", static_cast<double>(ns) / 1e6).str();
}

/// `part` of `whole` in percent, or `none` if there is no whole.
double inPercent(int64_t part, int64_t whole, double none) {
  return whole == 0
             ? none
             : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

class Printer {
public:
  Printer(DictionaryAttr figures, raw_ostream &os) : figures(figures), os(os) {}

  void print(int maxExposed) {
    os << "schedule '" << text(figures, "policy") << "' for machine '"
       << text(figures, "machine") << "':\n";
    int64_t step = number("step_ns"), bound = number("bound_ns");
    os << "  step         " << inMs(step) << "\n";
    os << llvm::formatv("  lower bound  {0}, gap {1:F2} %, by {2}\n",
                        inMs(bound), inPercent(step - bound, bound, 0),
                        getBindingTerm(bound));
    os << "    compute " << inMs(number("compute_ns")) << ", busiest link "
       << inMs(number("bound_link_ns")) << ", longest path "
       << inMs(number("bound_path_ns")) << ", heads and tails "
       << inMs(number("bound_heads_and_tails_ns")) << ", work and waits "
       << inMs(number("bound_work_and_waits_ns")) << ", two paths "
       << inMs(number("bound_two_paths_ns")) << "\n";
    int64_t hideable = number("hideable_ns");
    int64_t avoidable = std::max<int64_t>(0, step - bound);
    os << llvm::formatv("  exposed      {0} of {1} communication; {2:F2} % of "
                        "what can be hidden is hidden\n",
                        inMs(number("exposed_ns")),
                        inMs(number("communication_ns")),
                        100 - inPercent(avoidable, hideable, 0));
    os << "  memory       " << number("peak_bytes") << " B, of which "
       << number("fixed_bytes") << " B are arguments and results\n";
    int64_t limit = number("memory_limit"), numKept = number("kept_gathers");
    if (limit > 0)
      os << "    limit " << limit << " B, ";
    if (limit > 0 || numKept > 0)
      os << (limit > 0 ? "" : "    ") << numKept
         << " gathers kept from the forward pass\n";
    printWithinLimit(step,
                     hideable - (number("bound_within_limit_ns") - bound));
    printExposed(maxExposed);
    printRecomputed(maxExposed);
  }

private:
  /// Which of the bounds is the largest.
  StringRef getBindingTerm(int64_t bound) const {
    if (number("compute_ns") >= bound)
      return "compute";
    if (number("bound_link_ns") >= bound)
      return "the busiest link";
    if (number("bound_path_ns") >= bound)
      return "the longest path";
    if (number("bound_heads_and_tails_ns") >= bound)
      return "heads and tails";
    return number("bound_work_and_waits_ns") >= bound ? "work and waits"
                                                      : "two paths";
  }

  /// Where less can be hidden for want of memory, how much of that is hidden.
  void printWithinLimit(int64_t step, int64_t hideable) {
    int64_t bound = number("bound_within_limit_ns");
    if (bound <= number("bound_ns"))
      return;
    int64_t avoidable = std::max<int64_t>(0, step - bound);
    os << llvm::formatv("    in so much memory {0} at least, gap {1:F2} %; "
                        "{2:F2} % of what can be hidden in it is hidden\n",
                        inMs(bound), inPercent(avoidable, bound, 0),
                        100 - inPercent(avoidable, hideable, 0));
  }

  void printExposed(int maxExposed) {
    auto exposed = figures.getAs<ArrayAttr>("exposed");
    for (Attribute one : exposed.getValue().take_front(maxExposed)) {
      auto wait = cast<DictionaryAttr>(one);
      int64_t ns = wait.getAs<IntegerAttr>("exposed_ns").getInt();
      os << "    " << inMs(ns) << "  " << text(wait, "op") << ": "
         << text(wait, "why") << "\n";
    }
    int more = static_cast<int>(exposed.size()) - maxExposed;
    if (more > 0)
      os << "    and " << more << " more that are waited for\n";
  }

  void printRecomputed(int maxRows) {
    auto recomputed = figures.getAs<ArrayAttr>("recomputed");
    if (!recomputed)
      return;
    int64_t count = 0, ns = 0, bytes = 0;
    for (Attribute row : recomputed) {
      count += number(row, "count");
      ns += number(row, "ns");
      bytes += number(row, "bytes");
    }
    os << "  computed again, not kept: " << count << " ops, " << inMs(ns)
       << ", for " << bytes << " B\n";
    for (Attribute row : recomputed.getValue().take_front(maxRows))
      if (auto fields = dyn_cast<DictionaryAttr>(row))
        os << "    " << inMs(number(row, "ns")) << "  " << text(fields, "what")
           << ": " << number(row, "count") << " times, for "
           << number(row, "bytes") << " B\n";
  }

  static int64_t number(Attribute from, StringRef name) {
    auto fields = dyn_cast<DictionaryAttr>(from);
    auto value = fields ? fields.getAs<IntegerAttr>(name) : IntegerAttr();
    return value ? value.getInt() : 0;
  }

  int64_t number(StringRef name) const { return number(figures, name); }

  static StringRef text(DictionaryAttr from, StringRef name) {
    auto value = from.getAs<StringAttr>(name);
    return value ? value.getValue() : "";
  }

  DictionaryAttr figures;
  raw_ostream &os;
};

} // namespace

void mlir::weft::printSchedule(func::FuncOp func, int maxExposed,
                               raw_ostream &os) {
  auto figures =
      func->getAttrOfType<DictionaryAttr>(WeftDialect::kScheduleAttr);
  if (figures && figures.getAs<ArrayAttr>("exposed"))
    Printer(figures, os).print(maxExposed);
}
