// SPDX-License-Identifier: Apache-2.0

// What callers do; job_thread.cpp has the thread that reads and writes. A
// process has two connections to the first one: for frames, which the thread
// moves, and for the bytes of tensors, which callers move.

#include "core/job.h"

#include <algorithm>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace weft::rt {
namespace {

constexpr int64_t grace = 2'000'000'000;
constexpr size_t mostBlob = size_t(1) << 20;

std::string seconds(int64_t nanoseconds) {
  return format("%g s", double(nanoseconds) / 1e9);
}

std::string encodeBlobs(const std::vector<std::string> &blobs) {
  WireWriter writer;
  for (const std::string &blob : blobs)
    writer.text(blob);
  return writer.bytes();
}

} // namespace

JobMember::JobMember(const JobPlace &place, int64_t ranksPerProcess,
                     double deadlineSeconds)
    : own(place), ranksPerProcess(ranksPerProcess),
      deadline(int64_t(deadlineSeconds * 1e9)),
      peers(size_t(place.process == 0 ? place.count : 1)) {}

Result<std::unique_ptr<JobMember>> JobMember::join(const JobPlace &place,
                                                   int64_t ranksPerProcess,
                                                   double deadlineSeconds) {
  std::unique_ptr<JobMember> job(
      new JobMember(place, ranksPerProcess, deadlineSeconds));
  Status met = job->meet();
  if (!met.ok())
    return Status(met.code(),
                  format("process %lld of %lld, at the rendezvous %s:%lld: %s",
                         (long long)place.process, (long long)place.count,
                         printable(place.host).c_str(), (long long)place.port,
                         met.message().c_str()));
  return job;
}

Status JobMember::connectTo(Descriptor &socket, int64_t isData, int64_t until) {
  Status heard;
  auto mayGoOn = [&] { return (heard = lookAround(until)).ok(); };
  Result<Descriptor> made = rt::connectTo(own.host, own.port, until, mayGoOn);
  if (!heard.ok())
    return heard;
  if (!made.ok())
    return Status(WEFT_RT_RANK_FAILED,
                  format("rank 0 is not there within %s: %s",
                         seconds(deadline).c_str(),
                         made.status().message().c_str()));
  socket = std::move(*made);
  WireWriter hello;
  for (int64_t number : {protocol, own.process, own.count, isData})
    hello.number(number);
  std::string bytes = frameOf(FrameKind::Hello, hello.bytes());
  return sendAll(socket, bytes.data(), bytes.size(),
                 [&] { return goOn(until - deadline); });
}

/// What the first one says between the two connections, which no thread reads
/// yet: only that the job has failed.
Status JobMember::lookAround(int64_t until) {
  pollfd said = {peers[0].control.get(), POLLIN, 0};
  bool isQuiet = !peers[0].control || poll(&said, 1, 0) <= 0;
  return isQuiet ? Status() : awaitWelcome(until);
}

/// The first one's answer: come in, or why not.
Status JobMember::awaitWelcome(int64_t until) {
  char head[frameHeadBytes];
  auto mayGoOn = [&] { return goOn(until - deadline); };
  WEFT_RT_RETURN_IF_ERROR(
      receiveAll(peers[0].control, head, sizeof(head), mayGoOn));
  uint64_t bytes = 0;
  std::optional<FrameKind> kind = readFrameHead(head, bytes);
  if (!kind || bytes > 8192)
    return Status(WEFT_RT_RANK_FAILED, "who answers is no process of a job");
  std::string content(size_t(bytes), 0);
  WEFT_RT_RETURN_IF_ERROR(
      receiveAll(peers[0].control, content.data(), content.size(), mayGoOn));
  return *kind == FrameKind::Hello ? Status() : decodeFailure(content);
}

/// A failure as it came, or that it makes no sense.
Status JobMember::decodeFailure(const std::string &content) {
  WireReader reader(content);
  int64_t code = reader.number();
  std::string text = reader.text();
  if (!reader.isWhole() || code <= WEFT_RT_OK || code > WEFT_RT_UNUSABLE)
    return Status(WEFT_RT_RANK_FAILED,
                  "what another process sends makes no sense");
  return Status(weft_rt_status(code), text);
}

Status JobMember::meet() {
  wakeUp = Descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (isFirst()) {
    Result<Descriptor> made = listenAt(own.host, own.port);
    if (!made.ok())
      return made.status();
    listener = std::move(*made);
  } else {
    int64_t until = monotonicNow() + deadline;
    WEFT_RT_RETURN_IF_ERROR(connectTo(peers[0].control, 0, until));
    WEFT_RT_RETURN_IF_ERROR(awaitWelcome(until));
    WEFT_RT_RETURN_IF_ERROR(connectTo(peers[0].data, 1, until));
    peers[0].isThere = true;
  }
  thread = std::thread([this] { serve(); });
  return Status();
}

