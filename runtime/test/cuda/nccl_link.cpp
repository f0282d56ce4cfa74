// SPDX-License-Identifier: Apache-2.0

// A message is a head and its bytes. Messages to oneself take no socket.

#include "nccl_link.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace emulated {
namespace {

struct Head {
  int32_t kind, rank;
  int64_t bytes;
};
constexpr int32_t hello = 1, data = 2, taken = 3;

/// An abstract name: it is gone with the socket.
socklen_t nameOf(const std::string &id, int rank, sockaddr_un &address) {
  std::string name = "weft-nccl-" + id + "-" + std::to_string(rank);
  address = {};
  address.sun_family = AF_UNIX;
  size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + length);
}

bool writeAll(int socket, const void *bytes, size_t count) {
  auto *at = static_cast<const char *>(bytes);
  while (count > 0) {
    ssize_t sent = ::send(socket, at, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    at += sent;
    count -= size_t(sent);
  }
  return true;
}

bool readAll(int socket, void *bytes, size_t count) {
  auto *at = static_cast<char *>(bytes);
  while (count > 0) {
    ssize_t got = recv(socket, at, count, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    at += got;
    count -= size_t(got);
  }
  return true;
}

} // namespace

Link::Link(const std::string &id, int size, int rank, const std::string &gpu)
    : id(id), gpu(gpu), rank(rank), peers(size_t(size)) {}

std::shared_ptr<Link> Link::open(const std::string &id, int size, int rank,
                                 const std::string &gpu) {
  std::shared_ptr<Link> link(new Link(id, size, rank, gpu));
  link->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address;
  socklen_t length = nameOf(id, rank, address);
  if (bind(link->listener, reinterpret_cast<sockaddr *>(&address), length) ||
      listen(link->listener, SOMAXCONN))
    return nullptr;
  link->worker = std::thread([raw = link.get()] { raw->serve(); });
  return link;
}

/// Takes a connection in; the socket, or -1.
int Link::acceptOne(int &from) {
  int made = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  Head head;
  std::string other(gpu.size(), 0);
  if (!readAll(made, &head, sizeof(head)) ||
      !readAll(made, other.data(), other.size()))
    return -1;
  from = head.rank;
  shares = shares || other == gpu;
  return made;
}

bool Link::connectAll() {
  while (!isClosing) {
    bool isDone = true;
    for (int to = 0; to < size(); ++to) {
      Peer &peer = peers[size_t(to)];
      if (to == rank)
        continue;
      isDone = isDone && peer.from >= 0;
      if (peer.to >= 0)
        continue;
      sockaddr_un address;
      socklen_t length = nameOf(id, to, address);
      int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect(made, reinterpret_cast<sockaddr *>(&address), length)) {
        ::close(made);
        isDone = false;
        continue;
      }
      Head head = {hello, rank, int64_t(gpu.size())};
      writeAll(made, &head, sizeof(head));
      writeAll(made, gpu.data(), gpu.size());
      peer.to = made;
    }
    if (isDone)
      return true;
    pollfd waiting = {listener, POLLIN, 0};
    int from = -1;
    if (poll(&waiting, 1, 5) > 0)
      if (int made = acceptOne(from); made >= 0)
        peers[size_t(from)].from = made;
  }
  return false;
}

void Link::serve() {
  if (!connectAll())
    return;
  whole = true;
  while (!isClosing) {
    std::vector<pollfd> events;
    for (Peer &peer : peers)
      events.push_back({peer.from, POLLIN, 0});
    if (poll(events.data(), nfds_t(events.size()), 20) <= 0)
      continue;
    for (int from = 0; from < size(); ++from)
      if (events[size_t(from)].revents)
        take(from);
  }
}

void Link::take(int from) {
  Peer &peer = peers[size_t(from)];
  Head head;
  std::vector<char> bytes;
  bool isThere = readAll(peer.from, &head, sizeof(head));
  if (isThere) {
    bytes.resize(size_t(head.bytes));
    isThere = readAll(peer.from, bytes.data(), bytes.size());
  }
  std::lock_guard<std::mutex> guard(lock);
  if (!isThere) {
    broken = true;
    ::close(peer.from);
    peer.from = -1;
  } else if (head.kind == emulated::taken) {
    ++this->taken;
  } else {
    peer.mail.push_back(std::move(bytes));
  }
  changed.notify_all();
}

void Link::write(int to, int32_t kind, const char *bytes, size_t count) {
  if (to == rank) {
    std::lock_guard<std::mutex> guard(lock);
    if (kind == data)
      peers[size_t(to)].mail.emplace_back(bytes, bytes + count);
    else
      ++taken;
    changed.notify_all();
    return;
  }
  std::lock_guard<std::mutex> guard(writing);
  int socket = peers[size_t(to)].to;
  Head head = {kind, rank, int64_t(count)};
  if (socket >= 0 && writeAll(socket, &head, sizeof(head)))
    writeAll(socket, bytes, count);
}

void Link::send(int to, const char *bytes, size_t count) {
  if (!isAborted)
    write(to, data, bytes, count);
}

bool Link::receive(int from, size_t bytes, std::vector<char> &to) {
  std::unique_lock<std::mutex> guard(lock);
  auto &mail = peers[size_t(from)].mail;
  changed.wait(guard, [&] { return isAborted || !mail.empty(); });
  if (isAborted)
    return false;
  to = std::move(mail.front());
  mail.pop_front();
  to.resize(bytes); // what ranks disagree about is not NCCL's to find
  return true;
}

void Link::sayTaken(int to) { write(to, emulated::taken, nullptr, 0); }

void Link::awaitTaken(int64_t messages) {
  std::unique_lock<std::mutex> guard(lock);
  changed.wait(guard, [&] { return isAborted || taken >= messages; });
  taken -= messages;
}

void Link::abort() {
  std::lock_guard<std::mutex> guard(lock);
  isAborted = true;
  for (Peer &peer : peers) // whoever still writes
    if (peer.to >= 0)
      shutdown(peer.to, SHUT_RDWR);
  changed.notify_all();
}

void Link::keep() {
  std::lock_guard<std::mutex> guard(lock);
  ++kept;
}

void Link::release() {
  std::lock_guard<std::mutex> guard(lock);
  --kept;
  changed.notify_all();
}

void Link::close() {
  {
    std::unique_lock<std::mutex> guard(lock);
    changed.wait(guard, [&] { return kept == 0; });
  }
  isClosing = true;
  if (worker.joinable())
    worker.join();
  for (Peer &peer : peers) // whoever still writes
    if (peer.to >= 0)
      shutdown(peer.to, SHUT_RDWR);
  std::lock_guard<std::mutex> guard(writing);
  for (Peer &peer : peers)
    for (int *socket : {&peer.to, &peer.from}) {
      if (*socket >= 0)
        ::close(*socket);
      *socket = -1;
    }
  if (listener >= 0)
    ::close(listener);
  listener = -1;
}

} // namespace emulated
