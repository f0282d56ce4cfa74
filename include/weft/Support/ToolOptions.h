// SPDX-License-Identifier: Apache-2.0

// Options of a tool as a list: each knows its flag, what values it has, and the
// variable that it sets. The list makes the parser, the text of --help, and
// what bindings of other languages know of the options.
//
// LLVM's parser is not used: libLLVM registers options of its own (--stats
// among them), and exits with 1 on wrong usage.

#ifndef WEFT_SUPPORT_TOOLOPTIONS_H
#define WEFT_SUPPORT_TOOLOPTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace mlir::weft {

/// How a value is written; bindings have a type for each.
enum class OptionKind {
  /// On or off; the flag alone is not the default.
  Flag,
  Number,
  /// A number of bytes with a unit, or "none".
  Bytes,
  /// One of a few words.
  Choice,
  Text,
  File,
  /// Names with commas.
  Names,
  /// Names and values, as in "dp=2,tp=4".
  Pairs,
  /// Words with commas, of which there is one at least.
  Words
};

struct ToolOption {
  llvm::StringRef group;
  /// As in "--memory-limit".
  llvm::StringRef flag;
  /// The variable's name as in "memory_limit".
  std::string name;
  OptionKind kind = OptionKind::Text;
  /// What --help calls the value; empty for a flag. In brackets: the value may
  /// be left out.
  llvm::StringRef value;
  llvm::StringRef help;
  /// What the variable has before it is set; empty: nothing.
  std::string defaultValue;
  /// For a choice: the words.
  std::vector<std::string> choices;
  /// Sets the variable; returns what is wrong with the text, or nothing. A flag
  /// gets no text, nor what may be left out.
  std::function<std::string(std::optional<llvm::StringRef>)> set;

  bool takesValue() const { return !value.empty(); }
  bool needsValue() const { return takesValue() && value.front() != '['; }
};

/// "'x' is not a value of --leaves: expected a number".
std::string describeBadValue(llvm::StringRef flag, llvm::StringRef text,
                             llvm::StringRef expected);

/// Words as in "sync, next-layer or best".
std::string joinChoices(llvm::ArrayRef<std::string> words);

// What values an option may have. `read` sets the variable, or returns what was
// expected; `show` is the text of a value that `read` takes.

/// Of a variable that is true or false; the flag is the other one.
struct FlagRule {
  static constexpr OptionKind kKind = OptionKind::Flag;
};

struct NumberRule {
  static constexpr OptionKind kKind = OptionKind::Number;
  int64_t least = 0, most = std::numeric_limits<int64_t>::max();

  std::string read(llvm::StringRef text, int64_t &number) const;
  std::string read(llvm::StringRef text, uint64_t &number) const;
  std::string read(llvm::StringRef text, std::optional<int64_t> &number) const;
  /// A number that is not allowed stands for none.
  std::string show(int64_t number) const;
  std::string show(std::optional<int64_t> number) const;
};

/// 0 stands for no limit that was given, -1 for "none".
struct BytesRule {
  static constexpr OptionKind kKind = OptionKind::Bytes;

  std::string read(llvm::StringRef text, int64_t &bytes) const;
  std::string show(int64_t bytes) const;
};

struct ChoiceRule {
  static constexpr OptionKind kKind = OptionKind::Choice;
  std::vector<std::string> choices;
  /// What an empty variable stands for.
  std::string whenEmpty;

  std::string read(llvm::StringRef text, std::string &choice) const;
  std::string show(const std::string &choice) const {
    return choice.empty() ? whenEmpty : choice;
  }
};

struct TextRule {
  static constexpr OptionKind kKind = OptionKind::Text;
  /// What an empty variable stands for.
  std::string whenEmpty;

  std::string read(llvm::StringRef text, std::string &variable) const;
  std::string show(const std::string &text) const {
    return text.empty() ? whenEmpty : text;
  }
};

struct FileRule : TextRule {
  static constexpr OptionKind kKind = OptionKind::File;
};

/// The last list counts.
struct NamesRule {
  static constexpr OptionKind kKind = OptionKind::Names;
  /// The list of an option without value.
  std::string whenLeftOut;

  std::string read(llvm::StringRef text, std::vector<std::string> &names) const;
  std::string show(const std::vector<std::string> &names) const;
};

/// Lists add up.
struct PairsRule {
  static constexpr OptionKind kKind = OptionKind::Pairs;

  std::string read(llvm::StringRef text, std::vector<std::string> &pairs) const;
  std::string show(const std::vector<std::string> &pairs) const;
};

/// Lists add up.
struct WordsRule : PairsRule {
  static constexpr OptionKind kKind = OptionKind::Words;
};

/// "memory_limit" of "memoryLimit".
std::string toSnakeCase(llvm::StringRef field);

/// An option that sets `variable`, the field of that name.
template <typename Variable, typename Rule>
ToolOption makeOption(llvm::StringRef group, llvm::StringRef field,
                      Variable &variable, llvm::StringRef flag,
                      llvm::StringRef value, Rule rule, llvm::StringRef help) {
  ToolOption option{
      group, flag, toSnakeCase(field), Rule::kKind, value, help, "", {}, {}};
  if constexpr (Rule::kKind == OptionKind::Flag) {
    option.defaultValue = variable ? "on" : "off";
    option.set = [&variable, change = !variable](auto) {
      variable = change;
      return "";
    };
  } else {
    option.defaultValue = rule.show(variable);
    if constexpr (Rule::kKind == OptionKind::Choice)
      option.choices = rule.choices;
    option.set = [&variable, rule,
                  flag](std::optional<llvm::StringRef> text) -> std::string {
      if constexpr (Rule::kKind == OptionKind::Names)
        if (!text)
          text = rule.whenLeftOut;
      std::string expected = rule.read(*text, variable);
      return expected.empty() ? "" : describeBadValue(flag, *text, expected);
    };
  }
  return option;
}

/// Takes options, and one input, from a command line without the program's
/// name. Options take their value as `--name value` or `--name=value`, and one
/// that may be left out in the second form alone. Returns what is wrong, or an
/// empty text.
std::string parseOptions(llvm::ArrayRef<llvm::StringRef> arguments,
                         llvm::ArrayRef<ToolOption> options,
                         std::string &input);

/// Prints the part of --help about the options: groups, with a line for each.
void printOptions(llvm::ArrayRef<ToolOption> options, llvm::raw_ostream &os);

} // namespace mlir::weft

#endif // WEFT_SUPPORT_TOOLOPTIONS_H
