// SPDX-License-Identifier: Apache-2.0

// A process' place in a job, what processes say to each other as bytes, and
// jobs whose processes are threads of this one.

#include "core/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <netinet/in.h>
#include <random>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace weft::rt;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

// ---- places ----------------------------------------------------------------

using Variables = std::map<std::string, std::string>;

/// Variables that are set for a while, and no others that matter.
class Environment {
public:
  explicit Environment(const Variables &given) {
    for (const char *name : {"RANK",
                             "WORLD_SIZE",
                             "LOCAL_RANK",
                             "MASTER_ADDR",
                             "MASTER_PORT",
                             "TORCHELASTIC_USE_AGENT_STORE",
                             "OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK",
                             "OMPI_COMM_WORLD_LOCAL_SIZE",
                             "OMPI_MCA_ess_base_jobid",
                             "PMIX_NAMESPACE",
                             "SLURM_PROCID",
                             "SLURM_NTASKS",
                             "SLURM_LOCALID",
                             "SLURM_JOB_ID",
                             "SLURM_STEP_ID",
                             "SLURM_NNODES",
                             "SLURM_NODELIST",
                             "SLURM_STEP_NODELIST",
                             "SLURM_STEP_NUM_NODES"})
      unsetenv(name);
    for (const auto &[name, value] : given)
      setenv(name.c_str(), value.c_str(), 1);
    names = given;
  }
  ~Environment() {
    for (const auto &[name, value] : names)
      unsetenv(name.c_str());
  }

private:
  Variables names;
};

std::string placeText(const Variables &variables,
                      const JobRequest &request = {}) {
  Environment environment(variables);
  Result<JobPlace> place = placeInJob(request);
  if (!place.ok())
    return place.status().message();
  return format("%lld of %lld, %lld here, %s:%lld", (long long)place->process,
                (long long)place->count, (long long)place->local,
                place->host.c_str(), (long long)place->port);
}

TEST(JobPlace, IsAloneIfNobodySaysMore) {
  EXPECT_EQ(placeText({}), "0 of 1, -1 here, :0");
  EXPECT_EQ(placeText({{"RANK", "3"}}), "0 of 1, -1 here, :0");
  EXPECT_EQ(placeText({{"RANK", "0"}, {"WORLD_SIZE", "1"}}),
            "0 of 1, -1 here, :0");
  // A script that sbatch runs, without srun.
  EXPECT_EQ(placeText({{"SLURM_JOB_ID", "7"},
                       {"SLURM_NTASKS", "8"},
                       {"SLURM_PROCID", "0"}}),
            "0 of 1, -1 here, :0");
}

