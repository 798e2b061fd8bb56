# frozen_string_literal: true

require_relative "../support/canned"
require_relative "../support/lab_case"
require "etc"
require "open3"
require "rbconfig"

class CLITest < LabCase
  EXECUTABLE = File.expand_path("../../exe/tiercel-lab", __dir__)
  # A run of one process.
  SHORT = %w[--quick --budget 0.001 --op read --value string-100b].freeze

  def test_wrong_words_are_answered_with_the_right_ones
    assert_refused(
      %w[--op red] => /"red" is not known\. Did you mean read\?/, %w[--value big] => /html-2kb/,
      %w[--store nothing] => /memory_store/, %w[--bogus] => /invalid option: --bogus/,
      %w[--url x] => /NAME=URL/,
      %w[nonsense] => /command "nonsense".*compare/,
      %w[--require /nowhere.rb] => /file does not exist/, %w[--data /nowhere] => /folder does not exist/,
      %w[extra] => /extra/,
      %w[--survives fire] => /--survives fire: expected nothing, restart, reboot$/,
      ["--html", __dir__] => /a folder; name a file/, ["--results", __FILE__] => /cannot be kept: .* --results DIR/,
      %w[--memory 12XB] => /--memory 12XB: expected a size from 64KB to 64TB, such as 512MB or 2GB$/,
      %w[--memory 0] => /--memory 0: expected a size/, %w[--memory -5MB] => /--memory -5MB: expected a size/,
      %w[--memory 1] => /--memory 1: expected a size/, %w[--memory 9999999TB] => /--memory 9999999TB: expected a size/,
      %w[--workers 0] => /--workers 0: expected a number from 1 to 1000$/,
      %w[--workers 10000000] => /--workers 10000000: expected a number from 1 to 1000$/,
      %w[--machines 10000000] => /--machines 10000000: expected a number from 1 to 10000$/,
      %w[--seed x] => /invalid argument: --seed x$/, %w[--workers=1.5] => /invalid argument: --workers=1\.5$/,
      %w[--op] => /missing argument: --op$/,
      %w[app --rails 9] => /invalid argument: --rails 9$/)
  end

  def test_words_that_are_empty_or_not_utf8_are_refused
    assert_refused({
      ["--value", ""] => /--value "": the value is empty/, ["--results", ""] => /--results "": the value is empty/,
      ["--data="] => /--data "": the value is empty/, ["all", "--only", ","] => /--only ",": the value is empty/,
      ["--value=,"] => /--value ",": the value is empty/, [""] => /\Abin\/lab: COMMAND "": the value is empty/,
      ["--store", "caf\xE9"] => /"caf\\xE9": expected UTF-8/, ["--v\xE9"] => /expected UTF-8/ }, %w[--plan])
    file = (+"/caf\u00e9/x").force_encoding(Encoding::US_ASCII) # as in LANG=C
    assert_match(/the folder \/caf\u00e9 does not exist/, lab("--html", file)[2])
  end

  def test_a_short_run_prints_and_keeps_its_results
    json = File.join(dir, "run.json")
    code, out, err = lab(*SHORT, "--store", "tiercel:memory:", "--seed", "5", "--workers", "1", "--results", dir,
                         "--json", json)
    assert_equal 0, code, err
    assert_match(/\AFor 1 machine, 1 worker, [\d.]+ MB of memory, surviving no restart/, out)
    # Which store it is, one process cannot tell beside other programs.
    assert_match(/^A hit costs \S+ us \[\S+\] with \S+ \(String of 100 B\)/, out)
    assert_includes out, 'config.cache_store = :tiercel_store, "memory:"'
    assert_match(%r{^bin/lab --store \S+ .*--op read .*--quick}, out)
    document = Lab::Engine::Results.load(json)
    assert_empty SCHEMA.errors(document)
    assert_equal [5, true], [document["run"]["seed"], document["complete"]]
    kept = out[/^Every block of this run: (.*)$/, 1]
    assert_equal document, Lab::Engine::Results.load(kept)
  end

  # The command creates the folder, and prints one JSON document and nothing else.
  def test_json_on_the_output_and_a_folder_that_is_not_there_yet
    results = File.join(dir, "not", "yet")
    code, out, err = lab(*SHORT, "--workers", "1", "--memory", "64MB", "--store", "tiercel:memory:", "--results",
                         results, "--json", "-")
    assert_equal 0, code, err
    document = JSON.parse(out)
    assert_empty SCHEMA.errors(document)
    assert_equal [1, 64 * 1024 * 1024], document["constraints"].values_at("workers", "memory_bytes")
    assert_equal 1, Dir.children(results).size
    _, report, = lab("report", File.join(results, Dir.children(results).first))
    assert_match(/\AFor 1 machine, 1 worker, 64\.0 MB of memory/, report)
    assert_match(/^(tiercel:memory:|Cannot tell)/, report.lines[2..5].join)
  end

  def test_wrong_values_have_their_exit_code
    code, out, = lab(*SHORT, "--require", PLANTED, "--store", "planted_wrong", "--results", dir)
    assert_equal 4, code
    assert_match(/planted_wrong +wrong values: a read returned another value/, out)
  end

  # Only stores that the user named count: the gem of a default store may be missing.
  def test_what_was_named_and_could_not_be_measured_has_its_exit_code
    cells = Canned.cells(compare("memory_store", "redis_cache_store"), "memory_store" => 2_000,
                                                                       "redis_cache_store" => "connection refused")
    { %w[--store redis_cache_store] => 3, %w[--store=redis_cache_store] => 3, %w[--quick] => 0,
      %w[--store memory_store] => 0 }.each do |arguments, code|
      assert_equal code, Lab::CLI.exit_code(Canned.results(command: "compare", cells:, arguments:)), arguments.to_s
    end
  end

  def test_a_signal_outside_of_a_measurement_ends_the_command
    %w[INT TERM].each do |signal|
      out = Object.new
      out.define_singleton_method(:puts) { |*| raise SignalException, signal }
      assert_equal 130, Lab::CLI.run(["help"], out:, err: StringIO.new), signal
    end
  end

  def test_ctrl_c_keeps_what_was_measured_and_stops_the_servers
    command = [RbConfig.ruby, EXECUTABLE, "--quick", "--store", "mem_cache_store", "--value",
               "string-10b,html-2kb,string-100b,string-1kb,books", "--op", "read", "--results", dir]
    Open3.popen3({ "XDG_CACHE_HOME" => dir }, *command, pgroup: true) do |input, out, err, thread|
      input.close
      wait_until("a measured cell", within: 100) { kept(dir).include?('"string-10b/read/mem_cache_store"') }
      Process.kill(:INT, thread.pid)
      text = out.read
      assert_equal 130, thread.value.exitstatus, err.read
      assert_match(/^Interrupted/, text)
      assert_match(/^mem_cache_store +\d/, text)
    end
    refute Lab::Engine::Results.load(Dir[File.join(dir, "*.jsonl")].first)["complete"]
    assert_empty Dir[File.join(dir, "tiercel-lab", "*-run-*")]
    address = Lab::Engine::Results.load(Dir[File.join(dir, "*.jsonl")].first)["servers"].first["address"]
    assert_raises(Errno::ECONNREFUSED) { Socket.tcp(*address.split(":")) }
  end

  def kept(results) = Dir[File.join(results, "*.jsonl")].map { |path| File.read(path) }.join
end
