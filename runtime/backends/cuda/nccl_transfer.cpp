// SPDX-License-Identifier: Apache-2.0

// Bytes are what is moved; types matter to NCCL only where it adds.

#include "backends/cuda/nccl_transfer.h"

#include "backends/cuda/movement.h"
#include "backends/cuda/nccl_group.h"
#include "core/collective.h"

#include <algorithm>

namespace weft::rt::cuda {
namespace {

/// ncclDataType_t of a type that NCCL adds, or -1.
int ncclType(weft_rt_type type) {
  switch (type) {
  case WEFT_RT_I8:
    return nccl::int8;
  case WEFT_RT_U8:
    return nccl::uint8;
  case WEFT_RT_I32:
    return nccl::int32;
  case WEFT_RT_U32:
    return nccl::uint32;
  case WEFT_RT_I64:
    return nccl::int64;
  case WEFT_RT_U64:
    return nccl::uint64;
  case WEFT_RT_F16:
    return nccl::float16;
  case WEFT_RT_BF16:
    return nccl::bfloat16;
  case WEFT_RT_F32:
    return nccl::float32;
  case WEFT_RT_F64:
    return nccl::float64;
  default:
    return -1;
  }
}

int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

int64_t elementsOf(const weft_rt_operand &operand) {
  return operand.outer * operand.extent * operand.inner;
}

} // namespace

Route NcclTransfer::routeOf(const weft_rt_collective &collective,
                            int32_t operand, int64_t size) {
  const weft_rt_operand &what = collective.operands[operand];
  int64_t whole = aligned(size * pieceBytes(what));
  Route route;
  switch (collective.kind) {
  case WEFT_RT_ALL_GATHER:
    route.unpacks = what.outer != 1;
    break;
  case WEFT_RT_ALL_TO_ALL:
    route.packs = what.outer != 1;
    route.unpacks = what.outer2 != 1;
    break;
  case WEFT_RT_PERMUTE:
    break;
  default:
    // NaNs win in max and min, which NCCL does not promise.
    route.isSum = !isTree(collective) && collective.reduction == WEFT_RT_SUM &&
                  ncclType(what.type) >= 0;
    bool scatters = collective.kind == WEFT_RT_REDUCE_SCATTER;
    route.packs = scatters && what.outer != 1;
    route.unpacks = !route.isSum;
  }
  route.sent = route.packs ? whole : 0;
  route.arrived = route.unpacks ? whole : 0;
  return route;
}

int64_t scratchBytes(const weft_rt_collective &collective, int64_t size) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < collective.num_operands; ++i) {
    Route route = NcclTransfer::routeOf(collective, i, size);
    bytes += route.sent + route.arrived;
  }
  return bytes;
}

NcclTransfer::Place NcclTransfer::placeOf(int32_t operand) const {
  int64_t at = 0;
  for (int32_t i = 0; i < operand; ++i) {
    Route earlier = routeOf(collective, i, size);
    at += earlier.sent + earlier.arrived;
  }
  Route route = routeOf(collective, operand, size);
  return {route,
          route.packs ? scratch + at : static_cast<const char *>(in[operand]),
          route.unpacks ? scratch + at + route.sent
                        : static_cast<char *>(out[operand])};
}

/// Packs what goes to each member.
Status NcclTransfer::before(const Device &device, CUstream_st *stream) const {
  for (int32_t i = 0; i < collective.num_operands; ++i) {
    const weft_rt_operand &operand = collective.operands[i];
    Place place = placeOf(i);
    int64_t bytes = pieceBytes(operand);
    for (int64_t to = 0; place.route.packs && to < size; ++to)
      WEFT_RT_RETURN_IF_ERROR(
          device.move(moveArgs(sentPart(operand, in[i], size, to),
                               denseRun(place.from + to * bytes, bytes), bytes),
                      stream));
    bool isZero = collective.kind == WEFT_RT_PERMUTE && bytes > 0 &&
                  collective.source_of[index] < 0;
    if (isZero)
      WEFT_CUDA_CALL(device.api, cuMemsetD8Async, deviceAddress(out[i]), 0,
                     size_t(bytes), stream);
  }
  return Status();
}

