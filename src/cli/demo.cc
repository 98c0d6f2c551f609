// regard demo: what the program shows, on one page, with numbers computed now.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "base/display_width.h"
#include "cli/head_table.h"
#include "cli/map/options.h"
#include "cli/map/pictures.h"
#include "cli/model/find_model.h"
#include "cli/paint.h"
#include "cli/text_layout.h"
#include "cli/text_run.h"
#include "io/file.h"

namespace regard::inline v0 {

namespace {

// The sentence everyone tries first (Vaswani et al. 2017, blog post of the
// authors), and the same with one word changed.
constexpr char kTired[] =
    "The animal didn't cross the street because it was too tired.";
constexpr char kWide[] =
    "The animal didn't cross the street because it was too wide.";
constexpr char kFrom[] = "it", kAnimal[] = "animal", kStreet[] = "street";

// One of the two sentences, run through the model.
struct Sentence {
  MapOptions options;
  MapRequest request;
  AttentionMaps maps;

  TokenRange Find(const char* word) const {
    return RangeOf(FindSpan(request.encoding, word));
  }
  LinkScore Score(HeadId head, const char* to) const {
    return ScoreLink(maps, head, Find(kFrom), Find(to));
  }
};

std::unique_ptr<Sentence> RunSentence(const char* text,
                                      const LoadedModel& loaded,
                                      Context& context) {
  auto sentence = std::make_unique<Sentence>();
  sentence->options.text.text = text;
  sentence->options.from = kFrom;
  sentence->request = ResolveMapOptions(sentence->options, loaded, context);
  sentence->maps = RunModel(loaded, sentence->request.encoding,
                            /*value_norms=*/true, context);
  return sentence;
}

// The four weights of one head that the contrast shows.
struct Contrast {
  HeadId head;
  LinkScore tired_animal, tired_street, wide_animal, wide_street;

  double Strongest() const {
    return std::max({tired_animal.weight, tired_street.weight,
                     wide_animal.weight, wide_street.weight});
  }
  // Prefers the animal when tired and the street when wide, each by at least
  // one hundredth.
  bool Turns() const {
    constexpr double kMargin = 0.01;
    return tired_animal.weight - tired_street.weight >= kMargin &&
           wide_street.weight - wide_animal.weight >= kMargin;
  }
};

// Every head, the strongest link first.
std::vector<Contrast> Contrasts(const Sentence& tired, const Sentence& wide) {
  std::vector<Contrast> all;
  for (const HeadId head : tired.maps.AllHeads()) {
    all.push_back({head, tired.Score(head, kAnimal), tired.Score(head, kStreet),
                   wide.Score(head, kAnimal), wide.Score(head, kStreet)});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Contrast& a, const Contrast& b) {
                     return a.Strongest() > b.Strongest();
                   });
  return all;
}

// Mean weight of "it" on the tokens that the template adds, and their pieces.
std::string NotShown(const Sentence& s) {
  std::string pieces;
  double mass = 0;
  const std::vector<Token>& tokens = s.request.encoding.tokens;
  for (int64_t i = 0; i < static_cast<int64_t>(tokens.size()); ++i) {
    if (!tokens[i].special) continue;
    pieces += (pieces.empty() ? "" : " and ") + tokens[i].piece;
    for (const LinkScore& score : ScoreLinks(s.maps, s.Find(kFrom), {i, i})) {
      mass += score.weight / (s.maps.layers() * s.maps.heads());
    }
  }
  return PercentText(mass) + " goes to " + pieces + ", not shown";
}

std::string TargetsPart(const Sentence& s, const Console& console) {
  std::vector<Link> links;
  const std::vector<bool> words = OrdinaryTokens(s.request.encoding);
  for (const HeadId head : s.maps.AllHeads()) {
    links.push_back(StrongestTarget(s.maps, head, s.Find(kFrom), words));
  }
  return Bold("Where does \"it\" look?", console.color()) +
         " Strongest word per head, in %\n(" + NotShown(s) + ")\n" +
         HeadTable(links, s.request.labels, console.width(), console.color());
}

// " 12 ███▌   ", the bar in relation to `largest`.
std::string WeightBar(double weight, double largest) {
  constexpr int kBar = 8;
  return Hundredths(weight, 3) + " " + Bar(weight / largest, kBar);
}

std::string ContrastPart(const std::vector<Contrast>& all,
                         const Console& console) {
  constexpr size_t kShown = 5;
  std::string out =
      Bold("Change one word:        … too tired                … too wide",
           console.color());
  out +=
      "\n it ->    animal      street         animal      street"
      "       any -> animal\n";
  const double largest = all.front().Strongest();
  for (size_t i = 0; i < std::min(kShown, all.size()); ++i) {
    const Contrast& c = all[i];
    std::string line = " " + PadRight(ToString(c.head), 7) +
                       WeightBar(c.tired_animal.weight, largest) +
                       WeightBar(c.tired_street.weight, largest) + "   " +
                       WeightBar(c.wide_animal.weight, largest) +
                       WeightBar(c.wide_street.weight, largest) + " " +
                       WeightBar(c.tired_animal.baseline, largest);
    while (line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out;
}

// What the numbers say about the question everybody asks.
std::string Verdict(const std::vector<Contrast>& all) {
  std::string heads;
  int turns = 0;
  for (const Contrast& c : all) {
    if (!c.Turns()) continue;
    ++turns;
    heads += (heads.empty() ? "" : ", ") + ToString(c.head);
  }
  const std::string count =
      std::to_string(turns) + " of " + std::to_string(all.size()) + " heads";
  if (turns == 0) {
    return "No head turns from animal to street when tired becomes wide: in "
           "this model the weights of \"it\" do not tell them apart.\n";
  }
  return count + (turns == 1 ? " turns" : " turn") +
         " from animal to street when tired becomes wide: " + heads + ".\n";
}

std::string MapPart(const DrawnMap& drawn, HeadId head,
                    const Console& console) {
  TerminalStyle terminal;
  terminal.width = console.width();
  terminal.color = console.color();
  terminal.compact = true;
  return Bold("Head " + ToString(head), console.color()) +
         " (rows look at columns, hundredths, each row sums to 100)\n" +
         HeatMapText(drawn.map, drawn.style, terminal);
}

// The token of the template that takes most.
std::string MassPart(const Sentence& s, const Console& console) {
  const std::vector<Token>& tokens = s.request.encoding.tokens;
  KeyMass most;
  std::string piece = "nothing";
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].special) continue;
    std::vector<bool> only(tokens.size(), false);
    only[i] = true;
    const KeyMass mass = MassOnKeys(s.maps, s.maps.AllHeads(), only);
    if (mass.weight <= most.weight) continue;
    most = mass;
    piece = tokens[i].piece;
  }
  return Bold("Weight is not use:", console.color()) + " " + piece + " takes " +
         PercentText(most.weight) + " of all weight and " +
         PercentText(most.norm) +
         " of what is carried\n(norm-weighted: each "
         "weight times the length of the value that it moves).\n";
}

