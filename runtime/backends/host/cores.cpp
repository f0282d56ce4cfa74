// SPDX-License-Identifier: Apache-2.0

// Quotas are read where containers see their own group: version 2 has one file
// for quota and period, version 1 has two.

#include "backends/host/cores.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace weft::rt {
namespace {

/// The file's first line, or "" if there is none.
std::string firstLine(const char *path) {
  FILE *file = std::fopen(path, "r");
  if (!file)
    return "";
  char line[128] = "";
  if (!std::fgets(line, sizeof(line), file))
    line[0] = 0;
  std::fclose(file);
  return line;
}

std::string readQuota() {
  std::string text = firstLine("/sys/fs/cgroup/cpu.max");
  if (!text.empty())
    return text;
  return firstLine("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") + " " +
         firstLine("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
}

int findCoreCount() {
  int cores = std::max(1, int(std::thread::hardware_concurrency()));
  int granted = coresOfQuota(readQuota());
  return granted > 0 ? std::min(cores, granted) : cores;
}

} // namespace

int coresOfQuota(const std::string &text) {
  char *end;
  long long quota = std::strtoll(text.c_str(), &end, 10);
  long long period = std::strtoll(end, nullptr, 10);
  if (quota <= 0 || period <= 0)
    return 0;
  return int(std::min(quota / period + (quota % period != 0), 1LL << 20));
}

int coreCount() {
  static const int count = findCoreCount();
  return count;
}

} // namespace weft::rt
