// SPDX-License-Identifier: Apache-2.0

// Sockets of TCP that never block for good.

#ifndef WEFT_RT_CORE_SOCKET_H
#define WEFT_RT_CORE_SOCKET_H

#include "core/status.h"

#include <functional>

namespace weft::rt {

/// A descriptor that is closed.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int number) : number(number) {}
  Descriptor(Descriptor &&other) : number(other.number) { other.number = -1; }
  Descriptor &operator=(Descriptor &&other) {
    std::swap(number, other.number);
    return *this;
  }
  ~Descriptor() { close(); }
  void close();
  int get() const { return number; }
  explicit operator bool() const { return number >= 0; }

private:
  int number = -1;
};

/// Listens where others reach `host`: on this machine alone if it is named so.
Result<Descriptor> listenAt(const std::string &host, int64_t port);

/// One connection that has come, or none.
Descriptor acceptFrom(const Descriptor &listener);

/// Connects within the time, also if nobody listens yet. `mayGoOn` says between
/// two tries whether to try again.
Result<Descriptor> connectTo(
    const std::string &host, int64_t port, int64_t deadline,
    const std::function<bool()> &mayGoOn = [] { return true; });

/// Moves all bytes. `mayGoOn` is asked now and then while nothing moves, and
/// says why not; it fails also if the other side has ended the connection.
Status sendAll(const Descriptor &socket, const void *data, size_t bytes,
               const std::function<Status()> &mayGoOn);
Status receiveAll(const Descriptor &socket, void *data, size_t bytes,
                  const std::function<Status()> &mayGoOn);

/// Nanoseconds of a monotonic clock.
int64_t monotonicNow();

} // namespace weft::rt

#endif // WEFT_RT_CORE_SOCKET_H
