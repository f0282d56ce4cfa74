// SPDX-License-Identifier: Apache-2.0

// Runs a fuzz target without libFuzzer: files from a corpus of safetensors
// headers, mutated by a generator with a fixed seed, so that a failure repeats.
//
//   driver CORPUS ITERATIONS [SEED]
//
// A corpus file is the text of a header for 64 bytes of data.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace {

using Random = std::mt19937_64;

/// Puts the header's length before it and data after it.
std::string makeImage(const std::string &header, uint64_t claimedLength,
                      size_t dataBytes) {
  std::string image;
  for (int i = 0; i < 8; ++i)
    image += static_cast<char>(claimedLength >> (8 * i));
  return image + header + std::string(dataBytes, '\0');
}

const char *const tokens[] = {"{",
                              "}",
                              "[",
                              "]",
                              "\"",
                              ",",
                              ":",
                              "\\u",
                              "\\",
                              "\xff",
                              "0",
                              "1",
                              "-1",
                              "1e9",
                              "64",
                              "65",
                              "dtype",
                              "F32",
                              "BF16",
                              "F4",
                              "__metadata__",
                              "shape",
                              "\n",
                              "\xed\xa0\x80",
                              "\\ud800",
                              "9223372036854775807",
                              "18446744073709551616"};

void mutateOnce(std::string &text, const std::string &other, Random &random) {
  size_t at = random() % (text.size() + 1);
  size_t length = std::min<size_t>(random() % 9, text.size() - at);
  switch (random() % 6) {
  case 0: // flip a bit
    if (at < text.size())
      text[at] ^= char(1 << random() % 8);
    break;
  case 1:
    text.erase(at, length);
    break;
  case 2:
    text.insert(at, text.substr(at, length));
    break;
  case 3:
    text.insert(at, tokens[random() % std::size(tokens)]);
    break;
  case 4:
    text.replace(at, length, tokens[random() % std::size(tokens)]);
    break;
  case 5: // go on with a piece of another file
    text.replace(at, std::string::npos, other.substr(random() % other.size()));
    break;
  }
}

/// Mostly the true length and size, sometimes a lie.
std::string wrap(const std::string &header, Random &random) {
  uint64_t claimed = header.size();
  size_t dataBytes = 64;
  if (random() % 8 == 0)
    claimed = random() >> (random() % 64);
  if (random() % 8 == 0)
    dataBytes = random() % 80;
  return makeImage(header, claimed, dataBytes);
}

std::vector<std::string> readCorpus(const char *folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const auto &path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file),
                        std::istreambuf_iterator<char>());
  }
  return corpus;
}

void feed(const std::string &image) {
  // A buffer of just this size, so that a sanitizer sees a read past its end.
  std::vector<uint8_t> bytes(image.begin(), image.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s CORPUS ITERATIONS [SEED]\n", argv[0]);
    return 2;
  }
  std::vector<std::string> corpus = readCorpus(argv[1]);
  long iterations = std::atol(argv[2]);
  Random random(argc > 3 ? std::atol(argv[3]) : 1);
  for (const std::string &header : corpus)
    feed(makeImage(header, header.size(), 64));
  for (long i = 0; i < iterations; ++i) {
    std::string header = corpus[random() % corpus.size()];
    for (uint64_t n = random() % 4 + 1; n > 0; --n)
      mutateOnce(header, corpus[random() % corpus.size()], random);
    feed(wrap(header, random));
  }
  std::printf("%zu files and %ld mutations\n", corpus.size(), iterations);
  return 0;
}
