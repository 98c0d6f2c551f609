/* An endless stream: one token after the other, each attending to the first
 * four tokens and to the last 60, in memory that doesn't grow.
 *
 *   cc streaming.c $(pkg-config --cflags --libs regard)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "regard/regard_c.h"

static void Try(regard_status status) {
  if (status == REGARD_OK) return;
  fprintf(stderr, "%s\n", regard_last_message());
  exit(EXIT_FAILURE);
}

enum { kQueryHeads = 4, kKvHeads = 2, kSize = 8, kWindow = 60, kFirst = 4 };

int main(void) {
  static const int64_t q_shape[] = {1, kQueryHeads, 1, kSize},
                       kv_shape[] = {1, kKvHeads, 1, kSize};
  static float q[kQueryHeads * kSize], v[kKvHeads * kSize],
      out[kQueryHeads * kSize];
  regard_tensor q_view, v_view, out_view;
  Try(regard_tensor_init(&q_view, q, REGARD_F32, 4, q_shape));
  Try(regard_tensor_init(&v_view, v, REGARD_F32, 4, kv_shape));
  Try(regard_tensor_init(&out_view, out, REGARD_F32, 4, q_shape));

  /* Keys and values in bf16; one token is appended at a time. */
  const regard_kv_cache_sizes sizes = {1, kKvHeads, kSize, kSize, REGARD_BF16};
  regard_kv_cache* cache;
  Try(regard_kv_cache_create_ring(&sizes, kWindow, kFirst, 1, &cache));

  regard_mask* mask;
  Try(regard_mask_create(&mask));
  Try(regard_mask_and_window(mask, kWindow, 0, kFirst));

  /* The cache lends its keys and values to the problem, and the last query
   * stands at the last key, however many there are by then. */
  regard_problem* problem;
  Try(regard_problem_create(&problem));
  Try(regard_problem_set_q(problem, &q_view));
  Try(regard_problem_set_kv_cache(problem, cache, 0, 1));
  Try(regard_problem_set_mask(problem, mask));
  Try(regard_problem_set_query_offset(problem, REGARD_BOTTOM_RIGHT, 0));

  /* Planned before there is a key, for all that the ring can hold. */
  regard_plan* plan;
  Try(regard_plan_create(problem, NULL, &plan));
  for (int token = 0; token < 20000; ++token) {
    for (int i = 0; i < kKvHeads * kSize; ++i) v[i] = (float)(token % 128);
    Try(regard_kv_cache_append(cache, &v_view, &v_view));
    Try(regard_plan_run(plan, problem, &out_view, NULL, NULL));
  }

  /* q is 0, so that out is the mean of 0, 1, 2, 3 and of the last 60: token
   * 19999 is number 31 of its 128. */
  int64_t length, oldest;
  Try(regard_kv_cache_length(cache, 0, &length));
  Try(regard_kv_cache_oldest(cache, 0, &oldest));
  printf("%lld tokens, held: the first 4 and those from %lld on\n",
         (long long)length, (long long)oldest);
  printf("mean of what the last one sees: %.3f\n", (double)out[0]);

  regard_plan_destroy(plan);
  regard_problem_destroy(problem);
  regard_mask_destroy(mask);
  regard_kv_cache_destroy(cache);
  return 0;
}
