# frozen_string_literal: true

# The suites of bin/test. Two run at a time, begun in this order: those that take longest first, so that both end
# together. test/README.md explains how files are assigned to them.
#
# suite NAME, gemfile:, tests: globs of files, which run in a process with that bundle
# suite NAME, commands: FILE   shell commands, each of which is a test
# on_demand: true              runs only if it is named
# needs: "NAME"                skipped if the environment has no NAME; its bundle is installed when it runs
# workers: 4                   this many processes share its tests
# named_only: true             only files whose comment names the suite
# quick: true                  only files with the comment "# quick"

# A comment at the top of a file selects the suites that run it, among kernel, store, store_8_0 and store_7_2:
# for example "# suites: store*". Without the comment, all of them except store run the file: kernel has the same Rails
# version, and the other two have the optional gems.
library = { tests: ["test/**/*_test.rb"],
            except: ["test/{metrics,native,oldest_gems,packaging,rails_app,rails_behaviours,runner}/**/*"] }
insight = { tests: ["tiercel-insight/test/**/*_test.rb"], except: ["tiercel-insight/test/metrics/**/*"] }

# Tests with all gems, on the Rails version of `kernel`.
suite "store", gemfile: "Gemfile", workers: 6, named_only: true, **library

suite "lab", gemfile: "Gemfile", workers: 2, tests: ["tiercel-lab/test/**/*_test.rb"]

suite "insight", gemfile: "Gemfile", workers: 3, named_only: true, **insight

# Tests with ActiveSupport as the only gem of Rails, and without optional gems.
suite "kernel", gemfile: "gemfiles/kernel.gemfile", **library

# A real Rails application on each version, in separate processes: test/support/rails_app.rb.
suite "rails_app", gemfile: "Gemfile", tests: ["test/rails_app/**/*_test.rb"]

# The C cores without Ruby, under the sanitizers.
suite "native", commands: "test/native/commands.rb"

# The content of the built gems, and the length of the repository's lines.
suite "packaging", gemfile: "Gemfile", tests: ["test/packaging/**/*_test.rb"]

# The runner itself.
suite "runner", gemfile: "gemfiles/kernel.gemfile", tests: ["test/runner/**/*_test.rb"]

# The other Rails lines run what depends on Rails: the store's API, hooks, events and options, entries that Rails wrote,
# serializers that call Rails, views. A backend does not know Rails, so its tests run once.
depends_on_rails = { tests: %w[
  test/store/{contract,contract_remote,configuration,errors,frozen}_test.rb
  test/store/{as_rails,hooks,memo,placeholder_readers}_test.rb
  test/store/{ractors,rollback,subscriptions,tags_contract,trips}_test.rb test/store/options_test.rb
  test/store/fetch_active_record_test.rb test/coder/rails_payloads_test.rb
  test/{coder,test_worker,railtie,entry_report}_test.rb
  test/{views,fetch}/**/*_test.rb test/backends/rails_entries_test.rb test/tiers/notifications_test.rb
  test/serializers/{as_json,message_pack}_test.rb
] }
suite "store_8_0", gemfile: "gemfiles/rails_8_0.gemfile", **depends_on_rails
suite "store_7_2", gemfile: "gemfiles/rails_7_2.gemfile", **depends_on_rails

# The oldest supported versions of other gems.
suite "oldest_gems", gemfile: "gemfiles/oldest_gems.gemfile",
                     tests: ["test/oldest_gems/**/*_test.rb", "test/compressors/built_in_test.rb"]

# tiercel-insight on the other Rails versions; Yabeda and OpenTelemetry.
suite "insight_8_0", gemfile: "gemfiles/rails_8_0.gemfile", named_only: true, **insight
suite "insight_7_2", gemfile: "gemfiles/rails_7_2.gemfile", named_only: true, **insight
suite "metrics", gemfile: "gemfiles/metrics.gemfile", tests: ["tiercel-insight/test/metrics/**/*_test.rb"]

# Rails' main branch, from a checkout.
suite "store_main", gemfile: "gemfiles/rails_main/Gemfile", needs: "RAILS_SOURCE", **library
suite "insight_main", gemfile: "gemfiles/rails_main/Gemfile", needs: "RAILS_SOURCE", named_only: true, **insight

# Before each commit: files with the comment "# quick", which need no server and have no long forms. At most a minute.
suite "quick", gemfile: "Gemfile", quick: true, workers: 2, on_demand: true, tests: library[:tests]

# Rails' own test suites on its main branch: RAILS_SOURCE=PATH bin/test behaviours_main
suite "behaviours_main", gemfile: "gemfiles/rails_main/Gemfile", tests: ["test/rails_behaviours/*_test.rb"],
                         needs: "RAILS_SOURCE", rails_line: "main", on_demand: true

# Rails' own test suites from a checkout: bin/test rails_behaviours --rails PATH [--line 8.1]
{ "8.1" => "Gemfile", "8.0" => "gemfiles/rails_8_0.gemfile",
  "7.2" => "gemfiles/rails_7_2.gemfile" }.each do |line, gemfile|
  suite "rails_behaviours_#{line.tr(".", "_")}", gemfile: gemfile, tests: ["test/rails_behaviours/*_test.rb"],
                                                 rails_line: line, on_demand: true
end
