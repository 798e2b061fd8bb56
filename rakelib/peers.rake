# frozen_string_literal: true

# Compares reads with PHP's APCu, a similar cache in C: shared memory for all processes of a machine. Each round starts
# new processes of PHP and of Ruby in turn, one for each configuration.
module Peers
  PHP = %w[php -d apc.enable_cli=1 -d apc.shm_size=256M -d opcache.enable_cli=1].freeze
  HOW = "No PHP with APCu here. On Debian: apt-get install php-cli php-apcu"
  CASES = { "string-1kb" => "1 KB", "string-24kb" => "24 KB", "rows-50" => "50 rows",
            "string-1kb-20000" => "1 KB, 20,000 keys" }.freeze
  CONFIGURATIONS = ["shared:", "frozen", "memo: false"].freeze
  FOLDER = File.expand_path("peers", __dir__)

  module_function

  def installed? = system(*PHP, "-r", "exit(function_exists('apcu_fetch') ? 0 : 1);", out: File::NULL, err: File::NULL)

  # @return [Hash{String => Float}] nanoseconds by case
  def run(*command)
    out = IO.popen(command, &:read)
    abort "#{command.join(" ")}: #{out}" unless $?.success?
    out.lines.to_h { |line| line.split.then { |name, ns| [name, Float(ns)] } }
  end

  def round(seconds)
    ruby = [RbConfig.ruby, "--yjit", "-W0", "-I#{File.expand_path("../lib", __dir__)}", "#{FOLDER}/tiercel.rb"]
    { "APCu" => run(*PHP, "#{FOLDER}/apcu.php", seconds.to_s) }
      .merge(CONFIGURATIONS.to_h { |name| [name, run(*ruby, name, seconds.to_s)] })
  end

  # @return [Float] microseconds
  def median(rounds, side, name)
    sorted = rounds.map { |round| round[side][name] / 1e3 }.sort
    sorted[sorted.size / 2]
  end

  def table(rounds)
    sides = rounds.first.keys
    ["| a read of | #{sides.join(" | ")} |", "| --- |#{" ---: |" * sides.size}",
     *CASES.map { |name, words| "| #{words} | #{sides.map { |side| words_of(rounds, side, name) }.join(" | ")} |" }]
  end

  def words_of(...) = format("%.2f us", median(...))
end

desc "Compare reads of shared: with PHP's APCu, where that is installed: rake peers[ROUNDS,SECONDS]"
task :peers, [:rounds, :seconds] do |_task, arguments|
  abort Peers::HOW unless Peers.installed?
  seconds = Float(arguments[:seconds] || 0.2) # minimum time for each case in each process
  rounds = Array.new(Integer(arguments[:rounds] || 7)) { Peers.round(seconds) }
  puts "#{IO.popen(%w[php -r] + ["echo 'PHP ', PHP_VERSION, ', APCu ', phpversion('apcu');"], &:read)}; " \
       "#{RUBY_DESCRIPTION[/\A\S+ \S+/]}; CPU time, medians of #{rounds.size} rounds", "", Peers.table(rounds)
end
