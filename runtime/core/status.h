// SPDX-License-Identifier: Apache-2.0

// The outcome of an operation: a code that decides what the caller does (a
// weft_rt_status of session.h) and a message for a person. Messages are lower
// case, without a full stop, and name the thing and the values that clash.
//
// The runtime is built without exceptions; a function that may fail returns a
// Status, or a Result that holds either a value or such a status.

#ifndef WEFT_RT_CORE_STATUS_H
#define WEFT_RT_CORE_STATUS_H

#include "weft-rt/session.h"

#include <optional>
#include <string>
#include <utility>

namespace weft::rt {

/// Formats as printf does.
std::string format(const char *pattern, ...)
    __attribute__((format(printf, 1, 2)));

/// Quotes a name for a message: 'name', with unprintable bytes as \xNN.
std::string quote(const std::string &name);

/// Text as a terminal may show it: control characters, those that turn the
/// direction of writing, and bytes that are not UTF-8 as \xNN.
std::string printable(const std::string &text);

/// The same for a message, whose lines stay lines.
std::string printableLines(const std::string &text);

/// Success, or a failure's code and message.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(weft_rt_status code, std::string message)
      : failureCode(code), text(std::move(message)) {}

  bool ok() const { return failureCode == WEFT_RT_OK; }
  weft_rt_status code() const { return failureCode; }
  const std::string &message() const { return text; }

private:
  weft_rt_status failureCode = WEFT_RT_OK;
  std::string text;
};

/// A value, or why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : content(std::move(value)) {}
  Result(Status failure) : failure(std::move(failure)) {}

  bool ok() const { return content.has_value(); }
  const Status &status() const { return failure; }
  T &operator*() { return *content; }
  T *operator->() { return &*content; }

private:
  std::optional<T> content;
  Status failure;
};

/// Shorthands for the two commonest failures.
inline Status invalid(std::string message) {
  return Status(WEFT_RT_INVALID, std::move(message));
}
inline Status ioError(std::string message) {
  return Status(WEFT_RT_IO, std::move(message));
}

} // namespace weft::rt

/// Returns from the function when the status is a failure.
#define WEFT_RT_RETURN_IF_ERROR(expression)                                    \
  do {                                                                         \
    if (::weft::rt::Status status_ = (expression); !status_.ok())              \
      return status_;                                                          \
  } while (false)

#endif // WEFT_RT_CORE_STATUS_H