TEST(JobPlace, IsWhatTorchrunSays) {
  Variables given = {
      {"RANK", "5"},         {"WORLD_SIZE", "16"},     {"LOCAL_RANK", "1"},
      {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}, {"SLURM_NTASKS", "2"}};
  EXPECT_EQ(placeText(given), "5 of 16, 1 here, n1:29500");
  // Its agent listens there.
  given["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(placeText(given), "5 of 16, 1 here, n1:29501");
}

TEST(JobPlace, IsWhatMpirunSays) {
  Variables given = {{"OMPI_COMM_WORLD_RANK", "3"},
                     {"OMPI_COMM_WORLD_SIZE", "4"},
                     {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                     {"SLURM_NTASKS", "2"}};
  EXPECT_THAT(placeText(given), HasSubstr("3 of 4, 3 here, 127.0.0.1:"));
  given["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  EXPECT_EQ(placeText(given),
            "this is process 3 of 4, and nothing says where process 0 is: set "
            "MASTER_ADDR and MASTER_PORT, or say --rendezvous HOST:PORT");
  given["MASTER_ADDR"] = "n1";
  given["MASTER_PORT"] = "1";
  EXPECT_EQ(placeText(given), "3 of 4, 3 here, n1:1");
}

TEST(JobPlace, IsWhatSrunSays) {
  Variables given = {{"SLURM_PROCID", "3"},   {"SLURM_NTASKS", "4"},
                     {"SLURM_LOCALID", "1"},  {"SLURM_JOB_ID", "12"},
                     {"SLURM_STEP_ID", "0"},  {"SLURM_NNODES", "2"},
                     {"SLURM_NODELIST", "n1"}};
  for (auto [list, host] :
       {std::pair("gpu[07-12,20],x1", "gpu07"), std::pair("a,b", "a"),
        std::pair("n[3]", "n3"), std::pair("one", "one")}) {
    given["SLURM_STEP_NODELIST"] = list;
    EXPECT_THAT(placeText(given),
                HasSubstr(std::string("3 of 4, 1 here, ") + host + ":"));
  }
  given["SLURM_STEP_NUM_NODES"] = "1";
  EXPECT_THAT(placeText(given), HasSubstr("127.0.0.1:"));
  given["SLURM_STEP_NUM_NODES"] = "2";
  given["SLURM_STEP_NODELIST"] = "n[";
  EXPECT_THAT(placeText(given), HasSubstr("nothing says where process 0 is"));
}

TEST(JobPlace, IsFirstOfAllWhatTheCallerSays) {
  Variables given = {{"RANK", "5"}, {"WORLD_SIZE", "16"}};
  EXPECT_EQ(placeText(given, {1, 0, -1, ""}), "0 of 1, -1 here, :0");
  EXPECT_EQ(placeText(given, {4, 2, 0, "[::1]:17"}), "2 of 4, 0 here, ::1:17");
  EXPECT_EQ(placeText(given, {0, 0, -1, "h:2"}), "5 of 16, -1 here, h:2");
  EXPECT_EQ(placeText({}, {2, 2, -1, "h:2"}), "this is process 2 of 2");
  EXPECT_EQ(placeText({}, {2, 1, 2, "h:2"}),
            "this is process 2 of its machine, and the job has 2");
  EXPECT_EQ(placeText({}, {-1, 0, -1, ""}),
            "the job has -1 processes, expected at most 65536");
  EXPECT_EQ(placeText({}, {2, 1, 1, "h"}),
            "--rendezvous takes a host and a port, as in 10.0.0.1:29600, not "
            "'h'");
  EXPECT_EQ(placeText({}, {2, 1, 1, "h:0"}),
            "the port of --rendezvous is '0', expected a number from 1 to "
            "65535");
}

// ---- bytes -----------------------------------------------------------------

TEST(Wire, FramesComeAsTheyWent) {
  std::string bytes =
      frameOf(FrameKind::Blob, "abc") + frameOf(FrameKind::Leave, "");
  std::string arrived;
  std::vector<std::string> found;
  bool isBad = false;
  for (char byte : bytes) {
    arrived += byte;
    if (std::optional<Frame> frame = takeFrame(arrived, 3, isBad))
      found.push_back(frame->content);
    EXPECT_FALSE(isBad);
  }
  EXPECT_THAT(found, ElementsAre("abc", ""));
  EXPECT_EQ(arrived, "");
}

TEST(Wire, BytesThatAreNoFramesAreBad) {
  for (std::string bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), frameOf(FrameKind::Blob, "abcd"),
        frameHead(FrameKind::Blob, UINT64_MAX), frameHead(FrameKind(0), 0),
        frameHead(FrameKind(8), 0), frameHead(FrameKind::Data, 1)}) {
    bool isBad = false;
    EXPECT_FALSE(takeFrame(bytes, 3, isBad));
    EXPECT_TRUE(isBad);
  }
}

TEST(Wire, WhatIsNotThereIsNotRead) {
  WireWriter writer;
  writer.number(-7);
  writer.text("abc");
  const std::string whole = writer.bytes();
  for (size_t length = 0; length <= whole.size(); ++length) {
    std::string part = whole.substr(0, length);
    WireReader reader(part);
    int64_t number = reader.number();
    std::string text = reader.text();
    EXPECT_EQ(reader.isWhole(), length == whole.size());
    EXPECT_EQ(number, length >= 8 ? -7 : 0);
    EXPECT_EQ(text, length == whole.size() ? "abc" : "");
  }
  for (int64_t length : {int64_t(-1), INT64_MAX, INT64_MIN, int64_t(4)}) {
    WireWriter wrong;
    wrong.number(length);
    WireReader reader(wrong.bytes());
    EXPECT_EQ(reader.text(), "");
    EXPECT_FALSE(reader.isValid());
  }
}

// ---- jobs ------------------------------------------------------------------

int64_t freePort() {
  Descriptor listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto *plain = reinterpret_cast<sockaddr *>(&address);
  EXPECT_EQ(bind(listener.get(), plain, size), 0);
  getsockname(listener.get(), plain, &size);
  return ntohs(address.sin_port);
}

