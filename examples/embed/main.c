/* SPDX-License-Identifier: Apache-2.0 */

/* A program that has a compiled step inside: it makes data for a linear model,
 * trains it on two ranks, and prints the losses and the weights. */

#include "linear.h" /* names of arguments and results, made by weft-compile */
#include "weft-rt/session.h"

#include <stdio.h>
#include <stdlib.h>

static void check(weft_rt_status status) {
  if (status == WEFT_RT_OK)
    return;
  fprintf(stderr, "embed: %s\n", weft_rt_last_error());
  exit(1);
}

int main(void) {
  /* Columns of signs that are orthogonal, and y for the weights 1, 2, 3, 4. */
  float w[4] = {0}, x[8][4], y[8];
  for (int row = 0; row < 8; ++row) {
    y[row] = 0;
    for (int column = 0; column < 4; ++column) {
      x[row][column] = row >> column & 1 ? -1.0f : 1.0f;
      y[row] += (float)(column + 1) * x[row][column];
    }
  }

  const weft_rt_program *program = &weft_program;
  weft_rt_options options = WEFT_RT_OPTIONS_INIT;
  options.ranks = 2;
  weft_rt_session *session;
  check(weft_rt_session_create(&program, 1, &options, &session));
  check(weft_rt_session_set_argument(session, WEFT_ARG_w, w, sizeof(w)));
  check(weft_rt_session_set_argument(session, WEFT_ARG_x, x, sizeof(x)));
  check(weft_rt_session_set_argument(session, WEFT_ARG_y, y, sizeof(y)));
  for (int step = 0; step < 4; ++step) {
    float loss;
    check(weft_rt_session_run(session, 1, NULL));
    check(weft_rt_session_get_result(session, WEFT_RESULT_loss, &loss,
                                     sizeof(loss)));
    printf("loss %g\n", loss);
  }
  check(weft_rt_session_get_result(session, WEFT_RESULT_w, w, sizeof(w)));
  printf("weights %g %g %g %g\n", w[0], w[1], w[2], w[3]);
  weft_rt_session_close(session);
  return 0;
}
