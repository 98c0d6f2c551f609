#include "cli/rank/data.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace regard::inline v0 {

namespace {

TokenSpan SpanOf(const RankedText& text, int64_t token) {
  return {token, token, text.labels[token]};
}

// A head where only `from` or only `to` is known. A NaN leaves no strongest
// end: the score is then that of the first token, which is NaN too.
RankRow StrongestRow(const AttentionMaps& maps, HeadId head,
                     const RankColumn& column) {
  const RankedText& text = *column.text;
  const std::vector<bool> all(text.encoding.tokens.size(), true);
  const std::vector<bool> words = OrdinaryTokens(text.encoding);
  RankRow row;
  if (column.from) {
    const TokenRange from = RangeOf(*column.from);
    const int64_t key =
        std::max<int64_t>(StrongestTarget(maps, head, from, all).key, 0);
    row.found = SpanOf(text, key);
    row.word = StrongestTarget(maps, head, from, words);
    row.score = ScoreLink(maps, head, from, {key, key});
  } else {
    const TokenRange to = RangeOf(*column.to);
    const int64_t query =
        std::max<int64_t>(StrongestSource(maps, head, to, all).query, 0);
    row.found = SpanOf(text, query);
    row.word = StrongestSource(maps, head, to, words);
    row.score = ScoreLink(maps, head, {query, query}, to);
  }
  return row;
}

RankColumn FillColumn(RankColumn column, const AttentionMaps& maps,
                      const std::vector<HeadId>& heads) {
  for (const HeadId head : heads) {
    RankRow row;
    if (column.from && column.to) {
      row.score =
          ScoreLink(maps, head, RangeOf(*column.from), RangeOf(*column.to));
    } else {
      row = StrongestRow(maps, head, column);
    }
    column.rows.push_back(std::move(row));
  }
  return column;
}

// The ends of each column of a text, before any work: a word that is not there
// is found out at once.
std::vector<RankColumn> EndsOf(const RankOptions& options,
                               std::shared_ptr<const RankedText> text) {
  RankColumn column;
  column.text = std::move(text);
  const Encoding& encoding = column.text->encoding;
  if (options.from) column.from = FindSpan(encoding, *options.from);
  std::vector<RankColumn> columns;
  for (const std::string& to : options.to) {
    column.to = FindSpan(encoding, to);
    columns.push_back(column);
  }
  if (options.to.empty()) columns.push_back(column);
  return columns;
}

TextOptions TextOf(const RankOptions& options, const std::string& text) {
  TextOptions one;
  one.text = text;
  one.pair = options.pair;
  one.truncate = options.truncate;
  return one;
}

// Larger first, NaN last.
bool ComesFirst(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return a > b;
}

std::vector<size_t> OrderBy(const std::vector<double>& keys) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return ComesFirst(keys[a], keys[b]);
  });
  return order;
}

}  // namespace

std::vector<RankColumn> RankColumns(const RankOptions& options,
                                    Context& context) {
  const LoadedModel loaded = LoadModel(options.model);
  const ModelInfo& info = loaded.model->info();
  const std::vector<HeadId> heads =
      SelectHeads(options.heads, info.layers, info.heads);
  std::vector<std::vector<RankColumn>> texts;
  for (const std::string& one : options.Texts()) {
    auto text = std::make_shared<RankedText>();
    text->encoding = EncodeFor(loaded, TextOf(options, one), context.console);
    text->labels = TokenLabels(text->encoding);
    texts.push_back(EndsOf(options, std::move(text)));
  }
  std::vector<RankColumn> columns;
  for (std::vector<RankColumn>& text : texts) {
    const AttentionMaps maps = RunModel(loaded, text[0].text->encoding,
                                        /*value_norms=*/true, context);
    for (RankColumn& column : text) {
      columns.push_back(FillColumn(std::move(column), maps, heads));
    }
  }
  return columns;
}

std::vector<size_t> RankOrder(const std::vector<RankRow>& rows,
                              const std::string& sort) {
  std::vector<double> keys;
  for (const LinkColumn& column : LinkColumns()) {
    if (column.name != sort) continue;
    for (const RankRow& row : rows) keys.push_back(column.value(row.score));
  }
  return OrderBy(keys);
}

RankDifference DifferenceOf(const RankColumn& a, const RankColumn& b) {
  RankDifference difference;
  std::vector<double> sizes;
  for (size_t i = 0; i < a.rows.size(); ++i) {
    const double d = a.rows[i].score.weight - b.rows[i].score.weight;
    difference.weight.push_back(d);
    sizes.push_back(std::abs(d));
  }
  difference.order = OrderBy(sizes);
  return difference;
}

size_t RowsToShow(size_t rows, std::optional<int64_t> top) {
  return top ? std::min(rows, static_cast<size_t>(*top)) : rows;
}

}  // namespace regard::inline v0
