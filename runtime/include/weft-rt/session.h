/* SPDX-License-Identifier: Apache-2.0 */

/* The runtime for an embedder: load a compiled step, give it arguments, run it
 * again and again, take its results. C11, versioned; used by weft-run, by the
 * executables that weft-compile writes, and by the Python bindings.
 *
 *   weft_rt_options options = WEFT_RT_OPTIONS_INIT;
 *   weft_rt_session *session;
 *   if (weft_rt_session_open("step.so", &options, &session) != WEFT_RT_OK)
 *     die(weft_rt_last_error());
 *   for (i ...) weft_rt_session_set_argument(session, i, data[i], bytes[i]);
 *   weft_rt_session_run(session, 3, NULL);
 *   weft_rt_session_get_result(session, 0, loss, sizeof(float));
 *   weft_rt_session_close(session);
 *
 * Ownership. The session owns all memory of the ranks: arguments, results and
 * arenas, allocated once when it is created. Buffers that the caller passes
 * are read or written during the call only. An argument keeps its value from
 * step to step; a donated argument takes the value of the result that aliases
 * it. Strings and tables that a session returns live as long as the session.
 *
 * Threads. A session is used by one thread at a time. Different sessions are
 * independent.
 *
 * Ranks. A backend may run only some of a program's ranks in this process, the
 * session's ranks (weft_rt_session_ranks), or none; `cuda` does in a job of
 * several processes, the others of this build run all. Arguments and results
 * are dense tensors of the global shape all the same: an argument is given
 * whole, and the ranks get their shares of it; a result is refused unless these
 * ranks hold all parts of it, or a job gathers it (weft_rt_session_get_result).
 * Statistics, traffic, profile, trace, flight record and calls are those of the
 * session's ranks.
 *
 * Processes. The ranks are threads of the process that created the session. A
 * process that is forked from it has none of them: there every call that needs
 * a rank answers WEFT_RT_UNUSABLE, and closing the session frees nothing.
 *
 * Failure. Every function that may fail returns a status and leaves a message
 * for weft_rt_last_error of the same thread. After WEFT_RT_RANK_FAILED the
 * session's state is unspecified: it answers WEFT_RT_UNUSABLE from then on and
 * can only be inspected and closed. WEFT_RT_INTERRUPTED between two steps
 * changes nothing: the session goes on from the last whole step. In the middle
 * of a step it is a failure like the others; weft_rt_session_is_usable says
 * which of the two it was. */

#ifndef WEFT_RT_SESSION_H
#define WEFT_RT_SESSION_H

#include "weft-rt/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weft_rt_status {
  WEFT_RT_OK = 0,
  WEFT_RT_INVALID = 1,      /* the caller's input is wrong */
  WEFT_RT_IO = 2,           /* a file cannot be read or written */
  WEFT_RT_INCOMPATIBLE = 3, /* not a program, or one for another runtime */
  WEFT_RT_NO_MEMORY = 4,
  WEFT_RT_RANK_FAILED = 5, /* a rank failed, or did not come in time */
  WEFT_RT_UNUSABLE = 6,    /* the session failed before, or is of another
                              process */
  WEFT_RT_INTERRUPTED = 7  /* weft_rt_options.poll ended the run */
} weft_rt_status;

/* What a fault makes of a rank; for tests of failure handling. */
typedef enum weft_rt_fault_kind {
  WEFT_RT_FAULT_FAIL = 0,   /* the rank reports a failure */
  WEFT_RT_FAULT_VANISH = 1, /* the rank never comes, until others have failed */
  WEFT_RT_FAULT_DELAY = 2   /* the rank comes `milliseconds` late */
} weft_rt_fault_kind;

/* A fault that hits `rank` as it starts its collective number `collective`,
 * counted from 0 since the session was created. */
typedef struct weft_rt_fault {
  weft_rt_fault_kind kind;
  int64_t rank;
  int64_t collective;
  int64_t milliseconds;
} weft_rt_fault;

