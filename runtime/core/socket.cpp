// SPDX-License-Identifier: Apache-2.0

#include "core/socket.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace weft::rt {
namespace {

constexpr int tick = 50; // milliseconds

struct FreeAddresses {
  void operator()(addrinfo *list) { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> lookUp(const char *host, int64_t port) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = host ? AI_NUMERICSERV : AI_NUMERICSERV | AI_PASSIVE;
  if (int error =
          getaddrinfo(host, std::to_string(port).c_str(), &hints, &found))
    return ioError(format("cannot find host %s: %s",
                          quote(host ? host : "").c_str(),
                          gai_strerror(error)));
  return Addresses(found);
}

bool isThisMachine(const std::string &host) {
  return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0;
}

/// What each connection of a job has. A machine that is gone is noticed.
void prepare(const Descriptor &socket) {
  int on = 1, idle = 10, pause = 5, tries = 4;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPINTVL, &pause, sizeof(pause));
  setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
}

Descriptor openFor(const addrinfo &address) {
  return Descriptor(
      socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/// Connects to one address; 0, or an errno.
int tryConnect(const addrinfo &address, Descriptor &made) {
  made = openFor(address);
  if (!made)
    return errno;
  if (connect(made.get(), address.ai_addr, address.ai_addrlen) == 0)
    return 0;
  if (errno != EINPROGRESS)
    return errno;
  pollfd waiting = {made.get(), POLLOUT, 0};
  if (poll(&waiting, 1, 1000) <= 0)
    return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

bool wouldBlock() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

Status ended() {
  return Status(WEFT_RT_RANK_FAILED, "the connection has ended");
}

/// Calls `step`, which says how many bytes it moved, until all are.
template <typename Step>
Status moveAll(const Descriptor &socket, size_t bytes, short event,
               const std::function<Status()> &mayGoOn, const Step &step) {
  for (size_t done = 0; done < bytes;) {
    ssize_t moved = step(done);
    if (moved > 0) {
      done += size_t(moved);
      continue;
    }
    if (moved == 0 || !wouldBlock())
      return ended();
    WEFT_RT_RETURN_IF_ERROR(mayGoOn());
    pollfd waiting = {socket.get(), event, 0};
    (void)poll(&waiting, 1, tick);
  }
  return Status();
}

} // namespace

void Descriptor::close() {
  if (number >= 0)
    ::close(number);
  number = -1;
}

Result<Descriptor> listenAt(const std::string &host, int64_t port) {
  Result<Addresses> list =
      lookUp(isThisMachine(host) ? host.c_str() : nullptr, port);
  if (!list.ok())
    return list.status();
  int error = 0;
  // Addresses of IPv6 first: they take what comes over IPv4, too.
  for (int family : {AF_INET6, AF_INET})
    for (addrinfo *one = list->get(); one; one = one->ai_next) {
      if (one->ai_family != family)
        continue;
      Descriptor made = openFor(*one);
      int on = 1, off = 0;
      setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
      if (family == AF_INET6)
        setsockopt(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
      if (made && bind(made.get(), one->ai_addr, one->ai_addrlen) == 0 &&
          listen(made.get(), SOMAXCONN) == 0)
        return made;
      error = errno;
    }
  return ioError(format("cannot listen on port %lld: %s", (long long)port,
                        std::strerror(error)));
}

Descriptor acceptFrom(const Descriptor &listener) {
  Descriptor made(
      accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (made)
    prepare(made);
  return made;
}

Result<Descriptor> connectTo(const std::string &host, int64_t port,
                             int64_t deadline,
                             const std::function<bool()> &mayGoOn) {
  std::string why;
  do {
    Result<Addresses> list = lookUp(host.c_str(), port);
    if (!list.ok())
      why = list.status().message();
    for (addrinfo *one = list.ok() ? list->get() : nullptr; one;
         one = one->ai_next) {
      Descriptor made;
      int error = tryConnect(*one, made);
      if (error == 0) {
        prepare(made);
        return made;
      }
      why = std::strerror(error);
    }
    usleep(tick * 1000);
  } while (monotonicNow() < deadline && mayGoOn());
  return ioError(why);
}

Status sendAll(const Descriptor &socket, const void *data, size_t bytes,
               const std::function<Status()> &mayGoOn) {
  return moveAll(socket, bytes, POLLOUT, mayGoOn, [&](size_t done) {
    ssize_t sent = send(socket.get(), static_cast<const char *>(data) + done,
                        bytes - done, MSG_NOSIGNAL);
    return sent;
  });
}

Status receiveAll(const Descriptor &socket, void *data, size_t bytes,
                  const std::function<Status()> &mayGoOn) {
  return moveAll(socket, bytes, POLLIN, mayGoOn, [&](size_t done) {
    return recv(socket.get(), static_cast<char *>(data) + done, bytes - done,
                0);
  });
}

int64_t monotonicNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

} // namespace weft::rt
