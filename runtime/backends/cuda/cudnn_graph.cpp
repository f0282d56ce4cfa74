// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/cudnn_graph.h"

namespace weft::rt::cuda {
namespace {

constexpr int64_t alignment = 16; // bytes

#define WEFT_DNN_CALL(api, function, ...)                                      \
  do {                                                                         \
    if (int result_ = (api).function(__VA_ARGS__))                             \
      return statusError(#function, result_);                                  \
  } while (false)

DnnDims denseStrides(const DnnDims &sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}

} // namespace

// ---- descriptors -----------------------------------------------------------

Result<DnnDescriptor> DnnDescriptor::make(const CudnnApi &api, int kind) {
  DnnDescriptor made;
  made.api = &api;
  WEFT_DNN_CALL(api, cudnnBackendCreateDescriptor, kind, &made.opaque);
  return made;
}

Status DnnDescriptor::set(int name, int type, int64_t count,
                          const void *values) {
  WEFT_DNN_CALL(*api, cudnnBackendSetAttribute, opaque, name, type, count,
                values);
  return Status();
}

Status DnnDescriptor::finalize() {
  WEFT_DNN_CALL(*api, cudnnBackendFinalize, opaque);
  return Status();
}

// ---- values ----------------------------------------------------------------

Status DnnGraph::describe(const Tensor &tensor, const DnnDims &strides,
                          TensorKind kind) {
  Result<DnnDescriptor> made = DnnDescriptor::make(api, dnn::tensor);
  if (!made.ok())
    return made.status();
  parts.push_back(std::move(*made));
  DnnDescriptor &to = parts.back();

  auto id = int64_t(tensors.size());
  WEFT_RT_RETURN_IF_ERROR(to.set(dnn::tensorType, dnn::typeData, tensor.type));
  WEFT_RT_RETURN_IF_ERROR(
      to.set(dnn::tensorSizes, dnn::typeInt64, 4, tensor.sizes.data()));
  WEFT_RT_RETURN_IF_ERROR(
      to.set(dnn::tensorStrides, dnn::typeInt64, 4, strides.data()));
  WEFT_RT_RETURN_IF_ERROR(to.set(dnn::tensorId, dnn::typeInt64, 1, &id));
  WEFT_RT_RETURN_IF_ERROR(
      to.set(dnn::tensorAlignment, dnn::typeInt64, 1, &alignment));
  bool yes = true;
  if (kind == TensorKind::Between)
    WEFT_RT_RETURN_IF_ERROR(
        to.set(dnn::tensorIsVirtual, dnn::typeBoolean, 1, &yes));
  if (kind == TensorKind::ByValue)
    WEFT_RT_RETURN_IF_ERROR(
        to.set(dnn::tensorIsByValue, dnn::typeBoolean, 1, &yes));
  return to.finalize();
}

DnnGraph::Value DnnGraph::add(int type, const DnnDims &sizes,
                              const DnnDims &strides, TensorKind kind) {
  Tensor tensor = {parts.size(), sizes, type};
  if (failure.ok())
    failure = describe(tensor, strides, kind);
  auto value = Value(tensors.size());
  if (kind != TensorKind::Between)
    ids.push_back(value);
  tensors.push_back(tensor);
  return value;
}

DnnGraph::Value DnnGraph::inMemory(int type, const DnnDims &sizes,
                                   const DnnDims &strides) {
  return add(type, sizes, strides, TensorKind::InMemory);
}

DnnGraph::Value DnnGraph::byValue() {
  return add(dnn::f32, {1, 1, 1, 1}, {1, 1, 1, 1}, TensorKind::ByValue);
}

DnnGraph::Value DnnGraph::between(int type, const DnnDims &sizes) {
  return add(type, sizes, denseStrides(sizes), TensorKind::Between);
}

// ---- operations ------------------------------------------------------------

/// An op is its mode's descriptor, which `modeName` says, and its values.
void DnnGraph::addOperation(int kind, int modeName, int modeKind,
                            const std::vector<Number> &mode,
                            const std::vector<std::pair<int, Value>> &values) {
  if (failure.ok())
    failure = makeOperation(kind, modeName, modeKind, mode, values);
}

Status
DnnGraph::makeOperation(int kind, int modeName, int modeKind,
                        const std::vector<Number> &mode,
                        const std::vector<std::pair<int, Value>> &values) {
  Result<DnnDescriptor> how = DnnDescriptor::make(api, modeKind);
  if (!how.ok())
    return how.status();
  for (const Number &number : mode)
    if (number.type == dnn::typeInt64)
      WEFT_RT_RETURN_IF_ERROR(
          how->set(number.name, number.type, 1, &number.value));
    else
      WEFT_RT_RETURN_IF_ERROR(
          how->set(number.name, number.type, int(number.value)));
  WEFT_RT_RETURN_IF_ERROR(how->finalize());
  Result<DnnDescriptor> made = DnnDescriptor::make(api, kind);
  if (!made.ok())
    return made.status();
  WEFT_RT_RETURN_IF_ERROR(made->set(modeName, *how));
  for (auto [name, value] : values)
    WEFT_RT_RETURN_IF_ERROR(made->set(name, parts[tensors[value].part]));
  WEFT_RT_RETURN_IF_ERROR(made->finalize());
  operations.push_back(made->get());
  parts.push_back(std::move(*how));
  parts.push_back(std::move(*made));

  return Status();
}

void DnnGraph::matmulTo(Value a, Value b, Value result) {
  addOperation(dnn::matmul, dnn::matmulOf, dnn::matmulMode,
               {{dnn::matmulModeType, dnn::typeData, dnn::f32}},
               {{dnn::matmulA, a}, {dnn::matmulB, b}, {dnn::matmulC, result}});
}

DnnGraph::Value DnnGraph::matmul(Value a, Value b, const DnnDims &sizes) {
  Value result = between(dnn::f32, sizes);
  matmulTo(a, b, result);
  return result;
}

void DnnGraph::addPointwise(const std::vector<Number> &mode,
                            const std::vector<Value> &operands, Value result) {
  constexpr int names[] = {dnn::pointwiseX, dnn::pointwiseB, dnn::pointwiseT};
  std::vector<std::pair<int, Value>> values = {{dnn::pointwiseY, result}};
  for (size_t i = 0; i < operands.size(); ++i)
    values.emplace_back(names[i], operands[i]);
  addOperation(dnn::pointwise, dnn::pointwiseOf, dnn::pointwiseMode, mode,
               values);
}

void DnnGraph::pointwiseTo(int mode, const std::vector<Value> &operands,
                           Value result) {
  int computes = tensors[result].type == dnn::boolean ? dnn::boolean : dnn::f32;
  addPointwise({{dnn::pointwiseModeMode, dnn::typePointwise, mode},
                {dnn::pointwiseModeType, dnn::typeData, computes}},
               operands, result);
}

DnnGraph::Value
DnnGraph::pointwise(int mode, const std::vector<Value> &operands, int type) {
  Value result = between(type, tensors[operands[0]].sizes);
  pointwiseTo(mode, operands, result);
  return result;
}

DnnGraph::Value DnnGraph::indexOf(Value like, int64_t dim) {
  Value result = between(dnn::i32, tensors[like].sizes);
  addPointwise({{dnn::pointwiseModeMode, dnn::typePointwise, dnn::index},
                {dnn::pointwiseModeType, dnn::typeData, dnn::f32},
                {dnn::pointwiseModeAxis, dnn::typeInt64, dim}},
               {like}, result);
  return result;
}

DnnGraph::Value DnnGraph::reduce(int operation, Value a) {
  DnnDims sizes = tensors[a].sizes;
  sizes.back() = 1;
  Value result = between(dnn::f32, sizes);
  addOperation(dnn::reduction, dnn::reductionOf, dnn::reductionMode,
               {{dnn::reductionModeType, dnn::typeData, dnn::f32},
                {dnn::reductionModeOperator, dnn::typeReduction, operation}},
               {{dnn::reductionX, a}, {dnn::reductionY, result}});
  return result;
}

// ---- plans -----------------------------------------------------------------

Result<DnnDescriptor> DnnGraph::finish() {
  WEFT_RT_RETURN_IF_ERROR(failure);
  Result<DnnDescriptor> graph = DnnDescriptor::make(api, dnn::operationGraph);
  if (!graph.ok())
    return graph;
  WEFT_RT_RETURN_IF_ERROR(graph->set(dnn::graphOperations, dnn::typeDescriptor,
                                     int64_t(operations.size()),
                                     operations.data()));
  WEFT_RT_RETURN_IF_ERROR(graph->set(dnn::graphHandle, handle));
  WEFT_RT_RETURN_IF_ERROR(graph->finalize());
  return graph;
}

/// The engines that may take a graph, with their settings, the best first.
Result<std::vector<DnnDescriptor>>
DnnGraph::engines(const DnnDescriptor &graph) {
  Result<DnnDescriptor> asked = DnnDescriptor::make(api, dnn::engineHeuristics);
  if (!asked.ok())
    return asked.status();
  WEFT_RT_RETURN_IF_ERROR(asked->set(dnn::heuristicsGraph, graph));
  WEFT_RT_RETURN_IF_ERROR(
      asked->set(dnn::heuristicsMode, dnn::typeHeuristics, dnn::heuristicsA));
  WEFT_RT_RETURN_IF_ERROR(asked->finalize());
  int64_t count = 0;
  WEFT_DNN_CALL(api, cudnnBackendGetAttribute, asked->get(),
                dnn::heuristicsResults, dnn::typeDescriptor, 0, &count,
                nullptr);
  std::vector<DnnDescriptor> found;
  std::vector<CudnnOpaque *> all;
  for (int64_t i = 0; i < count; ++i) {
    Result<DnnDescriptor> one = DnnDescriptor::make(api, dnn::engineConfig);
    if (!one.ok())
      return one.status();
    all.push_back(one->get());
    found.push_back(std::move(*one));
  }
  WEFT_DNN_CALL(api, cudnnBackendGetAttribute, asked->get(),
                dnn::heuristicsResults, dnn::typeDescriptor, count, &count,
                all.data());
  found.resize(size_t(std::min<int64_t>(count, int64_t(all.size()))));
  return found;
}

Result<DnnDescriptor> DnnGraph::planOf(const DnnDescriptor &config) {
  Result<DnnDescriptor> plan = DnnDescriptor::make(api, dnn::executionPlan);
  if (!plan.ok())
    return plan;
  WEFT_RT_RETURN_IF_ERROR(plan->set(dnn::planHandle, handle));
  WEFT_RT_RETURN_IF_ERROR(plan->set(dnn::planConfig, config));
  WEFT_RT_RETURN_IF_ERROR(plan->finalize());
  return plan;
}

Result<std::unique_ptr<DnnPlan>> DnnGraph::planWith(DnnDescriptor plan) {
  int64_t bytes = 0, count = 0;
  WEFT_DNN_CALL(api, cudnnBackendGetAttribute, plan.get(),
                dnn::planWorkspaceBytes, dnn::typeInt64, 1, &count, &bytes);
  return std::make_unique<DnnPlan>(api, handle, std::move(parts),
                                   std::move(plan), ids, bytes);
}

Result<std::unique_ptr<DnnPlan>> DnnGraph::plan() {
  Result<DnnDescriptor> graph = finish();
  if (!graph.ok())
    return graph.status();
  Result<std::vector<DnnDescriptor>> found = engines(*graph);
  if (!found.ok())
    return found.status();
  parts.push_back(std::move(*graph));
  Status last(WEFT_RT_INCOMPATIBLE, "cuDNN has no engine for the graph");
  for (DnnDescriptor &config : *found) {
    Result<DnnDescriptor> made = planOf(config);
    if (made.ok()) {
      parts.push_back(std::move(config));
      return planWith(std::move(*made));
    }
    last = made.status();
  }
  return last;
}

Status DnnPlan::run(const std::vector<void *> &buffers, void *workspace) const {
  Result<DnnDescriptor> pack = DnnDescriptor::make(api, dnn::variantPack);
  if (!pack.ok())
    return pack.status();
  auto count = int64_t(ids.size());
  WEFT_RT_RETURN_IF_ERROR(
      pack->set(dnn::packIds, dnn::typeInt64, count, ids.data()));
  WEFT_RT_RETURN_IF_ERROR(
      pack->set(dnn::packPointers, dnn::typePointer, count, buffers.data()));
  WEFT_RT_RETURN_IF_ERROR(
      pack->set(dnn::packWorkspace, dnn::typePointer, 1, &workspace));
  WEFT_RT_RETURN_IF_ERROR(pack->finalize());
  WEFT_DNN_CALL(api, cudnnBackendExecute, handle, plan.get(), pack->get());
  return Status();
}

} // namespace weft::rt::cuda
