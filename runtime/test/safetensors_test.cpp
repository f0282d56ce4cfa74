// SPDX-License-Identifier: Apache-2.0

// Reading and writing of safetensors files, and every way in which a file can
// be wrong.

#include "core/json.h"
#include "core/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::rt;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

std::string image(const std::string &header, size_t dataBytes) {
  std::string text(8, '\0');
  uint64_t length = header.size();
  std::memcpy(text.data(), &length, 8);
  return text + header + std::string(dataBytes, 'x');
}

Result<std::vector<TensorEntry>> parse(const std::string &text) {
  int64_t dataStart;
  return parseSafetensors(reinterpret_cast<const uint8_t *>(text.data()),
                          int64_t(text.size()), "f", &dataStart);
}

/// The message for a wrong header over `dataBytes` bytes.
std::string failureToRead(const std::string &header, size_t dataBytes = 0) {
  return parse(image(header, dataBytes)).status().message();
}

/// A header with one tensor "t" that has these fields.
std::string one(const std::string &fields) {
  return "{\"t\":{" + fields + "}}";
}

std::string fields(const char *dtype, const char *shape, const char *offsets) {
  return format("\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%s]", dtype,
                shape, offsets);
}

TEST(SafetensorsParse, AcceptsGoodFiles) {
  EXPECT_TRUE(parse(image("{}", 0)).ok());
  EXPECT_TRUE(parse(image("{\"__metadata__\":{\"a\":\"b\"}}   ", 0)).ok());
  auto result = parse(image(" { \"b\" : { \"shape\" : [ ] , \"dtype\" : "
                            "\"F32\", \"data_offsets\":[6,10]},"
                            "\"a\\u00e9\":{" +
                                fields("BF16", "3", "0,6") + "},\"e\":{" +
                                fields("I64", "0,5", "6,6") + "}}",
                            10));
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(result->size(), 3u);
  EXPECT_EQ((*result)[0].name, "a\xc3\xa9");
  EXPECT_EQ((*result)[1].name, "e");
  EXPECT_THAT((*result)[1].shape, ElementsAre(0, 5));
  EXPECT_EQ((*result)[2].type, WEFT_RT_F32);
}

TEST(SafetensorsParse, HeaderLength) {
  EXPECT_EQ(parse("1234567").status().message(),
            "f: file has 7 bytes, too short for a header length");
  std::string lies = image("{}", 0);
  lies[0] = 3;
  EXPECT_EQ(parse(lies).status().message(),
            "f: header length 3 exceeds the 2 bytes that follow it");
  lies[7] = '\x7f';
  EXPECT_EQ(parse(lies).status().message(),
            "f: header length 9151314442816847875 exceeds the limit of "
            "100000000");
}

TEST(SafetensorsParse, Json) {
  EXPECT_EQ(failureToRead(""),
            "f: header: expected '{', found the end at byte 0");
  EXPECT_EQ(failureToRead("[]"),
            "f: header: expected '{', found byte 0x5b at byte 0");
  EXPECT_THAT(failureToRead("{}x"), HasSubstr("text after the end at byte 2"));
  EXPECT_THAT(failureToRead("{\"a\":1}"), HasSubstr("expected '{'"));
  EXPECT_THAT(failureToRead("{\"a"), HasSubstr("string does not end"));
  EXPECT_THAT(failureToRead("{\"a\n\":{}}"), HasSubstr("control character"));
  EXPECT_THAT(failureToRead("{\"\xff\":{}}"), HasSubstr("string is not UTF-8"));
  EXPECT_THAT(failureToRead("{\"\xc0\x80\":{}}"), HasSubstr("not UTF-8"));
  EXPECT_THAT(failureToRead("{\"\xed\xa0\x80\":{}}"), HasSubstr("not UTF-8"));
  EXPECT_THAT(failureToRead("{\"\\q\":{}}"), HasSubstr("unknown escape"));
  EXPECT_THAT(failureToRead("{\"\\u12g4\":{}}"), HasSubstr("four hexadecimal"));
  EXPECT_THAT(failureToRead("{\"\\ud800\":{}}"), HasSubstr("lone surrogate"));
  EXPECT_THAT(failureToRead("{\"__metadata__\":{\"a\":1}}"),
              HasSubstr("expected '\"'"));
}

TEST(SafetensorsParse, Fields) {
  EXPECT_THAT(failureToRead(one("")),
              HasSubstr("tensor 't': no field 'dtype'"));
  EXPECT_THAT(failureToRead(one("\"dtype\":\"F32\",\"shape\":[]")),
              HasSubstr("tensor 't': no field 'data_offsets'"));
  EXPECT_THAT(failureToRead(one("\"dtype\":\"F32\",\"dtype\":\"F32\"")),
              HasSubstr("tensor 't': two fields 'dtype'"));
  EXPECT_THAT(failureToRead(one("\"x\\u0007\":1")),
              HasSubstr("tensor 't': unknown field 'x\\x07'"));
  EXPECT_THAT(
      failureToRead("{\"t\":{" + fields("U8", "0", "0,0") + "},\"t\":{}}"),
      HasSubstr("duplicate tensor 't'"));
}

