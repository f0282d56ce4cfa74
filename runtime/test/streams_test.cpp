// SPDX-License-Identifier: Apache-2.0

// What every backend refuses of streams and events.

#include "core/streams.h"

#include <gtest/gtest.h>

using namespace weft::rt;

namespace {

class StreamsTest : public ::testing::Test {
protected:
  StreamsTest() : program(describe(channels)), streams(program) {}

  static weft_rt_program describe(const weft_rt_channel *channels) {
    weft_rt_program program = {};
    program.num_channels = 2;
    program.channels = channels;
    program.num_events = 3;
    return program;
  }

  weft_rt_channel channels[2] = {{"reduce.dp", 0, nullptr},
                                 {"data.dp", 0, nullptr}};
  weft_rt_program program;
  Streams streams;
};

TEST_F(StreamsTest, ChannelsOfTheProgram) {
  EXPECT_EQ(streams.current(), Streams::compute);
  EXPECT_TRUE(streams.set(1).ok());
  EXPECT_EQ(streams.current(), 1);
  EXPECT_EQ(streams.set(2).message(), "chooses the stream of channel 2 of 2");
  EXPECT_EQ(streams.set(-2).message(), "chooses the stream of channel -2 of 2");
  streams.begin();
  EXPECT_EQ(streams.current(), Streams::compute);
}

TEST_F(StreamsTest, EventsThatAreRecorded) {
  EXPECT_EQ(streams.record(3).message(), "records event 3 of 3");
  EXPECT_EQ(streams.await(-1).message(), "awaits event -1 of 3");
  EXPECT_EQ(streams.await(2).message(),
            "awaits event 2, which it has not recorded");
  EXPECT_TRUE(streams.record(2).ok());
  EXPECT_TRUE(streams.await(2).ok());
  streams.begin();
  EXPECT_FALSE(streams.await(2).ok());
}

TEST_F(StreamsTest, OpsOfChannels) {
  EXPECT_TRUE(streams.checkComputes("a contraction").ok());
  EXPECT_TRUE(streams.checkChannel("a wait", 1).ok());
  EXPECT_TRUE(streams.set(0).ok());
  EXPECT_EQ(streams.checkComputes("a contraction").message(),
            "a contraction is on the stream of channel 'reduce.dp', which has "
            "only collectives, kernels and copies");
  EXPECT_TRUE(streams.checkChannel("a wait", 0).ok());
  EXPECT_EQ(streams.checkChannel("a wait", 1).message(),
            "a wait of a collective on another channel is on the stream of "
            "channel 'reduce.dp'");
}

} // namespace
