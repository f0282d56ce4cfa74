// SPDX-License-Identifier: Apache-2.0

// The C functions of session.h: null checks, the last error, and the calls.

#include "backends/backends.h"
#include "core/backend_registry.h"
#include "core/session.h"
#include "core/types.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

using namespace weft::rt;

struct weft_rt_session {
  std::unique_ptr<Session> impl;
};

namespace {

thread_local std::string lastError;

weft_rt_status report(const Status &status) {
  if (!status.ok())
    lastError = status.message();
  return status.code();
}

weft_rt_status finishCreate(Result<std::unique_ptr<Session>> created,
                            weft_rt_session **session) {
  if (!created.ok())
    return report(created.status());
  *session = new weft_rt_session{std::move(*created)};
  return WEFT_RT_OK;
}

int32_t findTensor(const weft_rt_tensor *tensors, int32_t count,
                   const char *name) {
  for (int32_t i = 0; i < count; ++i)
    if (std::strcmp(tensors[i].name, name) == 0)
      return i;
  return -1;
}

/// What the caller knows of the options; the rest is as if it had not been
/// said. Other sizes are refused where options are checked.
weft_rt_options orDefault(const weft_rt_options *options) {
  weft_rt_options known = WEFT_RT_OPTIONS_INIT;
  if (!options)
    return known;
  constexpr size_t first = offsetof(weft_rt_options, processes);
  if (options->struct_size == first)
    std::memcpy(&known, options, first);
  else if (options->struct_size == sizeof(known))
    known = *options;
  else
    return known.struct_size = options->struct_size, known;
  known.struct_size = sizeof(known);
  return known;
}

} // namespace

const char *weft_rt_last_error(void) { return lastError.c_str(); }

weft_rt_status weft_rt_load_backend(const char *path) {
  registerBackendsOfThisBuild();
  return report(loadBackendLibrary(path));
}

weft_rt_status weft_rt_session_open(const char *path,
                                    const weft_rt_options *options,
                                    weft_rt_session **session) {
  registerBackendsOfThisBuild();
  *session = nullptr;
  Result<std::unique_ptr<Executable>> executable = Executable::load(path);
  if (!executable.ok())
    return report(executable.status());
  const weft_rt_program *program = &(*executable)->program();
  return finishCreate(
      Session::create({program}, orDefault(options), std::move(*executable)),
      session);
}

weft_rt_status weft_rt_session_create(const weft_rt_program *const *programs,
                                      int64_t count,
                                      const weft_rt_options *options,
                                      weft_rt_session **session) {
  registerBackendsOfThisBuild();
  *session = nullptr;
  return finishCreate(Session::create({programs, programs + count},
                                      orDefault(options), nullptr),
                      session);
}

void weft_rt_session_close(weft_rt_session *session) {
  if (session)
    Session::close(std::move(session->impl));
  delete session;
}

const weft_rt_program *weft_rt_session_program(const weft_rt_session *session) {
  return &session->impl->program();
}

const int64_t *weft_rt_session_ranks(const weft_rt_session *session,
                                     int64_t *count) {
  const std::vector<int64_t> &ranks = session->impl->ranks();
  *count = int64_t(ranks.size());
  return ranks.data();
}

int64_t weft_rt_session_process(const weft_rt_session *session,
                                int64_t *processes) {
  JobPlace place = session->impl->place();
  *processes = place.count;
  return place.process;
}

weft_rt_status weft_rt_find_process(const char *backend,
                                    const weft_rt_options *options,
                                    int64_t *process, int64_t *processes) {
  registerBackendsOfThisBuild();
  Result<BackendEntry> entry = findBackend(backend);
  if (!entry.ok())
    return report(entry.status());
  Result<JobPlace> place = placeFor(*entry, orDefault(options));
  if (!place.ok())
    return report(place.status());
  *process = place->process;
  *processes = place->count;
  return WEFT_RT_OK;
}