/* The model of the links along a mesh axis: a collective on a channel takes
 * latency + received bytes / bandwidth, of the slowest of the channel's axes,
 * from when all members have started it and the channel is free; nobody
 * computes for it. Axes without a model are as fast as the machine. */
typedef struct weft_rt_link {
  const char *axis;
  double latency_us;
  double gigabytes_per_second;
} weft_rt_link;

typedef struct weft_rt_options {
  uint32_t struct_size;    /* sizeof(weft_rt_options) */
  int32_t threads;         /* all ranks together; 0: one per core. A rank has at
                              least one. */
  int64_t ranks;           /* 0, or the number that the program must have */
  double deadline_seconds; /* for each rendezvous; 0: 60 */
  int64_t trace_events;    /* room for events per rank; 0: no trace */
  int32_t poison;          /* 1: what a program must not read holds NaN bits
                              (0xff): as a step begins arena, results, padding;
                              the outputs of a collective as it starts */
  int32_t num_faults;
  const weft_rt_fault *faults;
  int32_t profile; /* 1: keep a profile */
  int32_t num_links;
  const weft_rt_link *links;
  int32_t shared_link;     /* 1: a rank has one link for all its channels */
  uint64_t perturb_seed;   /* not 0: random delays around starts, waits, kernels
                              and moves; data is moved only when somebody waits
                              for it */
  int32_t (*poll)(void *); /* when not NULL: asked some 20 times a second, on
                              the thread that called, while steps run. What is
                              not 0 ends the run: after the step if that ends
                              soon, or else in the middle of it */
  void *poll_context;
  int32_t force_threads; /* 1: `threads` may be above 4 for each core */
  const char *backend; /* NULL: the one that the program is for; else this one,
                          which may refuse the program */
  int32_t catch_signals; /* 1: a signal that means a fault of compiled code
                            (SIGSEGV, SIGBUS, SIGFPE, SIGILL) fails its rank,
                            one that is sent ends the process; for tools, as
                            handlers are the whole process's */
  /* Since 2; a caller that knows only what is above says so by struct_size. */
  int64_t processes; /* that share the program's ranks, each as many; 0: what
                        the environment says, by torchrun, mpirun or srun, if
                        the backend can; 1: this one alone */
  int64_t process;   /* which of them this is, from 0 */
  int64_t local_process;  /* which on its machine; -1: not known */
  const char *rendezvous; /* HOST:PORT, where process 0 listens; NULL: what the
                             environment says */
  int32_t no_graphs;      /* 1: steps are enqueued call by call, also where the
                             backend could capture them */
  int32_t register_buffers; /* 1: the ranks' memory is registered with what
                               connects them, where that can be, before the
                               first step; else it has no effect */
} weft_rt_options;

#define WEFT_RT_OPTIONS_INIT                                                   \
  {sizeof(weft_rt_options),                                                    \
   0,                                                                          \
   0,                                                                          \
   0.0,                                                                        \
   0,                                                                          \
   0,                                                                          \
   0,                                                                          \
   NULL,                                                                       \
   0,                                                                          \
   0,                                                                          \
   NULL,                                                                       \
   0,                                                                          \
   0,                                                                          \
   NULL,                                                                       \
   NULL,                                                                       \
   0,                                                                          \
   NULL,                                                                       \
   0,                                                                          \
   0,                                                                          \
   0,                                                                          \
   -1,                                                                         \
   NULL,                                                                       \
   0,                                                                          \
   0}

typedef struct weft_rt_session weft_rt_session;

/* The message of this thread's last failure; "" before the first. Valid until
 * the thread's next failure. */
const char *weft_rt_last_error(void);

/* Loads a shared library with a backend, which runs its code, and makes the
 * backend known to sessions that are created after that. It must be made for
 * this version of the runtime, by the compiler that made the runtime. */
weft_rt_status weft_rt_load_backend(const char *path);

/* Loads a shared object and creates a session for its weft_program. */
weft_rt_status weft_rt_session_open(const char *path,
                                    const weft_rt_options *options,
                                    weft_rt_session **session);

