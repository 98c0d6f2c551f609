#include "cli/map/pictures.h"

#include <algorithm>
#include <cmath>

#include "base/display_width.h"
#include "base/strings.h"
#include "cli/head_table.h"
#include "cli/paint.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

std::vector<bool> SpecialColumns(const MapRequest& request,
                                 const MapData& data) {
  std::vector<bool> special;
  for (const int64_t i : data.tokens) {
    special.push_back(request.encoding.tokens[i].special);
  }
  return special;
}

// Pieces of the tokens that `select` picks, each once: "[CLS], [SEP]".
template <typename Select>
std::string PiecesWhere(const MapRequest& request, Select select) {
  constexpr size_t kMost = 4;
  std::vector<std::string> pieces;
  const int64_t n = static_cast<int64_t>(request.encoding.tokens.size());
  for (int64_t i = 0; i < n; ++i) {
    const std::string& piece = request.encoding.tokens[i].piece;
    if (!select(i) ||
        std::find(pieces.begin(), pieces.end(), piece) != pieces.end()) {
      continue;
    }
    if (pieces.size() == kMost) {
      pieces.push_back("…");
      break;
    }
    pieces.push_back(piece);
  }
  return Join(pieces);
}

// Weight on the flagged columns, mean over the rows.
double MassOn(const TensorView& map, const std::vector<bool>& columns) {
  const int64_t n = map.shape[0];
  double mass = 0;
  for (int64_t c = 0; c < n * n; ++c) {
    if (columns[c % n]) mass += map.As<float>()[c];
  }
  return mass / static_cast<double>(n);
}

// The upper end of a range that follows the cells it is for: their largest
// weight rounded up to two digits.
double RangeEnd(const TensorView& map, const std::vector<bool>& outside) {
  const int64_t n = map.shape[0];
  double largest = 0;
  for (int64_t c = 0; c < n * n; ++c) {
    const double weight = map.As<float>()[c];
    if (!outside[c % n] && weight > largest) largest = weight;
  }
  if (largest == 0) return 1;
  const double step = std::pow(10, std::floor(std::log10(largest)) - 1);
  return std::ceil(largest / step - 1e-9) * step;
}

HeatMapStyle StyleOf(const MapOptions& options, ColorScale default_scale) {
  HeatMapStyle style;
  if (options.cmap == "viridis") style.colormap = Colormap::kViridis;
  if (options.cmap == "cividis") style.colormap = Colormap::kCividis;
  style.scale = default_scale;
  if (options.color_scale == "linear") style.scale = ColorScale::kLinear;
  if (options.color_scale == "sqrt") style.scale = ColorScale::kSqrt;
  if (options.color_scale == "log") style.scale = ColorScale::kLog;
  style.vmin = options.vmin.value_or(0);
  style.vmax = options.vmax.value_or(1);
  style.numbers = options.numbers;
  return style;
}

std::string HiddenNote(const MapRequest& request, const ShownMap& shown) {
  const std::string pieces = PiecesWhere(request, [&](int64_t i) {
    return !std::binary_search(request.tokens.begin(), request.tokens.end(), i);
  });
  return "hidden: " + pieces + ", " + PercentText(shown.hidden_mass) +
         " of the weight" +
         (request.options->renormalize ? "; rows sum to 1 without it" : "");
}

// What all maps of the grid hide: the mean over them.
std::string HiddenNote(const MapRequest& request, const MapData& data) {
  ShownMap mean;
  for (const ShownMap& shown : data.maps) {
    mean.hidden_mass +=
        shown.hidden_mass / static_cast<double>(data.maps.size());
  }
  return HiddenNote(request, mean);
}

// What the maps are of, for titles: "L3H1 · all-minilm-l6-v2".
std::string TitleOf(const MapRequest& request, const std::string& model_name,
                    const std::string& what) {
  return request.options->title.value_or(what + " · " + model_name);
}

// Which of the shown `tokens` (ascending) belong to `span`.
std::optional<Mark> MarkOf(const std::optional<TokenSpan>& span,
                           const std::vector<int64_t>& tokens) {
  if (!span) return std::nullopt;
  const auto begin =
      std::lower_bound(tokens.begin(), tokens.end(), span->first);
  const auto end = std::upper_bound(begin, tokens.end(), span->last);
  if (begin == end) return std::nullopt;  // all hidden
  return Mark{begin - tokens.begin(), end - begin};
}

