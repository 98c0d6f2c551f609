#include "cli/machine.h"

#include <string>
#include <thread>
#include <utility>

#include "base/parallel_for.h"
#include "base/strings.h"
#include "cli/facts.h"
#include "cli/info/info.h"
#include "regard/attention.h"
#include "regard/model.h"
#include "regard/version.h"

namespace regard::inline v0 {

namespace {

void AddList(Facts& facts, const char* key,
             const std::vector<std::string>& names, const std::string& text) {
  Json::Array list;
  for (const std::string& name : names) list.push_back(name);
  facts.Add(key, std::move(list), text);
}

}  // namespace

void PrintMachineInfo(Context& context) {
  const std::vector<std::string> usable = UsableInstructionSets();
  Facts facts;
  facts.Add("version", REGARD_VERSION);
  facts.Add("processor", ProcessorName());
  facts.Add("cores", static_cast<int64_t>(std::thread::hardware_concurrency()));
  facts.Add("threads", ResolveThreads(context.common.threads));
  AddList(facts, "instruction_sets_built", BuiltInstructionSets(),
          Join(BuiltInstructionSets()));
  AddList(facts, "instruction_sets_usable", usable, Join(usable));
  facts.Add("instruction_set_used", usable.front());
  AddList(facts, "kernels", KernelNames(),
          Join(KernelNames()) + " (the first that fits is taken)");
  AddList(facts, "model_families", ModelFamilies(), Join(ModelFamilies()));
  facts.Print(context);
}

}  // namespace regard::inline v0
