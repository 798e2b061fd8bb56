# frozen_string_literal: true

require_relative "../../support/lab_case"
require_relative "../../support/canned"

class ProfileCommandTest < LabCase
  # @return [Hash{String => Object}] row of the only target
  def watched(text, folder, operation: "read")
    pairs = [[Lab::Contestants.parse(text), Lab::Operations.fetch(operation)]]
    trial = Lab::Tables::Profile::Trial.new(pairs, value: Lab::Values.fetch("string-100b"), seconds: 0.2, seed: 1,
                                                   stem: File.join(folder, "run"), requires: [PLANTED])
    trial.run(progress)
    trial.rows.first
  end

  def test_a_busy_method_is_found_in_a_process_of_its_own
    row = watched("steps:2000", dir)
    assert_equal "measured", row["status"], row["reason"]
    assert_operator row["calls"], :>, 0
    assert_match(/CountingStore#read|Numeric#positive/, row["top"])
    assert_includes JSON.parse(File.read(row["file"])).keys, "threads"
    assert_equal ["misses", nil], watched("planted_forgetful", dir).values_at("status", "top")
    assert_match(/a_gem_that_nobody_has/, watched("planted_absent", dir)["reason"])
    assert_match(/client_get works on a client/, watched("memory_store", dir, operation: "client_get")["reason"])
  end

  # The eight artifacts of the fourth article, by one command.
  def test_four_operations_of_a_client_and_of_the_raw_socket
    code, out, err = lab("profile", "dalli", "--plan", "--op",
                         "client_get,client_set,client_get_multi,client_set_multi")
    assert_equal [0, ""], [code, err]
    assert_match(/\A8 cells: /, out)
    assert_equal 4, out.scan("dalli, raw:memcached").size, out
  end

  def row(text, operation: "read", **more)
    { target: text, text:, operation:, value: "string-100b", status: "measured", top: "| A |\n", calls: 10,
      file: "kept.profile.json" }.merge(more)
  end

  def document(rows)
    cells = Canned.cells(compare("mem_cache_store", "raw_memcached"),
                         { "mem_cache_store" => 150_000, "raw_memcached" => 100_000 })
    tables = { "profiles" => [rows, { seconds: 1.5 }] }
    Lab::Tables::Profile::Table.report(Canned.results(command: "profile", cells:, tables:),
                                    command: "bin/lab profile mem_cache_store --quick")
  end

  def test_times_files_and_what_is_beyond_the_socket
    report = document([row("mem_cache_store"), row("raw_memcached")])
    assert_match(/\Amem_cache_store, read: 150 us .* a call; 2 profiles\.\z/, report.verdicts.first.sentence)
    assert_equal "50.0 us [50.0\u201350.0]", report.tables.first.rows.first[4].to_s
    assert_includes Lab::Report::Markdown.render(report), "kept.profile.json\n| A |"
  end

  def test_what_could_not_be_watched_says_why
    text = Lab::Report::Markdown.render(document([row("mem_cache_store", status: "cannot run", file: nil,
                                                                         reason: "there is no profiler")]))
    ["No profile could be made.", "No profile: cannot run: there is no profiler."].each do |words|
      assert_includes text, words
    end
  end

  def test_the_command_line
    assert_refused(%w[profile a_b] => /a_b.*not known/,
                   %w[profile memory_store dalli] => /one is a store, the other a client/,
                   %w[profile memory_store --seconds 0] => /> 0/)
    assert_match(/^html-2kb +read +3 .*mem_cache_store, raw_memcached$|mem_cache_store, raw_memcached/,
                 lab("profile", "--plan", "--quick")[1])
    refute_match(/raw_memcached/, lab("profile", "--plan", "--quick", "--no-raw")[1])
  end
end
