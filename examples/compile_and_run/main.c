/* SPDX-License-Identifier: Apache-2.0 */

/* A program that has the compiler inside: it compiles the step in a file to a
 * library, loads it, and runs a step on arguments that are all zero.
 *
 *   compile_and_run step.mlir step.so */

#include "weft-c/Weft.h"
#include "weft-rt/session.h"

#include <stdio.h>
#include <stdlib.h>

static void print_diagnostic(void *user, weft_severity severity,
                             const char *file, int line, int column,
                             const char *message) {
  (void)user;
  (void)severity;
  fprintf(stderr, "%s:%d:%d: %s\n", file ? file : "-", line, column, message);
}

/* Returns the file's bytes, to be freed. */
static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  long end = -1;
  if (file && fseek(file, 0, SEEK_END) == 0)
    end = ftell(file);
  char *text = end < 0 ? NULL : malloc((size_t)end + 1);
  if (!text || fseek(file, 0, SEEK_SET) != 0 ||
      fread(text, 1, (size_t)end, file) != (size_t)end) {
    perror(path);
    exit(1);
  }
  fclose(file);
  *size = (size_t)end;
  return text;
}

static void check(weft_rt_status status) {
  if (status == WEFT_RT_OK)
    return;
  fprintf(stderr, "compile_and_run: %s\n", weft_rt_last_error());
  exit(1);
}

static void run(const char *path) {
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  weft_rt_session *session;
  check(weft_rt_session_open(path, &options, &session));
  const weft_rt_program *program = weft_rt_session_program(session);
  for (int i = 0; i < program->num_args; ++i) {
    int64_t bytes = weft_rt_tensor_bytes(&program->args[i]);
    void *zeros = calloc(1, (size_t)bytes);
    check(weft_rt_session_set_argument(session, i, zeros, bytes));
    free(zeros);
    printf("argument %s: %lld bytes\n", program->args[i].name,
           (long long)bytes);
  }
  check(weft_rt_session_run(session, 1, NULL));
  printf("ran on %d ranks\n", (int)program->num_ranks);
  weft_rt_session_close(session);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: compile_and_run step.mlir step.so\n");
    return 2;
  }
  size_t size;
  char *text = read_file(argv[1], &size);
  const char *arguments[] = {"-o", argv[2]};
  weft_status status = weft_compile(text, size, argv[1], arguments, 2,
                                    print_diagnostic, NULL, NULL);
  free(text);
  if (status != WEFT_OK)
    return status;
  printf("compiled with weft %s\n", weft_version());
  run(argv[2]);
  return 0;
}
