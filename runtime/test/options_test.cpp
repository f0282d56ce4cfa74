// SPDX-License-Identifier: Apache-2.0

// The command line, and scalars as text.

#include "tool/options.h"
#include "tool/scalar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

using namespace weft::rt;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

Result<ToolOptions> parse(std::vector<const char *> args,
                          bool isEmbedded = false) {
  args.insert(args.begin(), "weft-run");
  return parseOptions(int(args.size()), args.data(), isEmbedded);
}

std::string refusal(std::vector<const char *> args, bool isEmbedded = false) {
  return parse(std::move(args), isEmbedded).status().message();
}

TEST(Options, Reads) {
  auto options = parse({"step.so",     "--ranks",   "8",
                        "--inputs=in", "--outputs", "out",
                        "--print",     "loss",      "--print=norm",
                        "--deadline",  "2.5",       "--quiet",
                        "--threads",   "4",         "--steps=3",
                        "--trace",     "t",         "--stats",
                        "s",           "--digest"});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->program, "step.so");
  EXPECT_EQ(options->ranks, 8);
  EXPECT_EQ(options->inputs, "in");
  EXPECT_EQ(options->outputs, "out");
  EXPECT_THAT(options->print, ElementsAre("loss", "norm"));
  EXPECT_EQ(options->deadline, 2.5);
  EXPECT_TRUE(options->quiet);
  EXPECT_EQ(options->threads, 4);
  EXPECT_EQ(options->steps, 3);
  EXPECT_TRUE(options->digest);
}

TEST(Options, ReadsFaults) {
  auto options = parse({"step.so", "--fault", "vanish:3", "--fault=fail:0:12",
                        "--fault", "delay:1:2:30"});
  ASSERT_TRUE(options.ok()) << options.status().message();
  ASSERT_EQ(options->faults.size(), 3u);
  EXPECT_EQ(options->faults[0].kind, WEFT_RT_FAULT_VANISH);
  EXPECT_EQ(options->faults[0].rank, 3);
  EXPECT_EQ(options->faults[0].collective, 0);
  EXPECT_EQ(options->faults[1].kind, WEFT_RT_FAULT_FAIL);
  EXPECT_EQ(options->faults[1].collective, 12);
  EXPECT_EQ(options->faults[2].milliseconds, 30);
  for (const char *wrong : {"fail", "fail:", "die:1", "fail:-1",
                            "fail:1:", "fail:1:2:3:4", "fail:1x", ":1"})
    EXPECT_THAT(refusal({"step.so", "--fault", wrong}),
                HasSubstr(std::string("not '") + wrong + "'"));
}

TEST(Options, RefusesWrongUse) {
  EXPECT_EQ(refusal({}), "no program given");
  EXPECT_EQ(refusal({"a.so", "b.so"}), "unexpected argument 'b.so'");
  EXPECT_EQ(refusal({"a.so"}, true), "unexpected argument 'a.so'");
  EXPECT_EQ(refusal({"a.so", "--what"}), "unknown option '--what'");
  EXPECT_EQ(refusal({"a.so", "--inputs"}), "--inputs needs a value");
  EXPECT_EQ(refusal({"a.so", "--inputs="}), "--inputs takes a file name");
  EXPECT_EQ(refusal({"a.so", "--backend="}),
            "--backend takes the name of a backend");
  EXPECT_EQ(refusal({"a.so", "--quiet=1"}), "--quiet takes no value");
  EXPECT_EQ(refusal({"a.so", "--ranks", "0"}),
            "--ranks takes an integer from 1 to 1048576, not '0'");
  EXPECT_THAT(refusal({"a.so", "--steps", "3x"}), HasSubstr("not '3x'"));
  EXPECT_EQ(refusal({"a.so", "--deadline", "-1"}),
            "--deadline takes a positive number of seconds, not '-1'");
  EXPECT_THAT(refusal({"a.so", "--deadline", "nan"}), HasSubstr("'nan'"));
}

TEST(Options, HelpNamesEveryFlag) {
  std::string text = usageText("weft-run", false);
  for (const char *flag : {"--ranks N", "--inputs FILE", "--deadline SECONDS",
                           "--inspect", "--poison"})
    EXPECT_THAT(text, HasSubstr(flag));
  EXPECT_TRUE(parse({"--help"}).ok());
}

TEST(Scalar, RoundTrips) {
  float third = 1.0f / 3;
  double exact = 1.0 / 3;
  uint16_t half = 0x3555, bf16 = 0x3eab, subnormal = 0x8001;
  int64_t least = std::numeric_limits<int64_t>::min();
  uint8_t truth = 1;
  EXPECT_EQ(std::stof(scalarText(WEFT_RT_F32, &third)), third);
  EXPECT_EQ(std::stod(scalarText(WEFT_RT_F64, &exact)), exact);
  EXPECT_EQ(scalarText(WEFT_RT_F16, &half), "0.333251953");
  EXPECT_EQ(scalarText(WEFT_RT_F16, &subnormal), "-5.96046448e-08");
  EXPECT_EQ(scalarText(WEFT_RT_BF16, &bf16), "0.333984375");
  EXPECT_EQ(scalarText(WEFT_RT_I64, &least), "-9223372036854775808");
  EXPECT_EQ(scalarText(WEFT_RT_I1, &truth), "1");
  EXPECT_FALSE(canPrint(WEFT_RT_F8E5M2));
}

} // namespace
