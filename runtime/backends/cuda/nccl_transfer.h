// SPDX-License-Identifier: Apache-2.0

// One member's part of one collective over NCCL: what is packed before, what is
// sent and received, and what is unpacked or combined after. Scratch is cut
// into a part for what is sent and one for what arrives, operand by operand;
// either is empty where NCCL reads or writes the program's buffers.

#ifndef WEFT_RT_CUDA_NCCL_TRANSFER_H
#define WEFT_RT_CUDA_NCCL_TRANSFER_H

#include "backends/cuda/device.h"

namespace weft::rt::cuda {

/// How an operand goes over the wire.
struct Route {
  bool isSum = false;            // NCCL adds
  bool packs = false;            // what is sent comes from scratch
  bool unpacks = false;          // what arrives goes to scratch
  int64_t sent = 0, arrived = 0; // bytes of scratch
};

/// A member's view of a collective.
class NcclTransfer {
public:
  NcclTransfer(const weft_rt_collective &collective, int64_t size,
               int64_t index, const void *const *in, void *const *out,
               void *scratch)
      : collective(collective), size(size), index(index), in(in), out(out),
        scratch(static_cast<char *>(scratch)) {}

  static Route routeOf(const weft_rt_collective &collective, int32_t operand,
                       int64_t size);

  Status before(const Device &device, CUstream_st *stream) const;
  Status exchange(const NcclApi &api, ncclComm *communicator,
                  CUstream_st *stream) const;
  Status after(const Device &device, CUstream_st *stream) const;

private:
  struct Place {
    Route route;
    const char *from; // what is sent: a piece for each member, or one for all
    char *to;         // where pieces arrive
  };
  Place placeOf(int32_t operand) const;
  Status exchangeOperand(const NcclApi &api, ncclComm *communicator,
                         CUstream_st *stream, int32_t operand) const;
  Status sendPieces(const NcclApi &api, ncclComm *communicator,
                    CUstream_st *stream, int32_t operand) const;
  Status permute(const NcclApi &api, ncclComm *communicator,
                 CUstream_st *stream, int32_t operand) const;
  Status combine(const Device &device, CUstream_st *stream, const Place &place,
                 int32_t operand) const;

  const weft_rt_collective &collective;
  const int64_t size, index;
  const void *const *in;
  void *const *out;
  char *const scratch;
};

} // namespace weft::rt::cuda

#endif // WEFT_RT_CUDA_NCCL_TRANSFER_H