/// Runs processes as threads; each gets its job, or why there is none.
void together(int64_t count,
              const std::function<void(int64_t, JobMember *, Status)> &work) {
  const int64_t port = freePort();
  std::vector<std::thread> threads;
  for (int64_t process = 0; process < count; ++process)
    threads.emplace_back([=, &work] {
      Result<std::unique_ptr<JobMember>> job =
          JobMember::join({process, count, process, "127.0.0.1", port}, 1, 10);
      work(process, job.ok() ? job->get() : nullptr, job.status());
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(JobMember, ExchangesInOrder) {
  together(4, [](int64_t process, JobMember *job, const Status &status) {
    ASSERT_TRUE(job) << status.message();
    for (int round = 0; round < 20; ++round) {
      std::string tail = "." + std::to_string(round);
      auto all = job->exchange(std::to_string(process) + tail);
      ASSERT_TRUE(all.ok()) << all.status().message();
      EXPECT_THAT(*all,
                  ElementsAre("0" + tail, "1" + tail, "2" + tail, "3" + tail));
    }
  });
}

TEST(JobMember, HandsBytesOver) {
  static constexpr int64_t bytes = 40'000'000;
  together(3, [](int64_t process, JobMember *job, const Status &) {
    std::vector<char> data(static_cast<size_t>(bytes), char(process));
    ASSERT_TRUE(job->exchange("").ok());
    for (int64_t other = 1; other < 3 && process == 0; ++other) {
      ASSERT_TRUE(job->receive(other, data.data(), bytes).ok());
      EXPECT_EQ(data.front(), char(other));
      EXPECT_EQ(data.back(), char(other));
    }
    if (process != 0) {
      ASSERT_TRUE(job->send(0, data.data(), bytes).ok());
    }
    EXPECT_TRUE(job->exchange("").ok());
  });
}

TEST(JobMember, OtherSizesThanExpectedAreAFailure) {
  together(2, [](int64_t process, JobMember *job, const Status &) {
    char data[8] = "";
    ASSERT_TRUE(job->exchange("").ok());
    Status status =
        process == 0 ? job->receive(1, data, 8) : job->send(0, data, 7);
    if (process == 0) {
      EXPECT_EQ(status.message(), "what comes from rank 1: not the 8 bytes "
                                  "that were expected");
    }
    EXPECT_FALSE(job->exchange("").ok());
  });
}

TEST(JobMember, TheFirstFailureIsEverybodys) {
  together(3, [](int64_t process, JobMember *job, const Status &) {
    (void)job->exchange(""); // others may have seen the failure by then
    if (process == 2)
      job->fail(Status(WEFT_RT_NO_MEMORY, "rank 2 is full"));
    auto all = job->exchange("");
    EXPECT_EQ(all.status().code(), WEFT_RT_NO_MEMORY);
    EXPECT_EQ(all.status().message(), "rank 2 is full");
  });
}

TEST(JobMember, WhoLeavesIsMissedOnlyLater) {
  together(2, [](int64_t process, JobMember *job, const Status &) {
    ASSERT_TRUE(job->exchange("").ok());
    EXPECT_TRUE(job->beginStep().ok());
    if (process == 1)
      return;
    EXPECT_EQ(job->exchange("").status().message(), "rank 1 has left the job");
  });
  together(2, [](int64_t process, JobMember *job, const Status &) {
    ASSERT_TRUE(job->exchange("").ok());
    EXPECT_TRUE(job->beginStep().ok());
    while (process == 0 && job->beginStep().ok())
      usleep(1000);
    if (process == 0) {
      EXPECT_THAT(job->failure().message(),
                  HasSubstr("rank 1 has left the job after 1 steps"));
    }
  });
}

TEST(JobMember, TwoWithOneNumberAreAFailure) {
  int64_t port = freePort();
  std::vector<std::thread> threads;
  for (int64_t process : {0, 1, 1})
    threads.emplace_back([process, port] {
      Result<std::unique_ptr<JobMember>> job =
          JobMember::join({process, 3, process, "127.0.0.1", port}, 1, 10);
      Status status = job.ok() ? (*job)->exchange("").status() : job.status();
      EXPECT_EQ(status.code(), WEFT_RT_INVALID);
      EXPECT_THAT(status.message(),
                  HasSubstr("two processes say that they are process 1 of 3"));
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Whatever strangers send, before and after a job is whole, the job goes on.
TEST(JobMember, StrangersDoNotMatter) {
  int64_t port = freePort();
  std::mt19937 random(7);
  std::vector<Descriptor> strangers;
  std::unique_ptr<JobMember> first;
  {
    Result<std::unique_ptr<JobMember>> job =
        JobMember::join({0, 2, 0, "127.0.0.1", port}, 1, 20);
    ASSERT_TRUE(job.ok()) << job.status().message();
    first = std::move(*job);
  }
  for (int i = 0; i < 200; ++i) {
    Result<Descriptor> one =
        connectTo("127.0.0.1", port, monotonicNow() + 5'000'000'000);
    ASSERT_TRUE(one.ok());
    std::string bytes(random() % 200, 0);
    for (char &byte : bytes)
      byte = char(random());
    if (i % 3 == 0) // frames whose content makes no sense
      bytes = frameOf(FrameKind(1 + random() % 6), bytes.substr(0, 40));
    (void)!::send(one->get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (i % 2 == 0)
      strangers.push_back(std::move(*one));
  }
  std::thread other([port] {
    Result<std::unique_ptr<JobMember>> job =
        JobMember::join({1, 2, 1, "127.0.0.1", port}, 1, 20);
    ASSERT_TRUE(job.ok()) << job.status().message();
    EXPECT_TRUE((*job)->exchange("b").ok());
  });
  auto all = first->exchange("a");
  other.join();
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_THAT(*all, ElementsAre("a", "b"));
}

/// One of a process's two connections, with its hello.
Descriptor helloOf(int64_t process, int64_t count, int64_t isData,
                   int64_t port) {
  Descriptor socket =
      std::move(*connectTo("127.0.0.1", port, monotonicNow() + 5'000'000'000));
  WireWriter hello;
  for (int64_t number : {int64_t(1), process, count, isData})
    hello.number(number);
  std::string frame = frameOf(FrameKind::Hello, hello.bytes());
  (void)!::send(socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
  return socket;
}

/// Reads that many bytes, or to the end of the connection.
void awaitBytes(const Descriptor &socket, size_t bytes) {
  char byte;
  while (bytes > 0) {
    ssize_t got = recv(socket.get(), &byte, 1, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN))
      return;
    if (got > 0)
      --bytes;
    else
      usleep(1000);
  }
}

/// A process that has said something is there only with both connections.
TEST(JobMember, TheConnectionForTensorsMayComeLast) {
  int64_t port = freePort();
  auto job = JobMember::join({0, 2, 0, "127.0.0.1", port}, 1, 10);
  ASSERT_TRUE(job.ok()) << job.status().message();
  std::thread other([port] {
    Descriptor control = helloOf(1, 2, 0, port);
    std::string blob = frameOf(FrameKind::Blob, "b");
    (void)!::send(control.get(), blob.data(), blob.size(), MSG_NOSIGNAL);
    usleep(50'000);
    Descriptor tensors = helloOf(1, 2, 1, port);
    awaitBytes(control, frameHeadBytes + 1); // the welcome, then the answer
    std::string data = frameOf(FrameKind::Data, "x");
    (void)!::send(tensors.get(), data.data(), data.size(), MSG_NOSIGNAL);
    awaitBytes(control, SIZE_MAX);
  });
  EXPECT_TRUE((*job)->exchange("a").ok());
  char byte = 0;
  Status received = (*job)->receive(1, &byte, 1);
  EXPECT_TRUE(received.ok()) << received.message();
  EXPECT_EQ(byte, 'x');
  job->reset();
  other.join();
}

/// Who has one connection, and finds nobody for the other, hears why.
TEST(JobMember, AFailureBetweenTheConnectionsIsHeard) {
  int64_t port = freePort();
  std::thread first([port] {
    Descriptor listener = std::move(*listenAt("127.0.0.1", port));
    Descriptor control;
    while (!(control = acceptFrom(listener)))
      usleep(1000);
    listener.close();
    WireWriter failure;
    failure.number(WEFT_RT_NO_MEMORY);
    failure.text("rank 2 is full");
    std::string bytes = frameOf(FrameKind::Hello, "") +
                        frameOf(FrameKind::Failure, failure.bytes());
    (void)!::send(control.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    awaitBytes(control, SIZE_MAX);
  });
  auto job = JobMember::join({1, 3, 1, "127.0.0.1", port}, 1, 3600);
  first.join();
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.status().code(), WEFT_RT_NO_MEMORY);
  EXPECT_THAT(job.status().message(), HasSubstr("rank 2 is full"));
}

/// Sends a hello as process 1 of 2 would, and then these bytes.
std::string afterHello(const std::string &bytes) {
  int64_t port = freePort();
  Result<std::unique_ptr<JobMember>> job =
      JobMember::join({0, 2, 0, "127.0.0.1", port}, 1, 10);
  EXPECT_TRUE(job.ok());
  std::vector<Descriptor> sockets;
  for (int64_t isData : {0, 1})
    sockets.push_back(helloOf(1, 2, isData, port));
  (void)!::send(sockets[0].get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return (*job)->exchange("").status().message();
}

TEST(JobMember, AMembersBytesThatMakeNoSenseEndTheJob) {
  const std::string nonsense = "rank 1 sends what makes no sense";
  EXPECT_EQ(afterHello("something else, that is no frame"), nonsense);
  EXPECT_EQ(afterHello(frameHead(FrameKind::Blob, uint64_t(1) << 60)),
            nonsense);
  EXPECT_EQ(afterHello(frameOf(FrameKind::Blobs, "")), nonsense);
  EXPECT_EQ(afterHello(frameOf(FrameKind::Hello, "")), nonsense);
  EXPECT_EQ(afterHello(frameOf(FrameKind::Leave, "x")), nonsense);
  WireWriter failure;
  failure.number(99);
  failure.text("a code that there is not");
  EXPECT_EQ(afterHello(frameOf(FrameKind::Failure, failure.bytes())),
            "what another process sends makes no sense");
}

} // namespace
