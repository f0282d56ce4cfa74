// SPDX-License-Identifier: Apache-2.0

// A feature is a bit of CPUID, and for those with registers of their own what
// the operating system says that it saves (XCR0).

#include "core/processor.h"

#include <algorithm>
#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weft::rt {
namespace {

std::vector<std::string> splitList(const std::string &text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin)
      parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

#if defined(__x86_64__)

enum Register { EAX, EBX, ECX, EDX };

/// The registers that the system must save: bits of XCR0.
enum State : uint32_t { None = 0, Avx = 0x6, Avx512 = 0xe6, Apx = 0x80000 };

struct Feature {
  const char *name;
  uint32_t leaf, subleaf;
  Register where;
  int bit;
  State state;
};

constexpr uint32_t extended = 0x80000001;

constexpr Feature features[] = {
    {"sse3", 1, 0, ECX, 0, None},
    {"pclmul", 1, 0, ECX, 1, None},
    {"ssse3", 1, 0, ECX, 9, None},
    {"fma", 1, 0, ECX, 12, Avx},
    {"cx16", 1, 0, ECX, 13, None},
    {"sse4.1", 1, 0, ECX, 19, None},
    {"sse4.2", 1, 0, ECX, 20, None},
    {"movbe", 1, 0, ECX, 22, None},
    {"popcnt", 1, 0, ECX, 23, None},
    {"aes", 1, 0, ECX, 25, None},
    {"avx", 1, 0, ECX, 28, Avx},
    {"f16c", 1, 0, ECX, 29, Avx},
    {"bmi", 7, 0, EBX, 3, None},
    {"avx2", 7, 0, EBX, 5, Avx},
    {"bmi2", 7, 0, EBX, 8, None},
    {"avx512f", 7, 0, EBX, 16, Avx512},
    {"avx512dq", 7, 0, EBX, 17, Avx512},
    {"avx512ifma", 7, 0, EBX, 21, Avx512},
    {"avx512cd", 7, 0, EBX, 28, Avx512},
    {"sha", 7, 0, EBX, 29, None},
    {"avx512bw", 7, 0, EBX, 30, Avx512},
    {"avx512vl", 7, 0, EBX, 31, Avx512},
    {"avx512vbmi", 7, 0, ECX, 1, Avx512},
    {"avx512vbmi2", 7, 0, ECX, 6, Avx512},
    {"gfni", 7, 0, ECX, 8, None},
    {"vaes", 7, 0, ECX, 9, Avx},
    {"vpclmulqdq", 7, 0, ECX, 10, Avx},
    {"avx512vnni", 7, 0, ECX, 11, Avx512},
    {"avx512bitalg", 7, 0, ECX, 12, Avx512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, Avx512},
    {"avx512fp16", 7, 0, EDX, 23, Avx512},
    {"avxvnni", 7, 1, EAX, 4, Avx},
    {"avx512bf16", 7, 1, EAX, 5, Avx512},
    {"avxifma", 7, 1, EAX, 23, Avx},
    {"avxvnniint8", 7, 1, EDX, 4, Avx},
    {"avxneconvert", 7, 1, EDX, 5, Avx},
    {"avxvnniint16", 7, 1, EDX, 10, Avx},
    {"egpr", 7, 1, EDX, 21, Apx},
    {"sahf", extended, 0, ECX, 0, None},
    {"lzcnt", extended, 0, ECX, 5, None},
    {"sse4a", extended, 0, ECX, 6, None},
    {"xop", extended, 0, ECX, 11, Avx},
    {"fma4", extended, 0, ECX, 16, Avx},
    {"tbm", extended, 0, ECX, 21, None},
};

uint32_t readCpuid(uint32_t leaf, uint32_t subleaf, Register where) {
  uint32_t values[4] = {};
  if (!__get_cpuid_count(leaf, subleaf, &values[0], &values[1], &values[2],
                         &values[3]))
    return 0;
  return values[where];
}

/// What the system saves of the registers, or nothing if it does not say.
uint32_t savedStates() {
  constexpr uint32_t saysWhat = 1u << 27; // OSXSAVE
  if (!(readCpuid(1, 0, ECX) & saysWhat))
    return 0;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool hasFeature(const std::string &name) {
  for (const Feature &feature : features)
    if (name == feature.name)
      return (readCpuid(feature.leaf, feature.subleaf, feature.where) >>
                  feature.bit &
              1) &&
             (savedStates() & feature.state) == feature.state;
  return false;
}

#else

/// Where nothing can be asked, the file's architecture is all that is checked.
bool hasFeature(const std::string &) { return true; }

#endif

} // namespace

std::vector<std::string> missingFeatures(const std::string &list) {
  const char *without = std::getenv("WEFT_WITHOUT_CPU_FEATURES");
  std::vector<std::string> hidden = splitList(without ? without : ""), missing;
  for (const std::string &name : splitList(list))
    if (!hasFeature(name) ||
        std::find(hidden.begin(), hidden.end(), name) != hidden.end())
      missing.push_back(name);
  return missing;
}

Status checkProcessor(const weft_rt_program &program) {
  if (!program.features)
    return Status();
  std::string list;
  for (const std::string &name : missingFeatures(program.features))
    list += (list.empty() ? "" : ", ") + quote(name);
  if (list.empty())
    return Status();
  return Status(WEFT_RT_INCOMPATIBLE,
                format("program %s is compiled for the processor %s; this "
                       "machine's lacks %s: compile it with --cpu for this "
                       "machine",
                       quote(program.name).c_str(),
                       quote(program.cpu ? program.cpu : "").c_str(),
                       list.c_str()));
}

} // namespace weft::rt