TEST(SafetensorsParse, Numbers) {
  EXPECT_THAT(failureToRead(one(fields("F32", "-1", "0,4")), 4),
              HasSubstr("expected an integer of at least 0"));
  EXPECT_THAT(failureToRead(one(fields("F32", "1.5", "0,4")), 4),
              HasSubstr("found a fraction"));
  EXPECT_THAT(failureToRead(one(fields("F32", "01", "0,4")), 4),
              HasSubstr("integer begins with 0"));
  EXPECT_THAT(
      failureToRead(one(fields("F32", "9223372036854775808", "0,4")), 4),
      HasSubstr("does not fit in 63 bits"));
  EXPECT_EQ(
      failureToRead(one(fields("F32", "4294967296,4294967296", "0,4")), 4),
      "f: tensor 't' has a shape whose product overflows");
}

TEST(SafetensorsParse, TypesAndSizes) {
  EXPECT_EQ(failureToRead(one(fields("C64", "1", "0,8")), 8),
            "f: tensor 't' has unsupported dtype 'C64'");
  EXPECT_EQ(failureToRead(one(fields("F32", "2,3", "0,20")), 20),
            "f: tensor 't' has 20 bytes, expected 24 for tensor<2x3xf32>");
  EXPECT_EQ(failureToRead(one(fields("F4", "3", "0,2")), 2),
            "f: tensor 't': tensor<3xf4E2M1FN> does not fill whole bytes");
  EXPECT_EQ(failureToRead(one(fields("F32", "1", "0,4,8")), 8),
            "f: tensor 't' has 3 data offsets, expected 2");
  EXPECT_EQ(failureToRead(one(fields("BOOL", "2", "0,2")), 2),
            "f: tensor 't' has a byte 120, expected 0 or 1 in BOOL");
}

TEST(SafetensorsParse, Ranges) {
  EXPECT_EQ(failureToRead(one(fields("U8", "4", "4,0")), 4),
            "f: tensor 't' has bytes 4 to 0, outside the data of 4 bytes");
  EXPECT_EQ(failureToRead(one(fields("U8", "4", "0,4")), 3),
            "f: tensor 't' has bytes 0 to 4, outside the data of 3 bytes");
  EXPECT_EQ(failureToRead(one(fields("U8", "4", "0,4")), 5),
            "f: tensor 't' ends at byte 4, the last of all, but "
            "the data has 5 bytes");
  EXPECT_EQ(failureToRead(one(fields("U8", "3", "1,4")), 4),
            "f: tensor 't' begins at byte 1, not right after the header, "
            "which ends at byte 0");
  std::string two = "{\"a\":{" + fields("U8", "3", "0,3") + "},\"b\":{" +
                    fields("U8", "2", "2,4") + "}}";
  EXPECT_EQ(failureToRead(two, 4),
            "f: tensor 'b' begins at byte 2, inside 'a', which ends at byte 3");
}

/// A folder of the test's own.
std::string folder() {
  static const std::string path = [] {
    std::string name = testing::TempDir() + "/weft-safetensors-XXXXXX";
    return std::string(mkdtemp(name.data()));
  }();
  return path;
}

std::string contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Status writeTwo(OutputFile &file) {
  std::vector<TensorEntry> tensors(2);
  tensors[0] = {"small", WEFT_RT_I8, {3}, 0, 0};
  tensors[1] = {"a\"b", WEFT_RT_F32, {1, 2}, 0, 0};
  auto order = beginSafetensors(file, tensors);
  EXPECT_TRUE(order.ok());
  EXPECT_EQ((*order)[0].name, "a\"b");
  WEFT_RT_RETURN_IF_ERROR(file.append("01234567", 8));
  return file.append("abc", 3);
}

