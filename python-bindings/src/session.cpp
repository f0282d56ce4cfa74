// SPDX-License-Identifier: Apache-2.0

// A session as a Python class. Tensors come and go as dense arrays of bytes in
// global shapes; the Python side knows types and pytrees. Calls that take long
// release the interpreter; a session is still for one thread at a time, which
// the Python side sees to.

#include "bindings.h"

#include "weft-rt/session.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace nb = nanobind;

namespace {

/// Becomes weft.RunError.
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws what fits a status. After an interruption Python has an exception
/// already, which its handler of the signal has raised.
void check(weft_rt_status status) {
  switch (status) {
  case WEFT_RT_OK:
    return;
  case WEFT_RT_INVALID:
    throw nb::value_error(weft_rt_last_error());
  case WEFT_RT_NO_MEMORY:
    PyErr_SetString(PyExc_MemoryError, weft_rt_last_error());
    throw nb::python_error();
  case WEFT_RT_INTERRUPTED:
    throw nb::python_error();
  default:
    throw RunError(weft_rt_last_error());
  }
}

using InputBytes =
    nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutputBytes =
    nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::str toText(const char *name) {
  return weft::python::toText(name, std::strlen(name));
}

class Session {
public:
  /// An empty `backend` is the one that the program is for.
  Session(const nb::bytes &path, int64_t ranks, int threads, double deadline,
          const nb::bytes &backend) {
    weft_rt_options options = WEFT_RT_OPTIONS_INIT;
    options.ranks = ranks;
    options.threads = threads;
    options.deadline_seconds = deadline;
    options.poll = pollCall;
    options.poll_context = this;
    options.backend = backend.size() > 0 ? backend.c_str() : nullptr;
    callReleased(
        [&] { return weft_rt_session_open(path.c_str(), &options, &session); });
  }
  ~Session() {
    weft::python::Released released;
    weft_rt_session_close(session);
  }
  Session(const Session &) = delete;

  void setArgument(int32_t index, InputBytes bytes) {
    callReleased([&] {
      return weft_rt_session_set_argument(session, index, bytes.data(),
                                          int64_t(bytes.size()));
    });
  }

  /// From a dense tensor in a device's memory, by its address.
  void setArgumentOnDevice(int32_t index, int32_t device, uintptr_t address,
                           int64_t bytes) {
    callReleased([&] {
      return weft_rt_session_set_argument_on_device(
          session, index, device, reinterpret_cast<const void *>(address),
          bytes);
    });
  }

  /// (device, address) of a result.
  std::pair<int32_t, uintptr_t> resultOnDevice(int32_t index) const {
    int32_t device = -1;
    void *data = nullptr;
    check(
        weft_rt_session_find_result_on_device(session, index, &device, &data));
    return {device, reinterpret_cast<uintptr_t>(data)};
  }

  /// The devices of this process's ranks, each once; none: the CPU has all.
  std::vector<int32_t> devices() const {
    std::vector<int32_t> found;
    int64_t count = 0;
    const int64_t *ranks = weft_rt_session_ranks(session, &count);
    for (int64_t i = 0; i < count; ++i) {
      int32_t device = weft_rt_session_device(session, ranks[i]);
      if (device >= 0 &&
          std::find(found.begin(), found.end(), device) == found.end())
        found.push_back(device);
    }
    return found;
  }

  uintptr_t deviceStream(int32_t device) const {
    void *stream = nullptr;
    check(weft_rt_session_device_stream(session, device, &stream));
    return reinterpret_cast<uintptr_t>(stream);
  }

  void getResult(int32_t index, OutputBytes bytes) {
    callReleased([&] {
      return weft_rt_session_get_result(session, index, bytes.data(),
                                        int64_t(bytes.size()));
    });
  }

  /// Fills `stepSeconds` as far as the steps come.
  void run(int64_t steps) {
    if (steps < 0)
      throw nb::value_error(
          ("there are no " + std::to_string(steps) + " steps to run").c_str());
    stepSeconds.clear();
    int64_t before = stepsDone();
    try {
      callReleased([&] { return runInParts(steps); });
    } catch (...) {
      stepSeconds.resize(stepsDone() - before);
      throw;
    }
  }
  const std::vector<double> &secondsOfSteps() const { return stepSeconds; }

  /// False after a failure, and in a forked process.
  bool isUsable() const { return weft_rt_session_is_usable(session); }

  nb::list arguments() const {
    return describe(program().args, program().num_args);
  }
  nb::list results() const {
    return describe(program().results, program().num_results);
  }
  nb::str name() const { return toText(program().name); }
  int ranks() const { return program().num_ranks; }

  /// The process whose threads the ranks are.
  int64_t process() const { return owner; }

  nb::dict mesh() const {
    nb::dict axes;
    for (int32_t i = 0; i < program().num_axes; ++i)
      axes[toText(program().axes[i].name)] = program().axes[i].size;
    return axes;
  }

