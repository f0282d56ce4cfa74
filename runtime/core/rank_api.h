// SPDX-License-Identifier: Apache-2.0

// The table of calls that compiled code makes, over a class of ranks. Backends
// differ in what a call does, not in how a failed one leaves the task.

#ifndef WEFT_RT_CORE_RANK_API_H
#define WEFT_RT_CORE_RANK_API_H

#include "weft-rt/abi.h"

namespace weft::rt {

/// Calls of a `Rank`, to which weft_rt_rank.session points. Its functions
/// return false, or a negative ticket, where a call fails; then, and after
/// `fail`, `leave` ends the task. That jumps over the frames of these
/// functions, so that they must hold nothing that has a destructor.
template <typename Rank> class RankApi {
public:
  static constexpr weft_rt_api makeTable() {
    return {WEFT_RT_ABI_VERSION,
            sizeof(weft_rt_api),
            gemm,
            attention,
            launch,
            copy,
            readScalar,
            start,
            wait,
            setStream,
            record,
            await,
            fail};
  }

private:
  static Rank &rankOf(weft_rt_rank *rank) {
    return *static_cast<Rank *>(rank->session);
  }

  static void gemm(weft_rt_rank *rank, int32_t op, const weft_rt_gemm *desc,
                   const void *a, const void *b, void *c) {
    if (!rankOf(rank).gemm(op, *desc, a, b, c))
      rankOf(rank).leave();
  }

  static void attention(weft_rt_rank *rank, int32_t op,
                        const weft_rt_attention *desc, void *const *buffers,
                        int64_t queryStart) {
    if (!rankOf(rank).attention(op, *desc, buffers, queryStart))
      rankOf(rank).leave();
  }

  static void launch(weft_rt_rank *rank, int32_t op,
                     const weft_rt_launch *launch, void *const *buffers,
                     const int64_t *scalars) {
    if (!rankOf(rank).launch(op, *launch, buffers, scalars))
      rankOf(rank).leave();
  }

  static void copy(weft_rt_rank *rank, int32_t op, const weft_rt_copy *copy,
                   const void *source, void *target) {
    if (!rankOf(rank).copy(op, *copy, source, target))
      rankOf(rank).leave();
  }

  static int64_t readScalar(weft_rt_rank *rank, int32_t op, weft_rt_type type,
                            const void *source) {
    int64_t value = 0;
    if (!rankOf(rank).readScalar(op, type, source, value))
      rankOf(rank).leave();
    return value;
  }

  static int64_t start(weft_rt_rank *rank, int32_t op,
                       const weft_rt_collective *collective,
                       const void *const *in, void *const *out) {
    int64_t ticket = rankOf(rank).startCollective(op, *collective, in, out);
    if (ticket < 0)
      rankOf(rank).leave();
    return ticket;
  }

  static void wait(weft_rt_rank *rank, int32_t op, int64_t ticket) {
    if (!rankOf(rank).wait(op, ticket))
      rankOf(rank).leave();
  }

  static void setStream(weft_rt_rank *rank, int32_t channel) {
    if (!rankOf(rank).setStream(channel))
      rankOf(rank).leave();
  }

  static void record(weft_rt_rank *rank, int32_t event) {
    if (!rankOf(rank).record(event))
      rankOf(rank).leave();
  }

  static void await(weft_rt_rank *rank, int32_t event) {
    if (!rankOf(rank).await(event))
      rankOf(rank).leave();
  }

  static void fail(weft_rt_rank *rank, const char *message) {
    rankOf(rank).fail(message);
    rankOf(rank).leave();
  }
};

/// The table for ranks of a class.
template <typename Rank>
inline constexpr weft_rt_api rankApi = RankApi<Rank>::makeTable();

} // namespace weft::rt

#endif // WEFT_RT_CORE_RANK_API_H
