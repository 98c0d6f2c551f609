/* Attention from C: what each of four tokens takes from those before it.
 *
 *   cc attention.c $(pkg-config --cflags --libs regard)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "regard/regard_c.h"

/* Every call says whether it worked; the reason is one line of text. */
static void Try(regard_status status) {
  if (status == REGARD_OK) return;
  fprintf(stderr, "%s\n", regard_last_message());
  exit(EXIT_FAILURE);
}

int main(void) {
  /* [B, H, L, D]: one sequence, one head, four tokens, two numbers each. */
  static const int64_t shape[] = {1, 1, 4, 2}, square[] = {1, 1, 4, 4};
  static const float x[] = {1, 0, 0, 1, 1, 1, 0, 0};
  float out[8], weights[16];
  regard_tensor x_view, out_view, weights_view;
  Try(regard_tensor_init(&x_view, x, REGARD_F32, 4, shape));
  Try(regard_tensor_init(&out_view, out, REGARD_F32, 4, shape));
  Try(regard_tensor_init(&weights_view, weights, REGARD_F32, 4, square));

  /* Which keys a query sees: itself and the two before it. */
  regard_mask* mask;
  Try(regard_mask_create(&mask));
  Try(regard_mask_and_causal(mask));
  Try(regard_mask_and_window(mask, 3, REGARD_NO_LIMIT, 0));

  /* Self-attention: queries, keys and values are the same array. */
  regard_problem* problem;
  Try(regard_problem_create(&problem));
  Try(regard_problem_set_qkv(problem, &x_view, &x_view, &x_view));
  Try(regard_problem_set_mask(problem, mask));

  /* Planned once, run as often as one likes; NULL: the default options, and
   * no log-sum-exp wanted. */
  regard_plan* plan;
  Try(regard_plan_create(problem, NULL, &plan));
  Try(regard_plan_run(plan, problem, &out_view, NULL, &weights_view));

  printf("Regard %s\nweights (rows are queries)        output\n",
         regard_version());
  for (int row = 0; row < 4; ++row) {
    for (int key = 0; key < 4; ++key) printf("%6.3f", weights[row * 4 + key]);
    printf("%12.3f %6.3f\n", out[row * 2], out[row * 2 + 1]);
  }

  regard_plan_destroy(plan);
  regard_problem_destroy(problem);
  regard_mask_destroy(mask);
  return 0;
}