// The unlabelled maps of several heads. A rectangle of layers and heads gets
// titles on its sides, any other list a title for each map.
MapGrid GridOf(const MapRequest& request, const MapData& data) {
  std::vector<HeadId> drawn;
  MapGrid grid;
  grid.marked_rows = MarkOf(request.from, data.tokens);
  grid.marked_columns = MarkOf(request.to, data.tokens);
  for (const ShownMap& shown : data.maps) {
    grid.maps.push_back(shown.values);
    drawn.push_back(shown.group.head);
  }
  const int first_row = static_cast<int>(std::count_if(
      drawn.begin(), drawn.end(),
      [&](HeadId head) { return head.layer == drawn.front().layer; }));
  const int count = static_cast<int>(drawn.size());
  const bool rectangle = RectangleAround(drawn) == drawn && first_row > 1;
  grid.columns = rectangle
                     ? first_row
                     : static_cast<int>(std::ceil(std::sqrt(double(count))));
  for (int i = 0; i < count; ++i) {
    const HeadId head = drawn[i];
    if (!rectangle) {
      grid.titles.push_back(head.head < 0 ? "L" + std::to_string(head.layer)
                                          : ToString(head));
      continue;
    }
    if (i < first_row) {
      grid.column_titles.push_back("H" + std::to_string(head.head));
    }
    if (i % first_row == 0) {
      grid.row_titles.push_back("L" + std::to_string(head.layer));
    }
  }
  return grid;
}

// The table of strongest targets of --from over all heads.
std::vector<Link> StrongestTargets(const MapRequest& request,
                                   const AttentionMaps& maps) {
  std::vector<bool> shown = OrdinaryTokens(request.encoding);
  for (size_t i = 0; i < shown.size(); ++i) {
    shown[i] = shown[i] &&
               std::binary_search(request.tokens.begin(), request.tokens.end(),
                                  static_cast<int64_t>(i));
  }
  std::vector<Link> links;
  for (const HeadId head : maps.AllHeads()) {
    links.push_back(StrongestTarget(maps, head, RangeOf(*request.from), shown));
  }
  return links;
}

std::string TargetsText(const MapRequest& request,
                        const std::vector<Link>& links,
                        const Console& console) {
  return "Strongest word for \"" + VisibleText(request.from->text) +
         "\" in each head, hundredths of its weight\n" +
         HeadTable(links, request.labels, console.width(), console.color()) +
         "\n";
}

// The strongest link between two words of each head, the first few of them:
// heads that look one token back would fill a plain list.
std::vector<Link> StrongestLinkOfEachHead(const MapRequest& request,
                                          const AttentionMaps& maps) {
  const std::vector<bool> words = OrdinaryTokens(request.encoding);
  std::vector<Link> links;
  for (const HeadId head : request.chosen) {
    for (const Link& link : StrongestLinks(maps, {head}, words, 1)) {
      links.push_back(link);
    }
  }
  std::stable_sort(
      links.begin(), links.end(),
      [](const Link& a, const Link& b) { return a.weight > b.weight; });
  return links;
}

std::string LinksText(const MapRequest& request, const AttentionMaps& maps) {
  constexpr size_t kCount = 5;
  constexpr int kWord = 18;  // columns for a token
  const std::vector<Link> links = StrongestLinkOfEachHead(request, maps);
  if (links.empty()) return "";
  const auto label = [&](int64_t token) {
    return CutToWidth(VisibleText(request.labels[token]), kWord);
  };
  std::string out =
      "\nStrongest links between two words, one per head (hundredths)\n";
  for (size_t i = 0; i < std::min(kCount, links.size()); ++i) {
    const Link& link = links[i];
    out +=
        Hundredths(link.weight, 5) + "  " +
        PadRight(label(link.query) + " -> " + label(link.key), 2 * kWord + 4) +
        "  --head " + ToString(link.head) + "\n";
  }
  return out;
}

}  // namespace

