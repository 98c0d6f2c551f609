#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "cli/parse.h"
#include "cli/signals.h"
#include "io/json.h"
#include "regard/error.h"

namespace regard::inline v0 {
namespace {

enum ExitStatus : int { kDone = 0, kFailed = 1, kWrongCommandLine = 2 };

constexpr char kMemoryHint[] = "close other programs or ask for less";

// What the library says about memory is without a hint: what helps depends on
// who called it.
Error WithHint(const Error& error) {
  if (error.kind() != ErrorKind::kMemory || !error.hint().empty()) return error;
  return Error(error.kind(), error.subject(), error.reason(), kMemoryHint);
}

int Report(const Error& error, bool json, Console& console) {
  const std::string line = std::string("regard: ") + error.what() + "\n";
  if (json) {
    Json members;
    members.Set("what", error.subject());
    members.Set("why", error.reason());
    members.Set("hint", error.hint());
    Json object;
    object.Set("error", std::move(members));
    try {
      console.PrintJson(object);
      console.Flush();
    } catch (const Error&) {
      // stdout can't be written, which may be the error itself; stderr has it.
    }
  }
  std::fwrite(line.data(), 1, line.size(), stderr);
  return error.kind() == ErrorKind::kUsage ? kWrongCommandLine : kFailed;
}

int Run(std::vector<std::string> arguments) {
  bool json = AsksForJson(arguments);
  Console console;
  try {
    Parsed parsed =
        ParseArguments(std::move(arguments),
                       Console(ColorMode::kNever, /*quiet=*/true).width());
    json = parsed.common.json;
    console = Console(parsed.common.color, parsed.common.quiet);
    if (!parsed.page.empty()) {
      console.Print(parsed.page);
      console.Flush();
      return kDone;
    }
    Context context{parsed.common, std::move(console)};
    parsed.run(context);
    context.console.Flush();
    return kDone;
  } catch (const Error& error) {
    return Report(WithHint(error), json, console);
  } catch (const std::bad_alloc&) {
    return Report(
        Error(ErrorKind::kMemory, "memory", "there is not enough", kMemoryHint),
        json, console);
  } catch (const std::exception& error) {
    return Report(Error(ErrorKind::kUnsupported, "internal error", error.what(),
                        "please report this with the command line"),
                  json, console);
  }
}

}  // namespace
}  // namespace regard::inline v0

int main(int argc, char** argv) {
  regard::InstallSignalHandlers();
  return regard::Run(std::vector<std::string>(argv + (argc > 0), argv + argc));
}
