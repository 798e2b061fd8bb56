# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/small_gem"

# How often a gate finds what is there, and what is not: 20 gates of 10 % more work, 20 of the same work, 10 of the same
# work beside a busy loop. `GATES=slower=5,same=0,busy=0` makes some of them, `RECORD=FILE` keeps their samples as
# tiercel-lab/test/tables/gate/recorded.json has them.
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
  BENCHMARKS = "require \"small_gem\"\nTiercel::Lab.benchmark(\"work\") { SmallGem.work }\n"
  GATES = { "slower" => 20, "same" => 20, "busy" => 10 }.freeze

  def counts
    said = ENV.fetch("GATES", "").split(",").to_h { |word| word.split("=") }.transform_values { |text| Integer(text) }
    GATES.merge(said)
  end

  def setup
    super
    skip "long tier" unless long?
  end

  # @return [Array<Integer>] exit codes
  def gates(kind, steps: "4_000")
    SmallGem.make(library: LIBRARY, benchmarks: BENCHMARKS) do |gem|
      gem.change("lib/small_gem.rb", "4_000", steps)
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

  # Of each process the logarithms of its blocks' ratios.
  def logs(*cells)
    head, base = cells.map do |cell|
      cell["slices"].group_by { |slice| slice.first(2) }.transform_values do |slices|
        slices.sum { |slice| slice[6] - slice[5] }.fdiv(slices.sum { |slice| slice[3] })
      end
    end
    head.keys.group_by(&:first).values.map { |keys| keys.map { |key| Math.log(head[key] / base.fetch(key)).round(5) } }
  end

  def test_ten_percent_more_time_fail
    codes = gates("slower", steps: "4_400")
    assert_operator codes.count(1), :>=, (codes.size * 0.95).floor, codes.inspect
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
