// SPDX-License-Identifier: Apache-2.0

// The stand-in for libcudnn.so.9: it computes a graph op by op, in f32, each
// value as a whole. Numbers by value are read as a plan is run, and tensors in
// memory when the stream gets there, as cuDNN does it.
//
//   EMULATED_CUDNN_VERSION=n  what cudnnGetVersion says (91900)
//   EMULATED_CUDNN_REFUSES=1  no engine takes a graph
//   EMULATED_CUDNN_REPORT=1   a context that is destroyed says how many plans
//                             were run, and how many of these with a mask

#include "emulated.h"

#include "core/float_formats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

using namespace weft::rt::cuda;

namespace weft::rt::cuda {
struct CudnnContext {
  CUstream_st *stream = nullptr;
  int runs = 0, maskedRuns = 0;
};

/// A descriptor's attributes; of descriptors, what they were when it was set.
struct CudnnOpaque {
  int kind;
  std::map<int, std::vector<int64_t>> numbers;
  std::map<int, std::vector<std::shared_ptr<const CudnnOpaque>>> parts;
  bool isFinal = false;

  int64_t number(int name) const { return numbers.at(name).at(0); }
  const CudnnOpaque &part(int name) const { return *parts.at(name).at(0); }
  bool has(int name) const { return numbers.count(name) > 0; }
};
} // namespace weft::rt::cuda

namespace {

constexpr int badParam = 2000, notSupported = 3000, valueSize = 2003;

using Dims = std::array<int64_t, 4>;

/// A tensor's elements, dense.
struct Value {
  Dims sizes;
  std::vector<float> elements;

  float at(const Dims &index) const { // of one element: for all
    int64_t place = 0;
    for (int dim = 0; dim < 4; ++dim)
      place = place * sizes[dim] + (sizes[dim] == 1 ? 0 : index[dim]);
    return elements[place];
  }
};

Dims dimsOf(const CudnnOpaque &tensor, int name) {
  Dims dims;
  std::copy_n(tensor.numbers.at(name).begin(), 4, dims.begin());
  return dims;
}

template <typename Each> void forEachIndex(const Dims &sizes, Each each) {
  Dims index;
  for (index[0] = 0; index[0] < sizes[0]; ++index[0])
    for (index[1] = 0; index[1] < sizes[1]; ++index[1])
      for (index[2] = 0; index[2] < sizes[2]; ++index[2])
        for (index[3] = 0; index[3] < sizes[3]; ++index[3])
          each(index);
}

int64_t placeOf(const Dims &index, const Dims &strides) {
  int64_t place = 0;
  for (int dim = 0; dim < 4; ++dim)
    place += index[dim] * strides[dim];
  return place;
}

float load(int64_t type, const void *data, int64_t at) {
  if (type == dnn::f32)
    return static_cast<const float *>(data)[at];
  uint16_t bits = static_cast<const uint16_t *>(data)[at];
  return type == dnn::bf16 ? weft::rt::BFloat16::load(bits)
                           : weft::rt::Float16::load(bits);
}

uint16_t narrowed(int64_t type, float value) {
  return type == dnn::bf16 ? weft::rt::BFloat16::store(value)
                           : weft::rt::Float16::store(value);
}

float rounded(int64_t type, float value) {
  if (type != dnn::bf16 && type != dnn::f16)
    return value;
  uint16_t bits = narrowed(type, value);
  return load(type, &bits, 0);
}

float combined(int64_t mode, float x, float b, float t) {
  switch (mode) {
  case dnn::exp:
    return std::exp(x);
  case dnn::log:
    return std::log(x);
  case dnn::add:
    return x + b;
  case dnn::sub:
    return x - b;
  case dnn::mul:
    return x * b;
  case dnn::div:
    return x / b;
  case dnn::greaterOrEqual:
    return x >= b;
  default: // select
    return t != 0 ? x : b;
  }
}

/// A plan's run: its graph, and where its tensors are.
class Run {
public:
  Run(std::shared_ptr<const CudnnOpaque> graph, const CudnnOpaque &pack)
      : graph(std::move(graph)) {
    const auto &ids = pack.numbers.at(dnn::packIds);
    const auto &places = pack.numbers.at(dnn::packPointers);
    for (size_t i = 0; i < ids.size(); ++i)
      pointers[ids[i]] = reinterpret_cast<void *>(places.at(i));
    forEachTensor([&](const CudnnOpaque &tensor) {
      if (tensor.has(dnn::tensorIsByValue))
        values[tensor.number(dnn::tensorId)] = {
            {1, 1, 1, 1}, {load(dnn::f32, place(tensor), 0)}};
    });
  }

  /// Whether all that is in memory has a place.
  bool isWhole() const {
    bool isWhole = true;
    forEachTensor([&](const CudnnOpaque &tensor) {
      isWhole &= tensor.has(dnn::tensorIsVirtual) || place(tensor);
    });
    return isWhole;
  }

  bool hasMask() const {
    return std::any_of(
        operations().begin(), operations().end(),
        [](const auto &one) { return modeOf(*one) == dnn::select; });
  }

