// SPDX-License-Identifier: Apache-2.0

// The thread of a job: takes in who connects, reads frames, sends what is
// posted. Bytes of strangers that make no sense end their connection; those of
// a process of the job end the job.

#include "core/job.h"

#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace weft::rt {
namespace {

constexpr uint64_t mostHello = 64, mostOfProcess = uint64_t(2) << 20;
constexpr size_t mostStrangers = 1024, mostBlobs = 4;

/// Reads what has arrived; false at the end of the connection.
bool readSome(const Descriptor &socket, std::string &to, size_t most) {
  char buffer[1 << 16];
  while (to.size() < most) {
    ssize_t got = recv(socket.get(), buffer, sizeof(buffer), 0);
    if (got == 0)
      return false;
    if (got < 0)
      return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    to.append(buffer, size_t(got));
  }
  return true;
}

} // namespace

/// Says whether more is to be read of a process: not while what it sent before
/// lies about.
bool JobMember::isWanted(int64_t process) const {
  return peers[size_t(process)].blobs.size() < mostBlobs;
}

void JobMember::serve() {
  std::vector<pollfd> events;
  while (true) {
    events.clear();
    {
      std::lock_guard<std::mutex> guard(lock);
      if (isEnding)
        return;
      events.push_back({wakeUp.get(), POLLIN, 0});
      if (listener)
        events.push_back({listener.get(), POLLIN, 0});
      for (const Stranger &one : strangers)
        events.push_back({one.socket.get(), POLLIN, 0});
      for (int64_t process : others()) {
        const Peer &peer = peers[size_t(process)];
        auto wish = short((isWanted(process) ? POLLIN : 0) |
                          (peer.out.empty() ? 0 : POLLOUT));
        if (peer.control)
          events.push_back({peer.control.get(), wish, 0});
      }
    }
    (void)poll(events.data(), nfds_t(events.size()), 1000);
    uint64_t count = 0;
    (void)!read(wakeUp.get(), &count, sizeof(count));
    {
      std::lock_guard<std::mutex> guard(lock);
      readStrangers();
      for (int64_t process : others()) {
        if (peers[size_t(process)].control)
          writePeer(process);
        if (peers[size_t(process)].control && isWanted(process))
          readPeer(process);
      }
      changed.notify_all();
    }
    report();
  }
}

/// Tells the listener what has happened, without the lock.
void JobMember::report() {
  std::lock_guard<std::mutex> outer(listenerLock);
  if (!listening)
    return;
  std::deque<std::pair<int64_t, std::string>> arrived;
  Status failure;
  {
    std::lock_guard<std::mutex> guard(lock);
    arrived.swap(messages);
    if (hasFailed() && !isReported) {
      failure = firstFailure;
      isReported = true;
    }
  }
  for (const auto &[process, bytes] : arrived)
    listening->jobMessage(process, bytes);
  if (!failure.ok())
    listening->jobFailed(failure);
}

// ---- who connects ----------------------------------------------------------

void JobMember::readStrangers() {
  while (listener && strangers.size() < mostStrangers) {
    Descriptor made = acceptFrom(listener);
    if (!made)
      break;
    strangers.push_back({std::move(made), ""});
  }
  for (size_t i = 0; i < strangers.size();) {
    Stranger &one = strangers[i];
    bool isThere = readSome(one.socket, one.in, mostHello), isBad = false;
    std::optional<Frame> frame = takeFrame(one.in, mostHello, isBad);
    if (frame)
      greet(one, *frame);
    if (frame || isBad || !isThere || !one.socket) {
      strangers.erase(strangers.begin() + int64_t(i));
      continue;
    }
    ++i;
  }
  // Nobody else is to come.
  bool isWhole = true;
  for (int64_t process : others())
    isWhole = isWhole && peers[size_t(process)].isThere;
  if (isFirst() && isWhole) {
    listener.close();
    strangers.clear();
  }
}

