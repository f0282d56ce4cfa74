// SPDX-License-Identifier: Apache-2.0

// Text for messages: printf-like formatting into a string, and names quoted so
// that bytes from a hostile file cannot disturb a terminal.

#include "core/status.h"

#include <cstdarg>
#include <cstdio>

namespace weft::rt {

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
  std::string text = "'";
  for (unsigned char c : name) {
    if (c < 0x20 || c == 0x7f)
      text += format("\\x%02x", c);
    else
      text += static_cast<char>(c);
  }
  return text + "'";
}

} // namespace weft::rt
