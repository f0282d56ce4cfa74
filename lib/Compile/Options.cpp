// SPDX-License-Identifier: Apache-2.0

// The table of options, with the rules that other parts of the compiler know.

#include "weft/Compile/Options.h"

#include "weft/InitAll.h"
#include "weft/Schedule/Scheduler.h"
#include "weft/Target/Target.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::weft;

namespace {

/// The most leaves of a sum. A mesh needs one for each of its ranks, and none
/// has a million of them.
constexpr int64_t kMaxLeaves = int64_t(1) << 20;

/// A phase by its name.
struct PhaseRule {
  static constexpr OptionKind kKind = OptionKind::Choice;
  std::vector<std::string> choices = listPhases();

  std::string read(StringRef text, std::optional<Phase> &phase) const {
    std::optional<Phase> found = symbolizePhase(text);
    if (!found)
      return joinChoices(choices);
    phase = found;
    return "";
  }
  std::string show(std::optional<Phase> phase) const {
    return stringifyPhase(phase.value_or(Phase::Local)).str();
  }

private:
  static std::vector<std::string> listPhases() {
    std::vector<std::string> names;
    for (Phase phase : {Phase::Global, Phase::Local, Phase::Scheduled,
                        Phase::Planned, Phase::Target})
      names.push_back(stringifyPhase(phase).str());
    return names;
  }
};

/// A choice, with what the target is to be told.
struct TargetRule : ChoiceRule {
  std::string read(StringRef text, std::string &choice) const {
    auto [name, value] = text.split(':');
    std::string expected = ChoiceRule::read(name, choice);
    if (expected.empty() && name.size() + 1 == text.size())
      return name.str() + ":VALUE";
    if (expected.empty())
      choice = text.str();
    return expected;
  }
};

ChoiceRule makePolicyRule() {
  ChoiceRule rule;
  for (SchedulePolicy policy : {SchedulePolicy::Sync, SchedulePolicy::NextLayer,
                                SchedulePolicy::Greedy, SchedulePolicy::Best})
    rule.choices.push_back(stringifySchedulePolicy(policy));
  return rule;
}

TargetRule makeTargetRule() {
  SmallVector<StringRef> names;
  std::string listed = listTargets();
  StringRef(listed).split(names, ", ");
  TargetRule rule;
  rule.choices.assign(names.begin(), names.end());
  return rule;
}

} // namespace

std::vector<ToolOption> weft::listCompileOptions(CompileOptions &options) {
  registerAllTargets();
  std::vector<ToolOption> list;
  StringRef group;
#define GROUP(NAME) group = NAME;
#define OPTION(FIELD, TYPE, DEFAULT, FLAG, VALUE, RULE, HELP)                  \
  list.push_back(                                                              \
      makeOption(group, #FIELD, options.FIELD, FLAG, VALUE, RULE, HELP));
#include "weft/Compile/Options.def"
  return list;
}

void weft::chooseTarget(const CompileOptions &options, ModuleOp module) {
  if (options.tf32)
    module->setAttr(WeftDialect::kTF32Attr, UnitAttr::get(module.getContext()));
  StringRef old = getTargetName(module);
  auto [asked, value] = StringRef(options.target).split(':');
  StringRef name = asked.empty() ? old : asked;
  if (name != old || !module->hasAttr(WeftDialect::kTargetAttr))
    setTarget(module, name);
  if (!value.empty())
    setTargetOption(module, findTarget(name)->getMainOption(), value);
  for (StringRef pair : options.targetOptions)
    setTargetOption(module, pair.split('=').first, pair.split('=').second);
  if (!options.cpu.empty())
    setTargetOption(module, "cpu", options.cpu);
}

std::string weft::chooseMachine(const CompileOptions &options,
                                ModuleOp module) {
  if (!options.machine.empty())
    return options.machine;
  // What it will be for.
  OwningOpRef<ModuleOp> asked = ModuleOp::create(module.getLoc());
  if (Attribute target = module->getAttr(WeftDialect::kTargetAttr))
    (*asked)->setAttr(WeftDialect::kTargetAttr, target);
  chooseTarget(options, *asked);
  // One that is not known is refused elsewhere.
  const Target *target = findTarget(getTargetName(*asked));
  return target ? target->getDefaultMachine(*asked).str()
                : SchedulePassOptions().machine;
}

std::optional<OutputKind> weft::getOutputKind(StringRef path) {
  if (path == "-")
    return OutputKind::Text;
  return llvm::StringSwitch<std::optional<OutputKind>>(
             llvm::sys::path::extension(path))
      .Case(".mlir", OutputKind::Text)
      .Case(".ll", OutputKind::LLVMIR)
      .Case(".o", OutputKind::Object)
      .Case(".so", OutputKind::SharedLibrary)
      .Case("", OutputKind::Executable)
      .Default(std::nullopt);
}

std::string weft::checkOptions(const CompileOptions &options) {
  if (options.input.empty())
    return "no input file";
  if (options.output.empty())
    return "no output file: -o is missing";
  std::optional<OutputKind> kind = getOutputKind(options.output);
  if (!kind)
    return "unknown suffix '" +
           llvm::sys::path::extension(options.output).str() + "' of '" +
           options.output + "': expected .mlir, .ll, .o, .so or none";
  if (options.report == "-" ||
      (!options.report.empty() && options.report == options.output))
    return "--report needs a file of its own, not '" + options.report + "'";
  if (!options.compare.empty() && options.report.empty())
    return "--compare is for a report: --report is missing";
  for (StringRef pair : options.targetOptions)
    if (pair.find('=') == StringRef::npos || pair.front() == '=')
      return describeBadValue("--target-options", pair, "NAME=VALUE");
  CompileOptions defaults;
  if (options.invariant.empty() && (options.leaves != defaults.leaves ||
                                    options.partials != defaults.partials))
    return "--leaves and --partials are for sums with an order: --invariant is "
           "missing";
  if (options.to && *kind != OutputKind::Text)
    return "--to " + stringifyPhase(*options.to).str() + " is for text, and '" +
           options.output + "' is not";
  if (!options.header.empty() && *kind == OutputKind::Text)
    return "--emit-header is for machine code, and '" + options.output +
           "' is text";
  return "";
}

std::string weft::parseCompileOptions(ArrayRef<StringRef> arguments,
                                      CompileOptions &options) {
  std::string problem =
      parseOptions(arguments, listCompileOptions(options), options.input);
  return problem.empty() ? checkOptions(options) : problem;
}