/// Calls NCCL; what is in progress is settled by the caller.
#define WEFT_NCCL_CALL(function, ...)                                          \
  do {                                                                         \
    int result_ = api.function(__VA_ARGS__);                                   \
    if (result_ != nccl::success && result_ != nccl::inProgress)               \
      return ncclError(api, #function, result_, communicator);                 \
  } while (false)

Status NcclTransfer::exchange(const NcclApi &api, ncclComm *communicator,
                              CUstream_st *stream) const {
  WEFT_NCCL_CALL(ncclGroupStart);
  Status status;
  for (int32_t i = 0; i < collective.num_operands && status.ok(); ++i)
    if (pieceBytes(collective.operands[i]) > 0)
      status = exchangeOperand(api, communicator, stream, i);
  int end = api.ncclGroupEnd();
  if (status.ok() && end != nccl::success && end != nccl::inProgress)
    status = ncclError(api, "ncclGroupEnd", end, communicator);
  return status.ok() ? status : within(collectiveName(collective), status);
}

Status NcclTransfer::exchangeOperand(const NcclApi &api, ncclComm *communicator,
                                     CUstream_st *stream, int32_t i) const {
  const weft_rt_operand &operand = collective.operands[i];
  Place place = placeOf(i);
  auto bytes = size_t(pieceBytes(operand));
  auto count = size_t(elementsOf(operand));
  bool isReduce = isReduction(collective.kind);
  if (collective.kind == WEFT_RT_PERMUTE)
    return permute(api, communicator, stream, i);
  if (collective.kind == WEFT_RT_ALL_REDUCE && place.route.isSum)
    WEFT_NCCL_CALL(ncclAllReduce, place.from, place.to, count,
                   ncclType(operand.type), nccl::sum, communicator, stream);
  else if (isReduce && place.route.isSum)
    WEFT_NCCL_CALL(ncclReduceScatter, place.from, place.to, count,
                   ncclType(operand.type), nccl::sum, communicator, stream);
  else if (collective.kind == WEFT_RT_ALL_GATHER ||
           collective.kind == WEFT_RT_ALL_REDUCE)
    WEFT_NCCL_CALL(ncclAllGather, place.from, place.to, bytes, nccl::uint8,
                   communicator, stream);
  else
    return sendPieces(api, communicator, stream, i);
  return Status();
}

/// Piece j goes to member j; that of member i arrives as the i-th.
Status NcclTransfer::sendPieces(const NcclApi &api, ncclComm *communicator,
                                CUstream_st *stream, int32_t i) const {
  Place place = placeOf(i);
  int64_t bytes = pieceBytes(collective.operands[i]);
  for (int64_t peer = 0; peer < size; ++peer) {
    WEFT_NCCL_CALL(ncclSend, place.from + peer * bytes, size_t(bytes),
                   nccl::uint8, int(peer), communicator, stream);
    WEFT_NCCL_CALL(ncclRecv, place.to + peer * bytes, size_t(bytes),
                   nccl::uint8, int(peer), communicator, stream);
  }
  return Status();
}

Status NcclTransfer::permute(const NcclApi &api, ncclComm *communicator,
                             CUstream_st *stream, int32_t i) const {
  auto bytes = size_t(pieceBytes(collective.operands[i]));
  for (int64_t to = 0; to < size; ++to)
    if (collective.source_of[to] == index)
      WEFT_NCCL_CALL(ncclSend, in[i], bytes, nccl::uint8, int(to), communicator,
                     stream);
  if (collective.source_of[index] >= 0)
    WEFT_NCCL_CALL(ncclRecv, out[i], bytes, nccl::uint8,
                   collective.source_of[index], communicator, stream);
  return Status();
}

/// Combines what has arrived, in the order of the program.
Status NcclTransfer::combine(const Device &device, CUstream_st *stream,
                             const Place &place, int32_t i) const {
  const weft_rt_operand &operand = collective.operands[i];
  if (size > maxSharing)
    return Status(WEFT_RT_INCOMPATIBLE,
                  format("%s is combined in an order, which takes at most %d "
                         "ranks",
                         collectiveName(collective).c_str(), maxSharing));
  ReduceArgs args = {};
  int64_t bytes = pieceBytes(operand);
  for (int64_t member = 0; member < size; ++member)
    args.inputs[member] = place.to + member * bytes;
  args.outputs[0] = out[i];
  args.numInputs = int32_t(size);
  args.numOutputs = 1;
  args.count = elementsOf(operand);
  args.run = args.stride = std::max<int64_t>(args.count, 1);
  args.type = operand.type;
  args.reduction = collective.reduction;
  args.tree = isTree(collective);
  return device.reduce(args, stream);
}

Status NcclTransfer::after(const Device &device, CUstream_st *stream) const {
  for (int32_t i = 0; i < collective.num_operands; ++i) {
    const weft_rt_operand &operand = collective.operands[i];
    Place place = placeOf(i);
    if (!place.route.unpacks)
      continue;
    if (isReduction(collective.kind)) {
      WEFT_RT_RETURN_IF_ERROR(combine(device, stream, place, i));
      continue;
    }
    int64_t bytes = pieceBytes(operand);
    bool isGather = collective.kind == WEFT_RT_ALL_GATHER;
    for (int64_t from = 0; from < size; ++from) {
      Runs to = isGather ? gatheredPart(operand, out[i], size, from)
                         : receivedPart(operand, out[i], size, from);
      WEFT_RT_RETURN_IF_ERROR(device.move(
          moveArgs(denseRun(place.to + from * bytes, bytes), to, bytes),
          stream));
    }
  }
  return Status();
}

} // namespace weft::rt::cuda
