// SPDX-License-Identifier: Apache-2.0

// Rules for values, and the parser of command lines.

#include "weft/Support/ToolOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"

using namespace mlir::weft;
using llvm::ArrayRef;
using llvm::StringRef;

std::string mlir::weft::describeBadValue(StringRef flag, StringRef text,
                                         StringRef expected) {
  return ("'" + text + "' is not a value of " + flag + ": expected " + expected)
      .str();
}

std::string mlir::weft::joinChoices(ArrayRef<std::string> words) {
  if (words.empty())
    return "";
  std::string text = llvm::join(words.drop_back(), ", ");
  return text + (text.empty() ? "" : " or ") + words.back();
}

template <typename Number>
static std::string readNumber(const NumberRule &rule, StringRef text,
                              Number &number) {
  Number value;
  bool isLow = text.getAsInteger(10, value) ||
               (rule.least > 0 && value < Number(rule.least)) ||
               (rule.least == 0 && text.starts_with("-"));
  if (!isLow && value <= Number(rule.most)) {
    number = value;
    return "";
  }
  std::string least = std::to_string(rule.least);
  return rule.most == std::numeric_limits<int64_t>::max()
             ? "a number of at least " + least
             : "a number from " + least + " to " + std::to_string(rule.most);
}

std::string NumberRule::read(StringRef text, int64_t &number) const {
  return readNumber(*this, text, number);
}

std::string NumberRule::read(StringRef text, uint64_t &number) const {
  return readNumber(*this, text, number);
}

std::string NumberRule::read(StringRef text,
                             std::optional<int64_t> &number) const {
  int64_t value;
  std::string expected = read(text, value);
  if (expected.empty())
    number = value;
  return expected;
}

std::string NumberRule::show(int64_t number) const {
  return number < least ? "" : std::to_string(number);
}

std::string NumberRule::show(std::optional<int64_t> number) const {
  return number ? show(*number) : "";
}

std::string BytesRule::read(StringRef text, int64_t &bytes) const {
  if (text == "none") {
    bytes = -1;
    return "";
  }
  int shift = llvm::StringSwitch<int>(text.ltrim("0123456789"))
                  .Case("B", 0)
                  .Case("KiB", 10)
                  .Case("MiB", 20)
                  .Case("GiB", 30)
                  .Case("TiB", 40)
                  .Default(-1);
  StringRef digits = text.take_while([](char c) { return llvm::isDigit(c); });
  int64_t number;
  if (shift < 0 || digits.getAsInteger(10, number) || number < 1 ||
      number > (std::numeric_limits<int64_t>::max() >> shift))
    return "a number of bytes with a unit, as in 512MiB or 8GiB, or none";
  bytes = number << shift;
  return "";
}

std::string BytesRule::show(int64_t bytes) const {
  if (bytes < 0)
    return "none";
  return bytes ? std::to_string(bytes) + "B" : "";
}

std::string ChoiceRule::read(StringRef text, std::string &choice) const {
  if (!llvm::is_contained(choices, text))
    return joinChoices(choices);
  choice = text.str();
  return "";
}

std::string TextRule::read(StringRef text, std::string &variable) const {
  variable = text.str();
  return "";
}

/// Words between commas; those in braces are the word's own: a={b,c} is one.
static void addWords(StringRef text, std::vector<std::string> &list) {
  size_t begin = 0, depth = 0;
  for (auto [at, letter] : llvm::enumerate(text)) {
    depth += letter == '{';
    depth -= letter == '}' && depth > 0;
    if (letter != ',' || depth > 0)
      continue;
    list.push_back(text.slice(begin, at).str());
    begin = at + 1;
  }
  list.push_back(text.drop_front(begin).str());
}

std::string NamesRule::read(StringRef text,
                            std::vector<std::string> &names) const {
  names.clear();
  addWords(text, names);
  return "";
}

std::string NamesRule::show(const std::vector<std::string> &names) const {
  return llvm::join(names, ",");
}

std::string PairsRule::read(StringRef text,
                            std::vector<std::string> &pairs) const {
  addWords(text, pairs);
  return "";
}

std::string PairsRule::show(const std::vector<std::string> &pairs) const {
  return llvm::join(pairs, ",");
}

std::string mlir::weft::toSnakeCase(StringRef field) {
  std::string name;
  for (char c : field) {
    if (llvm::isUpper(c))
      name += '_';
    name += llvm::toLower(c);
  }
  return name;
}

/// The flag that a word which is none is probably meant to be, or none.
static StringRef findSimilar(ArrayRef<ToolOption> options, StringRef word) {
  unsigned best = word.size() / 3 + 1;
  StringRef similar;
  for (const ToolOption &option : options) {
    unsigned distance = word.edit_distance(option.flag);
    if (distance >= best)
      continue;
    best = distance;
    similar = option.flag;
  }
  return similar;
}

static std::string describeUnknown(ArrayRef<ToolOption> options,
                                   StringRef word) {
  std::string text = ("unknown option '" + word + "'").str();
  StringRef similar = findSimilar(options, word);
  return similar.empty() ? text : text + "; is '" + similar.str() + "' meant?";
}

std::string mlir::weft::parseOptions(ArrayRef<StringRef> arguments,
                                     ArrayRef<ToolOption> options,
                                     std::string &input) {
  while (!arguments.empty()) {
    StringRef flag = arguments.front();
    arguments = arguments.drop_front();
    if (!flag.starts_with("-") || flag == "-") {
      if (!input.empty())
        return "more than one input file: '" + input + "' and '" + flag.str() +
               "'";
      input = flag.str();
      continue;
    }
    std::optional<StringRef> value;
    if (flag.starts_with("--") && flag.contains('='))
      std::tie(flag, value) = flag.split('=');
    const auto *option = llvm::find_if(
        options, [&](const ToolOption &one) { return one.flag == flag; });
    if (option == options.end())
      return describeUnknown(options, flag);
    if (value && !option->takesValue())
      return flag.str() + " takes no value";
    if (!value && option->needsValue() && !arguments.empty()) {
      value = arguments.front();
      arguments = arguments.drop_front();
    }
    if (option->needsValue() ? !value || value->empty()
                             : value && value->empty())
      return flag.str() + " needs a value";
    std::string problem = option->set(value);
    if (!problem.empty())
      return problem;
  }
  return "";
}

/// "8", "f32 or bf16, f32": what a line of help ends with.
static std::string describeValues(const ToolOption &option) {
  std::string text;
  if (!option.choices.empty())
    text += ": " + joinChoices(option.choices);
  if (option.kind != OptionKind::Flag && !option.defaultValue.empty())
    text += " (default: " + option.defaultValue + ")";
  return text;
}

void mlir::weft::printOptions(ArrayRef<ToolOption> options,
                              llvm::raw_ostream &os) {
  constexpr unsigned kColumn = 22;
  StringRef group;
  for (const ToolOption &option : options) {
    if (option.group != group)
      os << "\n" << option.group << ":\n";
    group = option.group;
    std::string usage = option.flag.str();
    if (option.takesValue())
      usage += (option.needsValue() ? " " : "") + option.value.str();
    os << "  " << llvm::left_justify(usage, kColumn) << " " << option.help
       << describeValues(option) << "\n";
  }
}