  void run() {
    for (const auto &operation : operations())
      compute(*operation);
  }

private:
  const std::vector<std::shared_ptr<const CudnnOpaque>> &operations() const {
    return graph->parts.at(dnn::graphOperations);
  }

  static int64_t modeOf(const CudnnOpaque &operation) {
    return operation.kind == dnn::pointwise
               ? operation.part(dnn::pointwiseOf).number(dnn::pointwiseModeMode)
               : -1;
  }

  template <typename Each> void forEachTensor(Each each) const {
    for (const auto &operation : operations())
      for (const auto &[name, parts] : operation->parts)
        if (parts[0]->kind == dnn::tensor)
          each(*parts[0]);
  }

  void *place(const CudnnOpaque &tensor) const {
    auto found = pointers.find(tensor.number(dnn::tensorId));
    return found == pointers.end() ? nullptr : found->second;
  }

  const Value &read(const CudnnOpaque &tensor) {
    int64_t id = tensor.number(dnn::tensorId);
    auto [at, isNew] = values.try_emplace(id);
    if (!isNew)
      return at->second;
    Dims strides = dimsOf(tensor, dnn::tensorStrides);
    at->second.sizes = dimsOf(tensor, dnn::tensorSizes);
    forEachIndex(at->second.sizes, [&](const Dims &index) {
      at->second.elements.push_back(load(tensor.number(dnn::tensorType),
                                         place(tensor),
                                         placeOf(index, strides)));
    });
    return at->second;
  }

  template <typename Element>
  void write(const CudnnOpaque &tensor, Element element) {
    Value value;
    value.sizes = dimsOf(tensor, dnn::tensorSizes);
    int64_t type = tensor.number(dnn::tensorType);
    Dims strides = dimsOf(tensor, dnn::tensorStrides);
    void *to = place(tensor);
    forEachIndex(value.sizes, [&](const Dims &index) {
      float number = rounded(type, element(index));
      value.elements.push_back(number);
      if (to && type == dnn::f32)
        static_cast<float *>(to)[placeOf(index, strides)] = number;
      else if (to)
        static_cast<uint16_t *>(to)[placeOf(index, strides)] =
            narrowed(type, number);
    });
    values[tensor.number(dnn::tensorId)] = std::move(value);
  }

  void compute(const CudnnOpaque &operation) {
    if (operation.kind == dnn::matmul)
      return multiply(operation);
    if (operation.kind == dnn::reduction)
      return reduce(operation);
    combine(operation);
  }

  void multiply(const CudnnOpaque &operation) {
    const Value &a = read(operation.part(dnn::matmulA)),
                &b = read(operation.part(dnn::matmulB));
    int64_t depth = a.sizes[3];
    write(operation.part(dnn::matmulC), [&](Dims index) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k) {
        Dims ofB = {index[0] * b.sizes[0] / a.sizes[0],
                    index[1] * b.sizes[1] / a.sizes[1], k, index[3]};
        sum += double(a.at({index[0], index[1], index[2], k})) * b.at(ofB);
      }
      return float(sum);
    });
  }

  void reduce(const CudnnOpaque &operation) {
    const Value &x = read(operation.part(dnn::reductionX));
    bool isSum =
        operation.part(dnn::reductionOf).number(dnn::reductionModeOperator) ==
        dnn::reduceAdd;
    write(operation.part(dnn::reductionY), [&](Dims index) {
      float result = isSum ? 0 : -INFINITY;
      for (index[3] = 0; index[3] < x.sizes[3]; ++index[3])
        result = isSum ? result + x.at(index) : std::max(result, x.at(index));
      return result;
    });
  }

  void combine(const CudnnOpaque &operation) {
    const CudnnOpaque &mode = operation.part(dnn::pointwiseOf);
    int64_t kind = mode.number(dnn::pointwiseModeMode);
    auto operand = [&](int name, const Dims &index) {
      return operation.parts.count(name) ? read(operation.part(name)).at(index)
                                         : 0;
    };
    write(operation.part(dnn::pointwiseY), [&](const Dims &index) {
      if (kind == dnn::index)
        return float(index[mode.number(dnn::pointwiseModeAxis)]);
      return combined(kind, operand(dnn::pointwiseX, index),
                      operand(dnn::pointwiseB, index),
                      operand(dnn::pointwiseT, index));
    });
  }

  std::shared_ptr<const CudnnOpaque> graph;
  std::map<int64_t, void *> pointers; // [id]
  std::map<int64_t, Value> values;    // [id]
};

int64_t bytesOf(int type) {
  switch (type) {
  case dnn::typeBoolean:
    return 1;
  case dnn::typeInt64:
  case dnn::typePointer:
  case dnn::typeHandle:
    return 8;
  default:
    return 4;
  }
}

std::mutex lock; // of the parts that descriptors share
std::map<const CudnnOpaque *, std::shared_ptr<CudnnOpaque>> descriptors;

