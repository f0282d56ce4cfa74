// SPDX-License-Identifier: Apache-2.0

// The reader follows RFC 8259 for the tokens it knows and refuses all others;
// UTF-8 is checked by the table of well-formed sequences (Unicode, 3-7).

#include "core/json.h"

#include "core/status.h"

#include <cctype>

namespace weft::rt {
namespace {

void appendUtf8(std::string &text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      text += static_cast<char>(0xe0 | code >> 12);
    } else {
      text += static_cast<char>(0xf0 | code >> 18);
      text += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    }
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
  }
  text += static_cast<char>(0x80 | (code & 0x3f));
}

bool isContinuation(unsigned char c) { return (c & 0xc0) == 0x80; }

} // namespace

int utf8Length(const char *at, const char *end) {
  auto byte = [&](int i) { return static_cast<unsigned char>(at[i]); };
  unsigned char lead = byte(0);
  if (lead < 0x80)
    return 1;
  int length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || end - at < length)
    return 0;
  for (int i = 1; i < length; ++i)
    if (!isContinuation(byte(i)))
      return 0;
  bool overlong =
      (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  bool surrogate = lead == 0xed && byte(1) >= 0xa0;
  bool tooLarge = lead == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || tooLarge ? 0 : length;
}

bool JsonReader::fail(const std::string &what) {
  if (message.empty())
    message = format("%s at byte %zu", what.c_str(), size_t(at - begin));
  at = end;
  return false;
}

void JsonReader::skipSpace() {
  while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
    ++at;
}

bool JsonReader::takeIf(char mark) {
  skipSpace();
  if (at == end || *at != mark)
    return false;
  ++at;
  return true;
}

bool JsonReader::take(char mark) {
  if (takeIf(mark))
    return true;
  return fail(at == end ? format("expected '%c', found the end", mark)
                        : format("expected '%c', found byte 0x%02x", mark,
                                 static_cast<unsigned char>(*at)));
}

bool JsonReader::string(std::string &value) {
  value.clear();
  if (!take('"'))
    return false;
  while (at < end && *at != '"')
    if (!(*at == '\\' ? escape(value) : plainCharacter(value)))
      return false;
  if (at == end)
    return fail("string does not end");
  ++at;
  return true;
}

bool JsonReader::plainCharacter(std::string &value) {
  if (static_cast<unsigned char>(*at) < 0x20)
    return fail("control character in a string");
  int length = utf8Length(at, end);
  if (length == 0)
    return fail("string is not UTF-8");
  value.append(at, length);
  at += length;
  return true;
}

bool JsonReader::escape(std::string &value) {
  ++at; // the backslash
  if (at == end)
    return fail("string does not end");
  constexpr char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  char name = *at++;
  if (name == 'u')
    return unicodeEscape(value);
  for (int i = 0; names[i]; ++i) {
    if (name == names[i]) {
      value += values[i];
      return true;
    }
  }
  return fail("unknown escape in a string");
}

bool JsonReader::hexDigits(uint32_t &value) {
  value = 0;
  for (int i = 0; i < 4; ++i) {
    if (at == end)
      return fail("string does not end");
    char c = *at++;
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0)
      return fail("\\u is not followed by four hexadecimal digits");
    value = value << 4 | digit;
  }
  return true;
}

bool JsonReader::unicodeEscape(std::string &value) {
  uint32_t code, low;
  if (!hexDigits(code))
    return false;
  if (code >= 0xdc00 && code < 0xe000)
    return fail("lone surrogate in a string");
  if (code >= 0xd800 && code < 0xdc00) {
    if (end - at < 2 || at[0] != '\\' || at[1] != 'u')
      return fail("lone surrogate in a string");
    at += 2;
    if (!hexDigits(low))
      return false;
    if (low < 0xdc00 || low >= 0xe000)
      return fail("lone surrogate in a string");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  appendUtf8(value, code);
  return true;
}

bool JsonReader::integer(int64_t &value) {
  skipSpace();
  const char *start = at;
  value = 0;
  for (; at < end && *at >= '0' && *at <= '9'; ++at) {
    int digit = *at - '0';
    if (value > (INT64_MAX - digit) / 10)
      return fail("integer does not fit in 63 bits");
    value = value * 10 + digit;
  }
  if (at == start)
    return fail("expected an integer of at least 0");
  if (*start == '0' && at - start > 1)
    return fail("integer begins with 0");
  if (at < end && (*at == '.' || *at == 'e' || *at == 'E'))
    return fail("expected an integer, found a fraction");
  return true;
}

bool JsonReader::skip() {
  std::string closers; // of what is open, outermost first
  std::string ignored;
  do {
    skipSpace();
    if (at == end)
      return fail("expected a value, found the end");
    const char *word = at;
    while (at < end && (std::isalnum(static_cast<unsigned char>(*at)) ||
                        *at == '-' || *at == '+' || *at == '.'))
      ++at;
    if (at > word)
      continue;
    if (*at == '"') {
      if (!string(ignored))
        return false;
    } else if (*at == '{' || *at == '[') {
      closers += *at++ == '{' ? '}' : ']';
    } else if (!closers.empty() && *at == closers.back()) {
      closers.pop_back();
      ++at;
    } else if (!closers.empty() && (*at == ',' || *at == ':')) {
      ++at;
    } else {
      return fail(format("expected a value, found byte 0x%02x",
                         static_cast<unsigned char>(*at)));
    }
  } while (!closers.empty());
  return true;
}

bool JsonReader::finish() {
  skipSpace();
  if (at != end)
    return fail("text after the end");
  return message.empty();
}

std::string jsonString(const std::string &text) {
  std::string quoted = "\"";
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    unsigned char c = *at;
    int length = utf8Length(at, end);
    if (c == '"' || c == '\\')
      quoted += format("\\%c", c);
    else if (c < 0x20 || c == 0x7f)
      quoted += format("\\u%04x", c);
    else if (length == 2 && c == 0xc2 &&
             static_cast<unsigned char>(at[1]) < 0xa0)
      quoted += format("\\u%04x", static_cast<unsigned char>(at[1]));
    else if (length == 0)
      quoted += "\\ufffd";
    else
      quoted.append(at, length);
    at += length ? length : 1;
  }
  return quoted + "\"";
}

} // namespace weft::rt