JobMember::~JobMember() {
  if (!thread.joinable())
    return;
  leave();
  thread.join();
}

/// What is still to be sent is, if the others take it.
void JobMember::leave() {
  WireWriter writer;
  std::unique_lock<std::mutex> guard(lock);
  writer.number(steps);
  for (int64_t process : others())
    if (!hasFailed() && peers[size_t(process)].isThere)
      post(process, FrameKind::Leave, writer.bytes());
  auto isSent = [&] {
    for (const Peer &peer : peers)
      if (!peer.out.empty() && peer.control)
        return false;
    return true;
  };
  wake();
  changed.wait_for(guard, std::chrono::nanoseconds(grace), isSent);
  isEnding = true;
  wake();
}

std::string JobMember::nameOf(int64_t process) const {
  int64_t first = process * ranksPerProcess;
  return ranksPerProcess == 1
             ? format("rank %lld", (long long)first)
             : format("ranks %lld to %lld", (long long)first,
                      (long long)(first + ranksPerProcess - 1));
}

/// Those that this process is connected to.
std::vector<int64_t> JobMember::others() const {
  std::vector<int64_t> result;
  for (size_t process = isFirst() ? 1 : 0; process < peers.size(); ++process)
    result.push_back(int64_t(process));
  return result;
}

void JobMember::wake() {
  uint64_t one = 1;
  (void)!write(wakeUp.get(), &one, sizeof(one));
}

/// With the lock held.
void JobMember::post(int64_t process, FrameKind kind,
                     const std::string &content) {
  peers[size_t(process)].out += frameOf(kind, content);
  wake();
}

// ---- exchanges -------------------------------------------------------------

Status JobMember::lateness(int64_t process) const {
  const Peer &peer = peers[size_t(process)];
  std::string who = nameOf(process);
  if (peer.hasLeft)
    return Status(WEFT_RT_RANK_FAILED, who + " has left the job");
  if (!peer.isThere)
    return Status(WEFT_RT_RANK_FAILED,
                  format("%s did not come to the rendezvous at %s:%lld within "
                         "%s",
                         who.c_str(), printable(own.host).c_str(),
                         (long long)own.port, seconds(deadline).c_str()));
  return Status(WEFT_RT_RANK_FAILED,
                who + " did not answer within " + seconds(deadline));
}

Status JobMember::awaitBlob(int64_t process, int64_t until, std::string &blob) {
  Peer &peer = peers[size_t(process)];
  std::unique_lock<std::mutex> guard(lock);
  bool isThere = changed.wait_for(
      guard,
      std::chrono::nanoseconds(std::max<int64_t>(until - monotonicNow(), 0)),
      [&] {
        // What it sends by the first connection may overtake its second one.
        return hasFailed() || peer.hasLeft ||
               (peer.isThere && !peer.blobs.empty());
      });
  if (hasFailed())
    return firstFailure;
  if (!isThere || peer.blobs.empty())
    return lateness(process);
  blob = std::move(peer.blobs.front());
  peer.blobs.pop_front();
  wake(); // more may be read
  return Status();
}

Result<std::vector<std::string>> JobMember::gather(const std::string &mine) {
  std::vector<std::string> all = {mine};
  int64_t until = monotonicNow() + deadline;
  for (int64_t process : others()) {
    all.emplace_back();
    Status status = awaitBlob(process, until, all.back());
    if (!status.ok()) {
      fail(status);
      return failure();
    }
  }
  std::lock_guard<std::mutex> guard(lock);
  for (int64_t process : others())
    post(process, FrameKind::Blobs, encodeBlobs(all));
  return all;
}

Result<std::vector<std::string>> JobMember::askFirst(const std::string &mine) {
  {
    std::lock_guard<std::mutex> guard(lock);
    post(0, FrameKind::Blob, mine);
  }
  std::string answer;
  // The first one says who is missing.
  Status status = awaitBlob(0, monotonicNow() + deadline + grace, answer);
  if (!status.ok()) {
    fail(status);
    return failure();
  }
  WireReader reader(answer);
  std::vector<std::string> all(size_t(own.count));
  for (std::string &blob : all)
    blob = reader.text();
  if (reader.isWhole())
    return all;
  fail(Status(WEFT_RT_RANK_FAILED, "rank 0 sends what makes no sense"));
  return failure();
}

Result<std::vector<std::string>> JobMember::exchange(const std::string &mine) {
  if (mine.size() > mostBlob)
    return invalid(format("%zu bytes are too many to exchange", mine.size()));
  return isFirst() ? gather(mine) : askFirst(mine);
}

