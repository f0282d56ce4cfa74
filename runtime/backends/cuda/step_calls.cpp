// SPDX-License-Identifier: Apache-2.0

// Writing down and giving on; capture.cpp has what becomes a graph. Tickets
// that the program holds are numbers of starts in the task, from 1, while calls
// are written down.

#include "backends/cuda/step_calls.h"

#include "backends/cuda/rank.h"

namespace weft::rt::cuda {

void StepCalls::leave() { rank.leave(); }

void StepCalls::fail(const char *message) { rank.fail(message); }

void StepCalls::begin() {
  current.clear();
  tickets.clear();
  firstStart = 0;
}

bool StepCalls::finish() { return !isOn || rank.check(runChain()); }

int64_t StepCalls::ticketOf(int64_t virtualTicket) const {
  return virtualTicket > 0 && virtualTicket <= int64_t(tickets.size())
             ? tickets[size_t(virtualTicket - 1)]
             : 0;
}

// ---- calls -----------------------------------------------------------------

bool StepCalls::gemm(int32_t op, const weft_rt_gemm &desc, const void *a,
                     const void *b, void *c) {
  if (!isOn)
    return rank.gemm(op, desc, a, b, c);
  current.add(CallKind::Gemm, op, &desc);
  for (const void *buffer : {a, b, static_cast<const void *>(c)})
    current.addBuffer(buffer);
  return true;
}

bool StepCalls::attention(int32_t op, const weft_rt_attention &desc,
                          void *const *buffers, int64_t queryStart) {
  if (!isOn)
    return rank.attention(op, desc, buffers, queryStart);
  current.add(CallKind::Attention, op, &desc);
  for (int i = 0; i < WEFT_RT_ATTENTION_NUM_BUFFERS; ++i)
    current.addBuffer(buffers[i]);
  current.addScalar(queryStart);
  return true;
}

bool StepCalls::launch(int32_t op, const weft_rt_launch &launch,
                       void *const *buffers, const int64_t *scalars) {
  bool isKnown = launch.kernel >= 0 && launch.kernel < rank.program.num_kernels;
  if (!isOn || !isKnown)
    return rank.launch(op, launch, buffers, scalars);
  const weft_rt_kernel_entry &entry = rank.program.kernels[launch.kernel];
  current.add(CallKind::Launch, op, &launch);
  for (int32_t i = 0; i < entry.num_buffers; ++i)
    current.addBuffer(buffers[i]);
  for (int32_t i = 0; i < entry.num_scalars; ++i)
    current.addScalar(scalars[i]);
  return true;
}

bool StepCalls::copy(int32_t op, const weft_rt_copy &copy, const void *source,
                     void *target) {
  if (!isOn)
    return rank.copy(op, copy, source, target);
  current.add(CallKind::Copy, op, &copy);
  current.addBuffer(source);
  current.addBuffer(target);
  return true;
}

bool StepCalls::readScalar(int32_t op, weft_rt_type type, const void *source,
                           int64_t &value) {
  return finish() && rank.readScalar(op, type, source, value);
}

int64_t StepCalls::startCollective(int32_t op,
                                   const weft_rt_collective &collective,
                                   const void *const *in, void *const *out) {
  // What makes no sense is the rank's to refuse.
  if (!isOn || collective.num_operands < 0 ||
      collective.num_operands > rank.program.max_operands)
    return rank.startCollective(op, collective, in, out);
  current.add(CallKind::Start, op, &collective);
  for (int32_t i = 0; i < collective.num_operands; ++i)
    current.addBuffer(in[i]);
  for (int32_t i = 0; i < collective.num_operands; ++i)
    current.addBuffer(out[i]);
  return firstStart + current.starts();
}

/// Relative to the chain, a ticket is the same each time.
bool StepCalls::wait(int32_t op, int64_t ticket) {
  if (!isOn)
    return rank.wait(op, ticket);
  current.add(CallKind::Wait, op, nullptr);
  current.addScalar(ticket - firstStart);
  return true;
}

bool StepCalls::addNumber(CallKind kind, int64_t number) {
  current.add(kind, -1, nullptr);
  current.addScalar(number);
  return true;
}

bool StepCalls::setStream(int32_t channel) {
  return isOn ? addNumber(CallKind::SetStream, channel)
              : rank.setStream(channel);
}

bool StepCalls::record(int32_t event) {
  return isOn ? addNumber(CallKind::Record, event) : rank.record(event);
}

bool StepCalls::await(int32_t event) {
  return isOn ? addNumber(CallKind::Await, event) : rank.await(event);
}

// ---- chains ----------------------------------------------------------------

/// The current chain as it was met before, or as it is met now; null: too many
/// were.
StepCalls::Known *StepCalls::find() {
  for (auto &one : known)
    if (one->chain == current)
      return one.get();
  if (known.size() == mostKnown)
    return nullptr;
  auto made = std::make_unique<Known>();
  made->chain = current;
  std::lock_guard<std::mutex> guard(graphLock);
  known.push_back(std::move(made));
  return known.back().get();
}

Status StepCalls::runChain() {
  if (current.isEmpty())
    return Status();
  auto calls = int64_t(current.all().size());
  Known *one = find();
  counts.allCalls += calls;
  bool isRun = true;
  if (!one || one->runs++ == 0) {
    isRun = runCalls(current);
  } else {
    if (!one->isCaptured)
      WEFT_RT_RETURN_IF_ERROR(capture(*one));
    WEFT_RT_RETURN_IF_ERROR(launchGraph(*one));
    counts.capturedCalls += calls;
    isRun = book(*one);
  }
  firstStart += current.starts();
  current.clear();
  return isRun ? Status() : Status(WEFT_RT_RANK_FAILED, "");
}

bool StepCalls::runCalls(const Chain &chain) {
  for (const ChainCall &call : chain.all())
    if (!runCall(chain, call))
      return false;
  return true;
}

bool StepCalls::runCall(const Chain &chain, const ChainCall &call) {
  const void *const *buffers = chain.buffersOf(call);
  void *const *writable = chain.writableOf(call);
  const int64_t *scalars = chain.scalarsOf(call);
  switch (call.kind) {
  case CallKind::Gemm:
    return rank.gemm(call.op, *static_cast<const weft_rt_gemm *>(call.what),
                     buffers[0], buffers[1], writable[2]);
  case CallKind::Attention:
    return rank.attention(call.op,
                          *static_cast<const weft_rt_attention *>(call.what),
                          writable, scalars[0]);
  case CallKind::Launch:
    return rank.launch(call.op, *static_cast<const weft_rt_launch *>(call.what),
                       writable, scalars);
  case CallKind::Copy:
    return rank.copy(call.op, *static_cast<const weft_rt_copy *>(call.what),
                     buffers[0], writable[1]);
  case CallKind::Start: {
    auto &collective = *static_cast<const weft_rt_collective *>(call.what);
    int64_t ticket = rank.startCollective(call.op, collective, buffers,
                                          writable + collective.num_operands);
    tickets.push_back(ticket);
    return ticket >= 0;
  }
  case CallKind::Wait:
    return rank.wait(call.op, ticketOf(firstStart + scalars[0]));
  case CallKind::SetStream:
    return rank.setStream(int32_t(scalars[0]));
  case CallKind::Record:
    return rank.record(int32_t(scalars[0]));
  case CallKind::Await:
    return rank.await(int32_t(scalars[0]));
  }
  return false;
}

/// What the CPU does for a chain whose graph is launched.
bool StepCalls::book(Known &one) {
  int64_t start = 0;
  for (const ChainCall &call : one.chain.all()) {
    if (call.kind == CallKind::SetStream &&
        !rank.check(rank.streams.set(int32_t(*one.chain.scalarsOf(call)))))
      return false;
    if (call.kind == CallKind::Record) {
      auto event = int32_t(*one.chain.scalarsOf(call));
      if (!rank.check(rank.streams.record(event)))
        return false;
      rank.isInGraph[size_t(event)] = true;
    }
    if (call.kind == CallKind::Start) {
      auto &collective = *static_cast<const weft_rt_collective *>(call.what);
      int64_t ticket = rank.noteStart(collective, &one.notes[start++], *number);
      tickets.push_back(ticket);
      if (ticket < 0)
        return false;
    } else if (call.kind == CallKind::Wait) {
      int64_t ticket = ticketOf(firstStart + one.chain.scalarsOf(call)[0]);
      if (!rank.wait(call.op, ticket))
        return false;
    }
  }
  return true;
}

void StepCalls::report(GraphReport &report) const {
  if (counts.allCalls <= report.allCalls)
    return;
  report.graphs = counts.graphs;
  report.launches = counts.launches;
  report.capturedCalls = counts.capturedCalls;
  report.allCalls = counts.allCalls;
}

} // namespace weft::rt::cuda
