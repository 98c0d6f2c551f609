// Embeds the engine alone: two queries over two keys, causal.
#include <regard/attention.h>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  const std::vector<float> q = {1, 0, 0, 1}, k = q, v = {2, 3, 5, 7};
  regard::AttentionProblem problem;
  problem.q = regard::TensorView(q.data(), {1, 1, 2, 2});
  problem.k = regard::TensorView(k.data(), {1, 1, 2, 2});
  problem.v = regard::TensorView(v.data(), {1, 1, 2, 2});
  problem.mask = regard::Mask::Causal();
  const regard::AttentionResult result = regard::Attend(problem);
  const float* out = result.out.As<float>();
  // Row 0 sees only itself; row 1 weighs 1 : e^(1/sqrt 2).
  const double share = 1 / (1 + std::exp(std::sqrt(0.5)));
  const bool right = out[0] == 2 && out[1] == 3 &&
                     std::abs(out[2] - (2 * share + 5 * (1 - share))) < 1e-6;
  std::printf("out = %g %g %g %g\n", out[0], out[1], out[2], out[3]);
  return right ? 0 : 1;
}
