// SPDX-License-Identifier: Apache-2.0

// A head is four letters, the kind, and the number of bytes that follow, which
// all processes of a job write as their machines do: another order of bytes has
// other letters.

#include "core/wire.h"

#include <cstring>

namespace weft::rt {
namespace {

constexpr uint32_t letters = 0x31544657; // WFT1

} // namespace

std::string frameHead(FrameKind kind, uint64_t bytes) {
  char head[frameHeadBytes];
  auto number = static_cast<uint32_t>(kind);
  std::memcpy(head, &letters, 4);
  std::memcpy(head + 4, &number, 4);
  std::memcpy(head + 8, &bytes, 8);
  return std::string(head, sizeof(head));
}

std::optional<FrameKind> readFrameHead(const char *head, uint64_t &bytes) {
  uint32_t found = 0, kind = 0;
  std::memcpy(&found, head, 4);
  std::memcpy(&kind, head + 4, 4);
  std::memcpy(&bytes, head + 8, 8);
  if (found != letters || kind < uint32_t(FrameKind::Hello) ||
      kind > uint32_t(FrameKind::Data))
    return std::nullopt;
  return static_cast<FrameKind>(kind);
}

std::string frameOf(FrameKind kind, const std::string &content) {
  return frameHead(kind, content.size()) + content;
}

std::optional<Frame> takeFrame(std::string &arrived, uint64_t most,
                               bool &isBad) {
  isBad = false;
  if (arrived.size() < frameHeadBytes)
    return std::nullopt;
  uint64_t bytes = 0;
  std::optional<FrameKind> kind = readFrameHead(arrived.data(), bytes);
  isBad = !kind || *kind == FrameKind::Data || bytes > most;
  if (isBad || arrived.size() - frameHeadBytes < bytes)
    return std::nullopt;
  Frame frame{*kind, arrived.substr(frameHeadBytes, size_t(bytes))};
  arrived.erase(0, frameHeadBytes + size_t(bytes));
  return frame;
}

void WireWriter::number(int64_t value) {
  content.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

void WireWriter::text(const std::string &value) {
  number(int64_t(value.size()));
  content += value;
}

int64_t WireReader::number() {
  int64_t value = 0;
  isGood = isGood && content.size() - at >= sizeof(value);
  if (!isGood)
    return 0;
  std::memcpy(&value, content.data() + at, sizeof(value));
  at += sizeof(value);
  return value;
}

std::string WireReader::text() {
  int64_t bytes = number();
  isGood = isGood && bytes >= 0 && uint64_t(bytes) <= content.size() - at;
  if (!isGood)
    return "";
  std::string value = content.substr(at, size_t(bytes));
  at += size_t(bytes);
  return value;
}

} // namespace weft::rt
