// SPDX-License-Identifier: Apache-2.0

// The stand-in for libnccl.so.2: ranks are of one process, and streams do what
// NCCL's kernels would: each call waits on its stream for the other ranks'.
// Whoever comes last to a collective does all of it, in the order of the ranks.

#include "emulated.h"

#include "core/float_formats.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

using namespace weft::rt::cuda;

namespace {

constexpr int invalidUsage = 5;

enum class Kind { AllGather, ReduceScatter, AllReduce, Send, Recv };

/// One call of one rank.
struct Call {
  Kind kind;
  const void *in;
  void *out;
  size_t count;
  int type, peer;
  int64_t number = 0; // of a collective in its communicator
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

template <typename Format>
void addAs(const std::vector<Call> &calls, size_t first, size_t count,
           void *out) {
  using Stored = typename Format::Stored;
  for (size_t i = 0; i < count; ++i) {
    auto load = [&](const Call &call) {
      return Format::load(static_cast<const Stored *>(call.in)[first + i]);
    };
    auto sum = load(calls[0]);
    for (size_t rank = 1; rank < calls.size(); ++rank)
      sum = decltype(sum)(sum + load(calls[rank]));
    static_cast<Stored *>(out)[i] = Format::store(sum);
  }
}

/// The sum of `count` elements of all ranks' inputs, in order.
void add(const std::vector<Call> &calls, size_t first, size_t count,
         void *out) {
  switch (calls[0].type) {
  case nccl::float16:
    return addAs<weft::rt::Float16>(calls, first, count, out);
  case nccl::bfloat16:
    return addAs<weft::rt::BFloat16>(calls, first, count, out);
  case nccl::float32:
    return addAs<weft::rt::Plain<float>>(calls, first, count, out);
  case nccl::float64:
    return addAs<weft::rt::Plain<double>>(calls, first, count, out);
  case nccl::int8:
  case nccl::uint8:
    return addAs<weft::rt::Plain<uint8_t>>(calls, first, count, out);
  case nccl::int32:
  case nccl::uint32:
    return addAs<weft::rt::Plain<uint32_t>>(calls, first, count, out);
  default:
    return addAs<weft::rt::Plain<uint64_t>>(calls, first, count, out);
  }
}

/// The ranks of a communicator.
struct Clique {
  struct Round {
    std::vector<Call> calls;
    size_t arrived = 0, left = 0;
    bool isDone = false;
  };
  struct Message {
    const void *data;
    size_t bytes;
    bool isTaken = false;
  };

  std::mutex lock;
  std::condition_variable changed;
  size_t size = 0, joined = 0;
  std::set<int> devices;
  bool isAborted = false;
  std::map<int64_t, Round> rounds; // by number
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>> mail;

  void perform(Round &round);
  void arrive(int rank, const Call &call);
  void depart(std::unique_lock<std::mutex> &guard, int64_t number);
};

void Clique::perform(Round &round) {
  const std::vector<Call> &calls = round.calls;
  size_t count = calls[0].count, bytes = count * bytesOf(calls[0].type);
  std::vector<char> sum(bytes);
  if (calls[0].kind == Kind::AllReduce)
    add(calls, 0, count, sum.data());
  for (size_t rank = 0; rank < size; ++rank) {
    auto *out = static_cast<char *>(calls[rank].out);
    if (calls[0].kind == Kind::ReduceScatter)
      add(calls, rank * count, count, out);
    else if (calls[0].kind == Kind::AllReduce)
      std::memcpy(out, sum.data(), bytes);
    else
      for (size_t from = 0; from < size; ++from)
        std::memcpy(out + from * bytes, calls[from].in, bytes);
  }
}

void Clique::arrive(int rank, const Call &call) {
  Round &round = rounds[call.number];
  round.calls.resize(size);
  round.calls[size_t(rank)] = call;
  if (++round.arrived < size || isAborted)
    return;
  perform(round);
  round.isDone = true;
  changed.notify_all();
}

void Clique::depart(std::unique_lock<std::mutex> &guard, int64_t number) {
  changed.wait(guard, [&] { return isAborted || rounds[number].isDone; });
  if (!isAborted && ++rounds[number].left == size)
    rounds.erase(number);
}

} // namespace

struct ncclComm {
  std::shared_ptr<Clique> clique;
  int rank;
  int64_t collectives = 0;
};

namespace {

/// Calls of one rank that began together: none waits for another one.
struct Batch {
  std::shared_ptr<Clique> clique;
  int rank;
  std::vector<Call> calls;

