// Runs the program that was built, as a shell would.
#ifndef REGARD_TESTS_SYSTEM_RUN_REGARD_H_
#define REGARD_TESTS_SYSTEM_RUN_REGARD_H_

#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/json.h"

namespace regard::inline v0 {

struct RunSettings {
  std::string input = {};      // stdin
  std::string directory = {};  // where it runs; "": here
  // Variables to set; those with an empty value are removed.
  std::map<std::string, std::string> environment = {};
  std::optional<std::string> stdout_path = {};  // instead of a pipe
  std::optional<size_t> file_size_limit = {};   // as `ulimit -f`
  std::optional<size_t> memory_limit = {};      // as `ulimit -v`
};

struct Finished {
  int status = -1;  // exit status, or minus the signal that ended it
  std::string out, err;
};

// Kills it after a minute.
Finished RunRegard(const std::vector<std::string>& arguments,
                   const RunSettings& settings = {});

// Starts it with its output thrown away, for tests that send it a signal.
pid_t StartRegard(const std::vector<std::string>& arguments,
                  const RunSettings& settings);
// Waits for its end; the same status as above.
int WaitFor(pid_t child);

// The same with a terminal of so many columns as stdin, stdout and stderr; all
// that it shows is in `out`.
Finished RunOnTerminal(const std::vector<std::string>& arguments, int columns,
                       const RunSettings& settings = {});

// What the shell makes of `command`, in which $REGARD is the program.
int RunShell(const std::string& command);

// Exactly one line "regard: what: why[: what to do]" on stderr, nothing on
// stdout, and this status.
void ExpectError(const Finished& finished, int status,
                 const ::testing::Matcher<const std::string&>& line);

// Status 0 and nothing on stderr; stdout as JSON.
Json JsonOf(const Finished& finished);

}  // namespace regard::inline v0

#endif  // REGARD_TESTS_SYSTEM_RUN_REGARD_H_
