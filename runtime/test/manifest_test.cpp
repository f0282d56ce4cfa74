// SPDX-License-Identifier: Apache-2.0

// Wrong program tables, made from a right one by one change each, and files
// that are no programs.

#include "core/executable.h"
#include "core/manifest.h"
#include "programs/accumulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

using namespace weft::rt;
using ::testing::HasSubstr;

namespace {

/// A copy of the test program whose tables can be changed.
struct Editable {
  weft_rt_program program = weft_program;
  std::vector<weft_rt_axis> axes{program.axes, program.axes + 2};
  std::vector<weft_rt_tensor> args{program.args, program.args + 3};
  std::vector<weft_rt_tensor> results{program.results, program.results + 3};
  std::vector<weft_rt_channel> channels{program.channels, program.channels + 2};
  std::vector<weft_rt_traffic> traffic{program.traffic, program.traffic + 2};
  std::vector<weft_rt_kernel_entry> kernels{program.kernels,
                                            program.kernels + 2};
  int64_t shape[2] = {9, 3}, local[2] = {5, 2};
  weft_rt_axis_ref ref = {0, 1, 2};
  weft_rt_dim_sharding cuts[2] = {{1, &ref}, {0, nullptr}};

  Editable() {
    program.axes = axes.data();
    program.args = args.data();
    program.results = results.data();
    program.channels = channels.data();
    program.traffic = traffic.data();
    program.kernels = kernels.data();
  }
};

std::string failure(const std::function<void(Editable &)> &edit) {
  Editable editable;
  edit(editable);
  return checkProgram(editable.program).message();
}

TEST(Manifest, AcceptsTheTestProgram) {
  EXPECT_EQ(failure([](Editable &) {}), "");
}

TEST(Manifest, Version) {
  EXPECT_EQ(failure([](Editable &e) { e.program.abi_version = 99; }),
            "program has ABI version 99, and this runtime has 9: compile it "
            "again with the weft that this runtime belongs to, or run it with "
            "its own");
  EXPECT_THAT(failure([](Editable &e) { e.program.abi_version = 7; }),
              HasSubstr("program has ABI version 7, and this runtime has 9"));
  EXPECT_THAT(failure([](Editable &e) { e.program.struct_size = 8; }),
              HasSubstr("program table has 8 bytes, expected"));
}

TEST(Manifest, Tables) {
  EXPECT_THAT(failure([](Editable &e) { e.program.args = nullptr; }),
              HasSubstr("table of 3 arguments at address"));
  EXPECT_THAT(failure([](Editable &e) { e.program.num_results = -1; }),
              HasSubstr("table of -1 results"));
  EXPECT_EQ(failure([](Editable &e) { e.program.entry = nullptr; }),
            "program has no name or no entry point");
  EXPECT_EQ(failure([](Editable &e) { e.program.arena_bytes = -1; }),
            "program has an arena of -1 bytes");
  EXPECT_THAT(failure([](Editable &e) { e.traffic[1].channel = nullptr; }),
              HasSubstr("traffic entry 1"));
}

TEST(Manifest, Kernels) {
  EXPECT_EQ(failure([](Editable &e) { e.program.backend = nullptr; }),
            "program does not say which backend it is for");
  EXPECT_EQ(failure([](Editable &e) { e.program.backend = ""; }),
            "program does not say which backend it is for");
  EXPECT_THAT(failure([](Editable &e) { e.program.kernels = nullptr; }),
              HasSubstr("table of 2 kernels at address"));
  EXPECT_EQ(failure([](Editable &e) { e.program.num_events = -1; }),
            "program has -1 events, expected 0 to 65536");
  EXPECT_THAT(failure([](Editable &e) { e.program.num_images = 1; }),
              HasSubstr("table of 1 images at address"));
  EXPECT_EQ(failure([](Editable &e) { e.kernels[1].name = nullptr; }),
            "kernel 1 has no name");
  EXPECT_EQ(failure([](Editable &e) { e.kernels[0].num_scalars = -1; }),
            "kernel 0 'addTotal' takes 2 buffers and -1 scalars");
  EXPECT_EQ(failure([](Editable &e) { e.kernels[0].image = 0; }),
            "kernel 0 'addTotal' lies in image 0 of 0");
  weft_rt_image image = {"code", nullptr, 0};
  auto add = [&](Editable &e) {
    e.program.num_images = 1;
    e.program.images = &image;
    e.kernels[0].image = 0;
  };
  EXPECT_EQ(failure(add), "kernel 0 'addTotal' is a function and lies in an "
                          "image");
  image.size = 8;
  EXPECT_THAT(failure(add), HasSubstr("image 0 ('code') has 8 bytes at"));
}

TEST(Manifest, Certificate) {
  EXPECT_EQ(failure([](Editable &e) { e.program.certificate = "{}"; }),
            "program has a certificate that cannot be read: member 'version' "
            "is missing");
}

TEST(Manifest, Mesh) {
  EXPECT_EQ(failure([](Editable &e) { e.program.num_ranks = 3; }),
            "program is for 3 ranks but its mesh has 4");
  EXPECT_EQ(failure([](Editable &e) { e.axes[1].size = 0; }),
            "mesh axis 1 ('tp') has size 0");
}

TEST(Manifest, Tensors) {
  EXPECT_EQ(failure([](Editable &e) { e.args[1].name = "state"; }),
            "argument 1 'state' has the name of another one");
  EXPECT_EQ(failure([](Editable &e) { e.results[1].name = nullptr; }),
            "result 1 has no name");
  EXPECT_EQ(failure([](Editable &e) { e.args[1].type = weft_rt_type(17); }),
            "argument 1 'x' has unknown type 17");
  EXPECT_EQ(failure([](Editable &e) { e.args[1].shape = nullptr; }),
            "argument 1 'x' of rank 1 has no usable shape");
  EXPECT_EQ(failure([](Editable &e) {
              e.shape[0] = -2;
              e.args[0].shape = e.shape;
            }),
            "argument 0 'state' has shape tensor<-2x3xf32>, which is negative "
            "or too large");
  EXPECT_EQ(failure([](Editable &e) {
              e.local[0] = 4;
              e.args[0].local_shape = e.local;
            }),
            "argument 0 'state' has local size 4 in dimension 0, expected 5: 9 "
            "elements over 2 shards");
}

TEST(Manifest, Shardings) {
  EXPECT_THAT(failure([](Editable &e) {
                e.ref.axis = 5;
                e.args[0].sharding = e.cuts;
              }),
              HasSubstr("names axis 5 of 2"));
  EXPECT_THAT(failure([](Editable &e) {
                e.cuts[1] = e.cuts[0];
                e.args[0].sharding = e.cuts;
              }),
              HasSubstr("uses \"dp\" and \"dp\", which overlap"));
  EXPECT_THAT(failure([](Editable &e) {
                e.ref.size = 3;
                e.channels[1].axes = &e.ref;
              }),
              HasSubstr("channel 'gather.tp' uses \"dp\":(1)3"));
}

TEST(Manifest, Aliases) {
  EXPECT_EQ(failure([](Editable &e) { e.results[0].alias = 3; }),
            "result 'state' aliases argument 3 of 3");
  EXPECT_EQ(failure([](Editable &e) { e.results[0].alias = 1; }),
            "result 'state' and argument 'x': the argument's alias is -1, "
            "expected 0");
  EXPECT_EQ(failure([](Editable &e) { e.args[1].alias = 2; }),
            "argument 'x' says that result 2 takes its place, which that "
            "result does not say");
  EXPECT_THAT(failure([](Editable &e) { e.args[0].type = WEFT_RT_I32; }),
              HasSubstr("share memory but are tensor<9x3xf32> [{\"dp\"}, "
                        "{\"tp\"}] and tensor<9x3xi32>"));
}

TEST(Manifest, DescribesTheProgram) {
  std::string text = describeProgram(weft_program);
  EXPECT_THAT(text, HasSubstr("mesh: <[\"dp\"=2, \"tp\"=2]>, 4 ranks\n"));
  EXPECT_THAT(text, HasSubstr("  'state': tensor<9x3xf32>, local "
                              "tensor<5x2xf32>, [{\"dp\"}, {\"tp\"}], donated "
                              "to 'state'\n"));
  EXPECT_THAT(text, HasSubstr("  'gather.tp': {\"tp\"}, groups of 2\n"));
  EXPECT_THAT(text, HasSubstr("  all_reduce on 'reduce.all': 1 operands, 6 "
                              "bytes a rank\n"));
}

TEST(Executable, RefusesOtherFiles) {
  EXPECT_EQ(Executable::load("nowhere.so").status().message(),
            "cannot load 'nowhere.so': no such file");
  EXPECT_THAT(Executable::load(__FILE__).status().message(),
              HasSubstr("cannot load"));
  EXPECT_THAT(Executable::load(WEFT_RT_TEST_LIBRARY).status().message(),
              HasSubstr("it does not define weft_program"));
}

} // namespace