/* Creates a session for programs in memory: one for all ranks (count = 1), or
 * one per rank. The tables must outlive the session. Ranks whose plan hashes
 * differ are refused. */
weft_rt_status weft_rt_session_create(const weft_rt_program *const *programs,
                                      int64_t count,
                                      const weft_rt_options *options,
                                      weft_rt_session **session);

/* Ends the ranks and frees all memory. NULL is allowed. */
void weft_rt_session_close(weft_rt_session *session);

/* The manifest (of rank 0, where ranks have different programs). */
const weft_rt_program *weft_rt_session_program(const weft_rt_session *session);

/* The ranks that run in this process, ascending. */
const int64_t *weft_rt_session_ranks(const weft_rt_session *session,
                                     int64_t *count);

/* The process that this session is in, and the number of the job's: 0 of 1
 * unless the ranks are in several processes. */
int64_t weft_rt_session_process(const weft_rt_session *session,
                                int64_t *processes);

/* The same before there is a session: the place that one with these options
 * would have, for a program for this backend. */
weft_rt_status weft_rt_find_process(const char *backend,
                                    const weft_rt_options *options,
                                    int64_t *process, int64_t *processes);

/* Index of the argument, or result, with this name; -1: there is none. */
int32_t weft_rt_session_find_argument(const weft_rt_session *session,
                                      const char *name);
int32_t weft_rt_session_find_result(const weft_rt_session *session,
                                    const char *name);

/* Bytes of a dense buffer of the tensor's global shape. */
int64_t weft_rt_tensor_bytes(const weft_rt_tensor *tensor);

/* Cuts a dense row-major buffer of the argument's global shape into the ranks'
 * shares. `bytes` must be its exact size. */
weft_rt_status weft_rt_session_set_argument(weft_rt_session *session,
                                            int32_t index, const void *data,
                                            int64_t bytes);

/* Joins the ranks' shares of a result into a dense buffer of its global shape.
 * Where ranks hold the same part, that of the lowest of the session's ranks is
 * taken. Invalid, and nothing is written, if a part is held by none of them.
 *
 * In a job of several processes a result that some process does not hold whole
 * is gathered: all processes call this, in the same order. One that passes NULL
 * gives what it has and gets nothing. */
weft_rt_status weft_rt_session_get_result(weft_rt_session *session,
                                          int32_t index, void *data,
                                          int64_t bytes);

/* Arguments and results on devices. The ranks' memory of some backends is a
 * device's, of `cuda` a GPU's, numbered as the device's library does in this
 * process. There arguments and results need not go by the CPU's memory. */

/* The device that has the memory of one of the session's ranks; -1: the CPU has
 * it, or the rank is in another process. */
int32_t weft_rt_session_device(const weft_rt_session *session, int64_t rank);

/* The stream (CUstream) on which weft_rt_session_set_argument_on_device reads:
 * what writes the tensor must be done, or come before on this stream. Invalid
 * if none of the session's ranks is on the device. */
weft_rt_status weft_rt_session_device_stream(const weft_rt_session *session,
                                             int32_t device, void **stream);

/* weft_rt_session_set_argument from memory of a device, on which all of the
 * session's ranks must be: a dense row-major tensor of the global shape, of
 * exactly `bytes` bytes. It is copied on the device, and may be freed when this
 * returns. Invalid for types of less than a byte. */
weft_rt_status weft_rt_session_set_argument_on_device(weft_rt_session *session,
                                                      int32_t index,
                                                      int32_t device,
                                                      const void *data,
                                                      int64_t bytes);

/* Where a result lies on a device: dense, row-major, of the global shape. The
 * memory is the session's: the next step writes it, and it is gone when the
 * session is closed. What is written there later than the step's end, as into
 * the result of a donated argument, is what the next step reads. Invalid if no
 * rank of the session has the whole result. */
weft_rt_status
weft_rt_session_find_result_on_device(const weft_rt_session *session,
                                      int32_t index, int32_t *device,
                                      void **data);

/* Runs the step `steps` times; blocks. `seconds`, when not NULL, receives the
 * wall time of each step. */
