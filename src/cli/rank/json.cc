#include "cli/rank/json.h"

#include <cmath>

namespace regard::inline v0 {

namespace {

Json Number(double value, int64_t& nonfinite) {
  if (std::isfinite(value)) return value;
  ++nonfinite;
  return {};
}

Json Value(const LinkColumn& column, const LinkScore& score,
           int64_t& nonfinite) {
  const double value = column.value(score);
  if (!column.is_index) return Number(value, nonfinite);
  if (value >= column.lowest_index) return static_cast<int64_t>(value);
  ++nonfinite;
  return {};
}

Json Span(const TokenSpan& span) {
  Json json;
  json.Set("text", span.text);
  json.Set("first", span.first);
  json.Set("last", span.last);
  return json;
}

// The strongest word of a head when one end was not asked for.
Json Word(const RankColumn& column, const RankRow& row, int64_t& nonfinite) {
  const int64_t token = column.from ? row.word.key : row.word.query;
  if (token < 0) {
    ++nonfinite;
    return {};
  }
  Json json = Span({token, token, column.text->labels[token]});
  json.Set("weight", Number(row.word.weight, nonfinite));
  return json;
}

Json Head(const RankColumn& column, const RankRow& row, int64_t& nonfinite) {
  Json json;
  json.Set("layer", row.score.head.layer);
  json.Set("head", row.score.head.head);
  for (const LinkColumn& number : LinkColumns()) {
    json.Set(number.name, Value(number, row.score, nonfinite));
  }
  if (row.found) {
    json.Set(column.from ? "to" : "from", Span(*row.found));
    json.Set("word", Word(column, row, nonfinite));
  }
  return json;
}

Json Tokens(const RankedText& text) {
  Json::Array tokens;
  for (const Token& token : text.encoding.tokens) {
    tokens.emplace_back(token.piece);
  }
  return tokens;
}

void SetEnds(Json& json, const RankColumn& column) {
  json.Set("tokens", Tokens(*column.text));
  if (column.from) json.Set("from", Span(*column.from));
  if (column.to) json.Set("to", Span(*column.to));
}

Json OneColumn(const RankColumn& column, const RankOptions& options) {
  Json json;
  SetEnds(json, column);
  int64_t nonfinite = 0;
  Json::Array heads;
  const std::vector<size_t> order =
      RankOrder(column.rows, options.sort.value_or("weight"));
  for (size_t i = 0; i < RowsToShow(order.size(), options.top); ++i) {
    heads.push_back(Head(column, column.rows[order[i]], nonfinite));
  }
  json.Set("heads", std::move(heads));
  json.Set("nonfinite", nonfinite);
  return json;
}

Json Difference(const std::vector<RankColumn>& columns,
                const RankOptions& options, int64_t& nonfinite) {
  const RankDifference difference = DifferenceOf(columns[0], columns[1]);
  Json::Array heads;
  for (size_t i = 0; i < RowsToShow(difference.order.size(), options.top);
       ++i) {
    const size_t row = difference.order[i];
    const HeadId head = columns[0].rows[row].score.head;
    Json json;
    json.Set("layer", head.layer);
    json.Set("head", head.head);
    json.Set("weight", Number(difference.weight[row], nonfinite));
    heads.push_back(std::move(json));
  }
  return heads;
}

}  // namespace

Json RankJson(const std::vector<RankColumn>& columns,
              const RankOptions& options) {
  if (columns.size() == 1) return OneColumn(columns[0], options);
  int64_t nonfinite = 0;
  Json::Array all;
  for (const RankColumn& column : columns) {
    Json json;
    json.Set("text", column.text->encoding.texts[0]);
    SetEnds(json, column);
    Json::Array heads;
    for (const RankRow& row : column.rows) {
      heads.push_back(Head(column, row, nonfinite));
    }
    json.Set("heads", std::move(heads));
    all.push_back(std::move(json));
  }
  Json json;
  json.Set("columns", std::move(all));
  json.Set("difference", Difference(columns, options, nonfinite));
  json.Set("nonfinite", nonfinite);
  return json;
}

}  // namespace regard::inline v0
