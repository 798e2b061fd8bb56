# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/small_gem"

# Counts how often a gate finds a change: 20 gates of 10 % more work, 20 of the same work, 10 of the same work beside a
# busy loop; 5 each of a pause of 60 ms every 40,000 calls (asleep, or as CPU work) and of 1.5 million kept objects.
# `GATES=slower=5,same=0,busy=0` chooses some of them. `RECORD=FILE` keeps their samples in the form of
# tiercel-lab/test/sides/recorded.json.
class LongGateTest < LabCase
  LIBRARY = <<~RUBY
    module SmallGem
      STEPS = 4_000
      def self.work(sum = 0)
        left = STEPS
        while left > 0
          sum = (sum + left) & 0xffff
          left -= 1
        end
        sum
      end
    end
  RUBY
  # A rare cost, and a cost of garbage collection.
  RARE = <<~RUBY
    module SmallGem
      STEPS = 800
      KEPT = Array.new(0) { |index| "object \#{index}" }
      EVERY = 10**12
      @calls = 0
      def self.work
        left = STEPS
        left -= 1 while left > 0
        Array.new(4) { +"garbage" }
        pause if ((@calls += 1) % EVERY).zero?
        left
      end
      def self.pause = sleep(0.06)
    end
  RUBY
  BURN = <<~RUBY
    def self.pause
        till = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 0.06
        nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < till
      end
  RUBY
  BENCHMARKS = "require \"small_gem\"\nTiercel::Lab.benchmark(\"work\") { SmallGem.work }\n"
  GATES = { "slower" => 20, "same" => 20, "busy" => 10, "sleep" => 5, "pause" => 5, "kept" => 5 }.freeze

  def counts
    said = ENV.fetch("GATES", "").split(",").to_h { |word| word.split("=") }.transform_values { |text| Integer(text) }
    GATES.merge(said)
  end

  def setup
    super
    skip "long tier" unless long?
  end

  # @param changes [Hash{String => String}] changes of the head
  # @return [Array<Integer>] exit codes
  def gates(kind, library: LIBRARY, **changes)
    SmallGem.make(library:, benchmarks: BENCHMARKS) do |gem|
      changes.each { |before, after| gem.change("lib/small_gem.rb", before.to_s, after) }
      return Array.new(counts.fetch(kind)) do |number|
        run_command(Lab::Tables::Gate::Table, "--repository", gem.folder, "--base", "HEAD", "--same", "--seed",
                    (number + 1).to_s) do |code, command|
          record(kind, code, command.results)
          break code
        end
      end
    end
  end

  def record(kind, code, results)
    warn "#{kind}: #{code}: #{results["tables"].find { |one| one["name"] == "gate" }["rows"].last.to_json}"
    file = ENV.fetch("RECORD", nil) or return
    cells = results["cells"].group_by { |cell| cell["role"] }
    passes = cells["contestant"].zip(cells["baseline"]).map { |head, base| logs(head, base) }
    File.write(file, "#{JSON.generate("kind" => kind, "code" => code, "passes" => passes)}\n", mode: "a")
  end

  # For each process, the logarithms of its blocks' ratios.
  def logs(*cells)
    head, base = cells.map do |cell|
      cell["slices"].group_by { |slice| slice.first(2) }.transform_values do |slices|
        slices.sum { |slice| slice[6] + slice[9].to_i }.fdiv(slices.sum { |slice| slice[3] })
      end
    end
    head.keys.group_by(&:first).values.map { |keys| keys.map { |key| Math.log(head[key] / base.fetch(key)).round(5) } }
  end

  def test_ten_percent_more_time_fail
    codes = gates("slower", "4_000": "4_400")
    assert_operator codes.count(1), :>=, (codes.size * 0.95).floor, codes.inspect
  end

  def test_rare_pauses_and_kept_objects_fail
    every = { "10**12": "40_000" }
    codes = { "sleep" => every, "pause" => { **every, "def self.pause = sleep(0.06)\n": BURN },
              "kept" => { "Array.new(0)": "Array.new(1_500_000)" } }
            .to_h { |kind, changes| [kind, gates(kind, library: RARE, **changes)] }
    assert_equal [1], codes.values.flatten.uniq, codes.inspect
  end

  def test_equal_revisions_pass
    codes = gates("same")
    assert_equal [0], codes.uniq, codes.inspect if codes.any?
    assert_equal counts["same"], codes.size
  end

  def test_equal_revisions_do_not_fail_beside_a_busy_loop
    busy = Process.spawn(RbConfig.ruby, "-e", "loop {}")
    codes = gates("busy")
    assert_empty codes - [0, 3], codes.inspect
    assert_equal counts["busy"], codes.size
  ensure
    if busy
      Process.kill(:KILL, busy)
      Process.wait(busy)
    end
  end
end
