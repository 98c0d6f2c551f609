#include "cli/map/arrays.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "io/csv.h"
#include "io/file.h"
#include "regard/io.h"

namespace regard::inline v0 {

namespace {

// The axes of a rectangular selection: each layer and head once.
struct Axes {
  std::vector<int64_t> layers, heads;
};

Axes AxesOf(const MapData& data) {
  Axes axes;
  const auto add = [](std::vector<int64_t>& list, int64_t index) {
    if (std::find(list.begin(), list.end(), index) == list.end()) {
      list.push_back(index);
    }
  };
  for (const ShownMap& map : data.maps) {
    add(axes.layers, map.group.head.layer);
    add(axes.heads, map.group.head.head);
  }
  return axes;
}

// What is said about each row and column.
struct TokenColumns {
  std::vector<std::string> pieces;
  std::vector<int64_t> ids, index, offsets, segments;
  std::vector<uint8_t> special;
};

TokenColumns ColumnsOf(const MapRequest& request, const MapData& data) {
  TokenColumns columns;
  for (const int64_t i : data.tokens) {
    const Token& token = request.encoding.tokens[i];
    columns.pieces.push_back(token.piece);
    columns.ids.push_back(token.id);
    columns.index.insert(columns.index.end(), {i, i});
    columns.offsets.insert(columns.offsets.end(), {token.begin, token.end});
    columns.segments.push_back(token.segment);
    columns.special.push_back(token.special ? 1 : 0);
  }
  return columns;
}

// The shortest digits that read back as the same float.
void AppendFloat(std::string& out, float value) {
  std::array<char, 32> digits;
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), end);
}

Json Numbers(const std::vector<int64_t>& values) {
  Json::Array array;
  for (const int64_t value : values) array.emplace_back(value);
  return array;
}

Json Pairs(const std::vector<int64_t>& values) {
  Json::Array array;
  for (size_t i = 0; i + 1 < values.size(); i += 2) {
    array.emplace_back(Json::Array{values[i], values[i + 1]});
  }
  return array;
}

// [[0.5,0.5],[1,0]]; counts what becomes null.
void AppendMatrix(std::string& out, const TensorView& map, int64_t& nonfinite) {
  const float* weights = map.As<float>();
  out += '[';
  for (int64_t i = 0; i < map.shape[0]; ++i) {
    out += i == 0 ? "[" : ",[";
    for (int64_t j = 0; j < map.shape[1]; ++j) {
      if (j > 0) out += ',';
      const float weight = weights[i * map.shape[1] + j];
      if (std::isfinite(weight)) {
        AppendFloat(out, weight);
      } else {
        out += "null";
        ++nonfinite;
      }
    }
    out += ']';
  }
  out += ']';
}

}  // namespace

void WriteMapNpz(const std::string& path, const MapRequest& request,
                 const MapData& data, const Json& meta) {
  const Axes axes = AxesOf(data);
  const TokenColumns columns = ColumnsOf(request, data);
  const int64_t n = static_cast<int64_t>(data.tokens.size());
  const auto list = [](const std::vector<int64_t>& values) {
    return TensorView(values.data(), {static_cast<int64_t>(values.size())});
  };
  NpzWriter writer(path);
  {
    Tensor attention(DType::kF32, {list(axes.layers).shape[0],
                                   list(axes.heads).shape[0], n, n});
    float* out = attention.AsMutable<float>();
    for (const ShownMap& map : data.maps) {
      out = std::copy_n(map.values.As<float>(), n * n, out);
    }
    writer.Add("attention", attention);
  }
  writer.Add("layers", list(axes.layers));
  writer.Add("heads", list(axes.heads));
  writer.AddStrings("tokens", columns.pieces);
  writer.Add("ids", list(columns.ids));
  writer.Add("index", TensorView(columns.index.data(), {n, 2}));
  writer.Add("offsets", TensorView(columns.offsets.data(), {n, 2}));
  writer.Add("segments", list(columns.segments));
  writer.Add("special", TensorView(columns.special.data(), DType::kBool, {n}));
  writer.AddString("meta", meta.Dump());
  writer.Commit();
}

void WriteMapCsv(const std::string& path, const MapRequest& request,
                 const MapData& data, const Console& console) {
  constexpr size_t kChunk = 1 << 16;  // bytes gathered before a write
  const TokenColumns columns = ColumnsOf(request, data);
  const size_t n = data.tokens.size();
  FileWriter writer(path);
  CsvText csv;
  for (const char* name : {"layer", "head", "query", "query_token", "key",
                           "key_token", "weight"}) {
    csv.Cell(name);
  }
  csv.EndRow();
  Progress progress(console, "csv", static_cast<int64_t>(data.maps.size()));
  for (const ShownMap& map : data.maps) {
    for (size_t c = 0; c < n * n; ++c) {
      csv.Cell(map.group.head.layer);
      csv.Cell(map.group.head.head);
      csv.Cell(data.tokens[c / n]);
      csv.Cell(columns.pieces[c / n]);
      csv.Cell(data.tokens[c % n]);
      csv.Cell(columns.pieces[c % n]);
      csv.Cell(map.values.As<float>()[c]);
      csv.EndRow();
      if (csv.text().size() >= kChunk) writer.Write(csv.Take());
    }
    progress.Add(1);
  }
  writer.Write(csv.Take());
  writer.Commit();
}

std::string MapJson(const MapRequest& request, const MapData& data,
                    const Json& meta) {
  const Axes axes = AxesOf(data);
  const TokenColumns columns = ColumnsOf(request, data);
  int64_t nonfinite = 0;
  // The matrix is written directly: a Json value per weight would take 30 times
  // its memory.
  std::string out = "{\"attention\":[";
  for (size_t i = 0; i < data.maps.size(); ++i) {
    const bool new_layer = i % axes.heads.size() == 0;
    if (new_layer) out += i == 0 ? "[" : "],[";
    if (!new_layer) out += ',';
    AppendMatrix(out, data.maps[i].values, nonfinite);
  }
  out += "]],";
  Json rest;
  rest.Set("layers", Numbers(axes.layers));
  rest.Set("heads", Numbers(axes.heads));
  Json::Array tokens(columns.pieces.begin(), columns.pieces.end());
  rest.Set("tokens", std::move(tokens));
  rest.Set("ids", Numbers(columns.ids));
  rest.Set("index", Pairs(columns.index));
  rest.Set("offsets", Pairs(columns.offsets));
  rest.Set("segments", Numbers(columns.segments));
  Json::Array special;
  for (const uint8_t flag : columns.special) special.emplace_back(flag != 0);
  rest.Set("special", std::move(special));
  rest.Set("meta", meta);
  rest.Set("nonfinite", nonfinite);
  return out + rest.Dump().substr(1) + "\n";
}

}  // namespace regard::inline v0