void WritePictures(const DrawnMap& drawn, const Json& meta) {
  PictureOptions options;
  options.provenance = ProvenanceOf(meta);
  for (const std::string format : {"svg", "png"}) {
    WriteFile("it." + format,
              HeatMapPicture(format, drawn.map, drawn.style, options));
  }
}

std::string TryPart(HeadId head) {
  const std::string map = "  ./regard map \"Ann told Eve she won.\" --";
  return "Try:\n  ./regard rank \"Ann told Eve she won.\" --from she --to "
         "Ann\n" +
         map + "head " + ToString(head) + " -o map.svg\n" + map +
         "all -o maps.npz  # numpy.load\n";
}

void Run(const std::optional<std::string>& model, Context& context) {
  const auto start = std::chrono::steady_clock::now();
  const LoadedModel loaded = LoadModel(model);
  const auto tired = RunSentence(kTired, loaded, context);
  const auto wide = RunSentence(kWide, loaded, context);
  const std::vector<Contrast> contrasts = Contrasts(*tired, *wide);

  MapRequest& request = tired->request;
  const HeadId head = contrasts.front().head;
  request.chosen = {head};
  request.is_default = false;
  request.averaging = Averaging::kNone;
  const MapData data =
      BuildMaps(tired->maps, GroupHeads(request.chosen, Averaging::kNone),
                request.tokens, /*renormalize=*/false);
  const DrawnMap drawn = DrawMap(request, loaded.name, data, data.maps[0]);
  WritePictures(drawn, MapMeta(request, loaded));

  Console& console = context.console;
  const std::string body =
      TargetsPart(*tired, console) + "\n" + ContrastPart(contrasts, console) +
      Verdict(contrasts) + "\n" + MapPart(drawn, head, console) + "\n" +
      MassPart(*tired, console) +
      "A weight shows where a head looks, not why the model decides.\n"
      "wrote it.svg it.png\n\n" +
      TryPart(head);
  const auto taken = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start);
  console.Print(fmt::format(
      "[4/4] run: {} ms, no Python\n\n\"{}\"\n{}, {} layers x {} heads\n\n",
      taken.count(), kTired, loaded.name, tired->maps.layers(),
      tired->maps.heads()));
  console.Print(body);
}

std::function<void(Context&)> Setup(CLI::App& app) {
  const auto model = std::make_shared<std::optional<std::string>>();
  AddModelOption(app, *model);
  return [model](Context& context) { Run(*model, context); };
}

}  // namespace

extern const Command kDemoCommand;
const Command kDemoCommand = {
    "demo", "what this program shows, on one page; writes it.svg and it.png",
    "regard demo", Setup};

}  // namespace regard::inline v0