weft_rt_status weft_rt_session_run(weft_rt_session *session, int64_t steps,
                                   double *seconds);

/* 1 when arguments can be set and steps be run; 0 after a failure, and in a
 * process that is forked from the session's own. */
int32_t weft_rt_session_is_usable(const weft_rt_session *session);

/* What a session has and has used. */
typedef struct weft_rt_stats {
  int64_t steps;
  int32_t threads_per_rank;
  int64_t argument_bytes; /* per rank, like the next two */
  int64_t result_bytes;   /* results that alias no argument */
  int64_t arena_bytes;
  int64_t total_bytes; /* of all the session's ranks, with alignment */
  int64_t host_bytes;  /* per rank, of the host's memory: not in the total */
} weft_rt_stats;

void weft_rt_session_stats(const weft_rt_session *session,
                           weft_rt_stats *stats);

/* Bytes that arrived from other ranks by one kind of collective on one
 * channel, and operands moved: since the session was created, for the rank
 * that received most. */
void weft_rt_session_traffic(const weft_rt_session *session,
                             weft_rt_collective_kind kind, int32_t channel,
                             int64_t *count, int64_t *bytes);

/* How steps were given to the device. A chain of calls that ends where the CPU
 * needs a result is captured as a graph when it is met for the second time, and
 * then launched as one. Of the session's rank with most calls. */
typedef struct weft_rt_graphs {
  int32_t can_capture; /* 0: the backend has no graphs; the rest is 0 */
  const char *reason;  /* why nothing is captured, known before the first step;
                          "": it is */
  int32_t reads_scalars; /* 1: the program reads scalars, which end chains */
  int64_t graphs, launches;
  int64_t captured_calls, calls; /* in all steps so far */
} weft_rt_graphs;

void weft_rt_session_graphs(weft_rt_session *session, weft_rt_graphs *graphs);

typedef enum weft_rt_activity {
  WEFT_RT_IN_STEP = 0, /* whole steps; the others are parts of them */
  WEFT_RT_IN_GEMM = 1,
  WEFT_RT_IN_KERNEL = 2,
  WEFT_RT_IN_COLLECTIVE = 3,
  WEFT_RT_IN_COPY = 4,
  WEFT_RT_IN_ATTENTION = 5
} weft_rt_activity;

/* What one rank spent on one op of the program, or on all that have no op.
 * Sums over `calls`. A collective costs what its start and its wait take. */
typedef struct weft_rt_profile_row {
  int64_t rank;
  weft_rt_activity activity;
  const char *name; /* what is done: "step", the shape of a contraction or
                       of attention, a kernel, a collective, a copy */
  const char *op;   /* weft_rt_op.name, or NULL */
  int64_t calls;
  double seconds;      /* by the clock; more than one where ranks share cores */
  double cpu_seconds;  /* of the rank's thread; its helpers are not counted */
  double wait_seconds; /* collectives: not moving data */
  double work;         /* contractions, and attention's products of all queries
                          and keys: additions and multiplications;
                          collectives: bytes that arrived; copies: bytes */
} weft_rt_profile_row;

/* The profile, rank by rank, in the order of first use; of all steps but the
 * first, which touches memory and code for the first time, or of the only one.
 * Invalid unless options.profile was set. Valid until the next step. */
weft_rt_status weft_rt_session_profile(weft_rt_session *session,
                                       const weft_rt_profile_row **rows,
                                       int64_t *count);

/* What each rank did last: up to 32 collectives per rank, one a line. */
const char *weft_rt_session_flight_record(weft_rt_session *session);

/* The calls that each rank made in the last step, one a line, where the backend
 * keeps them, as `null` does; else "". Valid until the next step. */
const char *weft_rt_session_calls(weft_rt_session *session);

/* Writes the trace (Chrome trace events, as Perfetto reads them): per rank, a
 * row of what its thread does and a row per channel. Invalid unless
 * options.trace_events was set. */
weft_rt_status weft_rt_session_write_trace(weft_rt_session *session,
                                           const char *path);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_RT_SESSION_H */
