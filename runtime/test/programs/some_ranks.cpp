// SPDX-License-Identifier: Apache-2.0

// Ranks run one after the other, on the caller's thread.

#include "programs/some_ranks.h"

#include "core/types.h"

#include <cstdlib>
#include <cstring>
#include <map>

namespace weft::rt {
namespace {

class SomeRanks : public Backend {
public:
  SomeRanks(std::vector<int64_t> given, Places kind,
            const BackendOptions &options)
      : ranks(std::move(given)), kind(kind) {
    for (int64_t rank : ranks)
      if (rank >= 0 && rank < int64_t(options.programs.size()))
        members[rank] = std::make_unique<Member>(options, rank);
  }

  const std::vector<int64_t> &localRanks() const override { return ranks; }
  int threadsPerRank() const override { return 1; }
  RankLog &log(int64_t rank) override { return members.at(rank)->log; }
  bool hasStuckRank() const override { return false; }
  const weft_rt_api &api() const override { return table; }

  Result<std::vector<void *>>
  allocate(const std::vector<int64_t> &bytes) override {
    std::vector<void *> places;
    for (size_t i = 0; i < ranks.size(); ++i) {
      std::vector<Line> &memory = members.at(ranks[i])->memory;
      memory.resize(bytes[i] / sizeof(Line) + 1);
      auto *place = reinterpret_cast<char *>(memory.data());
      if (kind == Places::Odd)
        place += 8;
      places.push_back(kind == Places::Null ? nullptr : place);
    }
    if (kind == Places::TooFew)
      places.pop_back();
    return places;
  }

  Outcome upload(weft_rt_type type, const std::vector<Shard> &shards,
                 const void *global) override {
    for (const Shard &shard : shards)
      cutRegion(type, shard.region, global, shard.local);
    return Outcome();
  }
  Outcome download(weft_rt_type type, const std::vector<Shard> &shards,
                   void *global) override {
    for (const Shard &shard : shards)
      joinRegion(type, shard.region, shard.local, global);
    return Outcome();
  }
  Outcome fill(const std::vector<Block> &blocks, uint8_t value) override {
    for (const Block &block : blocks)
      std::memset(block.data, value, size_t(block.bytes));
    return Outcome();
  }

  Outcome run(RankTask task, void *context) override {
    for (int64_t rank : ranks)
      task(context, &members.at(rank)->self);
    return Outcome();
  }

private:
  struct alignas(64) Line {
    char bytes[64] = {};
  };
  struct Member {
    Member(const BackendOptions &options, int64_t rank)
        : log(*options.programs[rank], options.traceEvents, options.profile),
          program(*options.programs[rank]), self{rank, this} {}
    RankLog log;
    const weft_rt_program &program;
    weft_rt_rank self;
    std::vector<Line> memory;
  };

  static void launch(weft_rt_rank *rank, int32_t op,
                     const weft_rt_launch *launch, void *const *buffers,
                     const int64_t *scalars) {
    auto &member = *static_cast<Member *>(rank->session);
    const weft_rt_kernel_entry &entry = member.program.kernels[launch->kernel];
    Moment begin = member.log.moment();
    entry.function(buffers, scalars, 0, launch->config[0]);
    member.log.record(SpanKind::Kernel, WEFT_RT_IN_KERNEL, op, &entry, begin);
  }
  static int64_t start(weft_rt_rank *rank, int32_t,
                       const weft_rt_collective *collective,
                       const void *const *in, void *const *out) {
    RankLog &log = static_cast<Member *>(rank->session)->log;
    log.finish(log.start(*collective), *collective, 0);
    for (int32_t i = 0; i < collective->num_operands; ++i) {
      const weft_rt_operand &operand = collective->operands[i];
      std::memcpy(out[i], in[i],
                  byteSize(operand.type,
                           operand.outer * operand.extent * operand.inner));
    }
    return 0;
  }
  static constexpr weft_rt_api table = {
      WEFT_RT_ABI_VERSION,
      sizeof(weft_rt_api),
      [](weft_rt_rank *, int32_t, const weft_rt_gemm *, const void *,
         const void *, void *) { std::abort(); },
      [](weft_rt_rank *, int32_t, const weft_rt_attention *, void *const *,
         int64_t) { std::abort(); },
      launch,
      [](weft_rt_rank *, int32_t, const weft_rt_copy *, const void *, void *) {
        std::abort();
      },
      [](weft_rt_rank *, int32_t, weft_rt_type, const void *) -> int64_t {
        std::abort();
      },
      start,
      [](weft_rt_rank *, int32_t, int64_t) {},
      [](weft_rt_rank *, int32_t) { std::abort(); },
      [](weft_rt_rank *, int32_t) { std::abort(); },
      [](weft_rt_rank *, int32_t) { std::abort(); },
      [](weft_rt_rank *, const char *) { std::abort(); }};

  std::vector<int64_t> ranks;
  Places kind;
  std::map<int64_t, std::unique_ptr<Member>> members;
};

} // namespace

Result<std::unique_ptr<Backend>>
createWithRanks(std::vector<int64_t> ranks, Places places,
                const BackendOptions &options) {
  return std::unique_ptr<Backend>(
      std::make_unique<SomeRanks>(std::move(ranks), places, options));
}

} // namespace weft::rt
