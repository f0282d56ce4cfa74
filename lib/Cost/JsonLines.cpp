// SPDX-License-Identifier: Apache-2.0

// Walks a text once, with a stack of open brackets.

#include "JsonLines.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <set>
#include <vector>

using namespace mlir::weft;
using llvm::StringRef;

/// The end of the string that begins at a quote.
static size_t skipString(StringRef text, size_t begin) {
  for (size_t i = begin + 1; i < text.size(); ++i)
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i + 1;
  return text.size();
}

int mlir::weft::getJsonDepth(StringRef text) {
  int depth = 0, deepest = 0;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '"')
      i = skipString(text, i) - 1;
    else if (text[i] == '[' || text[i] == '{')
      deepest = std::max(deepest, ++depth);
    else if (text[i] == ']' || text[i] == '}')
      --depth;
  return deepest;
}

namespace {

/// An array or object that is open, and where in it the walk is.
struct Open {
  bool isArray;
  std::string path, key;
  int index = 0;
  /// In an object: whether the next string is a key.
  bool isKeyNext = true;
  std::set<std::string> keys;
};

class Walk {
public:
  explicit Walk(StringRef text) : text(text) {}

  void run();

  std::map<std::string, int> lines;
  std::optional<std::pair<std::string, int>> repeated;

private:
  void takeKey(StringRef quoted);
  std::string getPath() const;
  size_t visit(size_t at);

  StringRef text;
  std::vector<Open> open;
  int line = 1;
};

void Walk::takeKey(StringRef quoted) {
  Open &in = open.back();
  llvm::Expected<llvm::json::Value> key = llvm::json::parse(quoted);
  if (key)
    in.key = key->getAsString().value_or("").str();
  else
    llvm::consumeError(key.takeError());
  in.isKeyNext = false;
  if (!in.keys.insert(in.key).second && !repeated)
    repeated = {getPath(), line};
}

/// The path of the value that comes next.
std::string Walk::getPath() const {
  if (open.empty())
    return "";
  const Open &in = open.back();
  if (in.isArray)
    return in.path + "[" + std::to_string(in.index) + "]";
  return in.path.empty() ? in.key : in.path + "." + in.key;
}

/// Takes what stands at a place; returns where the next thing does.
size_t Walk::visit(size_t at) {
  char c = text[at];
  if (c == '\n')
    ++line;
  if (StringRef(" \t\r\n:").contains(c))
    return at + 1;
  if (c == ']' || c == '}') {
    if (!open.empty())
      open.pop_back();
    return at + 1;
  }
  if (c == ',') {
    if (!open.empty()) {
      ++open.back().index;
      open.back().isKeyNext = true;
    }
    return at + 1;
  }
  size_t end = c == '"' ? skipString(text, at) : at + 1;
  if (c == '"' && !open.empty() && !open.back().isArray &&
      open.back().isKeyNext) {
    takeKey(text.slice(at, end));
    return end;
  }
  std::string path = getPath();
  lines.try_emplace(path, line);
  if (c == '[' || c == '{')
    open.push_back({c == '[', path, "", 0, true, {}});
  else if (c != '"')
    end = std::min(text.find_first_of(",]} \t\r\n", at), text.size());
  return end;
}

void Walk::run() {
  for (size_t at = 0; at < text.size();)
    at = visit(at);
}

} // namespace

std::map<std::string, int> mlir::weft::getJsonLines(StringRef text) {
  Walk walk(text);
  walk.run();
  return std::move(walk.lines);
}

std::optional<std::pair<std::string, int>>
mlir::weft::findRepeatedField(StringRef text) {
  Walk walk(text);
  walk.run();
  return walk.repeated;
}