/// Whether nothing that a descriptor is made of has been destroyed, as a plan
/// may read it.
bool isAlive(const std::shared_ptr<const CudnnOpaque> &one) {
  if (!descriptors.count(one.get()))
    return false;
  for (const auto &[name, parts] : one->parts)
    for (const auto &part : parts)
      if (!isAlive(part))
        return false;
  return true;
}

} // namespace

extern "C" {

size_t cudnnGetVersion() {
  return size_t(emulated::setting("EMULATED_CUDNN_VERSION", 91900));
}

int cudnnCreate(CudnnContext **handle) {
  FAIL_IF_TOLD();
  *handle = new CudnnContext;
  return 0;
}

int cudnnDestroy(CudnnContext *handle) {
  if (emulated::setting("EMULATED_CUDNN_REPORT", 0))
    std::fprintf(stderr, "cuDNN: %d runs, %d with a mask\n", handle->runs,
                 handle->maskedRuns);
  delete handle;
  return 0;
}

int cudnnSetStream(CudnnContext *handle, CUstream_st *stream) {
  FAIL_IF_TOLD();
  // cuDNN records an event on the stream that it leaves.
  if (handle->stream && emulatedIsCaptured(handle->stream))
    return badParam;
  handle->stream = stream;
  return 0;
}

int cudnnBackendCreateDescriptor(int kind, CudnnOpaque **made) {
  FAIL_IF_TOLD();
  auto one = std::make_shared<CudnnOpaque>();
  one->kind = kind;
  *made = one.get();
  std::lock_guard<std::mutex> guard(lock);
  descriptors[one.get()] = one;
  return 0;
}

int cudnnBackendDestroyDescriptor(CudnnOpaque *one) {
  std::lock_guard<std::mutex> guard(lock);
  return descriptors.erase(one) ? 0 : badParam;
}

int cudnnBackendSetAttribute(CudnnOpaque *on, int name, int type, int64_t count,
                             const void *values) {
  FAIL_IF_TOLD();
  if (on->isFinal || count < 1)
    return badParam;
  std::lock_guard<std::mutex> guard(lock);
  if (type == dnn::typeDescriptor) {
    auto &parts = on->parts[name];
    parts.clear();
    for (int64_t i = 0; i < count; ++i) {
      auto found =
          descriptors.find(static_cast<CudnnOpaque *const *>(values)[i]);
      if (found == descriptors.end() ||
          (!found->second->isFinal && found->second->kind != dnn::engineConfig))
        return badParam;
      parts.push_back(found->second);
    }
    return 0;
  }
  auto &numbers = on->numbers[name];
  numbers.assign(size_t(count), 0);
  int64_t bytes = bytesOf(type);
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(&numbers[i], static_cast<const char *>(values) + i * bytes,
                size_t(bytes));
  return 0;
}

int cudnnBackendGetAttribute(CudnnOpaque *of, int name, int, int64_t room,
                             int64_t *count, void *values) {
  FAIL_IF_TOLD();
  if (!of->isFinal)
    return badParam;
  if (name == dnn::planWorkspaceBytes) {
    if (room != 1)
      return valueSize;
    *count = 1;
    *static_cast<int64_t *>(values) = 64;
    return 0;
  }
  if (name != dnn::heuristicsResults)
    return badParam;
  *count = emulated::setting("EMULATED_CUDNN_REFUSES", 0) ? 0 : 1;
  if (values && room > 0) {
    CudnnOpaque *config = *static_cast<CudnnOpaque **>(values);
    std::lock_guard<std::mutex> guard(lock);
    config->parts[dnn::heuristicsGraph] = of->parts.at(dnn::heuristicsGraph);
  }
  return 0;
}

int cudnnBackendFinalize(CudnnOpaque *one) {
  FAIL_IF_TOLD();
  if (one->isFinal)
    return badParam;
  // What is at one address several times is not for it.
  if (one->kind == dnn::tensor)
    for (int64_t stride : one->numbers.at(dnn::tensorStrides))
      if (stride < 1)
        return notSupported;
  one->isFinal = true;
  return 0;
}

int cudnnBackendExecute(CudnnContext *handle, CudnnOpaque *plan,
                        CudnnOpaque *pack) {
  FAIL_IF_TOLD();
  if (!plan->isFinal || !pack->isFinal || pack->number(dnn::packWorkspace) == 0)
    return badParam;
  {
    std::lock_guard<std::mutex> guard(lock);
    if (!isAlive(descriptors.at(plan)))
      return badParam;
  }

  auto graph = plan->part(dnn::planConfig).parts.at(dnn::heuristicsGraph)[0];
  auto run = std::make_unique<Run>(graph, *pack);
  if (!run->isWhole())
    return badParam;
  ++handle->runs;
  handle->maskedRuns += run->hasMask();
  return emulatedEnqueue(
      handle->stream,
      [](void *context) {
        Run once = *static_cast<const Run *>(context);
        once.run();
      },
      run.release(), [](void *context) { delete static_cast<Run *>(context); });
}

} // extern "C"