TEST(SafetensorsFile, WritesAndReadsBack) {
  std::string path = folder() + "/two.safetensors";
  auto file = OutputFile::create(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  ASSERT_TRUE(writeTwo(**file).ok());
  ASSERT_TRUE((*file)->commit().ok());
  std::string header = "{\"a\\\"b\":{\"dtype\":\"F32\",\"shape\":[1,2],"
                       "\"data_offsets\":[0,8]},\"small\":{\"dtype\":\"I8\","
                       "\"shape\":[3],\"data_offsets\":[8,11]}}";
  header.append((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(contents(path), image(header, 0) + "01234567abc");
  auto reader = SafetensorsReader::open(path);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const TensorEntry *small = (*reader)->find("small");
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(std::memcmp((*reader)->data(*small), "abc", 3), 0);
  EXPECT_EQ((*reader)->find("none"), nullptr);
}

TEST(SafetensorsFile, NothingAppearsWithoutACommit) {
  std::string path = folder() + "/kept";
  std::ofstream(path) << "old";
  {
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(writeTwo(**file).ok());
  }
  EXPECT_EQ(contents(path), "old");
  unlink(path.c_str());
}

TEST(SafetensorsFile, FollowsLinks) {
  std::string target = folder() + "/target", link = folder() + "/link";
  std::ofstream(target) << "old";
  ASSERT_EQ(symlink(target.c_str(), link.c_str()), 0);
  ASSERT_TRUE(writeFile(link, "new").ok());
  EXPECT_EQ(contents(target), "new");
  struct stat info;
  ASSERT_EQ(lstat(link.c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
}

TEST(SafetensorsFile, RefusesPathsThatCannotBeWritten) {
  EXPECT_THAT(checkWritable(folder() + "/none/file").message(),
              HasSubstr("/none/file': No such file or directory"));
  EXPECT_THAT(checkWritable(folder()).message(),
              HasSubstr("not a regular file"));
  std::string fifo = folder() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(checkWritable(fifo).message(), HasSubstr("not a regular file"));
  EXPECT_THAT(SafetensorsReader::open(fifo).status().message(),
              HasSubstr("not a regular file"));
}

TEST(SafetensorsFile, WritesToDevicesAsTheyAre) {
  EXPECT_TRUE(writeFile("/dev/null", "text").ok());
  EXPECT_THAT(writeFile("/dev/full", "text").message(),
              HasSubstr("cannot write '/dev/full': No space left on device"));
  struct stat info;
  ASSERT_EQ(stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST(SafetensorsFile, OutputsAreFilesOfTheirOwn) {
  std::string a = folder() + "/a", hard = folder() + "/hard",
              soft = folder() + "/soft", none = folder() + "/none";
  std::ofstream(a) << "a";
  ASSERT_EQ(link(a.c_str(), hard.c_str()), 0);
  ASSERT_EQ(symlink(a.c_str(), soft.c_str()), 0);
  for (const std::string &other :
       {a, hard, soft,
        folder() + "/../" + folder().substr(folder().rfind('/')) + "/a"}) {
    EXPECT_THAT(checkDistinct({{"--x", a}, {"--y", other}}, {}).message(),
                HasSubstr("--x and --y name one file: '" + a + "' and '" +
                          other + "'"));
    EXPECT_THAT(checkDistinct({{"--x", a}}, {{"--in", other}}).message(),
                HasSubstr("--x would write over --in"));
  }
  EXPECT_THAT(checkDistinct({{"--x", none}, {"--y", folder() + "/./none"}}, {})
                  .message(),
              HasSubstr("name one file"));
  EXPECT_TRUE(checkDistinct({{"--x", a}, {"--y", none}, {"--z", ""}},
                            {{"--in", ""}, {"--more", folder() + "/b"}})
                  .ok());
  EXPECT_TRUE(checkDistinct({{"--x", "/dev/null"}, {"--y", "/dev/null"}},
                            {{"--in", "/dev/null"}})
                  .ok());
}

TEST(SafetensorsFile, RefusesFilesThatCannotBeRead) {
  EXPECT_THAT(SafetensorsReader::open(folder() + "/none").status().message(),
              HasSubstr("none': No such file or directory"));
  EXPECT_THAT(SafetensorsReader::open(folder()).status().message(),
              HasSubstr("not a regular file"));
  std::string empty = folder() + "/empty";
  std::ofstream(empty) << "";
  EXPECT_THAT(SafetensorsReader::open(empty).status().message(),
              HasSubstr("file has 0 bytes"));
}

TEST(SafetensorsFile, RefusesHalfBytes) {
  auto file = OutputFile::create(folder() + "/odd");
  ASSERT_TRUE(file.ok());
  TensorEntry odd{"q", WEFT_RT_F4E2M1FN, {3}, 0, 0};
  EXPECT_THAT(beginSafetensors(**file, {odd}).status().message(),
              HasSubstr("tensor<3xf4E2M1FN> does not fill whole bytes"));
}

TEST(Json, QuotesStrings) {
  EXPECT_EQ(jsonString("a\"\\\n\xc3\xa9\xff"),
            "\"a\\\"\\\\\\u000a\xc3\xa9\\ufffd\"");
  EXPECT_EQ(jsonString("\x7f\xc2\x9b\x1b[0m"), "\"\\u007f\\u009b\\u001b[0m\"");
}

TEST(Names, AreSafeForATerminal) {
  EXPECT_EQ(printable("w\x1b[2J\n\t\x7f"), "w\\x1b[2J\\x0a\\x09\\x7f");
  EXPECT_EQ(printable("\xc3\xa9 \xe2\x82\xac"), "\xc3\xa9 \xe2\x82\xac");
  EXPECT_EQ(printable("\xc2\x9b \xff"), "\\xc2\\x9b \\xff");
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae"); // right to left
  EXPECT_EQ(printable("\xe2\x81\xa6"), "\\xe2\\x81\\xa6");
  EXPECT_EQ(printableLines("a\n\tb\x1b"), "a\n\tb\\x1b");
  EXPECT_EQ(quote("a\r"), "'a\\x0d'");
}

} // namespace
