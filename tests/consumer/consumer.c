/* Embeds the engine from C: two queries over two keys, causal. */
#include <math.h>
#include <regard/regard_c.h>
#include <stdio.h>

int main(void) {
  const float q[] = {1, 0, 0, 1}, v[] = {2, 3, 5, 7};
  const int64_t shape[] = {1, 1, 2, 2};
  /* Row 0 sees only itself; row 1 weighs 1 : e^(1/sqrt 2). */
  const double share = 1 / (1 + exp(sqrt(0.5)));
  float out[4] = {0};
  regard_tensor q_view, v_view, out_view;
  regard_mask* mask = NULL;
  regard_problem* problem = NULL;
  const int right =
      regard_tensor_init(&q_view, q, REGARD_F32, 4, shape) == REGARD_OK &&
      regard_tensor_init(&v_view, v, REGARD_F32, 4, shape) == REGARD_OK &&
      regard_tensor_init(&out_view, out, REGARD_F32, 4, shape) == REGARD_OK &&
      regard_mask_create(&mask) == REGARD_OK &&
      regard_mask_and_causal(mask) == REGARD_OK &&
      regard_problem_create(&problem) == REGARD_OK &&
      regard_problem_set_qkv(problem, &q_view, &q_view, &v_view) == REGARD_OK &&
      regard_problem_set_mask(problem, mask) == REGARD_OK &&
      regard_attend(problem, NULL, &out_view, NULL, NULL) == REGARD_OK &&
      out[0] == 2 && out[1] == 3 &&
      fabs(out[2] - (2 * share + 5 * (1 - share))) < 1e-6;
  regard_problem_destroy(problem);
  regard_mask_destroy(mask);
  printf("regard %s: out = %g %g %g %g %s\n", regard_version(), out[0], out[1],
         out[2], out[3], regard_last_message());
  return right ? 0 : 1;
}