  void run() {
    std::unique_lock<std::mutex> guard(clique->lock);
    std::vector<std::shared_ptr<Clique::Message>> sent;
    for (const Call &call : calls) {
      if (call.kind == Kind::Send) {
        sent.push_back(std::make_shared<Clique::Message>(
            Clique::Message{call.in, call.count * bytesOf(call.type)}));
        clique->mail[{rank, call.peer}].push_back(sent.back());
        clique->changed.notify_all();
      } else if (call.kind != Kind::Recv) {
        clique->arrive(rank, call);
      }
    }
    for (const Call &call : calls) {
      if (call.kind == Kind::Recv)
        receive(guard, call);
      else if (call.kind != Kind::Send)
        clique->depart(guard, call.number);
    }
    clique->changed.wait(guard, [&] {
      return clique->isAborted ||
             std::all_of(sent.begin(), sent.end(),
                         [](const auto &message) { return message->isTaken; });
    });
  }

  void receive(std::unique_lock<std::mutex> &guard, const Call &call) {
    auto &box = clique->mail[{call.peer, rank}];
    clique->changed.wait(guard,
                         [&] { return clique->isAborted || !box.empty(); });
    if (clique->isAborted)
      return;
    std::memcpy(call.out, box.front()->data, box.front()->bytes);
    box.front()->isTaken = true;
    box.pop_front();
    clique->changed.notify_all();
  }
};

struct Pending {
  ncclComm *communicator;
  CUstream_st *stream;
  std::vector<Call> calls;
};
thread_local int groupDepth = 0;
thread_local std::vector<Pending> pending;

void flush() {
  for (Pending &one : pending) {
    auto *batch = new Batch{one.communicator->clique, one.communicator->rank,
                            std::move(one.calls)};
    emulatedEnqueue(
        one.stream,
        [](void *context) {
          std::unique_ptr<Batch> work(static_cast<Batch *>(context));
          work->run();
        },
        batch);
  }
  pending.clear();
}

int call(ncclComm *communicator, CUstream_st *stream, Call what) {
  if (what.kind != Kind::Send && what.kind != Kind::Recv)
    what.number = communicator->collectives++;
  auto same =
      std::find_if(pending.begin(), pending.end(), [&](const Pending &one) {
        return one.communicator == communicator && one.stream == stream;
      });
  if (same == pending.end())
    same = pending.insert(pending.end(), {communicator, stream, {}});
  same->calls.push_back(what);
  if (groupDepth == 0)
    flush();
  return nccl::success;
}

std::mutex cliquesLock;
std::map<int64_t, std::shared_ptr<Clique>> cliques;

} // namespace

#define FAIL_IF_TOLD()                                                         \
  do {                                                                         \
    if (int told_ = emulatedError(__func__))                                   \
      return told_;                                                            \
  } while (false)

extern "C" {

int ncclGetVersion(int *version) {
  FAIL_IF_TOLD();
  *version = int(emulated::setting("EMULATED_NCCL_VERSION", 22809));
  return 0;
}

int ncclGetUniqueId(UniqueId *id) {
  FAIL_IF_TOLD();
  static int64_t last = 0;
  std::lock_guard<std::mutex> guard(cliquesLock);
  std::memset(id, 0, sizeof(*id));
  ++last;
  std::memcpy(id->internal, &last, sizeof(last));
  return 0;
}

int ncclCommInitRankConfig(ncclComm **made, int size, UniqueId id, int rank,
                           NcclConfig *config) {
  FAIL_IF_TOLD();
  if (config->magic != nccl::configMagic || config->blocking != 0)
    return invalidUsage;
  int64_t number = 0;
  std::memcpy(&number, id.internal, sizeof(number));
  std::lock_guard<std::mutex> guard(cliquesLock);
  std::shared_ptr<Clique> &clique = cliques[number];
  if (!clique)
    clique = std::make_shared<Clique>();
  std::lock_guard<std::mutex> inside(clique->lock);
  // NCCL refuses two ranks on one GPU.
  if (!clique->devices.insert(emulatedDevice()).second)
    return invalidUsage;
  clique->size = size_t(size);
  ++clique->joined;
  *made = new ncclComm{clique, rank};
  return nccl::inProgress;
}

int ncclCommDestroy(ncclComm *communicator) {
  delete communicator;
  return 0;
}

int ncclCommAbort(ncclComm *communicator) {
  {
    std::lock_guard<std::mutex> guard(communicator->clique->lock);
    communicator->clique->isAborted = true;
    communicator->clique->changed.notify_all();
  }
  delete communicator;
  return 0;
}

int ncclCommGetAsyncError(ncclComm *communicator, int *state) {
  FAIL_IF_TOLD();
  std::lock_guard<std::mutex> guard(communicator->clique->lock);
  bool isWhole = communicator->clique->joined == communicator->clique->size;
  *state = isWhole ? nccl::success : nccl::inProgress;
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

int ncclGroupStart(void) {
  FAIL_IF_TOLD();
  ++groupDepth;
  return 0;
}

int ncclGroupEnd(void) {
  int told = emulatedError(__func__);
  if (--groupDepth == 0)
    flush();
  if (told)
    return told;
  return 0;
}

const char *ncclGetErrorString(int result) {
  return result == invalidUsage ? "invalid usage" : "told to fail";
}

const char *ncclGetLastError(ncclComm *) { return ""; }

} // extern "C"