int32_t weft_rt_session_find_argument(const weft_rt_session *session,
                                      const char *name) {
  const weft_rt_program &program = session->impl->program();
  return findTensor(program.args, program.num_args, name);
}

int32_t weft_rt_session_find_result(const weft_rt_session *session,
                                    const char *name) {
  const weft_rt_program &program = session->impl->program();
  return findTensor(program.results, program.num_results, name);
}

int64_t weft_rt_tensor_bytes(const weft_rt_tensor *tensor) {
  return byteSize(tensor->type,
                  elementCount(tensor->shape, tensor->rank).value_or(0));
}

weft_rt_status weft_rt_session_set_argument(weft_rt_session *session,
                                            int32_t index, const void *data,
                                            int64_t bytes) {
  return report(session->impl->setArgument(index, data, bytes));
}

weft_rt_status weft_rt_session_get_result(weft_rt_session *session,
                                          int32_t index, void *data,
                                          int64_t bytes) {
  return report(session->impl->getResult(index, data, bytes));
}

int32_t weft_rt_session_device(const weft_rt_session *session, int64_t rank) {
  const std::vector<int64_t> &ranks = session->impl->ranks();
  bool isHere = std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  return isHere ? session->impl->deviceNumber(rank) : -1;
}

weft_rt_status weft_rt_session_device_stream(const weft_rt_session *session,
                                             int32_t device, void **stream) {
  Result<void *> found = session->impl->deviceStream(device);
  if (!found.ok())
    return report(found.status());
  *stream = *found;
  return WEFT_RT_OK;
}

weft_rt_status weft_rt_session_set_argument_on_device(weft_rt_session *session,
                                                      int32_t index,
                                                      int32_t device,
                                                      const void *data,
                                                      int64_t bytes) {
  return report(session->impl->setArgumentOnDevice(index, device, data, bytes));
}

weft_rt_status
weft_rt_session_find_result_on_device(const weft_rt_session *session,
                                      int32_t index, int32_t *device,
                                      void **data) {
  return report(session->impl->findResultOnDevice(index, *device, *data));
}

weft_rt_status weft_rt_session_run(weft_rt_session *session, int64_t steps,
                                   double *seconds) {
  return report(session->impl->run(steps, seconds));
}

int32_t weft_rt_session_is_usable(const weft_rt_session *session) {
  return session->impl->isUsable();
}

void weft_rt_session_stats(const weft_rt_session *session,
                           weft_rt_stats *stats) {
  *stats = session->impl->stats();
}

void weft_rt_session_traffic(const weft_rt_session *session,
                             weft_rt_collective_kind kind, int32_t channel,
                             int64_t *count, int64_t *bytes) {
  TrafficCount traffic = session->impl->traffic(kind, channel);
  *count = traffic.count;
  *bytes = traffic.bytes;
}

void weft_rt_session_graphs(weft_rt_session *session, weft_rt_graphs *graphs) {
  const GraphReport &found = session->impl->graphs();
  *graphs = {found.canCapture, found.reason.c_str(), found.readsScalars,
             found.graphs,     found.launches,       found.capturedCalls,
             found.allCalls};
}

weft_rt_status weft_rt_session_profile(weft_rt_session *session,
                                       const weft_rt_profile_row **rows,
                                       int64_t *count) {
  Result<const std::vector<weft_rt_profile_row> *> profile =
      session->impl->profile();
  if (!profile.ok())
    return report(profile.status());
  *rows = (*profile)->data();
  *count = (*profile)->size();
  return WEFT_RT_OK;
}

const char *weft_rt_session_flight_record(weft_rt_session *session) {
  return session->impl->flightRecord();
}

const char *weft_rt_session_calls(weft_rt_session *session) {
  return session->impl->calls();
}

weft_rt_status weft_rt_session_write_trace(weft_rt_session *session,
                                           const char *path) {
  return report(session->impl->writeTrace(path));
}