// ---- tensors ---------------------------------------------------------------

/// Says whether a transfer that has not moved since then goes on.
Status JobMember::goOn(int64_t lastMove) {
  if (hasFailed())
    return failure();
  if (monotonicNow() - lastMove > deadline)
    return Status(WEFT_RT_RANK_FAILED,
                  "nothing has moved for " + seconds(deadline));
  return Status();
}

Status JobMember::lost(const std::string &who, const Status &status) {
  if (status.ok())
    return status;
  // The thread that reads frames may know more in a moment.
  {
    std::unique_lock<std::mutex> guard(lock);
    changed.wait_for(guard, std::chrono::milliseconds(200),
                     [&] { return hasFailed(); });
  }
  fail(Status(WEFT_RT_RANK_FAILED, who + ": " + status.message()));
  return failure();
}

Status JobMember::send(int64_t to, const void *data, int64_t bytes) {
  const Descriptor &socket = peers[size_t(to)].data;
  std::string head = frameHead(FrameKind::Data, uint64_t(bytes));
  int64_t begin = monotonicNow();
  auto mayGoOn = [&] { return goOn(begin); };
  Status status = sendAll(socket, head.data(), head.size(), mayGoOn);
  // In parts, so that the deadline is for each.
  constexpr int64_t part = int64_t(1) << 24;
  for (int64_t at = 0; at < bytes && status.ok(); at += part) {
    begin = monotonicNow();
    status = sendAll(socket, static_cast<const char *>(data) + at,
                     size_t(std::min(part, bytes - at)), mayGoOn);
  }
  return lost("what is sent to " + nameOf(to), status);
}

Status JobMember::receive(int64_t from, void *data, int64_t bytes) {
  const Descriptor &socket = peers[size_t(from)].data;
  char head[frameHeadBytes];
  int64_t begin = monotonicNow();
  auto mayGoOn = [&] { return goOn(begin); };
  Status status = receiveAll(socket, head, sizeof(head), mayGoOn);
  uint64_t announced = 0;
  if (status.ok() && (readFrameHead(head, announced) != FrameKind::Data ||
                      announced != uint64_t(bytes)))
    status = Status(
        WEFT_RT_RANK_FAILED,
        format("not the %lld bytes that were expected", (long long)bytes));
  constexpr int64_t part = int64_t(1) << 24;
  for (int64_t at = 0; at < bytes && status.ok(); at += part) {
    begin = monotonicNow();
    status = receiveAll(socket, static_cast<char *>(data) + at,
                        size_t(std::min(part, bytes - at)), mayGoOn);
  }
  return lost("what comes from " + nameOf(from), status);
}

// ---- failure ---------------------------------------------------------------

void JobMember::tell(const std::string &bytes) {
  std::lock_guard<std::mutex> guard(lock);
  if (isFirst())
    messages.emplace_back(0, bytes);
  else
    post(0, FrameKind::Message, bytes);
  wake();
}

/// With the lock held.
void JobMember::failLocked(const Status &failure) {
  if (hasFailed())
    return;
  firstFailure = failure;
  failed.store(true, std::memory_order_release);
  WireWriter writer;
  writer.number(failure.code());
  writer.text(failure.message().substr(0, 4096));
  for (int64_t process : others()) {
    if (!peers[size_t(process)].control || peers[size_t(process)].hasLeft)
      continue;
    post(process, FrameKind::Failure, writer.bytes());
    writePeer(process); // the process may end at any moment
  }
  changed.notify_all();
  wake();
}

void JobMember::fail(const Status &failure) {
  std::lock_guard<std::mutex> guard(lock);
  failLocked(failure);
}

Status JobMember::failure() {
  std::lock_guard<std::mutex> guard(lock);
  return firstFailure;
}

Status JobMember::beginStep() {
  std::lock_guard<std::mutex> guard(lock);
  ++steps;
  for (int64_t process : others())
    checkLeft(process);
  return firstFailure;
}

/// Who has left is not missed unless somebody does more steps than it did.
void JobMember::checkLeft(int64_t process) {
  const Peer &peer = peers[size_t(process)];
  if (peer.hasLeft && peer.steps < steps)
    failLocked(Status(WEFT_RT_RANK_FAILED,
                      format("%s has left the job after %lld steps, and others "
                             "are in step %lld",
                             nameOf(process).c_str(), (long long)peer.steps,
                             (long long)steps)));
}

void JobMember::listen(JobListener *who) {
  std::lock_guard<std::mutex> guard(listenerLock);
  listening = who;
  wake();
}

} // namespace weft::rt
