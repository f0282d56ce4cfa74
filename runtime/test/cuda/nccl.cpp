// SPDX-License-Identifier: Apache-2.0

// The stand-in for libnccl.so.2. Streams do what NCCL's kernels would: a rank
// sends what others need when its stream comes to the call, waits there for
// what it needs, and adds in the order of the ranks. nccl_link.h carries it,
// also to other processes.

#include "emulated.h"
#include "nccl_link.h"

#include "core/float_formats.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <random>
#include <unistd.h>

using namespace weft::rt::cuda;
using emulated::Link;

namespace {

constexpr int unhandledCudaError = 1, invalidUsage = 5, remoteError = 6;

enum class Kind { AllGather, ReduceScatter, AllReduce, Send, Recv };

/// One call of one rank.
struct Call {
  Kind kind;
  const void *in;
  void *out;
  size_t count;
  int type, peer;
};

size_t bytesOf(int type) {
  switch (type) {
  case nccl::int8:
  case nccl::uint8:
    return 1;
  case nccl::float16:
  case nccl::bfloat16:
    return 2;
  case nccl::int64:
  case nccl::uint64:
  case nccl::float64:
    return 8;
  default:
    return 4;
  }
}

/// `count` elements of each rank's, added in order.
template <typename Format>
void addAs(const std::vector<std::vector<char>> &inputs, size_t count,
           void *out) {
  using Stored = typename Format::Stored;
  for (size_t i = 0; i < count; ++i) {
    auto load = [&](const std::vector<char> &input) {
      return Format::load(reinterpret_cast<const Stored *>(input.data())[i]);
    };
    auto sum = load(inputs[0]);
    for (size_t rank = 1; rank < inputs.size(); ++rank)
      sum = decltype(sum)(sum + load(inputs[rank]));
    static_cast<Stored *>(out)[i] = Format::store(sum);
  }
}

void add(int type, const std::vector<std::vector<char>> &inputs, size_t count,
         void *out) {
  switch (type) {
  case nccl::float16:
    return addAs<weft::rt::Float16>(inputs, count, out);
  case nccl::bfloat16:
    return addAs<weft::rt::BFloat16>(inputs, count, out);
  case nccl::float32:
    return addAs<weft::rt::Plain<float>>(inputs, count, out);
  case nccl::float64:
    return addAs<weft::rt::Plain<double>>(inputs, count, out);
  case nccl::int8:
  case nccl::uint8:
    return addAs<weft::rt::Plain<uint8_t>>(inputs, count, out);
  case nccl::int32:
  case nccl::uint32:
    return addAs<weft::rt::Plain<uint32_t>>(inputs, count, out);
  default:
    return addAs<weft::rt::Plain<uint64_t>>(inputs, count, out);
  }
}

} // namespace

struct ncclComm {
  std::shared_ptr<Link> link;
  int registered = 0, deregistered = 0;
};

namespace {

/// Calls of one rank that began together: none waits for another one.
struct Batch {
  std::shared_ptr<Link> link;
  std::vector<Call> calls;
  bool isKept; // by a graph
  ~Batch() {
    if (isKept)
      link->release();
  }

  void run() const {
    int64_t sent = 0;
    for (const Call &call : calls)
      sent += sendOf(call);
    for (const Call &call : calls)
      if (!finish(call))
        return;
    link->awaitTaken(sent);
  }

  /// Gives others what they need; says how many must say that they took it.
  int64_t sendOf(const Call &call) const {
    size_t bytes = call.count * bytesOf(call.type);
    auto *in = static_cast<const char *>(call.in);
    if (call.kind == Kind::Send)
      link->send(call.peer, in, bytes);
    for (int to = 0; to < link->size() && call.kind != Kind::Send &&
                     call.kind != Kind::Recv;
         ++to)
      link->send(
          to, in + (call.kind == Kind::ReduceScatter ? size_t(to) : 0) * bytes,
          bytes);
    return call.kind == Kind::Send ? 1 : 0;
  }

  bool finish(const Call &call) const {
    size_t bytes = call.count * bytesOf(call.type);
    auto *out = static_cast<char *>(call.out);
    if (call.kind == Kind::Send)
      return true;
    if (call.kind == Kind::Recv) {
      std::vector<char> data;
      if (!link->receive(call.peer, bytes, data))
        return false;
      std::memcpy(out, data.data(), bytes);
      link->sayTaken(call.peer);
      return true;
    }
    std::vector<std::vector<char>> inputs{size_t(link->size())};
    for (int from = 0; from < link->size(); ++from)
      if (!link->receive(from, bytes, inputs[size_t(from)]))
        return false;
    for (size_t from = 0; from < inputs.size() && call.kind == Kind::AllGather;
         ++from)
      std::memcpy(out + from * bytes, inputs[from].data(), bytes);
    if (call.kind != Kind::AllGather)
      add(call.type, inputs, call.count, out);
    return true;
  }
};

struct Pending {
  ncclComm *communicator;
  CUstream_st *stream;
  std::vector<Call> calls;
};
thread_local int groupDepth = 0;
thread_local std::vector<Pending> pending;

int flush() {
  int result = nccl::success;
  for (Pending &one : pending) {
    bool isKept = emulatedIsCaptured(one.stream);
    if (isKept)
      one.communicator->link->keep();
    auto *batch =
        new Batch{one.communicator->link, std::move(one.calls), isKept};
    int refused = emulatedEnqueue(
        one.stream, [](void *context) { static_cast<Batch *>(context)->run(); },
        batch, [](void *context) { delete static_cast<Batch *>(context); });
    result = refused ? unhandledCudaError : result;
  }
  pending.clear();
  return result;
}

int call(ncclComm *communicator, CUstream_st *stream, const Call &what) {
  auto same =
      std::find_if(pending.begin(), pending.end(), [&](const Pending &one) {
        return one.communicator == communicator && one.stream == stream;
      });
  if (same == pending.end())
    same = pending.insert(pending.end(), {communicator, stream, {}});
  same->calls.push_back(what);
  return groupDepth == 0 ? flush() : nccl::success;
}

} // namespace

