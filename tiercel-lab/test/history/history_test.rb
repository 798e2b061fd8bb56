# frozen_string_literal: true

require_relative "../support/lab_case"

# Sixty nights of generated results, in the form of their files.
class HistoryTest < LabCase
  GOLDEN = File.expand_path("../golden/results-1.json", __dir__)
  NIGHTS = 60

  def sha(night) = Digest::SHA1.hexdigest(night.to_s)

  def interval(value) = { "estimate" => value, "low" => value * 0.99, "high" => value * 1.01 }

  def cell(role, name, ratio: nil, objects: 4)
    { "id" => "string-100b/read/#{name}", "comparison" => "string-100b/read", "value" => "string-100b",
      "operation" => "read", "contestant" => { "name" => name, "text" => name }, "role" => role, "status" => "measured",
      "exact" => { "allocations" => objects, "stored_bytes" => 100 }, "slices" => [],
      "summary" => { "ns" => interval(1_000.0), "ratio" => ratio && interval(ratio) } }
  end

  def night(number, ratio:, objects: 4, cpu: "CPU", ruby: "ruby 3.3.8", revision: sha(number), at: nil)
    started = at || (Time.utc(2026, 9, 1) + (number * 86_400))
    { "schema" => "tiercel-lab/1", "complete" => true, "tables" => [],
      "run" => { "command" => "compare", "arguments" => [], "seed" => 1, "protocol" => TINY.to_h,
                 "started_at" => started.iso8601 },
      "environment" => { "cpu" => cpu, "cores" => 2, "arch" => "x86_64", "kernel" => "6", "os" => "Linux",
                         "ruby" => ruby, "git" => { "sha" => revision } },
      "cells" => [cell("baseline", "memory_store"), cell("contestant", "tiercel", ratio:, objects:)] }
  end

  # @yieldparam number [Integer] number of a night
  # @yieldreturn [Hash, nil] its results
  # @return [Array(Integer, String, String)] see {#lab}
  def history(*arguments, nights: NIGHTS)
    Dir.mktmpdir do |folder|
      nights.times do |number|
        results = yield number
        File.write(File.join(folder, format("%03d.json", number)), JSON.generate(results)) if results
      end
      lab("history", folder, *arguments)
    end
  end

  def ratios(seed, deviation, step_at: nil)
    random = Random.new(seed)
    Array.new(NIGHTS) { |index| 0.5 * (step_at&.<=(index) ? 1.05 : 1.0) * Math.exp(deviation * normal(random)) }
  end

  def test_a_step_of_five_percent_is_an_alert_at_its_revision
    [46, 49, 52].each_with_index do |at, seed|
      values = ratios(seed, 0.01, step_at: at)
      code, out, err = history { |number| night(number, ratio: values[number]) }
      assert_equal [1, ""], [code, err]
      ranges = ((at - 1)..(at + 1)).map { |night| "#{sha(night - 1)[0, 12]}..#{sha(night)[0, 12]}" }
      found = out[/\AAlert: read string-100b tiercel: time by memory_store: 1\.0\d+x \[1\.0.*\] since (\S+)\.$/, 1]
      assert_includes ranges, found, out.lines.first
    end
  end

  # A history without a step has one with a probability of one in a thousand.
  def test_sixty_nights_without_a_step_and_ten_percent_of_noise_are_no_alert
    { 0.01 => 200, 0.10 => 200 }.each do |deviation, seeds|
      alerts = (0...seeds).sum do |seed|
        values = ratios(seed + 100, deviation)
        points = values.each_with_index.map do |value, index|
          Lab::History::Point.new(at: Time.at(index * 86_400), revision: sha(index), value:, low: nil, high: nil,
                                  tools: {})
        end
        series = Lab::History::Series.new(machine: "CPU", cell: "read", figure: "time by x", unit: "x", exact: false,
                                          points:)
        Lab::History::Changes.new([series], runs: NIGHTS).alerts.size
      end
      assert_equal 0, alerts, "noise #{deviation}: alerts in #{seeds} histories"
    end
    values = ratios(1, 0.01)
    code, out, = history { |number| night(number, ratio: values[number]) }
    assert_equal 0, code
    assert_match(/\ANo alert: 0 steps in \d+ series\.$/, out)
  end

  def test_counts_change_exactly_and_one_night_of_another_count_is_none
    code, out, = history(nights: 20) { |number| night(number, ratio: 0.5, objects: number >= 15 ? 5 : 4) }
    assert_equal 1, code
    range = "#{sha(14)[0, 12]}..#{sha(15)[0, 12]}"
    assert_equal "Alert: read string-100b tiercel: objects: 4 \u2192 5 since #{range}.\n", out.lines.first
    code, = history(nights: 20) { |number| night(number, ratio: 0.5, objects: number == 15 ? 5 : 4) }
    assert_equal 0, code
    code, out, = history(nights: 20) { |number| night(number, ratio: 0.5, objects: number >= 15 ? 1 : 0) }
    assert_equal 1, code, "the first is one more, too"
    assert_equal "Alert: read string-100b tiercel: objects: 0 \u2192 1 since #{range}.\n", out.lines.first
  end

  def test_what_is_less_what_is_old_and_what_no_revision_did_is_no_alert
    random = Random.new(1)
    levels = Hash.new(1.0).merge((10...20).to_h { |night| [night, 1.5] }, (50...60).to_h { |night| [night, 1.3] })
    _code, out, = history do |number|
      night(number, ratio: levels[number] * Math.exp(0.01 * normal(random)), revision: sha([number, 45].min))
    end
    assert_match(/\ANo alert: 3 steps/, out)
    ["50 runs ago", "it is less", "the revision is the same before and after"].each do |words|
      assert_includes out, words
    end
  end

  def test_files_of_older_versions_count_and_others_are_named
    Dir.mktmpdir do |folder|
      FileUtils.cp(GOLDEN, File.join(folder, "old.json"))
      File.write(File.join(folder, "else.json"), "{}")
      code, out, = lab("history", folder)
      assert_equal 0, code
      assert_match(/else\.json: JSON, but not a result of the lab/, out)
      assert_match(/1 runs from/, out)
    end
    assert_refused(["history"] => /name one folder/, ["history", "/nowhere"] => /folder does not exist/,
                   ["history", __dir__] => /no results of the lab/)
    _code, _out, err = history("--since", "2030-01-01", nights: 2) { |number| night(number, ratio: 1.0) }
    assert_match(/no run is that recent; name an earlier date or revision/, err)
  end
end
