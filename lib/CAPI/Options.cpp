// SPDX-License-Identifier: Apache-2.0

// The table of options for callers in C.

#include "weft-c/Weft.h"

#include "weft/Compile/Options.h"

using namespace mlir::weft;

static_assert(int(OptionKind::Flag) == WEFT_OPTION_FLAG);
static_assert(int(OptionKind::Number) == WEFT_OPTION_NUMBER);
static_assert(int(OptionKind::Bytes) == WEFT_OPTION_BYTES);
static_assert(int(OptionKind::Choice) == WEFT_OPTION_CHOICE);
static_assert(int(OptionKind::Text) == WEFT_OPTION_TEXT);
static_assert(int(OptionKind::File) == WEFT_OPTION_FILE);
static_assert(int(OptionKind::Names) == WEFT_OPTION_NAMES);
static_assert(int(OptionKind::Pairs) == WEFT_OPTION_PAIRS);
static_assert(int(OptionKind::Words) == WEFT_OPTION_WORDS);

namespace {

/// Made once, and never changed: its strings are given away.
class Table {
public:
  Table() : list(listCompileOptions(defaults)), choices(list.size()) {
    for (size_t i = 0; i < list.size(); ++i) {
      const ToolOption &option = list[i];
      for (const std::string &choice : option.choices)
        choices[i] += (choices[i].empty() ? "" : ",") + choice;
      options.push_back({option.flag.data(), option.name.c_str(),
                         static_cast<weft_option_kind>(option.kind),
                         option.value.data(), option.defaultValue.c_str(),
                         choices[i].c_str(), option.group.data(),
                         option.help.data()});
    }
  }

  const weft_option *get(size_t index) const {
    return index < options.size() ? &options[index] : nullptr;
  }

private:
  CompileOptions defaults;
  std::vector<ToolOption> list;
  std::vector<std::string> choices;
  std::vector<weft_option> options;
};

} // namespace

const weft_option *weft_get_option(size_t index) {
  static const Table table;
  return table.get(index);
}
