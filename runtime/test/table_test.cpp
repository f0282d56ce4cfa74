// SPDX-License-Identifier: Apache-2.0

// The checksum of a table, its processor, and tables in files.

#include "core/checksum.h"
#include "core/processor.h"
#include "core/program_file.h"
#include "programs/accumulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

using namespace weft::rt;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

int fromDigit(char digit) {
  return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

/// A copy of the test program with its checksum.
weft_rt_program sealed() {
  weft_rt_program program = weft_program;
  std::string digits = checksumOf(program);
  for (size_t i = 0; i < sizeof(program.checksum); ++i)
    program.checksum[i] =
        uint8_t(fromDigit(digits[2 * i]) * 16 + fromDigit(digits[2 * i + 1]));
  return program;
}

TEST(Checksum, OfAWholeTable) {
  EXPECT_TRUE(checkChecksum(weft_program).ok()); // has none
  EXPECT_TRUE(checkChecksum(sealed()).ok());
}

const weft_rt_image code = {"code", nullptr, 0};

TEST(Checksum, CoversEveryField) {
  std::vector<void (*)(weft_rt_program &)> changes = {
      [](weft_rt_program &p) { p.name = "other"; },
      [](weft_rt_program &p) { p.num_ranks += 1; },
      [](weft_rt_program &p) { p.num_args -= 1; },
      [](weft_rt_program &p) { p.num_traffic -= 1; },
      [](weft_rt_program &p) { p.max_operands += 1; },
      [](weft_rt_program &p) { p.arena_bytes ^= 1; },
      [](weft_rt_program &p) { p.plan_hash[31] ^= 1; },
      [](weft_rt_program &p) { p.certificate = "{}"; },
      [](weft_rt_program &p) { p.cpu = "i386"; },
      [](weft_rt_program &p) { p.features = "avx"; },
      [](weft_rt_program &p) { p.checksum[0] ^= 1; },
      [](weft_rt_program &p) { p.entry = nullptr; },
      [](weft_rt_program &p) { p.ops = nullptr; },
      [](weft_rt_program &p) { p.backend = "null"; },
      [](weft_rt_program &p) { p.num_kernels -= 1; },
      [](weft_rt_program &p) { p.images = &code; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    weft_rt_program program = sealed();
    changes[i](program);
    EXPECT_THAT(checkChecksum(program).message(),
                HasSubstr("table is damaged: its checksum is "))
        << i;
  }
}

TEST(Checksum, CoversWhatTheTablePointsTo) {
  weft_rt_program program = sealed();
  std::vector<weft_rt_tensor> args(program.args,
                                   program.args + program.num_args);
  program.args = args.data();
  EXPECT_TRUE(checkChecksum(program).ok());
  int64_t shape[] = {9, 4};
  args[0].shape = shape;
  EXPECT_FALSE(checkChecksum(program).ok());
  shape[1] = 3;
  EXPECT_TRUE(checkChecksum(program).ok());
  args[2].name = "node";
  EXPECT_FALSE(checkChecksum(program).ok());
}

TEST(Checksum, CoversKernelsAndImages) {
  weft_rt_program program = weft_program;
  uint8_t bytes[] = {1, 0, 2};
  weft_rt_image image = {"code", bytes, 3};
  weft_rt_kernel_entry kernel = {"k", 0, nullptr, 1, 1};
  program.images = &image;
  program.kernels = &kernel;
  program.num_images = program.num_kernels = 1;
  std::string before = checksumOf(program);
  bytes[2] = 3;
  EXPECT_NE(checksumOf(program), before);
  bytes[2] = 2;
  EXPECT_EQ(checksumOf(program), before);
  kernel.num_scalars = 2;
  EXPECT_NE(checksumOf(program), before);
  kernel.num_scalars = 1;
  kernel.function = weft_program.kernels[0].function;
  EXPECT_NE(checksumOf(program), before);
}

TEST(Processor, NamesWhatIsMissing) {
  unsetenv("WEFT_WITHOUT_CPU_FEATURES");
  EXPECT_THAT(missingFeatures(""), IsEmpty());
  weft_rt_program program = weft_program;
  EXPECT_TRUE(checkProcessor(program).ok()); // does not say
#if defined(__x86_64__)
  EXPECT_THAT(missingFeatures("no-such,,other"),
              ElementsAre("no-such", "other"));
  program.cpu = "next\x1b";
  program.features = "no-such";
  EXPECT_EQ(checkProcessor(program).message(),
            "program 'accumulate' is compiled for the processor 'next\\x1b'; "
            "this machine's lacks 'no-such': compile it with --cpu for this "
            "machine");
  setenv("WEFT_WITHOUT_CPU_FEATURES", "sse3,popcnt", 1);
  EXPECT_THAT(missingFeatures("popcnt,sse3"), ElementsAre("popcnt", "sse3"));
  unsetenv("WEFT_WITHOUT_CPU_FEATURES");
#endif
}

TEST(ProgramFile, RefusesWhatIsNone) {
  auto failure = [](const char *path) {
    return ProgramFile::read(path).status().message();
  };
  EXPECT_THAT(failure(WEFT_RT_TEST_LIBRARY),
              HasSubstr("it does not define weft_program"));
  EXPECT_THAT(failure("/dev/zero"), HasSubstr("it is not a regular file"));
  EXPECT_THAT(failure("/none"), HasSubstr("'/none': no such file"));
}

} // namespace
