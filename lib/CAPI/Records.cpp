// SPDX-License-Identifier: Apache-2.0

// Numbers are 8 bytes; a text is its length and its bytes, a list its length
// and its items.

#include "Records.h"

#include <cstring>

using namespace mlir::weft;

namespace {

constexpr int64_t kMark = 0x77656674656e64; // "weftend"

class Writer {
public:
  void number(int64_t value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }
  void text(llvm::StringRef value) {
    number(value.size());
    bytes.append(value.data(), value.size());
  }
  std::string finish() {
    number(kMark);
    return std::move(bytes);
  }

private:
  std::string bytes;
};

/// Reads what a writer wrote; after the first item that is cut off, nothing.
class Reader {
public:
  explicit Reader(llvm::StringRef bytes) : rest(bytes) {}

  int64_t number() {
    int64_t value = 0;
    if (rest.size() < sizeof(value)) {
      isWhole = false;
      return 0;
    }
    std::memcpy(&value, rest.data(), sizeof(value));
    rest = rest.drop_front(sizeof(value));
    return value;
  }
  std::string text() {
    uint64_t size = number();
    if (size > rest.size()) {
      isWhole = false;
      return "";
    }
    std::string value = rest.take_front(size).str();
    rest = rest.drop_front(size);
    return value;
  }
  /// The length of a list: each item has at least one byte.
  uint64_t count() {
    uint64_t value = number();
    if (value > rest.size())
      isWhole = false;
    return isWhole ? value : 0;
  }
  bool finish() { return number() == kMark && isWhole && rest.empty(); }

private:
  llvm::StringRef rest;
  bool isWhole = true;
};

} // namespace

std::string mlir::weft::encode(const Request &request) {
  Writer writer;
  writer.text(request.input);
  writer.text(request.name);
  writer.number(request.arguments.size());
  for (const std::string &argument : request.arguments)
    writer.text(argument);
  writer.number(request.toText);
  return writer.finish();
}

std::optional<Request> mlir::weft::decodeRequest(llvm::StringRef bytes) {
  Reader reader(bytes);
  Request request;
  request.input = reader.text();
  request.name = reader.text();
  for (uint64_t left = reader.count(); left > 0; --left)
    request.arguments.push_back(reader.text());
  request.toText = reader.number();
  if (!reader.finish())
    return std::nullopt;
  return request;
}

std::string mlir::weft::encode(const Outcome &outcome) {
  Writer writer;
  writer.number(outcome.status);
  writer.number(outcome.reports.size());
  for (const Report &report : outcome.reports) {
    writer.number(report.severity);
    writer.text(report.file);
    writer.number(report.line);
    writer.number(report.column);
    writer.text(report.message);
  }
  writer.text(outcome.text);
  return writer.finish();
}

std::optional<Outcome> mlir::weft::decodeOutcome(llvm::StringRef bytes) {
  Reader reader(bytes);
  Outcome outcome;
  outcome.status = static_cast<weft_status>(reader.number());
  for (uint64_t left = reader.count(); left > 0; --left) {
    Report report;
    report.severity = static_cast<weft_severity>(reader.number());
    report.file = reader.text();
    report.line = static_cast<int>(reader.number());
    report.column = static_cast<int>(reader.number());
    report.message = reader.text();
    outcome.reports.push_back(std::move(report));
  }
  outcome.text = reader.text();
  if (!reader.finish())
    return std::nullopt;
  return outcome;
}
