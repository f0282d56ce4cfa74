// SPDX-License-Identifier: Apache-2.0

// Takes the schedule's figures from the function's attribute `weft.schedule`,
// and times, memory and communication from the simulator.

#include "weft/Report/MakeReport.h"

#include "Format.h"
#include "weft/Analysis/PlanSummary.h"
#include "weft/Dialect/Weft/IR/WeftDialect.h"

#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// Hands remarks on to a log. The context that owns it may live longer than the
/// compilation that reads the log.
class LogStreamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit LogStreamer(std::shared_ptr<RemarkLog> log) : log(std::move(log)) {}
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    log->add(remark);
  }

private:
  std::shared_ptr<RemarkLog> log;
};

/// "step.mlir:12", without a folder; empty if it is not known.
std::string getPlace(Location loc) {
  auto place = loc->findInstanceOf<FileLineColLoc>();
  if (!place)
    return "";
  return llvm::sys::path::filename(place.getFilename()).str() + ":" +
         std::to_string(place.getLine());
}

/// "fsdp=2, tp=4"
std::string describeMesh(MeshAttr mesh) {
  std::string text;
  for (MeshAxisAttr axis : mesh.getAxes())
    text += (text.empty() ? "" : ", ") + axis.getName().str() + "=" +
            std::to_string(axis.getSize());
  return text;
}

std::optional<int64_t> getNumber(DictionaryAttr figures, StringRef name) {
  auto number = figures.getAs<IntegerAttr>(name);
  return number ? std::optional<int64_t>(number.getInt()) : std::nullopt;
}

/// Why a collective is exposed, as a remark about it.
void addReason(DictionaryAttr wait, Report &report) {
  auto op = wait.getAs<StringAttr>("op"), why = wait.getAs<StringAttr>("why");
  std::optional<int64_t> exposed = getNumber(wait, "exposed_ns");
  if (op && why && exposed)
    report.remarks.push_back(
        {op.str(), "exposed " + formatTime(*exposed) + ": " + why.str(), ""});
}

void addRecomputed(ArrayAttr rows, Report &report) {
  for (Attribute row : rows)
    if (auto fields = dyn_cast<DictionaryAttr>(row))
      if (auto what = fields.getAs<StringAttr>("what"))
        report.recomputed.push_back({what.str(),
                                     getNumber(fields, "count").value_or(0),
                                     getNumber(fields, "ns").value_or(0),
                                     getNumber(fields, "bytes").value_or(0)});
}

/// Adds what the scheduler knows.
void addFigures(DictionaryAttr figures, Report &report) {
  if (auto policy = figures.getAs<StringAttr>("policy"))
    report.policy = policy.str();
  if (auto exposed = figures.getAs<ArrayAttr>("exposed"))
    for (auto wait : exposed.getAsRange<DictionaryAttr>())
      addReason(wait, report);
  if (auto rows = figures.getAs<ArrayAttr>("recomputed"))
    addRecomputed(rows, report);
  auto machine = figures.getAs<StringAttr>("machine");
  if (!machine || machine != report.machine)
    return;
  report.criticalPathNs = getNumber(figures, "bound_path_ns");
  int64_t most = getNumber(figures, "bound_heads_and_tails_ns").value_or(0);
  for (auto [name, term] :
       {std::pair("bound_work_and_waits_ns", "work and waits"),
        std::pair("bound_two_paths_ns", "two paths")})
    if (int64_t bound = getNumber(figures, name).value_or(0); bound > most) {
      most = bound;
      report.boundTerm = term;
    }
  if (std::optional<int64_t> limit = getNumber(figures, "memory_limit"))
    if (*limit > 0)
      report.memoryLimit = limit;
}

} // namespace

void RemarkLog::add(const remark::detail::Remark &remark) {
  // The function's attribute has these, also of a step that comes scheduled.
  if (remark.getCategoryName() == "weft-schedule" &&
      remark.getRemarkName() == "exposed")
    return;
  ReportRemark entry;
  for (const remark::detail::Remark::Arg &arg : remark.getArgs()) {
    if (arg.key == "op")
      entry.op = arg.val;
    else if (arg.key == "Remark")
      entry.text += arg.val;
    else if (entry.text.find(arg.val) == std::string::npos)
      entry.text += " (" + arg.key + " " + arg.val + ")";
  }
  entry.place = getPlace(remark.getLocation());
  // Remarks about one place may differ in their texts alone.
  std::string key =
      (remark.getCategoryName() + "\n" + remark.getRemarkName() + "\n" +
       entry.op + "\n" + (entry.op.empty() ? entry.place + entry.text : ""))
          .str();
  auto [index, isNew] = indices.try_emplace(key, list.size());
  if (isNew)
    list.push_back(std::move(entry));
  else
    list[index->second] = std::move(entry);
}

std::vector<ReportRemark> RemarkLog::take() {
  indices.clear();
  return std::exchange(list, {});
}

std::shared_ptr<RemarkLog> weft::logRemarks(MLIRContext &context, bool print) {
  auto log = std::make_shared<RemarkLog>();
  // Each kind has a filter; the one for all alone enables none.
  remark::RemarkCategories categories{".*", ".*", ".*", ".*", ".*"};
  return succeeded(remark::enableOptimizationRemarks(
             context, std::make_unique<LogStreamer>(log),
             std::make_unique<remark::RemarkEmittingPolicyAll>(), categories,
             print))
             ? log
             : nullptr;
}

/// The mesh of a module, or null.
static MeshAttr getMesh(ModuleOp module) {
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshAttr() : (*meshes.begin()).getMesh();
}

Report weft::makeReport(func::FuncOp step, const Machine &machine,
                        Timeline timeline) {
  Report report;
  if (MeshAttr mesh = getMesh(step->getParentOfType<ModuleOp>()))
    report.mesh = describeMesh(mesh);
  report.timeline = std::move(timeline);
  report.machine = machine.name;
  if (machine.memoryBytes > 0)
    report.machineBytes = machine.memoryBytes;
  report.neededBytes = summarizePlan(step).getTotalBytes();
  if (auto figures =
          step->getAttrOfType<DictionaryAttr>(WeftDialect::kScheduleAttr))
    addFigures(figures, report);
  return report;
}

FailureOr<Report> weft::makeReport(ModuleOp module, const Machine &machine) {
  MeshAttr mesh = getMesh(module);
  std::string problem = machine.checkRanks(mesh ? mesh.getNumRanks() : 1);
  if (!problem.empty())
    return module.emitError("cannot be simulated: ") << problem;
  for (auto step : module.getOps<func::FuncOp>())
    if (!step.isExternal() && step.isPublic())
      return makeReport(step, machine,
                        simulate(step, CostModel(machine, mesh)).timeline);
  return module.emitError("has no function to report on");
}
