# frozen_string_literal: true

# The suites that bin/test knows, in the order they run. docs/testing.md says how files are assigned to them.
#
# suite NAME, gemfile:, tests: globs of files, run in a process with that bundle
# suite NAME, commands: FILE   shell commands, each of them a test
# on_demand: true              runs only when it is named
# needs: "NAME"                skipped where the environment has no NAME; its bundle is installed when it runs
# waits: true                  waits more than it computes, mostly for the clocks of servers: begins first
# workers: 3                   so many processes share its tests
# alone: true                  nothing runs beside it

# Which of kernel, store, store_8_0 and store_7_2 run one of these files is said by a comment at its top,
# "# suites: store*"; without it, all four do.
library = { tests: ["test/**/*_test.rb"],
            except: ["test/{metrics,native,oldest_gems,packaging,rails_app,rails_behaviours,runner}/**/*"] }

# No Rails beyond ActiveSupport, no optional gem.
suite "kernel", gemfile: "gemfiles/kernel.gemfile", **library

# Everything, on each Rails line.
suite "store", gemfile: "Gemfile", waits: true, workers: 3, **library
suite "store_8_0", gemfile: "gemfiles/rails_8_0.gemfile", **library
suite "store_7_2", gemfile: "gemfiles/rails_7_2.gemfile", **library

# Rails' main branch, from a checkout.
suite "store_main", gemfile: "gemfiles/rails_main/Gemfile", needs: "RAILS_SOURCE", **library

# The oldest versions of other gems that are said to work.
suite "oldest_gems", gemfile: "gemfiles/oldest_gems.gemfile",
                     tests: ["test/oldest_gems/**/*_test.rb", "test/compressors/{brotli,lz4,snappy,zstd}_test.rb"]

# Yabeda and OpenTelemetry.
suite "metrics", gemfile: "gemfiles/metrics.gemfile", tests: ["test/metrics/**/*_test.rb"]

suite "lab", gemfile: "Gemfile", alone: true, workers: 2, tests: ["tiercel-lab/test/**/*_test.rb"]

# A real Rails application on each line, in processes of its own: test/support/rails_app.rb.
suite "rails_app", gemfile: "Gemfile", tests: ["test/rails_app/**/*_test.rb"]

# The C cores without Ruby, under the sanitizers.
suite "native", commands: "test/native/commands.rb"

# The content of the built gems, and the length of the repository's lines.
suite "packaging", gemfile: "Gemfile", tests: ["test/packaging/**/*_test.rb"]

# This runner itself.
suite "runner", gemfile: "gemfiles/kernel.gemfile", alone: true, tests: ["test/runner/**/*_test.rb"]

# Rails' own behaviour suites on its main branch: RAILS_SOURCE=PATH bin/test behaviours_main
suite "behaviours_main", gemfile: "gemfiles/rails_main/Gemfile", tests: ["test/rails_behaviours/*_test.rb"],
                         needs: "RAILS_SOURCE", rails_line: "main", on_demand: true

# Rails' own behaviour suites, from a checkout: bin/test rails_behaviours --rails PATH [--line 8.1]
{ "8.1" => "Gemfile", "8.0" => "gemfiles/rails_8_0.gemfile",
  "7.2" => "gemfiles/rails_7_2.gemfile" }.each do |line, gemfile|
  suite "rails_behaviours_#{line.tr(".", "_")}", gemfile: gemfile, tests: ["test/rails_behaviours/*_test.rb"],
                                                 rails_line: line, on_demand: true
end