extern "C" {

int ncclGetVersion(int *version) {
  FAIL_IF_TOLD();
  *version = int(emulated::setting("EMULATED_NCCL_VERSION", 22809));
  return 0;
}

int ncclGetUniqueId(UniqueId *id) {
  FAIL_IF_TOLD();
  std::memset(id, 0, sizeof(*id));
  std::random_device random;
  std::snprintf(id->internal, sizeof(id->internal), "%lld-%08x%08x%08x",
                (long long)getpid(), random(), random(), random());
  return 0;
}

int ncclCommInitRankConfig(ncclComm **made, int size, UniqueId id, int rank,
                           NcclConfig *config) {
  FAIL_IF_TOLD();
  if (config->magic != nccl::configMagic || config->blocking != 0 || rank < 0 ||
      rank >= size)
    return invalidUsage;
  char uuid[16];
  emulatedUuid(emulatedDevice(), uuid);
  std::shared_ptr<Link> link =
      Link::open(id.internal, size, rank, std::string(uuid, sizeof(uuid)));
  if (!link)
    return invalidUsage;
  *made = new ncclComm{link, 0, 0};
  return nccl::inProgress;
}

int ncclCommDestroy(ncclComm *communicator) {
  if (emulated::setting("EMULATED_NCCL_REPORT", 0))
    std::fprintf(stderr, "registered %d, deregistered %d\n",
                 communicator->registered, communicator->deregistered);
  communicator->link->close();
  delete communicator;
  return 0;
}

int ncclCommAbort(ncclComm *communicator) {
  communicator->link->abort();
  communicator->link->close();
  delete communicator;
  return 0;
}

int ncclCommGetAsyncError(ncclComm *communicator, int *state) {
  FAIL_IF_TOLD();
  const Link &link = *communicator->link;
  if (link.sharesGpu()) // NCCL refuses two ranks on one GPU
    *state = invalidUsage;
  else if (link.isBroken() && emulated::setting("EMULATED_NCCL_NOTICES", 0))
    *state = remoteError;
  else
    *state = link.isWhole() ? nccl::success : nccl::inProgress;
  return 0;
}

int ncclAllGather(const void *in, void *out, size_t count, int type,
                  ncclComm *communicator, CUstream_st *stream) {
  FAIL_IF_TOLD();
  return call(communicator, stream, {Kind::AllGather, in, out, count, type, 0});
}

int ncclReduceScatter(const void *in, void *out, size_t count, int type, int,
                      ncclComm *communicator, CUstream_st *stream) {
  FAIL_IF_TOLD();
  return call(communicator, stream,
              {Kind::ReduceScatter, in, out, count, type, 0});
}

int ncclAllReduce(const void *in, void *out, size_t count, int type, int,
                  ncclComm *communicator, CUstream_st *stream) {
  FAIL_IF_TOLD();
  return call(communicator, stream, {Kind::AllReduce, in, out, count, type, 0});
}

int ncclSend(const void *in, size_t count, int type, int peer,
             ncclComm *communicator, CUstream_st *stream) {
  FAIL_IF_TOLD();
  return call(communicator, stream,
              {Kind::Send, in, nullptr, count, type, peer});
}

int ncclRecv(void *out, size_t count, int type, int peer,
             ncclComm *communicator, CUstream_st *stream) {
  FAIL_IF_TOLD();
  return call(communicator, stream,
              {Kind::Recv, nullptr, out, count, type, peer});
}

#ifndef EMULATED_OLD_NCCL
namespace {

/// What a handle is for.
struct Registration {
  ncclComm *communicator;
};

} // namespace

int ncclCommRegister(const ncclComm *communicator, void *base, size_t bytes,
                     void **handle) {
  FAIL_IF_TOLD();
  if (!base || bytes == 0)
    return invalidUsage;
  auto *own = const_cast<ncclComm *>(communicator);
  ++own->registered;
  *handle = new Registration{own};
  return nccl::inProgress;
}

int ncclCommDeregister(const ncclComm *communicator, void *handle) {
  auto *registration = static_cast<Registration *>(handle);
  if (registration->communicator != communicator)
    return invalidUsage;
  ++registration->communicator->deregistered;
  delete registration;
  return 0;
}
#endif

int ncclGroupStart(void) {
  FAIL_IF_TOLD();
  ++groupDepth;
  return 0;
}

int ncclGroupEnd(void) {
  int told = emulatedError(__func__), result = 0;
  if (--groupDepth == 0)
    result = flush();
  return told ? told : result;
}

const char *ncclGetErrorString(int result) {
  return result == invalidUsage ? "invalid usage" : "told to fail";
}

const char *ncclGetLastError(ncclComm *) { return ""; }

} // extern "C"
