// SPDX-License-Identifier: Apache-2.0

// Certificates that can be read, made wrong by one change each, and what they
// say of a program.

#include "core/certificate.h"
#include "core/json.h"
#include "programs/accumulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft::rt;
using ::testing::ElementsAre;

namespace {

const std::string digest(64, 'a');
const std::string version = R"("version": 1)", axes = R"("axes": ["tp"])",
                  leaves = R"("leaves": 8)",
                  named = R"("digest": ")" + digest + '"';

std::string object(const std::vector<std::string> &members) {
  std::string text;
  for (const std::string &member : members)
    text += (text.empty() ? "{" : ", ") + member;
  return text + "}";
}

std::string failure(const std::string &text) {
  return parseCertificate(text).status().message();
}

TEST(Certificate, Reads) {
  Result<Certificate> read =
      parseCertificate(object({version, axes, leaves, named}));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_THAT(read->axes, ElementsAre("tp"));
  EXPECT_EQ(read->leaves, 8);
  EXPECT_EQ(read->digest, digest);
}

TEST(Certificate, PassesOverOtherMembers) {
  EXPECT_EQ(failure(object({R"("results": {"w": [1, -2.5e3, true, null, "]"]})",
                            named, R"("empty": {})", leaves, axes, version,
                            R"("text": "}")"})),
            "");
  EXPECT_EQ(failure(object({version, R"("x": })"})),
            "expected a value, found byte 0x7d at byte 20");
  EXPECT_EQ(failure(object({version, R"("x": [1})"})),
            "expected a value, found byte 0x7d at byte 22");
  EXPECT_EQ(failure(R"({"x": [1, )"),
            "expected a value, found the end at byte 10");
}

TEST(Certificate, Wrong) {
  EXPECT_EQ(failure(""), "expected '{', found the end at byte 0");
  EXPECT_EQ(failure("{}"), "member 'version' is missing");
  EXPECT_EQ(failure(object({version, axes, leaves})),
            "member 'digest' is missing");
  EXPECT_EQ(failure(object({version, version})),
            "member 'version' occurs twice at byte 25");
  EXPECT_EQ(failure(object({R"("version": 2)", axes, leaves, named})),
            "version 2, this runtime knows 1");
  EXPECT_EQ(failure(object({version, axes, R"("leaves": 0)", named})),
            "0 leaves");
  EXPECT_EQ(failure(object({version, axes, leaves, R"("digest": "12")"})),
            "digest '12' is not 64 hexadecimal digits");
  EXPECT_EQ(failure(object({version, R"("axes": "tp")", leaves, named})),
            "expected '[', found byte 0x22 at byte 23");
  EXPECT_EQ(failure(object({version, axes, leaves, named}) + "x"),
            "text after the end at byte 121");
}

TEST(Certificate, Names) {
  weft_rt_program program = weft_program;
  EXPECT_EQ(invarianceName(program), "none");
  std::string text = object({version, axes, leaves, named});
  program.certificate = text.c_str();
  EXPECT_EQ(invarianceName(program), "\"tp\", 8 leaves, certificate " + digest);
  EXPECT_EQ(invarianceJson(program), R"({"axes": ["tp"], "leaves": 8, )" +
                                         (R"("digest": ")" + digest) + "\"}");
  std::string whole =
      object({version, R"("axes": ["tp", "dp"])", leaves, named});
  program.certificate = whole.c_str();
  EXPECT_EQ(invarianceName(program), "mesh, 8 leaves, certificate " + digest);
}

} // namespace