  /// (kind, channel, tensors, bytes) since the session was created.
  nb::list traffic() const {
    nb::list list;
    for (int kind = 0; kind <= WEFT_RT_PERMUTE; ++kind)
      for (int32_t channel = 0; channel < program().num_channels; ++channel) {
        int64_t count, bytes;
        weft_rt_session_traffic(session, weft_rt_collective_kind(kind), channel,
                                &count, &bytes);
        if (count > 0)
          list.append(nb::make_tuple(
              kind, toText(program().channels[channel].name), count, bytes));
      }
    return list;
  }

  nb::dict stats() const {
    weft_rt_stats stats;
    weft_rt_session_stats(session, &stats);
    nb::dict dict;
    dict["steps"] = stats.steps;
    dict["threads_per_rank"] = stats.threads_per_rank;
    dict["argument_bytes"] = stats.argument_bytes;
    dict["result_bytes"] = stats.result_bytes;
    dict["arena_bytes"] = stats.arena_bytes;
    dict["host_bytes"] = stats.host_bytes;
    dict["total_bytes"] = stats.total_bytes;
    return dict;
  }

private:
  /// Makes a call that may take long: other Python threads run meanwhile, and
  /// signals reach their handlers.
  template <typename Call> void callReleased(Call call) {
    weft_rt_status status;
    {
      weft::python::Released now;
      released = &now;
      status = call();
      released = nullptr;
    }
    check(status);
  }

  static int32_t pollCall(void *self) {
    return weft::python::Released::poll(static_cast<Session *>(self)->released);
  }

  int64_t stepsDone() const {
    weft_rt_stats stats;
    weft_rt_session_stats(session, &stats);
    return stats.steps;
  }

  /// A number of steps that nobody lives to see needs no memory beforehand.
  weft_rt_status runInParts(int64_t steps) {
    constexpr int64_t part = 1024;
    weft_rt_status status = WEFT_RT_OK;
    for (int64_t done = 0; done < steps && status == WEFT_RT_OK; done += part) {
      int64_t count = std::min(part, steps - done);
      stepSeconds.resize(done + count);
      status = weft_rt_session_run(session, count, stepSeconds.data() + done);
    }
    return status;
  }

  const weft_rt_program &program() const {
    return *weft_rt_session_program(session);
  }

  /// The axes of each dimension, as in `{"fsdp", "tp":(2)4}`.
  nb::tuple sharding(const weft_rt_tensor &tensor) const {
    nb::list dims;
    for (int32_t i = 0; i < tensor.rank; ++i) {
      std::string text;
      for (int32_t a = 0; a < tensor.sharding[i].num_axes; ++a)
        text += (a ? ", " : "") + axisText(tensor.sharding[i].axes[a]);
      dims.append(toText(("{" + text + "}").c_str()));
    }
    return nb::tuple(dims);
  }

  std::string axisText(const weft_rt_axis_ref &ref) const {
    const weft_rt_axis &axis = program().axes[ref.axis];
    std::string text = "\"" + std::string(axis.name) + "\"";
    if (ref.size == axis.size)
      return text;
    return text + ":(" + std::to_string(ref.pre) + ")" +
           std::to_string(ref.size);
  }

  /// (name, type, shape, sharding, alias) of each.
  nb::list describe(const weft_rt_tensor *tensors, int32_t count) const {
    nb::list list;
    for (const weft_rt_tensor *t = tensors; t != tensors + count; ++t) {
      nb::list shape;
      for (int32_t i = 0; i < t->rank; ++i)
        shape.append(t->shape[i]);
      list.append(nb::make_tuple(toText(t->name), int(t->type),
                                 nb::tuple(shape), sharding(*t), t->alias));
    }
    return list;
  }

  weft_rt_session *session = nullptr;
  weft::python::Released *released = nullptr; // during a call
  std::vector<double> stepSeconds;
  const int64_t owner = getpid();
};

void loadBackend(const nb::bytes &path) {
  check(weft_rt_load_backend(path.c_str()));
}

} // namespace

void weft::python::bindSession(nb::module_ &module) {
  nb::exception<RunError>(module, "RunError", PyExc_RuntimeError);
  module.def("load_backend", &loadBackend);
  nb::class_<Session>(module, "Session")
      .def(nb::init<const nb::bytes &, int64_t, int, double,
                    const nb::bytes &>())
      .def("set_argument", &Session::setArgument)
      .def("get_result", &Session::getResult)
      .def("set_argument_on_device", &Session::setArgumentOnDevice)
      .def("result_on_device", &Session::resultOnDevice)
      .def_prop_ro("devices", &Session::devices)
      .def("device_stream", &Session::deviceStream)
      .def("run", &Session::run)
      .def_prop_ro("step_seconds", &Session::secondsOfSteps)
      .def_prop_ro("is_usable", &Session::isUsable)
      .def_prop_ro("process", &Session::process)
      .def_prop_ro("arguments", &Session::arguments)
      .def_prop_ro("results", &Session::results)
      .def_prop_ro("name", &Session::name)
      .def_prop_ro("ranks", &Session::ranks)
      .def_prop_ro("mesh", &Session::mesh)
      .def("traffic", &Session::traffic)
      .def("stats", &Session::stats);
}
