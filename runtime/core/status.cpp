// SPDX-License-Identifier: Apache-2.0

// Text for messages: printf-like formatting into a string, and names quoted so
// that bytes from a hostile file cannot disturb a terminal.

#include "core/status.h"

#include "core/json.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace weft::rt {
namespace {

/// Says whether the UTF-8 sequence would do something to a terminal, or to the
/// order in which it shows what follows.
bool isControl(const char *at, int length) {
  auto byte = [&](int i) { return static_cast<unsigned char>(at[i]); };
  if (length == 1)
    return byte(0) < 0x20 || byte(0) == 0x7f;
  if (length == 2)
    return byte(0) == 0xc2 && byte(1) < 0xa0; // U+0080 to U+009F
  if (length != 3 || byte(0) != 0xe2)
    return false;
  bool isSeparator = byte(1) == 0x80 && (byte(2) == 0xa8 || byte(2) == 0xa9);
  bool isEmbedding = byte(1) == 0x80 && byte(2) >= 0xaa && byte(2) <= 0xae;
  bool isIsolate = byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;
  bool isMark = byte(1) == 0x80 && (byte(2) == 0x8e || byte(2) == 0x8f);
  return isSeparator || isEmbedding || isIsolate || isMark;
}

std::string escaped(const std::string &text, const char *kept) {
  std::string result;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    int length = utf8Length(at, end);
    bool isPlain = length > 0 && !isControl(at, length);
    length = length > 0 ? length : 1;
    if (isPlain || (*at && std::strchr(kept, *at)))
      result.append(at, length);
    else
      for (int i = 0; i < length; ++i)
        result += format("\\x%02x", static_cast<unsigned char>(at[i]));
    at += length;
  }
  return result;
}

} // namespace

std::string format(const char *pattern, ...) {
  va_list args, again;
  va_start(args, pattern);
  va_copy(again, args);
  int length = std::vsnprintf(nullptr, 0, pattern, args);
  va_end(args);
  std::string text(length > 0 ? length : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

std::string quote(const std::string &name) {
  return "'" + printable(name) + "'";
}

std::string printable(const std::string &text) { return escaped(text, ""); }

std::string printableLines(const std::string &text) {
  return escaped(text, "\n\t");
}

} // namespace weft::rt
