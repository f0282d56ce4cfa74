// SPDX-License-Identifier: Apache-2.0

// The options come first; then torchrun, which may run under the others; then
// mpirun, which may run under SLURM.

#include "core/job_place.h"

#include <cerrno>
#include <cstdlib>

namespace weft::rt {
namespace {

constexpr int64_t mostProcesses = 1 << 16, mostPort = 65535;
/// Where the first process listens if only the scheduler's number of the job
/// says where: below the ports that systems give away.
constexpr int64_t firstPort = 29'600, portRange = 3'000;

/// A variable's text; "" if it is not set.
std::string variable(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

/// How one launcher says it.
struct Launcher {
  const char *process, *count, *local;
};
constexpr Launcher torchrun = {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
                   openMpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                              "OMPI_COMM_WORLD_LOCAL_RANK"},
                   slurm = {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"};

Status parseNumber(const std::string &what, const std::string &text,
                   int64_t least, int64_t most, int64_t &value) {
  char *end;
  errno = 0;
  value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || errno || value < least || value > most)
    return invalid(format("%s is %s, expected a number from %lld to %lld",
                          what.c_str(), quote(text).c_str(), (long long)least,
                          (long long)most));
  return Status();
}

/// Reads a variable, which is `otherwise` if it is not set.
Status readNumber(const char *name, int64_t least, int64_t most,
                  int64_t otherwise, int64_t &value) {
  std::string text = variable(name);
  value = otherwise;
  return text.empty() ? Status()
                      : parseNumber(std::string(name) + " in the environment",
                                    text, least, most, value);
}

Status readLauncher(const Launcher &launcher, JobPlace &place) {
  WEFT_RT_RETURN_IF_ERROR(
      readNumber(launcher.count, 1, mostProcesses, 1, place.count));
  if (variable(launcher.process).empty() && place.count > 1)
    return invalid(format("%s is %lld in the environment, and %s is not set: "
                          "set it, or say --processes 1",
                          launcher.count, (long long)place.count,
                          launcher.process));
  WEFT_RT_RETURN_IF_ERROR(
      readNumber(launcher.process, 0, place.count - 1, 0, place.process));
  return readNumber(launcher.local, 0, place.count - 1, -1, place.local);
}

/// A script that SLURM runs on its own, without srun, is no process of a job.
bool isStepOfSlurm() {
  return !variable(slurm.count).empty() && (variable("SLURM_JOB_ID").empty() ||
                                            !variable("SLURM_STEP_ID").empty());
}

/// A port that jobs on one machine do not share, but for bad luck.
int64_t portOf(const std::string &job) {
  uint64_t hash = 1469598103934665603u;
  for (unsigned char letter : job)
    hash = (hash ^ letter) * 1099511628211u;
  return firstPort + int64_t(hash % uint64_t(portRange));
}

/// The first of "node[07-12,20],other": node07.
std::string firstNode(const std::string &list) {
  size_t end = list.find_first_of("[,");
  std::string name = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',')
    return name;
  size_t stop = list.find_first_of("-,]", end);
  return stop == std::string::npos
             ? ""
             : name + list.substr(end + 1, stop - end - 1);
}

void addressOfOpenMpi(JobPlace &place) {
  if (variable("OMPI_COMM_WORLD_LOCAL_SIZE") != variable(openMpi.count))
    return;
  std::string job = variable("OMPI_MCA_ess_base_jobid");
  place.host = "127.0.0.1";
  place.port = portOf(job.empty() ? variable("PMIX_NAMESPACE") : job);
}

void addressOfSlurm(JobPlace &place) {
  std::string nodes = variable("SLURM_STEP_NODELIST");
  nodes = nodes.empty() ? variable("SLURM_NODELIST") : nodes;
  std::string count = variable("SLURM_STEP_NUM_NODES");
  count = count.empty() ? variable("SLURM_NNODES") : count;
  place.host = count == "1" ? "127.0.0.1" : firstNode(nodes);
  if (!place.host.empty())
    place.port =
        portOf(variable("SLURM_JOB_ID") + "." + variable("SLURM_STEP_ID"));
}

/// MASTER_ADDR and MASTER_PORT. Where torchrun's agent listens there itself,
/// the next port is taken.
Status addressOfMaster(JobPlace &place) {
  std::string host = variable("MASTER_ADDR");
  if (host.empty())
    return Status();
  int64_t port = 0;
  bool isTaken = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  WEFT_RT_RETURN_IF_ERROR(
      readNumber("MASTER_PORT", 1, mostPort - isTaken, 0, port));
  if (port == 0)
    return invalid("MASTER_ADDR is " + quote(host) +
                   " in the environment, and MASTER_PORT is not set");
  place.host = host;
  place.port = port + isTaken;
  return Status();
}

Status findAddress(const JobRequest &request, JobPlace &place) {
  if (!request.rendezvous.empty())
    return parseAddress("--rendezvous", request.rendezvous, place.host,
                        place.port);
  WEFT_RT_RETURN_IF_ERROR(addressOfMaster(place));
  if (!place.host.empty())
    return Status();
  if (request.count == 0 && !variable(openMpi.count).empty())
    addressOfOpenMpi(place);
  else if (request.count == 0 && isStepOfSlurm())
    addressOfSlurm(place);
  if (place.host.empty())
    return invalid(format(
        "this is process %lld of %lld, and nothing says where process 0 is: "
        "set MASTER_ADDR and MASTER_PORT, or say --rendezvous HOST:PORT",
        (long long)place.process, (long long)place.count));
  return Status();
}

Status checkRequest(const JobRequest &request) {
  if (request.count < 0 || request.count > mostProcesses)
    return invalid(format("the job has %lld processes, expected at most %lld",
                          (long long)request.count, (long long)mostProcesses));
  int64_t count = request.count ? request.count : 1;
  if (request.process < 0 || request.process >= count)
    return invalid(format("this is process %lld of %lld",
                          (long long)request.process, (long long)count));
  if (request.local < -1 || request.local >= count)
    return invalid(format("this is process %lld of its machine, and the job "
                          "has %lld",
                          (long long)request.local, (long long)count));
  return Status();
}

} // namespace

Status parseAddress(const std::string &what, const std::string &text,
                    std::string &host, int64_t &port) {
  size_t colon = text.rfind(':');
  host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string::npos)
    host.clear();
  if (colon == std::string::npos || host.empty())
    return invalid(what +
                   " takes a host and a port, as in 10.0.0.1:29600, "
                   "not " +
                   quote(text));
  return parseNumber("the port of " + what, text.substr(colon + 1), 1, mostPort,
                     port);
}

Result<JobPlace> placeInJob(const JobRequest &request) {
  WEFT_RT_RETURN_IF_ERROR(checkRequest(request));
  JobPlace place;
  if (request.count > 0) {
    place.count = request.count;
    place.process = request.process;
    place.local = request.local;
  } else if (!variable(torchrun.count).empty()) {
    WEFT_RT_RETURN_IF_ERROR(readLauncher(torchrun, place));
  } else if (!variable(openMpi.count).empty()) {
    WEFT_RT_RETURN_IF_ERROR(readLauncher(openMpi, place));
  } else if (isStepOfSlurm()) {
    WEFT_RT_RETURN_IF_ERROR(readLauncher(slurm, place));
  }
  if (place.count > 1)
    WEFT_RT_RETURN_IF_ERROR(findAddress(request, place));
  return place;
}

} // namespace weft::rt
