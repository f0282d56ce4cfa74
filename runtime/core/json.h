// SPDX-License-Identifier: Apache-2.0

// A strict reader for the little JSON that safetensors headers and certificates
// contain (objects, strings, arrays of unsigned integers), and the quoting of
// strings on the way out. It pulls tokens one by one, so that nothing is built
// for input that turns out to be wrong, and nothing recurses.
//
//   JsonReader json(text, length);
//   json.take('{');  std::string key;  json.string(key);  json.take(':'); ...
//
// Every call returns false once something was wrong; `error` then says what,
// and at which byte.

#ifndef WEFT_RT_CORE_JSON_H
#define WEFT_RT_CORE_JSON_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::rt {

/// A cursor over JSON text.
class JsonReader {
public:
  JsonReader(const char *text, size_t length)
      : begin(text), at(text), end(text + length) {}

  /// Takes the punctuation mark, or fails.
  bool take(char mark);

  /// Takes the punctuation mark if it is next; never fails.
  bool takeIf(char mark);

  /// Reads a string, escapes resolved to UTF-8; fails on bad UTF-8.
  bool string(std::string &value);

  /// Reads an integer in [0, 2^63).
  bool integer(int64_t &value);

  /// Passes over a value of any kind. Its strings and its nesting are checked.
  bool skip();

  /// Fails unless only white space is left.
  bool finish();

  /// Records a failure at the current position, unless one is known already.
  bool fail(const std::string &what);

  /// Says in what the failure was, if there was one.
  void failedIn(const std::string &what) {
    if (!message.empty())
      message = what + ": " + message;
  }

  /// What was wrong, with the byte's number; empty while all is well.
  const std::string &error() const { return message; }

private:
  void skipSpace();
  bool escape(std::string &value);
  bool hexDigits(uint32_t &value);
  bool unicodeEscape(std::string &value);
  bool plainCharacter(std::string &value);

  const char *begin, *at, *end;
  std::string message;
};

/// Quotes text as a JSON string. Bytes that are not UTF-8 become U+FFFD.
std::string jsonString(const std::string &text);

/// Length of the UTF-8 sequence at `at`: 1 to 4, or 0 when it is malformed,
/// overlong, a surrogate, or cut off by `end`.
int utf8Length(const char *at, const char *end);

} // namespace weft::rt

#endif // WEFT_RT_CORE_JSON_H
