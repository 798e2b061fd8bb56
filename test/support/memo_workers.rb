# frozen_string_literal: true

require "active_support/cache/tiercel_store"
require "tmpdir"

# Measures cost and gain of the default memo when several workers fork from one master: CPU time of a fetch and
# resident memory, compared with `memo: false` in alternating rounds. adr/013 describes the sets.
#
#   bin/exec ruby --yjit -Ilib test/support/memo_workers.rb mixed            # ten workers, six rounds
#   bin/exec ruby --yjit -Ilib test/support/memo_workers.rb 24kb 16MB        # one set with another `memo:`
#   WORKERS=4 FETCHES=5000 ROUNDS=2 SIZE=512MB FULL_MASTER=1 bin/exec ruby ... first
class MemoWorkers
  KB = 1024
  # The mixed set: cumulative percent of the fragments, and their KB.
  KINDS = [[60, 1], [85, 4], [97, 24], [100, 100]].freeze
  CUBED = ->(random, _, count) { (count * (random.rand**3)).to_i }
  # The fragments of each set, their sizes, and the choice of the next one.
  SETS = {
    "24kb" => [2_000, ->(_) { 24 * KB }, CUBED],
    "mixed" => [8_000, ->(number) { KINDS.find { |upto, _| number % 100 < upto }[1] * KB }, CUBED],
    "first" => [12_000, ->(_) { 8 * KB }, ->(_, read, count) { read % count }],
    "ten_times" => [1_500, ->(_) { 24 * KB }, ->(_, read, count) { read % count }]
  }.freeze

  def initialize(set, memo)
    @name = set
    @count, @length, @choice = SETS.fetch(set)
    @memos = { "memo: false" => false, "memo: #{memo || "by default"}" => memo }
    @workers, @rounds = Integer(ENV.fetch("WORKERS", 10)), Integer(ENV.fetch("ROUNDS", 6))
    @fetches = Integer(ENV.fetch("FETCHES", set == "first" ? @count : 20_000))
    @size = ENV.fetch("SIZE", "256MB")
  end

  def run
    results = Array.new(@rounds) { |round| @memos.to_a.rotate(round).to_h { |name, memo| [name, measure(memo)] } }
    @memos.each_key { |name| puts describe(name, results.map { |result| result[name] }) }
    %w[CPU PSS].each_with_index do |what, at|
      ratios = results.map { |result| result.values_at(*@memos.keys).map { |figures| figures[at] }.reverse.reduce(:/) }
      puts "#{what}: #{format("%.3f [%.3f-%.3f]", *interval(ratios))} of memo: false (#{@name}, #{@workers} workers)"
    end
  end

  private

  # @return [Array(Float, Float, Float)] us of CPU time per fetch (median of the workers), total PSS in MB, ratio of
  #   memo hits
  def measure(memo)
    Dir.mktmpdir("memo-workers-", File.writable?("/dev/shm") ? "/dev/shm" : nil) do |directory|
      store = Tiercel.new("shared:#{directory}/segment?size=#{@size}", memo: memo, compress: false)
      fill(store)
      fill_memo(store) if ENV["FULL_MASTER"]
      GC.start
      workers = Array.new(@workers) { |number| start(store, number) }
      workers.each { |_, answers, _| answers.gets }
      pss = workers.sum { |pid, _, _| pss_of(pid) } + pss_of(Process.pid)
      figures = workers.map { |worker| finish(worker) }
      store.close
      [median(figures.map(&:first)), pss / 1024.0, figures.sum(&:last) / figures.size]
    end
  end

  def fill(store)
    @count.times { |number| store.write("fragment/#{number}", ("%07d" % number).ljust(@length[number], "é".b)) }
  end

  def fill_memo(store) = 4.times { @count.times { |number| store.read("fragment/#{number}") } }

  def start(store, number)
    answers, answer = IO.pipe
    go_on, told = IO.pipe
    pid = fork do
      work(store, number, answer)
      go_on.gets
    ensure
      exit!(0)
    end
    answer.close
    go_on.close
    [pid, answers, told]
  end

  # Measures only the second half of the calls.
  def work(store, number, answer)
    random = Random.new(number)
    fetches(store, random, 0, @name == "first" ? 0 : @fetches / 2)
    before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    hits = store.stats[:memo_hits]
    reads = fetches(store, random, @fetches / 2, @name == "first" ? @fetches : @fetches - (@fetches / 2))
    cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before
    answer.puts "done"
    answer.puts [cpu * 1e6 / reads, (store.stats[:memo_hits] - hits).fdiv(reads)].join(" ")
    answer.flush
  end

  def fetches(store, random, from, count)
    count.times do |read|
      number = @choice[random, from + read, @count]
      value = store.fetch("fragment/#{number}") { "0" * @length[number] }
      raise "#{number}: #{value[0, 7]}" unless value.start_with?("%07d" % number)
    end
  end

  def finish((pid, answers, told))
    figures = answers.gets.split.map(&:to_f)
    told.puts # closing is not enough: later workers hold the other end too
    figures
  ensure
    told.close
    Process.wait(pid)
  end

  def pss_of(pid) = File.read("/proc/#{pid}/smaps_rollup")[/^Pss: +(\d+)/, 1].to_i
  def median(figures) = figures.sort.then { |sorted| sorted[(sorted.size - 1) / 2] }

  # Returns the median and its 95 % bootstrap interval.
  def interval(ratios)
    random = Random.new(1)
    medians = Array.new(2_000) { median(Array.new(ratios.size) { ratios.sample(random: random) }) }.sort
    [median(ratios), medians[50], medians[-50]]
  end

  def describe(name, figures)
    cpu, pss, hits = figures.transpose.map { |one| median(one) }
    format("%-22s %6.2f us a fetch  %7.1f MB PSS  %4.1f %% hits of the memo", name, cpu, pss, hits * 100)
  end
end

MemoWorkers.new(ARGV.fetch(0), ARGV[1]).run if $PROGRAM_NAME == __FILE__
