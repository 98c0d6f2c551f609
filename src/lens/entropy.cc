#include "lens/entropy.h"

#include <cmath>

namespace regard::inline v0 {

double Entropy(const std::vector<double>& row) {
  double sum = 0;
  for (const double a : row) {
    if (a != 0) sum += a * std::log(a);
  }
  return sum == 0 ? 0 : -sum;  // never prints as -0
}

}  // namespace regard::inline v0
