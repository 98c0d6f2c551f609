#include "bench/row.h"

#include <vector>

#include "base/strings.h"

namespace regard::inline v0 {

const char* Name(Figure figure) {
  switch (figure) {
    case Figure::kTime:
      return "time";
    case Figure::kOpTime:
      return "time per operation";
    case Figure::kSpeed:
      return "speed";
    case Figure::kMemory:
      return "memory";
    default:
      return "share";
  }
}

const char* ShortName(Figure figure) {
  return figure == Figure::kOpTime ? "time/op" : Name(figure);
}

bool BenchRow::MoreIsBetter() const {
  return Judged() == Figure::kShare || Judged() == Figure::kSpeed;
}

bool BenchRow::IsMetBy(double value) const {
  return bar && (MoreIsBetter() ? value >= *bar : value <= *bar);
}

BenchRow BenchRow::Other() const {
  BenchRow other = *this;
  other.bar.reset();
  other.versus.reset();
  if (versus->work != nullptr) other.work = versus->work;
  if (versus->dtype) other.dtype = *versus->dtype;
  if (versus->d > 0) other.d = versus->d;
  if (versus->lq > 0) other.lq = versus->lq;
  if (versus->lk > 0) other.lk = versus->lk;
  if (versus->threads > 0) other.threads = versus->threads;
  return other;
}

std::string BenchRow::VersusText() const {
  std::vector<std::string> parts;
  if (versus->work != nullptr) parts.emplace_back(versus->work);
  if (versus->dtype) parts.emplace_back(Name(*versus->dtype));
  if (versus->d > 0) parts.push_back("D " + std::to_string(versus->d));
  const bool square = versus->lq == versus->lk;
  if (versus->lq > 0 && !square) {
    parts.push_back("Lq " + std::to_string(versus->lq));
  }
  if (versus->lk > 0) parts.push_back("L " + std::to_string(versus->lk));
  if (versus->threads > 0) {
    parts.push_back(std::to_string(versus->threads) +
                    (versus->threads == 1 ? " thread" : " threads"));
  }
  return Join(parts);
}

}  // namespace regard::inline v0