Provenance ProvenanceOf(const Json& meta) {
  Provenance provenance;
  for (const auto& [key, value] : meta.AsObject("meta")) {
    provenance.emplace_back(
        key, value.IsString() ? value.AsString(key) : value.Dump());
  }
  return provenance;
}

std::string PercentText(double share) {
  if (!std::isfinite(share)) return "? %";
  const double percent = share * 100;
  if (percent >= 1 || percent < 0.05) {
    return std::to_string(std::lround(percent)) + " %";
  }
  return "0." + std::to_string(std::lround(percent * 10)) + " %";
}

DrawnMap DrawMap(const MapRequest& request, const std::string& model_name,
                 const MapData& data, const ShownMap& shown) {
  DrawnMap drawn;
  HeatMap& map = drawn.map;
  map.values = shown.values;
  const std::vector<bool> special = SpecialColumns(request, data);
  map.grey_rows = map.grey_columns = special;
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    const int64_t token = data.tokens[i];
    map.row_labels.push_back(request.labels[token]);
  }
  map.marked_rows = MarkOf(request.from, data.tokens);
  map.marked_columns = MarkOf(request.to, data.tokens);
  map.column_labels = map.row_labels;
  map.positions = data.tokens;

  HeatMapStyle& style = drawn.style;
  style = StyleOf(*request.options, ColorScale::kLinear);
  style.title = TitleOf(request, model_name, GroupName(shown.group));
  std::vector<std::string> notes;
  const bool leaves_out =
      request.is_default && shown.group.head.head < 0 && !request.hides();
  if (leaves_out) {
    map.outside_range = special;
    notes.push_back(PiecesWhere(request,
                                [&](int64_t i) {
                                  return request.encoding.tokens[i].special;
                                }) +
                    " take " + PercentText(MassOn(shown.values, special)) +
                    " of the weight and are outside the colour range");
  }
  if (request.hides()) notes.push_back(HiddenNote(request, shown));
  if ((leaves_out || request.hides()) && !request.options->vmax) {
    const double end = RangeEnd(
        shown.values,
        leaves_out ? special : std::vector<bool>(special.size(), false));
    if (end > style.vmin) style.vmax = end;
  }
  style.note = Join(notes, "; ");
  return drawn;
}

std::string MapText(const MapRequest& request, const LoadedModel& loaded,
                    const AttentionMaps& maps, const Console& console) {
  std::string out;
  std::vector<MapGroup> groups = GroupHeads(request.chosen, request.averaging);
  if (request.is_default && request.from) {
    const std::vector<Link> links = StrongestTargets(request, maps);
    out += TargetsText(request, links, console);
    groups = GroupHeads({StrongestOf(links).head}, Averaging::kNone);
  }
  const MapData data =
      BuildMaps(maps, groups, request.tokens, request.options->renormalize);
  TerminalStyle terminal;
  terminal.width = console.width();
  terminal.color = console.color();
  for (size_t i = 0; i < data.maps.size(); ++i) {
    const DrawnMap drawn = DrawMap(request, loaded.name, data, data.maps[i]);
    if (i > 0) out += "\n";
    out += HeatMapText(drawn.map, drawn.style, terminal);
  }
  if (request.is_default && !request.from) out += LinksText(request, maps);
  return out;
}

std::string MapPicture(const MapRequest& request, const LoadedModel& loaded,
                       const MapData& data, const Json& meta) {
  PictureOptions options;
  options.dpi = request.options->dpi.value_or(options.dpi);
  options.provenance = ProvenanceOf(meta);
  const std::string& name = loaded.name;
  if (data.maps.size() == 1) {
    const DrawnMap drawn = DrawMap(request, name, data, data.maps[0]);
    return HeatMapPicture(Name(request.format), drawn.map, drawn.style,
                          options);
  }
  HeatMapStyle style = StyleOf(*request.options, ColorScale::kSqrt);
  style.title =
      TitleOf(request, name, std::to_string(data.maps.size()) + " maps");
  if (request.hides()) style.note = HiddenNote(request, data);
  return GridPicture(Name(request.format), GridOf(request, data), style,
                     options);
}

}  // namespace regard::inline v0