/// A process of this job with a wrong number is a mistake to tell of.
void JobMember::refuse(Stranger &stranger, const std::string &why) {
  WireWriter writer;
  writer.number(WEFT_RT_INVALID);
  writer.text(why);
  std::string bytes = frameOf(FrameKind::Failure, writer.bytes());
  (void)!::send(stranger.socket.get(), bytes.data(), bytes.size(),
                MSG_NOSIGNAL);
  failLocked(invalid(why));
}

void JobMember::greet(Stranger &stranger, const Frame &frame) {
  WireReader reader(frame.content);
  int64_t version = reader.number(), process = reader.number(),
          count = reader.number(), isData = reader.number();
  if (frame.kind != FrameKind::Hello || !reader.isWhole())
    return;
  if (version != protocol)
    return refuse(stranger, format("process %lld has another version of weft "
                                   "than process 0",
                                   (long long)process));
  if (count != own.count)
    return refuse(stranger, format("process %lld says that the job has %lld "
                                   "processes, and process 0 that it has %lld",
                                   (long long)process, (long long)count,
                                   (long long)own.count));
  if (process <= 0 || process >= own.count)
    return refuse(stranger, format("a process says that it is number %lld of "
                                   "%lld, where process 0 listens",
                                   (long long)process, (long long)own.count));
  Peer &peer = peers[size_t(process)];
  Descriptor &place = isData ? peer.data : peer.control;
  if (place)
    return refuse(stranger, format("two processes say that they are process "
                                   "%lld of %lld",
                                   (long long)process, (long long)own.count));
  place = std::move(stranger.socket);
  if (!isData) {
    peer.in = std::move(stranger.in);
    post(process, FrameKind::Hello, ""); // welcome
  }
  peer.isThere = peer.control && peer.data;
}

// ---- frames ----------------------------------------------------------------

void JobMember::writePeer(int64_t process) {
  Peer &peer = peers[size_t(process)];
  while (!peer.out.empty()) {
    ssize_t sent = ::send(peer.control.get(), peer.out.data(), peer.out.size(),
                          MSG_NOSIGNAL);
    if (sent <= 0)
      return; // a lost connection is noticed where it is read
    peer.out.erase(0, size_t(sent));
  }
}

void JobMember::readPeer(int64_t process) {
  Peer &peer = peers[size_t(process)];
  uint64_t most = isFirst() ? mostOfProcess : mostFrameBytes;
  bool isThere = readSome(peer.control, peer.in, size_t(most) + frameHeadBytes);
  bool isBad = false;
  while (isWanted(process)) {
    std::optional<Frame> frame = takeFrame(peer.in, most, isBad);
    if (!frame)
      break;
    takeIn(process, *frame);
  }
  if (isBad)
    failLocked(Status(WEFT_RT_RANK_FAILED,
                      nameOf(process) + " sends what makes no sense"));
  if (isThere && !isBad)
    return;
  if (!peer.hasLeft)
    failLocked(Status(
        WEFT_RT_RANK_FAILED,
        format("%s is gone: process %lld of the job ended without a word",
               nameOf(process).c_str(), (long long)process)));
  peer.control.close();
  peer.out.clear();
}

void JobMember::takeIn(int64_t process, const Frame &frame) {
  Peer &peer = peers[size_t(process)];
  WireReader reader(frame.content);
  bool isRight = true;
  if (frame.kind == (isFirst() ? FrameKind::Blob : FrameKind::Blobs)) {
    peer.blobs.push_back(frame.content);
  } else if (frame.kind == FrameKind::Message && isFirst()) {
    messages.emplace_back(process, frame.content);
  } else if (frame.kind == FrameKind::Leave) {
    peer.steps = reader.number();
    isRight = reader.isWhole();
    peer.hasLeft = isRight;
    checkLeft(process);
  } else if (frame.kind == FrameKind::Failure) {
    failLocked(decodeFailure(frame.content));
  } else {
    isRight = false;
  }
  if (!isRight)
    failLocked(Status(WEFT_RT_RANK_FAILED,
                      nameOf(process) + " sends what makes no sense"));
}

} // namespace weft::rt
