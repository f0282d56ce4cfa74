// SPDX-License-Identifier: Apache-2.0

// Which process of a job this one is, and where the first one is met: as the
// options say it, or the environment that torchrun, Open MPI's mpirun and
// SLURM's srun give to processes that they start.

#ifndef WEFT_RT_CORE_JOB_PLACE_H
#define WEFT_RT_CORE_JOB_PLACE_H

#include "core/status.h"

namespace weft::rt {

/// A process of a job.
struct JobPlace {
  int64_t process = 0, count = 1;
  int64_t local = -1; // among those on its machine; -1: nobody says
  std::string host;   // where process 0 listens
  int64_t port = 0;
};

/// What the caller insists on.
struct JobRequest {
  int64_t count = 0; // 0: what the environment says
  int64_t process = 0;
  int64_t local = -1;
  std::string rendezvous; // HOST:PORT, or ""
};

/// This process' place. Fails if what is said is half of it, or makes no sense.
Result<JobPlace> placeInJob(const JobRequest &request);

/// Reads HOST:PORT, [::1]:PORT for an address of IPv6. `what` begins the
/// message of a failure.
Status parseAddress(const std::string &what, const std::string &text,
                    std::string &host, int64_t &port);

} // namespace weft::rt

#endif // WEFT_RT_CORE_JOB_PLACE_H
